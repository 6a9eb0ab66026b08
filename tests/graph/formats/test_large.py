"""The largest graph that is read, in every format; `make bench` tells how long it takes."""

from __future__ import annotations

import random

import pytest

from tests.graph.formats.strategies import FORMATS
from tests.soak import FULL
from whichdo.graph.admg import CausalGraph
from whichdo.graph.draft import MAX_EDGES, MAX_NODES
from whichdo.graph.formats import format_graph, parse_graph

SHARE = 1 if FULL else 20


def large(nodes: int, edges: int) -> CausalGraph:
    """One edge in ten is bidirected."""
    rng = random.Random(3)
    parents: list[set[int]] = [set() for _ in range(nodes)]
    siblings: list[set[int]] = [set() for _ in range(nodes)]
    count = 0
    while count < edges:
        low, high = sorted(rng.sample(range(nodes), 2))
        if count % 10 == 0 and high not in siblings[low]:
            siblings[low].add(high)
            siblings[high].add(low)
            count += 1
        elif count % 10 and low not in parents[high]:
            parents[high].add(low)
            count += 1
    names = [f"node_{position}" for position in range(nodes)]
    return CausalGraph.assemble(names, [sorted(row) for row in parents], [sorted(row) for row in siblings])


@pytest.mark.soak
@pytest.mark.parametrize("name", FORMATS)
def test_a_graph_at_the_limits_is_read(name: str) -> None:
    graph = large(MAX_NODES // SHARE, MAX_EDGES // SHARE)
    text = format_graph(graph, name)
    read = parse_graph(text)
    assert read == graph
