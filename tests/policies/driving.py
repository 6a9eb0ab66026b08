"""A play, step by step: what it asks is answered by a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.evidence import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.evidence import Batch
    from whichdo.policies.base import Policy, Recommendation
    from whichdo.problem import Problem
    from whichdo.world.sampler import World


def driven(
    policy: Policy,
    problem: Problem,
    budget: float,
    answer: Callable[[Batch], Tally],
    seed: int = 0,
    seen: Tally | None = None,
) -> tuple[list[Batch], list[Tally], Recommendation]:
    """Every batch, every answer, and the recommendation."""
    play = policy.play(problem, budget, np.random.default_rng(seed), seen or Tally.empty(problem))
    batches: list[Batch] = []
    answers: list[Tally] = []
    told: Any = None
    while True:
        try:
            batches.append(play.send(told))
        except StopIteration as stop:
            return batches, answers, stop.value
        told = answer(batches[-1])
        answers.append(told)


def batch_by_batch(
    policy: Policy, world: World, budget: float, seed: int, seen: Tally | None = None
) -> tuple[int, float]:
    """A run in which no course is run at once: the position of the recommended arm, and what was spent."""
    _, _, final = driven(policy, world.problem, budget, world.pull, seed, seen)
    return world.problem.index(final.arm), world.spent
