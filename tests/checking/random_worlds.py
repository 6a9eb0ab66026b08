"""Random worlds to check graphs on: mixed domains, skewed laws, a hidden cause behind every bidirected edge."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.evidence import Tally
from whichdo.graph.admg import CausalGraph
from whichdo.problem import LOOK, Problem, Value
from whichdo.tables import Table

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, FloatArray, IntArray


def random_graph(rng: np.random.Generator, nodes: int, arrows: float, hidden: float) -> CausalGraph:
    """Nodes V0, V1, ... and Y, the last; each pair has an arrow and a hidden cause with these chances."""
    names = [*(f"V{j}" for j in range(nodes - 1)), "Y"]
    pairs = [(names[i], names[j]) for j in range(nodes) for i in range(j)]
    directed = [pair for pair in pairs if rng.random() < arrows]
    bidirected = [pair for pair in pairs if rng.random() < hidden]
    return CausalGraph(names, directed, bidirected)


@dataclass(frozen=True)
class RandomWorld:
    """A law for a graph: each node's values given its parents and its hidden causes."""

    graph: CausalGraph
    sizes: dict[str, int]
    hidden: dict[frozenset[str], FloatArray]
    laws: dict[str, FloatArray]
    """Parents in the graph's order, then hidden causes in the order of ``hidden``, then the node."""

    @classmethod
    def draw(cls, rng: np.random.Generator, graph: CausalGraph, *, most: int = 4, skew: float = 1.0) -> RandomWorld:
        """Between 2 and ``most`` values a node; ``skew`` below 1 makes laws near 0 and 1 likely."""
        sizes = {name: int(rng.integers(2, most + 1)) for name in graph.nodes}
        edges = sorted(graph.bidirected, key=sorted)
        hidden = {edge: rng.dirichlet(np.full(int(rng.integers(2, 4)), 2.0)) for edge in edges}
        laws = {}
        for name in graph.nodes:
            above = [sizes[parent] for parent in graph.parents(name)]
            above += [len(law) for edge, law in hidden.items() if name in edge]
            laws[name] = rng.dirichlet(np.full(sizes[name], skew), size=tuple(above))
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
