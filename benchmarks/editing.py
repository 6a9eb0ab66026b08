"""Every single edit of a graph of 60 nodes, each of which is an arm: `whichdo.what_if`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Line, seconds
from whichdo.checking.what_if import what_if
from whichdo.graph.admg import CausalGraph
from whichdo.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.arrays import Array

NODES, ROWS = 60, 10_000


def run() -> Iterator[Line]:
    for hidden in (0, 3, 6):
        graph = sparse_graph(np.random.default_rng(hidden), hidden)
        problem, rows = Problem(graph, graph.nodes[-1]), sample(np.random.default_rng(1), graph)
        what_if(Problem("X -> Y", "Y"), {"X": [0, 1], "Y": [0, 1]})  # what is imported once is not its own
        start = time.process_time()
        found = what_if(problem, rows)
        took = time.process_time() - start
        yield Line(
            f"{len(found.edits):,} edits of {NODES} nodes, {hidden} hidden causes, {ROWS:,} rows (processor time)",
            seconds(took),
            "under 10 s",
            took < 10,
        )


def sparse_graph(rng: np.random.Generator, hidden: int) -> CausalGraph:
    """About two arrows into each node, all of them ancestors of the last, and some hidden causes anywhere."""
    names = [f"V{number}" for number in range(NODES)]
    arrows = {
        (int(tail), head)
        for head in range(1, NODES)
        for tail in rng.choice(head, min(head, 1 + int(rng.poisson(1))), replace=False)
    }
    without = sorted(set(range(NODES - 1)) - {tail for tail, _ in arrows})
    arrows |= {(tail, int(rng.integers(tail + 1, NODES))) for tail in without}
    pairs = [sorted(rng.choice(NODES, 2, replace=False).tolist()) for _ in range(hidden)]
    return CausalGraph(
        names,
        [(names[tail], names[head]) for tail, head in sorted(arrows)],
        [(names[first], names[second]) for first, second in pairs],
    )


def sample(rng: np.random.Generator, graph: CausalGraph) -> dict[str, Array]:
    """Logistic laws with normal slopes, a fair coin behind each hidden cause."""
    coins = {edge: rng.integers(0, 2, ROWS) for edge in sorted(graph.bidirected, key=sorted)}
    found: dict[str, Array] = {}
    for name in graph.nodes:
        causes = [found[parent] for parent in graph.parents(name)]
        causes += [coin for edge, coin in coins.items() if name in edge]
        slopes = rng.normal(0, 1, len(causes))
        push = sum((slope * (cause - 0.5) for slope, cause in zip(slopes, causes, strict=True)), np.zeros(ROWS))
        found[name] = (rng.random(ROWS) < 1 / (1 + np.exp(-push))).astype(np.uint8)
    return found
