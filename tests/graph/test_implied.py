"""The independences that a graph implies: exactly the listed ones, and those that trying every set finds."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tests.checking.random_worlds import random_graph
from tests.soak import scaled
from whichdo.graph.admg import CausalGraph
from whichdo.graph.separation import implied_statements, m_separated

FIXTURE = json.loads((Path(__file__).parents[1] / "fixtures" / "implied.json").read_text(encoding="utf-8"))

Sets = dict[frozenset[str], list[frozenset[str]]]


def listed(graph: CausalGraph, *, sets: int, size: int) -> Sets:
    """The sets that are listed for each pair, in order."""
    found: Sets = {}
    for each in implied_statements(graph, sets=sets, size=size).statements:
        found.setdefault(frozenset((each.left, each.right)), []).append(frozenset(each.given))
    return found


def by_trying(graph: CausalGraph) -> Sets:
    """All minimal separating sets of every pair, by m-separation given every set of other nodes."""
    found: Sets = {}
    for pair in combinations(graph.nodes, 2):
        others = [name for name in graph.nodes if name not in pair]
        minimal: list[frozenset[str]] = []
        for size in range(len(others) + 1):
            for given in map(frozenset, combinations(others, size)):
                if not any(each < given for each in minimal) and m_separated(graph, pair[:1], pair[1:], given):
                    minimal.append(given)
        if minimal:
            found[frozenset(pair)] = minimal
    return found


def test_the_listed_graphs_have_exactly_the_listed_sets() -> None:
    for entry in FIXTURE:
        parts = entry["graph"]
        graph = CausalGraph(parts["nodes"], map(tuple, parts["directed"]), map(tuple, parts["bidirected"]))
        expected = {frozenset((one, other)): set(map(frozenset, sets)) for one, other, sets in entry["implied"]}
        found = listed(graph, sets=10_000, size=len(graph.nodes))
        assert {pair: set(sets) for pair, sets in found.items()} == expected


def test_random_graphs_have_the_sets_that_trying_all_finds() -> None:
    rng = np.random.default_rng(2016)
    for _ in range(scaled(1_000, 40)):
        graph = random_graph(rng, int(rng.integers(3, 8)), float(rng.uniform(0.1, 0.7)), float(rng.uniform(0, 0.4)))
        every = by_trying(graph)
        found = listed(graph, sets=10_000, size=len(graph.nodes))
        assert {pair: sorted(map(sorted, sets)) for pair, sets in found.items()} == {
            pair: sorted(map(sorted, sets)) for pair, sets in every.items()
        }
        few = listed(graph, sets=3, size=2)
        for pair, sets in every.items():
            small = sorted(len(each) for each in sets if len(each) <= 2)[:3]
            assert [len(each) for each in few.get(pair, [])] == small
            assert set(few.get(pair, [])) <= set(sets)


def test_pairs_without_a_statement_are_told_apart() -> None:
    """X and Y are tied by colliders whatever is given; A and B are cut apart only by all five between them."""
    graph = CausalGraph.parse("X <-> M; M <-> Y; X -> Y; M -> Y")
    assert implied_statements(graph).inseparable == (("X", "M"), ("X", "Y"), ("M", "Y"))
    wide = CausalGraph.parse("; ".join(f"A -> C{j}; C{j} -> B" for j in range(5)))
    assert implied_statements(wide).too_wide == (("A", "B"),)
    assert len(implied_statements(wide, pairs=[("B", "A")], size=5).statements) == 1


@pytest.mark.parametrize("text", ["X -> Y", "X -> M -> Y; X -> Y", "X -> Y; X <-> Y"])
def test_a_complete_graph_implies_nothing(text: str) -> None:
    assert implied_statements(CausalGraph.parse(text)).statements == ()


@pytest.mark.slow("1 s: large graphs must not take minutes")
def test_sixty_nodes_take_a_moment() -> None:
    rng = np.random.default_rng(60)
    for arrows, hidden in ((0.03, 0.01), (0.1, 0.02), (0.3, 0.0)):
        graph = random_graph(rng, 60, arrows, hidden)
        found = implied_statements(graph)
        pairs = {(each.left, each.right) for each in found.statements}
        assert len(pairs) + len(found.inseparable) + len(found.too_wide) == 60 * 59 // 2
