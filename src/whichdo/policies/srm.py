"""SRM-ALG: look for half the budget, then try what looking serves badly.

Maiti, Nair and Sinha 2022, Algorithm 1, on any ADMG.  Expected simple regret of order sqrt(m/T), up to logarithms,
where m is the hardness of the network: looking serves all nodes but the m rarest.

What the paper leaves open, and what is done: half the budget is rounded down.  do() has the plain mean of the looks.
If no node is badly seen the rest is spent on looking, and everything is estimated from all looks.  Pulls that do not
divide go to the rarest arms first; an arm without a pull keeps its estimate.  A direct mean replaces the estimate, as
printed.  Ties are broken at random.  A node that looking cannot settle has rarity 0, so that it is always tried.  Joint
arms, which the paper does not have, are counted by target set wherever it counts nodes.

Where arms cost differently the budget is money and the arms to try are those for which looking would cost more than
trying (Jamshidi, Etesami and Kiyavash 2024, Algorithm 2): the affordable set whose own price balances what the rarest
of the others would need in looks.  With equal costs it would count arms where the paper counts nodes.

``second_phase="rejects"`` runs successive rejects on the badly seen arms instead of pulling them equally often.
``pool=True`` joins the direct mean with the estimate from looking, each by its size, instead of replacing it.
``prune_parents=False`` keeps parents that no back-door path needs, also where there is no hidden confounder at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from whichdo.counting.scopes import Reading
from whichdo.errors import UsageError
from whichdo.estimate.interventional import estimator
from whichdo.estimate.rarity import c_sizes, hardness
from whichdo.evidence import Batch, observe
from whichdo.kernels.contraction import MEAN, SIZE, contract
from whichdo.kernels.rewards import pull_all, reward_streams
from whichdo.policies.allocation import best_of, equal_counts, means_of, rejects_schedule
from whichdo.policies.base import Objective, Play, Policy, best_arm, prices, refuse_below, utilities
from whichdo.policies.registry import register
from whichdo.policies.rejects import race, rejects

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.arrays import FloatArray, IntArray, WordArray
    from whichdo.estimate.interventional import Estimator
    from whichdo.evidence import Tally
    from whichdo.policies.base import Arena, Run
    from whichdo.problem import Problem

__all__ = ["SRM"]


@register("srm")
@dataclass(frozen=True)
class SRM(Policy):
    """SRM-ALG; step numbers are those of the paper's Algorithm 1."""

    second_phase: Literal["uniform", "rejects"] = "uniform"
    pool: bool = False
    prune_parents: bool = True
    objective = Objective.SIMPLE

    def __post_init__(self) -> None:
        if self.second_phase not in ("uniform", "rejects"):
            raise UsageError(f"second_phase is {self.second_phase!r}; it must be uniform or rejects.")

    def check(self, problem: Problem, budget: float) -> None:
        """One look and one pull at least."""
        least = problem.costs[problem.arms[0]] + max(problem.costs.values())
        refuse_below(self, budget, least, "a look and a pull")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """Two batches, or one a reject."""
        known = _Known(problem, self._reading, budget)
        luck, look, left = rng.random(len(problem.arms)), known.look, known.left
        seen = seen + (yield observe(look, scopes=known.model.scopes))  # steps 1-3
        looked = known.looked(known.model.counts(seen))  # steps 4-7
        poor = looked.poor
        if not len(poor):  # nothing is badly seen: look on
            more = yield observe(int(left / known.prices[0]), scopes=known.model.scopes)
            return best_arm(problem, known.looked(known.model.counts(seen + more)).means, rng)
        if self._races(poor, left, known):
            _, tried = yield from rejects(problem, [problem.arms[j] for j in poor], left, luck[poor])
        else:
            counts = known.second(left, poor)  # steps 8-9
            tried = yield Batch(tuple(problem.arms[j] for j in poor), tuple(counts.tolist()))
        return best_arm(problem, self._final(looked, tried.counts, known), rng)  # steps 10-11

    def compiled_run(self, problem: Problem, budget: float, arena: Arena) -> Run | None:
        """The same in compiled steps."""
        known = _Known(problem, self._reading, budget)
        looks = arena.looks(known.model.scopes)
        if looks is None:
            return None
        arms, levels, look, left = len(problem.arms), len(known.utility), known.look, known.left

        def run(key: WordArray, rng: np.random.Generator) -> tuple[int, float]:
            luck = rng.random(arms)
            tables: Callable[[int], FloatArray] = looks(key)
            counts = tables(look)
            looked = known.looked(counts)
            poor = looked.poor
            if not len(poor):
                more = int(left / known.prices[0])
                means = known.looked(counts + tables(more)).means
                return best_of(means, rng.random(arms)), float((look + more) * known.prices[0])
            streams, tried = reward_streams(arena.bounds, key), np.zeros((arms, levels), np.int64)
            if self._races(poor, left, known):
                price = known.prices[poor]
                schedule = rejects_schedule(left, price)
                _, spent = race(streams, poor, schedule, price, known.utility, luck[poor], tried)
            else:
                pulls = known.second(left, poor)
                pull_all(streams, poor, pulls, tried)
                spent = float(pulls @ known.prices[poor])
            return best_of(self._final(looked, tried, known), rng.random(arms)), look * known.prices[0] + spent

        return run

    @property
    def _reading(self) -> Reading:
        return Reading.PAPER if self.prune_parents else Reading.PLAIN

    def _races(self, poor: IntArray, money: float, known: _Known) -> bool:
        return self.second_phase == "rejects" and len(poor) > 1 and money > known.prices[poor].sum()

    def _final(self, looked: _Looked, tried: IntArray, known: _Known) -> FloatArray:
        """A direct mean replaces what looking said, or joins it."""
        means, sizes = looked.means.copy(), np.where(np.isnan(looked.means), 0.0, looked.sizes)
        pulled = looked.poor[tried[looked.poor].any(axis=1)]
        direct = means_of(tried, known.utility, pulled)
        if self.pool:
            pulls, size = tried[pulled].sum(axis=1), sizes[pulled]
            direct = (np.nan_to_num(means[pulled]) * size + direct * pulls) / (size + pulls)
        means[pulled] = direct
        return means


