"""Causal Thompson sampling over tables that arms share: every row that is told teaches every arm it can.

Where arms set several nodes at once they are many, and most have the laws of most nodes in common: the arms on {X, Z}
leave the reward's law given its causes as it is among looks, and so do those on X alone.  So there is not a posterior
for each arm but one for each row of the tables of `whichdo.policies.sharing`.  Each round draws a law for every row,
works out every arm's mean by them, and pulls the largest; whatever is pulled, its row is counted in every table that
the arm left alone.  What one draw says of several arms goes together: do() never has a larger mean than all the arms
it is a mixture of, so that it is not pulled where one of these is better.

The graph may be wrong.  For doubt what the tables say of an arm beyond its own pulls is summed up as a mean and the
number of pulls it is worth, as looking is elsewhere (`whichdo.policies.looking`), and then all is as in
`whichdo.policies.causal_thompson`: a round first draws whether anything is wrong, and if so for each arm whether what
others say of it is; its mean is then drawn from little more than its own pulls.

Looks bound the means of arms that they do not settle (`whichdo.policies.bounding`).  A draw of all laws in which the
best arm is above its upper end is made again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.checking.denial import denial
from whichdo.estimate.doubt import LEFT
from whichdo.evidence import utilities
from whichdo.kernels.compiling import compiled
from whichdo.kernels.contraction import contract, draw_laws, mean_laws, teach
from whichdo.kernels.random import generator, uniform
from whichdo.kernels.rounds import at_hand, going, payable, pulled_row
from whichdo.policies.bounding import (
    FRESH,
    FULL,
    WON,
    Bounds,
    beta_below,
    bounding_scopes,
    clip,
    clipped_means,
    counts_with_bounds,
    draw_high,
    hold,
    rebound,
    start_bounds,
)
from whichdo.policies.doubting import (
    OF_FEW,
    OF_MANY,
    Doubts,
    before_pulls,
    chance_of_old_logs,
    old_logs,
    recount,
    weigh,
    wrong_chances,
)
from whichdo.policies.looking import LOOKS, WORKED_OUT, Evidence, count, stale
from whichdo.policies.sequential import Sequential
from whichdo.policies.sharing import counted_before, shared_tables
from whichdo.tables import Layout

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, FloatArray, IntArray, WordArray
    from whichdo.evidence import Tally
    from whichdo.formulas import Reading
    from whichdo.kernels.contraction import Teaching
    from whichdo.kernels.rounds import Rounds
    from whichdo.policies.sharing import Programme, Shared
    from whichdo.problem import Problem
    from whichdo.tables import Scope


GAMMA = 4
"""Numbers that a gamma draw is worth."""
DRAWS = 32
"""How many draws say what the tables are worth."""
REDRAWS = 4
"""How often all laws are drawn where means lie outside of their bounds."""


class Looks(NamedTuple):
    """Looks, counted for the bounds of arms that they do not settle, as in `whichdo.policies.looking`."""

    counts: FloatArray
    scope_start: IntArray
    places: IntArray
    strides: IntArray
    cell_start: IntArray
    bounds: Bounds
    clock: IntArray
    draws: FloatArray
    """Of the means of all arms, in one round."""


class _State(NamedTuple):
    """``counts`` are those of the tables, ``values`` what they and the means of all arms are worked out in.

    ``known`` has direct pulls, and what the tables say beyond them; ``before`` what they say before anything is told:
    a row of means, and one of what they are worth.
    """

    known: Evidence
    doubts: Doubts
    counts: FloatArray
    values: FloatArray
    before: FloatArray
    looks: Looks
    programme: Programme
    teaching: Teaching
    first: int
    """Arms are compared from here on."""
    chance: WordArray


@compiled
def _draw_means(programme: Programme, counts: FloatArray, values: FloatArray, chance: WordArray) -> None:
    """The means of all arms by laws that are drawn."""
    draw_laws(counts, programme.laws, values, chance)
    contract(programme.steps, values)


@compiled
def _mean_means(programme: Programme, counts: FloatArray, values: FloatArray) -> None:
    """The means of what is drawn: each law enters each product once, and laws are drawn by themselves."""
    mean_laws(counts, programme.laws, values)
    contract(programme.steps, values)


@compiled
def _draw_below(state: _State, holding: int) -> None:
    """The means of all arms by laws that are drawn; again a few times while the largest is above an end of its arm."""
    bounds, draws, arm_at = state.looks.bounds, state.looks.draws, state.programme.arm_at
    for _ in range(REDRAWS):
        _draw_means(state.programme, state.counts, state.values, state.chance)
        best = state.first
        for arm in range(state.first, arm_at.size):
            draws[arm] = state.values[arm_at[arm]]
            if draws[arm] > draws[best]:
                best = arm
        if bounds.seen[2, best] <= 0.0 or draws[best] <= draw_high(bounds, best, holding, state.chance):
            break
    if holding != FRESH:
        for arm in bounds.arms:
            draws[arm] = clip(draws[arm], bounds.lows[arm], bounds.highs[arm])


@compiled
def choose(state: _State) -> int:
    """The arm of the largest draw."""
    wins, losses, means, sizes, _, _ = state.known
    _, shares, whole = state.doubts
    chance = state.chance
    few, many = whole[OF_FEW], whole[OF_MANY]
    luck = uniform(chance) if few > 0.0 else 1.0
    row = 1 if luck < many else 0 if luck < few + many else 2
    holding = FRESH if few > 0.0 and uniform(chance) < old_logs(shares, row) else FULL
    _draw_below(state, holding)
    bounds, draws = state.looks.bounds, state.looks.draws
    best, top = state.first, -1.0
    for arm in range(state.first, draws.size):
        draw = draws[arm]
        if sizes[arm] > LEFT and shares[row, arm] > 0.0 and uniform(chance) < shares[row, arm]:
            won, lost = wins[arm] + LEFT * means[arm], losses[arm] + LEFT * (1.0 - means[arm])
            draw = beta_below(1.0 + won, 1.0 + lost, bounds, arm, holding, chance)
        if draw > top:
            best, top = arm, draw
    return best


@compiled
def learn(state: _State, arm: int, level: int, row: CodeArray) -> None:
    """Count the row in every table that its arm leaves alone."""
    wins, losses, means, sizes, utility, times = state.known
    factors, shares, whole = state.doubts
    reward = utility[level]
    weigh(factors, shares, whole, arm, reward, wins, losses, means, sizes)
    wins[arm] += reward
    losses[arm] += 1.0 - reward
    teach(state.counts, state.programme.laws, state.teaching, arm, reward, row)
    looks = state.looks
    hold(looks.bounds, arm, wins[arm], losses[arm])
    if arm == 0 and looks.bounds.arms.size > 0:
        looks.clock[LOOKS] += 1
        count(looks.counts, looks.scope_start, looks.places, looks.strides, looks.cell_start, row)
        if stale(looks.clock):
            rebound(looks.bounds, looks.counts, utility, wins, losses)
            looks.clock[WORKED_OUT] = looks.clock[LOOKS]
    times[LOOKS] += 1
    if whole[OF_FEW] > 0.0 and stale(times):
        sum_up(state)
        recount(factors, shares, whole, wins, losses, means, sizes)


@compiled
def say(state: _State, found: FloatArray) -> None:
    """What the tables say of every arm: a row of means, and one of the number of pulls each is worth.

    The mean is exact; its variance is that of some draws.
    """
    values, arm_at = state.values, state.programme.arm_at
    _mean_means(state.programme, state.counts, values)
    for arm in range(arm_at.size):
        found[0, arm], found[1, arm] = values[arm_at[arm]], 0.0
    for _ in range(DRAWS):
        _draw_means(state.programme, state.counts, values, state.chance)
        for arm in range(arm_at.size):
            found[1, arm] += (values[arm_at[arm]] - found[0, arm]) ** 2 / DRAWS
    for arm in range(arm_at.size):
        mean = found[0, arm]
        found[1, arm] = mean * (1.0 - mean) / max(found[1, arm], 1e-12)


@compiled
def sum_up(state: _State) -> None:
    """Work out anew what the tables say of every arm beyond its own pulls, and beyond what they said at first."""
    wins, losses, means, sizes, _, times = state.known
    before = state.before
    found = np.empty_like(before)
    say(state, found)
    for arm in range(wins.size):
        size = found[1, arm] - before[1, arm] - wins[arm] - losses[arm]
        won = found[1, arm] * found[0, arm] - before[1, arm] * before[0, arm] - wins[arm]
        sizes[arm] = max(0.0, size)
        means[arm] = min(max(won / size, 0.0), 1.0) if size > 0.0 else found[0, arm]
    times[WORKED_OUT] = times[LOOKS]


@compiled
def _loop(state: _State, world: Rounds) -> None:
    _, rows, clock, money, marks, record = world
    chance = state.chance
    before = chance.copy()
    while going(clock, rows):
        for j in range(chance.size):
            before[0, j] = chance[0, j]
        arm = choose(state)
        if not payable(clock, money, arm):
            continue
        if at_hand(rows, clock, record, arm):
            row = pulled_row(rows, clock, money, marks, record, arm)
            learn(state, arm, row[row.size - 1], row)
        else:
            for j in range(chance.size):  # the round is played again when the arm's rows are there
                chance[0, j] = before[0, j]


@dataclass(frozen=True)
class SharedThompson(Sequential):
    """Causal Thompson sampling on a problem whose arms share tables; see `CausalThompson`, which says where."""

    reading: Reading
    doubt: float
    name = "causal-ts"
    takes_pulls = True
    reads_every_arm = True

    choose = staticmethod(choose)
    learn = staticmethod(learn)
    loop = staticmethod(_loop)

    def columns(self, problem: Problem) -> tuple[str, ...]:
        """What the tables count."""
        return self._shared(problem).columns

    def numbers_read(self, problem: Problem) -> int:
        """Every row of every table is drawn in every round."""
        laws, steps = self._shared(problem).programme[:2]
        return int(laws.count_start[-1]) * GAMMA + len(steps.places)

    def scopes(self, problem: Problem) -> tuple[Scope, ...]:
        """All columns together: any table is a margin of that."""
        return (self.columns(problem),)

    def begin(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> _State:  # noqa: ARG002
        """What logged looks and earlier pulls say; looks may be of another season and do not count as pulls of do()."""
        shared, arms, utility = self._shared(problem), len(problem.arms), utilities(problem)
        known = Evidence(np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms), utility, np.zeros(2, np.int64))
        state = _State(
            known,
            before_pulls(float(self.doubt), denial(problem, seen, self.doubt, self.reading).chances),
            np.zeros(shared.programme.laws.count_start[-1]),
            np.zeros(shared.programme.size),
            np.zeros((2, arms)),
            _looks(problem, self.columns(problem), utility, seen),
            shared.programme,
            shared.teaching,
            problem.first_answer,
            generator(rng),
        )
        if self.doubt > 0:
            say(state, state.before)
        if seen.pulls.any():
            state.counts[:] = counted_before(shared, seen)
            known.wins[1:] = (seen.counts @ utility)[1:]
            known.losses[1:] = seen.pulls[1:] - known.wins[1:]
            known.clock[LOOKS] = seen.pulls.sum()
        if self.doubt > 0:
            sum_up(state)
            recount(*state.doubts, known.wins, known.losses, known.means, known.sizes)
        return state

    def means(self, state: _State) -> FloatArray:
        """Posterior means, whether the tables are right or wrong."""
        known, doubts = state.known, state.doubts
        _mean_means(state.programme, state.counts, state.values)
        right = state.values[state.programme.arm_at]
        less = np.minimum(known.sizes, LEFT)
        hints = (1.0 + known.wins + less * known.means) / (2.0 + known.wins + known.losses + less)
        wrong = np.where(known.sizes > LEFT, wrong_chances(doubts), 0.0)
        old = chance_of_old_logs(doubts.shares, doubts.whole)
        return clipped_means((1.0 - wrong) * right + wrong * hints, state.looks.bounds, old, wrong)

    def _shared(self, problem: Problem) -> Shared:
        found = shared_tables(problem, self.reading)
        if found is None:
            raise ValueError("the tables of this problem are too large to be shared")
        return found


def _looks(problem: Problem, columns: tuple[str, ...], utility: FloatArray, seen: Tally) -> Looks:
    """What logged looks say of the ends of arms that they do not settle."""
    scopes, arms = bounding_scopes(problem), len(problem.arms)  # screens say nothing that the tables do not
    if not all(set(scope).issubset(columns) for scope in scopes):
        raise ValueError("a row of the tables lacks what bounds are counted by")
    bounds, counts = start_bounds(problem, scopes), counts_with_bounds(problem, np.zeros(0), (), scopes, seen)
    if seen.pulls[0]:
        won = seen.counts @ utility
        rebound(bounds, counts, utility, won, seen.pulls - won)
        bounds.logged[:] = bounds.natural[WON:]
    clock = np.full(2, seen.pulls[0], np.int64)
    return Looks(counts, *Layout(problem.sizes, scopes).places(columns), bounds, clock, np.zeros(arms))
