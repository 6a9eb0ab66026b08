r"""The short text form and dagitty's text: one parser, since the first is the second without its frame.

Short form: statements end at a semicolon or at the end of the line::

    X -> M; M -> Y; X <-> Y         # edges; "<-" too, and chains such as A -> B <- C
    {A B} -> C                      # a group stands for its members
    U [latent]                      # also exposure, outcome
    "face mask" -> Y                # names with blanks; \" and \\ inside quotes

dagitty: ``dag name { ... }`` around the same statements, where line ends mean nothing and statements may follow each
other without a semicolon.  Positions and other attributes for drawing are passed over; ``adjusted`` has no effect.
``M [values="low, mid, high"]`` lists the values of a node, which a problem file takes as its domain.
What changes the meaning (undirected and circle edges, other kinds of graphs) is refused.

A hyphen inside a plain name, as in ``face-mask -> Y``, could be an arrow that lost its head.  It is taken as part of
the name only where that is the sole reading: the name ends an edge somewhere, and no part of it is a node.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whichdo.graph.draft import Draft
from whichdo.graph.formats.links import Budget, Link, as_link, check_depth, give, join, role
from whichdo.graph.formats.scan import BLOCK, LETTERS, NAME, Scanner, one_of, show

if TYPE_CHECKING:
    from collections.abc import Collection

    from whichdo.errors import GraphSyntaxError
    from whichdo.graph.mixed import MixedGraph


COMMENT = r"(?<![^\s;,{}\[\]])(?:\#|//)[^\n]*+"


def _tokens(blank: str) -> re.Pattern[str]:
    return re.compile(
        rf"""
        (?:{blank}|{COMMENT})*+
        (?:
            (?P<name>   {NAME}++(?!-{NAME}))
          | (?P<hyphen> {NAME}++(?:-{NAME}++)++)
          | (?P<link>   (?:[<>@~|]|-(?!{NAME})|(?<=[<>@-])-|=(?=[=>]))++)
          | (?P<line>   \n)
          | (?P<mark>   [{{}}\[\];,=])
          | (?P<quoted> "(?:[^"\\\n]|\\[^\n])*+")
          | (?P<minus>  -{NAME}++)
          | (?P<end>    \Z)
          | (?P<bad>    [^{LETTERS}\s"{{}}\[\];,.\#]++|.)
        )""",
        re.VERBOSE,
    )


LINES_COUNT = _tokens(r"[^\S\n]++")
LINES_DO_NOT = _tokens(r"\s++")


def _edge(no_circle_left: str, no_circle_right: str) -> re.Pattern[str]:
    return re.compile(
        rf"""
        \s*+ ("[^"\\\n]++"|{NAME}++) [^\S\n]*+ (<->|->|<-) {no_circle_left}
        [^\S\n]*+ ("[^"\\\n]++"|{NAME}++) [^\S\n]*+ (?:;|\n(?=\s*+["{LETTERS}.]) {no_circle_right})""",
        re.VERBOSE,
    )


#: Most of a large text: an edge between two names that ends at a semicolon, or at a line end with a new statement after
#: it.  One match in place of four tokens halves the time; what it does not match is read token by token.
EDGE_WHERE_LINES_COUNT = _edge("", "")
#: Where line ends mean nothing, an edge next to "<-o" or "o->" may be half of a circle edge over two lines.
EDGE_WHERE_LINES_DO_NOT = _edge(rf"(?!(?<=<-)o(?!{NAME}))", r"(?!\s*+o-)")
#: What dagitty's text may set for the graph as a whole; "A = B" with any other word is taken for a misspelt edge.
GRAPH_ATTRIBUTES = frozenset(("bb", "height", "label", "layout", "name", "rankdir", "ratio", "size", "title", "width"))
EQUALS = re.compile(r"\s*+=(?![=>])")


ATTRIBUTES = "Attributes end a statement: write A [exposure]; A -> B."
REFUSED = 'Only "->", "<-" and "<->" are edges of a causal graph; undirected and circle edges are not read.'
EDGE_MEANING = frozenset(("dir", "arrowhead", "arrowtail"))


def read_text(text: str) -> MixedGraph:
    """A graph from the short form or from dagitty's text, whichever it is."""
    return _Parser(text).parse()


