"""The conflict alarm: direct pulls against what looking and the graph say they should be.

A graph makes three kinds of promises that direct pulls can break.  The mean reward of do(X=x) is what looking makes of
it; a node on which X does not act has the same law under do(X=x) as under do(); and one on which it acts has the same
law given its effective parents, unless a hidden cause ties it to X: a c-factor that looks and pulls both know.  A
broken promise means that the graph is wrong there (or that the intervention was not clean), and no amount of looking
will help.

The alarm is heard after every few tells, for weeks, over all arms, and may go off by mistake in one campaign of twenty.
Each promise is a test whose evidence holds at all times
(`whichdo.monitoring.wealth`).  All tests together are one bet:
the average of their wealths, weighted before anything is pulled, 0.55 for the arms' means, 0.15 for nodes that should
not move and 0.1 for laws given parents.  What is left of the chance of a mistake belongs to
`whichdo.monitoring.staleness`, which asks whether the logs are out of date.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import exp, inf, log
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import UsageError
from whichdo.estimate.estimator import look
from whichdo.estimate.shrinkage import unit_scale
from whichdo.evidence import whole_number
from whichdo.graph.identify import Route
from whichdo.monitoring.conflict import Conflict, Kind, Suspect, carried, fallback, lost_arms
from whichdo.monitoring.diagnosis import (
    MAX_FAMILY,
    counts_of,
    families_of,
    first_changed,
    rows_of_arm,
    watched_scopes,
)
from whichdo.monitoring.wealth import Reference, chance, log_evidence, mean_of_levels
from whichdo.problem import LOOK, Arm, per_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whichdo.arrays import FloatArray
    from whichdo.domains import Value
    from whichdo.evidence import Tally
    from whichdo.graph.targets import Targets
    from whichdo.problem import Problem
    from whichdo.tables import Scope

__all__ = ["Conflict", "Kind", "Suspect", "carried", "conflicts", "fallback", "watched_scopes"]


FOR_MEANS = 0.55
"""The share of the chance of a mistake that is staked on the arms' means."""
FOR_NODES = 0.15
"""The share that is staked on nodes that should not move."""
FOR_LAWS = 0.1
"""The share that is staked on laws given parents, of nodes that may move."""


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
    ``logged``: how many of the looks were logged before the first direct pull, the same for all of a campaign; long
    logs are then put to better use.
    ``arms``: those to test now, by default all; the stakes are shared among all arms anyway.
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
    before = min(whole_number(logged, "number of logged looks") / float(looks.pulls[0]), 1.0)
    tests = [
        *_means(problem, looks, pulls, tested, before),
        *_nodes(problem, looks, pulls, tested, before),
        *_laws(problem, looks, pulls, tested),
    ]
    said = {(suspect.arm.targets, suspect.node) for suspect in known}
    tests = [test for test in tests if (test.arm.targets, test.node) not in said]
    tests.sort(key=lambda test: -test.evidence)
    enough, together = -log(level), _joined(tests)
    found: dict[tuple[Arm, Kind], Conflict] = {}
    for place, test in enumerate(tests):
        evidence = test.evidence if place else together  # what all tests say together is said of the clearest
        if evidence < enough:
            break
        conflict = test.conflict(exp(-evidence))
        if (conflict.arm.targets, conflict.node) not in said:
            found.setdefault((conflict.arm, conflict.kind), conflict)
    return tuple(found.values())


@dataclass(frozen=True)
class _Test:
    """A promise of the graph that pulls of an arm speak against."""

    evidence: float
    """The logarithm of its wealth, times its stake."""
    arm: Arm
    node: str | None
    """The node that should not have moved; None for a mean, of which the node has to be found out."""
    conflict: Callable[[float], Conflict]
    """What to say, given in how many campaigns with a right graph so much would come up, at most."""


def _joined(tests: list[_Test]) -> float:
    """The logarithm of what all bets made together."""
    return float(np.logaddexp.reduce([test.evidence for test in tests])) if tests else -inf


