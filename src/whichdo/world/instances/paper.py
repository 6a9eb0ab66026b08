"""The networks of the paper's Experiments 1 to 5 and of the example in its Section 3.

In Experiments 1, 2, 4 and 5 every P(X_i | parents) is a constant: the X are independent, and the edges among them
matter only to a learner, who cannot know that.  The reward depends on one X_j: its mean is 1/2 + epsilon where X_j = 1
and 1/2 - q * epsilon / (1 - q) where X_j = 0, with q = P(X_j = 1), so that do() and every arm on another node have 1/2.

Left open by the paper: how many parents a node has (here uniform on 0, 1, ... up to the stated maximum), and whether
Experiment 2 draws new graphs for each m (here it does not).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.errors import UsageError
from whichdo.world.instances.instance import Instance, Seed, generator
from whichdo.world.network import CausalNetwork, Mechanism, bernoulli

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np


GRAPH, CHOICE = 0, 1
"""What a network's seed is used for: its graph, and which X_j the reward depends on."""


def experiment_1(
    count: int = 50,
    seed: Seed = 0,
    *,
    nodes: int = 100,
    rare: int = 9,
    chance: float | None = None,
    epsilon: float = 0.3,
    most_parents: int = 2,
) -> list[Instance]:
    """Experiment 1: the last ``rare`` of ``nodes`` nodes are 1 with probability ``chance``, the others are fair coins.

    ``chance`` is 1/(2 * rare) unless given, the paper's 1/18.  Then m = rare exactly if rare >= 2**(most_parents + 1),
    the number of cells of a fair node and its parents.
    """
    about = f"simple regret against the budget: the best arm is on one of {rare} rare nodes among {nodes}"
    last = range(nodes - rare, nodes)
    chances = _chances(nodes, rare, chance)
    return [
        one_good_arm(
            f"experiment-1/{number}",
            about,
            random_parents(nodes, most_parents, generator(seed, number, GRAPH)),
            chances,
            among=last,
            reward_parents=range(nodes),
            epsilon=epsilon,
            rng=generator(seed, number, CHOICE),
        )
        for number in range(count)
    ]


def experiment_2(m: int, count: int = 50, seed: Seed = 0, *, nodes: int = 100, epsilon: float = 0.3) -> list[Instance]:
    """Experiment 2: as Experiment 1 with any m; the graphs depend on the seed alone, so all m share them."""
    if not 8 <= m <= nodes:
        raise UsageError(
            f"m is {m}; Experiment 2 can hold 8 to {nodes} (the number of nodes): "
            f"a fair node with two parents has q = 1/8, which alone makes m at least 8."
        )
    made = experiment_1(count, seed, nodes=nodes, rare=m, epsilon=epsilon)
    about = f"simple regret against m: {nodes} nodes, m = {m}"
    return [
        Instance(f"experiment-2/m{m}/{number}", each.network, each.problem, about) for number, each in enumerate(made)
    ]


def experiment_3(*, set_x1: bool = True) -> Instance:
    """Experiment 3: X2 and X3 copy a coin X1 three times in four, and the reward is 1 when they agree.

    do() has mean 5/8 and every arm on X2 or X3 has 1/2.  So have the arms on X1: with ``set_x1`` (as printed) looking
    is a best arm, without it the only one.
    """
    copy = bernoulli(("X1",), [0.25, 0.75])
    agree = bernoulli(("X2", "X3"), [[1, 0], [0, 1]])
    network = CausalNetwork({"X1": bernoulli((), 0.5), "X2": copy, "X3": copy, "Y": agree})
    problem = network.problem("Y", ["X1", "X2", "X3"] if set_x1 else ["X2", "X3"])
    name = "experiment-3" if set_x1 else "experiment-3/X1-fixed"
    return Instance(name, network, problem, "cumulative regret where looking is best")


def experiment_4(
    count: int = 50,
    seed: Seed = 0,
    *,
    nodes: int = 10,
    rare: int = 5,
    chance: float | None = None,
    epsilon: float = 0.3,
) -> list[Instance]:
    """Experiment 4: at most one parent a node, and only the ``rare`` last nodes are parents of the reward.

    Small enough for policies whose cost is exponential in the reward's parents.  m = rare for every rare >= 4.
    """
    about = f"simple regret with few parents of the reward: {rare} rare nodes among {nodes}"
    last = range(nodes - rare, nodes)
    chances = _chances(nodes, rare, chance)
    return [
        one_good_arm(
            f"experiment-4/{number}",
            about,
            random_parents(nodes, 1, generator(seed, number, GRAPH)),
            chances,
            among=last,
            reward_parents=last,
            epsilon=epsilon,
            rng=generator(seed, number, CHOICE),
        )
        for number in range(count)
    ]


