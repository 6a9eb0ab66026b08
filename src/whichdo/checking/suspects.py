"""Which missing edge would explain what the logs deny, and which edges no log can show.

One wrong edge may make many statements fail.  An edge *explains* a statement if the graph with the
edge does not imply it.  The edge that explains most is the likeliest to be missing.  Of edges that
explain the same, those between two nodes that turned out dependent are named, and of the others
those that would undo fewest of the statements that hold.  What they leave unexplained is explained
in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.checking.edits import Edit
from whichdo.graph.additions import Additions, Undone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.graph.admg import CausalGraph
    from whichdo.graph.implied import Statement

__all__ = ["likely_missing", "unseen_edges"]

MOST_GROUPS = 4
"""Edges that are thought to be missing at the same time; where more are needed, the graph is wrong all over."""
MOST_FAILING = 500
"""Failing statements that are explained; where there are more, the first show what is wrong."""


def likely_missing(
    graph: CausalGraph, failing: Sequence[Statement], holding: Sequence[Statement]
) -> tuple[tuple[Edit, ...], ...]:
    """The edges that would explain the failing statements: a group for each edge needed, alternatives within it.

    Parameters
    ----------
    graph
        The graph that was checked.
    failing
        Statements of it that the logs deny, the strongest first.
    holding
        Statements that were tested and not denied.

    Returns
    -------
    tuple of groups
        At most four; in each the edges between nodes of a failing statement first.
    """
    additions = Additions(graph)
    edges = [_addition(*edge) for edge in additions.edges(additions.possible)]
    spoilt = sum((additions.chosen(each) for each in holding), np.zeros(len(edges), np.int64))
    asked = failing[:MOST_FAILING]
    left = np.array([additions.chosen(each) for each in asked]).reshape(len(asked), len(edges))
    groups: list[tuple[Edit, ...]] = []
    while left.any() and len(groups) < MOST_GROUPS:
        explained = left.sum(axis=0)
        best = np.flatnonzero(explained == explained.max())
        lead = best[np.argmin(spoilt[best])]
        alike = [place for place in best if (left[:, place] == left[:, lead]).all()]
        pairs = [{each.left, each.right} for each, explains in zip(asked, left[:, lead], strict=True) if explains]
        own = [edges[place] for pair in pairs for place in alike if set(edges[place].ends) == pair]
        other = [edges[place] for place in alike if spoilt[place] == spoilt[lead]]
        groups.append(tuple(dict.fromkeys([*own, *other])))
        left = left & ~left[:, [lead]]
    return tuple(groups)


def unseen_edges(
    graph: CausalGraph, statements: Sequence[Statement], pairs: Sequence[tuple[str, str]], among: Sequence[str]
) -> tuple[Edit, ...]:
    """Edges that undo no statement, so that logs look the same with and without them: only experiments can show them.

    Parameters
    ----------
    graph
        The graph.
    statements
        All that it implies.
    pairs
        The pairs that no set separates: an edge between others undoes what separates them.
    among
        The nodes to speak of, such as those that act on the reward.
    """
    additions = Additions(graph)
    arrows, hidden = (each.copy() for each in additions.possible)
    asked = np.zeros_like(arrows)
    wanted = set(among)
    for one, other in pairs:
        if one in wanted and other in wanted:
            first, second = graph.index(one), graph.index(other)
            asked[first, second] = asked[second, first] = True
    arrows &= asked
    hidden &= asked
    for statement in statements:
        if not (arrows.any() or hidden.any()):
            break
        undone = additions.undone_by(statement)
        arrows &= ~undone.arrows
        hidden &= ~undone.hidden
    return tuple(_addition(*edge) for edge in additions.edges(Undone(arrows, hidden)))


def _addition(tail: str, mark: str, head: str) -> Edit:
    return Edit(True, mark == "<->", tail, head)
