"""Causal KL-UCB: KL-UCB whose evidence includes what looks say of every arm.

Ours.  Looking gives every arm that it can settle a mean and the number of direct pulls it was worth; with the direct
pulls that makes a mean and a size for each, and the arm of the largest u with size * kl(mean, u) <= ln t is pulled
(`whichdo.kernels.kl`).  An arm that looking cannot settle lives on its direct pulls.  Any graph, any finite domains;
logged looks count as looks already made.  Deterministic but for ties.

Of an arm that looking cannot settle, looks still bound the mean (`whichdo.policies.bounding`): looks that had the
arm's settings and lost are a share of at most 1 - mean.  So its index is the largest u for which pulls and looks
together are no less likely than 1/t: size * kl(mean, u) + looks * kl(lost share, 1 - u) <= ln t, whether it was pulled
or not.  Both at once say more than the smaller of two indices.

The graph may be wrong, and logs may be old (`whichdo.estimate.doubt`).  An arm of which looking is wrong with the
chance q has a second index, from its direct pulls and a hint: the largest u with size * kl(mean, u) <= ln t + ln q, so
that a reading of the evidence has a say as long as it is likelier than 1/t.  The larger of the two indices counts, that
of looking being right with ln(1 - q).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.checking.denial import denial
from whichdo.estimate.doubt import LEFT, checked_doubt
from whichdo.formulas import checked_reading
from whichdo.kernels.compiling import compiled
from whichdo.kernels.kl import kl, kl_index, largest_kl_index
from whichdo.kernels.rounds import USED, drawn, going, noted, payable, pulled
from whichdo.policies.base import BEFORE_DOUBT, DOUBT
from whichdo.policies.bounding import WON, Bounds, clip, clipped_means, hold
from whichdo.policies.doubting import OF_FEW, OF_MANY, Doubts, chance_of_old_logs, doubts, recount, weigh, wrong_chances
from whichdo.policies.looking import Evidence, Looking, columns, count, evidence, refresh, stale
from whichdo.policies.registry import register
from whichdo.policies.sequential import Sequential

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.kernels.rounds import Rounds
    from whichdo.problem import Problem


HALVINGS = 40
"""By which an index with looks is found."""
TINY = 1e-12


class _State(NamedTuple):
    known: Evidence
    looking: Looking
    doubts: Doubts
    joined: FloatArray
    """Rows: the mean of each arm by all evidence, and its size; the same if looking is wrong."""
    luck: FloatArray
    last: IntArray
    """The last arm, and the rounds so far."""
    first: int
    """Arms are compared from here on."""


@compiled
def _join(known: Evidence, joined: FloatArray, arm: int) -> None:
    """Work out one arm's mean and size."""
    wins, pulls = known.wins[arm], known.wins[arm] + known.losses[arm]
    for row, worth in ((0, known.sizes[arm]), (2, min(known.sizes[arm], LEFT))):
        size = pulls + worth
        joined[row + 1, arm] = size
        joined[row, arm] = (wins + worth * known.means[arm]) / size if size > 0.0 else 0.5


