"""``make soak`` writes what it did, and with which seed, into ``docs/soak.md``."""

from __future__ import annotations

import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.soak import FULL
from whichdo import __version__

if TYPE_CHECKING:
    import pytest

_lines: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if FULL and report.when == "call":
        said = ", ".join(f"{name} {value}" for name, value in report.user_properties)
        name = report.nodeid.replace("tests/", "", 1)
        _lines.append(f"| `{name}` | {report.outcome} | {said} | {report.duration:.1f} s |")


def pytest_terminal_summary(config: pytest.Config) -> None:
    if not FULL or not _lines:
        return
    when = time.strftime("%Y-%m-%d", time.gmtime())
    with_what = f"whichdo {__version__}, Python {platform.python_version()}"
    text = [
        "# Soak",
        "",
        f"Written by `make soak` on {when} with {with_what}. `make test` runs the same at about a twentieth.",
        "",
        "| test | result | counts and seed | time |",
        "|---|---|---|---|",
        *_lines,
    ]
    (Path(config.rootpath) / "docs" / "soak.md").write_text("\n".join(text) + "\n", encoding="utf-8")
