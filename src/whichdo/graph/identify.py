"""What looking alone can settle, and why.

For one intervened node X let S be its c-component: X and all that hidden causes tie to it, directly or in a chain.  If
no child of X lies in S (the paper's Assumption 3), the effect of X on everything is a formula in what can be observed
(Tian and Pearl 2002); with S = {X} it is adjustment for X's parents.  If a child lies in S, the bidirected path
from X to that child is the witness that it cannot be.

Nodes that are no ancestors of the reward can be dropped first, exactly.  That rescues some nodes that fail in the whole
graph, and shows that a node which is no ancestor itself changes nothing.  What fails even then is never estimated by
looking: its arms must be tried.  (A few such effects are still identifiable by longer derivations, the napkin graph's
among them; trying them is always right.)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from whichdo.graph.components import backdoor_parents, with_parents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.graph.admg import CausalGraph

__all__ = ["Route", "Verdict", "assumption_3", "confounding_path", "verdicts"]


class Route(StrEnum):
    """How an arm's mean can be had from looking."""

    SAME = "same"
    """The node does not act on the reward: every arm on it equals do()."""
    ADJUSTMENT = "adjustment"
    """Adjust for parents of the node: it has no hidden confounder of its own."""
    COMPONENT = "component"
    """Through the node's c-component (the front-door formula and its relatives)."""
    GENERAL = "general"
    """By complete identification only (`whichdo.identification`), such as the napkin."""
    TRY = "try"
    """Not from looking: the arms must be tried."""


def assumption_3(graph: CausalGraph, node: str) -> bool:
    """True if no bidirected path joins ``node`` to one of its children."""
    return not _child_inside(graph, graph.index(node))


def confounding_path(graph: CausalGraph, node: str) -> tuple[str, ...] | None:
    """A shortest bidirected path from ``node`` to one of its children; None if Assumption 3 holds for ``node``.

    >>> from whichdo.graph.admg import CausalGraph
    >>> confounding_path(CausalGraph.parse("X -> Y; X <-> A; A <-> Y"), "X")
    ('X', 'A', 'Y')
    """
    start = graph.index(node)
    if assumption_3(graph, node):
        return None
    children = set(graph.child_ids[start])
    came = {start: start}
    level = [start]
    while True:
        following = []
        for position in level:
            for other in graph.sibling_ids[position]:
                if other in came:
                    continue
                came[other] = position
                if other in children:
                    return _path(graph, came, other)
                following.append(other)
        level = following


def verdicts(
    graph: CausalGraph, reward: str, nodes: Iterable[str] | None = None, *, restrict: bool = True
) -> dict[str, Verdict]:
    """The verdict on each node (default: every node but the reward), in time linear in the graph.

    ``restrict`` drops what is no ancestor of the reward first, for all nodes.  Without it (the paper's own reading,
    which decides its q and m) that is done only for the nodes that fail Assumption 3 in the whole graph.
    """
    relevant = graph.subgraph(graph.ancestors([reward]))
    found = {}
    for name in graph.nodes if nodes is None else nodes:
        position = graph.index(name)
        if name == reward:
            continue
        fails = _child_inside(graph, position)
        within = relevant if restrict or fails else graph
        if name not in within:
            route = Route.SAME
        elif _child_inside(within, within.index(name)):
            route = Route.TRY
        elif len(within.sibling_ids[within.index(name)]) == 0:
            route = Route.ADJUSTMENT
        else:
            route = Route.COMPONENT
        found[name] = Verdict(name, reward, route, within, rescued=fails and route is not Route.TRY)
    return found


@dataclass(frozen=True)
class Verdict:
    """Whether looking can settle the arms on one node, by which route, and why."""

    node: str
    reward: str
    route: Route
    within: CausalGraph
    """The graph that was judged: the reward's ancestors, or the whole graph."""
    rescued: bool
    """True if the node fails Assumption 3 in the whole graph and passes among the reward's ancestors."""

    @property
    def identified(self) -> bool:
        """True if looking settles the arms on this node."""
        return self.route is not Route.TRY

    @property
    def component(self) -> tuple[str, ...]:
        """The node's c-component S in the graph that was judged."""
        return (self.node,) if self.route is Route.SAME else self.within.c_component(self.node)

    @cached_property
    def given(self) -> tuple[str, ...]:
        """What is counted together with the node: the adjustment set, or Pa+(S) without the node (Pa^c)."""
        if self.route is Route.SAME:
            return ()
        if self.route is Route.ADJUSTMENT:
            return backdoor_parents(self.within, self.node, self.reward)
        return tuple(name for name in with_parents(self.within, self.component) if name != self.node)

    @cached_property
    def path(self) -> tuple[str, ...] | None:
        """The bidirected path to a child that spoils it, or None."""
        return confounding_path(self.within, self.node) if self.route is Route.TRY else None

    @cached_property
    def reason(self) -> str:
        """The verdict in a sentence."""
        words = {
            Route.SAME: self._same,
            Route.ADJUSTMENT: self._adjustment,
            Route.COMPONENT: self._component,
            Route.TRY: self._try,
        }[self.route]()
        if self.rescued and self.route is not Route.SAME:
            words += f" (after leaving out what does not act on {self.reward})"
        return words

    def _same(self) -> str:
        return f"equal to do(): {self.node} does not act on {self.reward}"

    def _adjustment(self) -> str:
        if self.given:
            return f"by adjusting for {listed(self.given)}"
        return "by conditioning: there is nothing to adjust for"

    def _component(self) -> str:
        others = [name for name in self.given if name not in self.component]
        through = f"through its c-component {{{', '.join(self.component)}}}"
        return f"{through}, given {listed(others)}" if others else through

    def _try(self) -> str:
        path = self.path or ()
        return (
            f"the effect of {self.node} cannot be computed by looking: "
            f"{' <-> '.join(_shortened(path))} and {self.node} -> {path[-1]}"
        )


def listed(names: Iterable[str], most: int = 6) -> str:
    """``A``, ``A and B``, ``A, B and C``; a long list is cut with the number left out."""
    names = list(names)
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _child_inside(graph: CausalGraph, position: int) -> bool:
    labels = graph.component_ids
    return any(labels[child] == labels[position] for child in graph.child_ids[position])


def _path(graph: CausalGraph, came: dict[int, int], end: int) -> tuple[str, ...]:
    path = [end]
    while came[path[-1]] != path[-1]:
        path.append(came[path[-1]])
    return tuple(graph.nodes[position] for position in reversed(path))


def _shortened(path: tuple[str, ...]) -> tuple[str, ...]:
    return path if len(path) <= 8 else (*path[:4], f"... {len(path) - 7} more ...", *path[-3:])
