"""Run all benchmarks and write ``docs/benchmarks.md``: ``make bench``, or ``python -m benchmarks sampling`` for one."""

from __future__ import annotations

import os
import platform
import sys
from importlib import import_module
from pathlib import Path

from whichdo import __version__

ROOMS = ("graphs", "exact", "sampling", "counting", "estimating", "policies", "rounds", "campaign")


def main(chosen: list[str]) -> None:
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores ({platform.machine()})"
    note = "Each figure is the best of several repetitions; peers are measured in the same run."
    text = ["# Benchmarks", "", f"Written by `make bench` with whichdo {__version__}, {machine}. {note}"]
    missed = []
    for room in chosen or ROOMS:
        text += ["", f"## {room.capitalize()}", "", "| what | measured | asked | |", "|---|---|---|---|"]
        print(f"\n{room}")
        for line in import_module(f"benchmarks.{room}").run():
            mark = "yes" if line.holds else "**no**"
            print(
                f"  {line.what}: {line.figure} (asked: {line.asked}; {'holds' if line.holds else 'MISSED'})", flush=True
            )
            text.append(f"| {line.what} | {line.figure} | {line.asked} | {mark} |")
            if not line.holds:
                missed.append(line.what)
    if not chosen:
        Path(__file__).parents[1].joinpath("docs", "benchmarks.md").write_text("\n".join(text) + "\n")
    if missed:
        print(f"\nMissed: {'; '.join(missed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
