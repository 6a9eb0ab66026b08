"""Every single edit of a graph, against trying all edges one by one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checking.random_worlds import random_graph
from tests.soak import scaled
from whichdo.checking.edits import MOST_EDITS, Edit, single_edits
from whichdo.errors import GraphError, TooLargeError, UsageError
from whichdo.graph.admg import CausalGraph


def one_edge_away(graph: CausalGraph, among: tuple[str, ...]) -> dict[str, CausalGraph]:
    """Every graph that differs by one edge, by the words of the edit; a cycle is refused when the graph is made."""
    found = {}
    for tail in among:
        for head in among:
            if tail == head:
                continue
            there = (tail, head) in graph.directed
            directed = graph.directed ^ {(tail, head)}
            if there or (head, tail) not in graph.directed:
                try:
                    made = CausalGraph(graph.nodes, sorted(directed), graph.bidirected)
                except GraphError:
                    continue
                found[f"{'drop' if there else 'add'} {tail} -> {head}"] = made
            if graph.index(tail) < graph.index(head):
                there = frozenset((tail, head)) in graph.bidirected
                bidirected = graph.bidirected ^ {frozenset((tail, head))}
                found[f"{'drop' if there else 'add'} {tail} <-> {head}"] = CausalGraph(
                    graph.nodes, sorted(graph.directed), bidirected
                )
    return found


def test_edits_are_all_graphs_that_differ_by_one_edge_each_once() -> None:
    rng = np.random.default_rng(1)
    for _ in range(scaled(800, 40)):
        graph = random_graph(rng, int(rng.integers(1, 7)), rng.random(), rng.random())
        among = graph.ancestors(["Y"])
        edits = single_edits(graph, among)
        assert {str(edit): edit.apply(graph) for edit in edits} == one_edge_away(graph, among)
        assert len({str(edit) for edit in edits}) == len(edits)


def test_a_complete_graph_has_only_edges_to_drop() -> None:
    names = [f"V{j}" for j in range(6)]
    pairs = [(names[i], names[j]) for j in range(6) for i in range(j)]
    graph = CausalGraph(names, pairs, pairs)
    edits = single_edits(graph, names)
    assert len(edits) == 2 * len(pairs)
    assert not any(edit.adds for edit in edits)


def test_an_edited_graph_keeps_names_of_hidden_variables_and_roles() -> None:
    graph = CausalGraph.parse("U [latent]; U -> {A Y}; A -> Y; B -> Y; A [exposure]; Y [outcome]")
    for edit in single_edits(graph, graph.nodes):
        made = edit.apply(graph)
        assert (made.hidden, made.exposures, made.outcomes) == (graph.hidden, graph.exposures, graph.outcomes)


def test_too_many_edits_are_refused_before_any_is_made() -> None:
    graph = CausalGraph([f"V{j}" for j in range(5000)])
    with pytest.raises(
        TooLargeError, match=r"5,000 nodes can be joined in 24,995,000 ways or more; at most 20,000 edits"
    ):
        single_edits(graph, graph.nodes)
    # Just below the number that is refused for the pairs alone, where arrows in both directions are too many.
    few = CausalGraph([f"V{j}" for j in range(130)])
    with pytest.raises(TooLargeError, match=r"There are 25,155 edits among 130 nodes"):
        single_edits(few, few.nodes)
    assert len(single_edits(few, few.nodes[:20])) == 570 < MOST_EDITS


def test_nodes_are_given_as_a_list() -> None:
    with pytest.raises(UsageError, match='`among` is the text "XY"'):
        single_edits(CausalGraph.parse("X -> Y"), "XY")
    with pytest.raises(GraphError, match="no node"):
        single_edits(CausalGraph.parse("X -> Y"), ["Z"])


def test_an_edit_says_what_it_does() -> None:
    edit = Edit(adds=True, hidden=True, tail="work from home", head="infection")
    assert (str(edit), edit.edge) == ("add work from home <-> infection", "work from home <-> infection")
