"""The listing for terminals, and the wrapping of labels."""

from __future__ import annotations

import pytest

from tests.drawing.graphs import LONG
from whichdo.drawing.labels import LINE_WIDTH, MAX_LINES, text_width, wrap
from whichdo.drawing.listing import draw_text
from whichdo.graph.admg import CausalGraph


def test_a_listing_has_aligned_columns() -> None:
    graph = CausalGraph(
        ["alone"],
        [("age", "mask"), ("age", "infected"), ("mask", "infected"), ("distance", "infected")],
        [("mask", "distance")],
    )
    assert draw_text(graph).splitlines() == [
        "alone",
        "age       -> mask, infected",
        "mask      -> infected  <-> distance",
        "distance  -> infected",
        "infected",
    ]


def test_a_graph_without_nodes_is_no_text() -> None:
    assert draw_text(CausalGraph()) == ""


def test_names_that_could_deceive_are_quoted() -> None:
    graph = CausalGraph(directed=[("a, b", "c -> d"), ('say "x"', "face mask")])
    assert draw_text(graph).splitlines() == [
        '"a, b"       -> "c -> d"',
        '"c -> d"',
        '"say \\"x\\""  -> face mask',
        "face mask",
    ]


def test_wide_characters_take_two_columns() -> None:
    assert draw_text(CausalGraph(directed=[("日本", "abcdef")])) == "日本    -> abcdef\nabcdef"


@pytest.mark.parametrize(
    "name", ["Y", "face mask", LONG, "W" * 128, "snake_case_" * 9, "CamelCase" * 9, "a b " * 30 + "c"]
)
def test_labels_stay_within_their_lines(name: str) -> None:
    lines = wrap(name)
    assert 1 <= len(lines) <= MAX_LINES
    assert all(line and text_width(line) <= LINE_WIDTH for line in lines)


def test_labels_break_at_blanks_and_joints() -> None:
    assert wrap("proportion of people who work from home") == ["proportion of", "people who work", "from home"]
    assert wrap("birth_weight_in_grams_discharge") == ["birth_weight_in_", "grams_discharge"]
    assert wrap("X") == ["X"]
