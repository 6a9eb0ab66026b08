"""Causal KL-UCB: KL-UCB whose evidence includes what looks say of every arm.

Ours.  Looking gives every arm that it can settle a mean and the number of direct pulls it was worth; with the direct
pulls that makes a mean and a size for each, and the arm of the largest u with size * kl(mean, u) <= ln t is pulled
(`whichdo.kernels.kl`).  An arm that looking cannot settle lives on its direct pulls.  Any graph, any finite domains;
logs at hand are looks already made.  Deterministic but for ties.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.formulas import checked_reading
from whichdo.kernels.compiling import compiled
from whichdo.kernels.kl import largest_kl_index
from whichdo.kernels.rounds import USED, drawn, going, noted, payable, pulled
from whichdo.policies.base import BEFORE_READINGS
from whichdo.policies.looking import Evidence, Looking, columns, count, evidence, refresh, stale
from whichdo.policies.registry import register
from whichdo.policies.sequential import Sequential

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.kernels.rounds import Rounds
    from whichdo.problem import Problem

__all__ = ["CausalKLUCB"]


class _State(NamedTuple):
    known: Evidence
    looking: Looking
    joined: FloatArray
    """Rows: the mean of each arm by all evidence, and its size."""
    luck: FloatArray
    last: IntArray
    """The last arm, and the rounds so far."""


@compiled
def _join(known: Evidence, joined: FloatArray, arm: int) -> None:
    """Work out one arm's mean and size."""
    size = known.wins[arm] + known.losses[arm] + known.sizes[arm]
    joined[1, arm] = size
    joined[0, arm] = (known.wins[arm] + known.sizes[arm] * known.means[arm]) / size if size > 0.0 else 0.5


@compiled
def _pick(joined: FloatArray, luck: FloatArray, last: IntArray) -> int:
    """The arm of the largest index; arms of which nothing is known first, in order."""
    for arm in range(luck.size):
        if joined[1, arm] <= 0.0:
            return arm
    return largest_kl_index(joined[0], joined[1], np.log(max(1.0, float(last[1]))), luck, last[0])


@compiled
def choose(state: _State) -> int:
    """The arm of the largest index."""
    return _pick(state.joined, state.luck, state.last)


@compiled
def _note(known: Evidence, looking: Looking, joined: FloatArray, last: IntArray, arm: int, level: int) -> None:
    """Count the reward; work the looks out anew where they have grown."""
    known.wins[arm] += known.utility[level]
    known.losses[arm] += 1.0 - known.utility[level]
    last[0] = arm
    last[1] += 1
    if arm == 0 and stale(known.clock):
        refresh(known, looking)
        for other in range(joined.shape[1]):
            _join(known, joined, other)
    else:
        _join(known, joined, arm)


@compiled
def learn(state: _State, arm: int, level: int, row: CodeArray) -> None:
    """Count the reward, and a look in all tables."""
    known, looking = state.known, state.looking
    if arm == 0:
        known.clock[0] += 1
        count(looking.counts, looking.scope_start, looking.places, looking.strides, looking.cell_start, row)
    _note(known, looking, state.joined, state.last, arm, level)


@compiled
def _loop(state: _State, world: Rounds) -> None:
    known, looking, joined, luck, last = state
    streams, rows, clock, money, marks, record = world
    bits, left = streams.bits, streams.left
    wins, losses, means, sizes, utility, times = known
    counts, starts, places, strides, cells, _, _ = looking
    while going(clock, rows):
        arm = _pick(joined, luck, last)
        if not payable(clock, money, arm):
            continue
        level = drawn(bits, left, arm) if left[arm] > 0 else pulled(streams, rows, clock, arm)
        noted(clock, money, marks, record, arm)
        if arm == 0:
            times[0] += 1
            count(counts, starts, places, strides, cells, rows[clock[USED] - 1])
            if stale(times):
                _note(known, looking, joined, last, arm, level)
                continue
        wins[arm] += utility[level]
        losses[arm] += 1.0 - utility[level]
        last[0] = arm
        last[1] += 1
        size = wins[arm] + losses[arm] + sizes[arm]
        joined[1, arm] = size
        joined[0, arm] = (wins[arm] + sizes[arm] * means[arm]) / size


@register("causal-kl-ucb")
@dataclass(frozen=True)
class CausalKLUCB(Sequential):
    """Causal KL-UCB; ``reading`` is how much of the graph estimates by looking lean on."""

    reading: str = "robust"
    takes_pulls = True
    revision = 2
    when_absent = BEFORE_READINGS

    choose = staticmethod(choose)
    learn = staticmethod(learn)
    loop = staticmethod(_loop)

    def __post_init__(self) -> None:
        checked_reading(self.reading)

    def trusting(self) -> CausalKLUCB:
        """The same, leaning on every missing edge."""
        return replace(self, reading="graph")

    def columns(self, problem: Problem) -> tuple[str, ...]:
        """What the tables count."""
        return columns(problem, checked_reading(self.reading))

    def begin(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> _State:  # noqa: ARG002
        """What looks at hand say."""
        known, looking = evidence(problem, checked_reading(self.reading), seen)
        joined = np.zeros((2, len(problem.arms)))
        for arm in range(len(problem.arms)):
            _join(known, joined, arm)
        rounds = int(seen.pulls.sum())
        return _State(known, looking, joined, rng.random(len(problem.arms)), np.array([0, rounds], np.int64))

    def means(self, state: _State) -> FloatArray:
        """The means by all evidence; NaN where there is none."""
        return np.where(state.joined[1] > 0, state.joined[0], np.nan)
