"""Sets of nodes that belong together: Pa+, effective parents, and the parents that matter.

Written for an ADMG with c-components S.  *Pa+(S)* is S with the parents of its members.  The *effective parents* of a
node, in the order of the graph, are what it must be conditioned on for the joint law to factorise although causes are
hidden: P(v) = product of P(v_i | Z_i).  The paper's Algorithm 3 calls the network with these parents D.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.graph.admg import CausalGraph


def with_parents(graph: CausalGraph, names: Iterable[str]) -> tuple[str, ...]:
    """Pa+(S): the nodes of S and their parents, in topological order.  Pa^c(X) is this for S = cc(X), without X."""
    members = {graph.index(name) for name in names}
    members |= {parent for member in list(members) for parent in graph.parent_ids[member]}
    return tuple(graph.nodes[position] for position in sorted(members))


def effective_parents(graph: CausalGraph) -> dict[str, tuple[str, ...]]:
    """The smallest set Z of earlier nodes that screens each node off from all other earlier ones.

    With T the c-component of v in the graph cut down to v and the nodes before it, Z = Pa+(T) without v.  Any set
    between this one and all earlier nodes gives the same exact law; the smallest needs the fewest samples.
    """
    group_of: list[int] = []
    groups: list[set[int]] = []
    result: dict[str, tuple[str, ...]] = {}
    for position, name in enumerate(graph.nodes):
        merged = {position}
        for other in graph.sibling_ids[position]:
            if other < position and other not in merged:
                merged |= groups[group_of[other]]
        for member in merged - {position}:
            group_of[member] = position
        group_of.append(position)
        groups.append(merged)
        around = merged.union(*(graph.parent_ids[member] for member in merged)) - {position}
        result[name] = tuple(graph.nodes[other] for other in sorted(around))
    return result


def backdoor_parents(graph: CausalGraph, node: str, reward: str) -> tuple[str, ...]:
    """The parents of ``node`` that a back-door path to ``reward`` needs blocked; adjusting for these is enough.

    For a node without hidden confounder of its own.  This is the paper's footnote "only parents on the backdoor
    paths" made precise: drop parents while ``node`` and ``reward`` stay separated by the rest once the edges out of
    ``node`` are cut.  The order of dropping does not matter: a parent must stay just when a path leads from the
    reward to it that avoids all other parents, so one search from the reward finds all that stay.
    """
    start, goal = graph.index(node), graph.index(reward)
    alive = {graph.index(name) for name in graph.ancestors([node, reward])}
    parents = set(graph.parent_ids[start])
    stay = {goal} & parents
    seen = {start, goal}
    done: set[int] = set()
    stack = [goal] if goal not in parents else []
    while stack:
        position = stack.pop()
        for head in (position, *graph.child_ids[position]):
            if head not in alive or head in done or head == start:
                continue
            # One c-component with its parents is a clique of the moral graph: all of it is reached at once.
            district = _district(graph, head, alive)
            done |= district
            around = district.union(*(graph.parent_ids[member] for member in district))
            fresh = around - seen
            seen |= fresh
            stay |= fresh & parents
            stack.extend(fresh - parents)
    return tuple(graph.nodes[position] for position in sorted(stay))


def _district(graph: CausalGraph, start: int, alive: set[int]) -> set[int]:
    found = {start}
    stack = [start]
    while stack:
        for other in graph.sibling_ids[stack.pop()]:
            if other in alive and other not in found:
                found.add(other)
                stack.append(other)
    return found


# ------------------------------------------------------------------------------------------------------ back-door paths

# E[Y | do(X=x)] = E[Y | X=x] holds in every network with a given graph just when nothing but X itself ties X to Y:
# once the edges out of X are cut, no path without a collider joins the two.  Such a path climbs from X against the
# arrows, may cross one bidirected edge, and falls along the arrows to Y.  (Y above X is one too: Y -> X.)


def backdoor_path(graph: CausalGraph, node: str, reward: str) -> str | None:
    """A path that ties ``node`` to ``reward`` other than by what ``node`` does; None where conditioning is right.

    >>> from whichdo.graph.admg import CausalGraph
    >>> backdoor_path(CausalGraph.parse("Z -> A -> X -> Y; Z -> Y"), "X", "Y")
    'X <- A <- Z -> Y'
    """
    start, goal = graph.index(node), graph.index(reward)
    above = _above(graph, start)
    # X does not stand above Y here: its own edges are cut.
    beyond = _above(graph, goal, without=start)
    names = graph.nodes
    for position in above:  # the nearest to X first
        rise = " <- ".join(names[step] for step in reversed(_steps(above, position)))
        if position in beyond:
            return " -> ".join([rise, *(names[step] for step in _steps(beyond, position)[1:])])
        for other in graph.sibling_ids[position]:
            if other in beyond:
                return f"{rise} <-> {' -> '.join(names[step] for step in _steps(beyond, other))}"
    return None


def _above(graph: CausalGraph, start: int, without: int = -1) -> dict[int, int]:
    """The ancestors of a node, the nearest first, each with the next node on the way down to it."""
    came = {start: start}
    level = [start]
    while level:
        following = []
        for position in level:
            for parent in graph.parent_ids[position]:
                if parent not in came and parent != without:
                    came[parent] = position
                    following.append(parent)
        level = following
    return came


def _steps(came: dict[int, int], position: int) -> list[int]:
    """From an ancestor down to the node that the search began with."""
    steps = [position]
    while came[steps[-1]] != steps[-1]:
        steps.append(came[steps[-1]])
    return steps
