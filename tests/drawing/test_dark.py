"""On a dark screen every colour of a drawing has a counterpart that can be read."""

from __future__ import annotations

import re
from itertools import product

import pytest

from whichdo.checking.what_if import what_if
from whichdo.drawing.svg import DARK, KINDS, dark_rules, draw_svg
from whichdo.graph.admg import CausalGraph
from whichdo.problem import Problem
from whichdo.report import arm_pictures as intervals
from whichdo.report.page import TEMPLATES

COLOURS = (TEMPLATES / "colours.css").read_text(encoding="utf-8")
#: As easy to see in the dark as in the light.
KEPT = {"#8C8C8C"}
COLOUR = re.compile(r'(?:fill|stroke)="(#[0-9A-Fa-f]{3,6})"')


def contrast(one: str, other: str) -> float:
    """How far two colours are apart, from 1 to 21 (WCAG 2.1)."""

    def light(colour: str) -> float:
        parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
        r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    dim, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dim + 0.05)


def drawings() -> dict[str, str]:
    graph = CausalGraph.parse("A -> B -> C -> D -> E -> Y; A <-> Y")
    marks = dict(zip(graph.nodes, [kind for kind in KINDS if kind != "plain"], strict=False))
    rows = {"X": [0, 0, 1, 1] * 50, "Y": [0, 1, 1, 1] * 50}
    scale = intervals.Scale(0, 1)
    pairs = [(kind, intervals.Interval(0.5, 0.2, 0.8)) for kind in (intervals.ALL, intervals.LOOKING, intervals.DIRECT)]
    return {
        "a graph with every mark": draw_svg(graph, reward="Y", marks=marks),
        "what if": what_if(Problem("X -> Y", "Y"), rows).svg(),
        "arms": intervals.track(scale, pairs, 0.5, "words") + intervals.axis(scale),
        "a development": intervals.development_picture(
            scale, [(0, pairs[0][1]), (9, pairs[0][1])], 9, [(0, 0.1), (9, 0.2)]
        ),
    }


@pytest.mark.parametrize(("name", "drawing"), drawings().items(), ids=drawings().keys())
def test_every_colour_has_a_counterpart(name: str, drawing: str) -> None:
    known = {colour.upper() for colour in (*DARK, *KEPT)}
    assert {colour.upper() for colour in COLOUR.findall(drawing)} <= known


def test_text_and_lines_can_be_read_in_the_dark() -> None:
    ground, text = DARK["#FFFFFF"], DARK["#111111"]
    for kind in KINDS.values():
        assert contrast(text, DARK[kind.fill.upper()]) > 7
        assert contrast(DARK.get(kind.border, kind.border), ground) > 4.5
    for line in ("#333333", "#D55E00", "#0072B2", "#007A59", "#AA3377"):
        assert contrast(DARK[line], ground) > 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_of_a_page_can_be_read(scheme: str) -> None:
    blocks = COLOURS.split("@media")
    found = dict(re.findall(r"--([a-z-]+): (#[0-9a-fA-F]+);", blocks[scheme == "dark"]))
    full = {
        name: "#" + "".join(2 * c for c in value[1:]) if len(value) == 4 else value for name, value in found.items()
    }
    for words, ground in product(("ink", "faint", "link", "clear", "leaning"), ("ground", "band")):
        assert contrast(full[words], full[ground]) > 4.5, (words, ground)


def test_a_drawing_for_a_notebook_keeps_its_colours() -> None:
    graph = CausalGraph.parse("X -> Y")
    assert "prefers-color-scheme" in draw_svg(graph)
    assert "<style" not in draw_svg(graph, adapts=False)
    assert draw_svg(graph).replace(f"<style>{dark_rules('svg.causal')}</style>\n", "") == draw_svg(graph, adapts=False)
