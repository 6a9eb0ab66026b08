"""From shrunk tables to what they say about all arms on one target set: by adjustment, or by any formula."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.settled import (
    Gradient,
    LawParts,
    RewardRows,
    Settled,
    WeightedSum,
    finish,
    normalised,
    weighted_sums,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.arrays import FloatArray
    from whichdo.estimate.evaluate import Evaluator
    from whichdo.estimate.shrinkage import Law, Rows, Shrunk
    from whichdo.identification.estimand import Conditional, Names


@dataclass(frozen=True)
class Scope:
    """The joint table of all columns but the reward, where all conditionals of a formula are counted from it."""

    columns: Names
    mass: FloatArray


# ------------------------------------------------------------------------------------------------------ by adjustment


def settle_by_adjustment(rows: Shrunk, looks: float, *, effects: bool = True) -> Settled:
    """The mean of each setting by sum over z of P(z) E[Y | x, z].

    ``rows``: the reward's table with two axes: the strata z, as many as there are or only those that occurred, and x.
    ``looks``: the effective number of looks.
    ``effects``: whether effects against doing nothing are wanted too.  Without them their errors are empty: half of the
    work, where only means are compared.
    """
    whole = rows.mass.sum()
    shares = rows.mass / whole if whole > 0 else np.zeros(rows.mass.shape)
    strata = shares.sum(axis=1, keepdims=True)
    gain, loss = strata - shares, shares  # of an arm's own rows; and of all rows, its own still among them
    base = float((shares * rows.raw).sum())
    means = (strata * rows.means).sum(axis=0)
    apart = rows.means - means
    effect_law, covariance = _effect_errors(rows, shares, strata, looks) if effects else (np.empty(0), np.empty((0, 0)))
    columns = np.arange(means.size)
    weakest = (strata**2 * np.where(rows.seen, rows.noise, 1.0)).argmax(axis=0)
    return Settled(
        looks=looks,
        most=np.full(means.shape, looks),
        base=base,
        means=means,
        spreads=np.maximum((strata * rows.squares).sum(axis=0) - means**2, 0.0),
        own=_by_column(np.broadcast_to(strata, shares.shape), rows),
        law=(strata * apart**2).sum(axis=0) / max(looks, 1.0),
        law_shifts=np.zeros(means.shape),
        law_below=np.zeros(means.shape),
        law_above=np.zeros(means.shape),
        gain=_by_column(gain, rows) if effects else WeightedSum.empty(),
        loss=_others(loss, rows) if effects else WeightedSum.empty(),
        effect_law=effect_law,
        effect_covariance=covariance,
        weakest=weakest * means.size + columns,
        weakest_sizes=rows.sizes[weakest, columns],
    )


def _sums(weights: FloatArray, rows: Shrunk) -> tuple[FloatArray, ...]:
    """What a weighted sum is made of, for each column of x by itself."""
    return (
        weights.sum(axis=0),
        (weights * rows.means).sum(axis=0),
        (weights**2 * rows.noise).sum(axis=0),
        (weights * rows.moved).sum(axis=0),
        (weights**2 * rows.reciprocals).sum(axis=0),
        (weights * rows.seen).sum(axis=0),
        np.where(rows.seen, 0.0, weights * rows.prior).sum(axis=0),
    )


def _by_column(weights: FloatArray, rows: Shrunk) -> WeightedSum:
    return WeightedSum._from_parts(*_sums(weights, rows))


def _others(weights: FloatArray, rows: Shrunk) -> WeightedSum:
    """For each column the sum over all other columns."""
    return WeightedSum._from_parts(*(part.sum() - part for part in _sums(weights, rows)))


def _effect_errors(rows: Shrunk, shares: FloatArray, strata: FloatArray, looks: float) -> tuple[FloatArray, FloatArray]:
    """What the law of the strata adds to the variance of each effect, and the covariance of all effects.

    The effect of x is the sum over all rows (z, x') of (P(z) [x' = x] - P(z, x')) m(x', z).  A look at (z, x') pushes
    it by m(x, z) - m(x', z) less the effect itself.
    """
    means = rows.means
    every = (shares**2 * rows.noise).sum()
    shared = (strata * shares * rows.noise).sum(axis=0)
    noise = every - shared[:, None] - shared[None, :] + np.diag((strata**2 * rows.noise).sum(axis=0))
    moved = (strata * rows.moved).sum(axis=0) - (shares * rows.moved).sum()
    happened = (shares * means).sum(axis=1, keepdims=True)
    effects = (strata * means).sum(axis=0) - happened.sum()
    beside = (happened * means).sum(axis=0)
    law = (strata * means).T @ means - beside[:, None] - beside[None, :] + (shares * means**2).sum()
    law = (law - np.outer(effects, effects)) / max(looks, 1.0)
    # A row never seen is as good as one reward from what the margins expect.
    guessed = (strata**2 * np.where(rows.seen, 0.0, rows.variances)).sum(axis=0)
    covariance: FloatArray = noise + law + np.outer(moved, moved) + np.diag(guessed)
    return np.maximum(np.diagonal(law), 0.0), covariance


# --------------------------------------------------------------------------------------------------------- any formula


def settle(
    evaluator: Evaluator,
    laws: Mapping[Conditional, Law],
    reward: Conditional,
    rows: Shrunk,
    looks: float,
    scope: Scope | None,
    own: Rows | None = None,
    *,
    effects: bool = True,
) -> Settled:
    """Evaluate a formula on shrunk conditionals, with all errors; its settings in C order.

    ``evaluator``: of the formula, compiled for a reward of one level: its table holds means.
    ``laws``: the conditionals of the other nodes.
    ``reward``: the reward's own conditional.
    ``rows``: its table.
    ``looks``: the effective number of looks.
    ``scope``: the joint table of all columns of the formula but the reward, where the conditionals share rows; None
    where their rows are independent.
    ``own``: what looks alone say of the reward, where ``rows`` holds rows of experiments as well.
    ``effects``: as of `settle_by_adjustment`.
    """
    gradient = gradient_of(evaluator, laws, reward, rows.means)
    means, by_conditional = gradient.means, dict(gradient.slopes)
    weights = by_conditional.pop(reward).reshape(means.size, -1)
    looked = rows if own is None else own
    whole = looked.mass.sum()
    shares = looked.mass.ravel() / whole if whole > 0 else np.zeros(looked.mass.size)
    base = float(weighted_sums(shares, rows.raw if own is None else own.means))
    parts = LawParts(means.size)
    for each, slope in by_conditional.items():
        parts.add(laws[each], slope, independent=scope is None)
    if scope is None:
        law = parts.covariance
        effect_law = law + float(shares @ (rows.means.ravel() - base) ** 2) / max(looks, 1.0)
    else:
        law, effect_law = _influence(
            means.size, scope, laws, by_conditional, reward, rows, base, looks, effects=effects
        )
    stack = RewardRows(rows, weights, shares) if own is None else RewardRows.split(rows, weights, shares, own.sizes)
    found = finish(gradient, stack, parts, law, effect_law, base=base, looks=looks, most=looks, effects=effects)
    if own is not None:
        doubts = weights**2 * np.where(rows.seen, rows.noise, 1.0).ravel()
        weakest = doubts.argmax(axis=1)
        borrowed = float((rows.sizes - own.sizes).sum())
        return replace(
            found, weakest=weakest, weakest_sizes=rows.sizes.ravel()[weakest], most=found.most + max(borrowed, 0.0)
        )
    return found


def gradient_of(
    evaluator: Evaluator, laws: Mapping[Conditional, Law], reward: Conditional, means: FloatArray
) -> Gradient:
    """Means and slopes of a formula with one conditional of the reward, of which ``means`` is the table."""
    return normalised([reward], lambda other: _slopes(evaluator, laws, {reward: means} if other is None else other))


def _slopes(
    evaluator: Evaluator, laws: Mapping[Conditional, Law], rewards: Mapping[Conditional, FloatArray]
) -> tuple[FloatArray, dict[Conditional, FloatArray]]:
    """The value of each setting, and its slopes in every cell of every conditional; ``rewards`` hold means."""
    tables = [rewards[each][..., None] if each in rewards else laws[each].shares for each in evaluator.conditionals]
    values, slopes = evaluator.slopes(tables, np.ones(1))
    flat = values.ravel()
    targets = len(evaluator.targets)
    return flat, {
        each: slope.reshape(flat.size, *slope.shape[targets:])
        for each, slope in zip(evaluator.conditionals, slopes, strict=True)
    }


def _influence(
    settings: int,
    scope: Scope,
    laws: Mapping[Conditional, Law],
    slopes: Mapping[Conditional, FloatArray],
    reward: Conditional,
    rows: Shrunk,
    base: float,
    looks: float,
    *,
    effects: bool,
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
        pushes += _spread((slope - middle) * share.reshape(share.shape + (1,) * len(own)), each.columns, scope.columns)
    chance = (scope.mass / total).ravel()
    flat = pushes.reshape(settings, -1)
    caused = covariance_of(flat, chance) / looks
    if not effects:
        return caused, caused
    doing_nothing = _spread(rows.means[None], reward.given, scope.columns) - base
    apart = flat - np.broadcast_to(doing_nothing, (1, *scope.mass.shape)).reshape(1, -1)
    return caused, covariance_of(apart, chance) / looks


def covariance_of(pushes: FloatArray, chance: FloatArray) -> FloatArray:
    """The covariance of means that a row in each cell pushes so far; ``chance`` of each cell."""
    centred = pushes - weighted_sums(pushes, chance)[:, None]
    found: FloatArray = (centred * chance) @ centred.T
    return found


def _spread(table: FloatArray, columns: Names, wanted: Names) -> FloatArray:
    """A table whose first axis is the setting, laid along the axes of the scope."""
    order = sorted(range(len(columns)), key=lambda place: wanted.index(columns[place]))
    moved = table.transpose(0, *(place + 1 for place in order))
    lengths = dict(zip(columns, table.shape[1:], strict=True))
    return moved.reshape(len(table), *(lengths.get(name, 1) for name in wanted))
