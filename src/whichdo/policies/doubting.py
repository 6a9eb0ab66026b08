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


PRIOR, ODDS, OF_FEW, OF_MANY, OF_NEITHER = 0, 1, 4, 5, 6  # places of the whole; the odds are three
AGE = 0.5
"""Of what is doubted the part that is the age of the logs.  The rest is the graph, and no graph makes do() wrong."""
ROWS = 3
"""Of the shares: for few, for many and for neither; as many follow with what they are before any pull."""


class Doubts(NamedTuple):
    """How likely what looking says is wrong."""

    factors: FloatArray
    """The logarithm of each arm's Bayes factor: wrong against right."""
    shares: FloatArray
    """Rows for few, for many and for neither: for each arm the chance that what looking says of it is wrong; then
    the same three rows as they are before any pull."""
    whole: FloatArray
    """That anything is wrong: the logarithm of its odds before any pull; after all pulls that of the odds for few arms,
    for many and for neither; and the chances of these.  Without doubt the first two chances are 0, and stay so.
    """


@compiled
def before_pulls(doubt: float, denied: FloatArray) -> Doubts:
    """A doubt before any pull; ``denied`` is for each arm how likely the logs have shown it to be wrong."""
    odds = np.log(0.5 * doubt / (1.0 - doubt)) if 0.0 < doubt < 1.0 else (np.inf if doubt > 0.0 else -np.inf)
    shares = np.empty((2 * ROWS, denied.size))
    for row, each in enumerate((FEW, MANY, 0.0)):
        shares[row] = 1.0 - (1.0 - each) * (1.0 - denied)
        shares[ROWS + row] = shares[row]
    return Doubts(
        np.zeros(denied.size), shares, np.array([odds, odds, odds, 0.0, 0.5 * doubt, 0.5 * doubt, 1.0 - doubt])
    )


def doubts(doubt: float, known: Evidence, denied: FloatArray) -> Doubts:
    """Before the first round: what earlier pulls make of a doubt."""
    found = before_pulls(float(doubt), denied)
    recount(*found, known.wins, known.losses, known.means, known.sizes)
    return found


def wrong_chances(found: Doubts) -> FloatArray:
    """For each arm how likely what looking says of it is wrong."""
    chances: FloatArray = found.whole[OF_FEW:] @ found.shares[:ROWS]
    return chances


def doubted_means(known: Evidence, found: Doubts) -> FloatArray:
    """The posterior mean of every arm, whether looking is right or wrong."""

    def mean(sizes: FloatArray) -> FloatArray:
        return (1.0 + known.wins + sizes * known.means) / (2.0 + known.wins + known.losses + sizes)

    wrong = wrong_chances(found)
    return (1.0 - wrong) * mean(known.sizes) + wrong * mean(np.minimum(known.sizes, LEFT))


@compiled
def old_logs(shares: FloatArray, row: int) -> float:
    """How likely logs are old, by what pulls of do() make of a chance before any pull that is `AGE` of its doubt.

    ``row``: for few, for many or for neither.
    """
    after, before = shares[row, 0], shares[ROWS + row, 0]
    if after <= 0.0 or after >= 1.0:
        return float(after)
    odds = after / (1.0 - after) * AGE * (1.0 - before) / (1.0 - AGE * before)
    return float(odds / (1.0 + odds))


@compiled
def chance_of_old_logs(shares: FloatArray, whole: FloatArray) -> float:
    """The same, whatever is wrong."""
    found = 0.0
    for row in range(ROWS):
        found += whole[OF_FEW + row] * old_logs(shares, row)
    return found


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
    top = max(whole[ODDS], whole[ODDS + 1], whole[ODDS + 2])
    total = 0.0
    for row in range(ROWS):
        whole[OF_FEW + row] = np.exp(whole[ODDS + row] - top)
        total += whole[OF_FEW + row]
    for row in range(ROWS):
        whole[OF_FEW + row] /= total


@compiled
def _put(factors: FloatArray, shares: FloatArray, whole: FloatArray, arm: int, factor: float) -> None:
    """Take note of an arm's factor."""
    for row in range(ROWS):
        each = shares[ROWS + row, arm]
        if each > 0.0:
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
    whole[ODDS], whole[ODDS + 1], whole[ODDS + 2] = whole[PRIOR], whole[PRIOR], 0.0
    for arm in range(factors.size):
        factors[arm] = 0.0
        factor = 0.0
        if sizes[arm] > LEFT and wins[arm] + losses[arm] > 0.0:
            factor = _log_factor(wins[arm], losses[arm], means[arm], sizes[arm])
        _put(factors, shares, whole, arm, factor)
    _chances(whole)
