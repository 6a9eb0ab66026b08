"""Which formula the arms on a target set are estimated by, and what must be counted for it.

A *reading* says how much of the graph an estimate leans on:

robust   that an adjustment set is valid, or that a c-component is what the graph says; the law of
         everything that is adjusted for is taken from the rows as it is;
graph    every missing edge: the law of what acts on the reward is put together from conditionals
         that are given as little as possible, which needs fewer rows if the graph is right;
paper    the paper's Algorithms 3 to 5 as printed, with add-one smoothing.

A formula that needs large tables serves short logs badly, so which one is taken depends on the
number of rows: the first whose cells are few (`whichdo.identification.adjustment.choose`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from whichdo.graph.identify import Route
from whichdo.identification.adjustment import Candidate, adjustment_sets, choose
from whichdo.identification.engine import identify
from whichdo.identification.estimand import Conditional, Estimand
from whichdo.identification.forms import adjustment_estimand, paper_estimand, weight_estimand, weighted_components
from whichdo.identification.reasons import verdict_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.graph.admg import CausalGraph
    from whichdo.identification.estimand import Names
    from whichdo.problem import Problem

__all__ = ["Formula", "Reading", "formula_of"]


class Reading(StrEnum):
    """How much of the graph an estimate leans on; see the module."""

    ROBUST = "robust"
    GRAPH = "graph"
    PAPER = "paper"


@dataclass(frozen=True)
class Formula:
    """How the arms on one target set are estimated from looks."""

    route: Route
    """SAME for arms that equal do(), ADJUSTMENT, COMPONENT, or GENERAL for formulas of another kind."""
    estimand: Estimand
    """Its targets are those that act."""
    given: Names
    """The adjustment set, or what else is counted."""
    shared: bool
    """Whether all its tables are margins of one: nothing is assumed of how their errors go together."""

    @property
    def targets(self) -> Names:
        """The targets that act on the reward."""
        return self.estimand.targets

    @cached_property
    def reward(self) -> Conditional:
        """The reward's own conditional, in which every formula is linear."""
        return next(each for each in self.estimand.conditionals if self.estimand.reward in each.nodes)

    @cached_property
    def laws(self) -> tuple[Conditional, ...]:
        """The other conditionals."""
        return tuple(each for each in self.estimand.conditionals if each != self.reward)

    def scopes(self, graph: CausalGraph) -> tuple[Names, ...]:
        """The columns that must be counted together, in the order of the graph."""
        if self.shared:
            columns: Sequence[frozenset[str]] = [frozenset[str]().union(*(c.free for c in self.estimand.conditionals))]
        else:
            columns = [frozenset(scope) for scope in self.estimand.scopes.get((), ())]
        return tuple(tuple(sorted(each, key=graph.index)) for each in columns)


def formula_of(problem: Problem, targets: Names, reading: Reading, rows: int) -> Formula | None:
    """The formula for the arms on some targets, given how many rows there are; None where looking settles nothing."""
    verdict = verdict_of(problem.graph, targets, problem.reward)
    if verdict.route is Route.TRY:
        return None
    if not verdict.acting:
        return Formula(Route.SAME, Estimand(Conditional((problem.reward,)), (), problem.reward), (), shared=True)
    if reading is Reading.PAPER:
        return _paper(problem, verdict.acting)
    sizes = {name: len(values) for name, values in problem.domains.items()}
    robust = _robust(problem.graph, verdict.acting, problem.reward, sizes, rows)
    if reading is Reading.ROBUST:
        return robust
    return _by_graph(problem.graph, verdict.acting, problem.reward, sizes, rows) or robust


def _robust(graph: CausalGraph, acting: Names, reward: str, sizes: Mapping[str, int], rows: int) -> Formula:
    candidates = adjustment_sets(graph, acting, reward)
    if candidates:
        cells = [prod(sizes[name] for name in (*each.given, *acting)) for each in candidates]
        given = choose(candidates, cells, rows).given
        return Formula(Route.ADJUSTMENT, adjustment_estimand(graph, acting, reward, given), given, shared=True)
    if weighted_components(graph, acting, reward) is not None:
        estimand = weight_estimand(graph, acting, reward)
        return Formula(Route.COMPONENT, estimand, _others(estimand, graph), shared=True)
    estimand = identify(graph, acting, reward)
    return Formula(Route.GENERAL, estimand, _others(estimand, graph), shared=False)


def _by_graph(graph: CausalGraph, acting: Names, reward: str, sizes: Mapping[str, int], rows: int) -> Formula | None:
    """The formula that leans on every missing edge, where its largest table is small enough for the rows."""
    estimand = identify(graph, acting, reward)
    cells = max(prod(sizes[name] for name in each.columns if name != reward) for each in estimand.conditionals)
    whole, nothing = Candidate("graph", ()), Candidate("none", ())
    if choose([whole, nothing], [cells, 0], rows) is not whole:
        return None
    route = Route.COMPONENT if graph.bidirected else Route.ADJUSTMENT
    return Formula(route, estimand, _others(estimand, graph), shared=False)


def _paper(problem: Problem, acting: Names) -> Formula | None:
    if len(acting) > 1:
        return None
    estimand = paper_estimand(problem.graph, acting[0], problem.reward)
    route = problem.verdicts[acting[0]].route
    return Formula(route, estimand, _others(estimand, problem.graph), shared=False)


def _others(estimand: Estimand, graph: CausalGraph) -> Names:
    named = {name for each in estimand.conditionals for name in each.columns}
    return tuple(sorted(named.difference(estimand.targets, [estimand.reward]), key=graph.index))
