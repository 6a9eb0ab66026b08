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
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.estimate.limits import mean_limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.estimate.evaluate import Evaluator
    from whichdo.estimate.shrinkage import Law, Shrunk
    from whichdo.identification.estimand import Conditional, Names

__all__ = ["Scope", "Settled", "settle"]

FloatArray = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Scope:
    """The joint table of all columns but the reward, where all conditionals of a formula are counted from it."""

    columns: Names
    mass: FloatArray


@dataclass(frozen=True)
class Settled:
    """What looks say about each setting of the targets, flattened in C order."""

    looks: float
    """The effective number of looks."""
    base: float
    """The mean of do()."""
    means: FloatArray
    spreads: FloatArray
    """The variance of one pull."""
    noise: FloatArray
    law: FloatArray
    shifts: FloatArray
    unseen: FloatArray
    """The weight of rows never seen."""
    unseen_below: FloatArray
    unseen_above: FloatArray
    """How far such rows could move the mean down, and up."""
    weights: FloatArray
    """How far one more row would move the mean, on average."""
    rows: Shrunk
    reward_weights: FloatArray
    """W: for each setting the weight of each row of the reward."""
    shares: FloatArray
    """P(r): how often each row of the reward occurs by itself."""
    effect_law: FloatArray
    """The covariance of effects that the laws of the other nodes cause."""

    @property
    def errors(self) -> FloatArray:
        """The mean square error of each mean, what shrinkage moved and what was never seen included."""
        halves = (self.unseen_below + self.unseen_above) / 2
        found: FloatArray = self.noise + self.law + self.shifts**2 + halves**2
        return found

    @property
    def sizes(self) -> FloatArray:
        """The number of direct pulls that would know each mean as well; never more than the looks."""
        errors = self.errors
        worth = np.divide(self.spreads, errors, out=np.zeros(errors.shape), where=errors > 0)
        return np.minimum(worth, self.looks)

    def limits(self, z: float) -> tuple[FloatArray, FloatArray]:
        """The limits of each mean."""
        low, high = mean_limits(self.means, self.noise + self.law + self.shifts**2, self.weights, z)
        return np.clip(low - self.unseen_below, 0.0, 1.0), np.clip(high + self.unseen_above, 0.0, 1.0)

    @property
    def effects(self) -> FloatArray:
        """The mean of each setting less that of do()."""
        found: FloatArray = self.means - self.base
        return found

    @property
    def effect_covariance(self) -> FloatArray:
        """How the errors of effects go together."""
        differences = self.reward_weights - self.shares
        noise = (differences * self.rows.noise.ravel()) @ differences.T
        shifted = differences @ (self.rows.means - self.rows.raw).ravel()
        # An unseen row is as good as one reward from what the margins expect.
        unseen = np.where(self.rows.seen, 0.0, self.rows.variances).ravel()
        guessed = (differences * unseen) @ differences.T
        found: FloatArray = noise + self.effect_law + np.outer(shifted, shifted) + guessed
        return found

    def effect_limits(self, z: float) -> tuple[FloatArray, FloatArray]:
        """The limits of each effect."""
        differences = self.reward_weights - self.shares
        gain_low, gain_high = _part_limits(np.maximum(differences, 0.0), self.rows, z)
        loss_low, loss_high = _part_limits(np.maximum(-differences, 0.0), self.rows, z)
        law = z * z * np.diagonal(self.effect_law)
        # Where everybody is at x already, those who are not may still be out there.
        nobody = np.where(np.maximum(-differences, 0.0).sum(axis=1) > 0, 0.0, _none_in(self.looks, z))
        low = self.effects - np.sqrt(gain_low**2 + loss_high**2 + law) - nobody
        high = self.effects + np.sqrt(gain_high**2 + loss_low**2 + law) + nobody
        return np.maximum(low, -1.0), np.minimum(high, 1.0)


def settle(
    evaluator: Evaluator,
    laws: Mapping[Conditional, Law],
    reward: Conditional,
    rows: Shrunk,
    looks: float,
    scope: Scope | None,
) -> Settled:
    """Evaluate a formula on shrunk conditionals, with all errors.

    Parameters
    ----------
    evaluator
        Of the formula, compiled for a reward of one level: its table holds means.
    laws
        The conditionals of the other nodes.
    reward
        The reward's own conditional.
    rows
        Its table.
    looks
        The effective number of looks.
    scope
        The joint table of all columns of the formula but the reward, where the conditionals share rows; None where
        their rows are independent.
    """
    one = np.ones(1)
    tables = [rows.means[..., None] if each == reward else laws[each].shares for each in evaluator.conditionals]
    values, slopes = evaluator.slopes(tables, one)
    settings = values.size
    by_conditional = {
        each: slope.reshape(settings, *slope.shape[len(evaluator.targets) :])
        for each, slope in zip(evaluator.conditionals, slopes, strict=True)
    }
    weights = by_conditional.pop(reward).reshape(settings, -1)
    means = values.ravel()
    whole = rows.mass.sum()
    shares = rows.mass.ravel() / whole if whole > 0 else np.zeros(rows.mass.size)
    base = float(shares @ rows.raw.ravel())
    square = weights @ rows.squares.ravel()
    seen = rows.seen.ravel()
    visible = np.where(seen, weights, 0.0)
    hidden = np.where(seen, 0.0, weights)
    prior = rows.prior.ravel()
    heavy = visible.sum(axis=1)
    per_row = np.divide(visible, rows.sizes.ravel(), out=np.zeros(visible.shape), where=seen)
    average = np.divide((visible * per_row).sum(axis=1), heavy, out=np.ones(settings), where=heavy > 0)
    parts = _LawParts(settings)
    for each, slope in by_conditional.items():
        parts.add(laws[each], slope, independent=scope is None)
    law, effect_law = parts.covariance, parts.covariance
    if scope is None:
        effect_law = law + float(shares @ (rows.means.ravel() - base) ** 2) / max(looks, 1.0)
    else:
        law, effect_law = _influence(settings, scope, laws, by_conditional, reward, rows, base, looks)
    return Settled(
        looks=looks,
        base=base,
        means=means,
        spreads=np.maximum(square - means**2, 0.0),
        noise=weights**2 @ rows.noise.ravel(),
        law=np.diagonal(law).copy(),
        shifts=visible @ (rows.means - rows.raw).ravel() + parts.shifts,
        unseen=np.abs(hidden).sum(axis=1) + parts.below + parts.above,
        unseen_below=np.maximum(hidden @ prior, 0.0) + parts.below,
        unseen_above=np.maximum(hidden @ (1 - prior), 0.0) + parts.above,
        weights=average,
        rows=rows,
        reward_weights=weights,
        shares=shares,
        effect_law=effect_law,
    )


