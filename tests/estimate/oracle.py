"""What the estimator must say, worked out without it: on whole joint tables, with an axis for each node.

`Oracle` holds the exact law of a small network.  `Oracle.truth` sums the truncated factorisation over everything,
hidden nodes included.  Graphs are the plain twins of `tests.twins`.
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tests import twins
from tests.twins import Mixed
from whichdo.world.mechanism import Mechanism
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.problem import Problem

Array = np.ndarray[Any, np.dtype[np.float64]]

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

    def _factor(self, name: str) -> Array:
        mechanism = self.network.mechanisms[name]
        axes = [self.everything.index(other) for other in (*mechanism.inputs, name)]
        shape = [1] * len(self.everything)
        for axis, length in zip(axes, mechanism.table.shape, strict=True):
            shape[axis] = length
        return mechanism.table.transpose(np.argsort(axes)).reshape(shape)

    @staticmethod
    def _onto(table: Array, names: Sequence[str], scope: Sequence[str]) -> Array:
        left = table.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in scope))
        kept = [name for name in names if name in scope]
        found: Array = left.transpose([kept.index(name) for name in scope])
        return found


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
