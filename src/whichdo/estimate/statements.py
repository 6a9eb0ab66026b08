"""Do logs deny what a graph says about them?  Its implied independences, tested on counts.

Many statements are tested at once, and they share rows, so their chances are corrected by Benjamini
and Yekutieli's rule, which holds whatever depends on what.  A statement *fails* only if the corrected
chance is below the level and its dependence is surely more than negligible: with ten million rows
everything is significant, and a graph is a simplification on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan, prod
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError, counted
from whichdo.evidence import Tally
from whichdo.problem import LOOK
from whichdo.tables import smallest_table
from whichdo.tables.independence import measure_dependence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.graph.implied import Statement
    from whichdo.tables import Scope, Table

__all__ = ["LEVEL", "NEGLIGIBLE", "Tested", "adjusted_chances", "check_statements", "statement_cells"]

LEVEL = 0.05
"""The chance that a check of a right graph calls any statement false."""
NEGLIGIBLE = 0.0005
"""Nats of conditional mutual information that no decision turns on: a correlation of about .03."""
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
        """Whether the dependence is surely more than negligible."""
        return self.low > NEGLIGIBLE


def check_statements(
    counted: Tally | Mapping[Scope, Table],
    statements: Iterable[Statement],
    *,
    others: Sequence[float] = (),
    level: float = LEVEL,
) -> tuple[Tested, ...]:
    """Test independences on tables that were counted before, for any graph on the same columns.

    Parameters
    ----------
    counted
        The tables of the looks, by scope; or a tally that holds them.  A statement is tested on the smallest table that
        has its columns.
    statements
        What to test, such as `whichdo.graph.implied.implied_statements` lists.
    others
        Chances of other tests that are made at the same time and corrected together.
    level
        The chance that any statement of a right graph fails.

    Returns
    -------
    tuple of Tested
        One for each statement, in order.

    Raises
    ------
    UsageError
        If rows have weights: their tables do not say by how much chance moves them.
    """
    tables = counted.tables.get(LOOK, {}) if isinstance(counted, Tally) else counted
    by_columns = {frozenset(scope): table for scope, table in tables.items()}
    asked = tuple(statements)
    found = [_measured(by_columns, tables, each) for each in asked]
    chances = adjusted_chances([each.p for each in found] + list(others))
    return tuple(each.judged(float(chance), level) for each, chance in zip(found, chances, strict=False))


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


def _measured(by_columns: Mapping[frozenset[str], Table], tables: Mapping[Scope, Table], asked: Statement) -> _Found:
    """What the counts say of one statement, before anything is corrected."""
    columns = frozenset(asked.scope)
    table = by_columns.get(columns) or smallest_table(tables, columns)
    if table is None:
        return _Found(asked, why="its columns were not counted together")
    if "weight" in table.statistics:
        raise UsageError("Statements are tested on rows that count alike; these have weights. Check the log without.")
    sizes = dict(zip(table.scope, table.sizes, strict=True))
    rows = table.total
    cells = statement_cells(asked, sizes)
    if cells * ROWS_PER_CELL > rows:
        return _Found(asked, why=f"{cells:,} cells are too many for {counted(rows, 'row')}")
    part = table.marginal((*asked.given, asked.left, asked.right)).dense()
    counts = part.count.reshape(-1, *part.sizes[-2:])
    counts = np.swapaxes(_grouped(np.swapaxes(_grouped(counts), 1, 2)), 1, 2)
    measured = measure_dependence(counts)
    if isnan(measured.p):
        return _Found(asked, why="one of the two never varies where the rest is the same")
    return _Found(
        asked, measured.p, measured.strength, measured.low, measured.high, measured.rows, method=measured.method
    )


def _grouped(counts: IntArray) -> IntArray:
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
    p: float = nan
    strength: float = nan
    low: float = nan
    high: float = nan
    rows: int = 0
    method: str = ""
    why: str = ""

    def judged(self, adjusted: float, level: float) -> Tested:
        """With its corrected chance."""
        fails = adjusted < level and self.low > NEGLIGIBLE
        return Tested(
            self.statement,
            self.p,
            adjusted,
            self.strength,
            self.low,
            self.high,
            self.rows,
            self.method or self.why,
            fails,
        )
