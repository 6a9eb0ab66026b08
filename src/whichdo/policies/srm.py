"""SRM-ALG: look for half the budget, then try what looking serves badly.

Maiti, Nair and Sinha 2022, Algorithm 1, on any ADMG.  Expected simple regret of order sqrt(m/T), up to logarithms,
where m is the hardness of the network: looking serves all nodes but the m rarest.

What the paper leaves open, and what is done: half the budget is rounded down.  do() has the plain mean of the looks.
If no node is badly seen the rest is spent on looking, and everything is estimated from all looks.  Pulls that do not
divide go to the rarest arms first; an arm without a pull keeps its estimate.  A direct mean replaces the estimate, as
printed.  Ties are broken at random.  A node that looking cannot settle has rarity 0, so that it is always tried.  Joint
arms, which the paper does not have, are counted by target set wherever it counts nodes.

Where arms cost differently the budget is in cost units and the arms to try are those for which looking would cost more
than trying (Jamshidi, Etesami and Kiyavash 2024, Algorithm 2): the affordable set whose own cost balances what the
rarest of the others would need in looks.  With equal costs it would count arms where the paper counts nodes.

``second_phase="rejects"`` runs successive rejects on the badly seen arms instead of pulling them equally often.
``pool=True`` joins the direct mean with the estimate from looking, each by its size, instead of replacing it.
``prune_parents=False`` keeps parents that no back-door path needs, also where there is no hidden confounder at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from whichdo.errors import UsageError
from whichdo.estimate.kernel import MEAN, SIZE, look
from whichdo.estimate.model import Model
from whichdo.estimate.rarity import c_sizes, hardness, judged, rarity_scopes
from whichdo.evidence import all_prices, utilities
from whichdo.formulas import Formula
from whichdo.graph.identify import Route
from whichdo.identification.forms import paper_estimand
from whichdo.kernels.compiling import always_of_types, compiled
from whichdo.policies.allocation import means_of
from whichdo.policies.base import Objective, Play, Policy, best_arm, equal_batch, look_batch, refuse_below
from whichdo.policies.racing import raced
from whichdo.policies.registry import register
from whichdo.policies.rejects import rejects
from whichdo.problem import per_problem
from whichdo.tables import MAX_CELLS, Radix, starts

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray
    from whichdo.evidence import Batch, Tally
    from whichdo.problem import Problem
    from whichdo.tables import Scope


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
        known = _known(problem, plain=not self.prune_parents)
        luck, look = rng.random(len(problem.arms)), int(budget / (2 * known.prices[0]))
        left = float(budget - look * known.prices[0])
        seen = seen + (yield known.looks(look))  # steps 1-3
        looked = known.looked(known.model.counts(seen), left)  # steps 4-7
        poor = looked.poor
        if not len(poor):  # nothing is badly seen: look on
            more = yield known.looks(int(left / known.prices[0]))
            return best_arm(problem, known.looked(known.model.counts(seen + more), left).means, rng)
        if self._races(poor, left, known):
            tried = yield from raced(problem, rejects(problem, poor.copy(), left, luck))
        else:
            tried = yield equal_batch(problem, left, poor)  # steps 8-9
        return best_arm(problem, self._final(looked, tried.counts, known), rng)  # steps 10-11

    def _races(self, poor: IntArray, money: float, known: _Known) -> bool:
        return self.second_phase == "rejects" and len(poor) > 1 and money > known.prices[poor].sum()

    def _final(self, looked: _Looked, tried: IntArray, known: _Known) -> FloatArray:
        """A direct mean replaces what looking said, or joins it."""
        poor, means = looked.poor, looked.means.copy()
        pulled = poor[tried[poor].any(axis=1)]
        direct = means_of(tried, known.utility, pulled)
        if self.pool:
            size = np.where(np.isnan(means[pulled]), 0.0, looked.sizes[pulled])
            pulls = tried[pulled].sum(axis=1)
            direct = (np.nan_to_num(means[pulled]) * size + direct * pulls) / (size + pulls)
        means[pulled] = direct
        return means


class _Looked(NamedTuple):
    """What the looks say: means of all arms, their sizes in pulls, and the positions of the arms to try (the set Q)."""

    means: FloatArray
    sizes: FloatArray
    poor: IntArray


@per_problem
def _known(problem: Problem, *, plain: bool) -> _Known:
    return _Known(problem, plain=plain)


class _Known:
    """What the algorithm knows of the problem before it looks."""

    def __init__(self, problem: Problem, *, plain: bool) -> None:
        self.problem = problem
        self.model, self.cells = _prepared(problem, plain=plain)
        self.utility, self.prices = utilities(problem), all_prices(problem)
        self.k = c_sizes(problem)
        place = {targets: number for number, targets in enumerate(problem.target_sets)}
        self.sets = np.array([place[arm.targets] for arm in problem.arms[1:]])
        self.unit = bool((self.prices == 1).all())
        self.settled, self.plain = self.model.sources >= 0, self.model.sources == 0

    def looks(self, number: int) -> Batch:
        """Look so often."""
        return look_batch(self.problem, number, self.model.scopes)

    def looked(self, counts: FloatArray, left: float) -> _Looked:
        """Steps 4 to 7; ``left`` is the budget of the second phase."""
        levels, sources = counts[: len(self.utility)], self.model.sources
        found = always_of_types(look, self.model.plan, counts, self.utility)(
            self.model.plan, counts, self.utility
        )  # step 4
        means = np.where(self.settled, found[sources, MEAN], np.nan)
        looks = levels.sum()
        if looks > 0:  # do(), and arms that do not act on the reward, are plainly averaged
            means[self.plain] = np.cumsum(levels * self.utility)[-1] / looks
        q = _rarest(self.cells, counts, looks) / max(looks, 1.0)  # step 5
        poor = self._poor(q) if self.unit else self._expensive(q, left)  # steps 6-7
        return _Looked(means, np.where(self.settled, found[sources, SIZE], 0.0), poor)

    def _poor(self, q: FloatArray) -> IntArray:
        """The set Q, rarest node first: steps 6 and 7."""
        m = hardness(q, self.k)
        chosen = 1 + np.flatnonzero((q**self.k < 1 / m)[self.sets])
        return chosen[np.argsort(q[self.sets[chosen - 1]], kind="stable")]

    def _expensive(self, q: FloatArray, left: float) -> IntArray:
        """The arms that are cheaper to try than to look for, rarest first."""
        with np.errstate(divide="ignore", over="ignore"):
            needed = (1.0 / q**self.k)[self.sets]
        order = np.argsort(-needed, kind="stable")
        spent = np.concatenate([[0.0], np.cumsum(self.prices[1:][order])])
        rest = np.concatenate([needed[order], [0.0]]) * self.prices[0]
        price = np.where(spent <= left, np.maximum(spent, rest), np.inf)
        return 1 + order[: int(np.argmin(price))]


class _Cells(NamedTuple):
    """Where the cells are whose rarest decides each target set's q.

    ``goes[start[g] : start[g + 1]]`` says for each count of the scope that begins at ``counts[g]`` to which of the
    set's ``cells[g]`` cells it belongs.  Without cells nothing is rare (0), or nothing is settled (-1).
    """

    start: IntArray
    counts: IntArray
    goes: IntArray
    cells: IntArray


def _prepared(problem: Problem, *, plain: bool) -> tuple[Model, _Cells]:
    """The paper's estimator, and its cells; a node whose scope is too wide to lay out is left to be tried."""
    chosen: dict[tuple[str, ...], Formula | None] = {}
    wanted: list[tuple[Scope, Scope] | int] = []
    for verdict, cells in zip(judged(problem).values(), rarity_scopes(problem, plain=plain), strict=True):
        scope = tuple(sorted({*(cells or ()), problem.reward}, key=problem.graph.index))
        if cells is None or problem.cells(scope) > MAX_CELLS:
            chosen[verdict.targets] = None
            wanted.append(-1)
            continue
        node = verdict.acting[0] if verdict.acting else verdict.targets[0]
        estimand = paper_estimand(problem.graph, node, problem.reward, plain=plain)
        chosen[verdict.targets] = Formula(verdict.route, estimand, (), (scope,), problem.cells(scope), shared=False)
        wanted.append(0 if verdict.route is Route.SAME else (scope, cells))
    model = Model(problem, chosen, literal=True)
    begin = dict(zip(model.scopes, starts(map(problem.cells, model.scopes)), strict=False))
    counts, goes, sizes = [], [], []
    for each in wanted:
        scope, cells = each if isinstance(each, tuple) else ((), ())
        inside = Radix.of(scope, problem.sizes).onto(Radix.of(cells, problem.sizes).steps)
        goes.append(inside if scope else inside[:0])
        counts.append(begin.get(scope, 0))
        sizes.append(problem.cells(cells) if isinstance(each, tuple) else each)
    lengths = np.array(starts(len(each) for each in goes), np.int64)
    places = np.concatenate([np.zeros(0, np.int64), *goes]).astype(np.int64)
    return model, _Cells(lengths, np.array(counts, np.int64), places, np.array(sizes, np.int64))


@compiled
def _rarest(cells: _Cells, counts: FloatArray, looks: float) -> FloatArray:
    """For each target set how often its rarest cell was seen."""
    found = np.empty(cells.cells.size)
    for g in range(found.size):
        if cells.cells[g] <= 0:
            found[g] = looks if cells.cells[g] == 0 else 0.0
            continue
        folded = np.zeros(cells.cells[g])
        for i in range(cells.start[g + 1] - cells.start[g]):
            folded[cells.goes[cells.start[g] + i]] += counts[cells.counts[g] + i]
        found[g] = folded.min()
    return found
