"""Causal graphs with hidden confounders.

A causal graph here is an *acyclic directed mixed graph* (ADMG).  Its nodes are what can be observed.  A directed
edge ``X -> Y`` says that X may act on Y directly; a bidirected edge ``X <-> Y`` says that some hidden cause may act
on both.  Hidden variables themselves are not nodes: a graph that is read with some is projected onto the observed ones
(`whichdo.graph.projection`), and only their names are remembered.

The class answers for neighbours, ancestors and c-components, over the structure that `whichdo.graph.mixed` holds.
Everything cleverer (projection, identification, separation) is a function in a sibling module.
"""

from __future__ import annotations

from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, TypeVar

from whichdo.drawing.listing import draw_text
from whichdo.errors import GraphError, TooLargeError, UsageError
from whichdo.graph.draft import Draft
from whichdo.graph.formats import parse_graph, read_graph_and_format
from whichdo.graph.formats.scan import write_text
from whichdo.graph.mixed import Adjacency, MixedGraph
from whichdo.text import quoted

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator


MOST_SHOWN = 200
"""Nodes of a graph that is printed edge by edge, and drawn in a notebook."""
Part = TypeVar("Part")


class CausalGraph(MixedGraph):
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
        return cls.of(draft.finish())

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
        return cls.of(parse_graph(text))

    @classmethod
    def of(cls, graph: MixedGraph) -> CausalGraph:
        """Make a causal graph of a graph as it was read.

        Parameters
        ----------
        graph
            The graph.

        Returns
        -------
        CausalGraph
            An equal one.
        """
        return cls.assemble(*graph.parts)

    # ---------------------------------------------------------------------------------------------- edges and nodes

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

    def __repr__(self) -> str:
        if len(self.nodes) > 20:
            return f"<CausalGraph of {len(self.nodes)} nodes, {len(self.directed)} ->, {len(self.bidirected)} <->>"
        return f"CausalGraph.parse({write_text(self)!r})"

    def __str__(self) -> str:
        return draw_text(self) if len(self.nodes) <= MOST_SHOWN else repr(self)

    def _repr_html_(self) -> str:
        from whichdo.drawing.svg import draw_svg  # most commands draw nothing

        try:
            return (
                draw_svg(self, adapts=False)
                if 0 < len(self.nodes) <= MOST_SHOWN
                else f"<pre>{escape(repr(self))}</pre>"
            )
        except TooLargeError:
            return f"<pre>{escape(str(self))}</pre>"

    # ------------------------------------------------------------------------------------------------------ private

    def _reach(self, names: Iterable[str], steps: Adjacency) -> list[int]:
        seen = {self.index(name) for name in names}
        stack = list(seen)
        while stack:
            for other in steps[stack.pop()]:
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        return sorted(seen)


def read_graph(path: str | os.PathLike[str]) -> CausalGraph:
    """Read a graph from a file in any of the formats, plain or gzip.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    CausalGraph
        The graph, hidden variables projected out.

    Raises
    ------
    GraphSyntaxError
        If the file cannot be parsed; the message begins with the file's name, line and column.
    GraphError
        If the edges do not make a causal graph, such as a cycle.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.read_graph("infection.dot")  # doctest: +SKIP
    CausalGraph.parse('mask -> infected')
    """
    return CausalGraph.of(read_graph_and_format(path)[0])


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
