"""Graphviz's DOT."""

from __future__ import annotations

import pytest

from tests.graph.formats.test_dagitty import edges, refused
from whichdo.errors import TooLargeError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.formats import parse_graph


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("A -> B; B -> C", "A->B B->C"),
        ("A -> B -> C D -> E", "A->B B->C D->E"),
        ('A -> B [dir=both]; C -> D [dir="back"]; E -> F [color=red, dir=forward];', "A<->B D->C E->F"),
        ("{A B} -> {C; D}", "A->C A->D B->C B->D"),
        ('subgraph cluster_0 { label="x"; A; B } -> C', "A->C B->C"),
        ("A -> subgraph { B -> C }", "A->B A->C B->C"),
        ("rankdir=LR; graph [bgcolor=white]; node [shape=box]; A -> B", "A->B"),
        ("edge [dir=both]; A -> B; {edge [dir=back]; C -> D}; E -> F", "A<->B D->C E<->F"),
        ("edge [dir=both]; A -> B [dir=forward]; C -> D", "A->B C<->D"),
        ("node [observed=no]; U; node [observed=yes]; U -> {A B}", "A<->B"),
        ("subgraph {node [latent=true]; U}; U -> A; U -> B", "A<->B"),
        ("node [latent=true]; U [label=x]; A [latent=false]; B [latent=no]; U -> A; U -> B", "A<->B"),
        ("A:n -> B:port:sw", "A->B"),
        ("A -> B // C -> D\n# E -> F\n /* G -> H */ I -> J", "A->B I->J"),
        ('"a\\\nb" -> C', "ab->C"),
        ("1 -> 2; 2 -> .5", "1->2 2->.5"),
        ("U [unobserved]; U -> A [penwidth=2][style=dashed]; U -> B", "A<->B"),
    ],
)
@pytest.mark.parametrize("head", ["digraph", "strict digraph G", 'DiGraph "a graph"', "// x\n\ndigraph"])
def test_reads(head: str, body: str, wanted: str) -> None:
    assert edges(f"{head} {{\n{body}\n}}") == set(wanted.split())


def test_attributes_give_roles() -> None:
    graph = parse_graph(
        'digraph { X [exposure=true, label="a"]; Y [outcome="yes"]; U [observed="no"]; X -> Y; U -> Y }'
    )
    assert graph == CausalGraph("XY", [("X", "Y")], hidden="U", exposures="X", outcomes="Y")


def test_defaults_hold_for_nodes_first_mentioned_under_them() -> None:
    """As in Graphviz: A was there before the default, B came under it."""
    assert parse_graph("digraph { A; node [latent=1]; A -> B }").hidden == {"B"}


def test_the_quick_way_and_the_slow_way_agree() -> None:
    """A comment behind each edge keeps the quick pattern from matching."""
    text = "digraph {\nnode [exposure=1]\nC -> A;\nB -> A;\nsubgraph { D -> E; } -> F;\nG -> H [dir=both];\n}"
    assert parse_graph(text) == parse_graph(text.replace(";", " /* */ ;"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph { A -- B }", 'line 1, column 1: this graph is undirected: a causal graph is a "digraph"'),
        ("strict graph { A -- B }", "line 1, column 8: this graph is undirected"),
        ("digraph { A -- B }", 'found "--" in "digraph { A -- B }". An undirected edge is not read'),
        ("digraph { A -> B [dir=none] }", 'dir is "none": an edge points "forward", "back", or "both" ways'),
        ("digraph { edge [dir=sideways]; A -> B }", 'dir is "sideways"'),
        ("digraph { A -> B [arrowhead=none] }", "arrowhead=none draws an edge without a head"),
        ("digraph { A -> B [arrowtail=odot, dir=both] }", "arrowtail=odot draws an edge without a head"),
        ("digraph { A -> <b>B</b> }", "Text in angle brackets (HTML) is not read"),
        ("digraph { A [label=<b>] }", "Text in angle brackets (HTML) is not read"),
        ('digraph { "A" + "B" -> C }', 'found "+"'),
        ("digraph { A.b -> C }", "Quote a name that holds more than letters, digits and underscores."),
        ("digraph { A-b }", 'found "-"'),
        ("digraph { A -1 }", 'Quote it if it is a name: "-1".'),
        ("digraph { 1a -> B }", 'Quote it if it is a name: "1a".'),
        ("digraph { A = B }", 'If an edge is meant, write "->" in place of "=".'),
        ("digraph { rankdri=LR }", 'Did you mean "rankdir"'),
        ("digraph { node -> B }", 'expected "[" after "node"'),
        ("digraph { A -> node; }", 'expected a node after "->", found "node"'),
        ("digraph { A -> }", 'expected a node after "->", found "}"'),
        ("digraph { A -> {} }", "this group is empty"),
        ("digraph { {A B} [latent] }", "Attributes belong to nodes and edges, not to a group."),
        ("digraph { A [latnet] }", 'Did you mean "latent"?'),
        ("digraph { A -> B [latent] }", '"latent" is not an attribute of an edge'),
        ("digraph { A [x=1 }", 'expected an attribute or "]"'),
        ("digraph { A [x=1", 'expected "]" to close the attributes opened at line 1, column 13'),
        ('digraph { A -> "B }', "this quote is never closed"),
        ("digraph { A /* -> B }", "this comment is never closed"),
        ("digraph { A #-> B }", 'found "#'),
        ("digraph { A -> B", 'expected "->", "[", ";" or "}", found the end of the text'),
        ("digraph { A -> B;", 'expected "}" to close the braces opened at line 1, column 9'),
        ("digraph { A -> B } digraph { C -> D }", 'expected the end of the text after the closing "}"'),
        ("digraph { A -> B }}", 'expected the end of the text after the closing "}"'),
        ("digraph { }", "The text is empty"),
        ("digraph { subgraph A }", 'expected "{" after "subgraph"'),
        ("digraph { A -> A }", "is a self-loop"),
        (
            "digraph { A:n; A -> B }",
            'line 1, column 12: a port is given where there is no edge. Write "->" for an edge.',
        ),
        ("digraph { A:B -> C; B -> C }", 'names a port "B", but "B" is a node'),
    ],
)
def test_refuses(text: str, message: str) -> None:
    assert message in refused(text)


def test_nesting_is_read_to_a_depth_of_a_thousand() -> None:
    assert edges("digraph " + "{" * 1_000 + "A -> B" + "}" * 1_000) == {"A->B"}
    with pytest.raises(TooLargeError, match="more than 1,000 groups or lists are open here"):
        parse_graph("digraph " + "{" * 1_002 + "A -> B" + "}" * 1_002)
