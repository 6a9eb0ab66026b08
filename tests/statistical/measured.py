"""Worlds whose reward is any number in a range, or whose rows weigh differently.

A number comes about as a level, and anything within half a step of it with the same chance; the first and the last
level stay as they are, as amounts that are often exactly nothing do.  That leaves every mean what it was.

Rows are sampled with a chance that depends on X and the first confounder, and weigh one over that chance: what the
weighted rows say is true of the world, and plain means are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tests.statistical.worlds import World
from whichdo.problem import LOOK, Problem
from whichdo.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.tables import Scope

__all__ = ["STEPS", "Measured"]

STEPS = 41
"""The levels that numbers come about from."""


@dataclass(frozen=True)
class Measured(World):
    """A world of levels, observed as numbers or with weights."""

    levels: Problem
    """The problem in which the reward has levels, which are evenly spaced from 0 to 1."""
    numeric: bool
    weights: FloatArray
    """Of a row in each cell of ``law``."""

    @classmethod
    def of_levels(cls, world: World, *, numeric: bool, uneven: float) -> Measured:
        """``uneven``: how many times as much the heaviest rows weigh as the lightest."""
        problem = world.problem
        if numeric:
            domains = {name: values for name, values in problem.domains.items() if name != problem.reward}
            problem = Problem(problem.graph, problem.reward, ["X"], domains=domains, reward_range=(-10, 30))
        nodes = problem.graph.nodes
        weights = np.ones(world.law.shape)
        for name in dict.fromkeys(("X", nodes[0])):
            axis = nodes.index(name)
            own = np.geomspace(1, uneven, world.law.shape[axis])
            weights = weights * own.reshape([-1 if place == axis else 1 for place in range(len(nodes))])
        return cls(problem, world.law, world.by_arm, world.problem, numeric, weights)

    @property
    def truth(self) -> FloatArray:
        """The mean of each arm, on a scale from 0 to 1."""
        found: FloatArray = self.by_arm @ np.array(list(self.levels.rewards.values()))
        return found

    def draw(self, rng: np.random.Generator, sets: int, looks: int, pulls: int | IntArray = 0) -> Iterator[Tally]:
        """Data sets with so many looks, and so many pulls of each arm other than do(); pulls weigh alike."""
        from whichdo.evidence import Tally

        problem, nodes = self.problem, self.problem.graph.nodes
        reward = nodes.index(problem.reward)
        wanted = np.broadcast_to(np.asarray(pulls, np.int64), (len(problem.arms),))
        sampled = (self.law / self.weights).ravel()
        sampled /= sampled.sum()
        for _ in range(sets):
            table = rng.multinomial(looks, sampled).reshape(self.law.shape)
            tables: dict[object, dict[Scope, Table]] = {
                LOOK: dict([self._table(rng, nodes, table, self.weights, reward)])
            }
            counts = np.zeros((len(problem.arms), len(problem.domains[problem.reward])), np.int64)
            counts[0, 0] = looks  # of numbers and weights only the tables say more
            for place in range(1, len(problem.arms)):
                if wanted[place]:
                    drawn = rng.multinomial(wanted[place], self.by_arm[place])
                    scope = (problem.reward,)
                    tables[problem.arms[place]] = dict([self._table(rng, scope, drawn, np.ones(drawn.shape), 0)])
                    counts[place, 0] = wanted[place]
            yield Tally(problem, counts, tables)  # type: ignore[arg-type]

    def _table(
        self, rng: np.random.Generator, scope: Scope, table: IntArray, weights: FloatArray, axis: int
    ) -> tuple[Scope, Table]:
        """A table of levels as one of numbers, whose reward has no axis, or of weights."""
        statistics: dict[str, FloatArray] = {}
        if weights.max() > weights.min() or not self.numeric:
            statistics = {"weight": table * weights, "weight_square": table * weights**2}
        if self.numeric:
            sums, squares = self._sums(rng, table, axis)
            statistics |= {"sum": weights * sums, "square": weights * squares}
            statistics = {name: part.sum(axis=axis) for name, part in statistics.items()}
            scope = (*scope[:axis], *scope[axis + 1 :])
            table = table.sum(axis=axis)
        return scope, Table(scope, table.shape, table, cells=None, **statistics)

    def _sums(self, rng: np.random.Generator, table: IntArray, axis: int) -> tuple[FloatArray, FloatArray]:
        """The sum of the numbers behind each cell, and of their squares."""
        step = 1 / (table.shape[axis] - 1)
        level = np.indices(table.shape)[axis]
        inner = (level > 0) & (level < table.shape[axis] - 1)
        cells = np.repeat(np.arange(table.size), table.ravel())
        numbers = (level.ravel()[cells] + inner.ravel()[cells] * rng.uniform(-0.5, 0.5, cells.size)) * step
        sums, squares = (
            np.bincount(cells, part, table.size).astype(np.float64).reshape(table.shape)
            for part in (numbers, numbers**2)
        )
        return sums, squares
