"""What the estimator must say, worked out without it: on whole joint tables, with an axis for each node.

`Oracle` holds the exact law of a small network.  `Oracle.truth` sums the truncated factorisation over everything,
hidden nodes included.  `Oracle.weight_form` is Tian and Pearl's formula in what is observed; it needs no projection and
no factor network.  `Oracle.formula` evaluates the factor formula for any choice of component and of conditioning sets,
right or wrong.  `Twin` is the estimator itself, cell by cell.  Graphs are the plain twins of `tests.twins`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tests import twins
from tests.twins import Mixed
from whichdo.counting.scopes import Reading
from whichdo.world.network import CausalNetwork, Mechanism

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whichdo.counting.scopes import Scope
    from whichdo.problem import Problem

Array = np.ndarray[Any, np.dtype[np.float64]]
Cell = tuple[int, ...]
Row = tuple[str, Cell]

MOST_CELLS = 1 << 13
FLOOR = 0.1


class Oracle:
    """The exact law of a network, as seen and under every single intervention."""

    def __init__(self, network: CausalNetwork) -> None:
        self.network = network
        self.everything = network.full.nodes
        self.names = tuple(name for name in self.everything if name not in network.hidden)
        self.factors = {name: self._factor(name) for name in self.everything}
        self.joint: Array = np.ones([network.sizes[name] for name in self.everything])
        for factor in self.factors.values():
            self.joint *= factor
        hidden = tuple(axis for axis, name in enumerate(self.everything) if name in network.hidden)
        self.seen: Array = self.joint.sum(axis=hidden)
        """P(observed nodes), an axis each, in the order of ``names``."""

    @cached_property
    def mixed(self) -> Mixed:
        """The graph that is left among the observed nodes."""
        arrows = {(parent, name) for name, mechanism in self.network.mechanisms.items() for parent in mechanism.parents}
        return twins.projection(Mixed(self.everything, frozenset(arrows), frozenset()), self.names)

    def table(self, scope: Sequence[str]) -> Array:
        """The exact joint law of some observed nodes, in the order asked for."""
        return self._onto(self.seen, self.names, scope)

    def truth(self, node: str, reward: str) -> Array:
        """P(reward | do(node=x)), a row for each x: all mechanisms but the node's own, summed over the rest."""
        # Every table is strictly positive, so leaving a factor out is dividing by it.
        return self._onto(self.joint / self.factors[node], self.everything, (node, reward))

    def means(self, problem: Problem) -> Array:
        """The true mean reward of every arm."""
        worth = np.array(list(problem.rewards.values()))
        found = [float(self.table((problem.reward,)) @ worth)]
        for node, values in problem.intervene.items():
            laws = self.truth(node, problem.reward) @ worth
            found += [float(laws[problem.domains[node].index(value)]) for value in values]
        return np.array(found)

    def weight_form(self, node: str, reward: str) -> Array:
        """P(reward | do(node=x)) by weighting what is seen with (sum over x' of Q1) / Q1; needs Assumption 3."""
        given = twins.effective_parents(self.mixed)
        block = self._product({name: given[name] for name in twins.c_component(self.mixed, node)})
        weights = block.sum(axis=self.names.index(node), keepdims=True) / block
        return self._onto(self.seen * weights, self.names, (node, reward))

    def formula(self, node: str, reward: str, given: Mapping[str, Iterable[str]], inside: Iterable[str]) -> Array:
        """The factor formula over the nodes of ``given`` with c-component ``inside``: x' summed inside, x outside."""
        inner = set(inside)
        block = self._product({name: given[name] for name in given if name in inner})
        rest = self._product({name: given[name] for name in given if name not in inner})
        return self._effect(node, reward, block.sum(axis=self.names.index(node), keepdims=True) * rest)

    def without_sum(self, node: str, reward: str, given: Mapping[str, Iterable[str]]) -> Array:
        """The mistake of dropping the node's own factor and reading x everywhere."""
        return self._effect(node, reward, self._product({name: given[name] for name in given if name != node}))

    def conditional(self, node: str, given: Iterable[str]) -> Array:
        """P(node | given), with axes of length 1 for all other nodes."""
        keep = {node, *given}
        away = tuple(axis for axis, name in enumerate(self.names) if name not in keep)
        table = self.seen.sum(axis=away, keepdims=True)
        found: Array = table / table.sum(axis=self.names.index(node), keepdims=True)
        return found

    def _factor(self, name: str) -> Array:
        mechanism = self.network.mechanisms[name]
        axes = [self.everything.index(other) for other in (*mechanism.inputs, name)]
        shape = [1] * len(self.everything)
        for axis, length in zip(axes, mechanism.table.shape, strict=True):
            shape[axis] = length
        return mechanism.table.transpose(np.argsort(axes)).reshape(shape)

    def _product(self, given: Mapping[str, Iterable[str]]) -> Array:
        found: Array = np.ones([1] * len(self.names))
        for name, before in given.items():
            found = found * self.conditional(name, before)
        return found

    def _effect(self, node: str, reward: str, table: Array) -> Array:
        shape = list(table.shape)
        shape[self.names.index(node)] = self.network.sizes[node]  # of length 1 where nothing depends on the node
        return self._onto(np.broadcast_to(table, shape), self.names, (node, reward))

    @staticmethod
    def _onto(table: Array, names: Sequence[str], scope: Sequence[str]) -> Array:
        left = table.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in scope))
        kept = [name for name in names if name in scope]
        found: Array = left.transpose([kept.index(name) for name in scope])
        return found


