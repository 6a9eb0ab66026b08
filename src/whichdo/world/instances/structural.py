"""The three tasks of Lee and Bareinboim, Structural Causal Bandits: Where to Intervene? (NeurIPS 2018).

All nodes are bits, and all but the reward can be set, any number of them at once.  Each task can be posed over three
lists of arms, which is what their experiments compare:

possibly optimal   the sets that are best in some model of the graph (POMIS);
minimal            the sets of which every member acts on the reward once the others are set (MIS);
all                every set, whether or not another does the same.

``do()`` is an arm of every problem; where it is not possibly optimal it is a look, and no answer.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from whichdo.arms import do
from whichdo.errors import UsageError
from whichdo.identification.pruning import minimal_sets, possibly_optimal
from whichdo.world.instances.instance import Instance
from whichdo.world.network import CausalNetwork, Mechanism, bernoulli

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whichdo.arms import Arm
    from whichdo.graph.targets import Targets


class Among(StrEnum):
    """Which arms a task is posed over."""

    POSSIBLY_OPTIMAL = "possibly optimal"
    MINIMAL = "minimal"
    ALL = "all"


def structural(task: int, among: str = Among.POSSIBLY_OPTIMAL) -> Instance:
    """One of the three tasks, posed over some of its arms.

    ``task``: 1, without hidden causes; 2, an instrument; 3, two hidden causes.
    ``among``: "possibly optimal", "minimal" or "all".

    Examples
    --------
    >>> len(structural(3).problem.arms), len(structural(3, "all").problem.arms)     # a look and 16, all 243
    (17, 243)
    >>> structural(2).best
    do(Z=0)
    """
    if task not in STRUCTURAL:
        raise UsageError(f"There is no task {task!r} of Lee and Bareinboim's; there are 1, 2 and 3.")
    if among not in set(Among):
        raise UsageError(f"A task is posed over arms that are {', '.join(Among)}; found {among!r}.")
    network, about = STRUCTURAL[task], f"Lee and Bareinboim's task {task}, arms: {among}"
    nodes = [name for name in network.graph.nodes if name != "Y"]
    sets: Iterable[Targets]
    if among == Among.ALL:
        sets = [some for size in range(len(nodes) + 1) for some in combinations(nodes, size)]
    else:
        sets = (possibly_optimal if among == Among.POSSIBLY_OPTIMAL else minimal_sets)(network.graph, "Y")
    pruned = among == Among.POSSIBLY_OPTIMAL
    problem = network.problem("Y", arms=arms_on(network, sets), prune=pruned)
    kind = "" if among == Among.POSSIBLY_OPTIMAL else f"-{among}"
    return Instance(f"structural/task-{task}{kind}", network, problem, about)


def arms_on(network: CausalNetwork, sets: Iterable[Targets]) -> list[Arm]:
    """Every arm on some sets of nodes, in order."""
    return [
        do(dict(zip(targets, values, strict=True)))
        for targets in sets
        for values in product(*(network.domains[name] for name in targets))
    ]


def _parity(inputs: Sequence[str], noise: float, *, flipped: bool = False) -> Mechanism:
    """The exclusive or of some bits and of noise that is 1 with this probability; ``flipped``, of a 1 as well."""
    odd = np.indices((2,) * len(inputs)).sum(axis=0) % 2 if inputs else np.zeros(())
    odd = 1 - odd if flipped else odd
    return bernoulli(inputs, np.where(odd == 1, 1 - noise, noise))


def _markovian() -> CausalNetwork:
    return CausalNetwork(
        {
            "Z1": bernoulli((), 0.54),
            "Z2": bernoulli((), 0.44),
            "X1": _parity(("Z1", "Z2"), 0.54),
            "X2": _parity(("Z1", "Z2"), 0.67, flipped=True),
            "Y": bernoulli(("X1", "X2"), [[0.58, 0.58], [0.58, 1.0]]),
        }
    )


def _instrument() -> CausalNetwork:
    return CausalNetwork(
        {
            "C": bernoulli((), 0.51),
            "Z": bernoulli((), 0.60),
            "X": _parity(("C", "Z"), 0.11),
            "Y": _parity(("C", "X"), 0.15, flipped=True),
        },
        ["C"],
    )


def _two_hidden_causes() -> CausalNetwork:
    return CausalNetwork(
        {
            "C": bernoulli((), 0.51),
            "D": bernoulli((), 0.54),
            "S": bernoulli((), 0.45),
            "T": bernoulli((), 0.81),
            "W": _parity(("C", "S"), 0.07),
            "Z": _parity(("D",), 0.05),
            "X": _parity(("Z", "C", "T"), 0.06, flipped=True),
            "Y": _parity(("D", "X", "W", "T"), 0.06),
        },
        ["C", "D"],
    )


STRUCTURAL = {1: _markovian(), 2: _instrument(), 3: _two_hidden_causes()}
"""The networks of the tasks by number."""
