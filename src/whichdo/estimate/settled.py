"""What looks say about all arms on one target set: means, errors, and effects against doing nothing.

Every formula is linear in the reward's own conditional: the mean of an arm is a sum over the rows r
of that table of W_r E[Y | r], where the weights W_r come from the laws of the other nodes.  So the
error of a mean has four parts:

noise      of the rewards, sum of W_r^2 var_r / n_r;
law        of the weights, by the delta method.  Conditionals of one reading that are counted
           separately have independent rows; those that share rows (the robust reading) are taken
           together, by the influence of each cell of their common table;
shift      how far shrinkage moved the mean, which is not noise but may be wrong;
unseen     rows that were never seen.  They have a weight, and may be anything: an interval is
           wider by that weight times the range of the reward, no more.

The effect of an arm is its mean less that of do(), which is the sum over the same rows of
P(r) E[Y | r].  Rows in which the two have the same weight cancel, and what is left is a sum with
positive weights less a sum with negative ones, over different rows: what those who were not at x
would have had, less what they had.  Their limits are found apart and joined (Zou and Donner 2008).

Everything is on a scale of the reward from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.estimate.limits import mean_limits
from whichdo.estimate.shrinkage import Shrunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whichdo.arrays import Array, FloatArray, IntArray
    from whichdo.estimate.shrinkage import Law
    from whichdo.identification.estimand import Conditional


ROUNDING = 1e-9
SHARED = 9_000
"""Products of so many numbers are shared among threads by some libraries, and one that has to wait keeps its processor
busy: thousands of formulas one after the other cost twice the time on a machine that has other things to do."""


class WeightedSum(NamedTuple):
    """Sums of rewards with weights that are not negative, one for each arm."""

    totals: FloatArray
    """The sum of the weights: 1 for a mean."""
    means: FloatArray
    """The sum over its total."""
    noise: FloatArray
    """The variance of these means."""
    moved: FloatArray
    """How far shrinkage moved them."""
    row_weights: FloatArray
    """How far one more row would move the mean, on average."""
    below: FloatArray
    above: FloatArray
    """How far rows never seen could move it down, and up."""

    @classmethod
    def of(cls, weights: FloatArray, rows: Shrunk) -> WeightedSum:
        """``weights`` has a row for each arm and a column for each row of the reward."""
        totals = weights.sum(axis=1)
        return cls._from_parts(
            totals,
            weighted_sums(weights, rows.means),
            weighted_sums(weights**2, rows.noise),
            weighted_sums(weights, rows.moved),
            weighted_sums(weights**2, rows.reciprocals),
            weighted_sums(weights, rows.seen),
            weighted_sums(weights, np.where(rows.seen, 0.0, rows.prior)),
        )

    @classmethod
    def _from_parts(
        cls,
        totals: FloatArray,
        sums: FloatArray,
        noise: FloatArray,
        moved: FloatArray,
        heavy: FloatArray,
        visible: FloatArray,
        guessed: FloatArray,
    ) -> WeightedSum:
        one = np.where(totals > 0, totals, 1.0)
        hidden = np.maximum(totals - visible, 0.0)
        return cls(
            totals,
            sums / one,
            noise / one**2,
            moved / one,
            np.divide(heavy, visible * one, out=np.ones(totals.shape), where=visible > 0),
            guessed / one,
            np.maximum(hidden - guessed, 0.0) / one,
        )

    @classmethod
    def empty(cls) -> WeightedSum:
        """Of no arms."""
        return cls(*(np.empty(0) for _ in cls._fields))

    @classmethod
    def join(cls, parts: Iterable[WeightedSum]) -> WeightedSum:
        """Those of several target sets, one after the other."""
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def distances(self, z: float) -> tuple[FloatArray, FloatArray]:
        """How far below and above each sum its limits lie."""
        low, high = mean_limits(self.means, self.noise + self.moved**2, self.row_weights, z)
        low = np.maximum(low - self.below, 0.0)
        high = np.minimum(high + self.above, 1.0)
        return self.totals * (self.means - low), self.totals * (high - self.means)


@dataclass(frozen=True)
class Settled:
    """What looks say about some arms, in order."""

    looks: float
    """The effective number of looks."""
    most: FloatArray
    """The effective number of all rows behind each mean: the looks, and those of experiments where they count."""
    base: float
    """The mean of do()."""
    means: FloatArray
    spreads: FloatArray
    """The variance of one pull."""
    own: WeightedSum
    """The mean as a sum of rewards; what the laws of other nodes add to its error is in ``law``."""
    law: FloatArray
    law_shifts: FloatArray
    law_below: FloatArray
    law_above: FloatArray
    gain: WeightedSum
    loss: WeightedSum
    """The effect: what those who were not at x would have, less what they had."""
    effect_law: FloatArray
    effect_covariance: FloatArray
    """How the errors of effects go together."""
    weakest: IntArray
    """The row of the reward's table that each mean knows least about for what it weighs, and how often it was seen."""
    weakest_sizes: FloatArray

    @property
    def effects(self) -> FloatArray:
        """The mean of each arm less that of do()."""
        found: FloatArray = self.means - self.base
        return found

    @property
    def variances(self) -> FloatArray:
        """Of the means, what shrinkage moved included and what was never seen not."""
        found: FloatArray = self.own.noise + self.law + (self.own.moved + self.law_shifts) ** 2
        return found

    @property
    def below(self) -> FloatArray:
        """How far what was never seen could move the mean down."""
        found: FloatArray = self.own.below + self.law_below
        return found

    @property
    def above(self) -> FloatArray:
        """How far it could move the mean up."""
        found: FloatArray = self.own.above + self.law_above
        return found

    @property
    def sizes(self) -> FloatArray:
        """The number of direct pulls that would know each mean as well; never more than the rows."""
        errors = self.variances + ((self.below + self.above) / 2) ** 2
        # Rewards that were all alike have no error to compare with: the rows themselves count.
        alike = 1 / np.maximum(self.own.row_weights, 1e-300)
        worth = np.divide(self.spreads, errors, out=alike, where=errors > 0)
        return np.minimum(worth, self.most)

    def limits(self, z: float) -> tuple[FloatArray, FloatArray]:
        """The limits of each mean."""
        low, high = mean_limits(self.means, self.variances, self.own.row_weights, z)
        return np.clip(low - self.below, 0.0, 1.0), np.clip(high + self.above, 0.0, 1.0)

    def effect_limits(self, z: float) -> tuple[FloatArray, FloatArray]:
        """The limits of each effect."""
        gain_low, gain_high = self.gain.distances(z)
        loss_low, loss_high = self.loss.distances(z)
        law = z * z * self.effect_law
        # Where everybody is at x already, those who are not may still be out there.
        nobody = np.where(self.loss.totals > 0, 0.0, _none_in(self.looks, z))
        low = self.effects - np.sqrt(gain_low**2 + loss_high**2 + law) - nobody
        high = self.effects + np.sqrt(gain_high**2 + loss_low**2 + law) + nobody
        return np.maximum(low, -1.0), np.minimum(high, 1.0)


