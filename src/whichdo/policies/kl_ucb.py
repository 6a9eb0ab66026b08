"""KL-UCB: optimism by the divergence of coins (Garivier and Cappé, COLT 2011).

Each arm once, then the arm of the largest index max{u: n kl(mean, u) <= ln t}, with n the arm's pulls, t all pulls so
far and kl the divergence of coins.  Cumulative regret of order sum of gap ln T / kl(mean, best mean): for coins no
policy that is good everywhere has a smaller constant (Lai and Robbins 1985).

What the paper leaves open, and what is done: the proof takes ln t + 3 ln ln t, and the authors advise ln t in practice,
which is what is used here.  A reward between 0 and 1 that is not a coin is treated as one, as the paper allows.  Equal
indices are told apart by lots drawn once for the whole run.  Logged looks tell nothing about other arms and are not
used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.evidence import utilities
from whichdo.kernels.compiling import compiled
from whichdo.kernels.kl import largest_kl_index
from whichdo.kernels.rounds import drawn, going, noted, payable, pulled
from whichdo.policies.registry import register
from whichdo.policies.sequential import NO_ROW, Sequential

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.kernels.rounds import Rounds
    from whichdo.problem import Problem


class _Means(NamedTuple):
    """For each arm the pulls, the utility they brought and its mean; ``luck`` breaks ties, ``last`` is the last arm.

    Arms are compared from ``first`` on.
    """

    pulls: FloatArray
    total: FloatArray
    means: FloatArray
    utility: FloatArray
    luck: FloatArray
    last: IntArray
    first: int


@compiled
def choose(state: _Means) -> int:
    """The arm of the largest index; arms never pulled first, in order."""
    pulls = state.pulls
    rounds = 0.0
    for arm in range(state.first, pulls.size):
        if pulls[arm] == 0.0:
            return arm
        rounds += pulls[arm]
    return largest_kl_index(state.means, pulls, np.log(rounds), state.luck, state.last[0], state.first)


@compiled
def learn(state: _Means, arm: int, level: int, row: CodeArray) -> None:  # noqa: ARG001
    """Count the reward."""
    state.pulls[arm] += 1.0
    state.total[arm] += state.utility[level]
    state.means[arm] = state.total[arm] / state.pulls[arm]
    state.last[0] = arm


@compiled
def _loop(state: _Means, world: Rounds) -> None:
    streams, rows, clock, money, marks, record = world
    bits, left = streams.bits, streams.left
    while going(clock, rows):
        arm = choose(state)
        if payable(clock, money, arm):
            level = drawn(bits, left, arm) if left[arm] > 0 else pulled(streams, rows, clock, arm)
            noted(clock, money, marks, record, arm)
            learn(state, arm, level, NO_ROW)


@register("kl-ucb")
@dataclass(frozen=True)
class KLUCB(Sequential):
    """KL-UCB with ln t."""

    looks = False
    takes_pulls = True

    choose = staticmethod(choose)
    learn = staticmethod(learn)
    loop = staticmethod(_loop)

    def begin(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> _Means:  # noqa: ARG002
        """The earlier pulls, if any; looks are pulls of do()."""
        utility, first = utilities(problem), problem.first_answer
        pulls, total = seen.pulls.astype(np.float64), seen.counts @ utility
        last = np.full(1, first, np.int64)
        return _Means(pulls, total, seen.means.copy(), utility, rng.random(len(pulls)), last, first)

    def means(self, state: _Means) -> FloatArray:
        """The plain means."""
        return state.means
