"""Logs in files: which files a path names, what each of them is, and the rows of Parquet files.

Only files on this machine are read, and of these only the ones that were named.

Others may be writing to a log: the same bytes are hashed and counted, or none of them are (`Steady`).  A log is read
several times, once for its hash and then for its counts.  A row that is appended in between would be in one and not in
the other, and be lost for good.  So the file is looked at before and after: if it is another, or has another size or
time of change, what was made of it is given up.  The clock of a file system ticks; within a tick a change may leave no
trace, so a file that was changed just before it was read is hashed again at the end.
"""

from __future__ import annotations

import glob
import os
import stat
import time
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from whichdo.counting.csv_files import EXPORT, CsvPart, first_bytes
from whichdo.counting.parts import check_names, plain_name
from whichdo.errors import DataError, InputError, TooLargeError
from whichdo.files import is_guarded
from whichdo.text import quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


BUFFER = 1 << 20  # bytes of a column that are read at a time, so that memory does not grow with the row groups
GZIP = b"\x1f\x8b"
MOST_FILES = 10_000
"""Files of a glob."""
MOST_NAMES = 100_000
"""Names that are looked through for them."""
PARQUET = b"PAR1"
SHEET = "Export the sheet as CSV in UTF-8"

#: Files that are surely no log, by how they begin: what each is, and what to do about it.
FOREIGN: tuple[tuple[bytes, str, str], ...] = (
    *((bytes([0x80, n]), "a Python pickle", f"Reading one can run code. {EXPORT}") for n in (2, 3, 4, 5)),
    (b"PK\x03\x04", "a spreadsheet or a ZIP archive", f"{SHEET}, or unpack the archive"),
    (b"PK\x05\x06", "an empty ZIP archive", EXPORT),
    (b"\xd0\xcf\x11\xe0", "an old Office document", SHEET),
    (b"PARE", "an encrypted Parquet file", "Write it without encryption"),
    (b"ARROW1", "a Feather or Arrow file", "Write it as Parquet"),
    (b"ORC", "an ORC file", "Write it as Parquet"),
    (b"Obj\x01", "an Avro file", "Write it as Parquet"),
    (b"\x89HDF", "an HDF5 file", EXPORT),
    (b"\x93NUMPY", "a numpy array", EXPORT),
    (b"SQLite format 3\x00", "an SQLite database", EXPORT),
    (b"%PDF", "a PDF document", EXPORT),
    (b"\x89PNG", "a PNG picture", EXPORT),
    (b"\xff\xd8\xff", "a JPEG picture", EXPORT),
    (b"\xfd7zXZ", "compressed with xz", "Unpack it, or compress it with gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "Unpack it, or compress it with gzip"),
    (b"BZh", "compressed with bzip2", "Unpack it, or compress it with gzip"),
    (GZIP, "compressed twice", "Unpack it once"),
    (b"\xff\xfe\0\0", "text in UTF-32", "Save it as UTF-8"),
    (b"\0\0\xfe\xff", "text in UTF-32", "Save it as UTF-8"),
    (b"\xff\xfe", "text in UTF-16", "Save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "Save it as UTF-8"),
    (b"{\\rtf", "an RTF document", SHEET),
)


class Files:
    """The files that a path, a glob or a list of these names.

    A file that is named twice, by globs that overlap or through a link, is counted once and listed in ``repeated``.
    Counting it twice would make every interval too narrow, and nobody names a file twice for that; refusing it would
    make ``logs/*.csv logs/2024-*.csv`` an error where what is meant is plain.
    """

    def __init__(self, given: Sequence[str | os.PathLike[str]], known: frozenset[str] = frozenset()) -> None:
        paths, self.repeated = _distinct([path for one in given for path in _paths(one)])
        kinds = [_kind(path) for path in paths]
        start = given[0].start if len(given) == 1 and isinstance(given[0], Tail) else 0
        if start and kinds != ["text"]:
            raise DataError(f"{paths[0].name} is not a plain CSV file, so its new rows cannot be found. Unpack it.")
        self.parts = [
            ParquetPart(path) if kind == "parquet" else CsvPart(path, packed=kind == "gzip", known=known, start=start)
            for path, kind in zip(paths, kinds, strict=True)
        ]

    @property
    def unverified(self) -> tuple[str, ...]:
        """The names of the files in which damage to a value may go unnoticed."""
        return tuple(part.name for part in self.parts if part.checksums is False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        for part in self.parts:
            if isinstance(error, InputError):
                part.check_whole()


class ParquetPart:
    """One Parquet file; its values keep their types."""

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, path.name
        with _Translated(self.name), self._open() as source:
            file = _parquet(source)
            self._names: list[str] = file.schema_arrow.names
            self.rows: int | None = file.metadata.num_rows
            self.checksums = _has_checksums(source, file.metadata)
        self.columns = [plain_name(name) for name in self._names]
        check_names(self.columns, self.name)

    def chunks(self, wanted: Sequence[int], size: int) -> Iterator[Sequence[Any]]:
        """Batches of the wanted columns, their types as in the file."""
        names = [self._names[column] for column in wanted]
        done = 0
        with _Translated(self.name), self._open() as source:
            batches = _parquet(source).iter_batches(size, columns=names)
            while (columns := self._next(batches, names)) is not None:
                done += len(columns[0])
                yield columns
        if done != self.rows:
            raise _damaged(self.name)

    def where(self, row: int, column: str | None = None, text: str | None = None) -> str:  # noqa: ARG002
        """The number of the row."""
        return f"{self.name}: Row {row + 1:,}"

    def check_whole(self) -> None:
        """Damage is noticed where it is read."""

    def _open(self) -> Any:
        """The file while it is read: there may be more files than can be open at once."""
        import pyarrow as pa

        return pa.OSFile(str(self._path))  # whatever its name looks like, a file on this machine

    def _next(self, batches: Iterator[Any], names: Sequence[str]) -> list[Any] | None:
        batch = next(batches, None)
        columns = None if batch is None else [batch.column(name) for name in names]
        for column in columns or ():
            _check_text(column)
        return columns


class _Translated:
    """Turns what pyarrow raises into an error of ours."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, MemoryError):
            raise TooLargeError(
                f"There is not enough memory to read {self._name}. Write it in smaller row groups."
            ) from None
        # pyarrow's errors are kinds of plain ones.
        if isinstance(error, (OSError, ValueError, RuntimeError, KeyError, NotImplementedError)):
            raise _damaged(self._name) from None


def _parquet(source: Any) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(source, buffer_size=BUFFER, page_checksum_verification=True)


def _damaged(name: str) -> DataError:
    return DataError(f"{name} is a damaged or incomplete Parquet file. Write or copy it again.")


def _check_text(column: Any) -> None:
    """Strings are taken from the file as they are; those that are not UTF-8 are found here."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_nested(kind):
        column.validate(full=True)


def _has_checksums(file: Any, metadata: Any) -> bool:
    """Whether the first data page of every column has a checksum.

    A page begins with a header in Thrift's compact protocol: type, size, compressed size and then, if it is there,
    the checksum.  Each is a byte 0x15, the next field being a 32-bit integer, and a number of seven bits a byte.
    """
    if not metadata.num_row_groups:
        return True
    group = metadata.row_group(0)
    for column in range(group.num_columns):
        file.seek(group.column(column).data_page_offset)
        header, at = file.read(32), 0
        for _ in range(3):
            at += 1
            while at < len(header) and header[at] & 0x80:
                at += 1
            at += 1
        if header[at : at + 1] != b"\x15":
            return False
    return True


def _paths(given: str | os.PathLike[str]) -> list[Path]:
    """The files that a path or a glob names, as absolute paths, which no program takes for an address."""
    text = os.fspath(given)
    if "\0" in text:
        raise DataError(f"{quoted(text)} is not a path.")
    if "://" in text and not os.path.exists(text):  # noqa: PTH110 - nor where it is too long
        raise DataError(f"{quoted(text)} is an address; only files on this machine are read. Download it first.")
    path = Path(text).expanduser()
    try:
        found = os.path.lexists(path)
    except (OSError, ValueError):
        found = False
    if not found and glob.has_magic(text):
        names = islice(glob.iglob(str(path), recursive=True), MOST_NAMES)  # noqa: PTH207 - Path.glob takes no absolute one
        matches = [Path(name) for name in sorted(names)]
        files = [_absolute(match) for match in matches if match.is_file()]
        if not files:
            raise DataError(f"No file matches {quoted(text)}.")
        if len(files) > MOST_FILES:
            raise TooLargeError(
                f"{len(files):,} files match {quoted(text)}; at most {MOST_FILES:,} are read at a time. Join them into "
                f"fewer files, or name them in several steps."
            )
        return files
    return [_absolute(path)]


def _distinct(paths: Sequence[Path]) -> tuple[list[Path], tuple[str, ...]]:
    """Each file once, whatever the names it goes by, and the names of those that came again."""
    found: dict[object, Path] = {}
    again: dict[str, None] = {}
    for path in paths:
        try:
            state = path.stat()
            key: object = (state.st_dev, state.st_ino) if state.st_ino else path
        except (OSError, ValueError):
            key = path  # an error that is told when it is opened
        if found.setdefault(key, path) is not path:
            again[path.name] = None
    return list(found.values()), tuple(again)


def _absolute(path: Path) -> Path:
    """Without links followed, so that messages keep the name that was given."""
    return Path(os.path.abspath(path))  # noqa: PTH100


def _kind(path: Path) -> str:
    """One of "parquet", "gzip" and "text", by how the file begins; an error for any other file."""
    begin, packed = _begin(path)
    if not packed and begin.startswith(PARQUET):
        return "parquet"
    what = foreign_bytes(begin)
    if what is not None:
        raise DataError(f"{path.name} is {what}")
    if begin.startswith(PARQUET):
        raise DataError(f"{path.name} is a Parquet file inside gzip. Unpack it.")
    if path.suffix.lower() in {".parquet", ".pq"}:
        raise DataError(f"{path.name} is not a Parquet file: it does not begin with PAR1. Write or copy it again.")
    return "gzip" if packed else "text"


def _begin(path: Path) -> tuple[bytes, bool]:
    """The first bytes of an ordinary file, unpacked, and whether it is packed."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise DataError(
                f"{quoted(path.name)} is a directory: expected a file. Name its files, such as "
                f"{quoted(path.name + '/*.csv')}."
            )
        if not stat.S_ISREG(mode):
            raise DataError(
                f"{quoted(path.name)} is not a regular file. Write the rows to a CSV or Parquet file first."
            )
        if is_guarded(path):  # to open it here would undo SQLite's locks
            raise DataError(f"{quoted(path.name)} is the database of a campaign. {EXPORT}.")
        with path.open("rb") as file:
            begin = file.read(16)
    except FileNotFoundError:
        raise DataError(f"There is no file {quoted(path)}.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a path"
        raise DataError(f"{quoted(path.name)} cannot be read: {reason}.") from None
    packed = begin.startswith(GZIP)
    return first_bytes(path, 16, packed=True) if packed else begin, packed


def foreign_bytes(begin: bytes) -> str | None:
    """What a file is that begins like this, and what to do about it; None if it may be text or Parquet."""
    for magic, what, advice in FOREIGN:
        if begin.startswith(magic):
            return f"{what}. {advice}."
    wide = len(begin) >= 4 and (not any(begin[0::2]) or not any(begin[1::2]))  # every second byte is 0
    return "text in UTF-16. Save it as UTF-8." if wide and any(begin) else None


# ------------------------------------------------------------------------------------------------------ files that grow

BLOCK = 1 << 20
TICK = 2.0
"""Seconds within which the clock of a file system, the coarsest, may not have moved."""


@dataclass(frozen=True)
class Tail(os.PathLike[str]):
    """What stands in a CSV file behind its first ``start`` bytes; the header still names its columns."""

    path: Path
    start: int

    def __fspath__(self) -> str:
        return os.fspath(self.path)


class Steady:
    """A file that must not change while it is read: ``with Steady(path) as file: ...``.

    ``marks``: sizes; ``prefixes`` says the hash of the first so many bytes, where there are more.
    """

    def __init__(self, path: Path, marks: Iterable[int] = ()) -> None:
        self._path, self._marks = path, sorted(set(marks))
        self.sha256, self.size = "", 0
        self.prefixes: dict[int, str] = {}

    def __enter__(self) -> Self:
        self._before = self._look()
        if self._before is None:
            return self  # whoever counts it says what it is
        self._began = time.time()
        self.size = self._before.st_size
        self.sha256 = self._hash()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """What was made of a file that changed is given up; a fault that was found in it is explained by that."""
        if self._before is None or (error is not None and not isinstance(error, InputError)):
            return
        after = self._look()
        same = after is not None and _identity(after) == _identity(self._before)
        if same and self._began - self._before.st_mtime < TICK:
            same = self._hash() == self.sha256
        if not same:
            now = "it is gone" if after is None else f"{after.st_size:,} now"
            raise DataError(
                f"{visible(self._path.name)} changed while it was read ({self.size:,} bytes at first, {now}). Nothing "
                f"was stored. Try again when nobody writes to it, or give a copy."
            ) from None

    def ends_a_line(self, size: int) -> bool:
        """Whether the first so many bytes are whole lines."""
        with self._path.open("rb") as file:
            file.seek(size - 1)
            around = file.read(2)
        return around[:1] in {b"\n", b"\r"} or around[1:] in {b"\n", b"\r"}

    def _look(self) -> os.stat_result | None:
        """The state of a regular file that may be opened; else None."""
        try:
            found = self._path.stat()
        except (OSError, ValueError):
            return None
        return found if stat.S_ISREG(found.st_mode) and not is_guarded(self._path) else None

    def _hash(self) -> str:
        """Of the bytes that there were at first; what is appended meanwhile is not read."""
        digest, left = sha256(), self.size
        stops = [mark for mark in self._marks if 0 < mark < self.size]
        try:
            with self._path.open("rb") as file:
                while left:
                    at = self.size - left
                    stop = next((mark for mark in stops if mark > at), self.size)
                    block = file.read(min(BLOCK, stop - at))
                    if not block:
                        return ""  # it was cut
                    digest.update(block)
                    left -= len(block)
                    if self.size - left == stop < self.size:
                        self.prefixes[stop] = digest.copy().hexdigest()
        except OSError as error:
            raise InputError(f"{quoted(self._path)} cannot be read: {error.strerror or error}.") from None
        return digest.hexdigest()


def _identity(found: os.stat_result) -> tuple[int, int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
