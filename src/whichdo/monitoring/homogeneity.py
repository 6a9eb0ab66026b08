"""Whether rows that are pooled agree: looks made now with the logs, and pulls of different arms with each other.

A chi-square test of homogeneity for each table that estimates rest on.

Logs from another season or another shop would otherwise be pooled with today's looks in silence.  Rare cells, in which
less than five are expected on a side, are taken together.  The level, 0.001, is divided by the number of tables; the
test is made again at every recommendation, so over a whole campaign a false warning is likelier than that.

Laws that several experiments tell by the graph are compared likewise (`whichdo.estimate.overdetermined`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.overdetermined import compare_factors
from whichdo.estimate.shrinkage import reward_scale
from whichdo.evidence import Tally
from whichdo.tails import chi_square_tail
from whichdo.text import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.tables import Scope, Table

__all__ = ["disagreements", "homogeneous", "untrue_laws"]

LEVEL = 0.001
FEW = 5.0
MOST_SETS = 8
"""Target sets, those with most pulls, whose experiments are compared with each other."""


def disagreements(before: Mapping[Scope, Table], now: Mapping[Scope, Table]) -> tuple[str, ...]:
    """A warning for every table in which looks made now differ from the logs."""
    tables = [scope for scope, table in before.items() if table.cells is None]
    found = []
    for scope in tables:
        chance = homogeneous(before[scope].count.ravel(), now[scope].count.ravel())
        if chance < LEVEL / len(tables):
            found.append((len(scope), scope, chance))
    if not found:
        return ()
    _, scope, chance = min(found)
    more = f" ({len(found) - 1} more tables differ too)" if len(found) > 1 else ""
    warning = (
        f"Looks made now do not agree with the logs in {listed(scope, most=12)}{more}: by chance that happens once in "
        f"{1 / max(chance, 1e-12):,.0f} times. Were the logs taken elsewhere or at another time? Estimates pool both."
    )
    return (warning,)


def untrue_laws(seen: Tally) -> tuple[str, ...]:
    """A warning where the graph says that rows of several arms have a law in common, and they do not."""
    problem = seen.problem
    worth, _, _ = reward_scale(problem)
    pulls = {targets: int(seen.pulls[list(places)].sum()) for targets, places in problem.positions.items()}
    most = {(), *sorted(pulls, key=lambda targets: -pulls[targets])[:MOST_SETS]}
    tables = {arm: held for arm, held in seen.tables.items() if arm.targets in most}
    tests = compare_factors(Tally(problem, seen.counts, tables), worth)
    found = sorted((each for each in tests if each.p < LEVEL / len(tests)), key=lambda each: each.p)
    if not found:
        return ()
    more = f" (so do {len(found) - 1} more)" if len(found) > 1 else ""
    warning = (
        f"By the graph {found[0].words} is one and the same, but they differ{more}: by chance that happens once in "
        f"{1 / max(found[0].p, 1e-12):,.0f} times. Is an edge missing? Estimates pool these rows."
    )
    return (warning,)


def homogeneous(first: IntArray | FloatArray, second: IntArray | FloatArray) -> float:
    """The chance that two tables of counts with one law differ as much as these, by Pearson's chi-square."""
    sides = np.stack([first, second]).astype(np.float64)
    totals = sides.sum(axis=1, keepdims=True)
    if not totals.all():
        return 1.0
    expected = totals * sides.sum(axis=0) / totals.sum()
    rare = (expected < FEW).any(axis=0)
    if rare.any():
        sides = np.column_stack([sides[:, ~rare], sides[:, rare].sum(axis=1)])
        expected = np.column_stack([expected[:, ~rare], expected[:, rare].sum(axis=1)])
        if (expected[:, -1] < FEW).any():
            sides, expected = sides[:, :-1], expected[:, :-1]
    free = sides.shape[1] - 1
    if free < 1:
        return 1.0
    return chi_square_tail(float(((sides - expected) ** 2 / expected).sum()), free)
