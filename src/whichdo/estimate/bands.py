"""Bounds on the means of arms that rows do not settle, with room for the noise in finitely many rows.

A lower law (`whichdo.identification.bounds`) puts at least L[f] = sum of lower(y) f(y) under the
mean of any f of the reward that is not negative.  On a scale from 0 to 1 the mean of the reward is
at least L[y] and at most 1 - L[1 - y].  Both ends are estimated, and an estimate of an end is as often
too high as too low.  So each end is moved outwards to the lower limit of its L, and the mean lies
between with the confidence that was asked for, whatever the hidden causes are.

There are several bounds to choose from: the natural ones, those by a screen, and by factors one lower law
for each value of the instruments, or one that takes the best value cell by cell.  The best of many
noisy limits is too good, so the chance of an error is divided among all that could have been chosen:
three quarters to the natural law, where there are others, and the rest equally to the screen and to
factors; of these, equally to those with one value of the instruments and those with values cell by
cell, and then equally within.

A conditional of which no row was seen counts as 0, which a lower law may always do.  The error of L is that of
independent tables, by the slopes of L in every cell; limits are those of `whichdo.estimate.limits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.errors import TooLargeError
from whichdo.estimate.blending import Learning
from whichdo.estimate.evaluate import evaluator, table_evaluator
from whichdo.estimate.limits import mean_limits, normal_quantile
from whichdo.estimate.shrinkage import mass_and_sizes, rows_of_table
from whichdo.formulas import Reading, setting_numbers
from whichdo.identification.estimand import Estimand, conditionals_in
from whichdo.open_arms import factor_law, screened_scope, screens
from whichdo.tables import MAX_CELLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.estimate.estimator import Looked, Rule
    from whichdo.evidence import Tally
    from whichdo.graph.targets import Targets
    from whichdo.identification.bounds import BoundedFactor, LowerLaw, Screen
    from whichdo.identification.estimand import Conditional, Names
    from whichdo.problem import Problem


MOST_SLOPES = 1 << 22
"""The most slopes of one factor that are laid out; bounds that need more are the natural ones."""
MOST_VALUES = 64
"""The most values of all instruments together that are tried."""
MOST_CHOICES = 1 << 12
"""The most choices of values cell by cell: the limit of each is the further away, the more there are."""
NATURAL = 0.75
"""The part of the chance of an error that natural bounds have where there are others: these need more rows."""
EMPTY = 1.0
"""How many rows of the margin's law are added to a row of a table where the error of its shares is worked out."""


