"""What looks say about every arm of a problem, in numpy: from a tally's tables to means with all their errors.

Each target set is estimated by one formula (`whichdo.formulas`), and all arms on it come from one
evaluation.  Everything is on a scale of the reward from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import TooLarge, UsageError
from whichdo.estimate.evaluate import evaluator
from whichdo.estimate.settled import Scope as JointTable
from whichdo.estimate.settled import Settled, WeightedSum, settle, settle_by_adjustment
from whichdo.estimate.shrinkage import (
    STRENGTH,
    add_one_law,
    add_one_reward,
    rows_of,
    shrink_law,
    shrink_reward,
)
from whichdo.formulas import Formula, Reading, choose_formula, formulas
from whichdo.graph.identify import Route, listed, verdicts
from whichdo.problem import LOOK
from whichdo.tables import MAX_CELLS, Radix, Table, smallest_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.arrays import BoolArray, CodeArray, FloatArray, IntArray
    from whichdo.estimate.shrinkage import Law, Shrunk
    from whichdo.evidence import Tally
    from whichdo.graph.targets import Targets
    from whichdo.identification.estimand import Conditional
    from whichdo.problem import Problem
    from whichdo.tables import Scope

__all__ = ["Looked", "Rule", "learned_laws", "look"]


@dataclass(frozen=True)
class Rule:
    """How counts become estimates."""

    reading: Reading = Reading.ROBUST
    shrinkage: float = STRENGTH
    """How many rows the margins count for; the paper's reading adds one instead."""
    threshold: float = 0.0
    """The paper's t: a row of a conditional outside the node's component that was seen less often is uniform."""

    def __post_init__(self) -> None:
        if not (0 <= self.shrinkage < np.inf and 0 <= self.threshold < np.inf):
            raise UsageError(
                f"Shrinkage ({self.shrinkage:g}) and threshold ({self.threshold:g}) must be finite, not negative."
            )


@dataclass(frozen=True)
class Looked:
    """What looks say, an entry for each setting of each target set that they settle; entry 0 is do()."""

    looks: float
    settled: Settled
    """All entries together; its ``effect_covariance`` is empty."""
    sources: IntArray
    """For each arm its entry, or -1 where looks do not settle it.  Arms with the same effect have the same entry."""
    blocks: tuple[tuple[int, FloatArray], ...]
    """How the errors of effects go together: for each target set its first entry and a covariance."""
    taken: Mapping[Targets, Formula]
    """The formula by which each target set was estimated."""
    why_not: Mapping[Targets, str]
    """Why a target set that could be settled was not: its tables are not there, or are too large."""
    weakest: Mapping[Targets, tuple[tuple[str, ...], CodeArray]]
    """For each target set the columns that its reward's table is given, and for each setting the codes of the row
    that the mean knows least about.
    """

    @property
    def known(self) -> BoolArray:
        """Whether each arm is settled."""
        found: BoolArray = self.sources >= 0
        return found

    def by_arm(self, entries: FloatArray) -> FloatArray:
        """Numbers of entries as numbers of arms, NaN for those that looks do not settle."""
        return np.where(self.sources >= 0, entries[self.sources], np.nan)

    @cached_property
    def means(self) -> FloatArray:
        """The mean of each arm, NaN where it is not settled."""
        return self.by_arm(self.settled.means)


def look(problem: Problem, seen: Tally, worth: FloatArray, rule: Rule | None = None) -> Looked:
    """Estimate every arm from the tables of looks in a tally.

    Parameters
    ----------
    problem
        Whose arms.
    seen
        A tally with tables of looks; a target set whose tables it lacks stays unknown and is named in `why_not`.
    worth
        Of each level of the reward, from 0 to 1.
    rule
        How counts become estimates.
    """
    return _Looking(problem, seen, worth, rule or Rule()).all()


def learned_laws(problem: Problem, seen: Tally, looked: Looked, rule: Rule) -> FloatArray:
    """The law of the reward that the paper's learned network has for each entry: a row of shares by level."""
    worth = np.zeros(len(problem.domains[problem.reward]))
    looking = _Looking(problem, seen, worth, rule)
    found = [(looking.levels / max(looking.looks, 1.0))[None, :]]
    formulas_taken = {formula: None for formula in looked.taken.values() if formula.route is not Route.SAME}
    return np.concatenate([*found, *(looking.law_of_reward(formula) for formula in formulas_taken)])


