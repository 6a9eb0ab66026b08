"""CSV files of unknown quality: their header, their rows, and what is wrong with one that cannot be read.

pyarrow divides the rows into fields.  It is quick and refuses a row with too many fields or too few, but it takes
``"1"x`` for ``1x``, a quote that is never closed for one that ends with the file, and NUL for a character.  So every
piece of a file is checked here first: its quotes, its line endings, its encoding.  A file that is refused is read once
more, slowly, to say where the fault is.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from dataclasses import dataclass
from itertools import chain
from time import thread_time
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from whichdo.counting.parts import check_names, plain_name
from whichdo.errors import DataError, InputError, TooLargeError
from whichdo.text import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from whichdo.arrays import CodeArray, IntArray


EXPORT = "Export the rows as CSV in UTF-8, or as Parquet"
LONGEST_LINE = 1 << 20  # bytes a row may have
UNPACKED, UNPACKING = 16 << 30, 600.0
"""Bytes of a packed file, unpacked, and seconds that this may take.  A few megabytes can hold more than a disk, or
nothing at all in a great many parts."""
BLOCK = 1 << 22  # bytes read at a time, more than the longest line
DELIMITERS = ",;\t|"
BOM = b"\xef\xbb\xbf"
LF, CR, QUOTE = b'\n\r"'
LINE_END = re.compile(rb"\r\n|\r|\n")

JSON = re.compile(rb"\s*(\{\s*[\"}]|\[\s*([\[{\"\]\d-]|null|true|false))")
MARKUP = re.compile(rb"\s*<(!doctype|html|\?xml)", re.IGNORECASE)
COMMENT = re.compile(rb"[ \t]*(#|%|//)")
SEPARATOR = re.compile(rb'"?sep=[^\r\n]"?[\r\n]', re.IGNORECASE)


@dataclass(frozen=True)
class Header:
    """The names in the first row of a file, and the delimiter between its fields."""

    names: tuple[str, ...]
    delimiter: str


class CsvPart:
    """One CSV file, plain or gzip.  Every value is read as a string, so that what "01" or "NA" means is decided here.

    ``known``: names to look for in the header, which decide between delimiters.  ``start``: of the rows only those are
    read that begin from this byte on.
    """

    rows = None
    checksums = None

    def __init__(self, path: Path, *, packed: bool, known: frozenset[str] = frozenset(), start: int = 0) -> None:
        self._path, self._packed, self._start = path, packed, start
        self.name = path.name
        self._read_to_end = False
        try:
            self._header = _read_header(path, packed=packed, known=known)
        except InputError:
            self.check_whole()
            raise
        self.columns = self._header.names

    def chunks(self, wanted: Sequence[int], size: int) -> Iterator[Sequence[Any]]:
        """Batches of the wanted columns as strings; an empty field is missing."""
        import pyarrow as pa
        import pyarrow.csv as arrow_csv

        names = [str(column) for column in range(len(self.columns))]
        chosen = [names[column] for column in wanted]
        convert = arrow_csv.ConvertOptions(
            include_columns=chosen,
            column_types=dict.fromkeys(chosen, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            check_utf8=False,  # checked before, in the columns that are not wanted too
        )
        header = 1
        for piece in self._pieces():
            parse = arrow_csv.ParseOptions(
                delimiter=self._header.delimiter,
                newlines_in_values=b'"' in piece,
                ignore_empty_lines=len(names) > 1,  # of one column, an empty line is a missing value
            )
            # A piece is one block, so threads would save nothing; and a process that ends just after pyarrow started
            # its threads may be aborted ("terminate called without an active exception").
            read = arrow_csv.ReadOptions(
                use_threads=False,
                column_names=names,
                skip_rows_after_names=header,
                block_size=len(piece) + len(BOM),
            )
            # pyarrow takes the mark off the beginning of whatever it is given.
            piece = BOM + piece if piece.startswith(BOM) else piece
            try:
                table = arrow_csv.read_csv(
                    pa.py_buffer(piece), read_options=read, parse_options=parse, convert_options=convert
                )
            except pa.ArrowInvalid:
                raise self._undivided() from None
            except MemoryError:
                raise TooLargeError(f"There is not enough memory to read {self.name}.") from None
            header = 0
            for batch in table.to_batches(max_chunksize=size):
                yield batch.columns

    def where(self, row: int, column: str | None = None, text: str | None = None) -> str:
        """The number of the data row, which does not count the header, and the line of the file."""
        position = self.columns.index(column) if column is not None else 0
        line = self._line_of(row, position, text)
        return f"{self.name}{'' if line is None else f', line {line:,}'}: Row {row + 1:,}"

    def check_whole(self) -> None:
        """Raise if this is a gzip file that is damaged, which explains more than what the damage leads to."""
        if self._packed and not self._read_to_end:
            for _ in _blocks(self._path, packed=True):
                pass
            self._read_to_end = True

    def _pieces(self) -> Iterator[bytes]:
        """The file without its byte-order mark in pieces of whole rows, each of them checked."""
        check = _Check(self.name)
        rest = b""
        for number, block in enumerate(chain(_blocks(self._path, packed=self._packed, start=self._start), [b""])):
            data = rest + block
            if not number and data.startswith(BOM):
                data, check.bytes = data[len(BOM) :], len(BOM)
            ends, cut = self._cut(data, last=not block)
            if cut:
                # Without a line ending at its end, pyarrow does not find a header that stands alone.
                yield check.piece(data[:cut], ends) + (b"" if block else b"\n")
            elif len(data) > LONGEST_LINE:
                check.line_lengths(data)
                raise self._undivided()
            rest = data[cut:]
        self._read_to_end = True

    def _cut(self, data: bytes, *, last: bool) -> tuple[IntArray | None, int]:
        """Where the last whole row ends, all before being quoted as it should be; and where rows end, if it is quoted.

        ``last``: nothing comes after.
        """
        end = len(data) - data.endswith(b"\r")  # half a line ending, perhaps
        if b'"' not in data:
            return None, len(data) if last else max(data.rfind(b"\n", 0, end), data.rfind(b"\r", 0, end)) + 1
        found = _RowEnds(data, self._header.delimiter)
        whole = found.ends[found.ends < end]
        cut = len(data) if last else int(whole[-1]) + 1 if len(whole) else 0
        if (found.wrong is not None and found.wrong < cut) or (last and found.unclosed):
            raise self._undivided()
        return found.ends[found.ends < cut], cut

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """The data rows with the line each begins on.  Empty lines are not rows, unless there is one column only."""
        opened = _open(self._path, packed=self._packed, start=self._start)
        with io.TextIOWrapper(opened, "utf-8-sig", newline="") as text:
            reader = csv.reader(_lines(text), delimiter=self._header.delimiter, strict=True)
            next(reader, None)
            line = reader.line_num
            for record in reader:
                if record or len(self.columns) == 1:
                    yield line + 1, record or [""]
                line = reader.line_num

    def _line_of(self, row: int, column: int, text: str | None) -> int | None:
        """The line on which data row ``row`` (from 0) begins; None if it does not hold ``text`` in ``column``."""
        try:
            for number, (line, record) in enumerate(self._records()):
                if number == row:
                    line += self._lines_before
                    return line if text is None or (column < len(record) and record[column] == text) else None
        except (csv.Error, UnicodeDecodeError):
            pass
        return None

    @property
    def _lines_before(self) -> int:
        """The lines that are not read, for messages."""
        if not self._start:
            return 0
        with self._path.open("rb") as file:
            return sum(block.count(b"\n") for block in _up_to(file, self._start)) - 1

    def _undivided(self) -> DataError:
        """The first row with another number of fields than the header, or that cannot be divided into fields."""
        self.check_whole()
        width, line = len(self.columns), 1
        try:
            for number, (line, record) in enumerate(self._records()):
                if len(record) != width:
                    return DataError(
                        f"{self.name}, line {line:,}: Row {number + 1:,} has {counted(len(record), 'field')}; the "
                        f"header names {counted(width, 'column')}. Correct the row: a value that contains the "
                        f"delimiter needs double quotes."
                    )
        except csv.Error:
            return DataError(
                f"{self.name} cannot be divided into fields after line {line:,}: a double quote is opened and not "
                f"closed there, or is followed by text. Double the quotes inside a quoted value."
            )
        except UnicodeDecodeError:
            pass
        return DataError(f"{self.name} cannot be read as CSV. Export it again as CSV in UTF-8, or as Parquet.")


class _Check:
    """Checks a file piece by piece: UTF-8 without NUL, lines that end in one way and are not too long."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.bytes = self._lines = 0
        self._ending: int | None = None

    def piece(self, piece: bytes, ends: IntArray | None) -> bytes:
        """The same piece, or an error that says what is wrong where; ``ends`` as of `_RowEnds`, where it has quotes."""
        if not piece.isascii():
            try:
                piece.decode("utf-8")
            except UnicodeDecodeError as error:
                raise _not_text(self._name, self.bytes + error.start, piece[error.start]) from None
        if b"\0" in piece:
            raise DataError(
                f"{self._name} has a NUL character, byte {self.bytes + piece.index(0):,}: it is not text. Export it "
                f"again as CSV in UTF-8, or as Parquet."
            )
        half = LONGEST_LINE // 2
        if any(piece.find(b"\n", at, at + half) < 0 for at in range(0, len(piece) - half, half)):
            self.line_lengths(piece)
        feeds, returns, both = piece.count(b"\n"), piece.count(b"\r"), piece.count(b"\r\n")
        plain = not returns or (ends is None and feeds == returns == both)  # all lines end alike
        ending = CR + LF if returns else LF
        if not plain or self._ending not in {None, ending}:
            self._line_endings(piece, ends)
        elif feeds:
            self._ending = ending
        self._lines += feeds + returns - both
        self.bytes += len(piece)
        return piece

    def line_lengths(self, piece: bytes) -> None:
        """Raise if a line is too long."""
        for number, line in enumerate(LINE_END.split(piece), start=self._lines + 1):
            if len(line) > LONGEST_LINE:
                raise TooLargeError(
                    f"Line {number:,} of {self._name} is longer than {LONGEST_LINE >> 20} MB. Is it a CSV file with "
                    f"one row per line?"
                )

    def _line_endings(self, piece: bytes, ends: IntArray | None) -> None:
        """Raise if a row ends in another way than the first."""
        octets = np.frombuffer(piece, np.uint8)
        places = _line_ends(octets) if ends is None else ends
        places = places[(octets[places] == CR) | (octets[places - 1] != CR) | (places == 0)]  # where each begins
        if not len(places):
            return
        both = np.append(octets, 0)[places + 1] == LF
        kinds = np.where((octets[places] == CR) & both, CR + LF, octets[places])
        self._ending = int(kinds[0]) if self._ending is None else self._ending
        others = np.flatnonzero(kinds != self._ending)
        if len(others):
            line = self._lines + len(LINE_END.findall(piece, 0, int(places[others[0]]))) + 1
            raise DataError(
                f"{self._name} ends its lines in two ways; line {line:,} is the first that differs. Save it with one "
                f"kind of line ending."
            )


