"""The verdict on a target set: whether looks settle its arms, by which route, and why, in a sentence.

For a single node the routes and their words are those of `whichdo.graph.identify`, which asks for the paper's
Assumption 3; a node that fails it may still be settled by complete identification, and only what has a hedge must be
tried.  For several nodes the routes mean the same: targets that act on nothing are left out, then a valid adjustment
set is looked for, then c-components that can be taken apart, then any formula at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from whichdo.graph.components import with_parents
from whichdo.graph.identify import Route, confounding_path, listed, verdicts
from whichdo.graph.targets import acting_targets
from whichdo.identification.adjustment import adjustment_sets
from whichdo.identification.engine import checked_targets, find_hedge, hedge_words, identify
from whichdo.identification.forms import adjustment_estimand, weighted_components

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.graph.admg import CausalGraph
    from whichdo.identification.estimand import Estimand, Names

__all__ = ["Verdict", "verdict_of"]


@dataclass(frozen=True)
class Verdict:
    """Whether looking can settle the arms on some targets, by which route, and why."""

    graph: CausalGraph
    targets: Names
    reward: str
    acting: Names
    """The targets that act on the reward once all of them are set."""
    route: Route
    given: Names
    """What is counted together with the targets: an adjustment set, or what else the formula speaks of."""
    reason: str
    """The verdict in a sentence."""
    hedge: tuple[Names, Names] | None = None
    """What forbids a formula, where there is none; see `whichdo.errors.NotIdentifiedError`."""
    path: Names | None = None
    """Of an arm that must be tried: a bidirected path from a target to a child of it."""

    @property
    def identified(self) -> bool:
        """True if looking settles the arms on these targets."""
        return self.route is not Route.TRY

    @cached_property
    def estimand(self) -> Estimand | None:
        """A formula for the effect from looks, or None where there is none."""
        if self.route is Route.TRY:
            return None
        if self.route is Route.ADJUSTMENT:
            return adjustment_estimand(self.graph, self.targets, self.reward, self.given)
        return identify(self.graph, self.targets, self.reward)


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
    'by complete identification, given W and Z (equal to do(X): W does not act on Y once X is set)'
    """
    names = checked_targets(graph, targets, reward)
    acting = acting_targets(graph, names, reward)
    if not acting and len(names) != 1:
        return Verdict(graph, names, reward, (), Route.SAME, (), _same(names, reward))
    found = _joint(graph, acting, reward) if len(acting) > 1 else _single(graph, acting or names, reward)
    if len(acting) in {0, len(names)}:
        return found
    return _with_idle(found, names)


def _single(graph: CausalGraph, names: Names, reward: str) -> Verdict:
    known = verdicts(graph, reward, names)[names]
    acting = () if known.route is Route.SAME else names
    if known.route is not Route.TRY:
        return Verdict(graph, names, reward, acting, known.route, known.given, known.reason)
    hedge = find_hedge(graph, names, reward)
    if hedge is None:
        return _general(graph, names, reward)
    return Verdict(graph, names, reward, acting, Route.TRY, known.given, known.reason, hedge, known.path)


def _joint(graph: CausalGraph, names: Names, reward: str) -> Verdict:
    """The verdict on several nodes that all act on the reward."""
    sets = adjustment_sets(graph, names, reward)
    if sets:
        given = next((each.given for each in sets if each.origin == "parents"), sets[0].given)
        words = f"by adjusting for {listed(given)}" if given else "by conditioning: there is nothing to adjust for"
        return Verdict(graph, names, reward, names, Route.ADJUSTMENT, given, words)
    components = weighted_components(graph, names, reward)
    if components is not None:
        within = graph.subgraph(graph.ancestors([reward]))
        tied = {name for component in components for name in component}
        given = tuple(name for name in with_parents(within, tied) if name not in names)
        words = _through(components, [name for name in given if name not in tied])
        return Verdict(graph, names, reward, names, Route.COMPONENT, given, words)
    hedge = find_hedge(graph, names, reward)
    if hedge is None:
        return _general(graph, names, reward)
    words = f"the joint effect of {listed(names)} cannot be computed by looking: {hedge_words(hedge, names)}"
    inside = graph.subgraph(hedge[0])
    path = next(path for name in names if name in inside and (path := confounding_path(inside, name)))
    return Verdict(graph, names, reward, names, Route.TRY, (), words, hedge, path)


def _general(graph: CausalGraph, names: Names, reward: str) -> Verdict:
    estimand = identify(graph, names, reward)
    spoken = {name for conditional in estimand.conditionals for name in conditional.columns}
    given = tuple(sorted(spoken.difference(names, [reward]), key=graph.index))
    words = f"by complete identification{', given ' + listed(given) if given else ''}"
    return Verdict(graph, names, reward, names, Route.GENERAL, given, words)


def _with_idle(found: Verdict, names: Names) -> Verdict:
    """The verdict on more targets, of which only some act once all are set."""
    idle = [name for name in names if name not in found.acting]
    verb = "does" if len(idle) == 1 else "do"
    note = (
        f" (equal to do({', '.join(found.acting)}): {listed(idle)} {verb} not act on {found.reward} once "
        f"{listed(found.acting)} {'is' if len(found.acting) == 1 else 'are'} set)"
    )
    return Verdict(
        found.graph, names, found.reward, found.acting, found.route, found.given, found.reason + note, found.hedge,
        found.path,
    )  # fmt: skip


def _same(names: Names, reward: str) -> str:
    if not names:
        return "do() itself: the mean of the looks"
    return f"equal to do(): {listed(names)} do not act on {reward}"


def _through(components: tuple[Names, ...], others: list[str]) -> str:
    sets = [f"{{{', '.join(component)}}}" for component in components]
    whose = "their c-component" if len(sets) == 1 else "the c-components"
    return f"through {whose} {listed(sets)}{', given ' + listed(others) if others else ''}"
