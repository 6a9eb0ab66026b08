"""The codes of a column as SQL: what a database must know to code its own values as `whichdo.counting.values` would.

A column is *spelled*: each raw value that is known has its code, and a value that is not known is asked about and
judged here; or it is *measured*: numbers that are cut into bins, laid on the range of a reward, or weigh a row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.books import HEAVIEST, LIGHTEST, BinBook, CountBook, RangeBook, WeightBook
from whichdo.counting.values import ABSENT_TEXTS, BAD, MISSING, MOST, ArmBook, DomainBook
from whichdo.counting.warehouse import ibis
from whichdo.domains import RANGE_LEVELS
from whichdo.errors import DataError
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.counting.values import Codebook
    from whichdo.counting.warehouse import TablePart


CODE = "int16"
"""The type of a code: few bytes are quicker to group by."""


@dataclass
class ColumnCode:
    """How one column is coded."""

    name: str
    raw: Any
    """The column as an expression."""
    book: Codebook
    spelled: bool
    known: dict[Any, int] = field(default_factory=dict)
    """Of a spelled column: the code of each raw value, or `MISSING`."""
    bad: list[Any] = field(default_factory=list)
    """Values that the column has and that are outside the domain."""
    asked: bool = False
    """Whether all values that the column has were judged."""

    @property
    def is_number(self) -> bool:
        """Whether codes are the bits of a number."""
        return isinstance(self.book, (RangeBook, WeightBook))

    def missing(self) -> Any:
        """Whether a row lacks the value."""
        found = self.raw.isnull()
        if self.raw.type().is_floating():
            found = found | self.raw.isnan()
        gaps = [value for value, code in self.known.items() if code == MISSING]
        return found | self.raw.isin([self.literal(value) for value in gaps]) if gaps else found

    def value(self) -> Any:
        """The code, or of numbers the number: a weight, a count, a reward from 0 to 1; NULL where it has none."""
        return self._spelled() if self.spelled else self._measured()

    def unknown(self) -> Any:
        """Whether a row holds a value that is outside the domain, as far as is known."""
        if isinstance(self.book, ArmBook):
            return self.among(self.bad) if self.bad else ibis().literal(False)
        return self.value().isnull() & ~self.missing()

    def level(self) -> Any:
        """The code by which a row is counted; NULL where it has none."""
        value = self.value()
        if not isinstance(self.book, RangeBook):
            return value
        scaled = value * float(RANGE_LEVELS - 1)
        whole = scaled.floor()
        rest = scaled - whole
        # To the nearest, halves to even: engines differ in what they call rounding.
        odd = whole - (whole / 2.0).floor() * 2.0
        up = (rest > 0.5) | ((rest == 0.5) & (odd == 1.0))
        return whole.cast(CODE) + ibis().cases((up, 1), else_=0).cast(CODE)

    def judge(self, values: Mapping[Any, int]) -> int:
        """Learn the codes of raw values, all that the column has beside those that are known, with how often they
        occur; how many are outside the domain.
        """
        self.asked = True
        number = 0
        for value, count in values.items():
            code = self.book.code(value)
            if code == BAD:
                self.bad.append(value)
                number += count
            elif value is not None and value == value:  # noqa: PLR0124 - NaN is missing without being named
                self.known[value] = code
        return number

    def expect(self) -> None:
        """Learn the codes of the values that the column is expected to have, so that none need be asked about."""
        kind, book = self.raw.type(), self.book
        expected: Iterable[Any] = ()
        if kind.is_boolean():
            expected = (False, True)
        elif not isinstance(book, DomainBook):
            return
        elif kind.is_string():
            expected = (text for text in (*book.spellings, *ABSENT_TEXTS, "") if "\0" not in text)
        elif kind.is_integer():
            expected = (number for number in book.held(np.dtype(np.int64)) if _holds(kind, number))
        elif kind.is_floating():
            self.known |= book.held(np.dtype(np.float32 if kind.is_float32() else np.float64))
        elif kind.is_date():
            expected = (each for each in map(_date, book.spellings) if each is not None)
        self.known |= {value: code for value in expected if (code := book.code(value)) != BAD}

    def literal(self, value: Any) -> Any:
        """A raw value as an expression."""
        return ibis().literal(value, type=self.raw.type())

    def _spelled(self) -> Any:
        library = ibis()
        kind = "float64" if self.is_number else "int64" if isinstance(self.book, CountBook) else CODE
        codes = {value: code for value, code in self.known.items() if code >= 0}
        if self.raw.type().is_integer() and codes and codes == {n: n for n in range(len(codes))}:
            return library.cases((self.raw.between(0, len(codes) - 1), self.raw.cast(kind)))
        by_code: dict[int, list[Any]] = {}
        for value, code in codes.items():
            by_code.setdefault(code, []).append(value)
        branches = []
        for code, values in by_code.items():
            given = float(np.array(code, np.int64).view(np.float64)) if self.is_number else code
            is_one = self.literal(values[0]) == self.raw if len(values) == 1 else self.among(values)
            branches.append((is_one, library.literal(given, type=kind)))
        return library.cases(*branches) if branches else library.null(kind)

    def among(self, values: Sequence[Any]) -> Any:
        """Whether a row holds one of some raw values."""
        return self.raw.isin([self.literal(value) for value in values])

    def _measured(self) -> Any:
        library, book = ibis(), self.book
        if isinstance(book, CountBook):
            inside = (self.raw >= 0) & (self.raw <= MOST)
            if not self.raw.type().is_integer():
                inside = (self.raw >= 0) & (self.raw < 2.0**63) & (self.raw == self.raw.floor())
            return library.cases((inside, self.raw.cast("int64")))
        number = self.raw.cast("float64")
        if isinstance(book, WeightBook):
            return library.cases(((number == 0.0) | ((number >= LIGHTEST) & (number <= HEAVIEST)), number))
        if isinstance(book, RangeBook):
            low, high = float(book.range.low), float(book.range.high)
            unit = (number - low) / (high - low)
            return library.cases(
                ((number < low) | (number > high), library.null("float64")),
                (unit > 1.0, 1.0),
                (unit >= 0.0, unit),
            )
        if not isinstance(book, BinBook):
            raise TypeError(f"{type(book).__name__} has no way to code numbers in a database")
        if self.raw.type().is_integer():  # below 30.5 is below 31
            cuts = [
                (self.raw < math.ceil(cut), code) for code, cut in enumerate(book.cuts.tolist()) if abs(cut) < 2**53
            ]
            if len(cuts) == len(book.cuts):
                below = [(inside, library.literal(code, CODE)) for inside, code in cuts]
                return library.cases(*below, (self.raw.notnull(), library.literal(len(cuts), CODE)))
        largest = float(np.finfo(np.float64).max)
        branches = [(number > largest, library.null(CODE)), (number < -largest, library.null(CODE))]
        branches += [(number < float(cut), library.literal(code, CODE)) for code, cut in enumerate(book.cuts)]
        return library.cases(*branches, (number <= largest, library.literal(len(book.cuts), CODE)))


def column_code(part: TablePart, name: str, book: Codebook) -> ColumnCode:
    """How a column of a table is coded by a book."""
    raw = part.column(name)
    kind = raw.type()
    if kind.is_unknown() or kind.is_uuid() or kind.is_json():  # names of values, such as an ENUM's, are texts
        raw = raw.cast("string")
        kind = raw.type()
    plain = kind.is_string() or kind.is_boolean() or kind.is_numeric() or kind.is_temporal()
    if not plain:
        raise DataError(
            f"{part.name}, column {name} is of type {quoted(kind)}, whose values cannot be counted. Take "
            f"what is to be counted out of it in a view."
        )
    measured = kind.is_numeric() and not kind.is_boolean() and not isinstance(book, (DomainBook, ArmBook))
    code = ColumnCode(name, raw, book, spelled=not measured)
    if code.spelled:
        code.expect()
    return code


def lacking(part: TablePart, books: Mapping[str, Codebook]) -> set[str]:
    """Of some columns those that lack values."""
    codes = [column_code(part, name, book) for name, book in books.items()]
    asked = {f"m{place}": ibis().cases((code.missing(), 1), else_=0) for place, code in enumerate(codes)}
    if not asked:
        return set()
    rows = part.table.select(**asked)
    found = part.engine.fetch(rows.aggregate(**{name: rows[name].max() for name in asked}))[0]
    return {code.name for code, gap in zip(codes, found, strict=True) if gap}


def _holds(kind: Any, number: int) -> bool:
    """Whether an integer type can hold a number."""
    return bool(kind.bounds.lower <= number <= kind.bounds.upper)


def _date(text: str) -> date | None:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return None
    return found if found.isoformat() == text else None
