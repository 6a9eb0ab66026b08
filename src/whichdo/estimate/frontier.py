"""Exact inference in a network that is being learned, for all arms at once.

For graphs without hidden causes.  Go through the nodes in topological order and keep the joint law of the *frontier*:
the nodes behind that still have a child ahead.  When a node's turn comes all its parents are in the frontier, so the
law of its parents under every arm is a marginal; multiply the node's learned rows in (or its forced value, for arms
that set it), and sum out whom nobody needs any more.  What is left at the end is the law of the reward.

Nodes that do not act on the reward are left out; arms on them equal do().

In the kernels ``law`` has a row for each arm and a column for each joint value (cell) of the frontier; ``forced`` has
for each arm the value that it sets the node to, or -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from whichdo.kernels.compiling import compiled
from whichdo.problem import per_problem
from whichdo.tables import Radix, Tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.problem import Problem
    from whichdo.tables import Scope


MAX_NUMBERS = 1 << 22
"""The most joint probabilities, of a frontier and the next node under all arms, that are kept."""


@dataclass(frozen=True)
class Extent:
    """How much there is to learn and to keep, known before anything is laid out."""

    rows: int
    """C: the rows (node, joint value of its parents) of all nodes that act on the reward."""
    numbers: int
    """The most numbers that are held at once: joint values of a frontier and the next node, times arms."""


@dataclass(frozen=True, eq=False)
class Step:
    """One node's turn."""

    node: str
    scope: Scope
    """Its parents in topological order, then itself."""
    rows: int
    """How many joint values its parents have."""
    size: int
    """How many values it has itself."""
    forced: IntArray
    """For each arm the value it sets the node to, or -1."""
    row_of: IntArray
    """For each cell of the frontier before, the joint value of the parents."""
    next_of: IntArray
    """For each cell and each value of the node, the cell of the frontier after."""
    cells: int
    """How many cells the frontier after has."""

    def parents(self, law: FloatArray) -> tuple[FloatArray, IntArray]:
        """The law of its parents under each arm, shape (arms, rows), from the frontier's; 0 for arms that set it.

        And for each row the position of the arm that shows it most often, the first of those that are alike.
        """
        found: tuple[FloatArray, IntArray] = reach(law, self.row_of, self.rows, self.forced)
        return found

    def onward(self, law: FloatArray, counts: IntArray) -> FloatArray:
        """The law of the next frontier, this node's rows being the shares of its counts (rows by values).

        A row that was never counted is uniform.
        """
        found: FloatArray = onward(law, counts, self.row_of, self.next_of, self.cells, self.forced)
        return found


@per_problem
def hidden_causes(problem: Problem) -> list[tuple[str, ...]]:
    """The pairs of nodes with a hidden cause that acts on the reward through both: there must be none."""
    acting = set(problem.graph.ancestors([problem.reward]))
    return sorted(tuple(sorted(pair)) for pair in problem.graph.bidirected if pair <= acting)


def counted(told: Tally, plan: Sequence[Step]) -> list[IntArray]:
    """For each node how often its values came with its parents', over all pulls that leave it free."""
    each = _side_by_side(told, plan)
    total = np.add.reduce(each, axis=0)
    found, start = [], 0
    for step in plan:
        end = start + step.rows * step.size
        counts: IntArray = total[start:end]
        for place, arm in enumerate(told.tables):
            if step.node in arm.settings:
                counts = counts - each[place, start:end]
        found.append(counts.reshape(step.rows, step.size))
        start = end
    return found


def _side_by_side(told: Tally, plan: Sequence[Step]) -> IntArray:
    """A row an arm: its tables of all steps, flat, one after the other."""
    scopes = tuple(step.scope for step in plan)
    if all(isinstance(tables, Tables) and tables.layout.scopes == scopes for tables in told.tables.values()):
        return np.array([tables.counts for tables in told.tables.values()])  # type: ignore[attr-defined]  # as they lie
    found = [tables[step.scope].dense().count for tables in told.tables.values() for step in plan]
    return np.concatenate(found, axis=None).reshape(len(told.tables), -1)


def learned_means(problem: Problem, told: Tally) -> FloatArray:
    """The mean utility of every arm, all mechanisms being learned from all pulls that leave them alone."""
    plan, law = steps(problem), np.ones((len(problem.arms), 1))
    for step, counts in zip(plan, counted(told, plan), strict=True):
        law = step.onward(law, counts)
    means: FloatArray = law @ np.array(list(problem.utility.values()))
    return means


