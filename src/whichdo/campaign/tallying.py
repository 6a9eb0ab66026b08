"""Rows as they are told, and all evidence of a campaign in one tally.

A row is checked against problem and arm and brought into the one form that goes on record (`RowReader`): the values
that the problem declares, of the columns that are nodes.  Other columns are left out and named.

Estimates and recommendations rest on the pool of looks from logs, looks that were asked for, and direct pulls
(`pooled`), with amended rows as they were amended.  What the policy receives, and when, is another matter:
`whichdo.campaign.play`.  A look whose row says only some columns is counted in the tables whose columns it does say.

A pull tells something of every arm that leaves the same nodes alone, if its row says more than the reward: with
``teaching`` rows of pulls are counted as looks are, and both by what blends read (`whichdo.blends`), as `whichdo.rank`
counts rows with an arm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.blends import experiment_scopes
from whichdo.campaign.events import Observed
from whichdo.counting.books import book_of
from whichdo.counting.parts import plain_name
from whichdo.counting.told import TellReader
from whichdo.errors import DataError, InputError, UsageError
from whichdo.evidence import Tally
from whichdo.formulas import Reading, counted_scopes, naive_scope
from whichdo.open_arms import lower_law_scopes
from whichdo.problem import LOOK, per_problem
from whichdo.tables import MAX_CELLS, Radix, Table
from whichdo.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whichdo.arrays import Array, IntArray
    from whichdo.problem import Arm, Problem, Value
    from whichdo.tables import Scope


STORED = "Nothing was stored."
FEW_CELLS = 256
"""Cells of a table that is laid out for every arm; of larger ones those that occurred are kept."""


@dataclass(frozen=True)
class Log:
    """One log: how many looks, and the counts of some columns together."""

    name: str
    sha256: str
    looks: int
    tables: Mapping[Scope, Table] = field(repr=False)
    """Sparse ones."""
    notes: tuple[str, ...] = ()
    receipt: str = ""
    """Of the event that put it on record."""
    is_file: bool = True
    bytes: int | None = None
    """How long the file was; of one that grows, what it then began with is known by this."""
    since: str | None = None
    """Of a log that has grown: the hash of what was observed of it before, which is not counted again."""
    database: Mapping[str, Any] | None = field(default=None, repr=False)
    """Of a log that its database counted: the engine, the SQL, how many rows the table had, and a digest of the counts.
    """
    prefixes: Mapping[int, str] = field(default_factory=dict, repr=False)
    """Hashes of its beginnings, for the sizes of the logs on record."""

    def as_event(self) -> Observed:
        """What goes on record."""
        tables = tuple(
            {"columns": list(scope), "cells": np.asarray(table.cells).tolist(), "counts": table.count.tolist()}
            for scope, table in self.tables.items()
        )
        return Observed(self.name, self.sha256, self.looks, tables, self.bytes, self.since, self.database)

    @classmethod
    def of(cls, observed: Observed, receipt: str, sizes: Mapping[str, int]) -> Log:
        """What an event put on record; a ValueError where it cannot have been a log."""
        tables = {}
        for each in observed.tables:
            radix = Radix.of(each["columns"], sizes)
            count = np.array(each["counts"], np.int64)
            cells = np.array(each["cells"], np.uint8).reshape(len(count), len(radix.scope))
            if (cells >= np.array(radix.sizes)).any():
                raise ValueError(f"a table of {', '.join(radix.scope)} with cells that it does not have")
            tables[radix.scope] = Table(radix.scope, radix.sizes, count, cells)
        looks = observed.looks
        if type(looks) is not int or looks < 1:
            raise ValueError(f"a log of {looks!r} looks")
        for table in tables.values():
            if (table.count < 1).any() or table.total > looks:
                raise ValueError(f"a table of {looks} looks with counts that cannot be")
        size = observed.bytes
        if size is not None and (type(size) is not int or size < 1):
            raise ValueError(f"a log of {size!r} bytes")
        return cls(
            observed.log,
            observed.sha256,
            looks,
            tables,
            receipt=receipt,
            bytes=size,
            since=observed.since,
            database=observed.database,
        )

    def table(self, scope: Scope) -> Table | None:
        """The counts of some columns, from the smallest table that holds them; None where none does."""
        holding = [own for own in self.tables if set(scope) <= set(own)]
        return self.tables[min(holding, key=len)].marginal(scope).compact() if holding else None


class RowReader:
    """Reads the rows that are told of a problem's arms."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._reader = TellReader(problem)
        self._books = {name: book_of(problem, name) for name in problem.domains}
        self._domains: dict[str, Sequence[Value] | None] = {**problem.domains}
        if problem.reward_range is not None:
            self._domains[problem.reward] = None  # on record as it is
        self._plain_values = {name: self._kept_as_told(name) for name in self._domains}

    def read(self, arm: Arm, row: object, needed: Sequence[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The row as it goes on record, and the columns that are not nodes; or an error."""
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
            error.add(after=f" {STORED}")
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
        kept: dict[str, Any] = {}
        for name, value in row.items():
            if type(value) is int and value in self._plain_values.get(name, ()):  # as most are
                kept[name] = value
                continue
            book = self._books.get(name)
            if book is None or (code := book.code(value)) < 0:
                return None
            kept[name] = self._kept(name, value, code)
        for name, value in arm.settings.items():
            if kept.get(name, value) != value:
                return None
        return kept if kept.keys() >= set(needed) else None

    def _kept_as_told(self, name: str) -> frozenset[Value]:
        """The whole numbers among the values of a node, which go on record as they are told."""
        values, code = enumerate(self._domains[name] or ()), self._books[name].code
        return frozenset(value for number, value in values if type(value) is int and code(value) == number)

    def _kept(self, name: str, value: Any, code: int) -> Value:
        """The value that goes on record: the declared one, or a numeric reward as it is."""
        domain = self._domains[name]
        return float(value) if domain is None else domain[code]

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


@per_problem
def teaching_scopes(problem: Problem) -> tuple[Scope, ...]:
    """What rows of experiments are counted by besides what looks are, so that they tell of other arms."""
    columns = frozenset(problem.domains)
    bounds = lower_law_scopes(problem, Reading.ROBUST, columns, experiments=True)
    found = dict.fromkeys([*experiment_scopes(problem, Reading.ROBUST), *bounds])
    return tuple(scope for scope in found if problem.cells(scope) <= MAX_CELLS)


def pooled(
    problem: Problem,
    logs: Iterable[Log],
    rows: Outcomes | Iterable[tuple[Arm, Sequence[int]]],
    *,
    nodes: Sequence[str] | None = None,
    scopes: Iterable[Scope] = (),
    teaching: bool = False,
) -> Tally:
    """The tally of logs and rows; a row is the codes of all nodes, -1 where it does not say.

    ``nodes``: which node each code is about, by default those of the problem's graph in their order.
    Arms that the problem does not have are left out.  ``scopes`` are counted besides what the problem's arms need, of
    direct pulls too.  With ``teaching`` direct pulls are counted by all of these, so that they are sources for other
    arms.
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


def _columns(problem: Problem, arm: Arm, rows: Array, places: Mapping[str, int]) -> dict[str, Array]:
    """The rows of an arm by column, -1 where one does not say; what the arm sets is known, said or not."""
    live = rows.T
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
