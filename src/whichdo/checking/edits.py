"""Every graph that differs from a given one by a single edge, and which of these edges logs point to.

Somebody drew the graph, and the likeliest mistake is one edge: an arrow that is not there, one that
is missing, a hidden common cause nobody thought of.  An *edit* drops or adds one arrow, or drops or
adds one ``<->``.  Arrows are added where the graph stays acyclic; an arrow between two nodes that an
arrow joins already would turn it around, which is two edits.

Edits are listed among the nodes that act on the reward: an edge elsewhere changes no arm unless a
second one is wrong too.

Where logs deny statements of the graph, some edits are *suspects* (`likely_missing`).  One wrong edge may make many
statements fail.  An edge *explains* a statement if the graph with the edge does not imply it.  The edge that explains
most is the likeliest to be missing.  Of edges that explain the same, those between two nodes that turned out dependent
are named, and of the others those that would undo fewest of the statements that hold.  What they leave unexplained is
explained in turn.

What one more edge would undo (`Additions`) are independences that the graph implies and the graph
with the edge does not.  An added edge e between u and v ties two nodes a and b given Z if an open
walk uses it.  If a walk uses it several times in the same direction, all between the first and the
last can be left out.  So it is enough to know where open walks of the graph as it is lead from a
and from b: the edge joins the two ends.  One case is left, where a walk goes along ``u -> v`` and
comes back: then v acts on Z, u did not before, and u or what acts on it is a collider that is now
open.

That is three products of sets for a statement, for all edges at once, where asking each edited graph
would be one search for each of thousands.

What an edit does to the decision is an `EditOutcome`.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.errors import TooLargeError, UsageError
from whichdo.estimate.limits import normal_quantile
from whichdo.graph.admg import CausalGraph
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whichdo.arrays import BoolArray, FloatArray
    from whichdo.graph.separation import Statement
    from whichdo.problem import Arm

    Rows = Sequence[tuple[int, ...]]


class Undone(NamedTuple):
    """Which added edges undo a statement; ``arrows[u, v]`` is for ``u -> v``, ``hidden`` is symmetric."""

    arrows: BoolArray
    hidden: BoolArray


class Additions:
    """The edges that a graph could have besides its own, and what each would undo.

    Examples
    --------
    >>> from whichdo.graph.admg import CausalGraph
    >>> from whichdo.graph.separation import Statement
    >>> graph = CausalGraph.parse("Z -> X -> Y")
    >>> found = Additions(graph).undone_by(Statement("Z", "Y", ("X",)))
    >>> bool(found.hidden[graph.index("X"), graph.index("Y")])
    True
    """

    def __init__(self, graph: CausalGraph) -> None:
        self.graph = graph
        size = len(graph.nodes)
        self._below = np.eye(size, dtype=bool)  # [u, v]: v is u or a descendant of it
        for node in reversed(range(size)):
            for child in graph.child_ids[node]:
                self._below[node] |= self._below[child]
        arrows = np.zeros((size, size), bool)
        hidden = np.zeros((size, size), bool)
        for node in range(size):
            arrows[list(graph.parent_ids[node]), node] = True
            hidden[list(graph.sibling_ids[node]), node] = True
        #: Arrows that are missing and leave the graph acyclic, and pairs without a hidden cause, each once.
        self.possible = Undone(~arrows & ~self._below.T, np.triu(~hidden, 1))

    def undone_by(self, statement: Statement) -> Undone:
        """The possible edges with which a statement that the graph implies is implied no more."""
        graph = self.graph
        known = np.zeros(len(graph.nodes), bool)
        known[[graph.index(name) for name in statement.given]] = True
        above_known = self._below[:, known].any(axis=1)
        met, left = zip(
            *(self._walks(graph.index(end), known) for end in (statement.left, statement.right)), strict=True
        )
        both = met[0] & met[1]
        arrows = np.outer(met[0], left[1]) | np.outer(met[1], left[0]) | np.outer(both, above_known)
        hidden = np.outer(left[0], left[1])
        return Undone(arrows & self.possible.arrows, (hidden | hidden.T) & self.possible.hidden)

    def chosen(self, statement: Statement) -> BoolArray:
        """Which of the possible `edges` undo a statement, in their order."""
        undone = self.undone_by(statement)
        return np.concatenate([undone.hidden[self.possible.hidden], undone.arrows[self.possible.arrows]])

    def _walks(self, start: int, known: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Where open walks lead: nodes that one may leave by an arrow out, and those by an edge with a head at them."""
        graph = self.graph
        # Entered by an arrowhead (1) or by the tail of an edge out of it (0), as in `m_separated`.
        seen = np.zeros((2, len(known)), bool)
        seen[0, start] = True
        stack = [(start, 0)]
        while stack:
            node, by_head = stack.pop()
            onward: list[tuple[int, int]] = []
            if not known[node]:
                onward += [(child, 1) for child in graph.child_ids[node]]
            if known[node] == by_head:
                onward += [(parent, 0) for parent in graph.parent_ids[node]]
                onward += [(sibling, 1) for sibling in graph.sibling_ids[node]]
            for step in onward:
                if not seen[step[1], step[0]]:
                    seen[step[1], step[0]] = True
                    stack.append(step)
        return seen.any(axis=0) & ~known, np.where(known, seen[1], seen[0])

    def edges(self, chosen: Undone) -> tuple[tuple[str, str, str], ...]:
        """Chosen edges as (tail, ``->`` or ``<->``, head), hidden causes first."""
        names = self.graph.nodes
        return tuple(
            (names[int(one)], mark, names[int(other)])
            for mark, matrix in (("<->", chosen.hidden), ("->", chosen.arrows))
            for one, other in np.argwhere(matrix)
        )


