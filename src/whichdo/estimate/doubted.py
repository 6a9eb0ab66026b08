"""Looking and direct pulls together, where looking may be wrong: for each arm a mixture of two or three estimates.

If looking is right, an arm is known by looking and its pulls; if the graph is wrong, by its pulls and a hint; if the
logs are old, by all that was seen today, looks and pulls of every arm.  How likely each is, follows from the pulls
(`whichdo.estimate.doubt`).  Where pulls agree with looking the mixture is what looking says; where they contradict it,
the pulls win; and where there are none, intervals are as wide as the doubt demands.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import erfc
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.estimate.blending import learn
from whichdo.estimate.doubt import CHANGED, LEFT, belief, doubt_after
from whichdo.estimate.estimator import Rule
from whichdo.estimate.limits import mean_limits
from whichdo.estimate.pooling import Pooled, direct_rows, equal_arms, pool, with_shared_pulls
from whichdo.estimate.shrinkage import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.arrays import BoolArray, FloatArray
    from whichdo.estimate.doubt import Belief
    from whichdo.estimate.estimator import Looked
    from whichdo.evidence import Tally


LEAST_LOOKS = 5
"""With fewer looks of today than these, logs are not told apart from them."""
HALVINGS = 50
Limits = tuple["FloatArray", "FloatArray"]


@dataclass(frozen=True)
class Hints:
    """What is known of each arm if looking is wrong: direct pulls, and looking for as much as a few of them."""

    means: FloatArray
    variances: FloatArray
    sizes: FloatArray
    part: FloatArray
    """The share of looking in each mean."""
    at_stake: BoolArray
    """For which arms it makes a difference."""

    def limits(self, z: float) -> Limits:
        """The limits of each mean; NaN where it makes no difference."""
        low, high = np.full(self.means.shape, np.nan), np.full(self.means.shape, np.nan)
        at = np.flatnonzero(self.at_stake)
        low[at], high[at] = mean_limits(self.means[at], self.variances[at], 1 / self.sizes[at], z)
        return low, high


@dataclass(frozen=True)
class DoubtedPool(Pooled):
    """Numbers of all arms, looking being right or wrong; means and variances are those of the mixture."""

    right: Pooled
    """If nothing is wrong."""
    hints: Hints
    belief: Belief
    today: Pooled | None = None
    """If the logs are old."""

    @property
    def old(self) -> FloatArray:
        """For each arm how likely its logs are old; 0 where nothing was seen of it today."""
        return _old(self.today, self.belief)

    @property
    def wrong(self) -> FloatArray:
        """For each arm how likely the graph is wrong of it; 0 where that makes no difference."""
        return np.where(self.hints.at_stake, self.belief.wrong, 0.0)

    def limits(self, z: float) -> Limits:
        """The limits of each mean, each missed with the chance of z standard errors; the whole range if unknown."""
        parts = [(self.right.means, self.right.limits(z)), (self.hints.means, self.hints.limits(z))]
        if self.today is not None:
            parts.append((self.today.means, self.today.limits(z)))
        return self._mixed(parts, self.wrong, self.old, z)

    def effect_limits(self, z: float) -> Limits:
        """The limits of each effect; NaN where either mean is not known.  That of do() is 0."""
        right, hints = self.right, self.hints
        low, high = hints.limits(z)
        below = np.where(hints.at_stake, hints.means - low, right.means - right.limits(z)[0])
        above = np.where(hints.at_stake, high - hints.means, right.limits(z)[1] - right.means)
        means = np.where(hints.at_stake, hints.means, right.means)
        effects = means - means[0]
        wide = (effects - np.hypot(below, above[0]), effects + np.hypot(above, below[0]))
        parts = [(right.effects, right.effect_limits(z)), (effects, wide)]
        if self.today is not None:
            parts.append((self.today.effects, self.today.effect_limits(z)))
        wrong, old = self.belief.wrong * (hints.at_stake | hints.at_stake[0]), self.old  # every effect leans on do()
        found = self._mixed(parts, wrong, np.minimum(np.maximum(old, old[0]), 1 - wrong), z)
        for side, plain in zip(found, right.effect_limits(z), strict=True):
            side[0] = plain[0]
        return found

    def _mixed(self, parts: list[tuple[FloatArray, Limits]], wrong: FloatArray, old: FloatArray, z: float) -> Limits:
        """Limits of mixtures: each part is normal on either side of its middle, as its own limits say."""
        low, high = parts[0][1][0].copy(), parts[0][1][1].copy()
        at = np.flatnonzero((wrong + old > 0) & ~np.isnan(low))
        if not len(at):
            return low, high
        weights = [(1 - wrong - old)[at], wrong[at], old[at]][: len(parts)]
        # A part that has no weight may not be known.
        middles = [np.where(weight > 0, part[0][at], 0.0) for weight, part in zip(weights, parts, strict=True)]

        def side(place: int, sign: float) -> FloatArray:
            ends = [np.where(weight > 0, part[1][place][at], 0.0) for weight, part in zip(weights, parts, strict=True)]
            scales = [np.maximum(np.abs(middle - end), 1e-12) / z for middle, end in zip(middles, ends, strict=True)]

            def beyond(x: FloatArray) -> FloatArray:
                tails = [_tail(sign * (x - middle) / scale) for middle, scale in zip(middles, scales, strict=True)]
                return sum((weight * tail for weight, tail in zip(weights, tails, strict=True)), np.zeros(len(x)))

            heavy = [
                np.where(weight > 0, each, middles[0]) for weight, each in zip(weights * 2, middles + ends, strict=True)
            ]
            spread = np.stack(heavy)
            return _solved(beyond, spread.min(axis=0), spread.max(axis=0), float(_tail(np.array([z]))[0]), sign)

        low[at], high[at] = side(0, -1.0), side(1, 1.0)
        return low, high


def _old(today: Pooled | None, belief: Belief) -> FloatArray:
    return np.zeros(belief.shares.shape[1]) if today is None else np.where(today.known, belief.old, 0.0)


def _tail(z: FloatArray) -> FloatArray:
    """How likely a standard normal number is above z."""
    return np.array([erfc(each / 2**0.5) / 2 for each in z.tolist()])


def _solved(
    beyond: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray, tail: float, sign: float
) -> FloatArray:
    """Where so much of a mixture lies beyond, by halving."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        outside = (beyond(middle) > tail) == (sign > 0)
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    return (low + high) / 2


