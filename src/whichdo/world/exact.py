"""Exact truth by elimination: the law of the reward under every arm, joint laws, rarity.

The means of *all* arms come from one junction tree.  Multiply the mechanisms of the nodes that the reward depends on
and the indicator of one reward level, and sum everything out: that is the probability of the level.  Leave the
mechanism of X out and do not sum over X: that is the probability of the level under do(X=x), for every x.  After one
pass of messages up the tree and one down, leaving out a single mechanism is a product inside one clique, so all arms on
single nodes cost little more than one.  For a joint arm the mechanisms of all its targets are left out, in a tree of
its own or one for all arms on the same targets.

Costs are known before anything is allocated: the sum of the clique sizes, as a Python integer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import TooLargeError
from whichdo.estimate.rarity import rarity_scopes
from whichdo.tables.contingency import min_fill
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import FloatArray
    from whichdo.problem import Arm, Problem
    from whichdo.world.mechanism import Network


MAX_CELLS = 1 << 26
RARE_CELLS = 1 << 22
SHARED_CELLS = 1 << 24
FEW_SOURCES = 20
FEW_CELLS = 64
"""How many joint values of targets are summed at once for each arm on them; where there are more, each is summed."""


def reward_laws(network: Network, problem: Problem) -> FloatArray:
    """The probability of each reward level under each arm: shape (arms, levels)."""
    network.check(problem)
    reward, levels = problem.reward, len(problem.domains[problem.reward])
    tree = JunctionTree(network, _sources(network, [reward], {}), [(reward,)])
    laws = np.zeros((len(problem.arms), levels))
    for level in range(1, levels):
        seen = Factor((reward,), (np.arange(levels) == level).astype(np.float64))
        alone = [targets[0] for targets in problem.target_sets if len(targets) == 1]
        total, by_node = tree.left_out(seen, alone)
        laws[:, level] = total
        for name, found in by_node.items():
            places = list(problem.positions[(name,)])
            codes = [problem.domains[name].index(problem.arms[place].settings[name]) for place in places]
            laws[places, level] = found[codes]
    for targets in problem.target_sets:
        if len(targets) > 1:
            places = list(problem.positions[targets])
            laws[places, 1:] = _joint_arms(network, problem, [problem.arms[place] for place in places])[:, 1:]
    laws[:, 0] = np.maximum(0.0, 1.0 - laws.sum(axis=1))
    return laws


def _joint_arms(network: Network, problem: Problem, arms: Sequence[Arm]) -> FloatArray:
    """The law of the reward under arms on the same targets, a row each."""
    reward, codes = problem.reward, [network.codes_of(arm.settings) for arm in arms]
    sources = _sources(network, [reward], codes[0])
    acting = tuple(name for name in arms[0].targets if name in sources)
    if prod(network.sizes[name] for name in acting) > FEW_CELLS * len(arms):
        return np.array([joint_law(network, [reward], each) for each in codes])
    scope = (*acting, reward)
    law = JunctionTree(network, sources, [scope], dict.fromkeys(acting)).marginals([scope])[0]
    found: FloatArray = law[tuple(np.array([each[name] for each in codes], np.int64) for name in acting)]
    return np.broadcast_to(found, (len(arms), len(problem.domains[reward])))


def joint_law(network: Network, scope: Sequence[str], forced: Mapping[str, int]) -> FloatArray:
    """The joint probabilities of ``scope`` with some nodes forced; an axis for each node of the scope, in its order."""
    tree = JunctionTree(network, _sources(network, scope, forced), [tuple(scope)], forced)
    return tree.marginals([tuple(scope)])[0]


def true_rarity(network: Network, problem: Problem) -> FloatArray:
    """The true q of each intervenable node; 0 where looking settles nothing.

    A scope of more than `RARE_CELLS` cells has a cell rarer than one in as many: its q is given as 0.
    """
    network.check(problem)
    scopes = rarity_scopes(problem)
    summed = {scope for scope in scopes if scope is not None and prod(network.sizes[n] for n in scope) <= RARE_CELLS}
    laws = _joint_laws(network, sorted(summed))
    return np.array([float(laws[scope].min()) if scope in laws else 0.0 for scope in scopes])


def _joint_laws(network: Network, scopes: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], FloatArray]:
    """The joint law of each scope: a tree each where scopes depend on few nodes, else all from one tree if it fits.

    One tree must hold every scope in a clique, which can be far larger than any one of them needs.
    """
    if sum(len(_sources(network, scope, {})) for scope in scopes) > FEW_SOURCES * len(scopes):
        names = list(dict.fromkeys(name for scope in scopes for name in scope))
        try:
            tree = JunctionTree(network, _sources(network, names, {}), scopes, most=SHARED_CELLS)
        except TooLargeError:
            pass
        else:
            return dict(zip(scopes, tree.marginals(scopes), strict=True))
    return {scope: joint_law(network, scope, {}) for scope in scopes}


@dataclass(frozen=True)
class Factor:
    """A table over some nodes, an axis each."""

    nodes: tuple[str, ...]
    table: FloatArray


@dataclass
class Clique:
    """What stands together when one node is summed out: the node, then its neighbours by when their turn comes."""

    nodes: tuple[str, ...]
    parent: int = -1
    children: list[int] = field(default_factory=list)
    factors: list[int] = field(default_factory=list)


class JunctionTree:
    """Cliques of an elimination order, one a node, with the messages between them."""

    def __init__(
        self,
        network: Network,
        nodes: Sequence[str],
        together: Sequence[tuple[str, ...]],
        forced: Mapping[str, int | None] | None = None,
        *,
        most: int = MAX_CELLS,
    ) -> None:
        self._sizes = network.sizes
        self._factors = [_mechanism(network, name, forced or {}) for name in nodes]
        self._cliques = _cliques([*(factor.nodes for factor in self._factors), *together], network.sizes, most)
        self._place = {clique.nodes[0]: position for position, clique in enumerate(self._cliques)}
        self._number = {name: number for number, name in enumerate(nodes)}
        for number, factor in enumerate(self._factors):
            self._cliques[self._home(factor.nodes)].factors.append(number)

    def left_out(self, seen: Factor, wanted: Iterable[str]) -> tuple[float, dict[str, FloatArray]]:
        """The sum of all factors times ``seen``; and for each wanted node the same with its own mechanism left out."""
        up, down = self._messages(seen)
        found = {}
        for name in wanted:
            number = self._number.get(name)
            if number is None:
                continue
            here = self._home(self._factors[number].nodes)
            found[name] = self._sum(here, self._parts(here, up, down, seen, without=number), (name,))
        root = len(self._cliques) - 1
        return float(self._sum(root, self._parts(root, up, down, seen), ())), found

    def marginals(self, scopes: Sequence[tuple[str, ...]]) -> list[FloatArray]:
        """The joint tables of sets of nodes that were asked to stay together."""
        nothing = Factor((), np.array(1.0))
        up, down = self._messages(nothing)
        found = []
        for scope in scopes:
            here = self._home(scope)
            parts = self._parts(here, up, down, nothing) if scope else []
            found.append(self._sum(here, parts, scope) if scope else np.array(1.0))
        return found

    def _home(self, nodes: Iterable[str]) -> int:
        """The clique that holds these nodes: the one of the node whose turn comes first."""
        return min((self._place[name] for name in nodes), default=len(self._cliques) - 1)

    def _messages(self, seen: Factor) -> tuple[dict[int, Factor], dict[int, Factor]]:
        """What each clique tells its parent, and what each parent tells the clique."""
        up: dict[int, Factor] = {}
        down: dict[int, Factor] = {}
        for here, clique in enumerate(self._cliques):
            if clique.parent >= 0:
                between = clique.nodes[1:]
                up[here] = Factor(between, self._sum(here, self._parts(here, up, down, seen), between))
        for here in reversed(range(len(self._cliques))):
            for child in self._cliques[here].children:
                between = self._cliques[child].nodes[1:]
                others = self._parts(here, up, down, seen, beside=child)
                down[child] = Factor(between, self._sum(here, others, between))
        return up, down

    def _parts(
        self,
        here: int,
        up: Mapping[int, Factor],
        down: Mapping[int, Factor],
        seen: Factor,
        *,
        without: int = -1,
        beside: int = -1,
    ) -> list[Factor]:
        """What meets in a clique: its factors (one may be left out) and the messages (from all but one child)."""
        clique = self._cliques[here]
        parts = [self._factors[number] for number in clique.factors if number != without]
        parts += [up[child] for child in clique.children if child != beside and child in up]
        if here in down:
            parts.append(down[here])
        if self._home(seen.nodes) == here:
            parts.append(seen)
        return parts

    def _sum(self, here: int, parts: Sequence[Factor], keep: tuple[str, ...]) -> FloatArray:
        """The product of the parts over the clique's nodes, summed over all but ``keep``."""
        nodes = self._cliques[here].nodes
        axis = {name: position for position, name in enumerate(nodes)}
        product = reduce(np.multiply, (_spread(part, axis) for part in parts), np.ones((1,) * len(nodes)))
        product = np.broadcast_to(product, [self._sizes[name] for name in nodes])
        summed = product.sum(axis=tuple(axis[name] for name in nodes if name not in keep))
        left = [name for name in nodes if name in keep]
        return np.array(np.transpose(summed, [left.index(name) for name in keep]), order="C")


