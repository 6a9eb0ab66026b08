"""What would become of a campaign's choice if one edge of its graph were wrong: a card with a drawing.

Estimates from looks and logs lean on the graph, direct pulls do not; so the card speaks of what looks
and logs say by themselves (`whichdo.what_if`), as far as their columns were counted together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whichdo.checking.decision import cells, titles
from whichdo.checking.what_if import what_if
from whichdo.errors import TooLargeError
from whichdo.text import counted

if TYPE_CHECKING:
    from whichdo.checking.decision import WhatIf
    from whichdo.report.history import History

__all__ = ["OneEdge", "one_edge_wrong"]

MOST_NODES = 24
"""Nodes that act on the reward; every pair of them may have an edge, and a page should not take long."""
MOST_ROWS = 12
"""Edits in the table."""


class OneEdge(NamedTuple):
    """The card."""

    looks: str
    said: tuple[str, ...]
    drawing: str
    """SVG; empty where the graph is too large."""
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The edits under which the choice would be another."""
    rest: tuple[str, ...]


def one_edge_wrong(found: History) -> OneEdge | None:
    """The card; nothing where there are no looks, or too many nodes."""
    seen = found.state.evidence(looks_alone=True)
    problem = seen.problem
    if not seen.pulls[0] or len(problem.graph.ancestors([problem.reward])) > MOST_NODES:
        return None
    result = what_if(problem, seen)
    if not result.edits:
        return None
    changing = [each for each in result.ordered if not each.keeps]
    left = len(changing) - MOST_ROWS
    more = [f"... and {counted(left, 'more edit')}."] if left > 0 else []
    return OneEdge(
        counted(result.looks, "look"),
        (*result.summary, *_elsewhere(found, result)),
        _drawn(result),
        titles(result),
        tuple(tuple(cells(result, each)) for each in changing[:MOST_ROWS]),
        (*more, *result.notes),
    )


def _elsewhere(found: History, result: WhatIf) -> list[str]:
    """That the campaign decides otherwise, where it does."""
    decided = found.advice.arm
    if decided is None or decided == result.choice or result.choice is None:
        return []
    return [f"This is the best by looks and logs alone; the decision above, {decided}, rests on direct pulls as well."]


def _drawn(result: WhatIf) -> str:
    try:
        return result.svg()
    except TooLargeError:
        return ""
