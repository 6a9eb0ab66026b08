"""Rows of one arm's pulls, checked and brought into one form: a row, rows, columns, a frame or a tally.

Values are read as in counting a log (`whichdo.counting.values`): nothing is guessed.  Every column that is a node is
checked, also one that is not needed; columns that are not nodes are ignored and named.  Reading keeps nothing, so that
what is refused leaves no trace.

While a batch is being answered, `Gathering` knows what is still owed of each arm, and the tally of
the rows received so far.  The tally depends on the rows, not on how they arrive: at once, in pieces
or pull by pull, whatever arm came first. Rows are kept arm by arm in the batch's order, and within
an arm in the order of arrival.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.books import book_of
from whichdo.counting.notes import Faults
from whichdo.counting.packed import Adder, Plan
from whichdo.counting.parts import CHUNK, plain_name
from whichdo.counting.row_counter import absent_columns
from whichdo.counting.sources import opened
from whichdo.counting.values import BAD, MISSING, decode
from whichdo.errors import DataError, UsageError
from whichdo.evidence import Detail, Rows, Tally
from whichdo.formulas import counted_scopes
from whichdo.tables import Table
from whichdo.text import counted, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import Array, CodeArray, IntArray
    from whichdo.counting.parts import Part
    from whichdo.evidence import Batch
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope


PLAIN = frozenset({int, float, str, bool, type(None)})
NOTHING = "There are no rows to store."


@dataclass(frozen=True)
class Told:
    """Some pulls of one arm: how often each reward level came, and codes or tables."""

    levels: IntArray
    codes: CodeArray | None = None
    """A row for each pull, a column for each of the needed nodes."""
    tables: Mapping[Scope, Table] = field(default_factory=dict)
    """Where there are no codes."""
    extra: tuple[str, ...] = ()
    """Columns that are not nodes: they were not read."""

    @property
    def pulls(self) -> int:
        """How many."""
        return int(self.levels.sum())


class TellReader:
    """Reads the rows of pulls of a problem's arms."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._books = {name: book_of(problem, name) for name in problem.domains}

    def read(self, arm: Arm, outcome: object, needed: Sequence[str]) -> Told:
        """Pulls of ``arm`` with the codes of the ``needed`` nodes, the reward among them; or an error."""
        if isinstance(outcome, Mapping) and not any(_is_column(value) for value in outcome.values()):
            told = self._row(arm, outcome, needed)
            if told is not None:
                return told
            outcome = {name: [value] for name, value in outcome.items()}  # to say what is wrong with it
        elif isinstance(outcome, (list, tuple)) and not outcome:
            raise DataError(NOTHING)
        elif isinstance(outcome, (list, tuple)) and not all(isinstance(each, (str, os.PathLike)) for each in outcome):
            outcome = _columns(outcome)
        return self._table(arm, outcome, needed)

    def _row(self, arm: Arm, row: Mapping[Any, Any], needed: Sequence[str]) -> Told | None:
        """One row, quickly; None if anything is wrong with it."""
        codes: dict[str, int] = {}
        extra = []
        for name, value in row.items():
            book = self._books.get(name)
            if book is None:
                name = plain_name(name)
                book = self._books.get(name)
            if book is None:
                extra.append(name)
            elif name in codes:
                return None
            else:
                codes[name] = book.code(value)
        found = [codes.get(name, MISSING) for name in needed]
        if min(found) < 0 or BAD in codes.values():
            return None
        for name, code in self._set_codes(arm).items():
            if codes.get(name, code) not in {MISSING, code}:
                return None
        return self._told(np.array([found], np.uint8), needed, extra)

    def _table(self, arm: Arm, data: object, needed: Sequence[str]) -> Told:
        """Rows of any source that can be counted."""
        faults = Faults(f"A row needs {listed(needed, most=12)}.")
        blocks: list[CodeArray] = []
        extra: dict[str, None] = {}
        rows = 0
        with opened(data, frozenset(self._books)) as source:
            for part in source.parts:
                there = set(part.columns)
                absent = [name for name in needed if name not in there]
                if absent:
                    raise DataError(absent_columns(part, absent, self._problem))
                extra |= dict.fromkeys(name for name in part.columns if name not in self._books)
                place = {name: j for j, name in enumerate(part.columns) if name in self._books}
                first = 0
                for columns in part.chunks(list(place.values()), CHUNK):
                    named = dict(zip(place, columns, strict=True))
                    blocks.append(self._decode(arm, part, first, named, needed, faults))
                    first += len(columns[0])
                rows += first
        if not rows:
            raise DataError(NOTHING)
        faults.check(rows, drop=False)
        return self._told(np.concatenate(blocks), needed, extra)

    def _decode(
        self, arm: Arm, part: Part, first: int, columns: Mapping[str, Any], needed: Sequence[str], faults: Faults
    ) -> CodeArray:
        """The codes of one chunk, which begins at row ``first``; what is wrong is noted."""
        found = {name: decode(self._books[name], column) for name, column in columns.items()}
        for name, column in found.items():
            if column.bad is not None:
                faults.add_bad(part, first, name, columns[name], self._books[name], column.bad)
        missing = {name: gaps for name in needed if (gaps := found[name].missing) is not None}
        if missing:
            faults.add_missing(part, first, missing)
        differ = {}
        for name, code in self._set_codes(arm).items():
            if name in found and found[name].bad is None:
                own = found[name]
                differ[name] = (own.codes != code) if own.missing is None else (own.codes != code) & ~own.missing
        wrong = np.logical_or.reduce(list(differ.values())) if differ else np.zeros(0, np.bool_)
        if wrong.any():
            place = int(np.argmax(wrong))
            domains = self._problem.domains
            values = {name: domains[name][found[name].codes[place]] for name, rows in differ.items() if rows[place]}
            faults.add_contradiction(part, first + place, int(wrong.sum()), arm, values)
        return np.stack([found[name].codes for name in needed], axis=1)

    def _set_codes(self, arm: Arm) -> dict[str, int]:
        """The codes of the values that an arm sets."""
        return {name: self._problem.domains[name].index(value) for name, value in arm.settings.items()}

    def _told(self, codes: CodeArray, needed: Sequence[str], extra: Sequence[str] | Mapping[str, None]) -> Told:
        reward = self._problem.reward
        levels = np.bincount(codes[:, needed.index(reward)], minlength=len(self._problem.domains[reward]))
        return Told(levels.astype(np.int64), codes, extra=tuple(extra))

    # ------------------------------------------------------------------------------------------------------- tallies

    def read_tally(self, arm: Arm, tally: Tally, needed: Sequence[str], scopes: Sequence[Scope]) -> Told:
        """The pulls in a tally of one arm, with its rows, or else with tables of the ``scopes``; or an error."""
        problem = self._problem
        if tally.problem != problem:
            raise UsageError("This tally belongs to another problem. Tell pulls of this one.")
        position = problem.index(arm)
        shape = (len(problem.arms), len(problem.domains[problem.reward]))
        if not _are_counts(tally.counts, shape):
            raise DataError(f"The counts of a tally are {shape[0]} arms by {shape[1]} reward levels, not below 0.")
        others = [str(problem.arms[j]) for j in np.flatnonzero(tally.pulls) if j != position]
        if others:
            raise UsageError(f"This tally of {arm} also holds pulls of {listed(others)}. Tell each arm separately.")
        levels = tally.counts[position].astype(np.int64)
        if not levels.any():
            raise DataError(f"This tally has no pull of {arm}.")
        tables = {scope: self._check(arm, scope, table, levels) for scope, table in tally.tables.get(arm, {}).items()}
        if tally.rows is not None:
            return Told(levels, self._rows(arm, position, tally, levels)[:, self._places(needed)])
        reward: Scope = (problem.reward,)
        own = {reward: Table(reward, (len(levels),), levels)}  # in the counts anyway
        lacking = [scope for scope in scopes if scope not in tables and scope not in own]
        if lacking:
            raise DataError(
                f"This tally has no table of {listed(lacking[0], most=12)}, which the policy counts together. Tell "
                f"rows, or a tally with this table."
            )
        return Told(levels, tables={scope: tables[scope] if scope in tables else own[scope] for scope in scopes})

    def _rows(self, arm: Arm, position: int, tally: Tally, levels: IntArray) -> CodeArray:
        """The rows of a tally; they must be those of its counts."""
        problem, rows = self._problem, tally.rows
        sizes = [len(domain) for domain in problem.domains.values()]
        if rows is None or len(rows) != levels.sum() or np.any(rows.arms != position):
            raise DataError(f"The rows of this tally are not those of its {int(levels.sum()):,} pulls of {arm}.")
        codes = rows.codes
        if codes.shape != (len(rows), len(sizes)) or codes.dtype != np.uint8 or np.any(codes >= np.array(sizes)):
            raise DataError("The rows of this tally are not codes of this problem's nodes.")
        told = self._told(codes, problem.graph.nodes, ())
        if np.any(told.levels != levels):
            raise DataError("The rewards in the rows of this tally are not those of its counts.")
        for name in arm.targets:
            self._check_applied(arm, name, np.bincount(codes[:, problem.graph.index(name)]))
        return codes

    def _check(self, arm: Arm, scope: Scope, table: Table | Array, levels: IntArray) -> Table:
        """A table of a tally, or an array with an axis for each column, which must fit its counts."""
        problem = self._problem
        if any(name not in problem.domains for name in scope) or len(set(scope)) < len(scope):
            raise DataError(f"This tally has a table of {scope}, which are not distinct nodes of this problem.")
        sizes = [len(problem.domains[name]) for name in scope]
        what = f"The table of {listed(scope, most=12) or 'nothing'} in this tally"
        table = table if isinstance(table, Table) else Table.of(scope, np.asarray(table))
        if not _is_table(table, scope, sizes):
            raise DataError(f"{what} is not a table of counts with {' by '.join(map(str, sizes)) or '1'} cells.")
        table = _uniform(table)
        if table.total != levels.sum():
            raise DataError(f"{what} holds {table.total:,} pulls, where {int(levels.sum()):,} were counted.")
        if problem.reward in scope and np.any(table.marginal((problem.reward,)).count != levels):
            raise DataError(f"{what} has different rewards from its counts.")
        for name in arm.targets:
            if name in scope:
                self._check_applied(arm, name, table.marginal((name,)).count)
        return table

    def _check_applied(self, arm: Arm, name: str, margin: IntArray) -> None:
        """``margin`` counts the values of a node that the arm sets."""
        wrong = [code for code in np.flatnonzero(margin).tolist() if code != self._set_codes(arm)[name]]
        if wrong:
            value = self._problem.domains[name][wrong[0]]
            raise DataError(
                f"The arm is {arm}, but {name} is {value} in {int(margin[wrong[0]]):,} pulls of this tally: the "
                f"intervention was not applied."
            )

    def _places(self, needed: Sequence[str]) -> list[int]:
        return [self._problem.graph.index(name) for name in needed]


