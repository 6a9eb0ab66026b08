"""C-factors from several sources, averaged and put together.

Each factor of a blend (`whichdo.blends`) is estimated by every source that yields it, and the
estimates are averaged in each row g of the factor, that is, for each setting of what it depends on.
The weights are counts: each formula is linear in the kernel of the factor's last node, with
weights W on the rows of that kernel, and is worth the number of rows

    n(g) = (sum of W)^2 / sum of W^2 / n_row

that would know the row g as well if they were all in it.  For a factor that is counted directly that
is the number of rows at g, and the average is the share in all rows together.  The weights do not
depend on the rewards that were seen: weights by estimated variances would favour the source whose
rewards happen to lie near 0 or 1.  They need not be the best possible for the interval to be right:
it takes them as given and follows every source through all factors by its slopes.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.estimator import Origin
from whichdo.estimate.evaluate import evaluator, table_evaluator
from whichdo.estimate.settled import LawParts, RewardRows, Settled, finish, normalised
from whichdo.estimate.shrinkage import Rows, Shrunk, shrink_law, shrink_reward
from whichdo.identification.estimand import Conditional, Estimand, conditionals_in, product, sum_over

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import FloatArray
    from whichdo.blends import Blend
    from whichdo.estimate.estimator import Looking
    from whichdo.estimate.shrinkage import Law
    from whichdo.identification.estimand import CFactor, Expression, Names


POOLED, ADJOINT = ("", "pooled"), ("", "adjoint")
"""In place of a source: all that count a law directly, and the weights of a sum.  No node has an empty name."""
UNSEEN = 1e-3
"""How many rows one that was never seen counts for in the weights of sources: next to none, but a weight."""
MOST_ALONE = 256
"""The most sources of a blend times its factors for which each source is evaluated by itself as well."""
MOST_SLOPES = 1 << 22
"""The most cells of a factor times rows of its kernel for which the weights are worked out row by row."""


def pooled_rows(parts: Sequence[Rows]) -> Rows:
    """The rows of several sources together, each by its effective size."""
    sizes = np.sum([part.sizes for part in parts], axis=0)
    means, squares = (
        shares_of(np.sum([part.sizes * getattr(part, name) for part in parts], axis=0), sizes)
        for name in ("means", "squares")
    )
    return Rows(sizes, sizes, means, squares)


def shares_of(part: FloatArray, whole: FloatArray | float) -> FloatArray:
    """A part of each number, 0 where there is nothing."""
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=np.asarray(whole) > 0)


def _is_direct(factor: CFactor, expression: Expression) -> bool:
    return isinstance(expression, Conditional) and expression.columns == factor.symbol.columns


class FactorSource:
    """One c-factor as one source has it, or several that count it directly, together.

    ``rewards`` and ``laws`` hold the errors of each conditional of the formula.
    """

    def __init__(self, rows: Looking, factor: CFactor, source: Names, expression: Expression) -> None:
        self.factor, self.expression = factor, expression
        self.parts: dict[Names, FloatArray] = {source: np.ones([1] * len(factor.given))}
        """The part of each source in every row of the factor."""
        self.looked: Rows | None = None
        """What looks alone say, where they are one of several."""
        self._rows = rows
        self._reward = rows.problem.reward
        self._sizes = {**rows.sizes, self._reward: 1}
        self.axes = factor.symbol.columns
        self.shape = tuple(self._sizes[name] for name in self.axes)
        self.rewards: dict[Conditional, Shrunk] = {}
        self.laws: dict[Conditional, Law] = {}
        for each in conditionals_in(expression):
            if self._reward in each.nodes:
                self.rewards[each] = rows.rows(each, self._targets(each), ())
            else:
                self.laws[each] = rows.law(each, ())

    @classmethod
    def together(cls, at: Mapping[Names, Looking], factor: CFactor) -> list[FactorSource]:
        """A factor as all its sources have it; those that count it directly as one, with all their rows.

        A row that is rare in one source then leans on the others before it leans on margins, and has their variance.
        """
        pairs = factor.sources
        direct = [(source, each) for source, each in pairs if _is_direct(factor, each)]
        if len(direct) < 2:
            return [cls(at[source], factor, source, each) for source, each in pairs]
        whole = cls(at[direct[0][0]], factor, *direct[0])
        whole._add({source: (at[source], next(conditionals_in(each))) for source, each in direct})
        return [
            whole,
            *(cls(at[source], factor, source, each) for source, each in pairs if (source, each) not in direct),
        ]

    def _add(self, direct: Mapping[Names, tuple[Looking, Conditional]]) -> None:
        """Let other sources that count the same law directly speak too; ``direct`` names the own one as well."""
        law = Conditional(self.factor.nodes, self.factor.given, POOLED)
        self.expression, self.rewards, self.laws = law, {}, {}
        strength = self._rows.rule.shrinkage
        if self._reward in law.nodes:
            apart = {source: rows.rows_given(each.given) for source, (rows, each) in direct.items()}
            whole = pooled_rows(list(apart.values()))
            self.rewards[law] = shrink_reward(whole, self._targets(law), strength)
            self.looked = apart.get(())
            self.parts = {source: shares_of(rows.sizes, whole.sizes) for source, rows in apart.items()}
            return
        own = {source: rows.law(each, ()) for source, (rows, each) in direct.items()}
        tail = (1,) * len(law.nodes)
        sizes = np.sum([each.sizes for each in own.values()], axis=0)
        mass = np.sum([each.raw * each.sizes.reshape(*sizes.shape, *tail) for each in own.values()], axis=0)
        self.laws[law] = shrink_law(mass, len(tail), strength, sizes)
        self.parts = {source: shares_of(each.sizes, sizes) for source, each in own.items()}

    def _targets(self, reward: Conditional) -> list[int]:
        """The axes of the reward's table that can be set: rarely seen rows lean on both margins."""
        return [place for place, name in enumerate(reward.given) if name in self._rows.problem.intervene]

    @property
    def is_direct(self) -> bool:
        """Whether the factor is counted as it is, without a formula."""
        return _is_direct(self.factor, self.expression)

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
        weight = Conditional(self.factor.nodes, self.factor.given, ADJOINT)
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
        return np.maximum(shares_of(total**2, spent), UNSEEN**2)

    def _table(self, each: Conditional, means: Mapping[Conditional, FloatArray] | None) -> FloatArray:
        if each in self.laws:
            return self.laws[each].shares
        return (self.rewards[each].means if means is None else means[each])[..., None]


