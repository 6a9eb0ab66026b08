"""TS: Thompson sampling with beta posteriors (Thompson 1933; Agrawal and Goyal 2012).

Each round draws a mean for every arm from its posterior, Beta(1 + successes, 1 + failures), and pulls the largest.
A reward between 0 and 1 counts as a fraction of a success.  Cumulative regret of order sum of ln T / gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.evidence import utilities
from whichdo.kernels.compiling import compiled
from whichdo.kernels.random import beta, generator
from whichdo.kernels.rounds import drawn, going, noted, payable, pulled
from whichdo.policies.registry import register
from whichdo.policies.sequential import NO_ROW, Sequential

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, FloatArray, WordArray
    from whichdo.evidence import Tally
    from whichdo.kernels.rounds import Rounds
    from whichdo.problem import Problem


class _Posterior(NamedTuple):
    """For each arm the two parameters of its beta posterior, and the generator of draws.

    Arms are compared from ``first`` on.
    """

    wins: FloatArray
    losses: FloatArray
    utility: FloatArray
    chance: WordArray
    first: int


@compiled
def choose(state: _Posterior) -> int:
    """The arm of the largest draw."""
    wins, losses, chance = state.wins, state.losses, state.chance
    best, top = state.first, -1.0
    for arm in range(state.first, wins.size):
        draw = beta(wins[arm], losses[arm], chance)
        if draw > top:
            best, top = arm, draw
    return best


@compiled
def learn(state: _Posterior, arm: int, level: int, row: CodeArray) -> None:  # noqa: ARG001
    """Count the reward."""
    state.wins[arm] += state.utility[level]
    state.losses[arm] += 1.0 - state.utility[level]


@compiled
def _loop(state: _Posterior, world: Rounds) -> None:
    streams, rows, clock, money, marks, record = world
    bits, left = streams.bits, streams.left
    while going(clock, rows):
        arm = choose(state)
        if payable(clock, money, arm):
            level = drawn(bits, left, arm) if left[arm] > 0 else pulled(streams, rows, clock, arm)
            noted(clock, money, marks, record, arm)
            learn(state, arm, level, NO_ROW)


@register("ts")
@dataclass(frozen=True)
class Thompson(Sequential):
    """Thompson sampling."""

    looks = False
    takes_pulls = True

    choose = staticmethod(choose)
    learn = staticmethod(learn)
    loop = staticmethod(_loop)

    def begin(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> _Posterior:  # noqa: ARG002
        """Uniform posteriors, and earlier pulls; looks are pulls of do() and tell nothing about other arms."""
        utility = utilities(problem)
        wins: FloatArray = seen.counts @ utility
        losses: FloatArray = 1.0 + seen.pulls.astype(np.float64) - wins
        return _Posterior(1.0 + wins, losses, utility, generator(rng), problem.first_answer)

    def means(self, state: _Posterior) -> FloatArray:
        """Posterior means."""
        return state.wins / (state.wins + state.losses)
