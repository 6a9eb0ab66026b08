"""How DOT falls into tokens; `whichdo.graph.formats.dot` reads them."""

from __future__ import annotations

import re

from whichdo.graph.formats.scan import LETTERS

__all__ = ["EDGE", "GRAPH_ATTRIBUTES", "TOKENS"]

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
