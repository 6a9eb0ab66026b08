"""A graph of 10,000 nodes and 200,000 edges: read, checked and inspected."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Line, best, seconds
from whichdo.graph.admg import CausalGraph
from whichdo.graph.formats import format_graph, parse_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES, ARROWS, CONFOUNDED = 10_000, 190_000, 10_000


def large_graph(seed: int = 0) -> CausalGraph:
    rng = np.random.default_rng(seed)
    names = [f"V{j}" for j in range(NODES)]

    def pairs(count: int) -> list[tuple[str, str]]:
        found: set[tuple[int, int]] = set()
        while len(found) < count:
            low, high = sorted(rng.integers(0, NODES, 2).tolist())
            if low < high:
                found.add((low, high))
        return [(names[low], names[high]) for low, high in sorted(found)]

    return CausalGraph(names, pairs(ARROWS), pairs(CONFOUNDED))


# Run in its own process, so that the peak of the memory is this job's alone.
JOB = """
import contextlib, io, resource, sys, time
start = time.perf_counter()
sys.argv = ["whichdo", "inspect", sys.argv[1], "--reward", "V9999"]
from whichdo.cli.app import make_app
with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
    make_app(["inspect"])()
assert "10,000 nodes" in out.getvalue(), out.getvalue()
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def run() -> Iterator[Line]:
    graph = large_graph()
    for name in ("text", "dagitty", "dot", "gml", "json"):
        text = format_graph(graph, name)
        (took,) = best(lambda text=text: parse_graph(text), repeat=3)  # type: ignore[misc]
        yield Line(f"read 10,000 nodes and 200,000 edges, {name}", seconds(took), "under 5 s", took < 5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.dot"
        path.write_text(format_graph(graph, "dot"))
        done = subprocess.run([sys.executable, "-c", JOB, str(path)], capture_output=True, text=True, check=True)
        took, memory = map(float, done.stdout.split())
    yield Line(
        "`whichdo inspect` of the same as DOT, start to end",
        f"{seconds(took)}, {memory:.0f} MB",
        "under 5 s and 500 MB",
        took < 5 and memory < 500,
    )
