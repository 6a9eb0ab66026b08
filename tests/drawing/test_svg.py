"""The SVG as a reader of the file sees it: parsed, measured, never compared with a stored picture."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest

from tests.drawing.graphs import BOW, FRONT_DOOR, GRAPHS, HOSTILE, LONG, random_graph
from whichdo.drawing.curves import sample
from whichdo.drawing.svg import KINDS, draw_svg
from whichdo.errors import GraphError, TooLargeError, UsageError
from whichdo.graph.admg import CausalGraph

SVG = "{http://www.w3.org/2000/svg}"
Point = tuple[float, float]


@cache
def drawn(name: str) -> ET.Element:
    """One of the graphs as it was drawn, parsed; many tests look at it, none changes it."""
    return ET.fromstring(draw_svg(GRAPHS[name]))


class Area(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def holds(self, point: Point, margin: float = 0.0) -> bool:
        return (
            self.left - margin < point[0] < self.right + margin and self.top - margin < point[1] < self.bottom + margin
        )

    def borders(self, point: Point) -> bool:
        """On the border, up to the rounding of coordinates."""
        return self.holds(point, 0.2) and not self.holds(point, -0.2)


def numbers(path: str) -> list[Point]:
    found = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", path)]
    return list(zip(found[::2], found[1::2], strict=True))


def groups(root: ET.Element, kind: str) -> list[ET.Element]:
    return [group for group in root.iter(f"{SVG}g") if kind in group.get("class", "").split()]


def areas(root: ET.Element) -> dict[str, Area]:
    found = {}
    for group in groups(root, "node"):
        box = group.find(f"{SVG}rect")
        assert box is not None
        x, y, width, height = (float(box.get(key, "nan")) for key in ("x", "y", "width", "height"))
        found[group.get("data-name", "")] = Area(x, y, x + width, y + height)
    return found


def ends(group: ET.Element) -> tuple[str, str]:
    return group.get("data-from", ""), group.get("data-to", "")


def line(group: ET.Element) -> list[Point]:
    path = group.find(f"{SVG}path[@class='line']")
    assert path is not None
    return numbers(path.get("d", ""))


def tips(group: ET.Element) -> list[Point]:
    """The tips of the arrow heads, that at the edge's end first."""
    return [numbers(path.get("d", ""))[0] for path in group.findall(f"{SVG}path[@class='head']")]


@pytest.mark.parametrize("name", GRAPHS)
def test_every_node_and_edge_is_drawn_once(name: str) -> None:
    graph = GRAPHS[name]
    root = drawn(name)
    directed = [ends(group) for group in groups(root, "directed")]
    hidden = [ends(group) for group in groups(root, "hidden")]
    assert [group.get("data-name") for group in groups(root, "node")] == list(graph.nodes)
    assert len(directed) == len(graph.directed)
    assert set(directed) == graph.directed
    assert len(hidden) == len(graph.bidirected)
    assert {frozenset(pair) for pair in hidden} == graph.bidirected


@pytest.mark.parametrize("name", GRAPHS)
def test_boxes_are_apart(name: str) -> None:
    for one, two in combinations(areas(drawn(name)).values(), 2):
        assert one.right < two.left or two.right < one.left or one.bottom < two.top or two.bottom < one.top


@pytest.mark.parametrize("name", GRAPHS)
def test_edges_end_on_the_borders_of_their_boxes(name: str) -> None:
    root = drawn(name)
    boxes = areas(root)
    for group in groups(root, "directed"):
        tail, head = ends(group)
        assert boxes[tail].borders(line(group)[0])
        (tip,) = tips(group)
        assert boxes[head].borders(tip)
    for group in groups(root, "hidden"):
        first, second = ends(group)
        at_second, at_first = tips(group)
        assert boxes[first].borders(at_first)
        assert boxes[second].borders(at_second)


@pytest.mark.parametrize("name", GRAPHS)
def test_no_edge_runs_through_a_box(name: str) -> None:
    """Neither through its own two, into which it only leads, nor through any other."""
    root = drawn(name)
    boxes = areas(root)
    for group in groups(root, "edge"):
        for point in sample(line(group), 2.0):
            assert not any(box.holds(point, -0.2) for box in boxes.values()), ends(group)


@pytest.mark.parametrize("name", GRAPHS)
def test_all_lies_on_the_canvas(name: str) -> None:
    root = ET.fromstring(draw_svg(GRAPHS[name], title="A title"))
    left, top, width, height = map(float, root.get("viewBox", "").split())
    assert (left, top, str(root.get("width")), str(root.get("height"))) == (0, 0, f"{width:g}", f"{height:g}")
    frame = next(group for group in root.iter(f"{SVG}g") if "translate" in group.get("transform", ""))
    ((right, down),) = re.findall(r"translate\((\S+) (\S+)\)", frame.get("transform", ""))
    canvas = Area(-float(right), -float(down), width - float(right), height - float(down))
    for box in areas(root).values():
        assert canvas.holds(box[:2])
        assert canvas.holds(box[2:])
    for group in groups(root, "edge"):
        assert all(canvas.holds(point) for point in sample(line(group)))


