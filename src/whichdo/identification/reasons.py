"""The verdict on a target set: whether looks settle its arms, by which route, and why, in a sentence.

For a single node the routes and their words are those of `whichdo.graph.identify`, which asks for the paper's
Assumption 3; a node that fails it may still be settled by complete identification, and only what has a hedge must be
tried.  For several nodes the routes mean the same: targets that act on nothing are left out, then a valid adjustment
set is looked for, then c-components that can be taken apart, then any formula at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whichdo.graph.components import with_parents
from whichdo.graph.identify import Route, Verdict, confounding_path, listed, verdicts
from whichdo.graph.targets import ByTargets
from whichdo.identification.adjustment import adjustment_sets
from whichdo.identification.engine import checked_targets, find_hedge, hedge_words, identify
from whichdo.identification.forms import weighted_components

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.graph.admg import CausalGraph
    from whichdo.graph.targets import Targets
    from whichdo.identification.estimand import Names

__all__ = ["CompleteVerdict", "complete_verdicts", "verdict_of"]

MOST_WORK = 2_000_000
"""Single nodes that fail Assumption 3, times the nodes of the graph, that are looked into further: some seconds."""


@dataclass(frozen=True)
class CompleteVerdict(Verdict):
    """A verdict that complete identification has reached: on several nodes, or on one that fails Assumption 3."""

    taken: Names = ()
    """What the formula speaks of beside the targets."""
    words: str = ""
    hedge: tuple[Names, Names] | None = None
    """What forbids a formula, where there is none; see `whichdo.errors.NotIdentifiedError`."""
    witness: Names | None = None

    @property
    def given(self) -> Names:
        """What is counted together with the targets: an adjustment set, or what else the formula speaks of."""
        return self.taken

    @property
    def path(self) -> Names | None:
        """Of an arm that must be tried: a bidirected path from a target to a child of it."""
        return self.witness

    @property
    def reason(self) -> str:
        """The verdict in a sentence."""
        return self.words + self._idle_words()


def complete_verdicts(graph: CausalGraph, reward: str, sets: Iterable[Targets]) -> ByTargets[Verdict]:
    """The verdict on each target set; those that the paper's Assumption 3 settles are found for all in linear time."""
    known = verdicts(graph, reward, list(sets))
    failing = sum(verdict.route is Route.TRY and len(verdict.acting) == 1 for verdict in known.values())
    further = failing * len(graph.nodes) <= MOST_WORK
    found: dict[Targets, Verdict] = {}
    for targets, verdict in known.items():
        if len(verdict.acting) > 1:
            found[targets] = _joint(graph, verdict)
        elif verdict.route is Route.TRY and further and find_hedge(graph, verdict.acting, reward) is None:
            found[targets] = _general(graph, verdict)
        else:
            found[targets] = verdict
    return ByTargets(found)


def verdict_of(graph: CausalGraph, targets: Iterable[str], reward: str) -> Verdict:
    """The verdict on the arms that set some nodes.

    Examples
    --------
    >>> from whichdo.graph.admg import CausalGraph
    >>> graph = CausalGraph.parse("W -> Z -> X -> Y; W <-> X; W <-> Y")
    >>> verdict = verdict_of(graph, ["X"], "Y")
    >>> verdict.route, verdict.reason
    (<Route.GENERAL: 'general'>, 'by complete identification, given W and Z')
    >>> verdict_of(graph, ["W", "X"], "Y").reason
    'by complete identification, given W and Z (W no longer acts on Y once X is set)'
    """
    names = checked_targets(graph, targets, reward)
    return complete_verdicts(graph, reward, [names])[names]


def _joint(graph: CausalGraph, judged: Verdict) -> CompleteVerdict:
    """The verdict on several nodes that all act on the reward."""
    names, reward = judged.acting, judged.reward
    sets = adjustment_sets(graph, names, reward)
    if sets:
        given = next((each.given for each in sets if each.origin == "parents"), sets[0].given)
        words = f"by adjusting for {listed(given)}" if given else "by conditioning: there is nothing to adjust for"
        return _made(judged, Route.ADJUSTMENT, given, words)
    components = weighted_components(graph, names, reward)
    if components is not None:
        tied = {name for component in components for name in component}
        given = tuple(name for name in with_parents(judged.within, tied) if name not in names)
        words = _through(components, [name for name in given if name not in tied])
        return _made(judged, Route.COMPONENT, given, words)
    hedge = find_hedge(graph, names, reward)
    if hedge is None:
        return _general(graph, judged)
    words = f"the joint effect of {listed(names)} cannot be computed by looking: {hedge_words(hedge, names)}"
    inside = graph.subgraph(hedge[0])
    path = next(path for name in names if name in inside and (path := confounding_path(inside, name)))
    return _made(judged, Route.TRY, (), words, hedge, path)


def _general(graph: CausalGraph, judged: Verdict) -> CompleteVerdict:
    estimand = identify(graph, judged.acting, judged.reward)
    spoken = {name for conditional in estimand.conditionals for name in conditional.columns}
    given = tuple(sorted(spoken.difference(judged.acting, [judged.reward]), key=graph.index))
    words = f"by complete identification{', given ' + listed(given) if given else ''}"
    return _made(judged, Route.GENERAL, given, words)


def _made(
    judged: Verdict,
    route: Route,
    given: Names,
    words: str,
    hedge: tuple[Names, Names] | None = None,
    path: Names | None = None,
) -> CompleteVerdict:
    return CompleteVerdict(
        judged.targets, judged.reward, route, judged.within, False, judged.acting, given, words, hedge, path
    )


def _through(components: tuple[Names, ...], others: list[str]) -> str:
    sets = [f"{{{', '.join(component)}}}" for component in components]
    whose = "their c-component" if len(sets) == 1 else "the c-components"
    return f"through {whose} {listed(sets)}{', given ' + listed(others) if others else ''}"
