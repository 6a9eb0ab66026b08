"""Random worlds to check graphs on: mixed domains, skewed laws, a hidden cause behind every bidirected edge.

`RIGHT` has families of graphs that are right, each hard on a test in its own way.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.evidence import Tally
from whichdo.graph.admg import CausalGraph
from whichdo.graph.separation import implied_statements
from whichdo.problem import LOOK, Problem, Value
from whichdo.tables import Table
from whichdo.world.instances import random_confounded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whichdo.arrays import CodeArray, FloatArray, IntArray

    Law = Callable[[np.random.Generator, tuple[int, ...], int], FloatArray]
    """The law of a node with so many values, for parents of such sizes."""

SKEWS = (0.3, 1.0, 3.0)
"""Parameters of the Dirichlet law that laws come from: below 1 they are near 0 and 1."""


def random_graph(rng: np.random.Generator, nodes: int, arrows: float, hidden: float) -> CausalGraph:
    """Nodes V0, V1, ... and Y, the last; each pair has an arrow and a hidden cause with these chances."""
    names = [*(f"V{j}" for j in range(nodes - 1)), "Y"]
    pairs = [(names[i], names[j]) for j in range(nodes) for i in range(j)]
    directed = [pair for pair in pairs if rng.random() < arrows]
    bidirected = [pair for pair in pairs if rng.random() < hidden]
    return CausalGraph(names, directed, bidirected)


def telling_graph(
    rng: np.random.Generator,
    nodes: tuple[int, int] = (3, 7),
    arrows: tuple[float, float] = (0.15, 0.6),
    hidden: Sequence[float] = (0.0, 0.1, 0.2),
) -> CausalGraph:
    """A random graph that implies a statement to test."""
    while True:
        number = int(rng.integers(nodes[0], nodes[1] + 1))
        graph = random_graph(rng, number, float(rng.uniform(*arrows)), float(rng.choice(hidden)))
        if implied_statements(graph).statements:
            return graph


@dataclass(frozen=True)
class RandomWorld:
    """A law for a graph: each node's values given its parents and its hidden causes."""

    graph: CausalGraph
    sizes: dict[str, int]
    hidden: dict[frozenset[str], FloatArray]
    laws: dict[str, FloatArray]
    """Parents in the graph's order, then hidden causes in the order of ``hidden``, then the node."""

    @classmethod
    def draw(
        cls,
        rng: np.random.Generator,
        graph: CausalGraph,
        *,
        least: int = 2,
        most: int = 4,
        skew: float = 1.0,
        law: Law | None = None,
    ) -> RandomWorld:
        """Between ``least`` and ``most`` values a node; ``skew`` below 1 makes laws near 0 and 1 likely."""
        law = law or _dirichlet(skew)
        sizes = {name: int(rng.integers(least, most + 1)) for name in graph.nodes}
        edges = sorted(graph.bidirected, key=sorted)
        hidden = {edge: rng.dirichlet(np.full(int(rng.integers(2, 4)), 2.0)) for edge in edges}
        laws = {}
        for name in graph.nodes:
            above = [sizes[parent] for parent in graph.parents(name)]
            above += [len(law) for edge, law in hidden.items() if name in edge]
            laws[name] = law(rng, tuple(above), sizes[name])
        return cls(graph, sizes, hidden, laws)

    def sample(
        self, rng: np.random.Generator, rows: int, setting: dict[str, int] | None = None
    ) -> dict[str, CodeArray]:
        """Rows of looks, or with some nodes set."""
        causes = {edge: _draw(rng, np.broadcast_to(law, (rows, len(law)))) for edge, law in self.hidden.items()}
        found: dict[str, CodeArray] = {}
        for name in self.graph.nodes:
            if setting and name in setting:
                found[name] = np.full(rows, setting[name], np.uint8)
                continue
            above = [found[parent] for parent in self.graph.parents(name)]
            above += [values for edge, values in causes.items() if name in edge]
            found[name] = _draw(rng, self.laws[name][tuple(above)] if above else self.laws[name][None].repeat(rows, 0))
        return found

    def law(self, setting: dict[str, int] | None = None) -> FloatArray:
        """The exact law of all nodes, an axis for each, by looking or with some nodes set."""
        letters = dict(zip([*self.graph.nodes, *self.hidden], string.ascii_letters, strict=False))
        parts, axes = list(self.hidden.values()), [letters[edge] for edge in self.hidden]
        for name in self.graph.nodes:
            if setting and name in setting:
                parts.append(np.eye(self.sizes[name])[setting[name]])
                axes.append(letters[name])
                continue
            above = [*self.graph.parents(name), *(edge for edge in self.hidden if name in edge)]
            parts.append(self.laws[name])
            axes.append("".join(letters[each] for each in above) + letters[name])
        nodes = "".join(letters[name] for name in self.graph.nodes)
        found: FloatArray = np.einsum(f"{','.join(axes)}->{nodes}", *parts, optimize=True)
        return found

    def tally(self, problem: Problem, counts: IntArray) -> Tally:
        """Looks that occurred so often, in one table of all nodes; ``counts`` has an axis for each."""
        table = Table.of(self.graph.nodes, counts)
        rewards = table.marginal(("Y",))
        levels = np.zeros((len(problem.arms), self.sizes["Y"]), np.int64)
        levels[0] = rewards.count
        return Tally(problem, levels, {LOOK: {table.scope: table, rewards.scope: rewards}})

    def looks(self, problem: Problem, rng: np.random.Generator, rows: int) -> Tally:
        """As many rows as wanted, at the cost of one draw."""
        law = self.law()
        return self.tally(problem, rng.multinomial(rows, law.ravel() / law.sum()).reshape(law.shape))

    def problem(self, graph: CausalGraph | None = None) -> Problem:
        """All arms on single nodes, by this graph or another that someone believes in."""
        domains = {name: list(range(size)) for name, size in self.sizes.items()}
        worth: dict[Value, float] = {level: level / (self.sizes["Y"] - 1) for level in range(self.sizes["Y"])}
        return Problem(graph or self.graph, "Y", domains=domains, rewards=worth)


