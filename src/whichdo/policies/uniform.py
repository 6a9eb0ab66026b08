"""UE: pull every arm equally often, recommend the best mean.  Simple regret O(sqrt(K/T))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whichdo.policies.base import Objective, Play, Policy, best_arm, equal_pulls, refuse_below
from whichdo.policies.registry import register

if TYPE_CHECKING:
    import numpy as np

    from whichdo.evidence import Tally
    from whichdo.problem import Problem

__all__ = ["UniformExploration"]


@register("ue")
@dataclass(frozen=True)
class UniformExploration(Policy):
    """Uniform exploration; what does not divide goes to random arms."""

    objective = Objective.SIMPLE

    def check(self, problem: Problem, budget: float) -> None:
        """Every arm must be pulled once."""
        refuse_below(self, budget, sum(problem.costs.values()), f"one pull of each of {len(problem.arms)} arms")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:  # noqa: ARG002
        """One batch."""
        order = [problem.arms[position] for position in rng.permutation(len(problem.arms))]
        tried = yield equal_pulls(problem, budget, order)
        return best_arm(problem, tried.means, rng)