# ---------------------------------------------------------------------------------------------------- plain estimation


def defined(mixed: Mixed, node: str, reward: str, reading: Reading) -> tuple[Mixed, set[str]] | None:
    """The graph that counts and what is counted together, from the definitions; None where the arms must be tried."""
    acting = mixed.induced(twins.ancestors(mixed, [reward]))
    within = acting if reading is Reading.OURS or not twins.assumption_3(mixed, node) else mixed
    if node not in within.nodes:
        return within, set()
    if not twins.assumption_3(within, node):
        return None
    component = twins.c_component(within, node)
    if len(component) == 1 and (reading is Reading.OURS or (reading is Reading.PAPER and not mixed.bows)):
        parents = twins.pruned_parents(within, node, reward, within.nodes)
        return within, {node, *parents}
    return within, component.union(*(within.parents(member) for member in component))


@dataclass(frozen=True)
class Part:
    """What one row P(. | z) of one factor does: ``spread`` is the variance of the mean if v ~ P(. | z) were revealed.

    ``shift`` is what replacing the smoothed row by the raw one changes, ``doubt`` half of what any other row could;
    the one only where the row was seen often enough, the other only where not.  ``weight`` is N(z) with smoothing.
    """

    node: str
    spread: float
    weight: float
    shift: float
    doubt: float

    @property
    def variance(self) -> float:
        """As that of a Dirichlet posterior that began with the smoothing."""
        return self.spread / (self.weight + 1)


@dataclass(frozen=True)
class Twin:
    """One node's factor network with every factor, also those that sum to one, and the counts of its scope.

    The variance is the definition: the mean is linear in each row P(. | z), so putting the unit vector of v there gives
    what the mean would be if v were certain; the row adds the variance of that over N(z) + s |dom v| + 1.
    """

    problem: Problem
    node: str | None
    scope: Scope
    given: Mapping[str, Sequence[str]]
    inside: frozenset[str]
    cells: Scope
    counts: Mapping[Cell, float]

    @classmethod
    def of(cls, problem: Problem, node: str | None, reading: Reading, counts: Array) -> Twin | None:
        """By the definitions, from counts with an axis for each node of the graph; None where arms must be tried."""
        order, reward = problem.graph.nodes, problem.reward
        found = (twins.plain(problem.graph), set[str]())
        if node is not None:
            judged = defined(found[0], node, reward, reading)
            if judged is None:
                return None
            found = judged
        within, cells = found
        scope = tuple(name for name in order if name in cells | {reward})
        away = tuple(axis for axis, name in enumerate(order) if name not in scope)
        table = dict(np.ndenumerate(counts.sum(axis=away)))
        if node is None or not cells:  # do(), or a node that does not act on the reward
            return cls(problem, None, scope, {reward: ()}, frozenset(), (), table)
        projected = twins.projection(within, scope)
        given = {name: sorted(some, key=scope.index) for name, some in twins.effective_parents(projected).items()}
        inside = frozenset(twins.c_component(projected, node))
        return cls(problem, node, scope, given, inside, tuple(name for name in scope if name in cells), table)

    def estimate(
        self, x: int, worth: Sequence[float], smoothing: float, threshold: float
    ) -> tuple[float, float, float, float, float]:
        """Mean, mean square, variance, shift and doubt of do(node=x)."""
        law, totals = self.law(smoothing, threshold)
        parts = list(self.parts(x, worth, law, totals, smoothing, threshold))
        return (
            self.total(x, worth, law),
            self.total(x, [value**2 for value in worth], law),
            sum(part.variance for part in parts),
            sum(part.shift for part in parts),
            sum(part.doubt for part in parts),
        )

    def law(self, smoothing: float, threshold: float) -> tuple[dict[Row, list[float]], Counter[Row]]:
        """P(v | z) for each row, and how often each row was seen; smoothing 0 gives the raw rows."""
        totals: Counter[Row] = Counter()
        own: Counter[tuple[Row, int]] = Counter()
        for cell, count in self.counts.items():
            at = dict(zip(self.scope, cell, strict=True))
            for name in self.scope:
                totals[self.row(name, at)] += count  # type: ignore[assignment]
                own[self.row(name, at), at[name]] += count  # type: ignore[assignment]
        law = {}
        for row in totals:
            size = len(self.problem.domains[row[0]])
            weight = totals[row] + smoothing * size
            uniform = weight == 0 or (totals[row] < threshold and row[0] not in self.inside)
            law[row] = [1 / size if uniform else (own[row, v] + smoothing) / weight for v in range(size)]
        return law, totals

    def parts(
        self,
        x: int,
        worth: Sequence[float],
        law: Mapping[Row, list[float]],
        totals: Mapping[Row, float],
        smoothing: float = 1.0,
        threshold: float = 0.0,
    ) -> Iterator[Part]:
        """What each row does to the mean; a row that a threshold makes uniform counts as unseen."""
        raw, _ = self.law(0, 0)
        for row, chances in law.items():
            certain = []
            for v in range(len(chances)):
                unit = [float(v == other) for other in range(len(chances))]
                certain.append(self.total(x, worth, {**law, row: unit}))
            middle = sum(p * value for p, value in zip(chances, certain, strict=True))
            spread = sum(p * (value - middle) ** 2 for p, value in zip(chances, certain, strict=True))
            shift = middle - sum(p * value for p, value in zip(raw[row], certain, strict=True))
            doubt = (max(certain) - min(certain)) / 2
            seen = totals[row] > 0 and (row[0] in self.inside or totals[row] >= threshold)
            weight = totals[row] + smoothing * len(chances)
            yield Part(row[0], spread, weight, shift * seen, doubt * (not seen))

    def total(self, x: int, worth: Sequence[float], law: Mapping[Row, list[float]]) -> float:
        """Sum over all cells, the node's own value x' among them, of worth times the product of all factors."""
        found = 0.0
        for cell in self.counts:
            inner = dict(zip(self.scope, cell, strict=True))
            outer = inner if self.node is None else {**inner, self.node: x}
            term = worth[inner[self.problem.reward]]
            for name in self.scope:
                at = inner if name in self.inside else outer
                term *= law[self.row(name, at)][at[name]]
            found += term
        return found

    def row(self, name: str, at: Mapping[str, int]) -> Row:
        """Which row of a factor's table a cell belongs to."""
        return name, tuple(at[other] for other in self.given[name])

    def rarest(self) -> float:
        """The least count among the values of ``cells``."""
        found: Counter[Cell] = Counter()
        for cell, count in self.counts.items():
            at = dict(zip(self.scope, cell, strict=True))
            found[tuple(at[name] for name in self.cells)] += count  # type: ignore[assignment]
        return min(found.values())