def _spread(part: Factor, axis: Mapping[str, int]) -> FloatArray:
    """A factor's table with its axes in the clique's order and length 1 for nodes it does not speak of."""
    order = sorted(range(len(part.nodes)), key=lambda j: axis[part.nodes[j]])
    shape = [1] * len(axis)
    for j in order:
        shape[axis[part.nodes[j]]] = part.table.shape[j]
    return np.transpose(part.table, order).reshape(shape)


def _mechanism(network: Network, name: str, forced: Mapping[str, int | None]) -> Factor:
    """The factor of a node: its mechanism, its forced value, or all values alike (None: its mechanism is left out)."""
    mechanism = network.mechanisms[name]
    if name in forced:
        every = np.arange(mechanism.size)
        return Factor(
            (name,), np.ones(mechanism.size) if forced[name] is None else (every == forced[name]).astype(float)
        )
    return Factor((*mechanism.inputs, name), mechanism.table)


def _sources(network: Network, names: Iterable[str], forced: Mapping[str, int | None]) -> list[str]:
    """The nodes that ``names`` depend on through the inputs of mechanisms, in topological order."""
    found = set(names)
    stack = list(found)
    while stack:
        name = stack.pop()
        for parent in () if name in forced else network.mechanisms[name].inputs:
            if parent not in found:
                found.add(parent)
                stack.append(parent)
    return [name for name in network.full.nodes if name in found]


def _cliques(groups: Iterable[tuple[str, ...]], sizes: Mapping[str, int], most: int) -> list[Clique]:
    """Cliques by eliminating one node after the other."""
    order: list[tuple[str, ...]] = []
    cells = 0
    for turn in min_fill(groups):
        cells += prod(sizes[name] for name in turn)
        if cells > most:
            name = quoted(turn[0])
            raise TooLargeError(
                f"An exact sum over {name} and {len(turn) - 1} nodes tied to it takes more than {cells:,} cells; "
                f"{most:,} are allowed. Sample instead, or simplify the network around {name}."
            )
        order.append(turn)
    return _tree(order)


def _tree(order: Sequence[tuple[str, ...]]) -> list[Clique]:
    """Join each clique to that of the neighbour whose turn comes next."""
    turn = {nodes[0]: position for position, nodes in enumerate(order)}
    cliques = [Clique((nodes[0], *sorted(nodes[1:], key=turn.__getitem__))) for nodes in order]
    for position, clique in enumerate(cliques):
        if len(clique.nodes) > 1:
            clique.parent = turn[clique.nodes[1]]
            cliques[clique.parent].children.append(position)
    return cliques