MOST_EDITS = 20_000
"""The most edits that are examined: all those among about 115 nodes."""


@dataclass(frozen=True)
class Edit:
    """One edge that is dropped or added; ``str()`` is ``add X <-> Y`` or ``drop X -> Y``."""

    adds: bool
    hidden: bool
    """Whether the edge is a ``<->``."""
    tail: str
    head: str
    """Of a ``<->`` the end that comes later in the order of the graph."""

    @property
    def edge(self) -> str:
        """``X <-> Y`` or ``X -> Y``."""
        return f"{self.tail} {'<->' if self.hidden else '->'} {self.head}"

    @property
    def ends(self) -> tuple[str, str]:
        """Tail and head."""
        return self.tail, self.head

    def __str__(self) -> str:
        return f"{'add' if self.adds else 'drop'} {self.edge}"

    def apply(self, graph: CausalGraph) -> CausalGraph:
        """The edited graph: the same nodes and roles, in the same order unless an added arrow forbids it.

        Examples
        --------
        >>> graph = CausalGraph.parse("X -> M -> Y")
        >>> Edit(True, True, "X", "Y").apply(graph) == CausalGraph.parse("X -> M -> Y; X <-> Y")
        True
        """
        tail, head = graph.index(self.tail), graph.index(self.head)
        if self.hidden:
            rows = _change(graph.sibling_ids, head, tail, adds=self.adds)
            siblings = _change(rows, tail, head, adds=self.adds)
            return _assemble(graph, graph.parent_ids, siblings)
        parents = _change(graph.parent_ids, head, tail, adds=self.adds)
        if self.adds and tail > head:
            return _reorder(graph, parents)
        return _assemble(graph, parents, graph.sibling_ids)


def single_edits(graph: CausalGraph, among: Iterable[str]) -> tuple[Edit, ...]:
    """Every edit whose two ends are both among some nodes; arrows first, then ``<->``, each in the order of the graph.

    ``among``: some of its nodes, such as the ancestors of the reward.
    Raises `TooLargeError` if there are more than `MOST_EDITS`; this is known before any is made.

    Examples
    --------
    >>> [str(edit) for edit in single_edits(CausalGraph.parse("X -> Y"), ["X", "Y"])]
    ['drop X -> Y', 'add X <-> Y']
    """
    if isinstance(among, str):
        raise UsageError(f"`among` is the string {quoted(among)}; give a list of names, such as [{quoted(among)}].")
    places = sorted({graph.index(name) for name in among})
    pairs = len(places) * (len(places) - 1) // 2
    least = 2 * pairs  # of each pair its <->, and an arrow that is there or could be
    if least > MOST_EDITS:
        raise TooLargeError(
            f"{len(places):,} nodes can be joined in {least:,} ways or more; at most {MOST_EDITS:,} edits are looked "
            f"at. Name the nodes whose edges are in doubt (among)."
        )
    found = (*_arrows(graph, places), *_hidden(graph, places))
    if len(found) > MOST_EDITS:
        raise TooLargeError(
            f"There are {len(found):,} edits among {len(places):,} nodes; at most {MOST_EDITS:,} are examined. "
            f"Name the nodes whose edges are in doubt (among)."
        )
    return found


