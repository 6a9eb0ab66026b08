"""The evidence of a campaign as pictures: every arm now, kinds of intervals apart, and how the leaders developed."""

from __future__ import annotations

from itertools import groupby
from math import nan
from typing import TYPE_CHECKING

from whichdo.drawing.labels import safe
from whichdo.problem import Goal
from whichdo.report.audit import short_time
from whichdo.report.intervals import ALL, BOUNDS, DIRECT, LOOKING, Interval, Scale, axis, development, legend, track
from whichdo.text import counted

if TYPE_CHECKING:
    from whichdo.estimate.ranking import ArmRank
    from whichdo.monitoring.certainty import ArmCertainty
    from whichdo.report.history import History
    from whichdo.report.intervals import Kind

__all__ = ["forest", "over_time"]

MOST = 25
"""Arms in the forest plot."""
ROOM = 0.3
"""How far beyond the other intervals those of own pulls are drawn; after few pulls they hold nearly all there is."""
PICTURES = 6
"""Arms whose development is drawn."""


def forest(found: History) -> str:
    """Every arm now, best first; of many the leading ones."""
    rows = found.advice.ranking.ordered
    shown = rows[:MOST]
    own = {each.arm: each for each in found.advice.certainty.arms}
    drawn = {row.arm: _intervals(row, found.advice.looked[row.arm], own[row.arm]) for row in shown}
    narrow = [each for pairs in drawn.values() for kind, each in pairs if kind is not DIRECT]
    scale = Scale.around(narrow, *found.advice.ranking.reward_range, ROOM)
    nothing = found.advice.ranking[found.advice.ranking.problem.arms[0]]
    reference = nothing.estimate if nothing.is_known else None
    lines = ""
    for row in shown:
        if not row.is_ranked and '"apart"' not in lines:
            lines += '<p class="apart">Of these too little was seen to rank them; they may be better or worse:</p>\n'
        lines += _line(found, row, own[row.arm], track(scale, drawn[row.arm], reference, _words(row)))
    kinds = [
        kind
        for kind in (ALL, LOOKING, DIRECT, BOUNDS)
        if any(kind is each for pairs in drawn.values() for each, _ in pairs)
    ]
    more = ""
    if len(rows) > MOST:
        more = (
            f'<p class="faint">The leading {MOST} of {len(rows):,} arms; {len(rows) - MOST:,} more are not shown.</p>\n'
        )
    return (
        f"<h2>Every arm now</h2>\n{_explained(found)}"
        f"{legend(kinds, 'mean if nothing is done' if reference is not None else '')}\n"
        f'<div class="forest">{lines}'
        f'<div class="arm"><span></span><div>{axis(scale, _axis_words(found))}</div></div></div>\n{more}'
    )


def _explained(found: History) -> str:
    return (
        "<p>An arm is something that can be done, such as <i>do(X=1)</i>: set X to 1 and see what comes; <i>do()</i> "
        "is to do nothing and look. What leans on looking is true only if the graph is. The intervals of arms' own "
        "pulls do not need it, and hold all together and at all times with "
        f"{found.advice.confidence:.0%} confidence; so they are wider, and stand apart. An arrow says "
        "that an interval goes on.</p>\n"
    )


def _axis_words(found: History) -> str:
    problem = found.state.terms.problem
    return f"mean {problem.label(problem.reward)} ({'less' if problem.goal is Goal.MINIMIZE else 'more'} is better)"


def _intervals(row: ArmRank, looked: ArmRank, own: ArmCertainty) -> list[tuple[Kind, Interval]]:
    found = []
    if row.is_known:
        found.append((ALL, Interval(row.estimate, row.low, row.high)))
    if row.is_bounded:
        found.append((BOUNDS, Interval(nan, row.low, row.high)))
    if looked.is_ranked and not row.arm.is_look:
        found.append((LOOKING, Interval(looked.estimate, looked.low, looked.high)))
    if own.pulls:
        found.append((DIRECT, Interval(own.mean, own.low, own.high)))
    return found


