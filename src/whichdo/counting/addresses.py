"""Addresses of databases, such as ``postgresql://me@host/shop`` or ``duckdb:///shop.db``, and the tables there."""

from __future__ import annotations

import re
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from whichdo.counting.warehouse import SETS_TOGETHER, first_line, ibis
from whichdo.errors import DataError, StorageError, UsageError, WhichdoError
from whichdo.text import listed, masked, quoted, visible

if TYPE_CHECKING:
    from collections.abc import Mapping


SCHEMES = re.compile(r"[a-z][a-z0-9+]*://", re.ASCII)


def is_address(text: str) -> bool:
    """Whether a string is the address of a database rather than the path of a file."""
    return SCHEMES.match(text) is not None


def table_at(address: str, table: str, where: str | None = None) -> Any:
    """A table of the database at an address, such as ``postgresql://me@host/shop`` or ``duckdb:///shop.db``.

    ``table`` may say its schema, as in ``sales.visits``.  ``where`` is a condition in the database's own SQL.
    """
    backend = _connect(address)
    try:
        found = _found_table(backend, table)
    except WhichdoError:
        raise
    except Exception as error:  # noqa: BLE001 - every driver has a tree of its own
        names = _names(backend)
        there = f" Its tables are {listed(map(quoted, names), most=12)}." if names else ""
        why = "" if type(error).__name__ == "TableNotFound" else f" ({masked(visible(first_line(error)))})"
        raise DataError(f"{masked(address)} has no table {quoted(table)}{why}.{there}") from None
    return found if where is None else _filter(found, where)


def _connect(address: str) -> Any:
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
        if scheme == "pyspark":
            session = _spark_session(address)  # first: without Spark the library has no such attribute
            return library.pyspark.connect(session)
        return library.connect(address)
    except WhichdoError:
        raise
    except Exception as error:  # noqa: BLE001 - every driver has a tree of its own
        why = _without_password(visible(first_line(error)), address)
        raise StorageError(f"{masked(address)} cannot be reached: {why}.") from None


def _spark_session(address: str) -> Any:
    """The session of Spark that is running, or a new one: as Spark is configured here, with the settings behind the
    question mark.
    """
    parts = urlsplit(address)
    if parts.netloc or parts.path.strip("/"):
        raise UsageError(
            f"{masked(address)}: what Spark runs on is a setting, as in "
            f'"pyspark://?spark.remote=sc://host:15002" or "pyspark://?spark.master=local[4]".'
        )
    try:
        session: Any = import_module("pyspark.sql").SparkSession
    except ImportError:
        raise UsageError(
            'Counting in Spark needs pyspark, which is not installed: pip install "whichdo[spark]". It also needs a '
            "Java runtime (on Debian: apt install default-jre-headless)."
        ) from None
    builder = session.builder
    for name, value in (QUIET | dict(parse_qsl(parts.query))).items():
        builder = builder.config(name, value)
    with suppress(ImportError):  # what our errors say, Spark would also log, with traces of Java
        for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
            import_module("pyspark.logger").PySparkLogger.getLogger(name).setLevel("CRITICAL")
    try:
        return builder.getOrCreate()
    except Exception as error:  # noqa: BLE001 - Java's errors come in many kinds
        why = first_line(error)
        java = " Is a Java runtime installed (on Debian: apt install default-jre-headless)?" * ("JAVA" in why)
        raise StorageError(f"{masked(address)} cannot be reached: {masked(visible(why))}.{java}") from None


QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
"""Settings of a new session of Spark: a command that counts and ends shows its answer alone."""


def _postgres_settings(address: str) -> dict[str, Any]:
    """What the driver receives: the parts of the address, which the library alone would read only in part."""
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


def _filter(table: Any, where: str) -> Any:
    """The rows that a condition keeps.  It is parsed as one expression, so it can neither end the statement nor hide
    the rest of it.
    """
    import sqlglot

    backend = table.get_backend()
    try:
        statements = sqlglot.parse(where, read=backend.dialect)
        parsed = sqlglot.parse_one(where, read=backend.dialect, into=sqlglot.exp.Condition)
    except sqlglot.errors.SqlglotError as error:
        why = re.sub(r"\x1b\[[0-9]*m", "", first_line(error))
        raise UsageError(f"The condition {quoted(where)} is not valid SQL: {visible(why)}.") from None
    if len(statements) != 1 or not isinstance(parsed, sqlglot.exp.Condition):
        raise UsageError(f"The condition {quoted(where)} must be one expression of SQL, as in day >= '2026-01-01'.")
    whole = sqlglot.parse_one(backend.compile(table), read=backend.dialect, into=sqlglot.exp.Select)
    whole = whole.where(parsed, dialect=backend.dialect)
    # The names and types are known: without them the library would make a view to learn them.
    return backend.sql(whole.sql(dialect=backend.dialect), schema=table.schema())
