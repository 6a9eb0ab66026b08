"""Which declared value a raw value is.

A raw value stands for a declared one if it is that value; if it is a string that is the declared number in JSON's
grammar ("2" and "2.0" for 2, but not "02", " 2" or "2_0"); if it is a number whose string is declared; and for a node
of values 0 and 1 also true and false, as booleans or as strings in any case.  A date or time is the string it is
written as; at midnight it is also its date, for a node all of whose values are dates.  An interval of pandas is the
string it is written as.  The strings by which R, pandas and databases write a missing value ("NA", "NaN", "NULL", ...)
are missing, unless they are declared.  Everything else is a fault: nothing is guessed.

`Codebook` judges one value, `decode` whole columns: numpy arrays, Arrow arrays and lists.
"""

from __future__ import annotations

import math
import re
import unicodedata
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import Array, BoolArray, IntArray
    from whichdo.problem import Problem, Value


MISSING, BAD = -1, -2
ABSENT_TEXTS = frozenset({"NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>", "#N/A"})
"""Strings that stand for a missing value, where they are not declared values."""
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
LONGEST_NUMBER = 40
WHOLE_NUMBER = rf"^(?:{NUMBER.pattern})$"
MANY = 1 << 12  # texts of a column that are worth another pass
MOST = 2**63 - 1


class Codebook(ABC):
    """The codes of one column."""

    dtype: type[np.generic] = np.int64
    reads_numbers = False
    """Whether any number has a code, by its size."""

    def code(self, value: object) -> int:  # noqa: PLR0911 - a rule for each type
        """The code of one raw value, or `MISSING`, or `BAD`."""
        if type(value) is int:  # as most are
            return self.number(value)
        if isinstance(value, (np.datetime64, np.timedelta64)):  # whose item() may be a plain number
            return MISSING if np.isnat(value) else self.moment(value)
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or type(value).__name__ in {"NAType", "NaTType"}:
            return MISSING
        if isinstance(value, bool):
            return self.boolean(value)
        if isinstance(value, str):
            return self._any_text(value)
        if isinstance(value, (int, float, Decimal)):
            return self._any_number(value)
        return self._other(value)

    def _other(self, value: object) -> int:
        """The code of a date, a time or an interval of pandas, which is that of the string it is written as."""
        if isinstance(value, (date, time)):
            return self.moment(value)
        return self.text(str(value)) if type(value).__name__ == "Interval" else BAD

    def _any_text(self, value: str) -> int:
        found = self.text(value)
        return MISSING if found == BAD and value in ABSENT_TEXTS else found

    def _any_number(self, value: float | Decimal) -> int:
        if isinstance(value, Decimal):
            finite, absent = value.is_finite(), value.is_qnan()  # a signalling NaN says that something went wrong
        else:
            finite, absent = isinstance(value, int) or math.isfinite(value), value != value  # noqa: PLR0124
        return self.number(value) if finite else MISSING if absent else BAD

    def moment(self, value: date | time | np.datetime64 | np.timedelta64) -> int:
        """The code of a date or a time: that of the string it is written as."""
        return self.text(str(value))

    def text(self, value: str) -> int:  # noqa: ARG002
        """The code of a string."""
        return BAD

    def number(self, value: float | Decimal) -> int:  # noqa: ARG002
        """The code of a finite number."""
        return BAD

    def boolean(self, value: bool) -> int:  # noqa: ARG002, FBT001
        """The code of true or false."""
        return BAD

    def numbers(self, values: Array) -> tuple[Array, BoolArray | None]:
        """The codes of an array of numbers, none of them NaN, and which are bad."""
        distinct, where = np.unique(values, return_inverse=True)
        codes = np.array([self.code(value) for value in distinct.tolist()], np.int64)[where.ravel()]
        return _split(codes, self.dtype)

    @abstractmethod
    def allowed(self) -> str:
        """The allowed values, for a message."""


