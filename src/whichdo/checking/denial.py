"""What logged looks deny of the graph, and which arms a policy should therefore doubt before its first pull.

A graph says more than it is used for: that nodes are independent given others, and that estimates which lean on every
missing edge agree with those that lean on few.  `whichdo.check` asks logs about all of it; here the same is asked of
the tables that a policy begins with, since a policy sees tables of counts and never a file.

Where a statement fails, an edge is missing, or an arrow is drawn the wrong way.  Which one is a guess, so every single
change of the graph that would explain the failure is made in turn (`whichdo.checking.edits`).  An arm is *touched*
if by one of them looking says something else of it, or nothing.  Looking is then wrong of the arm as likely as the
graph is wrong, but at most with the chance `CAPPED`: an edge may be missing and matter little.  Where no such change
touches any arm, more than one edge is wrong or the guess is, and every arm is doubted as one of few or many.

How likely the graph is wrong follows from the doubt before and the chance p of the failure, corrected for all that was
tested, by the largest Bayes factor that such a p can mean, 1 / (-e p ln p) (Sellke, Bayarri and Berger 2001).  That
takes the side of doubt: it costs some pulls where it is mistaken, where belief could cost the decision.

Where nothing fails, nothing is doubted for it, and all is as if nothing had been asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import e, exp, log
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from whichdo.checking.edits import Edit, likely_missing
from whichdo.estimate.disagreement import disagreements
from whichdo.estimate.doubt import FEW, MANY
from whichdo.estimate.estimator import Rule, look
from whichdo.estimate.shrinkage import reward_scale
from whichdo.estimate.statements import LEVEL, adjusted_chances, check_statements, statement_cells
from whichdo.formulas import Reading, checked_reading, doubted_scope
from whichdo.graph.separation import implied_statements, m_separated
from whichdo.problem import LOOK, per_problem
from whichdo.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whichdo.arrays import FloatArray
    from whichdo.estimate.statements import Tested
    from whichdo.evidence import Tally
    from whichdo.graph.admg import CausalGraph
    from whichdo.graph.separation import Statement
    from whichdo.graph.targets import Targets
    from whichdo.problem import Problem
    from whichdo.tables import Scope


MOST_CELLS = 1 << 12
"""Cells of a table that is counted for one statement."""
MOST_STATEMENTS = 48
"""Statements that tables are counted for where all that acts on the reward together is too large."""
MOST_PAIRS = 96
"""Pairs of nodes that are asked about, those with the reward first: more would be felt."""
SETS = 2
"""Separating sets of a pair that are tested."""
MOST_SUSPECTS = 6
"""Edges of one group, and arrows the other way, that are tried in turn."""
MOST_TURNED = 64
"""Arrows of a graph up to which each is tried the other way."""
MOVES = 0.005
"""A difference of two estimates, as a share of the reward's range, that no decision turns on."""
CAPPED = 0.9
"""The most that an arm is doubted for this."""
SURE = 1e-300


