"""Named graphs from papers and textbooks: the examples of the documentation and the fixtures of the tests.

>>> from whichdo.graph.gallery import gallery
>>> gallery["front-door"].graph.c_component("X")
('X', 'Y')
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from whichdo.graph.admg import CausalGraph

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Example:
    """A graph with a name, the node that is its reward, what it shows, and where it is from."""

    name: str
    text: str
    reward: str
    shows: str
    source: str

    @cached_property
    def graph(self) -> CausalGraph:
        """The graph, hidden variables projected out."""
        return CausalGraph.parse(self.text)


TIAN = "Tian and Pearl, A General Identification Condition for Causal Effects, AAAI 2002"
PEARL = "Pearl, Causality, 2nd edition, 2009"
PAPER = "Maiti, Nair and Sinha, A Causal Bandit Approach to Learning Good Atomic Interventions, 2022"

_EXAMPLES = (
    Example("back-door", "Z -> X; Z -> Y; X -> Y", "Y", "adjusting for an observed common cause", f"{PEARL}, 3.3.1"),
    Example("front-door", "X -> M; M -> Y; X <-> Y", "Y", "a confounded effect computed through its mediator",
            f"{PEARL}, 3.3.2"),
    Example("napkin", "W1 -> W2; W2 -> X; X -> Y; W1 <-> X; W1 <-> Y", "Y",
            "Assumption 3 fails, though a longer derivation exists", "Pearl and Mackenzie, The Book of Why, 2018"),
    Example("bow", "X -> Y; X <-> Y", "Y", "the smallest effect that looking cannot settle", f"{PEARL}, 3.5"),
    Example("m-bias", "X -> Y; A <-> Y; A <-> X", "Y",
            "Assumption 3 fails over A, which is not an ancestor of Y: left out, there is nothing to adjust for",
            "Greenland, Quantifying biases in causal models, Epidemiology 2003"),
    Example("instrument", "Z -> X; X -> Y; X <-> Y", "Y", "an instrument: do(Z) is settled, do(X) must be tried",
            f"{PEARL}, 3.5"),
    Example("hidden-common-cause", "C -> A; C -> Y; A -> X; X -> Y", "Y",
            "a marginalised node confounds: the projection on A, X, Y has A <-> Y", PAPER),
    Example("paths-through-kept-nodes", "A -> B; X -> Y; B -> Y; A <-> X", "Y",
            "a projection must stop at the first node that is kept", PAPER),
    Example("chain-in-component", "X -> M; M -> A; A -> Y; X <-> A", "Y",
            "the effective parents of A are X and M: X stays visible inside its component", TIAN),
    Example("not-an-ancestor", "X -> A; X <-> Y; Y", "Y", "an arm that equals do()", PAPER),
    Example("confounder-elsewhere", "A -> X; A -> Y; X -> M; M -> Y; A <-> M", "Y",
            "hidden causes that do not touch X: adjusting for its parents is right", PAPER),
    Example("rescued", "X -> B; X <-> B; X -> Y", "Y",
            "Assumption 3 fails for X, but not among the ancestors of Y", TIAN),
    Example("experiment-3", "X1 -> X2; X1 -> X3; X2 -> Y; X3 -> Y", "Y", "looking is the best arm",
            f"{PAPER}, Experiment 3"),
    Example("infection", """
        work_from_home -> social_distancing -> infection
        face_mask -> infection
        vaccination -> infection
        economic_background [latent]
        social_background [latent]
        economic_background -> {work_from_home infection}
        social_background -> {face_mask vaccination}
        """, "infection", "four measures against an infection, two hidden backgrounds", f"{PAPER}, Figure 1"),
)  # fmt: skip

gallery: Mapping[str, Example] = MappingProxyType({example.name: example for example in _EXAMPLES})
