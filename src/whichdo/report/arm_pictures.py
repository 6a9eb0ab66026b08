"""The evidence of a campaign as pictures: every arm now, kinds of intervals apart, and how the leaders developed."""

from __future__ import annotations

from itertools import groupby
from math import nan
from typing import TYPE_CHECKING, NamedTuple

from whichdo.problem import Goal
from whichdo.report.intervals import ALL, BOUNDS, DIRECT, LOOKING, Interval, Scale, axis, dashed, swatch, track
from whichdo.report.intervals import development as development_picture
from whichdo.report.trail import short_time
from whichdo.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.estimate.arm_rank import ArmRank
    from whichdo.monitoring.certainty import ArmCertainty
    from whichdo.report.intervals import Kind
    from whichdo.report.trail import History


MOST = 25
"""Arms in the forest plot."""
ROOM = 0.3
"""How far beyond the other intervals those of own pulls are drawn; after few pulls they hold nearly all there is."""
PICTURES = 6
"""Arms whose development is drawn."""


class ArmLine(NamedTuple):
    """An arm in the forest plot."""

    name: str
    numbers: tuple[str, ...]
    drawing: str
    leads: bool
    apart: bool
    """Whether it is the first of those of which too little was seen."""


class Arms(NamedTuple):
    """Every arm now."""

    confidence: str
    legend: tuple[tuple[str, str], ...]
    """What the kinds of lines look like, and what they are."""
    lines: tuple[ArmLine, ...]
    axis: str
    axis_words: str
    more: str


class Development(NamedTuple):
    """How the leading arms' estimates developed."""

    best: str
    pictures: tuple[tuple[str, str], ...]
    caption: str
    leaders: tuple[tuple[str, str, str, int, str], ...]
    """Who led: after how many pulls, the arm, its mean, after which event, when."""


def every_arm(found: History) -> Arms:
    """Every arm now, best first; of many the leading ones."""
    advice = found.advice
    rows = advice.ranking.ordered
    shown = rows[:MOST]
    own = {each.arm: each for each in advice.certainty.arms}
    drawn = {row.arm: _intervals(row, advice.looked[row.arm], own[row.arm]) for row in shown}
    narrow = [each for pairs in drawn.values() for kind, each in pairs if kind is not DIRECT]
    scale = Scale.around(narrow, *advice.ranking.reward_range, ROOM)
    nothing = advice.ranking[advice.ranking.problem.arms[0]]
    reference = nothing.estimate if nothing.is_known else None
    first = next((row.arm for row in shown if not row.is_ranked), None)
    lines = tuple(
        ArmLine(
            str(row.arm),
            tuple(_numbers(row, own[row.arm])),
            track(scale, drawn[row.arm], reference, _words(row)),
            leads=row.arm == advice.arm,
            apart=row.arm == first,
        )
        for row in shown
    )
    there = [kind for pairs in drawn.values() for kind, _ in pairs]
    legend = [(swatch(kind), kind.words) for kind in (ALL, LOOKING, DIRECT, BOUNDS) if kind in there]
    if reference is not None:
        legend.append((dashed(), "mean if nothing is done"))
    left = len(rows) - MOST
    more = f"The leading {MOST} of {len(rows):,} arms; {left:,} more are not shown." if left > 0 else ""
    return Arms(f"{advice.confidence:.0%}", tuple(legend), lines, axis(scale), _axis_words(found), more)


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


def _numbers(row: ArmRank, own: ArmCertainty) -> Iterator[str]:
    """What is known of an arm, a line each."""
    yield f"{row.written(row.estimate)} ({row.interval})" if row.is_known else _unknown(row)
    if not row.arm.is_look and row.is_known and row.effect_text != "?":
        yield f"against doing nothing {row.effect_text}"
    if own.pulls:
        pulls = counted(own.pulls, "look" if row.arm.is_look else "pull")
        mean, low, high = (f"{value:,.{row.decimals}f}" for value in (own.mean, own.low, own.high))
        yield f"{pulls}: {mean} ({low} to {high})"


def _unknown(row: ArmRank) -> str:
    return f"not settled, {row.interval}" if row.is_bounded else "not known"


# ------------------------------------------------------------------------------------------------------------ over time


def development_of(found: History) -> Development | None:
    """How the leading arms' estimates developed, and who led when; None before there is enough evidence."""
    leading = found.advice.ranking.contenders[:PICTURES]
    if len(found.moments) < 2 or not leading:
        return None
    points = {row.arm: _points(found, row) for row in leading}
    drawn = (each for line in points.values() for _, each in line)
    scale = Scale.around(drawn, *found.advice.ranking.reward_range)
    last = found.moments[-1].pulls
    best = [(pulls, each.mean) for pulls, each in points[leading[0].arm]]
    return Development(
        str(leading[0].arm),
        tuple(
            (str(row.arm), development_picture(scale, points[row.arm], last, best if place else []))
            for place, row in enumerate(leading)
        ),
        f"Who led when, looked at {counted(len(found.moments), 'time')}",
        tuple(_leaders(found)),
    )


def _points(found: History, row: ArmRank) -> list[tuple[int, Interval]]:
    """An arm at the moments at which it was known; of several after equally many pulls the last."""
    line = {}
    for moment in found.moments:
        then = moment.ranking.get(row.arm)
        if then is not None and then.is_known:
            line[moment.pulls] = Interval(then.estimate, then.low, then.high)
    return list(line.items())


def _leaders(found: History) -> Iterator[tuple[str, str, str, int, str]]:
    """Who led at the moments that are drawn; of those at which it stayed the same the first."""
    for arm, same in groupby(found.moments, lambda moment: None if moment.leader is None else moment.leader.arm):
        first = next(same)
        name, mean = "nothing known", ""
        if first.leader is not None:
            name, mean = str(arm), first.leader.written(first.leader.estimate)
        yield f"{first.pulls:,}", name, mean, first.seq, short_time(first.time)
