"""All evidence of a campaign in one tally: looks from logs, looks that were asked for, and direct pulls.

Estimates and recommendations rest on this pool, with amended rows as they were amended.  What the policy was told, and
when, is another matter: `whichdo.campaign.play`.

A look whose row says only some columns is counted in the tables whose columns it does say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.evidence import Tally
from whichdo.formulas import counted_scopes, naive_scope
from whichdo.problem import LOOK
from whichdo.tables import MAX_CELLS, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whichdo.campaign.logs import Log
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope

__all__ = ["pooled"]


def pooled(
    problem: Problem,
    logs: Iterable[Log],
    rows: Iterable[tuple[Arm, Sequence[int]]],
    *,
    nodes: Sequence[str] | None = None,
    scopes: Iterable[Scope] = (),
) -> Tally:
    """The tally of logs and rows; a row is the codes of all nodes, -1 where it does not say.

    ``nodes``: which node each code is about, by default those of the problem's graph in their order.
    Arms that are none of the problem's are left out.  ``scopes`` are counted besides what the problem's arms need, of
    direct pulls too.
    """
    logs = list(logs)
    sizes = problem.sizes
    position = {arm: number for number, arm in enumerate(problem.arms)}
    places = {name: number for number, name in enumerate(problem.graph.nodes if nodes is None else nodes)}
    reward = places[problem.reward]
    counts = np.zeros((len(problem.arms), sizes[problem.reward]), np.int64)
    told: dict[Arm, list[Sequence[int]]] = {LOOK: []}
    for arm, codes in rows:
        if arm in position:
            counts[position[arm], codes[reward]] += 1
            told.setdefault(arm, []).append(codes)
    for log in logs:
        own = log.table((problem.reward,))
        if own is not None:
            counts[0] += own.count
    naive = [naive_scope(problem, targets) for targets in problem.target_sets]
    naive = [scope for scope in naive if problem.cells(scope) <= MAX_CELLS]
    asked = tuple(scopes)
    wanted = dict.fromkeys([(problem.reward,), *counted_scopes(problem), *naive, *asked])
    tables: dict[Arm, dict[Scope, Table]] = {}
    for arm, given in told.items():
        live = np.array(given, np.int16).reshape(len(given), len(places))
        for scope in wanted if arm.is_look else asked:
            columns = live[:, [places[name] for name in scope]]
            whole = columns[(columns >= 0).all(axis=1)].astype(np.uint8)
            tables.setdefault(arm, {})[scope] = Table.from_rows(
                scope, [sizes[name] for name in scope], list(whole.T), np.ones(len(whole), np.int64)
            )
    for scope, table in tables[LOOK].items():
        tables[LOOK][scope] = sum((more for log in logs if (more := log.table(scope)) is not None), start=table)
    return Tally(problem, counts, tables)
