"""Databases that hold a log, and random logs to put into them."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from datetime import date, timedelta
from functools import cache
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import whichdo as wd
from whichdo.graph.admg import CausalGraph

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

POSTGRES = {
    "bool": "boolean",
    "int8": "smallint",
    "int16": "smallint",
    "int32": "integer",
    "int64": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "date32[day]": "date",
    "timestamp[us]": "timestamp",
}


def quoted(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def into_duckdb(backend: Any, name: str, rows: pa.Table) -> Any:
    """Put rows into a table of DuckDB."""
    backend.con.register("rows_to_load", rows)
    backend.con.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM rows_to_load")
    backend.con.unregister("rows_to_load")
    return backend.table(name)


def into_postgres(backend: Any, name: str, rows: pa.Table) -> Any:
    """Put rows into a table of PostgreSQL."""
    columns = ", ".join(f"{quoted(field.name)} {POSTGRES[str(field.type)]}" for field in rows.schema)
    backend.con.execute(f"CREATE TABLE {quoted(name)} ({columns})")
    with backend.con.cursor() as cursor, cursor.copy(f"COPY {quoted(name)} FROM STDIN") as copy:
        for row in rows.to_pylist():
            copy.write_row(list(row.values()))
    return backend.table(name)


@cache
def spark_session() -> Any:
    """A session of Spark on this machine, for the whole run: small tables want one partition and fixed plans."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        # Java compiles for speed what runs for long; here nothing does.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": mkdtemp(prefix="whichdo-spark-"),
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def into_spark(backend: Any, folder: Path, name: str, rows: pa.Table) -> Any:
    """Put rows into a Parquet file that Spark reads; a name that a view cannot have is left out."""
    path = folder / f"{len([*folder.iterdir()])}.parquet"
    view = name if name.isascii() and name.isidentifier() else "rows"
    pq.write_table(rows, path)
    spark_session().read.parquet(str(path)).createOrReplaceTempView(view)
    return backend.table(view)