@compiled
def _pick(
    joined: FloatArray,
    shares: FloatArray,
    whole: FloatArray,
    bounds: Bounds,
    luck: FloatArray,
    last: IntArray,
    first: int,
) -> int:
    """The arm of the largest index; arms of which nothing is known first, in order."""
    lows, highs, natural = bounds.lows, bounds.highs, bounds.natural
    for arm in range(first, luck.size):
        if joined[1, arm] <= 0.0 and highs[arm] >= 1.0:
            return arm
    level = np.log(max(1.0, float(last[1])))
    few, many = whole[OF_FEW], whole[OF_MANY]
    neither = 1.0 - few - many
    if few <= 0.0 and bounds.arms.size == 0:
        return largest_kl_index(joined[0], joined[1], level, luck, last[0], first)
    old = chance_of_old_logs(shares, whole) if bounds.logged.any() else 0.0  # and so are bounds that rest on them
    best, top = first, -1.0
    for arm in range(first, luck.size):
        wrong = few * shares[0, arm] + many * shares[1, arm] + neither * shares[2, arm]
        undue = wrong if bounds.screened[arm] and highs[arm] < 1.0 else 0.0
        if joined[1, arm] == joined[3, arm]:
            wrong = 0.0 if highs[arm] >= 1.0 else old  # looking says nothing, or a hint at most, or bounds
        middle = (1.0 - wrong) * joined[0, arm] + wrong * joined[2, arm]
        index = clip(middle, lows[arm], highs[arm]) if joined[1, arm] > 0.0 else 0.0
        right = level + np.log(max((1.0 - wrong) * (1.0 - undue), 1e-300))
        if right > 0.0:
            lost, looks = bounds.seen[1, arm], bounds.seen[2, arm]
            index = max(index, _hope(joined[0, arm], joined[1, arm], right, lost, looks, max(top, index)))
        hint = level + np.log(max(wrong, 1e-300)) if wrong > 0.0 else 0.0
        if hint > 0.0:
            lost, looks = natural[WON + 1, arm] - bounds.logged[1, arm], natural[WON + 2, arm] - bounds.logged[2, arm]
            index = max(index, _hope(joined[2, arm], joined[3, arm], hint, lost, looks, max(top, index)))
        plain = level + np.log(max(undue, 1e-300)) if undue > 0.0 else 0.0
        if plain > 0.0:
            lost, looks = natural[WON + 1, arm], natural[WON + 2, arm]
            index = max(index, _hope(joined[2, arm], joined[3, arm], plain, lost, looks, max(top, index)))
        if index > top or (index == top and luck[arm] > luck[best]):
            best, top = arm, index
    return best


@compiled
def _index_above(mean: float, size: float, level: float, top: float) -> float:
    """The index where it may be ``top`` or more; else something below, found by Pinsker's inequality."""
    if mean < top and 2.0 * size * (top - mean) * (top - mean) > level * (1.0 + 1e-9) + 1e-9:
        return mean
    return kl_index(mean, size, level)


@compiled
def _hope(mean: float, size: float, level: float, lost: float, looks: float, top: float) -> float:
    """The largest u with size * kl(mean, u) + looks * kl(lost / looks, 1 - u) <= level, where it may be above ``top``.

    A mean of u or more leaves looks with the arm's settings a share of at most 1 - u that is lost.
    """
    hope = _index_above(mean, size, level, top)
    share = min(lost / looks, 1.0 - TINY) if lost > 0.0 else 0.0
    if hope <= max(top, 1.0 - share):
        return hope
    low, high = 1.0 - share, min(hope, 1.0 - TINY)
    for _ in range(HALVINGS):
        u = 0.5 * (low + high)
        cost = looks * kl(share, 1.0 - u) + (size * kl(mean, u) if mean < u and size > 0.0 else 0.0)
        low, high = (low, u) if cost > level else (u, high)
    return high


@compiled
def choose(state: _State) -> int:
    """The arm of the largest index."""
    _, shares, whole = state.doubts
    return _pick(state.joined, shares, whole, state.looking.bounds, state.luck, state.last, state.first)


@compiled
def _note(
    known: Evidence, looking: Looking, doubt: Doubts, joined: FloatArray, last: IntArray, arm: int, level: int
) -> None:
    """Count the reward; work the looks out anew where they have grown."""
    wins, losses, means, sizes, utility, times = known
    factors, shares, whole = doubt
    weigh(factors, shares, whole, arm, utility[level], wins, losses, means, sizes)
    wins[arm] += utility[level]
    losses[arm] += 1.0 - utility[level]
    hold(looking.bounds, arm, wins[arm], losses[arm])
    last[0] = arm
    last[1] += 1
    if arm == 0 and stale(times):
        refresh(known, looking)
        recount(factors, shares, whole, wins, losses, means, sizes)
        for other in range(joined.shape[1]):
            _join(known, joined, other)
    else:
        _join(known, joined, arm)


