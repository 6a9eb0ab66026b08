"""GML, as DoWhy and networkx write it.

``graph [ directed 1 node [ id 0 label "X" ] edge [ source 0 target 1 ] ]``: ids may be numbers or text, a node's name
is its label (its id where it has none).  ``observed "no"`` (DoWhy), ``latent 1`` and ``hidden 1`` hide a node,
``exposure 1`` and ``outcome 1`` give roles.  An edge with ``dir "both"`` or ``bidirected 1`` is ``<->``.  Other keys
are passed over, whatever they hold, but not where they could be a misspelt node or edge.

Text has no escapes in GML; a quote, "&" and whatever is not ASCII are written as ``&#34;``, as networkx does.
"""

from __future__ import annotations

import re
from html.entities import name2codepoint
from typing import TYPE_CHECKING, NamedTuple

from whichdo.graph.draft import Draft, checked_name
from whichdo.graph.formats.links import FALSE, TRUE, Link, Marks, check_depth, direction, give, join, role
from whichdo.graph.formats.scan import Scanner, show
from whichdo.text import nearest

if TYPE_CHECKING:
    from whichdo.errors import GraphSyntaxError
    from whichdo.graph.mixed import MixedGraph


VALUE = r'"[^"]*+"|[+-]?[0-9.]++(?:[Ee][+-]?[0-9]++)?+(?![\w.])'
TOKENS = re.compile(
    rf"""
    (?:[^\S\n]++|\n(?:[^\S\n]*+\#[^\n]*+)?+|\A[^\S\n]*+\#[^\n]*+)*+
    (?:
        (?P<key>   [A-Za-z_]\w*+)
      | (?P<value> {VALUE})
      | (?P<open>  \[)
      | (?P<close> \])
      | (?P<end>   \Z)
      | (?P<bad>   [^\s\[\]"]++|.)
    )""",
    re.VERBOSE | re.DOTALL,
)
#: Most of a large file, read by one match in place of seven tokens; an edge with more keys is read token by token.
EDGE = re.compile(rf'\s*+\bedge\s*+\[\s*+source\s++({VALUE})\s*+target\s++({VALUE})\s*+(dir\s*+"both"\s*+)?+\]')
ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|([A-Za-z][A-Za-z0-9]{1,31}));")
#: Keys that make a node or an edge what it is: given twice, one of the two would be lost.
ONCE = frozenset(("id", "label", "source", "target", "directed", "dir", "bidirected"))
#: networkx takes a bare word as the value of these.
WORDS = frozenset(("id", "label", "source", "target"))
#: What may stand before the graph.
HEADER = frozenset(("Creator", "Version", "creator", "version", "comment"))
STRUCTURE = {"graph": "top", "node": "graph", "edge": "graph"}


class _Edge(NamedTuple):
    source: str
    target: str
    link: Link
    source_start: int
    target_start: int


class _List:
    """What stands between two square brackets: the key before it, where it began, and its keys so far."""

    __slots__ = ("keys", "kind", "start")

    def __init__(self, kind: str, start: int) -> None:
        self.kind = kind
        self.start = start
        self.keys: dict[str, tuple[str, int]] = {}


def read_gml(text: str) -> MixedGraph:
    """A graph from GML."""
    return _Parser(text).parse()


def write_gml(graph: MixedGraph) -> str:
    """The graph as GML; networkx reads it too, taking a ``<->`` for an edge with the attribute ``dir``."""
    lines = ["graph [", "  directed 1"]
    names = [*graph.nodes, *sorted(graph.hidden)]
    for position, name in enumerate(names):
        marks = "".join(
            f" {word}"
            for word, group in (
                ("exposure 1", graph.exposures),
                ("outcome 1", graph.outcomes),
                ('observed "no"', graph.hidden),
            )
            if name in group
        )
        lines.append(f'  node [ id {position} label "{_escape(name)}"{marks} ]')
    for head, row in enumerate(graph.parent_ids):
        lines += [f"  edge [ source {tail} target {head} ]" for tail in row]
    for first, row in enumerate(graph.sibling_ids):
        lines += [f'  edge [ source {first} target {second} dir "both" ]' for second in row if first < second]
    return "\n".join([*lines, "]", ""])


