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
from whichdo.graph.identify import Route, Verdict, confounding_path, verdicts
from whichdo.graph.targets import ByTargets
from whichdo.identification.engine import find_hedge, hedge_words, identify
from whichdo.identification.forms import adjustment_sets, weighted_components
from whichdo.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.graph.admg import CausalGraph
    from whichdo.graph.targets import Targets
    from whichdo.identification.estimand import Names


MAX_WARNINGS = 20

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


def _joint(graph: CausalGraph, judged: Verdict) -> CompleteVerdict:
    """The verdict on several nodes that all act on the reward."""
    names, reward = judged.acting, judged.reward
    sets = adjustment_sets(graph, names, reward)
    if sets:
        given = next((each.given for each in sets if each.origin == "parents"), sets[0].given)
        words = f"by adjusting for {listed(given)}" if given else "by conditioning: there is nothing to adjust for"
        return _make(judged, Route.ADJUSTMENT, given, words)
    components = weighted_components(graph, names, reward)
    if components is not None:
        tied = {name for component in components for name in component}
        given = tuple(name for name in with_parents(judged.within, tied) if name not in names)
        words = _through(components, [name for name in given if name not in tied])
        return _make(judged, Route.COMPONENT, given, words)
    hedge = find_hedge(graph, names, reward)
    if hedge is None:
        return _general(graph, judged)
    words = f"the joint effect of {listed(names)} cannot be computed by looking: {hedge_words(hedge, names)}"
    inside = graph.subgraph(hedge[0])
    path = next(path for name in names if name in inside and (path := confounding_path(inside, name)))
    return _make(judged, Route.TRY, (), words, hedge, path)


def _general(graph: CausalGraph, judged: Verdict) -> CompleteVerdict:
    estimand = identify(graph, judged.acting, judged.reward)
    spoken = {name for conditional in estimand.conditionals for name in conditional.columns}
    given = tuple(sorted(spoken.difference(judged.acting, [judged.reward]), key=graph.index))
    words = f"by complete identification{', given ' + listed(given) if given else ''}"
    return _make(judged, Route.GENERAL, given, words)


def _make(
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


def verdict_warnings(found: ByTargets[Verdict], reward: str) -> tuple[str, ...]:
    """What a careful reader would point out: arms that change nothing, wholly or in part, or must be tried."""
    useless = dict.fromkeys(name for targets, each in found.items() if each.route is Route.SAME for name in targets)
    said = []
    if useless:
        said.append(
            f"{listed(useless)} {'does' if len(useless) == 1 else 'do'} not act on {reward}: "
            f"these arms equal do(). They stay listed and share do()'s evidence."
        )
    said += _idle_members(found, reward)
    tried = [each for each in found.values() if each.route is Route.TRY]
    said += [
        f"{each.reason[0].upper()}{each.reason[1:]}. Its arms will be tried instead." for each in tried[:MAX_WARNINGS]
    ]
    more = len(tried) - MAX_WARNINGS
    if more > 0:
        plural = "s" if more > 1 else ""
        single = all(len(targets) == 1 for targets in found)
        what = f"node{plural}" if single else f"set{plural} of nodes"
        said.append(f"... and {more:,} more {what} whose arms will be tried instead.")
    return tuple(said)


def _idle_members(found: ByTargets[Verdict], reward: str) -> list[str]:
    """Joint arms of which a part changes nothing, and what they equal."""
    said = []
    for targets, verdict in found.items():
        idle = [name for name in targets if name not in verdict.acting]
        if idle and verdict.acting:
            act, are = "acts" if len(idle) == 1 else "act", "is" if len(verdict.acting) == 1 else "are"
            said.append(
                f"{listed(idle)} no longer {act} on {reward} once {listed(verdict.acting)} {are} set: the arms on "
                f"{listed(targets)} equal those on {listed(verdict.acting)} alone."
            )
    more = len(said) - MAX_WARNINGS
    return said if more <= 0 else [*said[:MAX_WARNINGS], f"... and {more:,} more sets of nodes like that."]
