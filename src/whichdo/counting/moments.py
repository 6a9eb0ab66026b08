"""Tables that add up more than counts: sums of weights, and of a reward that is any number.

A weighted table holds for each cell ``weight`` and ``weight_square``, the sums of the weights and of their squares.  A
table of a numeric reward has no axis for it; it holds ``sum`` and ``square``, the sums of the reward on a scale from 0
to 1 and of its square, each times the weight where rows have one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import Array, CodeArray, FloatArray, IntArray
    from whichdo.problem import Problem
    from whichdo.tables import Scope

__all__ = ["MomentAdder"]


class MomentAdder:
    """Adds up the tables of one arm."""

    def __init__(self, problem: Problem, scopes: Sequence[Scope]) -> None:
        self._sizes = problem.sizes
        without = {problem.reward} if problem.reward_range is not None else set()
        kept = [tuple(name for name in scope if name not in without) for scope in scopes]
        self._scopes = tuple(dict.fromkeys(kept))
        self.tables: dict[Scope, Table] = {}
        self.weight = 0.0

    def add(
        self,
        codes: Mapping[str, CodeArray],
        rows: int,
        counts: IntArray | None,
        weights: FloatArray | None,
        rewards: FloatArray | None,
    ) -> None:
        """Add rows: their codes, how often each counts, how much it weighs, and its reward from 0 to 1."""
        number = np.ones(rows, np.int64) if counts is None else counts
        weight = number.astype(np.float64) if weights is None else weights
        statistics: dict[str, Array] = {}
        if weights is not None:
            statistics |= {"weight": weights, "weight_square": weights**2}
        if rewards is not None:
            statistics |= {"sum": weight * rewards, "square": weight * rewards**2}
        self.weight += float(weight.sum())
        for scope in self._scopes:
            sizes = [self._sizes[name] for name in scope]
            table = Table.from_rows(scope, sizes, [codes[name] for name in scope], number, **statistics)
            self.tables[scope] = self.tables[scope] + table if scope in self.tables else table
