"""Formulas whose table is mostly empty: evaluated on the cells that occurred.

The weight form (`whichdo.identification.forms.weight_estimand`) sums over the cells c of all its
columns, and P(c), which is taken as it was counted, is a factor of every term.  With twenty columns
of two values there are a million cells, of which ten thousand rows reach ten thousand at most; all
others have the weight 0.  So the settings of the columns that are not targets are numbered as far as
they occurred, and the number is one column in their place.

Each conditional then is a table by that number and by the targets.  It *reads* the law that was
counted: settings in which the law's own columns are the same read the same cell.  The slope in a
cell of the law is the sum of the slopes where it is read.  Rows of a law that nothing reads have no
slope, so that only those that are read are laid out; and everything else, shrinkage and errors, is
done as it is for full tables, with the same result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.evaluate import Evaluator
from whichdo.estimate.settled import LawParts, RewardRows, finish, normalised, weighted_sums
from whichdo.estimate.settling import covariance_of
from whichdo.estimate.shrinkage import mass_and_sizes, rows_of_table, shrink_law, shrink_reward
from whichdo.identification.estimand import Conditional, Product, Ratio, Sum
from whichdo.tables import Radix, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whichdo.arrays import Array, CodeArray, FloatArray, IntArray
    from whichdo.estimate.settled import Gradient, Settled
    from whichdo.estimate.shrinkage import Law
    from whichdo.formulas import Formula
    from whichdo.identification.estimand import Expression, Names


NUMBER, REWARD = "", "y"
"""What the column of numbers and the reward are called where formulas of the same form are to be alike."""
MOST_NUMBERED = 1 << 62
"""The most settings whose numbers fit a machine word."""
SORTED = 256
"""How many times more cells than numbers there may be before sorting the numbers is quicker."""


@dataclass(frozen=True)
class Numbered:
    """A formula in which one number stands for all columns but targets and reward."""

    expression: Expression
    """Its targets are called t0, t1, ...  Each law has an axis of its own, of length one, so that no two are alike."""
    joint: Conditional
    """The conditional, as it was, of all columns but the reward together."""
    names: Mapping[Conditional, Conditional]
    """What each conditional is called in the expression."""
    rest: Names
    """The columns that are numbered, in the order of the table."""


def numbered_form(formula: Formula) -> Numbered | None:
    """A formula by numbers; None where it is not a sum over all cells of what it counts together."""
    estimand, scope = formula.estimand, formula.scopes[0]
    targets = {name: f"t{place}" for place, name in enumerate(estimand.targets)}
    rest = tuple(name for name in scope if name not in targets and name != estimand.reward)
    columns = {*rest, *targets}
    names: dict[Conditional, Conditional] = {}
    joint, own = None, []
    if not rest or not formula.shared:
        return None
    for place, each in enumerate(estimand.conditionals):
        if estimand.reward in each.nodes:
            if set(each.given) != columns:
                return None
            names[each] = Conditional((REWARD,), (*targets.values(), NUMBER))
        elif set(each.nodes) == columns:
            joint = each
            names[each] = Conditional((*targets.values(), NUMBER))
        elif len(each.nodes) == 1 and columns.issuperset(each.columns):
            own.append(f"v{place}")
            axes = (targets[name] for name in estimand.targets if name in each.columns)
            names[each] = Conditional((own[-1],), (*axes, NUMBER))
        else:
            return None
    if joint is None:
        return None
    expression = estimand.expression
    if not isinstance(expression, Sum) or set(expression.names) != set(rest):
        return None
    inner = _rename(expression.term, names, targets)
    return None if inner is None else Numbered(Sum((NUMBER, *own), inner), joint, names, rest)


def _rename(
    expression: Expression, names: Mapping[Conditional, Conditional], targets: Mapping[str, str]
) -> Expression | None:
    """The same with other names; None where something else than targets is summed over."""
    match expression:
        case Conditional():
            return names[expression]
        case Product(factors):
            parts = [_rename(each, names, targets) for each in factors]
            return None if None in parts else Product(tuple(each for each in parts if each is not None))
        case Ratio(numerator, denominator):
            above, below = _rename(numerator, names, targets), _rename(denominator, names, targets)
            return None if above is None or below is None else Ratio(above, below)
        case Sum(bound, term):
            inner = _rename(term, names, targets)
            known = all(name in targets for name in bound)
            return Sum(tuple(targets[name] for name in bound), inner) if known and inner is not None else None


def settle_numbered(
    formula: Formula,
    form: Numbered,
    table: Table,
    codes: CodeArray,
    rule: tuple[Mapping[str, int], FloatArray, float],
    looks: float,
    *,
    effects: bool = True,
) -> tuple[Settled, tuple[Names, CodeArray]]:
    """Evaluate a formula by numbers, with all errors; its settings in C order.

    ``form``: the same by numbers.
    ``table``: what was counted, by the targets, the number, which is unnamed, and the reward.
    ``codes``: what each number stands for: the codes of the numbered columns.
    ``rule``: how many values each node has, what each level of the reward is worth, from 0 to 1, and how many rows the
    margins count for.
    ``looks``: the effective number of looks.
    ``effects``: as of `whichdo.estimate.settling.settle_by_adjustment`.
    Returns means and errors; and the columns that the reward's table is given, and for each setting the codes of the
    row of it that the mean knows least about.
    """
    targets, reward = formula.targets, formula.reward
    sizes, worth, shrinkage = rule
    grid = table.marginal((*targets, NUMBER)).dense()  # sums over numbers are then over neighbours
    seen = rows_of_table(table, (*targets, NUMBER), formula.estimand.reward, worth)
    rows = shrink_reward(seen, range(len(targets)), shrinkage)
    mass, effective = mass_and_sizes({name: part.sum() for name, part in grid.statistics.items()})
    shares = mass_and_sizes(grid.statistics)[0] / float(mass)
    around = _Around(targets, form.rest, codes, grid, sizes, shrinkage)
    readings = {each: _Reading.of(each, around) for each in formula.laws if each != form.joint}
    gradient = _gradient(formula, form, rows.means, shares, readings)
    settings = gradient.means.size
    parts = LawParts(settings)
    own = gradient.slopes[form.joint]
    pushes = (own - (own * shares).reshape(settings, -1).sum(axis=1).reshape(-1, *[1] * shares.ndim)) * (
        looks / float(effective)
    )
    for each, reading in readings.items():
        slope = reading.gathered(gradient.slopes[each])
        parts.add(reading.law, slope, independent=False)
        pushes += reading.pushes(slope, looks)
    flat, chance = pushes.reshape(settings, -1), shares.ravel()
    base = float(weighted_sums(chance, rows.raw))
    stack = RewardRows(rows, gradient.slopes[reward].reshape(settings, -1), chance)
    law = covariance_of(flat, chance) / looks
    effect_law = covariance_of(flat - (rows.means.ravel() - base), chance) / looks if effects else law
    found = finish(gradient, stack, parts, law, effect_law, base=base, looks=looks, most=looks, effects=effects)
    setting, number = np.divmod(found.weakest, len(codes))
    columns = (*form.rest, *targets)
    weakest = np.concatenate([codes[number], Radix.of(targets, sizes).codes(setting)], axis=1)
    return found, (reward.given, weakest[:, [columns.index(name) for name in reward.given]])


def _gradient(
    formula: Formula,
    form: Numbered,
    means: FloatArray,
    shares: FloatArray,
    readings: Mapping[Conditional, _Reading],
) -> Gradient:
    """Means and slopes by numbers; the slopes have no axis for nodes that a number stands for."""
    engine = _engine(form.expression, shares.shape[:-1]).resized(NUMBER, shares.shape[-1])
    back = {new: old for old, new in form.names.items()}
    order = [back[each] for each in engine.conditionals]
    tables = {form.joint: shares, **{each: reading.table for each, reading in readings.items()}}

    def evaluate(other: Mapping[Conditional, FloatArray] | None) -> tuple[FloatArray, dict[Conditional, FloatArray]]:
        told = {**tables, formula.reward: means if other is None else other[formula.reward]}
        shaped = [told[each].reshape(shape) for each, shape in zip(order, engine.shapes, strict=True)]
        values, slopes = engine.slopes(shaped, np.ones(1))
        flat = values.ravel()
        return flat, {
            each: slope.reshape(flat.size, *told[each].shape, *[1] * (each == formula.reward))
            for each, slope in zip(order, slopes, strict=True)
        }

    return normalised([formula.reward], evaluate)


@dataclass(frozen=True)
class _Around:
    """What all conditionals of a formula are read from."""

    targets: Names
    rest: Names
    """The columns that are numbered."""
    codes: CodeArray
    """Their codes for each number."""
    grid: Table
    """What was counted by the targets and the number."""
    sizes: Mapping[str, int]
    shrinkage: float

    def values(self, name: str, axes: Sequence[str]) -> IntArray:
        """The code of a node: along its own of some targets' axes, or along the number, which comes after these."""
        if name not in axes:
            return self.codes[:, self.rest.index(name)].astype(np.int64)
        own: IntArray = np.arange(self.sizes[name])
        return own.reshape([-1 if axis == name else 1 for axis in (*axes, NUMBER)])


