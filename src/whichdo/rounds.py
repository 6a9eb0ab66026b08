"""Sequential policies against simulated worlds: one pull a round, and the pulls on record at chosen rounds.

The compiled loop of a policy and its `play` make the same pulls in a world of the same key: arms yield the same
rewards, and looks are the same rows, whoever asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.evidence import Tally
from whichdo.policies.base import prices
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray, WordArray
    from whichdo.kernels.rounds import Rounds
    from whichdo.policies.sequential import Sequential
    from whichdo.problem import Problem
    from whichdo.world.network import CausalNetwork

__all__ = ["log_spaced", "run_rounds"]


def log_spaced(rounds: int, count: int = 60) -> IntArray:
    """Round numbers from 1 to ``rounds``, about evenly spaced on the logarithmic scale."""
    found: IntArray = np.unique(np.rint(np.geomspace(1, max(1, rounds), count)).astype(np.int64))
    return found


def run_rounds(
    policy: Sequential,
    network: CausalNetwork,
    problem: Problem,
    budget: float,
    key: WordArray,
    rng: np.random.Generator,
    marks: IntArray,
    seen: Tally | None = None,
) -> tuple[IntArray, FloatArray, float]:
    """One run: the pulls of each arm at each of ``marks`` (rounds, rising), the final means, and what was spent.

    ``seen`` is what is known before the first round, such as logged looks; None is nothing.  The run ends at the last
    mark, or where the money does not pay the chosen arm; the pulls then stay as they are.
    """
    from whichdo.kernels import BLOCK
    from whichdo.kernels.rounds import MARK, NEXT, OVER, USED, Rounds

    world = World(network, problem, key)
    policy = policy.suited(problem)
    state = policy.begin(problem, budget, rng, Tally.empty(problem) if seen is None else seen)
    columns = [problem.graph.index(name) for name in policy.columns(problem)]
    read = (len(problem.arms) if policy.reads_every_arm else 1) if columns else 0
    rounds = Rounds(
        streams=world.rewards,
        rows=np.zeros((read * BLOCK, len(columns)), np.uint8),
        clock=np.zeros(NEXT + read, np.int64),
        money=np.concatenate([[float(budget)], prices(problem, problem.arms)]),
        marks=marks,
        record=np.zeros((len(marks), len(problem.arms)), np.int64),
    )
    rounds.clock[NEXT:] = BLOCK * np.arange(1, read + 1)  # no row is there yet
    rounds.clock[USED] = 0 if policy.reads_every_arm else len(rounds.rows)
    while not rounds.clock[OVER]:
        if read and rounds.clock[USED] == len(rounds.rows):
            _refill(rounds, world, columns, every=policy.reads_every_arm)
            state = policy.with_room(state, BLOCK)
        policy.loop(state, rounds)
    last = min(int(rounds.clock[MARK]), len(marks) - 1)
    rounds.record[last + 1 :] = rounds.record[last]
    return rounds.record, policy.means(state), float(budget - rounds.money[0])


def _refill(rounds: Rounds, world: World, columns: list[int], *, every: bool) -> None:
    """Draw the next block of looks or, for a policy that reads every arm, of the arm that wants one."""
    from whichdo.kernels import BLOCK
    from whichdo.kernels.rounds import NEXT, USED

    for arm, start in enumerate(range(0, len(rounds.rows), BLOCK)):
        if not every or rounds.clock[NEXT + arm] == -1:
            rounds.rows[start : start + BLOCK] = world.next_rows(arm, BLOCK)[:, columns]
            rounds.clock[NEXT + arm] = start
    rounds.clock[USED] = 0
