"""The conflict alarm: direct pulls against what looking and the graph say they should be.

A graph makes two kinds of promises that direct pulls can break.  The mean reward of do(X=x) is what looking makes of
it; and a node on which X does not act has the same law under do(X=x) as under do().  A broken promise means that the
graph is wrong there (or that the intervention was not clean), and no amount of looking will help.

The alarm is listened to after every tell, for weeks, over all arms, and may go off by mistake in one campaign of
twenty.  So evidence is a product of two wealths (`whichdo.campaign.wealth`), each at most 1 on average at any time if
the true mean is p: what bets on the direct pulls made against p, and what bets on the looks made.  If both samples have
the same mean, the product at that mean reaches 1/miss with chance ``miss`` at most, at all times together; so the least
product over all p does too.  Bets on looks are Robbins' normal mixture

    sqrt(r / (r + n)) * exp( n / (r + n) * z^2 / 2 ),        z = distance of p from the estimate in standard errors

with n the effective size, and r = 300 or a quarter of what the looks at hand before the first pull were worth, if that
is more.  This half is a large-sample statement: an estimate by looking is a sum of many small parts.  It is kept
careful where these are few: small n makes z count for little, rows never seen take away from the distance, what
shrinkage moved counts as error, and long tails count as they do for rare events (lean).

The chance of a mistake is shared: 0.9 of it among the arms' means, the rest among nodes that should not move.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.campaign.conflict import Conflict, Kind, Suspect, carried, fallback, lost_arms
from whichdo.campaign.diagnosis import counts_of, first_changed, watched_scopes
from whichdo.campaign.wealth import chance, log_wealth
from whichdo.errors import UsageError
from whichdo.estimate.estimator import look
from whichdo.estimate.shrinkage import unit_scale
from whichdo.evidence import whole_number
from whichdo.graph.identify import Route
from whichdo.problem import LOOK, Arm

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.arrays import FloatArray
    from whichdo.estimate.ranking import ArmRank, Ranking
    from whichdo.evidence import Tally
    from whichdo.graph.targets import Targets
    from whichdo.problem import Problem

__all__ = ["Conflict", "Kind", "Suspect", "audit_pulls", "carried", "conflicts", "fallback", "watched_scopes"]


FOR_MEANS = 0.9
"""The share of the chance of a mistake that is spent on the arms' means."""
REFERENCE = 300.0
"""The effective looks at which bets on looks begin to count in full: r above."""
GRID = 65
EDGE = 1e-9

AUDIT_SHARE = 0.1
"""The most of a budget that audits take."""
AUDITED = 3
"""How many leaders are audited."""
AUDIT_ENOUGH = 100
"""Direct pulls of an arm that find an error of 0.3 nearly surely; more are no audit any more."""


def conflicts(
    problem: Problem,
    looks: Tally,
    pulls: Tally,
    *,
    level: float = 0.05,
    logged: int = 0,
    arms: Iterable[Arm] | None = None,
    known: Iterable[Suspect] = (),
) -> tuple[Conflict, ...]:
    """Where direct pulls contradict looking, the surest first; empty while nothing does.

    ``looks``: the tables of do(), logged and live.  ``pulls``: direct pulls, with rows or with tables of single nodes
    (`watched_scopes` names all that can be used).  Pulls of do() among them are ignored.
    ``level``: the share of whole campaigns with a right graph in which this is ever not empty, at most, however often
    it is called.
    ``logged``: how many of the looks were at hand before the first direct pull, the same for all of a campaign; long
    logs are then put to better use.
    ``arms``: those to test now, by default all, such as the one just told; the level is shared among all arms anyway.
    ``known``: what earlier alarms found, in the problem of `fallback`; it is not said again for the same targets and
    node.
    """
    chance(level, "level")
    if looks.problem != problem or pulls.problem != problem:
        raise UsageError("These tallies were counted for another problem; `carried` takes them over.")
    tested = [arm for arm in (problem.arms if arms is None else arms) if not arm.is_look]
    tested = [arm for arm in tested if pulls.pulls[problem.index(arm)] > 0]
    if not tested or not looks.pulls[0]:
        return ()
    means, nodes = _shares(problem, level)
    before = min(whole_number(logged, "number of logged looks") / float(looks.pulls[0]), 1.0)
    found = [
        *_means(problem, looks, pulls, tested, means, before),
        *_moved(problem, looks, pulls, tested, nodes, before),
    ]
    said = {(suspect.arm.targets, suspect.node) for suspect in known}
    fresh = [conflict for conflict in found if (conflict.arm.targets, conflict.node) not in said]
    return tuple(sorted(fresh, key=lambda conflict: conflict.chance))