def _arrows(graph: CausalGraph, places: list[int]) -> Iterator[Edit]:
    below = _descendants(graph)
    for first in places:
        for second in places:
            if first == second:
                continue
            tail, head = graph.nodes[first], graph.nodes[second]
            if first in graph.parent_ids[second]:
                yield Edit(False, False, tail, head)
            elif not below[second] >> first & 1:
                yield Edit(True, False, tail, head)


def _hidden(graph: CausalGraph, places: list[int]) -> Iterator[Edit]:
    for number, first in enumerate(places):
        for second in places[number + 1 :]:
            there = second in graph.sibling_ids[first]
            yield Edit(not there, True, graph.nodes[first], graph.nodes[second])


def _descendants(graph: CausalGraph) -> list[int]:
    """For each node the nodes below it, itself included, as bits."""
    below = [1 << position for position in range(len(graph.nodes))]
    for position in reversed(range(len(graph.nodes))):
        for child in graph.child_ids[position]:
            below[position] |= below[child]
    return below


def _change(rows: Rows, row: int, entry: int, *, adds: bool) -> Rows:
    """Rows of positions with one entry of one row added or dropped."""
    kept = [other for other in rows[row] if other != entry]
    fresh = tuple(sorted([*kept, entry])) if adds else tuple(kept)
    return (*rows[:row], fresh, *rows[row + 1 :])


def _reorder(graph: CausalGraph, parents: Rows) -> CausalGraph:
    """The graph with these parents in a topological order, the node that came first going first where several can."""
    missing = [len(row) for row in parents]
    children: list[list[int]] = [[] for _ in parents]
    for head, row in enumerate(parents):
        for tail in row:
            children[tail].append(head)
    ready = [node for node, count in enumerate(missing) if not count]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for child in children[order[-1]]:
            missing[child] -= 1
            if not missing[child]:
                heapq.heappush(ready, child)
    place = {old: new for new, old in enumerate(order)}
    rows = [
        [tuple(sorted(place[other] for other in part[old])) for old in order] for part in (parents, graph.sibling_ids)
    ]
    return _assemble(graph, rows[0], rows[1], [graph.nodes[old] for old in order])


def _assemble(graph: CausalGraph, parents: Rows, siblings: Rows, nodes: Sequence[str] | None = None) -> CausalGraph:
    return CausalGraph.assemble(
        nodes or graph.nodes, parents, siblings, hidden=graph.hidden, exposures=graph.exposures, outcomes=graph.outcomes
    )


# ------------------------------------------------------------------------------------------------------------- suspects

MOST_GROUPS = 4
"""Edges that are thought to be missing at the same time; where more are needed, the graph is wrong all over."""
MOST_FAILING = 500
"""Failing statements that are explained; where there are more, the first show what is wrong."""


def likely_missing(
    graph: CausalGraph, failing: Sequence[Statement], holding: Sequence[Statement]
) -> tuple[tuple[Edit, ...], ...]:
    """The edges that would explain the failing statements: a group for each edge needed, alternatives within it.

    ``failing``: statements of it that the logs deny, the strongest first.
    ``holding``: statements that were tested and not denied.
    Returns at most four groups; in each the edges between nodes of a failing statement first.
    """
    additions = Additions(graph)
    edges = [_addition(*edge) for edge in additions.edges(additions.possible)]
    spoilt = sum((additions.chosen(each) for each in holding), np.zeros(len(edges), np.int64))
    asked = failing[:MOST_FAILING]
    left = np.array([additions.chosen(each) for each in asked]).reshape(len(asked), len(edges))
    groups: list[tuple[Edit, ...]] = []
    while left.any() and len(groups) < MOST_GROUPS:
        explained = left.sum(axis=0)
        best = np.flatnonzero(explained == explained.max())
        lead = best[np.argmin(spoilt[best])]
        alike = [place for place in best if (left[:, place] == left[:, lead]).all()]
        pairs = [{each.left, each.right} for each, explains in zip(asked, left[:, lead], strict=True) if explains]
        own = [edges[place] for pair in pairs for place in alike if set(edges[place].ends) == pair]
        other = [edges[place] for place in alike if spoilt[place] == spoilt[lead]]
        groups.append(tuple(dict.fromkeys([*own, *other])))
        left = left & ~left[:, [lead]]
    return tuple(groups)


