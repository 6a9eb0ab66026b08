"""Which formulas the arms on a target set can be estimated by, and what must be counted for them.

A *reading* says how much of the graph an estimate leans on:

robust   that an adjustment set is valid, or that a c-component is what the graph says; the law of
         everything that is adjusted for is taken from the rows as it is;
graph    every missing edge: the law of what acts on the reward is put together from conditionals
         that are given as little as possible, which needs fewer rows if the graph is right;
paper    the paper's Algorithms 3 to 5 as printed, with add-one smoothing.

A reading may have several formulas for one effect, best first.  One that needs large tables serves
short logs badly, so which is taken depends on the number of rows: the first whose cells are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import chain
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError
from whichdo.graph.identify import Route, verdicts
from whichdo.identification.engine import identify
from whichdo.identification.estimand import Conditional, Estimand
from whichdo.identification.forms import (
    adjustment_sets,
    paper_estimand,
    stratified_estimand,
    weight_estimand,
    weighted_components,
)
from whichdo.problem import per_problem
from whichdo.tables import MAX_CELLS, Radix
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whichdo.arrays import IntArray
    from whichdo.graph.admg import CausalGraph
    from whichdo.graph.identify import Verdict
    from whichdo.graph.targets import Targets
    from whichdo.identification.estimand import Names
    from whichdo.problem import Problem
    from whichdo.tables import Scope


FEW_CELLS = 64
ROWS_PER_CELL = 10
MOST_DOUBTED = 1 << 16
"""The most cells of the table by which the logs are asked whether they contradict the graph."""


class Reading(StrEnum):
    """How much of the graph an estimate leans on; see the module."""

    ROBUST = "robust"
    GRAPH = "graph"
    PAPER = "paper"


def checked_reading(given: str, *, paper: bool = False) -> Reading:
    """A reading by its name; the paper's only where ``paper`` allows it.

    Raises `UsageError` if it is another.
    """
    allowed = [each for each in Reading if paper or each is not Reading.PAPER]
    if given not in allowed:
        raise UsageError(f"The reading is {quoted(given)}; it must be {', '.join(allowed[:-1])} or {allowed[-1]}.")
    return Reading(given)


@dataclass(frozen=True)
class Formula:
    """How the arms on one target set are estimated from looks."""

    route: Route
    """SAME for arms that equal do(), ADJUSTMENT, COMPONENT, or GENERAL for formulas of another kind."""
    estimand: Estimand
    """Its targets are those that act."""
    given: Names
    """The adjustment set, or what else is counted."""
    scopes: tuple[Scope, ...]
    """The columns that must be counted together, in the order of the graph."""
    cells: int
    """How many cells its largest table has, the reward aside."""
    shared: bool
    """Whether all its tables are margins of one: nothing is assumed of how their errors go together."""

    @property
    def targets(self) -> Names:
        """The targets that act on the reward."""
        return self.estimand.targets

    @property
    def adjusts(self) -> bool:
        """Whether it is a sum over strata z of P(z) E[Y | x, z], with P(z) taken as it is."""
        return self.shared and self.route in {Route.SAME, Route.ADJUSTMENT}

    @cached_property
    def reward(self) -> Conditional:
        """The reward's own conditional, in which every formula is linear."""
        return next(each for each in self.estimand.conditionals if self.estimand.reward in each.nodes)

    @cached_property
    def laws(self) -> tuple[Conditional, ...]:
        """The other conditionals."""
        return tuple(each for each in self.estimand.conditionals if each != self.reward)


def formulas(problem: Problem, targets: Targets, reading: Reading) -> tuple[Formula, ...]:
    """Every formula for the arms on some targets, best first; () where looking settles nothing, or all are too large.

    ``targets`` () is do() itself.
    """
    return _maker(problem).formulas(targets, reading)


@per_problem
def _maker(problem: Problem) -> FormulaMaker:
    return FormulaMaker(problem.graph, problem.reward, problem.sizes, problem.verdicts)


