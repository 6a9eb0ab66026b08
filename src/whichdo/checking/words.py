"""What the edits of a graph come to, in words."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from whichdo.errors import TooLargeError
from whichdo.text import counted, listed, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.checking.outcomes import EditOutcome, WhatIf

__all__ = ["cells", "headline", "table_html", "table_text", "titles"]

NAMED = 4
"""How many edits the headline names."""
SHOWN = 40
"""How many edits a printed table shows."""


def headline(found: WhatIf) -> tuple[str, ...]:
    """The answer in a few sentences: how many edits keep the choice, which do not, and what would settle those."""
    edits = found.edits
    if not edits:
        return (f"Nothing can be edited: only {found.problem.reward} itself is there.",)
    if found.choice is None:
        return _without_choice(found)
    others = [each for each in edits if not each.keeps]
    same = f"The best arm, {found.choice}, is the same in "
    if not others:
        return (f"{same}{'the only edit' if len(edits) == 1 else f'all {len(edits):,} edits'}.", *_denied(found))
    opening = f"{same}{len(edits) - len(others):,} of {counted(len(edits), 'edit')}"
    left = sorted((each for each in others if not each.refuted), key=_weight, reverse=True)
    parts = [opening]
    gone = len(others) - len(left)
    if gone:
        parts.append(f"{_share(gone, len(others))} contradicted by the logs")
    if left:
        parts.append(f"{_those(len(left), gone, len(others))} {listed(map(_edge, left), NAMED + 1)}")
    return (f"{'; '.join(parts)}.", *_trying(found, left), *_settling(left), *_denied(found))


def _denied(found: WhatIf) -> tuple[str, ...]:
    """That the logs contradict the graph itself."""
    allowed = sum(not each.refuted for each in found.edits)
    if not found.refuted:
        return ()
    rest = f"; {counted(allowed, 'edit')} would end that" if allowed else ", and no single edit ends that"
    return (f"The logs contradict the graph as it is (whichdo check says where){rest}.",)


def _without_choice(found: WhatIf) -> tuple[str, ...]:
    named = [each for each in found.edits if each.best is not None and not each.refuted]
    opening = "The graph as it is leaves nothing to compare, so that there is no choice to lose"
    if not named:
        return (f"{opening}; no edit changes that.",)
    return (f"{opening}; {counted(len(named), 'edit')} would name a best arm, {_edge(named[0])} for one.",)


def _weight(each: EditOutcome) -> tuple[bool, float]:
    """What must be tried first, then by regret."""
    return each.regret is None, each.regret or 0.0


def _edge(each: EditOutcome) -> str:
    """``X <-> Y`` where it is added, ``no X -> Y`` where it is dropped."""
    return each.change.edge if each.change.adds else f"no {each.change.edge}"


def _share(part: int, whole: int) -> str:
    """``the other is``, ``2 of the 3 others are``."""
    if part == whole:
        return "the other is" if whole == 1 else f"the {whole:,} others are"
    return f"{part:,} of the {whole:,} others {'is' if part == 1 else 'are'}"


def _those(left: int, gone: int, others: int) -> str:
    if gone:
        return "the one left is" if left == 1 else f"the {left:,} left are"
    return "the other is" if others == 1 else f"the {others:,} others are"


def _trying(found: WhatIf, left: Sequence[EditOutcome]) -> tuple[str, ...]:
    """How many edits leave the choice itself without a formula."""
    unknown = sum(each.regret is None for each in left)
    if not unknown:
        return ()
    which = "it" if len(left) == 1 else "all of them" if unknown == len(left) else f"{unknown:,} of them"
    return (f"Under {which} {found.choice} cannot be settled by looking; it would have to be tried.",)


def _settling(left: Sequence[EditOutcome]) -> tuple[str, ...]:
    """What would settle the edits that are left: those that the fewest pulls settle first."""
    settled = [each.settled_by for each in left if each.settled_by is not None]
    if not left:
        return ()
    if not settled:
        return ("No number of pulls can be named: the means in question differ by less than the error of looking.",)
    cheapest = min(settled, key=lambda each: each.pulls)
    together = [each for each in settled if each.arm == cheapest.arm]
    most = max(each.pulls for each in together)
    what = f"{rounded(most)} pulls of {cheapest.arm}" if most > 1 else f"One pull of {cheapest.arm}"
    which = "it" if len(left) == 1 else "them" if len(together) == len(left) else f"{len(together):,} of them"
    return (f"About {what} would settle {which}." if most > 1 else f"{what} would settle {which}.",)


# --------------------------------------------------------------------------------------------------------------- tables


def titles(found: WhatIf) -> tuple[str, ...]:
    """The heads of the table, with the reward's unit."""
    choice, regret = map(found.problem.in_unit, ("today's choice then", "regret"))
    return ("edit", "best arm then", choice, regret, "the logs", "settled by")