def _stakes(problem: Problem) -> tuple[float, float, float]:
    """The logarithms of what is staked on a test of a mean, of a node that should not move, and of a law."""
    means, nodes, laws = _number_of_tests(problem)
    return log(FOR_MEANS / max(means, 1)), log(FOR_NODES / max(nodes, 1)), log(FOR_LAWS / max(laws, 1))


@per_problem
def _number_of_tests(problem: Problem) -> tuple[int, int, int]:
    means = nodes = laws = 0
    for targets, places in problem.positions.items():
        means += len(places) * problem.verdicts[targets].identified
        nodes += len(places) * sum(len(_levels(problem, other)) for other in _unmoved(problem, targets))
        for name, given in _watched_laws(problem, targets):
            rows = problem.cells([other for other in given if other not in targets])
            laws += len(places) * rows * len(_levels(problem, name))
    return means, nodes, laws


@per_problem
def _unmoved(problem: Problem, targets: Targets) -> tuple[str, ...]:
    """Nodes on which no target acts; the reward is tested as a mean."""
    moved = {*problem.graph.descendants(targets), problem.reward}
    return tuple(other for other in problem.graph.nodes if other not in moved)


def _levels(problem: Problem, name: str) -> range:
    """The codes whose shares are compared: one of two says it all."""
    size = len(problem.domains[name])
    return range(1, 2) if size == 2 else range(size)


# ---------------------------------------------------------------------------------------------------------------- means


def _means(problem: Problem, looks: Tally, pulls: Tally, tested: list[Arm], before: float) -> Iterator[_Test]:
    """Arms whose mean reward is not what looking makes of it."""
    worth, least, reach = unit_scale(np.array(list(problem.utility.values())))
    looked = look(problem, looks, worth)
    positions = np.array([problem.index(arm) for arm in tested])
    settled = looked.settled
    leans = (1 - 2 * settled.means) * settled.own.row_weights
    parts = (settled.means, np.sqrt(settled.variances), settled.below, settled.above, leans, settled.sizes)
    reference = Reference(before, *(np.nan_to_num(looked.by_arm(part)[positions]) for part in parts))
    counts = pulls.counts[positions].astype(np.float64)
    evidence = log_evidence(reference, counts, worth) + _stakes(problem)[0]

    def conflict(row: int, chance: float) -> Conflict:
        suspect, sure = _suspect(problem, looks, pulls, tested[row])
        direct = float(counts[row] @ worth / counts[row].sum())
        return Conflict(
            problem=problem,
            suspect=suspect,
            sure_of_node=sure,
            looked=problem.own_scale(least + reach * float(reference.means[row])),
            looks=int(looked.looks),
            worth=float(reference.sizes[row]),
            direct=problem.own_scale(least + reach * direct),
            pulls=int(counts[row].sum()),
            value=None,
            chance=chance,
            lost=lost_arms(problem, suspect),
        )

    for row in np.flatnonzero(evidence > -inf).tolist():
        yield _Test(float(evidence[row]), tested[row], None, partial(conflict, row))


def _suspect(problem: Problem, looks: Tally, pulls: Tally, arm: Arm) -> tuple[Suspect, bool]:
    """Where the graph goes wrong about an arm's mean, and whether anything but the reward itself says so."""
    if problem.verdicts[arm.targets].route is Route.SAME:
        return Suspect(arm, Kind.MOVED, problem.reward), True
    named = first_changed(problem, looks, pulls, arm)
    return Suspect(arm, Kind.ESTIMATE, named or problem.reward), named is not None


# ---------------------------------------------------------------------------------------------------------------- nodes

Case = tuple[Arm, str, int, tuple[float, float], tuple[float, float]]


def _nodes(problem: Problem, looks: Tally, pulls: Tally, tested: list[Arm], before: float) -> Iterator[_Test]:
    """Nodes that changed although the arm's targets do not act on them."""
    cases = _unmoved_counts(problem, looks, pulls, tested)
    if not cases:
        return
    share = np.array([0.0, 1.0])
    by_itself, by_doing = (np.array([case[part] for case in cases]) for part in (3, 4))
    evidence = log_evidence(mean_of_levels(by_itself, share, before), by_doing, share) + _stakes(problem)[1]

    def conflict(row: int, chance: float) -> Conflict:
        arm, node, code = cases[row][:3]
        suspect = Suspect(arm, Kind.MOVED, node)
        return _of_shares(problem, suspect, (by_itself[row], by_doing[row]), problem.domains[node][code], chance)

    for row in np.flatnonzero(evidence > -inf).tolist():
        yield _Test(float(evidence[row]), cases[row][0], cases[row][1], partial(conflict, row))