def _draw(rng: np.random.Generator, law: FloatArray) -> CodeArray:
    """A value of each row's law."""
    limits = np.cumsum(law[:, :-1], axis=1)
    found: CodeArray = (rng.random((len(law), 1)) > limits).sum(axis=1).astype(np.uint8)
    return found


# ----------------------------------------------------------------------------------------- families of right graphs


@dataclass(frozen=True)
class Right:
    """A log of a world whose graph is believed."""

    problem: Problem
    data: object
    arm: str | None = None
    """The column that says what was done."""


def _dirichlet(skew: float) -> Law:
    def law(rng: np.random.Generator, shape: tuple[int, ...], size: int) -> FloatArray:
        return rng.dirichlet(np.full(size, skew), size=shape)

    return law


def _with_a_rare_value(rng: np.random.Generator, shape: tuple[int, ...], size: int) -> FloatArray:
    """The first value of most nodes comes once in 20 to 1,000 rows, more or less often by the parents."""
    law = rng.dirichlet(np.ones(size), size=shape)
    if rng.random() < 0.3:
        return law
    chance = np.minimum(10 ** rng.uniform(-3.0, -1.3) * np.exp(rng.normal(0.0, 0.7, shape)), 0.3)[..., None]
    others = law[..., 1:] / law[..., 1:].sum(axis=-1, keepdims=True)
    return np.concatenate([chance, others * (1 - chance)], axis=-1)


def _nearly_certain(rng: np.random.Generator, shape: tuple[int, ...], size: int) -> FloatArray:
    """The parents say what the value is, but for one row in 10 to 300."""
    if not shape:
        return rng.dirichlet(np.full(size, 2.0))
    noise = 10 ** rng.uniform(-2.5, -1.0)
    found: FloatArray = noise / size + (1 - noise) * np.eye(size)[rng.integers(size, size=shape)]
    return found