def cells(found: WhatIf, each: EditOutcome) -> tuple[str, ...]:
    """One edit as a row of text, a cell for each of `titles`."""
    untried = "to be tried" if found.choice is not None else ""
    return (
        each.edit,
        "nothing to compare" if each.best is None else f"{each.best} {found.written(each.best_estimate)}",
        untried if each.estimate is None else found.written(each.estimate),
        "" if each.regret is None else "0" if each.keeps else found.written(each.regret),
        {True: "contradict it", False: "allow it", None: "not tested"}[each.refuted],
        "" if each.settled_by is None else f"{rounded(each.settled_by.pulls)} x {each.settled_by.arm}",
    )


def table_text(found: WhatIf) -> str:
    """The sentences and the first rows, for a terminal."""
    rows = [titles(found), *(cells(found, each) for each in found.ordered[:SHOWN])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*found.summary, "", *lines, *_more(found)])


def table_html(found: WhatIf) -> str:
    """The same for a notebook, with the graph drawn where that can be read; what keeps the choice is folded away."""
    said = "".join(f"<p>{escape(line)}</p>" for line in found.summary)
    shown = found.ordered[:SHOWN]
    keeping = [each for each in shown if each.keeps]
    folded = ""
    if keeping:
        left = sum(each.keeps for each in found.edits)
        what = f"{counted(left, 'edit')} that {'keeps' if left == 1 else 'keep'} the choice"
        folded = (
            f"<details><summary>{what}</summary>{_rows(found, keeping, headed=len(keeping) == len(shown))}</details>"
        )
    more = "".join(f"<p>{escape(line)}</p>" for line in _more(found))
    return f"{said}{_drawing(found)}{_rows(found, [each for each in shown if not each.keeps])}{folded}{more}"


def _rows(found: WhatIf, some: Sequence[EditOutcome], *, headed: bool = True) -> str:
    if not some:
        return ""
    head = "".join(f"<th style='text-align:left'>{escape(title)}</th>" for title in titles(found))
    head = f"<thead><tr>{head}</tr></thead>" if headed else ""
    body = "".join(f"<tr{_style(each)}>{_row(found, each)}</tr>" for each in some)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _drawing(found: WhatIf) -> str:
    try:
        return f"<div style='overflow-x:auto'>{found.svg()}</div>"
    except TooLargeError:
        return ""


def _row(found: WhatIf, each: EditOutcome) -> str:
    return "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in cells(found, each))


def _style(each: EditOutcome) -> str:
    """What matters stands out, what the logs contradict steps back; readable on light and on dark."""
    return " style='font-weight:600'" if each.matters else " style='opacity:.6'" if each.refuted else ""


def _more(found: WhatIf) -> list[str]:
    left = len(found.edits) - SHOWN
    more = [f"... and {left:,} more; to_frame() has all."] if left > 0 else []
    return [*more, found.problem.legend] if found.problem.labels else more
