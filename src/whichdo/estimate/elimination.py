"""Networks too wide to lay out, summed one variable at a time.

The kernel (`whichdo.kernels.contraction`) visits every cell of a network.  Where these are too many, but every factor
is a small table, the same sum is done by elimination: multiply the tables that speak of one variable, sum it out, keep
the result as a new table, and so on in the order of `whichdo.graph.ordering`.  Going back through the same steps gives
the derivative with respect to every table, the reward's worth among them, whose derivative is the reward's law.  Exact,
and the numbers are the kernel's: what is found from tables and derivatives is written here once more for whole arrays.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from whichdo.graph.ordering import min_fill
from whichdo.problem import LOOK
from whichdo.tables import Radix, conditional_rows, starts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import FloatArray
    from whichdo.counting.scopes import Scope
    from whichdo.estimate.interventional import Looked
    from whichdo.evidence import Tally
    from whichdo.graph.factors import Factor, FactorNetwork
    from whichdo.graph.targets import Targets
    from whichdo.problem import Problem
    from whichdo.tables import Table

__all__ = ["Elimination", "looked_wide", "slopes"]


FIELDS = ("means", "variances", "shifts", "doubts", "leans", "weakest", "weakest_rows", "spreads", "sizes")


def looked_wide(
    wide: Mapping[Targets, Elimination], looked: Looked, seen: Tally, worth: FloatArray, *how: float
) -> Looked:
    """The same with the arms of ``wide`` networks filled in; ``how`` to smooth, and the threshold.

    A tally that some policy gathered holds no table of a wide scope; its arms stay unknown then.
    """
    problem, tables = seen.problem, seen.tables.get(LOOK, {})
    found = {field: getattr(looked, field).copy() for field in FIELDS}
    rarest = looked.rarest.copy()
    folded: dict[tuple[Scope, Scope], FloatArray] = {}
    for position, targets in enumerate(problem.target_sets):
        table = tables.get(wide[targets].network.scope) if targets in wide else None
        if targets not in wide or (table is None and looked.looks):
            continue
        network = wide[targets].network
        for factor in network.factors:
            key = network.scope, factor.columns
            if key not in folded:
                folded[key] = _folded(table, factor.columns, wide[targets].sizes)
        counts = [folded[network.scope, factor.columns] for factor in network.factors]
        places = list(problem.positions[targets])
        values = problem.intervene[str(network.node)]
        sources = [values.index(problem.arms[place].settings[str(network.node)]) for place in places]
        for field, estimates in wide[targets].estimate(counts, worth, looked.looks, *how).items():
            found[field][places] = estimates[sources]
        rarest[position] = _rarest(table, network, wide[targets].sizes)
    return replace(looked, rarest=rarest, **found)


def _folded(table: Table | None, wanted: Scope, sizes: Mapping[str, int]) -> FloatArray:
    """The counts of some columns of a table, flat, the last varying fastest; 0 where there is no table."""
    if table is None:
        return np.zeros(Radix.of(wanted, sizes).cells)
    flat: FloatArray = table.marginal(wanted).dense().count.astype(np.float64).ravel()
    return flat


def _rarest(table: Table | None, network: FactorNetwork, sizes: Mapping[str, int]) -> float:
    """The least count among the network's cells: 0 without counting where fewer cells occurred than there are."""
    cells = Radix.of(network.cells, sizes).cells
    if table is None or (table.cells is not None and len(table.cells) < cells):
        return 0.0
    return float(_folded(table, network.cells, sizes).min())


class Elimination:
    """One network and the order in which its variables are summed out.

    ``start`` is where the rows of its tables are numbered from (`Looked.weakest_rows`), ``starts`` where each
    factor's begin.
    """

    def __init__(self, problem: Problem, network: FactorNetwork, start: int = 0) -> None:
        self.network = network
        self.sizes = {name: len(values) for name, values in problem.domains.items()}
        node = network.node
        self.codes = [0] if node is None else [problem.domains[node].index(value) for value in problem.intervene[node]]
        self.starts = starts((Radix.of(factor.columns, self.sizes).cells for factor in network.factors), start)
        self._worth: Scope = self._axes((problem.reward,))
        self._scopes = [self._axes(scope) for scope in network.summed]
        self._turns = list(min_fill([*self._scopes, self._worth]))

    def estimate(
        self, counts: Sequence[FloatArray], worth: FloatArray, looks: float, smoothing: float, threshold: float
    ) -> dict[str, FloatArray]:
        """The fields of `Looked` for each arm, from the counts of each factor's table, flat."""
        factors = self.network.factors
        rows = [flat.reshape(-1, self.sizes[f.node]) for flat, f in zip(counts, factors, strict=True)]
        least = [0.0 if f.inside else threshold for f in factors]  # the threshold is for factors outside S
        learned = [conditional_rows(each, smoothing, under) for each, under in zip(rows, least, strict=True)]
        found = []
        for code in self.codes:
            law, sloped = self._summed(learned, worth, code)
            parts = [
                _spread(table, each.sum(axis=1), slope, smoothing, under)
                for table, each, slope, under in zip(learned, rows, sloped, least, strict=True)
            ]
            found.append(self._found(float(law @ worth), float(law @ worth**2), parts, looks))
        return dict(zip(FIELDS, np.array(found).T, strict=True))

    def _found(self, mean: float, square: float, parts: Sequence[FloatArray], looks: float) -> tuple[float, ...]:
        """The fields of one arm, put together from its factors' parts as the kernel's ``contract`` does."""
        variance, shift, doubt, cube, raw = np.sum([part[:5] for part in parts], axis=0)
        weakest = min(range(len(parts)), key=lambda number: parts[number][5])  # the first of equals
        least, row = parts[weakest][5:]
        place = self.starts[weakest] + row * self.sizes[self.network.factors[weakest].node]
        error, spread = variance + shift**2 + doubt**2, max(0.0, square - mean**2)
        lean = cube / raw if raw > 0 else 0.0
        size = min(looks, spread / error) if error > 0 else 0.0
        return mean, variance, shift, doubt, lean, least, place if least < np.inf else -1.0, spread, size

    def _summed(
        self, learned: Sequence[FloatArray], worth: FloatArray, code: int
    ) -> tuple[FloatArray, list[FloatArray]]:
        """The law of the reward, and the slopes of its mean: one for each entry of each table."""
        scopes = [*self._scopes, self._worth]
        parts = [self._read(table, factor, code) for table, factor in zip(learned, self.network.factors, strict=True)]
        shapes = [[self.sizes[name] for name in scope] for scope in scopes]
        tables = [part.reshape(shape) for part, shape in zip([*parts, worth], shapes, strict=True)]
        *sloped, law = slopes(tables, scopes, self._turns)
        found = [np.zeros_like(table) for table in learned]
        for whole, slope, factor in zip(found, sloped, self.network.factors, strict=True):
            part = self._read(whole, factor, code)
            part[...] = slope.reshape(part.shape)
        return law.ravel(), found

    def _read(self, table: FloatArray, factor: Factor, code: int) -> FloatArray:
        """The part of a factor's table that an arm reads, not copied: outside S only what is given the value set."""
        node = self.network.node
        if factor.inside or node is None or node not in factor.given:
            return table.reshape(-1)
        before = Radix.of(factor.given[: factor.given.index(node)], self.sizes).cells
        return table.reshape(before, self.sizes[node], -1)[:, code]

    def _axes(self, scope: Scope) -> Scope:
        """Without the nodes that have one value, of which there may be more than an array can have axes."""
        return tuple(name for name in scope if self.sizes[name] > 1)


