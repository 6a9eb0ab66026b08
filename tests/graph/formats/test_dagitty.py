"""The short text form and dagitty's text."""

from __future__ import annotations

import random

import pytest

from tests.wheels import pgmpy_models
from whichdo.errors import GraphSyntaxError, Place, TooLargeError, WhichdoError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.formats import parse_graph

# Nodes, directed and bidirected edges in pgmpy's copies of dagitty's examples, counted with grep.
DAGITTY = {
    "Acid_1996": (18, 22, 0),
    "Kampen_2014": (12, 24, 0),
    "M-bias": (3, 1, 2),
    "Polzer_2012": (14, 69, 0),
    "Schipf_2010": (7, 14, 0),
    "Sebastiani_2005": (36, 60, 0),
    "Shrier_2008": (13, 19, 0),
    "confounding": (5, 7, 0),
    "mediator": (4, 5, 0),
    "paths": (17, 19, 0),
}


def edges(text: str) -> set[str]:
    graph = parse_graph(text)
    return {f"{tail}->{head}" for tail, head in graph.directed} | {"<->".join(sorted(p)) for p in graph.bidirected}


def refused(text: str) -> str:
    with pytest.raises(GraphSyntaxError) as error:
        parse_graph(text)
    return str(error.value)


# ---------------------------------------------------------------------------------------------------------- short form


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("X -> M; M -> Y; X <-> Y", "X->M M->Y X<->Y"),
        ("X->M;M->Y;X<->Y", "X->M M->Y X<->Y"),
        ("X -> M\nM -> Y\r\nX <-> Y\r", "X->M M->Y X<->Y"),
        ("A <- B", "B->A"),
        ("A -> B <- C <-> D", "A->B C->B C<->D"),
        ("{A B} -> C", "A->C B->C"),
        ("{A; B, C} -> {D E}", "A->D A->E B->D B->E C->D C->E"),
        ("A -> {B\n C} -> D", "A->B A->C B->D C->D"),
        ("A -> {B -> C}", "A->B A->C B->C"),
        ("{{A} {B {C}}} -> D", "A->D B->D C->D"),
        ("A <-> {B C}", "A<->B A<->C"),
        ("A -> B # C -> D\n// E -> F\nG -> H // x", "A->B G->H"),
        ("A -> B;; ; \n\n;C", "A->B"),
        ("U [latent]; U -> A; U -> B", "A<->B"),
        ('U [u, pos="1,2"]\nU -> {A B}', "A<->B"),
        ('A -> B [beta=-.3]; B -> C [pos="0,1"]', "A->B B->C"),
        ('"face mask" -> "a \\"b\\" \\\\"', 'face mask->a "b" \\'),
        ("graph -> dag; node -> graph", "graph->dag node->graph"),
        ("face-mask -> Y", "face-mask->Y"),
        ("A<-1; 1<-2", "1->A 2->1"),
        ("e\u0301 -> Y; Z -> \u00e9", "é->Y Z->é"),
    ],
)
def test_reads(text: str, wanted: str) -> None:
    assert edges(text) == set(wanted.split()) if "face mask" not in wanted else {wanted}


def test_nodes_come_in_order_of_mention() -> None:
    assert parse_graph("C; A; B").nodes == ("C", "A", "B")
    assert parse_graph("C <-> A; B <-> C; D <-> A; ").nodes == ("C", "A", "B", "D")


def test_an_arrow_to_the_left_mentions_its_left_end_first() -> None:
    """The quick way (ends in a semicolon) and the slow way (ends in a comment) agree."""
    slow, quick = parse_graph("A <- B #\nC <-> A #\n"), parse_graph("A <- B; C <-> A;")
    assert slow == quick == CausalGraph(["A", "B", "C"], [("B", "A")], [("A", "C")])


