"""Warm halving: look first, then halve the arms, each starting with what looking was worth.

Ours.  Looking gives every arm that it can settle a mean and an effective size, the number of direct pulls it was worth.
Arms that are clearly worse are dropped at once; the rest go through sequential halving in which a pull always goes to
the surviving arm with the least evidence, and means pool looking with pulling.  An arm that looking cannot settle
begins with nothing and lives on its pulls.  Half the budget goes into looking where that serves every arm, less in
proportion where it serves fewer; logs at hand count as looks.

Where SRM-ALG replaces an estimate by the direct mean and spreads its second half equally, nothing is thrown away here,
and the budget follows the arms that are still in question.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import UsageError
from whichdo.estimate.interventional import estimator, interventional
from whichdo.evidence import Batch, Tally, observe
from whichdo.policies.base import Objective, Play, Policy, Recommendation, refuse_below, unit_costs
from whichdo.policies.registry import register

if TYPE_CHECKING:
    from whichdo.evidence import FloatArray, IntArray
    from whichdo.problem import Problem

__all__ = ["WarmHalving", "water_filling"]


@register("warm-halving")
@dataclass(frozen=True)
class WarmHalving(Policy):
    """Warm halving; ``caution`` is how many standard units apart two arms must be for the worse to be dropped."""

    caution: float = 1.5
    objective = Objective.SIMPLE

    def __post_init__(self) -> None:
        if not self.caution > 0:
            raise UsageError(f"caution is {self.caution!r}; it must be above 0.")

    def check(self, problem: Problem, budget: float) -> None:
        """One look and one pull at least."""
        unit_costs(self, problem)
        refuse_below(self, budget, 2, "a look and a pull")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """One batch of looks, then one a round."""
        left = int(budget)
        model = estimator(problem)
        served = np.count_nonzero(model.sources[1:] >= 0) / len(model.sources[1:])
        look = max(0, int(left * served / 2) - int(seen.counts[0].sum()))  # logs at hand are looks already made
        if look:
            seen = seen + (yield observe(look, scopes=model.scopes))
            left -= look
        looked = interventional(problem, seen)
        known = np.isfinite(looked.means) & (looked.looks > 0)
        base, sizes = np.where(known, looked.means, 0.0), np.where(known, looked.sizes, 0.0)
        alive = _plausible(np.where(known, looked.means, 0.5), sizes, self.caution)
        tried = Tally.empty(problem)
        rounds = max(1, ceil(log2(len(alive))))
        for number in range(rounds):
            pulls = water_filling(sizes[alive] + tried.pulls[alive], left // (rounds - number))
            batch = [(problem.arms[j], int(count)) for j, count in zip(alive, pulls, strict=True) if count]
            if batch:
                arms, counts = zip(*batch, strict=True)
                tried = tried + (yield Batch(arms, counts))
                left -= sum(counts)
            shuffled = rng.permutation(alive)  # ties are broken at random
            means = _pooled(base, sizes, tried)[shuffled]
            alive = np.sort(shuffled[np.argsort(-means, kind="stable")[: ceil(len(alive) / 2)]])
        pooled = _pooled(base, sizes, tried)
        return Recommendation(problem.arms[int(alive[np.argmax(pooled[alive])])], pooled)


def water_filling(levels: FloatArray, pulls: int) -> IntArray:
    """How to spread pulls so that each goes to the arm with the least evidence; the lowest levels rise together."""
    order = np.argsort(levels, kind="stable")
    heights = levels[order]
    counts = np.zeros(len(levels), np.int64)
    # The first k arms can be filled to the level of the next with what is left; find the largest such k.
    below = np.arange(1, len(levels) + 1) * heights - np.cumsum(heights)
    k = int(np.searchsorted(below, pulls, side="right"))
    surface = (pulls + heights[:k].sum()) / k
    share = np.maximum(surface - heights[:k], 0.0)
    whole = np.floor(share).astype(np.int64)
    rest = pulls - int(whole.sum())
    first = np.argsort(whole - share, kind="stable")[:rest]  # the largest fractions get one more
    whole[first] += 1
    counts[order[:k]] = whole
    return counts


def _plausible(means: FloatArray, sizes: FloatArray, caution: float) -> Any:
    """The arms that could still be best: upper end not below the best lower end."""
    with np.errstate(divide="ignore"):
        radius = caution / np.sqrt(sizes)
    return np.flatnonzero(means + radius >= np.max(means - radius))


def _pooled(base: FloatArray, sizes: FloatArray, tried: Tally) -> FloatArray:
    """The mean of looking and pulling together; an arm that nothing is known of counts as the worst."""
    pulls = tried.pulls
    direct = np.nan_to_num(tried.means) * pulls
    total = sizes + pulls
    pooled: FloatArray = np.where(total > 0, (base * sizes + direct) / np.maximum(total, 1e-12), -1.0)
    return pooled
