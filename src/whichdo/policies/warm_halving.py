"""Warm halving: look first, then cut the arms down, each starting with what looking was worth.

Ours.  Looking gives every arm that it can settle a mean and an effective size, the number of direct pulls it was worth.
Arms that are clearly worse are dropped at once; the rest go through rounds in which a pull always goes to the surviving
arm with the least evidence, and means pool looking with pulling.  An arm that looking cannot settle begins with nothing
and lives on its pulls.  Half the budget goes into looking where that serves every arm, less in proportion where it
serves fewer; logged looks count too.

It began as sequential halving.  Now a cut leaves two thirds, and the budget of the rounds is that of nonlinear
sequential elimination (Shahrampour, Noshad and Tarokh 2017), a relative of successive rejects: see `cuts`.

Evidence is unequal when the race begins, so until the last round arms are cut by their mean plus one standard unit
of what is known about them: an arm that was tried twice is not dropped because one of the two failed.

Where nothing hidden acts on the reward and the budget pays three pulls for each row of each mechanism, as CB-ALG asks,
pulls tell more than their reward: do(X=x) leaves all mechanisms but X's as they are.  The race then only decides where
pulls go; at the end every mechanism is learned from all looks and pulls together, and the arm whose mean follows from
them is the best is named.  Arms that differ by little often share what is uncertain about them, so that this tells them
apart where direct means cannot.  Logged looks must then be counted by mechanism too, in the scopes that the first
batch names; where they are not, pulls tell their reward alone, and a note says so.

Of an arm that looking cannot settle, looks still bound the mean (`whichdo.policies.bounding`): it is dropped before the
race if its upper end is too low, and in the race it hopes for no more than that.  With a ``doubt`` the natural bounds
are used, which lean on no missing edge.

The graph may be wrong, and logs may be old (`whichdo.estimate.doubt`).  So with a ``doubt`` there are two races: the
first is run as if looking were wrong, among all arms, without bounds and with what looking says as a mere hint; the
second as before, but for arms of which the first has shown that looking is likely wrong.  The last word weighs both
readings of every arm by how likely all pulls have made them; what mechanisms say counts unless something is more likely
wrong than not.  With logs a few looks are made first, duels follow the first race instead of another
(`whichdo.policies.duels`), and old logs are told from a wrong graph.  Logged looks that deny the graph raise the doubt
of the arms that this touches (`whichdo.checking.denial`).

Where SRM-ALG replaces an estimate by the direct mean and spreads its second half equally, nothing is thrown away here,
and the budget follows the arms that are still in question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.checking.denial import denial
from whichdo.errors import UsageError
from whichdo.estimate.doubt import LEFT, checked_doubt
from whichdo.estimate.doubted import Logged
from whichdo.estimate.estimator import Rule
from whichdo.estimate.frontier import MAX_NUMBERS, extent, hidden_causes, learned_means, steps
from whichdo.estimate.kernel import MEAN, SIZE, look
from whichdo.estimate.model import model_of
from whichdo.evidence import REWARDS, TABLES, Tally, all_prices, utilities
from whichdo.formulas import checked_reading
from whichdo.kernels.compiling import always_of_types, compiled
from whichdo.kernels.rewards import pull_all
from whichdo.policies.allocation import best_of, cuts, water_filling
from whichdo.policies.base import (
    BEFORE_DOUBT,
    DOUBT_WHEN_NAMING,
    Objective,
    Play,
    Policy,
    Recommendation,
    look_batch,
    refuse_below,
)
from whichdo.policies.bounding import bounds_of, counts_with_bounds, held_scopes
from whichdo.policies.doubting import OF_FEW, OF_MANY, before_pulls, recount
from whichdo.policies.duels import Duels
from whichdo.policies.racing import Pulling, Race, best_left, narrow, plausible, pooled, raced, survivors
from whichdo.policies.registry import register
from whichdo.problem import LOOK, per_problem

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray
    from whichdo.estimate.kernel import KernelPlan
    from whichdo.estimate.model import Model
    from whichdo.formulas import Reading
    from whichdo.kernels.rewards import RewardStreams
    from whichdo.problem import Problem
    from whichdo.tables import Scope


PULLS_A_ROW = 3
FRESH = 0.1
"""How many looks are made beside logged ones that may be old, as a share of those that would be made without."""
AS_IF_WRONG = 0.75
"""The share of the race's budget that is spent as if looking were wrong, where that is doubted."""
UNCOUNTED = (
    "The logged looks are not counted by mechanism ({scope} together), so only the rewards of pulls were used. Count "
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
    revision = 7
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

    def numbers_read(self, problem: Problem) -> int:
        """The laws of mechanisms too."""
        return super().numbers_read(problem) + extent(problem).numbers

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """One batch of looks, then one a round."""
        luck, price, utility = rng.random(len(problem.arms)), all_prices(problem), utilities(problem)
        known, logs, left = self._known(problem, budget, seen), seen, float(budget)
        model, counted, scopes = known.model, known.counted, known.scopes
        if known.looks:
            fresh = yield look_batch(problem, known.looks, scopes or counted)
            seen = seen + fresh
            left -= known.looks * float(price[0])
        else:
            fresh = Tally.empty(problem)
        counts = counts_with_bounds(problem, model.counts(seen), model.scopes, counted, seen)
        base, sizes = always_of_types(evidence, model.plan, counts, model.sources, utility)(
            model.plan, counts, model.sources, utility
        )
        bounds = bounds_of(problem, counted, counts, utility, self._screening)
        denied = denial(problem, logs, self.doubt, self.reading)
        levels, duels = logs.counts.copy(), bool(self.doubt and logs.counts[0].any())
        levels[0] = 0
        logged, direct = _apart(logs) if duels else (None, None)
        if self.doubt:
            base[0], sizes[0] = _logged(logs, utility)
            levels[0] = fresh.counts[0]
        held = _Held(base, sizes, bounds.lows, bounds.highs, denied.chances, price, luck, utility)
        terms = _Terms(float(self.caution), float(self.optimism), float(self.doubt), duels, problem.first_answer)
        state, number = _start(levels, held, terms, left)
        race = Race(state, step, loop, number)
        held_scopes = logs.tables.get(LOOK, {})
        looks = tuple(scope for scope in counted if scope in held_scopes) if duels else None
        pulling = Pulling(problem, TABLES if scopes else REWARDS, scopes, looks or None)
        tried = yield from raced(problem, race, pulling)
        if logged is not None and direct is not None:
            believed = Logged(logged, utility, self.doubt, denied.chances, Rule(checked_reading(self.reading)))
            last = Duels(pulling, price, luck, terms.optimism, believed, fresh, bounds, terms.first)
            money = race.state.money
            unspent = left - (money[GIVEN] - money[LEFT_NOW])
            return (yield from last.run(direct + tried, int(race.state.winners[0]), unspent, known.notes))
        final = race.state.levels, race.state.winners, held, terms
        means, winner, chance = always_of_types(last_word, *final)(*final)
        if scopes and chance <= 0.5:
            means = learned_means(problem, seen + tried)
            return Recommendation(problem.arms[best_of(means, luck, problem.first_answer)], means)
        return Recommendation(problem.arms[winner], means, known.notes)

    @property
    def _screening(self) -> Reading | None:
        """Screens lean on the graph: bounds are natural where that is doubted."""
        return None if self.doubt else checked_reading(self.reading)

    def _known(self, problem: Problem, budget: float, seen: Tally) -> _Known:
        """What is known before the first look; worked out once where nothing is known yet."""
        return _unseen(problem, self, budget) if seen.is_empty else self._prepare(problem, budget, seen)

    def _prepare(self, problem: Problem, budget: float, seen: Tally) -> _Known:
        model = self._model(problem, budget, seen)
        logged = int(seen.counts[0].sum())
        looks = max(0, _looks(model, budget) - logged)  # logged ones are made already
        if self.doubt and logged:  # but they may be old
            looks = max(looks, int(FRESH * _looks(model, budget)))
        counted = tuple(dict.fromkeys((*model.scopes, *held_scopes(problem, self._screening, seen))))
        return _Known(model, counted, looks, *self._asked(problem, budget, seen))

    def _asked(self, problem: Problem, budget: float, seen: Tally) -> tuple[tuple[Scope, ...] | None, tuple[str, ...]]:
        """The scopes in which looks and pulls are counted, None where pulls tell their reward alone; and notes."""
        if not (self.mechanisms and _pays(problem, budget)) or seen.counts[1:].any():  # earlier pulls have no tables
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


class _Known(NamedTuple):
    """The estimator, what looks are counted by (for estimates, then for bounds), and how often to look.

    ``scopes`` are those in which looks and pulls are counted, None where pulls tell their reward alone.
    """

    model: Model
    counted: tuple[Scope, ...]
    looks: int
    scopes: tuple[Scope, ...] | None
    notes: tuple[str, ...]


@per_problem
def _unseen(problem: Problem, policy: WarmHalving, budget: float) -> _Known:
    return policy._prepare(problem, budget, Tally.empty(problem))


class _Terms(NamedTuple):
    """The policy's parameters, whether duels follow the first race, and from which arm on arms are compared."""

    caution: float
    optimism: float
    doubt: float
    duels: bool
    first: int


class _Held(NamedTuple):
    """What is known of every arm before the races.

    What looking says and what that is worth in pulls, its bounds, how likely logs show it to be wrong, and what a pull
    costs; then its luck, and what each level of the reward is worth.
    """

    base: FloatArray
    sizes: FloatArray
    lows: FloatArray
    highs: FloatArray
    denied: FloatArray
    prices: FloatArray
    luck: FloatArray
    utility: FloatArray


class _Racing(NamedTuple):
    """The arms that are in the race, first in ``alive``, and beside each its evidence, its cost and its luck.

    ``sizes``, ``lows`` and ``highs`` are those of all arms that hold in this race.  ``staying`` and ``shares`` are as
    by `cuts`.  ``money`` holds what is left for this race, what it was given, and what is left in all; ``clock`` the
    rounds played, their number, how many arms are alive, and how many races follow; ``winners`` those of each race.
    """

    arms: IntArray
    counts: IntArray
    levels: IntArray
    alive: IntArray
    known: FloatArray
    prices: FloatArray
    luck: FloatArray
    sizes: FloatArray
    lows: FloatArray
    highs: FloatArray
    staying: IntArray
    shares: FloatArray
    money: FloatArray
    clock: IntArray
    winners: IntArray
    held: _Held
    terms: _Terms


LEFT_NOW, GIVEN, IN_ALL = 0, 1, 2  # of the money
ROUND, ROUNDS, ALIVE, TO_COME = 0, 1, 2, 3  # of the clock


def _start(levels: IntArray, held: _Held, terms: _Terms, money: float) -> tuple[_Racing, int]:
    """The first race, and how many arms it pulls first.

    As if looking were wrong, among all arms; without doubt the only one, among those left.
    """
    arms, rounds = len(held.base), _most_rounds(len(held.base))
    sizes, lows, highs = held.sizes, held.lows, held.highs
    if terms.doubt:  # other ones hold in each race
        sizes, lows, highs = np.empty(arms), np.empty(arms), np.empty(arms)
    state = _Racing(
        arms=np.empty(arms, np.int64),
        counts=np.empty(arms, np.int64),
        levels=levels,
        alive=np.empty(arms, np.int64),
        known=np.empty(arms),
        prices=np.empty(arms),
        luck=np.empty(arms),
        sizes=sizes,
        lows=lows,
        highs=highs,
        staying=np.empty(rounds + 1, np.int64),
        shares=np.empty(rounds),
        money=np.array([0.0, 0.0, money]),
        clock=np.zeros(4, np.int64),
        winners=np.zeros(2, np.int64),
        held=held,
        terms=terms,
    )
    return state, always_of_types(_enter, state)(state)


@cache
def _most_rounds(arms: int) -> int:
    return len(cuts(arms)[1])


def _apart(seen: Tally) -> tuple[Tally, Tally]:
    """Looks, and the pulls of other arms."""
    looks = np.zeros_like(seen.counts)
    looks[0] = seen.counts[0]
    tables = {arm: held for arm, held in seen.tables.items() if arm != LOOK}
    own = {LOOK: seen.tables[LOOK]} if LOOK in seen.tables else {}
    return Tally(seen.problem, looks, own), Tally(seen.problem, seen.counts - looks, tables)


def _logged(seen: Tally, utility: FloatArray) -> tuple[float, float]:
    """The mean of the logged looks, and their number."""
    looks = float(seen.counts[0].sum())
    return (float(seen.counts[0] @ utility) / looks, looks) if looks else (0.5, 0.0)


def _looks(model: Model, budget: float) -> int:
    """How often to look: for half the budget, or less in proportion where looking serves fewer arms."""
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
    """The share of the budget for a race as if looking were wrong; nothing where looking says nothing."""
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
def _enter(state: _Racing) -> int:
    """Who enters the first race, with which evidence, and for how much; then its first step."""
    held, terms = state.held, state.terms
    if terms.doubt == 0.0:
        chosen = plausible(held.base, held.sizes, terms.caution, held.lows, held.highs, terms.first)
        _line_up(state, chosen, state.money[IN_ALL], 0)
        return step(state)
    some = state.money[IN_ALL] * (AS_IF_WRONG if terms.duels else _as_if_wrong(held.sizes))
    for arm in range(held.sizes.size):
        state.sizes[arm] = min(held.sizes[arm], LEFT)
        state.lows[arm], state.highs[arm] = 0.0, 1.0  # bounds are looks too
    _line_up(state, np.arange(terms.first, held.base.size), some, 0 if terms.duels else 1)
    return step(state)


@compiled
def _enter_second(state: _Racing) -> None:
    """The second race: among those who may be best by all that is told, each believed as far as that goes."""
    held, terms, money = state.held, state.terms, state.money
    means, believed, _ = _by_all(state.levels, held, terms)
    known = believed.copy()
    for arm in range(known.size):
        known[arm] += state.levels[arm].sum()
        state.sizes[arm], state.lows[arm], state.highs[arm] = believed[arm], held.lows[arm], held.highs[arm]
    chosen = plausible(means, known, terms.caution, held.lows, held.highs, terms.first)
    _line_up(state, chosen, money[IN_ALL] - (money[GIVEN] - money[LEFT_NOW]), 0)


@compiled
def _line_up(state: _Racing, chosen: IntArray, money: float, to_come: int) -> None:
    held = state.held
    for j in range(chosen.size):
        arm = chosen[j]
        state.alive[j] = arm
        state.known[j] = state.sizes[arm] + state.levels[arm].sum()
        state.prices[j], state.luck[j] = held.prices[arm], held.luck[arm]
    staying, shares = cuts(chosen.size)
    for j in range(staying.size):
        state.staying[j] = staying[j]
    for j in range(shares.size):
        state.shares[j] = shares[j]
    state.money[LEFT_NOW], state.money[GIVEN] = money, money
    state.clock[ROUND], state.clock[ROUNDS], state.clock[ALIVE] = 0, shares.size, chosen.size
    state.clock[TO_COME] = to_come


@compiled
def _by_all(levels: IntArray, held: _Held, terms: _Terms) -> tuple[FloatArray, FloatArray, float]:
    """As `weighed`, the means within their bounds."""
    means, believed, chance = weighed(terms.doubt, held.denied, held.base, held.sizes, levels, held.utility)
    narrow(means, levels.sum(axis=1), 0.0, held.lows, held.highs)
    return means, believed, chance


@compiled
def last_word(levels: IntArray, winners: IntArray, held: _Held, terms: _Terms) -> tuple[FloatArray, int, float]:
    """The means of all arms in the end, the arm that is named, and how likely looking is wrong."""
    if terms.doubt == 0.0:
        everyone = np.arange(held.base.size)
        means = pooled(held.base, held.sizes, levels, held.utility, everyone, held.lows, held.highs)
        return means, winners[0], 0.0
    means, believed, chance = _by_all(levels, held, terms)
    for arm in range(believed.size):
        believed[arm] += levels[arm].sum()
    races = (winners[1], winners[0])
    return means, best_left(means, believed, held.luck, terms.optimism, held.highs, races, terms.first), chance


@compiled
def step(state: _Racing) -> int:
    """Cut, except before the first round, and share the budget of the next; skip one that cannot pay for a pull."""
    arms, counts, levels, alive, known, price, chance, sizes, lows, highs = state[:10]
    staying, shares, money, clock, winners, held, terms = state[10:]
    while True:
        number, size = clock[ROUND], clock[ALIVE]
        if number > 0:
            means = pooled(held.base, sizes, levels, held.utility, alive[:size], lows, highs)
            hope = terms.optimism if number < clock[ROUNDS] else 0.0
            stay = survivors(means, known[:size], chance[:size], hope, staying[number], highs[alive[:size]])
            for j in range(stay.size):
                place = stay[j]
                alive[j], known[j], price[j], chance[j] = alive[place], known[place], price[place], chance[place]
            size = clock[ALIVE] = stay.size
        if number == clock[ROUNDS]:
            winners[clock[TO_COME]] = alive[0]
            if clock[TO_COME] == 0:
                return 0
            _enter_second(state)
            continue
        clock[ROUND] = number + 1
        wanted = water_filling(known[:size], price[:size], money[LEFT_NOW] * shares[number])
        paid, pulled = 0.0, 0
        for j in range(size):
            paid += wanted[j] * price[j]
            known[j] += wanted[j]
            if wanted[j] > 0:
                arms[pulled], counts[pulled] = alive[j], wanted[j]
                pulled += 1
        money[LEFT_NOW] -= paid
        if pulled > 0:
            return pulled


@compiled
def loop(state: _Racing, streams: RewardStreams, number: int) -> None:
    """All rounds against the rewards of a simulated world."""
    while number > 0:
        pull_all(streams, state.arms[:number], state.counts[:number], state.levels)
        number = step(state)
