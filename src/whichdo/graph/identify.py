"""What looking alone can settle, and why.

For one intervened node X let S be its c-component: X and all that hidden causes tie to it, directly or in a chain.  If
no child of X lies in S (the paper's Assumption 3), the effect of X on everything is a formula in what can be observed
(Tian and Pearl 2002); with S = {X} it is adjustment for X's parents.  If a child lies in S, the bidirected path
from X to that child is the witness that it cannot be.

Nodes that are not ancestors of the reward can be dropped first, exactly.  That rescues some nodes that fail in the
whole graph, and shows that a node which is not an ancestor itself changes nothing.  Arms on what fails even then the
paper tries.  Some of them can be computed by longer derivations, the napkin graph's among them, and so can many effects
of several nodes together: `whichdo.identification` knows all of these.

Of several nodes that are set together, those that do not act on the reward once the others are set are left out first.
Where one node is left its verdict holds for all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from whichdo.graph.components import backdoor_parents, with_parents
from whichdo.graph.targets import ByTargets, acting_targets, target_set
from whichdo.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.graph.admg import CausalGraph
    from whichdo.graph.targets import Targets


class Route(StrEnum):
    """How an arm's mean can be computed from looks."""

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
    """Find the hidden path that prevents an effect from being learned by looking.

    Parameters
    ----------
    graph
        The causal graph.
    node
        The node that would be set.

    Returns
    -------
    tuple of str or None
        A shortest path of ``<->`` edges from ``node`` to one of its children; None if there is no such path
        (Assumption 3 of the paper holds for ``node``).

    Raises
    ------
    GraphError
        If the graph has no such node.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.confounding_path(wd.CausalGraph.parse("X -> Y; X <-> A; A <-> Y"), "X")
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
    graph: CausalGraph, reward: str, sets: Iterable[str | Iterable[str]] | None = None, *, restrict: bool = True
) -> ByTargets[Verdict]:
    """The verdict on each node or set of nodes (default: every node but the reward by itself).

    Takes time linear in the graph for all single nodes together, and for each set of several.  ``restrict`` first drops
    what is not an ancestor of the reward, for all nodes.  Without it (the paper's own reading, which decides its q and
    m) that is done only for the nodes that fail Assumption 3 in the whole graph.
    """
    relevant = graph.subgraph(graph.ancestors([reward]))
    found = {}
    for targets in map(target_set, [name for name in graph.nodes if name != reward] if sets is None else sets):
        if reward in targets:
            continue
        acting = targets if len(targets) == 1 else acting_targets(graph, targets, reward)
        if len(acting) == 1:
            found[targets] = replace(_on_one(graph, relevant, reward, acting[0], restrict=restrict), targets=targets)
        else:
            route = Route.TRY if acting else Route.SAME
            found[targets] = Verdict(targets, reward, route, relevant, rescued=False, acting=acting)
    return ByTargets(found)


def _on_one(graph: CausalGraph, relevant: CausalGraph, reward: str, name: str, *, restrict: bool) -> Verdict:
    """The verdict on one node; ``relevant`` is the graph of the reward's ancestors."""
    fails = _child_inside(graph, graph.index(name))
    within = relevant if restrict or fails else graph
    if name not in within:
        route = Route.SAME
    elif _child_inside(within, within.index(name)):
        route = Route.TRY
    elif len(within.sibling_ids[within.index(name)]) == 0:
        route = Route.ADJUSTMENT
    else:
        route = Route.COMPONENT
    acting = () if route is Route.SAME else (name,)
    return Verdict((name,), reward, route, within, rescued=fails and route is not Route.TRY, acting=acting)


@dataclass(frozen=True)
class Verdict:
    """Whether looking can settle the arms on one target set, by which route, and why.

    Attributes
    ----------
    targets
        The nodes that the arms set.
    reward
        The node to improve.
    route
        How the means can be computed from looks; ``Route.TRY`` if they cannot.
    within
        The graph that was examined: the reward's ancestors, or the whole graph.
    rescued
        True if the node fails Assumption 3 in the whole graph and passes among the reward's ancestors.
    acting
        The targets that act on the reward once all are set; the arms equal those on these alone.
    """

    targets: Targets
    reward: str
    route: Route
    within: CausalGraph
    rescued: bool
    acting: Targets

    @property
    def identified(self) -> bool:
        """True if looking settles the arms on this target set."""
        return self.route is not Route.TRY

    @property
    def component(self) -> tuple[str, ...]:
        """The c-component S of the acting targets in the graph that was judged; the targets if none acts."""
        if len(self.acting) == 1:
            return self.within.c_component(self.acting[0])
        tied = {name for target in self.acting for name in self.within.c_component(target)}
        return tuple(sorted(tied, key=self.within.index)) or self.targets

    @cached_property
    def given(self) -> tuple[str, ...]:
        """What is counted together with the node: the adjustment set, or Pa+(S) without the node (Pa^c)."""
        if self.route is Route.SAME:
            return ()
        if self.route is Route.ADJUSTMENT:
            return backdoor_parents(self.within, self.acting[0], self.reward)
        return tuple(name for name in with_parents(self.within, self.component) if name not in self.acting)

    @cached_property
    def path(self) -> tuple[str, ...] | None:
        """The bidirected path to a child that spoils it; None if looking settles it, and for several nodes together."""
        return confounding_path(self.within, self.acting[0]) if self._is_spoiled else None

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
        return words + self._idle_words()

    def _idle_words(self) -> str:
        idle = [name for name in self.targets if name not in self.acting]
        if not idle or not self.acting:
            return ""
        act, are = "acts" if len(idle) == 1 else "act", "is" if len(self.acting) == 1 else "are"
        return f" ({listed(idle)} no longer {act} on {self.reward} once {listed(self.acting)} {are} set)"

    @property
    def _is_spoiled(self) -> bool:
        return self.route is Route.TRY and len(self.acting) == 1

    def _same(self) -> str:
        act = "does" if len(self.targets) == 1 else "do"
        return f"equal to do(): {listed(self.targets)} {act} not act on {self.reward}"

    def _adjustment(self) -> str:
        if self.given:
            return f"by adjusting for {listed(self.given)}"
        return "by conditioning: there is nothing to adjust for"

    def _component(self) -> str:
        others = [name for name in self.given if name not in self.component]
        through = f"through its c-component {{{', '.join(self.component)}}}"
        return f"{through}, given {listed(others)}" if others else through

    def _try(self) -> str:
        path = self.path
        if path is None:
            return (
                f"the effect of {listed(self.acting)} together is not computed from looking: "
                f"what several nodes do at once is learned by trying it"
            )
        node = self.acting[0]
        return (
            f"the effect of {node} cannot be computed by looking: "
            f"{' <-> '.join(_shortened(path))} and {node} -> {path[-1]}"
        )


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