def unseen_edges(
    graph: CausalGraph, statements: Sequence[Statement], pairs: Sequence[tuple[str, str]], among: Sequence[str]
) -> tuple[Edit, ...]:
    """Edges that undo no statement, so that logs look the same with and without them: only experiments can show them.

    ``statements``: all that it implies.
    ``pairs``: the pairs that no set separates: an edge between others undoes what separates them.
    ``among``: the nodes to speak of, such as those that act on the reward.
    """
    additions = Additions(graph)
    arrows, hidden = (each.copy() for each in additions.possible)
    asked = np.zeros_like(arrows)
    wanted = set(among)
    for one, other in pairs:
        if one in wanted and other in wanted:
            first, second = graph.index(one), graph.index(other)
            asked[first, second] = asked[second, first] = True
    arrows &= asked
    hidden &= asked
    for statement in statements:
        if not (arrows.any() or hidden.any()):
            break
        undone = additions.undone_by(statement)
        arrows &= ~undone.arrows
        hidden &= ~undone.hidden
    return tuple(_addition(*edge) for edge in additions.edges(Undone(arrows, hidden)))


def _addition(tail: str, mark: str, head: str) -> Edit:
    return Edit(True, mark == "<->", tail, head)


REACH = normal_quantile(0.975) + normal_quantile(0.8)
"""How many standard errors a difference must be to be found: 5% two-sided, power 80%."""


@dataclass(frozen=True)
class Predictions:
    """What each graph says of each arm, from looks and pulls together: a row for each graph, that of today last.

    On a scale of the reward from 0 to 1.
    """

    means: FloatArray
    ranked: BoolArray
    """Which arms can be compared."""
    errors: FloatArray
    """The variance of each mean; what was never seen is in it."""
    spreads: FloatArray
    """The variance of one pull."""

    @classmethod
    def empty(cls, rows: int, arms: int) -> Predictions:
        """Nothing known yet."""
        means, errors, spreads = (np.full((rows, arms), np.nan) for _ in range(3))
        return cls(means, np.zeros((rows, arms), bool), errors, spreads)

    def __getitem__(self, at: Any) -> Predictions:
        """Some of the numbers, as of an array."""
        return Predictions(self.means[at], self.ranked[at], self.errors[at], self.spreads[at])


class Pulls(NamedTuple):
    """An arm and how many pulls of it."""

    arm: Arm
    pulls: int


@dataclass(frozen=True)
class EditOutcome:
    """How the decision would change if one edge of the graph were different; unknown values are None.

    Attributes
    ----------
    change
        The edit itself.
    best_estimate
        The mean reward of ``best`` under the edited graph.
    """

    edit: str
    """In words: ``add X <-> Y``."""
    change: Edit
    best: Arm | None
    """The best arm of the edited graph."""
    best_estimate: float | None
    estimate: float | None
    """Of today's choice under the edited graph; None where looking does not settle it there."""
    regret: float | None
    """How much better the best arm of the edited graph is than today's choice; 0 if it is the best there too."""
    refuted: bool | None
    """Whether the logs contradict the edited graph; None where that was not tested."""
    settled_by: Pulls | None
    """The pulls that would tell the edited graph from today's; None if no arm's mean differs enough."""

    @property
    def keeps(self) -> bool:
        """Whether today's choice is the best, or as good, under the edited graph too."""
        return self.regret == 0

    @property
    def matters(self) -> bool:
        """Whether today's choice might be wrong because of it: the choice changes, and the logs do not object."""
        return not self.keeps and not self.refuted

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        return {
            "edit": self.edit,
            "best": None if self.best is None else self.best.to_dict(),
            "best_estimate": self.best_estimate,
            "estimate": self.estimate,
            "regret": self.regret,
            "refuted": self.refuted,
            "settled_by": None if self.settled_by is None else self.settled_by.arm.to_dict(),
            "pulls": None if self.settled_by is None else self.settled_by.pulls,
        }


def pulls_to_tell(differences: FloatArray, spreads: FloatArray, errors: FloatArray) -> FloatArray:
    """How many pulls find that a mean differs from what was predicted; infinite where no number does.

    ``differences``: between the mean and the prediction.
    ``spreads``: the variance of one pull.
    ``errors``: the variance of the prediction, which pulls do not reduce.
    """
    room = (differences / REACH) ** 2 - errors
    enough = room > 0
    needed = np.divide(spreads, room, out=np.full(room.shape, np.inf), where=enough)
    return np.where(np.isnan(needed), np.inf, np.maximum(np.ceil(needed), 1.0))
