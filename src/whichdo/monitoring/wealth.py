"""Evidence about a mean that may be looked at after every pull: bets, and the wealth they would have made.

A campaign is judged again and again, and what is pulled next depends on what came so far.  An interval that misses once
in twenty at one chosen moment misses nearly surely at some moment.  So evidence against "the mean is m" is counted as
*wealth*: start with 1 and bet on each pull at odds that are fair if the mean is m.  A value x in [0, 1] multiplies a
bet with share q by

    x q/m + (1 - x) (1 - q)/(1 - m),

whose expectation is 1, whatever else the law of x is.  So wealth is a nonnegative martingale, and the chance that it
*ever* reaches 1/miss is at most ``miss`` (Ville): at all times at once, however arms are chosen, whenever one stops.
The means that no bet has got rich against are an interval that is valid at every time.

Everything here is a function of how often each level came, not of the order.  Its logarithm is convex in m, so what is
not ruled out is an interval.

Two samples are compared in the same way: one that was seen once, and one that grows pull by pull.
The first is a *reference*: an estimate by looking, or shares in logs.  The second is judged after
every few tells, for weeks.  Evidence is the product of two wealths (`whichdo.monitoring.wealth`),
each at most 1 on average at any time if the common mean is p: what bets on the second sample made
against p, and what bets on the reference made.  At the true p the product reaches 1/miss with
chance ``miss`` at most, at all times together; so the least product over all p does too.

Bets on the reference are Robbins' normal mixture

    sqrt(r / (r + n)) * exp( n / (r + n) * z^2 / 2 ),        z = distance of p from the estimate in standard errors

with n the effective size, and r = 300 or a quarter of what was known before the first pull, if that is more; plain
shares that do not grow any more need no such care, and have r = n / 4 from the start.  This half is a large-sample
statement: an estimate by looking is a sum of many small parts.  It is kept careful where these are few: small n makes z
count for little, rows never seen take away from the distance, what shrinkage moved counts as error, and long tails
count as they do for rare events (lean).

The average of such wealths over many tests is again at most 1 on average.  So tests are joined by a weighted average,
not by dividing the level among them: the average is never less than the largest share, and where several tests are
mildly surprised it is more.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, pi
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import UsageError
from whichdo.estimate.shrinkage import unit_scale

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray


FRACTIONS = (0.05, 0.1, 0.2, 0.35, 0.65)
"""How far each bet of `log_wealth` lies from m, as a share of the way to 0 or to 1."""
STAKES = (0.04, 0.06, 0.2, 0.5, 0.2)
"""How the stake is divided: mostly on errors large enough to mislead, found within a hundred pulls."""

STEPS = 50
TILTS = 34.0
EDGE = 1e-15


def chance(value: float, what: str) -> float:
    """A number between 0 and 1, both excluded."""
    if not 0 < value < 1:
        raise UsageError(f"The {what} is {value:g}; it must lie between 0 and 1.")
    return float(value)


def log_wealth(counts: FloatArray, worth: FloatArray, means: FloatArray) -> FloatArray:
    """The logarithm of what a few fixed bets have made against each mean.

    ``counts``: a row for each test, how often each level came; ``worth``: the levels, in [0, 1]; ``means``: the means
    to bet against, a row for each test and as many columns as one likes, between 0 and 1 (excluded).
    A bet with fraction f has q = m + (1-m) f or q = m - m f, whose factors are 1-f + f x/m and 1-f + f (1-x)/(1-m).
    """
    made = []
    for fraction, stake in zip(FRACTIONS, STAKES, strict=True):
        up = down = np.zeros(means.shape)
        for level, value in enumerate(worth.tolist()):
            came = counts[:, level, None]
            up = up + came * np.log(1 - fraction + fraction * value / means)
            down = down + came * np.log(1 - fraction + fraction * (1 - value) / (1 - means))
        made += [log(stake / 2) + up, log(stake / 2) + down]
    total: FloatArray = np.logaddexp.reduce(made, axis=0)
    return total


def mean_bounds(counts: FloatArray, worth: FloatArray, miss: float) -> tuple[FloatArray, FloatArray]:
    """Bounds on each mean that hold at all times at once with probability 1 - ``miss``, a row of ``counts`` each.

    Two levels: the bets are mixed by a Beta(1/2, 1/2) law of q, whose wealth is a ratio of Beta functions (Robbins'
    method of mixtures).  More levels: the same mixture made at least what the best bet in hindsight made divided by
    sqrt(pi) Gamma(n+1) / Gamma(n+1/2) (Cover and Ordentlich's bound for two assets; Orabona and Jun use it so).
    A row that was never pulled has the whole range.
    """
    chance(miss, "chance to miss")
    levels, least, reach = unit_scale(worth)
    counts = counts.astype(np.float64)
    pulls = counts.sum(axis=1)
    if np.isin(levels, (0.0, 1.0)).all():
        wins = counts @ levels
        allowed = -log(miss) - _mixture(wins, pulls - wins)
        low, high = _two_levels(wins, pulls, allowed), 1 - _two_levels(pulls - wins, pulls, allowed)
    else:
        allowed = -log(miss) + np.array([_regret(n) for n in pulls.tolist()])
        low, high = _many_levels(counts, levels, allowed), 1 - _many_levels(counts, 1 - levels, allowed)
    low, high = np.where(pulls > 0, low, 0.0), np.where(pulls > 0, high, 1.0)
    return least + reach * low, least + reach * high


def _mixture(wins: FloatArray, losses: FloatArray) -> FloatArray:
    """The logarithm of B(wins + 1/2, losses + 1/2) / B(1/2, 1/2)."""
    pairs = zip(wins.tolist(), losses.tolist(), strict=True)
    return np.array([lgamma(s + 0.5) + lgamma(f + 0.5) - lgamma(s + f + 1) - log(pi) for s, f in pairs])


def _regret(pulls: float) -> float:
    return 0.5 * log(pi) + lgamma(pulls + 1) - lgamma(pulls + 0.5)


def _two_levels(wins: FloatArray, pulls: FloatArray, allowed: FloatArray) -> FloatArray:
    """The largest m below the mean with -wins log m - losses log(1-m) not below ``allowed``; 0 if there is none."""
    outside, inside = np.zeros_like(pulls), np.clip(wins / np.maximum(pulls, 1.0), EDGE, 1 - EDGE)
    for _ in range(STEPS):
        m = np.maximum((outside + inside) / 2, EDGE)
        out = -wins * np.log(m) - (pulls - wins) * np.log1p(-m) >= allowed
        outside, inside = np.where(out, m, outside), np.where(out, inside, m)
    return outside


def _many_levels(counts: FloatArray, levels: FloatArray, allowed: FloatArray) -> FloatArray:
    """The largest m below the mean against which the best bet made ``allowed``.

    Bets are 1 + b (x - m).  The best against m leaves no slope: sum of c (x - m) / (1 + b (x - m)) = 0.  Written with
    t = b / (1 - b m) this is m = m(t), the mean of x under weights c / (1 + t x), and the bet is
    (1 + t x) / (1 + t m): so one search over t finds both.  Beyond t = infinity b = 1/m is as much as can be staked,
    and the bet is x / m.
    """
    pulls = np.maximum(counts.sum(axis=1), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # a level at 0 that came rules this out
        logs = np.where(counts > 0, counts * np.log(levels), 0.0).sum(axis=1)
    found: FloatArray = np.exp((logs - allowed) / pulls)  # all staked; right where no t below infinity is enough
    small, large = np.full_like(pulls, -TILTS), np.full_like(pulls, TILTS)
    for _ in range(STEPS):
        tilt = (small + large) / 2
        t = np.exp(tilt)[:, None]
        weights = counts / (1 + t * levels)
        m = (weights @ levels) / np.maximum(weights.sum(axis=1), EDGE)
        made = (counts * np.log1p(t * levels)).sum(axis=1) - pulls * np.log1p(t[:, 0] * m)
        out = made >= allowed
        found = np.where(out, m, found)  # each time out, t is smaller and m larger
        small, large = np.where(out, small, tilt), np.where(out, tilt, large)
    return found


GROWING = 300.0
"""The effective size at which bets on a reference that grows begin to count in full: the least r above."""
FIXED = 10.0
"""The same for plain shares that do not grow."""
GRID = 65
BOUNDARY = 1e-9


@dataclass(frozen=True)
class Reference:
    """Estimates on a scale of [0, 1], one a test; see `whichdo.estimate.settled.Settled`."""

    before: float
    """The share of the reference that was known before the first pull."""
    means: FloatArray
    errors: FloatArray
    below: FloatArray
    above: FloatArray
    """How far rows never seen could move the mean down, and up."""
    leans: FloatArray
    """How lopsided the errors are: their third central moment over their variance."""
    sizes: FloatArray
    floor: float = GROWING
    """The least r."""

    def log_wealth(self, p: FloatArray) -> FloatArray:
        """What bets on the reference made against each p, a row for each test.

        In the direction of the longer tail z is that of lean/2 z^2 + error z = distance: normal close by, and like the
        tail of rare events, distance/lean for z^2/2, far away.
        """
        away = p - self.means[:, None]
        distance = np.maximum(np.abs(away) - np.where(away > 0, self.above[:, None], self.below[:, None]), 0.0)
        tail = np.maximum(np.sign(away) * self.leans[:, None], 0.0)
        error = np.maximum(self.errors[:, None], BOUNDARY)
        z = 2 * distance / (error + np.sqrt(error**2 + 2 * tail * distance))
        n = self.sizes[:, None]
        r = np.maximum(self.floor, self.before * n / 4)
        wealth: FloatArray = n / (r + n) * z**2 / 2 - 0.5 * np.log1p(n / r)
        return wealth

    def take(self, chosen: FloatArray) -> Reference:
        """Some of the tests."""
        means, errors, below, above, leans, sizes = (
            part[chosen] for part in (self.means, self.errors, self.below, self.above, self.leans, self.sizes)
        )
        return Reference(self.before, means, errors, below, above, leans, sizes, self.floor)


def mean_of_levels(counts: FloatArray, worth: FloatArray, before: float | None = None) -> Reference:
    """Plain means of counted levels as a reference, a row for each test; smoothed by one at either end of the scale.

    ``before``: the share of them that was known before the first pull; None where they do not grow any more.
    """
    n = counts.sum(axis=1)
    mean = (counts @ worth + 1) / (n + 2)
    shift = mean - counts @ worth / n
    spread = (counts @ worth**2 + 1) / (n + 2) - mean**2
    nothing = np.zeros_like(n)
    errors, leans = np.sqrt(spread / (n + 3) + shift**2), (1 - 2 * mean) / n
    if before is None:
        return Reference(1.0, mean, errors, nothing, nothing, leans, n, FIXED)
    return Reference(before, mean, errors, nothing, nothing, leans, n)


def log_evidence(reference: Reference, counts: FloatArray, worth: FloatArray) -> FloatArray:
    """The logarithm of the least product of wealths, a row of ``counts`` a test; minus infinity where it is below 1.

    At the mean of the reference its own bets made nothing, so nothing is lost by passing over tests in which bets on
    the counts made nothing there.
    """
    found = np.full(len(counts), -np.inf)
    centre = np.clip(np.nan_to_num(reference.means), BOUNDARY, 1 - BOUNDARY)
    seen = (counts.sum(axis=1) > 0) & (reference.sizes > 0)
    chosen: Any = np.flatnonzero(seen & (log_wealth(counts, worth, centre[:, None])[:, 0] > 0))
    if len(chosen):
        found[chosen] = _least(reference.take(chosen), counts[chosen], worth)
    return np.where(found > 0, found, -np.inf)


def _least(reference: Reference, counts: FloatArray, worth: FloatArray) -> FloatArray:
    """The least of a function that is convex in p lies between the two means: a grid, then a finer one."""
    start, end = reference.means, counts @ worth / counts.sum(axis=1)
    steps = np.linspace(0, 1, GRID)
    least = np.full(len(counts), np.inf)
    for _ in range(3):
        p = np.clip(start[:, None] + (end - start)[:, None] * steps, BOUNDARY, 1 - BOUNDARY)
        made = log_wealth(counts, worth, p) + reference.log_wealth(p)
        lowest = made.argmin(axis=1)
        rows = np.arange(len(counts))
        least = np.minimum(least, made[rows, lowest])
        start, end = p[rows, np.maximum(lowest - 1, 0)], p[rows, np.minimum(lowest + 1, GRID - 1)]
    return least
