"""Random causal graphs with names that every format must quote, escape or refuse to confuse with its own words."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from whichdo.graph import formats
from whichdo.graph.admg import CausalGraph

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

FORMATS = tuple(name for name in formats.FORMATS if name != "bif")
"""All that can write any name, which BIF cannot."""

WORDS = """
graph digraph dag mag pag node edge subgraph strict network variable Node o bb latent exposure label id source target
rank e l u nodes directed null NaN a.b . .. - -> <-> -- a-b a->b -1 1 1.5 1a 1e400 { } {} [ ] [latent] ; , = : a:b & %
&quot; &#34; &amp;amp; <b> + # // /* */ a//b a#b ' `
"""
NASTY = (
    *WORDS.split(),
    *("face mask", "x y  z", "graph [", "dag {", "# x", '"', '""', "\\", "\\\\", 'a\\"b', "a\\", "\\n", '\\"'),
    *("é", "Größe", "变量", "имя", "हिन्दी", "→", "🙂", "\uff11", "\uff41", "ß", "İ"),
)


def names() -> SearchStrategy[str]:
    """A name that is allowed: nasty on purpose, plain, or random text without blanks at its ends."""
    letters = st.characters(
        min_codepoint=32, max_codepoint=0x2FFF, categories=("L", "N", "P", "S", "Zs"), exclude_characters="\u115f\u1160"
    )
    drawn = st.text(letters, min_size=1, max_size=12).map(_allowed).filter(bool)
    return st.sampled_from(NASTY) | st.sampled_from("ABCDEFGH") | drawn


def _allowed(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip()


@st.composite
def graphs(draw: DrawFn) -> CausalGraph:
    """A random ADMG of one to eight nodes with hidden names and roles."""
    nodes = draw(st.lists(names(), min_size=1, max_size=8, unique=True))
    count = draw(st.integers(1, len(nodes)))
    observed, hidden = nodes[:count], nodes[count:]
    pairs = [(one, two) for position, one in enumerate(observed) for two in observed[position + 1 :]]
    some = st.lists(st.sampled_from(pairs), unique=True) if pairs else st.just([])
    return CausalGraph(
        observed,
        draw(some),
        draw(some),
        hidden=hidden,
        exposures=draw(st.lists(st.sampled_from(observed), unique=True)),
        outcomes=draw(st.lists(st.sampled_from(observed), unique=True)),
    )
