"""Draft: names, limits, self-loops, cycles and roles, each by its words."""

from __future__ import annotations

import itertools
import random
import re
import time

import pytest

from tests import twins
from whichdo.errors import GraphError, Place, TooLargeError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.draft import MAX_EDGES, MAX_NAME, MAX_NODES, Draft, checked_name


def message(call: object, *arguments: object) -> str:
    """The words of the error a call ends in."""
    with pytest.raises(GraphError) as caught:
        call(*arguments)  # type: ignore[operator]
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------------- cycles


def test_a_cycle_is_shown_with_its_lines() -> None:
    draft = Draft()
    draft.arrow("Price", "Demand", Place(4, 1))
    draft.arrow("Demand", "Price", Place(9, 3))
    draft.arrow("Price", "Sales", Place(11, 1))
    assert message(draft.finish) == (
        "The graph has a cycle: Price -> Demand -> Price (lines 4, 9). Remove one of these edges."
    )


def test_a_cycle_on_one_line_and_one_without_lines() -> None:
    draft = Draft()
    for tail, head in ("AB", "BC", "CA"):
        draft.arrow(tail, head, Place(1, 1))
    assert message(draft.finish) == "The graph has a cycle: A -> B -> C -> A (line 1). Remove one of these edges."
    assert message(CausalGraph, (), ["AB", "BA"]) == ("The graph has a cycle: A -> B -> A. Remove one of these edges.")


def test_the_first_place_of_a_repeated_edge_is_shown() -> None:
    draft = Draft()
    draft.arrow("A", "B", Place(1, 1))
    draft.arrow("A", "B", Place(5, 1))
    draft.arrow("B", "A", Place(7, 1))
    assert "(lines 1, 7)" in message(draft.finish)


def test_a_shortest_cycle_is_shown() -> None:
    """Against the shortest of all simple cycles, on 1,000 random directed graphs that have one."""
    rng = random.Random(3)
    seen = 0
    while seen < 1000:
        nodes = "ABCDEFG"[: rng.randint(2, 7)]
        arrows = [pair for pair in itertools.permutations(nodes, 2) if rng.random() < rng.choice((0.15, 0.3))]
        shortest = next((size for size in range(2, 8) if _cycle_of(size, nodes, arrows)), None)
        if shortest is None:
            assert set(CausalGraph(nodes, arrows).nodes) == set(nodes)
            continue
        seen += 1
        words = message(CausalGraph, nodes, arrows)
        found = re.fullmatch(r"The graph has a cycle: (.*)\. Remove one of these edges\.", words)
        assert found is not None
        loop = found[1].split(" -> ")
        assert loop[0] == loop[-1]
        assert len(set(loop)) == len(loop) - 1 == shortest
        assert set(itertools.pairwise(loop)) <= set(arrows)


def _cycle_of(size: int, nodes: str, arrows: list[tuple[str, str]]) -> bool:
    walks = {(node, node) for node in nodes}
    for _ in range(size):
        walks = {(start, head) for start, here in walks for tail, head in arrows if tail == here}
    return any(start == here for start, here in walks)


def test_the_order_of_edges_does_not_change_the_message_about_a_lone_cycle() -> None:
    arrows = [("C", "A"), ("A", "B"), ("B", "C"), ("C", "D"), ("R", "A")]
    words = {message(CausalGraph, "RABCD", order) for order in itertools.permutations(arrows)}
    assert words == {"The graph has a cycle: A -> B -> C -> A. Remove one of these edges."}


@pytest.mark.parametrize("shape", ["one loop", "ladder", "dense"])
def test_a_cycle_in_a_large_graph_is_found_and_told_briefly(shape: str) -> None:
    names = [f"N{i}" for i in range(10_000)]
    arrows = list(zip(names, [*names[1:], names[0]], strict=True))
    if shape == "ladder":
        arrows += zip(names, names[2:], strict=False)
    if shape == "dense":
        arrows += [(names[i], names[i + step]) for i in range(9_900) for step in range(2, 20)]
    words = message(CausalGraph, names, arrows)
    assert words.startswith("The graph has a cycle: N")
    assert words.endswith(". Remove one of these edges.")
    assert len(words) < 2_000


