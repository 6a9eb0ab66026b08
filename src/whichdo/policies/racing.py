"""Races between arms: rounds in which those that are left are pulled and some are cut.

A race is written once, as a compiled *step* over explicit state: it takes in what the last round brought, cuts, and
says which arms are pulled next.  `raced` asks for one batch a step.  A simulated world runs the whole race at once by
its compiled *loop*, three lines over the same step: numba keeps a function on disk only if it calls others by name.

The steps that races have in common stand here too.  The evidence of an arm is a mean and a size, in pulls; a standard
unit is one over the root of the size.  Each mean lies between the bounds of its arm (`whichdo.policies.bounding`), 0
and 1 where there are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from whichdo.evidence import REWARDS, TABLES, Batch, Tally, observe
from whichdo.kernels.compiling import always_of_types, compiled
from whichdo.policies.allocation import best_few, best_of
from whichdo.policies.bounding import within

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.evidence import Course, Detail
    from whichdo.kernels.rewards import RewardStreams
    from whichdo.problem import Problem
    from whichdo.tables import Scope


class RaceState(Protocol):
    """The state of a race: a tuple of arrays, these among them."""

    @property
    def arms(self) -> IntArray:
        """The arms to pull next, first."""

    @property
    def counts(self) -> IntArray:
        """How often to pull each."""

    @property
    def levels(self) -> IntArray:
        """The rewards so far, a row for each arm of the problem and a column for each level."""


State = TypeVar("State", bound=RaceState)


class Race(Generic[State]):
    """A race: ``step(state)`` gives the number of arms to pull next, 0 at the end.

    ``loop(state, streams, number)`` pulls that many and goes on to the end.  A race whose first step was made with its
    state is given its first ``number``.
    """

    def __init__(
        self,
        state: State,
        step: Callable[[State], int],
        loop: Callable[[State, RewardStreams, int], None],
        number: int | None = None,
    ) -> None:
        self.state, self._step, self._loop = state, step, loop
        self.number = always_of_types(step, state)(state) if number is None else number

    def take(self, told: Tally) -> None:
        """What came of the arms that were to be pulled, unless the race was `run`."""
        if self.number:
            np.add(self.state.levels, told.counts, out=self.state.levels)
            self.number = always_of_types(self._step, self.state)(self.state)

    def run(self, streams: RewardStreams) -> IntArray:
        """The rest of the race, against a simulated world: how often each reward came."""
        before = self.state.levels.copy()
        always_of_types(self._loop, self.state, streams, self.number)(self.state, streams, self.number)
        self.number = 0
        return self.state.levels - before


@dataclass(frozen=True)
class Pulling:
    """How the arms of a play are pulled, and what their pulls tell."""

    problem: Problem
    detail: Detail = REWARDS
    scopes: tuple[Scope, ...] | None = None
    looks: tuple[Scope, ...] | None = None
    """How pulls of do() are counted, where they are added up with looks and the others tell their reward alone."""

    @property
    def is_apart(self) -> bool:
        """Whether do() is pulled in batches of its own: looks without tables would take the others' away."""
        return self.looks is not None and self.detail < TABLES

    def pull(self, arms: IntArray, counts: IntArray, course: Course | None = None) -> Generator[Batch, Tally, Tally]:
        """Pull some arms so often."""
        told, taken = None, counts > 0
        if self.is_apart:
            looks = int(counts[arms == 0].sum())
            taken &= arms != 0
            if looks:
                told = yield observe(looks, scopes=self.looks)
        number = np.count_nonzero(taken)
        if number:
            if number < len(arms):
                arms, counts = arms[taken], counts[taken]
            pulled = yield Batch.at(self.problem, arms, counts, self.detail, self.scopes, course)
            told = pulled if told is None else told + pulled
        return Tally.empty(self.problem) if told is None else told