@dataclass(frozen=True, eq=False)
class Denial:
    """What looks deny."""

    problem: Problem
    doubt: float
    failing: tuple[Tested, ...] = ()
    """Statements that the looks deny, the surest first."""
    apart: tuple[Targets, ...] = ()
    """Target sets whose estimates differ, depending on how much of the graph they lean on."""
    chance: float = 1.0
    """Of the surest failure if the graph were right, corrected for all that was tested."""
    touched: FloatArray = field(default_factory=lambda: np.zeros(0))
    """For each arm how likely it is wrong if the graph is; empty where nothing is denied."""

    @cached_property
    def anything(self) -> float:
        """How likely it is that the graph is wrong somewhere, by this alone; 0 where nothing is denied."""
        if not len(self.touched) or not 0 < self.doubt < 1:
            return 0.0
        p = min(max(self.chance, SURE), 1 / e)
        odds = log(self.doubt / (1 - self.doubt)) - 1 - log(p) - log(-log(p))
        return 1 / (1 + exp(-odds)) if odds > -700 else 0.0

    @cached_property
    def chances(self) -> FloatArray:
        """For each arm how likely it is that what looking says of it is wrong for what was denied; only to be read."""
        if not self.anything:
            return np.zeros(len(self.problem.arms))
        found: FloatArray = np.minimum(self.anything * self.touched, CAPPED)
        return found

    @property
    def words(self) -> tuple[str, ...]:
        """Warnings: what the logs deny, and which arms' estimates from looking are doubted."""
        doubted = [str(arm) for arm, chance in zip(self.problem.arms, self.chances, strict=True) if chance > 0]
        if not self.anything:
            return ()
        if self.failing:
            first = self.failing[0]
            given = f" given {listed(first.given, most=12)}" if first.given else ""
            more = f", and {len(self.failing) - 1:,} more of its statements" if len(self.failing) > 1 else ""
            what = f"that {first.left} and {first.right} are independent{given} (p = {first.p:.0e}){more}"
        else:
            sets = listed(" with ".join(each) for each in self.apart)
            what = f"a missing edge: estimates of {sets} that lean on all of them differ from those that do not"
        words = (
            f"The logs deny {what}, so what looking says of {listed(doubted)} is doubted from the start. "
            f"`whichdo check` names the edge that is likely missing."
        )
        return (words,)


def denial(problem: Problem, seen: Tally, doubt: float, reading: str = "robust") -> Denial:
    """What the looks of a tally deny of the problem's graph.

    ``seen``: what was logged; tables of looks are asked as far as they go (`statement_scopes` says which to count).
    ``doubt``: the chance, before anything was seen, that the graph or the logs are wrong; with 0 nothing is asked.
    ``reading``: how much of the graph the estimates lean on that may be doubted.
    """
    if not 0 < doubt < 1 or not seen.counts[0].any() or not seen.tables.get(LOOK):
        return _nothing(problem, doubt)
    known = _FOUND.setdefault(seen, {})
    if reading not in known:
        known[reading] = _ask(problem, seen, checked_reading(reading))
    failing, apart, chance, touched = known[reading]
    return Denial(problem, doubt, failing, apart, chance, touched)


@per_problem
def _nothing(problem: Problem, doubt: float) -> Denial:
    """Where nothing was asked: the same in every run of a simulation."""
    return Denial(problem, doubt)


_Found = tuple[tuple["Tested", ...], tuple["Targets", ...], float, "FloatArray"]
_FOUND: WeakKeyDictionary[Tally, dict[str, _Found]] = WeakKeyDictionary()


@per_problem
def statement_scopes(problem: Problem) -> tuple[Scope, ...]:
    """What to count of looks so that they can deny the graph: all that acts on the reward, where that is cheap.

    Else the columns of single statements, those about the reward first.
    """
    whole = doubted_scope(problem)
    if whole is not None:
        return (whole,)
    acting = set(problem.graph.ancestors([problem.reward]))
    pairs = _first_pairs(problem, combinations([name for name in problem.graph.nodes if name in acting], 2))
    found = implied_statements(problem.graph, pairs=pairs, sets=1).statements
    small = [each for each in found if statement_cells(each, problem.sizes) <= MOST_CELLS]
    chosen = sorted(small, key=lambda each: problem.reward not in each.scope)[:MOST_STATEMENTS]
    return tuple(dict.fromkeys(tuple(sorted(each.scope, key=problem.graph.index)) for each in chosen))


def _first_pairs(problem: Problem, pairs: Iterable[tuple[str, ...]]) -> list[tuple[str, str]]:
    found = [(first, second) for first, second in pairs]
    return sorted(found, key=lambda pair: problem.reward not in pair)[:MOST_PAIRS]


