"""SR: successive rejects (Audibert, Bubeck and Munos, COLT 2010).

K - 1 phases; in each the survivors are pulled equally often and the worst is dropped.  The probability of error falls
like exp(-T / (H log K)) without knowing the gaps.

Where arms cost differently, each phase has the share of the money that it has with equal costs, and pulls the survivors
as often as that share and what earlier phases left over will pay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.evidence import Batch, Tally
from whichdo.kernels.compiling import compiled
from whichdo.kernels.rewards import pull_all, reward_streams
from whichdo.policies.allocation import ROUNDING, means_of, rejects_schedule, worst_of
from whichdo.policies.base import Objective, Play, Policy, Recommendation, prices, refuse_below, utilities
from whichdo.policies.registry import register

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from whichdo.arrays import FloatArray, IntArray, WordArray
    from whichdo.kernels.rewards import RewardStreams
    from whichdo.policies.base import Arena, Run
    from whichdo.problem import Arm, Problem

__all__ = ["SuccessiveRejects", "race", "rejects"]


@register("sr")
@dataclass(frozen=True)
class SuccessiveRejects(Policy):
    """Successive rejects over all arms."""

    objective = Objective.SIMPLE
    looks = False

    def check(self, problem: Problem, budget: float) -> None:
        """T must exceed K."""
        price = prices(problem, problem.answers)
        least = float(price.sum() + price.mean())
        refuse_below(self, budget, least, f"a pull of each of the {len(price)} arms and one more")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:  # noqa: ARG002
        """K - 1 batches at most."""
        winner, tried = yield from rejects(problem, problem.answers, budget, rng.random(len(problem.answers)))
        return Recommendation(winner, tried.means)

    def compiled_run(self, problem: Problem, budget: float, arena: Arena) -> Run | None:
        """The same in one compiled step."""
        price, utility = prices(problem, problem.answers), utilities(problem)
        schedule = rejects_schedule(budget, price)
        arms = len(problem.arms)
        everyone = np.arange(problem.first_answer, arms)

        def run(key: WordArray, rng: np.random.Generator) -> tuple[int, float]:
            streams = reward_streams(arena.bounds, key)
            levels = np.zeros((arms, len(utility)), np.int64)
            return race(streams, everyone, schedule, price, utility, rng.random(len(price)), levels)

        return run


def rejects(
    problem: Problem, arms: Sequence[Arm], money: float, luck: FloatArray
) -> Generator[Batch, Tally, tuple[Arm, Tally]]:
    """Successive rejects among some arms, ``luck`` for each; the survivor, and what was seen."""
    alive = np.array([problem.index(arm) for arm in arms])
    price, chances = prices(problem, arms), luck.copy()
    schedule = rejects_schedule(money, price)
    spent, utility = 0.0, utilities(problem)
    tried = Tally.empty(problem)
    for phase in range(1, len(arms)):
        each = affordable(schedule[phase] - spent, price.sum())
        if each > 0:
            tried = tried + (yield Batch(tuple(problem.arms[j] for j in alive), (each,) * len(alive)))
            spent += each * price.sum()
        out = worst_of(means_of(tried.counts, utility, alive), chances, len(alive))
        alive, price, chances = np.delete(alive, out), np.delete(price, out), np.delete(chances, out)
    return problem.arms[alive[0]], tried


@compiled
def affordable(money: float, price: float) -> int:
    """How many pulls the money buys."""
    return int(np.floor(money / price + ROUNDING))


@compiled
def race(
    streams: RewardStreams,
    arms: IntArray,
    schedule: FloatArray,
    prices: FloatArray,
    utility: FloatArray,
    luck: FloatArray,
    levels: IntArray,
) -> tuple[int, float]:
    """What `rejects` does, against the rewards of a simulated world: the survivor, and the money spent."""
    alive, price, chances = arms.copy(), prices.copy(), luck.copy()
    means = np.full(arms.size, -1.0)
    spent, together = 0.0, prices.sum()
    for phase in range(1, arms.size):
        count = arms.size + 1 - phase
        each = affordable(schedule[phase] - spent, together)
        if each > 0:
            pull_all(streams, alive[:count], np.full(count, each), levels)
            means = means_of(levels, utility, alive[:count])
            spent += each * together
        out, last = worst_of(means, chances, count), count - 1
        together -= price[out]
        alive[out], price[out], chances[out], means[out] = alive[last], price[last], chances[last], means[last]
    return alive[0], spent