class DomainBook(Codebook):
    """The codes of a node: the positions of its declared values."""

    def __init__(self, domain: Sequence[Value], groups: Mapping[Value, Sequence[Value]] | None = None) -> None:
        """Learn the ``domain``, and which other values count as one of it (``groups``)."""
        self._domain = tuple(domain)
        code = {v: j for j, v in enumerate(domain)}
        code |= {member: code[value] for value, members in (groups or {}).items() for member in members}
        self._texts = {unicodedata.normalize("NFC", v): j for v, j in code.items() if isinstance(v, str)}
        self._declared = {v: j for v, j in code.items() if not isinstance(v, str)}
        # A number is also the declared text that it is written as.
        spelled = {n: j for text, j in self._texts.items() if (n := parse_number(text)) is not None and str(n) == text}
        self._numbers: dict[Any, int] = {**spelled, **self._declared}
        self.dtype = np.uint8

    def text(self, value: str) -> int:
        """A declared string, or a declared number as text, or true and false for 1 and 0."""
        if value in self._texts:
            return self._texts[value]
        number = parse_number(value)
        if number is not None:
            return self._declared.get(number, BAD)
        if self._declared.keys() == {0, 1} and value.lower() in {"true", "false"}:
            return self._declared[int(value.lower() == "true")]
        return self._texts.get(unicodedata.normalize("NFC", value), BAD) if not value.isascii() else BAD

    def number(self, value: float | Decimal) -> int:
        """A declared number, or one whose text is declared."""
        return self._numbers.get(value, BAD)

    def boolean(self, value: bool) -> int:  # noqa: FBT001
        """1 and 0 where these are numbers of the domain, or a declared text such as "True"."""
        if int(value) in self._declared:
            return self._declared[int(value)]
        return next((code for text, code in self._texts.items() if text.lower() == str(value).lower()), BAD)

    def moment(self, value: date | time | np.datetime64 | np.timedelta64) -> int:
        """A moment as it is written; at midnight its date, where all declared values are dates."""
        if isinstance(value, np.datetime64):
            found = self.text(str(value))
            plain = _plain_moment(value)
            return self.moment(plain) if found == BAD and plain is not None else found
        found = super().moment(value)
        if found == BAD and self.dates and isinstance(value, datetime) and _is_midnight(value):
            return self._texts.get(value.date().isoformat(), BAD)
        return found

    def numbers(self, values: Array) -> tuple[Array, BoolArray | None]:
        """As above, without a Python step for each value."""
        if values.dtype.kind in "iu" and self._counts_up:
            unsigned = values.view(f"u{values.dtype.itemsize}")
            limit = min(len(self._domain), 1 << (8 * values.dtype.itemsize - (values.dtype.kind == "i")))
            if not len(values) or int(unsigned.max()) < limit:
                return unsigned.astype(np.uint8, copy=False), None
        if values.dtype.kind == "f" and self._counts_up:
            with np.errstate(invalid="ignore"):
                small = values.astype(np.uint8)
            if not len(values) or (int(small.max()) < len(self._domain) and bool((small == values).all())):
                return small, None
        table, codes = self._table(values.dtype)
        if not len(table):
            return np.zeros(len(values), np.uint8), np.ones(len(values), np.bool_)
        place = np.minimum(np.searchsorted(table, values), len(table) - 1)
        bad = table[place] != values
        return codes[place], bad if bad.any() else None

    def allowed(self) -> str:
        """The declared values."""
        return _choices(list(map(str, self._domain)))

    @property
    def spellings(self) -> list[str]:
        """The strings that the declared values are most likely written as."""
        return [*self._texts, *map(str, self._declared)]

    def held(self, dtype: np.dtype[Any]) -> dict[Any, int]:
        """The numbers of the domain as a column of this type holds them, and their codes."""
        numbers, codes = self._table(dtype)
        return dict(zip(numbers.tolist(), codes.tolist(), strict=True))

    @cached_property
    def dates(self) -> bool:
        """Whether all declared values are dates, as in 2024-12-31."""
        return all(isinstance(value, str) and _is_date(value) for value in self._domain)

    @cached_property
    def _counts_up(self) -> bool:
        return self._domain == tuple(range(len(self._domain)))

    def _table(self, dtype: np.dtype[Any]) -> tuple[Array, Array]:
        """The numbers of the domain that ``dtype`` holds, in order, and their codes."""
        found = {}
        for number, code in self._numbers.items():
            try:
                with np.errstate(over="ignore"):
                    held = dtype.type(number).item()
            except OverflowError:
                continue
            # A float32 column holds 0.1 as its own nearest number.
            if held == number or (dtype.kind == "f" and isinstance(number, float) and math.isfinite(held)):
                found[held] = code
        ordered = sorted(found)
        return np.array(ordered, dtype), np.array([found[number] for number in ordered], np.uint8)


