"""Nine small networks with known answers: one for each way in which an identification formula can go wrong.

Each line gives P(node=1) as a linear form in its parents; U and V are hidden fair coins.  X is the node to set and Y
the reward.  Their graphs are in `whichdo.graph.gallery`.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from whichdo.errors import UsageError
from whichdo.text import nearest, quoted
from whichdo.world.instances.confounded import linear
from whichdo.world.instances.instance import Instance
from whichdo.world.network import CausalNetwork, Mechanism, bernoulli

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


CANONICAL: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "backdoor": ("Z: .4; X: .2 + .6 Z; Y: .1 + .3 Z + .4 X", "adjusting for an observed common cause"),
        "frontdoor": ("X: .2 + .6 U; M: .1 + .7 X; Y: .1 + .5 M + .3 U", "the reward inside the component of X"),
        "hiddenV": ("C: .5; A: .2 + .6 C; X: .1 + .8 A; Y: .1 + .4 C + .4 X", "a common cause that is projected out"),
        "authors_bug": (
            "A: .1 + .8 U; X: .2 + .6 U; B: .1 + .8 A; Y: .1 + .3 X + .5 B",
            "a projection must stop at kept nodes",
        ),
        "s1_chain": (
            "X: .2 + .6 U; M: .1 + .8 X; A: .1 + .3 M + .5 U; Y: .2 + .6 A",
            "X stays visible inside its component",
        ),
        "not_anc": ("X: .2 + .6 U; A: .3 + .4 X; Y: .1 + .8 U", "X does not act on the reward"),
        "two_comp": (
            "A: .3 + .4 U; X: .2 + .6 A; M: .1 + .4 X + .4 U; Y: .1 + .3 A + .5 M",
            "a confounder elsewhere: adjusting for parents is right",
        ),
        "napkin": (
            "W1: .1 + .4 U + .4 V; W2: .2 + .6 W1; X: .1 + .4 W2 + .4 U; Y: .1 + .4 X + .4 V",
            "Assumption 3 fails, though a longer derivation exists",
        ),
        "bow": ("X: .2 + .6 U; Y: .1 + .4 X + .4 U", "the smallest effect that looking cannot settle"),
    }
)


def canonical(name: str, intervene: Iterable[str] = ("X",)) -> Instance:
    """One of the networks above, by name.

    >>> canonical("frontdoor").means.round(3).tolist()       # do(), do(X=0), do(X=1)
    [0.475, 0.3, 0.65]
    """
    if name not in CANONICAL:
        raise UsageError(
            f"There is no canonical network {quoted(name)}.{nearest(name, CANONICAL)} Known: {', '.join(CANONICAL)}."
        )
    text, about = CANONICAL[name]
    mechanisms: dict[str, Mechanism] = {}
    for line in text.split(";"):
        node, form = line.split(":")
        base, *terms = form.split("+")
        weights = {parent: float(weight) for weight, parent in (term.split() for term in terms)}
        mechanisms[node.strip()] = linear(float(base), weights)
    hidden = [coin for coin in "UV" if re.search(rf"\b{coin}\b", text)]
    network = CausalNetwork({coin: bernoulli((), 0.5) for coin in hidden} | mechanisms, hidden)
    return Instance(f"canonical/{name}", network, network.problem("Y", intervene), about)
