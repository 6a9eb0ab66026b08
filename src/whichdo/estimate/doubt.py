"""How far estimates by looking are believed: a share of graphs is wrong, and a share of logs is of another season.

With the chance ``doubt`` something is wrong.  If so, what looking says of an arm is wrong with the chance `EACH`, each
arm for itself; and what it says of such an arm counts for at most `LEFT` pulls: a hint, from which the truth may be
some .2 away.  Direct pulls tell which: how likely they are, if looking is right, is a beta-binomial chance with what
looking says as its prior; and the same if it is wrong, with the hint as prior.  The ratio of the two is the *Bayes
factor* of an arm.  Pulls of one arm tell about all: one that contradicts looking makes it likely that something is
wrong, and then any other estimate may be; one that agrees makes it less likely.

    odds that something is wrong   doubt / (1 - doubt) * product over arms of (1 - EACH + EACH * B)
    arm wrong, if something is     EACH * B / (1 - EACH + EACH * B)

Looks made since the start are direct pulls of do(); logged ones say of do() what looking says of any arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, lgamma, log
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError, quoted

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray

__all__ = ["EACH", "LEFT", "Belief", "belief", "checked_doubt"]

EACH = 0.2
"""If something is wrong, how likely that is for what looking says of any one arm."""
LEFT = 4.0
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

    chance: float
    """That anything is."""
    shares: FloatArray
    """For each arm: that what looking says of it is, if anything is."""

    @property
    def wrong(self) -> FloatArray:
        """For each arm: that what looking says of it is wrong."""
        found: FloatArray = self.chance * self.shares
        return found


def belief(doubt: float, wins: FloatArray, losses: FloatArray, means: FloatArray, sizes: FloatArray) -> Belief:
    """What direct pulls make of a doubt.

    Parameters
    ----------
    doubt
        The chance, before any pull, that something is wrong.
    wins, losses
        For each arm its direct pulls: the sum of their utilities, and of what they are short of 1.
    means, sizes
        What looking says of each arm, and how many pulls that is worth; 0 where it says nothing.
    """
    factors = [
        _log_factor(*map(float, each)) if each[3] > 0 else 0.0 for each in zip(wins, losses, means, sizes, strict=True)
    ]
    odds = log(doubt / (1 - doubt)) if 0 < doubt < 1 else (inf if doubt else -inf)
    shares = np.empty(len(factors))
    for arm, factor in enumerate(factors):
        top = max(factor, 0.0)
        either = (1 - EACH) * exp(-top) + EACH * exp(factor - top)
        odds += top + log(either)
        shares[arm] = EACH * exp(factor - top) / either
    return Belief(1 / (1 + exp(-odds)) if odds > -700 else 0.0, shares)


def _log_factor(won: float, lost: float, mean: float, size: float) -> float:
    """The logarithm of an arm's Bayes factor: wrong against right."""

    def chance(worth: float) -> float:
        before, against = 1 + worth * mean, 1 + worth * (1 - mean)
        return _log_beta(before + won, against + lost) - _log_beta(before, against)

    return chance(min(size, LEFT)) - chance(size)


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)
