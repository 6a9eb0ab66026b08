"""How the short text form and dagitty's text fall into tokens; `whichdo.graph.formats.dagitty` reads them."""

from __future__ import annotations

import re

from whichdo.graph.formats.scan import LETTERS, NAME

__all__ = [
    "EDGE_WHERE_LINES_COUNT",
    "EDGE_WHERE_LINES_DO_NOT",
    "EQUALS",
    "GRAPH_ATTRIBUTES",
    "LINES_COUNT",
    "LINES_DO_NOT",
]

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
