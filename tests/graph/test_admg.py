"""CausalGraph: order, neighbours, c-components, subgraphs, equality."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
from typing import Any

import pytest

from tests import twins
from whichdo.errors import GraphError, UsageError
from whichdo.graph.admg import CausalGraph

FRONT_DOOR = CausalGraph(directed=[("X", "M"), ("M", "Y")], bidirected=[("X", "Y")])


def test_the_front_door_graph_answers_for_its_neighbours() -> None:
    graph = FRONT_DOOR
    assert graph.nodes == ("X", "M", "Y")
    assert graph.directed == frozenset({("X", "M"), ("M", "Y")})
    assert graph.bidirected == frozenset({frozenset({"X", "Y"})})
    assert graph.parents("Y") == ("M",)
    assert graph.children("X") == ("M",)
    assert graph.siblings("X") == ("Y",)
    assert graph.ancestors(["Y"]) == ("X", "M", "Y")
    assert graph.descendants(["M"]) == ("M", "Y")
    assert graph.c_components == (("X", "Y"), ("M",))
    assert graph.c_component("Y") == ("X", "Y")
    assert [graph.index(name) for name in graph.nodes] == [0, 1, 2]
    assert "M" in graph
    assert "N" not in graph
    assert 3 not in graph


def test_no_names_have_no_ancestors() -> None:
    assert FRONT_DOOR.ancestors([]) == ()
    assert FRONT_DOOR.descendants([]) == ()


def test_nodes_stand_in_topological_order_with_ties_by_first_mention() -> None:
    graph = CausalGraph(["Q", "Y"], [("Z", "Y"), ("A", "Z")], [("B", "Q")])
    assert graph.nodes == ("Q", "A", "Z", "Y", "B")


@pytest.mark.slow("2 s: many random graphs by the definitions")
def test_order_neighbours_and_c_components_agree_with_the_definitions() -> None:
    """On all ADMGs of up to 4 nodes and 5,000 random ones, declared in a shuffled order."""
    rng = random.Random(1)
    for mixed in twins.many_mixed():
        nodes = rng.sample(mixed.nodes, len(mixed.nodes))
        graph = CausalGraph(nodes, mixed.arrows, mixed.bows)
        assert list(graph.nodes) == twins.order_by_mention(nodes, mixed.arrows)
        assert graph.directed == mixed.arrows
        assert graph.bidirected == mixed.bows
        for node in nodes:
            component = twins.c_component(mixed, node)
            assert set(graph.c_component(node)) == component
            assert graph.c_component(node) == tuple(name for name in graph.nodes if name in component)
            assert set(graph.parents(node)) == mixed.parents(node)
            assert set(graph.children(node)) == mixed.children(node)
            assert set(graph.ancestors([node])) == twins.ancestors(mixed, [node])
        assert sorted(name for component in graph.c_components for name in component) == sorted(nodes)


def test_subgraphs_and_descendants_agree_with_the_definitions() -> None:
    rng = random.Random(2)
    for mixed in twins.many_mixed()[::5]:
        graph = mixed.graph()
        names = twins.random_subset(rng, mixed.nodes)
        assert twins.plain(graph.subgraph(names)) == mixed.induced(names)
        assert set(graph.descendants(names)) == {
            node for node in mixed.nodes if twins.ancestors(mixed, [node]) & set(names)
        }


def test_a_subgraph_keeps_the_roles_of_the_nodes_it_keeps() -> None:
    graph = CausalGraph(directed=[("X", "M"), ("M", "Y")], exposures=["X", "M"], outcomes=["Y"])
    part = graph.subgraph(["M", "Y"])
    assert (part.exposures, part.outcomes) == (frozenset({"M"}), frozenset({"Y"}))
    assert graph.subgraph(["X"]).outcomes == frozenset()


def test_equality_counts_nodes_in_order_edges_and_roles_but_not_notes() -> None:
    same = CausalGraph(["X", "M", "Y"], [("M", "Y"), ("X", "M")], [frozenset({"Y", "X"})])
    assert same == FRONT_DOOR
    assert hash(same) == hash(FRONT_DOOR)
    assert CausalGraph(directed=[("X", "M"), ("M", "Y")]) != FRONT_DOOR
    assert CausalGraph(["A", "B"]) != CausalGraph(["B", "A"])
    assert CausalGraph(["A"], exposures=["A"]) != CausalGraph(["A"])
    assert CausalGraph(["A"], hidden=["U"]) != CausalGraph(["A"])
    assert FRONT_DOOR != "X -> M"
    noted = CausalGraph(directed=[("A", "H"), ("H", "B")], hidden=["H"])
    silent = CausalGraph.assemble(noted.nodes, noted.parent_ids, noted.sibling_ids, hidden=["H"])
    assert noted.notes
    assert not silent.notes
    assert noted == silent


def test_a_graph_survives_pickle_and_copies_with_roles_and_notes() -> None:
    graph = CausalGraph(
        directed=[("X", "H"), ("H", "Y")], bidirected=[("X", "Z")], hidden=["H"], exposures=["X"], outcomes=["Y"]
    )
    for twin in (pickle.loads(pickle.dumps(graph)), copy.copy(graph), copy.deepcopy(graph)):
        assert twin == graph
        assert hash(twin) == hash(graph)
        assert twin.notes == graph.notes != ()


def test_a_graph_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="a CausalGraph cannot be changed; make a new one"):
        FRONT_DOOR.nodes = ("X",)
    with pytest.raises(AttributeError, match="cannot be changed"):
        FRONT_DOOR.anything = 1
    with pytest.raises(AttributeError, match="cannot be changed"):
        del FRONT_DOOR.nodes
    assert FRONT_DOOR.nodes == ("X", "M", "Y")


def test_an_unknown_node_is_named_with_the_nearest() -> None:
    graph = CausalGraph(directed=[("Price", "Demand")], hidden=["Weather"])
    with pytest.raises(GraphError) as caught:
        graph.parents("Pric")
    assert str(caught.value) == 'The graph has no node "Pric". Did you mean "Price"?'
    for ask in (graph.children, graph.siblings, graph.c_component, graph.index):
        with pytest.raises(GraphError, match=r'^The graph has no node "Q"\.$'):
            ask("Q")
    for ask_many in (graph.ancestors, graph.descendants, graph.subgraph):
        with pytest.raises(GraphError, match='no node "Q"'):
            ask_many(["Price", "Q"])


def test_a_hidden_node_is_said_to_be_hidden() -> None:
    graph = CausalGraph(directed=[("U", "X"), ("U", "Y")], hidden=["U"])
    with pytest.raises(GraphError) as caught:
        graph.index("U")
    assert str(caught.value) == '"U" is hidden: it was projected out of the graph and cannot be observed.'


def test_a_name_is_found_however_its_accents_are_composed() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    graph = CausalGraph(directed=[(decomposed, "Y")])
    assert graph.nodes == (composed, "Y")
    assert graph.index(decomposed) == graph.index(composed) == 0
    assert decomposed in graph
    assert graph.children(decomposed) == ("Y",)
    assert CausalGraph([decomposed], [(composed, "Y")]) == graph


def test_a_bidirected_edge_with_one_end_is_a_self_loop() -> None:
    with pytest.raises(GraphError, match="X <-> X is a self-loop"):
        CausalGraph(bidirected=[frozenset({"X"})])


def test_the_empty_graph_is_a_graph() -> None:
    graph = CausalGraph()
    assert graph.nodes == ()
    assert graph.c_components == ()
    assert graph.directed == frozenset()
    assert graph.bidirected == frozenset()


def test_repr_of_a_small_graph_reads_back_and_of_a_large_one_is_short() -> None:
    assert eval(repr(FRONT_DOOR)) == FRONT_DOOR
    large = CausalGraph([f"N{i}" for i in range(21)], [("N0", "N1")])
    assert repr(large) == "<CausalGraph of 21 nodes, 1 ->, 0 <->>"


@pytest.mark.slow("0.3 s: chains of 10,000 nodes; finds a search that recurses")
@pytest.mark.parametrize("kind", ["directed", "bidirected"])
def test_chains_of_ten_thousand_nodes_are_quick_and_do_not_recurse(kind: str) -> None:
    names = [f"N{i}" for i in range(10_000)]
    chain = list(itertools.pairwise(names))
    graph = CausalGraph(names, chain if kind == "directed" else (), chain if kind == "bidirected" else ())
    if kind == "directed":
        assert graph.ancestors([names[-1]]) == graph.descendants([names[0]]) == tuple(names)
    else:
        assert graph.c_components == (tuple(names),)
    assert pickle.loads(pickle.dumps(graph)) == graph


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ((["A"], [("A",)]), GraphError, "`directed` lists \"('A',)\"; each edge is a pair of names"),
        ((["A"], [("A", "B", "C")]), GraphError, "each edge is a pair of names"),
        ((["A"], [3]), GraphError, '`directed` lists "3"; each edge is a pair of names, such as ("X", "Y").'),
        ((["A"], [], [("A",)]), GraphError, "`bidirected` lists"),
        (("X -> Y",), UsageError, '`nodes` is the string "X -> Y"; give a list. CausalGraph.parse(text) reads'),
        ((5,), UsageError, "`nodes` is int; give a list."),
        ((["A"], 5), UsageError, "`directed` is int; give a list."),
    ],
)
def test_parts_that_are_no_lists_of_names_and_pairs_are_refused(
    arguments: tuple[Any, ...], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind) as caught:
        CausalGraph(*arguments)
    assert words in str(caught.value)
