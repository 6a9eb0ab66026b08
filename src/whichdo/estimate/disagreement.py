"""Do the looks contradict the graph?  Robust estimates against those that lean on every missing edge.

With a right graph both estimate the same means, so their difference is noise (Hausman 1978).  How
much noise is known from what each row does to each estimate: the variance of the difference is that
of the difference of the two influences, over the same rows.  Where the difference is far more than
that, some edge is missing in the graph, whatever the experiments will say.

There is one test for each target set: a chi-square on the differences of all its settings.  What
shrinkage does to each estimate is not noise and is taken back first; and a setting whose estimates rest
on rows that were hardly seen is not compared.

`whichdo.rank` warns by itself where looks contradict the graph (`contradiction_words`).  It needs nothing that is
not counted anyway: this test, and whether nodes that the graph calls independent are, as far as the tables hold
them.  `whichdo.check` asks for more; here one separating set a pair is enough, and a warning is given only where
all tests together would accuse a right graph in one of a hundred logs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.estimate.estimator import Looking, Rule
from whichdo.estimate.evaluate import evaluator
from whichdo.estimate.statements import adjusted_chances, check_statements
from whichdo.formulas import Reading, choose_formula, doubted_scope, formulas
from whichdo.graph.identify import Route
from whichdo.graph.separation import implied_statements
from whichdo.problem import LOOK, per_problem
from whichdo.tables import Radix, smallest_table
from whichdo.tails import chi_square_tail
from whichdo.text import listed

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray
    from whichdo.estimate.shrinkage import Law, Shrunk
    from whichdo.estimate.statements import Tested
    from whichdo.evidence import Tally
    from whichdo.formulas import Formula
    from whichdo.graph.separation import Statement
    from whichdo.graph.targets import Targets
    from whichdo.identification.estimand import Conditional
    from whichdo.problem import Problem
    from whichdo.tables import Scope, Table


FEW = 2_000
"""Looks below which the normal law of the differences is not trusted."""
FLAT = 1e-3
"""Directions with less than this share of the largest variance of a difference are skipped: of settings that must add
up, one says nothing new."""
WIDE = 1.959963984540054
"""Standard errors either side of a 95% interval."""
THIN = 20
"""Rows of a conditional seen less often than this lean on what they borrow, and their own spread says little..."""
BORROWED = 0.5
"""... so a setting is compared only where they could move it by no more than so many standard errors."""
NOTHING = 1e-9
"""A variance below this counts as 0: the two estimates cannot differ."""


@dataclass(frozen=True)
class Difference:
    """Two estimates of the arms on one target set."""

    p: float
    """The chance of such differences if both estimate the same."""
    size: float
    """How far the two are apart at least, on a scale from 0 to 1 of the reward: of all settings the surest."""
    low: float
    """The lower end of its 95% interval."""


def disagreements(problem: Problem, seen: Tally, worth: FloatArray) -> dict[Targets, Difference]:
    """For each target set that both readings estimate differently how they differ."""
    scope = doubted_scope(problem)
    tables = seen.tables.get(LOOK, {})
    whole = None if scope is None else smallest_table(tables, scope)
    if scope is None or whole is None or seen.pulls[0] < FEW or len(whole.statistics) > 1:
        return {}
    cells = _Cells(problem, whole.marginal(scope), worth)
    found = {}
    for targets in problem.target_sets:
        if problem.verdicts[targets].acting != targets:
            continue
        robust = choose_formula(formulas(problem, targets, Reading.ROBUST), int(seen.pulls[0]))
        graph = formulas(problem, targets, Reading.GRAPH)[:1]
        if robust is None or not graph or graph[0] == robust or robust.route is Route.GENERAL:
            continue
        both = [
            cells.influence(Looking(problem, seen, worth, Rule(reading)), formula)
            for reading, formula in ((Reading.ROBUST, robust), (Reading.GRAPH, graph[0]))
        ]
        difference = cells.compared(*both)
        if difference is not None:
            found[targets] = difference
    return found


class _Influence(NamedTuple):
    """An estimate of the means of all settings, and what a row in each cell does to it."""

    means: FloatArray
    constant: FloatArray
    """(settings, cells): whatever the reward is."""
    slope: FloatArray
    """(settings, cells): times the reward."""
    thin: FloatArray
    """By how much each mean could be off at most for what was seen too rarely."""


class _Cells:
    """The cells of all columns that occurred, the reward aside, with its mean and mean square in each."""

    def __init__(self, problem: Problem, table: Table, worth: FloatArray) -> None:
        cells = np.asarray(table.sparse().cells)
        self.sizes = problem.sizes
        place = table.scope.index(problem.reward)
        others = [j for j in range(len(table.scope)) if j != place]
        self.columns = tuple(table.scope[j] for j in others)
        self.codes, where = np.unique(cells[:, others], axis=0, return_inverse=True)
        where = where.ravel()
        count = table.sparse().count.astype(np.float64)
        reward = worth[cells[:, place]]
        self.count = np.bincount(where, weights=count)
        self.mean = np.bincount(where, weights=count * reward) / self.count
        self.square = np.bincount(where, weights=count * reward**2) / self.count
        self.looks = float(count.sum())

    def influence(self, looking: Looking, formula: Formula) -> _Influence:
        """The means of all settings, and what a row in each cell does to them."""
        reward = formula.reward
        rows = looking.rows(reward, [j for j, name in enumerate(reward.given) if name in formula.targets], ())
        laws = {each: looking.law(each, ()) for each in formula.laws}
        engine = evaluator(formula.estimand, {**looking.sizes, looking.problem.reward: 1})
        tables = [rows.means[..., None] if each == reward else laws[each].shares for each in engine.conditionals]
        values, slopes = engine.slopes(tables, np.ones(1))
        means = values.ravel()
        by_conditional = {
            each: slope.reshape(means.size, *slope.shape[len(engine.targets) :])
            for each, slope in zip(engine.conditionals, slopes, strict=True)
        }
        constant = np.zeros((means.size, len(self.count)))
        weights = by_conditional[reward].reshape(means.size, -1)
        thin = np.abs(weights) @ (rows.sizes.ravel() < THIN)
        # Shrinking moves the two estimates by different amounts, which is not noise: to first order it is undone.
        plain = means + weights @ (rows.raw - rows.means).ravel()
        for each, law in laws.items():
            constant += self._of_law(each, law, by_conditional[each])
            thin += _thin(each, law, by_conditional[each])
            plain += (by_conditional[each] * (law.raw - law.shares)).reshape(means.size, -1).sum(axis=1)
        slope = self._of_reward(reward, rows, weights)
        at = self._numbers(reward.given)
        return _Influence(plain, constant - slope * rows.means.ravel()[at], slope, thin)

    def _of_law(self, each: Conditional, law: Law, slope: FloatArray) -> FloatArray:
        own = tuple(range(slope.ndim - len(each.nodes), slope.ndim))
        apart = slope - (slope * law.shares).sum(axis=own, keepdims=True)
        rows = self._numbers(each.given)
        room = np.divide(
            self.looks, law.sizes + law.strength, out=np.zeros(np.shape(law.sizes)), where=law.sizes > 0
        ).ravel()
        found: FloatArray = apart.reshape(len(slope), -1)[:, self._numbers(each.columns)] * room[rows]
        return found

    def _of_reward(self, reward: Conditional, rows: Shrunk, weights: FloatArray) -> FloatArray:
        at = self._numbers(reward.given)
        room = np.divide(self.looks, rows.sizes + rows.strength, out=np.zeros(rows.sizes.shape), where=rows.seen)
        found: FloatArray = weights[:, at] * room.ravel()[at]
        return found

    def _numbers(self, columns: tuple[str, ...]) -> IntArray:
        """For each cell its number among the settings of some columns."""
        if not columns:
            return np.zeros(len(self.count), np.int64)
        codes = [self.codes[:, self.columns.index(name)] for name in columns]
        return Radix.of(columns, self.sizes).numbers(codes)

    def compared(self, first: _Influence, second: _Influence) -> Difference | None:
        """Two estimates of the same means; None where nothing could tell them apart."""
        apart, constant, slope, _ = (one - other for one, other in zip(first, second, strict=True))
        chance = self.count / self.looks
        middle = (chance * (constant + slope * self.mean)).sum(axis=1, keepdims=True)
        constant = constant - middle
        covariance = (constant * chance) @ constant.T + (slope * (chance * self.square)) @ slope.T
        cross = (constant * (chance * self.mean)) @ slope.T
        covariance = (covariance + cross + cross.T) / self.looks
        error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        firm = first.thin + second.thin <= BORROWED * error
        if not firm.any():
            return None
        apart, error, covariance = apart[firm], error[firm], covariance[firm][:, firm]
        values, vectors = np.linalg.eigh(covariance)
        kept = values > max(NOTHING, FLAT * float(values[-1]))
        if not kept.any():
            return None
        along = vectors[:, kept].T @ apart
        p = chi_square_tail(float((along**2 / values[kept]).sum()), int(kept.sum()))
        least = np.abs(apart) - WIDE * error
        surest = int(np.argmax(least))
        return Difference(p, float(abs(apart[surest])), max(float(least[surest]), 0.0))


def _thin(each: Conditional, law: Law, slope: FloatArray) -> FloatArray:
    """How far each mean would move at most if rarely seen rows of a law were others."""
    own = tuple(range(slope.ndim - len(each.nodes), slope.ndim))
    reach = (slope.max(axis=own) - slope.min(axis=own)).reshape(len(slope), -1)
    found: FloatArray = reach @ (np.ravel(law.sizes) < THIN)
    return found


# ------------------------------------------------------------------------------------------ experiments that contradict

LEVEL = 0.01
"""The chance of a warning, with a right graph, over all tests together."""
MOST_PAIRS = 24
"""Pairs that are looked at: more would be felt."""
MOST_CELLS = 1 << 12
"""Cells of a table that is asked about more than what it was counted for."""


def contradiction_words(problem: Problem, seen: Tally, worth: FloatArray) -> tuple[str, ...]:
    """Warnings: what the graph promises and these looks deny."""
    estimates = disagreements(problem, seen, worth)
    tested = check_statements(seen, _cheap_statements(problem, seen))
    chances = adjusted_chances([*(each.p for each in tested), *(each.p for each in estimates.values())])
    denied = [each for each, chance in zip(tested, chances, strict=False) if chance < LEVEL and each.strong]
    apart = {
        targets: each.p
        for (targets, each), chance in zip(estimates.items(), chances[len(tested) :], strict=True)
        if chance < LEVEL
    }
    return (*_of_estimates(apart), *_of_statements(denied))


def _of_estimates(apart: dict[Targets, float]) -> tuple[str, ...]:
    if not apart:
        return ()
    sets = listed(" with ".join(targets) for targets in apart)
    words = (
        f"The logs contradict the graph: for {sets} estimates that lean on every missing edge differ from those that "
        f"do not (p = {min(apart.values()):.0e}). An edge is missing somewhere; the table leans on as few as it can."
    )
    return (words,)


def _of_statements(denied: list[Tested]) -> tuple[str, ...]:
    if not denied:
        return ()
    worst = max(denied, key=lambda each: each.strength)
    given = f" given {listed(worst.given)}" if worst.given else ""
    more = f", and {len(denied) - 1:,} more" if len(denied) > 1 else ""
    words = (
        f"The logs contradict the graph: {worst.left} and {worst.right} are not independent{given} "
        f"(p = {worst.p:.0e}, strength {worst.strength:.2g}){more}. `whichdo check` names the edge that is likely "
        f"missing and what it would change."
    )
    return (words,)


def _cheap_statements(problem: Problem, seen: Tally) -> tuple[Statement, ...]:
    """Statements whose columns were counted together in a table that is small."""
    tables = seen.tables.get(LOOK, {})
    if any("weight" in table.statistics for table in tables.values()):
        return ()
    small = tuple(sorted(scope for scope in tables if problem.cells(scope) <= MOST_CELLS))
    return _within(problem, small)


@per_problem
def _within(problem: Problem, scopes: tuple[Scope, ...]) -> tuple[Statement, ...]:
    together = {
        tuple(sorted(pair, key=problem.graph.index)): None for scope in scopes for pair in combinations(scope, 2)
    }
    pairs = [(pair[0], pair[1]) for pair in together][:MOST_PAIRS]
    found = implied_statements(problem.graph, pairs=pairs, sets=1).statements
    sets = [frozenset(scope) for scope in scopes]
    return tuple(each for each in found if any(scope.issuperset(each.scope) for scope in sets))
