"""From counts to conditionals: rows that were seen rarely lean on the data's own margins.

A conditional P(v | z) is counted row by row.  A row that was seen n times is

    p(v | z) = (n p^(v | z) + s m(v | z)) / (n + s)                            s = 2 in all

with p^ its plain share and m what the rest of the data would expect of it: for most nodes the
margin of v.  For the reward it is what two margins together expect, that of the same setting of the
targets and that of the same covariates, joined on the scale of log odds: a stratum in which an arm
was never tried is taken for one in which the arm does what it does elsewhere.

Pulling towards the middle of the scale instead (add-one) makes the rarest arm the best one wherever
rates are low; `docs/decisions/0017-shrinkage.md` has the comparison.

Everything here is on a scale of the reward from 0 to 1.  Of a reward only its mean and mean square
in each row enter, so levels and numbers are treated alike, and a reward of two levels is the special
case in which the square is the mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import Array, BoolArray, FloatArray
    from whichdo.problem import Problem
    from whichdo.tables import Table


STRENGTH = 2.0
"""How many rows the margins count for, whatever the number of levels."""

EDGE = 1e-6
"""Where no success was ever seen the margin is taken for this: log odds need one that is not 0."""


def reward_scale(problem: Problem) -> tuple[FloatArray, float, float]:
    """The worth of each level of the reward from 0 to 1, and its own scale: the least value and the range."""
    if problem.reward_range is not None:
        numbers = problem.reward_range
        return np.array(list(problem.rewards.values())), numbers.low, numbers.high - numbers.low
    return unit_scale(np.array(list(problem.rewards.values())))


def unit_scale(worth: FloatArray) -> tuple[FloatArray, float, float]:
    """Levels stretched to fill [0, 1], and what leads back: the least level and the range (0 if all are alike)."""
    least, reach = float(worth.min()), float(worth.max() - worth.min())
    return (worth - least) / (reach or 1.0), least, reach


@dataclass(frozen=True)
class Law:
    """A conditional law: probabilities with an axis a column, and how often each of its rows was seen."""

    shares: FloatArray
    sizes: FloatArray
    """The effective number of rows, an axis for each column that is given."""
    raw: FloatArray
    """The plain shares; those of a row never seen are the shrunk ones."""
    strength: float
    """By how many rows it was shrunk: 0 for a law that depends on nothing."""


def shrink_law(mass: FloatArray, own: int, strength: float, sizes: FloatArray | None = None) -> Law:
    """The law of the last ``own`` axes given the others.

    ``mass``: the weight of each cell: its count, where rows count alike.
    ``own``: how many axes, from the last, are the nodes whose law it is.
    ``strength``: how many rows the margin counts for.  A law that depends on nothing is its own margin.
    ``sizes``: the effective number of rows for each value of what is given; by default the mass.
    """
    given = mass.ndim - own
    last = tuple(range(given, mass.ndim))
    total = mass.sum(axis=last)
    seen = total if sizes is None else sizes
    whole = total.sum()
    margin = mass.sum(axis=tuple(range(given))) / whole if whole > 0 else np.full(mass.shape[given:], 1 / mass[0].size)
    wide = total.reshape(total.shape + (1,) * own)
    plain = np.divide(mass, wide, out=np.broadcast_to(margin, mass.shape).copy(), where=wide > 0)
    if given == 0 or strength == 0:
        return Law(plain, seen, plain, 0.0)
    part = (seen / (seen + strength)).reshape(wide.shape)
    shrunk = part * plain + (1 - part) * margin
    return Law(shrunk, seen, np.where(wide > 0, plain, shrunk), strength)


@dataclass(frozen=True)
class Rows:
    """What was seen of the reward in each row of its conditional, an axis for each column that is given."""

    sizes: FloatArray
    """The effective number of rows."""
    mass: FloatArray
    """Their weight; the same as the size where rows count alike."""
    means: FloatArray
    """The mean of the reward, from 0 to 1; anything where nothing was seen."""
    squares: FloatArray
    """The mean of its square."""


def rows_of(counts: FloatArray, worth: FloatArray) -> Rows:
    """The rows of a table of counts whose last axis is the level of the reward; ``worth`` from 0 to 1."""
    if worth.tolist() == [0.0, 1.0]:  # the same numbers sooner
        sizes = counts[..., 0] + counts[..., 1]
        means = counts[..., 1] / np.where(sizes > 0, sizes, 1.0)
        return Rows(sizes, sizes.copy(), means, means.copy())
    sizes = counts.sum(axis=-1)
    one = np.where(sizes > 0, sizes, 1.0)
    return Rows(sizes, sizes.copy(), counts @ worth / one, counts @ worth**2 / one)


def rows_of_table(table: Table, given: tuple[str, ...], reward: str, worth: FloatArray) -> Rows:
    """What a table says of the reward in each setting of some columns, an axis each.

    The reward is a column of the table, or a number whose sums it holds; its rows may have weights.
    """
    if "sum" in table.statistics:
        whole = table.marginal(given).dense().statistics
        mass, sizes = mass_and_sizes(whole)
        one = np.where(mass > 0, mass, 1.0)
        return Rows(sizes, mass, whole["sum"] / one, whole["square"] / one)
    whole = table.marginal((*given, reward)).dense().statistics
    if "weight" not in whole:
        return rows_of(whole["count"].astype(np.float64), worth)
    plain = rows_of(whole["weight"], worth)
    mass, sizes = mass_and_sizes({name: part.sum(axis=-1) for name, part in whole.items()})
    return Rows(sizes, mass, plain.means, plain.squares)


def mass_and_sizes(statistics: Mapping[str, Array]) -> tuple[FloatArray, FloatArray]:
    """The weight of each cell, and the number of rows alike that would know as much: the square of the sum of weights
    over the sum of their squares.
    """
    if "weight" not in statistics:
        count = statistics["count"].astype(np.float64)
        return count, count
    weight, squares = statistics["weight"], statistics["weight_square"]
    return weight, np.divide(weight**2, squares, out=np.zeros(np.shape(weight)), where=squares > 0)


@dataclass(frozen=True)
class Shrunk:
    """The rows of the reward with what rarely seen ones borrow from the others."""

    sizes: FloatArray
    mass: FloatArray
    raw: FloatArray
    """The plain means; those of a row never seen are the shrunk ones."""
    means: FloatArray
    squares: FloatArray
    prior: FloatArray
    """What the margins expect of each row."""
    strength: float | FloatArray
    """By how many rows each was shrunk."""

    @classmethod
    def join(cls, parts: Sequence[Shrunk]) -> Shrunk:
        """The rows of several tables, one after the other."""
        names = ("sizes", "mass", "raw", "means", "squares", "prior")
        made = {name: np.concatenate([getattr(part, name).ravel() for part in parts]) for name in names}
        strength = [np.broadcast_to(part.strength, part.sizes.shape).ravel() for part in parts]
        return cls(**made, strength=np.concatenate(strength))

    def portion(self, part: FloatArray) -> Shrunk:
        """The same as if only a part of each row's evidence were there; rows without any stay as they are."""
        return replace(self, sizes=self.sizes * part, mass=self.mass * part, strength=self.strength * part)

    @cached_property
    def seen(self) -> BoolArray:
        """Which rows were seen at all."""
        found: BoolArray = self.sizes > 0
        return found

    @cached_property
    def variances(self) -> FloatArray:
        """The variance of one reward in each row."""
        return np.maximum(self.squares - self.means**2, 0.0)

    @cached_property
    def noise(self) -> FloatArray:
        """The variance of each row's mean; that of a row never seen is left to its weight."""
        room = np.where(self.seen, self.sizes + self.strength, 1.0)
        found: FloatArray = np.where(self.seen, self.variances / room, 0.0)
        return found

    @cached_property
    def moved(self) -> FloatArray:
        """How far shrinkage moved each mean."""
        found: FloatArray = self.means - self.raw
        return found

    @cached_property
    def reciprocals(self) -> FloatArray:
        """One over the size of each row that was seen, and 0 for the others."""
        return np.divide(1.0, self.sizes, out=np.zeros(self.sizes.shape), where=self.seen)


