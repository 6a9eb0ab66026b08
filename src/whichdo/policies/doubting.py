"""Doubt, kept up to date pull by pull: the model is that of `whichdo.estimate.doubt`.

A pull changes the Bayes factor of its own arm alone, by the ratio of how likely its reward was if what looking says of
the arm is wrong, and if it is right; everything follows from that by a logarithm or two.  Only where looks have changed
what looking says are the factors worked out anew.
"""

from __future__ import annotations

from math import lgamma
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.estimate.doubt import FEW, LEFT, MANY
from whichdo.kernels.compiling import compiled

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray
    from whichdo.policies.looking import Evidence

__all__ = ["OF_FEW", "OF_MANY", "Doubts", "before_pulls", "doubted_means", "doubts", "recount", "weigh"]

PRIOR, ODDS, OF_FEW, OF_MANY = 0, 1, 3, 4  # places of the whole; the odds are two


class Doubts(NamedTuple):
    """How likely what looking says is wrong."""

    factors: FloatArray
    """The logarithm of each arm's Bayes factor: wrong against right."""
    shares: FloatArray
    """A row for few and one for many: for each arm the chance that what looking says of it is wrong."""
    whole: FloatArray
    """That anything is wrong: the logarithm of its odds before any pull; after all pulls that of the odds for few arms,
    and for many; and the chances of these.  Without doubt the chances are 0, and stay so.
    """


@compiled
def before_pulls(doubt: float, arms: int) -> Doubts:
    """A doubt before any pull."""
    odds = np.log(0.5 * doubt / (1.0 - doubt)) if 0.0 < doubt < 1.0 else (np.inf if doubt > 0.0 else -np.inf)
    shares = np.empty((2, arms))
    shares[0], shares[1] = FEW, MANY
    return Doubts(np.zeros(arms), shares, np.array([odds, odds, odds, 0.5 * doubt, 0.5 * doubt]))


def doubts(doubt: float, known: Evidence) -> Doubts:
    """Before the first round: what pulls at hand make of a doubt."""
    found = before_pulls(float(doubt), known.wins.size)
    recount(*found, known.wins, known.losses, known.means, known.sizes)
    return found


def doubted_means(known: Evidence, found: Doubts) -> FloatArray:
    """The posterior mean of every arm, whether looking is right or wrong."""

    def mean(sizes: FloatArray) -> FloatArray:
        return (1.0 + known.wins + sizes * known.means) / (2.0 + known.wins + known.losses + sizes)

    wrong = found.whole[OF_FEW:] @ found.shares
    return (1.0 - wrong) * mean(known.sizes) + wrong * mean(np.minimum(known.sizes, LEFT))


@compiled
def _either(each: float, factor: float) -> float:
    """The logarithm of 1 - each + each * B."""
    if factor > 0.0:
        return factor + np.log(each + (1.0 - each) * np.exp(-factor))  # type: ignore[no-any-return]
    return np.log(1.0 - each + each * np.exp(factor))  # type: ignore[no-any-return]


@compiled
def _chances(whole: FloatArray) -> None:
    """The chances that follow from the odds."""
    if np.isinf(whole[PRIOR]):  # doubtless, one way or the other
        return
    few, many = whole[ODDS], whole[ODDS + 1]
    top = max(few, many, 0.0)
    few, many = np.exp(few - top), np.exp(many - top)
    total = few + many + np.exp(-top)
    whole[OF_FEW], whole[OF_MANY] = few / total, many / total


@compiled
def _put(factors: FloatArray, shares: FloatArray, whole: FloatArray, arm: int, factor: float) -> None:
    """Take note of an arm's factor."""
    for row, each in enumerate((FEW, MANY)):
        after = _either(each, factor)
        whole[ODDS + row] += after - _either(each, factors[arm])
        shares[row, arm] = each * np.exp(factor - after)
    factors[arm] = factor


@compiled
def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


@compiled
def _log_factor(won: float, lost: float, mean: float, size: float) -> float:
    """The logarithm of an arm's Bayes factor, from all its pulls."""
    found = 0.0
    for worth, sign in ((LEFT, 1.0), (size, -1.0)):
        before, against = 1.0 + worth * mean, 1.0 + worth * (1.0 - mean)
        found += sign * (_log_beta(before + won, against + lost) - _log_beta(before, against))
    return found


@compiled
def weigh(
    factors: FloatArray,
    shares: FloatArray,
    whole: FloatArray,
    arm: int,
    reward: float,
    wins: FloatArray,
    losses: FloatArray,
    means: FloatArray,
    sizes: FloatArray,
) -> None:
    """Take a pull in, before it is counted among the wins and losses."""
    size = sizes[arm]
    if whole[OF_FEW] <= 0.0 or size <= LEFT:
        return
    mean, won, lost = means[arm], wins[arm], losses[arm]
    if 0.0 < reward < 1.0:
        factor = _log_factor(won + reward, lost + 1.0 - reward, mean, size)
    else:
        same, claimed = (won, mean) if reward > 0.0 else (lost, 1.0 - mean)
        total = (2.0 + won + lost + size) / (2.0 + won + lost + LEFT)
        factor = factors[arm] + np.log(total * (1.0 + same + LEFT * claimed) / (1.0 + same + size * claimed))
    _put(factors, shares, whole, arm, factor)
    _chances(whole)


@compiled
def recount(
    factors: FloatArray,
    shares: FloatArray,
    whole: FloatArray,
    wins: FloatArray,
    losses: FloatArray,
    means: FloatArray,
    sizes: FloatArray,
) -> None:
    """Work everything out anew from all pulls, where what looking says has changed."""
    if whole[OF_FEW] <= 0.0:
        return
    whole[ODDS], whole[ODDS + 1] = whole[PRIOR], whole[PRIOR]
    for arm in range(factors.size):
        factors[arm] = 0.0
        factor = 0.0
        if sizes[arm] > LEFT and wins[arm] + losses[arm] > 0.0:
            factor = _log_factor(wins[arm], losses[arm], means[arm], sizes[arm])
        _put(factors, shares, whole, arm, factor)
    _chances(whole)
