"""Looking and direct pulls together, where looking may be wrong: for each arm a mixture of two estimates.

If looking is right, an arm is known by looking and its pulls; if it is wrong, by its pulls and a hint.  How likely each
is, follows from the pulls (`whichdo.estimate.doubt`).  Where pulls agree with looking the mixture is what looking says;
where they contradict it, the pulls win; and where there are none, intervals are as wide as the doubt demands.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import erfc
from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.doubt import LEFT, belief
from whichdo.estimate.limits import mean_limits
from whichdo.estimate.pooling import Pooled, direct_rows
from whichdo.estimate.shrinkage import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.arrays import BoolArray, FloatArray
    from whichdo.estimate.doubt import Belief
    from whichdo.evidence import Tally

__all__ = ["DoubtedPool", "Hints", "pool_with_doubt"]

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

    def limits(self, z: float) -> Limits:
        """The limits of each mean, each missed with the chance of z standard errors; the whole range if unknown."""
        within, wide = self.right.limits(z), self.hints.limits(z)
        return self._mixed(self.right.means, within, self.hints.means, wide, z, self.hints.at_stake)

    def effect_limits(self, z: float) -> Limits:
        """The limits of each effect; NaN where either mean is not known.  That of do() is 0."""
        right, hints = self.right, self.hints
        low, high = hints.limits(z)
        below = np.where(hints.at_stake, hints.means - low, right.means - right.limits(z)[0])
        above = np.where(hints.at_stake, high - hints.means, right.limits(z)[1] - right.means)
        means = np.where(hints.at_stake, hints.means, right.means)
        effects = means - means[0]
        wide = (effects - np.hypot(below, above[0]), effects + np.hypot(above, below[0]))
        at_stake = hints.at_stake | hints.at_stake[0]  # every effect leans on do()
        found = self._mixed(right.effects, right.effect_limits(z), effects, wide, z, at_stake)
        for side, plain in zip(found, right.effect_limits(z), strict=True):
            side[0] = plain[0]
        return found

    def _mixed(
        self, right: FloatArray, within: Limits, wrong: FloatArray, wide: Limits, z: float, at_stake: BoolArray
    ) -> Limits:
        """Limits of mixtures: each part is normal on either side of its middle, as its own limits say."""
        chances = self.belief.wrong
        low, high = within[0].copy(), within[1].copy()
        at = np.flatnonzero(at_stake & (chances > 0) & ~np.isnan(low))
        if not len(at):
            return low, high
        chance, first, second = chances[at], right[at], wrong[at]

        def side(narrow: FloatArray, far: FloatArray, sign: float) -> FloatArray:
            scales = (np.maximum(np.abs(each), 1e-12) / z for each in (first - narrow[at], second - far[at]))
            inner, outer = scales

            def beyond(x: FloatArray) -> FloatArray:
                return (1 - chance) * _tail(sign * (x - first) / inner) + chance * _tail(sign * (x - second) / outer)

            ends = np.stack([first, second, narrow[at], far[at]])
            return _solved(beyond, ends.min(axis=0), ends.max(axis=0), float(_tail(np.array([z]))[0]), sign)

        low[at], high[at] = side(within[0], wide[0], -1.0), side(within[1], wide[1], 1.0)
        return low, high


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
    right: Pooled, seen: Tally, worth: FloatArray, doubt: float, logged: Tally | None, denied: FloatArray | None = None
) -> Pooled:
    """The same evidence, if a share ``doubt`` of graphs and logs is wrong; ``logged`` are the looks that may be old.

    ``denied`` is for each arm how likely it is wrong because the looks deny what the graph says of them.
    """
    if doubt == 0:
        return right
    looked, rows = right.looked, direct_rows(seen, worth)
    pulls, plain = np.where(right.pulls > 0, right.direct_sizes, 0.0), np.nan_to_num(right.direct)
    squares = np.where(right.pulls > 0, rows.squares, 0.0)
    means = np.nan_to_num(np.where(looked.known, looked.by_arm(looked.settled.means), 0.0))
    sizes = np.nan_to_num(
        np.where(looked.known & (looked.by_arm(looked.settled.most) > 0), looked.by_arm(looked.settled.sizes), 0.0)
    )
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
    wrong = np.where(hints.at_stake, found.wrong, 0.0)

    def mixed(first: FloatArray, second: FloatArray) -> FloatArray:
        # Written so that two equal numbers mix to just that number.
        return np.where(wrong > 0, np.nan_to_num(first) + wrong * (second - np.nan_to_num(first)), first)

    apart = np.where(wrong > 0, wrong * (1 - wrong) * (np.nan_to_num(right.means) - hints.means) ** 2, 0.0)
    own = {field.name: getattr(right, field.name) for field in fields(Pooled)} | {
        "means": mixed(right.means, hints.means),
        "variances": mixed(right.variances, hints.variances) + apart,
        "part": mixed(right.part, hints.part),
        "sizes": mixed(right.sizes, hints.sizes),
    }
    return DoubtedPool(**own, right=right, hints=hints, belief=found)
