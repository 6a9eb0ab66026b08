"""Conditioning, the wrong answer: look, and name the arm whose value came with the best rewards.

It is what reading a dashboard amounts to.  Where a hidden cause moves X and Y together, E[Y | X=x] is not that of
do(X=x), and more looks only make it surer of the wrong arm.  It is not in the registry: nobody should run it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whichdo.estimate.conditional import conditional, pair_scopes
from whichdo.evidence import observe
from whichdo.policies.base import Objective, Policy, best_arm, refuse_joint

if TYPE_CHECKING:
    import numpy as np

    from whichdo.evidence import Tally
    from whichdo.policies.base import Play
    from whichdo.problem import Problem

__all__ = ["Conditioning"]


@dataclass(frozen=True)
class Conditioning(Policy):
    """All looks, then the best conditional mean."""

    name = "conditioning"
    objective = Objective.SIMPLE

    def check(self, problem: Problem, budget: float) -> None:  # noqa: ARG002
        """Arms on one node only."""
        refuse_joint(self, problem)

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """One batch of looks."""
        looks = int(budget / problem.costs[problem.arms[0]] + 1e-9)
        seen = seen + (yield observe(looks, scopes=pair_scopes(problem)))
        return best_arm(problem, conditional(problem, seen).means, rng)