class _Group:
    """What stands between two braces, or the text as a whole: its members and the statement being read."""

    __slots__ = ("arrow", "arrow_end", "chain", "circle", "done", "left", "left_start", "loose", "members", "start")

    def __init__(self, start: int, *, loose: bool) -> None:
        self.start = start
        self.loose = loose  # whether statements may follow each other with nothing between
        self.members: dict[str, None] = {}
        self.clear()

    def clear(self) -> None:
        """Begin a new statement."""
        self.left: Collection[str] = ()  # the last term of the chain so far
        self.left_start = -1  # where it stands; -1 before the first
        self.arrow: Link | None = None
        self.arrow_end = -1
        self.chain = False  # whether the statement has an edge
        self.circle = False  # whether the last term may be the "o" of a circle edge
        self.done = False  # whether attributes have ended the statement


class _Parser:
    """Reads statement by statement; groups are kept on a stack, so nesting costs no recursion."""

    def __init__(self, text: str) -> None:
        self.draft = Draft()
        self.budget = Budget()
        self.hyphenated: dict[str, int] = {}
        self.joined: set[str] = set()
        self.scanner = Scanner(text, LINES_COUNT)
        while self.scanner.kind == "line":
            self.scanner.step()
        frame = re.compile(BLOCK).match(text, self.scanner.start)
        self.block = frame is not None
        if frame is not None:
            if frame[1].lower() != "dag":
                raise self.scanner.error(
                    f'{show(frame[1])} begins a graph of another kind: only "dag" is a causal graph. {REFUSED}'
                )
            self.scanner = Scanner(text, LINES_DO_NOT, frame.end())
        self.stack = [_Group(-1, loose=self.block)]

    def parse(self) -> MixedGraph:
        """Read all statements, then the graph they make."""
        stack = self.stack
        scanner = self.scanner
        while stack:
            group = stack[-1]
            kind = scanner.kind
            if kind == "line":
                if not group.loose:
                    self._end_statement(group)
                scanner.step()
            elif group.done or (group.left_start >= 0 and not group.arrow):
                self._after_term(group)
            elif kind in ("name", "quoted"):
                if len(stack) == 1 and not group.arrow and self._edges():
                    continue
                if self.block and scanner.value in GRAPH_ATTRIBUTES and self._graph_attribute(group):
                    continue
                value = scanner.value
                self._term(group, (value if kind == "name" else self._unquote(value),), scanner.start)
                scanner.step()
            else:
                self._before_term(group)
        if scanner.kind != "end":
            raise scanner.expected('the end of the text after the closing "}"')
        graph = self.draft.finish()
        self._check_hyphens(graph)
        return graph

    def _edges(self) -> bool:
        """Read plain edges, one after another; whether there was any."""
        scanner, draft = self.scanner, self.draft
        text = scanner.text
        pattern = EDGE_WHERE_LINES_DO_NOT if self.block else EDGE_WHERE_LINES_COUNT
        first = position = scanner.start
        while (edge := pattern.match(text, position)) is not None:
            left, link, right = edge.groups()
            left = left[1:-1] if left[0] == '"' else left
            right = right[1:-1] if right[0] == '"' else right
            place = scanner.place(edge.start(1))
            if link == "->":
                draft.arrow(left, right, place)
            else:
                join(draft, left, "<-" if link == "<-" else "<->", right, place)
            position = edge.end()
        if position == first:
            return False
        scanner.jump(position)
        return True

    # ------------------------------------------------------------------------------------------------- statements

    def _before_term(self, group: _Group) -> None:
        """A statement begins here, or goes on after an arrow, with something other than a plain name."""
        scanner = self.scanner
        kind, value, start = scanner.kind, scanner.value, scanner.start
        if kind == "hyphen":
            self.hyphenated.setdefault(value, start)
            self._term(group, (value,), start)
            scanner.step()
        elif value == "{":
            check_depth(scanner, self.stack)
            self.stack.append(_Group(start, loose=True))
            scanner.step()
        elif not group.arrow and (value == ";" or (value == "," and len(self.stack) > 1)):
            scanner.step()
        elif not group.arrow and (kind == "end" or value == "}"):
            self._close()
        else:
            raise self._no_term(group)

    def _after_term(self, group: _Group) -> None:
        """A term has been read: an arrow, attributes or the end of the statement may follow."""
        scanner = self.scanner
        kind, value = scanner.kind, scanner.value
        link = as_link(value) if kind == "link" else None
        if link is not None and not group.done:
            group.arrow = link
            group.arrow_end = scanner.start + len(value)
            scanner.step()
        elif value == "[" and not group.done and len(group.left) == 1:
            self._attributes(group)
        elif value == ";" or (value == "," and len(self.stack) > 1):
            group.clear()
            scanner.step()
        elif kind == "end" or value == "}":
            self._close()
        elif group.loose and (kind in ("name", "hyphen", "quoted") or value == "{"):
            self._refuse_circles(group)
            group.clear()
        else:
            raise self._no_link(group)

    def _end_statement(self, group: _Group) -> None:
        if group.arrow:
            raise self._no_term(group)
        group.clear()

    def _close(self) -> None:
        """The end of a group, of the dagitty block, or of the text."""
        scanner = self.scanner
        group = self.stack[-1]
        inner = len(self.stack) > 1
        if scanner.kind == "end" and (inner or self.block):
            opened = f"the group opened at {scanner.place(group.start)}" if inner else "the graph"
            raise scanner.expected(f'"}}" to close {opened}')
        if scanner.kind != "end" and not (inner or self.block):
            raise scanner.expected('a name, "{" or the end of the text', 'This "}" closes nothing.')
        self.stack.pop()
        if inner:
            self._term(self.stack[-1], tuple(group.members), group.start)
        if scanner.kind != "end":
            scanner.step()

    def _term(self, group: _Group, members: Collection[str], start: int) -> None:
        """A name or a group has been read: declare it and join it to what stands left of the arrow."""
        if len(members) == 1:
            for name in members:
                self.draft.node(name, self.scanner.place(start))
        else:
            self.budget.spend(members, (), self.scanner.place(start))
        if group.arrow is not None:
            self._join(group, group.arrow, members, start)
            group.circle = group.arrow == "<-" and start == group.arrow_end and tuple(members) == ("o",)
            group.chain = True
            group.arrow = None
        group.left = members
        group.left_start = start
        if len(self.stack) > 1:
            group.members.update(dict.fromkeys(members))

    def _join(self, group: _Group, link: Link, right: Collection[str], start: int) -> None:
        left = group.left
        if not left or not right:
            empty = start if left else group.left_start
            raise self.scanner.error("this group is empty, and no edge can end at nothing. Name its members.", empty)
        if self.hyphenated:
            self.joined.update(left, right)
        place = self.scanner.place(group.left_start)
        if len(left) * len(right) > 1:
            self.budget.spend(left, right, place)
        for one in left:
            for other in right:
                join(self.draft, one, link, other, place)

    # ------------------------------------------------------------------------------------------------- attributes

    def _attributes(self, group: _Group) -> None:
        """``[latent, pos="0,1"]`` after a node, ``[beta=.3]`` after an edge."""
        scanner = self.scanner
        opened = scanner.start
        scanner.step()
        while scanner.value != "]":
            if scanner.kind not in ("name", "hyphen", "quoted"):
                if scanner.kind == "end":
                    raise scanner.expected(f'"]" to close the attributes opened at {scanner.place(opened)}')
                raise scanner.expected('an attribute or "]"')
            start = scanner.start
            key = self._word()
            self._skip_lines()
            value = self._value() if scanner.value == "=" else None
            self._attribute(group, key, value, start)
            if scanner.value in (",", ";"):
                scanner.step()
            self._skip_lines()
        scanner.step()
        group.done = True

    def _attribute(self, group: _Group, key: str, value: str | None, start: int) -> None:
        scanner = self.scanner
        if not group.chain and key.lower() == "values" and value is not None:
            for name in group.left:
                self.draft.values(name, self._split_values(value, start))
        elif not group.chain:
            found = role(scanner, key, value, start, short=True)
            if found is not None and found[1]:
                for name in group.left:
                    give(self.draft, name, {found[0]: True})
        elif value is None or key.lower() in EDGE_MEANING:
            raise scanner.error(
                f"{show(key)} is not an attribute of an edge. Give a node its role in a separate statement, as in "
                f'"U [latent]"; write a hidden common cause as "A <-> B".',
                start,
            )

    def _split_values(self, value: str, start: int) -> list[str]:
        """The values in ``values="low, mid, high"``, each of them once."""
        found = [each.strip() for each in value.split(",")]
        if not all(found) or len(set(found)) < len(found):
            raise self.scanner.error(
                f'values is {show(value)}: expected values with commas between, each once: values="low, mid, high".',
                start,
            )
        return found

    def _word(self) -> str:
        """The present name or quoted text; goes on to the next token."""
        scanner = self.scanner
        word = self._unquote(scanner.value, strict=False) if scanner.kind == "quoted" else scanner.value
        scanner.step()
        return word

    def _value(self) -> str:
        self.scanner.step()
        self._skip_lines()
        if self.scanner.kind not in ("name", "hyphen", "quoted", "minus"):
            raise self.scanner.expected("a value in quotes, a word or a number")
        return self._word()

    def _skip_lines(self) -> None:
        while self.scanner.kind == "line":
            self.scanner.step()

    def _graph_attribute(self, group: _Group) -> bool:
        """Pass over ``bb="0,0,1,1"``; whether that is what stands here."""
        scanner = self.scanner
        if group.arrow or len(self.stack) > 1 or not EQUALS.match(scanner.text, scanner.start + len(scanner.value)):
            return False
        scanner.step()
        self._value()
        return True

    def _unquote(self, value: str, *, strict: bool = True) -> str:
        body = value[1:-1]
        if "\\" not in body:
            return body
        for escape in re.finditer(r"\\(.)", body) if strict else ():
            if escape[1] not in '"\\':
                raise self.scanner.error(
                    f'{show(escape[0])} is not an escape: in quotes write \\" for a quote and \\\\ for a backslash.',
                    self.scanner.start + 1 + escape.start(),
                )
        return re.sub(r"\\(.)", r"\1", body)

    # ----------------------------------------------------------------------------------------------------- errors

    def _no_term(self, group: _Group) -> GraphSyntaxError:
        scanner = self.scanner
        if scanner.kind == "minus":
            return scanner.expected("a name", f'Quote it if it is one: "{scanner.value}".')
        if scanner.value.startswith('"'):
            return scanner.error(f"this quote is never closed on its line: {scanner.around()}.")
        after = f" after {show(group.arrow)}" if group.arrow else ""
        return scanner.expected(f'a name or "{{"{after}')

    def _no_link(self, group: _Group) -> GraphSyntaxError:
        scanner = self.scanner
        choices = [] if group.done else ['"->"', '"<-"', '"<->"']
        if len(self.stack) > 1:
            choices += ["a name", '"}"']
        elif self.block:
            choices += ["a name", '";"', '"}"']
        else:
            choices += ['";"', "the end of the line"]
        return scanner.expected(one_of(choices), self._hint(group))

    def _hint(self, group: _Group) -> str:
        scanner = self.scanner
        if scanner.kind in ("name", "hyphen") and len(group.left) == 1 and not group.done:
            (name,) = group.left
            return f'Put a name with blanks in quotes, "{name} {scanner.value}", or a semicolon between two statements.'
        if scanner.value == ",":
            return "Put nodes that share an edge in braces, {A B} -> C, and a semicolon between statements."
        if scanner.value == "[" and len(group.left) != 1:
            return "Attributes belong to one node or one edge, not to a group."
        if scanner.kind == "link":
            return ATTRIBUTES if as_link(scanner.value) is not None and group.done else REFUSED
        return ""

    def _refuse_circles(self, group: _Group) -> None:
        """``A o-> B`` and ``A <-o B`` would otherwise read as statements about a node "o"."""
        scanner = self.scanner
        ahead = scanner.value == "o" and scanner.text.startswith(("->", "--", "-o"), scanner.start + 1)
        if ahead or group.circle:
            raise scanner.error(
                f"this may be a circle edge (o->, <-o, o-o) in {scanner.around()}. {REFUSED} "
                f'If "o" is a node, put blanks around it and a semicolon between the statements.'
            )

    def _check_hyphens(self, graph: MixedGraph) -> None:
        """Refuse a plain name with a hyphen that may as well be a damaged edge."""
        for name, start in self.hyphenated.items():
            parts = name.split("-")
            cuts = range(1, len(parts))
            inside = parts + ["-".join(parts[:cut]) for cut in cuts] + ["-".join(parts[cut:]) for cut in cuts]
            nodes = [part for part in inside if part in graph or part in graph.hidden]
            if nodes or name not in self.joined:
                why = f", and {show(nodes[0])} is a node" if nodes else ""
                raise self.scanner.error(
                    f"{show(name)} may be a name or an edge that lost its head{why}. Put it in quotes if it is a name; "
                    f'write "->" if it is an edge.',
                    start,
                )
