"""What a counter is, and the one that counts rows in memory and in files.

The counter of databases is in `whichdo.counting.sql`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from whichdo.counting.books import CountBook, WeightBook, book_of
from whichdo.counting.gaps import Gaps
from whichdo.counting.notes import CountNotes, Faults
from whichdo.counting.packed import Adder, MomentAdder, Plan
from whichdo.counting.parts import CHUNK, plain_name
from whichdo.counting.values import MOST, ArmBook, decode
from whichdo.domains import RANGE_LEVELS
from whichdo.errors import DataError, TooLargeError, UsageError
from whichdo.remedies import Option
from whichdo.text import listed, nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whichdo.arrays import BoolArray, CodeArray, FloatArray, IntArray
    from whichdo.counting.kept_rows import RowKeeper
    from whichdo.counting.parts import Part, Source
    from whichdo.counting.values import Codebook
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope, Table

    Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Counted:
    """What counting a source gives: for do() and each arm that has rows the table of every scope, and remarks."""

    tables: Mapping[Arm, Mapping[Scope, Table]]
    notes: CountNotes


class Counter(Protocol):
    """Counts the rows of a source for one problem."""

    def count(self, source: Source, scopes: Sequence[Scope], spare: Sequence[Scope] = ()) -> Counted:
        """Count the columns of each scope together, the reward's own scope among them.

        ``spare`` scopes are counted too, unless a column that they alone have lacks values.

        Every value is checked against the problem's domains, and what does not fit is a `DataError` that says where.
        Counts are whole numbers, so any two counters agree to the last digit.
        """


class _Values(NamedTuple):
    """What rows say beside codes: how often each counts, how much it weighs, a numeric reward from 0 to 1."""

    counts: IntArray | None
    weights: FloatArray | None
    rewards: FloatArray | None

    def take(self, rows: IntArray) -> _Values:
        """Those of some rows."""
        counts, weights, rewards = (None if each is None else each[rows] for each in self)
        return _Values(counts, weights, rewards)  # type: ignore[arg-type]


class RowCounter:
    """Counts rows in memory and in files, chunk by chunk: a `Counter` for one use.

    Parameters as of `count_with_notes`.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        counts: str | None = None,
        arm: str | None = None,
        missing: str = "error",
        chunk: int = CHUNK,
        progress: Progress | None = None,
        weights: str | None = None,
        levels: bool = True,
        moments: bool = True,
        keeper: RowKeeper | None = None,
    ) -> None:
        self.problem, self.missing, self.chunk, self.progress = problem, missing, chunk, progress
        self.keeper = keeper
        self.gaps = Gaps(problem, missing)
        self.levels = levels
        self.weight_name = None if counts is None else plain_name(counts)
        self.share_name = None if weights is None else plain_name(weights)
        self.numeric = problem.reward_range is not None
        self.sums = (moments and self.numeric) or weights is not None
        self.arm_name = None if arm is None else plain_name(arm)
        self._check_roles()
        self.books: dict[str, Codebook] = {}
        self.faults = Faults()
        self.rows = self.dropped = self.weight = self.weight_dropped = 0
        self.total: int | None = None
        self.extra: dict[str, None] = {}

    def count(self, source: Source, scopes: Sequence[Scope], spare: Sequence[Scope] = ()) -> Counted:
        """Count all rows of a source, or raise what is wrong with them."""
        parts = source.parts
        self.total = source.rows
        self.scopes = tuple(dict.fromkeys((*scopes, *spare)))
        self.gaps.needed = {*chain(*scopes), *self._kept, *(name for name, _ in self._roles())}
        self.plan = Plan(
            self.problem.sizes,
            self.scopes if self.levels or not self.sums else ((self.problem.reward,),),
            weighted=self.weight_name is not None,
            arms=1 if self.arm_name is None else len(self.problem.arms),
            rows=self.total,
        )
        self.adders = {0: Adder(self.plan)}
        self.moments: dict[int, MomentAdder] = {}
        wanted = [self._wanted(part) for part in parts]
        for part, names in zip(parts, wanted, strict=True):
            self._read(part, names)
        self._check(source)
        tables: dict[Arm, Mapping[Scope, Table]] = {}
        for position, adder in sorted(self.adders.items()):
            more = self.moments[position].tables if position in self.moments else {}
            tables[self.problem.arms[position]] = self.gaps.served({**adder.tables(), **more}, scopes)
        return Counted(tables, self._notes(source))

    @property
    def _kept(self) -> tuple[str, ...]:
        """The columns that are kept row by row."""
        return () if self.keeper is None else self.keeper.names

    def _check_roles(self) -> None:
        for name, role in self._roles():
            if name in self.problem.domains:
                raise UsageError(Option(role), f" names {quoted(name)}, which is a node of the graph.")
            if role != "arm" and name == self.arm_name:
                raise UsageError(
                    Option(role), " and ", Option("arm"), f" name the same column, {quoted(self.arm_name)}."
                )

    def _roles(self) -> list[tuple[str, str]]:
        """The columns that are not nodes but have a role, and the option that names each."""
        given = ((self.weight_name, "counts"), (self.share_name, "weights"), (self.arm_name, "arm"))
        return [(name, role) for name, role in given if name is not None]

    def _wanted(self, part: Part) -> list[str]:
        """The columns to read of a part; one that is needed and not there is an error."""
        named = {name for scope in self.scopes for name in scope}.union(self._kept)
        needed = dict.fromkeys(sorted(named, key=self.problem.graph.index))
        there = set(part.columns)
        for name, role in self._roles():
            if name not in there:
                raise DataError(
                    f"{_holder(part)} has no column {quoted(name)}, which ",
                    Option(role),
                    f" names.{nearest(name, part.columns) or _columns(part)}",
                )
        absent = [name for name in needed if name not in there]
        if absent:
            raise DataError(absent_columns(part, absent, self.problem))
        if self.arm_name is not None:  # to check that what was done was done
            needed |= dict.fromkeys(name for name in self.problem.intervene if name in there)
        roles = {name for name, _ in self._roles()}
        known = roles | set(self.problem.domains)
        self.extra |= dict.fromkeys(name for name in part.columns if name not in known)
        return [*needed, *sorted(roles)]

    def _read(self, part: Part, names: Sequence[str]) -> None:
        """Count all rows of a part."""
        place = {name: j for j, name in reversed(list(enumerate(part.columns)))}
        first = 0
        for columns in part.chunks([place[name] for name in names], self.chunk):
            size = len(columns[0])
            self._add(part, first, size, dict(zip(names, columns, strict=True)))
            first += size
            self.rows += size
            if self.progress is not None:
                self.progress(self.rows, self.total)

    def _check(self, source: Source) -> None:
        """Raise what was wrong."""
        if not self.rows:
            one = source.parts[0].name if len(source.parts) == 1 else None
            header = f"{one} has columns but no rows." if one is not None else "There are no rows to count."
            raise DataError(f"{header} Expected at least one row of values.")
        self.gaps.check(self.faults.missing, {self.problem.reward, *(name for name, _ in self._roles())})
        self.faults.check(self.rows, drop=self.missing != "error")
        if self.dropped == self.rows:
            rows = "The only row" if self.rows == 1 else f"Every one of the {self.rows:,} rows"
            raise DataError(
                f"{rows} has a missing value, so none is left: "
                f"{listed(f'{name} {count:,}' for name, count in self.faults.missing.items())}. Mark a node that is "
                f"never recorded as hidden."
            )
        if self.weight_name is not None:
            self._check_weight(self.weight_name)
        if self.share_name is not None and not self._weighs():
            raise DataError(
                f"Every weight in column {quoted(self.share_name)} is 0, so nothing is left. Is it the column that "
                f"says how much each row weighs?"
            )

    def _weighs(self) -> bool:
        """Whether any row that is kept weighs anything."""
        return any(each.weight > 0 for each in self.moments.values())

    def _notes(self, source: Source) -> CountNotes:
        """Notes for the reader."""
        return CountNotes(
            self.rows,
            self.dropped,
            tuple(self.extra),
            MappingProxyType(dict(self.faults.missing)),
            weight=None if self.weight_name is None else self.weight,
            weight_dropped=self.weight_dropped,
            repeated=source.repeated,
            unverified=source.unverified,
            spared=MappingProxyType(dict(self.gaps.spared)),
            levelled=MappingProxyType(dict(self.gaps.levelled)),
            compared=None if self.arm_name is not None else self.gaps.compared,
        )

    def _check_weight(self, column: str) -> None:
        """Rows that all have the count 0 are refused, as an empty log is."""
        if self.weight == 0:
            raise DataError(
                f"Every count in column {quoted(column)} is 0, so nothing was looked at. Is it the column that says "
                f"how often each row counts?"
            )
        if self.weight == self.weight_dropped:
            raise DataError(
                f"Every row with a count above 0 in column {quoted(column)} has a missing value, so none is left: "
                f"{listed(f'{name} {count:,}' for name, count in self.faults.missing.items())}. Mark a node that is "
                f"never recorded as hidden."
            )

    def _add(self, part: Part, first: int, size: int, columns: Mapping[str, Any]) -> None:
        """Decode one chunk, which begins at row ``first``, note its faults, and count it."""
        codes: dict[str, Any] = {}
        missing: dict[str, BoolArray] = {}
        unsaid: dict[str, BoolArray] = {}
        for name, column in columns.items():
            book = self._book(name)
            found = decode(book, column)
            codes[name] = found.codes
            if found.missing is not None:
                self.gaps.sort(name, found, codes, missing, unsaid)
            if found.bad is not None:
                self.faults.add_bad(part, first, name, column, book, found.bad)
        keep = None
        if missing:
            keep = np.flatnonzero(~self.faults.add_missing(part, first, missing))
            self.dropped += size - len(keep)
        if self.faults.bad:
            return  # an error for sure: only its extent is still of interest
        shares = codes.pop(self.share_name).view(np.float64) if self.share_name is not None else None
        rewards = None
        if self.numeric:
            rewards = codes[self.problem.reward].view(np.float64)
            codes[self.problem.reward] = np.rint(rewards * (RANGE_LEVELS - 1)).astype(np.uint8)
        weights = codes.pop(self.weight_name) if self.weight_name is not None else None
        if weights is not None and self.weight_name is not None:
            self._weigh(weights, missing.get(self.weight_name), keep)
        arms = codes.pop(self.arm_name) if self.arm_name is not None else None
        values = _Values(weights, shares, rewards)
        if self.missing != "error":
            self.gaps.compare(codes, {**unsaid, **missing}, keep, size, weights, rewards)
        self._keep(columns, codes, keep, size, values, arms)
        if arms is None:
            self._count(0, codes, keep, size, values)
        else:
            self._count_arms(part, first, arms, codes, keep, values, unsaid)

    def _keep(
        self,
        columns: Mapping[str, Any],
        codes: Mapping[str, CodeArray],
        keep: IntArray | None,
        size: int,
        values: _Values,
        arms: IntArray | None,
    ) -> None:
        """Keep the looks of a chunk row by row, where that is asked for."""
        if self.keeper is None:
            return
        looks = np.arange(size) if keep is None else keep
        looks = looks if arms is None else looks[arms[looks] == 0]
        heavy = values.counts if values.weights is None else values.weights
        self.keeper.add(columns, codes, looks, values.rewards, heavy, counted=values.weights is None)

    def _count_arms(
        self,
        part: Part,
        first: int,
        arms: IntArray,
        codes: Mapping[str, CodeArray],
        keep: IntArray | None,
        values: _Values,
        unsaid: Mapping[str, BoolArray],
    ) -> None:
        """Count the rows of each arm by themselves; ``unsaid`` are values that may be missing."""
        rows = np.arange(len(arms)) if keep is None else keep
        order = rows[np.argsort(arms[rows], kind="stable")]
        present, begins = np.unique(arms[order], return_index=True)
        ends = [*begins[1:].tolist(), len(order)]
        for position, begin, end in zip(present.tolist(), begins.tolist(), ends, strict=True):
            mine = order[begin:end]
            self._check_applied(part, first, self.problem.arms[position], mine, codes, unsaid)
            if position not in self.adders:
                self.adders[position] = Adder(self.plan)
            self._count(position, codes, mine, len(arms), values)

    def _count(
        self,
        position: int,
        codes: Mapping[str, CodeArray],
        rows: IntArray | None,
        size: int,
        values: _Values,
    ) -> None:
        if rows is not None:
            codes = {name: column[rows] for name, column in codes.items()}
            values = values.take(rows)
            size = len(rows)
        self.adders[position].add(codes, size, values.counts)
        if self.sums:
            if position not in self.moments:
                self.moments[position] = MomentAdder(self.problem, self.scopes)
            self.moments[position].add(codes, size, values.counts, values.weights, values.rewards)

    def _check_applied(
        self,
        part: Part,
        first: int,
        arm: Arm,
        rows: IntArray,
        codes: Mapping[str, CodeArray],
        unsaid: Mapping[str, BoolArray],
    ) -> None:
        """A row of do(X=1) has X = 1, or does not say."""
        domains = self.problem.domains
        there = [name for name in arm.targets if name in codes]
        if not there:
            return
        differ = [codes[name][rows] != domains[name].index(arm.settings[name]) for name in there]
        differ = [
            wrong & ~unsaid[name][rows] if name in unsaid else wrong for name, wrong in zip(there, differ, strict=True)
        ]
        wrong = rows[np.logical_or.reduce(differ)]
        if len(wrong):
            values = {name: domains[name][codes[name][wrong[0]]] for name in there}
            found = {name: value for name, value in values.items() if value != arm.settings[name]}
            self.faults.add_contradiction(part, first + int(wrong[0]), len(wrong), arm, found)

    def _weigh(self, weights: IntArray, missing: BoolArray | None, keep: IntArray | None) -> None:
        """Keep the sum within what a table can hold; the placeholder of a missing count does not count."""
        whole = _sum(weights if missing is None else weights[~missing])
        self.weight += whole
        self.weight_dropped += 0 if keep is None else whole - _sum(weights[keep])
        self._check_most()

    def _check_most(self) -> None:
        if self.weight > MOST:
            raise TooLargeError(
                f"The counts in column {quoted(self.weight_name)} add up to over {MOST:,}, more than a table can hold."
            )

    def _book(self, name: str) -> Codebook:
        if name not in self.books:
            if name == self.weight_name:
                self.books[name] = CountBook()
            elif name == self.share_name:
                self.books[name] = WeightBook()
            elif name == self.arm_name:
                self.books[name] = ArmBook(self.problem)
            else:
                self.books[name] = book_of(self.problem, name, exact=True)
        return self.books[name]


