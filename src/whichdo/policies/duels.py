"""Duels: the last pulls of a race on logs go to the arm that all evidence names, and to the one that the race left.

A race by pulls alone soon drops an arm that does poorly.  Of an arm that logs praise, and wrongly, it leaves a handful
of pulls: too few to contradict the logs, so that all evidence together still names that arm.  These two are pulled in
turn, the one with fewer pulls first; where they are the same, the arm named and the next best by all evidence.  After
each duel all is weighed anew (`whichdo.estimate.doubted`), and the last weighing is the last word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.policies.allocation import best_of, water_filling
from whichdo.policies.base import Recommendation
from whichdo.policies.racing import best_left, narrow

if TYPE_CHECKING:
    from collections.abc import Generator

    from whichdo.arrays import FloatArray
    from whichdo.estimate.doubted import Logged
    from whichdo.evidence import Batch, Tally
    from whichdo.policies.bounding import Bounds
    from whichdo.policies.racing import Pulling


ROUNDS = 3


@dataclass(frozen=True)
class Duels:
    """What is the same in all duels of a play."""

    pulling: Pulling
    prices: FloatArray
    luck: FloatArray
    optimism: float
    logged: Logged
    fresh: Tally
    """The looks that were made since."""
    bounds: Bounds
    first: int
    """Arms are compared from here on."""

    def run(
        self, tried: Tally, left: int, money: float, notes: tuple[str, ...]
    ) -> Generator[Batch, Tally, Recommendation]:
        """Spend part of the budget on duels between the arm named and the one that a race ``left``, and name an arm."""
        for rounds in range(ROUNDS, 0, -1):
            means, winner = self._word(tried, left)
            rival = left if left != winner else self._next(means, winner)
            pair = np.array(sorted({winner, rival}))
            pulls = tried.counts.sum(axis=1)
            pulls[0] += self.fresh.counts[0].sum()
            counts = water_filling(pulls[pair].astype(np.float64), self.prices[pair], money / rounds)
            money -= float(counts @ self.prices[pair])
            tried = tried + (yield from self.pulling.pull(pair, counts))
        means, winner = self._word(tried, left)
        return Recommendation(self.pulling.problem.arms[winner], means, notes)

    def _word(self, tried: Tally, left: int) -> tuple[FloatArray, int]:
        """The means by all evidence, and the arm that they name."""
        known = self.logged.beside(self.fresh + tried)
        means = np.where(known.known, known.means, -1.0)
        narrow(means, tried.counts.sum(axis=1), 1 - float(known.belief.cases[-1]), self.bounds.lows, self.bounds.highs)
        highs, races = self.bounds.highs, (left, left)
        return means, best_left(means, known.sizes, self.luck, self.optimism, highs, races, self.first)

    def _next(self, means: FloatArray, winner: int) -> int:
        """The best of the others."""
        others = means.copy()
        others[winner] = -2.0
        return best_of(others, self.luck, self.first)
