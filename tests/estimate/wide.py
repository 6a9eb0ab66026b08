"""Networks whose scopes are far too wide to lay out while every factor is small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.world.mechanism import Mechanism, bernoulli
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from whichdo.problem import Problem


def tied_chain(length: int, *, first: bool = False) -> tuple[CausalNetwork, Problem]:
    """A0 -> ... -> Y, X -> Y and Z -> Y, and a hidden cause between X and every A: all must be counted together with X.

    X has as many hidden parents as there are A and depends on two of them.  Each A has two small inputs, so X's scope
    of ``length`` + 2 columns goes with tables of at most eight cells.  ``first``: X is mentioned before all others.
    """
    ties = [f"U{number}" for number in range(length)]
    mechanisms = {name: bernoulli((), 0.4) for name in ties}
    x = bernoulli(ties[-2:], [[0.2, 0.5], [0.4, 0.9]], parents=ties)
    if first:
        mechanisms["X"] = x
    for number, tie in enumerate(ties):
        before = (f"A{number - 1}",) if number else ()
        table = [[0.15, 0.6], [0.45, 0.85]] if number else [0.3, 0.7]
        mechanisms[f"A{number}"] = bernoulli((*before, tie), table)
    mechanisms["X"] = x
    mechanisms["Z"] = bernoulli((), 0.5)
    mechanisms["Y"] = bernoulli((f"A{length - 1}", "X", "Z"), [[[0.1, 0.2], [0.4, 0.6]], [[0.3, 0.5], [0.7, 0.9]]])
    network = CausalNetwork(mechanisms, hidden=set(ties))
    return network, network.problem("Y", intervene=["X", "Z"])


def many_parents(count: int) -> tuple[CausalNetwork, Problem]:
    """X has ``count`` parents that act on nothing else, and a hidden cause in common with A, a cause of Y; so has V."""
    mechanisms: dict[str, Mechanism] = {}
    for node, cause in ("XA", "VB"):
        parents = [f"{node}{number}" for number in range(count)]
        mechanisms |= {name: bernoulli((), 0.5) for name in (f"U{node}", *parents)}
        mechanisms[cause] = bernoulli((f"U{node}",), [0.2, 0.8])
        table = [[0.2, 0.4], [0.6, 0.9]]
        mechanisms[node] = bernoulli((f"U{node}", f"{node}0"), table, parents=(f"U{node}", *parents))
    chances = 0.1 + np.add.outer(np.add.outer([0, 0.3], [0, 0.3]), np.add.outer([0, 0.1], [0, 0.15]))
    mechanisms["Y"] = bernoulli(("A", "X", "B", "V"), chances.tolist())
    network = CausalNetwork(mechanisms, hidden={"UX", "UV"})
    return network, network.problem("Y", intervene=["X", "V"])


def fine_reward(levels: int, count: int) -> tuple[CausalNetwork, Problem]:
    """X -> M -> A -> Y with X <-> A, ``count`` parents of A, and a reward of many levels: x' must be summed out."""
    parents = [f"P{number}" for number in range(count)]
    rng = np.random.default_rng(1)
    mechanisms = {"U": bernoulli((), 0.5), **{name: bernoulli((), 0.3) for name in parents}}
    mechanisms["X"] = bernoulli(("U",), [0.2, 0.8])
    mechanisms["M"] = bernoulli(("X",), [0.1, 0.9])
    table = [[[0.1, 0.3], [0.5, 0.6]], [[0.4, 0.7], [0.5, 0.9]]]
    mechanisms["A"] = bernoulli(("M", "U", "P0"), table, parents=("M", "U", *parents))
    mechanisms["Y"] = Mechanism(("A",), rng.dirichlet(np.ones(levels), 2).tolist())
    network = CausalNetwork(mechanisms, hidden={"U"})
    rewards = {level: place / (levels - 1) for place, level in enumerate(network.domains["Y"])}
    return network, network.problem("Y", intervene=["X"], rewards=rewards)
