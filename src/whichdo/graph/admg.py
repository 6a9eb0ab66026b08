"""Causal graphs with hidden confounders.

A causal graph here is an *acyclic directed mixed graph* (ADMG).  Its nodes are what can be observed.  A directed
edge ``X -> Y`` says that X may act on Y directly; a bidirected edge ``X <-> Y`` says that some hidden cause may act
on both.  Hidden variables themselves are not nodes: a graph that is read with some is projected onto the observed ones
(`whichdo.graph.projection`), and only their names are remembered.

The class holds the structure and answers for neighbours, ancestors and c-components.  Everything cleverer
(projection, identification, separation) is a function in a sibling module.
"""

from __future__ import annotations

import unicodedata
from functools import cached_property
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from whichdo.errors import GraphError, TooLargeError, UsageError
from whichdo.text import nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["MAX_EDGES", "CausalGraph"]

MOST_SHOWN = 200
"""Nodes of a graph that is printed edge by edge, and drawn in a notebook."""
#: The most edges of a graph, whether it was read so or projected.
MAX_EDGES = 200_000

Adjacency = tuple[tuple[int, ...], ...]
Part = TypeVar("Part")


class CausalGraph:
    """An immutable causal graph with hidden common causes (an ADMG).

    ``nodes`` are in topological order, ties by first mention.  ``notes`` say in words what reading the graph changed,
    and ``values`` are the values that its file lists for nodes, which a problem file takes as domains.  Graphs are
    equal if their nodes (in order), edges and roles are.

    Parameters
    ----------
    nodes
        Names of nodes; those that occur in edges need not be listed.
    directed
        Pairs (cause, effect): ``X -> Y``.
    bidirected
        Pairs of nodes with a hidden common cause: ``X <-> Y``.
    hidden
        Nodes that are never observed; they are projected out.
    exposures
        Nodes that can be set, where a file says so; the default of `whichdo.Problem`.
    outcomes
        The reward, where a file says so; the default of `whichdo.Problem`.

    Raises
    ------
    GraphError
        If the edges have a cycle or a self-loop.

    Examples
    --------
    >>> import whichdo as wd
    >>> graph = wd.CausalGraph(directed=[("X", "M"), ("M", "Y")], bidirected=[("X", "Y")])
    >>> graph == wd.CausalGraph.parse("X -> M; M -> Y; X <-> Y")
    True
    >>> graph.c_component("X")
    ('X', 'Y')
    """

    nodes: tuple[str, ...]
    hidden: frozenset[str]
    exposures: frozenset[str]
    outcomes: frozenset[str]
    notes: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]

    #: The edges by position in ``nodes``, each row ascending: what the algorithms work on.
    parent_ids: Adjacency
    sibling_ids: Adjacency

    def __new__(
        cls,
        nodes: Iterable[str] = (),
        directed: Iterable[tuple[str, str]] = (),
        bidirected: Iterable[tuple[str, str] | frozenset[str]] = (),
        *,
        hidden: Iterable[str] = (),
        exposures: Iterable[str] = (),
        outcomes: Iterable[str] = (),
    ) -> CausalGraph:
        """Check the parts and make the graph; see the class."""
        from whichdo.graph.draft import Draft  # a draft ends as a graph, so one of the two imports late

        draft = Draft()
        for name in _each(nodes, "nodes"):
            draft.node(name)
        for name in _each(hidden, "hidden"):
            draft.node(name, hidden=True)
        for tail, head in _pairs(directed, "directed"):
            draft.arrow(tail, head)
        for first, second in _pairs(bidirected, "bidirected"):
            draft.confounded(first, second)
        for name in _each(exposures, "exposures"):
            draft.node(name, exposure=True)
        for name in _each(outcomes, "outcomes"):
            draft.node(name, outcome=True)
        return draft.finish()

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
    ) -> CausalGraph:
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

    def with_values(self, values: Mapping[str, tuple[str, ...]]) -> CausalGraph:
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
        return CausalGraph.assemble(
            self.nodes, self.parent_ids, self.sibling_ids, self.hidden, self.exposures, self.outcomes, self.notes, known
        )

    @classmethod
    def parse(cls, text: str) -> CausalGraph:
        """Read a graph from a string: the short form (``X -> M; M -> Y; X <-> Y``) or any format `read_graph` knows.

        In the short form a bare name declares a node, ``A -> B -> C`` is a chain, ``{A B} -> C`` a group, and
        ``U [latent]`` marks a hidden variable.  Quote a name with blanks: ``"face mask" -> Y``.

        Parameters
        ----------
        text
            The graph.

        Returns
        -------
        CausalGraph
            The graph, hidden variables projected out.

        Raises
        ------
        GraphSyntaxError
            If the string cannot be parsed; the message names the line and the column.
        """
        from whichdo.graph.formats import parse_graph

        return parse_graph(text)

    # ---------------------------------------------------------------------------------------------- edges and nodes

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

    def parents(self, name: str) -> tuple[str, ...]:
        """List the nodes with an edge into a node, in topological order.

        Parameters
        ----------
        name
            The node.

        Returns
        -------
        tuple of str
            Its parents.
        """
        return self._names(self.parent_ids[self.index(name)])

    def children(self, name: str) -> tuple[str, ...]:
        """List the nodes that a node has an edge into, in topological order.

        Parameters
        ----------
        name
            The node.

        Returns
        -------
        tuple of str
            Its children.
        """
        return self._names(self.child_ids[self.index(name)])

    def siblings(self, name: str) -> tuple[str, ...]:
        """List the nodes that share a hidden cause with a node (a bidirected edge), in topological order.

        Parameters
        ----------
        name
            The node.

        Returns
        -------
        tuple of str
            Its siblings.
        """
        return self._names(self.sibling_ids[self.index(name)])

    def ancestors(self, names: Iterable[str]) -> tuple[str, ...]:
        """List some nodes and all nodes from which a directed path leads to one of them, in topological order.

        Parameters
        ----------
        names
            The nodes.

        Returns
        -------
        tuple of str
            The nodes and their ancestors.
        """
        return self._names(self._reach(names, self.parent_ids))

    def descendants(self, names: Iterable[str]) -> tuple[str, ...]:
        """List some nodes and all nodes to which a directed path leads from one of them, in topological order.

        Parameters
        ----------
        names
            The nodes.

        Returns
        -------
        tuple of str
            The nodes and their descendants.
        """
        return self._names(self._reach(names, self.child_ids))

    # ------------------------------------------------------------------------------------------------- c-components

    @cached_property
    def component_ids(self) -> tuple[int, ...]:
        """For each node the number of its c-component; components are numbered by their first node."""
        labels = [-1] * len(self.nodes)
        count = 0
        for start in range(len(self.nodes)):
            if labels[start] >= 0:
                continue
            labels[start] = count
            stack = [start]
            while stack:
                for other in self.sibling_ids[stack.pop()]:
                    if labels[other] < 0:
                        labels[other] = count
                        stack.append(other)
            count += 1
        return tuple(labels)

    @cached_property
    def c_components(self) -> tuple[tuple[str, ...], ...]:
        """The partition of the nodes by paths of bidirected edges, ordered by first node."""
        groups: list[list[str]] = []
        for name, label in zip(self.nodes, self.component_ids, strict=True):
            if label == len(groups):
                groups.append([])
            groups[label].append(name)
        return tuple(map(tuple, groups))

    def c_component(self, name: str) -> tuple[str, ...]:
        """List the nodes that paths of bidirected edges join to a node, itself included.

        Parameters
        ----------
        name
            The node.

        Returns
        -------
        tuple of str
            Its c-component.
        """
        return self.c_components[self.component_ids[self.index(name)]]

    # ---------------------------------------------------------------------------------------------------- subgraphs

    def subgraph(self, names: Iterable[str]) -> CausalGraph:
        """Return the graph induced on some nodes: their edges among themselves.

        To *hide* nodes use `whichdo.project`.

        Parameters
        ----------
        names
            The nodes to keep.

        Returns
        -------
        CausalGraph
            The subgraph.
        """
        keep = sorted({self.index(name) for name in names})
        place = {old: new for new, old in enumerate(keep)}
        kept = frozenset(self.nodes[old] for old in keep)
        return CausalGraph.assemble(
            self._names(keep),
            [[place[other] for other in self.parent_ids[old] if other in place] for old in keep],
            [[place[other] for other in self.sibling_ids[old] if other in place] for old in keep],
            hidden=self.hidden,
            exposures=self.exposures & kept,
            outcomes=self.outcomes & kept,
        )

    def __contains__(self, name: object) -> bool:
        return self._position(name) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CausalGraph) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        from whichdo.graph.formats.dagitty_write import write_text

        if len(self.nodes) > 20:
            return f"<CausalGraph of {len(self.nodes)} nodes, {len(self.directed)} ->, {len(self.bidirected)} <->>"
        return f"CausalGraph.parse({write_text(self)!r})"

    def __str__(self) -> str:
        from whichdo.drawing.listing import draw_text  # drawing is made of graphs, so one of the two imports late

        return draw_text(self) if len(self.nodes) <= MOST_SHOWN else repr(self)

    def _repr_html_(self) -> str:
        from whichdo.drawing.svg import draw_svg

        try:
            return (
                draw_svg(self, adapts=False)
                if 0 < len(self.nodes) <= MOST_SHOWN
                else f"<pre>{escape(repr(self))}</pre>"
            )
        except TooLargeError:
            return f"<pre>{escape(str(self))}</pre>"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a CausalGraph cannot be changed; make a new one (tried to set {name})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a CausalGraph cannot be changed; make a new one (tried to delete {name})")

    def __reduce__(self) -> tuple[object, ...]:
        return (
            CausalGraph.assemble,
            (
                self.nodes, self.parent_ids, self.sibling_ids, self.hidden, self.exposures, self.outcomes, self.notes,
                dict(self.values),
            ),
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------------------ private

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

    def _reach(self, names: Iterable[str], steps: Adjacency) -> list[int]:
        seen = {self.index(name) for name in names}
        stack = list(seen)
        while stack:
            for other in steps[stack.pop()]:
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        return sorted(seen)

    def _unknown(self, name: str) -> str:
        if name in self.hidden:
            return f"{quoted(name)} is hidden: it was projected out of the graph and cannot be observed."
        return f"The graph has no node {quoted(name)}.{nearest(name, self.nodes)}"


def _each(given: Iterable[Part], what: str) -> Iterable[Part]:
    """The parts one by one; "XMY" is three of one letter each, "X -> Y" is surely meant to be parsed."""
    if isinstance(given, str) and given and not given.isalnum():
        raise UsageError(
            f"`{what}` is the string {quoted(given)}; give a list. CausalGraph.parse(text) reads a graph from text."
        )
    try:
        return iter(given)
    except TypeError:
        raise UsageError(
            f"`{what}` is {type(given).__name__}; give a list. graph_from(object) takes graphs of other packages."
        ) from None


def _pairs(given: Iterable[tuple[str, str] | frozenset[str]], what: str) -> Iterator[tuple[str, str]]:
    for pair in _each(given, what):
        try:
            ends = tuple(pair)
        except TypeError:
            ends = ()
        if len(ends) == 1 and isinstance(pair, (set, frozenset)):
            ends *= 2  # {X, X}: a self-loop, refused by that name
        if len(ends) != 2:
            raise GraphError(f'`{what}` lists {quoted(pair)}; each edge is a pair of names, such as ("X", "Y").')
        yield ends
