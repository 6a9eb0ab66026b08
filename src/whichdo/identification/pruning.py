"""Which target sets can be best at all, whatever the mechanisms: the graph alone rules the others out.

*Minimal sets* (MIS).  do(X) with a member that does not act on the reward once the others are set
equals do() of fewer nodes; a set is minimal if every member acts.  All other sets are equal to a
minimal one.

*Possibly optimal sets* (POMIS; Lee and Bareinboim 2018).  Start with the reward, add all that
hidden causes tie to it and all that these act on, until nothing is added: this *territory* is where
a confounder could tell the nodes something about the reward that whoever sets them does not know.
Its parents, the *border*, are worth setting: once they are set nothing else before them matters.  A
minimal set can be best in some model just if it is the border of the graph without edges into it.
Nodes that cannot be set are hidden first, which keeps all that matters about the rest (Lee and
Bareinboim 2019).

*At most k nodes at once*.  do(X) is never better than do(Z), with Z the minimal set of X and W, if
seeing W under do(X) is as good as setting it: by averaging over the values of W, some do(X, W=w) is
at least as good.  That is the second rule of the do-calculus, a separation in the graph without
edges into X and arrows out of W.  Sets that no other set beats in this way are kept, the smallest
of several that beat each other.  This is sound for every k, and with no limit it agrees with the
possibly optimal sets.  It takes for granted that the nodes of W can be set to every value they
have.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain, combinations, islice
from typing import TYPE_CHECKING, Generic, TypeVar

from whichdo.errors import TooLarge, UsageError
from whichdo.graph.projection import project
from whichdo.graph.separation import m_separated, without_arrows, without_edges_into
from whichdo.identification.engine import checked_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from whichdo.graph.admg import CausalGraph
    from whichdo.identification.estimand import Names

__all__ = [
    "border_once_set",
    "dominating_set",
    "dominating_sets",
    "minimal_sets",
    "offers_all",
    "possibly_optimal",
    "territory",
    "unbeaten",
]

Kind = TypeVar("Kind", bound=Hashable)

MAX_SETS = 100_000
MAX_TRIES = 1 << 12  # sets W that are tried before an arm is kept: to stop early is never wrong


def possibly_optimal(
    graph: CausalGraph, reward: str, at_once: int | None = None, fixed: Iterable[str] = ()
) -> tuple[Names, ...]:
    """The target sets that can be best, each as a sorted tuple, smaller ones first; () stands for do().

    Parameters
    ----------
    graph
        The causal graph.
    reward
        The node to be made large or small.
    at_once
        The most nodes that can be set at the same time; None for no limit.
    fixed
        Nodes that cannot be set.

    Raises
    ------
    TooLarge
        If more than 100,000 sets would have to be looked at.

    Examples
    --------
    With an instrument, looking is never best, for setting Z or X is at least as good:

    >>> from whichdo.graph.admg import CausalGraph
    >>> graph = CausalGraph.parse("Z -> X -> Y; X <-> Y")
    >>> possibly_optimal(graph, "Y")
    (('X',), ('Z',))
    >>> possibly_optimal(graph, "Y", fixed=["Z"])
    ((), ('X',))
    """
    if at_once is not None and at_once < 0:
        raise UsageError(f"`at_once` is {at_once}; it is a number of nodes.")
    within = _acting(graph, reward, fixed)
    if at_once is None or at_once >= len(within.nodes) - 1:
        return _sorted(set(_borders(within, reward)))
    return _unbeaten(within, reward, at_once)


def minimal_sets(graph: CausalGraph, reward: str, fixed: Iterable[str] = ()) -> tuple[Names, ...]:
    """The target sets of which every member acts on the reward once the others are set; order as `possibly_optimal`.

    Raises
    ------
    TooLarge
        If they are more than 100,000.

    Examples
    --------
    >>> from whichdo.graph.admg import CausalGraph
    >>> minimal_sets(CausalGraph.parse("Z -> X -> Y"), "Y")
    ((), ('X',), ('Z',))
    """
    within = _acting(graph, reward, fixed)
    return _sorted(set(_counted(_minimal(within, reward, len(within.nodes)), "minimal target sets")))


def territory(graph: CausalGraph, reward: str) -> tuple[Names, Names]:
    """The nodes that hidden causes and arrows tie to the reward, and their border; see the module.

    The paper's MUCT (minimal unobserved confounders' territory) and IB (interventional border), among what acts on
    the reward.
    """
    within = graph.subgraph(graph.ancestors([reward]))
    found = {within.index(reward)}
    stack = list(found)
    while stack:
        position = stack.pop()
        for other in (*within.sibling_ids[position], *within.child_ids[position]):
            if other not in found:
                found.add(other)
                stack.append(other)
    border = {parent for position in found for parent in within.parent_ids[position]} - found
    return _names(within, found), _names(within, border)


def dominating_set(
    graph: CausalGraph, targets: Names, reward: str, at_once: int, fixed: Iterable[str] = ()
) -> tuple[Names, Names] | None:
    """A target set that is at least as good as another in every model, and the nodes W that it sets in addition.

    The smallest W are tried first; None if there is none, or none was found among the first 4,096.
    """
    chosen = checked_targets(graph, targets, reward)
    return next(dominating_sets(graph, chosen, reward, lambda better: len(better) <= at_once, fixed), None)


def dominating_sets(
    graph: CausalGraph,
    targets: Names,
    reward: str,
    offered: Callable[[Names], bool],
    fixed: Iterable[str] = (),
    widest: int | None = None,
) -> Iterator[tuple[Names, Names]]:
    """Every target set that is at least as good as another, with the nodes W that it sets in addition.

    Parameters
    ----------
    graph, reward
        The causal graph, and the node to be made large or small.
    targets
        The set that may be beaten: minimal, each member acts on the reward once the others are set.
    offered
        Whether a target set, sorted, can be set at all.
    fixed
        Nodes that cannot be set to every value they have, which W may not hold.
    widest
        The most members that W may have.

    Yields
    ------
    tuple
        The better set and W, small W first; no more than the first 4,096 W are tried.
    """
    cut = without_edges_into(graph, targets)
    out = {*targets, reward, *fixed}
    free = [graph.index(name) for name in cut.ancestors([reward]) if name not in out]
    goal, chosen = graph.index(reward), frozenset(map(graph.index, targets))
    sizes = range(1, (len(free) if widest is None else min(widest, len(free))) + 1)
    for added in islice(chain.from_iterable(combinations(free, size) for size in sizes), MAX_TRIES):
        _, found = _search(graph, goal, chosen.union(added))
        if found != chosen:
            better, names = tuple(sorted(_names(graph, found))), _names(graph, added)
            if offered(better) and _as_good_as_seen(cut, targets, reward, names):
                yield better, names


def offers_all(graph: CausalGraph, reward: str, fixed: Iterable[str], offered: Container[Names]) -> bool:
    """Whether every minimal set of nodes that are not fixed is offered; stops at the first that is not."""
    within = _acting(graph, reward, fixed)
    return all(tuple(sorted(each)) in offered for each in _minimal(within, reward, len(within.nodes)))


def border_once_set(graph: CausalGraph, targets: Names, reward: str, fixed: Iterable[str]) -> Names:
    """The border of the reward once some nodes are set: the possibly optimal set that is at least as good as they."""
    within = _acting(graph, reward, fixed)
    return tuple(sorted(territory(without_edges_into(within, targets), reward)[1]))


# ---------------------------------------------------------------------------------------------------------- enumerating


def _acting(graph: CausalGraph, reward: str, fixed: Iterable[str]) -> CausalGraph:
    """The graph of what can be set and acts on the reward."""
    names = set(checked_targets(graph, fixed, reward))
    shown = project(graph, [name for name in graph.nodes if name not in names]) if names else graph
    return shown.subgraph(shown.ancestors([reward]))


def _borders(graph: CausalGraph, reward: str) -> Iterator[Names]:
    """Lee and Bareinboim's recursion (2018, Algorithm 1), with a stack of its own."""
    inside, border = territory(graph, reward)
    found = [border]
    start = _cut(graph, inside, border)
    later = [name for name in reversed(start.nodes) if name in inside and name != reward]
    stack = [(start, later, frozenset[str]())]
    while stack:
        within, order, seen = stack.pop()
        for number, name in enumerate(order):
            inside, border = territory(without_edges_into(within, [name]), reward)
            known = seen.union(order[:number])
            if known.isdisjoint(border):
                found.append(border)
                following = [other for other in order[number + 1 :] if other in inside]
                if following:
                    stack.append((_cut(within, inside, border), following, known))
        if len(found) > MAX_SETS:
            break
    return _counted(found, "target sets that can be best")


