"""What a column holds: numbers, words, yes and no, dates, numbers that are spelt oddly; counted chunk by chunk.

A column of millions of numbers is never kept whole: of its numbers every n-th is, of its strings
as many different ones as a node could ever have as values.
"""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.parts import CHUNK
from whichdo.counting.values import ABSENT_TEXTS, LONGEST_NUMBER, WHOLE_NUMBER, parse_number
from whichdo.counting.warehouse import TablePart

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whichdo.arrays import FloatArray
    from whichdo.counting.parts import Part


MOST_TEXTS = 20_000
"""Different strings that are kept of a column."""
MOST_LEVELS = 300
"""Different numbers that are kept one by one."""
MOST_NUMBERS = 1 << 20
"""Numbers that are kept of a column; of more, every second, every fourth, ..."""

DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})( .*)?|\d{1,2}[- ][A-Z][a-z]{2}[- ]\d{2,4}"
)
DAY_NAME = re.compile(r"(^|[^a-z])(date|datum|day|fecha)([^a-z]|$)|_at$", re.IGNORECASE)
DAY_NUMBERS = (20_000, 60_000)
"""Days since 1900, as spreadsheets number them: from 1954 to 2064."""

ODD = (
    (re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?"), "thousands separators", "1234.5"),
    (re.compile("[-+]?\\d{1,3}([. \u2019']\\d{3})+(,\\d+)?"), "thousands separators", "1234.5"),
    (re.compile(r"[-+]?\d+([.,]\d+)? ?%"), "percent signs", "12.5 for 12.5%"),
    (re.compile(r"[-+]?[$€£¥] ?[\d.,]+|[\d.,]+ ?[$€£¥]"), "currency signs", "1234.5"),
    (re.compile(r"[-+]?\d+,\d+"), "a decimal comma", "12.5"),
    (re.compile(r"\([\d.,]+\)"), "brackets for a minus", "-12.5"),
    (re.compile(r"\s+[-+]?[\d.]+\s*|[-+]?[\d.]+\s+"), "blanks around them", "12.5"),
    (re.compile(r"\+\d+(\.\d+)?|-?\.\d+|-?\d+\."), "another spelling than 12.5", "12.5"),
)
"""Numbers as people and programs spell them, what is odd about each, and how to write it."""


class Kind(StrEnum):
    """What the values of a column are."""

    EMPTY = "empty"
    NUMBERS = "numbers"
    TEXTS = "texts"
    TRUTH = "true or false"
    DATES = "dates"
    MIXED = "mixed"
    OTHER = "other"


class Column:
    """One column: what its values are, how often each occurs, how many are missing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = self.missing = self.dates = self.others = 0
        self.blanks = 0
        """Strings of nothing but blanks."""
        self.truth: Counter[bool] = Counter()
        self.texts: Counter[str] = Counter()
        self.too_many_texts = False
        self.numerals: dict[str, int | float] = {}
        """Which of the strings are numbers."""
        self.order: tuple[str, ...] | None = None
        """The categories of an ordered column, in order."""
        self.low, self.high, self.whole = inf, -inf, True
        self.count = 0
        """How many numbers there are."""
        self.levels: Counter[float] | None = Counter()
        """How often each number occurs; None where there are very many."""
        self._kept: list[FloatArray] = []
        self._stride = 1
        self._waiting: Counter[float] = Counter()

    # -------------------------------------------------------------------------------------------------------- reading

    def add(self, values: Any) -> None:
        """Take in a chunk: an Arrow array, a numpy array or a list."""
        import pyarrow as pa

        self.rows += len(values)
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        elif not isinstance(values, pa.Array):
            plain = isinstance(values, np.ndarray) and values.dtype.kind in "biufmM"
            listing = values.tolist() if isinstance(values, np.ndarray) and not plain else values
            try:
                values = pa.array(listing, from_pandas=True)
            except (pa.ArrowException, TypeError, OverflowError):  # values of different kinds
                for value in listing:
                    self._add_value(value, 1)
                self._flush()
                return
        self._add_arrow(values)
        self._flush()

    def _add_arrow(self, values: Any) -> None:
        import pyarrow as pa

        kind = values.type
        if pa.types.is_dictionary(kind):
            if kind.ordered and (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)):
                self.order = tuple(values.dictionary.to_pylist())
            self._add_counted(values.dictionary_decode())
        elif pa.types.is_temporal(kind):
            self.missing += values.null_count
            self.dates += len(values) - values.null_count
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            self.missing += values.null_count
            self._add_numbers(values.drop_null().to_numpy(zero_copy_only=False))
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            self._add_texts(values)
        else:
            self._add_counted(values)

    def _add_texts(self, values: Any) -> None:
        """Strings; numbers among them are numbers, without a Python step for each where all are."""
        import pyarrow as pa
        import pyarrow.compute as pc

        whole = pc.and_(
            pc.match_substring_regex(values, WHOLE_NUMBER), pc.less_equal(pc.binary_length(values), LONGEST_NUMBER)
        )
        if len(values) > values.null_count and pc.all(whole).as_py():
            self.missing += values.null_count
            self._add_numbers(values.drop_null().cast(pa.float64()).to_numpy(zero_copy_only=False))
        else:
            self._add_counted(values)

    def _add_counted(self, values: Any) -> None:
        import pyarrow as pa

        try:
            found = values.value_counts()
        except (pa.ArrowException, NotImplementedError):  # lists, structs and the like
            self.others += len(values) - values.null_count
            self.missing += values.null_count
            return
        for value, count in zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True):
            self._add_value(value, count)

    def _add_value(self, value: Any, count: int) -> None:
        if value is None or type(value).__name__ in {"NAType", "NaTType"} or value != value:  # noqa: PLR0124 - a NaN
            self.missing += count
        elif isinstance(value, (bool, np.bool_)):
            self.truth[bool(value)] += count
        elif isinstance(value, str):
            self._add_text(value, count)
        elif isinstance(value, (int, float, np.number, Decimal)):
            self._waiting[float(value)] += count
        elif type(value).__name__ == "Interval":
            self._add_text(str(value), count)
        elif hasattr(value, "isoformat"):
            self.dates += count
        else:
            self.others += count

    def _add_text(self, value: str, count: int) -> None:
        number = parse_number(value)
        if number is not None:
            self._waiting[float(number)] += count
        elif value in ABSENT_TEXTS:
            self.missing += count
        elif not value.strip():
            self.blanks += count
        elif value in self.texts or len(self.texts) < MOST_TEXTS:
            self.texts[value] += count
        else:
            self.too_many_texts = True

    def _flush(self) -> None:
        """Take in the numbers that came one by one."""
        if self._waiting:
            self._add_numbers(np.repeat(list(self._waiting), list(self._waiting.values())))
            self._waiting = Counter()

    def _add_numbers(self, values: FloatArray) -> None:
        values = values.astype(np.float64)
        absent = np.isnan(values)
        if absent.any():
            self.missing += int(absent.sum())
            values = values[~absent]
        endless = np.isinf(values)
        if endless.any():
            self.others += int(endless.sum())
            values = values[~endless]
        if not len(values):
            return
        self.count += len(values)
        self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        self.whole = self.whole and bool((values == np.rint(values)).all())
        if self.levels is not None:
            distinct, counts = np.unique(values, return_counts=True)
            for value, count in zip(distinct[: MOST_LEVELS + 1].tolist(), counts.tolist(), strict=False):
                self.levels[value] += count
            if len(self.levels) > MOST_LEVELS:
                self.levels = None
        self._kept.append(values[:: self._stride])
        if sum(map(len, self._kept)) > MOST_NUMBERS:
            self._kept = [np.concatenate(self._kept)[::2]]
            self._stride *= 2

    def finish(self) -> None:
        """Numbers among more words are words: a shop may be called 360."""
        if self.texts and self.levels is not None and 0 < self.count <= self.texts.total():
            for value, count in self.levels.items():
                number = int(value) if value.is_integer() else value
                self.numerals[str(number)] = number
                self.texts[str(number)] += count
            self.count, self.levels, self._kept = 0, Counter(), []

    # ------------------------------------------------------------------------------------------------------- judging

    @property
    def present(self) -> int:
        """How many values there are."""
        return self.rows - self.missing

    @cached_property
    def numbers(self) -> FloatArray:
        """Numbers of the column, sorted; of very many a part."""
        return np.sort(np.concatenate([*self._kept, np.zeros(0)]))

    @cached_property
    def kind(self) -> Kind:
        """What its values are."""
        texts = self.texts.total()
        if not self.present:
            return Kind.EMPTY
        if self.others:
            return Kind.OTHER
        if self.dates or self._looks_like_days(texts):
            return Kind.DATES
        return self._plain_kind(texts)

    def _plain_kind(self, texts: int) -> Kind:
        if not self.count and (not texts or {text.lower() for text in self.texts} <= {"true", "false"}):
            return Kind.TRUTH
        if self.truth or (texts and self.count):
            return Kind.MIXED
        return Kind.TEXTS if texts else Kind.NUMBERS

    def _looks_like_days(self, texts: int) -> bool:
        if texts and not self.count:
            days = sum(count for text, count in self.texts.items() if DATE.fullmatch(text))
            return days >= 0.9 * texts
        named = DAY_NAME.search(self.name) is not None
        low, high = DAY_NUMBERS
        return named and bool(self.count) and not texts and self.whole and low <= self.low and self.high <= high

    @property
    def distinct(self) -> int | None:
        """How many different values it has; None for very many."""
        if self.too_many_texts or self.levels is None:
            return None
        return len(self.texts) + len(self.levels) + len(self.truth)

    @cached_property
    def odd(self) -> tuple[str, int, str, str] | None:
        """A text that is a number in an odd spelling: it, how many there are, what is odd, how to write it."""
        for pattern, what, instead in ODD:
            found = [text for text in self.texts if pattern.fullmatch(text)]
            if found:
                return found[0], sum(self.texts[text] for text in found), what, instead
        return None

    @property
    def is_identifier(self) -> bool:
        """Whether its values only tell rows apart: nearly as many as rows."""
        if self.kind is Kind.TEXTS:
            return self.too_many_texts or (len(self.texts) > 30 and len(self.texts) > 0.5 * self.present)
        if self.kind is not Kind.NUMBERS or not self.whole or self.count < 50:
            return False
        different = len(self.levels) if self.levels is not None else len(np.unique(self.numbers)) * self._stride
        in_a_row = self.high - self.low + 1 == self.count
        named = re.search(r"(^|_|\b)(id|uid|uuid|key|seqn|index|nr|no)(_|\b|$)", self.name.lower()) is not None
        return different >= 0.99 * self.count and (in_a_row or named)


def read_columns(parts: Sequence[Part], names: Iterable[str]) -> dict[str, Column]:
    """The columns of these names over all parts, read once."""
    found = {name: Column(name) for name in names}
    for part in parts:
        there = [name for name in found if name in part.columns]
        if not there:
            continue
        place = [list(part.columns).index(name) for name in there]
        # Rows of a database stay there: a sample of them, and the values that it lacks, are enough to propose from.
        for chunk in part.sample(place) if isinstance(part, TablePart) else part.chunks(place, CHUNK):
            for name, values in zip(there, chunk, strict=True):
                found[name].add(values)
    for column in found.values():
        column.finish()
    return found
