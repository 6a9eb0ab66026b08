"""Where the estimate of each arm comes from, and which arms share their direct pulls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.limits import mean_limits
from whichdo.estimate.ranking import Source
from whichdo.evidence import Tally

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray
    from whichdo.estimate.pooling import Pooled
    from whichdo.problem import Problem

__all__ = ["equal_arms", "sources_of_arms", "with_shared_pulls"]


def equal_arms(problem: Problem) -> IntArray:
    """For each arm the position of the first one that does the same to the reward; arms that equal do() have theirs.

    An arm with a member that is idle once the others are set is the same as without that member.
    """
    first: dict[object, int] = {}
    found = np.zeros(len(problem.arms), np.int64)
    for position, arm in enumerate(problem.arms[1:], start=1):
        acting = problem.verdicts[arm.targets].acting
        found[position] = first.setdefault(tuple((name, arm.settings[name]) for name in acting), position)
    return found


def with_shared_pulls(seen: Tally, equal: IntArray) -> Tally:
    """A tally in which each arm has the direct pulls of all that are equal to it; do() has its looks alone."""
    problem, counts, tables = seen.problem, seen.counts.copy(), dict(seen.tables)
    for first in np.flatnonzero(np.bincount(equal[1:]) > 1).tolist():
        same = np.flatnonzero(equal == first)
        held = [seen.tables.get(problem.arms[place]) or {} for place in same.tolist() if seen.pulls[place]]
        counts[same] = seen.counts[same].sum(axis=0)
        for scope in ((), (problem.reward,)):
            if held and all(scope in each for each in held):
                whole = held[0][scope]
                for each in held[1:]:
                    whole = whole + each[scope]
                for arm in (problem.arms[place] for place in same.tolist()):
                    tables[arm] = {**tables.get(arm, {}), scope: whole}
    return Tally(problem, counts, tables, seen.rows)


def sources_of_arms(
    pooled: Pooled, limits: tuple[FloatArray, FloatArray], z: float, scale: tuple[float, float]
) -> list[tuple[Source, ...]]:
    """The sources of each arm's estimate.

    Parameters
    ----------
    pooled
        All arms, on a scale from 0 to 1.
    limits
        Of all arms, as ``pooled`` has them.
    z
        How many standard errors away the limits of a normal estimate would be.
    scale
        What leads back to the reward's own scale: its least value and its range.
    """
    looked, (least, reach) = pooled.looked, scale

    def source(name: str, weight: float, *numbers: float) -> Source:
        estimate, low, high = (least + reach * float(number) for number in numbers)
        return Source(name, float(weight), estimate, low, high)

    entries: dict[int, list[Source]] = {}
    for start, origins in looked.origins.items():
        for each in origins:
            name = f"do({', '.join(each.source)})" if each.source else "looks"
            numbers = zip(each.weights, each.settled.means, *each.settled.limits(z), strict=True)
            for setting, row in enumerate(numbers):
                entries.setdefault(start + setting, []).append(source(name, *row))
    pulled = np.flatnonzero(pooled.pulls > 0)
    own: FloatArray = np.full((2, len(pooled.pulls)), np.nan)
    by_looks = own.copy()
    if len(pulled):
        noise, sizes = pooled.direct_variances[pulled], pooled.direct_sizes[pulled]
        own[:, pulled] = mean_limits(pooled.direct[pulled], noise, 1 / sizes, z)
        by_looks[:] = [looked.by_arm(each) for each in looked.settled.limits(z)]
    found = []
    for position, entry in enumerate(looked.sources.tolist()):
        part, direct = float(pooled.part[position]), pooled.pulls[position] > 0
        sources: list[Source] = []
        if entry >= 0 and looked.settled.most[entry] > 0:
            low, high = by_looks[:, position] if direct else (limits[0][position], limits[1][position])
            looks = [source("looks", 1.0, looked.settled.means[entry], low, high)]
            sources = [each._replace(weight=part * each.weight) for each in entries.get(entry, looks)]
        if direct:
            weight = 1 - part if sources else 1.0
            sources.append(source("direct", weight, pooled.direct[position], *own[:, position]))
        found.append(tuple(sources))
    return found
