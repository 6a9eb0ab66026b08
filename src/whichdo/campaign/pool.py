"""All evidence of a campaign in one tally: looks from logs, looks that were asked for, and direct pulls.

Estimates and recommendations rest on this pool, with amended rows as they were amended.  What the policy was told, and
when, is another matter: `whichdo.campaign.play`.

A look whose row says only some columns is counted in the tables whose columns it does say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.campaign.logs import folded
from whichdo.counting.scopes import pair_scope
from whichdo.counting.wide import counted_scopes
from whichdo.evidence import Tally
from whichdo.problem import Arm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.campaign.logs import Log
    from whichdo.counting.scopes import Scope
    from whichdo.evidence import Table
    from whichdo.problem import Problem

__all__ = ["pooled"]


def pooled(
    problem: Problem,
    logs: Iterable[Log],
    rows: Iterable[tuple[Arm, Sequence[int]]],
    *,
    scopes: Iterable[Scope] = (),
    direct_scopes: Iterable[Scope] = (),
) -> Tally:
    """The tally of logs and rows; a row is the codes of all nodes, -1 where it does not say.

    Arms that are none of the problem's are left out.  ``scopes`` are counted of looks besides what the problem's arms
    need, ``direct_scopes`` of the pulls of every other arm.
    """
    logs, sizes = list(logs), {name: len(values) for name, values in problem.domains.items()}
    piles: dict[Arm, list[Sequence[int]]] = {arm: [] for arm in problem.arms}
    for arm, codes in rows:
        if arm in piles:
            piles[arm].append(codes)
    places = {name: number for number, name in enumerate(problem.graph.nodes)}
    live = {arm: np.array(pile, np.int16).reshape(len(pile), len(places)) for arm, pile in piles.items()}
    reward = places[problem.reward]
    counts = np.stack([np.bincount(codes[:, reward], minlength=sizes[problem.reward]) for codes in live.values()])
    for log in logs:
        own = log.table((problem.reward,), sizes)
        if own is not None:
            counts[0] += np.asarray(own)
    pairs = [pair_scope(problem, name) for name in problem.intervene]
    wanted = dict.fromkeys([(problem.reward,), *counted_scopes(problem).values(), *pairs, *scopes])
    direct = tuple(direct_scopes)
    tables: dict[Arm, dict[Scope, Table]] = {}
    for arm, matrix in live.items():
        asked = wanted if arm.is_look else direct if len(matrix) else ()
        if asked:
            tables[arm] = {scope: _counted(matrix, scope, places, sizes) for scope in asked}
    for log in logs:
        for scope, table in tables[Arm()].items():
            more = log.table(scope, sizes)
            if more is not None:
                tables[Arm()][scope] = _summed(table, more)
    return Tally(problem, counts.astype(np.int64), tables)


def _counted(codes: Any, scope: Scope, places: Mapping[str, int], sizes: Mapping[str, int]) -> Table:
    """The table of the rows that say all columns of a scope."""
    own = codes[:, [places[name] for name in scope]]
    whole = own[(own >= 0).all(axis=1)].astype(np.uint8)
    return folded(whole, np.ones(len(whole), np.int64), [sizes[name] for name in scope])


def _summed(first: Table, second: Table) -> Table:
    """Of one scope, so both are laid out or both are sparse."""
    return first + second  # type: ignore[operator]