@dataclass(frozen=True)
class _Share:
    """The part of the level that each of some tests gets."""

    level: float
    enough: float
    """The logarithm of the wealth at which a test goes off."""

    def chance(self, evidence: float) -> float:
        """In how many campaigns so much evidence would come up in any test of the alarm, at most."""
        return self.level * exp(min(self.enough - evidence, 0.0))


def _shares(problem: Problem, level: float) -> tuple[_Share, _Share]:
    """For a test of a mean and for one of a node that should not move."""
    means, nodes = problem.remember("alarm tests", lambda: _number_of_tests(problem))
    return (
        _Share(level, log(max(means, 1) / (FOR_MEANS * level))),
        _Share(level, log(max(nodes, 1) / ((1 - FOR_MEANS) * level))),
    )


def _number_of_tests(problem: Problem) -> tuple[int, int]:
    means = nodes = 0
    for targets, places in problem.positions.items():
        means += len(places) * problem.verdicts[targets].identified
        nodes += len(places) * sum(len(_levels(problem, other)) for other in _unmoved(problem, targets))
    return means, nodes


def _unmoved(problem: Problem, targets: Targets) -> tuple[str, ...]:
    """Nodes on which no target acts; the reward is tested as a mean."""
    found: tuple[str, ...] = problem.remember(f"unmoved by {targets}", lambda: _not_below(problem, targets))
    return found


def _not_below(problem: Problem, targets: Targets) -> tuple[str, ...]:
    moved = {*problem.graph.descendants(targets), problem.reward}
    return tuple(other for other in problem.graph.nodes if other not in moved)


def _levels(problem: Problem, name: str) -> range:
    """The codes whose shares are compared: one of two says it all."""
    size = len(problem.domains[name])
    return range(1, 2) if size == 2 else range(size)


# ------------------------------------------------------------------------------------------------------------- evidence


@dataclass(frozen=True)
class _Looking:
    """Estimates by looking on a scale of [0, 1], one a test; see `whichdo.estimate.settled.Settled`."""

    before: float
    """The share of the looks that were at hand before the first pull."""
    means: FloatArray
    errors: FloatArray
    below: FloatArray
    above: FloatArray
    """How far rows never seen could move the mean down, and up."""
    leans: FloatArray
    """How lopsided the errors are: their third central moment over their variance."""
    sizes: FloatArray

    def log_wealth(self, p: FloatArray) -> FloatArray:
        """What bets on the looks made against each p, a row for each test.

        In the direction of the longer tail z is that of lean/2 z^2 + error z = distance: normal close by, and like the
        tail of rare events, distance/lean for z^2/2, far away.
        """
        away = p - self.means[:, None]
        distance = np.maximum(np.abs(away) - np.where(away > 0, self.above[:, None], self.below[:, None]), 0.0)
        tail = np.maximum(np.sign(away) * self.leans[:, None], 0.0)
        error = np.maximum(self.errors[:, None], EDGE)
        z = 2 * distance / (error + np.sqrt(error**2 + 2 * tail * distance))
        n = self.sizes[:, None]
        r = np.maximum(REFERENCE, self.before * n / 4)
        wealth: FloatArray = n / (r + n) * z**2 / 2 - 0.5 * np.log1p(n / r)
        return wealth

    def take(self, chosen: FloatArray) -> _Looking:
        """Some of the tests."""
        parts = (self.means, self.errors, self.below, self.above, self.leans, self.sizes)
        return _Looking(self.before, *(part[chosen] for part in parts))


