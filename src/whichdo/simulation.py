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
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import UsageError
from whichdo.evidence import Tally, whole_number
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


def simulate(
    policy: Policy,
    network: CausalNetwork,
    problem: Problem,
    *,
    horizon: float,
    runs: int,
    seed: int = 0,
    workers: int = 1,
) -> Outcomes:
    """Play a policy ``runs`` times against a network with a budget of ``horizon``; the same for any ``workers``."""
    count = whole_number(runs, "number of runs")
    if count == 0:
        raise UsageError("The number of runs is 0; simulate at least one.")
    policy.check(problem, horizon)
    utility = np.array(list(problem.utility.values()))
    laws = exact_laws(network, problem)
    truth = (reward_laws(network, problem) if laws is None else laws) @ utility
    job = partial(_runs, policy, network, problem, horizon, whole_number(seed, "seed"))
    parts = [range(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]
    if workers <= 1 or len(parts) == 1:
        found = [job(range(count))]
    else:
        with ProcessPoolExecutor(min(workers, len(parts)), mp_context=get_context("spawn")) as pool:
            found = list(pool.map(job, parts))
    recommended = np.array([position for part in found for position, _ in part], dtype=np.int64)
    spent = np.array([money for part in found for _, money in part])
    return Outcomes(problem, truth.max() - truth[recommended], recommended, spent)


def _runs(
    policy: Policy, network: CausalNetwork, problem: Problem, budget: float, seed: int, numbers: Sequence[int]
) -> list[tuple[int, float]]:
    """Runs by their numbers: the position of the recommended arm, and what was spent."""
    arena = SimulatedArena.of(network, problem)
    fast = None if arena is None else policy.compiled_run(problem, budget, arena)
    found = []
    for number in numbers:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        key = rng.bit_generator.random_raw(2)  # the world's streams follow from this, the policy's are the rest
        found.append(fast(key, rng) if fast else played(policy, World(network, problem, key), budget, rng))
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
