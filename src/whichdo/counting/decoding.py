"""The codes of whole columns: numpy arrays, Arrow arrays and lists, each value judged as its codebook judges it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.values import BAD, MISSING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.arrays import Array, BoolArray, IntArray
    from whichdo.counting.values import Codebook

__all__ = ["Decoded", "decode", "text_at"]


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
    return _coded(book, np.array([book.code(value) for value in column], np.int64))


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
    if pa.types.is_string(kind) and not column.null_count:
        quick = _single_letters(book, column)
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


def _single_letters(book: Codebook, column: Any) -> Decoded | None:
    """A column of texts of one byte, such as 0 and 1 from a CSV file; None if it is no such column."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    if data is None or not len(column) or ends[-1] - ends[0] != len(column) or not np.all(np.diff(ends) == 1):
        return None
    letters = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    if int(letters.max()) > 127:
        return None
    return _looked_up(book, [chr(letter) for letter in range(128)], letters)


def _looked_up(book: Codebook, values: Iterable[object], places: Array) -> Decoded:
    """Codes of a column given as places in a list of values."""
    return _coded(book, np.array([book.code(value) for value in values], np.int64), places)


def _coded(book: Codebook, codes: IntArray, places: Array | None = None) -> Decoded:
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
    """What stands in place of a missing value was no value: it is not bad, and for an arm it says to look."""
    if bad is not None:
        bad = bad & ~missing
        bad = bad if bad.any() else None
    if book.code(None) == MISSING:
        return Decoded(codes, missing, bad)
    return Decoded(np.where(missing, book.code(None), codes), None, bad)


def _either(first: BoolArray, second: BoolArray | None) -> BoolArray:
    return first if second is None else first | second