@per_problem
def extent(problem: Problem) -> Extent:
    """C and the most numbers held at once, as whole numbers of any size."""
    graph, size = problem.graph, {name: len(values) for name, values in problem.domains.items()}
    order = graph.ancestors([problem.reward])
    leaving: dict[str, list[str]] = {name: [] for name in order}
    for parent, child in _needed(problem).items():
        leaving[child].append(parent)
    cells, most = 1, 1
    for name in order:
        cells *= size[name]
        most = max(most, cells)
        cells //= prod(size[parent] for parent in leaving[name])
    rows = sum(prod(size[parent] for parent in graph.parents(name)) for name in order)
    return Extent(rows, most * len(problem.arms))


@per_problem
def steps(problem: Problem) -> list[Step]:
    """Every node that acts on the reward, and the reward, in topological order; `extent` says how large they are."""
    turns = _turns(problem)
    after = [*(frontier for _, _, frontier in turns[1:]), (problem.reward,)]
    return [_step(problem, *turn, then) for turn, then in zip(turns, after, strict=True)]


def _needed(problem: Problem) -> dict[str, str]:
    """For each node that acts on the reward the child whose turn comes last: until then it is needed."""
    graph = problem.graph
    return {parent: name for name in graph.ancestors([problem.reward]) for parent in graph.parents(name)}


def _turns(problem: Problem) -> list[tuple[str, Scope, Scope]]:
    """For each node its parents and the frontier before its turn, all in topological order."""
    graph = problem.graph
    order = graph.ancestors([problem.reward])
    needed = _needed(problem)
    turn = {name: number for number, name in enumerate(order)}
    found: list[tuple[str, Scope, Scope]] = []
    frontier: Scope = ()
    for number, name in enumerate(order):
        found.append((name, graph.parents(name), frontier))
        frontier = tuple(other for other in (*frontier, name) if turn[needed.get(other, other)] > number)
    return found


def _step(problem: Problem, node: str, parents: Scope, frontier: Scope, then: Scope) -> Step:
    size = {name: len(problem.domains[name]) for name in (*frontier, node)}
    code = {value: number for number, value in enumerate(problem.domains[node])}
    return Step(
        node=node,
        scope=(*parents, node),
        rows=Radix.of(parents, size).cells,
        size=size[node],
        forced=np.array([code[arm.settings[node]] if node in arm.settings else -1 for arm in problem.arms], np.int64),
        row_of=_places(frontier, parents, size),
        next_of=_places((*frontier, node), then, size).reshape(-1, size[node]),
        cells=Radix.of(then, size).cells,
    )


def _places(nodes: Scope, table: Scope, size: Mapping[str, int]) -> IntArray:
    """For each joint value of some nodes, the last varying fastest, its cell in a table over some of them."""
    places = np.zeros(1, np.int64)
    steps = Radix.of(table, size).steps
    for name in nodes:
        places = (places[:, None] + steps.get(name, 0) * np.arange(size[name])).ravel()
    return places


# -------------------------------------------------------------------------------------------------------------- kernels

ROUNDING = 1e-9


@compiled
def reach(law: FloatArray, row_of: IntArray, rows: int, forced: IntArray) -> tuple[FloatArray, IntArray]:
    """The law of the node's parents under each arm, 0 for arms that set the node; and the arm that shows each row most.

    Arms whose probabilities differ by rounding alone are alike: the first of them is named.
    """
    found = np.zeros((law.shape[0], rows))
    for arm in range(law.shape[0]):
        if forced[arm] >= 0:
            continue
        for cell in range(law.shape[1]):
            found[arm, row_of[cell]] += law[arm, cell]
    best = np.zeros(rows, np.int64)
    for row in range(rows):
        for arm in range(1, law.shape[0]):
            if found[arm, row] > found[best[row], row] + ROUNDING:
                best[row] = arm
    return found, best


@compiled
def onward(
    law: FloatArray, counts: IntArray, row_of: IntArray, next_of: IntArray, cells: int, forced: IntArray
) -> FloatArray:
    """The law of the next frontier, of ``cells`` cells: ``next_of[cell, value]`` is where a cell and a value lead.

    The node's rows are the shares of its ``counts`` (rows by values), uniform where nothing was counted.
    """
    learned = np.empty((counts.shape[0], counts.shape[1]))
    for row in range(counts.shape[0]):
        came = counts[row].sum()
        for value in range(counts.shape[1]):
            learned[row, value] = counts[row, value] / came if came > 0 else 1.0 / counts.shape[1]
    found = np.zeros((law.shape[0], cells))
    for arm in range(law.shape[0]):
        if forced[arm] >= 0:
            for cell in range(law.shape[1]):
                found[arm, next_of[cell, forced[arm]]] += law[arm, cell]
        else:
            for cell in range(law.shape[1]):
                for value in range(learned.shape[1]):
                    found[arm, next_of[cell, value]] += law[arm, cell] * learned[row_of[cell], value]
    return found
