"""Who is pulled how often, and who stays: small compiled steps that `play` and compiled runs share.

Money is in cost units.  Ties are broken by ``luck``, a random number an arm, drawn once a play: the larger wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.kernels.compiling import compiled

if TYPE_CHECKING:
    from whichdo.kernels.compiling import F64Array, I64Array

__all__ = ["best_of", "better_half", "equal_counts", "means_of", "rejects_schedule", "water_filling", "worst_of"]

ROUNDING = 1e-9


@compiled
def means_of(levels: I64Array, utility: F64Array, arms: I64Array) -> F64Array:
    """The mean utility of the rewards of some arms; -1 without any, which is worse than any."""
    means = np.empty(arms.size)
    for j in range(arms.size):
        total, pulls = 0.0, np.int64(0)
        for level in range(utility.size):
            total += levels[arms[j], level] * utility[level]
            pulls += levels[arms[j], level]
        means[j] = total / pulls if pulls > 0 else -1.0
    return means


@compiled
def equal_counts(money: float, prices: F64Array) -> I64Array:
    """Pull all equally often for the money; what is left buys one more pull each, in the order given."""
    total = 0.0
    for price in prices:
        total += price
    each = np.int64(np.floor(money / total + ROUNDING))
    left = money - each * total + ROUNDING
    counts = np.full(prices.size, each, np.int64)
    for j in range(prices.size):
        if left >= prices[j]:
            left -= prices[j]
            counts[j] += 1
    return counts


@compiled
def water_filling(levels: F64Array, prices: F64Array, money: float) -> I64Array:
    """Spread pulls so that each goes to the arm with the least evidence: the lowest levels rise together."""
    order = np.argsort(levels, kind="mergesort")
    weight, filled, surface = 0.0, 0.0, 0.0
    low = np.int64(0)
    while low < order.size:
        price = prices[order[low]]
        weight += price
        filled += price * levels[order[low]]
        surface = (money + filled) / weight
        low += 1
        if low < order.size and surface <= levels[order[low]]:
            break
    counts = np.zeros(levels.size, np.int64)
    fractions = np.empty(low)
    left = money + ROUNDING
    for j in range(low):
        share = max(0.0, surface - levels[order[j]])
        counts[order[j]] = np.int64(np.floor(share + ROUNDING))
        fractions[j] = counts[order[j]] - share
        left -= counts[order[j]] * prices[order[j]]
    for j in np.argsort(fractions, kind="mergesort"):  # the largest fractions get one more
        if left >= prices[order[j]]:
            left -= prices[order[j]]
            counts[order[j]] += 1
    return counts


@compiled
def better_half(means: F64Array, luck: F64Array) -> I64Array:
    """The positions of the better half, rounded up, in order."""
    by_luck = np.argsort(-luck, kind="mergesort")
    ranked = by_luck[np.argsort(-means[by_luck], kind="mergesort")]
    return np.sort(ranked[: (means.size + 1) // 2])


@compiled
def best_of(means: F64Array, luck: F64Array) -> int:
    """The position of the largest mean; arms without one are passed over."""
    best = -1
    for j in range(means.size):
        if np.isnan(means[j]):
            continue
        if best < 0 or means[j] > means[best] or (means[j] == means[best] and luck[j] > luck[best]):
            best = j
    return best


@compiled
def worst_of(means: F64Array, luck: F64Array, count: int) -> int:
    """The position of the smallest mean among the first ``count``."""
    worst = 0
    for j in range(1, count):
        if means[j] < means[worst] or (means[j] == means[worst] and luck[j] < luck[worst]):
            worst = j
    return worst


@compiled
def rejects_schedule(money: float, prices: F64Array) -> F64Array:
    """How much is spent after each phase of successive rejects: as if every pull had the average price."""
    arms, price = prices.size, prices.mean()
    spread = 0.5
    for j in range(2, arms + 1):
        spread += 1.0 / j
    upto = np.zeros(arms)
    before = 0.0
    for phase in range(1, arms):
        pulls = max(before, np.ceil((money / price - arms) / (spread * (arms + 1 - phase)) - ROUNDING))
        upto[phase] = upto[phase - 1] + (pulls - before) * (arms + 1 - phase) * price
        before = pulls
    return upto
