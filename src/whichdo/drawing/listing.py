"""A graph for the terminal: one line a node, in topological order."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.graph.mixed import MixedGraph


def draw_text(graph: MixedGraph) -> str:
    """A listing of the edges in aligned columns, each edge once.

    A line holds a node's children and those later nodes with which it shares a hidden cause::

        age       -> mask, infected
        mask      -> infected  <-> distance
        distance  -> infected
        infected

    A node that only ends edges, or has none, stands alone.  A name that could be taken for more than one is quoted.
    A graph without nodes is the empty text.
    """
    rows = []
    for position, name in enumerate(graph.nodes):
        children = _list(graph, "-> ", graph.child_ids[position])
        siblings = _list(graph, "<-> ", (other for other in graph.sibling_ids[position] if other > position))
        rows.append((_clear(name), children, siblings))
    names = max((_cells(name) for name, _, _ in rows), default=0)
    # Only what stands left of a dashed edge needs its column; a long list elsewhere must not push it away.
    arrows = max((_cells(children) for _, children, siblings in rows if siblings), default=0)
    return "\n".join(
        f"{_pad(name, names)}  {_pad(children, arrows)}  {siblings}".rstrip() for name, children, siblings in rows
    )


def _list(graph: MixedGraph, sign: str, positions: Iterable[int]) -> str:
    found = [_clear(graph.nodes[position]) for position in positions]
    return sign + ", ".join(found) if found else ""


def _clear(name: str) -> str:
    doubtful = "," in name or '"' in name or "->" in name or "  " in name
    return '"' + name.replace('"', '\\"') + '"' if doubtful else name


def _cells(text: str) -> int:
    """The columns a terminal needs: two for a wide character, none for a combining one."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _cells(text))
