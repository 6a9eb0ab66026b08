"""The forms in which one effect is estimated: how much of the graph an estimate leans on.

All are exact for exact laws.  They differ in what they assume of the graph where laws are estimated
from rows:

graph        `whichdo.identification.engine.identify`: every conditional of what acts on the reward,
             each given as little as possible.  Leans on every missing edge.
adjustment   sum over z of P(z) P(y | x, z), with P(z) counted as one joint law: leans on Z being
             valid, nothing else.
weight       through c-components: every row counts with the weight that makes it a row of do(x),
             and only the conditionals of the components are modelled.  For single targets this is
             Tian and Pearl's formula, and with S = {X} inverse-propensity weighting.
paper        Algorithms 3 to 5 of the paper: the latent projection on X, Pa^c(X) and the reward, and
             every conditional in it.

Which *adjustment sets* there are, and which is best (`adjustment_sets`).  A set Z is *valid* for
do(X) if P(y | do(x)) = sum over z of P(z) P(y | x, z) in every model of the graph.  The criterion
is complete (Shpitser, VanderWeele and Robins 2010; for mixed graphs and joint targets van der
Zander, Liśkiewicz and Textor 2014).  Call the nodes on proper causal paths from X to Y *causal*:
those that X acts on and through which Y is reached without meeting X again.  Z is valid if

1.  nothing in Z is a causal node or something that causal nodes act on, and
2.  Z m-separates X and Y once the first arrow of every proper causal path is cut.

Of many valid sets the variance of the estimate is least for the *O-set*: the parents of the causal
nodes, without what causal nodes act on (Henckel, Perković and Maathuis 2022, for graphs without
hidden confounders; with them it may not be valid, so it is checked).  If any set is valid, then so
is the largest candidate: all ancestors of X and Y that condition 1 allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whichdo.errors import UsageError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.components import effective_parents, with_parents
from whichdo.graph.identify import Route, verdicts
from whichdo.graph.projection import project
from whichdo.graph.separation import m_separated, nearest, without_arrows, without_edges_into
from whichdo.graph.targets import acting_targets
from whichdo.identification.engine import checked_targets, marginal
from whichdo.identification.estimand import Conditional, Estimand, Ratio, product, sum_over
from whichdo.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whichdo.graph.identify import Verdict
    from whichdo.identification.estimand import Expression, Names


@dataclass(frozen=True)
class Candidate:
    """A valid adjustment set, pruned, and how it was come by: ``optimal``, ``parents`` or ``ancestors``."""

    origin: str
    given: Names


def is_valid_adjustment(graph: CausalGraph, targets: Iterable[str], reward: str, given: Iterable[str]) -> bool:
    """True if adjusting for ``given`` yields the effect of the targets in every model of the graph."""
    return _Criterion(graph, checked_targets(graph, targets, reward), reward).holds(frozenset(given))


def adjustment_sets(graph: CausalGraph, targets: Iterable[str], reward: str) -> tuple[Candidate, ...]:
    """The candidates for adjustment that are valid, best first, each pruned of what it can spare; () if none exists.

    In this order: the O-set, the parents of the targets, the ancestors of targets and reward.  Targets that do not act
    on the reward are left out of the question first.

    Examples
    --------
    >>> from whichdo.graph.admg import CausalGraph
    >>> graph = CausalGraph.parse("P -> X; P -> C; C -> Y; X -> Y")
    >>> [(each.origin, each.given) for each in adjustment_sets(graph, ["X"], "Y")]
    [('optimal', ('C',)), ('parents', ('P',))]
    """
    names = acting_targets(graph, checked_targets(graph, targets, reward), reward)
    criterion = _Criterion(graph, names, reward)
    parents = {parent for name in names for parent in graph.parents(name)}
    optimal = {parent for name in criterion.causal for parent in graph.parents(name)}
    found: dict[frozenset[str], Candidate] = {}
    for origin, some in (
        ("optimal", optimal),
        ("parents", parents),
        ("ancestors", set(graph.ancestors([*names, reward]))),
    ):
        allowed = frozenset(some) - criterion.forbidden
        if criterion.holds(allowed):
            pruned = criterion.pruned(allowed)
            found.setdefault(pruned, Candidate(origin, tuple(sorted(pruned, key=graph.index))))
    return tuple(found.values())


class _Criterion:
    """The adjustment criterion for one target set and reward; the graphs it asks are made once."""

    def __init__(self, graph: CausalGraph, targets: Names, reward: str) -> None:
        self.targets, self.reward = targets, reward
        below = set(without_edges_into(graph, targets).descendants(targets)).difference(targets)
        self.causal = below.intersection(without_arrows(graph, targets).ancestors([reward]))
        self.forbidden = frozenset(graph.descendants(self.causal)).union(targets, [reward])
        self._backdoor = without_arrows(graph, targets, self.causal)

    def holds(self, given: frozenset[str]) -> bool:
        return not given & self.forbidden and m_separated(self._backdoor, self.targets, [self.reward], given)

    def pruned(self, given: frozenset[str]) -> frozenset[str]:
        """What is left of a valid set when nothing more can be spared, what is nearest to the reward first."""
        ends = (*self.targets, self.reward)
        inside = self._backdoor.subgraph(self._backdoor.ancestors([*ends, *given]))
        return nearest(inside, self.targets, nearest(inside, [self.reward], given))


def stratified_estimand(targets: Names, reward: str, around: Names, given: Names) -> Estimand:
    """Sum over the strata ``around`` of P(around) P(y | given), whether or not that is an effect; ``given`` holds both.

    >>> print(stratified_estimand(("X",), "Y", ("A",), ("A", "X")))
    Σ_A P(A) P(Y | A, X)
    """
    law = Conditional((reward,), given)
    if not around:
        return Estimand(law, targets, reward)
    return Estimand(sum_over(around, product([Conditional(around), law])), targets, reward)


def weighted_components(graph: CausalGraph, targets: Names, reward: str) -> tuple[Names, ...] | None:
    """The c-components of the targets among what acts on the reward, if the weight form is valid for them; else None.

    It is valid if no target in a component S acts directly on a node of S that is not a target itself.  For a single
    target that is the paper's Assumption 3.  Summing the targets out of Q[S] then leaves the c-factor of the rest.
    """
    within = graph.subgraph(graph.ancestors([reward]))
    chosen = {name for name in targets if name in within}
    found = tuple(dict.fromkeys(within.c_component(name) for name in within.nodes if name in chosen))
    for component in found:
        rest = set(component) - chosen
        if any(rest.intersection(within.children(name)) for name in chosen.intersection(component)):
            return None
    return found


def weight_estimand(graph: CausalGraph, targets: Iterable[str], reward: str) -> Estimand:
    """Sum over the cells c of W at x of P(c) times, for each component S, (sum over x' of Q[S] at x') / Q[S] at x.

    W is Pa+ of the components of the targets without the reward; P(c) is counted as one joint law.  The reward comes
    last: its own conditional is that of its component, or else given all of W, so that every formula is linear in it.

    Raises `UsageError` if a target acts directly on another node of its c-component (`weighted_components`).

    Examples
    --------
    >>> print(weight_estimand(CausalGraph.parse("X -> M -> Y; X <-> Y"), ["X"], "Y"))
    Σ_M (P(X, M) Σ_X' P(X') P(Y | X', M)) / (P(X))
    """
    names = checked_targets(graph, targets, reward)
    acting = acting_targets(graph, names, reward)
    if not acting:
        return Estimand(Conditional((reward,)), names, reward)
    components = weighted_components(graph, acting, reward)
    if components is None:
        raise UsageError(f"{listed(acting)} cannot be weighted: one acts on another node of its own c-component.")
    within = graph.subgraph(graph.ancestors([reward]))
    given = effective_parents(within)
    scope = with_parents(within, (name for component in components for name in component))
    around = tuple(name for name in scope if name != reward)
    above: list[Expression] = [Conditional(around)]
    below: list[Expression] = []
    inside = any(reward in component for component in components)
    for component in components:
        chosen = set(acting).intersection(component)
        # Kernels in which no target occurs are the same above and below, and the reward's is nobody's cause.
        kernels: dict[str, Expression] = {
            name: Conditional((name,), given[name]) for name in component if chosen.intersection((*given[name], name))
        }
        below += [kernel for name, kernel in kernels.items() if name != reward]
        left = marginal(kernels, tuple({*scope, reward} - chosen))
        above += [left] if left.free else []
    if not inside:
        above.append(Conditional((reward,), around))
    elif not any(reward in part.free for part in above):
        above.append(Conditional((reward,), given[reward]))
    summed = [name for name in around if name not in acting]
    whole = Ratio(product(above), product(below)) if below else product(above)
    return Estimand(sum_over(summed, whole), names, reward)


def paper_estimand(
    graph: CausalGraph, target: str, reward: str, *, plain: bool = False, late: bool = False
) -> Estimand:
    """The paper's Algorithms 3 to 5 for one node: conditionals in the latent projection H on W = {X} + Pa^c(X) + {Y}.

    Inside the c-component S of X in H the node keeps its own value x', which is summed out; everything outside S sees
    the value x that was set.  In a graph without hidden confounders, only the parents that a back-door path needs are
    in W, as the paper's footnote has it; ``plain`` keeps all.  ``late`` puts X as late in the order as it can stand,
    which may leave smaller conditionals.

    Raises `UsageError` if the node fails Assumption 3 in the whole graph and among what acts on the reward.
    """
    names = checked_targets(graph, [target], reward)
    verdict = verdicts(graph, reward, names, restrict=False)[names]
    node = names[0]
    if verdict.route is Route.TRY:
        raise UsageError(f"Assumption 3 fails: {verdict.reason}.")
    if verdict.route is Route.SAME:
        return Estimand(Conditional((reward,)), names, reward)
    around = with_parents(verdict.within, verdict.component) if plain or graph.bidirected else (node, *verdict.given)
    kernels = paper_kernels(verdict, around, late=late)
    rest = [name for kernel, _ in kernels for name in kernel.nodes if name not in {node, reward}]
    if not any(kernel.nodes == (node,) for kernel, _ in kernels):
        return Estimand(sum_over(rest, product(kernel for kernel, _ in kernels)), names, reward)
    inner = sum_over([node], product(kernel for kernel, inside in kernels if inside))
    outer = [kernel for kernel, inside in kernels if not inside]
    return Estimand(sum_over(rest, product([*outer, inner])), names, reward)


def paper_kernels(judged: Verdict, around: Iterable[str], *, late: bool = False) -> list[tuple[Conditional, bool]]:
    """The conditionals of the paper's factor network in topological order, and whether each is inside S.

    ``judged``: the paper's verdict on targets of which one node acts on the reward.
    ``around``: W without the reward.
    ``late``: as of `paper_estimand`.
    """
    (node,), reward = judged.acting, judged.reward
    projected = project(judged.within, {*around, reward})
    if late:
        others = [name for name in projected.nodes if name != node]
        projected = CausalGraph([*others, node], sorted(projected.directed), projected.bidirected)
    given = effective_parents(projected)
    inside = set(projected.c_component(node))
    needed = _needed(node, reward, given, inside)
    return [(Conditional((name,), given[name]), name in inside) for name in projected.nodes if name in needed]


def _needed(node: str, reward: str, given: Mapping[str, Names], inside: set[str]) -> set[str]:
    """Whose conditionals the reward depends on; outside S the node is the constant x, which depends on nothing."""
    found = {reward}
    stack = [reward]
    while stack:
        name = stack.pop()
        for other in given[name]:
            if other not in found and (other != node or name in inside):
                found.add(other)
                stack.append(other)
    return found
