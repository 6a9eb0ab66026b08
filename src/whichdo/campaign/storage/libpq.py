"""To a PostgreSQL server and back once, with several statements: libpq's pipeline, without psycopg's cursors.

psycopg makes the connection and wraps libpq (``psycopg.pq``).  Its own pipeline does the same with an object for every
statement and a type for every value, which takes longer than the trips that are saved.
"""

from __future__ import annotations

import select
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.adapt import Transformer
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus

from whichdo.errors import InputError
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from psycopg.abc import Transformer as Reader
    from psycopg.pq.abc import PGconn, PGresult


Command = tuple[str, tuple[object, ...]]
"""A statement, with question marks where its values go, and the values."""
Rows = list[tuple[Any, ...]]


class ServerError(Exception):
    """What a server refused, by its code."""

    def __init__(self, result: PGresult) -> None:
        words = result.error_field(DiagnosticField.MESSAGE_PRIMARY) or result.error_message or b""
        super().__init__(bytes(words).decode("utf-8", "replace"))
        self.sqlstate = (result.error_field(DiagnosticField.SQLSTATE) or b"").decode()


def exchange(
    line: PGconn, commands: Sequence[Command], names: Mapping[str, bytes], prepared: set[bytes], seconds: float
) -> list[Rows]:
    """Send commands and wait for all answers; what each found, or in one row the number of rows it changed.

    ``names``: of statements to prepare; ``prepared``: those that the connection knows.  ``seconds``: to wait for.
    """
    given = [[None if value is None else _encoded(value) for value in values] for _, values in commands]
    line.enter_pipeline_mode()
    asked = []
    for (text, _), values in zip(commands, given, strict=True):
        name = names.get(text)
        if name is None:
            line.send_query_params(_numbered(text), values)
        else:
            if name not in prepared:
                line.send_prepare(name, _numbered(text))
                prepared.add(name)
                asked.append(False)
            line.send_query_prepared(name, values)
        asked.append(True)
    line.pipeline_sync()
    results = _answers(line, time.monotonic() + seconds)
    line.exit_pipeline_mode()
    reader = Transformer()
    return [_rows(result, reader) for result, wanted in zip(results, asked, strict=True) if wanted]


@cache
def _numbered(text: str) -> bytes:
    """A statement as PostgreSQL wants it: $1 for the first question mark."""
    first, *others = text.split("?")
    return (first + "".join(f"${number}{part}" for number, part in enumerate(others, start=1))).encode()


def _encoded(value: object) -> bytes:
    """A value as PostgreSQL reads it."""
    if isinstance(value, bytes):
        return b"\\x" + value.hex().encode()
    found = str(value).encode()
    if b"\0" in found:  # where libpq would take it to end
        raise InputError(f"{quoted(value)} contains a NUL character, which PostgreSQL cannot keep. Nothing was stored.")
    return found


def _answers(line: PGconn, until: float) -> list[PGresult]:
    """What the server answers to all that was sent; the first thing that it refuses is raised."""
    found: list[PGresult] = []
    broke: psycopg.OperationalError | None = None
    try:
        found.extend(_results(line, until))
    except psycopg.OperationalError as error:
        broke = error
    wrong = next((each for each in found if each.status == ExecStatus.FATAL_ERROR), None)
    if wrong is not None:
        raise ServerError(wrong) from broke
    if broke is not None:
        raise broke
    return found


def _results(line: PGconn, until: float) -> Iterator[PGresult]:
    """The results of all that was sent, as they come."""
    unsent = bool(line.flush())
    while True:
        while line.is_busy():
            if not is_ready(line.socket, until - time.monotonic(), write=unsent):
                raise psycopg.OperationalError("the server does not answer")
            line.consume_input()
            unsent = unsent and bool(line.flush())
        result = line.get_result()
        if result is None:  # between the results of two commands
            if line.status == ConnStatus.BAD:
                raise psycopg.OperationalError("the connection is lost")
        elif result.status == ExecStatus.PIPELINE_SYNC:
            return
        else:
            yield result


def is_ready(number: int, seconds: float, *, write: bool = False) -> bool:
    """Whether there is something to read, or room to write, within some time."""
    if hasattr(select, "poll"):  # for any number of open files
        waiting = select.poll()
        waiting.register(number, select.POLLIN | (select.POLLOUT if write else 0))
        return bool(waiting.poll(max(0.0, seconds) * 1000))
    return any(select.select([number], [number] if write else [], [], max(0.0, seconds)))


def _rows(result: PGresult, reader: Reader) -> Rows:
    """The rows of a result, read by psycopg's compiled loop; of one that has none, how many were changed."""
    if result.status != ExecStatus.TUPLES_OK:
        return [(result.command_tuples,)]
    reader.set_pgresult(result)
    return reader.load_rows(0, result.ntuples, tuple)
