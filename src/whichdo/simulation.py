"""Playing policies against worlds, many runs at a time.

Each run has its own key, derived from the simulation's seed by its number, and two streams from that: one for the
world, one for the policy.  So results depend neither on the number of workers nor on the order of the runs, and two
policies that are simulated with one seed meet the same worlds.
"""

from __future__ import annotations

from collections import deque
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.crew import holding_interrupts, shared
from whichdo.errors import UsageError
from whichdo.evidence import Tally, spending_limit, whole_number
from whichdo.kernels.random import run_words
from whichdo.policies.base import Objective, check_policy
from whichdo.policy_names import as_policy
from whichdo.progress import progress_bar
from whichdo.text import counted
from whichdo.world.exact import reward_laws
from whichdo.world.sampler import World, exact_laws

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from contextlib import AbstractContextManager

    from whichdo.arrays import FloatArray, IntArray, WordArray
    from whichdo.evidence import Batch
    from whichdo.policies.base import Policy, Recommendation
    from whichdo.problem import Arm, Problem
    from whichdo.progress import Progress
    from whichdo.world.network import CausalNetwork

    Part = tuple[IntArray, FloatArray, FloatArray]


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
NO_CURVE: FloatArray = np.zeros(0)
AHEAD = 64
"""Runs whose beginnings are worked out together."""
TIE = 1e-12
"""Regrets below this count as 0: the means of best arms, rounded differently."""


@dataclass(frozen=True)
class Outcomes:
    """The result of each simulated run; regrets are differences of mean utility.

    Attributes
    ----------
    problem
        The problem that was played.
    regret
        The regret of each run, of the kind that the policy's objective names.  Simple: how far the recommended arm's
        mean is below the best.  Cumulative: the sum of that over all pulls.
    recommended
        The arms that were recommended, as positions in ``problem.arms``.
    spent
        What each run spent, in cost units; never more than the budget.
    simple
        The simple regret of each run, whatever the objective.
    rounds
        The rounds after which cumulative regret was recorded; None for simple regret.
    curve
        The cumulative regret up to each of ``rounds``, a row for each run; None for simple regret.
    """

    problem: Problem
    regret: FloatArray
    recommended: IntArray
    spent: FloatArray
    simple: FloatArray
    rounds: IntArray | None = None
    curve: FloatArray | None = None

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
        return float((self.simple <= TIE).mean())

    def __repr__(self) -> str:
        runs, kind = counted(len(self.regret), "run"), "simple" if self.curve is None else "cumulative"
        return f"<Outcomes of {runs}: mean {kind} regret {self.mean:.4g}, best arm found in {self.share_best:.0%}>"


def simulate(
    policy: Policy | str,
    network: CausalNetwork,
    problem: Problem,
    *,
    horizon: int | None = None,
    budget: float | None = None,
    runs: int,
    seed: int = 0,
    workers: int = 1,
    rounds: Sequence[int] | None = None,
    progress: Progress | bool = False,
) -> Outcomes:
    """Play a policy many times against a known network.

    Give ``horizon`` or ``budget``, not both.

    Parameters
    ----------
    policy
        A policy, or its name with parameters, such as ``"srm"`` or ``"causal-ts(doubt=0.1)"``.
    network
        The network that answers the pulls.
    problem
        The problem that the policy plays.
    horizon
        The number of pulls of a run, if every arm costs 1.
    budget
        What all pulls of a run may cost together.
    runs
        How often the policy is played.
    seed
        The random seed; equal seeds give equal results, and policies with equal seeds meet the same worlds.
    workers
        The number of processes.  Results do not depend on it.  They start when the first runs show that it pays, and
        one that is killed is replaced.
    rounds
        The rounds after which cumulative regret is recorded; by default some sixty, evenly spaced on the logarithmic
        scale.  The last possible round is always added.
    progress
        True for a progress bar, or a function that receives the number of runs done and the number of all runs.

    Returns
    -------
    Outcomes
        What each run recommended, spent and lost.

    Raises
    ------
    UsageError
        If neither or both of ``horizon`` and ``budget`` are given, or a number is out of range.
    UnsuitableError
        If the policy does not support the problem or the budget.

    Examples
    --------
    >>> import whichdo as wd
    >>> network = wd.network("parallel")
    >>> outcomes = wd.simulate("ue", network, network.problem("Y"), horizon=200, runs=3)
    >>> outcomes.regret.shape
    (3,)
    """
    played = as_policy(policy)
    limit = length_of_run(problem, horizon, budget)
    check_policy(played, problem, limit)
    job = Job(played, limit, whole_number(seed, "seed"), rounds)
    (found,) = simulate_all([job], network, problem, runs, workers=workers, progress=progress)
    return found