def test_a_bow_has_two_lines_that_part() -> None:
    """``X -> Y`` and ``X <-> Y`` lie more than 10 apart in their middles and differ in dashes."""
    root = ET.fromstring(draw_svg(BOW))
    (solid,), (dashed,) = groups(root, "directed"), groups(root, "hidden")
    middles = [points[len(points) // 2] for points in (sample(line(solid), 2.0), sample(line(dashed), 2.0))]
    assert abs(middles[0][1] - middles[1][1]) > 10
    assert "stroke-dasharray" in ET.tostring(dashed, "unicode")
    assert "stroke-dasharray" not in ET.tostring(solid, "unicode")


def test_hostile_names_are_text_and_nothing_else() -> None:
    picture = draw_svg(GRAPHS["hostile names"], reward=HOSTILE[0], title="<&\">'\x00\ud800", marks={HOSTILE[2]: "try"})
    root = ET.fromstring(picture)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "rect", "g", "path", "text"}
    assert set(HOSTILE) <= set(areas(root))
    assert "<script" not in picture
    assert root.findtext(f"{SVG}title") == "<&\">'\ufffd\ufffd"


def test_names_that_are_cut_have_a_tooltip() -> None:
    root = ET.fromstring(draw_svg(GRAPHS["long names"]))
    (group,) = (group for group in groups(root, "node") if group.get("data-name") == LONG)
    shown = [text.text or "" for text in group.findall(f"{SVG}text")]
    assert len(shown) == 3
    assert shown[-1].endswith("…")
    assert group.findtext(f"{SVG}title") == LONG


def test_the_legend_explains_what_occurs() -> None:
    words = {
        "adjustment": "settled by adjustment",
        "component": "settled through its c-component",
        "same": "same as doing nothing",
        "try": "must be tried",
    }
    for kind, meaning in words.items():
        picture = draw_svg(CausalGraph(directed=[("X", "Y")]), marks={"X": kind, "Y": "plain"})
        assert [text for text in [*words.values(), "hidden common cause", "reward"] if text in _legend(picture)] == [
            meaning
        ]
    assert _legend(draw_svg(FRONT_DOOR, reward="Y")) == ["hidden common cause", "reward"]
    assert _legend(draw_svg(CausalGraph(["X"]))) == []


def _legend(picture: str) -> list[str]:
    return [
        text.text or "" for legend in groups(ET.fromstring(picture), "legend") for text in legend.iter(f"{SVG}text")
    ]


def test_kinds_differ_in_border_as_well_as_in_colour() -> None:
    assert len({kind.fill for kind in KINDS.values()}) == len(KINDS)
    assert len({(kind.thickness, kind.dashes) for kind in KINDS.values()}) == len(KINDS)


def test_the_file_stands_alone() -> None:
    picture = draw_svg(FRONT_DOOR, reward="Y", title="Front-door")
    root = ET.fromstring(picture)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == "Front-door"
    assert root.findtext(f"{SVG}desc") == "3 nodes, 2 directed edges, 1 hidden common cause; the reward is Y."
    assert not re.search(r"href|url\(|<image|@import", picture)


def test_the_same_graph_gives_the_same_text() -> None:
    assert draw_svg(random_graph(30, 45, 6, seed=1)) == draw_svg(random_graph(30, 45, 6, seed=1))


def test_a_graph_without_nodes_is_an_empty_picture() -> None:
    assert groups(ET.fromstring(draw_svg(CausalGraph())), "node") == []


@pytest.mark.parametrize(("nodes", "edges"), [(301, 0), (90, 3001)])
def test_too_large_a_graph_is_refused(nodes: int, edges: int) -> None:
    with pytest.raises(TooLargeError, match=rf"{nodes:,} nodes and {edges:,} edges.*graph\.subgraph"):
        draw_svg(random_graph(nodes, edges, 0, seed=4))


def test_unknown_nodes_and_marks_are_refused() -> None:
    with pytest.raises(GraphError, match='no node "Z"'):
        draw_svg(FRONT_DOOR, reward="Z")
    with pytest.raises(GraphError, match='no node "Z"'):
        draw_svg(FRONT_DOOR, marks={"Z": "try"})
    with pytest.raises(UsageError, match='Did you mean "adjustment"'):
        draw_svg(FRONT_DOOR, marks={"X": "adjust"})


@pytest.mark.slow("0.5 s: 100 nodes and 200 edges; finds a drawing that never ends")
def test_a_hundred_nodes_are_drawn() -> None:
    """All of them, each once."""
    graph = random_graph(100, 180, 20, seed=5)
    draw_svg(graph)


def test_edges_show_what_rests_on_them_and_missing_ones_are_dotted() -> None:
    """An arrow that is missing beside a hidden cause that is there keeps away from it."""
    graph = CausalGraph.parse("X -> Y; Z -> Y; X <-> Z")
    plain = draw_svg(graph, reward="Y")
    looks = {("X", "Y", False): "rests", ("Z", "Y", False): "idle", ("X", "Z", True): "vouched"}
    drawn = draw_svg(graph, reward="Y", marks={"X": "choice"}, edges=looks, missing=[("X", "Z", False)])
    assert "missing" not in plain
    for kind in ("directed rests", "directed idle", "hidden vouched", "directed missing"):
        assert drawn.count(f'class="edge {kind}"') == 1
    paths = re.findall(r'class="edge (?:hidden vouched|directed missing)".*?<path class="line" d="([^"]*)"', drawn)
    assert len(set(paths)) == 2
    for words in ("the choice rests on it, and the logs cannot tell", "set by today&#x27;s choice"):
        assert words in drawn
