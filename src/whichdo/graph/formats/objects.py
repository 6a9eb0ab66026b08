"""Graphs of other packages: networkx, pgmpy, y0, and plain lists of edges.

Nothing is imported: an object is known by what it offers.  No edge is dropped or guessed at.  An edge that is not
clearly ``->`` or ``<->`` is an error, and so is a kind of graph that stands for several causal graphs at once
(a PDAG with undirected edges, a MAG, a PAG).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from whichdo.errors import GraphError, UsageError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.draft import Draft
from whichdo.graph.formats.links import Marks, as_truth, give, has_meaning, meaning
from whichdo.graph.projection import project
from whichdo.text import nearest, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


ACCEPTED = (
    "Accepted are a networkx DiGraph or MultiDiGraph, a pgmpy DAG, Bayesian network or ADMG, a y0 NxMixedGraph, "
    "a CausalGraph, and a list of pairs (cause, effect)."
)

#: A package and how its graphs become something that is accepted.
CONVERSIONS = {
    "igraph": '[(g.vs[e.source]["name"], g.vs[e.target]["name"]) for e in g.es]',
    "dowhy": "model._graph._graph for a CausalModel, or model.graph for a gcm model: both are networkx graphs",
    "causallearn": (
        "CausalGraph(directed=..., bidirected=...), once every edge of the learned graph is directed: such a graph "
        "mostly stands for several causal graphs"
    ),
    "pyagrum": "[(bn.variable(tail).name(), bn.variable(head).name()) for tail, head in bn.arcs()]",
    "ananke": "CausalGraph(nodes=g.vertices, directed=g.di_edges, bidirected=g.bi_edges)",
}


def graph_from(obj: Any, *, hidden: Iterable[str] = ()) -> CausalGraph:
    """Convert a graph of another package, or a list of edges, to a `CausalGraph`.

    Nodes are hidden if they are named in ``hidden``, are among the object's ``latents``, or have an attribute
    ``latent=True``, ``hidden=True``, ``unobserved=True`` or ``observed="no"``; hidden nodes are projected out.  The
    attributes ``exposure``, ``outcome`` and ``selected`` mean what they mean in graph files.  An edge with
    ``dir="both"`` or ``type="bidirected"`` is ``<->``.

    Parameters
    ----------
    obj
        A networkx DiGraph or MultiDiGraph, a pgmpy DAG, Bayesian network or ADMG, a y0 NxMixedGraph, a `CausalGraph`,
        or a list of pairs (cause, effect).
    hidden
        The names of nodes that are never observed.

    Returns
    -------
    CausalGraph
        The graph on the observed nodes.

    Raises
    ------
    GraphError
        If the object is not a causal graph: undirected or cyclic, empty, or of an unknown type.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.graph_from([("U", "X"), ("U", "Y"), ("X", "Y")], hidden=["U"]).siblings("X")
    ('Y',)
    """
    if isinstance(hidden, str):
        raise UsageError(f"hidden must be a list of names, not the string {quoted(hidden)}: write hidden=[{hidden!r}].")
    names = list(hidden)
    if isinstance(obj, CausalGraph):
        _check_hidden(names, obj.nodes)
        return project(obj, [name for name in obj.nodes if name not in names])
    draft = Draft()
    if isinstance(obj, (list, tuple)):
        nodes = _from_pairs(draft, obj)
    elif _is_networkx(obj):
        nodes = _from_networkx(draft, obj)
    elif _is_networkx(getattr(obj, "directed", None)) and _is_networkx(getattr(obj, "undirected", None)):
        nodes = _from_mixed(draft, obj)
    else:
        _refuse(obj)
    _check_hidden(names, nodes)
    for name in names:
        draft.node(name, hidden=True)
    if not draft:
        raise GraphError(f"This {_kind(obj)} is empty: it has no node and no edge.")
    return CausalGraph.of(draft.finish())


# ------------------------------------------------------------------------------------------------------------ the forms


def _from_pairs(draft: Draft, pairs: Iterable[Any]) -> list[str]:
    nodes: dict[str, None] = {}
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise UsageError(f"Expected a list of pairs (cause, effect), found {shown(pair)} in it. {ACCEPTED}")
        tail, head = (_name(end, "Write the names as strings.") for end in pair)
        draft.arrow(tail, head)
        nodes |= {tail: None, head: None}
    return list(nodes)


def _from_networkx(draft: Draft, graph: Any) -> list[str]:
    """networkx, and what inherits from it: pgmpy's graphs."""
    _check_directed(graph)
    nodes = _add_nodes(draft, graph)
    for tail, head, attributes in graph.edges(data=True):
        _add_edge(draft, _name(tail), _name(head), attributes)
    return nodes