class Wire:
    """A proxy before a server of PostgreSQL, which counts the bytes that cross it in both directions."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._server = (parts.hostname, parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = address.replace(f":{parts.port}/", f":{self._listener.getsockname()[1]}/")
        self.bytes = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError), source, target:
            while read := source.recv(1 << 16):
                self.bytes += len(read)
                target.sendall(read)


class Drawn(NamedTuple):
    """A problem, a log of it, and how it is to be counted."""

    problem: wd.Problem
    rows: pa.Table
    options: dict[str, Any]


def drawn(seed: int, rows: int = 400) -> Drawn:
    """A random problem with a random log: every kind of column, of gap, of weight."""
    random = np.random.default_rng(seed)
    nodes = [f"V{j}" for j in range(random.integers(3, 7))]
    edges = [*nodes, *(f"{a} -> {b}" for j, b in enumerate(nodes) for a in nodes[:j] if random.random() < 0.6)]
    edges.append(f"{nodes[0]} -> {nodes[-1]}")
    edges += [f"{a} <-> {b}" for j, b in enumerate(nodes[:-1]) for a in nodes[:j] if random.random() < 0.15]
    reward = nodes[-1]
    columns: dict[str, pa.Array] = {}
    settings: dict[str, Any] = {"domains": {}, "groups": {}}
    for name in nodes[:-1]:
        domain, groups, column = random.choice(KINDS)(random, rows)  # type: ignore[arg-type]
        if domain is not None:
            settings["domains"][name] = domain
        if groups is not None:
            settings["groups"][name] = groups
        columns[name] = column
    numeric = random.random() < 0.4
    if numeric:
        settings["reward_range"] = (-1.0, 3.0)
        columns[reward] = pa.array(np.round(random.uniform(-1, 3, rows), 2))
    else:
        columns[reward] = pa.array(random.integers(0, 2, rows))
    options: dict[str, Any] = {"missing": str(random.choice(["error", "drop", "level"]))}
    problem = wd.Problem(CausalGraph.parse("; ".join(edges)), reward, **settings)
    if random.random() < 0.25:
        options["arm"] = "what was done"
        columns = _with_arms(problem, columns, random, rows)
    if random.random() < 0.7 and options["missing"] != "error":
        for name in nodes:
            if random.random() < 0.4:
                columns[name] = _with_gaps(columns[name], random)
    extra = random.random()
    if extra < 0.3:
        options["counts"] = "times"
        columns["times"] = pa.array(random.integers(0, 5, rows), random.choice([pa.int64(), pa.float64()]))
    elif extra < 0.6:
        options["weights"] = "weigh;t"
        columns["weigh;t"] = pa.array(np.round(random.uniform(0, 3, rows), 3))
    columns["nobody's"] = pa.array(random.integers(0, 9, rows))
    return Drawn(problem, pa.table(columns), options)


def _with_arms(problem: wd.Problem, columns: dict[str, pa.Array], random: Any, rows: int) -> dict[str, pa.Array]:
    """Some rows say what was done, and have the values that were set."""
    picked = random.integers(0, len(problem.arms), rows)
    said = [None if random.random() < 0.5 else problem.arms[place] for place in picked]
    lists = {name: column.to_pylist() for name, column in columns.items()}
    for row, arm in enumerate(said):
        for name, value in {}.items() if arm is None else arm.settings.items():
            lists[name][row] = _raw(problem, name, value, columns[name])
    made = {name: pa.array(values, columns[name].type) for name, values in lists.items()}
    texts = [
        None if arm is None else str(arm).replace("(", "( ") if row % 3 else str(arm) for row, arm in enumerate(said)
    ]
    return made | {"what was done": pa.array(texts, pa.string())}


def _raw(problem: wd.Problem, name: str, value: Any, column: pa.Array) -> Any:
    """A value as its column holds it."""
    from whichdo.counting.books import book_of

    book, wanted = book_of(problem, name), problem.domains[name].index(value)
    return next((each for each in column.to_pylist() if each is not None and book.code(each) == wanted), None)


def _with_gaps(column: pa.Array, random: Any) -> pa.Array:
    keep = random.random(len(column)) > 0.05
    return pa.array(
        [value if kept else None for value, kept in zip(column.to_pylist(), keep, strict=True)], column.type
    )


def _binary(random: Any, rows: int) -> Any:
    return None, None, pa.array(random.integers(0, 2, rows), random.choice([pa.int64(), pa.int16(), pa.float64()]))


def _boolean(random: Any, rows: int) -> Any:
    return None, None, pa.array(random.random(rows) < 0.4)


def _texts_of_numbers(random: Any, rows: int) -> Any:
    return (0, 1, 2.5), None, pa.array(random.choice(["0", "1", "1.0", "2.5", "25e-1"], rows).tolist())


def _odd_texts(random: Any, rows: int) -> Any:
    values = ("it's", 'a "b"', "c;--", "DROP", "größe", "NA")
    return values, None, pa.array(random.choice(values, rows).tolist())


def _grouped(random: Any, rows: int) -> Any:
    return (
        ("low", "high"),
        {"high": ("higher", "highest")},
        pa.array(random.choice(["low", "high", "higher", "highest"], rows).tolist()),
    )


def _whole(random: Any, rows: int) -> Any:
    return (3, -1, 7, 20), None, pa.array(random.choice([3, -1, 7, 20], rows))


def _small_floats(random: Any, rows: int) -> Any:
    return (0.1, 0.2, 3), None, pa.array(random.choice([0.1, 0.2, 3], rows), pa.float32())


def _binned(random: Any, rows: int) -> Any:
    kind = random.choice([pa.float64(), pa.int32(), pa.string()])
    numbers = random.integers(-5, 60, rows)
    values = [str(number) for number in numbers] if kind == pa.string() else numbers
    return wd.Bins((0, 10.5, 40)), None, pa.array(values, kind)


def _days(random: Any, rows: int) -> Any:
    days = [date(2026, 1, 1) + timedelta(days=j) for j in range(3)]
    picked = [days[j] for j in random.integers(0, 3, rows)]
    return (
        tuple(map(str, days)),
        None,
        pa.array(picked, pa.date32()).cast(random.choice([pa.date32(), pa.timestamp("us")])),
    )


KINDS: list[Callable[[Any, int], Any]] = [
    _binary, _binary, _boolean, _texts_of_numbers, _odd_texts, _grouped, _whole, _small_floats, _binned, _days,
]  # fmt: skip