@pytest.mark.slow("1 s: the largest graph there may be")
def test_a_cycle_among_150_000_edges_is_told_within_two_seconds() -> None:
    """Leaps forward of less than 300 and one back from N9500: a cycle has over 30 nodes, and the search is cut."""
    rng = random.Random(5)
    leaps = [(i, i + rng.randrange(1, 300)) for i in range(9_700) for _ in range(16)]
    text = "\n".join(f"N{tail} -> N{head}" for tail, head in leaps) + "\nN9500 -> N3"
    start = time.process_time()
    words = message(CausalGraph.parse, text)
    assert time.process_time() - start < 2
    assert words.startswith("The graph has a cycle: ")
    assert "N9500 -> N3" in words


# --------------------------------------------------------------------------------------------- edges and their ends


def test_a_self_loop_is_refused_with_its_place() -> None:
    assert message(Draft().arrow, "X", "X", Place(2, 5)) == (
        "line 2, column 5: X -> X is a self-loop: a node cannot act on itself. Remove this edge."
    )
    assert message(Draft().confounded, "X", "X") == (
        "X <-> X is a self-loop: a node cannot act on itself. Remove this edge."
    )


def test_a_self_loop_is_seen_through_two_spellings_of_one_name() -> None:
    assert "is a self-loop" in message(Draft().arrow, "caf\u00e9", "cafe\u0301")


def test_declaring_twice_is_harmless_and_adds_roles() -> None:
    draft = Draft()
    assert not draft
    draft.node("X")
    draft.node("X", exposure=True)
    draft.arrow("X", "Y")
    draft.arrow("X", "Y")
    draft.confounded("X", "Y")
    draft.confounded("Y", "X")
    draft.node("Y", outcome=True)
    assert draft
    graph = draft.finish()
    assert twins.plain(CausalGraph.of(graph)) == twins.from_fixture("XY", ["XY"], ["XY"])
    assert (graph.exposures, graph.outcomes) == (frozenset("X"), frozenset("Y"))


@pytest.mark.parametrize("role", ["exposure", "outcome"])
def test_a_hidden_node_cannot_have_a_role(role: str) -> None:
    draft = Draft()
    draft.arrow("U", "Y")
    draft.node("U", hidden=True, exposure=role == "exposure", outcome=role == "outcome")
    assert message(draft.finish) == (
        f'"U" is marked both hidden and {role}. A hidden variable is never observed; drop one of the two marks.'
    )


# -------------------------------------------------------------------------------------------------------- hidden nodes


def test_a_hidden_node_with_parents_or_three_children_is_projected_and_said_so() -> None:
    graph = CausalGraph(
        directed=[("A", "H"), ("H", "B"), *(("U", child) for child in "ABC"), ("V", "A"), ("V", "C")],
        hidden=["H", "U", "V"],
    )
    assert graph.nodes == ("A", "B", "C")
    assert graph.directed == {("A", "B")}
    assert graph.bidirected == {frozenset("AB"), frozenset("AC"), frozenset("BC")}
    assert graph.hidden == {"H", "U", "V"}
    assert set(graph.notes) == {
        "Hidden node H has its own causes: it was projected out.",
        "Hidden node U has 3 children: it was projected out.",
    }


def test_a_plain_common_cause_and_an_only_child_need_no_note() -> None:
    graph = CausalGraph(["A", "B"], [("U", "A"), ("U", "B"), ("V", "A")], hidden=["U", "V"])
    assert graph.bidirected == {frozenset("AB")}
    assert graph.notes == ()


def test_both_reasons_stand_in_one_note() -> None:
    graph = CausalGraph("ABCD", [("A", "H"), ("H", "B"), ("H", "C"), ("H", "D")], hidden=["H"])
    assert graph.notes == ("Hidden node H has its own causes and has 3 children: it was projected out.",)