@lru_cache(maxsize=256)
def _engine(expression: Expression, lengths: tuple[int, ...]) -> Evaluator:
    """What evaluates all formulas of one form: few numbers of columns and targets make few forms."""
    names = [f"t{place}" for place in range(len(lengths))]
    free = expression.term.free if isinstance(expression, Sum) else expression.free
    sizes = {**dict.fromkeys(free, 1), **dict(zip(names, lengths, strict=True)), REWARD: 1, NUMBER: 1}
    return Evaluator(expression, tuple(names), REWARD, sizes)


@dataclass(frozen=True)
class _Reading:
    """How a conditional by numbers reads the law that was counted."""

    law: Law
    """The rows that are read, numbered, by the values of its node."""
    at: IntArray
    """Which cell of it each cell of the table by numbers reads, in the shape of that table."""
    along: tuple[int, ...]
    """The shape that spreads the table over all targets."""

    @classmethod
    def of(cls, each: Conditional, around: _Around) -> _Reading:
        """The reading of one conditional."""
        (node,) = each.nodes
        axes = [name for name in around.targets if name in each.columns]
        shape = (*(around.sizes[name] for name in axes), len(around.codes))
        number, cells = np.zeros((1,) * len(shape), np.int64), 1
        for name in each.given:
            number, cells = number * around.sizes[name] + around.values(name, axes), cells * around.sizes[name]
        rows, where = distinct_numbers(np.broadcast_to(number, shape).ravel(), cells)
        own = around.sizes[node]
        at = where.reshape(shape) * own + around.values(node, axes)
        # The counts of the law, from those of all columns: targets that it does not read are summed over.
        others = tuple(place for place, name in enumerate(around.targets) if name not in axes)
        statistics: dict[str, Array] = {}
        for name, part in around.grid.statistics.items():
            counts = np.bincount(at.ravel(), weights=part.sum(axis=others).ravel(), minlength=len(rows) * own)
            statistics[name] = counts.reshape(len(rows), own) if each.given else counts
        seen = mass_and_sizes({name: np.asarray(part.sum(axis=-1)) for name, part in statistics.items()})[1]
        law = shrink_law(mass_and_sizes(statistics)[0], 1, around.shrinkage, seen)
        spread = [around.sizes[name] if name in axes else 1 for name in around.targets]
        return cls(law, at, (*spread, len(around.codes)))

    @property
    def table(self) -> FloatArray:
        """The conditional by numbers, an axis for each target in its columns."""
        found: FloatArray = self.law.shares.ravel()[self.at]
        return found

    def gathered(self, slope: FloatArray) -> FloatArray:
        """The slope in each cell of the law, from those where it is read; the first axis is the setting."""
        cells = self.law.shares.size
        places = self.at.ravel()
        parts = [np.bincount(places, each.ravel(), cells).astype(np.float64, copy=False) for each in slope]
        found: FloatArray = np.stack(parts).reshape(len(slope), *self.law.shares.shape)
        return found

    def pushes(self, slope: FloatArray, looks: float) -> FloatArray:
        """What a look in each cell of the whole does to the means by way of this law."""
        law = self.law
        middle = (slope * law.shares).sum(axis=-1, keepdims=True)
        room = law.sizes + law.strength
        share = np.divide(looks, room, out=np.zeros(np.shape(room)), where=law.sizes > 0)
        read: FloatArray = ((slope - middle) * share[..., None]).reshape(len(slope), -1)[:, self.at]
        return read.reshape(len(slope), *self.along)