class _RowEnds:
    """Where the rows of a text end that has quotes, and whether these open and close as they should.

    ``ends``: the places of line feeds and carriage returns outside quotes; ``wrong``: the first quote that closes a
    field with something behind it; ``unclosed``: whether the last quote opens a field.
    """

    def __init__(self, data: bytes, delimiter: str) -> None:
        octets = np.frombuffer(data, np.uint8)
        beside = np.zeros(256, np.bool_)  # what may stand on the outer side of a quote
        beside[list(b'\r\n"' + delimiter.encode())] = True
        quotes = np.flatnonzero(octets == QUOTE)
        # If every second quote stands at the beginning of a field, or doubles the one before, they open and close in
        # turn.  If not, as in ``5" pipe``, some quote nothing, and only going from one to the next can tell.
        opening = quotes[0::2]
        if not (beside[octets[opening - 1]] | (opening == 0)).all():
            fields = re.finditer(
                rb'(?:(?<=[\r\n%b])|\A)"[^"]*(?:""[^"]*)*(?:"|\Z)' % re.escape(delimiter).encode(), data
            )
            spans = [(match.start(), match.end() - 1) for match in fields]
            quotes = np.array(spans, np.int64).reshape(-1)
            if spans and not _is_closed(data, *spans[-1]):
                quotes = quotes[:-1]
        closing = quotes[1::2]
        wrong = closing[~beside[np.append(octets, LF)[closing + 1]]]
        places = _line_ends(octets)
        self.ends = places[np.searchsorted(quotes, places) % 2 == 0]
        self.wrong = int(wrong[0]) if len(wrong) else None
        self.unclosed = len(quotes) % 2 == 1


