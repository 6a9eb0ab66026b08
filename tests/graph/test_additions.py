"""What one more edge undoes: the same as asking the graph with the edge."""

from __future__ import annotations

import numpy as np

from tests.checking.random_worlds import random_graph
from tests.soak import scaled
from whichdo.checking.edits import Additions
from whichdo.graph.admg import CausalGraph
from whichdo.graph.separation import Statement, implied_statements, m_separated


def with_edge(graph: CausalGraph, tail: str, mark: str, head: str) -> CausalGraph:
    if mark == "->":
        return CausalGraph(graph.nodes, [*graph.directed, (tail, head)], graph.bidirected)
    return CausalGraph(graph.nodes, graph.directed, [*graph.bidirected, (tail, head)])


def test_an_edge_undoes_what_the_graph_with_it_does_not_imply() -> None:
    """Compared with asking each edited graph."""
    rng = np.random.default_rng(404)
    for _ in range(scaled(600, 30)):
        graph = random_graph(rng, int(rng.integers(3, 8)), float(rng.uniform(0.1, 0.6)), float(rng.uniform(0, 0.4)))
        additions = Additions(graph)
        edges = additions.edges(additions.possible)
        edited = [with_edge(graph, *edge) for edge in edges]
        for statement in implied_statements(graph).statements:
            expected = [not m_separated(each, [statement.left], [statement.right], statement.given) for each in edited]
            assert additions.chosen(statement).tolist() == expected


def test_an_arrow_into_what_is_known_opens_a_collider() -> None:
    """A <-> U <-> B is closed given V until U acts on V; seen to fail without the walk that comes back."""
    graph = CausalGraph.parse("V -> {A B}; A <-> U; U <-> B")
    additions = Additions(graph)
    undone = additions.undone_by(Statement("A", "B", ("V",)))
    assert undone.arrows[graph.index("U"), graph.index("V")]
    assert not m_separated(with_edge(graph, "U", "->", "V"), "A", "B", "V")


def test_possible_edges_leave_the_graph_acyclic_and_are_not_there_yet() -> None:
    graph = CausalGraph.parse("A -> B -> C; A <-> B")
    additions = Additions(graph)
    assert set(additions.edges(additions.possible)) == {("A", "<->", "C"), ("B", "<->", "C"), ("A", "->", "C")}
