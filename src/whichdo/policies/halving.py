"""SH: sequential halving (Karnin, Koren and Somekh, ICML 2013).

ceil(log2 K) rounds with equal shares of the budget; after each the better half stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING

import numpy as np

from whichdo.evidence import Tally
from whichdo.policies.base import Objective, Play, Policy, Recommendation, equal_pulls, refuse_below
from whichdo.policies.registry import register

if TYPE_CHECKING:
    from whichdo.problem import Problem

__all__ = ["SequentialHalving"]


@register("sh")
@dataclass(frozen=True)
class SequentialHalving(Policy):
    """Sequential halving over all arms; means pool all rounds."""

    objective = Objective.SIMPLE

    def check(self, problem: Problem, budget: float) -> None:
        """The first round must pull every arm once."""
        rounds = ceil(log2(len(problem.arms)))
        least = sum(problem.costs.values()) * rounds
        refuse_below(self, budget, least, f"{rounds} rounds, the first with a pull of each of {len(problem.arms)} arms")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:  # noqa: ARG002
        """One batch a round."""
        alive = np.arange(len(problem.arms))
        tried = Tally.empty(problem)
        rounds = ceil(log2(len(alive)))
        left = float(budget)
        for number in range(rounds):
            batch = equal_pulls(problem, left / (rounds - number), [problem.arms[j] for j in alive])
            left -= sum(problem.costs[arm] * count for arm, count in zip(batch.arms, batch.counts, strict=True))
            tried = tried + (yield batch)
            shuffled = rng.permutation(alive)  # ties are broken at random
            better = np.argsort(-tried.means[shuffled], kind="stable")[: ceil(len(alive) / 2)]
            alive = np.sort(shuffled[better])
        return Recommendation(problem.arms[int(alive[0])], tried.means)