def _ask(problem: Problem, seen: Tally, reading: Reading) -> _Found:
    tables = seen.tables.get(LOOK, {})
    nothing: _Found = ((), (), 1.0, np.zeros(0))
    if any(len(table.statistics) > 1 for table in tables.values()):
        return nothing  # weights and sums: their tables do not say by how much chance moves them
    worth, _, _ = reward_scale(problem)
    apart = disagreements(problem, seen, worth)
    others = [each.p for each in apart.values()]
    statements = _statements(problem, tuple(sorted(tables)))
    tested = check_statements(seen, statements, others=others)
    chances = adjusted_chances([*(each.p for each in tested), *others])
    failing = sorted((each for each in tested if each.fails), key=lambda each: (each.adjusted, -each.strength))
    differing = tuple(
        targets
        for (targets, each), chance in zip(apart.items(), chances[len(tested) :], strict=True)
        if chance < LEVEL and each.low > MOVES
    )
    if not failing and not differing:
        return nothing
    said = look(problem, seen, worth, Rule(reading)).means
    touched = np.zeros(len(problem.arms))
    if failing:
        for graph in _explaining(problem.graph, failing, tested):
            touched = np.maximum(touched, _moved(problem, seen, graph, said, Rule(reading)))
    if differing and (reading is Reading.GRAPH or not failing):
        # One reading is wrong, and the one that leans on more edges for sure.
        share = 1.0 if reading is Reading.GRAPH else MANY
        touched = np.maximum(touched, [share * (arm.targets in differing) for arm in problem.arms])
    if not touched.any():
        touched = np.full(len(problem.arms), (FEW + MANY) / 2)
        touched[0] = 0.0  # looks say what do() is, whatever the graph
    touched[np.isnan(said)] = 0.0  # looking says nothing of these as it is
    ranked = [each.adjusted for each in failing]
    ranked += [float(chance) for chance in chances[len(tested) :] if chance < LEVEL] if differing else []
    return tuple(failing), differing, min(ranked), touched


@per_problem
def _statements(problem: Problem, scopes: tuple[Scope, ...]) -> tuple[Statement, ...]:
    """The statements that these tables can be asked about, found once for each set of tables."""
    together = dict.fromkeys(
        tuple(sorted(pair, key=problem.graph.index)) for scope in scopes for pair in combinations(scope, 2)
    )
    found = implied_statements(problem.graph, pairs=_first_pairs(problem, together), sets=SETS).statements
    sets = [frozenset(scope) for scope in scopes]
    return tuple(
        each
        for each in found
        if statement_cells(each, problem.sizes) <= MOST_CELLS
        and any(columns.issuperset(each.scope) for columns in sets)
    )


def _explaining(graph: CausalGraph, failing: Sequence[Tested], tested: Sequence[Tested]) -> list[CausalGraph]:
    """The graph with single changes that would explain what fails: an edge more, or an arrow the other way."""
    denied = [each.statement for each in sorted(failing, key=lambda each: -each.strength)]
    holding = [each.statement for each in tested if each.tested and not each.fails]
    groups = likely_missing(graph, denied, holding)
    found = [edit.apply(graph) for group in groups for edit in group[:MOST_SUSPECTS]]
    arrows = graph.directed if len(graph.directed) <= MOST_TURNED else ()
    turned = [other for tail, head in sorted(arrows) if (other := _turn(graph, tail, head)) is not None]
    explained = [
        other
        for other in turned
        if not any(m_separated(other, [each.left], [each.right], each.given) for each in denied)
    ]
    return found + explained[:MOST_SUSPECTS]


def _turn(graph: CausalGraph, tail: str, head: str) -> CausalGraph | None:
    """The graph with an arrow the other way; None where that would close a cycle."""
    without = Edit(adds=False, hidden=False, tail=tail, head=head).apply(graph)
    if tail in without.ancestors([head]):
        return None
    return Edit(adds=True, hidden=False, tail=head, head=tail).apply(without)


def _moved(problem: Problem, seen: Tally, graph: CausalGraph, said: FloatArray, rule: Rule) -> FloatArray:
    """1 for each arm of which looking says something else by another graph, or nothing; 0 for the others."""
    edited = problem.but(graph=graph, prune=False)  # whatever the other graph would prune
    worth, _, _ = reward_scale(problem)
    other = look(edited, seen.onto(edited), worth, rule).means
    found: FloatArray = np.array(
        [float(not abs(other[edited.index(arm)] - mean) <= MOVES) for arm, mean in zip(problem.arms, said, strict=True)]
    )
    return found
