"""Printing: tables for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Format", "FormatOption", "console", "print_json", "say_if_compiling"]

#: Letters of JSON that are indented for people to read.
PRETTY = 200_000


class Format(StrEnum):
    """How a command prints its result."""

    TABLE = "table"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("-f", "--format", help="A table for people, or JSON for programs.")]


def console() -> Console:
    """The console for people; names from users' files are text, never markup or styles.

    Piped into a file there is no window to fit, so the width is one that a page can hold.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() else 110
    return Console(width=width, markup=False, highlight=False, emoji=False)


def print_json(content: object) -> None:
    """One JSON document on standard output, in letters that it can carry; a long one all on one line.

    Indenting is done letter by letter in Python: for 200,000 edges it takes seconds, and nobody reads them.
    """
    escape = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    text = json.dumps(content, ensure_ascii=escape, allow_nan=False)
    if len(text) <= PRETTY:
        text = json.dumps(content, indent=2, ensure_ascii=escape, allow_nan=False)
    sys.stdout.write(text + "\n")


def say_if_compiling() -> None:
    """The first command that computes compiles for some seconds; nobody should wonder what it waits for."""
    from whichdo.kernels.compiling import is_cold

    if is_cold():
        print("Compiling for this machine; it takes some seconds, the first time only.", file=sys.stderr, flush=True)