def _looks(draw: Callable[[np.random.Generator], RandomWorld]) -> Callable[[np.random.Generator, int], Right]:
    def right(rng: np.random.Generator, rows: int) -> Right:
        world = draw(rng)
        problem = world.problem()
        return Right(problem, world.looks(problem, rng, rows))

    return right


def _skew(rng: np.random.Generator) -> float:
    return float(rng.choice(SKEWS))


def _networks(rng: np.random.Generator, rows: int) -> Right:
    """Networks of `random_confounded`, row by row; one in two has two rare nodes."""
    rare = 2 * int(rng.integers(2))
    nodes, hidden, seed = int(rng.integers(5, 9)), int(rng.integers(4)), int(rng.integers(1 << 40))
    (instance,) = random_confounded(nodes, hidden, 1, seed, least_bias=0.0, rare=rare)
    drawn = instance.network.sample(rows, seed=seed + 1)
    return Right(instance.problem, {name: drawn[name] for name in instance.problem.graph.nodes})


def _numeric(rng: np.random.Generator, rows: int) -> Right:
    """A reward from 0 to 1,000, in one of two worlds mostly near the lower end of its step."""
    world = RandomWorld.draw(rng, telling_graph(rng, (3, 6)), skew=_skew(rng))
    data: dict[str, object] = {**world.sample(rng, rows)}
    within = rng.random(rows) ** int(rng.choice([1, 6]))
    data["Y"] = np.round((np.asarray(data["Y"]) + within) / world.sizes["Y"] * 1_000, int(rng.integers(3)))
    domains = {name: list(range(size)) for name, size in world.sizes.items() if name != "Y"}
    return Right(Problem(world.graph, "Y", domains=domains, reward_range=(0, 1_000)), data)


def _experiments(rng: np.random.Generator, rows: int) -> Right:
    """Looks and rows of one to four arms, in any shares."""
    world = RandomWorld.draw(rng, telling_graph(rng, (3, 6)), most=3, skew=_skew(rng))
    problem = world.problem()
    pulled = rng.permutation(np.arange(1, len(problem.arms)))[: int(rng.integers(1, 5))]
    arms = [problem.arms[0], *(problem.arms[place] for place in pulled)]
    sizes = 1 + rng.multinomial(rows, rng.dirichlet([2.0, *np.ones(len(pulled))]))
    parts = [
        world.sample(rng, size, {name: int(value) for name, value in arm.settings.items()})
        for arm, size in zip(arms, sizes.tolist(), strict=True)
    ]
    data: dict[str, object] = {name: np.concatenate([part[name] for part in parts]) for name in problem.graph.nodes}
    data["what"] = np.repeat([str(arm) for arm in arms], sizes)
    return Right(problem, data, "what")


RIGHT: dict[str, Callable[[np.random.Generator, int], Right]] = {
    "mixed": _looks(lambda rng: RandomWorld.draw(rng, telling_graph(rng), skew=_skew(rng))),
    "rare values": _looks(lambda rng: RandomWorld.draw(rng, telling_graph(rng), most=3, law=_with_a_rare_value)),
    "4 to 10 values": _looks(
        lambda rng: RandomWorld.draw(rng, telling_graph(rng, (3, 4)), least=4, most=10, skew=_skew(rng))
    ),
    "nearly certain": _looks(lambda rng: RandomWorld.draw(rng, telling_graph(rng), most=3, law=_nearly_certain)),
    "many hidden causes": _looks(
        lambda rng: RandomWorld.draw(rng, telling_graph(rng, (4, 7), (0.1, 0.4), (0.3, 0.4)), most=3, skew=_skew(rng))
    ),
    "8 to 10 nodes": _looks(
        lambda rng: RandomWorld.draw(rng, telling_graph(rng, (8, 10), (0.1, 0.3)), most=2, skew=_skew(rng))
    ),
    "networks": _networks,
    "numeric reward": _numeric,
    "with experiments": _experiments,
}
"""Graphs that are right, and logs of so many rows."""
