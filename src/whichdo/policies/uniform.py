"""UE: pull every arm equally often, recommend the best mean.  Simple regret O(sqrt(K/T)).

Pulls that do not divide go to arms chosen at random, one more each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whichdo.evidence import all_prices
from whichdo.policies.base import Objective, Play, Policy, best_arm, equal_batch, refuse_below
from whichdo.policies.registry import register

if TYPE_CHECKING:
    import numpy as np

    from whichdo.evidence import Tally
    from whichdo.problem import Problem


@register("ue")
@dataclass(frozen=True)
class UniformExploration(Policy):
    """Uniform exploration."""

    objective = Objective.SIMPLE
    looks = False

    def check(self, problem: Problem, budget: float) -> None:
        """Every arm must be pulled once."""
        least = all_prices(problem)[problem.first_answer :].sum()
        refuse_below(self, budget, least, f"{len(problem.answers)} arms, each pulled once")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:  # noqa: ARG002
        """One batch."""
        order = problem.first_answer + rng.random(len(problem.answers)).argsort()
        tried = yield equal_batch(problem, budget, order)
        return best_arm(problem, tried.means, rng)