def _is_closed(data: bytes, first: int, last: int) -> bool:
    """Whether a quoted field that goes from one place to another ends in the quote that closes it."""
    return last > first and (data.count(b'"', first, last + 1)) % 2 == 0


def _line_ends(octets: CodeArray) -> IntArray:
    return np.flatnonzero((octets == LF) | (octets == CR))


def foreign_text(begin: bytes) -> str | None:
    """What a text is that begins like this, if that is not a row of names, and what to do about it.

    Certain only where no column that is looked for stands in the first row: a name may begin with any character.
    """
    if JSON.match(begin):
        return f"is JSON, not a table. {EXPORT}; or read it into a frame and give that."
    if MARKUP.match(begin):
        return f"is a web page or XML, not a table. {EXPORT}."
    line = quoted(re.split(rb"[\r\n]", begin[:200], maxsplit=1)[0].decode("utf-8", "replace"))
    if SEPARATOR.match(begin):
        return f"begins with {line}, a marker for Excel. The first line must name the columns: remove this one."
    if COMMENT.match(begin):
        return f"begins with a comment, {line}. The first line must name the columns: remove what comes before it."
    return None


def first_bytes(path: Path, count: int, *, packed: bool) -> bytes:
    """The first bytes of a file, unpacked if it is gzip; fewer where it is damaged."""
    try:
        with _open(path, packed=packed) as file:
            return file.read(count)
    except (EOFError, OSError, ValueError, zlib.error):
        return b""


