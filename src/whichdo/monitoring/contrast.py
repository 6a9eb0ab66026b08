"""Evidence that two samples have different means: one that was seen once, and one that grows pull by pull.

The first is a *reference*: an estimate by looking, or shares in logs.  The second is judged after every few tells, for
weeks.  Evidence is the product of two wealths
(`whichdo.monitoring.wealth`), each at most 1 on average at any time if the
common mean is p: what bets on the second sample made against p, and what bets on the reference made.  At the true p the
product reaches 1/miss with chance ``miss`` at most, at all times together; so the least product over all p does too.

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
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.monitoring.wealth import log_wealth

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray


GROWING = 300.0
"""The effective size at which bets on a reference that grows begin to count in full: the least r above."""
FIXED = 10.0
"""The same for plain shares that do not grow."""
GRID = 65
EDGE = 1e-9


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
        error = np.maximum(self.errors[:, None], EDGE)
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
    centre = np.clip(np.nan_to_num(reference.means), EDGE, 1 - EDGE)
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
        p = np.clip(start[:, None] + (end - start)[:, None] * steps, EDGE, 1 - EDGE)
        made = log_wealth(counts, worth, p) + reference.log_wealth(p)
        lowest = made.argmin(axis=1)
        rows = np.arange(len(counts))
        least = np.minimum(least, made[rows, lowest])
        start, end = p[rows, np.maximum(lowest - 1, 0)], p[rows, np.minimum(lowest + 1, GRID - 1)]
    return least