def few_cells(rows: int) -> float:
    """How many cells count as few for this many rows: 64, or a tenth of the rows, rounded down to a power of two."""
    return max(FEW_CELLS, (1 << max(rows, 1).bit_length() - 1) / ROWS_PER_CELL)


def choose_formula(
    candidates: Sequence[Formula], rows: int, served: Callable[[Scope], bool] | None = None
) -> Formula | None:
    """The formula to estimate by: the first whose cells are few for so many rows, else the one with the fewest.

    ``candidates``: as `formulas` lists them.
    ``rows``: how many rows there are, or will be: few cells are at most 64, or a tenth of the rows, which are rounded
    down to a power of two, so that a few more rows do not change what is counted.
    ``served``: whether tables of a scope are there; a formula that lacks one is passed over.  None: all are.
    """
    left = [each for each in candidates if served is None or all(map(served, each.scopes))]
    few = few_cells(rows)
    fitting = (each for each in left if each.cells <= few)
    return next(fitting, None) or min(left, key=lambda each: each.cells, default=None)


def counted_scopes(
    problem: Problem,
    reading: Reading = Reading.ROBUST,
    rows: int | None = None,
    columns: frozenset[str] | None = None,
) -> tuple[Scope, ...]:
    """The scopes that estimates of all arms need, each once.

    ``reading``: how estimates lean on the graph.
    ``rows``: the number of rows, if it is known: only what is then needed.  None: what any number of rows may need.
    ``columns``: the columns that there are: a formula that reads others is passed over while one is left.  None: all
    are there.
    """
    found: dict[Scope, None] = {}
    for targets in problem.target_sets:
        found |= dict.fromkeys(needed_scopes(formulas(problem, targets, reading), rows, columns))
    return tuple(found)


def needed_scopes(candidates: Sequence[Formula], rows: int | None, columns: frozenset[str] | None) -> list[Scope]:
    """The scopes that one of these formulas may need; parameters as of `counted_scopes`."""
    if columns is not None:
        candidates = [each for each in candidates if columns.issuperset(chain(*each.scopes))] or candidates[-1:]
    if rows is not None:
        chosen = choose_formula(candidates, rows)
        candidates = [] if chosen is None else [chosen]
    found: list[Scope] = []
    for place, each in enumerate(candidates):
        # A larger table than an earlier formula has is never taken, however many rows there are.
        if all(each.cells < other.cells for other in candidates[:place]):
            found += each.scopes
    return found


def doubted_scope(problem: Problem) -> Scope | None:
    """All that acts on the reward, counted together to compare robust estimates with those that lean on every edge.

    None where that is too much, or where no two estimates could differ.
    """
    graph = problem.graph
    scope = graph.ancestors([problem.reward])
    inside = frozenset(scope)
    missing = len(scope) * (len(scope) - 1) // 2 > sum(inside.issuperset(edge) for edge in graph.directed)
    return scope if missing and problem.cells(scope) <= MOST_DOUBTED else None


def setting_numbers(problem: Problem, targets: Names, places: Sequence[int]) -> IntArray:
    """The number of each arm's setting among all settings of some targets; arms by position."""
    if not targets:
        return np.zeros(len(places), np.int64)
    codes = [
        np.array([problem.domains[name].index(problem.arms[place].settings[name]) for place in places])
        for name in targets
    ]
    return Radix.of(targets, problem.sizes).numbers(codes)


def naive_scope(problem: Problem, targets: Iterable[str]) -> Scope:
    """The targets and the reward: what the naive conditional mean is counted from."""
    return tuple(sorted((*targets, problem.reward), key=problem.graph.index))


