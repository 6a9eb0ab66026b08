"""A policy that takes its time; workers import it from here."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whichdo.policies.base import Objective, Play, Policy, best_arm, equal_pulls

if TYPE_CHECKING:
    import numpy as np

    from whichdo.evidence import Tally
    from whichdo.problem import Problem


@dataclass(frozen=True)
class Slow(Policy):
    """Uniform exploration that takes its time."""

    name = "slow"
    objective = Objective.SIMPLE
    seconds: float = 0.01

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        time.sleep(self.seconds)
        tried = yield equal_pulls(problem, budget, problem.arms)
        return best_arm(problem, tried.means, rng)