def experiment_5(
    count: int = 12, seed: Seed = 0, *, nodes: int = 10, chance: float = 0.5, epsilon: float = 0.1
) -> list[Instance]:
    """Experiment 5: fair coins, at most one parent each, all parents of the reward; looking is not best."""
    return [
        one_good_arm(
            f"experiment-5/{number}",
            "cumulative regret where an intervention is best",
            random_parents(nodes, 1, generator(seed, number, GRAPH)),
            [chance] * nodes,
            among=range(nodes),
            reward_parents=range(nodes),
            epsilon=epsilon,
            rng=generator(seed, number, CHOICE),
        )
        for number in range(count)
    ]


def section_3(
    nodes: int = 40, k: int = 3, count: int = 1, seed: Seed = 0, *, rare: int | None = None, epsilon: float = 0.3
) -> list[Instance]:
    """The example after Algorithm 1: in-degree below k, at most 2**k rare nodes, hence m <= 2**k whatever ``nodes``.

    The ``rare`` (2**k unless given: then m = 2**k) last nodes are 1 with probability 1/2**(k+1).  The paper says
    nothing of the reward; it has all nodes for parents and depends on one rare node, as in Experiment 1.
    """
    rare = 2**k if rare is None else rare
    if not 1 <= rare <= min(2**k, nodes):
        raise UsageError(f"{rare} rare nodes were asked for; the example has 1 to 2**k = {2**k} of {nodes} nodes.")
    made = experiment_1(count, seed, nodes=nodes, rare=rare, chance=0.5 ** (k + 1), epsilon=epsilon, most_parents=k - 1)
    about = f"m is at most 2**{k} among {nodes} nodes"
    return [Instance(f"section-3/{number}", each.network, each.problem, about) for number, each in enumerate(made)]


def random_parents(nodes: int, most: int, rng: np.random.Generator) -> list[list[int]]:
    """For each position its parents: a number of them uniform on 0..most (as far as there are so many), then which."""
    found = []
    for position in range(nodes):
        size = int(rng.integers(min(position, most) + 1))
        found.append(sorted(rng.choice(position, size, replace=False).tolist()) if size else [])
    return found


def one_good_arm(
    name: str,
    about: str,
    parents: Sequence[Sequence[int]],
    chances: Sequence[float],
    *,
    among: Sequence[int],
    reward_parents: Sequence[int],
    epsilon: float,
    rng: np.random.Generator,
) -> Instance:
    """Independent X with the given chances of 1, and a reward that depends on one of them, drawn from ``among``."""
    label = [f"X{position + 1}" for position in range(len(parents))]
    mechanisms: dict[str, Mechanism] = {
        label[position]: bernoulli((), chances[position], parents=[label[parent] for parent in given])
        for position, given in enumerate(parents)
    }
    good = among[int(rng.integers(len(among)))]
    mechanisms["Y"] = bernoulli(
        (label[good],), level(chances[good], epsilon), parents=[label[position] for position in reward_parents]
    )
    network = CausalNetwork(mechanisms)
    return Instance(name, network, network.problem("Y", label), about)


def level(q: float, epsilon: float) -> tuple[float, float]:
    """P(Y=1 | X=0), P(Y=1 | X=1): 1/2 + epsilon for X=1 and as much below as keeps E[Y] = 1/2 when P(X=1) = q."""
    if not 0 <= q < 1:
        raise UsageError(
            f"A node that is 1 with probability {q} cannot carry the reward; choose one of at least 0, below 1."
        )
    return 0.5 - q * epsilon / (1 - q), 0.5 + epsilon


def _chances(nodes: int, rare: int, chance: float | None) -> list[float]:
    if not 1 <= rare <= nodes:
        raise UsageError(f"{rare} of {nodes} nodes cannot be rare; ask for 1 to {nodes}.")
    return [0.5] * (nodes - rare) + [1 / (2 * rare) if chance is None else chance] * rare