# --------------------------------------------------------------------------------------------------------- random input


def semi_markovian(
    rng: np.random.Generator, *, observed: tuple[int, int] = (3, 7), binary: bool | None = None
) -> CausalNetwork:
    """3 to 7 observed nodes, 0 to 5 hidden ones with two children each, sometimes three, sometimes with parents.

    Every probability is positive.  Half of the networks are binary, the others have 2 to 4 values a node.  Nodes are
    mentioned in random order, so that ties in the order are broken in all ways.
    """
    count = int(rng.integers(observed[0], observed[1] + 1))
    names = [f"V{number}" for number in rng.permutation(count)]
    rate = rng.choice((0.25, 0.4, 0.6))
    inputs: dict[str, list[str]] = {name: [] for name in names}
    for tail, head in combinations(names, 2):
        if rng.random() < rate:
            inputs[head].append(tail)
    hidden = [f"U{number}" for number in range(rng.integers(6))]
    for name in hidden:
        children = sorted(rng.choice(count, 3 if count > 2 and rng.random() < 0.15 else 2, replace=False).tolist())
        inputs[name] = [parent for parent in names[: children[0]] if rng.random() < 0.15]
        for child in children:
            inputs[names[child]].append(name)
    plain = bool(rng.random() < 0.5) if binary is None else binary
    sizes = dict.fromkeys(inputs, 2)
    for name in [*names, *hidden]:
        wanted = 2 if plain else int(rng.choice((2, 3, 4)))
        if prod(sizes.values()) // 2 * wanted <= MOST_CELLS:
            sizes[name] = wanted
    mechanisms = {}
    for name in rng.permutation(list(inputs)).tolist():
        rng.shuffle(inputs[name])
        table = rng.dirichlet(np.ones(sizes[name]), size=tuple(sizes[parent] for parent in inputs[name]))
        mechanisms[name] = Mechanism(inputs[name], FLOOR / sizes[name] + (1 - FLOOR) * table)
    return CausalNetwork(mechanisms, hidden)


def any_problem(network: CausalNetwork, rng: np.random.Generator) -> Problem:
    """Half the time any observed node as the reward, wherever it stands, else the last; random worths if not binary."""
    nodes = network.graph.nodes
    reward = nodes[int(rng.integers(len(nodes)))] if rng.random() < 0.5 else nodes[-1]
    levels = network.domains[reward]
    rewards = None if len(levels) == 2 else {level: float(rng.random()) for level in levels}
    return network.problem(reward, rewards=rewards)
