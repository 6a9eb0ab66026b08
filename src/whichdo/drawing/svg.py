"""A causal graph as one SVG file that needs nothing else: no script, no font, no network.

Boxes are nodes, solid arrows directed edges, dashed arcs with two heads hidden common causes.  What `marks` say
about a node shows twice, in its colour (from the palette of Okabe and Ito, which the colour-blind can tell apart)
and in its border, which survives a grey print.  What `edges` say about an edge shows in its colour and thickness;
edges that are `missing` are dotted and take no part in the order of the nodes.

Colours are written into the shapes, for the light; where the reader's screen is dark, a few rules replace each by its
counterpart, and a reader that knows no rules shows the light.
"""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING, NamedTuple

from whichdo.drawing.curves import Block, Curve, Plane, arc, arrow, ports, sample, swap
from whichdo.drawing.labels import FONT_SIZE, LINE_HEIGHT, safe, text_width, wrap
from whichdo.drawing.placement import Box, Layout, layout
from whichdo.errors import TooLargeError, UsageError
from whichdo.files import MARK
from whichdo.graph.mixed import MixedGraph
from whichdo.text import counted, nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.drawing.placement import Pair, Point


MAX_NODES = 300
MAX_EDGES = 3_000

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans', sans-serif"
INK, DASHED_INK = "#333333", "#D55E00"
MARGIN = 24.0
HEAD_LENGTH, HEAD_WIDTH = 9.0, 7.0
#: The arcs that are weighed up in all; where there are many arcs each has fewer to choose from.
ARC_TRIES = 4_000
SWATCH, LEGEND_ROW = 28.0, 24.0


class Kind(NamedTuple):
    """How a kind of node looks, and the words for it in the legend."""

    fill: str
    border: str
    thickness: float
    dashes: str
    words: str


class EdgeKind(NamedTuple):
    """How a kind of edge looks, and the words for it in the legend."""

    ink: str
    thickness: float
    words: str


Edge = tuple[str, str, bool]
"""Tail, head, and whether it is a hidden common cause: its ends then stand in the order of the graph."""

EDGES: dict[str, EdgeKind] = {
    "rests": EdgeKind("#D55E00", 3.0, "the choice rests on it, and the logs cannot tell"),
    "vouched": EdgeKind("#0072B2", 3.0, "the choice rests on it, and the logs vouch for it"),
    "idle": EdgeKind("#8C8C8C", 1.5, "the choice does not rest on it"),
    "missing": EdgeKind("#AA3377", 2.4, "not drawn; if it were there, the choice would change"),
}
DOTS = "2.5 4.5"

KINDS: dict[str, Kind] = {
    "adjustment": Kind("#CBE6F8", "#0072B2", 1.6, "", "settled by adjustment"),
    "component": Kind("#C3E8DC", "#007A59", 1.8, "7 3", "settled through its c-component"),
    "general": Kind("#DAD7F0", "#5B4FA2", 1.8, "9 3 2 3", "settled by complete identification"),
    "same": Kind("#EDEDED", "#777777", 1.8, "1.5 3", "same as doing nothing"),
    "try": Kind("#FBDFA0", "#9A6A00", 3.2, "", "must be tried"),
    "pruned": Kind("#F7F2F5", "#AA3377", 1.6, "1.5 4", "pruned: setting it is never better than other arms"),
    "choice": Kind("#DCEBFA", "#0072B2", 2.6, "", "set by today's choice"),
    "plain": Kind("#FFFFFF", "#555555", 1.2, "", ""),
}

#: What stands for each colour on a dark screen, as easy to tell from the others as in the light.
DARK = {
    "#FFFFFF": "#1B1E23", "#FFF": "#1B1E23", "#111111": "#E8E6E3", "#1a1a1a": "#E8E6E3", "#000000": "#E8E6E3",
    "#333333": "#C4C8CF", "#555555": "#9A9FA6", "#666666": "#A9AEB6", "#777777": "#9A9FA6", "#e4e4e0": "#363B43",
    "#0072B2": "#5BB3EA", "#D55E00": "#F28C3B", "#007A59": "#3DC79E", "#9A6A00": "#E0B04A", "#AA3377": "#E889BC",
    "#DAD7F0": "#2E2A52", "#5B4FA2": "#A79BF0", "#F7F2F5": "#2A2228",
    "#CBE6F8": "#17384D", "#C3E8DC": "#123F33", "#EDEDED": "#33373D", "#FBDFA0": "#4A3A10", "#DCEBFA": "#1C3348",
}  # fmt: skip


