"""Tables of a database, as Ibis knows them: where a log is counted without its rows being brought here.

A `TablePart` is such a table as a part of a source.  Everything that is asked of a database goes through its `Engine`,
which keeps one snapshot for as long as a log is counted, turns what goes wrong into errors of ours, and tells a
`recorded` block what ran.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import parse_qsl, unquote, urlsplit

from whichdo.counting.sources import check_names, plain_name
from whichdo.errors import DataError, StorageError, UsageError, WhichdoError
from whichdo.text import listed, masked, quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Engine", "Ran", "TablePart", "is_warehouse_table", "recorded", "table_at"]

SAMPLE = 200_000
"""Rows that are brought here to propose values from; counting brings none."""
FEW_VALUES = 300
SETS_TOGETHER = frozenset({"duckdb", "postgres"})
"""Engines that count several scopes in one pass by GROUPING SETS."""
SHOWN_COLUMNS = 8


@dataclass(frozen=True)
class Ran:
    """One statement that a database ran."""

    engine: str
    sql: str
    seconds: float
    returned: int
    """Rows that came back."""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


_recording: ContextVar[list[Ran] | None] = ContextVar("whichdo_ran", default=None)


@contextmanager
def recorded() -> Iterator[list[Ran]]:
    """Collects every statement that a database runs for counting inside the block."""
    ran: list[Ran] = []
    outer = _recording.get()
    token = _recording.set(ran)
    try:
        yield ran
    finally:
        _recording.reset(token)
        if outer is not None:
            outer.extend(ran)


def is_warehouse_table(data: object) -> bool:
    """Whether this is a table expression of Ibis."""
    return type(data).__module__.split(".")[0] == "ibis" and hasattr(data, "get_backend") and hasattr(data, "schema")


def ibis() -> Any:
    """The library, or an error that says how to get it."""
    try:
        return import_module("ibis")
    except ImportError:
        raise UsageError(
            'Counting in a database needs Ibis, which is not installed: pip install "whichdo[warehouse]".'
        ) from None


class Engine:
    """The database of one table expression."""

    def __init__(self, table: Any) -> None:
        self._table = table
        with self._telling("reached"):
            self.backend = table.get_backend()
        self.name: str = self.backend.name
        self.together = self.name in SETS_TOGETHER
        """Whether it counts several scopes in one pass."""
        self._depth = 0

    @property
    def title(self) -> str:
        """The engine with its version, as far as it tells."""
        version = ""
        with suppress(Exception):
            version = str(self.backend.version)
        return f"{self.name} {version}".strip()

    def compile(self, expression: Any) -> str:
        """The SQL of an expression, in the engine's own dialect."""
        with self._telling("asked"):
            return str(self.backend.compile(expression))

    def fetch(self, expression: Any) -> list[tuple[Any, ...]]:
        """The rows of an expression."""
        if self.together:
            return self.run(self.compile(expression))
        began = time.perf_counter()
        with self._telling("asked"):
            sql = str(self.backend.compile(expression))
            found = self.backend.to_pyarrow(expression)
        columns = [column.to_pylist() for column in found.columns]
        rows = [*zip(*columns, strict=True)]
        self._note(sql, began, len(rows))
        return rows

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows that a statement returns; for the engines that count several scopes in one pass."""
        began = time.perf_counter()
        with self._telling("asked"):
            rows: list[tuple[Any, ...]] = self.backend.con.execute(sql).fetchall()
        self._note(sql, began, len(rows))
        return rows

    def arrow(self, expression: Any) -> Any:
        """The rows of an expression as an Arrow table."""
        began = time.perf_counter()
        with self._telling("read"):
            sql = str(self.backend.compile(expression))
            found = self.backend.to_pyarrow(expression)
        self._note(sql, began, found.num_rows)
        return found

    def _note(self, sql: str, began: float, returned: int) -> None:
        ran = _recording.get()
        if ran is not None:
            ran.append(Ran(self.title, sql, time.perf_counter() - began, returned))

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is asked inside sees the table as it was at the beginning, where the engine can do that.

        A transaction that is under way is the caller's, and serves.
        """
        self._depth += 1
        try:
            if self._depth > 1:
                yield
            elif self.name == "postgres":
                with self._postgres_snapshot():
                    yield
            elif self.name == "duckdb":
                with self._duckdb_snapshot():
                    yield
            else:
                yield
        finally:
            self._depth -= 1

    @contextmanager
    def _postgres_snapshot(self) -> Iterator[None]:
        from psycopg.pq import TransactionStatus

        connection = self.backend.con
        if connection.closed:
            self._fail("reached", "the connection is closed")
        if connection.info.transaction_status != TransactionStatus.IDLE:
            yield
            return
        with self._telling("asked"), connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield

    @contextmanager
    def _duckdb_snapshot(self) -> Iterator[None]:
        import duckdb

        with self._telling("reached"):
            # What Ibis makes known to the engine before it asks, such as tables in memory, is made known here.
            self.backend.to_pyarrow(self._table.limit(0))
        connection = self.backend.con
        first, second = (connection.execute("SELECT txid_current()").fetchall() for _ in range(2))
        if first == second:  # a transaction is under way; to begin another would end it
            yield
            return
        connection.execute("BEGIN TRANSACTION")
        try:
            yield
        finally:
            with suppress(duckdb.Error):  # nothing was written
                connection.execute("ROLLBACK")

    @contextmanager
    def _telling(self, verb: str) -> Iterator[None]:
        """What a database, its driver or Ibis raises is an error of ours."""
        try:
            yield
        except WhichdoError:
            raise
        except Exception as error:  # noqa: BLE001 - every driver has a tree of its own
            self._fail(verb, _first_line(error), error)

    def _fail(self, verb: str, why: str, error: Exception | None = None) -> NoReturn:
        what = title_of(self._table)
        kind = "" if error is None else type(error).__name__
        advice = ADVICE.get(kind, "")
        raise StorageError(f"{what} cannot be {verb}: {masked(visible(why))}.{advice} Nothing was stored.") from None


