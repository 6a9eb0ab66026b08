"""Which node behaves differently when X is set than when X comes by itself.

If the graph is right, setting X leaves the law of every other node given its effective parents as it was, but for nodes
that a hidden cause ties to X.  A hidden common cause of X and V that the graph lacks shows first at V: its law given
its parents is one thing among those who have X=x by themselves, and another among those who were given it.  So the
first node in topological order whose law differs points at the missing X <-> V.  Nodes after V differ only if they are
tied as well.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from whichdo.formulas import counted_scopes
from whichdo.graph.components import effective_parents
from whichdo.problem import LOOK, per_problem
from whichdo.tables import Table

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray
    from whichdo.evidence import Tally
    from whichdo.graph.targets import Targets
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope


MAX_FAMILY = 1 << 10
"""The most cells of a node with its effective parents that is worth watching."""
CHANGED = 3.0
"""How many standard deviations a law must differ to be named; this is asked only once an alarm has gone off."""


@per_problem
def watched_scopes(problem: Problem) -> tuple[Scope, ...]:
    """What a campaign counts, in looks and in direct pulls, so that the alarm can see and name everything it can.

    The scopes that settle arms, every node by itself, and the nodes that an arm acts on with their effective parents.
    An alarm works with fewer too: what was not counted is not compared.
    """
    families = [
        (*given, name)
        for targets in problem.target_sets
        for name, given in families_of(problem, targets).items()
        if problem.cells((*given, name)) <= MAX_FAMILY
    ]
    alone = [(name,) for name in problem.graph.nodes]
    return tuple(dict.fromkeys([*counted_scopes(problem), *alone, *families]))


def counts_of(tally: Tally, arm: Arm, wanted: Scope) -> FloatArray | None:
    """How often each setting of some nodes came in pulls of an arm, an axis each; None where these were not counted.

    From rows, or from the smallest table that has all of them.
    """
    problem = tally.problem
    position = problem.index(arm)
    if wanted == (problem.reward,):
        levels: FloatArray = tally.counts[position].astype(np.float64)
        return levels
    tables = tally.tables.get(arm, {})
    found = tables.get(wanted)
    if found is not None and found.cells is None:
        whole: FloatArray = found.count.astype(np.float64)
        return whole
    sizes = {name: len(problem.domains[name]) for name in problem.graph.nodes}
    shape = [sizes[name] for name in wanted]
    holding = [scope for scope in tables if set(wanted) <= set(scope)]
    if holding:
        scope = min(holding, key=problem.cells)
        return tables[scope].marginal(wanted).dense().count.astype(np.float64)
    rows = tally.rows
    if rows is None or rows.codes.shape[1] != len(sizes):
        return None
    codes = rows.codes[rows.arms == position]
    if len(codes) != tally.pulls[position]:  # some pulls were told as tables
        return None
    columns = [codes[:, problem.graph.index(name)] for name in wanted]
    return Table.from_rows(wanted, shape, columns).dense().count.astype(np.float64)


def first_changed(problem: Problem, looks: Tally, pulls: Tally, arm: Arm) -> str | None:
    """The first node whose law given its effective parents is different under the arm; None if no table shows one."""
    for name, given in families_of(problem, arm.targets).items():
        wanted, size = (*given, name), len(problem.domains[name])
        if problem.cells(wanted) > MAX_FAMILY:
            continue
        by_itself, by_doing = counts_of(looks, LOOK, wanted), counts_of(pulls, arm, wanted)
        if by_itself is None or by_doing is None:
            continue
        rows = rows_of_arm(problem, arm, given)
        if _deviation(by_itself[rows].reshape(-1, size), by_doing[rows].reshape(-1, size)) > CHANGED:
            return name
    return None


def rows_of_arm(problem: Problem, arm: Arm, given: Scope) -> tuple[slice | list[int], ...]:
    """Of a table with an axis for each of ``given``, the rows that have the arm's values."""
    every = slice(None)
    settings = arm.settings
    return tuple([problem.domains[name].index(settings[name])] if name in settings else every for name in given)


def families_of(problem: Problem, targets: Targets) -> dict[str, Scope]:
    """The nodes between the acting target and the reward, each with its effective parents.

    Without those that a hidden cause ties to a target; none where several targets act, since looking says nothing then
    that could be contradicted.
    """
    verdict = problem.verdicts[targets]
    graph = verdict.within
    if len(verdict.acting) != 1:
        return {}
    given = effective_parents(graph)
    tied = {name for target in targets if target in graph for name in graph.c_component(target)}
    return {name: given[name] for name in graph.descendants(verdict.acting) if name not in tied}


def _deviation(first: FloatArray, second: FloatArray) -> float:
    """How far two tables differ, row by row: the likelihood ratio statistic as a normal deviate (Wilson, Hilferty)."""
    both = (first.sum(axis=1) > 0) & (second.sum(axis=1) > 0)
    first, second = first[both], second[both]
    together = first + second
    rest = together.sum(axis=1, keepdims=True)
    statistic = 0.0
    for part in (first, second):
        expected = together * part.sum(axis=1, keepdims=True) / rest
        here = part > 0
        statistic += 2 * float((part[here] * np.log(part[here] / expected[here])).sum())
    free = int((np.maximum((together > 0).sum(axis=1) - 1, 0)).sum())
    if free == 0:
        return 0.0
    return float(((statistic / free) ** (1 / 3) - (1 - 2 / (9 * free))) / sqrt(2 / (9 * free)))
