"""m-separation against its definition on the canonical DAG, and the cuts."""

from __future__ import annotations

import itertools
import random

import pytest

from tests import twins
from whichdo.errors import GraphError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.separation import m_separated, without_arrows, without_edges_into


def test_single_nodes_are_separated_as_the_moral_graph_of_the_canonical_dag_has_it() -> None:
    """A tenth of all ADMGs on up to 4 nodes and 500 random ones, every pair, random sets."""
    rng = random.Random(3)
    met = set()
    for mixed in (*twins.many_mixed()[:4000:10], *twins.many_mixed()[-500:]):
        graph = mixed.graph()
        for first, second in itertools.combinations(mixed.nodes, 2):
            given = twins.random_subset(rng, mixed.nodes)
            expected = twins.separated(mixed, first, second, given)
            assert m_separated(graph, [first], [second], given) == expected
            assert m_separated(graph, [second], [first], given) == expected
            met.add((expected, first in given or second in given))
    assert met == {(True, True), (True, False), (False, False)}


def test_sets_are_separated_where_every_pair_is() -> None:
    rng = random.Random(4)
    for mixed in twins.many_mixed()[-1000:]:
        graph = mixed.graph()
        first, second, given = (twins.random_subset(rng, mixed.nodes) for _ in range(3))
        left, right = set(first) - set(given), set(second) - set(given)
        pairs = itertools.product(left, right)
        expected = not left & right and all(twins.separated(mixed, one, other, given) for one, other in pairs)
        assert m_separated(graph, first, second, given) == expected


def test_a_long_chain_takes_no_recursion() -> None:
    names = [f"N{number}" for number in range(10_000)]
    graph = CausalGraph(names, itertools.pairwise(names))
    assert not m_separated(graph, names[:1], names[-1:])
    assert m_separated(graph, names[:1], names[-1:], [names[5_000]])


def test_a_name_that_is_not_a_node_is_refused() -> None:
    with pytest.raises(GraphError, match='no node "Q"'):
        m_separated(CausalGraph.parse("X -> Y"), ["X"], ["Q"])


def test_cuts_take_away_what_they_say_and_keep_the_order() -> None:
    graph = CausalGraph.parse("A -> X; X -> B; X -> Y; A <-> X; X <-> Y; A <-> Y")
    assert without_edges_into(graph, ["X"]) == CausalGraph(["A", "X", "B", "Y"], [("X", "B"), ("X", "Y")], [("A", "Y")])
    assert without_edges_into(graph, []) is graph
    assert without_arrows(graph, ["X"]).directed == {("A", "X")}
    assert without_arrows(graph, ["X"], ["B"]).directed == {("A", "X"), ("X", "Y")}
    assert without_arrows(graph, ["X"]).bidirected == graph.bidirected