def _words(row: ArmRank) -> str:
    if row.is_known:
        return ""
    if row.is_bounded:
        return f"not settled, {row.interval}" + (": not the best" if row.is_worse else "")
    return "nothing is known yet" if row.identified else "nothing is known: looking cannot settle it"


def _line(found: History, row: ArmRank, own: ArmCertainty, drawn: str) -> str:
    leads = " leads" if row.arm == found.advice.arm else ""
    numbers = [f"{row.written(row.estimate)} ({row.interval})" if row.is_known else _unknown(row)]
    if not row.arm.is_look and row.is_known and row.effect_text != "?":
        numbers.append(f"against doing nothing {row.effect_text}")
    if own.pulls:
        pulls = counted(own.pulls, "look" if row.arm.is_look else "pull")
        mean, low, high = (f"{value:,.{row.decimals}f}" for value in (own.mean, own.low, own.high))
        numbers.append(f"{pulls}: {mean} ({low} to {high})")
    said = "".join(f'<span class="numbers">{safe(each)}</span>' for each in numbers)
    return f'<div class="arm{leads}"><div class="name">{safe(str(row.arm))}{said}</div>{drawn}</div>\n'


def _unknown(row: ArmRank) -> str:
    return f"not settled, {row.interval}" if row.is_bounded else "not known"


# ------------------------------------------------------------------------------------------------------------ over time


def over_time(found: History) -> str:
    """How the leading arms' estimates developed, and who led when."""
    leading = found.advice.ranking.contenders[:PICTURES]
    if len(found.moments) < 2 or not leading:
        return "<h2>How it developed</h2>\n<p>There is too little evidence yet to show a development.</p>\n"
    points = {row.arm: _points(found, row) for row in leading}
    drawn = (each for line in points.values() for _, each in line)
    scale = Scale.around(drawn, *found.advice.ranking.reward_range)
    last = found.moments[-1].pulls
    best = [(pulls, each.mean) for pulls, each in points[leading[0].arm]]
    pictures = "".join(
        f"<figure><figcaption>{safe(str(row.arm))}</figcaption>"
        f"{development(scale, points[row.arm], last, best if place else [])}</figure>\n"
        for place, row in enumerate(leading)
    )
    return (
        "<h2>How it developed</h2>\n"
        f"<p>The leading arms by all evidence after so many pulls (below each picture), from what the log said then. "
        f"Dashed: {safe(str(leading[0].arm))}, the best now.</p>\n"
        f'<div class="pictures">{pictures}</div>\n{_leaders(found)}'
    )


def _points(found: History, row: ArmRank) -> list[tuple[int, Interval]]:
    """An arm at the moments at which it was known; of several after equally many pulls the last."""
    line = {}
    for moment in found.moments:
        then = moment.ranking.get(row.arm)
        if then is not None and then.is_known:
            line[moment.pulls] = Interval(then.estimate, then.low, then.high)
    return list(line.items())


def _leaders(found: History) -> str:
    """Who led at the moments that are drawn; of those at which it stayed the same the first."""
    rows = []
    for arm, same in groupby(found.moments, lambda moment: None if moment.leader is None else moment.leader.arm):
        first = next(same)
        cells = (
            ["nothing known", ""] if first.leader is None else [str(arm), first.leader.written(first.leader.estimate)]
        )
        rows.append(
            f'<tr><td>{first.pulls:,}</td><td class="what">{safe(cells[0])}</td><td>{cells[1]}</td>'
            f'<td>{first.seq}</td><td class="time">{safe(short_time(first.time))}</td></tr>\n'
        )
    head = "<tr><th>pulls</th><th>best from then on</th><th>its mean</th><th>after event</th><th>time (UTC)</th></tr>\n"
    caption = f"Who led when, looked at {counted(len(found.moments), 'time')}"
    return f'<div class="wide"><table class="plain"><caption>{caption}</caption>{head}{"".join(rows)}</table></div>\n'
