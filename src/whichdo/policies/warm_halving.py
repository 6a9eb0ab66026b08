"""Warm halving: look first, then cut the arms down, each starting with what looking was worth.

Ours.  Looking gives every arm that it can settle a mean and an effective size, the number of direct pulls it was worth.
Arms that are clearly worse are dropped at once; the rest go through rounds in which a pull always goes to the surviving
arm with the least evidence, and means pool looking with pulling.  An arm that looking cannot settle begins with nothing
and lives on its pulls.  Half the budget goes into looking where that serves every arm, less in proportion where it
serves fewer; logs at hand count as looks.

It began as sequential halving.  Now a cut leaves two thirds, and the money of the rounds is that of nonlinear
sequential elimination (Shahrampour, Noshad and Tarokh 2017), a relative of successive rejects: see `cuts`.

Evidence is unequal when the race begins, so until the last round arms are cut by their mean plus one standard unit
of what is known about them: an arm that was tried twice is not dropped because one of the two failed.

Where nothing hidden acts on the reward and the budget pays three pulls for each row of each mechanism, as CB-ALG asks,
pulls tell more than their reward: do(X=x) leaves all mechanisms but X's as they are.  The race then only decides where
pulls go; at the end every mechanism is learned from all looks and pulls together, and the arm whose mean follows from
them is the best is named.  Arms that differ by little often share what is uncertain about them, so that this tells them
apart where direct means cannot.  Looks at hand must then be counted by mechanism too, in the scopes that the first
batch names; where they are not, pulls tell their reward alone, and a note says so.

Where SRM-ALG replaces an estimate by the direct mean and spreads its second half equally, nothing is thrown away here,
and the budget follows the arms that are still in question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError
from whichdo.estimate.kernel import MEAN, SIZE, look
from whichdo.estimate.model import model_of
from whichdo.estimate.propagation import MAX_NUMBERS, extent, hidden_causes, learned_means, steps
from whichdo.evidence import REWARDS, TABLES, Batch, Tally, observe
from whichdo.formulas import checked_reading
from whichdo.kernels.compiling import compiled
from whichdo.kernels.rewards import pull_all, reward_streams
from whichdo.policies.allocation import best_few, best_of, cuts, water_filling
from whichdo.policies.base import (
    BEFORE_READINGS,
    Objective,
    Play,
    Policy,
    Recommendation,
    prices,
    refuse_below,
    utilities,
)
from whichdo.policies.registry import register
from whichdo.problem import LOOK

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray, WordArray
    from whichdo.estimate.kernel import KernelPlan
    from whichdo.estimate.model import Model
    from whichdo.kernels.rewards import RewardStreams
    from whichdo.policies.base import Arena, Run
    from whichdo.problem import Problem
    from whichdo.tables import Scope

__all__ = ["WarmHalving"]

PULLS_A_ROW = 3
UNCOUNTED = (
    "The looks at hand are not counted by mechanism ({scope} together), so that pulls told their reward alone. Count "
    "them in the scopes of the first batch of a session without looks, and what pulls tell of every mechanism is used."
)


@register("warm-halving")
@dataclass(frozen=True)
class WarmHalving(Policy):
    """Warm halving; a standard unit is one over the square root of an arm's evidence.

    ``caution`` is how many units an arm must be worse for sure to be dropped before the race; ``optimism`` how many
    units are added to an arm's mean in the cuts, but for the last.  ``mechanisms=False`` asks of pulls their reward
    alone, for those who cannot observe more of them, or trust the graph less.  ``reading`` is how much of the graph
    estimates by looking lean on: "robust" or "graph".
    """

    caution: float = 1.5
    optimism: float = 1.0
    mechanisms: bool = True
    reading: str = "robust"
    objective = Objective.SIMPLE
    takes_pulls = True
    revision = 2
    when_absent = BEFORE_READINGS

    def __post_init__(self) -> None:
        checked_reading(self.reading)
        if not self.caution > 0:
            raise UsageError(f"caution is {self.caution!r}; it must be above 0.")
        if not 0 <= self.optimism < float("inf"):
            raise UsageError(f"optimism is {self.optimism!r}; it must be 0 or more.")

    def trusting(self) -> WarmHalving:
        """The same, leaning on every missing edge."""
        return replace(self, reading="graph")

    def check(self, problem: Problem, budget: float) -> None:
        """One look and one pull at least."""
        least = problem.costs[problem.arms[0]] + max(problem.costs.values())
        refuse_below(self, budget, least, "a look and a pull")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """One batch of looks, then one a round."""
        luck, price, utility = rng.random(len(problem.arms)), prices(problem, problem.arms), utilities(problem)
        model, left, at_hand = self._model(problem, budget, seen), float(budget), seen
        scopes, notes = self._asked(problem, budget, seen)
        detail = TABLES if scopes else REWARDS
        looks = max(0, _looks(model, budget) - int(seen.counts[0].sum()))  # logged ones are made already
        if looks:
            seen = seen + (yield observe(looks, scopes=scopes or model.scopes))
            left -= looks * price[0]
        base, sizes = evidence(model.plan, model.counts(seen), model.sources, utility)
        alive = plausible(base, sizes, self.caution)
        tried = _direct(problem, at_hand)
        staying, shares = cuts(alive.size)
        for number, share in enumerate(shares, start=1):
            counts = water_filling(sizes[alive] + tried.pulls[alive], price[alive], left * share)
            left -= (counts * price[alive]).sum()
            if counts.any():
                arms = tuple(problem.arms[j] for j in alive[counts > 0])
                tried = tried + (yield Batch(arms, tuple(counts[counts > 0].tolist()), detail, scopes))
            means = pooled(base, sizes, tried.counts, utility, alive)
            known = sizes[alive] + tried.pulls[alive]
            optimism = self.optimism if number < len(shares) else 0.0
            alive = alive[survivors(means, known, luck[alive], optimism, staying[number])]
        if scopes:
            means = learned_means(problem, seen + tried)
            return Recommendation(problem.arms[best_of(means, luck)], means)
        means = pooled(base, sizes, tried.counts, utility, np.arange(len(problem.arms)))
        return Recommendation(problem.arms[alive[0]], means, notes)

    def _asked(self, problem: Problem, budget: float, seen: Tally) -> tuple[tuple[Scope, ...] | None, tuple[str, ...]]:
        """The scopes in which looks and pulls are counted, None where pulls tell their reward alone; and notes."""
        if not (self.mechanisms and _pays(problem, budget)) or seen.counts[1:].any():  # pulls at hand have no tables
            return None, ()
        wanted = tuple(step.scope for step in steps(problem))
        if seen.counts[0].any():
            lacking = [scope for scope in wanted if scope not in seen.tables.get(LOOK, {})]
            if lacking:
                return None, (UNCOUNTED.format(scope=", ".join(lacking[-1])),)
        return tuple(dict.fromkeys((*self._model(problem, budget, seen).scopes, *wanted))), ()

    def _model(self, problem: Problem, budget: float, seen: Tally) -> Model:
        pulls = int(budget / min(problem.costs.values()))
        return model_of(problem, checked_reading(self.reading), int(seen.pulls[0]) + pulls, seen)

    def compiled_run(self, problem: Problem, budget: float, arena: Arena) -> Run | None:
        """The same in compiled steps; none where whole rows of pulls are read."""
        if self.mechanisms and _pays(problem, budget):
            return None
        model = self._model(problem, budget, Tally.empty(problem))
        looks = arena.looks(model.scopes)
        if looks is None:
            return None
        price, utility = prices(problem, problem.arms), utilities(problem)
        number = _looks(model, budget)
        left = float(budget - number * price[0])
        nothing = model.counts(Tally.empty(problem))
        plan, sources, bounds = model.plan, model.sources, arena.bounds

        def run(key: WordArray, rng: np.random.Generator) -> tuple[int, float]:
            luck = rng.random(len(price))
            counts = looks(key)(number) if number else nothing
            winner, spent = _whole(
                plan, counts, sources, bounds, key, self.caution, self.optimism, price, left, utility, luck
            )
            return winner, number * price[0] + spent

        return run


def _direct(problem: Problem, seen: Tally) -> Tally:
    """The pulls at hand without the looks."""
    counts = seen.counts.copy()
    counts[0] = 0
    return Tally(problem, counts)


def _looks(model: Model, budget: float) -> int:
    """How often to look: for half the money, or less in proportion where looking serves fewer arms."""
    served = np.count_nonzero(model.sources[1:] >= 0) / len(model.sources[1:])
    return int(budget * served / 2 / model.problem.costs[LOOK])


def _pays(problem: Problem, budget: float) -> bool:
    """Whether every mechanism can be learned: nothing hidden acts, and the budget buys three pulls for each row."""
    size = extent(problem)
    pulls = budget / max(problem.costs.values())
    return not hidden_causes(problem) and PULLS_A_ROW * size.rows <= pulls and size.numbers <= MAX_NUMBERS


@compiled
def evidence(
    plan: KernelPlan, counts: FloatArray, sources: IntArray, utility: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What looking says of every arm: means, and their sizes in pulls; size 0 where it says nothing."""
    found = look(plan, counts, utility)
    means, sizes = np.full(sources.size, 0.5), np.zeros(sources.size)
    for j in range(sources.size):
        if sources[j] >= 0 and found[sources[j], SIZE] > 0.0:
            means[j], sizes[j] = found[sources[j], MEAN], found[sources[j], SIZE]
    return means, sizes


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
def survivors(means: FloatArray, known: FloatArray, luck: FloatArray, optimism: float, number: int) -> IntArray:
    """The positions of so many best, by mean and so many standard units of the evidence."""
    hopes = np.empty(means.size)
    for j in range(means.size):
        hopes[j] = means[j] + optimism / np.sqrt(max(known[j], 1e-12))
    return best_few(hopes, luck, number)


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
    """The race of `play` against the rewards of a simulated world: the survivor, and the money spent."""
    alive = plausible(base, sizes, caution)
    levels = np.zeros((base.size, utility.size), np.int64)
    known, price, chance = sizes[alive], prices[alive], luck[alive]  # kept beside `alive`: gathering anew costs more
    left = money
    staying, shares = cuts(alive.size)
    for number in range(shares.size):
        counts = water_filling(known, price, left * shares[number])
        pull_all(streams, alive, counts, levels)
        paid = 0.0
        for j in range(counts.size):
            paid += counts[j] * price[j]
            known[j] += counts[j]
        left -= paid
        means = pooled(base, sizes, levels, utility, alive)
        hope = optimism if number < shares.size - 1 else 0.0
        stay = survivors(means, known, chance, hope, staying[number + 1])
        for j in range(stay.size):
            place = stay[j]
            alive[j], known[j], price[j], chance[j] = alive[place], known[place], price[place], chance[place]
        alive, known, price, chance = alive[: stay.size], known[: stay.size], price[: stay.size], chance[: stay.size]
    return alive[0], money - left


@compiled
def _whole(
    plan: KernelPlan,
    counts: FloatArray,
    sources: IntArray,
    bounds: WordArray,
    key: WordArray,
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
