"""Logs that verbs are given: files, or a table of a database; and what a database ran."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whichdo.errors import UsageError
from whichdo.text import counted, masked, quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whichdo.counting.warehouse import Ran


LogsArgument = Annotated[
    list[str],
    typer.Argument(
        help="CSV or Parquet files, or a glob in quotes; or the address of a database, with --table.",
        show_default=False,
    ),
]
TableOption = Annotated[
    str | None,
    typer.Option(help="The table; the database counts it and returns only counts.", show_default=False),
]
WhereOption = Annotated[
    str | None, typer.Option(help="With --table: which rows, as in \"day >= '2026-01-01'\".", show_default=False)
]
ExplainOption = Annotated[bool, typer.Option("--explain", help="With --table: show the SQL that the database ran.")]


def given_logs(logs: Sequence[str], table: str | None, where: str | None) -> Any:
    """What to count: paths, or a table of a database."""
    from whichdo.counting.addresses import is_address, table_at

    addresses = [log for log in logs if is_address(log)]
    if table is None:
        if where is not None:
            raise UsageError("--where goes with the address of a database and --table.")
        if addresses:
            raise UsageError(f"{masked(addresses[0])} is the address of a database. Which table? Give --table.")
        return logs[0] if len(logs) == 1 else list(logs)
    if len(logs) != 1 or not addresses:
        given = quoted(logs[0]) if len(logs) == 1 else f"{len(logs):,} logs"
        raise UsageError(
            f"--table goes with the address of one database, as in postgresql://user@host/name or duckdb:///file.db; "
            f"found {given}."
        )
    return table_at(logs[0], table, where)


@contextmanager
def explained(asked: bool) -> Iterator[None]:  # noqa: FBT001 - as the option is
    """Say afterwards, on the error stream, what databases ran inside the block, where that is asked for."""
    from whichdo.counting.warehouse import recorded

    with recorded() as ran:
        try:
            yield
        finally:
            if asked:
                _print(ran)


def _print(ran: Sequence[Ran]) -> None:
    for each in ran:
        rows = f"{counted(each.returned, 'row')} back"
        typer.echo(f"-- {each.engine}, {each.seconds:.3f} s, {rows}\n{visible(masked(each.sql))};\n", err=True)
    if not ran:
        typer.echo("-- Nothing was asked of a database.", err=True)