ADVICE = {
    "QueryCanceled": " Raise the time limit of the database, or count fewer rows.",
    "InsufficientPrivilege": " Reading the table is enough: ask for SELECT on it.",
    "OperationalError": " Is the database still up? Try again.",
    "AdminShutdown": " Is the database still up? Try again.",
    "IOException": " Is another process writing to the file? A connection that only reads is enough.",
}


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".")[:300]


def title_of(table: Any) -> str:
    """What a table is called in messages."""
    name = own_name(table)
    return "The query" if name is None else f"Table {quoted(name)}"


def own_name(table: Any) -> str | None:
    """The name of a table, or of the one of which these are some rows; None of any other query."""
    name = getattr(table.op(), "name", None)
    if name is None and isinstance(query := getattr(table.op(), "query", None), str):
        name = next((each.name for each in _tables_in(query, table)), None)
    return name if isinstance(name, str) else None


def _tables_in(query: str, table: Any) -> Iterator[Any]:
    import sqlglot

    with suppress(sqlglot.errors.SqlglotError):
        yield from sqlglot.parse_one(query, read=table.get_backend().dialect).find_all(sqlglot.exp.Table)


class TablePart:
    """A table of a database, or any table expression of Ibis, as a part of a source."""

    absent = "put NULL in its place"

    def __init__(self, table: Any) -> None:
        self.table = table
        self.engine = Engine(table)
        names = list(table.columns)
        self.columns = [plain_name(name) for name in names]
        self.title = own_name(table) or "query"
        self.name = title_of(table)
        check_names(self.columns, self.name)
        self.own = dict(zip(self.columns, names, strict=True))
        """What the database calls each column."""
        self.example: dict[str, Any] = {}
        """A row that is spoken of."""

    @cached_property
    def rows(self) -> int:
        """How many there are."""
        return int(self.engine.fetch(self.table.aggregate(rows=self.table.count()))[0][0])

    def column(self, name: str) -> Any:
        """The expression of a column."""
        return self.table[self.own[name]]

    def chunks(self, wanted: Sequence[int], size: int) -> Iterator[Sequence[Any]]:  # noqa: ARG002
        """Refuse: rows stay where they are."""
        raise UsageError(
            f"{self.name} is in a database, and this reads row by row. Give its rows, as with table.to_pyarrow(), or "
            f"a sample of them."
        )

    def sample(self, wanted: Sequence[int]) -> Iterator[Sequence[Any]]:
        """Some rows, all where there are few; then for each column the values that the sample lacks, if these are few,
        and its least and greatest number.
        """
        import pyarrow as pa

        names = [self.columns[place] for place in wanted]
        chosen = self.table.select(**{f"c{j}": self.column(name) for j, name in enumerate(names)})
        if self.rows > SAMPLE:
            seed = 0 if self.engine.name == "duckdb" else None  # others cannot be told where to begin
            chosen = chosen.sample(SAMPLE / self.rows, seed=seed)
        found = self.engine.arrow(chosen)
        yield [column.combine_chunks() for column in found.columns]
        if self.rows > SAMPLE:
            yield [
                pa.array(self._lacking(name, set(column.unique().to_pylist())), column.type)
                for name, column in zip(names, found.columns, strict=True)
            ]

    def _lacking(self, name: str, known: set[Any]) -> list[Any]:
        column = self.column(name)
        if len(known) > FEW_VALUES:
            if not column.type().is_numeric():
                return []
            values = self.engine.fetch(self.table.aggregate(low=column.min(), high=column.max()))[0]
        else:
            values = tuple(
                row[0] for row in self.engine.fetch(self.table.select(v=column).distinct().limit(FEW_VALUES))
            )
        return [value for value in values if value is not None and value not in known]

    def where(self, row: int, column: str | None = None, text: str | None = None) -> str:  # noqa: ARG002
        """The row that was found, by some of its values."""
        if not self.example:
            return self.name
        shown = list(self.example.items())[:SHOWN_COLUMNS]
        values = listed((f"{visible(name)} {_shown(value)}" for name, value in shown), most=SHOWN_COLUMNS)
        return f"{self.name}, a row with {values}"


