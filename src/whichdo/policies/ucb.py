"""UCB1 with the paper's constant (Auer, Cesa-Bianchi and Fischer 2002).

Each arm once, then the arm of the largest mean + sqrt(2 ln t / n), t the pulls so far.  Cumulative regret of order
sum of ln T / gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.evidence import utilities
from whichdo.kernels.compiling import compiled
from whichdo.kernels.rounds import drawn, going, noted, payable, pulled
from whichdo.policies.registry import register
from whichdo.policies.sequential import Sequential

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.kernels.rounds import Rounds
    from whichdo.problem import Problem


class _Means(NamedTuple):
    """For each arm the pulls, the utility they brought, its mean and 1 / sqrt(pulls): an index is then one product.

    ``luck`` breaks ties, ``rounds`` counts all pulls of the arms that are compared, from ``first`` on.
    """

    pulls: IntArray
    total: FloatArray
    means: FloatArray
    widths: FloatArray
    utility: FloatArray
    luck: FloatArray
    rounds: IntArray
    first: int


@compiled
def choose(state: _Means) -> int:
    """The arm of the largest index; arms never pulled first, in order."""
    return _largest(state.means, state.widths, state.luck, state.rounds, state.first)


@compiled
def _largest(means: FloatArray, widths: FloatArray, luck: FloatArray, rounds: IntArray, first: int) -> int:
    if rounds[0] < means.size - first:
        return first + rounds[0]  # type: ignore[no-any-return]
    factor = np.sqrt(2.0 * np.log(rounds[0]))
    best, top = first, -np.inf
    for arm in range(first, means.size):
        index = means[arm] + factor * widths[arm]
        if index > top or (index == top and luck[arm] > luck[best]):
            best, top = arm, index
    return best


@compiled
def learn(state: _Means, arm: int, level: int, row: CodeArray) -> None:  # noqa: ARG001
    """Count the reward."""
    _count(state.pulls, state.total, state.means, state.widths, state.rounds, arm, state.utility[level])


@compiled
def _count(
    pulls: IntArray,
    total: FloatArray,
    means: FloatArray,
    widths: FloatArray,
    rounds: IntArray,
    arm: int,
    utility: float,
) -> None:
    pulls[arm] += 1
    rounds[0] += 1
    total[arm] += utility
    part = 1.0 / pulls[arm]
    means[arm] = total[arm] * part
    widths[arm] = np.sqrt(part)


@compiled
def _loop(state: _Means, world: Rounds) -> None:
    pulls, total, means, widths, utility, luck, rounds, first = state  # unpacked once: a tuple costs at every call
    streams, rows, clock, money, marks, record = world
    bits, left = streams.bits, streams.left
    while going(clock, rows):
        arm = _largest(means, widths, luck, rounds, first)
        if payable(clock, money, arm):
            level = drawn(bits, left, arm) if left[arm] > 0 else pulled(streams, rows, clock, arm)
            noted(clock, money, marks, record, arm)
            _count(pulls, total, means, widths, rounds, arm, utility[level])


@register("ucb")
@dataclass(frozen=True)
class UCB(Sequential):
    """UCB1."""

    looks = False
    takes_pulls = True

    choose = staticmethod(choose)
    learn = staticmethod(learn)
    loop = staticmethod(_loop)

    def begin(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> _Means:  # noqa: ARG002
        """The earlier pulls where every arm has some, else none; looks are pulls of do()."""
        arms, utility, first = len(problem.arms), utilities(problem), problem.first_answer
        pulls, total, rounds = np.zeros(arms, np.int64), np.zeros(arms), np.zeros(1, np.int64)
        if seen.pulls[first:].all():
            pulls[:], total[:], rounds[0] = seen.pulls, seen.counts @ utility, seen.pulls[first:].sum()
        with np.errstate(divide="ignore"):
            part = 1.0 / pulls
        means = total * np.where(pulls > 0, part, np.nan)
        return _Means(pulls, total, means, np.sqrt(part), utility, rng.random(arms), rounds, first)

    def means(self, state: _Means) -> FloatArray:
        """The plain means."""
        return state.means