def dark_rules(scope: str) -> str:
    """Rules of a style sheet that replace, in drawings that ``scope`` selects, every colour for a dark screen."""
    rules = [
        f'{scope}[{part}="{light}" i], {scope} [{part}="{light}" i] {{ {part}: {dark}; }}'
        for light, dark in DARK.items()
        for part in ("fill", "stroke")
    ]
    return "@media screen and (prefers-color-scheme: dark) { " + " ".join(rules) + " }"


def draw_svg(
    graph: MixedGraph,
    *,
    reward: str | None = None,
    marks: Mapping[str, str] | None = None,
    title: str | None = None,
    edges: Mapping[Edge, str] | None = None,
    missing: Iterable[Edge] = (),
    adapts: bool = True,
) -> str:
    """Draw a graph as an SVG 1.1 document; equal graphs give equal documents.

    Every node is a ``<g class="node" data-name=...>``, every edge a ``<g class="edge directed">`` or
    ``<g class="edge hidden">`` with ``data-from`` and ``data-to``.

    Parameters
    ----------
    graph
        The causal graph.
    reward
        The node to mark as the reward.
    marks
        Nodes to "adjustment", "component", "general", "same", "try", "pruned", "choice" or "plain"; a legend explains
        those that occur.
    title
        The title above the graph.
    edges
        Edges, written ``(tail, head, hidden)``, to "rests", "vouched" or "idle"; the legend explains those that occur.
    missing
        Edges, written in the same way, to draw although the graph does not have them.
    adapts
        Whether the colours follow a dark screen.  Use False on a page whose colours do not, such as a notebook.

    Returns
    -------
    str
        The SVG document.

    Raises
    ------
    TooLargeError
        If the graph has too many nodes or edges for a drawing.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.draw_svg(wd.CausalGraph.parse("X -> Y"), reward="Y")[:4]
    '<svg'
    """
    marks = dict(marks or {})
    absent = list(missing)
    _check(graph, reward, marks, len(absent))
    plan = layout(_with_arcs(graph, absent))
    routes = _routes(plan, [pair for pair in plan.hidden if frozenset(pair) in graph.bidirected], absent)
    looks = dict(edges or {})
    looks |= dict.fromkeys(absent, "missing")
    parts = [_edge(edge, curve, looks.get(edge)) for edge, curve in routes.items()]
    parts += [
        _node(name, plan.boxes[name], KINDS[marks.get(name, "plain")], reward=name == reward) for name in graph.nodes
    ]
    left, top, right, bottom = _bounds(plan, routes.values())
    kinds = [kind for kind in KINDS if kind in marks.values() and kind != "plain"]
    drawn = [kind for kind in EDGES if kind in looks.values()]
    legend, legend_width, legend_height = _legend(
        kinds, drawn, room=right - left, reward=bool(reward), hidden=bool(graph.bidirected)
    )
    head = 34.0 if title else 0.0
    width = max(right - left, legend_width, text_width(title, 17) if title else 0.0) + 2 * MARGIN
    height = bottom - top + head + legend_height + 2 * MARGIN
    body = [
        f'<g transform="translate({_n((width - right - left) / 2)} {_n(MARGIN + head - top)})">',
        *parts,
        "</g>",
    ]
    if title:
        body.append(_text(width / 2, MARGIN + 16, title, 'font-size="17" font-weight="600" text-anchor="middle"'))
    if legend:
        place = f"{_n((width - legend_width) / 2)} {_n(height - MARGIN - legend_height)}"
        body += [f'<g class="legend" font-size="12.5" transform="translate({place})">', *legend, "</g>"]
    return _document(body, width, height, title or "Causal graph", _description(graph, reward), adapts=adapts)


