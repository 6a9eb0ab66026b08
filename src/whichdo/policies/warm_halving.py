"""Warm halving: look first, then halve the arms, each starting with what looking was worth.

Ours.  Looking gives every arm that it can settle a mean and an effective size, the number of direct pulls it was worth.
Arms that are clearly worse are dropped at once; the rest go through sequential halving in which a pull always goes to
the surviving arm with the least evidence, and means pool looking with pulling.  An arm that looking cannot settle
begins with nothing and lives on its pulls.  Half the budget goes into looking where that serves every arm, less in
proportion where it serves fewer; logs at hand count as looks.

Evidence is unequal when the halving begins, so until the last round arms are cut by their mean plus one standard unit
of what is known about them: an arm that was tried twice is not dropped because one of the two failed.

Where SRM-ALG replaces an estimate by the direct mean and spreads its second half equally, nothing is thrown away here,
and the budget follows the arms that are still in question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError
from whichdo.estimate.interventional import estimator
from whichdo.evidence import Batch, Tally, observe
from whichdo.kernels.compiling import compiled
from whichdo.kernels.contraction import MEAN, SIZE, contract
from whichdo.kernels.rewards import pull_all, reward_streams
from whichdo.policies.allocation import better_half, water_filling
from whichdo.policies.base import Objective, Play, Policy, Recommendation, prices, refuse_below, utilities
from whichdo.policies.registry import register

if TYPE_CHECKING:
    from whichdo.evidence import FloatArray, IntArray
    from whichdo.kernels.contraction import NetPlan
    from whichdo.kernels.rewards import RewardStreams
    from whichdo.policies.base import Arena, Run, Words
    from whichdo.problem import Problem

__all__ = ["WarmHalving"]


@register("warm-halving")
@dataclass(frozen=True)
class WarmHalving(Policy):
    """Warm halving; a standard unit is one over the square root of an arm's evidence.

    ``caution`` is how many units an arm must be worse for sure to be dropped before the halving; ``optimism`` how many
    units are added to an arm's mean in the cuts, but for the last.
    """

    caution: float = 1.5
    optimism: float = 1.0
    objective = Objective.SIMPLE
    takes_pulls = True

    def __post_init__(self) -> None:
        if not self.caution > 0:
            raise UsageError(f"caution is {self.caution!r}; it must be above 0.")
        if not 0 <= self.optimism < float("inf"):
            raise UsageError(f"optimism is {self.optimism!r}; it must be 0 or more.")

    def check(self, problem: Problem, budget: float) -> None:
        """One look and one pull at least."""
        least = problem.costs[problem.arms[0]] + max(problem.costs.values())
        refuse_below(self, budget, least, "a look and a pull")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """One batch of looks, then one a round."""
        luck, price, utility = rng.random(len(problem.arms)), prices(problem, problem.arms), utilities(problem)
        model = estimator(problem)
        left, at_hand = float(budget), seen
        look = max(0, _looks(problem, budget) - int(seen.counts[0].sum()))  # logs at hand are looks already made
        if look:
            seen = seen + (yield observe(look, scopes=model.scopes))
            left -= look * price[0]
        base, sizes = evidence(model.plan, model.counts(seen), model.sources, utility)
        alive = plausible(base, sizes, self.caution)
        tried = _direct(problem, at_hand)
        for number in range(_rounds(alive.size), 0, -1):
            counts = water_filling(sizes[alive] + tried.pulls[alive], price[alive], left / number)
            left -= (counts * price[alive]).sum()
            if counts.any():
                wanted = alive[counts > 0]
                arms = tuple(problem.arms[j] for j in wanted)
                tried = tried + (yield Batch(arms, tuple(counts[counts > 0].tolist())))
            means = pooled(base, sizes, tried.counts, utility, alive)
            known = sizes[alive] + tried.pulls[alive]
            alive = alive[survivors(means, known, luck[alive], self.optimism if number > 1 else 0.0)]
        everyone = np.arange(len(problem.arms))
        return Recommendation(problem.arms[alive[0]], pooled(base, sizes, tried.counts, utility, everyone))

    def compiled_run(self, problem: Problem, budget: float, arena: Arena) -> Run | None:
        """The same in compiled steps."""
        model = estimator(problem)
        looks = arena.looks(model.scopes)
        if looks is None:
            return None
        price, utility = prices(problem, problem.arms), utilities(problem)
        look = _looks(problem, budget)
        left = float(budget - look * price[0])
        nothing = model.counts(Tally.empty(problem))
        plan, sources, bounds = model.plan, model.sources, arena.bounds

        def run(key: Words, rng: np.random.Generator) -> tuple[int, float]:
            luck = rng.random(len(price))
            counts = looks(key)(look) if look else nothing
            winner, spent = _whole(
                plan, counts, sources, bounds, key, self.caution, self.optimism, price, left, utility, luck
            )
            return winner, look * price[0] + spent

        return run


def _direct(problem: Problem, seen: Tally) -> Tally:
    """The pulls at hand without the looks."""
    counts = seen.counts.copy()
    counts[0] = 0
    return Tally(problem, counts)


def _looks(problem: Problem, budget: float) -> int:
    """How often to look: for half the money, or less in proportion where looking serves fewer arms."""
    sources = estimator(problem).sources[1:]
    served = np.count_nonzero(sources >= 0) / len(sources)
    return int(budget * served / 2 / problem.costs[problem.arms[0]])


@compiled
def evidence(
    plan: NetPlan, counts: FloatArray, sources: IntArray, utility: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What looking says of every arm: means, and their sizes in pulls; size 0 where it says nothing."""
    found, _ = contract(plan, counts, utility, 1.0, 0.0)
    means, sizes = np.full(sources.size, 0.5), np.zeros(sources.size)
    for j in range(sources.size):
        if sources[j] >= 0 and found[sources[j], SIZE] > 0.0:
            means[j], sizes[j] = found[sources[j], MEAN], found[sources[j], SIZE]
    return means, sizes


