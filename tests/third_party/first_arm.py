"""First arm: pull every arm ``each`` times, then recommend the first listed arm whose mean nobody beats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.evidence import spread
from whichdo.policies.base import Objective, Play, Policy, Recommendation, refuse_below

if TYPE_CHECKING:
    from whichdo.evidence import Tally
    from whichdo.problem import Problem


@dataclass(frozen=True)
class FirstArm(Policy):
    """Known as ``first-arm`` where the package is installed, as ``FirstArm`` from the file."""

    each: int = 4
    objective = Objective.SIMPLE

    def check(self, problem: Problem, budget: float) -> None:
        """Every arm is pulled so often."""
        refuse_below(self, budget, self.each * len(problem.arms), f"{self.each} pulls of every arm")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """One batch."""
        tried = yield spread(self.each * len(problem.arms), problem.arms)
        return Recommendation(problem.arms[int(np.argmax(tried.means))], tried.means)