def _check(graph: MixedGraph, reward: str | None, marks: Mapping[str, str], missing: int) -> None:
    edges = sum(map(len, graph.parent_ids)) + sum(map(len, graph.sibling_ids)) // 2 + missing
    if len(graph.nodes) > MAX_NODES or edges > MAX_EDGES:
        raise TooLargeError(
            f"The graph has {len(graph.nodes):,} nodes and {edges:,} edges; a drawing of more than {MAX_NODES:,} nodes "
            f"or {MAX_EDGES:,} edges cannot be read. Draw a part of it, draw_svg(graph.subgraph([...]))."
        )
    for name in (*marks, *([] if reward is None else [reward])):
        graph.index(name)
    for name, kind in marks.items():
        if kind not in KINDS:
            raise UsageError(
                f"The mark {quoted(kind)} of {quoted(name)} is not one of {', '.join(KINDS)}.{nearest(kind, KINDS)}"
            )


def _description(graph: MixedGraph, reward: str | None) -> str:
    words = [
        counted(len(graph.nodes), "node"),
        counted(len(graph.directed), "directed edge"),
        counted(len(graph.bidirected), "hidden common cause"),
    ]
    return ", ".join(words) + (f"; the reward is {reward}." if reward is not None else ".")


# ------------------------------------------------------------------------------------------------------------ edges


def _with_arcs(graph: MixedGraph, missing: Sequence[Edge]) -> MixedGraph:
    """The graph with an arc for every edge that is missing, so that there is room for it."""
    if not missing:
        return graph
    rows = [set(row) for row in graph.sibling_ids]
    for edge in missing:
        first, second = map(graph.index, edge[:2])
        rows[first].add(second)
        rows[second].add(first)
    return MixedGraph.assemble(graph.nodes, graph.parent_ids, [sorted(row) for row in rows])


