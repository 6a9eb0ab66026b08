"""Doubt, kept up to date pull by pull: the model is that of `whichdo.estimate.doubt`.

A pull changes the Bayes factor of its own arm alone, by the ratio of how likely its reward was if what looking says of
the arm is wrong, and if it is right; everything follows from that by a logarithm or two.  Only where looks have changed
what looking says are the factors worked out anew.
"""

from __future__ import annotations

from math import lgamma
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.estimate.doubt import EACH, LEFT
from whichdo.kernels.compiling import compiled

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray
    from whichdo.policies.looking import Evidence

__all__ = ["CHANCE", "Doubts", "doubted_means", "doubts", "recount", "weigh"]

PRIOR, ODDS, CHANCE = 0, 1, 2  # places of the whole


class Doubts(NamedTuple):
    """How likely what looking says is wrong."""

    factors: FloatArray
    """The logarithm of each arm's Bayes factor: wrong against right."""
    shares: FloatArray
    """For each arm the chance that what looking says of it is wrong, if anything is."""
    whole: FloatArray
    """That anything is wrong: the logarithm of the odds before any pull, the same after all pulls, and the chance.
    Without doubt the chance is 0, and stays so.
    """


def doubts(doubt: float, known: Evidence) -> Doubts:
    """Before the first round: what pulls at hand make of a doubt."""
    with np.errstate(divide="ignore"):
        odds = float(np.log(doubt) - np.log1p(-doubt))
    arms = known.wins.size
    found = Doubts(np.zeros(arms), np.full(arms, EACH), np.array([odds, odds, doubt]))
    recount(*found, known.wins, known.losses, known.means, known.sizes)
    return found


def doubted_means(known: Evidence, found: Doubts) -> FloatArray:
    """The posterior mean of every arm, whether looking is right or wrong."""

    def mean(sizes: FloatArray) -> FloatArray:
        return (1.0 + known.wins + sizes * known.means) / (2.0 + known.wins + known.losses + sizes)

    wrong = found.whole[CHANCE] * found.shares
    return (1.0 - wrong) * mean(known.sizes) + wrong * mean(np.minimum(known.sizes, LEFT))  # type: ignore[no-any-return]


@compiled
def _either(factor: float) -> float:
    """The logarithm of 1 - EACH + EACH * B."""
    if factor > 0.0:
        return factor + np.log(EACH + (1.0 - EACH) * np.exp(-factor))  # type: ignore[no-any-return]
    return np.log(1.0 - EACH + EACH * np.exp(factor))  # type: ignore[no-any-return]


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
    if whole[CHANCE] <= 0.0 or size <= LEFT:
        return
    mean, won, lost = means[arm], wins[arm], losses[arm]
    factor = factors[arm]
    before = _either(factor)
    if 0.0 < reward < 1.0:
        factor = _log_factor(won + reward, lost + 1.0 - reward, mean, size)
    else:
        same, claimed = (won, mean) if reward > 0.0 else (lost, 1.0 - mean)
        total = (2.0 + won + lost + size) / (2.0 + won + lost + LEFT)
        factor += np.log(total * (1.0 + same + LEFT * claimed) / (1.0 + same + size * claimed))
    after = _either(factor)
    factors[arm] = factor
    shares[arm] = EACH * np.exp(factor - after)
    whole[ODDS] += after - before
    whole[CHANCE] = 1.0 / (1.0 + np.exp(-whole[ODDS]))


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
    if whole[CHANCE] <= 0.0:
        return
    whole[ODDS] = whole[PRIOR]
    for arm in range(factors.size):
        factors[arm] = 0.0
        if sizes[arm] > LEFT and wins[arm] + losses[arm] > 0.0:
            factors[arm] = _log_factor(wins[arm], losses[arm], means[arm], sizes[arm])
        either = _either(factors[arm])
        shares[arm] = EACH * np.exp(factors[arm] - either)
        whole[ODDS] += either
    whole[CHANCE] = 1.0 / (1.0 + np.exp(-whole[ODDS]))