def _cut(graph: CausalGraph, inside: Names, border: Names) -> CausalGraph:
    return without_edges_into(graph, border).subgraph((*inside, *border))


def _minimal(graph: CausalGraph, reward: str, most: int) -> Iterator[Names]:
    """All minimal sets of at most so many nodes.

    Nodes are added from the last to the first.  One that acts past those behind it leaves them acting.
    """
    goal = graph.index(reward)
    stack: list[tuple[frozenset[int], int]] = [(frozenset(), len(graph.nodes))]
    while stack:
        chosen, end = stack.pop()
        yield _names(graph, chosen)
        if len(chosen) < most:
            passed, _ = _search(graph, goal, chosen)
            stack += [(chosen | {position}, position) for position in passed if position < end and position != goal]


def _search(graph: CausalGraph, goal: int, chosen: frozenset[int]) -> tuple[set[int], set[int]]:
    """What acts on a node past those chosen, and which of the chosen act on it past the others."""
    passed, met = {goal}, set[int]()
    stack = [goal]
    while stack:
        for parent in graph.parent_ids[stack.pop()]:
            if parent in chosen:
                met.add(parent)
            elif parent not in passed:
                passed.add(parent)
                stack.append(parent)
    return passed, met


def _counted(sets: Iterable[Names], what: str) -> Iterator[Names]:
    for number, each in enumerate(sets):
        if number == MAX_SETS:
            raise TooLarge(
                f"There are more than {MAX_SETS:,} {what}. Set fewer nodes at once (`at_once`), or name those that "
                f"cannot be set (`fixed`)."
            )
        yield each


