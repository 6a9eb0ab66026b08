"""Several levers at once: which arms can be best, and the arms that are left counted and ranked."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Line, seconds
from whichdo.errors import TooLargeError
from whichdo.estimate.rank import rank
from whichdo.graph.admg import CausalGraph
from whichdo.identification.pruning import possibly_optimal
from whichdo.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.estimate.ranking import Ranking

ROWS = 100_000


def random_graph(nodes: int, indegree: int, hidden: int, rng: np.random.Generator) -> CausalGraph:
    """Every node but the first has so many parents among those before it, as far as there are so many."""
    names = [f"V{number:02}" for number in range(nodes)]
    arrows = [
        (names[tail], names[head])
        for head in range(1, nodes)
        for tail in sorted(rng.choice(head, min(head, indegree), replace=False).tolist())
    ]
    pairs = [(names[low], names[high]) for high in range(nodes) for low in range(high)]
    tied = [pairs[place] for place in sorted(rng.choice(len(pairs), hidden, replace=False).tolist())]
    return CausalGraph(names, arrows, tied)


def ranked(graph: CausalGraph, data: dict[str, np.ndarray]) -> Ranking:
    """From the graph to the answer; what was pruned is explained too."""
    problem = Problem(graph, graph.nodes[-1], at_once=2, prune=True)
    found = rank(problem, data)
    assert len(list(problem.pruned.values())) + len(problem.answers) == len(problem.offered)
    assert found.best is None or found.probability_best <= 1
    return found


def run() -> Iterator[Line]:
    rng = np.random.default_rng(18)
    data = {f"V{number:02}": rng.integers(0, 2, ROWS) for number in range(10)}
    ranked(random_graph(4, 2, 1, rng), {name: column[:1000] for name, column in data.items()})  # what is loaded once
    worst, arms = 0.0, 0
    for indegree, hidden in ((2, 0), (2, 4), (3, 2), (3, 6), (9, 0), (5, 10)):
        graph = random_graph(10, indegree, hidden, rng)
        start = process_time()
        found = ranked(graph, data)
        took = process_time() - start
        worst, arms = max(worst, took), max(arms, len(found))
    what = (
        f"10 nodes, two at once: pruned, counted and ranked from 100,000 rows (6 graphs, up to {arms} arms), the worst"
    )
    yield Line(what, seconds(worst), "under 2 s", worst < 2)
    worst, most, refused = 0.0, 0, 0
    for hidden in (0, 5, 10, 20, 40, 100, 190):
        for _ in range(3):
            graph = random_graph(20, 3, hidden, rng)
            start = process_time()
            try:
                most = max(most, len(possibly_optimal(graph, graph.nodes[-1])))
            except TooLargeError:
                refused += 1
            worst = max(worst, process_time() - start)
    what = (
        f"possibly optimal sets, 20 nodes of in-degree 3 (21 graphs, up to {most:,} sets, {refused} refused), the worst"
    )
    yield Line(what, seconds(worst), "under 1 s", worst < 1)
