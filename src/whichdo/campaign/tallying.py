"""Rows as they are told, and all evidence of a campaign in one tally.

A row is checked against problem and arm and brought into the one form that goes on record (`RowReader`): the values
that the problem declares, of the columns that are nodes.  Other columns are left out and named.

Estimates and recommendations rest on the pool of looks from logs, looks that were asked for, and direct pulls
(`pooled`), with amended rows as they were amended.  What the policy was told, and when, is another matter:
`whichdo.campaign.play`.  A look whose row says only some columns is counted in the tables whose columns it does say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.books import book_of
from whichdo.counting.sources import plain_name
from whichdo.counting.told import TellReader
from whichdo.errors import DataError, InputError, UsageError, quoted
from whichdo.evidence import Tally
from whichdo.formulas import counted_scopes, naive_scope
from whichdo.graph.identify import listed
from whichdo.problem import LOOK
from whichdo.tables import MAX_CELLS, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whichdo.arrays import Array, IntArray
    from whichdo.campaign.logs import Log
    from whichdo.problem import Arm, Problem, Value
    from whichdo.tables import Scope

__all__ = ["Outcomes", "RowReader", "pooled"]

STORED = "Nothing was stored."


class RowReader:
    """Reads what is told of a problem's arms."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._reader = TellReader(problem)
        self._books = {name: book_of(problem, name) for name in problem.domains}

    def read(self, arm: Arm, row: object, needed: Sequence[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The row as it goes on record, and the columns that are no nodes; or an error."""
        if not isinstance(row, Mapping):
            raise UsageError(f'A row is a mapping such as {{"X": 1, "Y": 0}}; found {quoted(row)}. {STORED}')
        quickly = self._plain(arm, row, needed)
        if quickly is not None:
            return quickly, ()
        self._check_reward(row)
        named = {plain_name(name) for name in row}
        absent = [name for name in needed if name not in named and name not in arm.settings]
        if absent:
            has = f"it has only {listed(sorted(named), most=12)}" if named else "it is empty"
            raise DataError(f"The row of {arm} lacks {listed(absent, most=12)}; {has}. {STORED}")
        try:
            self._reader.read(arm, row, needed)
        except (InputError, UsageError) as error:
            error.args = (f"{error} {STORED}",)
            raise
        kept, extra = {}, []
        for name, value in row.items():
            plain = plain_name(name)
            book = self._books.get(plain)
            if book is None:
                extra.append(plain)
            elif (code := book.code(value)) >= 0:
                kept[plain] = self._kept(plain, value, code)
        return kept, tuple(extra)

    def _plain(self, arm: Arm, row: Mapping[Any, Any], needed: Sequence[str]) -> dict[str, Any] | None:
        """The row, if there is nothing to say of it: so are nearly all, and it takes a fraction of the time."""
        kept = {}
        for name, value in row.items():
            book = self._books.get(name)
            if book is None or (code := book.code(value)) < 0:
                return None
            kept[name] = self._kept(name, value, code)
        applied = all(kept.get(name, value) == value for name, value in arm.settings.items())
        return kept if applied and all(name in kept for name in needed) else None

    def _kept(self, name: str, value: Any, code: int) -> Value:
        """The value that goes on record: the declared one, or a numeric reward as it is."""
        if name == self._problem.reward and self._problem.reward_range is not None:
            return float(value)
        return self._problem.domains[name][code]

    def _check_reward(self, row: Mapping[Any, Any]) -> None:
        reward = self._problem.reward
        if row.get(reward) is None or self._books[reward].code(row[reward]) >= 0:
            return
        numbers = self._problem.reward_range
        declared = listed(map(str, self._problem.domains[reward]), most=12) if numbers is None else str(numbers)
        raise DataError(f"The reward {reward}: got {quoted(row[reward])}, declared {declared}. {STORED}")


@dataclass(frozen=True)
class Outcomes:
    """Pulls and what came of them: for each the place of its arm in ``arms``, and the codes of all nodes.

    A code is -1 where the row does not say.
    """

    arms: Sequence[Arm]
    places: IntArray
    codes: Array

    @classmethod
    def of(cls, rows: Iterable[tuple[Arm, Sequence[int]]], nodes: int) -> Outcomes:
        """From arms with the codes of ``nodes`` nodes."""
        given = list(rows)
        arms = list(dict.fromkeys(arm for arm, _ in given))
        where = {arm: place for place, arm in enumerate(arms)}
        places = np.array([where[arm] for arm, _ in given], np.int64)
        return cls(arms, places, np.array([codes for _, codes in given], np.int16).reshape(len(given), nodes))

    def __len__(self) -> int:
        return len(self.places)

    def by_arm(self) -> Iterator[tuple[Arm, Array]]:
        """The codes of each arm's pulls, the arm that came first first."""
        found, first = np.unique(self.places, return_index=True)
        for place in found[np.argsort(first)].tolist():
            yield self.arms[place], self.codes[self.places == place]


def pooled(
    problem: Problem,
    logs: Iterable[Log],
    rows: Outcomes | Iterable[tuple[Arm, Sequence[int]]],
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
    places = {name: number for number, name in enumerate(problem.graph.nodes if nodes is None else nodes)}
    reward = places[problem.reward]
    counts = np.zeros((len(problem.arms), sizes[problem.reward]), np.int64)
    outcomes = rows if isinstance(rows, Outcomes) else Outcomes.of(rows, len(places))
    told: dict[Arm, Array] = {LOOK: np.zeros((0, len(places)), np.int16)}
    for arm, codes in outcomes.by_arm():
        if arm in problem.costs:
            counts[problem.index(arm)] += np.bincount(codes[:, reward], minlength=sizes[problem.reward])
            told[arm] = codes
    for log in logs:
        own = log.table((problem.reward,))
        if own is not None:
            counts[0] += own.count
    naive = [naive_scope(problem, targets) for targets in problem.target_sets]
    naive = [scope for scope in naive if problem.cells(scope) <= MAX_CELLS]
    asked = tuple(scopes)
    wanted = dict.fromkeys([(problem.reward,), *counted_scopes(problem), *naive, *asked])
    tables: dict[Arm, dict[Scope, Table]] = {}
    for arm, live in told.items():
        for scope in wanted if arm.is_look else asked:
            columns = live[:, [places[name] for name in scope]]
            whole = columns[(columns >= 0).all(axis=1)].astype(np.uint8)
            tables.setdefault(arm, {})[scope] = Table.from_rows(
                scope, [sizes[name] for name in scope], list(whole.T), np.ones(len(whole), np.int64)
            )
    for scope, table in tables[LOOK].items():
        tables[LOOK][scope] = sum((more for log in logs if (more := log.table(scope)) is not None), start=table)
    return Tally(problem, counts, tables)