class ArmBook(Codebook):
    """The codes of a column that says what was done: positions of arms; nothing said means ``do()``."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def code(self, value: object) -> int:
        """Nothing said is a look."""
        found = super().code(value)
        return 0 if found == MISSING else found

    def text(self, value: str) -> int:
        """An arm as it is written, whatever its blanks and the order of names."""
        if not value.strip():
            return 0
        arm = self._problem.find_arm(value)
        return BAD if arm is None else self._problem.index(arm)

    def allowed(self) -> str:
        """The arms."""
        return _choices([str(arm) for arm in self._problem.arms])


def _split(codes: IntArray, dtype: type[np.generic]) -> tuple[Array, BoolArray | None]:
    bad = codes < 0
    return np.maximum(codes, 0).astype(dtype), bad if bad.any() else None


def parse_number(text: str) -> int | float | None:
    """A number in JSON's grammar, whole if it is whole; None for any other text."""
    if len(text) > LONGEST_NUMBER or not NUMBER.fullmatch(text):
        return None
    try:
        return int(text)
    except ValueError:
        number = float(text)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_midnight(moment: datetime) -> bool:
    """Whether a moment is the beginning of a day; one with a time zone begins its day in one place only."""
    return moment.tzinfo is None and moment.time() == time() and not getattr(moment, "nanosecond", 0)


def _plain_moment(value: np.datetime64) -> datetime | None:
    """The same moment as Python has it; None where it has none, finer than a microsecond or far away."""
    plain = value.astype("M8[us]")
    return plain.item() if plain == value and isinstance(plain.item(), datetime) else None


