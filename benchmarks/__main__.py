"""Run all benchmarks and write ``docs/benchmarks.md``: ``make bench``, or ``python -m benchmarks sampling`` for one.

Each room is measured in its own process: what one has loaded does not weigh on the next.  Sections of rooms that
were not measured stay as they are.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.measure import measured
from benchmarks.wrapping import wrapped
from whichdo import __version__

ROOMS = (
    "graphs",
    "exact",
    "sampling",
    "counting",
    "estimating",
    "levers",
    "editing",
    "policies",
    "rounds",
    "campaign",
    "contention",
)
HEAD = """# Benchmarks

Written by `make bench`, or a section at a time by `python -m benchmarks ROOM`. Each figure is the
best of several repetitions; peers are measured in the same run.
"""
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def main(chosen: list[str]) -> None:
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores ({platform.machine()})"
    missed = []
    for room in chosen or ROOMS:
        when = time.strftime("%Y-%m-%d", time.gmtime())
        text = [f"Measured on {when} with whichdo {__version__}, {machine}.", ""]
        text += ["| what | measured | asked | |", "|---|---|---|---|"]
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            lines = alone.submit(measured, room).result()
        for line in lines:
            text.append(f"| {line.what} | {line.figure} | {line.asked} | {'yes' if line.holds else '**no**'} |")
            if not line.holds:
                missed.append(line.what)
        PAGE.write_text(wrapped(merged(PAGE.read_text(), room, "\n".join(text))))
    if missed:
        print(f"\nMissed: {'; '.join(missed)}")


def merged(page: str, room: str, text: str) -> str:
    """The page with another text in the section of a room."""
    sections = dict(re.findall(r"^## (\w+)\n\n(.*?)\s*(?=^## |\Z)", page, flags=re.DOTALL | re.MULTILINE))
    sections[room.capitalize()] = text
    order = [each.capitalize() for each in ROOMS]
    return HEAD + "".join(f"\n## {name}\n\n{sections[name]}\n" for name in order if name in sections)


if __name__ == "__main__":
    main(sys.argv[1:])
