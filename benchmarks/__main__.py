"""Run all benchmarks and write ``docs/benchmarks.md``: ``make bench``, or ``python -m benchmarks sampling`` for one.

Each room is measured in a process of its own: what one has loaded does not weigh on the next.
"""

from __future__ import annotations

import os
import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.measure import measured
from benchmarks.wrapping import wrapped
from whichdo import __version__

ROOMS = ("graphs", "exact", "sampling", "counting", "estimating", "levers", "editing", "policies", "rounds", "campaign")


def main(chosen: list[str]) -> None:
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores ({platform.machine()})"
    note = "Each figure is the best of several repetitions; peers are measured in the same run."
    text = ["# Benchmarks", "", f"Written by `make bench` with whichdo {__version__}, {machine}. {note}"]
    missed = []
    for room in chosen or ROOMS:
        text += ["", f"## {room.capitalize()}", "", "| what | measured | asked | |", "|---|---|---|---|"]
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            lines = alone.submit(measured, room).result()
        for line in lines:
            text.append(f"| {line.what} | {line.figure} | {line.asked} | {'yes' if line.holds else '**no**'} |")
            if not line.holds:
                missed.append(line.what)
    if not chosen:
        Path(__file__).parents[1].joinpath("docs", "benchmarks.md").write_text(wrapped("\n".join(text)))
    if missed:
        print(f"\nMissed: {'; '.join(missed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
