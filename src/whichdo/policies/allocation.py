"""Which arms are pulled how often, and which stay: small compiled steps that policies share.

Budgets are in cost units.  Ties are broken by ``luck``, a random number an arm, drawn once a play: the larger wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.kernels.compiling import compiled

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray


ROUNDING = 1e-9
STEEPNESS = 1.3
"""Of `cuts`: 1 is the schedule of successive rejects; more leaves more to the last rounds."""


@compiled
def means_of(levels: IntArray, utility: FloatArray, arms: IntArray) -> FloatArray:
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
def equal_counts(money: float, prices: FloatArray) -> IntArray:
    """Pull all equally often for the budget; what is left buys one more pull each, in the order given."""
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
def water_filling(levels: FloatArray, prices: FloatArray, money: float) -> IntArray:
    """Spread pulls so that each goes to the arm with the least evidence: the lowest levels rise together."""
    surface = _surface(levels, prices, money)
    counts, fractions = np.zeros(levels.size, np.int64), np.full(levels.size, -1.0)
    left = money + ROUNDING
    for j in range(levels.size):
        share = surface - levels[j]
        if share > 0.0:
            counts[j] = np.int64(share + ROUNDING)
            fractions[j] = share - counts[j]
            left -= counts[j] * prices[j]
    if prices.min() == prices.max():
        number = min(int(left / prices[0]), levels.size)
        for j in largest(fractions, number):
            counts[j] += 1
        return counts
    for j in np.argsort(-fractions, kind="mergesort"):  # the largest fractions get one more
        if fractions[j] >= -0.5 and left >= prices[j]:
            left -= prices[j]
            counts[j] += 1
    return counts


@compiled
def _surface(levels: FloatArray, prices: FloatArray, money: float) -> float:
    """The level that the lowest reach together for the budget.

    From above: an arm that stands higher than all arms together would reach has no part in it, and without it the
    others reach less high.
    """
    surface, before = np.inf, levels.size + 1
    while True:
        weight, filled, part = 0.0, 0.0, 0
        for j in range(levels.size):
            if levels[j] < surface:
                weight += prices[j]
                filled += prices[j] * levels[j]
                part += 1
        if part == 0 or part >= before:  # more than before by rounding alone
            return surface
        surface, before = (money + filled) / weight, part


@compiled
def largest(values: FloatArray, number: int) -> IntArray:
    """The positions of so many largest values, in order; of values that are alike the first."""
    if number <= 0:
        return np.zeros(0, np.int64)
    bar = np.partition(values, values.size - number)[values.size - number]
    spare = number
    for value in values:
        spare -= value > bar
    found = np.empty(number, np.int64)
    count = 0
    for j in range(values.size):
        if values[j] > bar or (values[j] == bar and spare > 0):
            spare -= values[j] == bar
            found[count] = j
            count += 1
    return found


@compiled
def best_few(means: FloatArray, luck: FloatArray, number: int) -> IntArray:
    """The positions of so many largest means, at least one, in order."""
    bar = np.partition(means, means.size - number)[means.size - number]
    spare, ties = number, 0  # who is above the bar stays for sure, who is at it by luck
    for mean in means:
        spare -= mean > bar
        ties += mean == bar
    chances = np.empty(ties)
    at = 0
    for j in range(means.size):
        if means[j] == bar:
            chances[at] = luck[j]
            at += 1
    lucky = np.arange(ties) if spare == ties else largest(chances, spare)
    found = np.empty(number, np.int64)
    count, at, next_lucky = 0, 0, 0
    for j in range(means.size):
        stays = means[j] > bar
        if means[j] == bar:
            if next_lucky < spare and lucky[next_lucky] == at:
                stays = True
                next_lucky += 1
            at += 1
        if stays:
            found[count] = j
            count += 1
    return found


@compiled
def better_half(means: FloatArray, luck: FloatArray) -> IntArray:
    """The positions of the better half, rounded up, in order."""
    return best_few(means, luck, (means.size + 1) // 2)


@compiled
def cuts(arms: int) -> tuple[IntArray, FloatArray]:
    """The rounds of a race: with how many arms each begins, 1 after the last; and its share of the budget left by then.

    A cut leaves two thirds, rounded up, but drops one arm at least.  In a race that begins without evidence, the budget
    gives an arm that is among the last k in all k^-STEEPNESS times as many pulls as a single survivor.
    """
    rounds = 0
    count = arms
    while count > 1:
        count = min(count - 1, (2 * count + 2) // 3)
        rounds += 1
    rounds = max(rounds, 1)
    counts, money = np.ones(rounds + 1, np.int64), np.empty(rounds)
    counts[0], before = arms, 0.0
    for j in range(rounds):
        upto = counts[j] ** -STEEPNESS
        money[j], before = counts[j] * (upto - before), upto
        counts[j + 1] = max(1, min(counts[j] - 1, (2 * counts[j] + 2) // 3))
    shares, left = np.empty(rounds), 0.0
    for j in range(rounds - 1, -1, -1):
        left += money[j]
        shares[j] = money[j] / left
    return counts, shares


@compiled
def best_of(means: FloatArray, luck: FloatArray, first: int = 0) -> int:
    """The position of the largest mean from ``first`` on; arms without one are passed over."""
    best = -1
    for j in range(first, means.size):
        if np.isnan(means[j]):
            continue
        if best < 0 or means[j] > means[best] or (means[j] == means[best] and luck[j] > luck[best]):
            best = j
    return best


@compiled
def rejects_schedule(money: float, prices: FloatArray) -> FloatArray:
    """How much is spent after each phase of successive rejects: as if every pull had the average cost."""
    arms, total, spread = prices.size, 0.0, 0.5
    for each in prices:
        total += each
    price = total / arms
    for j in range(2, arms + 1):
        spread += 1.0 / j
    upto = np.zeros(arms)
    before = 0.0
    for phase in range(1, arms):
        pulls = max(before, np.ceil((money / price - arms) / (spread * (arms + 1 - phase)) - ROUNDING))
        upto[phase] = upto[phase - 1] + (pulls - before) * (arms + 1 - phase) * price
        before = pulls
    return upto
