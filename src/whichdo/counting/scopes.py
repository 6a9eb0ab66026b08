"""Which columns must be counted together, per problem.

To settle the arms on X by looking, X is counted with what it must be compared within (its adjustment set, or Pa+ of its
c-component) and with the reward.  Three readings differ in how much that is:

OURS    nodes that do not act on the reward are left out first, and of X's parents only those stay that a back-door
        path needs blocked; exact, and the tables are as small as they can be;
PAPER   the whole graph is used unless X fails Assumption 3 there, and parents are dropped only in graphs without any
        hidden confounder: what the paper's q, m and SRM-ALG mean;
PLAIN   as PAPER, and no parent is ever dropped: the paper without its footnote.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from whichdo.graph.components import with_parents
from whichdo.graph.identify import Route, verdicts
from whichdo.graph.targets import ByTargets
from whichdo.tables import MAX_CELLS, Radix, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.graph.identify import Verdict
    from whichdo.graph.targets import Targets
    from whichdo.problem import Problem

__all__ = ["MAX_CELLS", "Reading", "Scope", "cell_count", "full_scope", "judged", "naive_scope", "scopes", "together"]


class Reading(StrEnum):
    """How much is counted together; see the module."""

    OURS = "ours"
    PAPER = "paper"
    PLAIN = "plain"


def judged(problem: Problem, reading: Reading = Reading.OURS) -> ByTargets[Verdict]:
    """The verdict on each target set in the graph that the reading looks at."""
    if reading is Reading.OURS:
        return problem.verdicts
    return verdicts(problem.graph, problem.reward, problem.target_sets, restrict=False)


def together(problem: Problem, verdict: Verdict, reading: Reading = Reading.OURS) -> Scope:
    """The targets and what their cells are made of, in topological order; their joint probability decides their rarity.

    Empty for targets that do not act on the reward: nothing about them is rare.
    """
    if verdict.route is Route.SAME:
        return ()
    if reading is Reading.PLAIN or (reading is Reading.PAPER and problem.graph.bidirected):
        found: Iterable[str] = with_parents(verdict.within, verdict.component)
    else:
        found = (*verdict.acting, *verdict.given)
    return tuple(sorted(found, key=problem.graph.index))


def scopes(problem: Problem, reading: Reading = Reading.OURS) -> ByTargets[Scope]:
    """For each target set that looking settles, the columns whose joint counts settle it, where they fit.

    Targets that do not act on the reward need the reward alone.  Those that would need more than `MAX_CELLS` cells are
    left out; `whichdo.counting.wide.counted_scopes` has those of them too that can be estimated all the same.
    """
    found = {}
    for targets, verdict in judged(problem, reading).items():
        if verdict.route is Route.TRY:
            continue
        scope = full_scope(problem, verdict, reading)
        if cell_count(problem, scope) <= MAX_CELLS:
            found[targets] = scope
    return ByTargets(found)


def full_scope(problem: Problem, verdict: Verdict, reading: Reading = Reading.OURS) -> Scope:
    """What must be counted together to settle a target set, however wide."""
    return tuple(sorted({*together(problem, verdict, reading), problem.reward}, key=problem.graph.index))


def naive_scope(problem: Problem, targets: Targets) -> Scope:
    """The targets and the reward: what the naive conditional mean is counted from."""
    return tuple(sorted((*targets, problem.reward), key=problem.graph.index))


def cell_count(problem: Problem, scope: Scope) -> int:
    """The number of cells of a scope, before anything is allocated."""
    return Radix(scope, tuple(len(problem.domains[name]) for name in scope)).cells
