"""What a log says beside the counts: notes on what was left out, and faults that leave nothing to count.

Faults are collected over the whole log and reported at once.  Only numbers and the first of each kind are kept, so a
log of bad values takes no more memory than a good one.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.counting.books import INTERVAL, BinBook, RangeBook
from whichdo.counting.values import DomainBook, parse_number, text_at
from whichdo.domains import MISSING_LEVEL
from whichdo.errors import DataError
from whichdo.remedies import Message, Option
from whichdo.text import counted, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.arrays import BoolArray
    from whichdo.counting.gaps import Compared
    from whichdo.counting.parts import Part
    from whichdo.counting.values import Codebook
    from whichdo.problem import Arm


#: Texts by which other programs write a missing value.
ABSENT = frozenset({"", "na", "n/a", "nan", "null", "none", "nil", "?", "-", ".", "missing", "<na>", "#n/a"})

ODD_NUMBER = re.compile(r"[-+(]?[$€£¥]? ?\d[\d., ']*[%$€£¥)]?")
MANY_NUMBERS = 20
"""So many numbers outside a domain are a number in need of bins, not a slip."""
DATE_BEFORE = re.compile(r"\d{4}-\d{2}-\d{2}[T ]")


@dataclass(frozen=True)
class CountNotes:
    """What a careful reader of a log should know beside the counts."""

    rows: int
    """The rows that were read."""
    dropped: int = 0
    """How many of them were left out because a value is missing."""
    extra_columns: tuple[str, ...] = ()
    """Columns that are not an observed node of the graph: they were not read."""
    missing: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """How many values each column misses."""
    weight: int | None = None
    """What the rows count for by a column of counts, dropped ones included; None without such a column.

    A row whose count itself is missing adds nothing.
    """
    weight_dropped: int = 0
    """What the dropped rows count for."""
    repeated: tuple[str, ...] = ()
    """Files that were named more than once, and counted once."""
    unverified: tuple[str, ...] = ()
    """Parquet files whose pages have no checksums."""
    spared: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """How many values lack in columns that no estimate needs."""
    levelled: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """How many missing values were counted as a separate value."""
    compared: Compared | None = None
    """Dropped rows beside the others, where rows may be dropped."""

    @property
    def share_dropped(self) -> float:
        """The share that was left out: of the rows, or of what they count for if a column says so."""
        if self.weight is not None:
            return self.weight_dropped / self.weight if self.weight else 0.0
        return self.dropped / self.rows if self.rows else 0.0

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same in words, for people."""
        said = []
        if self.repeated:
            said.append(f"Named more than once, counted once: {listed(map(quoted, self.repeated))}.")
        if self.unverified:
            have = "has" if len(self.unverified) == 1 else "have"
            files = listed(map(quoted, self.unverified))
            said.append(f"{files} {have} no page checksums: damage to single values would not be noticed.")
        if self.extra_columns:
            what = "column that is not a node" if len(self.extra_columns) == 1 else "columns that are not nodes"
            said.append(f"Ignored {len(self.extra_columns):,} {what}: {listed(map(quoted, self.extra_columns))}.")
        if self.dropped:
            counts = listed((f"{name} {count:,}" for name, count in self.missing.items()), most=12)
            of = f"{self.dropped:,} of {counted(self.rows, 'row')}"
            if self.weight is not None:
                of += f", {self.weight_dropped:,} of {self.weight:,} by their counts"
            said.append(f"Dropped {of} ({self.share_dropped:.1%}) with missing values: {counts}.")
        if self.levelled:
            counts = listed((f"{name} {count:,}" for name, count in self.levelled.items()), most=12)
            said.append(f'Missing values count as the value "{MISSING_LEVEL}": {counts}.')
        if self.spared:
            counts = listed((f"{name} {count:,}" for name, count in self.spared.items()), most=12)
            said.append(f"Missing, but not needed by any estimate: {counts}.")
        return tuple(said)


class First(NamedTuple):
    """The first place of a kind of fault."""

    part: Part
    row: int
    column: str
    text: str
    book: Codebook | None = None


