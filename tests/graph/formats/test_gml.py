"""GML as DoWhy and networkx write it."""

from __future__ import annotations

import networkx as nx
import pytest

from tests.graph.formats.test_dagitty import edges, refused
from whichdo.errors import TooLargeError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.formats import parse_graph

DOWHY = (
    'graph[directed 1 node[id "Z" label "Z"] node[ id "U" label "Unobserved Confounders" observed "no"]'
    'node[id "X" label "X"]node[id "Y" label "Y"]edge[source "Z" target "X"] edge[source "X" target "Y"]'
    'edge[source "U" target "X"]edge[ source "U" target "Y"]]'
)
NODES = "node [id 1] node [id 2] node [id 3]"


def test_reads_dowhys_graph_on_one_line() -> None:
    graph = parse_graph(DOWHY)
    assert graph == CausalGraph("ZXY", [("Z", "X"), ("X", "Y")], [("X", "Y")], hidden=["Unobserved Confounders"])


def test_reads_networkx_with_attributes_of_all_kinds() -> None:
    other = nx.MultiDiGraph()
    other.add_node("U", observed="no", weight=1.5, tags=["a", "b"], nested={"deep": {"deeper": 1}})
    other.add_edge("U", 'A b & "c" é', weight=-1e-7)
    other.add_edge("U", "B")
    other.add_edge("B", 'A b & "c" é', key=0)
    text = "\n".join(nx.generate_gml(other))
    name = 'A b & "c" é'
    assert parse_graph(text) == CausalGraph(["B", name], [("B", name)], [("B", name)], hidden="U")


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("directed 1 edge [source 1 target 2]", "1->2"),
        ('directed 1 edge [source 1 target 2 dir "both"]', "1<->2"),
        ('directed 1 edge [source 1 target 2 dir "back" x "y"]', "2->1"),
        ("directed 1 edge [bidirected 1 source 1 target 2]", "1<->2"),
        ("directed 1 edge [bidirected 0 source 1 target 2]", "1->2"),
        ('directed 1 edge [source "1" target 2]', "1->2"),
        ("edge [source 1 target 2] directed 1", "1->2"),
        ('directed 1 edge [target 2 source 1 graphics [ type "line" Line [ point [ x 1 ] ] ] ]', "1->2"),
        ("directed 1\n# edge [source 1 target 3]\nedge [source 1 target 2]", "1->2"),
        ("directed 1 node [id 4 hidden 1] edge [source 4 target 1] edge [source 4 target 2]", "1<->2"),
        ("directed 1 node [id a label b] edge [source a target 1]", "b->1"),
    ],
)
def test_reads(body: str, wanted: str) -> None:
    assert edges(f'Creator "me" Version 1 graph [ {body} {NODES} ]') == set(wanted.split())


def test_roles() -> None:
    graph = parse_graph('graph [ node [id 1 exposure 1 latent 0] node [id 2 outcome 1 label "Y"] ]')
    assert graph == CausalGraph(["1", "Y"], exposures="1", outcomes="Y")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"graph [ {NODES} edge [source 1 target 2] ]",
         'line 1, column 1: the graph is undirected: that is what a missing "directed" means in GML.'),
        (f"graph [ directed 0 {NODES} edge [source 1 target 2] ]",
         "line 1, column 9: the graph is undirected: it says so."),
        (f"graph [ directed 2 {NODES} edge [source 1 target 2] ]", 'directed is "2": expected 1 or 0.'),
        (f"graph [ directed 1 {NODES} edge [source 1 target 2 directed 0] ]", "this edge is undirected"),
        (f'graph [ directed 1 {NODES} edge [source 1 target 2 dir "none"] ]', 'dir is "none"'),
        ('graph [ directed 1 node [id "alpha"] node [id "b"] edge [source "alpa" target "b"] ]',
         'an edge names the node "alpa", which is not declared. Did you mean "alpha"?'),
        ('graph [ directed 1 node [id 1 label "X"] node [id 2] edge [source "X" target 2] ]',
         'It is the label of the node with id "1"; edges go by id.'),
        ('graph [ node [id 1 label "X"] node [id 2 label "X"] ]',
         'line 1, column 42: the label "X" is given to two nodes.'),
        ("graph [ node [id 1] node [id 1] ]", 'line 1, column 27: the id "1" is given to two nodes.'),
        ("graph [ node [id 1 id 2] ]", "id is given twice for the same node"),
        ("graph [ node [label 1] ]", "line 1, column 9: this node has no id."),
        (f"graph [ directed 1 {NODES} edge [source 1] ]", "this edge has no target."),
        ("graph [ node [id 1 edge [source 1 target 2] ] ]", 'Is a "]" missing for the list at line 1, column 9?'),
        ("graph [ directed 1 egde [source 1 target 2] ]", '"source" is outside an edge'),
        ("graph [ directed 1 Edge [source 1 target 2] ]", 'expected "edge", found "Edge"'),
        ("graph [ directed 1", 'expected "]" to close the graph opened at line 1, column 1'),
        ("graph [ directed 1 ] ]", 'expected the end of the text, found "]"'),
        ("graph [ node [id 1] ] graph [ node [id 2] ]", "a second graph begins here"),
        ('graph [ name "x ]', "this quote is never closed"),
        ("graph [ directed 1 node [id 1] ; ]", 'expected a key or "]", found ";"'),
        ("graph [ directed ]", 'expected a number, text in quotes or "[" after "directed"'),
        ("graph [ directed 1 node 3 ]", 'expected "[" after "node", found "3"'),
        ("graph [ directed 1 ]", "The text is empty"),
    ],
)  # fmt: skip
def test_refuses(text: str, message: str) -> None:
    assert message in refused(text)


def test_nesting_is_read_to_a_depth_of_a_thousand() -> None:
    deep = "x [ " * 900 + "] " * 900
    assert parse_graph(f"graph [ {deep} node [ id 1 ] ]").nodes == ("1",)
    with pytest.raises(TooLargeError, match="more than 1,000 groups or lists are open here"):
        parse_graph("graph [ " + "x [ " * 1_001)
