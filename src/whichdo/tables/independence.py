"""Are two columns independent once others are known?  A test on counts, and how strong the dependence is.

The rows are divided into *strata*, one for each setting of what is given.  In each stratum Pearson's
X^2 compares the counts with what independence expects of its margins; the sum over strata is
chi-square.  That law needs at least five rows expected in every cell, so strata with less are left
out.  Where they hold more than a fifth of the rows, leaving them out would waste the log: then all
strata count, and the sum is compared with a gamma law that has the mean and the variance of X^2
among all tables with these margins, which are known exactly (Haldane 1940; Dawson 1951).  A gamma
law can still be wrong far out, where single rows decide; a small chance from it is confirmed by
tables drawn at random with the same margins, always from the same seed.

Strength is conditional mutual information in nats: how many nats one column tells about the other
on average, once the rest is known.  Chance alone makes it positive, so its mean under independence
is taken off, and an interval is given: with enough rows everything is significant, and what matters
is whether the dependence is large.  Where the second column is worth something, that is given on
its own scale too: by how much its mean differs between values of the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import nan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from whichdo.tails import chi_square_tail, gamma_tail

if TYPE_CHECKING:
    from whichdo.arrays import BoolArray, FloatArray, IntArray


EXPECTED = 5.0
"""Rows expected in a cell below which its stratum does not follow the chi-square law."""
LEFT_OUT = 0.2
"""The share of the rows that may be left out before all strata are taken."""
DOUBTED = 0.05
"""A gamma tail below this is confirmed by drawing tables."""
DRAWS, FEW_DRAWS = 400, 40
DRAWN_CELLS = 1 << 21
"""Cells that are drawn in all where that leaves `FEW_DRAWS`; a sum over so many strata is close to a gamma law."""
BLOCK = 1 << 18
"""Cells that are drawn at once."""
MOST_DRAWN = 10**9
"""Rows of a stratum from which no table can be drawn."""
SEED = 20_160_719
WIDE = 1.959963984540054
"""Standard errors either side of the interval of the strength: 95%."""


@dataclass(frozen=True)
class Dependence:
    """What the counts say of two columns."""

    p: float
    """The chance of at least so much dependence if the columns were independent; NaN where nothing could be tested."""
    strength: float
    """Conditional mutual information in nats, what chance alone makes of it taken off; never below 0."""
    low: float
    """The lower end of its 95% interval."""
    high: float
    """The upper end."""
    rows: int
    """The rows in the strata that were compared."""
    method: str
    """``chi-square``, ``gamma`` or ``drawn``; ``none`` where no stratum has two values of both columns."""


NOTHING = Dependence(nan, nan, nan, nan, 0, "none")
"""The dependence of counts that say nothing."""


def measure_dependence(counts: IntArray) -> Dependence:
    """Measure how far two columns are from independent in every stratum, and how likely chance is to do that.

    ``counts``: how often each cell occurred, with an axis for the strata, one for the first and one for the second
    column.
    Returns the chance of such counts, and the strength of the dependence.

    Examples
    --------
    >>> even, uneven = np.array([[[30, 20], [30, 20]]]), np.array([[[40, 10], [10, 40]]])
    >>> round(measure_dependence(even).p, 3), measure_dependence(uneven).p < 1e-6
    (1.0, True)
    """
    strata = _Strata.of(counts)
    if not len(strata.total):
        return NOTHING
    thick = strata.thick
    whole = float(strata.total.sum())
    if float(strata.total[~thick].sum()) <= LEFT_OUT * whole:
        kept = strata.take(thick)
        pearson, information = kept.statistics(kept.counts)
        free = int(kept.freedom.sum())
        p = chi_square_tail(float(pearson), free)
        return _dependence(p, kept, float(information), float(free), 2.0 * free, "chi-square")
    observed, information = strata.statistics(strata.counts)
    mean, variance = strata.moments()
    if variance <= 0:  # the margins leave one table only
        return NOTHING
    p = gamma_tail(float(observed), mean**2 / variance, variance / mean)
    if p >= DOUBTED or strata.total.max() >= MOST_DRAWN:
        return _dependence(p, strata, float(information), mean, variance, "gamma")
    drawn, informed = strata.draws(max(FEW_DRAWS, min(DRAWS, DRAWN_CELLS // strata.counts.size)))
    p = _confirm(p, float(observed), drawn)
    return _dependence(p, strata, float(information), float(informed.mean()), float(informed.var()), "drawn")


def _dependence(p: float, strata: _Strata, information: float, mean: float, variance: float, method: str) -> Dependence:
    """The strength from twice the information in all rows, which under independence has this mean and variance.

    Under dependence it is about a non-central chi-square: its mean grows by the non-centrality, its variance by four
    times that.  Solved for the non-centrality, that gives the ends of the interval.
    """
    rows = int(strata.total.sum())
    apart = information - mean
    least = _lower_end(apart, variance)
    most = 2 * (apart + 2 * WIDE**2) - least
    low, strength, high = (max(each, 0.0) / (2 * rows) for each in (least, apart, most))
    return Dependence(p, strength, low, high, rows, method)


def measure_difference(counts: IntArray, worth: FloatArray) -> tuple[float, float]:
    """Measure by how much the mean of the second column differs between values of the first, in the same stratum.

    ``counts``: as for `measure_dependence`.
    ``worth``: what each value of the second column is worth.
    Returns the root of the mean square, over all rows, of how far the mean of a row's value lies from that of its
    stratum; what chance alone makes of it taken off; and the lower end of its 95% interval.

    Examples
    --------
    >>> uneven = np.array([[[40, 10], [10, 40]]])  # means of .2 and .8 about one of .5
    >>> [round(each, 2) for each in measure_difference(uneven, np.array([0.0, 1.0]))]
    [0.29, 0.21]
    """
    rows = counts.sum(axis=2).astype(np.float64)
    telling = (rows > 0).sum(axis=1) > 1
    if not telling.any():
        return 0.0, 0.0
    rows, sums, squares = rows[telling], (counts @ worth)[telling], (counts @ worth**2)[telling]
    total = rows.sum(axis=1)
    middle = sums.sum(axis=1) / total
    means = np.divide(sums, rows, out=np.repeat(middle[:, None], rows.shape[1], axis=1), where=rows > 0)
    apart = (rows * (means - middle[:, None]) ** 2).sum(axis=1)
    spread = np.maximum(squares.sum(axis=1) / total - middle**2, 0.0) * total / (total - 1)
    free = (rows > 0).sum(axis=1) - 1
    # As for the strength, in units of the reward: strata differ in how much it varies.
    excess = float(apart.sum() - (spread * free).sum())
    unit = float((spread * apart).sum() / max(apart.sum(), 1e-300))
    low = _lower_end(excess, 2 * float((spread**2 * free).sum()), unit)
    everything = float(counts.sum())
    return sqrt(max(excess, 0.0) / everything), sqrt(max(low, 0.0) / everything)


def _lower_end(excess: float, variance: float, unit: float = 1.0) -> float:
    """The least non-centrality that fits a sum of squares which is so far above its mean under independence.

    ``variance``: of the sum under independence; ``unit``: of one of the squares.
    """
    wide = WIDE**2 * unit
    return excess + 2 * wide - sqrt(max(4 * excess * wide + 4 * wide**2 + WIDE**2 * variance, 0.0))


def _confirm(p: float, observed: float, drawn: FloatArray) -> float:
    """A tail that tables drawn at random agree with: the larger of the gamma's and what the drawn ones show.

    Few draws cannot show a small chance.  They show how skewed the law is, and a gamma law moved to fit that skewness
    too has the tail that the draws point to.
    """
    reached = int((drawn >= observed * (1 - 1e-12)).sum())
    mean, deviation = float(drawn.mean()), float(drawn.std())
    skewness = float(((drawn - mean) ** 3).mean()) / deviation**3 if deviation > 0 else 0.0
    shifted = 0.0
    if skewness > 0:
        shape, scale = 4 / skewness**2, deviation * skewness / 2
        shifted = gamma_tail(observed - (mean - shape * scale), shape, scale)
    return max(p, shifted, reached / len(drawn))


@dataclass(frozen=True)
class _Strata:
    """The strata in which both columns have two values or more."""

    counts: FloatArray
    """(strata, first column, second column)."""
    rows: FloatArray
    """The totals of the first column's values, (strata, values)."""
    columns: FloatArray
    """The totals of the second column's values."""

    @classmethod
    def of(cls, counts: IntArray) -> _Strata:
        rows, columns = counts.sum(axis=2), counts.sum(axis=1)
        telling = ((rows > 0).sum(axis=1) > 1) & ((columns > 0).sum(axis=1) > 1)
        parts = (each[telling].astype(np.float64) for each in (counts, rows, columns))
        return cls(*parts)

    @cached_property
    def total(self) -> FloatArray:
        """The rows of each stratum."""
        found: FloatArray = self.rows.sum(axis=1)
        return found

    @cached_property
    def freedom(self) -> IntArray:
        """The degrees of freedom of each stratum: values that do not occur in it have none."""
        found: IntArray = ((self.rows > 0).sum(axis=1) - 1) * ((self.columns > 0).sum(axis=1) - 1)
        return found

    @property
    def thick(self) -> BoolArray:
        """Whether every cell of a stratum expects five rows, values that do not occur in it aside."""
        least = [np.where(each > 0, each, np.inf).min(axis=1) for each in (self.rows, self.columns)]
        found: BoolArray = least[0] * least[1] >= EXPECTED * self.total
        return found

    def take(self, some: BoolArray) -> _Strata:
        """Some of the strata."""
        return _Strata(self.counts[some], self.rows[some], self.columns[some])

    def statistics(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Pearson's X^2 over all strata, and twice the information in all rows; ``counts`` may have axes before."""
        expected = self.rows[:, :, None] * self.columns[:, None, :] / self.total[:, None, None]
        there = expected > 0
        weight = np.divide(1.0, expected, out=np.zeros_like(expected), where=there)
        ratio = counts * weight
        pearson = (counts * ratio).sum(axis=(-3, -2, -1)) - self.total.sum()
        logs = np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)
        return pearson, 2 * (counts * logs).sum(axis=(-3, -2, -1))

    def moments(self) -> tuple[float, float]:
        """The mean and the variance of X^2 over all strata, among the tables that have these margins."""
        n = self.total
        spread, excess = [], []
        for margin in (self.rows, self.columns):
            levels = (margin > 0).sum(axis=1)
            inverse = np.divide(1.0, margin, out=np.zeros_like(margin), where=margin > 0).sum(axis=1)
            spread.append((n - levels) * (levels - 1) / (n - 1))
            excess.append(np.divide(n * inverse - levels**2, n - 2, out=np.zeros_like(n), where=n > 2))
        mean = n * self.freedom / (n - 1)
        both = (spread[0] - excess[0]) * (spread[1] - excess[1])  # 0 with three rows or less
        variance = np.divide(2 * n * both, n - 3, out=np.zeros_like(n), where=n > 3)
        variance += n**2 / (n - 1) * excess[0] * excess[1]
        return float(mean.sum()), float(np.maximum(variance, 0.0).sum())

    def draws(self, number: int) -> tuple[FloatArray, FloatArray]:
        """X^2 and the information of tables drawn at random with the same margins in every stratum.

        A value of the first column at a time takes its rows from what is left of the second column's values, one of
        these at a time: each cell is hypergeometric given those before it.
        """
        rng = np.random.default_rng(SEED)
        block = max(1, BLOCK // self.counts.size)
        sizes = [min(block, number - start) for start in range(0, number, block)]
        parts = [self.statistics(self._drawn(rng, size)) for size in sizes]
        pearson, information = (np.concatenate(each) for each in zip(*parts, strict=True))
        return pearson, information

    def _drawn(self, rng: np.random.Generator, number: int) -> FloatArray:
        strata, first, second = self.counts.shape
        found = np.zeros((number, strata, first, second))
        left = np.broadcast_to(self.columns.astype(np.int64), (number, strata, second)).copy()
        for one in range(first - 1):
            wanted = np.broadcast_to(self.rows[:, one].astype(np.int64), (number, strata)).copy()
            beyond = left.sum(axis=2)
            for other in range(second - 1):
                here = left[:, :, other].copy()
                beyond -= here
                taken = rng.hypergeometric(here, beyond, wanted)
                found[:, :, one, other] = taken
                wanted -= taken
            found[:, :, one, -1] = wanted
            left -= found[:, :, one].astype(np.int64)
        found[:, :, -1] = left
        return found