# ------------------------------------------------------------------------------------------------------ at most k nodes


def _unbeaten(graph: CausalGraph, reward: str, most: int) -> tuple[Names, ...]:
    """The minimal sets of at most so many nodes that no other beats, the smallest of those that beat each other."""
    candidates = _sorted(set(_counted(_minimal(graph, reward, most), "target sets to compare")))

    def beaten_by(targets: Names, widest: int | None) -> Iterator[tuple[Names, ...]]:
        better = dominating_sets(graph, targets, reward, lambda names: len(names) <= most, widest=widest)
        return ((names,) for names, _ in better)

    return _sorted(unbeaten(candidates, beaten_by))


def _as_good_as_seen(cut: CausalGraph, targets: Names, reward: str, added: Names) -> bool:
    """The second rule of the do-calculus: setting the added nodes is seeing them."""
    return m_separated(without_arrows(cut, added), added, [reward], targets)


class _Beaten(Generic[Kind]):
    """What is beaten by what: each thing is never better than the best of every one of its *families*."""

    def __init__(self, things: Sequence[Kind]) -> None:
        self.order = {thing: place for place, thing in enumerate(things)}
        self.families: dict[Kind, dict[tuple[Kind, ...], None]] = {thing: {} for thing in things}

    def kept(self) -> set[Kind]:
        """Things that together are as good as all, none of which can be spared; of several choices the first ones.

        What beats comes before what it beats, but for those that beat each other, which are settled together.
        """
        found: set[Kind] = set()
        done: set[Kind] = set()
        for members in self._classes():
            staying = set(members)
            for thing in sorted(members, key=self.order.__getitem__, reverse=True):
                if self._is_covered(thing, done, staying - {thing}, members):
                    staying.discard(thing)
            found |= staying
            done.update(members)
        return found

    def _is_covered(self, thing: Kind, done: set[Kind], known: set[Kind], members: Sequence[Kind]) -> bool:
        """Whether something is never better than the best of what is done or known, step by step within its class."""
        left = [each for each in members if each not in known]
        while True:
            fresh = [
                each
                for each in left
                if any(all(one in done or one in known for one in family) for family in self.families[each])
            ]
            if thing in fresh:
                return True
            if not fresh:
                return False
            known = known.union(fresh)
            left = [each for each in left if each not in known]

    def _classes(self) -> list[list[Kind]]:
        """Things that beat each other, those first that beat the rest (Tarjan's components, with a stack)."""
        ahead = {
            thing: sorted({each for one in families for each in one}, key=self.order.__getitem__)
            for thing, families in self.families.items()
        }
        number: dict[Kind, int] = {}
        low: dict[Kind, int] = {}
        found: list[list[Kind]] = []
        path: list[Kind] = []
        on_path: set[Kind] = set()
        for start in self.order:
            if start in number:
                continue
            work = [(start, iter(ahead[start]))]
            number[start] = low[start] = len(number)
            path.append(start)
            on_path.add(start)
            while work:
                thing, rest = work[-1]
                step = next(rest, None)
                if step is None:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[thing])
                    if low[thing] == number[thing]:
                        members = path[path.index(thing) :]
                        del path[-len(members) :]
                        on_path.difference_update(members)
                        found.append(members)
                elif step not in number:
                    number[step] = low[step] = len(number)
                    path.append(step)
                    on_path.add(step)
                    work.append((step, iter(ahead[step])))
                elif step in on_path:
                    low[thing] = min(low[thing], number[step])
        return found


def unbeaten(
    things: Sequence[Kind], beaten_by: Callable[[Kind, int | None], Iterable[tuple[Kind, ...]]]
) -> tuple[Kind, ...]:
    """Those of some things, target sets or arms, that are needed: the rest are never better than the best of them.

    Single nodes W beat most.  Only what is unbeaten so far is compared further, until everything that is left has been
    compared with all.

    Parameters
    ----------
    things
        In order of preference: of those that beat each other the first is kept.
    beaten_by
        For a thing and the most nodes of W, families of things the best of which is at least as good in every model.
    """
    beaten = _Beaten(things)
    for thing in things:
        beaten.families[thing].update(dict.fromkeys(beaten_by(thing, 1)))
    compared: set[Kind] = set()
    while True:
        kept = beaten.kept()
        rest = [thing for thing in things if thing in kept and thing not in compared]
        if not rest:
            return tuple(thing for thing in things if thing in kept)
        for thing in rest:
            beaten.families[thing].update(dict.fromkeys(beaten_by(thing, None)))
            compared.add(thing)


def _sorted(sets: Iterable[Names]) -> tuple[Names, ...]:
    return tuple(sorted((tuple(sorted(each)) for each in sets), key=lambda names: (len(names), names)))


def _names(graph: CausalGraph, positions: Iterable[int]) -> Names:
    return tuple(graph.nodes[position] for position in sorted(positions))