def _evidence(looking: _Looking, counts: FloatArray, worth: FloatArray, enough: float) -> FloatArray:
    """The logarithm of the least product of wealths, where that can be ``enough``; minus infinity elsewhere.

    At the looked-at mean itself bets on looks made nothing, so bets on pulls must have made enough there.
    """
    found = np.full(len(counts), -np.inf)
    pulled = counts.sum(axis=1) > 0
    centre = np.clip(np.nan_to_num(looking.means), EDGE, 1 - EDGE)
    can = pulled & (looking.sizes > 0) & (log_wealth(counts, worth, centre[:, None])[:, 0] >= enough)
    chosen: Any = np.flatnonzero(can)
    if len(chosen):
        found[chosen] = _least(looking.take(chosen), counts[chosen], worth)
    return found


def _least(looking: _Looking, counts: FloatArray, worth: FloatArray) -> FloatArray:
    """The least of a function that is convex in p lies between the two means: a grid, then a finer one."""
    start, end = looking.means, counts @ worth / counts.sum(axis=1)
    steps = np.linspace(0, 1, GRID)
    least = np.full(len(counts), np.inf)
    for _ in range(3):
        p = np.clip(start[:, None] + (end - start)[:, None] * steps, EDGE, 1 - EDGE)
        made = log_wealth(counts, worth, p) + looking.log_wealth(p)
        lowest = made.argmin(axis=1)
        rows = np.arange(len(counts))
        least = np.minimum(least, made[rows, lowest])
        start, end = p[rows, np.maximum(lowest - 1, 0)], p[rows, np.minimum(lowest + 1, GRID - 1)]
    return least


# ---------------------------------------------------------------------------------------------------------------- tests


def _means(
    problem: Problem, looks: Tally, pulls: Tally, tested: list[Arm], share: _Share, before: float
) -> list[Conflict]:
    """Arms whose mean reward is not what looking makes of it."""
    worth, least, reach = unit_scale(np.array(list(problem.utility.values())))
    looked = look(problem, looks, worth)
    positions = np.array([problem.index(arm) for arm in tested])
    settled = looked.settled
    leans = (1 - 2 * settled.means) * settled.own.row_weights
    parts = (settled.means, np.sqrt(settled.variances), settled.below, settled.above, leans, settled.sizes)
    looking = _Looking(before, *(np.nan_to_num(looked.by_arm(part)[positions]) for part in parts))
    counts = pulls.counts[positions].astype(np.float64)
    evidence = _evidence(looking, counts, worth, share.enough)
    found = []
    for row in np.flatnonzero(evidence >= share.enough).tolist():
        suspect, sure = _suspect(problem, looks, pulls, tested[row])
        direct = float(counts[row] @ worth / counts[row].sum())
        found.append(
            Conflict(
                problem=problem,
                suspect=suspect,
                sure_of_node=sure,
                looked=problem.own_scale(least + reach * float(looking.means[row])),
                looks=int(looked.looks),
                worth=float(looking.sizes[row]),
                direct=problem.own_scale(least + reach * direct),
                pulls=int(counts[row].sum()),
                value=None,
                chance=share.chance(float(evidence[row])),
                lost=lost_arms(problem, suspect),
            )
        )
    return found


def _suspect(problem: Problem, looks: Tally, pulls: Tally, arm: Arm) -> tuple[Suspect, bool]:
    """Where the graph goes wrong about an arm's mean, and whether anything but the reward itself says so."""
    if problem.verdicts[arm.targets].route is Route.SAME:
        return Suspect(arm, Kind.MOVED, problem.reward), True
    named = first_changed(problem, looks, pulls, arm)
    return Suspect(arm, Kind.ESTIMATE, named or problem.reward), named is not None