def _routes(plan: Layout, arcs: Sequence[Pair], missing: Sequence[Edge]) -> dict[Edge, Curve]:
    """The curve of every edge in x and y: the directed ones first, then arcs that keep out of their way."""
    turn = swap if plan.flow == "down" else list
    blocks = {name: _block(box, plan) for name, box in plan.boxes.items()}
    plane = Plane(list(blocks.values()))
    shifts = _port_shifts(plan, blocks)
    found: dict[Edge, Curve] = {}
    for pair, points in plan.directed.items():
        curve = arrow(plane, blocks[pair[0]], blocks[pair[1]], turn(points), shifts[pair])
        plane.draw(curve)
        found[*pair, False] = turn(curve)
    tries = max(16, ARC_TRIES // max(1, len(arcs) + len(missing)))
    for edge in (*((*pair, True) for pair in arcs), *missing):
        first, second, _ = edge
        points = plan.hidden.get((first, second), ()) or plan.hidden.get((second, first), ())[::-1]
        # What is missing may run beside an edge that is there, which it must not be taken for.
        sharing = 60.0 if edge in missing else 9.0
        curve = arc(plane, blocks[first], blocks[second], turn(points), tries, sharing)
        plane.draw(curve)
        found[edge] = turn(curve)
    return found


def _port_shifts(plan: Layout, blocks: Mapping[str, Block]) -> dict[Pair, tuple[float, float]]:
    """For every directed edge its offsets from the middle of its tail's end and of its head's beginning."""
    across = 1 if plan.flow == "right" else 0
    offsets: list[dict[Pair, float]] = [{}, {}]
    for end in (0, 1):
        leads: dict[str, dict[Pair, float]] = {}
        for pair, points in plan.directed.items():
            lead = points[-end][across] if points else blocks[pair[1 - end]].across
            leads.setdefault(pair[end], {})[pair] = lead
        for name, towards in leads.items():
            offsets[end].update(zip(towards, ports(blocks[name], list(towards.values())), strict=True))
    return {pair: (offsets[0][pair], offsets[1][pair]) for pair in plan.directed}


def _block(box: Box, plan: Layout) -> Block:
    if plan.flow == "right":
        return Block(box.x, box.y, box.width, box.height, box.band)
    return Block(box.y, box.x, box.height, box.width, box.band)


def _edge(edge: Edge, curve: Curve, look: str | None) -> str:
    tail, end, hidden = edge
    ink, thickness = DASHED_INK if hidden else INK, 1.7 if hidden else 1.5
    if look is not None:
        ink, thickness, _ = EDGES[look]
    curve = list(curve)
    heads = [_head(curve[-2], curve[-1])]
    curve[-1] = _before(curve[-2], curve[-1])
    if hidden:
        heads.append(_head(curve[1], curve[0]))
        curve[0] = _before(curve[1], curve[0])
    line = f"M{_p(curve[0])}" + "".join(
        f" C{_p(a)} {_p(b)} {_p(c)}" for a, b, c in zip(curve[1::3], curve[2::3], curve[3::3], strict=True)
    )
    dashes = DOTS if look == "missing" else "6 4" if hidden else ""
    style = f'stroke-width="{_n(thickness)}"' + (f' stroke-dasharray="{dashes}"' if dashes else "")
    shapes = "".join(f'<path class="head" d="{head}" fill="{ink}"/>' for head in heads)
    kind = f"{'hidden' if hidden else 'directed'}{f' {look}' if look else ''}"
    return (
        f'<g class="edge {kind}" data-from="{safe(tail)}" data-to="{safe(end)}">'
        f'<path class="line" d="{line}" fill="none" stroke="{ink}" {style}/>{shapes}</g>'
    )


def _head(control: Point, tip: Point) -> str:
    """An arrow head; its first point is the tip."""
    x, y = _unit(control, tip)
    base = (tip[0] - HEAD_LENGTH * x, tip[1] - HEAD_LENGTH * y)
    one = (base[0] - HEAD_WIDTH / 2 * y, base[1] + HEAD_WIDTH / 2 * x)
    two = (base[0] + HEAD_WIDTH / 2 * y, base[1] - HEAD_WIDTH / 2 * x)
    return f"M{_p(tip)} L{_p(one)} L{_p(two)} Z"


def _before(control: Point, tip: Point) -> Point:
    """Where the line stops, so that it does not show beyond the tip of its head."""
    x, y = _unit(control, tip)
    return tip[0] - (HEAD_LENGTH - 1) * x, tip[1] - (HEAD_LENGTH - 1) * y


def _unit(start: Point, end: Point) -> Point:
    x, y = end[0] - start[0], end[1] - start[1]
    length = hypot(x, y) or 1.0
    return x / length, y / length


# ------------------------------------------------------------------------------------------------------------ nodes


def _node(name: str, box: Box, kind: Kind, *, reward: bool) -> str:
    lines = wrap(name)
    shapes = [_rectangle((box.left, box.top), box.width, box.height, 8, kind)]
    weight = ""
    if reward:
        shapes.append(_ring((box.left + 4, box.top + 4), box.width - 8, box.height - 8, 5))
        weight = 'font-weight="700"'
    # The baseline of capital letters centred on a line lies about a third of the size below its middle.
    first = box.y - (len(lines) - 1) * LINE_HEIGHT / 2 + 0.35 * FONT_SIZE
    shapes += [
        _text(box.x, first + number * LINE_HEIGHT, line, f'text-anchor="middle" {weight}'.strip())
        for number, line in enumerate(lines)
    ]
    role = ' data-role="reward"' if reward else ""
    tooltip = f"<title>{safe(name)}</title>" if lines[-1].endswith("…") else ""
    return f'<g class="node" data-name="{safe(name)}"{role}>{tooltip}{"".join(shapes)}</g>'


def _rectangle(corner: Point, width: float, height: float, radius: float, kind: Kind) -> str:
    dashes = f' stroke-dasharray="{kind.dashes}"' if kind.dashes else ""
    return (
        f'<rect x="{_n(corner[0])}" y="{_n(corner[1])}" width="{_n(width)}" height="{_n(height)}" rx="{_n(radius)}" '
        f'fill="{kind.fill}" stroke="{kind.border}" stroke-width="{_n(kind.thickness)}"{dashes}/>'
    )


def _ring(corner: Point, width: float, height: float, radius: float) -> str:
    return (
        f'<rect class="ring" x="{_n(corner[0])}" y="{_n(corner[1])}" width="{_n(width)}" height="{_n(height)}" '
        f'rx="{_n(radius)}" fill="none" stroke="#000000" stroke-width="1.6"/>'
    )


def _text(x: float, y: float, words: str, style: str) -> str:
    return f'<text x="{_n(x)}" y="{_n(y)}" {style}>{safe(words)}</text>'


# ----------------------------------------------------------------------------------------------------------- legend


def _legend(
    kinds: Sequence[str], edges: Sequence[str], *, room: float, reward: bool, hidden: bool
) -> tuple[list[str], float, float]:
    """The entries that are needed, in rows, with the width and height they take (space above included)."""
    entries = [(_rectangle((0, -8), SWATCH, 16, 4, KINDS[kind]), KINDS[kind].words) for kind in kinds]
    for kind in edges:
        ink, thickness, words = EDGES[kind]
        dots = f' stroke-dasharray="{DOTS}"' if kind == "missing" else ""
        line = f'<path d="M0,0 L{_n(SWATCH)},0" stroke="{ink}" stroke-width="{_n(thickness)}"{dots}/>'
        entries.append((line, words))
    if hidden:
        curve = [(0.0, 0.0), (9.0, 0.0), (SWATCH + 6, 0.0), (SWATCH + 16, 0.0)]
        entries.append((_swatch_line(curve, INK if edges else DASHED_INK), "hidden common cause"))
    if reward:
        frame = _rectangle((0, -9), SWATCH, 18, 4, KINDS["plain"])
        entries.append((frame + _ring((3.5, -5.5), SWATCH - 7, 11, 2), "reward"))
    shapes: list[str] = []
    x, y, widest = 0.0, 28.0, 0.0
    for swatch, words in entries:
        indent = SWATCH + (24 if words == "hidden common cause" else 8)
        extent = indent + text_width(words, 12.5)
        if x and x + extent > max(room, 420.0):
            x, y = 0.0, y + LEGEND_ROW
        shapes.append(f'<g transform="translate({_n(x)} {_n(y)})">{swatch}{_text(indent, 4.3, words, "")}</g>')
        widest = max(widest, x + extent)
        x += extent + 18
    return shapes, widest, y + 10 if entries else 0.0


def _swatch_line(curve: Curve, ink: str) -> str:
    line = f"M{_p(curve[0])} L{_p(curve[-1])}"
    heads = _head(curve[2], curve[3]) + " " + _head(curve[1], curve[0])
    return (
        f'<path d="{line}" fill="none" stroke="{ink}" stroke-width="1.7" stroke-dasharray="6 4"/>'
        f'<path d="{heads}" fill="{ink}"/>'
    )


# --------------------------------------------------------------------------------------------------------- document


def _bounds(plan: Layout, curves: Iterable[Curve]) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of all that is drawn: an arc may run outside the boxes."""
    points = [(0.0, 0.0), (plan.width, plan.height)]
    for curve in curves:
        points += sample(curve)
    across, down = zip(*points, strict=True)
    return min(across), min(down), max(across), max(down)


def _document(body: Iterable[str], width: float, height: float, title: str, description: str, *, adapts: bool) -> str:
    wide, high = _n(width), _n(height)
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" class="causal" data-made-by="{MARK}" role="img" '
        f'width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" font-family="{safe(FONT)}" font-size="{_n(FONT_SIZE)}" fill="#111111">'
    )
    words = f"<title>{safe(title)}</title>\n<desc>{safe(description)}</desc>"
    background = f'<rect class="background" width="{wide}" height="{high}" rx="10" fill="#FFFFFF"/>'
    style = [f"<style>{dark_rules('svg.causal')}</style>"] if adapts else []
    return "\n".join([opening, words, *style, background, *body, "</svg>\n"])


def _n(number: float) -> str:
    """A coordinate with a tenth of a pixel, without needless zeros or a negative zero."""
    text = f"{number:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _p(point: Point) -> str:
    return f"{_n(point[0])},{_n(point[1])}"