def bound_arms(
    problem: Problem,
    seen: Tally,
    worth: FloatArray,
    rule: Rule,
    looked: Looked,
    confidence: float,
    *,
    natural_alone: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """The least and the greatest mean that rows allow each arm, from 0 to 1; NaN for arms that they settle.

    NaN also where no look was made, or looks were not counted by the arm's targets.

    ``problem``, ``seen``, ``worth``, ``rule``: as of `whichdo.estimate.blending.learn`.
    ``looked``: what it found: only arms that are not settled there have bounds.
    ``confidence``: how likely the mean lies between, at least.
    ``natural_alone``: whether to lean on nothing but the rows that happen to have an arm's settings.
    """
    natural_alone = natural_alone or rule.reading is Reading.PAPER
    low, high = np.full(len(problem.arms), np.nan), np.full(len(problem.arms), np.nan)
    bounding: _Bounding | None = None
    known: dict[Targets, tuple[FloatArray, FloatArray]] = {}
    for targets, places in problem.positions.items():
        unsettled = [place for place in places if looked.sources[place] < 0]
        acting = problem.verdicts[targets].acting
        if not unsettled:
            continue
        if acting not in known:
            bounding = bounding or _Bounding(problem, seen, worth, rule, (1 - confidence) / 2)
            known[acting] = bounding.ends(targets, natural_alone=natural_alone)
        numbers = setting_numbers(problem, acting, unsettled)
        low[unsettled], high[unsettled] = (end.ravel()[numbers] for end in known[acting])
    return low, high


class _Bounding(Learning):
    """All bounds of a problem from the same rows; ``miss`` is the chance of an error at either end."""

    def __init__(self, problem: Problem, seen: Tally, worth: FloatArray, rule: Rule, miss: float) -> None:
        super().__init__(problem, seen, worth, rule)
        self.miss = miss
        self._shares: dict[Conditional, _Shares] = {}

    def ends(self, targets: Targets, *, natural_alone: bool = False) -> tuple[FloatArray, FloatArray]:
        """The lower and the upper ends of all settings of the targets that act, an axis for each."""
        acting = self.problem.verdicts[targets].acting
        if not self.number or self.found((*acting, self.problem.reward)) is None:
            unknown = np.full([self.sizes[name] for name in acting], np.nan)
            return unknown, unknown
        by_factors = None if natural_alone else self.by_factors(targets)
        given = None if natural_alone else self.screen(targets)
        others = (by_factors is not None) + (given is not None)
        share = (1 - NATURAL) * self.miss / max(others, 1)
        found = []
        for upper in (False, True):
            limits = [self.natural(acting, upper=upper).low(NATURAL * self.miss if others else self.miss)]
            if by_factors is not None:
                limits += by_factors.limits(share, upper=upper)
            if given is not None:
                limits.append(self.by_screen(acting, given, upper=upper).low(share))
            found.append(np.max(limits, axis=0))
        return found[0], 1 - found[1]

    def natural(self, acting: Names, *, upper: bool) -> _Estimate:
        """P(x) E[y | x] in each setting x, or P(x) E[1 - y | x]."""
        rows = self.rows_given(acting)
        total = rows.mass.sum()
        part = rows.mass / total
        own = np.divide(part**2, rows.sizes, out=np.zeros(part.shape), where=rows.sizes > 0)
        rest = np.maximum(1 / self.looks - own, 0.0)
        seen = rows.mass > 0
        means, squares = np.where(seen, rows.means, 0.0), np.where(seen, rows.squares, 0.0)
        if upper:
            means, squares = np.where(seen, 1 - means, 0.0), np.where(seen, 1 - 2 * means + squares, 0.0)
        value = part * means
        variance = own * (squares - 2 * value * means + value**2) + rest * value**2
        weight = np.where(seen, own / np.where(seen, part, 1.0), 1 / self.looks)
        return _Estimate(value, np.maximum(variance, 0.0), weight)

    def screen(self, targets: Targets) -> Screen | None:
        """What separates the targets from the reward but for what they do, if it was counted with both."""
        given = screens(self.problem, self.rule.reading).get(targets)
        if given is None or self.found(screened_scope(self.problem, targets, given)) is None:
            return None
        return given

    def by_screen(self, acting: Names, given: Screen, *, upper: bool) -> _Estimate:
        """What rows are worth at least in each setting x: those of x, and all others by the value of the screen.

        These have the least mean that rows of x have in their stratum: of a value that may have it, as its mean less
        its error is the least.  The error is that of the shares of rows, and of the means.
        """
        rows = self.rows_given((*acting, *given.before, *given.after))
        settings = [self.sizes[name] for name in acting]
        shape = prod(settings), prod(self.sizes[name] for name in given.before), -1
        mass, sizes, means, squares = (
            part.reshape(shape) for part in (rows.mass, rows.sizes, rows.means, rows.squares)
        )
        seen = mass > 0
        means, squares = np.where(seen, means, 0.0), np.where(seen, squares, 0.0)
        spread = np.maximum(squares - means**2, 0.0)
        room = np.divide(spread * sizes + EMPTY * 0.25, sizes * (sizes + EMPTY), out=np.zeros(mass.shape), where=seen)
        if upper:
            means = np.where(seen, 1 - means, 0.0)
        part = mass / mass.sum()
        inside = part.sum(axis=2)
        others = inside.sum(axis=0) - inside
        worst = np.argmin(np.where(seen, means - np.sqrt(room), -1.0), axis=2)[..., None]
        least = np.take_along_axis(means, worst, axis=2)[..., 0]
        slopes = part.copy()
        np.put_along_axis(slopes, worst, np.take_along_axis(part, worst, axis=2) + others[..., None], axis=2)
        value = (slopes * means).sum(axis=(1, 2))
        variance = (slopes**2 * room).sum(axis=(1, 2))
        square = (part * means**2).sum(axis=(1, 2)) + (others * least**2).sum(axis=1)
        variance += np.maximum(square - value**2, 0.0) / self.looks
        one = np.divide(slopes**2, sizes, out=np.zeros(mass.shape), where=seen) * means
        weight = np.divide(one.sum(axis=(1, 2)), value, out=np.full(value.shape, 1 / self.looks), where=value > 0)
        return _Estimate(*(found.reshape(settings) for found in (value, variance, weight)))

    def by_factors(self, targets: Targets) -> _ByFactors | None:
        """The lower law by factors on the rows; None where it has nothing to add, or is too large."""
        lower = factor_law(self.problem, targets, self.has_counted)
        if lower is None or not all(map(self.holds, lower.factors)):
            return None
        try:
            return _ByFactors(self, lower)
        except TooLargeError:
            return None

    def holds(self, factor: BoundedFactor) -> bool:
        """Whether all laws of a factor can be had from the rows of their sources."""
        return all(self.has_counted(each.source, each) for each in conditionals_in(factor.expression))

    def shares(self, each: Conditional) -> _Shares:
        """A conditional as the rows of its source have it; of a numeric reward its means, with one level."""
        if each not in self._shares:
            self._shares[each] = self._make(each)
        return self._shares[each]

    def _make(self, each: Conditional) -> _Shares:
        rows, reward = self.at[each.source], self.problem.reward
        if each.nodes == (reward,) and "sum" in rows.table(each.columns).statistics:
            held = rows_of_table(rows.table(each.columns), each.given, reward, self.worth)
            means = np.where(held.mass > 0, held.means, 0.0)
            spread = np.maximum(np.where(held.mass > 0, held.squares, 0.0) - means**2, 0.0)
            spread = (spread * held.sizes + EMPTY * 0.25) / (held.sizes + EMPTY)
            return _Shares(means[..., None], means[..., None], held.sizes, spread)
        whole = rows.table(each.columns).marginal(each.columns).dense().statistics
        own = tuple(range(len(each.given), len(each.columns)))
        mass = mass_and_sizes(whole)[0]
        _, sizes = mass_and_sizes({name: part.sum(axis=own) for name, part in whole.items()})
        total = mass.sum(axis=own, keepdims=True)
        plain = np.divide(mass, total, out=np.zeros(mass.shape), where=total > 0)
        margin = mass.sum(axis=tuple(range(len(each.given))))
        margin = margin / margin.sum() if margin.sum() > 0 else np.full(margin.shape, 1 / margin.size)
        wide = sizes.reshape(total.shape)
        return _Shares(plain, (wide * plain + EMPTY * margin) / (wide + EMPTY), sizes, None)


class _Shares(NamedTuple):
    """A conditional: plain shares, 0 in rows never seen; shares to work out errors with; and the size of each row."""

    plain: FloatArray
    smooth: FloatArray
    sizes: FloatArray
    spread: FloatArray | None
    """Of a numeric reward the variance of one reward in each row."""

    def error(self, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the noise of the shares adds to a variance, and how far one row of them moves the value.

        ``slopes`` has a row for each value, then the cells.
        """
        seen = self.sizes.ravel() > 0
        room = np.where(seen, 1 / np.where(seen, self.sizes.ravel(), 1.0), 0.0)
        by_row = slopes.reshape(len(slopes), len(room), -1)
        plain = self.plain.reshape(len(room), -1)
        if self.spread is not None:
            noise = (by_row[:, :, 0] ** 2 * self.spread.ravel() * room).sum(axis=1)
        else:
            smooth = self.smooth.reshape(len(room), -1)
            middle = (by_row * smooth).sum(axis=2, keepdims=True)
            noise = (((by_row - middle) ** 2 * smooth).sum(axis=2) * room).sum(axis=1)
        heavy = ((by_row**2 * plain).sum(axis=2) * room).sum(axis=1)
        total = np.abs(by_row * plain).sum(axis=(1, 2))
        return noise, np.divide(heavy, total, out=np.zeros(total.shape), where=total > 0)


class _Estimate(NamedTuple):
    """Values L with their variances, and how far one more row would move each."""

    value: FloatArray
    variance: FloatArray
    weight: FloatArray

    def low(self, miss: float) -> FloatArray:
        """The lower limits, missed with this chance."""
        z = normal_quantile(1 - miss)
        found = mean_limits(self.value, self.variance, self.weight, z)[0]
        return np.where(self.value > 0, found, 0.0)


@dataclass(frozen=True)
class _Part:
    """One factor on the rows: its table, the values of instruments first, and its slopes in each conditional."""

    factor: BoundedFactor
    table: FloatArray
    """A row for each value of the instruments together, then the axes of the factor's symbol."""
    slopes: dict[Conditional, FloatArray]
    """With the same axes, and one for the cells of the conditional."""
    errors: FloatArray
    """The standard error of each cell of the table."""

    @property
    def values(self) -> int:
        return len(self.table)

    def taken(self, choice: IntArray) -> tuple[FloatArray, dict[Conditional, FloatArray]]:
        """The table with one value of the instruments for each cell, and its slopes: a row for each cell."""
        cells = np.arange(choice.size)
        flat = self.table.reshape(self.values, -1)[choice.ravel(), cells]
        slopes = {
            each: slope.reshape(self.values, choice.size, -1)[choice.ravel(), cells]
            for each, slope in self.slopes.items()
        }
        return flat.reshape(self.table.shape[1:]), slopes


Choice = tuple["IntArray", ...]


class _ByFactors:
    """A lower law by factors on the rows."""

    def __init__(self, rows: _Bounding, lower: LowerLaw) -> None:
        self.rows, self.lower = rows, lower
        laws = {each for factor in lower.factors for each in conditionals_in(factor.expression)}
        reward = rows.problem.reward
        self.numeric = any(rows.shares(each).spread is not None for each in laws)
        self.sizes = {**rows.sizes, **({reward: 1} if self.numeric else {})}
        self.engine = evaluator(Estimand(lower.outline, lower.targets, lower.reward), self.sizes)
        if prod(self.engine.shape) * sum(map(prod, self.engine.shapes)) > MAX_CELLS:
            raise TooLargeError("the slopes of a lower law are too many to lay out")
        if prod(part.values for part in self.parts[False]) > MOST_VALUES:
            raise TooLargeError("the values of instruments are too many to try")

    def limits(self, miss: float, *, upper: bool) -> list[FloatArray]:
        """Lower limits of L for every setting of the targets; any of them is missed with this chance at most."""
        one, by_cell = self.one_value, self.choices
        part = miss / (2 if by_cell else 1)
        found = [self.mean(each, upper=upper).low(part / len(one)) for each in one]
        if by_cell:
            found.append(self.mean(self.best(upper=upper), upper=upper).low(part / by_cell))
        return found

    @cached_property
    def parts(self) -> dict[bool, list[_Part]]:
        """The factors for the lower end, and for the upper: they differ where a numeric reward has means only."""
        lower = [self._part(factor, upper=False) for factor in self.lower.factors]
        upper = [self._part(factor, upper=True) for factor in self.lower.factors] if self.numeric else lower
        return {False: lower, True: upper}

    def _part(self, factor: BoundedFactor, *, upper: bool) -> _Part:
        axes = (*factor.instruments, *factor.symbol.columns)
        cells = prod(self.sizes[name] for name in axes)
        engine = table_evaluator(factor.expression, axes, self.sizes)
        if cells * sum(map(prod, engine.shapes)) > MOST_SLOPES:
            raise TooLargeError("the slopes of a factor are too many to lay out")
        shares = [self.rows.shares(each) for each in engine.conditionals]
        tables = [1 - each.plain if upper and each.spread is not None else each.plain for each in shares]
        values, slopes = engine.slopes(tables, None)
        table = np.ascontiguousarray(values).reshape(-1, *(self.sizes[name] for name in factor.symbol.columns))
        by_law = {
            each: np.ascontiguousarray(slope).reshape(*table.shape, -1)
            for each, slope in zip(engine.conditionals, slopes, strict=True)
        }
        noise = np.zeros(cells)
        for share, slope in zip(shares, by_law.values(), strict=True):
            noise += share.error(slope.reshape(cells, -1))[0]
        return _Part(factor, table, by_law, np.sqrt(noise).reshape(table.shape))

    @cached_property
    def one_value(self) -> list[Choice]:
        """Each value of the instruments, the same in every cell; of all open factors together."""
        parts = self.parts[False]
        return [
            tuple(np.full(part.table.shape[1:], value, np.int64) for part, value in zip(parts, values, strict=True))
            for values in product(*(range(part.values) for part in parts))
        ]

    @cached_property
    def choices(self) -> int:
        """In how many ways values can be chosen cell by cell for one arm; 0 where that adds nothing, or too much."""
        choices, several = 1.0, False
        for part in self.parts[False]:
            if part.values > 1:
                free = [name for name in part.factor.symbol.columns if name not in self.lower.targets]
                # A level that is worth nothing does not count; at either end there is one.
                cells = prod(self.sizes[name] - (name == self.lower.reward and not self.numeric) for name in free)
                choices *= float(part.values) ** cells
                several = several or cells > 1
        return int(choices) if several and choices <= MOST_CHOICES else 0

    def best(self, *, upper: bool) -> Choice:
        """In each cell the value whose table is largest, less one standard error."""
        return tuple(np.argmax(part.table - part.errors, axis=0) for part in self.parts[upper])

    def mean(self, choice: Sequence[IntArray], *, upper: bool) -> _Estimate:
        """L for every setting of the targets, with a value of the instruments for each cell of each factor."""
        taken = [part.taken(each) for part, each in zip(self.parts[upper], choice, strict=True)]
        places = {part.factor.symbol: table for part, (table, _) in zip(self.parts[upper], taken, strict=True)}
        worth = np.ones(1) if self.numeric else 1 - self.rows.worth if upper else self.rows.worth
        values, outer = self.engine.slopes([places[each] for each in self.engine.conditionals], worth)
        by_symbol = dict(zip(self.engine.conditionals, outer, strict=True))
        slopes: dict[Conditional, FloatArray] = {}
        for part, (_, inner) in zip(self.parts[upper], taken, strict=True):
            along = np.ascontiguousarray(by_symbol[part.factor.symbol]).reshape(values.size, -1)
            for each, slope in inner.items():
                slopes[each] = slopes.get(each, 0.0) + along @ slope
        variance, weight = np.zeros(values.size), np.zeros(values.size)
        for each, slope in slopes.items():
            noise, moved = self.rows.shares(each).error(slope)
            variance += noise
            weight = np.maximum(weight, moved)
        return _Estimate(np.array(values), variance.reshape(values.shape), weight.reshape(values.shape))
