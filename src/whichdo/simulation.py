"""Playing policies against worlds, many runs at a time.

Each run has a seed of its own, derived from the simulation's by its number, and two streams from that: one for the
world, one for the policy.  So results depend neither on the number of workers nor on the order of the runs, and two
policies that are simulated with one seed meet the same worlds.
"""

from __future__ import annotations

from collections import deque
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.crew import shared
from whichdo.errors import UsageError
from whichdo.evidence import Tally, whole_number
from whichdo.progress import progress_bar
from whichdo.world.exact import reward_laws
from whichdo.world.sampler import SimulatedArena, World, exact_laws

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from contextlib import AbstractContextManager

    from whichdo.evidence import Batch, FloatArray, IntArray
    from whichdo.policies.base import Policy, Recommendation
    from whichdo.problem import Arm, Problem
    from whichdo.progress import Progress
    from whichdo.world.network import CausalNetwork

    Part = tuple[IntArray, FloatArray]

__all__ = ["Job", "Outcomes", "check_horizon", "simulate", "simulate_all"]

PARTS = 16
"""A job is cut into so many parts for each worker."""
LONGEST = 2.0
"""Seconds that a part should take at most: what is lost with a worker, and the time between two reports."""
WORTH = 2.0
"""Seconds of work left for which starting processes pays."""
SURE = 0.1
"""Seconds after which the pace of a job is known."""
STEP = 0.05
"""Seconds between two reports while there are no workers."""
TIE = 1e-12
"""Regrets below this are none: the means of best arms, rounded differently."""


@dataclass(frozen=True)
class Outcomes:
    """What became of each run.  ``regret`` is in utility: the best arm's mean minus the recommended arm's."""

    problem: Problem
    regret: FloatArray
    recommended: IntArray
    """Positions in ``problem.arms``."""
    spent: FloatArray
    """In cost units; never more than the budget."""

    @property
    def arms(self) -> list[Arm]:
        """The arm each run recommended."""
        return [self.problem.arms[position] for position in self.recommended]

    @cached_property
    def mean(self) -> float:
        """The mean regret."""
        return float(self.regret.mean())

    @cached_property
    def error(self) -> float:
        """The standard error of the mean regret."""
        return float(self.regret.std(ddof=1) / sqrt(len(self.regret))) if len(self.regret) > 1 else float("nan")

    @cached_property
    def share_best(self) -> float:
        """The share of runs that recommended an arm no other is better than."""
        return float((self.regret <= TIE).mean())


def simulate(
    policy: Policy,
    network: CausalNetwork,
    problem: Problem,
    *,
    horizon: float,
    runs: int,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | bool = False,
) -> Outcomes:
    """Play a policy ``runs`` times against a network with a budget of ``horizon``; the same for any ``workers``.

    Workers are processes; they are started when the first runs show that they are worth their start, a second or two.
    One that is killed is replaced, and what it was doing is done again.  ``progress`` is called with the number of runs
    that are done and the number in all; True shows a bar where standard error is a terminal.
    """
    policy.check(problem, check_horizon(horizon))
    (found,) = simulate_all(
        [Job(policy, horizon, whole_number(seed, "seed"))], network, problem, runs, workers=workers, progress=progress
    )
    return found


class Job(NamedTuple):
    """A policy to be played with a budget."""

    policy: Policy
    horizon: float
    seed: int


def simulate_all(
    jobs: Sequence[Job],
    network: CausalNetwork,
    problem: Problem,
    runs: int,
    *,
    workers: int = 1,
    progress: Progress | bool = False,
) -> list[Outcomes]:
    """Play several jobs, which their policies have been found to serve, with one set of workers."""
    count, hands = whole_number(runs, "number of runs"), whole_number(workers, "number of workers")
    if count == 0:
        raise UsageError("The number of runs is 0; simulate at least one.")
    if hands == 0:
        raise UsageError("The number of workers is 0; 1 works in this process.")
    utility = np.array(list(problem.utility.values()))
    laws = exact_laws(network, problem)
    truth = (reward_laws(network, problem) if laws is None else laws) @ utility
    recommended, spent = np.empty((len(jobs), count), np.int64), np.empty((len(jobs), count))
    done = 0
    with _told(progress) as tell, closing(_done(_Runs(network, problem, tuple(jobs)), count, hands)) as parts:
        for (job, start, stop), part in parts:
            recommended[job, start:stop], spent[job, start:stop] = part
            done += stop - start
            if tell is not None:
                tell(done, len(jobs) * count)
    return [
        Outcomes(problem, truth.max() - truth[chosen], chosen, paid)
        for chosen, paid in zip(recommended, spent, strict=True)
    ]


