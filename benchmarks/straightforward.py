"""SRM, successive rejects and uniform exploration as the code beside a paper would have them: a peer for our own.

Rows are drawn node by node and kept in a pandas frame; a conditional probability is a filter on the frame; the mean of
an arm is that of T samples, drawn one at a time from the network learned for it; a pull is a call.  Nothing is slow on
purpose: each table is learned once an arm, and no arm is estimated that is tried anyway.

For networks of 0/1 nodes without hidden causes, such as Experiment 1.  The network learned for do(X=x) has the parents
of X, each given the ones before it, and the reward given them and X=x; add-one smoothing, as in the paper.
"""

from __future__ import annotations

import random
from itertools import product
from math import ceil
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from whichdo.world.network import CausalNetwork

__all__ = ["Model", "do_mean", "infrequent", "srm", "successive_rejects", "uniform"]

Arm = tuple[str, int] | None
Table = dict[tuple[int, ...], float]


class Model:
    """A causal model that can be sampled, with or without an intervention; ``drawn`` counts the pulls.

    Nodes in topological order; for each node the ones it is drawn from, and P(node = 1) for each of their values.
    """

    def __init__(self, tables: dict[str, Table], inputs: dict[str, list[str]], reward: str, rng: random.Random) -> None:
        self.nodes = list(tables)
        self.tables = tables
        self.inputs = inputs
        self.parents = inputs
        self.reward = reward
        self.rng = rng
        self.drawn = 0

    @classmethod
    def of(cls, network: CausalNetwork, reward: str, seed: int) -> Model:
        """The model of a network; in Experiment 1 the reward is drawn from one of its 100 parents."""
        nodes = list(network.graph.nodes)
        inputs = {name: list(network.mechanisms[name].inputs) for name in nodes}
        tables = {
            name: {values: float(network.mechanisms[name].table[values][1]) for values in settings(inputs[name])}
            for name in nodes
        }
        made = cls(tables, inputs, reward, random.Random(seed))
        made.parents = {name: sorted(network.graph.parents(name), key=nodes.index) for name in nodes}
        return made

    @property
    def variables(self) -> list[str]:
        return [name for name in self.nodes if name != self.reward]

    @property
    def arms(self) -> list[Arm]:
        return [None, *((name, value) for name in self.variables for value in (0, 1))]

    def sample(self, arm: Arm = None) -> dict[str, int]:
        self.drawn += 1
        row: dict[str, int] = {}
        for name in self.nodes:
            if arm is not None and name == arm[0]:
                row[name] = arm[1]
            else:
                chance = self.tables[name][tuple(row[given] for given in self.inputs[name])]
                row[name] = int(self.rng.random() < chance)
        return row

    def samples(self, count: int, arm: Arm = None) -> pd.DataFrame:
        return pd.DataFrame([self.sample(arm) for _ in range(count)], columns=self.nodes)

    def pull(self, arm: Arm) -> int:
        return self.sample(arm)[self.reward]


def settings(names: list[str]) -> list[tuple[int, ...]]:
    """All joint values of some nodes."""
    return list(product((0, 1), repeat=len(names)))


def matching(data: pd.DataFrame, values: dict[str, int]) -> pd.DataFrame:
    """The rows that have these values."""
    for name, value in values.items():
        data = data[data[name] == value]
    return data


def conditional(data: pd.DataFrame, name: str, given: dict[str, int]) -> float:
    """P(name = 1 | given), smoothed."""
    rows = matching(data, given)
    return float((rows[name].sum() + 1) / (len(rows) + 2))


def do_mean(model: Model, data: pd.DataFrame, arm: tuple[str, int], draws: int) -> float:
    """E[Y | do(X=x)] from rows in which nothing was done: learn a network for the arm, and sample it."""
    node, value = arm
    causes = model.parents[node]
    inputs = {name: causes[:place] for place, name in enumerate(causes)} | {model.reward: [node, *causes]}
    tables: dict[str, Table] = {
        name: {values: conditional(data, name, dict(zip(given, values, strict=True))) for values in settings(given)}
        for name, given in inputs.items()
        if name != model.reward
    }
    tables[node] = {}  # it is set, never drawn
    tables[model.reward] = {
        (value, *values): conditional(data, model.reward, {node: value, **dict(zip(causes, values, strict=True))})
        for values in settings(causes)
    }
    learned = Model(tables, inputs, model.reward, model.rng)
    return sum(learned.sample(arm)[model.reward] for _ in range(draws)) / draws


def infrequent(model: Model, data: pd.DataFrame) -> tuple[list[str], int]:
    """The nodes that are seen too rarely with some values of their parents, rarest first, and the estimate of m."""
    q = {}
    for name in model.variables:
        together = [*model.parents[name], name]
        counts = [len(matching(data, dict(zip(together, cell, strict=True)))) for cell in settings(together)]
        q[name] = min(counts) / len(data)
    m = 2
    while sum(share < 1 / m for share in q.values()) > m:
        m += 1
    return sorted((name for name in q if q[name] < 1 / m), key=lambda name: q[name]), m


def best(model: Model, means: dict[Arm, float]) -> Arm:
    top = max(means.values())
    return model.rng.choice([arm for arm, mean in means.items() if mean == top])


def srm(model: Model, budget: int) -> Arm:
    data = model.samples(budget // 2)
    rare, _ = infrequent(model, data)
    left = budget - len(data)
    if not rare:
        data = pd.concat([data, model.samples(left)], ignore_index=True)
    tried: list[Arm] = [(name, value) for name in rare for value in (0, 1)]
    means: dict[Arm, float] = {None: float(data[model.reward].mean())}
    for number, arm in enumerate(tried):
        count = left // len(tried) + (number < left % len(tried))
        if count:
            means[arm] = float(model.samples(count, arm)[model.reward].mean())
    for arm in model.arms:
        if arm is not None and arm not in means:
            means[arm] = do_mean(model, data, arm, draws=budget)
    return best(model, means)


def uniform(model: Model, budget: int) -> Arm:
    arms = model.arms
    more = set(model.rng.sample(range(len(arms)), budget % len(arms)))
    means: dict[Arm, float] = {}
    for number, arm in enumerate(arms):
        rewards = [model.pull(arm) for _ in range(budget // len(arms) + (number in more))]
        means[arm] = sum(rewards) / len(rewards)
    return best(model, means)


def successive_rejects(model: Model, budget: int) -> Arm:
    alive = model.arms
    count = len(alive)
    spread = 0.5 + sum(1 / i for i in range(2, count + 1))
    rewards: dict[Arm, list[int]] = {arm: [] for arm in alive}
    before = 0
    for phase in range(1, count):
        upto = ceil((budget - count) / (spread * (count + 1 - phase)))
        for arm in alive:
            rewards[arm] += [model.pull(arm) for _ in range(upto - before)]
        before = upto
        means: dict[Any, float] = {arm: sum(rewards[arm]) / len(rewards[arm]) for arm in alive}
        low = min(means.values())
        alive.remove(model.rng.choice([arm for arm in alive if means[arm] == low]))
    return alive[0]