def _is_column(value: object) -> bool:
    return type(value) not in PLAIN and not isinstance(value, (str, bytes)) and hasattr(value, "__len__")


def _columns(rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Rows as columns; what a row does not say is missing."""
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise UsageError(f'Row {number:,} is {quoted(row)}; a row is a mapping such as {{"X": 1, "Y": 0}}.')
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _are_counts(array: Any, shape: Sequence[int]) -> bool:
    """Whether something is an array of whole numbers from 0, of this shape."""
    fits = isinstance(array, np.ndarray) and array.shape == tuple(shape) and array.dtype.kind in "iu"
    return fits and not np.any(array < 0)


def _is_table(table: Table, scope: Scope, sizes: Sequence[int]) -> bool:
    if table.scope != scope or table.sizes != tuple(sizes):
        return False
    cells = table.cells
    if cells is None:
        return _are_counts(table.count, sizes)
    shaped = bool(sizes) and cells.dtype == np.uint8 and cells.shape == (len(cells), len(sizes))
    return shaped and _are_counts(table.count, (len(cells),)) and not np.any(cells >= np.array(sizes))


def _uniform(table: Table) -> Table:
    """A table as counting makes it: of its kind, whole numbers of 64 bits, every cell listed once."""
    if table.cells is None:
        return Table(table.scope, table.sizes, table.count.astype(np.int64)).compact()
    seen = table.count > 0
    return Table.from_rows(table.scope, table.sizes, list(table.cells[seen].T), table.count[seen].astype(np.int64))


MOST_PLANS = 64
WAITING = 4096  # rows that are kept before they are counted together: one at a time each would cost a pass


class Desk:
    """What the batches of one problem have in common: worked out once, since a batch may be a single pull."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.reader = TellReader(problem)
        self._columns: dict[object, tuple[tuple[Scope, ...], tuple[str, ...]]] = {}
        self._plans: dict[object, Plan] = {}

    def columns(self, batch: Batch) -> tuple[tuple[Scope, ...], tuple[str, ...]]:
        """The scopes to count, and the nodes that a row must say, in the graph's order."""
        key = (batch.detail, batch.scopes)
        if key not in self._columns:
            scopes = _scopes(self.problem, batch)
            self._columns[key] = scopes, _needed(self.problem, batch, scopes)
        return self._columns[key]

    def plan(self, scopes: tuple[Scope, ...], arms: int, rows: int) -> Plan:
        """How the tables of ``arms`` arms, one of them with ``rows`` rows to come, are counted."""
        key = (scopes, arms, rows)
        if key not in self._plans:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            self._plans[key] = Plan(self.problem.sizes, scopes, arms=arms, rows=rows)
        return self._plans[key]


class Gathering:
    """Fills the tally of one batch."""

    def __init__(self, desk: Desk, batch: Batch) -> None:
        self._desk, self._problem, self._reader = desk, desk.problem, desk.reader
        self.batch = batch
        self.owed = {arm: count for arm, count in zip(batch.arms, batch.counts, strict=True) if count}
        self.scopes, self.needed = desk.columns(batch)
        problem = self._problem
        self._counts = np.zeros((len(problem.arms), len(problem.domains[problem.reward])), np.int64)
        self._piles: dict[Arm, _Pile] = {}

    def read(self, arm: Arm, outcome: object) -> Told:
        """What an outcome says about pulls of ``arm`` that are owed, or an error; nothing is changed."""
        self._problem.index(arm)
        if arm not in self.owed:
            waiting = listed((f"{other} ({count:,})" for other, count in self.owed.items()), most=12)
            raise UsageError(f"{arm} is not among the pulls asked for. Outstanding pulls: {waiting}.")
        if isinstance(outcome, Told):
            told = outcome  # read before, as a campaign reads a tell when it comes
        elif isinstance(outcome, Tally):
            told = self._reader.read_tally(arm, outcome, self.needed, self.scopes)
            if self.batch.detail is Detail.ROWS and told.codes is None:
                raise DataError(
                    "This tally has no rows, and the policy reads rows. Tell rows, or pull with detail ROWS."
                )
        else:
            told = self._reader.read(arm, outcome, self.needed)
        owed = self.owed[arm]
        if told.pulls > owed:
            pulls = counted(owed, "pull")
            raise UsageError(f"{arm} has {pulls} outstanding, and {told.pulls:,} were told.")
        return told

    def add(self, arm: Arm, told: Told) -> None:
        """Take in what `read` found."""
        self.owed[arm] -= told.pulls
        if not self.owed[arm]:
            del self.owed[arm]
        self._counts[self._problem.index(arm)] += told.levels
        if self.batch.detail is not Detail.REWARDS:
            self._pile(arm).add(told)

    def tally(self) -> Tally:
        """All that was told, at the batch's detail."""
        tables: dict[Arm, Mapping[Scope, Table]] = {}
        rows = None
        if self.batch.detail is Detail.TABLES:
            tables = {arm: self._pile(arm).counted() for arm in self.batch.arms}
        elif self.batch.detail is Detail.ROWS and self.batch.arms:
            codes = [self._pile(arm).rows() for arm in self.batch.arms]
            positions = [self._problem.index(arm) for arm in self.batch.arms]
            rows = Rows(np.repeat(np.array(positions, np.int64), [len(each) for each in codes]), np.concatenate(codes))
        return Tally(self._problem, self._counts.copy(), tables, rows)

    def _pile(self, arm: Arm) -> _Pile:
        if arm not in self._piles:
            plan = None
            if self.batch.detail is Detail.TABLES:
                rows = self.batch.counts[self.batch.arms.index(arm)]
                plan = self._desk.plan(self.scopes, len(self.batch.arms), rows)
            self._piles[arm] = _Pile(self.needed, plan)
        return self._piles[arm]


class _Pile:
    """The rows of one arm, with its tables if there is a ``plan`` for them."""

    def __init__(self, needed: tuple[str, ...], plan: Plan | None) -> None:
        self._needed, self._plan = needed, plan
        self._blocks: list[CodeArray] = []
        self._waiting = 0
        self._adder: Adder | None = None
        self._tables: dict[Scope, Table] = {}

    def add(self, told: Told) -> None:
        if told.codes is not None:
            self._blocks.append(told.codes)
            self._waiting += len(told.codes)
            if self._plan is not None and self._waiting >= WAITING:
                self._count(self._plan)
            return
        for scope, table in told.tables.items():
            known = self._tables.get(scope)
            self._tables[scope] = table if known is None else known + table

    def rows(self) -> CodeArray:
        codes = np.concatenate([np.zeros((0, len(self._needed)), np.uint8), *self._blocks])
        self._blocks = [codes]
        return codes.copy()

    def counted(self) -> dict[Scope, Table]:
        if self._plan is None:
            return {}
        found: dict[Scope, Table] = {}
        for scope, table in self._count(self._plan).tables().items():
            told = self._tables.get(scope)
            found[scope] = table.compact() if told is None else table.compact() + told
        return found

    def _count(self, plan: Plan) -> Adder:
        """Count the rows that wait."""
        if self._adder is None:
            self._adder = Adder(plan)
        if self._waiting:
            codes = np.ascontiguousarray(np.concatenate(self._blocks).T)
            self._adder.add(dict(zip(self._needed, codes, strict=True)), self._waiting)
            self._blocks, self._waiting = [], 0
        return self._adder


def _scopes(problem: Problem, batch: Batch) -> tuple[Scope, ...]:
    if batch.detail is not Detail.TABLES:
        return ()
    return counted_scopes(problem) if batch.scopes is None else tuple(dict.fromkeys(batch.scopes))


def _needed(problem: Problem, batch: Batch, scopes: tuple[Scope, ...]) -> tuple[str, ...]:
    """The nodes that a row must say, in the graph's order."""
    if batch.detail is Detail.ROWS:
        return problem.graph.nodes
    named = {problem.reward}.union(*scopes)
    return tuple(sorted(named, key=problem.graph.index))