def _shown(value: Any) -> str:
    return "NULL" if value is None else quoted(value) if isinstance(value, str) else visible(str(value))[:40]


SCHEMES = re.compile(r"[a-z][a-z0-9+]*://", re.ASCII)


def is_address(text: str) -> bool:
    """Whether a text is the address of a database rather than the path of a file."""
    return SCHEMES.match(text) is not None


def table_at(address: str, table: str, where: str | None = None) -> Any:
    """A table of the database at an address, such as ``postgresql://me@host/shop`` or ``duckdb:///shop.db``.

    ``table`` may say its schema, as in ``sales.visits``.  ``where`` is a condition in the database's own SQL.
    """
    backend = _connected(address)
    try:
        found = _found_table(backend, table)
    except WhichdoError:
        raise
    except Exception as error:  # noqa: BLE001 - every driver has a tree of its own
        names = _names(backend)
        there = f" Its tables are {listed(map(quoted, names), most=12)}." if names else ""
        why = "" if type(error).__name__ == "TableNotFound" else f" ({masked(visible(_first_line(error)))})"
        raise DataError(f"{masked(address)} has no table {quoted(table)}{why}.{there}") from None
    return found if where is None else _filtered(found, where)


def _connected(address: str) -> Any:
    library = ibis()
    try:
        scheme = urlsplit(address).scheme
        if scheme in {"postgres", "postgresql"}:
            return library.postgres.connect(**_postgres_settings(address))
        if scheme == "duckdb":
            path = unquote(address.partition("://")[2].partition("?")[0])
            path = path.removeprefix("/")
            if not path or path == ":memory:":
                raise UsageError(f"{quoted(address)} names no file: duckdb:///visits.db, or duckdb:////data/visits.db.")
            return library.duckdb.connect(path, read_only=True)
        return library.connect(address)
    except WhichdoError:
        raise
    except Exception as error:  # noqa: BLE001 - every driver has a tree of its own
        why = _without_password(visible(_first_line(error)), address)
        raise StorageError(f"{masked(address)} cannot be reached: {why}.") from None


def _postgres_settings(address: str) -> dict[str, Any]:
    """What the driver is told: the parts of the address, which the library alone would read only in part."""
    parts = urlsplit(address)
    database, _, schema = parts.path.lstrip("/").partition("/")
    named: Mapping[str, Any] = {
        "host": parts.hostname,
        "port": parts.port,
        "user": parts.username and unquote(parts.username),
        "password": parts.password and unquote(parts.password),
        "database": unquote(database) or None,
        "schema": unquote(schema) or None,
    }
    return {"connect_timeout": 10} | {k: v for k, v in named.items() if v} | dict(parse_qsl(parts.query))


def _without_password(text: str, address: str) -> str:
    password = urlsplit(address).password
    text = masked(text)
    for secret in {password, password and unquote(password)} - {None, ""}:
        text = text.replace(str(secret), "***")
    return text


def _found_table(backend: Any, name: str) -> Any:
    """A table by its name; where there is none of the whole name, what stands before a dot is its schema."""
    if "." in name and name not in _names(backend):
        schema, _, own = name.rpartition(".")
        return backend.table(own, database=schema)
    return backend.table(name)


def _names(backend: Any) -> list[str]:
    with suppress(Exception):
        if backend.name in SETS_TOGETHER:
            listing = backend.con.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema NOT IN ("
                "'pg_catalog', 'information_schema')"
            )
            return sorted({str(row[0]) for row in listing.fetchall()})
        return sorted(backend.list_tables())
    return []


def _filtered(table: Any, where: str) -> Any:
    """The rows that a condition keeps.  It is parsed as one expression, so it can neither end the statement nor hide
    the rest of it.
    """
    import sqlglot

    backend = table.get_backend()
    try:
        statements = sqlglot.parse(where, read=backend.dialect)
        parsed = sqlglot.parse_one(where, read=backend.dialect, into=sqlglot.exp.Condition)
    except sqlglot.errors.SqlglotError as error:
        why = re.sub(r"\x1b\[[0-9]*m", "", _first_line(error))
        raise UsageError(f"The condition {quoted(where)} is no SQL that can be read: {visible(why)}.") from None
    if len(statements) != 1 or not isinstance(parsed, sqlglot.exp.Condition):
        raise UsageError(f"The condition {quoted(where)} must be one expression of SQL, as in day >= '2026-01-01'.")
    whole = sqlglot.parse_one(backend.compile(table), read=backend.dialect, into=sqlglot.exp.Select)
    whole = whole.where(parsed, dialect=backend.dialect)
    # The names and types are known: without them the library would make a view to learn them.
    return backend.sql(whole.sql(dialect=backend.dialect), schema=table.schema())