class Faults:
    """Collects what is wrong, part by part and chunk by chunk, in the order of the rows.

    ``way_out`` is the advice on missing values, where it is not to fill them in or drop the rows.
    """

    def __init__(self, way_out: str = "") -> None:
        self._way_out = way_out
        self.bad: Counter[str] = Counter()
        self.missing: Counter[str] = Counter()
        self.missing_rows = 0
        self._first_bad: First | None = None
        self._first_missing: First | None = None
        self._contradictions = 0
        self._first_contradiction: First | None = None

    def add_bad(self, part: Part, first: int, name: str, column: Any, book: Codebook, bad: BoolArray) -> None:
        """Values of one column of one chunk, which begins at row ``first``, that are outside its domain."""
        self.bad[name] += int(bad.sum())
        place = int(np.argmax(bad))
        known = self._first_bad
        if known is None or (known.part is part and first + place < known.row):
            self._first_bad = First(part, first + place, name, text_at(column, place), book)

    def add_missing(self, part: Part, first: int, by_column: Mapping[str, BoolArray]) -> BoolArray:
        """Missing values of one chunk; returns the rows that have any."""
        rows: BoolArray = np.logical_or.reduce(list(by_column.values()))
        for name, missing in by_column.items():
            self.missing[name] += int(missing.sum())
        self.missing_rows += int(rows.sum())
        if self._first_missing is None:
            place = int(np.argmax(rows))
            name = next(name for name, missing in by_column.items() if missing[place])
            self._first_missing = First(part, first + place, name, "")
        return rows

    def add_contradiction(self, part: Part, row: int, count: int, arm: Arm, found: Mapping[str, object]) -> None:
        """Rows that cannot come from the arm that they name; ``found`` are the values that say so in the first."""
        self._contradictions += count
        known = self._first_contradiction
        if known is None or (known.part is part and row < known.row):
            values = listed(f"{name} is {value}" for name, value in found.items())
            self._first_contradiction = First(part, row, next(iter(found)), f"the arm is {arm}, but {values}")

    def found_bad(self, name: str, count: int, first: First | None) -> None:
        """So many values of one column that are outside its domain, counted elsewhere."""
        self.bad[name] += count
        self._first_bad = self._first_bad or first

    def found_missing(self, first: First, by_column: Mapping[str, int], rows: int) -> None:
        """Missing values, counted elsewhere; ``rows`` have any."""
        self.missing.update(by_column)
        self.missing_rows += rows
        self._first_missing = self._first_missing or first

    def found_contradiction(self, first: First, count: int, arm: Arm, found: Mapping[str, object]) -> None:
        """Rows that cannot come from the arm that they name, counted elsewhere."""
        self.add_contradiction(first.part, first.row, count, arm, found)

    def check(self, rows: int, *, drop: bool) -> None:
        """Raise what was found, the worst first."""
        if self._first_bad is not None:
            raise DataError(self._bad_message(self._first_bad))
        if self._first_contradiction is not None:
            raise DataError(self._contradiction_message(self._first_contradiction))
        if self._first_missing is not None and not drop:
            raise DataError(self._missing_message(self._first_missing, rows))

    def _bad_message(self, first: First) -> str:
        total = self.bad.total()
        book = first.book
        allowed = "" if book is None else f" Allowed: {book.allowed()}."
        return Message(
            f"{first.part.where(first.row, first.column, first.text)}, column {first.column}: {quoted(first.text)}."
            f"{allowed} {counted(total, 'such value')} in {counted(len(self.bad), 'column')}.",
            _hint(first) or _number_hint(first, total),
        )

    def _contradiction_message(self, first: First) -> str:
        count = self._contradictions
        return (
            f"{first.part.where(first.row)}: {first.text}: the intervention was not applied. "
            f"{counted(count, 'such row')}. Correct the row, or leave it out."
        )

    def _missing_message(self, first: First, rows: int) -> str:
        counts = listed((f"{name} {count:,}" for name, count in self.missing.items()), most=12)
        have = "has" if self.missing_rows == 1 else "have"
        where = first.part.where(first.row, first.column)
        return Message(
            f"{self.missing_rows:,} of {counted(rows, 'row')} {have} missing values: {counts}. First: {where}, column "
            f"{first.column}. ",
            self._way_out or _fill_or_drop(),
        )


def _fill_or_drop() -> str:
    return Message(
        "Fill them in, drop these rows (",
        Option("missing", "drop"),
        "), count missing as a separate value (",
        Option("missing", "level"),
        "), or mark a node that is often missing as hidden.",
    )


def _number_hint(first: First, total: int) -> str:
    """What to do about numbers in an odd spelling, or where a few values were declared."""
    text = first.text.strip()
    if isinstance(first.book, BinBook) and INTERVAL.fullmatch(text):
        return " An interval must lie in one bin, and bins are closed at the left: pandas.cut(..., right=False)."
    plain = parse_number(text) is not None
    if plain and isinstance(first.book, RangeBook):
        return " Widen reward_range if it is right."
    if not plain and first.book is not None and first.book.reads_numbers and ODD_NUMBER.fullmatch(text):
        return " Write numbers plainly, as in 1234.5: no separators, signs of percent or currency."
    if plain and isinstance(first.book, DomainBook) and total >= MANY_NUMBERS:
        return " Declare all its values, or cut numbers into bins; whichdo init proposes both."
    return ""


def _hint(first: First) -> str:
    """What may have been meant by a value outside the domain."""
    text = first.text.strip()
    if text.lower() in ABSENT:
        blank = "leave the field empty" if first.part.name is not None else "put None in its place"
        blank = getattr(first.part, "absent", blank)
        drop = Option("missing", "drop")
        return Message(f" If it stands for a missing value, {blank}; ", drop, " then drops such rows.")
    if text != first.text:
        return " Blanks around a value count; remove them."
    if isinstance(first.book, DomainBook) and first.book.dates and DATE_BEFORE.match(text):
        return " The declared values are dates; cut off the time of day and the time zone."
    return ""
