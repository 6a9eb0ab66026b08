"""The evidence of a campaign as pictures: every arm now, kinds of intervals apart, and how the leaders developed.

Arms are drawn as intervals on a common scale, in SVG of our own.  Places along the scale are in
percent of the width and sizes in pixels, so that a track is as wide as the screen lets it be while
dots, lines and characters keep their size.  What lies outside SVG, such as an arm's name, is HTML
and wraps.

Each kind of interval has a colour and a shape of its own:

all evidence   a blue bar with a dot          holds at one time, leans on the graph where looks count
looking        an orange line with a square   holds at one time, leans on the graph
direct pulls   a green line with end strokes  holds at all times, leans on nothing but the arm's own pulls
bounds         a grey line with end strokes   where the mean lies of an arm that nothing settles
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor, isnan, log10, nan
from typing import TYPE_CHECKING, NamedTuple

from whichdo.drawing.labels import safe
from whichdo.problem import Goal
from whichdo.report.trail import short_time
from whichdo.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whichdo.estimate.arm_rank import ArmRank
    from whichdo.monitoring.certainty import ArmCertainty
    from whichdo.report.trail import History


INK, FAINT, GRID = "#1a1a1a", "#666666", "#e4e4e0"
HEIGHT, FIRST, LANE = 46, 10, 13
ROOM = 4.0
"""Percent of a track's width that is kept free on either side, so that marks and labels at the ends stay whole."""


class Interval(NamedTuple):
    """A mean with its bounds; NaN for a mean that is not known."""

    mean: float
    low: float
    high: float


class Kind(NamedTuple):
    """How a kind of interval looks, and where it runs in a track."""

    colour: str
    lane: int
    words: str


ALL = Kind("#0072B2", 0, "all evidence together (at one time)")
LOOKING = Kind("#D55E00", 1, "looking alone (at one time, if the graph is right)")
DIRECT = Kind("#007A59", 2, "its own pulls alone (at all times, whatever the graph)")

BOUNDS = Kind("#666666", 0, "bounds: not settled, but between these ends")


@dataclass(frozen=True)
class Scale:
    """From numbers to percent of the width."""

    low: float
    high: float

    @classmethod
    def around(cls, intervals: Iterable[Interval], least: float, most: float, room: float = 0.0) -> Scale:
        """A scale that holds the intervals, within what the reward can be; all of that where there are none.

        ``room``: how much more on either side, as a share.
        """
        ends = [end for each in intervals for end in (each.low, each.high) if not isnan(end)]
        low, high = min(ends, default=least), max(ends, default=most)
        low, high = max(low - room * (high - low), least), min(high + room * (high - low), most)
        return cls(low, high) if high - low > 1e-9 else cls(least, most)

    def place(self, value: float) -> float:
        """Percent from the left; what lies outside is put at the edge."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return ROOM + (100 - 2 * ROOM) * share

    @property
    def ticks(self) -> list[float]:
        """Round numbers, about five."""
        return round_numbers(self.low, self.high)

    def words(self, tick: float) -> str:
        """A tick with the decimals that it needs."""
        return tick_text(tick, self.ticks)


def round_numbers(low: float, high: float, about: int = 5) -> list[float]:
    """Numbers of one, two or five units of a decimal place, from low to high."""
    rough = (high - low) / about
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * 0.999)
    first = ceil(low / step - 1e-9)
    return [number * step for number in range(first, floor(high / step + 1e-9) + 1)]


def tick_text(tick: float, ticks: Sequence[float]) -> str:
    """With as many decimals as the distance between ticks asks for."""
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    return f"{tick + 0.0:,.{max(0, -floor(log10(step) + 1e-9))}f}"


# --------------------------------------------------------------------------------------------------------- forest plot


def track(scale: Scale, intervals: Sequence[tuple[Kind, Interval]], reference: float | None, words: str = "") -> str:
    """One arm's intervals; ``reference`` is a value to compare with, ``words`` stand where nothing is known."""
    shapes = [
        f'<line x1="{_n(scale.place(tick))}%" x2="{_n(scale.place(tick))}%" y1="0" y2="100%" stroke="{GRID}"/>'
        for tick in scale.ticks
    ]
    if reference is not None:
        x = _n(scale.place(reference))
        shapes.append(f'<line x1="{x}%" x2="{x}%" y1="0" y2="100%" stroke="{FAINT}" stroke-dasharray="4 3"/>')
    for kind, interval in intervals:
        shapes += _drawn(scale, kind, interval, FIRST + LANE * kind.lane)
    if words:
        y = FIRST + 2 * LANE if intervals else HEIGHT / 2 + 4
        shapes.append(
            f'<text x="50%" y="{y:g}" text-anchor="middle" font-size="13" font-style="italic" '
            f'fill="{FAINT}">{safe(words)}</text>'
        )
    return f'<svg class="track" width="100%" height="{HEIGHT}" aria-hidden="true">{"".join(shapes)}</svg>'


def axis(scale: Scale) -> str:
    """The numbers under the tracks."""
    numbers = "".join(
        f'<text x="{_n(scale.place(tick))}%" y="14" text-anchor="middle">{scale.words(tick)}</text>'
        for tick in scale.ticks
    )
    return (
        f'<svg class="axis" width="100%" height="20" font-size="12" fill="{FAINT}" aria-hidden="true">{numbers}</svg>'
    )