def slopes(tables: Sequence[FloatArray], scopes: Sequence[Scope], turns: Sequence[Scope]) -> list[FloatArray]:
    """The derivatives of the sum, over all variables, of the product of all tables, with respect to each table.

    ``scopes`` names the axes of each table; ``turns`` are those of `min_fill`.
    """
    names, made = list(scopes), list(tables)
    alive = dict.fromkeys(range(len(made)))
    steps = []
    for turn in turns:
        parts = [number for number in alive if turn[0] in names[number]]
        product = reduce(np.multiply, [_spread_out(made[number], names[number], turn) for number in parts])
        steps.append((turn, parts, len(made)))
        for number in parts:
            del alive[number]
        alive[len(made)] = None
        names.append(turn[1:])
        made.append(product.sum(axis=0))
    back: dict[int, FloatArray] = dict(zip(alive, _beside([made[number] for number in alive]), strict=True))
    for turn, parts, number in reversed(steps):
        whole = back.pop(number)[np.newaxis]
        others = _beside([_spread_out(made[part], names[part], turn) for part in parts])
        for part, beside in zip(parts, others, strict=True):
            back[part] = _gathered(whole * beside, turn, names[part], made[part].shape)
        made[number] = whole[:0]  # not needed any more
    return [back[number] for number in range(len(tables))]


def _beside(tables: Sequence[FloatArray]) -> list[FloatArray]:
    """For each table the product of all others; not by dividing, since there may be zeros."""
    one = np.ones(())
    before = list(accumulate(tables[:-1], np.multiply, initial=one))
    after = list(accumulate(reversed(tables[1:]), np.multiply, initial=one))[::-1]
    return [np.asarray(first * second) for first, second in zip(before, after, strict=True)]


def _spread_out(table: FloatArray, scope: Scope, turn: Scope) -> FloatArray:
    """The table with its axes in the order of the turn, and axes of length 1 for names that it does not speak of."""
    lengths = dict(zip(scope, table.shape, strict=True))
    order = sorted(range(len(scope)), key=lambda axis: turn.index(scope[axis]))
    return table.transpose(order).reshape([lengths.get(name, 1) for name in turn])


def _gathered(table: FloatArray, turn: Scope, scope: Scope, shape: tuple[int, ...]) -> FloatArray:
    """Sum a table over the names of a turn onto the axes of one of its parts."""
    left = [name for name in turn if name in scope]
    summed = table.sum(axis=tuple(axis for axis, name in enumerate(turn) if name not in scope))
    return np.broadcast_to(summed.transpose([left.index(name) for name in scope]), shape)


def _spread(table: FloatArray, seen: FloatArray, slope: FloatArray, smoothing: float, threshold: float) -> FloatArray:
    """What the rows of one factor add to variance, shift, doubt and both moments of the lean; the least total, its row.

    As the kernel's ``_spread``: rows that the sum does not read add nothing.
    """
    size = table.shape[1]
    read = np.flatnonzero((slope != 0).any(axis=1))
    table, seen, slope = table[read], seen[read], slope[read]
    if not len(read):
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, np.inf, -1.0])
    middle = (table * slope).sum(axis=1)
    apart = slope - middle[:, np.newaxis]
    square, third = (table * apart**2).sum(axis=1), (table * apart**3).sum(axis=1)
    part = np.divide(1.0, seen, out=np.zeros_like(seen), where=seen > 0)
    rare = seen < threshold
    shift = np.where(rare, 0.0, smoothing * (slope.sum(axis=1) - size * middle) * part)
    doubt = np.where(rare | (seen <= 0), 0.5 * (slope.max(axis=1) - slope.min(axis=1)), 0.0)
    weakest = int(np.argmin(seen))
    sums = [(square / (seen + smoothing * size + 1)), shift, doubt, third * part**2, square * part]
    return np.array([*(float(each.sum()) for each in sums), seen[weakest], read[weakest]])
