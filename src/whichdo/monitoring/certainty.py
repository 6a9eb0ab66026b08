"""How sure a campaign is, and whether it may stop.

Two kinds of intervals, kept apart.  Those of *direct pulls* are valid at every time and however arms are chosen
(`whichdo.monitoring.wealth`): a campaign may look at them after every tell and stop when it likes, and all of them hold
at all times together with the stated confidence.  They do not lean on the graph, nor on logs: of do() only fresh looks
count.  Those of *looking* (`whichdo.estimate.rank`) hold at one time, and only if the graph is right and the logs are
up to date.  A verdict rests on direct pulls alone; the intervals of looking stand beside it.

The verdict is one of three:

sure               the leader's lower bound is above every other arm's upper bound;
practically equal  no other arm can be better than the leader by the margin or more;
more pulls         neither yet, with a guess of how many more pulls would do, at the gaps seen so far.

An arm that does nothing by the graph is do() under another name.  No number of pulls tells the two apart, so once each
has been pulled a few times a tie between them does not stand in the way of a verdict, which then says so.  That is the
graph's word: where the bounds of direct pulls deny that an arm does nothing, there is not a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError
from whichdo.graph.identify import Route
from whichdo.monitoring.wealth import chance, mean_bounds
from whichdo.text import listed, rounded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.arrays import BoolArray, FloatArray, IntArray
    from whichdo.estimate.ranking import Ranking
    from whichdo.evidence import Tally
    from whichdo.problem import Arm, Problem


TIED = 20
"""Pulls of an arm that does nothing by the graph after which it counts as tied with do(), and do() with it."""
DOUBLINGS = 31
"""Guesses reach to 2^30 pulls of an arm; beyond that the answer is that nobody knows."""


class Standing(StrEnum):
    """Whether a campaign may stop; see the module."""

    SURE = "sure"
    EQUAL = "practically equal"
    MORE = "more pulls"


@dataclass(frozen=True)
class ArmCertainty:
    """One arm, in the reward's own scale; ``low`` and ``high`` hold at all times, for all arms together."""

    arm: Arm
    pulls: int
    mean: float
    """Of the direct pulls; NaN without any."""
    low: float
    high: float
    in_race: bool
    """Whether the arm could still be the best, or the arm is the leader."""
    looked_low: float
    looked_high: float
    """The interval of looking, valid at one time and by the graph alone; NaN where there is none.  Never mixed in."""


@dataclass(frozen=True)
class Certainty:
    """How sure the direct pulls make a campaign."""

    problem: Problem
    confidence: float
    margin: float
    standing: Standing
    leader: Arm | None
    """The arm with the best mean of direct pulls; None before the first."""
    arms: tuple[ArmCertainty, ...]
    """The arms that are compared, in the problem's order."""
    more_pulls: int | None
    """About how many more pulls until sure or practically equal; 0 if it is so now, None if nobody can tell."""
    why_unknown: str
    """Why ``more_pulls`` is None; empty otherwise."""
    tied: tuple[Arm, ...] = ()
    """Arms that are as good as the leader by the graph: they, or the leader, do nothing."""

    @property
    def may_stop(self) -> bool:
        """Whether there is nothing left to find out that matters."""
        return self.standing is not Standing.MORE

    @property
    def race(self) -> tuple[Arm, ...]:
        """The arms that could still be the best."""
        return tuple(each.arm for each in self.arms if each.in_race)

    @property
    def _compared(self) -> int:
        """How many arms may be named."""
        return sum(not each.arm.is_look or not self.problem.first_answer for each in self.arms)

    @property
    def words(self) -> str:
        """The verdict in a sentence."""
        held = f"with {self.confidence:.0%} confidence at all times"
        if self.standing is Standing.SURE:
            tie = f", tied with {listed(map(str, self.tied))} (no difference by the graph)" if self.tied else ""
            return f"Sure: {self.leader} is the best of {self._compared} arms{tie}, {held}."
        if self.standing is Standing.EQUAL:
            others = [str(arm) for arm in self.race if arm != self.leader]
            return (
                f"Practically equal, at worst: {listed(others)} could still be better than {self.leader}, but by less "
                f"than {self.margin:g}, {held}."
            )
        if self.more_pulls is None:
            return f"Not sure yet; how many more pulls it takes is unknown: {self.why_unknown}."
        others = [str(arm) for arm in self.race if arm != self.leader]
        pulls = f"{rounded(self.more_pulls)} more pull{'' if self.more_pulls == 1 else 's'}"
        return (
            f"Not sure yet: about {pulls}, if the means stay as they are, to tell {self.leader} from {listed(others)}."
        )


