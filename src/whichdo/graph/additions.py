"""What one more edge would undo: the independences that a graph implies and the graph with the edge does not.

An added edge e between u and v ties two nodes a and b given Z if an open walk uses it.  If a walk uses
it several times in the same direction, all between the first and the last can be left out.  So it is
enough to know where open walks of the graph as it is lead from a and from b: the edge joins the two
ends.  One case is left, where a walk goes along ``u -> v`` and comes back: then v acts on Z, u did not
before, and u or what acts on it is a collider that is now open.

That is three products of sets for a statement, for all edges at once, where asking each edited graph
would be one search for each of thousands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from whichdo.arrays import BoolArray
    from whichdo.graph.admg import CausalGraph
    from whichdo.graph.implied import Statement


class Undone(NamedTuple):
    """Which added edges undo a statement; ``arrows[u, v]`` is for ``u -> v``, ``hidden`` is symmetric."""

    arrows: BoolArray
    hidden: BoolArray


class Additions:
    """The edges that a graph could have besides its own, and what each would undo.

    Examples
    --------
    >>> from whichdo.graph.admg import CausalGraph
    >>> from whichdo.graph.implied import Statement
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
