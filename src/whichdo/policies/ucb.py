"""UCB1 with the paper's constant (Auer, Cesa-Bianchi and Fischer 2002).

Each arm once, then the arm of the largest mean + sqrt(2 ln t / n), t the pulls so far.  Cumulative regret of order
sum of ln T / gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.kernels.compiling import compiled
from whichdo.kernels.rounds import going, payable, pulled
from whichdo.policies.base import utilities
from whichdo.policies.registry import register
from whichdo.policies.sequential import NO_ROW, Sequential

if TYPE_CHECKING:
    from whichdo.evidence import CodeArray, FloatArray, IntArray, Tally
    from whichdo.kernels.rounds import Rounds
    from whichdo.problem import Problem

__all__ = ["UCB", "Sums", "sums"]


class Sums(NamedTuple):
    """For each arm the pulls and the utility they brought; ``luck`` breaks ties, ``rounds`` counts all pulls."""

    pulls: IntArray
    total: FloatArray
    utility: FloatArray
    luck: FloatArray
    rounds: IntArray


def sums(problem: Problem, rng: np.random.Generator) -> Sums:
    """Nothing pulled yet."""
    arms = len(problem.arms)
    return Sums(np.zeros(arms, np.int64), np.zeros(arms), utilities(problem), rng.random(arms), np.zeros(1, np.int64))


@compiled
def choose(state: Sums) -> int:
    """The arm of the largest index; arms never pulled first, in order."""
    pulls, total, luck = state.pulls, state.total, state.luck
    rounds = state.rounds[0]
    if rounds < pulls.size:
        return rounds  # type: ignore[no-any-return]
    width = 2.0 * np.log(rounds)
    best, top = 0, -np.inf
    for arm in range(pulls.size):
        part = 1.0 / pulls[arm]
        index = total[arm] * part + np.sqrt(width * part)
        if index > top or (index == top and luck[arm] > luck[best]):
            best, top = arm, index
    return best


@compiled
def learn(state: Sums, arm: int, level: int, row: CodeArray) -> None:  # noqa: ARG001
    """Count the reward."""
    state.pulls[arm] += 1
    state.rounds[0] += 1
    state.total[arm] += state.utility[level]


@compiled
def _loop(state: Sums, world: Rounds) -> None:
    streams, rows, clock, money, marks, record = world
    while going(clock, rows):
        arm = choose(state)
        if payable(clock, money, arm):
            learn(state, arm, pulled(streams, rows, clock, money, marks, record, arm), NO_ROW)


@register("ucb")
@dataclass(frozen=True)
class UCB(Sequential):
    """UCB1."""

    takes_pulls = True

    choose = staticmethod(choose)
    learn = staticmethod(learn)
    loop = staticmethod(_loop)

    def begin(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Sums:  # noqa: ARG002
        """The pulls at hand where every arm has some, else none; looks are pulls of do()."""
        state = sums(problem, rng)
        if seen.pulls.all():
            state.pulls[:], state.total[:], state.rounds[0] = seen.pulls, seen.counts @ state.utility, seen.pulls.sum()
        return state

    def means(self, state: Sums) -> FloatArray:
        """The plain means."""
        with np.errstate(invalid="ignore"):
            return state.total / state.pulls
