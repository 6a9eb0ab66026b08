"""The slow twin of `whichdo.world.exact`: the whole joint table, every node an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.world.mechanism import Mechanism
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.problem import Problem

Array = np.ndarray[Any, np.dtype[np.float64]]


def joint(network: CausalNetwork, forced: Mapping[str, int]) -> Array:
    """P(all nodes), in topological order, with some nodes forced to a code."""
    names = network.full.nodes
    table: Array = np.array(1.0)
    for name in names:
        mechanism = network.mechanisms[name]
        axes = [names.index(other) for other in (*mechanism.inputs, name)]
        factor = mechanism.table
        if name in forced:
            axes = [names.index(name)]
            factor = np.eye(mechanism.size)[forced[name]]
        shape = [1] * len(names)
        order = np.argsort(axes)
        for axis, length in zip(np.array(axes)[order], np.array(factor.shape)[order], strict=True):
            shape[axis] = length
        table = table * factor.transpose(order).reshape(shape)
    return np.broadcast_to(table, [network.sizes[name] for name in names])


def marginal(network: CausalNetwork, scope: Sequence[str], forced: Mapping[str, int]) -> Array:
    names = network.full.nodes
    table = joint(network, forced).sum(axis=tuple(j for j, name in enumerate(names) if name not in scope))
    kept = [name for name in names if name in scope]
    found: Array = table.transpose([kept.index(name) for name in scope])
    return found


def means(network: CausalNetwork, problem: Problem) -> list[float]:
    worth = np.array(list(problem.rewards.values()))
    found = []
    for arm in problem.arms:
        forced = network.codes_of(arm.settings)
        found.append(float(marginal(network, (problem.reward,), forced) @ worth))
    return found


def random_network(rng: np.random.Generator, *, most_values: int = 3, zeros: bool = True) -> CausalNetwork:
    """Two to six nodes, some hidden, mixed domains, parents that the table ignores, some probabilities 0 or 1."""
    count = int(rng.integers(2, 7))
    names = [f"V{j}" for j in range(count)]
    sizes = rng.integers(2, most_values + 1, count)
    mechanisms = {}
    for j in rng.permutation(count):
        parents = [i for i in range(j) if rng.random() < 0.5]
        inputs = [i for i in parents if rng.random() < 0.8]
        rng.shuffle(inputs)
        table = rng.dirichlet(np.ones(sizes[j]), size=tuple(sizes[i] for i in inputs))
        if zeros and rng.random() < 0.3:
            table = np.where(rng.random(table.shape) < 0.3, 0.0, table) + 1e-300
            table /= table.sum(axis=-1, keepdims=True)
            table[table < 1e-200] = 0.0
        mechanisms[names[j]] = Mechanism([names[i] for i in inputs], table, parents=[names[i] for i in parents])
    hidden = {name for name in names[:-1] if rng.random() < 0.25}
    if len(hidden) > count - 2:
        hidden = set()
    return CausalNetwork(mechanisms, hidden=hidden)


def problem_on(network: CausalNetwork, rng: np.random.Generator) -> Problem:
    """A random observed reward with random worths; every other observed node can be set."""
    observed = network.graph.nodes
    reward = observed[int(rng.integers(len(observed)))]
    levels = network.domains[reward]
    return network.problem(reward, rewards={level: float(rng.random()) for level in levels})