# ----------------------------------------------------------------------------------------------------- putting together


class RewardRows(NamedTuple):
    """The rows that means are sums of: what each says, its weight in each mean, and its share in that of do()."""

    rows: Shrunk
    weights: FloatArray
    """A row for each setting."""
    shares: FloatArray

    @classmethod
    def split(cls, rows: Shrunk, weights: FloatArray, shares: FloatArray, looked: FloatArray) -> RewardRows:
        """Rows of which ``looked`` are looks and the others are not: they share a mean, and only looks are in do()."""
        total = rows.sizes.ravel()
        part = np.divide(looked.ravel(), total, out=np.ones(total.shape), where=total > 0)
        first, second = (rows.portion(each.reshape(rows.sizes.shape)) for each in (part, 1 - part))
        return cls(
            Shrunk.join([first, second]),
            np.concatenate([weights * part, weights * (1 - part)], axis=1),
            np.concatenate([shares, np.zeros(shares.shape)]),
        )


class Gradient(NamedTuple):
    """The means of all settings by some formula, and their slopes in every cell of its conditionals."""

    means: FloatArray
    slopes: dict[Conditional, FloatArray]
    """By conditional: an axis for the setting, then those of its table."""
    totals: FloatArray
    """The sum of the weights of the reward's rows before it was made one; 0 for a setting that never occurred."""


def normalised(
    rewards: Sequence[Conditional],
    evaluate: Callable[[Mapping[Conditional, FloatArray] | None], tuple[FloatArray, dict[Conditional, FloatArray]]],
) -> Gradient:
    """Evaluate a formula whose weights may sum to one only in the limit, and make them.

    ``rewards``: the conditionals of the reward: the formula is linear in their tables together.
    ``evaluate``: values and slopes, with other means of the reward where they are given.
    """
    means, slopes = evaluate(None)
    totals = np.sum([slopes[each].reshape(means.size, -1).sum(axis=1) for each in rewards], axis=0)
    if np.abs(totals - 1).max() > ROUNDING:
        _, of_totals = evaluate({each: np.ones(slopes[each].shape[1:-1]) for each in rewards})
        one = np.where(totals > 0, totals, 1.0)
        means = means / one
        for each, slope in slopes.items():
            along = (-1, *[1] * (slope.ndim - 1))
            less = 0.0 if each in rewards else means.reshape(along) * of_totals[each]
            slopes[each] = (slope - less) / one.reshape(along)
    return Gradient(means, slopes, totals)


