"""How far estimates by looking are believed: a share of graphs is wrong, and a share of logs is of another season.

With the chance ``doubt`` something is wrong.  If so, what looking says is wrong of few arms or of many, either as
likely: of each arm for itself with the chance `FEW`, or `MANY`.  What it says of such an arm counts for at most `LEFT`
pulls: a hint, from which the truth may be some .2 away.  Direct pulls tell which: how likely they are, if looking is
right, is a beta-binomial chance with what looking says as its prior; and the same if it is wrong, with the hint as
prior.  The ratio of the two is the *Bayes factor* B of an arm.  Pulls of one arm tell about all: one that contradicts
looking makes it likely that something is wrong, and then any other estimate may be; one that agrees makes it less
likely, and less so where only few arms may be wrong.  For e = FEW, and the same for MANY:

    odds of it                 doubt / (1 - doubt) / 2 * product over arms of (1 - e + e * B)
    an arm is wrong, given it  e * B / (1 - e + e * B)

Logs may deny what the graph says of them before any pull (`whichdo.checking.denial`).  Then what looking says of an arm
is wrong for that reason with a chance d of its own, whatever else is: e is 1 - (1 - FEW)(1 - d), the same for MANY, and
d itself where nothing else is wrong; the odds are against the product of (1 - d + d * B).

Looks made since the start are direct pulls of do(); logged ones say of do() what looking says of any arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, lgamma, log
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError
from whichdo.text import quoted

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray

__all__ = ["FEW", "LEFT", "MANY", "Belief", "belief", "checked_doubt"]

FEW, MANY = 0.3, 0.7
"""If something is wrong, how likely that is for what looking says of any one arm: of few, or of many."""
LEFT = 6.0
"""How many pulls a wrong estimate by looking still counts for."""


def checked_doubt(doubt: object) -> float:
    """A chance, from 0 to 1."""
    if isinstance(doubt, bool) or not isinstance(doubt, (int, float, np.number)) or not 0 <= doubt <= 1:
        raise UsageError(
            f"doubt is {quoted(doubt)}; it is the chance that the graph or the logs are wrong, from 0 to 1."
        )
    return float(doubt)


@dataclass(frozen=True)
class Belief:
    """How likely it is, after some pulls, that estimates by looking are wrong."""

    chances: tuple[float, float]
    """That they are wrong of few arms, and of many."""
    shares: FloatArray
    """Rows for few, for many and for neither: for each arm the chance that it is one of those that are wrong."""

    @property
    def wrong(self) -> FloatArray:
        """For each arm: that what looking says of it is wrong."""
        found: FloatArray = np.array([*self.chances, 1 - sum(self.chances)]) @ self.shares
        return found


def belief(
    doubt: float,
    wins: FloatArray,
    losses: FloatArray,
    means: FloatArray,
    sizes: FloatArray,
    denied: FloatArray | None = None,
) -> Belief:
    """What direct pulls make of a doubt.

    Parameters
    ----------
    doubt
        The chance, before any pull, that something is wrong.
    wins, losses
        For each arm its direct pulls: the sum of their utilities, and of what they are short of 1.
    means, sizes
        What looking says of each arm, and how many pulls that is worth; 0 where it says nothing.
    denied
        For each arm how likely it is wrong because the logs deny what the graph says of them; None: they deny nothing.
    """
    factors = [
        _log_factor(*map(float, each)) if each[3] > 0 else 0.0 for each in zip(wins, losses, means, sizes, strict=True)
    ]
    before = log(doubt / (1 - doubt)) if 0 < doubt < 1 else (inf if doubt else -inf)
    own = np.zeros(len(factors)) if denied is None else denied
    odds, shares = np.array([before - log(2), before - log(2), 0.0]), np.empty((3, len(factors)))
    for row, each in enumerate((FEW, MANY, 0.0)):
        for arm, factor in enumerate(factors):
            share = 1 - (1 - each) * (1 - float(own[arm]))
            top = max(factor, 0.0)
            either = (1 - share) * exp(-top) + share * exp(factor - top)
            odds[row] += top + log(either)
            shares[row, arm] = share * exp(factor - top) / either
    if doubt in (0, 1):
        return Belief((0.5 * doubt, 0.5 * doubt), shares)
    weights = np.exp(odds - odds.max())
    few, many, _ = weights / weights.sum()
    return Belief((float(few), float(many)), shares)


def _log_factor(won: float, lost: float, mean: float, size: float) -> float:
    """The logarithm of an arm's Bayes factor: wrong against right."""

    def chance(worth: float) -> float:
        before, against = 1 + worth * mean, 1 + worth * (1 - mean)
        return _log_beta(before + won, against + lost) - _log_beta(before, against)

    return chance(min(size, LEFT)) - chance(size)


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)
