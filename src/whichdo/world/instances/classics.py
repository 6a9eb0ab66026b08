"""Families of the papers before: Lattimore, Lattimore and Reid 2016; Lee and Bareinboim 2018; Nair,
Patil and Sinha 2021.

The *canonical* ones are nine small networks with known answers: one for each way in which an
identification formula can go wrong. Each line gives P(node=1) as a linear form in its parents; U
and V are hidden fair coins.  X is the node to set and Y the reward.  Their graphs are in
`whichdo.graph.gallery`.

The three tasks of Lee and Bareinboim, Structural Causal Bandits: Where to Intervene? (NeurIPS 2018).

All nodes are bits, and all but the reward can be set, any number of them at once.  Each task can be posed over three
lists of arms, which is what their experiments compare:

possibly optimal   the sets that are best in some model of the graph (POMIS);
minimal            the sets of which every member acts on the reward once the others are set (MIS);
all                every set, whether or not another does the same.

``do()`` is an arm of every problem; where it is not possibly optimal it is a look, and no answer.
"""

from __future__ import annotations

import re
from enum import StrEnum
from itertools import combinations, product
from math import sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from whichdo.arms import do
from whichdo.errors import UsageError
from whichdo.identification.pruning import minimal_sets, possibly_optimal
from whichdo.text import nearest, quoted
from whichdo.world.instances.confounded import linear
from whichdo.world.instances.instance import Instance, Seed, check_budget, generator
from whichdo.world.instances.paper import level
from whichdo.world.mechanism import Mechanism, bernoulli
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arms import Arm
    from whichdo.graph.targets import Targets


def parallel(
    m: int = 2, *, nodes: int = 50, epsilon: float | None = None, budget: int | None = None, chance: float = 0.0
) -> Instance:
    """Lattimore's parallel bandit: independent X, all parents of Y; the first ``m`` are 1 with probability ``chance``.

    do(X1=1) is best with mean 1/2 + epsilon, all others have 1/2.  The paper's Experiments 1 (epsilon .3, budget
    400, m from 2 to 48), 2 (``budget`` given: epsilon = sqrt(arms / (9 * budget))) and 3 (m = 2, epsilon .3).
    """
    if not 2 <= m <= nodes:
        raise UsageError(f"m is {m}; a parallel bandit of {nodes} nodes allows 2 to {nodes}.")
    if budget is not None:
        check_budget(budget)
    if epsilon is None:
        epsilon = 0.3 if budget is None else sqrt((2 * nodes + 1) / (9 * budget))
    names = [f"X{node}" for node in range(1, nodes + 1)]
    mechanisms = {name: bernoulli((), chance if node <= m else 0.5) for node, name in enumerate(names, start=1)}
    mechanisms["Y"] = bernoulli(("X1",), level(chance, epsilon), parents=names)
    network = CausalNetwork(mechanisms)
    return Instance(f"parallel/m{m}", network, network.problem("Y", names), f"parallel bandit, {nodes} nodes, m = {m}")


def confounded_parallel(rare: int = 1, *, nodes: int = 50, epsilon: float = 0.3, chance: float = 1e-5) -> Instance:
    """Lattimore's Experiments 4 and 6: an observed Z above all X; the first ``rare`` X are almost never 1.

    P(Z=1) = .4; the other X are 1 with probability .4 or .65 as Z is 0 or 1.  The reward depends on X1 alone, which is
    rare; do(X1=1) is best with 1/2 + epsilon, all others have 1/2.  Z can be set too.
    """
    if not 1 <= rare <= nodes:
        raise UsageError(f"{rare} of {nodes} nodes cannot be rare; ask for 1 to {nodes}.")
    names = [f"X{node}" for node in range(1, nodes + 1)]
    mechanisms = {"Z": bernoulli((), 0.4)}
    for node, name in enumerate(names, start=1):
        mechanisms[name] = bernoulli((), chance, parents=("Z",)) if node <= rare else bernoulli(("Z",), [0.4, 0.65])
    mechanisms["Y"] = bernoulli(("X1",), level(chance, epsilon), parents=names)
    network = CausalNetwork(mechanisms)
    about = f"parallel bandit below an observed cause: {rare} of {nodes} nodes are rare"
    return Instance(f"confounded-parallel/{rare}", network, network.problem("Y", ["Z", *names]), about)