def pool_with_doubt(
    right: Pooled,
    seen: Tally,
    worth: FloatArray,
    doubt: float,
    logged: Tally | None = None,
    denied: FloatArray | None = None,
    today: Tally | None = None,
    rule: Rule | None = None,
) -> Pooled:
    """The same evidence, if a share ``doubt`` of graphs and logs is wrong; ``logged`` are the looks that may be old.

    ``denied`` is for each arm how likely it is wrong because the looks deny what the graph says of them.  ``today`` is
    all that was seen besides the logs; None where the two are not told apart.
    """
    if doubt == 0:
        return right
    apart = None if logged is None else Logged(logged, worth, doubt, denied, rule or Rule()).apart(today)
    return _doubted(right, seen, worth, doubt, logged, denied, apart)


def _doubted(
    right: Pooled,
    seen: Tally,
    worth: FloatArray,
    doubt: float,
    logged: Tally | None,
    denied: FloatArray | None,
    apart: Apart | None,
) -> DoubtedPool:
    rows = direct_rows(seen, worth)
    pulls, plain = np.where(right.pulls > 0, right.direct_sizes, 0.0), np.nan_to_num(right.direct)
    squares = np.where(right.pulls > 0, rows.squares, 0.0)
    means, sizes = _said(right.looked)
    today = None
    if apart is not None:
        logs = _said(apart.logs)
        found = belief(apart.doubt, pulls * plain, pulls * (1 - plain), *logs, denied, _said(apart.today.looked))
        today = _with_hint(apart.today, *logs)
    else:
        sizes[0] = 0.0
        if logged is not None and logged.counts[0].any():
            old = rows_of(logged.counts[:1].astype(np.float64), worth)
            new = rows_of((seen.counts[:1] - logged.counts[:1]).astype(np.float64), worth)
            means[0], sizes[0] = old.means[0], old.sizes[0]
            pulls[0], plain[0], squares[0] = new.sizes[0], np.nan_to_num(new.means[0]), np.nan_to_num(new.squares[0])
        found = belief(doubt, pulls * plain, pulls * (1 - plain), means, sizes, denied)
    left = np.minimum(sizes, LEFT)
    total = pulls + left
    scale = np.where(total > 0, total, 1.0)
    part = left / scale
    middle = (1 - part) * plain + part * means
    spread = (1 - part) * squares + part * means - middle**2  # the hint is worth coins of that mean
    hints = Hints(middle, np.maximum(spread, 0.0) / scale, scale, part, sizes > LEFT)
    wrong, old_chance = np.where(hints.at_stake, found.wrong, 0.0), _old(today, found)

    def mixed(first: FloatArray, second: FloatArray, third: FloatArray | None) -> FloatArray:
        # Written so that equal numbers mix to just that number.
        known = np.nan_to_num(first)
        found = known + wrong * (second - known)
        if third is not None:
            found = found + old_chance * (np.nan_to_num(third) - known)
        return np.where(wrong + old_chance > 0, found, first)

    own = {field.name: getattr(right, field.name) for field in fields(Pooled)}
    for name, hint in (("means", middle), ("variances", hints.variances), ("part", part), ("sizes", scale)):
        own[name] = mixed(own[name], hint, None if today is None else getattr(today, name))
    squared = mixed(right.means**2, middle**2, None if today is None else today.means**2)
    between = np.where(wrong + old_chance > 0, squared - np.nan_to_num(own["means"]) ** 2, 0.0)
    own["variances"] = own["variances"] + np.maximum(between, 0.0)
    return DoubtedPool(**own, right=right, hints=hints, belief=found, today=today)