def test_attributes_give_roles() -> None:
    graph = parse_graph("X [exposure]; Y [o]; Z [adjusted]; U [unobserved]; X -> Y; U -> Z [beta=1]; V [latent=no]")
    assert (set(graph.exposures), set(graph.outcomes), set(graph.hidden)) == ({"X"}, {"Y"}, {"U"})
    assert "V" in graph


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X -> Y\n\nA => B",
         'line 3, column 3: expected "->", "<-", "<->", ";" or the end of the line, found "=>" in "A => B".'),
        ("A B -> C", 'line 1, column 3: expected "->", "<-", "<->", ";" or the end of the line, found "B" in "A B'),
        ("A B -> C", 'Put a name with blanks in quotes, "A B", or a semicolon between two statements.'),
        ("A, B -> C", "Put nodes that share an edge in braces, {A B} -> C"),
        ("A -> ", 'line 1, column 6: expected a name or "{" after "->", found the end of the text in "A ->".'),
        ("A ->\nB", 'line 1, column 5: expected a name or "{" after "->", found the end of the line'),
        ("-> B", 'line 1, column 1: expected a name or "{", found "->"'),
        ("A -> -> B", 'expected a name or "{" after "->", found "->"'),
        ("A -> {B", 'expected "}" to close the group opened at line 1, column 6'),
        ("A -> B}", 'This "}" closes nothing.'),
        ("A -> {}", "line 1, column 6: this group is empty, and no edge can end at nothing."),
        ("{} -> A", "line 1, column 1: this group is empty"),
        ("{A B} [latent]", "Attributes belong to one node or one edge, not to a group."),
        ('"A -> B', "line 1, column 1: this quote is never closed on its line"),
        ('"A\\n" -> B', 'line 1, column 3: "\\n" is not an escape'),
        ("X#1 -> Y", 'line 1, column 2: expected "->"'),
        ("A//B -> C", 'line 1, column 2: expected "->"'),
        ("A → B", 'found "→"'),
        ("A \u200b-> B", 'found "<U+200B>'),
        ("A -- B", "undirected and circle edges are not read"),
        ("A [exposure] -> B", "Attributes end a statement: write A [exposure]; A -> B."),
        ("A @-> B", "undirected and circle edges are not read"),
        ("A o-> B", 'line 1, column 3: expected "->"'),
        ("A -1", 'found "-1"'),
        ("-1 -> A", 'Quote it if it is one: "-1".'),
        ("A-B", "may be a name or an edge that lost its head. Put it in quotes if it is a name"),
        ("A-B -> C; A -> C", 'and "A" is a node'),
        ("C -> A-B; C -> B", 'and "B" is a node'),
        ("A [latnet]", 'line 1, column 4: "latnet" is not an attribute of a node. Did you mean "latent"?'),
        ("A [latent=perhaps]", 'latent is "perhaps": expected "yes" or "no"'),
        ("A [latent", 'expected "]" to close the attributes opened at line 1, column 3'),
        ("A [=2]", 'expected an attribute or "]", found "="'),
        ("A [pos=]", "expected a value in quotes, a word or a number"),
        ("A -> B [latent]", '"latent" is not an attribute of an edge'),
        ("A -> B [dir=both]", 'write a hidden common cause as "A <-> B"'),
        ("A [latent] -> B", 'expected ";" or the end of the line, found "->"'),
        ("A = B", 'found "="'),
        ("A -> A", "line 1, column 1: A -> A is a self-loop"),
        ("graph [latnet]", "latnet"),
    ],
)  # fmt: skip
def test_refuses(text: str, message: str) -> None:
    assert message in refused(text)


def test_an_error_knows_its_place() -> None:
    with pytest.raises(GraphSyntaxError) as error:
        parse_graph("A -> B\n  C => D")
    assert error.value.place == Place(2, 5)


# ------------------------------------------------------------------------------------------------------------- dagitty


@pytest.mark.parametrize("name", DAGITTY)
def test_reads_the_examples_of_dagitty(name: str) -> None:
    graph = parse_graph((pgmpy_models() / f"{name}.txt").read_text())
    assert (len(graph.nodes), len(graph.directed), len(graph.bidirected)) == DAGITTY[name]
    assert len(graph.exposures) == len(graph.outcomes) == 1


def test_m_bias_keeps_both_hidden_causes() -> None:
    graph = parse_graph((pgmpy_models() / "M-bias.txt").read_text())
    assert graph == CausalGraph("DEZ", [("E", "D")], [("D", "Z"), ("E", "Z")], exposures="E", outcomes="D")


def test_thoemmes_hides_four_nodes_with_one_child_each() -> None:
    graph = parse_graph((pgmpy_models() / "Thoemmes_2013.txt").read_text())
    assert graph.hidden == {"e0", "e1", "e3", "e4"}
    assert (len(graph.nodes), len(graph.directed), len(graph.bidirected)) == (9, 10, 0)


def test_didelez_is_read_with_a_note_on_its_selection_node() -> None:
    graph = parse_graph((pgmpy_models() / "Didelez_2010.txt").read_text())
    assert len(graph.directed) == 11
    assert [note.split(":")[0] for note in graph.notes] == ["S is marked as selected on"]


