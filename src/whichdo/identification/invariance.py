"""Which laws an experiment leaves alone.

Setting some nodes S changes the law of what S acts on, and leaves other laws as they are.  Draw for
every node of S a node of its own that says whether it was set, with one arrow into it.  Then
P(nodes | given) is the same among looks and among the rows of an experiment on S in every model of
the graph if these extra nodes are m-separated from the nodes by what is given (Pearl and Bareinboim
2014, who call it direct transportability).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.graph.admg import CausalGraph
from whichdo.graph.separation import m_separated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.identification.estimand import Conditional

__all__ = ["leaves_alone"]


def leaves_alone(graph: CausalGraph, tried: Iterable[str], law: Conditional) -> bool:
    """True if a law of looks is the same among the rows of an experiment on some nodes, whatever they were set to.

    Examples
    --------
    >>> from whichdo.identification.estimand import Conditional
    >>> graph = CausalGraph.parse("X -> M -> Y; X <-> Y")
    >>> leaves_alone(graph, ["M"], Conditional(("Y",), ("X", "M")))
    True
    >>> leaves_alone(graph, ["X"], Conditional(("Y",), ("X", "M")))
    False
    """
    switches = {name: f"{name} was set" for name in tried}
    while set(switches.values()).intersection(graph.nodes):
        switches = {name: f"{text}?" for name, text in switches.items()}
    arrows = [*sorted(graph.directed), *((switch, name) for name, switch in switches.items())]
    drawn = CausalGraph([*switches.values(), *graph.nodes], arrows, graph.bidirected)
    return m_separated(drawn, switches.values(), law.nodes, law.given)
