"""Causal Thompson sampling: Thompson sampling that learns about all arms while it looks.

Ours.  Looking gives every arm that it can settle a mean and the number of direct pulls it was worth; both kinds of
evidence add up to the successes and failures of a beta posterior.  Each round draws a mean for every arm and pulls the
largest.  An arm that looking cannot settle lives on its direct pulls, as in plain Thompson sampling.  Any graph, any
finite domains; a reward between 0 and 1 counts as a fraction of a success; logged looks count as made.

Of an arm that looking cannot settle, looks still bound the mean (`whichdo.policies.bounding`): its mean is drawn with
an upper end that it is not above.

The graph may be wrong, and logs may be old (`whichdo.estimate.doubt`).  So a round first draws whether anything is
wrong, as likely as it has become by all pulls; and then for each arm whether what looking says of it is, in which
case its mean is drawn from little more than its direct pulls, and its end from what needs no missing edge.  Logs that
deny the graph raise the doubt of the arms that this touches before the first round (`whichdo.checking.denial`).

Thompson sampling does not know that a look teaches about many arms at once.  So it begins with a few looks for each arm
that these settle, and goes on looking while no arm is clearly better than do().  And where a draw names another arm
than do(), a look is made instead if its regret, squared, over what it teaches is smaller: the idea of
information-directed sampling (Russo and Van Roy 2014) for this one choice.  The regret is measured from the largest
draw, so a look whose own mean is far below is not taken for free.  Nor is it, where the draw took what looking says of
the arm as wrong: looks would say it again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.checking.denial import denial
from whichdo.errors import UsageError
from whichdo.estimate.doubt import LEFT, checked_doubt
from whichdo.formulas import checked_reading
from whichdo.kernels.compiling import compiled
from whichdo.kernels.random import generator, uniform
from whichdo.kernels.rounds import USED, drawn, going, noted, payable, pulled
from whichdo.policies.base import BEFORE_DOUBT, DOUBT
from whichdo.policies.bounding import FRESH, FULL, PLAIN, beta_below, clipped_means, hold
from whichdo.policies.doubting import (
    OF_FEW,
    OF_MANY,
    Doubts,
    chance_of_old_logs,
    doubted_means,
    doubts,
    old_logs,
    recount,
    weigh,
    wrong_chances,
)
from whichdo.policies.looking import Evidence, Looking, columns, count, evidence, refresh, stale
from whichdo.policies.registry import register
from whichdo.policies.sequential import Sequential
from whichdo.policies.shared_thompson import SharedThompson
from whichdo.policies.sharing import shared_tables
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.arrays import CodeArray, FloatArray, IntArray, WordArray
    from whichdo.evidence import Tally
    from whichdo.kernels.rounds import Rounds
    from whichdo.policies.bounding import Bounds
    from whichdo.problem import Problem


BEFORE_SHARING: Mapping[str, Any] = MappingProxyType({**BEFORE_DOUBT, "shares": False})
"""Those of the time before arms shared tables learned from the rewards of pulls alone."""


AT_LEAST, AT_MOST = (4, 24), (10, 64)
"""Looks to begin with for each arm that they settle, and in all: without a condition, and while do() may be best."""
BUDGET = 8
"""Nor more than one in so many of all pulls."""
ENOUGH = 16.0
"""The number of pulls that looks must be worth for every arm that they settle, so that no more are made at once."""
CLEAR = 0.5
"""The distance of two means, in standard errors, at which the larger is clearly better for the beginning."""


class _State(NamedTuple):
    known: Evidence
    looking: Looking
    doubts: Doubts
    chance: WordArray
    first: int
    """Arms are compared from here on."""
    opening: IntArray
    """The number of looks to begin with, and up to which it goes on while no arm is clearly better."""


@compiled
def _draw(
    wins: FloatArray,
    losses: FloatArray,
    means: FloatArray,
    sizes: FloatArray,
    shares: FloatArray,
    few: float,
    many: float,
    served: IntArray,
    looks: int,
    bounds: Bounds,
    chance: WordArray,
    first: int,
    opening: IntArray,
) -> int:
    """The arm of the largest draw from ``first`` on, or a look: to begin with, or where it teaches more for its cost.

    ``few`` and ``many`` are how likely looking is wrong of so many arms, and ``shares`` for each arm that it then is,
    or is without that.
    """
    if looks < opening[1] and _opens(wins, losses, means, sizes, served, looks, opening):
        return 0
    best, top, hinted, held = first, -1.0, False, FULL
    doubts = few > 0.0
    luck = uniform(chance) if doubts else 1.0
    row = 1 if luck < many else 0 if luck < few + many else 2
    # Logs that are old have old bounds; do() may not be an answer, and its logs are asked about all the same.
    if doubts and sizes[0] > LEFT:
        held = FRESH if uniform(chance) < old_logs(shares, row) else FULL
    for arm in range(first, wins.size):
        size = sizes[arm]
        won = 1.0 + wins[arm] + size * means[arm]
        lost = 1.0 + losses[arm] + size * (1.0 - means[arm])
        hint = doubts and size > LEFT and shares[row, arm] > 0.0 and uniform(chance) < shares[row, arm]
        if hint:
            won = 1.0 + wins[arm] + LEFT * means[arm]
            lost = 1.0 + losses[arm] + LEFT * (1.0 - means[arm])
        holding = held
        if doubts and held == FULL and bounds.screened[arm] and uniform(chance) < shares[row, arm]:
            holding = PLAIN
        draw = beta_below(won, lost, bounds, arm, holding, chance)
        if draw > top:
            best, top, hinted = arm, draw, hint
    if best == 0 or hinted or served[best] < 0:
        return best
    doubtful = few * shares[0] + many * shares[1] + (1.0 - few - many) * shares[2] > 0.5
    believed = np.where(doubtful, np.minimum(sizes, LEFT), sizes)
    return _look_instead(wins, losses, means, believed, served, looks, best, top)


@compiled
def _opens(
    wins: FloatArray,
    losses: FloatArray,
    means: FloatArray,
    sizes: FloatArray,
    served: IntArray,
    looks: int,
    opening: IntArray,
) -> bool:
    """Whether to look before anything is drawn: few looks were made, or no arm is clearly better than do()."""
    enough = True
    for arm in range(1, wins.size):
        if served[arm] >= 0 and sizes[arm] < ENOUGH:
            enough = False
    if enough or looks < opening[0]:
        return not enough
    total = 2.0 + wins + losses + sizes
    middle = (1.0 + wins + sizes * means) / total
    spread = middle * (1.0 - middle) / total
    return not np.any(middle - middle[0] > CLEAR * np.sqrt(spread + spread[0]))


@compiled
def _look_instead(
    wins: FloatArray,
    losses: FloatArray,
    means: FloatArray,
    sizes: FloatArray,
    served: IntArray,
    looks: int,
    best: int,
    top: float,
) -> int:
    """A look, if it teaches more per squared regret than a pull of ``best``, whose draw ``top`` was the largest.

    A pull of an arm teaches one unit about it, and so does a look about do().  It teaches about every arm that it
    serves what looks have been worth so far.  All is weighed by how likely that arm is to reach ``top``, compared with
    ``best``.
    """
    total = 2.0 + wins + losses + sizes
    middle = (1.0 + wins + sizes * means) / total
    spread = middle * (1.0 - middle) / total
    away = np.maximum(0.0, top - middle) ** 2 / spread
    taught = min(1.0, np.exp(0.5 * (away[best] - away[0])))
    for arm in range(1, wins.size):
        if served[arm] >= 0:
            weight = min(1.0, np.exp(0.5 * (away[best] - away[arm])))
            taught += weight * (sizes[arm] + 0.5) / (looks + 1.0)
    look, pull = max(0.0, top - middle[0]), max(0.0, top - middle[best])
    return 0 if look * look < taught * pull * pull else best


@compiled
def choose(state: _State) -> int:
    """The arm of the largest draw."""
    known, served, bounds = state.known, state.looking.sources, state.looking.bounds
    wins, losses, means, sizes, _, times = known
    _, shares, whole = state.doubts
    few, many = whole[OF_FEW], whole[OF_MANY]
    looks, chance, first, opening = times[0], state.chance, state.first, state.opening
    return _draw(wins, losses, means, sizes, shares, few, many, served, looks, bounds, chance, first, opening)


@compiled
def learn(state: _State, arm: int, level: int, row: CodeArray) -> None:
    """Count the reward, and a look in all tables."""
    known, looking = state.known, state.looking
    wins, losses, means, sizes, utility, times = known
    factors, shares, whole = state.doubts
    weigh(factors, shares, whole, arm, utility[level], wins, losses, means, sizes)
    wins[arm] += utility[level]
    losses[arm] += 1.0 - utility[level]
    hold(looking.bounds, arm, wins[arm], losses[arm])
    if arm == 0:
        times[0] += 1
        count(looking.counts, looking.scope_start, looking.places, looking.strides, looking.cell_start, row)
        if stale(times):
            refresh(known, looking)
            recount(factors, shares, whole, wins, losses, means, sizes)


@compiled
def _loop(state: _State, world: Rounds) -> None:
    known, looking, doubt, chance, first, opening = state
    factors, shares, whole = doubt
    streams, rows, clock, money, marks, record = world
    bits, left = streams.bits, streams.left
    wins, losses, means, sizes, utility, times = known
    counts, starts, places, strides, cells, served, _, bounds = looking
    while going(clock, rows):
        few, many = whole[OF_FEW], whole[OF_MANY]
        looks = times[0]
        arm = _draw(wins, losses, means, sizes, shares, few, many, served, looks, bounds, chance, first, opening)
        if not payable(clock, money, arm):
            continue
        level = drawn(bits, left, arm) if left[arm] > 0 else pulled(streams, rows, clock, arm)
        noted(clock, money, marks, record, arm)
        weigh(factors, shares, whole, arm, utility[level], wins, losses, means, sizes)
        wins[arm] += utility[level]
        losses[arm] += 1.0 - utility[level]
        hold(bounds, arm, wins[arm], losses[arm])
        if arm == 0:
            times[0] += 1
            count(counts, starts, places, strides, cells, rows[clock[USED] - 1])
            if stale(times):
                refresh(known, looking)
                recount(factors, shares, whole, wins, losses, means, sizes)


@register("causal-ts")
@dataclass(frozen=True)
class CausalThompson(Sequential):
    """Causal Thompson sampling.

    ``reading`` is how much of the graph estimates by looking lean on, ``doubt`` how likely the graph or the logs are
    thought to be wrong before any pull.

    Where an arm sets several nodes, pulls teach other arms too (`whichdo.policies.shared_thompson`), as long as the
    tables that they share are small enough to be drawn in every round.  Every row must then say what these tables
    count.  ``shares`` False leaves that: rewards of pulls are enough, and teach their own arm.
    """

    reading: str = "robust"
    doubt: float = DOUBT
    shares: bool = True
    takes_pulls = True
    revision = 7
    when_absent = BEFORE_SHARING

    choose = staticmethod(choose)
    learn = staticmethod(learn)
    loop = staticmethod(_loop)

    def __post_init__(self) -> None:
        checked_reading(self.reading)
        checked_doubt(self.doubt)
        if not isinstance(self.shares, bool):
            raise UsageError(f"`shares` is {quoted(self.shares)}; it must be True or False.")

    def suited(self, problem: Problem) -> Sequential:
        """Itself, or where arms set several nodes the form that shares tables among arms."""
        reading = checked_reading(self.reading)
        if not self.shares or problem.first_joint is None or shared_tables(problem, reading) is None:
            return self
        return SharedThompson(reading, float(self.doubt))

    def trusting(self) -> CausalThompson:
        """The same, leaning on every missing edge and doubting nothing."""
        return replace(self, reading="graph", doubt=0.0)

    def columns(self, problem: Problem) -> tuple[str, ...]:
        """What the tables count."""
        return columns(problem, checked_reading(self.reading))

    def begin(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> _State:
        """What logged looks say."""
        known, looking = evidence(problem, checked_reading(self.reading), seen)
        denied = denial(problem, seen, self.doubt, self.reading).chances
        doubt, served = doubts(self.doubt, known, denied), int((looking.sources[1:] >= 0).sum())
        opening = [min(each * served, most, int(budget / BUDGET)) for each, most in (AT_LEAST, AT_MOST)]
        return _State(known, looking, doubt, generator(rng), problem.first_answer, np.array(opening, np.int64))

    def means(self, state: _State) -> FloatArray:
        """Posterior means."""
        old = chance_of_old_logs(state.doubts.shares, state.doubts.whole)
        means, wrong = doubted_means(state.known, state.doubts), wrong_chances(state.doubts)
        return clipped_means(means, state.looking.bounds, old, wrong)