@pytest.mark.parametrize("text", ["S [selected]; X -> S", "dag { X -> S S [s] }", "dag { X -> S S [selected=1] }"])
def test_a_selection_node_is_noted(text: str) -> None:
    (note,) = parse_graph(text).notes
    assert note.endswith("what is computed from them is biased. Selection is not modelled.")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("dag{A->B C->D}", "A->B C->D"),
        ("dag { A -> B\n -> C\n D }", "A->B B->C"),
        ("dag { A\n->\nB }", "A->B"),
        ('dag "my graph" { bb="0,0,1,1" A -> B }', "A->B"),
        ("dag name { A -> B; }", "A->B"),
        ("DAG {A -> B}", "A->B"),
        ("# comment\n\n dag {A -> B}\n\n", "A->B"),
        ('dag { A [pos="-0.1,0.2",exposure] A -> B [pos="1,1"] B [outcome] }', "A->B"),
        ("dag { ParentalSmoking->Smoking { U [latent] } -> {Income->Smoking} }",
         "ParentalSmoking->Smoking Income->Smoking Income<->Smoking"),
        ("dag { bb -> A }", "bb->A"),
        ("dag { A {B C} -> D }", "B->D C->D"),
        ("dag { o -> A; B <- o }", "o->A o->B"),
    ],
)  # fmt: skip
def test_reads_dagitty(text: str, wanted: str) -> None:
    assert edges(text) == set(wanted.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pdag { A -- B }", '"pdag" begins a graph of another kind: only "dag" is a causal graph'),
        ("mag { A -> B }", '"mag" begins a graph of another kind'),
        ("pag { A -> B }", '"pag" begins a graph of another kind'),
        ("dag { A -- B }", 'found "--"'),
        ("dag { A o-> B }", "this may be a circle edge"),
        ("dag { A  o->B }", "this may be a circle edge"),
        ("dag { A <-o B }", "this may be a circle edge"),
        ("dag { A <-o\nB -> C }", "this may be a circle edge"),
        ("dag { A <-o  \n  B -> C\n}", "this may be a circle edge"),
        ("dag { X -> A\no-> B\nC -> D }", "this may be a circle edge"),
        ("dag { A o-o B }", '"o-o" may be a name or an edge'),
        ("dag { A o--o B }", "this may be a circle edge"),
        ("dag { A @-@ B }", 'found "@-@"'),
        ("dag { A = B }", 'found "="'),
        ("dag { A → B }", 'found "→"'),
        ("dag { A -1 }", 'found "-1"'),
        ("dag { A-B }", "may be a name or an edge that lost its head"),
        ("dag { A -> B", 'expected "}" to close the graph'),
        ("dag { A -> B } C", 'expected the end of the text after the closing "}", found "C"'),
        ("dag { A -> B } dag { C -> D }", 'expected the end of the text after the closing "}"'),
        ("dag { }", "is empty"),
    ],
)
def test_refuses_in_dagitty(text: str, message: str) -> None:
    assert message in refused(text)


# -------------------------------------------------------------------------------------------- no edge is lost silently

SIGNS = "- > < => = ==> --> -- <-- <> <->> ->- ~ ~> → ⟶ | @-> >- : + & .->."
BROKEN = [*SIGNS.split(), "- >", "- -"]


@pytest.mark.parametrize("frame", ["{}", "dag {{ {} }}", "digraph {{ {} }}"])
@pytest.mark.parametrize("blank", ["", " "])
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_edge_never_parses_to_fewer_edges(frame: str, blank: str, broken: str) -> None:
    """Any one of five edges is spelt wrongly: the text is refused, or still has all five."""
    pairs = [("X", "M"), ("M", "Y"), ("X", "Y"), ("Z", "X"), ("Z", "Y")]
    for wrong in range(len(pairs)):
        spelt = [f"{a}{blank}{broken if i == wrong else '->'}{blank}{b}" for i, (a, b) in enumerate(pairs)]
        for separator in ("; ", "\n"):
            try:
                graph = parse_graph(frame.format(separator.join(spelt)))
            except WhichdoError:
                continue
            assert len(graph.directed) + len(graph.bidirected) == len(pairs), spelt


def test_a_broken_character_never_loses_an_edge() -> None:
    """Each character of the arrows replaced by each sign that could stand there, 2,000 draws."""
    random.seed(20240501)
    good = "X -> M; M -> Y; X <-> Y; {A B} -> M"
    count = 5
    for _ in range(2_000):
        position = random.choice([i for i, sign in enumerate(good) if sign in "<->"])
        text = good[:position] + random.choice("<>-=~@|:+.&^!?*%$'`") + good[position + 1 :]
        try:
            graph = parse_graph(text)
        except WhichdoError:
            continue
        assert len(graph.directed) + len(graph.bidirected) == count, text


# --------------------------------------------------------------------------------------------------------------- limits


def test_nesting_is_read_to_a_depth_of_a_thousand() -> None:
    assert edges("{" * 1_000 + "A" + "}" * 1_000 + " -> B") == {"A->B"}
    with pytest.raises(TooLargeError, match="more than 1,000 groups or lists are open here"):
        parse_graph("{" * 1_001 + "A" + "}" * 1_001 + " -> B")


@pytest.mark.slow("0.6 s: 16 million edges in a few words; finds a reader that makes them all")
def test_groups_do_not_multiply_without_end() -> None:
    group = "{" + " ".join(f"n{i}" for i in range(400)) + "}"
    other = "{" + " ".join(f"m{i}" for i in range(400)) + "}"
    with pytest.raises(TooLargeError, match="the groups in braces stand for more than"):
        parse_graph("\n".join(f"{group} -> {other}" for _ in range(100)))
