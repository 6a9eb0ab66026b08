"""Estimates from looks and experiments together.

Rows of the arms on some targets are looks in the graph without edges into these targets, so each
target set that was tried is one more `Looking` at its own rows.  They are different rows, and their
errors are independent.

Where only experiments settle an arm, and in the reading ``graph``, the estimate is a blend of
c-factors (`whichdo.estimate.factors`).  Where looks settle it and the reading is ``robust``, rows of experiments that
have the same law of the reward are added to the looks, stratum by stratum, and all other laws are those of looks.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.blends import Blend, borrowed_sources, find_blend, uses_blend
from whichdo.errors import TooLargeError
from whichdo.estimate.estimator import Looked, Looking, Origin, Rule
from whichdo.estimate.evaluate import evaluator
from whichdo.estimate.factors import Blending, pooled_rows, shares_of
from whichdo.estimate.settling import gradient_of, settle
from whichdo.estimate.shrinkage import shrink_reward
from whichdo.evidence import Tally
from whichdo.formulas import Formula, Reading
from whichdo.graph.identify import Route
from whichdo.identification.estimand import conditionals_in
from whichdo.problem import LOOK
from whichdo.tables import MAX_CELLS, Radix, Table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from whichdo.arrays import CodeArray, FloatArray
    from whichdo.estimate.settled import Settled
    from whichdo.estimate.shrinkage import Law, Rows
    from whichdo.graph.targets import Targets
    from whichdo.identification.estimand import Conditional, Expression, Names
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope


MOST_LENDERS = 16
"""The most sources of one formula that are evaluated by themselves as well."""


def learn(problem: Problem, seen: Tally, worth: FloatArray, rule: Rule) -> Looked:
    """As `whichdo.estimate.estimator.look`, from the rows of experiments as well.

    Only arms whose tables the tally holds are sources, and the paper's reading has none but looks.
    """
    return Learning(problem, seen, worth, rule).all()


def experiment_rows(seen: Tally, targets: Targets) -> Tally | None:
    """The rows of all arms on some targets as if they were looks; None without tables of every arm that was pulled.

    The targets are columns of every table, whether they were counted or not.
    """
    problem = seen.problem
    pulled = [place for place in problem.positions[targets] if seen.pulls[place]]
    held = [seen.tables.get(problem.arms[place]) or {} for place in pulled]
    scopes = [scope for scope in held[0] if all(scope in each for each in held)] if held else []
    if not scopes:
        return None
    arms = [problem.arms[place] for place in pulled]
    tables = {}
    for scope in scopes:
        whole = (*scope, *(name for name in targets if name not in scope))
        tables[whole] = _join(problem, whole, arms, [each[scope] for each in held])
    counts = np.zeros_like(seen.counts)
    counts[0] = seen.counts[pulled].sum(axis=0)
    return Tally(problem, counts, {LOOK: tables})


def _join(problem: Problem, scope: Scope, arms: Sequence[Arm], tables: Sequence[Table]) -> Table:
    """The tables of several arms as one, with what each arm sets as columns."""
    found: Table | None = None
    for arm, table in zip(arms, tables, strict=True):
        held = table.sparse()
        own = held.cells if held.cells is not None else np.zeros((1, 0), np.uint8)
        columns = [
            own[:, table.scope.index(name)]
            if name in table.scope
            else np.full(len(own), problem.domains[name].index(arm.settings[name]), np.uint8)
            for name in scope
        ]
        statistics = {name: np.asarray(part).ravel() for name, part in held.statistics.items()}
        made = Table.from_rows(scope, [problem.sizes[name] for name in scope], columns, **statistics)
        found = made if found is None else found + made
    if found is None:
        raise ValueError("no tables to join")
    return found


class _Remembering(Looking):
    """Rows of an experiment, whose laws many arms ask for."""

    @cached_property
    def _known(self) -> dict[object, Any]:
        return {}

    def law(self, each: Conditional, inside: tuple[str, ...]) -> Law:
        """As of `Looking`."""
        if each not in self._known:
            self._known[each] = super().law(each, inside)
        found: Law = self._known[each]
        return found

    def rows_given(self, given: tuple[str, ...]) -> Rows:
        """As of `Looking`."""
        if given not in self._known:
            self._known[given] = super().rows_given(given)
        found: Rows = self._known[given]
        return found


class Learning(_Remembering):
    """One estimation of all arms from looks and experiments."""

    def __init__(self, problem: Problem, seen: Tally, worth: FloatArray, rule: Rule) -> None:
        super().__init__(problem, seen, worth, rule)
        self._seen = seen
        self._counted: dict[tuple[Names, Expression], bool] = {}
        self._blended: dict[Blend, Settled] = {}

    @cached_property
    def at(self) -> Mapping[Names, Looking]:
        """The rows of each source that has any: () are looks."""
        found: dict[Names, Looking] = {(): self} if self.number else {}
        if self.rule.reading is Reading.PAPER:
            return found
        for targets in dict.fromkeys(arm.targets for arm in self._seen.tables if not arm.is_look):
            rows = experiment_rows(self._seen, targets)
            if rows is not None:
                found[targets] = _Remembering(self.problem, rows, self.worth, self.rule)
        return found

    @cached_property
    def has_experiments(self) -> bool:
        """Whether there are rows to learn from besides looks and direct pulls."""
        return any(self.at)

    def choice(self, targets: Targets, made: Collection[Formula | Blend]) -> Formula | Blend | str:
        """A formula, or a blend where that has more to say; else why neither."""
        formula = super().choice(targets, made)
        if not self.has_experiments or (isinstance(formula, Formula) and formula.route is Route.SAME):
            return formula
        wanted = uses_blend(self.problem, targets, self.rule.reading)
        if isinstance(formula, Formula) and self.number and (formula.shared or not wanted):
            return formula  # shared: the reading `graph` found its own tables too large for so few rows
        blend = self.blend(targets)
        if blend is None or not (blend.experiments or isinstance(formula, str)):
            return formula
        if blend not in made:
            try:
                self.evaluated(blend)
            except TooLargeError as error:
                return formula if isinstance(formula, Formula) else str(error)
        return blend

    def blend(self, targets: Targets) -> Blend | None:
        """The blend of some targets from the sources that were counted for it."""
        whole = find_blend(self.problem, targets)
        return None if whole is None else whole.limited(self.has_counted)

    def has_counted(self, source: Names, expression: Expression) -> bool:
        """Whether all laws of an expression can be had from the rows of its source."""
        rows = self.at.get(source)
        if rows is None:
            return False
        key = (source, expression)
        if key not in self._counted:
            self._counted[key] = all(rows.found(law.columns) is not None for law in conditionals_in(expression))
        return self._counted[key]

    def evaluated(self, choice: Formula | Blend) -> tuple[Settled, tuple[tuple[str, ...], CodeArray]]:
        """All settings of a formula or a blend."""
        if isinstance(choice, Blend):
            if choice not in self._blended:
                found = Blending(self, self.at, choice)
                self._blended[choice] = found.settled
                self.origins[choice.targets] = found.origins
            return self._blended[choice], ((), np.zeros((0, 0), np.uint8))
        others = {each: self.at[each] for each in self.lenders(choice)}
        if others:
            try:
                return self.borrowed(choice, others)
            except TooLargeError:
                pass  # it is adjusted for stratum by stratum, with looks alone
        return super().evaluated(choice)

    # --------------------------------------------------------------------------------------------------- borrowing

    def lenders(self, formula: Formula) -> list[Targets]:
        """The experiments whose rows of the reward a formula can add to those of looks."""
        if not self.has_experiments or self.rule.reading is Reading.PAPER:
            return []
        columns = (*formula.reward.given, self.problem.reward)
        return [
            each
            for each in borrowed_sources(self.problem, formula)
            if each in self.at and self.at[each].found(columns) is not None
        ]

    def borrowed(
        self, formula: Formula, others: Mapping[Targets, Looking]
    ) -> tuple[Settled, tuple[tuple[str, ...], CodeArray]]:
        """By the same formula, with rows of experiments beside the looks in each row of the reward's table."""
        reward, given = formula.reward, formula.reward.given
        laid_out = Radix.of((*formula.targets, *formula.scopes[0]), {**self.sizes, self.problem.reward: 1}).cells
        if laid_out > MAX_CELLS:
            raise TooLargeError(f"The strata of {formula.estimand} are too many to lay out.")
        engine = evaluator(formula.estimand, {**self.sizes, self.problem.reward: 1})
        laws = {each: self.law(each, ()) for each in formula.laws}
        joint = self.joint(formula)
        targets = [place for place, name in enumerate(given) if name in formula.targets]
        apart = {(): self.rows_given(given)} | {each: rows.rows_given(given) for each, rows in others.items()}
        whole = pooled_rows(list(apart.values()))
        shrunk = shrink_reward(whole, targets, self.rule.shrinkage)
        found = settle(engine, laws, reward, shrunk, self.looks, joint, apart[()])
        weights = gradient_of(engine, laws, reward, shrunk.means).slopes[reward].reshape(len(found.means), -1)

        def alone(rows: Rows) -> Settled:
            return settle(engine, laws, reward, shrink_reward(rows, targets, self.rule.shrinkage), self.looks, joint)

        cheap = len(apart) <= MOST_LENDERS
        self.origins[formula.targets] = tuple(
            Origin(each, weights @ shares_of(rows.sizes, whole.sizes).ravel(), partial(alone, rows) if cheap else None)
            for each, rows in apart.items()
        )
        return found, (given, Radix.of(given, self.sizes).codes(found.weakest))
