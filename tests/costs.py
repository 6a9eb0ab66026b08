"""Which tests `make check` leaves to `make test` because of what they cost, as ``make costs`` measured it.

Costs are kept in ``tests/costs.json``: seconds of processor time, processes that a test starts included, of the tests
that are not marked slow and take a tenth of a second or more.  A test that is not listed is run.  Of every file the
cheapest test is run whatever it costs, so that no subject is left out.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from tests.soak import QUICK

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

MEASURING = os.environ.get("WHICHDO_COSTS") == "1"
FILE = Path(__file__).with_name("costs.json")
COST = "processor time"
MOST = 0.1
"""Seconds that a test of `make check` may take."""

_seconds: dict[str, float] = defaultdict(float)


def too_expensive(names: Sequence[str], costs: dict[str, float]) -> set[str]:
    """The tests that are left out, by their names.

    >>> sorted(too_expensive(["a.py::x", "a.py::y", "b.py::z"], {"a.py::x": 3.0, "b.py::z": 9.0}))
    ['a.py::x']
    """
    by_file = defaultdict(list)
    for name in names:
        by_file[name.partition("::")[0]].append(name)
    kept = {min(some, key=lambda name: (costs.get(name, 0.0), name)) for some in by_file.values()}
    return {name for name in names if name not in kept and costs.get(name, 0.0) > MOST}


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is too expensive, if this is `make check`."""
    if not QUICK or MEASURING or not FILE.exists():
        return
    left = too_expensive([item.nodeid for item in items], json.loads(FILE.read_text(encoding="utf-8")))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
    items[:] = [item for item in items if item.nodeid not in left]


def spent() -> float:
    """The processor time of this process and of those that it has started and that have ended.

    What other work on the machine costs is not in it, as it is in the time that goes by.
    """
    others = os.times()
    return time.process_time() + others.children_user + others.children_system


def note(report: pytest.TestReport) -> None:
    """Add up what a test costs; its setup may have been made for others too and does not count."""
    if MEASURING and report.when == "call":
        _seconds[report.nodeid] += sum(
            seconds for name, seconds in report.user_properties if name == COST and isinstance(seconds, float)
        )


def write() -> None:
    """Keep what was measured."""
    if MEASURING:
        found = {name: round(cost, 1) for name, cost in sorted(_seconds.items()) if cost > MOST}
        FILE.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