@compiled
def learn(state: _State, arm: int, level: int, row: CodeArray) -> None:
    """Count the reward, and a look in all tables."""
    known, looking = state.known, state.looking
    if arm == 0:
        known.clock[0] += 1
        count(looking.counts, looking.scope_start, looking.places, looking.strides, looking.cell_start, row)
    _note(known, looking, state.doubts, state.joined, state.last, arm, level)


@compiled
def _loop(state: _State, world: Rounds) -> None:
    known, looking, doubt, joined, luck, last, first = state
    streams, rows, clock, money, marks, record = world
    bits, left = streams.bits, streams.left
    wins, losses, means, sizes, utility, times = known
    factors, shares, whole = doubt
    counts, starts, places, strides, cells, _, _, bounds = looking
    while going(clock, rows):
        arm = _pick(joined, shares, whole, bounds, luck, last, first)
        if not payable(clock, money, arm):
            continue
        level = drawn(bits, left, arm) if left[arm] > 0 else pulled(streams, rows, clock, arm)
        noted(clock, money, marks, record, arm)
        if arm == 0:
            times[0] += 1
            count(counts, starts, places, strides, cells, rows[clock[USED] - 1])
            if stale(times):
                _note(known, looking, doubt, joined, last, arm, level)
                continue
        weigh(factors, shares, whole, arm, utility[level], wins, losses, means, sizes)
        wins[arm] += utility[level]
        losses[arm] += 1.0 - utility[level]
        hold(bounds, arm, wins[arm], losses[arm])
        last[0] = arm
        last[1] += 1
        pulls, hint = wins[arm] + losses[arm], min(sizes[arm], LEFT)
        joined[1, arm] = pulls + sizes[arm]
        joined[0, arm] = (wins[arm] + sizes[arm] * means[arm]) / joined[1, arm]
        joined[3, arm] = pulls + hint
        joined[2, arm] = (wins[arm] + hint * means[arm]) / joined[3, arm]


@register("causal-kl-ucb")
@dataclass(frozen=True)
class CausalKLUCB(Sequential):
    """Causal KL-UCB; ``reading`` and ``doubt`` as of causal Thompson sampling."""

    reading: str = "robust"
    doubt: float = DOUBT
    takes_pulls = True
    revision = 6
    when_absent = BEFORE_DOUBT

    choose = staticmethod(choose)
    learn = staticmethod(learn)
    loop = staticmethod(_loop)

    def __post_init__(self) -> None:
        checked_reading(self.reading)
        checked_doubt(self.doubt)

    def trusting(self) -> CausalKLUCB:
        """The same, leaning on every missing edge and doubting nothing."""
        return replace(self, reading="graph", doubt=0.0)

    def columns(self, problem: Problem) -> tuple[str, ...]:
        """What the tables count."""
        return columns(problem, checked_reading(self.reading))

    def begin(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> _State:  # noqa: ARG002
        """What logged looks say."""
        known, looking = evidence(problem, checked_reading(self.reading), seen)
        joined = np.zeros((4, len(problem.arms)))
        for arm in range(len(problem.arms)):
            _join(known, joined, arm)
        # Logged looks are rounds for those who believe in them; else they would pay for exploring at once.
        rounds = int((seen.pulls[1:] if self.doubt else seen.pulls).sum())
        luck = rng.random(len(problem.arms))
        first = problem.first_answer
        last = np.array([first, rounds], np.int64)
        found = doubts(self.doubt, known, denial(problem, seen, self.doubt, self.reading).chances)
        return _State(known, looking, found, joined, luck, last, first)

    def means(self, state: _State) -> FloatArray:
        """The means by all evidence; NaN where there is none."""
        wrong = wrong_chances(state.doubts)
        means = (1.0 - wrong) * state.joined[0] + wrong * state.joined[2]
        old = chance_of_old_logs(state.doubts.shares, state.doubts.whole)
        means = clipped_means(means, state.looking.bounds, old, wrong)
        return np.where(state.joined[1] > 0, means, np.nan)