def _from_mixed(draft: Draft, graph: Any) -> list[str]:
    """y0: two networkx graphs, of which the undirected one holds the bidirected edges."""
    _check_directed(graph.directed)
    nodes = {_variable(node): node for part in (graph.directed, graph.undirected) for node in part.nodes}
    for name in nodes:
        draft.node(name)
    for tail, head, attributes in graph.directed.edges(data=True):
        _add_edge(draft, _variable(tail), _variable(head), attributes)
    for first, second in graph.undirected.edges():
        draft.confounded(_variable(first), _variable(second))
    return list(nodes)


def _add_nodes(draft: Draft, graph: Any) -> list[str]:
    roles = {role: _members(graph, role) for role in ("latents", "exposures", "outcomes")}
    nodes = []
    for node, attributes in graph.nodes(data=True):
        name = _name(node)
        nodes.append(name)
        draft.node(
            name,
            hidden=name in roles["latents"],
            exposure=name in roles["exposures"],
            outcome=name in roles["outcomes"],
        )
        give(draft, name, _marks(name, attributes))
    for name in sorted(map(_name, roles["latents"] - set(nodes))):
        draft.node(name, hidden=True)  # some graphs name the cause behind a bidirected edge without drawing it
        nodes.append(name)
    return nodes


def _members(graph: Any, role: str) -> set[Any]:
    """The nodes a pgmpy graph gives a role; other classes may use the same word for something else."""
    members = getattr(graph, role, None)
    return set(members) if isinstance(members, (set, frozenset, list, tuple)) else set()


def _marks(name: str, attributes: Mapping[Any, Any]) -> Marks:
    """The roles that a node's attributes give; one that says yes and no to the same role is refused."""
    marks: Marks = {}
    for key, value in attributes.items():
        if not isinstance(key, str) or value is None or not has_meaning(key):
            continue
        truth = as_truth(str(value).strip('"'))
        if truth is None:
            raise GraphError(f"The node {quoted(name)} has {key}={shown(value)}. Write True or False.")
        found = meaning(key, truth=truth)
        if found is not None and marks.setdefault(*found) is not found[1]:
            clash = "both hidden and observed" if found[0] == "hidden" else f"both {found[0]} and not"
            raise GraphError(f"The node {quoted(name)} is {clash} by its attributes. Keep one of them.")
    return marks


def _add_edge(draft: Draft, tail: str, head: str, attributes: Mapping[str, Any]) -> None:
    """``->`` unless the edge's attributes say otherwise; what they say must be understood."""
    kinds = {kind for key, table in EDGE_KINDS.items() for kind in _edge_kind(tail, head, key, attributes, table)}
    if len(kinds) > 1:
        raise GraphError(
            f"The edge ({quoted(tail)}, {quoted(head)}) contradicts itself: it is {' and '.join(sorted(kinds))}."
        )
    kind = kinds.pop() if kinds else "->"
    if kind == "<->":
        draft.confounded(tail, head)
    elif kind == "<-":
        draft.arrow(head, tail)
    else:
        draft.arrow(tail, head)


