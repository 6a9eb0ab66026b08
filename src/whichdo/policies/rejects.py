"""SR: successive rejects (Audibert, Bubeck and Munos, COLT 2010).

K - 1 phases; in each the survivors are pulled equally often and the worst is dropped.  The probability of error falls
like exp(-T / (H log K)) without knowing the gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from whichdo.evidence import Batch, Tally
from whichdo.policies.base import Objective, Play, Policy, Recommendation, refuse_below, unit_costs
from whichdo.policies.registry import register

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from whichdo.problem import Arm, Problem

__all__ = ["SuccessiveRejects", "rejects"]


@register("sr")
@dataclass(frozen=True)
class SuccessiveRejects(Policy):
    """Successive rejects over all arms."""

    objective = Objective.SIMPLE

    def check(self, problem: Problem, budget: float) -> None:
        """T must exceed K."""
        unit_costs(self, problem)
        refuse_below(self, budget, len(problem.arms) + 1, f"more pulls than the {len(problem.arms)} arms")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:  # noqa: ARG002
        """K - 1 batches at most."""
        winner, tried = yield from rejects(problem, problem.arms, int(budget), rng)
        return Recommendation(winner, tried.means)


def rejects(
    problem: Problem, arms: Sequence[Arm], pulls: int, rng: np.random.Generator
) -> Generator[Batch, Tally, tuple[Arm, Tally]]:
    """Successive rejects among some arms; the survivor, and what was seen."""
    alive = list(arms)
    count = len(alive)
    log_bar = 0.5 + sum(1 / i for i in range(2, count + 1))
    tried = Tally.empty(problem)
    before = 0
    for phase in range(1, count):
        upto = max(before, ceil((pulls - count) / (log_bar * (count + 1 - phase))))
        if upto > before:
            tried = tried + (yield Batch(tuple(alive), (upto - before,) * len(alive)))
            before = upto
        means = np.nan_to_num(tried.means[[problem.index(arm) for arm in alive]], nan=-1.0)
        worst = np.flatnonzero(means == means.min())
        del alive[int(rng.choice(worst))]
    return alive[0], tried
