"""Do logs deny what a graph says about them?  Its implied independences, tested on counts.

Many statements are tested at once, and they share rows, so their chances are corrected by Benjamini
and Yekutieli's rule, which holds whatever depends on what.  A statement *fails* only if the corrected
chance is below the level and its dependence is surely more than negligible: with ten million rows
everything is significant, and a graph is a simplification on purpose.  What is negligible is given in
nats, and, of a statement about the reward, in rewards as well: an edge that moves an arm by much may
show by few nats.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan, prod
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError
from whichdo.estimate.shrinkage import reward_scale
from whichdo.evidence import Tally
from whichdo.problem import LOOK
from whichdo.tables import smallest_table
from whichdo.tables.independence import NOTHING, Dependence, measure_dependence, measure_difference
from whichdo.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.graph.separation import Statement
    from whichdo.tables import Scope, Table


LEVEL = 0.05
"""The chance that a check of a right graph calls any statement false."""
NEGLIGIBLE = 0.0005
"""Nats of conditional mutual information that no decision turns on: a correlation of about .03."""
MATTERS = 0.005
"""A difference of mean rewards, as a share of the reward's range, that no decision turns on."""
ROWS_PER_CELL = 5
"""A table with more cells than a fifth of the rows says too little."""
MANY_VALUES = 16
"""Of a tested column with more values, such as a reward on a range, neighbours are taken together..."""
GROUPS = 4
"""... in so many groups of about equal size."""


@dataclass(frozen=True)
class Tested:
    """A statement and what the counts say of it."""

    statement: Statement
    p: float
    """The chance of at least so much dependence if the statement is true; NaN where it was not tested."""
    adjusted: float
    """The same, corrected for all that was tested with it."""
    strength: float
    """Conditional mutual information in nats, corrected for chance."""
    low: float
    """The lower end of its 95% interval."""
    high: float
    """The upper end."""
    rows: int
    """The rows that were compared."""
    method: str
    """How: ``chi-square``, ``gamma`` or ``drawn``; where it was not tested, why not, in words."""
    fails: bool
    """Whether the counts deny the statement."""
    difference: float = nan
    """By how much mean rewards differ where the statement says that they do not, as a share of the reward's range: the
    root of the mean square; NaN where neither of the two nodes is the reward."""
    difference_low: float = nan
    """The lower end of its 95% interval."""

    @property
    def left(self) -> str:
        """The first of the two nodes."""
        return self.statement.left

    @property
    def right(self) -> str:
        """The second."""
        return self.statement.right

    @property
    def given(self) -> tuple[str, ...]:
        """What is known beside them."""
        return self.statement.given

    @property
    def tested(self) -> bool:
        """Whether the counts say anything about it."""
        return not isnan(self.p)

    @property
    def strong(self) -> bool:
        """Whether the dependence is surely more than negligible, in nats or in rewards."""
        return _is_strong(self.low, self.difference_low)


def check_statements(
    counted: Tally | Mapping[Scope, Table],
    statements: Iterable[Statement],
    *,
    others: Sequence[float] = (),
    level: float = LEVEL,
) -> tuple[Tested, ...]:
    """Test independences on tables that were counted before, for any graph on the same columns.

    ``counted``: the tables of the looks, by scope; or a tally that holds them.  A statement is tested on the smallest
    table that has its columns.  Only a tally says what is the reward.
    ``statements``: what to test, such as `whichdo.graph.separation.implied_statements` lists.
    ``others``: chances of other tests that are made at the same time and corrected together.
    ``level``: the chance that any statement of a right graph fails.
    Returns a test for each statement, in order.
    Raises `UsageError` if rows have weights: their tables do not say by how much chance moves them.
    """
    found = _Measuring(counted).all(statements)
    chances = adjusted_chances([each.p for each in found] + list(others))
    return tuple(each.judge(float(chance), level) for each, chance in zip(found, chances, strict=False))


def statement_cells(statement: Statement, sizes: Mapping[str, int]) -> int:
    """How many cells a statement is tested on, values taken together where a column has many."""
    tested = [GROUPS if sizes[name] > MANY_VALUES else sizes[name] for name in (statement.left, statement.right)]
    return prod(tested) * prod(sizes[name] for name in statement.given)