def certainty(
    problem: Problem,
    pulls: Tally,
    *,
    confidence: float = 0.95,
    margin: float = 0.0,
    arms: Iterable[Arm] | None = None,
    looked: Ranking | None = None,
) -> Certainty:
    """How sure the direct pulls in ``pulls`` make us which arm is the best.

    Pulls of do() are fresh looks; leave logged ones out.
    ``margin``: a difference of the mean reward that does not matter.
    ``arms``: those to compare, by default all; say it once for a campaign, since the confidence is shared among them.
    ``looked``: a ranking by looking alone, whose intervals are shown beside and never used.
    """
    chance(confidence, "confidence")
    if not 0 <= margin < problem.unit:
        raise UsageError(
            f"The margin is {margin:g}; it must be a difference of mean rewards, from 0 up to below {problem.unit:g}."
        )
    chosen = problem.arms if arms is None else tuple(dict.fromkeys(arms))
    if not chosen:
        raise UsageError("There is no arm to compare.")
    positions = [problem.index(arm) for arm in chosen]
    same = [arm.is_look or problem.verdicts[arm.targets].route is Route.SAME for arm in chosen]
    groups = {(): 0} | {targets: number for number, targets in enumerate(problem.target_sets, start=1)}
    group = np.array([groups[arm.targets] for arm in chosen])
    named = [not arm.is_look or not problem.first_answer for arm in chosen]
    counts = pulls.counts[positions].astype(np.float64)
    miss = (1 - confidence) / len(chosen)
    race = _Race(problem, counts, np.array(same), group, np.array(named), miss, margin / problem.unit)
    more, why = race.guess(chosen)
    rows = []
    for j, arm in enumerate(chosen):
        low, high = sorted((problem.own_scale(race.lows[j]), problem.own_scale(race.highs[j])))
        beside = (looked[arm].low, looked[arm].high) if looked is not None else (np.nan, np.nan)
        mean = problem.own_scale(race.means[j])
        rows.append(ArmCertainty(arm, int(race.pulls[j]), mean, low, high, bool(race.running[j]), *beside))
    leader = None if race.leader is None else chosen[race.leader]
    tied = tuple(arm for arm, is_tied in zip(chosen, race.tied, strict=True) if is_tied)
    return Certainty(problem, confidence, margin, race.standing, leader, tuple(rows), more, why, tied)


