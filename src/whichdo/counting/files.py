"""CSV and Parquet files through DuckDB, as a stream of Arrow batches.

DuckDB sees only the files that were named, no network and no extension; a path is never part of a query.
"""

from __future__ import annotations

import glob
import os
import stat
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from whichdo.counting.csv_text import (
    LONGEST_LINE,
    check_dividers,
    count_dividers,
    diagnose,
    line_of,
    open_bytes,
    read_header,
)
from whichdo.counting.foreign import GZIP, PARQUET, foreign_bytes
from whichdo.counting.sources import check_names, plain_name
from whichdo.errors import DataError, InputError, TooLarge, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Files"]

MEMORY = "768MB"
THREADS = 2
VECTOR = 2048  # rows DuckDB works on at a time, the least that a batch is worth


class Files:
    """The files that a path, a glob or a list of these names, with the one connection that reads them.

    A file that is named twice, by globs that overlap or through a link, is counted once and listed in ``repeated``.
    Counting it twice would make every interval too narrow, and nobody names a file twice for that; refusing it would
    make ``logs/*.csv logs/2024-*.csv`` an error where what is meant is plain.
    """

    def __init__(self, given: Sequence[str | os.PathLike[str]], known: frozenset[str] = frozenset()) -> None:
        paths, self.repeated = _distinct([path for one in given for path in _paths(one)])
        kinds = [_kind(path) for path in paths]
        self._connection = _connect(paths)
        try:
            self.parts = [
                ParquetPart(path, self._connection) if kind == "parquet"
                else CsvPart(path, self._connection, packed=kind == "gzip", known=known)
                for path, kind in zip(paths, kinds, strict=True)
            ]  # fmt: skip
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()


class ParquetPart:
    """One Parquet file; its values keep their types."""

    def __init__(self, path: Path, connection: Any) -> None:
        self._path, self._connection = path, connection
        self.name = path.name
        with _Translated(self._damaged):
            described = connection.sql(
                "DESCRIBE SELECT * FROM read_parquet(?, hive_partitioning=false)", params=[_literal(path)]
            )
            self._internal = [row[0] for row in described.fetchall()]
            schema = connection.sql(
                "SELECT name, num_children FROM parquet_schema(?)", params=[_literal(path)]
            ).fetchall()
            rows = connection.sql("SELECT num_rows FROM parquet_file_metadata(?)", params=[_literal(path)]).fetchall()
        # DuckDB renames columns that differ in case only, so the names come from the file.
        self.columns = [plain_name(name) for name in _top_level(schema)]
        self.rows: int | None = int(rows[0][0])
        if len(self.columns) != len(self._internal):
            raise self._damaged()
        check_names(self.columns, self.name)

    def chunks(self, wanted: Sequence[int], size: int) -> Iterator[Sequence[Any]]:
        """Batches of the wanted columns, their types as in the file."""
        columns = ", ".join(f"{_identifier(self._internal[j])} AS c{j}" for j in wanted)
        query = f"SELECT {columns} FROM read_parquet(?, hive_partitioning=false)"  # noqa: S608 - names quoted
        done = 0
        for columns_now in _stream(self._connection, query, [_literal(self._path)], size, self._damaged):
            done += len(columns_now[0])
            yield columns_now
        if done != self.rows:
            raise self._damaged()

    def where(self, row: int, column: str | None = None, text: str | None = None) -> str:  # noqa: ARG002
        """The number of the row."""
        return f"{self.name}: Row {row + 1:,}"

    def _damaged(self) -> DataError:
        return DataError(f"{self.name} is a damaged or incomplete Parquet file. Write or copy it again.")


class CsvPart:
    """One CSV file, all of it text, so that what "01" or "NA" means is judged here."""

    rows = None

    def __init__(self, path: Path, connection: Any, *, packed: bool, known: frozenset[str]) -> None:
        self._path, self._connection, self._packed = path, connection, packed
        self.name = path.name
        try:
            self._header = read_header(path, packed=packed, known=known)
        except (InputError, EOFError, OSError, zlib.error):
            if packed:  # damage explains more than what it does to the first row
                count_dividers(path, packed=True, delimiter=",")
            raise
        self.columns = self._header.names
        self._dividers = self._count_dividers() if packed else None

    def chunks(self, wanted: Sequence[int], size: int) -> Iterator[Sequence[Any]]:
        """Batches of the wanted columns as texts; an empty field is missing."""
        columns = ", ".join(f"c{j}: 'VARCHAR'" for j in range(len(self.columns)))
        query = (  # of numbers alone: the path is a parameter
            f"SELECT {', '.join(f'c{j}' for j in wanted)} FROM read_csv(?, columns={{{columns}}}, auto_detect=false, "  # noqa: S608
            f"header=true, delim=?, quote='\"', escape='\"', nullstr='', strict_mode=true, null_padding=false, "
            f"ignore_errors=false, hive_partitioning=false, max_line_size={LONGEST_LINE}, compression=?)"
        )
        parameters = [_literal(self._path), self._header.delimiter, "gzip" if self._packed else "none"]
        rows = 0
        for batch in _stream(self._connection, query, parameters, size, self._diagnosis):
            rows += len(batch[0])
            yield batch
        found = self._count_dividers() if self._dividers is None else self._dividers
        check_dividers(self._path, packed=self._packed, header=self._header, rows=rows, found=found)

    def _count_dividers(self) -> int:
        return count_dividers(self._path, packed=self._packed, delimiter=self._header.delimiter)

    def where(self, row: int, column: str | None = None, text: str | None = None) -> str:
        """The number of the data row, which does not count the header, and the line of the file."""
        position = self.columns.index(column) if column is not None else 0
        line = line_of(self._path, packed=self._packed, header=self._header, row=row, column=position, text=text)
        return f"{self.name}{'' if line is None else f', line {line:,}'}: Row {row + 1:,}"

    def _diagnosis(self) -> InputError:
        return diagnose(self._path, packed=self._packed, header=self._header)