def _escape(name: str) -> str:
    return re.sub(r'[^ -~]|["&]', lambda found: f"&#{ord(found[0])};", name)


def _unescape(text: str) -> str:
    return ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    decimal, hexadecimal, name = entity.groups()
    code = name2codepoint.get(name) if name else int(decimal or hexadecimal, 10 if decimal else 16)
    return entity[0] if code is None or code > 0x10FFFF else chr(code)


class _Parser:
    """Reads all nodes and edges, then joins them, since edges may stand before the nodes they name."""

    def __init__(self, text: str) -> None:
        self.scanner = Scanner(text, TOKENS)
        self.draft = Draft()
        self.stack = [_List("top", 0)]
        self.names: dict[str, str] = {}  # by id
        self.ids: dict[str, str] = {}  # by name
        self.marks: list[tuple[str, Marks]] = []
        self.edges: list[_Edge] = []
        self.graph: _List | None = None

    def parse(self) -> MixedGraph:
        """Read the text, then the graph it describes."""
        scanner = self.scanner
        while scanner.kind != "end":
            if scanner.kind == "key":
                self._key()
            elif scanner.kind == "close" and len(self.stack) > 1:
                self._close()
            else:
                raise self._no_key()
        if len(self.stack) > 1:
            last = self.stack[-1]
            raise scanner.expected(f'"]" to close the {last.kind} opened at {scanner.place(last.start)}')
        if self.graph is None:
            raise scanner.expected('"graph ["')
        self._check_directed(self.graph)
        for edge in self.edges:
            self._join(edge)
        for name, marks in self.marks:
            give(self.draft, name, marks)
        return self.draft.finish()

    # ------------------------------------------------------------------------------------------------ keys and lists

    def _key(self) -> None:
        scanner = self.scanner
        inside = self.stack[-1]
        key, start = scanner.value, scanner.start
        if key.lower() in STRUCTURE:
            if key == "edge" and inside.kind == "graph" and self._edges():
                return
            self._open_structure(inside, key)
            return
        if inside.kind == "top" and self.graph is None and key not in HEADER:
            raise self._no_key()
        if inside.kind == "other" and key in ("source", "target"):
            raise scanner.error(f'{show(key)} is outside an edge: expected it in "edge [ ... ]".')
        scanner.step()
        if scanner.kind == "open":
            check_depth(scanner, self.stack)
            self.stack.append(_List("other", start))
        elif scanner.kind == "value" or (scanner.kind == "key" and key in WORDS):
            if key in ONCE and key in inside.keys:
                raise scanner.error(f"{key} is given twice for the same {inside.kind}. Remove one.", start)
            text = scanner.value
            inside.keys[key] = (_unescape(text[1:-1]) if text[0] == '"' else text, start)
        else:
            raise self._no_value(key)
        scanner.step()

    def _open_structure(self, inside: _List, key: str) -> None:
        """``graph [``, ``node [`` or ``edge [``, each where it belongs: anywhere else it would be lost."""
        scanner = self.scanner
        start = scanner.start
        if key not in STRUCTURE:
            raise scanner.expected(f'"{key.lower()}"', "Keys of GML are lower case.")
        if STRUCTURE[key] != inside.kind:
            where = "" if inside.kind == "top" else f' Is a "]" missing for the list at {scanner.place(inside.start)}?'
            raise scanner.error(f"{show(key)} is not allowed here.{where}")
        if key == "graph" and self.graph is not None:
            raise scanner.error("a second graph begins here. Put one graph in a file.")
        scanner.step()
        if scanner.kind != "open":
            raise scanner.expected(f'"[" after "{key}"')
        self.stack.append(_List(key, start))
        if key == "graph":
            self.graph = self.stack[-1]
        scanner.step()

    def _close(self) -> None:
        done = self.stack.pop()
        if done.kind == "node":
            self._node(done)
        elif done.kind == "edge":
            self._edge(done)
        self.scanner.step()

    def _edges(self) -> bool:
        """Read plain edges, one after another; whether there was any."""
        scanner = self.scanner
        first = position = scanner.start
        while (edge := EDGE.match(scanner.text, position)) is not None:
            source, target, both = edge.groups()
            if source[0] == '"':
                source = _unescape(source[1:-1])
            if target[0] == '"':
                target = _unescape(target[1:-1])
            self.edges.append(_Edge(source, target, "<->" if both else "->", edge.start(1), edge.start(2)))
            position = edge.end()
        if position == first:
            return False
        scanner.jump(position)
        return True

    # ------------------------------------------------------------------------------------------------ nodes and edges

    def _node(self, node: _List) -> None:
        scanner = self.scanner
        if "id" not in node.keys:
            raise scanner.error("this node has no id.", node.start)
        identity, start = node.keys["id"]
        label, name_start = node.keys.get("label", (identity, start))
        name = checked_name(label, scanner.place(name_start))
        if identity in self.names:
            raise scanner.error(f"the id {show(identity)} is given to two nodes. Ids must differ.", start)
        if name in self.ids:
            raise scanner.error(f"the label {show(name)} is given to two nodes. A name must be one node's.", name_start)
        self.names[identity] = name
        self.ids[name] = identity
        self.draft.node(name)
        marks = [role(scanner, key, value, at) for key, (value, at) in node.keys.items()]
        self.marks.append((name, dict(mark for mark in marks if mark is not None)))

    def _edge(self, edge: _List) -> None:
        scanner = self.scanner
        for end in ("source", "target"):
            if end not in edge.keys:
                raise scanner.error(f"this edge has no {end}.", edge.start)
        source, source_start = edge.keys["source"]
        target, target_start = edge.keys["target"]
        self.edges.append(_Edge(source, target, self._link(edge), source_start, target_start))

    def _link(self, edge: _List) -> Link:
        scanner = self.scanner
        link: Link = "->"
        if "dir" in edge.keys:
            link = direction(scanner, *edge.keys["dir"])
        if "bidirected" in edge.keys and self._truth(edge, "bidirected"):
            link = "<->"
        if "directed" in edge.keys and not self._truth(edge, "directed") and link != "<->":
            raise scanner.error("this edge is undirected, and such edges are not read.", edge.start)
        return link

    def _truth(self, inside: _List, key: str) -> bool:
        value, start = inside.keys[key]
        if value.lower() not in TRUE | FALSE:
            raise self.scanner.error(f"{key} is {show(value)}: expected 1 or 0.", start)
        return value.lower() in TRUE

    def _check_directed(self, graph: _List) -> None:
        given = "directed" in graph.keys
        if not (given and self._truth(graph, "directed")) and self.edges:
            why = "it says so" if given else 'that is what a missing "directed" means in GML'
            raise self.scanner.error(
                f'the graph is undirected: {why}. Write "directed 1" after "graph [" if its edges have a direction.',
                graph.keys["directed"][1] if given else graph.start,
            )

    def _join(self, edge: _Edge) -> None:
        names = self.names
        if edge.source not in names:
            raise self._unknown(edge.source, edge.source_start)
        if edge.target not in names:
            raise self._unknown(edge.target, edge.target_start)
        place = self.scanner.place(edge.source_start)
        join(self.draft, names[edge.source], edge.link, names[edge.target], place)

    # -------------------------------------------------------------------------------------------------------- errors

    def _unknown(self, identity: str, start: int) -> GraphSyntaxError:
        hint = nearest(identity, self.names)
        if identity in self.ids:
            hint = f" It is the label of the node with id {show(self.ids[identity])}; edges go by id."
        return self.scanner.error(f"an edge names the node {show(identity)}, which is not declared.{hint}", start)

    def _no_key(self) -> GraphSyntaxError:
        inside = self.stack[-1].kind
        if inside == "top":
            return self.scanner.expected('"graph ["' if self.graph is None else "the end of the text")
        return self.scanner.expected('a key or "]"')

    def _no_value(self, key: str) -> GraphSyntaxError:
        scanner = self.scanner
        if scanner.value.startswith('"'):
            return scanner.error(f"this quote is never closed: {scanner.around()}.")
        return scanner.expected(f'a number, text in quotes or "[" after "{key}"')