def _drawn(scale: Scale, kind: Kind, interval: Interval, y: int) -> list[str]:
    low, high = _n(scale.place(interval.low)), _n(scale.place(interval.high))
    width = 5 if kind is ALL else 2
    ends = f'x1="{low}%" x2="{high}%" y1="{y}" y2="{y}" stroke="{kind.colour}" stroke-width="{width}"'
    shapes = [f'<line {ends} stroke-opacity="{0.55 if kind is ALL else 1:g}"/>']
    if kind in {DIRECT, BOUNDS}:
        ends_at = ((low, interval.low < scale.low, -1), (high, interval.high > scale.high, 1))
        shapes += [_end(end, y, kind, way if beyond else 0) for end, beyond, way in ends_at]
    if scale.low <= interval.mean <= scale.high:
        shapes.append(f'<svg x="{_n(scale.place(interval.mean))}%" y="{y}" overflow="visible">{_mark(kind)}</svg>')
    return shapes


def _end(place: str, y: int, kind: Kind, beyond: int) -> str:
    """The end of an interval: a stroke, or an arrow to the left (-1) or right (1) where it goes on beyond the scale."""
    shape = f"M{9 * beyond},0L0,-5L0,5Z" if beyond else "M-1,-4H1V4H-1Z"
    return f'<svg x="{place}%" y="{y}" overflow="visible"><path d="{shape}" fill="{kind.colour}"/></svg>'


def _mark(kind: Kind) -> str:
    if kind is ALL:
        return f'<circle r="5.5" fill="{kind.colour}" stroke="#fff"/>'
    if kind is LOOKING:
        return f'<rect x="-4" y="-4" width="8" height="8" fill="#fff" stroke="{kind.colour}" stroke-width="2"/>'
    return f'<path d="M-5,0L0,-5L5,0L0,5Z" fill="{kind.colour}" stroke="#fff"/>'


def swatch(kind: Kind) -> str:
    """A kind of interval, small, for a legend."""
    shapes = "".join(_drawn(Scale(0, 1), kind, Interval(0.5, 0, 1), FIRST))
    return f'<svg width="44" height="20" aria-hidden="true">{shapes}</svg>'


def dashed() -> str:
    """The line of a value to compare with, small, for a legend."""
    line = f'<line x1="22" x2="22" y1="0" y2="20" stroke="{FAINT}" stroke-dasharray="4 3"/>'
    return f'<svg width="44" height="20" aria-hidden="true">{line}</svg>'


# ------------------------------------------------------------------------------------------------------- small pictures

WIDE, HIGH = 300.0, 160.0
LEFT, RIGHT, TOP, BOTTOM = 40.0, 10.0, 8.0, 24.0


def development_picture(
    scale: Scale, points: Sequence[tuple[int, Interval]], last: int, beside: Sequence[tuple[int, float]]
) -> str:
    """An arm's mean and interval by number of pulls, up to ``last``; ``beside`` is a line to compare with, dashed."""
    ticks = round_numbers(scale.low, scale.high, 6)

    def across(pulls: int) -> float:
        return LEFT + (WIDE - LEFT - RIGHT) * (pulls / last if last else 0.5)

    def down(value: float) -> float:
        share = (min(max(value, scale.low), scale.high) - scale.low) / (scale.high - scale.low)
        return HIGH - BOTTOM - (HIGH - TOP - BOTTOM) * share

    shapes = [
        f'<line x1="{_n(LEFT)}" x2="{_n(WIDE - RIGHT)}" y1="{_n(down(tick))}" y2="{_n(down(tick))}" stroke="{GRID}"/>'
        f'<text x="{_n(LEFT - 6)}" y="{_n(down(tick) + 4)}" text-anchor="end">{tick_text(tick, ticks)}</text>'
        for tick in ticks
    ]
    marks = [tick for tick in round_numbers(0, last, 4) if tick == int(tick)] if last else [0.0]
    shapes += [
        f'<text x="{_n(across(int(tick)))}" y="{_n(HIGH - 8)}" text-anchor="middle">{tick:,.0f}</text>'
        for tick in marks
    ]
    if len(points) > 1:
        edge = [(across(pulls), down(each.high)) for pulls, each in points]
        edge += [(across(pulls), down(each.low)) for pulls, each in reversed(points)]
        shapes.append(f'<polygon points="{_path(edge)}" fill="{ALL.colour}" fill-opacity=".18"/>')
    if len(beside) > 1:
        line = _path([(across(pulls), down(value)) for pulls, value in beside])
        shapes.append(f'<polyline points="{line}" fill="none" stroke="{FAINT}" stroke-dasharray="4 3"/>')
    for pulls, each in points:
        x = _n(across(pulls))
        shapes.append(
            f'<line x1="{x}" x2="{x}" y1="{_n(down(each.low))}" y2="{_n(down(each.high))}" stroke="{ALL.colour}"/>'
        )
    line = _path([(across(pulls), down(each.mean)) for pulls, each in points])
    shapes.append(f'<polyline points="{line}" fill="none" stroke="{ALL.colour}" stroke-width="2"/>')
    shapes += [
        f'<circle cx="{_n(across(pulls))}" cy="{_n(down(each.mean))}" r="3.5" fill="{ALL.colour}"/>'
        for pulls, each in points
    ]
    return (
        f'<svg viewBox="0 0 {_n(WIDE)} {_n(HIGH)}" width="100%" font-size="11" fill="{FAINT}" aria-hidden="true">'
        f"{''.join(shapes)}</svg>"
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _n(number: float) -> str:
    """A coordinate with two decimals at most, without needless zeros or a negative zero."""
    return f"{round(number, 2) + 0.0:g}"


MOST = 25
"""Arms in the forest plot."""
AROUND = 0.3
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
    scale = Scale.around(narrow, *advice.ranking.reward_range, AROUND)
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
