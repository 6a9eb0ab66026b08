"""Do the looks contradict the graph?  Robust estimates against those that lean on every missing edge.

With a right graph both estimate the same means, so their difference is noise (Hausman 1978).  How
much noise is known from what each row does to each estimate: the variance of the difference is that
of the difference of the two influences, over the same rows.  Where the difference is far more than
that, some edge is missing in the graph, whatever the experiments will say.

There is one test for each target set: a chi-square on the differences of all its settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.estimator import Looking, Rule
from whichdo.estimate.evaluate import evaluator
from whichdo.formulas import Reading, choose_formula, doubted_scope, formulas
from whichdo.graph.identify import Route, listed
from whichdo.problem import LOOK
from whichdo.tables import Radix, smallest_table
from whichdo.tails import chi_square_tail

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray
    from whichdo.estimate.shrinkage import Law, Shrunk
    from whichdo.evidence import Tally
    from whichdo.formulas import Formula
    from whichdo.graph.targets import Targets
    from whichdo.identification.estimand import Conditional
    from whichdo.problem import Problem
    from whichdo.tables import Table

__all__ = ["disagreement_words", "disagreements"]

LEVEL = 0.01
"""The chance of a warning, with a right graph, over all target sets together."""
FEW = 2_000
"""Looks below which the normal law of the differences is not trusted."""
FLAT = 1e-3
"""Directions with less than this share of the largest variance of a difference are skipped: of settings that must add
up, one says nothing new."""
NOTHING = 1e-9
"""A variance below this is none: the two estimates cannot differ."""


def disagreement_words(problem: Problem, seen: Tally, worth: FloatArray) -> tuple[str, ...]:
    """What a reader should be told: target sets whose two estimates cannot both be right."""
    found = disagreements(problem, seen, worth)
    wrong = {targets: p for targets, p in found.items() if p * max(len(found), 1) < LEVEL}
    if not wrong:
        return ()
    least = min(wrong.values())
    sets = listed(" with ".join(targets) for targets in wrong)
    words = (
        f"The logs contradict the graph: for {sets} estimates that lean on every missing edge differ from those that "
        f"do not (p = {least:.0e}). An edge is missing somewhere; the table leans on as few as it can."
    )
    return (words,)


def disagreements(problem: Problem, seen: Tally, worth: FloatArray) -> dict[Targets, float]:
    """For each target set that both readings estimate differently the p-value of their difference."""
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
        p = cells.compared(*both)
        if p is not None:
            found[targets] = p
    return found


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

    def influence(self, looking: Looking, formula: Formula) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The means of all settings, and what a row in each cell does to them: a constant, a slope in the reward."""
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
        for each, law in laws.items():
            constant += self._of_law(each, law, by_conditional[each])
        slope = self._of_reward(reward, rows, by_conditional[reward].reshape(means.size, -1))
        at = self._numbers(reward.given)
        return means, constant - slope * rows.means.ravel()[at], slope

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

    def compared(self, first: tuple[FloatArray, ...], second: tuple[FloatArray, ...]) -> float | None:
        """The p-value of two estimates of the same means; None where nothing could tell them apart."""
        apart, constant, slope = (one - other for one, other in zip(first, second, strict=True))
        chance = self.count / self.looks
        middle = (chance * (constant + slope * self.mean)).sum(axis=1, keepdims=True)
        constant = constant - middle
        covariance = (constant * chance) @ constant.T + (slope * (chance * self.square)) @ slope.T
        cross = (constant * (chance * self.mean)) @ slope.T
        covariance = (covariance + cross + cross.T) / self.looks
        values, vectors = np.linalg.eigh(covariance)
        kept = values > max(NOTHING, FLAT * float(values[-1]))
        if not kept.any():
            return None
        along = vectors[:, kept].T @ apart
        return chi_square_tail(float((along**2 / values[kept]).sum()), int(kept.sum()))