#: What the values of an edge's attributes mean.  All other attributes (labels, weights, colours) mean nothing here.
EDGE_KINDS: dict[str, dict[str, str]] = {
    "dir": {"forward": "->", "back": "<-", "both": "<->"},
    "type": {"directed": "->", "bidirected": "<->", "->": "->", "<->": "<->", "<-": "<-"},
    "edge_type": {"directed": "->", "bidirected": "<->", "->": "->", "<->": "<->", "<-": "<-"},
    "bidirected": {"True": "<->", "False": "->"},
    "arrowhead": {"normal": "->"},
    "arrowtail": {},
}


def _edge_kind(tail: str, head: str, key: str, attributes: Mapping[str, Any], known: Mapping[str, str]) -> list[str]:
    value = attributes.get(key)
    if value is None:
        return []
    kind = known.get(str(value).strip('"'))
    if kind is None:
        raise GraphError(
            f"The edge ({quoted(tail)}, {quoted(head)}) has {key}={shown(value)}, which is neither -> nor <->. "
            f'Remove the attribute from an edge ->, or write dir="both" for <->.'
        )
    return [kind]


# -------------------------------------------------------------------------------------------------- what is not a graph


def _is_networkx(obj: Any) -> bool:
    """Nodes and edges that can be asked for their attributes, and a word on direction; classes do not count."""
    parts = ("nodes", "edges", "is_directed", "is_multigraph", "adj")
    return not isinstance(obj, type) and all(hasattr(obj, part) for part in parts)


def _check_directed(graph: Any) -> None:
    undirected = list(getattr(graph, "undirected_edges", ()))
    if undirected:
        first, second = undirected[0]
        raise GraphError(
            f"This {_kind(graph)} has {len(undirected)} undirected edges, such as {first} - {second}: it stands for "
            f"several causal graphs. Direct them first; in pgmpy, pdag.to_dag() makes one choice."
        )
    if graph.is_directed():
        return
    if hasattr(graph, "valid_marks"):
        raise GraphError(
            f"This {_kind(graph)} is an ancestral graph: its edges say what is an ancestor, not what acts directly, "
            f"and it stands for several causal graphs. Give the graph itself, as a pgmpy ADMG or a CausalGraph."
        )
    raise GraphError(
        f"This {_kind(graph)} is undirected: its edges do not say what is the cause. Give a networkx DiGraph; for "
        f'X <-> Y, an edge with dir="both".'
    )


def _refuse(obj: Any) -> NoReturn:
    if isinstance(obj, (str, bytes)):
        raise UsageError(
            f"This is a string: {shown(obj)}. CausalGraph.parse(text) reads text, read_graph(path) a file."
        )
    if isinstance(obj, dict):
        raise UsageError(
            "A dict does not say whether it lists parents or children. If d[node] are the parents of a node, give "
            "[(parent, node) for node in d for parent in d[node]]; if they are its children, "
            "[(node, child) for node in d for child in d[node]]."
        )
    package = type(obj).__module__.partition(".")[0]
    conversion = CONVERSIONS.get(package)
    if conversion is not None:
        raise UsageError(f"A graph of {package} ({_kind(obj)}) is not read directly. Give {conversion}. {ACCEPTED}")
    raise UsageError(f"A causal graph cannot be made from {shown(obj)} ({_kind(obj)}). {ACCEPTED}")


def _check_hidden(hidden: Iterable[str], nodes: Iterable[str]) -> None:
    known = set(nodes)
    for name in hidden:
        if name not in known:
            raise UsageError(f"hidden names {quoted(name)}, which is not a node of this graph.{nearest(name, nodes)}")


def _variable(node: Any) -> str:
    """A node of y0: its name, where that is all there is to it (no star, no intervention)."""
    name = getattr(node, "name", None)
    return name if isinstance(name, str) and str(node) == name else _name(node)


def _name(node: Any, hint: str = "In networkx, nx.relabel_nodes(graph, str) does it.") -> str:
    if not isinstance(node, str):
        raise UsageError(f"The node {shown(node)} is of type {_kind(node)}; names must be strings. {hint}")
    return node


def _kind(obj: Any) -> str:
    return type(obj).__name__
