"""SH: sequential halving (Karnin, Koren and Somekh, ICML 2013).

ceil(log2 K) rounds with equal shares of the budget; after each the better half stays.  Means pool all rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.evidence import all_prices, utilities
from whichdo.kernels.compiling import compiled
from whichdo.kernels.rewards import pull_all
from whichdo.policies.allocation import better_half, equal_counts, means_of
from whichdo.policies.base import Objective, Play, Policy, Recommendation, refuse_below
from whichdo.policies.racing import Race, raced
from whichdo.policies.registry import register

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.kernels.rewards import RewardStreams
    from whichdo.problem import Problem


ROUND, ROUNDS, ALIVE = 0, 1, 2  # of the clock


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
        least = all_prices(problem)[problem.first_answer :].sum() * rounds
        refuse_below(self, budget, least, f"{rounds} rounds, the first with a pull of each of {arms} arms")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:  # noqa: ARG002
        """One batch a round."""
        arms, utility = np.arange(problem.first_answer, len(problem.arms)), utilities(problem)
        state = _Halving(
            arms=arms,
            counts=np.zeros(len(arms), np.int64),
            levels=np.zeros((len(problem.arms), len(utility)), np.int64),
            prices=all_prices(problem),
            utility=utility,
            luck=rng.random(len(problem.arms)),
            left=np.array([float(budget)]),
            clock=np.array([0, ceil(log2(len(arms))), len(arms)], np.int64),
        )
        race = Race(state, step, loop)
        tried = yield from raced(problem, race)
        return Recommendation(problem.arms[race.state.arms[0]], tried.means)


class _Halving(NamedTuple):
    """The arms that are left, first in ``arms``; the cost and the luck of all arms, and the budget that is left.

    ``clock`` holds the rounds played, their number in all, and how many arms are left.
    """

    arms: IntArray
    counts: IntArray
    levels: IntArray
    prices: FloatArray
    utility: FloatArray
    luck: FloatArray
    left: FloatArray
    clock: IntArray


@compiled
def step(state: _Halving) -> int:
    """Keep the better half, except before the first round, and share the budget of the next."""
    arms, counts, levels, prices, utility, luck, left, clock = state
    played, rounds, alive = clock[ROUND], clock[ROUNDS], clock[ALIVE]
    if played > 0:
        stay = better_half(means_of(levels, utility, arms[:alive]), luck[arms[:alive]])
        alive = clock[ALIVE] = stay.size
        for j in range(alive):
            arms[j] = arms[stay[j]]
    if played == rounds:
        return 0
    clock[ROUND] = played + 1
    shares = equal_counts(left[0] / (rounds - played), prices[arms[:alive]])
    paid = 0.0
    for j in range(alive):
        counts[j] = shares[j]
        paid += counts[j] * prices[arms[j]]
    left[0] -= paid
    return alive  # type: ignore[no-any-return]


@compiled
def loop(state: _Halving, streams: RewardStreams, number: int) -> None:
    """All rounds against the rewards of a simulated world."""
    while number > 0:
        pull_all(streams, state.arms[:number], state.counts[:number], state.levels)
        number = step(state)
