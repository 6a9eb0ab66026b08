"""True networks and the graphs that somebody wrongly believes of them."""

from __future__ import annotations

from whichdo.problem import Problem
from whichdo.world.mechanism import Mechanism, bernoulli
from whichdo.world.network import CausalNetwork

Case = tuple[CausalNetwork, Problem]


def bow(others: int = 0, mean: float = 0.4, bias: float = 0.3) -> Case:
    """X and Y share a hidden fair coin that the graph lacks; X itself does nothing.

    X is .1 + .8 U, so among those with X=1 nine in ten have U=1; Y leans on U by bias/.4.  do(X=1) has ``mean``, and
    looking says ``mean`` + ``bias``.  ``others`` are fair coins that are believed to act on Y.
    """
    names = [f"Z{number}" for number in range(others)]
    lean = bias / 0.4
    network = CausalNetwork(
        {
            "U": bernoulli((), 0.5),
            "X": bernoulli(("U",), [0.1, 0.9]),
            **{name: bernoulli((), 0.5) for name in names},
            "Y": bernoulli(("U",), [mean - lean / 2, mean + lean / 2], parents=("U", "X", *names)),
        },
        hidden={"U"},
    )
    return network, Problem("; ".join(f"{name} -> Y" for name in ["X", *names]), "Y")


def levels() -> Case:
    """As `bow`, with a reward of three levels: E[Y | do(X=1)] = .45, and looking says .75.

    Y is worth 0, 1/2 or 1, and E[Y | U] is .075 or .825.
    """
    law = [[0.9, 0.05, 0.05], [0.1, 0.15, 0.75]]
    network = CausalNetwork(
        {
            "U": bernoulli((), 0.5),
            "X": bernoulli(("U",), [0.1, 0.9]),
            "Y": Mechanism(("U",), law, parents=("U", "X")),
        },
        hidden={"U"},
    )
    return network, Problem("X -> Y", "Y", domains={"Y": (0, 1, 2)}, rewards={0: 0.0, 1: 0.5, 2: 1.0})


def chain(tied: str) -> Case:
    """X -> M -> Y with an observed Z -> Y; a hidden cause of X and of ``tied`` (M or Y) is missing in the graph."""
    mechanisms = {
        "U": bernoulli((), 0.5),
        "Z": bernoulli((), 0.3),
        "X": bernoulli(("U",), [0.05, 0.95]),
    }
    if tied == "M":
        mechanisms["M"] = bernoulli(("X", "U"), [[0.1, 0.6], [0.2, 0.9]])
        mechanisms["Y"] = bernoulli(("M", "Z"), [[0.05, 0.1], [0.9, 0.95]])
    else:
        mechanisms["M"] = bernoulli(("X",), [0.2, 0.8])
        mechanisms["Y"] = bernoulli(("M", "U"), [[0.05, 0.75], [0.2, 0.9]], parents=("M", "U", "Z"))
    return CausalNetwork(mechanisms, hidden={"U"}), Problem("X -> M; M -> Y; Z -> Y", "Y", ["X", "M", "Z"])


def missing_edge() -> Case:
    """X acts on Z too, which the graph does not say: do(X=1) makes Z=1 in .8 instead of .5."""
    network = CausalNetwork(
        {
            "X": bernoulli((), 0.5),
            "Z": bernoulli(("X",), [0.2, 0.8]),
            "Y": bernoulli(("X", "Z"), [[0.3, 0.4], [0.5, 0.6]]),
        }
    )
    return network, Problem("X -> Y; Z -> Y", "Y")


def turned_edge() -> Case:
    """X acts on Z, where the graph has Z acting on X."""
    network, _ = missing_edge()
    return network, Problem("Z -> X; X -> Y; Z -> Y", "Y", ["X"])


def useless() -> Case:
    """X acts on Y, where the graph says that it does not act on anything that Y depends on."""
    network = CausalNetwork(
        {
            "Z": bernoulli((), 0.5),
            "X": bernoulli((), 0.5),
            "Y": bernoulli(("X", "Z"), [[0.1, 0.3], [0.7, 0.9]]),
        }
    )
    return network, Problem("Z -> Y; X", "Y", ["X", "Z"])
