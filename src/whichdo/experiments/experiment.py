"""What an experiment is: panels of points, networks and runs, the policies it compares, and the claims it tests.

How claims are judged: words, verdicts, and the tests behind them.

A difference is *clear* when it is more than three of its standard errors.  Policies meet the same networks with the
same luck, so differences are taken network by network; where there is one network, the errors of both are combined.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from whichdo.policies.base import Objective

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whichdo.arrays import BoolArray, FloatArray, IntArray
    from whichdo.world.instances import Instance

    Lines = Mapping[str, "Line"]
    Judge = Callable[[Mapping[str, Lines]], "Verdict"]

    #: The instances of one network, one for each point; they may be the same object.
    Maker = Callable[[np.random.SeedSequence, Sequence[int]], Sequence[Instance]]

CLEAR = 3
"""Standard errors of a difference that is clear."""


class Word(StrEnum):
    """What a claim comes to."""

    HOLDS = "holds"
    PART = "holds in part"
    NOT = "not reproduced"


@dataclass(frozen=True)
class Verdict:
    """A word, the numbers behind it, and the test that chose it."""

    word: Word
    numbers: str
    test: str


@dataclass(frozen=True)
class Line:
    """One policy in one panel: at each point the mean regret of every network.

    ``errors`` are standard errors of the mean over networks; where there is one network, over its runs.
    """

    policy: str
    points: IntArray
    networks: FloatArray
    """A row a network, a column a point."""
    spreads: FloatArray
    """Standard deviations over the runs of each network."""
    runs: int

    @cached_property
    def means(self) -> FloatArray:
        """The mean regret at each point."""
        found: FloatArray = self.networks.mean(axis=0)
        return found

    @cached_property
    def errors(self) -> FloatArray:
        """The standard error of each mean."""
        several = len(self.networks) > 1
        spread, count = (
            (self.networks.std(axis=0, ddof=1), len(self.networks)) if several else (self.spreads[0], self.runs)
        )
        found: FloatArray = spread / sqrt(count)
        return found

    def at(self, point: int) -> int:
        """The column of a point."""
        return int(np.flatnonzero(self.points == point)[0])


@dataclass(frozen=True)
class Claim:
    """``source`` is whose claim it is; ``judge`` looks at the lines of each panel by its name."""

    text: str
    source: str
    needs: tuple[str, ...]
    judge: Judge


def claim(text: str, source: str, needs: tuple[str, ...]) -> Callable[[Judge], Claim]:
    """Make a claim of the function below: its judge."""
    return lambda judge: Claim(text, source, needs, judge)


# ---------------------------------------------------------------------------------------------------------- differences


def difference(one: Line, other: Line) -> tuple[FloatArray, FloatArray]:
    """At each point that both have, how far one is above the other, and the standard error of that."""
    points = np.intersect1d(one.points, other.points)
    first, second = np.isin(one.points, points), np.isin(other.points, points)
    gaps = one.networks[:, first] - other.networks[:, second]
    if len(gaps) == 1:
        return gaps[0], np.hypot(one.errors[first], other.errors[second])
    return gaps.mean(axis=0), gaps.std(axis=0, ddof=1) / sqrt(len(gaps))


def clearly_below(one: Line, others: Iterable[Line]) -> BoolArray:
    """At each point, whether one is clearly below all others."""
    below = []
    for other in others:
        gap, error = difference(one, other)
        below.append(gap < -CLEAR * error)
    found: BoolArray = np.all(below, axis=0)
    return found


def counted_word(good: BoolArray) -> Word:
    """It holds at all points, at some, or at none."""
    return Word.HOLDS if good.all() else Word.PART if good.any() else Word.NOT


def together(words: Iterable[Word]) -> Word:
    """All hold, none does, or in part."""
    found = set(words)
    return found.pop() if len(found) == 1 else Word.PART


def listed_points(points: IntArray, name: str) -> str:
    """``m = 12, 14``, or ``nowhere``."""
    return f"{name} = " + ", ".join(f"{point:,}" for point in points.tolist()) if len(points) else "nowhere"


def exponent(points: FloatArray, line: Line) -> tuple[float, float]:
    """The b of regret = a * point ** b, fitted to the means by weighted least squares, and its standard error."""
    kept = line.means > 0
    where, height = np.log(points[kept]), np.log(line.means[kept])
    weights = (line.means[kept] / np.maximum(line.errors[kept], 1e-12)) ** 2
    weights /= weights.sum()
    middle = weights @ where
    spread = weights @ (where - middle) ** 2
    slope = float(weights @ ((where - middle) * height) / spread)
    left = height - weights @ height - slope * (where - middle)
    free = max(1, int(kept.sum()) - 2)
    return slope, float(sqrt((weights @ left**2) / spread / free))


def starting_at(line: Line, least: int) -> Line:
    """The line without the points below one."""
    kept = line.points >= least
    return type(line)(line.policy, line.points[kept], line.networks[:, kept], line.spreads[:, kept], line.runs)


class Axis(StrEnum):
    """What changes from point to point."""

    BUDGET = "T"
    HARDNESS = "m"
    ROUND = "t"


@dataclass(frozen=True)
class Scale:
    """How large a panel is: its points on the axis, how many networks, and how often each policy meets each of them."""

    points: tuple[int, ...]
    networks: int
    runs: int


@dataclass(frozen=True)
class Panel:
    """One set of axes: a family of networks.

    ``name`` stands in the results; ``budget`` is the number of pulls, None where the points are the budgets.  A policy
    that is named with the key of one of ``lists``, as in ``ts@all``, meets the instances that this one makes: the same
    networks, with other arms on offer.
    """

    name: str
    title: str
    make: Maker
    full: Scale
    quick: Scale
    budget: int | None = None
    quick_budget: int | None = None
    lists: Mapping[str, Maker] = field(default_factory=dict)

    def maker(self, arms: str) -> Maker:
        """What makes the instances for policies with this list of arms; "" is the usual one."""
        return self.lists[arms] if arms else self.make

    def scale(self, quick: bool) -> Scale:  # noqa: FBT001 - the two sizes
        """The size asked for."""
        return self.quick if quick else self.full

    def pulls(self, point: int, quick: bool) -> int:  # noqa: FBT001
        """The budget of a run at a point."""
        fixed = self.quick_budget if quick and self.quick_budget is not None else self.budget
        return point if fixed is None else fixed


@dataclass(frozen=True)
class Experiment:
    """``paper`` are the policies that the experiment was made for, ``more`` those shown beside them."""

    number: int
    title: str
    about: str
    axis: Axis
    panels: tuple[Panel, ...]
    paper: tuple[str, ...]
    more: tuple[str, ...]
    claims: tuple[Claim, ...]
    by_root: bool = False
    """Drawn against the square root of m/T instead of m."""
    logarithmic: bool = False

    @property
    def name(self) -> str:
        """As files and anchors call it."""
        return f"experiment-{self.number}"

    @property
    def objective(self) -> Objective:
        """Which regret it is about."""
        return Objective.CUMULATIVE if self.axis is Axis.ROUND else Objective.SIMPLE
