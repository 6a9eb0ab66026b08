"""A graph while it is being read: names and edges with the places they stood at, before they are checked as a whole.

Every reader fills a `Draft` and calls `finish`, so that limits, names, self-loops, cycles and hidden nodes are
judged in one place and by the same words, whatever the format.
"""

from __future__ import annotations

import heapq
import unicodedata
from typing import TYPE_CHECKING

from whichdo.errors import GraphError, GraphSyntaxError, Place, TooLargeError
from whichdo.graph.mixed import MAX_EDGES, MixedGraph
from whichdo.graph.projection import project, shortened
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MAX_EDGES", "MAX_NAME", "MAX_NODES", "Draft", "checked_name"]

MAX_NODES = 10_000
MAX_NAME = 128
MAX_STATEMENTS = 1_000_000  # edges with repeats
CYCLE_SEARCH_STEPS = 200_000
SELECTION = (
    "{} is marked as selected on: if only units chosen by it are in the data, what is computed from them is biased. "
    "Selection is not modelled."
)

Edge = tuple[int, int]


class Draft:
    """Nodes, edges and roles as they come; `finish` checks them and makes the graph.

    Names are declared by being mentioned.  A format that lists its nodes calls `known` on the ends of an edge first.
    Declaring a node or an edge again adds roles and is otherwise harmless.
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._hidden: set[int] = set()
        self._exposures: set[int] = set()
        self._outcomes: set[int] = set()
        self._selected: set[int] = set()
        self._arrows: dict[Edge, Place | None] = {}
        self._confounded: dict[Edge, Place | None] = {}
        self._statements = 0
        self._values: dict[str, tuple[str, ...]] = {}

    def node(
        self,
        name: str,
        place: Place | None = None,
        *,
        hidden: bool = False,
        exposure: bool = False,
        outcome: bool = False,
        selected: bool = False,
    ) -> None:
        """Declare a node, or give a declared one more roles.

        ``selected`` marks a node by which units came into the data.  The graph is the same; a note says what it means.
        """
        position = self._id(name, place)
        if hidden:
            self._hidden.add(position)
        if exposure:
            self._exposures.add(position)
        if outcome:
            self._outcomes.add(position)
        if selected:
            self._selected.add(position)

    def values(self, name: str, values: Sequence[str]) -> None:
        """Note the values that a file lists for a node."""
        self._values[checked_name(name)] = tuple(values)

    def arrow(self, tail: str, head: str, place: Place | None = None) -> None:
        """Add ``tail -> head``."""
        self._arrows.setdefault(self._ends(tail, head, "->", place), place)
        self._check_edges(place)

    def confounded(self, first: str, second: str, place: Place | None = None) -> None:
        """Add ``first <-> second``."""
        low, high = sorted(self._ends(first, second, "<->", place))
        self._confounded.setdefault((low, high), place)
        self._check_edges(place)

    def finish(self) -> MixedGraph:
        """The graph, hidden nodes projected out; an error names what keeps this from being one."""
        names = list(self._ids)
        order = self._order(names)
        rank = {position: new for new, position in enumerate(order)}
        parents: list[list[int]] = [[] for _ in order]
        siblings: list[list[int]] = [[] for _ in order]
        for tail, head in self._arrows:
            parents[rank[head]].append(rank[tail])
        for first, second in self._confounded:
            siblings[rank[first]].append(rank[second])
            siblings[rank[second]].append(rank[first])
        observed = [names[position] for position in order if position not in self._hidden]
        everything = MixedGraph.assemble(
            [names[position] for position in order],
            [sorted(row) for row in parents],
            [sorted(row) for row in siblings],
            exposures=self._observed_role(self._exposures, "exposure", names),
            outcomes=self._observed_role(self._outcomes, "outcome", names),
            notes=shortened([SELECTION.format(names[position]) for position in sorted(self._selected)]),
        )
        graph = project(everything, observed) if self._hidden else everything
        return graph.with_values(self._values) if self._values else graph

    def __bool__(self) -> bool:
        """Whether anything was declared at all."""
        return bool(self._ids)

    def _id(self, name: str, place: Place | None) -> int:
        if not isinstance(name, str):
            checked_name(name, place)  # refuses it
        position = self._ids.get(name)
        if position is not None:
            return position
        name = checked_name(name, place)
        if name not in self._ids and len(self._ids) >= MAX_NODES:
            raise TooLargeError(f"{_at(place)}the graph has more than {MAX_NODES:,} nodes, the limit.")
        return self._ids.setdefault(name, len(self._ids))

    def _ends(self, first: str, second: str, link: str, place: Place | None) -> Edge:
        ends = (self._id(first, place), self._id(second, place))
        if ends[0] == ends[1]:
            raise GraphSyntaxError(
                f"{_at(place)}{first} {link} {second} is a self-loop: a node cannot act on itself. Remove this edge.",
                place,
            )
        return ends

    def _check_edges(self, place: Place | None) -> None:
        self._statements += 1
        if self._statements > MAX_STATEMENTS:
            raise TooLargeError(f"{_at(place)}the file lists more than {MAX_STATEMENTS:,} edges, repeats included.")
        if len(self._arrows) + len(self._confounded) > MAX_EDGES:
            raise TooLargeError(f"{_at(place)}the graph has more than {MAX_EDGES:,} edges, the limit.")

    def _observed_role(self, positions: set[int], role: str, names: Sequence[str]) -> list[str]:
        both = sorted(positions & self._hidden)
        if both:
            raise GraphError(
                f"{quoted(names[both[0]])} is marked both hidden and {role}. "
                f"A hidden variable is never observed; drop one of the two marks."
            )
        return [names[position] for position in positions]

    def _order(self, names: Sequence[str]) -> list[int]:
        """Kahn's order with the earliest-mentioned node first among those that are ready."""
        children: list[list[int]] = [[] for _ in names]
        missing = [0] * len(names)
        for tail, head in self._arrows:
            children[tail].append(head)
            missing[head] += 1
        ready = [position for position, count in enumerate(missing) if count == 0]
        order = []
        while ready:
            position = heapq.heappop(ready)
            order.append(position)
            for child in children[position]:
                missing[child] -= 1
                if missing[child] == 0:
                    heapq.heappush(ready, child)
        if len(order) < len(names):
            raise GraphError(self._cycle_message(names, children, set(range(len(names))) - set(order)))
        return order

    def _cycle_message(self, names: Sequence[str], children: list[list[int]], rest: set[int]) -> str:
        cycle = _short_cycle(children, rest)
        first = cycle.index(min(cycle))  # begin with the node mentioned first
        cycle = [*cycle[first:], *cycle[:first]]
        loop = " -> ".join(_cut([*(names[position] for position in cycle), names[cycle[0]]]))
        places = [self._arrows[edge] for edge in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
        lines = sorted({place.line for place in places if place is not None})
        where = f" (line{'s' if len(lines) > 1 else ''} {', '.join(_cut(list(map(str, lines))))})" if lines else ""
        return f"The graph has a cycle: {loop}{where}. Remove one of these edges."


def checked_name(name: str, place: Place | None = None) -> str:
    """A node's name in Unicode's composed form (NFC), or an error where it could deceive a reader."""
    if not isinstance(name, str):
        raise GraphSyntaxError(
            f"{_at(place)}a node's name must be a string, not {type(name).__name__}: {name!r}.", place
        )
    if name.isascii() and name.isidentifier() and len(name) <= MAX_NAME:
        return name
    name = unicodedata.normalize("NFC", name)
    if not name or name != name.strip():
        raise GraphSyntaxError(
            f"{_at(place)}the name {quoted(name)} is empty or begins or ends with a blank. Give it a visible name.",
            place,
        )
    if len(name) > MAX_NAME:
        raise TooLargeError(
            f"{_at(place)}the name {quoted(name)} has {len(name):,} characters; {MAX_NAME} are allowed."
        )
    for character in name:
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") or _is_invisible(character):
            raise GraphSyntaxError(
                f"{_at(place)}the name {name!a} holds U+{ord(character):04X}, a control, invisible or "
                f"unassigned character. Remove it.",
                place,
            )
    return name


def _is_invisible(character: str) -> bool:
    """Characters without a shape: joiners, fillers and selectors that Unicode's categories do not set apart."""
    return character in "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0" or any(
        low <= character <= high
        for low, high in (("\u180b", "\u180f"), ("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"))
    )


def _at(place: Place | None) -> str:
    return f"{place}: " if place is not None else ""


def _cut(words: list[str]) -> list[str]:
    """A long list with its middle left out."""
    return words if len(words) <= 12 else [*words[:6], f"... {len(words) - 10:,} more ...", *words[-4:]]


def _short_cycle(children: list[list[int]], rest: set[int]) -> list[int]:
    """A shortest cycle among ``rest`` (nodes of which each has a predecessor in ``rest``).

    Breadth-first from each node, at most `CYCLE_SEARCH_STEPS` steps in all; a graph too large for that gets the
    shortest cycle met until then.
    """
    best = _any_cycle(children, rest)
    steps = 0
    for start in sorted(rest):
        came: dict[int, int] = {start: start}
        level = [start]
        depth = 1
        while level and depth < len(best) and steps < CYCLE_SEARCH_STEPS:
            following = []
            for position in level:
                for child in children[position]:
                    steps += 1
                    if child == start:
                        best = _walk_back(came, position, start)
                    elif child in rest and child not in came:
                        came[child] = position
                        following.append(child)
            level = following
            depth += 1
        if len(best) == 2 or steps >= CYCLE_SEARCH_STEPS:
            break
    return best


def _any_cycle(children: list[list[int]], rest: set[int]) -> list[int]:
    """Walk backwards inside ``rest`` until a node comes again."""
    parent = {child: position for position in sorted(rest) for child in children[position] if child in rest}
    walk = [min(rest)]
    seen = {walk[0]: 0}
    while True:
        before = parent[walk[-1]]
        if before in seen:
            return walk[seen[before] :][::-1]
        seen[before] = len(walk)
        walk.append(before)


def _walk_back(came: dict[int, int], position: int, start: int) -> list[int]:
    path = [position]
    while path[-1] != start:
        path.append(came[path[-1]])
    return path[::-1]