def _choices(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


@dataclass(frozen=True)
class Decoded:
    """Codes, with the rows that are missing and the rows that are faults; None where there are none."""

    codes: Array
    missing: BoolArray | None = None
    bad: BoolArray | None = None


def decode(book: Codebook, column: Any) -> Decoded:
    """The codes of a column: a numpy array, an Arrow array, or a list of anything."""
    if isinstance(column, np.ndarray):
        return _decode_numpy(book, column)
    if hasattr(column, "null_count"):
        return _decode_arrow(book, column)
    return _code(book, np.array([book.code(value) for value in column], np.int64))


def text_at(column: Any, place: int) -> str:
    """What stands in a column, for a message."""
    value = column[place]
    value = value.as_py() if hasattr(value, "as_py") else value
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - whatever a stranger's object does when printed
        return f"a {type(value).__name__}"


def _decode_numpy(book: Codebook, column: Array) -> Decoded:
    kind = column.dtype.kind
    if not column.dtype.isnative:
        column = column.astype(column.dtype.newbyteorder("="))
    if kind == "b":
        bits = column.view(np.uint8)
        if book.dtype is np.uint8 and book.code(False) == 0 and book.code(True) == 1:
            return Decoded(bits)
        return _looked_up(book, [False, True], bits)
    if kind in "iu":
        return Decoded(*_in_order(book.numbers(column)))
    if kind == "f":
        return _decode_floats(book, column)
    if kind in "mM":
        distinct, places = np.unique(column, return_inverse=True)
        return _looked_up(book, list(distinct), places.ravel())
    return decode(book, column.tolist())


def _decode_floats(book: Codebook, column: Array) -> Decoded:
    missing = np.isnan(column)
    if not missing.any():
        return Decoded(*_in_order(book.numbers(column)))
    codes, bad = book.numbers(np.where(missing, column.dtype.type(0), column))
    return _nothing_said(book, codes, missing, bad)


def _decode_arrow(book: Codebook, column: Any) -> Decoded:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _decode_dictionary(book, column)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        missing = None
        if column.null_count:
            missing = column.is_null().to_numpy(zero_copy_only=False)
            column = column.fill_null(False if pa.types.is_boolean(kind) else 0)
        found = _decode_numpy(book, column.to_numpy(zero_copy_only=False))
        return (
            found if missing is None else _nothing_said(book, found.codes, _either(missing, found.missing), found.bad)
        )
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        quick = _number_texts(book, column) if book.reads_numbers else _single_characters(book, column)
        if quick is not None:
            return quick
    try:
        return _decode_dictionary(book, column.dictionary_encode())
    except (pa.ArrowException, NotImplementedError):  # lists, structs and the like
        return decode(book, column.to_pylist())


def _decode_dictionary(book: Codebook, column: Any) -> Decoded:
    places = column.indices
    missing = None
    if places.null_count:
        missing = places.is_null().to_numpy(zero_copy_only=False)
        places = places.fill_null(0)
    values = column.dictionary.to_pylist() or [None]
    found = _looked_up(book, values, places.to_numpy(zero_copy_only=False))
    return found if missing is None else _nothing_said(book, found.codes, _either(missing, found.missing), found.bad)


def _single_characters(book: Codebook, column: Any) -> Decoded | None:
    """A column of strings of one byte, such as 0 and 1 from a CSV file; None for any other column."""
    import pyarrow as pa

    if column.null_count or not pa.types.is_string(column.type):
        return None
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    if data is None or not len(column) or ends[-1] - ends[0] != len(column) or not np.all(np.diff(ends) == 1):
        return None
    octets = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    if int(octets.max()) > 127:
        return None
    return _looked_up(book, [chr(octet) for octet in range(128)], octets)


def _number_texts(book: Codebook, column: Any) -> Decoded | None:
    """A column of numbers as strings, mostly different, without a Python step for each; None for any other column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(column) < MANY or pc.count_distinct(column.slice(0, MANY)).as_py() < MANY // 8:
        return None  # a dictionary of few texts is quicker
    strict = pc.and_(pc.match_substring_regex(column, WHOLE_NUMBER), pc.less_equal(pc.binary_length(column), 40))
    if not pc.all(strict).as_py():  # nulls aside
        return None
    return _decode_arrow(book, column.cast(pa.float64()))


def _looked_up(book: Codebook, values: Iterable[object], places: Array) -> Decoded:
    """Codes of a column given as places in a list of values."""
    return _code(book, np.array([book.code(value) for value in values], np.int64), places)


def _code(book: Codebook, codes: IntArray, places: Array | None = None) -> Decoded:
    """Codes with `MISSING` and `BAD` among them; ``places`` says which stands where."""
    clean = np.maximum(codes, 0).astype(book.dtype)
    if places is None:
        missing, bad = codes == MISSING, codes == BAD
    else:
        clean, missing, bad = clean[places], (codes == MISSING), (codes == BAD)
        missing = missing[places] if missing.any() else missing
        bad = bad[places] if bad.any() else bad
    return Decoded(clean, missing if missing.any() else None, bad if bad.any() else None)


def _in_order(found: tuple[Array, BoolArray | None]) -> tuple[Array, None, BoolArray | None]:
    return found[0], None, found[1]


def _nothing_said(book: Codebook, codes: Array, missing: BoolArray, bad: BoolArray | None) -> Decoded:
    """The placeholder of a missing value is not a value: it is not bad, and for an arm it says to look."""
    if bad is not None:
        bad = bad & ~missing
        bad = bad if bad.any() else None
    if book.code(None) == MISSING:
        return Decoded(codes, missing, bad)
    return Decoded(np.where(missing, book.code(None), codes), None, bad)


def _either(first: BoolArray, second: BoolArray | None) -> BoolArray:
    return first if second is None else first | second