def _sum(weights: IntArray) -> int:
    """The sum, however large."""
    return (int((weights >> 32).sum()) << 32) + int((weights & 0xFFFFFFFF).sum())


def _holder(part: Part) -> str:
    return part.name or "The data"


def _columns(part: Part) -> str:
    names = [quoted(name) for name in part.columns if name]
    return f" Its columns are {listed(names, most=12)}." if names else " It has no columns."


def absent_columns(part: Part, absent: Sequence[str], problem: Problem) -> str:
    """Nodes without a column, with what may have been meant."""
    near = []
    free = [name for name in part.columns if name not in problem.domains]
    for name in absent[:3]:
        alike = [other for other in free if other.strip().casefold() == name.casefold()]
        hint = f"Did you mean {quoted(alike[0])}?" if alike else nearest(name, free).strip()
        if hint:
            near.append(hint if len(absent) == 1 else f"{name}: {hint}")
    hints = " ".join(near) or _columns(part).strip()
    if len(absent) == 1:
        return (
            f"{_holder(part)} has no column for the observed node {quoted(absent[0])}. {hints} "
            f"Rename a column, or mark {absent[0]} hidden if it is never observed."
        )
    return (
        f"{_holder(part)} has no column for {len(absent):,} observed nodes: {listed(map(quoted, absent))}. {hints} "
        f"Rename columns, or mark nodes hidden that are never observed."
    )
