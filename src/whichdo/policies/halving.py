"""SH: sequential halving (Karnin, Koren and Somekh, ICML 2013).

ceil(log2 K) rounds with equal shares of the budget; after each the better half stays.  Means pool all rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING

import numpy as np

from whichdo.evidence import Tally
from whichdo.kernels.compiling import compiled
from whichdo.kernels.rewards import pull_all, reward_streams
from whichdo.policies.allocation import better_half, equal_counts, means_of
from whichdo.policies.base import (
    Objective,
    Play,
    Policy,
    Recommendation,
    equal_pulls,
    prices,
    refuse_below,
    utilities,
)
from whichdo.policies.registry import register

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray, WordArray
    from whichdo.kernels.rewards import RewardStreams
    from whichdo.policies.base import Arena, Run
    from whichdo.problem import Problem

__all__ = ["SequentialHalving"]


@register("sh")
@dataclass(frozen=True)
class SequentialHalving(Policy):
    """Sequential halving over all arms."""

    objective = Objective.SIMPLE
    looks = False

    def check(self, problem: Problem, budget: float) -> None:
        """The first round must pull every arm once."""
        arms = len(problem.answers)
        rounds = ceil(log2(arms))
        least = prices(problem, problem.answers).sum() * rounds
        refuse_below(self, budget, least, f"{rounds} rounds, the first with a pull of each of {arms} arms")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:  # noqa: ARG002
        """One batch a round."""
        luck, utility = rng.random(len(problem.arms)), utilities(problem)
        alive = np.arange(problem.first_answer, len(problem.arms))
        tried = Tally.empty(problem)
        rounds = ceil(log2(len(alive)))
        left = float(budget)
        for number in range(rounds):
            batch = equal_pulls(problem, left / (rounds - number), [problem.arms[j] for j in alive])
            left -= float(np.array(batch.counts) @ prices(problem, batch.arms))
            tried = tried + (yield batch)
            alive = alive[better_half(means_of(tried.counts, utility, alive), luck[alive])]
        return Recommendation(problem.arms[alive[0]], tried.means)

    def compiled_run(self, problem: Problem, budget: float, arena: Arena) -> Run | None:
        """The same in one compiled step."""
        price, utility = prices(problem, problem.arms), utilities(problem)
        answers = np.arange(problem.first_answer, len(price))

        def run(key: WordArray, rng: np.random.Generator) -> tuple[int, float]:
            luck = rng.random(len(price))
            return _race(reward_streams(arena.bounds, key), answers, price, float(budget), utility, luck)

        return run


@compiled
def _race(
    streams: RewardStreams, arms: IntArray, prices: FloatArray, money: float, utility: FloatArray, luck: FloatArray
) -> tuple[int, float]:
    """`play` against the rewards of a simulated world: the survivor, and the money spent."""
    alive = arms
    levels = np.zeros((prices.size, utility.size), np.int64)
    rounds = np.int64(np.ceil(np.log2(arms.size)))
    left = money
    for number in range(rounds):
        counts = equal_counts(left / (rounds - number), prices[alive])
        left -= (counts * prices[alive]).sum()
        pull_all(streams, alive, counts, levels)
        alive = alive[better_half(means_of(levels, utility, alive), luck[alive])]
    return alive[0], money - left
