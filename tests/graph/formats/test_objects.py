"""Objects of other packages become graphs, or a hint that says how."""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from whichdo.errors import GraphError, UsageError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.formats.objects import graph_from

XY = CausalGraph(directed=[("X", "Y")])
CONFOUNDED = CausalGraph(nodes=["X", "Y"], directed=[("X", "Y")], bidirected=[("X", "Y")], hidden=["U"])


@pytest.fixture
def nx() -> Any:
    return pytest.importorskip("networkx")


@pytest.fixture
def pgmpy() -> Any:
    pytest.importorskip("pgmpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgmpy.base
        import pgmpy.models

        return pgmpy


def refused(obj: object, kind: type[Exception] = GraphError) -> str:
    with pytest.raises(kind) as caught:
        graph_from(obj)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------------- networkx


def test_a_digraph_keeps_the_order_of_its_nodes(nx: Any) -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from(["Z", "B", "A"])
    graph.add_edge("B", "A", weight=2, label="strong")
    assert graph_from(graph) == CausalGraph(nodes=["Z", "B", "A"], directed=[("B", "A")])


@pytest.mark.parametrize(
    "mark",
    [{"observed": "no"}, {"observed": False}, {"latent": True}, {"hidden": "yes"}, {"unobserved": True}, {"Latent": 1}],
)
def test_a_node_is_hidden_by_its_attribute(nx: Any, mark: dict[str, object]) -> None:
    graph = nx.DiGraph([("U", "X"), ("U", "Y"), ("X", "Y")])
    graph.nodes["U"].update(mark)
    graph.nodes["X"].update(observed="yes", hidden=False)
    assert graph_from(graph) == CONFOUNDED


def test_attributes_give_roles_as_in_text(nx: Any) -> None:
    graph = nx.DiGraph([("X", "Y"), ("S", "Y")])
    graph.nodes["X"].update(exposure=True, outcome=False, colour="red")
    graph.nodes["Y"].update(outcome="yes", adjusted=True)
    graph.nodes["S"].update(selected=1, latent=None)
    found = graph_from(graph)
    assert found == CausalGraph.parse("X [exposure]; Y [outcome]; S [selected]; X -> Y; S -> Y")
    assert len(found.notes) == 1
    assert found.notes[0].startswith("S is marked as selected on")
    graph.nodes["X"]["Exposure"] = False
    assert '"X" is both exposure and not by its attributes' in refused(graph)
    graph.nodes["Y"]["outcome"] = 0.3
    graph.nodes["X"].clear()
    assert 'The node "Y" has outcome=0.3. Write True or False.' in refused(graph)


def test_a_node_is_hidden_by_argument(nx: Any) -> None:
    edges = [("U", "X"), ("U", "Y"), ("X", "Y")]
    for form in (nx.DiGraph(edges), nx.MultiDiGraph(edges), edges, graph_from(edges)):
        assert graph_from(form, hidden=["U"]) == CONFOUNDED


def test_an_unknown_hidden_name_or_mark_is_an_error(nx: Any) -> None:
    with pytest.raises(UsageError, match='hidden names "Market", which is not a node of this graph'):
        graph_from([("market", "Y")], hidden=["Market"])
    with pytest.raises(UsageError, match="hidden must be a list of names"):
        graph_from([("U", "Y")], hidden="U")
    graph = nx.DiGraph([("X", "Y")])
    graph.nodes["X"]["observed"] = "sometimes"
    assert "The node \"X\" has observed='sometimes'." in refused(graph)
    graph.nodes["X"].update(observed=True, hidden=True)
    assert '"X" is both hidden and observed' in refused(graph)


@pytest.mark.parametrize(
    "attributes", [{"dir": "both"}, {"type": "bidirected"}, {"edge_type": "<->"}, {"bidirected": True}]
)
def test_a_bidirected_edge_is_known_by_its_attribute(nx: Any, attributes: dict[str, object]) -> None:
    graph = nx.MultiDiGraph([("X", "Y")])
    graph.add_edge("X", "Y", **attributes)
    assert graph_from(graph) == CausalGraph(directed=[("X", "Y")], bidirected=[("X", "Y")])


def test_an_edge_drawn_backwards_is_turned(nx: Any) -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from("XY")
    graph.add_edge("Y", "X", dir="back")
    assert graph_from(graph) == XY


@pytest.mark.parametrize(
    "attributes",
    [{"dir": "none"}, {"type": "undirected"}, {"edge_type": "o->"}, {"arrowhead": "none"}, {"arrowtail": "normal"}],
)
def test_an_edge_that_is_not_understood_is_an_error(nx: Any, attributes: dict[str, object]) -> None:
    graph = nx.DiGraph()
    graph.add_edge("X", "Y", **attributes)
    key = next(iter(attributes))
    assert f'The edge ("X", "Y") has {key}=' in refused(graph)


def test_an_edge_that_contradicts_itself_is_an_error(nx: Any) -> None:
    graph = nx.DiGraph()
    graph.add_edge("X", "Y", dir="back", type="directed")
    assert "contradicts itself: it is -> and <-" in refused(graph)


def test_undirected_graphs_numbers_as_names_cycles_and_nothing_are_errors(nx: Any) -> None:
    assert "This Graph is undirected" in refused(nx.Graph([("X", "Y")]))
    assert "This MultiGraph is undirected" in refused(nx.MultiGraph([("X", "Y")]))
    message = refused(nx.DiGraph([(1, 2)]), UsageError)
    assert "The node 1 is of type int; names must be strings." in message
    assert "nx.relabel_nodes(graph, str)" in message
    assert "cycle: X -> Y -> X" in refused(nx.DiGraph([("X", "Y"), ("Y", "X")]))
    assert refused(nx.DiGraph()) == "This DiGraph is empty: it has no node and no edge."
    assert "cannot be made from <class" in refused(nx.DiGraph, UsageError)


# ---------------------------------------------------------------------------------------------------------------- pgmpy


def test_a_pgmpy_dag_brings_its_roles(pgmpy: Any) -> None:
    edges = [("U", "X"), ("U", "Y"), ("X", "Y")]
    dag = pgmpy.base.DAG(edges, latents={"U"}, roles={"exposures": {"X"}, "outcomes": {"Y"}})
    expected = CausalGraph(
        nodes=["X", "Y"], directed=[("X", "Y")], bidirected=[("X", "Y")], hidden=["U"], exposures=["X"], outcomes=["Y"]
    )
    assert graph_from(dag) == expected


def test_a_pgmpy_network_is_a_graph(pgmpy: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = pgmpy.models.DiscreteBayesianNetwork([("U", "X"), ("U", "Y"), ("X", "Y")], latents={"U"})
    assert graph_from(network) == CONFOUNDED


def test_a_pgmpy_admg_keeps_both_kinds_of_edges(pgmpy: Any) -> None:
    admg = pgmpy.base.ADMG(directed_ebunch=[("X", "Y"), ("Z", "Y")], bidirected_ebunch=[("X", "Z"), ("X", "Y")])
    graph = graph_from(admg)
    assert graph.directed == {("X", "Y"), ("Z", "Y")}
    assert graph.bidirected == {frozenset("XZ"), frozenset("XY")}
    assert graph.hidden == frozenset()


def test_a_pgmpy_pdag_must_be_directed(pgmpy: Any) -> None:
    assert graph_from(pgmpy.base.PDAG(directed_ebunch=[("X", "Y")])) == XY
    pdag = pgmpy.base.PDAG(directed_ebunch=[("X", "Y")], undirected_ebunch=[("Y", "Z")])
    assert "This PDAG has 1 undirected edges, such as Y - Z" in refused(pdag)


def test_a_pgmpy_mag_is_no_causal_graph(pgmpy: Any) -> None:
    mag = pgmpy.base.MAG(ebunch=[("X", "Y", "-", ">")])
    assert "This MAG is an ancestral graph" in refused(mag)


# --------------------------------------------------------------------------------------------------------------- others


@dataclass(frozen=True)
class Variable:
    """As y0's: a name that may carry a star."""

    name: str
    star: str = ""

    def __str__(self) -> str:
        return self.name + self.star


@dataclass
class Mixed:
    """As y0's NxMixedGraph."""

    directed: Any
    undirected: Any = field(default=None)


def test_a_mixed_graph_of_two_networkx_graphs(nx: Any) -> None:
    x, y = Variable("X"), Variable("Y")
    assert graph_from(Mixed(nx.DiGraph([(x, y)]), nx.Graph([(y, x)]))) == CausalGraph(
        directed=[("X", "Y")], bidirected=[("X", "Y")]
    )
    assert "names must be strings" in refused(Mixed(nx.DiGraph([(x, Variable("Y", "*"))]), nx.Graph()), UsageError)


def test_pairs_are_cause_and_effect() -> None:
    assert graph_from([("X", "Y")]) == graph_from((["X", "Y"],)) == XY
    assert "found 'XY' in it" in refused(["XY"], UsageError)
    assert "names must be strings" in refused([(1, 2)], UsageError)
    assert "list is empty" in refused([])


def test_a_causal_graph_is_itself() -> None:
    assert graph_from(XY) == XY


@pytest.mark.parametrize(
    ("obj", "hint"),
    [
        ("X -> Y", "CausalGraph.parse(text)"),
        ({"Y": ["X"]}, "[(parent, node) for node in d for parent in d[node]]"),
        (3, "cannot be made from 3 (int). Accepted are a networkx DiGraph"),
        (SimpleNamespace(nodes=["X"], edges=[]), "Accepted are a networkx DiGraph"),
        (
            type("Graph", (), {"__module__": "igraph"})(),
            "A graph of igraph (Graph) is not read directly. Give [(g.vs[e.source]",
        ),
        (type("CausalModel", (), {"__module__": "dowhy.causal_model"})(), "model._graph._graph"),
        (type("GeneralGraph", (), {"__module__": "causallearn.graph"})(), "stands for several causal graphs"),
    ],
)
def test_anything_else_gets_a_hint(obj: object, hint: str) -> None:
    assert hint in refused(obj, UsageError)


def test_no_package_is_imported() -> None:
    code = (
        "import sys; from whichdo.graph.formats.objects import graph_from; graph_from([('X', 'Y')]); "
        "assert not {'networkx', 'pgmpy', 'y0', 'numpy'} & set(sys.modules), sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
