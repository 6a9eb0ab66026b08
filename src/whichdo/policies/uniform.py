"""UE: pull every arm equally often, recommend the best mean.  Simple regret O(sqrt(K/T)).

Pulls that do not divide go to arms chosen at random, one more each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.policies.base import Objective, Play, Policy, best_arm, equal_pulls, prices, refuse_below, utilities
from whichdo.policies.registry import register

if TYPE_CHECKING:
    from whichdo.arrays import WordArray
    from whichdo.evidence import Tally
    from whichdo.policies.base import Arena, Run
    from whichdo.problem import Problem

__all__ = ["UniformExploration"]


@register("ue")
@dataclass(frozen=True)
class UniformExploration(Policy):
    """Uniform exploration."""

    objective = Objective.SIMPLE
    looks = False

    def check(self, problem: Problem, budget: float) -> None:
        """Every arm must be pulled once."""
        least = prices(problem, problem.answers).sum()
        refuse_below(self, budget, least, f"{len(problem.answers)} arms, each pulled once")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:  # noqa: ARG002
        """One batch."""
        order = np.argsort(rng.random(len(problem.answers)))
        tried = yield equal_pulls(problem, budget, [problem.answers[j] for j in order])
        return best_arm(problem, tried.means, rng)

    def compiled_run(self, problem: Problem, budget: float, arena: Arena) -> Run | None:
        """The same in compiled steps."""
        from whichdo.kernels.rewards import pull_all, reward_streams
        from whichdo.policies.allocation import best_of, equal_counts, means_of

        price, utility = prices(problem, problem.arms), utilities(problem)
        everyone, first = np.arange(len(price)), problem.first_answer

        def run(key: WordArray, rng: np.random.Generator) -> tuple[int, float]:
            order = first + np.argsort(rng.random(len(price) - first))
            counts = equal_counts(budget, price[order])
            levels = np.zeros((len(price), len(utility)), np.int64)
            pull_all(reward_streams(arena.bounds, key), order, counts, levels)
            means = means_of(levels, utility, everyone)
            return best_of(means, rng.random(len(means)), first), float(counts @ price[order])

        return run