def raced(problem: Problem, race: Race[State], pulling: Pulling | None = None) -> Generator[Batch, Tally, Tally]:
    """Run a race, batch by batch, and return all that came back; only rewards unless a detail is given."""
    tried: Tally | None = None
    pulling = pulling or Pulling(problem)
    course = race if pulling.detail is REWARDS and not pulling.is_apart else None
    while race.number:
        arms, counts = race.state.arms[: race.number].copy(), race.state.counts[: race.number].copy()
        told = yield from pulling.pull(arms, counts, course)
        race.take(told)
        tried = told if tried is None else tried + told
    return Tally.empty(problem) if tried is None else tried


@compiled
def plausible(
    means: FloatArray, sizes: FloatArray, caution: float, lows: FloatArray, highs: FloatArray, first: int = 0
) -> IntArray:
    """The arms from ``first`` on that could still be best: upper end not below the best lower end.

    ``lows`` and ``highs`` are the bounds of all means.
    """
    best = -np.inf
    for j in range(first, means.size):
        if sizes[j] > 0.0:
            best = max(best, min(max(means[j] - caution / np.sqrt(sizes[j]), lows[j]), means[j]))
    alive = np.empty(means.size, np.int64)
    count = 0
    for j in range(first, means.size):
        high = highs[j]
        if sizes[j] > 0.0:
            high = max(min(means[j] + caution / np.sqrt(sizes[j]), high), means[j])
        if high >= best:
            alive[count] = j
            count += 1
    return alive[:count]


@compiled
def pooled(
    base: FloatArray,
    sizes: FloatArray,
    levels: IntArray,
    utility: FloatArray,
    arms: IntArray,
    lows: FloatArray,
    highs: FloatArray,
) -> FloatArray:
    """The means of looking and pulling together, within their bounds; an arm of which nothing is known is the worst."""
    means = np.empty(arms.size)
    for j in range(arms.size):
        arm = arms[j]
        total, weight = base[arm] * sizes[arm], sizes[arm]
        for level in range(utility.size):
            total += levels[arm, level] * utility[level]
            weight += levels[arm, level]
        means[j] = within(total / weight, weight, lows[arm], highs[arm]) if weight > 0.0 else -1.0
    return means


@compiled
def narrow(means: FloatArray, pulls: IntArray, lifted: float, lows: FloatArray, highs: FloatArray) -> None:
    """Clip means to bounds that hold but for a chance of ``lifted``; those of which nothing is known stay the worst."""
    for arm in range(means.size):
        if means[arm] >= 0.0:
            means[arm] += (1.0 - lifted) * (within(means[arm], float(pulls[arm]), lows[arm], highs[arm]) - means[arm])


@compiled
def survivors(
    means: FloatArray, known: FloatArray, luck: FloatArray, optimism: float, number: int, highs: FloatArray
) -> IntArray:
    """The positions of so many best, by mean and so many standard units of the evidence, up to an upper end."""
    hopes = np.empty(means.size)
    for j in range(means.size):
        hope = means[j] + optimism / np.sqrt(max(known[j], 1e-12))
        hopes[j] = max(min(hope, highs[j]), means[j]) if highs[j] < 1.0 else hope
    return best_few(hopes, luck, number)


@compiled
def best_left(
    means: FloatArray,
    known: FloatArray,
    luck: FloatArray,
    optimism: float,
    highs: FloatArray,
    left: tuple[int, int],
    first: int = 0,
) -> int:
    """The arm of the largest mean from ``first`` on; one whose hope is cut by its upper end only if a race ``left`` it.

    Bounds cut an arm early, when it has had few pulls.  It is not to be named for what came of these by luck.
    """
    nameable = means.copy()
    for arm in range(means.size):
        hope = means[arm] + optimism / np.sqrt(max(known[arm], 1e-12))
        if highs[arm] < 1.0 and hope > highs[arm] and arm not in left:
            nameable[arm] = -2.0
    return best_of(nameable, luck, first)
