"""Printing: tables for people, one JSON document for programs, and the ways out of messages as a shell takes them."""

from __future__ import annotations

import json
import math
import re
import shlex
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whichdo.cli.app import state
from whichdo.remedies import Option, phrased
from whichdo.text import masked, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from whichdo.remedies import Remedy


#: Letters of JSON that are indented for people to read.
PRETTY = 200_000


class Format(StrEnum):
    """How a command prints its result."""

    TABLE = "table"
    JSON = "json"


class TableFormat(StrEnum):
    """How a command prints a table."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


FormatOption = Annotated[Format, typer.Option("-f", "--format", help="A table for people, or JSON for programs.")]
TableFormatOption = Annotated[
    TableFormat, typer.Option("-f", "--format", help="A table for people, JSON or CSV for programs.")
]

ForceOption = Annotated[
    bool, typer.Option("--force", help="Overwrite a file that whichdo did not write; never a database.")
]


def console() -> Console:
    """The console for people; names from users' files are text, never markup or styles.

    Piped into a file there is no window to fit, so the width is one that a page can hold.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() else 110
    return Console(width=width, markup=False, highlight=False, emoji=False)


def print_json(content: object) -> None:
    """One JSON document on standard output, in characters that it can carry; a long one all on one line.

    Indenting is done character by character in Python: for 200,000 edges it takes seconds, and nobody reads them.
    """
    escape = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    text = json.dumps(content, ensure_ascii=escape, allow_nan=False)
    if len(text) <= PRETTY:
        text = json.dumps(content, indent=2, ensure_ascii=escape, allow_nan=False)
    sys.stdout.write(_UNSEEN.sub(_escaped, text) + "\n")


_UNSEEN = re.compile(
    r"[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""What a terminal obeys instead of showing it: controls, directions of writing, characters without width."""


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def print_csv(columns: Mapping[str, Sequence[Any]]) -> None:
    """A table as CSV on standard output; unknown values are empty."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(_cell, columns))
    for row in zip(*columns.values(), strict=True):
        writer.writerow([_cell(value) for value in row])


def _cell(value: Any) -> Any:
    """A value in a table that a spreadsheet may open: strings it would take for formulas get a quote in front."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def say_if_compiling() -> None:
    """The first command that computes compiles for some seconds; nobody should wonder what it waits for."""
    from whichdo.kernels.compiling import is_cold

    if is_cold():
        print("Compiling for this machine; this takes a few seconds, the first time only.", file=sys.stderr, flush=True)


def say_when_compiling() -> None:
    """As `say_if_compiling`, for a command whose work may be too small to compile anything."""
    from whichdo.kernels.compiling import before_first_use

    before_first_use(say_if_compiling)


# -------------------------------------------------------------------------------------------------------------- wording

IN_ORDER = ("ticket", "row", "problem")
"""Arguments that go by their place."""


def worded(text: str) -> str:
    """A message for a terminal: options and commands as they are typed, nothing hidden, no passwords."""
    return masked(visible(phrased(text, in_shell)))


def command(verb: str, *words: str, more: str = "") -> str:
    """A command that can be pasted into a shell, in the database that was named; ``more`` is put as it stands.

    >>> print(command("void", "spring sale", "1-ab", more="--reason lost"))
    whichdo void 'spring sale' 1-ab --reason lost
    """
    database = shlex.join(["--db", masked(state.database)]) if state.database else ""
    return " ".join(each for each in (shlex.join(["whichdo", verb, *words]), more, database) if each)


def in_shell(remedy: Remedy) -> str:
    """A remedy as it is typed.

    >>> in_shell(Option("missing", "drop")), in_shell(Option("arm")), in_shell(Option("append", True, of="observe"))
    ('--missing drop', '--arm', '--append')
    """
    if isinstance(remedy, Option):
        return f"--{remedy.name} {remedy.value}" if isinstance(remedy.value, str) else f"--{remedy.name}"
    words, options = [remedy.campaign], []
    for name, value in remedy.arguments.items():
        if name in IN_ORDER:
            words.append(name.upper() if value is ... else str(value))
        else:
            options += [f"--{name}", '"..."' if value is ... else shlex.quote(str(value))]
    if "db" in remedy.arguments:
        return " ".join([shlex.join(["whichdo", remedy.verb, *words]), *options])
    return command(remedy.verb, *words, more=" ".join(options))