class FormulaMaker:
    """Makes the formulas of one graph, each once; `formulas` asks that of a problem.

    ``reward``: the node whose mean is asked for.
    ``sizes``: how many values each node has.
    ``verdicts``: what looking can settle in this graph (`whichdo.identification.reasons.complete_verdicts`).
    """

    def __init__(
        self, graph: CausalGraph, reward: str, sizes: Mapping[str, int], verdicts: Mapping[Targets, Verdict]
    ) -> None:
        self.graph, self.reward, self.sizes, self.verdicts = graph, reward, sizes, verdicts
        self._known: dict[tuple[Targets, Reading], tuple[Formula, ...]] = {}

    def formulas(self, targets: Targets, reading: Reading) -> tuple[Formula, ...]:
        """As the function of the same name."""
        key = (targets, reading)
        if key not in self._known:
            self._known[key] = self._made_for(targets, reading)
        return self._known[key]

    def _made_for(self, targets: Targets, reading: Reading) -> tuple[Formula, ...]:
        acting = self.verdicts[targets].acting if targets else ()
        if not acting:
            same = not targets or self.verdicts[targets].identified
            return (self.same(),) if same else ()
        if acting != targets and acting in self.verdicts:
            return self.formulas(acting, reading)
        if reading is Reading.PAPER:
            return self.paper(acting)
        if not self.verdicts[targets].identified:
            return ()
        if reading is Reading.ROBUST:
            return self.robust(acting)
        by_graph = self.by_graph(acting)
        robust = self.formulas(targets, Reading.ROBUST)
        return (by_graph, *robust) if by_graph not in robust else robust

    def same(self) -> Formula:
        """The formula of do(), and of arms that equal it."""
        return self._make(Route.SAME, Estimand(Conditional((self.reward,)), (), self.reward), (), shared=True)

    def robust(self, acting: Names) -> tuple[Formula, ...]:
        """The formulas of the robust reading."""
        sets = adjustment_sets(self.graph, acting, self.reward)
        if sets:
            return tuple(self.adjusting(acting, each.given) for each in sets)
        return (self.without_adjustment(acting),)

    def without_adjustment(self, acting: Names) -> Formula:
        """The formula for targets that looking settles, but not by adjustment."""
        if weighted_components(self.graph, acting, self.reward) is not None:
            weighted = self._make(Route.COMPONENT, weight_estimand(self.graph, acting, self.reward), None, shared=True)
            if weighted.cells <= MAX_CELLS:  # its table is laid out whole
                return weighted
        return self.by_graph(acting)

    def adjusting(self, acting: Names, given: Iterable[str]) -> Formula:
        """The formula that adjusts for a set, which is known to be valid."""
        around = self._order(given)
        estimand = stratified_estimand(acting, self.reward, around, self._order({*around, *acting}))
        return self._make(Route.ADJUSTMENT, estimand, around, shared=True)

    def by_graph(self, acting: Names) -> Formula:
        """The formula that leans on every missing edge."""
        estimand = identify(self.graph, acting, self.reward)
        return self._make(self._route(acting), estimand, None, shared=False)

    def paper(self, acting: Names) -> tuple[Formula, ...]:
        """The paper's formula."""
        if len(acting) > 1:
            return ()
        verdict = verdicts(self.graph, self.reward, [acting])[acting]
        if not verdict.identified:
            return ()
        estimand = paper_estimand(self.graph, acting[0], self.reward)
        return (self._make(verdict.route, estimand, None, shared=False),)

    def _route(self, acting: Names) -> Route:
        if not self.graph.bidirected:
            return Route.ADJUSTMENT
        return Route.COMPONENT if weighted_components(self.graph, acting, self.reward) is not None else Route.GENERAL

    def _make(self, route: Route, estimand: Estimand, given: Names | None, *, shared: bool) -> Formula:
        laws = estimand.conditionals
        if given is None:
            named = {name for each in laws for name in each.columns}
            given = self._order(named.difference(estimand.targets, [self.reward]))
        together = [frozenset[str]().union(*(each.free for each in laws))] if shared else [each.free for each in laws]
        scopes = [self._order(each) for each in dict.fromkeys(together)]
        cells = max(prod(self.sizes[name] for name in scope if name != self.reward) for scope in scopes)
        return Formula(route, estimand, given, tuple(scopes), cells, shared)

    def _order(self, names: Iterable[str]) -> Names:
        return tuple(sorted(names, key=self.graph.index))