def distinct_numbers(numbers: IntArray, cells: int) -> tuple[IntArray, IntArray]:
    """The numbers that occur, ascending, and the place of each among these; all are below ``cells``.

    As `numpy.unique` has it, without sorting where there are not far more cells than numbers.

    >>> [each.tolist() for each in distinct_numbers(np.array([7, 2, 7]), 10)]
    [[2, 7], [1, 0, 1]]
    """
    if cells > SORTED * max(len(numbers), 1):
        found, where = np.unique(numbers, return_inverse=True)
        return found, where.ravel()
    there = np.zeros(cells, bool)
    there[numbers] = True
    found = np.flatnonzero(there)
    places = np.empty(cells, np.int64)
    places[found] = np.arange(len(found))
    return found, places[numbers]


def number_settings(table: Table, given: tuple[str, ...]) -> tuple[Table, Callable[[IntArray], CodeArray]]:
    """A table in which one column, without a name, numbers the settings of some that occurred, and what leads back."""
    sparse = table.sparse()
    cells = np.asarray(sparse.cells)
    places = [table.scope.index(name) for name in given]
    own = Radix(given, tuple(table.sizes[place] for place in places))
    if own.cells <= MOST_NUMBERED:
        keys, number = distinct_numbers(own.numbers([cells[:, place] for place in places]), own.cells)
        settings, back = len(keys), lambda numbers: own.codes(keys[numbers])
    else:
        codes, number = np.unique(cells[:, places], axis=0, return_inverse=True)
        settings, back = len(codes), lambda numbers: codes[numbers]
    rest = [(name, size) for name, size in zip(table.scope, table.sizes, strict=True) if name not in given]
    columns = [cells[:, table.scope.index(name)] for name, _ in rest]
    made = Table.from_rows(
        ("", *(name for name, _ in rest)),
        (settings, *(size for _, size in rest)),
        [np.asarray(number.ravel()), *columns],
        **sparse.statistics,
    )
    return made.dense(), back