@compiled
def _rounds(arms: int) -> int:
    return max(1, int(np.ceil(np.log2(arms))))


@compiled
def plausible(means: FloatArray, sizes: FloatArray, caution: float) -> IntArray:
    """The arms that could still be best: upper end not below the best lower end."""
    best = -np.inf
    for j in range(means.size):
        if sizes[j] > 0.0:
            best = max(best, means[j] - caution / np.sqrt(sizes[j]))
    alive = np.empty(means.size, np.int64)
    count = 0
    for j in range(means.size):
        if sizes[j] <= 0.0 or means[j] + caution / np.sqrt(sizes[j]) >= best:
            alive[count] = j
            count += 1
    return alive[:count]


@compiled
def pooled(base: FloatArray, sizes: FloatArray, levels: IntArray, utility: FloatArray, arms: IntArray) -> FloatArray:
    """The means of looking and pulling together; an arm that nothing is known of counts as the worst."""
    means = np.empty(arms.size)
    for j in range(arms.size):
        arm = arms[j]
        total, weight = base[arm] * sizes[arm], sizes[arm]
        for level in range(utility.size):
            total += levels[arm, level] * utility[level]
            weight += levels[arm, level]
        means[j] = total / weight if weight > 0.0 else -1.0
    return means


@compiled
def survivors(means: FloatArray, known: FloatArray, luck: FloatArray, optimism: float) -> IntArray:
    """The positions of the better half, by mean and so many standard units of the evidence."""
    return better_half(means + optimism / np.sqrt(np.maximum(known, 1e-12)), luck)


@compiled
def _race(
    streams: RewardStreams,
    base: FloatArray,
    sizes: FloatArray,
    caution: float,
    optimism: float,
    prices: FloatArray,
    money: float,
    utility: FloatArray,
    luck: FloatArray,
) -> tuple[int, float]:
    """The halving of `play` against the rewards of a simulated world: the survivor, and the money spent."""
    alive = plausible(base, sizes, caution)
    levels = np.zeros((base.size, utility.size), np.int64)
    known = sizes.copy()
    left = money
    for number in range(_rounds(alive.size), 0, -1):
        counts = water_filling(known[alive], prices[alive], left / number)
        left -= (counts * prices[alive]).sum()
        pull_all(streams, alive, counts, levels)
        known[alive] = known[alive] + counts
        means = pooled(base, sizes, levels, utility, alive)
        alive = alive[survivors(means, known[alive], luck[alive], optimism if number > 1 else 0.0)]
    return alive[0], money - left


@compiled
def _whole(
    plan: NetPlan,
    counts: FloatArray,
    sources: IntArray,
    bounds: Words,
    key: Words,
    caution: float,
    optimism: float,
    prices: FloatArray,
    money: float,
    utility: FloatArray,
    luck: FloatArray,
) -> tuple[int, float]:
    """All that follows the looks."""
    base, sizes = evidence(plan, counts, sources, utility)
    return _race(reward_streams(bounds, key), base, sizes, caution, optimism, prices, money, utility, luck)