def length_of_run(problem: Problem, horizon: object, budget: object) -> float:
    """What a simulated run may spend: as `spending_limit`, and above 0."""
    limit = spending_limit(problem, horizon, budget)
    if limit <= 0:
        raise UsageError(f"The {'budget' if horizon is None else 'horizon'} is {limit:g}; it must be above 0.")
    return limit


class Job(NamedTuple):
    """A policy to be played with a budget."""

    policy: Policy
    budget: float
    seed: int
    rounds: Sequence[int] | None = None

    def marks(self, problem: Problem) -> IntArray:
        """The rounds whose regret is recorded; none for a policy that recommends at the end."""
        if self.policy.objective is not Objective.CUMULATIVE:
            if self.rounds is not None:
                raise UsageError(f"{self.policy.name} recommends at the end; its regret has no rounds to record.")
            return np.zeros(0, np.int64)
        most = int(self.budget / min(problem.costs.values()) + 1e-9)
        if self.rounds is None:
            return log_spaced(most)
        chosen = sorted({whole_number(each, "round to record") for each in self.rounds})
        if not chosen or chosen[0] < 1 or chosen[-1] > most:
            raise UsageError(f"The rounds to record must lie between 1 and {most:,}.")
        return np.array([*chosen, *([most] if chosen[-1] < most else [])], np.int64)


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
    marks = [job.marks(problem) for job in jobs]
    curves = [np.empty((count, len(each))) for each in marks]
    done = 0
    with _told(progress) as tell, closing(_done(_Runs(network, problem, tuple(jobs), truth), count, hands)) as parts:
        for (job, start, stop), part in parts:
            recommended[job, start:stop], spent[job, start:stop], curves[job][start:stop] = part
            done += stop - start
            if tell is not None:
                tell(done, len(jobs) * count)
    found = []
    for chosen, paid, rounds, curve in zip(recommended, spent, marks, curves, strict=True):
        simple = truth.max() - truth[chosen]
        if len(rounds):
            found.append(Outcomes(problem, curve[:, -1], chosen, paid, simple, rounds, curve))
        else:
            found.append(Outcomes(problem, simple, chosen, paid, simple))
    return found


def _told(progress: Progress | bool) -> AbstractContextManager[Progress | None]:  # noqa: FBT001 - handed on as given
    if progress is True:
        return progress_bar("simulating", "runs")
    return nullcontext(progress if callable(progress) else None)


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
    """How long a run of the current job takes; its first run, which may compile, does not count unless it is long."""

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
    """What a worker receives once: it plays any runs of the jobs.  The current job stays prepared between tasks."""

    def __init__(self, network: CausalNetwork, problem: Problem, jobs: tuple[Job, ...], truth: FloatArray) -> None:
        self.network, self.problem, self.jobs, self.truth = network, problem, jobs, truth
        self._at_hand: tuple[int, Callable[[int], Run]] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return _Runs, (self.network, self.problem, self.jobs, self.truth)

    def __call__(self, task: Task) -> Part:
        """The positions of the recommended arms, what was spent, and the regrets at the recorded rounds."""
        if self._at_hand is None or self._at_hand[0] != task.job:
            self._at_hand = task.job, self._prepared(self.jobs[task.job])
        run = self._at_hand[1]
        found = []
        with holding_interrupts() as raise_interrupt:
            for number in range(task.start, task.stop):
                found.append(run(number))
                raise_interrupt()
        arms, money = np.array([each.arm for each in found], np.int64), np.array([each.spent for each in found])
        return arms, money, np.array([each.curve for each in found]).reshape(len(found), -1)

    def _prepared(self, job: Job) -> Callable[[int], Run]:
        """A run by its number."""
        policy, budget, network, problem = job.policy, job.budget, self.network, self.problem
        lot, marks, gaps = Lots(job.seed), job.marks(problem), self.truth.max() - self.truth
        nothing = Tally.empty(problem)

        def run(number: int) -> Run:
            key, rng = lot.drawn(number)
            world = World(network, problem, key, marks)
            arm, spent = played(policy, world, budget, rng, nothing)
            return Run(arm, spent, world.record @ gaps if len(marks) else NO_CURVE)

        return run


