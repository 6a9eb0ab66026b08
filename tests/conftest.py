"""``make soak`` writes what it did, and with which seed, into ``docs/soak.md``; slow tests say what they cost."""

from __future__ import annotations

import gc
import os
import platform
import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

# Before numpy is loaded: with as many processes as cores, the threads of linear algebra only wait for each other, and
# small matrices, which all of ours are, took three times as much processor time.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import pytest
from hypothesis import settings

from tests import costs
from tests.memory import in_memory
from tests.soak import FULL, merged, repeated, row
from whichdo import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

_lines: list[str] = []
_WHEN = f"{time.strftime('%Y-%m-%d', time.gmtime())}, {__version__}, {platform.python_version()}"

if (folder := in_memory()) is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", folder)  # where pytest makes `tmp_path`

# A busy machine is not a failure, so there are no deadlines.
settings.register_profile("whichdo", deadline=None, max_examples=repeated(100, quick=25))
settings.load_profile("whichdo")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # until all is imported


def pytest_collection_finish() -> None:
    """Modules, kernels and test items stay: looking through them for garbage again and again took seconds."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse a slow test that does not say what it costs and why; leave out what is too expensive for `make check`."""
    costs.leave_out(config, items)
    for item in items:
        for mark in item.iter_markers("slow"):
            if not (len(mark.args) == 1 and re.fullmatch(r"\d+(\.\d)? s: \S.*", str(mark.args[0]))):
                form = '@pytest.mark.slow("16 s: what it does; what it found or would find")'
                raise pytest.UsageError(f"{item.nodeid} is marked slow without cost and reason. Write {form}.")


if costs.MEASURING:

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
        """Say what the test cost to the process that shows the results."""
        before = costs.spent()
        yield
        item.user_properties.append((costs.COST, costs.spent() - before))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    costs.note(report)
    if FULL and report.when == "call":
        said = ", ".join(f"{name} {value}" for name, value in report.user_properties)
        name = report.nodeid.replace("tests/", "", 1)
        _lines.append(row(name, report.outcome, said, report.duration, _WHEN))


def pytest_terminal_summary(config: pytest.Config) -> None:
    """Only the process that shows the results has a terminal; it hears of the tests of all workers."""
    costs.write()
    if not FULL or not _lines:
        return
    page = Path(config.rootpath) / "docs" / "soak.md"
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    page.write_text(merged(before, _lines, Path(config.rootpath) / "tests"), encoding="utf-8")