def shrink_reward(rows: Rows, targets: Sequence[int], strength: float = STRENGTH) -> Shrunk:
    """The mean and mean square of the reward in each row, leaning on the margins.

    ``rows``: what was seen.
    ``targets``: the axes that are targets; the others are covariates.
    ``strength``: how many rows the margins count for.
    """
    if rows.sizes.ndim == 0:
        strength = 0.0  # a mean of all rows is its own margin
    prior, dispersion = _expected(rows, targets)
    wanted = prior**2 + dispersion * prior * (1 - prior)
    seen = rows.sizes > 0
    total = rows.sizes + strength
    part = np.divide(rows.sizes, total, out=np.zeros(total.shape), where=total > 0)
    means = np.where(seen, part * rows.means + (1 - part) * prior, prior)
    squares = np.where(seen, part * rows.squares + (1 - part) * wanted, wanted)
    return Shrunk(rows.sizes, rows.mass, np.where(seen, rows.means, prior), means, squares, prior, strength)


def add_one_law(mass: FloatArray, own: int, threshold: float = 0.0) -> Law:
    """The paper's learned conditional: every count plus one; rows seen less often than ``threshold`` are uniform.

    Parameters as of `shrink_law`.
    """
    last = tuple(range(mass.ndim - own, mass.ndim))
    size = float(np.prod(mass.shape[mass.ndim - own :]))
    total = mass.sum(axis=last, keepdims=True)
    plain = np.divide(mass, total, out=np.full(mass.shape, 1 / size), where=total > 0)
    shares = np.where(total < threshold, 1 / size, (mass + 1) / (total + size))
    return Law(shares, total.reshape(total.shape[: mass.ndim - own]), plain, size)