class _LawParts:
    """What the laws of the other nodes add to the errors, summed over their rows."""

    def __init__(self, settings: int) -> None:
        self.covariance = np.zeros((settings, settings))
        self.shifts = np.zeros(settings)
        self.below, self.above = np.zeros(settings), np.zeros(settings)

    def add(self, law: Law, slope: FloatArray, *, independent: bool) -> None:
        """``slope`` has an axis for the setting, then those of the law."""
        settings = len(slope)
        rows = law.sizes.size
        slopes = slope.reshape(settings, rows, -1)
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


def _influence(
    settings: int,
    scope: Scope,
    laws: Mapping[Conditional, Law],
    slopes: Mapping[Conditional, FloatArray],
    reward: Conditional,
    rows: Shrunk,
    base: float,
    looks: float,
) -> tuple[FloatArray, FloatArray]:
    """The covariance of the means, and of the effects, that the laws cause, from what each cell does to them."""
    total = scope.mass.sum()
    if total <= 0 or looks <= 0:
        nothing = np.zeros((settings, settings))
        return nothing, nothing
    pushes = np.zeros((settings, *scope.mass.shape))
    for each, slope in slopes.items():
        law = laws[each]
        own = tuple(range(slope.ndim - len(each.nodes), slope.ndim))
        middle = (slope * law.shares).sum(axis=own, keepdims=True)
        room = law.sizes + law.strength
        share = np.divide(looks, room, out=np.zeros(room.shape), where=law.sizes > 0)
        push = (slope - middle) * share.reshape(share.shape + (1,) * len(own))
        pushes += _spread(push, each.columns, scope.columns)
    chance = (scope.mass / total).ravel()
    flat = pushes.reshape(settings, -1)
    doing_nothing = _spread(rows.means[None], reward.given, scope.columns) - base
    apart = flat - np.broadcast_to(doing_nothing, (1, *scope.mass.shape)).reshape(1, -1)
    return _covariance(flat, chance) / looks, _covariance(apart, chance) / looks


def _covariance(pushes: FloatArray, chance: FloatArray) -> FloatArray:
    centred = pushes - (pushes @ chance)[:, None]
    found: FloatArray = (centred * chance) @ centred.T
    return found


def _spread(table: FloatArray, columns: Names, wanted: Names) -> FloatArray:
    """A table whose first axis is the setting, laid along the axes of the scope."""
    order = sorted(range(len(columns)), key=lambda place: wanted.index(columns[place]))
    moved = table.transpose(0, *(place + 1 for place in order))
    lengths = dict(zip(columns, table.shape[1:], strict=True))
    return moved.reshape(len(table), *(lengths.get(name, 1) for name in wanted))


def _part_limits(weights: FloatArray, rows: Shrunk, z: float) -> tuple[FloatArray, FloatArray]:
    """How far below and above itself a weighted sum of rows may lie, for weights that are not negative."""
    total = weights.sum(axis=1)
    shares = np.divide(weights, total[:, None], out=np.zeros(weights.shape), where=total[:, None] > 0)
    seen = rows.seen.ravel()
    visible, hidden = np.where(seen, shares, 0.0), np.where(seen, 0.0, shares)
    means = shares @ rows.means.ravel()
    shift = visible @ (rows.means - rows.raw).ravel()
    per_row = np.divide(visible, rows.sizes.ravel(), out=np.zeros(visible.shape), where=seen)
    heavy = visible.sum(axis=1)
    average = np.divide((visible * per_row).sum(axis=1), heavy, out=np.ones(len(shares)), where=heavy > 0)
    low, high = mean_limits(means, shares**2 @ rows.noise.ravel() + shift**2, average, z)
    prior = rows.prior.ravel()
    low = np.maximum(low - hidden @ prior, 0.0)
    high = np.minimum(high + hidden @ (1 - prior), 1.0)
    return total * (means - low), total * (high - means)


def _none_in(looks: float, z: float) -> float:
    """The largest share of which nobody among so many need have been seen."""
    return 1.0 if looks <= 0 else 1 - float(NormalDist().cdf(-z)) ** (1 / looks)
