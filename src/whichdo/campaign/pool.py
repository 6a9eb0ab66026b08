"""All evidence of a campaign in one tally: looks from logs, looks that were asked for, and direct pulls.

Estimates and recommendations rest on this pool, with amended rows as they were amended.  What the policy was told, and
when, is another matter: `whichdo.campaign.play`.

A look whose row says only some columns is counted in the tables whose columns it does say.

A pull tells something of every arm that leaves the same nodes alone, if its row says more than the reward: with
``teaching`` rows of pulls are counted as looks are, and both by what blends read (`whichdo.blends`), as `whichdo.rank`
counts rows with an arm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.blends import experiment_scopes
from whichdo.evidence import Tally
from whichdo.formulas import Reading, counted_scopes, naive_scope
from whichdo.open_arms import lower_law_scopes
from whichdo.problem import LOOK
from whichdo.tables import MAX_CELLS, Radix, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import Array
    from whichdo.campaign.logs import Log
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope

__all__ = ["pooled", "teaching_scopes"]

FEW_CELLS = 256
"""Cells of a table that is laid out for every arm; of larger ones those that occurred are kept."""


def teaching_scopes(problem: Problem) -> tuple[Scope, ...]:
    """What rows of experiments are counted by besides what looks are, so that they tell of other arms."""
    found: tuple[Scope, ...] = problem.remember("teaching scopes", lambda: _teaching(problem))
    return found


def _teaching(problem: Problem) -> tuple[Scope, ...]:
    columns = frozenset(problem.domains)
    bounds = lower_law_scopes(problem, Reading.ROBUST, columns, experiments=True)
    found = dict.fromkeys([*experiment_scopes(problem, Reading.ROBUST), *bounds])
    return tuple(scope for scope in found if problem.cells(scope) <= MAX_CELLS)


def pooled(
    problem: Problem,
    logs: Iterable[Log],
    rows: Iterable[tuple[Arm, Sequence[int]]],
    *,
    nodes: Sequence[str] | None = None,
    scopes: Iterable[Scope] = (),
    teaching: bool = False,
) -> Tally:
    """The tally of logs and rows; a row is the codes of all nodes, -1 where it does not say.

    ``nodes``: which node each code is about, by default those of the problem's graph in their order.
    Arms that are none of the problem's are left out.  ``scopes`` are counted besides what the problem's arms need, of
    direct pulls too.  With ``teaching`` direct pulls are counted by all of these, so that they are sources for other
    arms.
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
    looked = dict.fromkeys([(problem.reward,), *counted_scopes(problem), *naive, *asked])
    pulled = dict.fromkeys(asked)
    if teaching and len(told) > 1:
        taught = teaching_scopes(problem)
        pulled |= dict.fromkeys([*looked, *taught])
        # Of a table that a log does not hold the looks would be but a few of all.
        looked |= dict.fromkeys(scope for scope in taught if all(log.table(scope) is not None for log in logs))
    tables: dict[Arm, dict[Scope, Table]] = {}
    for arm, given in told.items():
        live = _columns(problem, arm, given, places)
        for scope in looked if arm.is_look else pulled:
            made = _table(scope, sizes, live, laid_out=arm.is_look or scope in asked)
            tables.setdefault(arm, {})[scope] = made
    if teaching:
        _forget_untold(problem, tables)
    for scope, table in tables[LOOK].items():
        tables[LOOK][scope] = sum((more for log in logs if (more := log.table(scope)) is not None), start=table)
    return Tally(problem, counts, tables)


def _forget_untold(problem: Problem, tables: dict[Arm, dict[Scope, Table]]) -> None:
    """Leave out tables of experiments in which no row said all columns: such an experiment is not a source for them."""
    for places in problem.positions.values():
        held = [tables[arm] for arm in (problem.arms[place] for place in places) if arm in tables]
        for scope in [*held[0]] if held else ():
            if not any(each[scope].total for each in held):
                for each in held:
                    del each[scope]


def _columns(problem: Problem, arm: Arm, rows: Sequence[Sequence[int]], places: Mapping[str, int]) -> dict[str, Array]:
    """The rows of an arm by column, -1 where one does not say; what the arm sets is known, said or not."""
    live = np.array(rows, np.int16).reshape(len(rows), len(places)).T
    found = {name: live[place] for name, place in places.items()}
    for name, value in arm.settings.items():
        found[name] = np.full(len(rows), problem.domains[name].index(value), np.int16)
    return found


def _table(scope: Scope, sizes: Mapping[str, int], columns: Mapping[str, Array], *, laid_out: bool) -> Table:
    """The rows that say all columns, counted; laid out, or only the cells that occurred where these are few of all."""
    live = np.stack([columns[name] for name in scope], axis=1)
    rows = live[(live >= 0).all(axis=1)].astype(np.uint8)
    radix = Radix.of(scope, sizes)
    if laid_out or radix.cells <= FEW_CELLS:
        return Table.from_rows(scope, radix.sizes, list(rows.T), np.ones(len(rows), np.int64))
    cells, count = np.unique(rows, axis=0, return_counts=True)
    return Table(scope, radix.sizes, count.astype(np.int64), cells)
