"""Estimates from looks and experiments together.

Rows of the arms on some targets are looks in the graph without edges into these targets, so each
target set that was tried is one more `Looking` of its own rows.  They are different rows, and their
errors are independent.

A *blend* (`whichdo.blends`) is a product of c-factors.  Each factor is estimated by every source
that yields it, and the estimates are averaged in each row g of the factor, that is, for each setting of what
it depends on.  The weights are counts: each formula is linear in the kernel of the factor's last node, with weights W
on the rows of that kernel, and is worth the number of rows

    n(g) = (sum of W)^2 / sum of W^2 / n_row

that would know the row g as well if they were all in it.  For a factor that is counted directly that
is the number of rows at g, and the average is the share in all rows together.  The weights do not
depend on the rewards that were seen: weights by estimated variances would favour the source whose
rewards happen to lie near 0 or 1.  They need not be the best possible for the interval to be right: it
takes them as given and follows every source through all factors by its slopes.

Where looks settle an arm and the reading is ``robust``, rows of experiments that have the same law
of the reward are added to the looks, stratum by stratum, and all other laws are those of looks.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from whichdo.blends import Blend, borrowed_sources, find_blend, uses_blend
from whichdo.errors import TooLarge
from whichdo.estimate.estimator import Looked, Looking, Origin, Rule
from whichdo.estimate.evaluate import evaluator, table_evaluator
from whichdo.estimate.settled import LawParts, RewardRows, Settled, finish, gradient_of, normalised, settle
from whichdo.estimate.shrinkage import Rows, Shrunk, shrink_law, shrink_reward
from whichdo.evidence import Tally
from whichdo.formulas import Formula, Reading
from whichdo.graph.identify import Route
from whichdo.identification.estimand import Conditional, Estimand, conditionals_in, product, sum_over
from whichdo.problem import LOOK
from whichdo.tables import MAX_CELLS, Radix, Table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from whichdo.arrays import CodeArray, FloatArray
    from whichdo.estimate.shrinkage import Law
    from whichdo.graph.targets import Targets
    from whichdo.identification.estimand import CFactor, Expression, Names
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope

__all__ = ["FactorSource", "Learning", "experiment_rows", "learn"]

UNSEEN = 1e-3
"""How many rows one that was never seen counts for in the weights of sources: next to none, but a weight."""
MOST_SLOPES = 1 << 22
"""The most cells of a factor times rows of its kernel for which the weights are worked out row by row."""


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
        tables[whole] = _joined(problem, whole, arms, [each[scope] for each in held])
    counts = np.zeros_like(seen.counts)
    counts[0] = seen.counts[pulled].sum(axis=0)
    return Tally(problem, counts, {LOOK: tables})


def _joined(problem: Problem, scope: Scope, arms: Sequence[Arm], tables: Sequence[Table]) -> Table:
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


class Learning(Looking):
    """One estimation of all arms from looks and experiments."""

    def __init__(self, problem: Problem, seen: Tally, worth: FloatArray, rule: Rule) -> None:
        super().__init__(problem, seen, worth, rule)
        self._seen = seen

    @cached_property
    def at(self) -> Mapping[Names, Looking]:
        """The rows of each source that has any: () are looks."""
        found: dict[Names, Looking] = {(): self} if self.number else {}
        for targets in self.problem.target_sets:
            rows = None if self.rule.reading is Reading.PAPER else experiment_rows(self._seen, targets)
            if rows is not None:
                found[targets] = Looking(self.problem, rows, self.worth, self.rule)
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
        if isinstance(formula, Formula) and self.number and not wanted:
            return formula
        blend = self.blend(targets)
        if blend is None or not (blend.experiments or isinstance(formula, str)):
            return formula
        if blend not in made:
            try:
                self.evaluated(blend)
            except TooLarge as error:
                return formula if isinstance(formula, Formula) else str(error)
        return blend

    def blend(self, targets: Targets) -> Blend | None:
        """The blend of some targets from the sources that were counted for it."""
        whole = find_blend(self.problem, targets)
        return None if whole is None else whole.limited(self.has_counted)

    def has_counted(self, source: Names, expression: Expression) -> bool:
        """Whether all laws of an expression can be had from the rows of its source."""
        rows = self.at.get(source)
        return rows is not None and all(rows.found(each.columns) is not None for each in conditionals_in(expression))

    def evaluated(self, choice: Formula | Blend) -> tuple[Settled, tuple[tuple[str, ...], CodeArray]]:
        """All settings of a formula or a blend."""
        if isinstance(choice, Blend):
            if choice not in self._blended:
                found = _Blending(self, choice)
                self._blended[choice] = found.settled
                self.origins[choice.targets] = found.origins
            return self._blended[choice], ((), np.zeros((0, 0), np.uint8))
        others = {each: self.at[each] for each in self.lenders(choice)}
        if others:
            try:
                return self.borrowed(choice, others)
            except TooLarge:
                pass  # it is adjusted for stratum by stratum, with looks alone
        return super().evaluated(choice)

    @cached_property
    def _blended(self) -> dict[Blend, Settled]:
        return {}

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
            raise TooLarge(f"The strata of {formula.estimand} are too many to lay out.")
        engine = evaluator(formula.estimand, {**self.sizes, self.problem.reward: 1})
        laws = {each: self.law(each, ()) for each in formula.laws}
        joint = self.joint(formula)
        targets = [place for place, name in enumerate(given) if name in formula.targets]
        apart = {(): self.rows_given(given)} | {each: rows.rows_given(given) for each, rows in others.items()}
        whole = _pooled(list(apart.values()))
        shrunk = shrink_reward(whole, targets, self.rule.shrinkage)
        found = settle(engine, laws, reward, shrunk, self.looks, joint, apart[()])
        weights = gradient_of(engine, laws, reward, shrunk.means).slopes[reward].reshape(len(found.means), -1)
        self.origins[formula.targets] = tuple(
            Origin(
                each,
                weights @ _shares(rows.sizes, whole.sizes).ravel(),
                settle(engine, laws, reward, shrink_reward(rows, targets, self.rule.shrinkage), self.looks, joint),
            )
            for each, rows in apart.items()
        )
        return found, (given, Radix.of(given, self.sizes).codes(found.weakest))


def _pooled(parts: Sequence[Rows]) -> Rows:
    """The rows of several sources together, each by its effective size."""
    sizes = np.sum([part.sizes for part in parts], axis=0)
    means, squares = (
        _shares(np.sum([part.sizes * getattr(part, name) for part in parts], axis=0), sizes)
        for name in ("means", "squares")
    )
    return Rows(sizes, sizes, means, squares)


def _shares(part: FloatArray, whole: FloatArray) -> FloatArray:
    """A part of each number, 0 where there is nothing."""
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=whole > 0)


# ------------------------------------------------------------------------------------------------------------ factors


class FactorSource:
    """One c-factor as one source has it.

    ``rewards`` and ``laws`` hold what the source says of each conditional of its formula.
    """

    def __init__(self, learning: Learning, factor: CFactor, source: Names, expression: Expression) -> None:
        self.factor, self.source, self.expression = factor, source, expression
        self._rows = learning.at[source]
        self._problem, self._reward = learning.problem, learning.problem.reward
        self._sizes = {**learning.sizes, self._reward: 1}
        self.axes = factor.symbol.columns
        self.shape = tuple(self._sizes[name] for name in self.axes)
        self.rewards: dict[Conditional, Shrunk] = {}
        self.laws: dict[Conditional, Law] = {}
        for each in conditionals_in(expression):
            if self._reward in each.nodes:
                self.rewards[each] = self._rows.rows(each, self._targets(each), ())
            else:
                self.laws[each] = self._rows.law(each, ())

    def _targets(self, reward: Conditional) -> list[int]:
        """The axes of the reward's table that can be set: rarely seen rows lean on both margins."""
        return [place for place, name in enumerate(reward.given) if name in self._problem.intervene]

    @property
    def is_direct(self) -> bool:
        """Whether the factor is counted as it is, without a formula."""
        return isinstance(self.expression, Conditional) and self.expression.columns == self.axes

    @staticmethod
    def share(sources: Sequence[FactorSource]) -> None:
        """Let sources that count a factor directly share what they say: each has its part of all rows together.

        A row that is rare in one source then leans on the others before it leans on margins, and has their variance.
        """
        direct = [each for each in sources if each.is_direct]
        if len(direct) < 2:
            return
        laws = [next(conditionals_in(each.expression)) for each in direct]
        if all(each.rewards for each in direct):
            apart = [each._rows.rows_given(law.given) for each, law in zip(direct, laws, strict=True)]
            whole = _pooled(apart)
            shrunk = shrink_reward(whole, direct[0]._targets(laws[0]), direct[0]._rows.rule.shrinkage)
            for each, law, rows in zip(direct, laws, apart, strict=True):
                each.rewards[law] = replace(shrunk.portion(_shares(rows.sizes, whole.sizes)), mass=rows.mass)
            return
        own = [each.laws[law] for each, law in zip(direct, laws, strict=True)]
        tail = (1,) * len(laws[0].nodes)
        sizes = np.sum([each.sizes for each in own], axis=0)
        mass = np.sum([each.raw * each.sizes.reshape(*each.sizes.shape, *tail) for each in own], axis=0)
        joined = shrink_law(mass, len(tail), direct[0]._rows.rule.shrinkage, sizes)
        for each, law, mine in zip(direct, laws, own, strict=True):
            part = _shares(mine.sizes, sizes)
            each.laws[law] = replace(joined, sizes=mine.sizes, strength=joined.strength * part)

    def table(self, means: Mapping[Conditional, FloatArray] | None = None) -> FloatArray:
        """The law of its nodes given what they depend on; of the reward the mean, or what ``means`` says instead."""
        engine = table_evaluator(self.expression, self.axes, self._sizes)
        return engine.values([self._table(each, means) for each in engine.conditionals], None)

    def slopes(
        self, adjoint: FloatArray, means: Mapping[Conditional, FloatArray] | None = None
    ) -> dict[Conditional, FloatArray]:
        """The slopes of sums of its cells in every cell of its conditionals; ``adjoint`` has a row for each sum."""
        if isinstance(self.expression, Conditional) and self.is_direct:
            return {self.expression: adjoint}
        weight = Conditional(self.factor.nodes, self.factor.given, ("",))  # no source is called so
        engine = table_evaluator(sum_over(self.axes, product([weight, self.expression])), (), self._sizes)
        found: dict[Conditional, list[FloatArray]] = {each: [] for each in engine.conditionals if each != weight}
        for row in adjoint:
            tables = [row if each == weight else self._table(each, means) for each in engine.conditionals]
            for each, slope in zip(engine.conditionals, engine.slopes(tables, None)[1], strict=True):
                if each != weight:
                    found[each].append(slope)
        return {each: np.stack(rows) for each, rows in found.items()}

    def worth(self) -> FloatArray:
        """The number of rows that would know each row of the factor as well, if they were all in it."""
        last = self.factor.nodes[-1]
        kernel = next(each for each in conditionals_in(self.expression) if last in each.nodes)
        sizes = (self.rewards[kernel] if kernel in self.rewards else self.laws[kernel]).sizes
        if self.expression == kernel and kernel.given == self.factor.given:
            return np.maximum(sizes, UNSEEN)
        shape = self.shape[: len(self.factor.given)]
        if np.prod(shape) * sizes.size > MOST_SLOPES:
            return np.full(shape, self._rows.looks)
        sums = sum_over([name for name in self.factor.nodes if name != last], self.expression)
        engine = evaluator(Estimand(sums, self.factor.given, last), {**self._sizes, last: 1})
        tables = [
            np.ones((*sizes.shape, 1)) if each == kernel else self._table(each, None) for each in engine.conditionals
        ]
        _, slopes = engine.slopes(tables, np.ones(1))
        weights = slopes[engine.conditionals.index(kernel)].reshape(*shape, -1)
        total = weights.sum(axis=-1)
        spent = (weights**2 / np.maximum(sizes, UNSEEN).ravel()).sum(axis=-1)
        return np.maximum(_shares(total**2, spent), UNSEEN**2)

    def _table(self, each: Conditional, means: Mapping[Conditional, FloatArray] | None) -> FloatArray:
        if each in self.laws:
            return self.laws[each].shares
        return (self.rewards[each].means if means is None else means[each])[..., None]