class Apart(NamedTuple):
    """What logs alone say, all that was seen today, and what then counts of the doubt."""

    logs: Looked
    today: Pooled
    doubt: float


@dataclass(frozen=True)
class Logged:
    """Logged looks, with a doubt about them and about the graph."""

    seen: Tally
    worth: FloatArray
    """Of each level of the reward, from 0 to 1."""
    doubt: float
    denied: FloatArray | None
    """For each arm how likely it is wrong because the logs deny what the graph says of them."""
    rule: Rule

    @cached_property
    def looked(self) -> Looked:
        """What they say by themselves."""
        return learn(self.seen.problem, self.seen, self.worth, self.rule)

    def apart(self, today: Tally | None) -> Apart | None:
        """Logs told from what was seen today; None where one of the two has hardly a look."""
        if today is None or min(self.seen.pulls[0], today.pulls[0]) < LEAST_LOOKS:
            return None
        now = learn(today.problem, today, self.worth, self.rule)
        found = pool(now, with_shared_pulls(today, equal_arms(today.problem)), self.worth)
        return Apart(self.looked, found, doubt_after(self.doubt, today.pulls))

    def beside(self, today: Tally) -> DoubtedPool:
        """All evidence, these looks and what was seen today."""
        seen = self.seen + today
        by_arm = with_shared_pulls(seen, equal_arms(seen.problem))
        right = pool(learn(seen.problem, seen, self.worth, self.rule), by_arm, self.worth)
        return _doubted(right, by_arm, self.worth, self.doubt, self.seen, self.denied, self.apart(today))


def _with_hint(today: Pooled, means: FloatArray, sizes: FloatArray) -> Pooled:
    """What was seen today, and what old logs are still worth."""
    hint = np.minimum(sizes, CHANGED)
    part = np.where(today.known, hint / np.maximum(today.sizes + hint, 1e-12), 0.0)
    spread = means * (1 - means) / np.where(hint > 0, hint, 1.0)
    return replace(
        today,
        means=today.means + part * (means - today.means),
        variances=(1 - part) ** 2 * today.variances + part**2 * spread,
        sizes=today.sizes + np.where(today.known, hint, 0.0),
    )


def _said(looked: Looked) -> tuple[FloatArray, FloatArray]:
    """What looks say of each arm, and how many pulls that is worth; 0 where they say nothing."""
    settles = looked.known & (looked.by_arm(looked.settled.most) > 0)
    means = np.nan_to_num(np.where(looked.known, looked.by_arm(looked.settled.means), 0.0))
    return means, np.nan_to_num(np.where(settles, looked.by_arm(looked.settled.sizes), 0.0))