def add_one_reward(counts: FloatArray, worth: FloatArray, threshold: float = 0.0) -> Shrunk:
    """The same for the reward, from counts whose last axis is its level."""
    law = add_one_law(counts, 1, threshold)
    middle = np.full(law.sizes.shape, worth.mean())
    return Shrunk(
        law.sizes, law.sizes, law.raw @ worth, law.shares @ worth, law.shares @ worth**2, middle, float(worth.size)
    )


def _expected(rows: Rows, targets: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """What the margins expect of each row's mean, and how much its rewards scatter, as a share of what a coin would."""
    axes = tuple(range(rows.sizes.ndim))
    covariates = tuple(axis for axis in axes if axis not in targets)
    overall = _pool(rows, axes, None)
    by_target = _pool(rows, covariates, overall)
    dispersion = (by_target.squares - by_target.means**2) / (by_target.means * (1 - by_target.means))
    if not targets:
        return np.broadcast_to(overall.means, rows.sizes.shape), np.broadcast_to(dispersion, rows.sizes.shape)
    by_stratum = _pool(rows, tuple(targets), overall)
    # What a target's rows would have had if only their strata mattered.
    base = Rows(rows.sizes, rows.mass, np.broadcast_to(by_stratum.means, rows.sizes.shape), by_stratum.squares)
    without = _pool(base, covariates, overall)
    odds = _logit(by_stratum.means) + _logit(by_target.means) - _logit(without.means)
    return 1 / (1 + np.exp(-odds)), np.broadcast_to(dispersion, rows.sizes.shape)


def _pool(rows: Rows, axes: tuple[int, ...], towards: Rows | None) -> Rows:
    """Rows put together along some axes, themselves shrunk towards what all rows have."""
    mass = rows.mass.sum(axis=axes, keepdims=True)
    sizes = rows.sizes.sum(axis=axes, keepdims=True)
    share = np.where(mass > 0, mass, 1.0)
    means = np.sum(rows.mass * np.where(rows.mass > 0, rows.means, 0.0), axis=axes, keepdims=True) / share
    squares = np.sum(rows.mass * np.where(rows.mass > 0, rows.squares, 0.0), axis=axes, keepdims=True) / share
    if towards is None:
        means = np.clip(np.where(mass > 0, means, 0.5), EDGE, 1 - EDGE)
        # The square of a bounded reward is at most the reward itself, as for a coin; few rows may not tell less.
        at_edge = (means <= EDGE) | (means >= 1 - EDGE) | (mass <= 0)
        squares = (np.where(at_edge, means, squares) * sizes + STRENGTH * means) / (sizes + STRENGTH)
    else:
        means = (means * sizes + STRENGTH * towards.means) / (sizes + STRENGTH)
        squares = (squares * sizes + STRENGTH * towards.squares) / (sizes + STRENGTH)
    return Rows(sizes, mass, means, np.clip(squares, means**2, means))


def _logit(share: FloatArray) -> FloatArray:
    found: FloatArray = np.log(share) - np.log1p(-share)
    return found