class _Translated:
    """Turns what DuckDB and Arrow raise into an error of ours."""

    def __init__(self, otherwise: Callable[[], InputError]) -> None:
        self._otherwise = otherwise

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import duckdb

        if isinstance(error, (duckdb.OutOfMemoryException, MemoryError)):
            raise TooLarge(f"Reading took more than {MEMORY} of memory. Use Parquet with smaller row groups.") from None
        # Arrow reports what went wrong in DuckDB's stream as its own errors, some of which are plain ones.
        if isinstance(error, (duckdb.Error, OSError, ValueError, RuntimeError)):
            raise self._otherwise() from None


def _stream(
    connection: Any, query: str, parameters: list[str], size: int, otherwise: Callable[[], InputError]
) -> Iterator[Sequence[Any]]:
    """The result of a query in chunks, in the order of the file."""
    with _Translated(otherwise):
        reader = connection.sql(query, params=parameters).to_arrow_reader(max(size, VECTOR))
    while True:
        with _Translated(otherwise):
            batch = next(reader, None)
        if batch is None:
            return
        for first in range(0, batch.num_rows, size):
            yield batch.slice(first, size).columns


def _connect(paths: Sequence[Path]) -> Any:
    """A DuckDB that can read these files and do nothing else."""
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": THREADS, "memory_limit": MEMORY})
    names = {name for path in paths for name in (str(path), _literal(path))}
    allowed = ", ".join("'" + name.replace("'", "''") + "'" for name in sorted(names))
    for setting in (
        "autoinstall_known_extensions = false", "autoload_known_extensions = false",
        "allow_community_extensions = false", "enable_progress_bar = false", "python_enable_replacements = false",
        f"allowed_paths = [{allowed}]", "enable_external_access = false", "lock_configuration = true",
    ):  # fmt: skip
        connection.execute(f"SET {setting}")
    return connection


def _paths(given: str | os.PathLike[str]) -> list[Path]:
    """The files that a path or a glob names, as absolute paths, which no program takes for an address."""
    text = os.fspath(given)
    if "\0" in text:
        raise DataError(f"{quoted(text)} is no path.")
    if "://" in text and not Path(text).exists():
        raise DataError(f"{quoted(text)} is an address; only files on this machine are read. Download it first.")
    path = Path(text).expanduser()
    try:
        found = os.path.lexists(path)
    except (OSError, ValueError):
        found = False
    if not found and glob.has_magic(text):
        matches = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207 - Path.glob takes no absolute one
        files = [_absolute(match) for match in matches if match.is_file()]
        if not files:
            raise DataError(f"No file matches {quoted(text)}.")
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


def _literal(path: Path) -> str:
    """A path in which DuckDB sees no pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))


def _absolute(path: Path) -> Path:
    """Without links followed, so that messages keep the name that was given."""
    return Path(os.path.abspath(path))  # noqa: PTH100


def _kind(path: Path) -> str:
    """One of "parquet", "gzip" and "text", by how the file begins; an error for what is none of these."""
    begin, packed = _begin(path)
    if not packed and begin.startswith(PARQUET):
        return "parquet"
    what = foreign_bytes(begin)
    if what is not None:
        raise DataError(f"{path.name} is {what}")
    if begin.startswith(PARQUET):
        raise DataError(f"{path.name} is a Parquet file inside gzip. Unpack it.")
    if path.suffix.lower() in {".parquet", ".pq"}:
        raise DataError(f"{path.name} is no Parquet file: it does not begin with PAR1. Write or copy it again.")
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
            raise DataError(f"{quoted(path.name)} is no ordinary file. Write the rows to a CSV or Parquet file first.")
        with path.open("rb") as file:
            begin = file.read(16)
    except FileNotFoundError:
        raise DataError(f"There is no file {quoted(path)}.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no path"
        raise DataError(f"{quoted(path.name)} cannot be read: {reason}.") from None
    packed = begin.startswith(GZIP)
    return _unpacked_begin(path) if packed else begin, packed


def _unpacked_begin(path: Path) -> bytes:
    try:
        with open_bytes(path, packed=True) as file:
            return file.read(16)
    except (EOFError, OSError, ValueError, zlib.error):
        return b""


def _top_level(schema: Sequence[tuple[str, int | None]]) -> list[str]:
    """The names of the columns: the children of the root, without what is nested in them."""
    names: list[str] = []
    skip = 0
    for name, children in schema[1:]:
        if skip:
            skip += (children or 0) - 1
            continue
        names.append(name)
        skip = children or 0
    return names


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