class Run(NamedTuple):
    """One run: the position of the recommended arm, what was spent, and the regret at the recorded rounds."""

    arm: int
    spent: float
    curve: FloatArray = NO_CURVE


class Lots:
    """For each run by its number the key of its world, and the policy's generator.

    The generator is one object whose state is set for each run, which takes a tenth of the time of a new one.
    """

    def __init__(self, seed: int) -> None:
        self._seed = np.random.SeedSequence(seed)
        self._base = self._seed.generate_state(2, np.uint64).astype(np.uint64)
        self._generator = np.random.Generator(np.random.SFC64(self._seed))
        self._first, self._words = 0, np.zeros((0, 6), np.uint64)

    def drawn(self, number: int) -> tuple[WordArray, np.random.Generator]:
        """What a run begins with; the generator is good until the next."""
        place = number - self._first
        if not 0 <= place < len(self._words):
            place, self._first = 0, number
            self._words = run_words(self._base, number, AHEAD)
        words = self._words[place]
        self._generator.bit_generator.state = {
            "bit_generator": "SFC64",
            "state": {"state": words[2:]},
            "has_uint32": 0,
            "uinteger": 0,
        }
        return words[:2], self._generator


def played(
    policy: Policy, world: World, budget: float, rng: np.random.Generator, seen: Tally | None = None
) -> tuple[int, float]:
    """One run: the position of the recommended arm, and what was spent; ``seen`` is what is known before, or None."""
    problem, before = world.problem, Tally.empty(world.problem) if seen is None else seen
    rounds = policy.play_by_round(problem, budget, rng, before)
    if rounds is not None:
        rounds.run(world)
        return problem.index(rounds.recommendation().arm), float(budget - rounds.left)
    play = policy.play(problem, budget, rng, before)
    answer: Any = None
    while True:
        try:
            batch: Batch = play.send(answer)
        except StopIteration as stop:
            final: Recommendation = stop.value
            return problem.index(final.arm), world.spent
        answer = world.run(batch)


def run_rounds(
    policy: Policy,
    network: CausalNetwork,
    problem: Problem,
    budget: float,
    key: WordArray,
    rng: np.random.Generator,
    marks: IntArray,
    seen: Tally | None = None,
) -> tuple[IntArray, FloatArray, float]:
    """One run of a sequential policy: the pulls of each arm at each of ``marks``, the final means, and what was spent.

    ``marks`` are rounds, rising; ``seen`` is what is known before the first round, such as logged looks, or None.  The
    run ends at the last mark, or where the budget does not pay for the chosen arm; the pulls then stay as they are.
    """
    rounds = policy.play_by_round(problem, budget, rng, Tally.empty(problem) if seen is None else seen)
    if rounds is None:
        raise UsageError(f"{policy.name} does not decide in every round.")
    world = World(network, problem, key, marks)
    rounds.run(world)
    return world.record, rounds.recommendation().means, float(budget - rounds.left)


def log_spaced(rounds: int, count: int = 60) -> IntArray:
    """Round numbers from 1 to ``rounds``, about evenly spaced on the logarithmic scale."""
    found: IntArray = np.unique(np.rint(np.geomspace(1, max(1, rounds), count)).astype(np.int64))
    return found
