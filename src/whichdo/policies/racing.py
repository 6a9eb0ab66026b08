"""Steps of a race between arms: who is in it, what is known of each, and who stays.

The evidence of an arm is a mean and a size, in pulls; a standard unit is one over the root of the size.  Each mean lies
between the bounds of its arm (`whichdo.policies.bounding`), 0 and 1 where there are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.evidence import TABLES, Batch, Tally, observe
from whichdo.kernels.compiling import compiled
from whichdo.policies.allocation import best_few, best_of, cuts, water_filling
from whichdo.policies.bounding import within

if TYPE_CHECKING:
    from collections.abc import Generator

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.evidence import Detail
    from whichdo.problem import Problem
    from whichdo.tables import Scope

__all__ = ["Race", "best_left", "narrow", "plausible", "pooled", "pulls_of", "survivors"]


@compiled
def plausible(
    means: FloatArray, sizes: FloatArray, caution: float, lows: FloatArray, highs: FloatArray, first: int = 0
) -> IntArray:
    """The arms from ``first`` on that could still be best: upper end not below the best lower end.

    ``lows`` and ``highs`` are the bounds of all means.
    """
    best = -np.inf
    for j in range(first, means.size):
        if sizes[j] > 0.0:
            best = max(best, min(max(means[j] - caution / np.sqrt(sizes[j]), lows[j]), means[j]))
    alive = np.empty(means.size, np.int64)
    count = 0
    for j in range(first, means.size):
        high = highs[j]
        if sizes[j] > 0.0:
            high = max(min(means[j] + caution / np.sqrt(sizes[j]), high), means[j])
        if high >= best:
            alive[count] = j
            count += 1
    return alive[:count]


@compiled
def pooled(
    base: FloatArray,
    sizes: FloatArray,
    levels: IntArray,
    utility: FloatArray,
    arms: IntArray,
    lows: FloatArray,
    highs: FloatArray,
) -> FloatArray:
    """The means of looking and pulling together, within their bounds; an arm of which nothing is known is the worst."""
    means = np.empty(arms.size)
    for j in range(arms.size):
        arm = arms[j]
        total, weight = base[arm] * sizes[arm], sizes[arm]
        for level in range(utility.size):
            total += levels[arm, level] * utility[level]
            weight += levels[arm, level]
        means[j] = within(total / weight, weight, lows[arm], highs[arm]) if weight > 0.0 else -1.0
    return means


@compiled
def narrow(means: FloatArray, pulls: IntArray, lifted: float, lows: FloatArray, highs: FloatArray) -> None:
    """Clip means to bounds that hold but for a chance of ``lifted``; those of which nothing is known stay the worst."""
    for arm in range(means.size):
        if means[arm] >= 0.0:
            means[arm] += (1.0 - lifted) * (within(means[arm], float(pulls[arm]), lows[arm], highs[arm]) - means[arm])


@compiled
def survivors(
    means: FloatArray, known: FloatArray, luck: FloatArray, optimism: float, number: int, highs: FloatArray
) -> IntArray:
    """The positions of so many best, by mean and so many standard units of the evidence, up to an upper end."""
    hopes = np.empty(means.size)
    for j in range(means.size):
        hope = means[j] + optimism / np.sqrt(max(known[j], 1e-12))
        hopes[j] = max(min(hope, highs[j]), means[j]) if highs[j] < 1.0 else hope
    return best_few(hopes, luck, number)


@compiled
def best_left(
    means: FloatArray,
    known: FloatArray,
    luck: FloatArray,
    optimism: float,
    highs: FloatArray,
    left: tuple[int, int],
    first: int = 0,
) -> int:
    """The arm of the largest mean from ``first`` on; one whose hope is cut by its upper end only if a race ``left`` it.

    Bounds cut an arm early, when it has had few pulls.  It is not to be named for what came of these by luck.
    """
    nameable = means.copy()
    for arm in range(means.size):
        hope = means[arm] + optimism / np.sqrt(max(known[arm], 1e-12))
        if highs[arm] < 1.0 and hope > highs[arm] and arm not in left:
            nameable[arm] = -2.0
    return best_of(nameable, luck, first)


@dataclass(frozen=True)
class Race:
    """What is the same in all races of a play."""

    problem: Problem
    price: FloatArray
    utility: FloatArray
    luck: FloatArray
    optimism: float
    detail: Detail
    scopes: tuple[Scope, ...] | None
    looks: tuple[Scope, ...] | None = None
    """How pulls of do() are counted, where they are to be added up with looks and others tell their reward alone."""

    def run(
        self,
        base: FloatArray,
        sizes: FloatArray,
        alive: IntArray,
        tried: Tally,
        since: IntArray,
        money: float,
        ends: tuple[FloatArray, FloatArray],
    ) -> Generator[Batch, Tally, tuple[Tally, float, int]]:
        """Cut the arms that are ``alive`` down to one for some money: all pulls, the money spent, and who is left.

        ``base`` and ``sizes`` are what looking says of all arms; ``since`` are rewards that count beside those
        ``tried``: of do(), while looking.  ``ends`` are the bounds of all arms.
        """
        left, known = money, sizes[alive] + pulls_of(tried.counts + since)[alive]
        staying, shares = cuts(alive.size)
        for number, share in enumerate(shares, start=1):
            counts = water_filling(known, self.price[alive], left * share)
            left -= (counts * self.price[alive]).sum()
            tried = tried + (yield from self.pull(alive, counts))
            means = pooled(base, sizes, tried.counts + since, self.utility, alive, *ends)
            known = known + counts
            optimism = self.optimism if number < len(shares) else 0.0
            stay = survivors(means, known, self.luck[alive], optimism, staying[number], ends[1][alive])
            alive, known = alive[stay], known[stay]
        return tried, money - left, int(alive[0])

    def pull(self, arms: IntArray, counts: IntArray) -> Generator[Batch, Tally, Tally]:
        """Pull some arms so often."""
        told, taken = Tally.empty(self.problem), counts > 0
        if self.looks is not None and self.detail < TABLES:  # looks without tables would take the others' away
            looks = int(counts[arms == 0].sum())
            taken &= arms != 0
            if looks:
                told = told + (yield observe(looks, scopes=self.looks))
        if taken.any():
            named = tuple(self.problem.arms[arm] for arm in arms[taken])
            told = told + (yield Batch(named, tuple(counts[taken].tolist()), self.detail, self.scopes))
        return told


def pulls_of(counts: IntArray) -> IntArray:
    """How often each arm was pulled, by the levels of its rewards."""
    found: IntArray = counts.sum(axis=1)
    return found
