"""CSV files nobody vouches for: their header, where a row stands, and what is wrong with one that cannot be read.

Reading itself is DuckDB's part, which is quick and strict but speaks to programmers.  When it refuses a file, the file
is read once more here, slowly, to say what is wrong and where in the words of a reader.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from whichdo.counting.dividers import all_dividers, dividers_outside_quotes, may_end_empty
from whichdo.counting.foreign import foreign_text
from whichdo.counting.sources import check_names, plain_name
from whichdo.errors import DataError, InputError, TooLarge, counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

__all__ = [
    "LONGEST_LINE",
    "Header",
    "check_dividers",
    "count_dividers",
    "diagnose",
    "line_of",
    "open_bytes",
    "read_header",
]

LONGEST_LINE = 1 << 20  # bytes a row may have
BLOCK = 1 << 20
DELIMITERS = ",;\t|"
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Header:
    """How a file is divided: the names in its first row, and what stands between fields."""

    names: tuple[str, ...]
    delimiter: str


def open_bytes(path: Path, *, packed: bool) -> BinaryIO:
    """The file as bytes, unpacked if it is gzip."""
    return cast("BinaryIO", gzip.open(path, "rb")) if packed else path.open("rb")


def read_header(path: Path, *, packed: bool, known: frozenset[str] = frozenset()) -> Header:
    """The names of the columns.  The delimiter is the one that makes the most ``known`` names, then the most names."""
    with open_bytes(path, packed=packed) as file:
        data = file.read(LONGEST_LINE + 1)
    if not data.strip(b" \t\r\n" + BOM):
        raise DataError(f"{path.name} is empty: expected a row of column names, then rows of values.")
    start = 3 if data.startswith(BOM) else 0
    if data[start : start + 1] in {b"\r", b"\n"}:
        raise DataError(f"{path.name} begins with an empty line. The first line must name the columns.")
    cut = len(data) > LONGEST_LINE
    text = _decoded(data, path.name, cut=cut)
    found = [
        Header(tuple(plain_name(name) for name in record), delimiter)
        for delimiter in ("\t" if path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab")) else DELIMITERS)
        if (record := _first_record(text, delimiter, cut=cut)) is not None
    ]
    header = max(found, key=lambda h: (len(known.intersection(h.names)), len(h.names)), default=None)
    if header is None or not known.intersection(header.names):
        what = foreign_text(data.removeprefix(BOM))
        if what is not None:
            raise DataError(f"{path.name} {what}")
    if header is None:
        raise _endless(path.name, cut=cut)
    check_names(header.names, path.name)
    return header


def count_dividers(path: Path, *, packed: bool, delimiter: str) -> int:
    """The delimiters of a file; one that is gzip is so unpacked to its end and its sums are checked.

    DuckDB stops silently where a gzip file is damaged.
    """
    try:
        with open_bytes(path, packed=packed) as file:
            return all_dividers(file, delimiter)
    except EOFError:
        raise DataError(f"{path.name} is a gzip file that ends too early. Copy or download it again.") from None
    except (OSError, zlib.error) as error:
        if not packed:
            raise DataError(f"{path.name} cannot be read: {getattr(error, 'strerror', error)}.") from None
        raise DataError(f"{path.name} is a damaged gzip file. Copy or download it again.") from None


def check_dividers(path: Path, *, packed: bool, header: Header, rows: int, found: int) -> None:
    """Refuse empty fields behind the last column, which DuckDB overlooks in ``rows`` that it has divided otherwise.

    ``found``: how many delimiters there are, as from `count_dividers`.
    """
    expected = (rows + 1) * (len(header.names) - 1)
    if found == expected:
        return
    with open_bytes(path, packed=packed) as file:
        if found > expected and not may_end_empty(file, header.delimiter):
            return
        file.seek(0)
        if dividers_outside_quotes(file, header.delimiter) == expected:
            return
    wrong = _undivided(path, packed=packed, header=header)
    if wrong is not None:
        raise wrong


def line_of(path: Path, *, packed: bool, header: Header, row: int, column: int, text: str | None) -> int | None:
    """The line on which data row ``row`` (from 0) begins; None if it does not hold ``text`` in ``column``."""
    try:
        for number, (line, record) in enumerate(_records(path, header, packed=packed)):
            if number == row:
                return line if text is None or (column < len(record) and record[column] == text) else None
    except (csv.Error, UnicodeDecodeError):
        pass
    return None


def diagnose(path: Path, *, packed: bool, header: Header) -> InputError:
    """Why a file cannot be read."""
    wrong = _first_byte_that_is_no_text(path, packed=packed) or _odd_line(path, packed=packed)
    if wrong is not None:
        return wrong
    return _undivided(path, packed=packed, header=header) or DataError(
        f"{path.name} cannot be read as CSV. Export it again as CSV in UTF-8, or as Parquet."
    )


def _undivided(path: Path, *, packed: bool, header: Header) -> DataError | None:
    """The first row with another number of fields than the header, or that cannot be divided into fields."""
    name = path.name
    width = len(header.names)
    line = 1
    try:
        for number, (line, record) in enumerate(_records(path, header, packed=packed)):
            if len(record) != width:
                return DataError(
                    f"{name}, line {line:,}: Row {number + 1:,} has {counted(len(record), 'field')}; the header names "
                    f"{counted(width, 'column')}. Correct the row: a text with the delimiter in it must stand in "
                    f"double quotes."
                )
    except csv.Error:
        return DataError(
            f"{name} cannot be divided into fields after line {line:,}: a double quote is opened and not closed there, "
            f"or has text behind it. Double the quotes inside a quoted text."
        )
    return None


def _decoded(data: bytes, name: str, *, cut: bool) -> str:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        return decoder.decode(data, final=not cut)
    except UnicodeDecodeError:
        offset = _bad_byte(data)
        raise _no_text(name, offset, data[offset]) from None


def _bad_byte(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _no_text(name: str, offset: int, byte: int) -> DataError:
    return DataError(f"{name} is not UTF-8 text: byte {offset:,} is 0x{byte:02x}. Save it as UTF-8.")


def _first_record(text: str, delimiter: str, *, cut: bool) -> list[str] | None:
    """The first row divided by one delimiter; None if it cannot be, or if it does not end."""
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        record = next(reader)
    except csv.Error:
        return None
    return None if cut and not lines.readline() else record  # what was cut is the last line


def _endless(name: str, *, cut: bool) -> InputError:
    if cut:
        return TooLarge(
            f"The first row of {name} is longer than {LONGEST_LINE >> 20} MB. Is it a CSV file whose first row names "
            f"the columns, with a row a line?"
        )
    return DataError(
        f"The first row of {name} cannot be divided into names: a double quote is opened and not closed, or has text "
        f"behind it."
    )


def _records(path: Path, header: Header, *, packed: bool) -> Iterator[tuple[int, list[str]]]:
    """The data rows with the line each begins on.  Empty lines are no rows, unless there is one column only."""
    with io.TextIOWrapper(open_bytes(path, packed=packed), "utf-8-sig", newline="") as text:
        reader = csv.reader(_lines(text), delimiter=header.delimiter, strict=True)
        next(reader, None)
        line = reader.line_num
        for record in reader:
            if record or len(header.names) == 1:
                yield line + 1, record or [""]
            line = reader.line_num


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    """Lines however they end; one that is too long is an error."""
    while line := text.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise csv.Error("a line without an end")
        yield line


def _first_byte_that_is_no_text(path: Path, *, packed: bool) -> DataError | None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    done = 0
    with open_bytes(path, packed=packed) as file:
        while True:
            data = file.read(BLOCK)
            held = len(decoder.getstate()[0])
            try:
                decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                return _no_text(path.name, done - held + error.start, error.object[error.start])
            if not data:
                return None
            done += len(data)


def _odd_line(path: Path, *, packed: bool) -> InputError | None:
    """A line that is too long, or that ends otherwise than those before: DuckDB takes one kind in a file."""
    kinds: set[bytes] = set()
    line = 0
    with open_bytes(path, packed=packed) as file:
        while data := file.readline(LONGEST_LINE + 1):
            line += 1
            if len(data) > LONGEST_LINE:
                return TooLarge(
                    f"Line {line:,} of {path.name} is longer than {LONGEST_LINE >> 20} MB. Is it a CSV file with a row "
                    f"a line?"
                )
            if data.endswith(b"\n"):
                kinds.add(data[-2:] if data.endswith(b"\r\n") else b"\n")
            if len(kinds) > 1:
                return DataError(
                    f"{path.name} ends its lines in two ways; line {line:,} is the first that differs. Save it with "
                    f"one kind of line ending."
                )
    return None
