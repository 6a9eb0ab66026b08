"""Do looks and experiments contradict the graph?  One c-factor from several sources.

In every model of the graph each source of a c-factor has the same value
(`whichdo.identification.engine`), so estimates from different rows differ by noise alone.  Rows of
different sources are independent, and the covariance of a difference is the sum of the two.  The
differences of all cells of a factor make one chi-square.

Cells in which some source expects fewer than five rows, or all but five, are left out, since their
errors are not normal.  The result is a p-value for each factor: a statement of the graph that the rows
can refute, like the independences it implies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import TooLargeError
from whichdo.estimate.blending import Learning
from whichdo.estimate.estimator import Rule
from whichdo.estimate.factors import FactorSource
from whichdo.estimate.settled import LawParts
from whichdo.formulas import Reading
from whichdo.identification.engine import CFactors
from whichdo.tails import chi_square_tail
from whichdo.text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import BoolArray, FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.identification.estimand import CFactor, Names


EXPECTED, EXPECTED_OF_PRODUCTS = 5.0, 20.0
"""The fewest rows that a cell, and all others beside it, must expect in every source: of a law that is counted directly
by all of them, and of others.
"""
MOST_CELLS = 256
"""The most cells of one factor that are compared: those that expect most rows."""
FLAT = 1e-6
"""Directions with less than this share of the largest variance say nothing new: the cells of a law sum to one."""


@dataclass(frozen=True)
class FactorTest:
    """Whether several sources agree on one c-factor."""

    nodes: Names
    """Whose law it is,"""
    given: Names
    """and what it depends on."""
    sources: tuple[Names, ...]
    """Where it was taken from: () are looks, else the targets of an experiment."""
    p: float
    """How likely differences as large as these are if the graph is right."""
    freedom: int
    """How many differences were compared."""

    @property
    def words(self) -> str:
        """What was compared: ``the law of M given X from looks and experiments on Z``."""
        law = f"the law of {listed(self.nodes)}" + (f" given {listed(self.given)}" if self.given else "")
        where = listed("looks" if not each else f"experiments on {' with '.join(each)}" for each in self.sources)
        return f"{law} from {where}"

    def __str__(self) -> str:
        return f"{self.words} (p = {self.p:.1g})"


def compare_factors(seen: Tally, worth: FloatArray) -> tuple[FactorTest, ...]:
    """Compare the sources of every c-factor that has several.

    ``seen``: looks and rows of experiments, counted into tables.
    ``worth``: of each level of the reward, from 0 to 1; its law is compared by the mean.
    Returns a test for each factor of the effect of some arm, or of do() itself, that at least two sources yield.
    """
    problem = seen.problem
    learning = Learning(problem, seen, worth, Rule(Reading.GRAPH, shrinkage=0.0))
    if not learning.has_experiments:
        return ()
    finder = CFactors(problem.graph, problem.reward, [each for each in learning.at if each])
    factors = {each.nodes: each for targets in ((), *problem.target_sets) for each in finder.of(targets)}
    found = (_compare(learning, factor) for factor in factors.values())
    return tuple(each for each in found if each is not None)


def _compare(learning: Learning, factor: CFactor) -> FactorTest | None:
    """None where fewer than two sources have something to compare."""
    counted = [pair for pair in factor.sources if learning.has_counted(*pair)]
    if len(counted) < 2:
        return None
    try:
        sources = [FactorSource(learning.at[pair[0]], factor, *pair) for pair in counted]
        rows = [each.worth() for each in sources]
        tables = [each.table() for each in sources]
    except TooLargeError:
        return None
    middle = _middle([table.reshape(*size.shape, -1) for table, size in zip(tables, rows, strict=True)], rows)
    # Sources that see too little are left out before cells are: a cell counts where all that are left see enough.
    direct = all(each.is_direct for each in sources)
    fewest = EXPECTED if direct else EXPECTED_OF_PRODUCTS
    enough = [_expected(size, middle) >= fewest for size in rows]
    kept = _used(enough)
    if len(kept) < 2:
        return None
    least = np.min([_expected(rows[place], middle) for place in kept], axis=0).ravel()
    cells = np.flatnonzero(least >= fewest)
    cells = np.sort(cells[np.argsort(-least[cells], kind="stable")[:MOST_CELLS]])
    values = [tables[place].ravel()[cells] for place in kept]
    variances = None
    if all(each.rewards for each in sources) and direct:
        squares = [next(iter(each.rewards.values())).squares[..., None] for each in sources]
        variances = np.maximum(_middle(squares, rows)[..., 0] - middle[..., 0] ** 2, 0.0)
    errors = [_covariance(sources[place], cells, middle, variances) for place in kept]
    size = len(cells)
    apart = np.concatenate([value - values[0] for value in values[1:]])
    covariance = np.tile(errors[0], (len(kept) - 1, len(kept) - 1))
    for number, error in enumerate(errors[1:]):
        here = slice(number * size, (number + 1) * size)
        covariance[here, here] += error
    value, freedom = _chi_square(apart, covariance)
    if not freedom:
        return None
    named = tuple(counted[place][0] for place in kept)
    return FactorTest(factor.nodes, factor.given, named, chi_square_tail(value, freedom), freedom)


def _expected(rows: FloatArray, chances: FloatArray) -> FloatArray:
    """How many rows a cell expects, or all others if these are fewer."""
    found: FloatArray = rows[..., None] * np.minimum(chances, 1 - chances)
    return found


def _used(enough: Sequence[BoolArray]) -> list[int]:
    """The sources to compare: the two that have most cells in common, and all that leave these some."""
    numbers = range(len(enough))
    pairs = [(int((enough[i] & enough[j]).sum()), -i, -j) for i in numbers for j in numbers if i < j]
    common, first, second = max(pairs)
    if not common:
        return []
    kept = [-first, -second]
    both = enough[-first] & enough[-second]
    for other in numbers:
        if other not in kept and (both & enough[other]).sum() * 2 > both.sum():
            kept.append(other)
            both = both & enough[other]
    return sorted(kept)


def _middle(values: Sequence[FloatArray], rows: Sequence[FloatArray]) -> FloatArray:
    """The average of all sources, each by its rows; the last axis is within a row of the factor."""
    total = np.sum([size[..., None] * value for size, value in zip(rows, values, strict=True)], axis=0)
    found: FloatArray = total / np.sum(rows, axis=0)[..., None]
    return found


def _covariance(source: FactorSource, cells: IntArray, middle: FloatArray, variances: FloatArray | None) -> FloatArray:
    """Of some cells of a factor as one source has them.

    A law that is counted directly has the errors of what all sources together say of it, as in Pearson's test of
    homogeneity: with its own shares, a cell that happens to be rare would look sure of itself.
    """
    adjoint = np.zeros((len(cells), int(np.prod(source.shape))))
    adjoint[np.arange(len(cells)), cells] = 1.0
    parts = LawParts(len(cells))
    found = np.zeros((len(cells), len(cells)))
    for each, slope in source.slopes(adjoint.reshape(len(cells), *source.shape)).items():
        if each in source.laws:
            law = source.laws[each]
            shares = middle.reshape(law.shares.shape) if each == source.expression else law.shares
            parts.add(replace(law, shares=shares), slope, independent=True)
        else:
            rows, weights = source.rewards[each], slope.reshape(len(cells), -1)
            noise = rows.noise
            if each == source.expression and variances is not None:
                noise = np.divide(variances, rows.sizes, out=np.zeros(noise.shape), where=rows.seen)
            found += (weights * noise.ravel()) @ weights.T
    covariance: FloatArray = found + parts.covariance
    return covariance


def _chi_square(apart: FloatArray, covariance: FloatArray) -> tuple[float, int]:
    """The sum of squared standard errors of some differences, and how many directions it has."""
    scale = np.sqrt(np.diagonal(covariance))
    moving = scale > 0
    if not moving.any():
        return 0.0, 0
    scale = scale[moving]
    values, vectors = np.linalg.eigh(covariance[np.ix_(moving, moving)] / np.outer(scale, scale))
    kept = values > FLAT * values[-1]
    along = vectors[:, kept].T @ (apart[moving] / scale)
    return float((along**2 / values[kept]).sum()), int(kept.sum())