class _Race:
    """The arms by utility: bounds, who leads, who could still win."""

    def __init__(
        self,
        problem: Problem,
        counts: FloatArray,
        same: BoolArray,
        group: IntArray,
        named: BoolArray,
        miss: float,
        margin: float,
    ) -> None:
        self.worth = np.array(list(problem.utility.values()))
        self.counts, self.miss, self.margin, self.unit = counts, miss, margin, problem.unit
        self.pulls = counts.sum(axis=1)
        tried, self.named = self.pulls > 0, named
        self.means = np.divide(counts @ self.worth, self.pulls, out=np.full(len(counts), np.nan), where=tried)
        self.lows, self.highs = mean_bounds(counts, self.worth, miss)
        leads = np.where(tried & named, self.means, -np.inf)
        self.leader = int(leads.argmax()) if (tried & named).any() else None
        self.running = named & (self.highs >= self.lows[named].max(initial=-np.inf))
        self.tied = np.zeros(len(counts), bool)
        if self.leader is not None:
            alike = self._alike(same & (self.pulls >= TIED), group)
            if alike[self.leader]:
                self.tied = alike
            self.tied[self.leader] = False
            self.running &= ~self.tied
            self.running[self.leader] = True
        self.standing = self._standing()

    def _alike(self, same: BoolArray, group: IntArray) -> BoolArray:
        """The arms that do nothing by the graph, but for target sets of which direct pulls deny it; group 0 is do().

        First those that differ from do() or among themselves, then all that differ from each other.
        """
        apart = self.lows[:, None] > self.highs[None, :]
        apart |= apart.T
        related = (group[:, None] == group) | (group[:, None] == 0) | (group == 0)
        for pairs in (apart & related, apart):
            denied = group[(pairs & same & same[:, None]).any(axis=1)]
            same = same & ~(np.isin(group, denied) & (group > 0))
        return same

    def _standing(self) -> Standing:
        if self.leader is None:
            return Standing.MORE
        rivals = self.named & ~self.tied
        rivals[self.leader] = False
        best = self.highs[rivals].max(initial=-np.inf)
        if self.lows[self.leader] > best:
            return Standing.SURE
        return Standing.EQUAL if best - self.lows[self.leader] < self.margin else Standing.MORE

    def guess(self, arms: tuple[Arm, ...]) -> tuple[int | None, str]:
        """How many more pulls until the leader is told from each rival in the race, or why nobody knows."""
        if self.standing is not Standing.MORE:
            return 0, ""
        if self.leader is None:
            return None, "nothing has been pulled"
        runners = np.flatnonzero(self.running)
        untried = [str(arms[j]) for j in runners if not self.pulls[j]]
        if untried:
            return None, f"{listed(untried)} {'was' if len(untried) == 1 else 'were'} never pulled"
        rivals = runners[runners != self.leader]
        gaps = self.means[self.leader] - self.means[rivals] + self.margin
        alike = [str(arms[j]) for j, gap in zip(rivals, gaps, strict=True) if gap <= 0]
        if alike:
            return None, f"{listed([str(arms[self.leader]), *alike])} have the same mean so far"
        needed = self._needed(np.array([self.leader, *rivals]), np.array([gaps.min(), *gaps]) / 2)
        if np.isinf(needed).any():
            return None, f"a gap of {gaps.min() * self.unit:.2g} is too small to tell"
        missing = needed - self.pulls[[self.leader, *rivals]]
        return max(1, int(np.ceil(np.maximum(missing, 0.0).sum()))), ""

    def _needed(self, arms: IntArray, widths: FloatArray) -> FloatArray:
        """How many pulls of each arm in all, the leader's first, bring its bound to within a width of its mean.

        The leader's lower bound, the others' upper one, at shares of the levels as they are; between powers of two
        widths fall like a power.
        """
        sizes = 2.0 ** np.arange(DOUBLINGS)
        shares = self.counts[arms] / self.pulls[arms, None]
        rows = (sizes[:, None] * shares[:, None, :]).reshape(-1, len(self.worth))
        lows, highs = (each.reshape(len(arms), -1) for each in mean_bounds(rows, self.worth, self.miss))
        away = highs - self.means[arms, None]
        away[0] = self.means[arms[0]] - lows[0]
        enough = away <= widths[:, None]
        first = enough.argmax(axis=1)
        each = np.arange(len(arms))
        before, after = (np.log(np.maximum(away[each, at], 1e-12)) for at in (np.maximum(first - 1, 0), first))
        with np.errstate(divide="ignore", invalid="ignore"):  # where the first size is enough
            found = sizes[first] / 2 * 2.0 ** ((before - np.log(widths)) / (before - after))
        found = np.where(first == 0, 1.0, found)
        return np.where(enough.any(axis=1), found, np.inf)
