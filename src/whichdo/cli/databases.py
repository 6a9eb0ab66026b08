"""What the verbs of campaigns have in common: the database, durations, rows, and how answers are printed."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from whichdo.cli.app import campaigns, state
from whichdo.cli.output import Format, console, print_json, worded
from whichdo.errors import InputError, UsageError
from whichdo.text import quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.campaign.campaign import Campaign
    from whichdo.campaign.commands import Receipt


UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
LONGEST = 2**20
"""The most characters of a row."""
MOST = 2**30
"""The most characters that are read at a time."""


DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--db", envvar="WHICHDO_DB", help="The database: a file, sqlite:///file or postgresql://user@host/name."
    ),
]
NameArgument = Annotated[str, typer.Argument(help="The campaign.", show_default=False, autocompletion=campaigns)]
ReasonOption = Annotated[str, typer.Option(help="The reason, for the record.", show_default=False)]
KeyOption = Annotated[
    str | None,
    typer.Option(help="Idempotency key: a command repeated with the same key counts once.", show_default=False),
]
ReceiptsOption = Annotated[
    Path | None,
    typer.Option(
        "--receipts",
        envvar="WHICHDO_RECEIPTS",
        help="A file outside the database to which every receipt is added.",
        show_default=False,
    ),
]
ClientOption = Annotated[
    str | None, typer.Option(help="Who asks; tickets it still holds are returned again. Default: user@host.")
]


def address(db: str | None) -> str:
    """The database that was named."""
    if not db:
        raise UsageError("Which database? Name it with --db, or set WHICHDO_DB: a file such as campaigns.db will do.")
    if db != os.environ.get("WHICHDO_DB"):
        state.database = db
    return db


def opened(db: str | None, name: str, receipts: Path | None = None) -> Campaign:
    """A campaign of the database that was named; its receipts are added to a file, if one is."""
    from whichdo.campaign.campaign import Campaign

    return Campaign.open(address(db), name, receipts=receipts)


def database(db: str | None) -> list[str]:
    """The names of its campaigns."""
    from whichdo.campaign.campaign import Campaign

    return Campaign.list(address(db))


def stretch(text: str | None, what: str) -> float | None:
    """A stretch of time such as ``7d``, ``12h`` or ``30m``."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([smhdw])", text.strip())
    seconds = 0.0 if found is None else float(found[1]) * UNITS[found[2]]
    if not 0 < seconds < 1e10:
        raise UsageError(f"{what} is {quoted(text)}; write one number above 0 and its unit: 7d, 12h, 30m, 45s or 2w.")
    return seconds


ROW = '{"X": 1, "Y": 0}'


def lines_of(source: str, example: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file, or of standard input (``-``), one a line, with their numbers."""
    with _open(source) as (name, file):
        left, number = MOST, 0
        while line := _line_of(file, name):
            number, left = number + 1, left - len(line)
            if left < 0:
                raise InputError(f"{name} has more than {MOST:,} characters; tell it in several parts.")
            if line.strip():
                yield number, _object(line.removesuffix("\n"), f"{name}, line {number}", example)


def one_row(source: str) -> dict[str, Any]:
    """One row: JSON itself, or what a file or standard input (``-``) holds."""
    if source.lstrip().startswith(("{", "[")):
        return _object(source, "The row")
    with _open(source) as (name, file):
        text = _read(file, name, LONGEST + 1)
    rows = len([line for line in text.split("\n") if line.lstrip().startswith("{")])
    if rows > 1 and not text.lstrip().startswith("{\n"):
        raise InputError(f"{name} holds {rows:,} rows; a ticket takes one.")
    return _object(text, name)


@contextmanager
def _open(source: str) -> Iterator[tuple[str, TextIO]]:
    """The name of a file or of standard input, and what reads it."""
    name = "standard input" if source == "-" else visible(source)
    if source == "-" and sys.stdin is None:
        raise InputError("standard input cannot be read: it is closed.")
    if source != "-" and not os.path.isfile(source):  # noqa: PTH113 - nor where it is too long
        raise InputError(f"{quoted(source)} is neither JSON, such as {ROW}, nor a file.")
    if source == "-":
        yield name, sys.stdin
        return
    try:
        file = Path(source).open(encoding="utf-8")  # noqa: SIM115 - closed below
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}.") from None
    with file:
        yield name, file


def _line_of(file: TextIO, name: str) -> str:
    """The next line; an endless one is not read to its end."""
    return _read(file, name, LONGEST + 2, line=True)


def _read(file: TextIO, name: str, most: int, *, line: bool = False) -> str:
    """Read at most ``most`` characters, or the next line up to as many."""
    try:
        return file.readline(most) if line else file.read(most)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text: byte {error.start:,}. Save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}.") from None


def _object(text: str, where: str, example: str = ROW) -> dict[str, Any]:
    if len(text) > LONGEST:
        raise InputError(f"{where} has more than {LONGEST:,} characters; a row cannot be that long.")
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if "\n" in text.strip() else f"column {error.colno}"
        raise InputError(f"{where} is not valid JSON ({error.msg} at {place}). Write it like {example}.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not valid JSON: {error}. Write it like {example}.") from None
    if not isinstance(found, dict):
        raise InputError(f"{where} is {quoted(text)}; a row is an object such as {example}.")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice in one object")
    return found


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def print_receipts(receipts: list[tuple[dict[str, Any], str, Receipt]], format: Format) -> None:  # noqa: A002
    """What was written: for each what it was about, the same in words, and its receipt."""
    if format is Format.JSON:
        print_json({"receipts": [about | receipt.to_dict() for about, _, receipt in receipts]})
        return
    out = console()
    for _, words, receipt in receipts:
        out.print(f"{words}{' (on record already)' if receipt.repeated else ''}: {receipt}", soft_wrap=True)
        for note in receipt.notes:
            out.print(f"! {worded(note)}", style="yellow", soft_wrap=True)


def print_lines(said: tuple[str, ...], warnings: tuple[str, ...] = ()) -> None:
    """Sentences for people."""
    out = console()
    for line in said:
        out.print(worded(line), soft_wrap=True)
    for line in warnings:
        out.print(f"! {worded(line)}", style="yellow", soft_wrap=True)