def _told(progress: Progress | bool) -> AbstractContextManager[Progress | None]:  # noqa: FBT001 - handed on as given
    if progress is True:
        return progress_bar("simulating", "runs")
    return nullcontext(progress if callable(progress) else None)


def check_horizon(horizon: object) -> float:
    """A budget, in cost units: a number above 0."""
    if isinstance(horizon, bool) or not isinstance(horizon, (int, float, np.number)) or not 0 < horizon < inf:
        raise UsageError(f"The horizon is {horizon!r}; it must be a number above 0.")
    return float(horizon)


class Task(NamedTuple):
    """Runs ``start`` to ``stop`` of a job, by their numbers."""

    job: int
    start: int
    stop: int

    def cut(self, size: int) -> list[Task]:
        """The same runs, ``size`` at a time."""
        return [Task(self.job, at, min(at + size, self.stop)) for at in range(self.start, self.stop, size)]


def _done(work: _Runs, runs: int, workers: int) -> Generator[tuple[Task, Part], None, None]:
    """All runs of all jobs, part by part, with what became of them.

    Here and one after the other at first; among processes as soon as what is left is worth starting them.
    """
    left = deque(Task(job, 0, runs) for job in range(len(work.jobs)))
    pace = _Pace()
    while left and not (workers > 1 and pace.rate * sum(task.stop - task.start for task in left) > WORTH):
        task = left.popleft()
        first, rest = Task(task.job, task.start, min(task.start + pace.size(task), task.stop)), task.stop
        if first.stop < rest:
            left.appendleft(Task(task.job, first.stop, rest))
        before = perf_counter()
        part = work(first)
        pace.measured(first, perf_counter() - before)
        yield first, part
    if left:
        size = max(1, min(-(-runs // (workers * PARTS)), int(LONGEST / pace.rate)))
        with closing(shared(work, [part for task in left for part in task.cut(size)], workers)) as found:
            yield from found


class _Pace:
    """How long a run takes, in the job at hand; its first run, which may compile, does not count unless it is long."""

    def __init__(self) -> None:
        self.rate = 0.0
        self._runs, self._seconds = 0, 0.0

    def size(self, task: Task) -> int:
        """How many runs make a step that is felt as steady."""
        if task.start == 0 or not self._runs:
            return 1
        return max(1, int(STEP * self._runs / max(self._seconds, 1e-9)))

    def measured(self, task: Task, seconds: float) -> None:
        """Take note of a step."""
        if task.start == 0:
            self._runs, self._seconds, self.rate = 0, 0.0, seconds if seconds > WORTH else 0.0
            return
        self._runs, self._seconds = self._runs + task.stop - task.start, self._seconds + seconds
        self.rate = self._seconds / self._runs if self._seconds >= SURE else 0.0


class _Runs:
    """What a worker is told once: it plays any runs of the jobs.  The job at hand stays prepared between tasks."""

    def __init__(self, network: CausalNetwork, problem: Problem, jobs: tuple[Job, ...]) -> None:
        self.network, self.problem, self.jobs = network, problem, jobs
        self._at_hand: tuple[int, Callable[[int], tuple[int, float]]] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return _Runs, (self.network, self.problem, self.jobs)

    def __call__(self, task: Task) -> Part:
        """The positions of the recommended arms, and what was spent."""
        if self._at_hand is None or self._at_hand[0] != task.job:
            self._at_hand = task.job, self._prepared(self.jobs[task.job])
        run = self._at_hand[1]
        found = [run(number) for number in range(task.start, task.stop)]
        return np.array([arm for arm, _ in found], np.int64), np.array([money for _, money in found])

    def _prepared(self, job: Job) -> Callable[[int], tuple[int, float]]:
        """A run by its number."""
        policy, budget, seed = job
        arena = SimulatedArena.of(self.network, self.problem)
        fast = None if arena is None else policy.compiled_run(self.problem, budget, arena)

        def run(number: int) -> tuple[int, float]:
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
            key = rng.bit_generator.random_raw(2)  # the world's streams follow from this, the policy's are the rest
            if fast is not None:
                return fast(key, rng)
            return played(policy, World(self.network, self.problem, key), budget, rng)

        return run


def played(policy: Policy, world: World, budget: float, rng: np.random.Generator) -> tuple[int, float]:
    """One run through `play`: the position of the recommended arm, and what was spent."""
    problem = world.problem
    play = policy.play(problem, budget, rng, Tally.empty(problem))
    spent = 0.0
    answer: Any = None
    while True:
        try:
            batch: Batch = play.send(answer)
        except StopIteration as stop:
            final: Recommendation = stop.value
            return problem.index(final.arm), spent
        spent += sum(problem.costs[arm] * count for arm, count in zip(batch.arms, batch.counts, strict=True))
        answer = world.pull(batch)
