"""SRM-ALG once more, slowly: dicts and loops straight from the paper's Algorithms 1, 3, 4 and 5.

Nothing is shared with the package.  Where the paper is open or misprinted: m is a whole number; half the budget is
rounded down; pulls that do not divide go to the rarest arms first and an arm without a pull keeps its estimate; with Q
empty the rest is spent on looking; do() has the plain mean.  Algorithm 4, step 3, joins *observable* nodes; "remove the
outgoing edges of X" holds towards nodes outside S_1 only; learned networks are summed, not sampled; t = 0.  A node that
fails Assumption 3 is judged again among the ancestors of Y; if it fails there too it has q = 0 and no estimate, and if
it is no ancestor its arms are do(), nothing about it is rare.  In graphs without any hidden cause, parents that no
back-door path to Y needs are dropped (the paper's footnote).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Act = tuple[str, int] | None
Row = dict[str, int]
Bow = frozenset[str]


@dataclass
class Plain:
    """An ADMG: nodes in a topological order, arrows, bows."""

    nodes: list[str]
    arrows: set[tuple[str, str]]
    bows: set[Bow]

    def parents(self, node: str) -> set[str]:
        return {tail for tail, head in self.arrows if head == node}

    def component(self, node: str, among: Iterable[str] | None = None) -> set[str]:
        """The nodes that paths of bows within ``among`` join to ``node``."""
        allowed = set(self.nodes if among is None else among)
        found = {node}
        while True:
            more = {end for bow in self.bows if bow & found and bow <= allowed for end in bow} - found
            if not more:
                return found
            found |= more

    def with_parents(self, some: Iterable[str]) -> set[str]:
        found = set(some)
        for node in list(found):
            found |= self.parents(node)
        return found

    def ancestors(self, node: str) -> set[str]:
        found = {node}
        while True:
            more = {tail for tail, head in self.arrows if head in found} - found
            if not more:
                return found
            found |= more

    def cut_down(self, keep: set[str]) -> Plain:
        return Plain(
            [node for node in self.nodes if node in keep],
            {(tail, head) for tail, head in self.arrows if tail in keep and head in keep},
            {bow for bow in self.bows if bow <= keep},
        )

    def assumption_3(self, node: str) -> bool:
        return not any((node, other) in self.arrows for other in self.component(node))


def projected(graph: Plain, keep: set[str]) -> Plain:
    """Algorithm 4: what is not kept is hidden, like the causes behind the bows."""

    def reached(start: set[str]) -> set[str]:
        """Kept nodes at the ends of directed paths from a node with these children, all inner nodes hidden."""
        found, stack, seen = set(), list(start), set()
        while stack:
            node = stack.pop()
            if node in keep:
                found.add(node)
            elif node not in seen:
                seen.add(node)
                stack.extend(head for tail, head in graph.arrows if tail == node)
        return found

    children = {node: {head for tail, head in graph.arrows if tail == node} for node in graph.nodes}
    arrows = {(node, end) for node in keep for end in reached(children[node])}
    sources = [reached(set(bow)) for bow in graph.bows]
    sources += [reached(children[node]) for node in graph.nodes if node not in keep]
    bows = {frozenset((one, two)) for ends in sources for one in ends for two in ends if one != two}
    return Plain([node for node in graph.nodes if node in keep], arrows, bows)


def separated(graph: Plain, one: str, two: str, given: set[str]) -> bool:
    """d-separation in a graph without bows, by walking all ways a path can go on (the "Bayes ball")."""
    if two in given:
        return True
    seen: set[tuple[str, str]] = set()
    stack = [(one, "from a child")]
    while stack:
        node, came = stack.pop()
        if (node, came) in seen:
            continue
        seen.add((node, came))
        if node == two:
            return False
        above = [tail for tail, head in graph.arrows if head == node]
        below = [head for tail, head in graph.arrows if tail == node]
        open_collider = any(node in graph.ancestors(other) for other in given)
        if came == "from a child" and node not in given:
            stack += [(other, "from a child") for other in above] + [(other, "from a parent") for other in below]
        if came == "from a parent":
            if node not in given:
                stack += [(other, "from a parent") for other in below]
            if open_collider:
                stack += [(other, "from a child") for other in above]
    return True


def needed_parents(graph: Plain, node: str, reward: str) -> set[str]:
    """The footnote: drop parents as long as the rest blocks every back-door path."""
    cut = Plain(graph.nodes, {(tail, head) for tail, head in graph.arrows if tail != node}, set())
    kept = graph.parents(node)
    for parent in sorted(kept):
        if separated(cut, node, reward, kept - {parent}):
            kept = kept - {parent}
    return kept


@dataclass
class Judged:
    """What is counted for a node: among which graph, how large its component is, and its Pa^c; None if to be tried."""

    graph: Plain
    k: int
    others: set[str] | None
    acts: bool = True


class SlowSRM:
    """The first half of SRM-ALG given rows of looking, then its second half."""

    def __init__(self, graph: Plain, reward: str, worth: list[float], sizes: dict[str, int]) -> None:
        self.graph, self.reward, self.worth, self.sizes = graph, reward, worth, sizes

    def judged(self, node: str) -> Judged:
        graph = self.graph
        if not graph.assumption_3(node):
            graph = graph.cut_down(graph.ancestors(self.reward))
            if node not in graph.nodes:
                return Judged(graph, 1, set(), acts=False)
            if not graph.assumption_3(node):
                return Judged(graph, len(graph.component(node)), None)
        component = graph.component(node)
        if self.graph.bows:
            return Judged(graph, len(component), graph.with_parents(component) - {node})
        return Judged(graph, 1, needed_parents(graph, node, self.reward))

    def rarity(self, node: str, rows: list[Row]) -> Fraction:
        """Step 5: the share of the rarest cell of X and Pa^c, cells that never came included."""
        judged = self.judged(node)
        if judged.others is None:
            return Fraction(0)
        if not judged.acts:
            return Fraction(1)
        names = [node, *sorted(judged.others)]
        seen = dict.fromkeys(product(*(range(self.sizes[name]) for name in names)), 0)
        for row in rows:
            seen[tuple(row[name] for name in names)] += 1
        return Fraction(min(seen.values()), len(rows))

    def estimate(self, node: str, value: int, rows: list[Row]) -> float | None:
        """Step 4, by Algorithms 3 to 5: the learned network of do(node=value), summed out."""
        judged = self.judged(node)
        if judged.others is None:
            return None
        if not judged.acts:
            return self.plain_mean(rows)
        keep = {node, self.reward} | judged.others
        small = projected(judged.graph, keep)
        inside = small.component(node)
        total = 0.0
        for rest in self._assignments([name for name in small.nodes if name != node]):
            block = sum(
                self._product(small, [name for name in small.nodes if name in inside], rest | {node: other}, rows)
                for other in range(self.sizes[node])
            )
            outside = [name for name in small.nodes if name not in inside]
            block *= self._product(small, outside, rest | {node: value}, rows)
            total += self.worth[rest[self.reward]] * block
        return total

    def plain_mean(self, rows: list[Row]) -> float:
        return sum(self.worth[row[self.reward]] for row in rows) / len(rows)

    def _assignments(self, names: list[str]) -> Iterator[Row]:
        for values in product(*(range(self.sizes[name]) for name in names)):
            yield dict(zip(names, values, strict=True))

    def _product(self, small: Plain, names: list[str], cell: Row, rows: list[Row]) -> float:
        """Algorithm 5: the product of P(v | Z_v) at a cell, each by add-one smoothing."""
        result = 1.0
        for name in names:
            before = small.nodes[: small.nodes.index(name) + 1]
            given = sorted(small.with_parents(small.component(name, before)) - {name})
            seen, both = self._counted(name, tuple(given), tuple(cell[other] for other in given), cell[name], rows)
            result *= (both + 1) / (seen + self.sizes[name])
        return result

    def _counted(
        self, name: str, given: tuple[str, ...], cell: tuple[int, ...], value: int, rows: list[Row]
    ) -> tuple[int, int]:
        """N(z) and N(v, z); each pair of columns is counted once for these rows."""
        key = (id(rows), name, given)
        if key not in self._memory:
            counts: dict[tuple[int, ...], dict[int, int]] = {}
            for row in rows:
                cells = counts.setdefault(tuple(row[other] for other in given), {})
                cells[row[name]] = cells.get(row[name], 0) + 1
            self._memory[key] = counts
        found = self._memory[key].get(cell, {})
        return sum(found.values()), found.get(value, 0)

    @property
    def _memory(self) -> dict[tuple[int, str, tuple[str, ...]], dict[tuple[int, ...], dict[int, int]]]:
        return self.__dict__.setdefault("counted", {})  # type: ignore[no-any-return]

    def means(self, acts: list[Act], rows: list[Row]) -> dict[Act, float | None]:
        return {act: self.plain_mean(rows) if act is None else self.estimate(*act, rows) for act in acts}


def slow_hardness(q: list[Fraction], k: list[int]) -> int:
    """The least whole tau from 2 on such that at most tau nodes have q^k < 1 / tau; in exact fractions."""
    tau = 2
    while sum(share**size * tau < 1 for share, size in zip(q, k, strict=True)) > tau:
        tau += 1
    return tau


def poorly_seen(acts: list[Act], q: dict[str, Fraction], k: dict[str, int], m: int) -> list[Act]:
    """Step 7: Q, the rarest first, then in the order of the arms."""
    chosen = [act for act in acts if act is not None and q[act[0]] ** k[act[0]] * m < 1]
    return sorted(chosen, key=lambda act: (q[act[0]] if act else Fraction(0), acts.index(act)))


def shares(pulls: int, acts: list[Act]) -> dict[Act, int]:
    """Steps 8 and 9: equally often, the first get one more where it does not divide."""
    return {act: pulls // len(acts) + (place < pulls % len(acts)) for place, act in enumerate(acts)}
