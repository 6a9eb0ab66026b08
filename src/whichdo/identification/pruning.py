"""Which target sets can be best at all, whatever the mechanisms: the graph alone rules the others out.

*Minimal sets* (MIS).  do(X) with a member that does not act on the reward once the others are set
equals do() of fewer nodes; a set is minimal if every member acts.  All other sets are equal to a
minimal one.

*Possibly optimal sets* (POMIS; Lee and Bareinboim 2018).  Start with the reward, add all that
hidden causes tie to it and all that these act on, until nothing is added: this *territory* is where
a confounder could tell the nodes something about the reward that those who set them do not know.
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

What is *unbeaten* is found for things of any kind, target sets here and arms in
`whichdo.candidates`.  A *family* of a thing are others of which the best is at least as good.
Where families make circles, things that beat each other, one of each circle must stay; so a thing
is only left out where those that stay explain it step by step.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain, combinations, islice
from typing import TYPE_CHECKING, Generic, TypeVar

from whichdo.errors import TooLargeError, UsageError
from whichdo.graph.projection import project
from whichdo.graph.separation import m_separated, without_arrows, without_edges_into
from whichdo.identification.engine import checked_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from whichdo.graph.admg import CausalGraph
    from whichdo.identification.estimand import Names


MAX_SETS = 100_000
MAX_TRIES = 1 << 12  # sets W that are tried before an arm is kept: to stop early is never wrong


def possibly_optimal(
    graph: CausalGraph, reward: str, at_once: int | None = None, fixed: Iterable[str] = ()
) -> tuple[Names, ...]:
    """List the target sets that can be best in some model with this graph.

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

    Returns
    -------
    tuple of tuple of str
        The sets, each a sorted tuple, smaller ones first; () stands for do().

    Raises
    ------
    TooLargeError
        If more than 100,000 sets would have to be examined.

    Examples
    --------
    With an instrument, looking is never best, for setting Z or X is at least as good:

    >>> import whichdo as wd
    >>> graph = wd.CausalGraph.parse("Z -> X -> Y; X <-> Y")
    >>> wd.possibly_optimal(graph, "Y")
    (('X',), ('Z',))
    >>> wd.possibly_optimal(graph, "Y", fixed=["Z"])
    ((), ('X',))
    """
    if at_once is not None and at_once < 0:
        raise UsageError(f"`at_once` is {at_once}; it is a number of nodes.")
    within = _acting(graph, reward, fixed)
    if at_once is None or at_once >= len(within.nodes) - 1:
        return _sort(set(_borders(within, reward)))
    return _unbeaten(within, reward, at_once)


def minimal_sets(graph: CausalGraph, reward: str, fixed: Iterable[str] = ()) -> tuple[Names, ...]:
    """List the target sets in which every node acts on the reward once the others are set.

    Parameters
    ----------
    graph
        The causal graph.
    reward
        The node to be made large or small.
    fixed
        Nodes that cannot be set.

    Returns
    -------
    tuple of tuple of str
        The sets, ordered as by `possibly_optimal`; () stands for do().

    Raises
    ------
    TooLargeError
        If there are more than 100,000.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.minimal_sets(wd.CausalGraph.parse("Z -> X -> Y"), "Y")
    ((), ('X',), ('Z',))
    """
    within = _acting(graph, reward, fixed)
    return _sort(set(_counted(_minimal(within, reward, len(within.nodes)), "minimal target sets")))


def territory(graph: CausalGraph, reward: str) -> tuple[Names, Names]:
    """The nodes that hidden causes and arrows tie to the reward, and their border; see the module.

    The paper's MUCT (minimal unobserved confounders' territory) and IB (interventional border), among what acts on
    the reward.
    """
    bits = _Bits(graph, reward)
    inside, border = bits.territory(bits.everything, 0)
    return bits.names(inside), bits.names(border)


def dominating_sets(
    graph: CausalGraph,
    targets: Names,
    reward: str,
    offered: Callable[[Names], bool],
    fixed: Iterable[str] = (),
    widest: int | None = None,
    tries: int | None = None,
) -> Iterator[tuple[Names, Names]]:
    """Every target set that is at least as good as another, with the nodes W that it sets in addition.

    ``graph``, ``reward``: the causal graph, and the node to be made large or small.
    ``targets``: the set that may be beaten: minimal, each member acts on the reward once the others are set.
    ``offered``: whether a target set, sorted, can be set at all.
    ``fixed``: nodes that cannot be set to every value they have, which W may not hold.
    ``widest``: the most members that W may have.
    ``tries``: the most W that are tried; 4,096 at most, and by default.
    Yields the better set and W, small W first.
    """
    cut = without_edges_into(graph, targets)
    out = {*targets, reward, *fixed}
    free = [graph.index(name) for name in cut.ancestors([reward]) if name not in out]
    goal, chosen = graph.index(reward), frozenset(map(graph.index, targets))
    most = MAX_TRIES if tries is None else min(tries, MAX_TRIES)
    sizes = range(1, (len(free) if widest is None else min(widest, len(free))) + 1)
    for added in islice(chain.from_iterable(combinations(free, size) for size in sizes), most):
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


class _Bits:
    """A graph as sets of nodes that are whole numbers, a bit for each: the recursion asks for very many territories."""

    def __init__(self, graph: CausalGraph, reward: str) -> None:
        self.graph, self.goal = graph, 1 << graph.index(reward)
        self.everything = (1 << len(graph.nodes)) - 1
        self.parents = [sum(1 << tail for tail in row) for row in graph.parent_ids]
        self.tied = [
            sum(1 << other for other in {*row, *graph.sibling_ids[position]})
            for position, row in enumerate(graph.child_ids)
        ]

    def territory(self, alive: int, cut: int) -> tuple[int, int]:
        """Of the nodes that are alive, without edges into some of them: see the function of this name."""
        acting = new = self.goal
        while new:
            bit = new & -new
            new ^= bit
            if not bit & cut:
                fresh = self.parents[bit.bit_length() - 1] & alive & ~acting
                acting |= fresh
                new |= fresh
        inside = new = self.goal
        border = 0
        room = acting & ~cut
        while new:
            bit = new & -new
            new ^= bit
            place = bit.bit_length() - 1
            border |= self.parents[place]
            fresh = self.tied[place] & room & ~inside
            inside |= fresh
            new |= fresh
        return inside, border & acting & ~inside

    def names(self, chosen: int) -> Names:
        """In the order of the graph."""
        return tuple(name for place, name in enumerate(self.graph.nodes) if chosen >> place & 1)


def _borders(graph: CausalGraph, reward: str) -> Iterator[Names]:
    """Lee and Bareinboim's recursion (2018, Algorithm 1), with a stack of its own."""
    bits = _Bits(graph, reward)
    inside, border = bits.territory(bits.everything, 0)
    found = {border}
    order = [1 << place for place in reversed(range(len(graph.nodes)))]
    stack = [(inside | border, border, [bit for bit in order if bit & inside and bit != bits.goal], 0)]
    while stack and len(found) <= MAX_SETS:
        alive, cut, order, seen = stack.pop()
        for number, bit in enumerate(order):
            inside, border = bits.territory(alive, cut | bit)
            if not border & seen:
                found.add(border)
                following = [other for other in order[number + 1 :] if other & inside]
                if following:
                    stack.append((inside | border, cut | bit | border, following, seen))
            seen |= bit
    return _counted(map(bits.names, found), "target sets that can be best")


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
            raise TooLargeError(
                f"There are more than {MAX_SETS:,} {what}. Set fewer nodes at once (`at_once`), or name those that "
                f"cannot be set (`fixed`)."
            )
        yield each