class _Looked(NamedTuple):
    """What the looks say: means of all arms, their sizes in pulls, and the positions of the arms to try (the set Q)."""

    means: FloatArray
    sizes: FloatArray
    poor: IntArray


class _Known:
    """What the algorithm knows of the problem before it looks."""

    def __init__(self, problem: Problem, reading: Reading, budget: float) -> None:
        self.model: Estimator = estimator(problem, reading)
        self.utility = utilities(problem)
        self.prices = prices(problem, problem.arms)
        self.k = c_sizes(problem)
        place = {targets: number for number, targets in enumerate(problem.target_sets)}
        self.sets = np.array([place[arm.targets] for arm in problem.arms[1:]])
        self.unit = bool((self.prices == 1).all())
        self.look = int(budget / (2 * self.prices[0]))
        self.left = float(budget - self.look * self.prices[0])

    def looked(self, counts: FloatArray) -> _Looked:
        """Steps 4 to 7."""
        model, levels = self.model, counts[: len(self.utility)]
        found, rarest = contract(model.plan, counts, self.utility, 1.0, 0.0)  # step 4
        means = np.where(model.sources >= 0, found[model.sources, MEAN], np.nan)
        looks = levels.sum()
        if looks > 0:  # do(), and arms that do not act on the reward, are plainly averaged
            means[model.sources == 0] = np.cumsum(levels * self.utility)[-1] / looks
        q = model.rarest(rarest, looks) / max(looks, 1.0)  # step 5
        poor = self._poor(q) if self.unit else self._dear(q)  # steps 6-7
        return _Looked(means, np.where(model.sources >= 0, found[model.sources, SIZE], 0.0), poor)

    def _poor(self, q: FloatArray) -> IntArray:
        """The set Q, rarest node first: steps 6 and 7."""
        m = hardness(q, self.k)
        chosen = 1 + np.flatnonzero((q**self.k < 1 / m)[self.sets])
        return chosen[np.argsort(q[self.sets[chosen - 1]], kind="stable")]

    def _dear(self, q: FloatArray) -> IntArray:
        """The arms that are cheaper to try than to look for, rarest first."""
        with np.errstate(divide="ignore", over="ignore"):
            needed = (1.0 / q**self.k)[self.sets]
        order = np.argsort(-needed, kind="stable")
        spent = np.concatenate([[0.0], np.cumsum(self.prices[1:][order])])
        rest = np.concatenate([needed[order], [0.0]]) * self.prices[0]
        price = np.where(spent <= self.left, np.maximum(spent, rest), np.inf)
        return 1 + order[: int(np.argmin(price))]

    def second(self, money: float, poor: IntArray) -> IntArray:
        """Step 8: the pulls of the arms in Q."""
        return equal_counts(money, self.prices[poor])
