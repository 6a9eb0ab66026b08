"""Slow, plain twins of the graph algorithms, written from the definitions, for tests to compare with.

A `Mixed` graph is nodes in an order, arrows and bows (bidirected edges) as sets.  Every question about hidden causes is
answered on its *canonical DAG*, where each bow ``a <-> b`` is a node of its own with the two children a and b.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.soak import repeated
from whichdo.graph.admg import CausalGraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Arrow = tuple[str, str]
Bow = frozenset[str]

CANONICAL: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "fixtures" / "canonical.json").read_text(encoding="utf-8")
)["instances"]


@dataclass(frozen=True)
class Mixed:
    """A mixed graph as plain sets; ``nodes`` in some topological order."""

    nodes: tuple[str, ...]
    arrows: frozenset[Arrow]
    bows: frozenset[Bow]

    def graph(self) -> CausalGraph:
        """The same as a `CausalGraph`."""
        return CausalGraph(self.nodes, sorted(self.arrows), sorted(self.bows, key=sorted))

    def parents(self, node: str) -> set[str]:
        return {tail for tail, head in self.arrows if head == node}

    def children(self, node: str) -> set[str]:
        return {head for tail, head in self.arrows if tail == node}

    def induced(self, names: Iterable[str]) -> Mixed:
        """The edges among some nodes."""
        keep = set(names)
        return Mixed(
            tuple(node for node in self.nodes if node in keep),
            frozenset(arrow for arrow in self.arrows if keep.issuperset(arrow)),
            frozenset(bow for bow in self.bows if bow <= keep),
        )

    def without_arrows_out_of(self, node: str) -> Mixed:
        return Mixed(self.nodes, frozenset(arrow for arrow in self.arrows if arrow[0] != node), self.bows)


def plain(graph: CausalGraph) -> Mixed:
    """A `CausalGraph` as plain sets."""
    return Mixed(graph.nodes, graph.directed, graph.bidirected)


def letters(nodes: str, arrows: str = "", bows: str = "", **roles: Iterable[str]) -> CausalGraph:
    """A graph whose nodes are single letters: ``letters("XMY", "XM MY", "XY")`` is the front-door graph."""
    return CausalGraph(nodes, _pairs(arrows), _pairs(bows), **roles)


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(pair[0], pair[1]) for pair in text.split()]


def canonical(name: str) -> Mixed:
    """The graph of one instance of the shared fixture."""
    return from_fixture(CANONICAL[name]["nodes"], CANONICAL[name]["edges"], CANONICAL[name]["bidir"])


def from_fixture(nodes: Sequence[str], edges: Sequence[Sequence[str]], bows: Sequence[Sequence[str]]) -> Mixed:
    return Mixed(tuple(nodes), frozenset((tail, head) for tail, head in edges), frozenset(map(frozenset, bows)))


# ------------------------------------------------------------------------------------------------------ many graphs


def all_mixed(size: int) -> Iterator[Mixed]:
    """All ADMGs on ``size`` nodes for which A, B, C, ... is a topological order: 4 to the number of pairs."""
    nodes = tuple("ABCDEFGH"[:size])
    pairs = list(itertools.combinations(nodes, 2))
    for kinds in itertools.product(range(4), repeat=len(pairs)):
        arrows = frozenset(pair for pair, kind in zip(pairs, kinds, strict=True) if kind & 1)
        bows = frozenset(frozenset(pair) for pair, kind in zip(pairs, kinds, strict=True) if kind & 2)
        yield Mixed(nodes, arrows, bows)


def random_mixed(rng: random.Random, largest: int = 8, *, bows: bool = True) -> Mixed:
    """A random ADMG of 1 to ``largest`` nodes, sparse or dense."""
    size = rng.randint(1, largest)
    nodes = tuple("ABCDEFGHIJKL"[:size])
    arrow_rate, bow_rate = rng.choice((0.2, 0.35, 0.6)), rng.choice((0.1, 0.2, 0.4)) if bows else 0.0
    pairs = list(itertools.combinations(nodes, 2))
    return Mixed(
        nodes,
        frozenset(pair for pair in pairs if rng.random() < arrow_rate),
        frozenset(frozenset(pair) for pair in pairs if rng.random() < bow_rate),
    )


@cache
def many_mixed() -> tuple[Mixed, ...]:
    """All ADMGs on up to 4 nodes and 5,000 random ones on up to 8; under ``make check`` a sample of both."""
    rng = random.Random(20220)
    small = [mixed for size in range(1, 5) for mixed in all_mixed(size)]
    return (*small[:: repeated(1, quick=7)], *(random_mixed(rng) for _ in range(repeated(5000, quick=700))))


def random_subset(rng: random.Random, nodes: Sequence[str]) -> list[str]:
    return [node for node in nodes if rng.random() < rng.choice((0.3, 0.6, 0.8))]


# ---------------------------------------------------------------------------------------------- order and neighbours


def order_by_mention(nodes: Sequence[str], arrows: Iterable[Arrow]) -> list[str]:
    """Topological order: again and again the earliest-mentioned node of which no parent is left."""
    left, arrows = list(nodes), list(arrows)
    order = []
    while left:
        ready = next(node for node in left if not any(head == node and tail in left for tail, head in arrows))
        left.remove(ready)
        order.append(ready)
    return order


def ancestors(mixed: Mixed, names: Iterable[str]) -> set[str]:
    """The names and all before them, by adding parents until nothing changes."""
    found = set(names)
    while True:
        more = found | {tail for tail, head in mixed.arrows if head in found}
        if more == found:
            return found
        found = more


def c_component(mixed: Mixed, node: str) -> set[str]:
    """All that bows tie to ``node``, by merging until nothing changes."""
    found = {node}
    while True:
        more = found.union(*(bow for bow in mixed.bows if bow & found))
        if more == found:
            return found
        found = more


def assumption_3(mixed: Mixed, node: str) -> bool:
    return not (mixed.children(node) & c_component(mixed, node))


def shortest_confounding_length(mixed: Mixed, node: str) -> int | None:
    """The number of nodes on a shortest bidirected path to a child, over all simple paths."""
    lengths = [len(path) for path in _bow_paths(mixed, (node,)) if path[-1] in mixed.children(node)]
    return min(lengths, default=None)


def _bow_paths(mixed: Mixed, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if len(path) > 1:
        yield path
    for bow in mixed.bows:
        if path[-1] in bow:
            (other,) = bow - {path[-1]}
            if other not in path:
                yield from _bow_paths(mixed, (*path, other))


# ------------------------------------------------------------------------------------- projection and effective parents


def canonical_dag(mixed: Mixed) -> tuple[list[str], set[Arrow]]:
    """Nodes and arrows with each bow as a hidden node of its own."""
    nodes, arrows = list(mixed.nodes), set(mixed.arrows)
    for bow in mixed.bows:
        hidden = "hidden " + " ".join(sorted(bow))
        nodes.append(hidden)
        arrows |= {(hidden, end) for end in bow}
    return nodes, arrows


def projection(mixed: Mixed, keep: Iterable[str]) -> Mixed:
    """Latent projection from its definition: all directed paths with hidden inner nodes, one by one."""
    kept = set(keep)
    nodes, arrows = canonical_dag(mixed)
    children: dict[str, list[str]] = {node: [] for node in nodes}
    for tail, head in arrows:
        children[tail].append(head)

    def ends(start: str) -> set[str]:
        found, paths = set(), list(children[start])
        while paths:
            here = paths.pop()
            if here in kept:
                found.add(here)
            else:
                paths.extend(children[here])
        return found

    return Mixed(
        tuple(node for node in mixed.nodes if node in kept),
        frozenset((tail, head) for tail in kept for head in ends(tail)),
        frozenset(
            frozenset(pair)
            for hidden in nodes
            if hidden not in kept
            for pair in itertools.combinations(sorted(ends(hidden)), 2)
        ),
    )


def effective_parents(mixed: Mixed) -> dict[str, set[str]]:
    """Z_v = Pa+(T_v) without v, T_v the c-component of v among v and the nodes before it."""
    result = {}
    for position, node in enumerate(mixed.nodes):
        before = mixed.induced(mixed.nodes[: position + 1])
        component = c_component(before, node)
        result[node] = component.union(*(before.parents(member) for member in component)) - {node}
    return result


# ------------------------------------------------------------------------------------------------------- separation


def separated(mixed: Mixed, first: str, second: str, given: Iterable[str]) -> bool:
    """m-separation: in the moral graph of the ancestors, in the canonical DAG, no path avoids ``given``."""
    given = set(given)
    if first in given or second in given:
        return True
    nodes, arrows = canonical_dag(mixed)
    dag = Mixed(tuple(nodes), frozenset(arrows), frozenset())
    alive = ancestors(dag, {first, second} | given)
    links = {frozenset(arrow) for arrow in arrows if alive.issuperset(arrow)}
    for node in alive:
        links |= {frozenset(pair) for pair in itertools.combinations(dag.parents(node), 2)}
    reached = {first}
    while True:
        more = reached.union(*(link for link in links if link & reached)) - given
        if more == reached:
            return second not in reached
        reached = more


def pruned_parents(mixed: Mixed, node: str, reward: str, order: Sequence[str]) -> set[str]:
    """Parents left after dropping, in the given order, each that the separation of node and reward can spare."""
    cut = mixed.without_arrows_out_of(node)
    left = mixed.parents(node)
    for parent in order:
        if separated(cut, node, reward, left - {parent}):
            left = left - {parent}
    return left


# ------------------------------------------------------------------------------- exact laws of the canonical instances

Cell = tuple[int, ...]


@cache
def joint(name: str) -> dict[Cell, float]:
    """P(observed nodes) of a canonical instance, summed over its hidden fair coins U and V."""
    nodes = CANONICAL[name]["nodes"]
    mechanisms = _mechanisms(name)
    law: dict[Cell, float] = {}
    for coins in itertools.product((0, 1), repeat=2):
        for cell in itertools.product((0, 1), repeat=len(nodes)):
            known = dict(zip(("U", "V", *nodes), (*coins, *cell), strict=True))
            chance = 0.25
            for node in nodes:
                one = sum(weight * (known[term] if term else 1) for weight, term in mechanisms[node])
                chance *= one if known[node] else 1 - one
            law[cell] = law.get(cell, 0.0) + chance
    return law


def _mechanisms(name: str) -> dict[str, list[tuple[float, str]]]:
    """``"X:.2+.6Z; Y:.1"`` as ``{"X": [(.2, ""), (.6, "Z")], "Y": [(.1, "")]}``."""
    found = {}
    for part in CANONICAL[name]["mechanisms"].split(";"):
        node, form = part.strip().split(":")
        found[node] = [(float(weight), term) for weight, term in re.findall(r"(\.\d+)(\w*)", form)]
    return found


def effect_by_looking(name: str, within: Mixed, x: int) -> float:
    """mu(x) of a canonical instance by the factor network over a (right or wrong) projection ``within``.

    Sum over assignments with Y = 1 of [sum over x' of the factors of cc(X), with X := x'] times the other factors
    with X := x.  Each factor is P(v | effective parents of v in ``within``), from the exact joint.
    """
    law, nodes = joint(name), CANONICAL[name]["nodes"]
    component = c_component(within, "X")
    given = effective_parents(within)

    def chance(values: dict[str, int]) -> float:
        at = [(nodes.index(node), value) for node, value in values.items()]
        return sum(p for cell, p in law.items() if all(cell[place] == value for place, value in at))

    def factor(node: str, values: dict[str, int]) -> float:
        before = {other: values[other] for other in given[node]}
        return chance({**before, node: values[node]}) / chance(before)

    others = [node for node in within.nodes if node not in ("X", "Y")]
    total = 0.0
    for cell in itertools.product((0, 1), repeat=len(others)):
        values = dict(zip(others, cell, strict=True)) | {"Y": 1}
        inside = 0.0
        for original in (0, 1):
            term = 1.0
            for node in component:
                term *= factor(node, {**values, "X": original})
            inside += term
        outside = 1.0
        for node in set(within.nodes) - component:
            outside *= factor(node, {**values, "X": x})
        total += inside * outside
    return total