class _Looking:
    """One estimation of all arms."""

    def __init__(self, problem: Problem, seen: Tally, worth: FloatArray, rule: Rule) -> None:
        self.problem, self.worth, self.rule = problem, worth, rule
        self.levels = seen.counts[0].astype(np.float64)
        self.looks = float(self.levels.sum())
        self.tables: Mapping[Scope, Table] = seen.tables.get(LOOK, {})
        self.sizes = problem.sizes

    def all(self) -> Looked:
        problem = self.problem
        parts = [self.nothing()]
        first: dict[Formula, int] = {}
        taken: dict[Targets, Formula] = {}
        why_not: dict[Targets, str] = {}
        weakest: dict[Targets, tuple[tuple[str, ...], CodeArray]] = {}
        sources = np.full(len(problem.arms), -1, np.int64)
        sources[0] = 0
        size = 1
        for targets, places in problem.positions.items():
            formula = self.formula(targets)
            if formula is None:
                why_not[targets] = self.missing(targets)
                continue
            if formula.route is not Route.SAME and formula not in first:
                try:
                    found, cells = self.evaluated(formula)
                except TooLarge as error:
                    why_not[targets] = str(error)
                    continue
                first[formula] = size
                parts.append(found)
                size += len(found.means)
                weakest[formula.targets] = cells
            taken[targets] = formula
            start = 0 if formula.route is Route.SAME else first[formula]
            sources[list(places)] = start + self.settings(formula, places)
        blocks = [(start, part.effect_covariance) for start, part in zip(first.values(), parts[1:], strict=True)]
        return Looked(self.looks, _joined(parts), sources, tuple(blocks), taken, why_not, weakest)

    def formula(self, targets: Targets) -> Formula | None:
        candidates = formulas(self.problem, targets, self.rule.reading)
        return choose_formula(candidates, int(self.looks), self.served)

    def served(self, scope: Scope) -> bool:
        """Whether the looks were counted by these columns together; without any look everything is."""
        return self.looks == 0 or scope == (self.problem.reward,) or smallest_table(self.tables, scope) is not None

    def missing(self, targets: Targets) -> str:
        """Why looks that could settle an arm do not; empty where none could."""
        candidates = formulas(self.problem, targets, self.rule.reading)
        if not candidates:
            return ""
        lacking = next(scope for scope in candidates[-1].scopes if not self.served(scope))
        return f"the looks were not counted by {listed(lacking)} together; count the log again for this problem"

    def settings(self, formula: Formula, places: tuple[int, ...]) -> IntArray:
        """The number of each arm's setting among those of the formula."""
        problem = self.problem
        if not formula.targets:
            return np.zeros(len(places), np.int64)
        radix = Radix.of(formula.targets, self.sizes)
        codes = [
            np.array([problem.domains[name].index(problem.arms[place].settings[name]) for place in places])
            for name in formula.targets
        ]
        return radix.numbers(codes)

    def table(self, columns: tuple[str, ...]) -> Table:
        """The counts of some columns, which are known to be there."""
        sizes = [self.sizes[name] for name in columns]
        if columns == (self.problem.reward,):
            return Table(columns, sizes, self.levels)
        found = smallest_table(self.tables, columns)
        if found is None:
            cells = np.zeros((0, len(columns)), np.uint8)  # nothing looked at yet
            empty = Table(columns, sizes, np.zeros(0, np.int64), cells)
            return empty.compact()
        return found.marginal(columns)

    # ------------------------------------------------------------------------------------------------- evaluating

    def nothing(self) -> Settled:
        """Of do() itself."""
        rows = shrink_reward(rows_of(self.levels.reshape(1, 1, -1), self.worth), [1], 0.0)
        return settle_by_adjustment(rows, self.looks)

    def evaluated(self, formula: Formula) -> tuple[Settled, tuple[tuple[str, ...], CodeArray]]:
        if formula.adjusts and self.rule.reading is not Reading.PAPER:
            return self.adjusted(formula)
        reward = formula.reward
        engine = evaluator(formula.estimand, {**self.sizes, self.problem.reward: 1})  # says what is too large
        inside = self.component(formula.targets) if self.rule.threshold else ()
        rows = self.rows(reward, [place for place, name in enumerate(reward.given) if name in formula.targets], inside)
        laws = {each: self.law(each, inside) for each in formula.laws}
        joint = None
        if formula.shared:
            columns = tuple(name for name in formula.scopes[0] if name != self.problem.reward)
            joint = JointTable(columns, self.table(columns).dense().count.astype(np.float64))
        found = settle(engine, laws, reward, rows, self.looks, joint)
        return found, (reward.given, Radix.of(reward.given, self.sizes).codes(found.weakest))

    def component(self, targets: Targets) -> tuple[str, ...]:
        """The c-component of a node in the graph that the paper judges it in."""
        judged = verdicts(self.problem.graph, self.problem.reward, targets, restrict=False)
        return judged[targets].component

    def adjusted(self, formula: Formula) -> tuple[Settled, tuple[tuple[str, ...], CodeArray]]:
        """By strata; of those that are too many to lay out, only the ones that occurred."""
        given, targets = formula.given, formula.targets
        strata, settings = Radix.of(given, self.sizes), Radix.of(targets, self.sizes)
        levels = len(self.worth)
        table = self.table((*given, *targets, self.problem.reward))
        if strata.cells * settings.cells * levels <= MAX_CELLS:
            counts = table.dense().count.astype(np.float64).reshape(strata.cells, settings.cells, levels)
            codes = None
        else:
            sparse = table.sparse()
            cells = np.asarray(sparse.cells)
            codes, stratum = np.unique(cells[:, : len(given)], axis=0, return_inverse=True)
            counts = np.zeros((len(codes), settings.cells, levels))
            setting = settings.numbers(list(cells[:, len(given) : -1].T))
            counts[stratum.ravel(), setting, cells[:, -1]] = sparse.count
        rows = shrink_reward(rows_of(counts, self.worth), [1], self.rule.shrinkage)
        found = settle_by_adjustment(rows, self.looks)
        stratum, setting = np.divmod(found.weakest, settings.cells)
        own = strata.codes(stratum) if codes is None else codes[stratum]
        return found, ((*given, *targets), np.concatenate([own, settings.codes(setting)], axis=1))

    def rows(self, reward: Conditional, targets: list[int], inside: tuple[str, ...]) -> Shrunk:
        counts = self.table((*reward.given, self.problem.reward)).dense().count.astype(np.float64)
        if self.rule.reading is Reading.PAPER:
            return add_one_reward(counts, self.worth, self.threshold(reward, inside))
        return shrink_reward(rows_of(counts, self.worth), targets, self.rule.shrinkage)

    def law(self, each: Conditional, inside: tuple[str, ...]) -> Law:
        mass = self.table(each.columns).dense().count.astype(np.float64)
        if self.rule.reading is Reading.PAPER:
            return add_one_law(mass, len(each.nodes), self.threshold(each, inside))
        return shrink_law(mass, len(each.nodes), self.rule.shrinkage)

    def threshold(self, each: Conditional, inside: tuple[str, ...]) -> float:
        """The paper's t for a conditional; inside the component of the target every row counts."""
        return 0.0 if set(each.nodes).issubset(inside) else self.rule.threshold

    def law_of_reward(self, formula: Formula) -> FloatArray:
        """The shares of the reward's levels by the paper's formula, a row for each setting."""
        inside = self.component(formula.targets) if self.rule.threshold else ()
        engine = evaluator(formula.estimand, self.sizes)
        tables = [self.law(each, inside).shares for each in engine.conditionals]
        units = np.eye(len(self.worth))
        return np.stack([engine.values(tables, unit).ravel() for unit in units], axis=1)


def _joined(parts: list[Settled]) -> Settled:
    """All entries, one after the other."""
    made = {}
    for field in fields(Settled):
        values = [getattr(part, field.name) for part in parts]
        if field.name in {"looks", "base"}:
            made[field.name] = values[0]
        elif field.name == "effect_covariance":
            made[field.name] = np.zeros((0, 0))
        elif isinstance(values[0], WeightedSum):
            made[field.name] = WeightedSum.join(values)
        else:
            made[field.name] = np.concatenate(values)
    return Settled(**made)
