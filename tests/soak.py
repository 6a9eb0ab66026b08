"""How often a test repeats what it does at random: least under ``make check``, most under ``make soak``."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FULL = os.environ.get("WHICHDO_SOAK") == "1"
QUICK = os.environ.get("WHICHDO_QUICK") == "1"


def scaled(count: int, least: int = 1) -> int:
    """The number to run of a promised ``count``: all under ``make soak``, else about a twentieth."""
    return count if FULL else max(least, count // 20)


def repeated(count: int, *, quick: int) -> int:
    """The number of repetitions: ``quick`` under ``make check``, which wants an answer soon, else ``count``."""
    return quick if QUICK else count


# ------------------------------------------------------------------------------------------------------- docs/soak.md

HEAD = """# Soak

Written by `make soak`; a run of some of the tests (`WHICHDO_SOAK=1 pytest -m soak tests/campaign`)
replaces their rows alone. `make test` runs the same at about a twentieth.

| test | result | counts and seed | time | date, whichdo, Python |
|---|---|---|---|---|
"""
_ROW = re.compile(r"\| `(?P<test>[^`]+)` \|(?: [^|]*\|){4}")


def row(test: str, result: str, counts: str, seconds: float, when: str) -> str:
    """A line of the table."""
    return f"| `{test}` | {result} | {counts.replace('|', '/')} | {seconds:.1f} s | {when} |"


def merged(page: str, rows: list[str], tests: Path) -> str:
    """The page with some rows in place of those that they repeat; tests that are not there any more go.

    ``tests``: the folder that the names of tests begin in.
    """
    found = {}
    for line in [*page.splitlines(), *rows]:
        if (match := _ROW.fullmatch(line)) is not None and _is_there(match["test"], tests):
            found[match["test"]] = line
    return HEAD + "".join(f"{found[test]}\n" for test in sorted(found))


def _is_there(test: str, tests: Path) -> bool:
    file, _, name = test.partition("::")
    try:
        text = (tests / file).read_text(encoding="utf-8")
    except OSError:
        return False
    first = name.partition("::")[0].partition("[")[0]
    return re.search(rf"\b{re.escape(first)}\b", text) is not None