# ------------------------------------------------------------------------------------------------------ at most k nodes


def _unbeaten(graph: CausalGraph, reward: str, most: int) -> tuple[Names, ...]:
    """The minimal sets of at most so many nodes that no other beats, the smallest of those that beat each other."""
    candidates = _sort(set(_counted(_minimal(graph, reward, most), "target sets to compare")))

    def beaten_by(targets: Names, widest: int | None) -> Iterator[tuple[Names, ...]]:
        better = dominating_sets(graph, targets, reward, lambda names: len(names) <= most, widest=widest)
        return ((names,) for names, _ in better)

    return _sort(unbeaten(candidates, beaten_by))


def _as_good_as_seen(cut: CausalGraph, targets: Names, reward: str, added: Names) -> bool:
    """The second rule of the do-calculus: setting the added nodes is seeing them."""
    return m_separated(without_arrows(cut, added), added, [reward], targets)


def _sort(sets: Iterable[Names]) -> tuple[Names, ...]:
    return tuple(sorted((tuple(sorted(each)) for each in sets), key=lambda names: (len(names), names)))


def _names(graph: CausalGraph, positions: Iterable[int]) -> Names:
    return tuple(graph.nodes[position] for position in sorted(positions))


Kind = TypeVar("Kind", bound=Hashable)


def unbeaten(
    things: Sequence[Kind], beaten_by: Callable[[Kind, int | None], Iterable[tuple[Kind, ...]]]
) -> tuple[Kind, ...]:
    """Those of some things, target sets or arms, that are needed: the rest are never better than the best of them.

    Single nodes W beat most.  Only what is unbeaten so far is compared further, until everything that is left has been
    compared with all.

    ``things``: in order of preference: of those that beat each other the first is kept.
    ``beaten_by``: for a thing and the most nodes of W, families of things the best of which is at least as good in
    every model.
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
