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

Of an arm that looking cannot settle, looks still bound the mean (`whichdo.policies.bounding`): it is dropped before the
race if its upper end is too low, and in the race it hopes for no more than that.

The graph may be wrong, and logs may be old (`whichdo.estimate.doubt`).  So with a ``doubt`` there are two races: the
first is run as if looking were wrong, among all arms, without bounds and with what looking says as a mere hint; the
second as before, but for arms of which the first has shown that looking is likely wrong.  The last word weighs both
readings of every arm by how likely all pulls have made them; what mechanisms say counts unless something is more likely
wrong than not.  With logs a few looks are made first, duels follow the first race instead of another
(`whichdo.policies.duels`), and old logs are told from a wrong graph.  Looks at hand that deny the graph raise the doubt
of the arms that this touches (`whichdo.checking.denial`).

Where SRM-ALG replaces an estimate by the direct mean and spreads its second half equally, nothing is thrown away here,
and the budget follows the arms that are still in question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from whichdo.checking.denial import denial
from whichdo.errors import UsageError
from whichdo.estimate.doubt import LEFT, checked_doubt
from whichdo.estimate.doubted import Logged
from whichdo.estimate.estimator import Rule
from whichdo.estimate.frontier import MAX_NUMBERS, extent, hidden_causes, learned_means, steps
from whichdo.estimate.kernel import MEAN, SIZE, look
from whichdo.estimate.model import model_of
from whichdo.evidence import REWARDS, TABLES, Tally, observe
from whichdo.formulas import checked_reading
from whichdo.kernels.compiling import compiled
from whichdo.kernels.rewards import pull_all, reward_streams
from whichdo.policies.allocation import best_of, cuts, water_filling
from whichdo.policies.base import (
    BEFORE_DOUBT,
    DOUBT_WHEN_NAMING,
    Objective,
    Play,
    Policy,
    Recommendation,
    prices,
    refuse_below,
    utilities,
)
from whichdo.policies.bounding import bounding_scopes, bounds_of, counts_with_bounds, rebound, start_bounds
from whichdo.policies.doubting import OF_FEW, OF_MANY, before_pulls, recount
from whichdo.policies.duels import Duels
from whichdo.policies.racing import Race, best_left, narrow, plausible, pooled, pulls_of, survivors
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
FRESH = 0.1
"""How many looks are made beside logged ones that may be old, as a share of those that would be made without."""
AS_IF_WRONG = 0.75
"""The share of the race's money that is spent as if looking were wrong, where that is doubted."""
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
    estimates by looking lean on: "robust" or "graph".  ``doubt`` is how likely the graph or the logs are thought to be
    wrong before any pull.
    """

    caution: float = 1.5
    optimism: float = 1.0
    mechanisms: bool = True
    reading: str = "robust"
    doubt: float = DOUBT_WHEN_NAMING
    objective = Objective.SIMPLE
    takes_pulls = True
    revision = 6
    when_absent = BEFORE_DOUBT

    def __post_init__(self) -> None:
        checked_reading(self.reading)
        checked_doubt(self.doubt)
        if not self.caution > 0:
            raise UsageError(f"caution is {self.caution!r}; it must be above 0.")
        if not 0 <= self.optimism < float("inf"):
            raise UsageError(f"optimism is {self.optimism!r}; it must be 0 or more.")

    def trusting(self) -> WarmHalving:
        """The same, leaning on every missing edge and doubting nothing."""
        return replace(self, reading="graph", doubt=0.0)

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
        logged = bool(at_hand.counts[0].any())
        looks = max(0, _looks(model, budget) - int(seen.counts[0].sum()))  # logged ones are made already
        if self.doubt and logged:  # but they may be old
            looks = max(looks, int(FRESH * _looks(model, budget)))
        fresh = Tally.empty(problem)
        if looks:
            fresh = yield observe(looks, scopes=scopes or _with_bounds(model))
            seen = seen + fresh
            left -= looks * price[0]
        counts = counts_with_bounds(problem, model.counts(seen), model.scopes, seen)
        base, sizes = evidence(model.plan, counts, model.sources, utility)
        bounds = bounds_of(problem, _with_bounds(model), counts, utility)
        ends = (bounds.lows, bounds.highs)
        looking = _with_bounds(model) if self.doubt and logged else None
        race = Race(problem, price, utility, luck, self.optimism, detail, scopes, looking)
        tried, since, first, chance = _direct(problem, at_hand), np.zeros_like(seen.counts), problem.first_answer, 0.0
        if self.doubt:
            base[0], sizes[0] = _logged(at_hand, utility)
            since[0] = fresh.counts[0]
            denied = denial(problem, at_hand, self.doubt, self.reading)
            hints, money = np.minimum(sizes, LEFT), left * _as_if_wrong(sizes)
            wide = (np.zeros_like(base), np.ones_like(base))
            everyone = np.arange(first, len(problem.arms))
            tried, spent, one = yield from race.run(base, hints, everyone, tried, since, money, wide)
            if logged:
                known = Logged(at_hand, utility, self.doubt, denied.chances, Rule(checked_reading(self.reading)))
                last = Duels(race, known, fresh, bounds, first)
                return (yield from last.run(tried, one, left - spent, notes))
            told = tried.counts + since
            means, believed, chance = weighed(self.doubt, denied.chances, base, sizes, told, utility)
            pulls = pulls_of(told)
            narrow(means, pulls, 0.0, *ends)
            alive = plausible(means, believed + pulls, self.caution, *ends, first)
            tried, _, other = yield from race.run(base, believed, alive, tried, since, left - spent, ends)
            told = tried.counts + since
            means, believed, chance = weighed(self.doubt, denied.chances, base, sizes, told, utility)
            pulls = pulls_of(told)
            narrow(means, pulls, 0.0, *ends)
            winner = best_left(means, believed + pulls, luck, self.optimism, bounds.highs, (one, other), first)
        else:
            alive = plausible(base, sizes, self.caution, *ends, first)
            tried, _, winner = yield from race.run(base, sizes, alive, tried, since, left, ends)
            means = pooled(base, sizes, tried.counts, utility, np.arange(len(problem.arms)), *ends)
        if scopes and chance <= 0.5:
            means = learned_means(problem, seen + tried)
            return Recommendation(problem.arms[best_of(means, luck, first)], means)
        return Recommendation(problem.arms[winner], means, notes)

    def _asked(self, problem: Problem, budget: float, seen: Tally) -> tuple[tuple[Scope, ...] | None, tuple[str, ...]]:
        """The scopes in which looks and pulls are counted, None where pulls tell their reward alone; and notes."""
        if not (self.mechanisms and _pays(problem, budget)) or seen.counts[1:].any():  # pulls at hand have no tables
            return None, ()
        wanted = tuple(step.scope for step in steps(problem))
        if seen.counts[0].any() and not self.doubt:  # with a doubt, logs are not added up with pulls by mechanism
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
        looks = arena.looks(_with_bounds(model))
        if looks is None:
            return None
        price, utility = prices(problem, problem.arms), utilities(problem)
        number = _looks(model, budget)
        left = float(budget - number * price[0])
        nothing = counts_with_bounds(problem, model.counts(Tally.empty(problem)), model.scopes, Tally.empty(problem))
        plan, sources, laws, first = model.plan, model.sources, arena.bounds, problem.first_answer
        bounds, unpulled = start_bounds(problem, _with_bounds(model)), np.zeros(len(price))

        def run(key: WordArray, rng: np.random.Generator) -> tuple[int, float]:
            luck = rng.random(len(price))
            counts = looks(key)(number) if number else nothing
            rebound(bounds, counts, utility, unpulled, unpulled)
            winner, spent = _whole(
                plan,
                counts,
                sources,
                bounds.lows,
                bounds.highs,
                laws,
                key,
                self.caution,
                self.optimism,
                self.doubt,
                price,
                left,
                utility,
                luck,
                first,
            )
            return winner, number * price[0] + spent

        return run


def _with_bounds(model: Model) -> tuple[Scope, ...]:
    """What looks are counted by: for estimates, then for bounds."""
    return tuple(dict.fromkeys((*model.scopes, *bounding_scopes(model.problem))))


def _direct(problem: Problem, seen: Tally) -> Tally:
    """The pulls at hand without the looks."""
    counts = seen.counts.copy()
    counts[0] = 0
    return Tally(problem, counts)


def _logged(seen: Tally, utility: FloatArray) -> tuple[float, float]:
    """The mean of the looks at hand, and their number."""
    looks = float(seen.counts[0].sum())
    return (float(seen.counts[0] @ utility) / looks, looks) if looks else (0.5, 0.0)


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
def _as_if_wrong(sizes: FloatArray) -> float:
    """The share of the money for a race as if looking were wrong; nothing where looking says nothing."""
    return AS_IF_WRONG if sizes.max() > LEFT else 0.0


@compiled
def weighed(
    doubt: float,
    denied: FloatArray,
    base: FloatArray,
    sizes: FloatArray,
    levels: IntArray,
    utility: FloatArray,
) -> tuple[FloatArray, FloatArray, float]:
    """The means by all evidence, looking being right or wrong; what it is then worth; and how likely it is wrong.

    What looking says of an arm is worth a hint where it is more likely wrong than right.
    """
    wins, losses = np.zeros(base.size), np.zeros(base.size)
    for arm in range(base.size):
        for level in range(utility.size):
            wins[arm] += levels[arm, level] * utility[level]
            losses[arm] += levels[arm, level] * (1.0 - utility[level])
    factors, shares, whole = before_pulls(doubt, denied)
    recount(factors, shares, whole, wins, losses, base, sizes)
    means, believed = np.full(base.size, -1.0), sizes.copy()
    for arm in range(base.size):
        pulls = wins[arm] + losses[arm]
        if pulls + sizes[arm] > 0.0:
            means[arm] = (wins[arm] + sizes[arm] * base[arm]) / (pulls + sizes[arm])
        if sizes[arm] > LEFT:
            wrong = whole[OF_FEW] * shares[0, arm] + whole[OF_MANY] * shares[1, arm]
            wrong += (1.0 - whole[OF_FEW] - whole[OF_MANY]) * shares[2, arm]
            means[arm] += wrong * ((wins[arm] + LEFT * base[arm]) / (pulls + LEFT) - means[arm])
            if wrong > 0.5:
                believed[arm] = LEFT
    return means, believed, whole[OF_FEW] + whole[OF_MANY]


@compiled
def _race(
    streams: RewardStreams,
    levels: IntArray,
    base: FloatArray,
    sizes: FloatArray,
    alive: IntArray,
    optimism: float,
    prices: FloatArray,
    money: float,
    utility: FloatArray,
    luck: FloatArray,
    lows: FloatArray,
    highs: FloatArray,
) -> tuple[int, float]:
    """The race of `play` against the rewards of a simulated world, counted in ``levels``: who is left, money spent."""
    known, price, chance = sizes[alive], prices[alive], luck[alive]  # kept beside `alive`: gathering anew costs more
    for j in range(alive.size):
        known[j] += levels[alive[j]].sum()
    alive, left = alive.copy(), money
    staying, shares = cuts(alive.size)
    for number in range(shares.size):
        counts = water_filling(known, price, left * shares[number])
        pull_all(streams, alive, counts, levels)
        paid = 0.0
        for j in range(counts.size):
            paid += counts[j] * price[j]
            known[j] += counts[j]
        left -= paid
        means = pooled(base, sizes, levels, utility, alive, lows, highs)
        hope = optimism if number < shares.size - 1 else 0.0
        stay = survivors(means, known, chance, hope, staying[number + 1], highs[alive])
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
    lows: FloatArray,
    highs: FloatArray,
    laws: WordArray,
    key: WordArray,
    caution: float,
    optimism: float,
    doubt: float,
    prices: FloatArray,
    money: float,
    utility: FloatArray,
    luck: FloatArray,
    first: int,
) -> tuple[int, float]:
    """All that follows the looks; arms are compared from ``first`` on."""
    base, sizes = evidence(plan, counts, sources, utility)
    streams, levels = reward_streams(laws, key), np.zeros((base.size, utility.size), np.int64)
    if doubt == 0.0:
        alive = plausible(base, sizes, caution, lows, highs, first)
        return _race(streams, levels, base, sizes, alive, optimism, prices, money, utility, luck, lows, highs)
    base[0], sizes[0] = 0.5, 0.0  # nothing is logged: all looks are pulls of do()
    for level in range(utility.size):
        levels[0, level] = np.int64(counts[level])
    hints, everyone = np.minimum(sizes, LEFT), np.arange(first, base.size)
    some = money * _as_if_wrong(sizes)
    nothing = np.zeros(base.size)  # no look at hand denies anything
    least, most = np.zeros(base.size), np.ones(base.size)
    one, spent = _race(streams, levels, base, hints, everyone, optimism, prices, some, utility, luck, least, most)
    means, believed, _ = weighed(doubt, nothing, base, sizes, levels, utility)
    pulls = levels.sum(axis=1)
    narrow(means, pulls, 0.0, lows, highs)
    alive = plausible(means, believed + pulls, caution, lows, highs, first)
    rest = money - spent
    other, more = _race(streams, levels, base, believed, alive, optimism, prices, rest, utility, luck, lows, highs)
    means, believed, _ = weighed(doubt, nothing, base, sizes, levels, utility)
    pulls = levels.sum(axis=1)
    narrow(means, pulls, 0.0, lows, highs)
    return best_left(means, believed + pulls, luck, optimism, highs, (one, other), first), spent + more
