"""Timing, and the table that the documentation shows."""

from __future__ import annotations

import time
from dataclasses import dataclass
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
