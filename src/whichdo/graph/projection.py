"""Latent projection: the graph that is left among the nodes one keeps.

Hiding nodes keeps every causal statement about the others.  ``a -> b`` stays, or appears, where a directed path from
a to b runs through hidden nodes only; ``a <-> b`` where some hidden source reaches both that way.  A source is a hidden
node (an observed one that was marginalised counts) or the hidden cause behind a bidirected edge.  Paths stop at the
first node that is kept.

This is Algorithm 4 of the paper with its third step read as "pair of *observable* variables" and with marginalised
nodes among the sources; read literally it loses confounding (`tests/graph/test_projection.py` shows both mistakes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from whichdo.errors import TooLargeError
from whichdo.graph.mixed import MAX_EDGES, MixedGraph
from whichdo.text import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


MAX_NOTES = 20

Graph = TypeVar("Graph", bound=MixedGraph)


def project(graph: Graph, keep: Iterable[str]) -> Graph:
    """Hide nodes: the latent projection of a graph on the nodes to keep.

    Parameters
    ----------
    graph
        The causal graph.
    keep
        The nodes that stay observed; they keep their order.

    Returns
    -------
    CausalGraph
        The graph on the kept nodes.  Its ``notes`` name the hidden nodes that were more than a common cause of two
        others.

    Raises
    ------
    GraphError
        If the graph has no such node.
    TooLargeError
        If the projection has too many edges.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.project(wd.CausalGraph.parse("U -> X; U -> Y; X -> Y"), ["X", "Y"]).siblings("X")
    ('Y',)
    """
    kept = sorted({graph.index(name) for name in keep})
    if len(kept) == len(graph.nodes):
        return graph
    place = {old: new for new, old in enumerate(kept)}
    down = _reach_down(graph, place)
    siblings = _reach_over(graph, place, down)
    _check_size(graph, place, [down[old] for old in kept], siblings)
    parents: list[list[int]] = [[] for _ in kept]
    for new, old in enumerate(kept):
        for head in _bits(down[old]):
            parents[head].append(new)
    names = frozenset(graph.nodes[old] for old in kept)
    return graph.assemble(
        [graph.nodes[old] for old in kept],
        parents,
        [list(_bits(row)) for row in siblings],
        hidden=graph.hidden | (frozenset(graph.nodes) - names),
        exposures=graph.exposures & names,
        outcomes=graph.outcomes & names,
        notes=(*graph.notes, *shortened(list(_notes(graph, place)))),
    )


def _reach_down(graph: MixedGraph, place: dict[int, int]) -> list[int]:
    """For each node, as bits over the kept ones: where directed paths through hidden nodes first arrive."""
    down = [0] * len(graph.nodes)
    for old in reversed(range(len(graph.nodes))):
        for child in graph.child_ids[old]:
            down[old] |= 1 << place[child] if child in place else down[child]
    return down


def _reach_over(graph: MixedGraph, place: dict[int, int], down: Sequence[int]) -> list[int]:
    """For each kept node, as bits: the others that some hidden source reaches too.

    Going down the order, ``over`` of a node holds what is reached from the hidden causes above it.  A hidden node
    hands it on to its children, together with what it reaches itself, so every edge is used once.
    """
    over = [0] * len(graph.nodes)
    for old, row in enumerate(graph.sibling_ids):
        for other in row:
            over[old] |= 1 << place[other] if other in place else down[other]
        for parent in graph.parent_ids[old]:
            if parent not in place:
                over[old] |= over[parent] | down[parent]
    return [over[old] & ~(1 << new) for old, new in place.items()]


def _check_size(graph: MixedGraph, place: dict[int, int], down: Sequence[int], siblings: Sequence[int]) -> None:
    """Count the edges before any is made; one limit holds for reading and projecting, so what is written is read."""
    arrows = sum(row.bit_count() for row in down)
    pairs = sum(row.bit_count() for row in siblings) // 2
    if arrows + pairs <= MAX_EDGES:
        return
    hidden = [old for old in range(len(graph.nodes)) if old not in place]
    most = max(hidden, key=lambda old: len(graph.child_ids[old]))
    raise TooLargeError(
        f"Hiding {counted(len(hidden), 'node')} leaves {arrows + pairs:,} edges between the "
        f"others ({arrows:,} -> and {pairs:,} <->); {MAX_EDGES:,} are allowed. Of the hidden, "
        f"{quoted(graph.nodes[most])} has the most children, {len(graph.child_ids[most]):,}: keep it observed, "
        f"or leave out some of its children."
    )


def _bits(row: int) -> Iterator[int]:
    while row:
        low = row & -row
        yield low.bit_length() - 1
        row ^= low


def _notes(graph: MixedGraph, place: dict[int, int]) -> Iterator[str]:
    for old, name in enumerate(graph.nodes):
        if old in place:
            continue
        reasons = []
        if graph.parent_ids[old] or graph.sibling_ids[old]:
            reasons.append("has its own causes")
        if len(graph.child_ids[old]) > 2:
            reasons.append(f"has {len(graph.child_ids[old])} children")
        if reasons:
            yield f"Hidden node {name} {' and '.join(reasons)}: it was projected out."


def shortened(notes: Sequence[str]) -> list[str]:
    """The first notes, and how many more of their kind there are."""
    more = len(notes) - MAX_NOTES
    return [*notes[:MAX_NOTES], *([f"... and {more:,} more like this."] if more > 0 else [])]
