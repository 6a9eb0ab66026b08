"""What would become of a campaign's choice if one edge of its graph were wrong: a card with a drawing.

Estimates from looks and logs lean on the graph, direct pulls do not; so the card speaks of what looks
and logs say by themselves (`whichdo.what_if`), as far as their columns were counted together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.checking.what_if import what_if
from whichdo.checking.words import cells, titles
from whichdo.drawing.labels import safe
from whichdo.errors import TooLarge, counted

if TYPE_CHECKING:
    from whichdo.checking.outcomes import WhatIf
    from whichdo.report.history import History

__all__ = ["one_edge_wrong"]

MOST_NODES = 24
"""Nodes that act on the reward; every pair of them may have an edge, and a page should not take long."""
MOST_ROWS = 12
"""Edits in the table."""


def one_edge_wrong(found: History) -> str:
    """The card; nothing where there are no looks, or too many nodes."""
    seen = found.state.evidence(looks_alone=True)
    problem = seen.problem
    if not seen.pulls[0] or len(problem.graph.ancestors([problem.reward])) > MOST_NODES:
        return ""
    result = what_if(problem, seen)
    if not result.edits:
        return ""
    said = "".join(f"<p>{safe(line)}</p>\n" for line in (*result.summary, *_elsewhere(found, result)))
    notes = "".join(f'<p class="faint">{safe(line)}</p>\n' for line in result.notes)
    return (
        '<p class="part"><b>If one edge is wrong</b></p>\n'
        '<p class="faint">Each edge was dropped and each missing one added, one at a time, and '
        f"{counted(result.looks, 'look')} read again by the graph that results. Direct pulls of arms lean on no graph "
        "and are left out.</p>\n"
        f"{said}{_drawn(result)}{_table(result)}{notes}"
    )


def _elsewhere(found: History, result: WhatIf) -> list[str]:
    """That the campaign decides otherwise, where it does."""
    decided = found.advice.arm
    if decided is None or decided == result.choice or result.choice is None:
        return []
    return [f"This is the best by looks and logs alone; the decision above, {decided}, rests on direct pulls as well."]


def _drawn(result: WhatIf) -> str:
    try:
        return f'<div class="graph wide">{result.svg()}</div>\n'
    except TooLarge:
        return '<p class="faint">The graph has too many edges for a drawing that can be read.</p>\n'


def _table(result: WhatIf) -> str:
    """The edits under which the choice would be another."""
    changing = [each for each in result.ordered if not each.keeps]
    if not changing:
        return ""
    head = "".join(f"<th>{safe(title)}</th>" for title in titles(result))
    rows = "".join(
        f"<tr>{''.join(f'<td>{safe(cell)}</td>' for cell in cells(result, each))}</tr>\n"
        for each in changing[:MOST_ROWS]
    )
    left = len(changing) - MOST_ROWS
    more = f'<p class="faint">... and {counted(left, "more edit")}.</p>\n' if left > 0 else ""
    title = "<caption>Edits that would change the choice</caption>"
    return f'<div class="wide"><table class="plain">{title}<tr>{head}</tr>\n{rows}</table></div>\n{more}'