def adjusted_chances(chances: Sequence[float]) -> FloatArray:
    """Benjamini and Yekutieli's correction of chances of tests that may depend on each other in any way.

    Calling false what is below a level keeps the expected share of wrong calls below it, and with a right graph, where
    every call is wrong, the chance of any.  NaN, which was not tested, stays NaN and does not count.

    Examples
    --------
    >>> adjusted_chances([0.001, 0.5, float("nan")]).round(4).tolist()
    [0.003, 0.75, nan]
    """
    given = np.asarray(chances, np.float64)
    found = np.full(len(given), nan)
    tested = np.flatnonzero(~np.isnan(given))
    if not len(tested):
        return found
    order = tested[np.argsort(given[tested], kind="stable")]
    ranks = np.arange(1, len(order) + 1)
    scaled = given[order] * len(order) * (1 / ranks).sum() / ranks
    found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return found


class _Measuring:
    """What the counts say of statements, before anything is corrected."""

    def __init__(self, counted: Tally | Mapping[Scope, Table]) -> None:
        self.tables = counted.tables.get(LOOK, {}) if isinstance(counted, Tally) else counted
        self.by_columns = {frozenset(scope): table for scope, table in self.tables.items()}
        self.reward, self.worth = "", np.zeros(0)
        if isinstance(counted, Tally):
            self.reward, self.worth = counted.problem.reward, reward_scale(counted.problem)[0]

    def all(self, statements: Iterable[Statement]) -> list[_Found]:
        """Every one of them, in order."""
        return [self.one(each) for each in statements]

    def one(self, asked: Statement) -> _Found:
        """One statement."""
        columns = frozenset(asked.scope)
        table = self.by_columns.get(columns) or smallest_table(self.tables, columns)
        if table is None:
            return _Found(asked, why="its columns were not counted together")
        if "weight" in table.statistics:
            raise UsageError(
                "Statements are tested on unweighted rows; these have weights. Check the log without them."
            )
        sizes = dict(zip(table.scope, table.sizes, strict=True))
        rows = table.total
        cells = statement_cells(asked, sizes)
        if cells * ROWS_PER_CELL > rows:
            return _Found(asked, why=f"{cells:,} cells are too many for {counted(rows, 'row')}")
        part = table.marginal((*asked.given, asked.left, asked.right)).dense()
        counts = part.count.reshape(-1, *part.sizes[-2:])
        measured = measure_dependence(np.swapaxes(_group(np.swapaxes(_group(counts), 1, 2)), 1, 2))
        if isnan(measured.p):
            return _Found(asked, why="one of the two never varies where the rest is the same")
        return _Found(asked, measured, *self.difference(asked, counts))

    def difference(self, asked: Statement, counts: IntArray) -> tuple[float, float]:
        """By how much mean rewards differ where the statement says they do not; NaN where it is not about them."""
        if self.reward not in (asked.left, asked.right):
            return nan, nan
        rewards_last = counts if asked.right == self.reward else np.swapaxes(counts, 1, 2)
        other = np.swapaxes(_group(np.swapaxes(rewards_last, 1, 2)), 1, 2)
        return measure_difference(other, self.worth)


def _group(counts: IntArray) -> IntArray:
    """Counts whose last axis, where it has many values, is cut into groups of about as many rows."""
    if counts.shape[-1] <= MANY_VALUES:
        return counts
    margin = counts.sum(axis=(0, 1))
    middle = np.cumsum(margin) - margin / 2
    group = np.minimum((middle * GROUPS / max(float(margin.sum()), 1.0)).astype(np.int64), GROUPS - 1)
    return np.stack([counts[..., group == each].sum(axis=-1) for each in range(GROUPS)], axis=-1)


@dataclass(frozen=True)
class _Found:
    """A statement that is measured but not judged yet."""

    statement: Statement
    measured: Dependence = NOTHING
    difference: float = nan
    difference_low: float = nan
    why: str = ""

    @property
    def p(self) -> float:
        """Before it is corrected."""
        return self.measured.p

    def judge(self, adjusted: float, level: float) -> Tested:
        """With its corrected chance."""
        found = self.measured
        return Tested(
            self.statement,
            found.p,
            adjusted,
            found.strength,
            found.low,
            found.high,
            found.rows,
            self.why or found.method,
            adjusted < level and _is_strong(found.low, self.difference_low),
            self.difference,
            self.difference_low,
        )


def _is_strong(low: float, difference_low: float) -> bool:
    """Whether a dependence is surely more than negligible, in nats or in rewards."""
    return low > NEGLIGIBLE or difference_low > MATTERS