# -------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("character", "what"),
    [
        ("\x00", "null"),
        ("\x1b", "escape"),
        ("\n", "line feed"),
        ("\x7f", "delete"),
        ("\x85", "next line"),
        ("\u202e", "right-to-left override"),
        ("\u2066", "left-to-right isolate"),
        ("\u200f", "right-to-left mark"),
        ("\u061c", "Arabic letter mark"),
        ("\u200b", "zero-width space"),
        ("\u200d", "zero-width joiner"),
        ("\u2060", "word joiner"),
        ("\ufeff", "byte order mark"),
        ("\u00ad", "soft hyphen"),
        ("\u2028", "line separator"),
        ("\u034f", "combining grapheme joiner"),
        ("\ufe0f", "variation selector"),
        ("\u3164", "Hangul filler"),
        ("\ud800", "half a surrogate pair"),
        ("\ue000", "private use"),
        ("\U000e0041", "tag"),
        ("\uffff", "no character"),
    ],
)
def test_a_name_that_could_deceive_is_refused(character: str, what: str) -> None:
    words = message(checked_name, f"a{character}b", Place(3, 1))
    code = f"U+{ord(character):04X}"
    assert words.startswith("line 3, column 1: the name 'a\\"), what
    assert words.endswith(f" holds {code}, a control, invisible or unassigned character. Remove it.")
    assert words.isprintable()
    assert words.isascii()


@pytest.mark.parametrize("name", ["", " ", "\t", " a", "a ", "\u00a0a", "a\u3000"])
def test_an_empty_or_blank_edged_name_is_refused(name: str) -> None:
    assert "is empty or begins or ends with a blank. Give it a visible name." in message(checked_name, name)


@pytest.mark.parametrize("name", ["X", "face mask", "Größe", "温度", "x->y", 'say "hi"', "a;b", "-", "0", "é", "№1"])
def test_a_printable_name_is_kept(name: str) -> None:
    assert checked_name(name) == name
    assert CausalGraph([name]).nodes == (name,)


def test_a_name_that_is_no_text_is_refused() -> None:
    assert message(checked_name, 3) == "a node's name must be a string, not int: 3."
    assert message(CausalGraph, [1, 2]) == "a node's name must be a string, not int: 1."
    assert message(CausalGraph, [["X"]]) == "a node's name must be a string, not list: ['X']."


def test_names_are_compared_in_composed_form() -> None:
    assert checked_name("A\u030a") == "\u00c5"
    assert CausalGraph(["\u212b", "A\u030a", "\u00c5"]).nodes == ("\u00c5",)


# ------------------------------------------------------------------------------------------------------------- limits


def test_names_of_128_characters_pass_and_129_do_not() -> None:
    assert (MAX_NAME, MAX_NODES, MAX_EDGES) == (128, 10_000, 200_000)
    assert checked_name("x" * 128) == "x" * 128
    assert checked_name("é " * 63 + "é") == "é " * 63 + "é"
    with pytest.raises(TooLargeError) as caught:
        checked_name("x" * 129, Place(1, 2))
    assert str(caught.value) == f'line 1, column 2: the name "{"x" * 57}..." has 129 characters; 128 are allowed.'
    with pytest.raises(TooLargeError, match="1,000,000 characters"):
        checked_name("é" * 1_000_000)


def test_ten_thousand_nodes_pass_and_one_more_does_not() -> None:
    draft = Draft()
    for number in range(10_000):
        draft.node(f"N{number}")
    draft.node("N3")
    with pytest.raises(TooLargeError) as caught:
        draft.node("one more", Place(10_001, 1))
    assert str(caught.value) == "line 10001, column 1: the graph has more than 10,000 nodes, the limit."
    assert len(draft.finish().nodes) == 10_000


def test_two_hundred_thousand_edges_pass_and_one_more_does_not() -> None:
    names = [f"N{i}" for i in range(1_000)]
    pairs = itertools.combinations(names, 2)
    draft = Draft()
    for tail, head in itertools.islice(pairs, 100_000):
        draft.arrow(tail, head)
        draft.confounded(tail, head)
    draft.arrow("N0", "N1")
    with pytest.raises(TooLargeError) as caught:
        draft.arrow(*next(pairs), Place(5, 6))
    assert str(caught.value) == "line 5, column 6: the graph has more than 200,000 edges, the limit."
