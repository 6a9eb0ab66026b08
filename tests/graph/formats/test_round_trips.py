"""What is written is read back equal: nodes in order, edges, hidden names, roles, in every format."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings

from tests.graph.formats.strategies import FORMATS, NASTY, graphs
from whichdo.graph.admg import CausalGraph
from whichdo.graph.formats import format_graph, parse_graph
from whichdo.graph.formats.gml import write_gml
from whichdo.graph.formats.scan import write_dagitty, write_text

SETTINGS = settings(
    max_examples=150, derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.slow("5 s: 150 strange graphs in every format; finds names that do not survive")
@pytest.mark.parametrize("name", FORMATS)
@SETTINGS
@given(graph=graphs())
def test_writing_then_reading_is_the_identity(name: str, graph: CausalGraph) -> None:
    assert parse_graph(format_graph(graph, name)) == graph


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("nasty", NASTY)
def test_a_nasty_name_survives_anywhere(name: str, nasty: str) -> None:
    graph = CausalGraph(["A", nasty, "Z"], [("A", nasty), (nasty, "Z")], [("A", nasty)], outcomes=[nasty])
    assert parse_graph(format_graph(graph, name)) == graph
    alone = CausalGraph([nasty], hidden=["H"])
    assert parse_graph(format_graph(alone, name)) == alone
    hidden = CausalGraph(["A"], hidden=[nasty])
    assert parse_graph(format_graph(hidden, name)) == hidden


@pytest.mark.parametrize("name", FORMATS)
def test_equal_graphs_are_written_alike(name: str) -> None:
    """Edges, hidden names and roles given in another order make the same text."""
    edges = [("A", "B"), ("A", "C"), ("B", "C")]
    one = CausalGraph("ABC", edges, [("A", "C"), ("A", "B")], hidden=["U", "V"], exposures=["A", "B"])
    two = CausalGraph("ABC", edges[::-1], [("B", "A"), ("C", "A")], hidden=["V", "U"], exposures=["B", "A"])
    assert format_graph(one, name) == format_graph(two, name)


def test_the_text_forms_look_like_this() -> None:
    graph = CausalGraph("XY", [("X", "Y")], [("X", "Y")], hidden=["U"], exposures="X", outcomes="Y")
    assert write_text(graph) == "X [exposure]; Y [outcome]; U [latent]; X -> Y; X <-> Y"
    assert write_dagitty(graph).split("\n")[:3] == ["dag {", "X [exposure]", "Y [outcome]"]


@pytest.mark.slow("1 s: 150 strange graphs through networkx; finds GML that only we can read")
@SETTINGS
@given(graph=graphs())
def test_networkx_reads_our_gml(graph: CausalGraph) -> None:
    """Names "[]" and "()" aside, which networkx turns into an empty list and an empty tuple."""
    plain = CausalGraph(graph.nodes, graph.directed)
    if {"[]", "()"} & set(plain.nodes):
        return
    read = nx.parse_gml(write_gml(plain))
    assert tuple(read.nodes) == plain.nodes
    assert frozenset(read.edges) == plain.directed
    assert read.is_directed()


@pytest.mark.slow("1 s: 150 strange graphs through networkx; finds GML that we cannot read")
@SETTINGS
@given(graph=graphs())
def test_we_read_the_gml_of_networkx(graph: CausalGraph) -> None:
    other = nx.DiGraph()
    other.add_nodes_from(graph.nodes)
    other.add_edges_from(graph.directed)
    assert parse_graph("\n".join(nx.generate_gml(other))) == CausalGraph(graph.nodes, graph.directed)