def misspecified_parallel() -> Instance:
    """Lattimore's Experiment 5: who takes this for a parallel bandit is wrong for ever.

    P(Z=1) = .6 above 21 nodes: X1..X6 are 1 with probability 1/6, X7 with .2 or .8 and X8..X21 with .7 or .3 as Z is
    0 or 1; the reward is 1 where X7 and X21 differ.  Z is observed but cannot be set.  Rows with X21 = 0 have a mean
    of 2/3 and do(X21=0) has .56; do() is best with .62, and so are the arms on X1..X6 and X8..X20.
    """
    names = [f"X{node}" for node in range(1, 22)]
    mechanisms: dict[str, Mechanism] = {"Z": bernoulli((), 0.6)}
    mechanisms |= {name: bernoulli((), 1 / 6, parents=("Z",)) for name in names[:6]}
    mechanisms["X7"] = bernoulli(("Z",), [0.2, 0.8])
    mechanisms |= {name: bernoulli(("Z",), [0.7, 0.3]) for name in names[7:]}
    mechanisms["Y"] = bernoulli(("X7", "X21"), [[0, 1], [1, 0]], parents=names)
    network = CausalNetwork(mechanisms)
    return Instance(
        "misspecified-parallel", network, network.problem("Y", names), "conditioning as if parallel is wrong"
    )


def no_backdoor(
    m: int = 5,
    count: int = 1,
    seed: Seed = 0,
    *,
    nodes: int = 20,
    epsilon: float = 0.3,
    chance: float | None = None,
    strength: float = 0.5,
) -> list[Instance]:
    """Nair's no-backdoor graphs: conditioning is right for every arm, E[Y | do(X=x)] = E[Y | X=x].

    Random trees that run into the reward: every node has one child, a later node or Y, so no other way leads from its
    parents to Y.  The ``m`` last nodes are 1 with probability ``chance`` (1/(2m) unless given) and the others with
    1/2, exactly, though each follows one of its parents: ``strength`` 0 is not at all, 1 as closely as is possible.
    The reward depends on a rare parent X_j as in the paper's Experiment 1; do(X_j=1) is best with 1/2 + epsilon.
    """
    if not 2 <= m <= nodes:
        raise UsageError(f"m is {m}; {nodes} nodes allow 2 to {nodes}.")
    rarity = 1 / (2 * m) if chance is None else chance
    if not 0 < rarity < 1:
        raise UsageError(
            f"The chance of the rare nodes is {rarity}; it must lie between 0 and 1, as others follow them."
        )
    about = f"no back-door paths: {nodes} nodes, m = {m}"
    made = []
    for number in range(count):
        chances = [0.5] * (nodes - m) + [rarity] * m
        network = _tree_into_reward(chances, m, epsilon, strength, generator(seed, number))
        problem = network.problem("Y", [f"X{node}" for node in range(1, nodes + 1)])
        made.append(Instance(f"no-backdoor/m{m}/{number}", network, problem, about))
    return made


def _tree_into_reward(
    chances: Sequence[float], m: int, epsilon: float, strength: float, rng: np.random.Generator
) -> CausalNetwork:
    nodes = len(chances)
    label = [f"X{position + 1}" for position in range(nodes)]
    parents: list[list[int]] = [[] for _ in range(nodes + 1)]
    for position in range(nodes):
        last = position == nodes - 1 or rng.random() < 0.5
        parents[nodes if last else int(rng.integers(position + 1, nodes))].append(position)
    mechanisms = {}
    for position in range(nodes):
        given = [label[parent] for parent in parents[position]]
        if given:
            leader = int(rng.integers(len(given)))
            law = _following(chances[position], chances[parents[position][leader]], strength)
            mechanisms[label[position]] = bernoulli((given[leader],), law, parents=given)
        else:
            mechanisms[label[position]] = bernoulli((), chances[position])
    rare = [position for position in parents[nodes] if position >= nodes - m]  # never empty: the last node is one
    good = rare[int(rng.integers(len(rare)))]
    direct = [label[position] for position in parents[nodes]]
    mechanisms["Y"] = bernoulli((label[good],), level(chances[good], epsilon), parents=direct)
    return CausalNetwork(mechanisms)


def _following(own: float, leader: float, strength: float) -> tuple[float, float]:
    """P(1 | leader=0), P(1 | leader=1) of a node that is 1 with probability ``own`` all the same."""
    reach = strength * min(own / leader, (1 - own) / (1 - leader))
    return max(0.0, own - reach * leader), min(1.0, own + reach * (1 - leader))


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
