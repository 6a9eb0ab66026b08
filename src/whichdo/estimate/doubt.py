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

Where logs stand beside evidence of today, two things can be wrong, each with half of the doubt: the graph, or the logs,
which may be of another season.  What today's looks and the pulls of *other* arms say of an arm, by the graph, then
stands between the logs and its own pulls, and tells the two apart.  With L what logs say, F what today says by the
graph, D the pulls, and | for what is taken as known beforehand:

    nothing is wrong of it     chance of (F and D | L)
    its logs are old           chance of (F and D | a larger hint of L)  F and D still count in full
    the graph is wrong of it   chance of (F | L) times that of (D | a hint of L and F)

Doing nothing needs no graph, so of do() only the logs can be wrong.

To doubt logs that are right costs less and less, the more was seen today, which names an arm as well by itself; to
trust logs that are wrong costs the same at any time.  So beside logs the odds of the doubt grow with the pulls of today
(`doubt_after`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError
from whichdo.text import quoted

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray


FEW, MANY = 0.3, 0.7
"""If something is wrong, how likely that is for what looking says of any one arm: of few, or of many."""
LEFT = 6.0
"""How many pulls a wrong estimate by looking still counts for."""
CHANGED = 20.0
"""How many pulls old logs are worth in the chance of what was seen today: the truth may have moved by some .1."""
OLD = 0.5
"""The part of the doubt that is about logs, where there is evidence of today to compare them with."""
ENOUGH, GROWTH = 60.0, 2.0
"""Where two arms have more pulls of today than these, the odds of a doubt beside logs grow with them, to this power."""


def checked_doubt(doubt: object) -> float:
    """A chance, from 0 to 1."""
    if isinstance(doubt, bool) or not isinstance(doubt, (int, float, np.number)) or not 0 <= doubt <= 1:
        raise UsageError(
            f"doubt is {quoted(doubt)}; it is the chance that the graph or the logs are wrong, from 0 to 1."
        )
    return float(doubt)


def doubt_after(doubt: float, pulls: IntArray) -> float:
    """What a doubt beside logs has become, once each arm was pulled so often today.

    The arm with the second most pulls counts: two arms are compared in the end, however many there are.
    """
    second = float(np.sort(pulls)[-2]) if len(pulls) > 1 else 0.0
    odds: float = max(1.0, second / ENOUGH) ** GROWTH * doubt
    return odds / (odds + 1 - doubt)


@dataclass(frozen=True)
class Belief:
    """How likely it is, after some pulls, that estimates by looking are wrong.

    There are five cases: the graph is wrong of few arms, or of many; the logs are old for few, or for many; or nothing
    is, but for what the logs deny.
    """

    cases: FloatArray
    """How likely each case is."""
    shares: FloatArray
    """A row for each case: for each arm the chance that the graph is wrong of it."""
    outdated: FloatArray
    """The same: that the logs are old for it."""

    @property
    def wrong(self) -> FloatArray:
        """For each arm: that what looking says of it is wrong, though looks are of today."""
        found: FloatArray = self.cases @ self.shares
        return found

    @property
    def old(self) -> FloatArray:
        """For each arm: that what logs say of it has changed since."""
        found: FloatArray = self.cases @ self.outdated
        return found


def belief(
    doubt: float,
    wins: FloatArray,
    losses: FloatArray,
    means: FloatArray,
    sizes: FloatArray,
    denied: FloatArray | None = None,
    today: tuple[FloatArray, FloatArray] | None = None,
) -> Belief:
    """What direct pulls make of a doubt.

    ``doubt``: the chance, before any pull, that something is wrong.
    ``wins``, ``losses``: for each arm its direct pulls: the sum of their utilities, and of what they are short of 1.
    ``means``, ``sizes``: what looking says of each arm, and how many pulls that is worth; 0 where it says nothing.
    With ``today``, what the logs alone say.
    ``denied``: for each arm how likely it is wrong because the logs deny what the graph says of them; None: they deny
    nothing.
    ``today``: what looks of today and pulls of other arms say of each arm, as means and sizes; do() is the first arm.
    None: logs are not told from other looks, and nothing but the graph is doubted.
    """
    own = np.zeros(len(wins)) if denied is None else denied
    if today is None:
        graph, stale = _at_stake(sizes, _chance(wins, losses, means, np.minimum(sizes, LEFT))), np.zeros(len(wins))
        graph -= _at_stake(sizes, _chance(wins, losses, means, sizes))
    else:
        graph, stale = _factors(wins, losses, (means, sizes), today)
    old = 0.0 if today is None else OLD
    before = doubt * np.array([(1 - old) / 2, (1 - old) / 2, old / 2, old / 2, 0.0])
    before[-1] = 1 - doubt
    wrong = np.array([[FEW], [MANY], [0.0], [0.0], [0.0]])
    wrong = 1 - (1 - wrong) * (1 - own)
    outdated = np.array([[0.0], [0.0], [FEW], [MANY], [0.0]]) * (1 - wrong)
    if today is not None:
        wrong[:, 0] = 0.0
    # In logarithms: of thousands of pulls that contradict, the chances are too small for numbers.
    with np.errstate(divide="ignore"):
        parts = np.log(np.stack([wrong, outdated, 1 - wrong - outdated]))
    parts += np.stack([graph, stale, np.zeros(len(wins))])[:, None, :]
    total = np.logaddexp.reduce(parts, axis=0)
    shares = np.exp(parts - total)
    if doubt in (0, 1):
        return Belief(before, shares[0], shares[1])
    possible = before > 0
    odds = np.log(before[possible]) + total[possible].sum(axis=1)
    cases = np.zeros(len(before))
    cases[possible] = np.exp(odds - odds.max())
    return Belief(cases / cases.sum(), shares[0], shares[1])


def _factors(
    wins: FloatArray, losses: FloatArray, logged: tuple[FloatArray, FloatArray], today: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """The logarithms of each arm's Bayes factors against nothing being wrong: of a wrong graph, and of old logs."""
    means, sizes = logged
    now, worth = today
    came, missed = worth * now, worth * (1 - now)
    right = _chance(wins + came, losses + missed, means, sizes)
    stale = _chance(wins + came, losses + missed, means, np.minimum(sizes, CHANGED))
    both = sizes + worth
    joint = (sizes * means + came) / np.where(both > 0, both, 1.0)
    graph = _chance(came, missed, means, sizes) + _chance(wins, losses, joint, np.minimum(both, LEFT))
    return _at_stake(both, graph - right), _at_stake(sizes, stale - right)


def _at_stake(sizes: FloatArray, factors: FloatArray) -> FloatArray:
    return np.where(sizes > LEFT, factors, 0.0)


def _chance(won: FloatArray, lost: FloatArray, means: FloatArray, sizes: FloatArray) -> FloatArray:
    """The logarithm of how likely pulls are, beforehand known by so many others of that mean."""
    before, against = 1 + sizes * means, 1 + sizes * (1 - means)
    return _log_beta(before + won, against + lost) - _log_beta(before, against)


def _log_beta(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.array([lgamma(x) + lgamma(y) - lgamma(x + y) for x, y in zip(a.tolist(), b.tolist(), strict=True)])
