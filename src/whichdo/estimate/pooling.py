"""Looking and direct pulls together: one mean for each arm, its limits, and its effect against doing nothing.

What looking says of an arm counts for as many pulls as would know it as well; direct pulls count
for themselves.  Everything is on a scale of the reward from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.limits import mean_limits
from whichdo.estimate.shrinkage import rows_of, rows_of_table
from whichdo.evidence import Tally

if TYPE_CHECKING:
    from whichdo.arrays import BoolArray, FloatArray, IntArray
    from whichdo.estimate.estimator import Looked
    from whichdo.estimate.shrinkage import Rows
    from whichdo.problem import Problem


LEAST = 1e-12
"""A lower limit below this is 0."""


@dataclass(frozen=True)
class Pooled:
    """Numbers of all arms of the problem, in its order; those of an arm of which nothing is known are NaN."""

    looked: Looked
    pulls: IntArray
    """Direct pulls; those of do() are looks."""
    part: FloatArray
    """The share of looking in each mean."""
    means: FloatArray
    variances: FloatArray
    """Of the means; what was never seen is not in it."""
    row_weights: FloatArray
    """How far one more row would move each mean."""
    below: FloatArray
    above: FloatArray
    """How far rows never seen could move it down, and up."""
    sizes: FloatArray
    """How many direct pulls the evidence is worth; 0 where there is none."""
    direct: FloatArray
    """The mean of the direct pulls alone, and its variance."""
    direct_variances: FloatArray
    direct_sizes: FloatArray
    """How many pulls that weigh alike they are."""

    @cached_property
    def known(self) -> BoolArray:
        """Which arms anything is known of."""
        found: BoolArray = ~np.isnan(self.means) & (self.sizes > 0)
        return found

    @property
    def effects(self) -> FloatArray:
        """The mean of each arm less that of do()."""
        found: FloatArray = self.means - self.means[0]
        return found

    def limits(self, z: float) -> tuple[FloatArray, FloatArray]:
        """The limits of each mean, each missed with the chance of z standard errors; the whole range if unknown."""
        low, high = np.zeros(self.means.shape), np.ones(self.means.shape)
        at = np.flatnonzero(self.known)
        found = mean_limits(self.means[at], self.variances[at], self.row_weights[at], z)
        low[at] = np.clip(found[0] - self.below[at], 0.0, 1.0)
        low[low < LEAST] = 0.0
        high[at] = np.clip(found[1] + self.above[at], 0.0, 1.0)
        return low, high

    def effect_limits(self, z: float) -> tuple[FloatArray, FloatArray]:
        """The limits of each effect; NaN where either mean is not known.  That of do() is 0."""
        settled, sources = self.looked.settled, self.looked.sources
        entry_low, entry_high = settled.effect_limits(z)
        entry_low[0] = entry_high[0] = 0.0
        looked, mean = sources >= 0, np.nan_to_num(self.direct)
        below = np.where(looked, np.nan_to_num((settled.effects - entry_low)[sources]), 0.0)
        above = np.where(looked, np.nan_to_num((entry_high - settled.effects)[sources]), 0.0)
        base = self._base_distances(z)
        own = self._direct_distances(z, mean)
        pulled = self.pulls > 0
        part, rest = self.part, np.where(pulled, 1 - self.part, 0.0)
        # do() itself is in both, what looking says of the effect and the direct one: its errors add up.
        both = 2 * part * rest
        low = np.sqrt((part * below) ** 2 + rest**2 * (own[0] ** 2 + base[1] ** 2) + both * base[1] ** 2)
        high = np.sqrt((part * above) ** 2 + rest**2 * (own[1] ** 2 + base[0] ** 2) + both * base[0] ** 2)
        known = self.known & self.known[0]
        return (
            np.where(known, np.maximum(self.effects - low, -1.0), np.nan),
            np.where(known, np.minimum(self.effects + high, 1.0), np.nan),
        )

    def _base_distances(self, z: float) -> tuple[float, float]:
        low, high = self.limits(z)
        return float(self.means[0] - low[0]), float(high[0] - self.means[0])

    def _direct_distances(self, z: float, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        below, above = np.zeros(mean.shape), np.zeros(mean.shape)
        at = np.flatnonzero(self.pulls > 0)
        low, high = mean_limits(mean[at], self.direct_variances[at], 1 / self.direct_sizes[at], z)
        below[at], above[at] = mean[at] - low, high - mean[at]
        return below, above


def pool(looked: Looked, seen: Tally, worth: FloatArray) -> Pooled:
    """Join what looks say with direct pulls; ``worth`` of each level of the reward, from 0 to 1."""
    rows = direct_rows(seen, worth)
    pulls = np.where(rows.sizes > 0, seen.pulls, 0)  # rows that weigh nothing say nothing
    pulls[0] = 0  # pulls of do() are the looks themselves
    worth_of_pulls = np.where(pulls > 0, rows.sizes, 0.0)
    plain = np.where(pulls > 0, rows.means, np.nan)
    noise = np.maximum(rows.squares - rows.means**2, 0.0) / np.where(pulls > 0, rows.sizes, 1.0)
    settled = looked.settled
    knows = looked.known & (looked.by_arm(settled.most) > 0)
    sizes = np.where(knows, looked.by_arm(settled.sizes), 0.0)
    sizes = np.nan_to_num(sizes)
    total: FloatArray = sizes + worth_of_pulls
    part = np.where(pulls == 0, 1.0, sizes / np.maximum(total, 1e-12))
    rest = 1 - part

    def joined(entries: FloatArray, direct: FloatArray, power: int = 1) -> FloatArray:
        seeing = np.where(part > 0, part**power * np.nan_to_num(looked.by_arm(entries)), 0.0)
        found: FloatArray = seeing + np.where(pulls > 0, rest**power * np.nan_to_num(direct), 0.0)
        return np.where(knows | (pulls > 0), found, np.nan)

    nothing = np.zeros(len(pulls))
    return Pooled(
        looked=looked,
        pulls=pulls,
        part=part,
        means=joined(settled.means, plain),
        variances=joined(settled.variances, noise, 2),
        row_weights=joined(settled.own.row_weights, 1 / np.where(pulls > 0, rows.sizes, 1.0)),
        below=joined(settled.below, nothing),
        above=joined(settled.above, nothing),
        sizes=total,
        direct=plain,
        direct_variances=noise,
        direct_sizes=worth_of_pulls,
    )


def direct_rows(seen: Tally, worth: FloatArray) -> Rows:
    """What direct pulls of each arm say by themselves: from levels, or from sums where its tables have them."""
    rows = rows_of(seen.counts.astype(np.float64), worth)
    problem = seen.problem
    for arm, tables in seen.tables.items():
        own = tables.get((), tables.get((problem.reward,)))
        if own is not None and len(own.statistics) > 1:
            exact = rows_of_table(own, (), problem.reward, worth)
            place = problem.index(arm)
            for part, better in zip(
                (rows.sizes, rows.mass, rows.means, rows.squares),
                (exact.sizes, exact.mass, exact.means, exact.squares),
                strict=True,
            ):
                part[place] = better
    return rows


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
