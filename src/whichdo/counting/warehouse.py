"""Tables of a database, as Ibis knows them: where a log is counted without its rows being brought here.

A `TablePart` is such a table as a part of a source.  Everything that is asked of a database goes through its `Engine`,
which keeps one snapshot for as long as a log is counted, turns what goes wrong into errors of ours, and tells a
`recorded` block what ran.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from whichdo.counting.parts import check_names, plain_name
from whichdo.errors import StorageError, UsageError, WhichdoError
from whichdo.text import listed, masked, quoted, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


SAMPLE = 200_000
"""Rows that are brought here to propose values from; counting brings none."""
FEW_VALUES = 300
SETS_TOGETHER = frozenset({"duckdb", "postgres"})
"""Engines that count several scopes in one pass by GROUPING SETS.  Spark could, but with many scopes a union of GROUP
BYs is cheaper there: GROUPING SETS copy every row for each of them before any is counted.
"""
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


def _rows_of_cursor(backend: Any, sql: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = backend.con.execute(sql).fetchall()
    return found


def _rows_of_spark(backend: Any, sql: str) -> list[tuple[Any, ...]]:
    return _rows_of_arrow(_arrow_of_spark(backend, sql))


def _arrow_of_spark(backend: Any, sql: str) -> Any:
    found = backend.raw_sql(sql)
    if not hasattr(found, "toArrow"):
        raise UsageError(f"Counting in Spark needs pyspark 4.0 or later; this is {backend.version}.")
    return found.toArrow()


def _rows_of_arrow(found: Any) -> list[tuple[Any, ...]]:
    return [*zip(*(column.to_pylist() for column in found.columns), strict=True)]


RUNS: dict[str, Callable[[Any, str], list[tuple[Any, ...]]]] = {
    "duckdb": _rows_of_cursor,
    "postgres": _rows_of_cursor,
    "pyspark": _rows_of_spark,
}
"""How a statement is run where the library's own way is a detour: it reads what Spark returns by way of pandas, where
whole numbers beside NULL become floating ones.
"""


class Engine:
    """The database of one table expression."""

    def __init__(self, table: Any) -> None:
        self._table = table
        with self._telling("reached"):
            self.backend = table.get_backend()
        self.name: str = self.backend.name
        self.together = self.name in SETS_TOGETHER
        """Whether it counts several scopes in one pass."""
        self.runs_text = self.name in RUNS
        """Whether it runs statements that are not expressions of Ibis."""
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
        return self.run(self.compile(expression)) if self.runs_text else _rows_of_arrow(self.arrow(expression))

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows that a statement returns, where the engine `runs_text`."""
        began = time.perf_counter()
        with self._telling("asked"):
            rows = RUNS[self.name](self.backend, sql)
        self._note(sql, began, len(rows))
        return rows

    def arrow(self, expression: Any) -> Any:
        """The rows of an expression as an Arrow table."""
        began = time.perf_counter()
        with self._telling("read"):
            sql = str(self.backend.compile(expression))
            in_spark = self.name == "pyspark"
            found = _arrow_of_spark(self.backend, sql) if in_spark else self.backend.to_pyarrow(expression)
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
            self._fail(verb, first_line(error), error)

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


def first_line(error: Exception) -> str:
    """What an error of a database says, without a trace."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):  # the bridge to Java, not the reason
        causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
        lines = causes[-1:] or [lines[1].removeprefix(": ")]
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
