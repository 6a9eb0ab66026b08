"""What `whichdo.rank` says by itself where the looks contradict the graph.

Two kinds of test need nothing that is not counted anyway: whether estimates that lean on every
missing edge agree with those that lean on few (`whichdo.estimate.disagreement`), and whether nodes
that the graph calls independent are, as far as the tables hold them.  `whichdo.check` asks for more;
here one separating set a pair is enough, and a warning is given only where all tests together would
accuse a right graph in one of a hundred logs.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from whichdo.estimate.disagreement import disagreements
from whichdo.estimate.statements import adjusted_chances, check_statements
from whichdo.graph.implied import implied_statements
from whichdo.problem import LOOK, per_problem
from whichdo.text import listed

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray
    from whichdo.estimate.statements import Tested
    from whichdo.evidence import Tally
    from whichdo.graph.implied import Statement
    from whichdo.graph.targets import Targets
    from whichdo.problem import Problem
    from whichdo.tables import Scope

__all__ = ["contradiction_words"]

LEVEL = 0.01
"""The chance of a warning, with a right graph, over all tests together."""
MOST_PAIRS = 24
"""Pairs that are looked at: more would be felt."""
MOST_CELLS = 1 << 12
"""Cells of a table that is asked about more than what it was counted for."""


def contradiction_words(problem: Problem, seen: Tally, worth: FloatArray) -> tuple[str, ...]:
    """Warnings: what the graph promises and these looks deny."""
    estimates = disagreements(problem, seen, worth)
    tested = check_statements(seen, _cheap_statements(problem, seen))
    chances = adjusted_chances([*(each.p for each in tested), *(each.p for each in estimates.values())])
    denied = [each for each, chance in zip(tested, chances, strict=False) if chance < LEVEL and each.strong]
    apart = {
        targets: each.p
        for (targets, each), chance in zip(estimates.items(), chances[len(tested) :], strict=True)
        if chance < LEVEL
    }
    return (*_of_estimates(apart), *_of_statements(denied))


def _of_estimates(apart: dict[Targets, float]) -> tuple[str, ...]:
    if not apart:
        return ()
    sets = listed(" with ".join(targets) for targets in apart)
    words = (
        f"The logs contradict the graph: for {sets} estimates that lean on every missing edge differ from those that "
        f"do not (p = {min(apart.values()):.0e}). An edge is missing somewhere; the table leans on as few as it can."
    )
    return (words,)


def _of_statements(denied: list[Tested]) -> tuple[str, ...]:
    if not denied:
        return ()
    worst = max(denied, key=lambda each: each.strength)
    given = f" given {listed(worst.given)}" if worst.given else ""
    more = f", and {len(denied) - 1:,} more" if len(denied) > 1 else ""
    words = (
        f"The logs contradict the graph: {worst.left} and {worst.right} are not independent{given} "
        f"(p = {worst.p:.0e}, strength {worst.strength:.2g}){more}. `whichdo check` names the edge that is likely "
        f"missing and what it would change."
    )
    return (words,)


def _cheap_statements(problem: Problem, seen: Tally) -> tuple[Statement, ...]:
    """Statements whose columns were counted together in a table that is small."""
    tables = seen.tables.get(LOOK, {})
    if any("weight" in table.statistics for table in tables.values()):
        return ()
    small = tuple(sorted(scope for scope in tables if problem.cells(scope) <= MOST_CELLS))
    return _within(problem, small)


@per_problem
def _within(problem: Problem, scopes: tuple[Scope, ...]) -> tuple[Statement, ...]:
    together = {
        tuple(sorted(pair, key=problem.graph.index)): None for scope in scopes for pair in combinations(scope, 2)
    }
    pairs = [(pair[0], pair[1]) for pair in together][:MOST_PAIRS]
    found = implied_statements(problem.graph, pairs=pairs, sets=1).statements
    sets = [frozenset(scope) for scope in scopes]
    return tuple(each for each in found if any(scope.issuperset(each.scope) for scope in sets))