def _moved(
    problem: Problem, looks: Tally, pulls: Tally, tested: list[Arm], share: _Share, before: float
) -> list[Conflict]:
    """Nodes that changed although the arm's targets do not act on them; of each arm the clearest."""
    cases = _unmoved_counts(problem, looks, pulls, tested)
    if not cases:
        return []
    by_itself, by_doing = (np.array([case[part] for case in cases]) for part in (3, 4))
    evidence = _evidence(_shares_looked_at(by_itself, before), by_doing, np.array([0.0, 1.0]), share.enough)
    found: dict[Arm, Conflict] = {}
    for row in np.argsort(-evidence, kind="stable").tolist():
        arm, node, code = cases[row][:3]
        if evidence[row] < share.enough or arm in found:
            continue
        suspect = Suspect(arm, Kind.MOVED, node)
        found[arm] = Conflict(
            problem=problem,
            suspect=suspect,
            sure_of_node=True,
            looked=float(by_itself[row, 1] / by_itself[row].sum()),
            looks=int(by_itself[row].sum()),
            worth=float(by_itself[row].sum()),
            direct=float(by_doing[row, 1] / by_doing[row].sum()),
            pulls=int(by_doing[row].sum()),
            value=problem.domains[node][code],
            chance=share.chance(float(evidence[row])),
            lost=lost_arms(problem, suspect),
        )
    return list(found.values())


Case = tuple[Arm, str, int, tuple[float, float], tuple[float, float]]


def _unmoved_counts(problem: Problem, looks: Tally, pulls: Tally, tested: list[Arm]) -> list[Case]:
    """For each arm, node that it should leave alone, and value: how often it came otherwise and so, twice."""
    seen: dict[str, FloatArray | None] = {}
    cases: list[Case] = []
    for arm in tested:
        for node in _unmoved(problem, arm.targets):
            if node not in seen:
                seen[node] = counts_of(looks, LOOK, (node,))
            by_itself, by_doing = seen[node], counts_of(pulls, arm, (node,))
            if by_itself is None or by_doing is None or not by_itself.sum():
                continue
            for code in _levels(problem, node):
                a, b = float(by_itself[code]), float(by_doing[code])
                cases.append((arm, node, code, (float(by_itself.sum()) - a, a), (float(by_doing.sum()) - b, b)))
    return cases


def _shares_looked_at(counts: FloatArray, before: float) -> _Looking:
    """Plain shares as estimates by looking, smoothed and judged as those are."""
    n = counts.sum(axis=1)
    share = (counts[:, 1] + 1) / (n + 2)
    shift = share - counts[:, 1] / n
    errors = np.sqrt(share * (1 - share) / (n + 3) + shift**2)
    nothing = np.zeros_like(n)
    return _Looking(before, share, errors, nothing, nothing, (1 - 2 * share) / n, n)


# --------------------------------------------------------------------------------------------------------------- audits


def audit_pulls(ranking: Ranking, pulls: Tally, budget: int) -> dict[Arm, int]:
    """Direct pulls to keep for arms that lead by looking, so that the alarm can go off before they are believed.

    At most a tenth of what is left of the budget, in pulls, for the three that lead by looking: half for the first,
    which is the one that will be recommended, the rest for the others.  An arm that has been pulled a hundred times
    needs none; looks need no audit, nor do arms that looking does not settle.
    """
    verdicts = ranking.problem.verdicts

    def audited(row: ArmRank) -> bool:
        if row.arm.is_look or row.must_try or np.isnan(row.estimate):
            return False
        return verdicts[row.arm.targets].route not in {Route.SAME, Route.TRY}

    leaders = [row.arm for row in ranking.ordered if audited(row)][:AUDITED]
    kept: dict[Arm, int] = {}
    left = int(AUDIT_SHARE * budget)
    for place, arm in enumerate(leaders):
        part = left // min(2, len(leaders) - place)
        wanted = max(AUDIT_ENOUGH - int(pulls.pulls[ranking.problem.index(arm)]), 0)
        if min(part, wanted):
            kept[arm] = min(part, wanted)
            left -= kept[arm]
    return kept