class _Blending:
    """The evaluation of one blend."""

    def __init__(self, learning: Learning, blend: Blend) -> None:
        self.learning, self.blend = learning, blend
        self.sizes = {**learning.sizes, learning.problem.reward: 1}
        self.engine = evaluator(blend.estimand, self.sizes)
        self.sources = {
            factor.symbol: [FactorSource(learning, factor, *pair) for pair in factor.sources]
            for factor in blend.factors
        }
        self.weights: dict[Conditional, list[FloatArray]] = {}
        for symbol, sources in self.sources.items():
            FactorSource.share(sources)
            worth = [each.worth() for each in sources]
            total = np.sum(worth, axis=0)
            tail = (1,) * len(symbol.nodes)
            self.weights[symbol] = [(each / total).reshape(*total.shape, *tail) for each in worth]

    @cached_property
    def settled(self) -> Settled:
        """All settings, with all errors."""
        learning = self.learning
        every = [each for sources in self.sources.values() for each in sources]
        rewards = {law: rows for each in every for law, rows in each.rewards.items()}
        laws = {law: table for each in every for law, table in each.laws.items()}
        gradient = normalised(list(rewards), self._evaluate)
        settings = gradient.means.size
        parts = LawParts(settings)
        for each, slope in gradient.slopes.items():
            if each in laws:
                parts.add(laws[each], slope, independent=True)
        nothing = learning.rows_given(())
        base = float(nothing.means) if learning.number else 0.5
        rows, weights, shares = [], [], []
        for each, shrunk in rewards.items():
            rows.append(shrunk)
            weights.append(gradient.slopes[each].reshape(settings, -1))
            looked = not each.source and learning.number
            shares.append(shrunk.mass.ravel() / shrunk.mass.sum() if looked else np.zeros(shrunk.mass.size))
        if learning.number and not any(each.any() for each in shares):
            rows.append(shrink_reward(nothing, [], 0.0))
            weights.append(np.zeros((settings, 1)))
            shares.append(np.ones(1))
        stack = RewardRows(Shrunk.join(rows), np.concatenate(weights, axis=1), np.concatenate(shares))
        apart = float(stack.shares @ (stack.rows.means - base) ** 2) / max(learning.looks, 1.0)
        most = sum(learning.at[source].looks for source in self.blend.sources)
        return finish(
            gradient, stack, parts, parts.covariance, parts.covariance + apart,
            base=base, looks=learning.looks, most=most,
        )  # fmt: skip

    @cached_property
    def origins(self) -> tuple[Origin, ...]:
        """What each source says by itself, and its part: the mean over all factors of its part in each."""
        every = [each for sources in self.sources.values() for each in sources]
        ones = {law: np.ones(rows.means.shape) for each in every for law, rows in each.rewards.items()}
        tables, adjoints = self._factors(ones)
        settings = len(self.settled.means)
        parts = {source: np.zeros(settings) for source in self.blend.sources}
        for symbol, sources in self.sources.items():
            for each, weight, table in zip(sources, self.weights[symbol], tables[symbol], strict=True):
                share = (adjoints[symbol] * (weight * table)).reshape(settings, -1).sum(axis=1)
                parts[each.source] += share / len(self.sources)
        alone = {source: self.blend.preferring(source) for source in self.blend.sources}
        return tuple(
            Origin(
                source,
                parts[source],
                self.settled if alone[source] == self.blend else _Blending(self.learning, alone[source]).settled,
            )
            for source in self.blend.sources
        )

    def _factors(
        self, means: Mapping[Conditional, FloatArray] | None
    ) -> tuple[dict[Conditional, list[FloatArray]], dict[Conditional, FloatArray]]:
        """The table of each factor as each source has it, and the slopes of all means in the cells of their average."""
        tables = {symbol: [each.table(means) for each in sources] for symbol, sources in self.sources.items()}
        average = [
            np.sum([w * table for w, table in zip(self.weights[each], tables[each], strict=True)], axis=0)
            for each in self.engine.conditionals
        ]
        values, slopes = self.engine.slopes(average, np.ones(1))
        self._values = values.ravel()
        settings = values.size
        return tables, {
            each: slope.reshape(settings, *slope.shape[len(self.engine.targets) :])
            for each, slope in zip(self.engine.conditionals, slopes, strict=True)
        }

    def _evaluate(
        self, means: Mapping[Conditional, FloatArray] | None
    ) -> tuple[FloatArray, dict[Conditional, FloatArray]]:
        """The means, and their slopes in every cell of every law of every source."""
        _, adjoints = self._factors(means)
        values = self._values
        found: dict[Conditional, FloatArray] = {}
        for symbol, sources in self.sources.items():
            for each, weight in zip(sources, self.weights[symbol], strict=True):
                for law, slope in each.slopes(adjoints[symbol] * weight, means).items():
                    found[law] = found[law] + slope if law in found else slope
        return values, found
