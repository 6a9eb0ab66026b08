"""Playing policies against worlds, many runs at a time.

Each run has a seed of its own, derived from the simulation's by its number, and two streams from that: one for the
world, one for the policy.  So results depend neither on the number of workers nor on the order of the runs, and two
policies that are simulated with one seed meet the same worlds.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from math import sqrt
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.errors import UsageError
from whichdo.evidence import Tally, whole_number
from whichdo.policies.base import Objective
from whichdo.policies.sequential import Sequential
from whichdo.rounds import log_spaced, run_rounds
from whichdo.world.exact import reward_laws
from whichdo.world.sampler import SimulatedArena, World, exact_laws

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.evidence import Batch, FloatArray, IntArray
    from whichdo.policies.base import Policy, Recommendation
    from whichdo.problem import Arm, Problem
    from whichdo.world.network import CausalNetwork

__all__ = ["Outcomes", "simulate"]

CHUNK = 32


@dataclass(frozen=True)
class Outcomes:
    """What became of each run, in utility.

    ``regret`` is simple or cumulative, by the policy's objective: how far the recommended arm's mean is below the best,
    or the sum of that over all pulls.  Of a cumulative policy ``curve`` has a row for each run, with the regret up to
    each of ``rounds``.
    """

    problem: Problem
    regret: FloatArray
    recommended: IntArray
    """Positions in ``problem.arms``."""
    spent: FloatArray
    """In cost units; never more than the budget."""
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


def simulate(
    policy: Policy,
    network: CausalNetwork,
    problem: Problem,
    *,
    horizon: float,
    runs: int,
    seed: int = 0,
    workers: int = 1,
    rounds: Sequence[int] | None = None,
) -> Outcomes:
    """Play a policy ``runs`` times against a network with a budget of ``horizon``; the same for any ``workers``.

    ``rounds`` are those after which the regret of a cumulative policy is recorded; by default some sixty, evenly spaced
    on the logarithmic scale.  The last is that in which the budget is spent at the latest.
    """
    count = whole_number(runs, "number of runs")
    if count == 0:
        raise UsageError("The number of runs is 0; simulate at least one.")
    policy.check(problem, horizon)
    utility = np.array(list(problem.utility.values()))
    laws = exact_laws(network, problem)
    truth = (reward_laws(network, problem) if laws is None else laws) @ utility
    marks = _marks(policy, problem, horizon, rounds)
    job = partial(_runs, policy, network, problem, horizon, whole_number(seed, "seed"), marks)
    parts = [range(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]
    if workers <= 1 or len(parts) == 1:
        found = [job(range(count))]
    else:
        with ProcessPoolExecutor(min(workers, len(parts)), mp_context=get_context("spawn")) as pool:
            found = list(pool.map(job, parts))
    runs_of = [run for part in found for run in part]
    recommended = np.array([run.recommended for run in runs_of], dtype=np.int64)
    spent = np.array([run.spent for run in runs_of])
    if marks is None:
        return Outcomes(problem, truth.max() - truth[recommended], recommended, spent)
    curve = np.array([run.pulls @ (truth.max() - truth) for run in runs_of])
    return Outcomes(problem, curve[:, -1], recommended, spent, marks, curve)


class Run(NamedTuple):
    """One run: the position of the recommended arm, what was spent, and the pulls at the recorded rounds, if any."""

    recommended: int
    spent: float
    pulls: IntArray | None = None


def _marks(policy: Policy, problem: Problem, budget: float, rounds: Sequence[int] | None) -> IntArray | None:
    if policy.objective is Objective.SIMPLE:
        if rounds is not None:
            raise UsageError(f"{policy.name} recommends at the end; its regret has no rounds to record.")
        return None
    most = int(budget / min(problem.costs.values()) + 1e-9)
    if rounds is None:
        return log_spaced(most)
    chosen = sorted({whole_number(each, "round to record") for each in rounds})
    if not chosen or chosen[0] < 1 or chosen[-1] > most:
        raise UsageError(f"The rounds to record must lie between 1 and {most:,}.")
    return np.array([*chosen, *([most] if chosen[-1] < most else [])], np.int64)


def _runs(
    policy: Policy,
    network: CausalNetwork,
    problem: Problem,
    budget: float,
    seed: int,
    marks: IntArray | None,
    numbers: Sequence[int],
) -> list[Run]:
    """Runs by their numbers."""
    arena = SimulatedArena.of(network, problem)
    fast = None if arena is None else policy.compiled_run(problem, budget, arena)
    found = []
    for number in numbers:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        key = rng.bit_generator.random_raw(2)  # the world's streams follow from this, the policy's are the rest
        if isinstance(policy, Sequential) and marks is not None:
            pulls, means, spent = run_rounds(policy, network, problem, budget, key, rng, marks)
            found.append(Run(int(np.nanargmax(means)), spent, pulls))
        else:
            found.append(Run(*(fast(key, rng) if fast else played(policy, World(network, problem, key), budget, rng))))
    return found


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
