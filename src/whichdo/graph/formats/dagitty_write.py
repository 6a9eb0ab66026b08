"""Graphs in the short text form and as dagitty's text, which `whichdo.graph.formats.dagitty` reads back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.graph.formats.scan import spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.graph.mixed import MixedGraph


def write_text(graph: MixedGraph) -> str:
    """The graph in the short form, on one line: nodes in order, hidden names, edges."""
    return "; ".join(_statements(graph))


def write_dagitty(graph: MixedGraph) -> str:
    """The graph as dagitty reads it."""
    return "\n".join(["dag {", *_statements(graph), "}", ""])


def _statements(graph: MixedGraph) -> Iterator[str]:
    names = [spell(name) for name in graph.nodes]
    roles = (("exposure", graph.exposures), ("outcome", graph.outcomes))
    for name, spelt in zip(graph.nodes, names, strict=True):
        marks = [word for word, group in roles if name in group]
        yield f"{spelt} [{','.join(marks)}]" if marks else spelt
    for name in sorted(graph.hidden):
        yield f"{spell(name)} [latent]"
    for head, row in enumerate(graph.parent_ids):
        for tail in row:
            yield f"{names[tail]} -> {names[head]}"
    for first, row in enumerate(graph.sibling_ids):
        for second in row:
            if first < second:
                yield f"{names[first]} <-> {names[second]}"