def finish(
    gradient: Gradient,
    stack: RewardRows,
    parts: LawParts,
    law: FloatArray,
    effect_law: FloatArray,
    *,
    base: float,
    looks: float,
    most: float,
    effects: bool = True,
) -> Settled:
    """Put means, the rows they are sums of, and the errors of all laws together.

    ``gradient``: the means.
    ``stack``: the rows of the reward with their weights.
    ``parts``: what shrinkage and rows never seen do to the laws of other nodes.
    ``law``, ``effect_law``: the covariance of the means, and of the effects, that these laws cause.
    ``base``: the mean of do().
    ``looks``, ``most``: the effective number of looks, and of all rows.
    ``effects``: whether effects against doing nothing are wanted too; without them their errors are empty.
    """
    rows, weights, shares = stack
    absent = gradient.totals <= 0  # a setting that never occurred weighs nothing: its mean may be anything
    means = np.where(absent, base, gradient.means)
    parts.below += np.where(absent, base, 0.0)
    parts.above += np.where(absent, 1 - base, 0.0)
    doubts = weights**2 * np.where(rows.seen, rows.noise, 1.0).ravel()
    weakest = doubts.argmax(axis=1)
    differences, covariance = weights - shares if effects else weights, np.empty((0, 0))
    if effects:
        moved = weighted_sums(differences, rows.moved) + parts.shifts
        guessed = np.where(rows.seen, 0.0, rows.variances).ravel()
        covariance = (
            (differences * (rows.noise.ravel() + guessed)) @ differences.T + effect_law + np.outer(moved, moved)
        )
    return Settled(
        looks=looks,
        most=np.full(means.shape, most),
        base=base,
        means=means,
        spreads=np.maximum(
            weighted_sums(weights, rows.squares) - means**2, 0.0
        ),  # 0 where nothing was seen: worth no pull
        own=WeightedSum.of(weights, rows),
        law=np.diagonal(law).copy(),
        law_shifts=parts.shifts,
        law_below=parts.below,
        law_above=parts.above,
        gain=WeightedSum.of(np.maximum(differences, 0.0), rows) if effects else WeightedSum.empty(),
        loss=WeightedSum.of(np.maximum(-differences, 0.0), rows) if effects else WeightedSum.empty(),
        effect_law=np.diagonal(effect_law).copy() if effects else np.empty(0),
        effect_covariance=covariance,
        weakest=weakest,
        weakest_sizes=rows.sizes.ravel()[weakest],
    )


def weighted_sums(weights: FloatArray, values: Array) -> FloatArray:
    """The sum of all values with some weights, for each row of these."""
    flat = values.ravel()
    found: FloatArray = (
        weights @ flat
        if weights.size < SHARED
        else np.einsum("...j,j->...", weights, flat.astype(np.float64, copy=False))
    )
    return found


class LawParts:
    """What the laws of the other nodes add to the errors, summed over their rows."""

    def __init__(self, settings: int) -> None:
        self.covariance = np.zeros((settings, settings))
        self.shifts = np.zeros(settings)
        self.below, self.above = np.zeros(settings), np.zeros(settings)

    def add(self, law: Law, slope: FloatArray, *, independent: bool) -> None:
        """``slope`` has an axis for the setting, then those of the law."""
        rows = law.sizes.size
        slopes = slope.reshape(len(slope), rows, -1)
        shares = law.shares.reshape(rows, -1)
        sizes = law.sizes.ravel()
        middle = (slopes * shares).sum(axis=2)
        self.shifts += (slopes * (shares - law.raw.reshape(rows, -1))).sum(axis=(1, 2))
        never = sizes <= 0
        if never.any():
            self.below += np.where(never, middle - slopes.min(axis=2), 0.0).sum(axis=1)
            self.above += np.where(never, slopes.max(axis=2) - middle, 0.0).sum(axis=1)
        if independent:
            apart = slopes - middle[:, :, None]
            room = np.where(never, 0.0, 1 / np.where(never, 1.0, sizes + law.strength))
            self.covariance += np.einsum("arv,brv,rv->ab", apart, apart, shares * room[:, None])


def _none_in(looks: float, z: float) -> float:
    """The largest share of which nobody among so many need have been seen."""
    return 1.0 if looks <= 0 else 1 - float(NormalDist().cdf(-z)) ** (1 / looks)
