"""Nodes with directed and bidirected edges: what reading, hiding, writing and drawing a graph work on.

Users meet these as a `whichdo.CausalGraph`, which can also be parsed and asked about causes.
"""

from __future__ import annotations

import unicodedata
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from whichdo.errors import GraphError
from whichdo.frozen import Frozen
from whichdo.text import nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


#: The most edges of a graph, whether it was read so or projected.
MAX_EDGES = 200_000

Adjacency = tuple[tuple[int, ...], ...]


class MixedGraph(Frozen):
    """An immutable graph by positions; equal to another if nodes (in order), edges and roles are."""

    nodes: tuple[str, ...]
    hidden: frozenset[str]
    exposures: frozenset[str]
    outcomes: frozenset[str]
    notes: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]

    #: The edges by position in ``nodes``, each row ascending: what the algorithms work on.
    parent_ids: Adjacency
    sibling_ids: Adjacency

    @classmethod
    def assemble(
        cls,
        nodes: Sequence[str],
        parent_ids: Sequence[Sequence[int]],
        sibling_ids: Sequence[Sequence[int]],
        hidden: Iterable[str] = (),
        exposures: Iterable[str] = (),
        outcomes: Iterable[str] = (),
        notes: Iterable[str] = (),
        values: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Self:
        """Make a graph from parts known to be right, without checking them; users call the class itself.

        Parameters
        ----------
        nodes
            The names, in topological order.
        parent_ids
            For each node the positions of its parents, ascending.
        sibling_ids
            For each node the positions of the nodes it shares a hidden cause with, ascending.
        hidden, exposures, outcomes
            The names with these roles.
        notes
            Remarks on reading the graph.
        values
            Values that a file lists for nodes.

        Returns
        -------
        CausalGraph
            The graph.
        """
        graph = object.__new__(cls)
        fill = graph.__dict__
        fill["nodes"] = tuple(nodes)
        fill["parent_ids"] = tuple(map(tuple, parent_ids))
        fill["sibling_ids"] = tuple(map(tuple, sibling_ids))
        fill["hidden"] = frozenset(hidden)
        fill["exposures"] = frozenset(exposures)
        fill["outcomes"] = frozenset(outcomes)
        fill["notes"] = tuple(notes)
        fill["values"] = MappingProxyType(dict(values or {}))
        return graph

    def with_values(self, values: Mapping[str, tuple[str, ...]]) -> Self:
        """Copy the graph with the values that a file lists for its nodes.

        Parameters
        ----------
        values
            Values by node; names that are not nodes are ignored.

        Returns
        -------
        CausalGraph
            An equal graph.
        """
        known = {name: tuple(each) for name, each in values.items() if name in self}
        return self.assemble(
            self.nodes, self.parent_ids, self.sibling_ids, self.hidden, self.exposures, self.outcomes, self.notes, known
        )

    @cached_property
    def child_ids(self) -> Adjacency:
        """The children of each node by position, ascending."""
        rows: list[list[int]] = [[] for _ in self.nodes]
        for head, parents in enumerate(self.parent_ids):
            for tail in parents:
                rows[tail].append(head)
        return tuple(map(tuple, rows))

    @cached_property
    def directed(self) -> frozenset[tuple[str, str]]:
        """All ``X -> Y`` as pairs ``(X, Y)``."""
        names = self.nodes
        return frozenset((names[tail], names[head]) for head, row in enumerate(self.parent_ids) for tail in row)

    @cached_property
    def bidirected(self) -> frozenset[frozenset[str]]:
        """All ``X <-> Y`` as sets ``{X, Y}``."""
        names = self.nodes
        return frozenset(
            frozenset((names[first], names[second]))
            for first, row in enumerate(self.sibling_ids)
            for second in row
            if first < second
        )

    def index(self, name: str) -> int:
        """Return the position of a node in ``nodes``.

        Parameters
        ----------
        name
            The node.

        Returns
        -------
        int
            Its position.

        Raises
        ------
        GraphError
            If the graph has no such node; the message lists the nearest names.
        """
        position = self._position(name)
        if position is None:
            raise GraphError(self._unknown(name))
        return position

    def __contains__(self, name: object) -> bool:
        return self._position(name) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MixedGraph) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def parts(self) -> tuple[Any, ...]:
        """What `assemble` takes to make the graph again."""
        roles = (self.hidden, self.exposures, self.outcomes)
        return (self.nodes, self.parent_ids, self.sibling_ids, *roles, self.notes, dict(self.values))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self).assemble, self.parts)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.nodes)}

    def _position(self, name: object) -> int | None:
        if not isinstance(name, str):
            return None
        position = self._positions.get(name)
        if position is None and not name.isascii():
            position = self._positions.get(unicodedata.normalize("NFC", name))  # as names are kept
        return position

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        return (self.nodes, self.parent_ids, self.sibling_ids, self.hidden, self.exposures, self.outcomes)

    def _names(self, positions: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.nodes[position] for position in positions)

    def _unknown(self, name: str) -> str:
        if name in self.hidden:
            return f"{quoted(name)} is hidden: it was projected out of the graph and cannot be observed."
        return f"The graph has no node {quoted(name)}.{nearest(name, self.nodes)}"