def _of_shares(
    problem: Problem,
    suspect: Suspect,
    counts: tuple[FloatArray, FloatArray],
    value: Value,
    chance: float,
    where: str = "",
) -> Conflict:
    """A conflict about how often a value comes by itself and by doing; counts of otherwise and so."""
    by_itself, by_doing = counts
    return Conflict(
        problem=problem,
        suspect=suspect,
        sure_of_node=True,
        looked=float(by_itself[1] / by_itself.sum()),
        looks=int(by_itself.sum()),
        worth=float(by_itself.sum()),
        direct=float(by_doing[1] / by_doing.sum()),
        pulls=int(by_doing.sum()),
        value=value,
        chance=chance,
        lost=lost_arms(problem, suspect),
        where=where,
    )


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


# ----------------------------------------------------------------------------------------------------------------- laws


@per_problem
def _watched_laws(problem: Problem, targets: Targets) -> list[tuple[str, Scope]]:
    """The nodes that a target acts on, each with its effective parents, that are worth watching."""
    return [
        (name, given)
        for name, given in families_of(problem, targets).items()
        if problem.cells((*given, name)) <= MAX_FAMILY
    ]


Law = tuple[Arm, str, int, str, tuple[float, float], tuple[float, float]]


def _laws(problem: Problem, looks: Tally, pulls: Tally, tested: list[Arm]) -> Iterator[_Test]:
    """Nodes whose law given their effective parents changed: a factor that looks and pulls both know.

    How many of a row's looks were logged is not known beforehand, so the bets on it begin to count late.
    """
    cases = _law_counts(problem, looks, pulls, tested)
    if not cases:
        return
    share = np.array([0.0, 1.0])
    by_itself, by_doing = (np.array([case[part] for case in cases]) for part in (4, 5))
    evidence = log_evidence(mean_of_levels(by_itself, share, 0.0), by_doing, share) + _stakes(problem)[2]

    def conflict(row: int, chance: float) -> Conflict:
        arm, node, code, where = cases[row][:4]
        suspect = Suspect(arm, Kind.ESTIMATE, node)
        shares = by_itself[row], by_doing[row]
        return _of_shares(problem, suspect, shares, problem.domains[node][code], chance, where)

    for row in np.flatnonzero(evidence > -inf).tolist():
        yield _Test(float(evidence[row]), cases[row][0], cases[row][1], partial(conflict, row))


def _law_counts(problem: Problem, looks: Tally, pulls: Tally, tested: list[Arm]) -> list[Law]:
    """For each arm, node that it acts on, setting of its parents, and value: how often it came otherwise and so."""
    seen: dict[Scope, FloatArray | None] = {}
    cases: list[Law] = []
    for arm in tested:
        for node, given in _watched_laws(problem, arm.targets):
            wanted = (*given, node)
            if wanted not in seen:
                seen[wanted] = counts_of(looks, LOOK, wanted)
            by_itself, by_doing = seen[wanted], counts_of(pulls, arm, wanted)
            if by_itself is None or by_doing is None:
                continue
            here = rows_of_arm(problem, arm, given)
            both: Any = np.stack([by_itself[here], by_doing[here]])
            for place in np.argwhere((both.sum(axis=-1) > 0).all(axis=0)).tolist():
                counts = both[:, *place]
                where = ", ".join(
                    f"{name}={problem.domains[name][code]}"
                    for name, code in zip(given, place, strict=True)
                    if name not in arm.settings
                )
                for code in _levels(problem, node):
                    (a, b), (first, second) = counts[:, code], counts.sum(axis=-1)
                    cases.append((arm, node, code, where, (float(first - a), float(a)), (float(second - b), float(b))))
    return cases
