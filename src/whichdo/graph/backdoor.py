"""Back-door paths: where conditioning on a node is not the same as setting it.

E[Y | do(X=x)] = E[Y | X=x] holds in every network with a given graph just when nothing but X itself ties X to Y: once
the edges out of X are cut, no path without a collider joins the two.  Such a path climbs from X against the arrows, may
cross one bidirected edge, and falls along the arrows to Y.  (Y above X is one too: Y -> X.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whichdo.graph.admg import CausalGraph

__all__ = ["backdoor_path"]


def backdoor_path(graph: CausalGraph, node: str, reward: str) -> str | None:
    """A path that ties ``node`` to ``reward`` other than by what ``node`` does; None where conditioning is right.

    >>> from whichdo.graph.admg import CausalGraph
    >>> backdoor_path(CausalGraph.parse("Z -> A -> X -> Y; Z -> Y"), "X", "Y")
    'X <- A <- Z -> Y'
    """
    start, goal = graph.index(node), graph.index(reward)
    above = _above(graph, start)
    # X does not stand above Y here: its own edges are cut.
    beyond = _above(graph, goal, without=start)
    names = graph.nodes
    for position in above:  # the nearest to X first
        rise = " <- ".join(names[step] for step in reversed(_steps(above, position)))
        if position in beyond:
            return " -> ".join([rise, *(names[step] for step in _steps(beyond, position)[1:])])
        for other in graph.sibling_ids[position]:
            if other in beyond:
                return f"{rise} <-> {' -> '.join(names[step] for step in _steps(beyond, other))}"
    return None


def _above(graph: CausalGraph, start: int, without: int = -1) -> dict[int, int]:
    """The ancestors of a node, the nearest first, each with the next node on the way down to it."""
    came = {start: start}
    level = [start]
    while level:
        following = []
        for position in level:
            for parent in graph.parent_ids[position]:
                if parent not in came and parent != without:
                    came[parent] = position
                    following.append(parent)
        level = following
    return came


def _steps(came: dict[int, int], position: int) -> list[int]:
    """From an ancestor down to the node that the search began with."""
    steps = [position]
    while came[steps[-1]] != steps[-1]:
        steps.append(came[steps[-1]])
    return steps