def _open(path: Path, *, packed: bool, start: int = 0) -> BinaryIO:
    """The file as bytes, unpacked if it is gzip; of one that is read from a byte on, the header and what follows."""
    file = path.open("rb")
    if packed:
        return cast("BinaryIO", _Unpacked(file, path.name))
    return cast("BinaryIO", io.BufferedReader(_HeadAndTail(file, start), BLOCK)) if start else file


class _Unpacked(gzip.GzipFile):
    """What a gzip file holds, up to a size and for as long as unpacking may take."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._packed, self._called = file, name
        self._done, self._busy, self._begun = 0, 0.0, 0.0
        super().__init__(mode="rb", fileobj=cast("BinaryIO", _Metered(file, self._check_time)))

    def read(self, size: int | None = -1) -> bytes:
        self._begun = thread_time()
        block = super().read(size)
        self._busy += thread_time() - self._begun
        self._done += len(block)
        if self._done > UNPACKED:
            raise self._too_large(f"holds more than {UNPACKED >> 30} GB when it is unpacked")
        return block

    def close(self) -> None:
        super().close()
        self._packed.close()

    def _check_time(self) -> None:
        if self._busy + thread_time() - self._begun > UNPACKING:
            raise self._too_large(f"takes more than {UNPACKING / 60:g} minutes to unpack")

    def _too_large(self, why: str) -> TooLargeError:
        return TooLargeError(f"{self._called} {why}, the limit for a packed file. Unpack it yourself, or split it.")


class _Metered(io.RawIOBase):
    """The bytes of a file; before any of them are read, a check."""

    def __init__(self, file: BinaryIO, check: Callable[[], None]) -> None:
        self._file, self._check = file, check

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        self._check()
        return self._file.readinto(into)  # type: ignore[attr-defined, no-any-return]


class _HeadAndTail(io.RawIOBase):
    """The first line of a file, and what follows from a byte on."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._file, self._head = file, file.readline(LONGEST_LINE)
        file.seek(start)
        if self._head.endswith(b"\n") and file.read(1) not in {b"\n", b"\r"}:
            file.seek(start)  # else the line before had no end yet, and here it is

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        if self._head:
            number = min(len(into), len(self._head))
            into[:number], self._head = self._head[:number], self._head[number:]
            return number
        return self._file.readinto(into)  # type: ignore[attr-defined, no-any-return]

    def close(self) -> None:
        self._file.close()
        super().close()


def _up_to(file: BinaryIO, end: int) -> Iterator[bytes]:
    while end > 0 and (block := file.read(min(BLOCK, end))):
        end -= len(block)
        yield block


def _blocks(path: Path, *, packed: bool, size: int | None = None, start: int = 0) -> Iterator[bytes]:
    """The bytes of a file; one that is gzip is unpacked and its checksum verified at its end."""
    try:
        with _open(path, packed=packed, start=start) as file:
            while block := file.read(BLOCK if size is None else size):
                yield block
    except EOFError:
        raise DataError(f"{path.name} is a gzip file that ends too early. Copy or download it again.") from None
    except (OSError, zlib.error) as error:
        if not packed:
            raise DataError(f"{path.name} cannot be read: {getattr(error, 'strerror', error)}.") from None
        raise DataError(f"{path.name} is a damaged gzip file. Copy or download it again.") from None


def _read_header(path: Path, *, packed: bool, known: frozenset[str]) -> Header:
    """The names of the columns.  The delimiter is the one that makes the most ``known`` names, then the most names."""
    data = next(_blocks(path, packed=packed, size=LONGEST_LINE + 1), b"")
    if not data.strip(b" \t\r\n" + BOM):
        raise DataError(f"{path.name} is empty: expected a row of column names, then rows of values.")
    start = 3 if data.startswith(BOM) else 0
    if data[start : start + 1] in {b"\r", b"\n"}:
        raise DataError(f"{path.name} begins with an empty line. The first line must name the columns.")
    cut = len(data) > LONGEST_LINE
    text = _decode(data, path.name, cut=cut)
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


def _decode(data: bytes, name: str, *, cut: bool) -> str:
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data, final=not cut).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise _not_text(name, error.start, data[error.start]) from None


def _not_text(name: str, offset: int, byte: int) -> DataError:
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
        return TooLargeError(
            f"The first row of {name} is longer than {LONGEST_LINE >> 20} MB. Is it a CSV file whose first row names "
            f"the columns, with one row per line?"
        )
    return DataError(
        f"The first row of {name} cannot be divided into names: a double quote is opened and not closed, or has text "
        f"behind it."
    )


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    """Lines however they end; one that is too long is an error."""
    while line := text.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise csv.Error("a line without an end")
        yield line
