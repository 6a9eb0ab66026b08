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
_ROW = re.compile(
    r"\| `(?P<test>[^`]+)` \| (?P<result>[^|]*) \| (?P<counts>[^|]*) \| (?P<time>[^|]*) s \| (?P<when>[^|]*) \|"
)


def row(test: str, result: str, counts: str, seconds: float, when: str) -> str:
    """A line of the table."""
    return f"| `{test}` | {result} | {counts.replace('|', '/')} | {seconds:.1f} s | {when} |"


def merged(page: str, rows: list[str], tests: Path) -> str:
    """The page with some rows in place of those that they repeat; tests that are not there any more go.

    ``tests``: the folder that the names of tests begin in.
    """
    found = {}
    again = {match["test"] for line in rows if (match := _ROW.fullmatch(line)) is not None}
    before = [line for line in page.splitlines() if (match := _ROW.fullmatch(line)) and match["test"] not in again]
    for line in [*_folded(before), *_folded(rows)]:
        if (match := _ROW.fullmatch(line)) is not None and _is_there(match["test"], tests):
            found[match["test"]] = line
    return HEAD + "".join(f"{found[test]}\n" for test in sorted(found))


def _folded(rows: list[str]) -> list[str]:
    """Cases of one test that say no more than that they passed, on one day by one program, in a row together.

    A later run of some of the cases replaces that row: it says how many there were.
    """
    together: dict[tuple[str, str], list[re.Match[str]]] = {}
    folded = []
    for line in rows:
        match = _ROW.fullmatch(line)
        if match is None or match["result"] != "passed" or match["counts"] or not match["test"].endswith("]"):
            folded.append(line)
        else:
            together.setdefault((match["test"].partition("[")[0], match["when"]), []).append(match)
    for (test, when), cases in together.items():
        if len(cases) == 1:
            folded.append(cases[0].string)
        else:
            folded.append(row(test, "passed", f"cases {len(cases)}", sum(float(case["time"]) for case in cases), when))
    return folded


def _is_there(test: str, tests: Path) -> bool:
    file, _, name = test.partition("::")
    try:
        text = (tests / file).read_text(encoding="utf-8")
    except OSError:
        return False
    first = name.partition("::")[0].partition("[")[0]
    return re.search(rf"\b{re.escape(first)}\b", text) is not None
