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
"""

from __future__ import annotations

from math import lgamma, log, pi
from typing import TYPE_CHECKING

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
