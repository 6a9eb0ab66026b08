"""SR: successive rejects (Audibert, Bubeck and Munos, COLT 2010).

K - 1 phases; in each the survivors are pulled equally often and the worst is dropped.  The probability of error falls
like exp(-T / (H log K)) without knowing the gaps.

Where arms cost differently, each phase has the share of the budget that it has with equal costs, and pulls the
survivors as often as that share and what earlier phases left over will pay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.evidence import all_prices, utilities
from whichdo.kernels.compiling import compiled
from whichdo.kernels.rewards import pull_all
from whichdo.policies.allocation import ROUNDING, means_of, rejects_schedule
from whichdo.policies.base import Objective, Play, Policy, Recommendation, refuse_below
from whichdo.policies.racing import Race, raced
from whichdo.policies.registry import register

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.kernels.rewards import RewardStreams
    from whichdo.problem import Problem


SPENT, TOGETHER = 0, 1  # of the money
PHASE, LISTED = 0, 1  # of the clock


@register("sr")
@dataclass(frozen=True)
class SuccessiveRejects(Policy):
    """Successive rejects over all arms."""

    objective = Objective.SIMPLE
    looks = False

    def check(self, problem: Problem, budget: float) -> None:
        """T must exceed K."""
        price = all_prices(problem)[problem.first_answer :]
        least = float(price.sum() + price.mean())
        refuse_below(self, budget, least, f"a pull of each of the {len(price)} arms and one more")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:  # noqa: ARG002
        """K - 1 batches at most."""
        arms = np.arange(problem.first_answer, len(problem.arms))
        luck = np.zeros(len(problem.arms))
        luck[arms] = rng.random(len(arms))
        race = rejects(problem, arms, budget, luck)
        tried = yield from raced(problem, race)
        return Recommendation(problem.arms[race.state.arms[0]], tried.means)


class Rejects(NamedTuple):
    """The arms that are left, first in ``arms``, and beside each its mean; the costs and the luck of all arms.

    ``schedule`` is what may be spent up to each phase; ``money`` what has been spent, and what a pull of each arm that
    is left costs together.  ``clock`` holds the phase, and how many arms are left.
    """

    arms: IntArray
    counts: IntArray
    levels: IntArray
    prices: FloatArray
    luck: FloatArray
    means: FloatArray
    schedule: FloatArray
    utility: FloatArray
    money: FloatArray
    clock: IntArray


def rejects(problem: Problem, arms: IntArray, money: float, luck: FloatArray) -> Race[Rejects]:
    """Successive rejects among some arms, with the ``luck`` of all."""
    utility, prices = utilities(problem), all_prices(problem)
    state = Rejects(
        arms=arms,
        counts=np.zeros(len(arms), np.int64),
        levels=np.zeros((len(problem.arms), len(utility)), np.int64),
        prices=prices,
        luck=luck,
        means=np.full(len(arms), -1.0),
        schedule=rejects_schedule(float(money), prices[arms]),
        utility=utility,
        money=np.zeros(2),
        clock=np.array([0, len(arms)]),
    )
    return Race(state, step, loop)


@compiled
def affordable(money: float, price: float) -> int:
    """How many pulls the budget pays for."""
    return int(np.floor(money / price + ROUNDING))


@compiled
def step(state: Rejects) -> int:
    """Reject the worst, and one after the other until a phase can pay for pulls."""
    arms, counts, levels, prices, luck, means, schedule, utility, money, clock = state
    return _reject(arms, counts, levels, prices, luck, means, schedule, utility, money, clock)


@compiled
def _reject(
    arms: IntArray, counts: IntArray, levels: IntArray, prices: FloatArray, luck: FloatArray, means: FloatArray,
    schedule: FloatArray, utility: FloatArray, money: FloatArray, clock: IntArray,
) -> int:  # fmt: skip
    phase, listed = clock[PHASE], clock[LISTED]
    if phase > 0:
        found = means_of(levels, utility, arms[:listed])
        for j in range(listed):
            means[j] = found[j]
    else:
        for arm in arms:
            money[TOGETHER] += prices[arm]
    each = 0
    while each == 0 and phase < arms.size:
        if phase > 0:
            out = _worst(means, luck, arms, listed)
            money[TOGETHER] -= prices[arms[out]]
            means[out] = np.inf  # so that it is never the worst again
        phase += 1
        if phase < arms.size:
            each = affordable(schedule[phase] - money[SPENT], money[TOGETHER])
    left = 0
    for j in range(listed):
        if means[j] < np.inf:
            arms[left], means[left] = arms[j], means[j]
            left += 1
    clock[PHASE], clock[LISTED] = phase, left
    if each == 0:
        return 0
    counts[:left] = each
    money[SPENT] += each * money[TOGETHER]
    return left


@compiled
def _worst(means: FloatArray, luck: FloatArray, arms: IntArray, count: int) -> int:
    """The place of the smallest mean among the first ``count``; of equal ones that of the arm with the least luck."""
    worst, low = 0, means[0]
    for j in range(1, count):
        mean = means[j]
        if mean <= low and (mean < low or luck[arms[j]] < luck[arms[worst]]):
            worst, low = j, mean
    return worst


@compiled
def loop(state: Rejects, streams: RewardStreams, number: int) -> None:
    """All phases against the rewards of a simulated world; the state is taken apart once, which saves time."""
    arms, counts, levels, prices, luck, means, schedule, utility, money, clock = state
    while number > 0:
        pull_all(streams, arms[:number], counts[:number], levels)
        number = _reject(arms, counts, levels, prices, luck, means, schedule, utility, money, clock)
