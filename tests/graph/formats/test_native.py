"""whichdo's own JSON."""

from __future__ import annotations

import pytest

from tests.graph.formats.test_dagitty import refused
from whichdo.graph.admg import CausalGraph
from whichdo.graph.formats import parse_graph
from whichdo.graph.formats.native import write_json


def test_reads_all_keys() -> None:
    text = """{"nodes": ["X", "M", "Y"], "directed": [["X", "M"], ["M", "Y"]], "bidirected": [["X", "Y"]],
               "hidden": ["U"], "exposures": ["X"], "outcomes": ["Y"]}"""
    graph = CausalGraph("XMY", [("X", "M"), ("M", "Y")], [("X", "Y")], hidden="U", exposures="X", outcomes="Y")
    assert parse_graph(text) == graph


def test_one_of_nodes_and_directed_is_enough() -> None:
    assert parse_graph('{"nodes": ["X"]}') == CausalGraph("X")
    assert parse_graph('{"directed": [["X", "Y"]]}') == CausalGraph("XY", [("X", "Y")])


def test_hidden_nodes_are_projected() -> None:
    text = '{"hidden": ["U"], "directed": [["U", "X"], ["U", "Y"]]}'
    assert parse_graph(text) == CausalGraph("XY", [], [("X", "Y")], hidden="U")


def test_is_written_with_sorted_keys_and_plain_letters() -> None:
    written = '{"bidirected": [], "directed": [["é", "Y"]], "exposures": [], "hidden": [], "nodes": ["é", "Y"], '
    assert write_json(CausalGraph(directed=[("é", "Y")])) == written + '"outcomes": []}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"nodes": ["X"], "directed": [["X", "Z"]]}', 'directed[0][1]: "Z" is not in "nodes".'),
        ('{"nodes": ["Price"], "bidirected": [["Prise", "Price"]]}',
         'bidirected[0][0]: "Prise" is not in "nodes". Did you mean "Price"?'),
        ('{"nodes": ["X"], "outcomes": ["Y"]}', 'outcomes[0]: "Y" is not in "nodes".'),
        ('{"nodes": ["X", 1]}', "nodes[1]: expected a name in quotes, found a number."),
        ('{"directed": [["X", null]]}', "directed[0][1]: expected a name in quotes, found null."),
        ('{"directed": [["X", "Y"], ["X"]]}', 'directed[1]: expected two names, as in ["X", "Y"], found 1 of them.'),
        ('{"directed": [["X", "Y", "Z"]]}', "directed[0]: expected two names"),
        ('{"directed": ["XY"]}', 'directed[0]: expected two names, as in ["X", "Y"], found the text "XY".'),
        ('{"directed": {"X": "Y"}}', "directed: expected a list, found an object."),
        ('{"nodes": ["X", "X"]}', 'nodes[1]: the node "X" is listed twice.'),
        ('{"nodes": ["X"], "nodes": []}', 'the key "nodes" is given twice'),
        ('{"nodes": ["X"], "edges": []}', 'unknown key "edges".'),
        ('{"nodez": ["X"]}', 'unknown key "nodez". Did you mean "nodes"?'),
        ('{"bidirected": []}', 'neither "nodes" nor "directed" is given'),
        ('{"nodes": [NaN]}', "NaN is no JSON"),
        ('{"nodes": [Infinity]}', "Infinity is no JSON"),
        ('{"nodes": [' + "9" * 5000 + "]}", "nodes[0]: expected a name in quotes, found a number."),
        ('{"nodes": [""]}', "nodes[0]: the name"),
        ('{"nodes": ["\\ud800"]}', "U+D800"),
        ('{"nodes": ["a\\u202eb"]}', "U+202E"),
        ('{"directed": [["X", "X"]]}', 'directed[0]: "X" is joined to itself.'),
        ('{"nodes":\n ["X",]}', "line 2, column"),
        ('{"nodes": ["X"]} x', "line 1, column 18: this is no JSON: Extra data"),
        ("[1]", "the JSON holds a list: expected an object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"nodes": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ("{}", 'neither "nodes" nor "directed" is given'),
        ('{"nodes": []}', "The text is empty"),
    ],
)  # fmt: skip
def test_refuses(text: str, message: str) -> None:
    assert message in refused(text)