def _stack(source: FactorSource, rows: Shrunk, weights: FloatArray) -> RewardRows:
    """The rows of the reward that one source has, with those of looks apart from others: do() has the looks alone."""
    looked = source.looked
    if looked is None:
        of_looks = () in source.parts
        shares = shares_of(rows.mass, rows.mass.sum()) if of_looks else np.zeros(rows.mass.shape)
        return RewardRows(rows, weights, shares.ravel())
    shares = shares_of(looked.mass, looked.mass.sum()).ravel()
    return RewardRows.split(rows, weights, shares, looked.sizes)


class Blending:
    """The evaluation of one blend."""

    def __init__(self, looks: Looking, at: Mapping[Names, Looking], blend: Blend) -> None:
        self.looks, self.at, self.blend = looks, at, blend
        self.engine = evaluator(blend.estimand, {**looks.sizes, looks.problem.reward: 1})
        self.sources = {factor.symbol: FactorSource.together(at, factor) for factor in blend.factors}
        self.weights: dict[Conditional, list[FloatArray]] = {}
        for symbol, sources in self.sources.items():
            worth = [each.worth() for each in sources]
            total = np.sum(worth, axis=0)
            tail = (1,) * len(symbol.nodes)
            self.weights[symbol] = [(each / total).reshape(*total.shape, *tail) for each in worth]

    @cached_property
    def settled(self) -> Settled:
        """All settings, with all errors."""
        looks = self.looks
        every = [each for sources in self.sources.values() for each in sources]
        rewards = {law: rows for each in every for law, rows in each.rewards.items()}
        laws = {law: table for each in every for law, table in each.laws.items()}
        gradient = normalised(list(rewards), self._evaluate)
        settings = gradient.means.size
        parts = LawParts(settings)
        for each, slope in gradient.slopes.items():
            if each in laws:
                parts.add(laws[each], slope, independent=True)
        nothing = looks.rows_given(())
        base = float(nothing.means) if looks.number else 0.5
        stacks = []
        for source in every:
            for each, shrunk in source.rewards.items():
                stacks.append(_stack(source, shrunk, gradient.slopes[each].reshape(settings, -1)))
        if looks.number and not any(each.shares.any() for each in stacks):
            alone = shrink_reward(nothing, [], 0.0)
            stacks.append(RewardRows(alone, np.zeros((settings, 1)), np.ones(1)))
        stack = RewardRows(
            Shrunk.join([each.rows for each in stacks]),
            np.concatenate([each.weights for each in stacks], axis=1),
            np.concatenate([each.shares for each in stacks]),
        )
        apart = float(stack.shares @ (stack.rows.means - base) ** 2) / max(looks.looks, 1.0)
        most = sum(self.at[source].looks for source in self.blend.sources)
        return finish(
            gradient, stack, parts, parts.covariance, parts.covariance + apart,
            base=base, looks=looks.looks, most=most,
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
            tail = (1,) * len(symbol.nodes)
            for each, weight, table in zip(sources, self.weights[symbol], tables[symbol], strict=True):
                cells = adjoints[symbol] * (weight * table)
                for source, part in each.parts.items():
                    share = (cells * part.reshape(*part.shape, *tail)).reshape(settings, -1).sum(axis=1)
                    parts[source] += share / len(self.sources)
        cheap = len(parts) * len(self.sources) <= MOST_ALONE
        return tuple(
            Origin(source, part, partial(self._alone, source) if cheap else None) for source, part in parts.items()
        )

    def _alone(self, source: Names) -> Settled:
        """With every factor that one source yields taken from it alone."""
        alone = self.blend.preferring(source)
        return self.settled if alone == self.blend else Blending(self.looks, self.at, alone).settled

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
