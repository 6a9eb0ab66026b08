"""Timing, and the table that the documentation shows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Line:
    """One measured figure: what, how much, and what was asked of it."""

    what: str
    figure: str
    asked: str
    holds: bool


def best(*jobs: Callable[[], object], repeat: int = 5) -> list[float]:
    """The shortest time of each job in seconds, the jobs taken in turn so that noise meets all of them."""
    times = [[] for _ in jobs] if jobs else []  # type: list[list[float]]
    for _ in range(repeat):
        for job, mine in zip(jobs, times, strict=True):
            start = time.perf_counter()
            job()
            mine.append(time.perf_counter() - start)
    return [min(mine) for mine in times]


def seconds(value: float) -> str:
    if value < 1e-3:
        return f"{value * 1e6:.0f} µs"
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def measured(room: str) -> list[Line]:
    """All lines of a room, printed as they come."""
    print(f"\n{room}", flush=True)
    found = []
    for line in import_module(f"benchmarks.{room}").run():
        print(f"  {line.what}: {line.figure} (asked: {line.asked}; {'holds' if line.holds else 'MISSED'})", flush=True)
        found.append(line)
    return found
