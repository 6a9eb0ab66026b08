r"""Graphviz's DOT, as far as it says something about a causal graph.

A node's name is its id, not its label.  An edge is ``A -> B``; ``dir=both`` makes it ``A <-> B``, ``dir=back`` turns it
round.  ``observed="no"``, ``latent`` and ``unobserved`` hide a node, ``exposure=true`` and ``outcome=true`` give roles.
Defaults (``edge [dir=both]``, ``node [latent=true]``) hold from where they stand to the end of their braces.  Ports are
dropped, other attributes are for drawing.

Inside quotes ``\"`` is a quote and ``\\`` a backslash, as Graphviz shows them in a label; other escapes stay as they
are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whichdo.graph.draft import Draft
from whichdo.graph.formats.links import Budget, Link, Marks, check_depth, direction, give, join, role
from whichdo.graph.formats.scan import LETTERS, Scanner, show, spell
from whichdo.text import nearest

if TYPE_CHECKING:
    from collections.abc import Collection

    from whichdo.errors import GraphSyntaxError
    from whichdo.graph.mixed import MixedGraph


SKIP = r"(?:[^\S\n]++|\n(?:[^\S\n]*+\#[^\n]*+)?+|\A[^\S\n]*+\#[^\n]*+|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+"
NUMBER = rf"-?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?+)(?![{LETTERS}.])"
TOKENS = re.compile(
    rf"""
    {SKIP}
    (?:
        (?P<id>     (?![0-9])[{LETTERS}]++)
      | (?P<number> {NUMBER})
      | (?P<quoted> "(?:[^"\\]|\\.)*+")
      | (?P<link>   -[->]++)
      | (?P<mark>   [{{}}\[\];,=:](?![=>]))
      | (?P<end>    \Z)
      | (?P<bad>    [{LETTERS}.]++|/\*|[^{LETTERS}\s"{{}}\[\];,.:]++|.)
    )""",
    re.VERBOSE | re.DOTALL,
)
NODE = rf"""(?!(?i:node|edge|graph|digraph|subgraph|strict)(?![{LETTERS}]))
            ("[^"\\]++"|(?![0-9])[{LETTERS}]++|[0-9]++(?![{LETTERS}.]))"""
#: Most of a large file, read by one match in place of four tokens; see `whichdo.graph.formats.dagitty`.
EDGE = re.compile(
    rf"""\s*+ {NODE} [^\S\n]*+ -> [^\S\n]*+ {NODE} [^\S\n]*+
    (\[dir=both\])?+ [^\S\n]*+ (?:;|\n(?=\s*+["{LETTERS}]))""",
    re.VERBOSE,
)
#: What may be set for a graph as a whole; "A = B" with any other word is taken for a misspelt edge.
WORDS = """
_background bb beautify bgcolor center charset class cluster clusterrank color colorscheme comment compound
concentrate damping defaultdist dim dimen diredgeconstraints dpi epsilon esep fillcolor fontcolor fontname fontnames
fontpath fontsize forcelabels gradientangle href id imagepath inputscale k label label_scheme labeljust labelloc
landscape layerlistsep layers layerselect layersep layout levels levelsgap lheight linelength lp lwidth margin maxiter
mclimit mindist mode model name newrank nodesep nojustify normalize notranslate nslimit nslimit1 oneblock ordering
orientation outputorder overlap overlap_scaling overlap_shrink pack packmode pad page pagedir pencolor penwidth
peripheries pos quadtree quantum rank rankdir ranksep ratio remincross repulsiveforce resolution root rotate rotation
scale searchsize sep shape size smoothing sortv splines start style stylesheet target tbbalance title tooltip
truecolor url viewport voro_margin xdotversion
"""
GRAPH_ATTRIBUTES = frozenset(WORDS.split())

KEYWORDS = frozenset(("node", "edge", "graph", "digraph", "subgraph", "strict"))
HEADLESS = frozenset(("none", "odot", "dot", "circle"))
NAMED = ("id", "number", "quoted")


def read_dot(text: str) -> MixedGraph:
    """A graph from DOT."""
    return _Parser(text).parse()


def write_dot(graph: MixedGraph) -> str:
    """The graph as DOT, drawn by Graphviz and read back unchanged."""
    names = [spell(name) for name in graph.nodes]
    lines = ["digraph {"]
    for name, spelt in zip(graph.nodes, names, strict=True):
        marks = [
            f"{word}=true"
            for word, group in (("exposure", graph.exposures), ("outcome", graph.outcomes))
            if name in group
        ]
        lines.append(f"  {spelt} [{', '.join(marks)}];" if marks else f"  {spelt};")
    lines += [f'  {spell(name)} [observed="no"];' for name in sorted(graph.hidden)]
    lines += [f"  {names[tail]} -> {names[head]};" for head, row in enumerate(graph.parent_ids) for tail in row]
    lines += [
        f"  {names[first]} -> {names[second]} [dir=both];"
        for first, row in enumerate(graph.sibling_ids)
        for second in row
        if first < second
    ]
    return "\n".join([*lines, "}", ""])


class _Braces:
    """What stands between two braces: its defaults, its members and the statement being read."""

    __slots__ = ("arrow", "edge", "left", "left_start", "members", "node", "pairs", "port", "start")

    def __init__(self, start: int, node: Marks, edge: dict[str, str]) -> None:
        self.start = start
        self.node = dict(node)
        self.edge = dict(edge)
        self.members: dict[str, None] = {}
        self.clear()

    def clear(self) -> None:
        """Begin a new statement."""
        self.left: Collection[str] = ()
        self.left_start = -1
        self.port = -1  # where a port stands, in case no edge follows
        self.arrow = False
        self.pairs: list[tuple[Collection[str], Collection[str], int]] = []


class _Parser:
    """Reads statement by statement; braces are kept on a stack, so nesting costs no recursion."""

    def __init__(self, text: str) -> None:
        self.draft = Draft()
        self.budget = Budget()
        self.marks: dict[str, Marks] = {}
        self.ports: dict[str, int] = {}
        self.scanner = Scanner(text, TOKENS)
        self.stack = [_Braces(self._header(), {}, {})]

    def _header(self) -> int:
        """``strict digraph name {``; the position of the brace."""
        scanner = self.scanner
        if scanner.kind == "id" and scanner.value.lower() == "strict":
            scanner.step()
        word = scanner.value.lower() if scanner.kind == "id" else ""
        if word == "graph":
            raise scanner.error('this graph is undirected: a causal graph is a "digraph" with edges "->".')
        if word != "digraph":
            raise scanner.expected('"digraph"')
        scanner.step()
        if scanner.kind in NAMED:
            scanner.step()
        if scanner.value != "{":
            raise scanner.expected('"{"')
        start = scanner.start
        scanner.step()
        return start

    def parse(self) -> MixedGraph:
        """Read all statements, then the graph they make."""
        stack = self.stack
        while stack:
            braces = stack[-1]
            if braces.left_start >= 0 and not braces.arrow:
                self._after_term(braces)
            else:
                self._before_term(braces)
        if self.scanner.kind != "end":
            raise self.scanner.expected('the end of the text after the closing "}"')
        self._check_ports()
        for name, marks in self.marks.items():
            give(self.draft, name, marks)
        return self.draft.finish()

    # ------------------------------------------------------------------------------------------------- statements

    def _before_term(self, braces: _Braces) -> None:
        scanner = self.scanner
        value, start = scanner.value, scanner.start
        word = value.lower() if scanner.kind == "id" else ""
        if word == "subgraph" or value == "{":
            self._open(braces)
        elif word in ("node", "edge", "graph") and not braces.arrow:
            self._defaults(braces, word)
        elif scanner.kind in NAMED and word not in KEYWORDS and value[0] != "-":
            if not braces.arrow and not braces.edge and self._edges(braces):
                return
            name = self._word()
            if scanner.value == "=" and not braces.arrow:
                self._graph_attribute(name, start)
                return
            self._declare(braces, name, start)
            self._port(braces)
            self._term(braces, (name,), start)
        elif value == ";" and not braces.arrow:
            scanner.step()
        elif value == "}" and not braces.arrow:
            self._close()
        else:
            raise self._no_term(braces)

    def _after_term(self, braces: _Braces) -> None:
        scanner = self.scanner
        value = scanner.value
        if value == "->":
            braces.arrow = True
            scanner.step()
        elif value == "[":
            if len(braces.left) != 1 and not braces.pairs:
                raise scanner.expected('"->", ";" or "}"', "Attributes belong to nodes and edges, not to a group.")
            self._finish(braces, self._attributes())
        elif scanner.kind in NAMED or value in ("{", "}", ";"):
            self._finish(braces, [])
        else:
            raise self._no_link()

    def _open(self, braces: _Braces) -> None:
        scanner = self.scanner
        start = scanner.start
        check_depth(scanner, self.stack)
        if scanner.value != "{":
            scanner.step()
            if scanner.kind in NAMED:
                scanner.step()
            if scanner.value != "{":
                raise scanner.expected('"{" after "subgraph"')
        scanner.step()
        self.stack.append(_Braces(start, braces.node, braces.edge))

    def _close(self) -> None:
        braces = self.stack.pop()
        self.scanner.step()
        if self.stack:
            self._term(self.stack[-1], tuple(braces.members), braces.start)

    def _edges(self, braces: _Braces) -> bool:
        """Read plain edges, one after another; whether there was any."""
        scanner, draft, marks = self.scanner, self.draft, self.marks
        text = scanner.text
        first = position = scanner.start
        while (edge := EDGE.match(text, position)) is not None:
            left, right, both = edge.groups()
            left = left[1:-1] if left[0] == '"' else left
            right = right[1:-1] if right[0] == '"' else right
            start = edge.start(1)
            if left not in marks or len(self.stack) > 1:
                self._declare(braces, left, start)
            if right not in marks or len(self.stack) > 1:
                self._declare(braces, right, edge.start(2))
            (draft.confounded if both else draft.arrow)(left, right, scanner.place(start))
            position = edge.end()
        if position == first:
            return False
        scanner.jump(position)
        return True

    def _declare(self, braces: _Braces, name: str, start: int) -> None:
        """Mention a node; at the first mention it takes the defaults of its braces, as in Graphviz."""
        if name not in self.marks:
            self.draft.node(name, self.scanner.place(start))
            self.marks[name] = dict(braces.node)
        braces.members[name] = None

    def _term(self, braces: _Braces, members: Collection[str], start: int) -> None:
        """A node or a group has been read: join it to what stands left of the arrow."""
        if braces.arrow:
            if not braces.left or not members:
                empty = start if braces.left else braces.left_start
                raise self.scanner.error("this group is empty, and no edge can end at nothing.", empty)
            braces.pairs.append((braces.left, members, braces.left_start))
            braces.arrow = False
        if len(members) > 1:
            self.budget.spend(members, (), self.scanner.place(start))
        braces.left = members
        braces.left_start = start
        if len(self.stack) > 1:
            braces.members.update(dict.fromkeys(members))

    def _finish(self, braces: _Braces, attributes: list[tuple[str, str | None, int]]) -> None:
        """The end of a statement: its edges, or the roles of its node, are known now."""
        scanner = self.scanner
        if braces.pairs:
            link = self._link(braces, attributes)
            for left, right, start in braces.pairs:
                place = scanner.place(start)
                if len(left) * len(right) > 1:
                    self.budget.spend(left, right, place)
                for one in left:
                    for other in right:
                        join(self.draft, one, link, other, place)
        elif braces.port >= 0:
            raise scanner.error('a port is given where there is no edge. Write "->" for an edge.', braces.port)
        else:
            for name in braces.left:
                self.marks[name].update(self._marks(attributes))
        braces.clear()

    # ------------------------------------------------------------------------------------------------- attributes

    def _attributes(self) -> list[tuple[str, str | None, int]]:
        """``[key=value, word]``, any number of times: keys, values and where they stand."""
        scanner = self.scanner
        found: list[tuple[str, str | None, int]] = []
        while scanner.value == "[":
            opened = scanner.start
            scanner.step()
            while scanner.value != "]":
                if scanner.kind == "end":
                    raise scanner.expected(f'"]" to close the attributes opened at {scanner.place(opened)}')
                if scanner.kind not in NAMED:
                    raise scanner.expected('an attribute or "]"')
                start = scanner.start
                key = self._word()
                found.append((key, self._value() if scanner.value == "=" else None, start))
                if scanner.value in (",", ";"):
                    scanner.step()
            scanner.step()
        return found

    def _defaults(self, braces: _Braces, word: str) -> None:
        """``node [...]``, ``edge [...]`` or ``graph [...]``."""
        scanner = self.scanner
        scanner.step()
        if scanner.value != "[":
            raise scanner.expected(f'"[" after {show(word)}', f'Quote the name of a node: "\\"{word}\\"".')
        attributes = self._attributes()
        if word == "node":
            braces.node.update(self._marks(attributes))
        elif word == "edge":
            braces.edge.update(self._edge_words(attributes))

    def _marks(self, attributes: list[tuple[str, str | None, int]]) -> Marks:
        found = [role(self.scanner, key, value, start) for key, value, start in attributes]
        return dict(mark for mark in found if mark is not None)

    def _edge_words(self, attributes: list[tuple[str, str | None, int]]) -> dict[str, str]:
        """The attributes that change what an edge says; unknown bare words are refused."""
        words: dict[str, str] = {}
        for key, value, start in attributes:
            if value is None:
                raise self.scanner.error(
                    f'{show(key)} is not an attribute of an edge. Write a hidden common cause as "A -> B [dir=both]".',
                    start,
                )
            if key.lower() in ("arrowhead", "arrowtail") and value.lower() in HEADLESS:
                raise self.scanner.error(
                    f"{key}={value} draws an edge without a head. Use dir to say which way it points; "
                    f"undirected and circle edges are not read.",
                    start,
                )
            if key.lower() == "dir":
                direction(self.scanner, value, start)
                words["dir"] = value
        return words

    def _link(self, braces: _Braces, attributes: list[tuple[str, str | None, int]]) -> Link:
        words = braces.edge | self._edge_words(attributes)
        return direction(self.scanner, words.get("dir", "forward"), braces.left_start)

    def _graph_attribute(self, key: str, start: int) -> None:
        """``rankdir=LR``; the position of the key tells where it stood."""
        if key.lower() not in GRAPH_ATTRIBUTES:
            raise self.scanner.error(
                f"{show(key)} is not an attribute of a graph.{nearest(key.lower(), GRAPH_ATTRIBUTES)} "
                f'If an edge is meant, write "->" in place of "=".',
                start,
            )
        self._value()

    def _value(self) -> str:
        self.scanner.step()
        if self.scanner.kind not in NAMED:
            raise self._no_name("a value: a word, a number or text in quotes")
        return self._word()

    def _word(self) -> str:
        """The present id as text; goes on to the next token."""
        scanner = self.scanner
        word = scanner.value
        if scanner.kind == "quoted":
            word = word[1:-1]
            if "\\" in word:
                word = re.sub(r'\\(["\\\n])', lambda escape: "" if escape[1] == "\n" else escape[1], word)
        scanner.step()
        return word

    def _port(self, braces: _Braces) -> None:
        """``A:port:ne`` means A; but ``A:B`` with a node B may be an edge spelt wrongly, see `_check_ports`."""
        for _ in range(2):
            if self.scanner.value == ":":
                braces.port = self.scanner.start
                self.ports.setdefault(self._value(), braces.port)

    def _check_ports(self) -> None:
        for port, start in self.ports.items():
            if port in self.marks:
                raise self.scanner.error(
                    f'":" here names a port {show(port)}, but {show(port)} is a node. Write "->" for an edge.', start
                )

    # ----------------------------------------------------------------------------------------------------- errors

    def _no_term(self, braces: _Braces) -> GraphSyntaxError:
        scanner = self.scanner
        if scanner.kind == "end" and not braces.arrow:
            return scanner.expected(f'"}}" to close the braces opened at {scanner.place(braces.start)}')
        return self._no_name('a node after "->"' if braces.arrow else 'a node, "subgraph" or "}"')

    def _no_name(self, what: str) -> GraphSyntaxError:
        scanner = self.scanner
        if scanner.value == '"':
            return scanner.error(f"this quote is never closed: {scanner.around()}.")
        if scanner.value == "/*":
            return scanner.error(f"this comment is never closed: {scanner.around()}.")
        if scanner.value.startswith("<"):
            return scanner.expected(what, "Text in angle brackets (HTML) is not read; use plain quotes.")
        if scanner.kind == "number" or scanner.value.isalnum():
            return scanner.expected(what, f'Quote it if it is a name: "{scanner.value}".')
        return scanner.expected(what)

    def _no_link(self) -> GraphSyntaxError:
        scanner = self.scanner
        what = '"->", "[", ";" or "}"'
        if scanner.value == "--":
            return scanner.expected(what, 'An undirected edge is not read: a causal graph has edges "->".')
        if scanner.kind == "bad" and scanner.value[0] in ".-":
            return scanner.expected(what, "Quote a name that holds more than letters, digits and underscores.")
        return self._no_name(what)
