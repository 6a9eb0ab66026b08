"""The networks of the paper's Experiments 1 to 5 and of the example in its Section 3.

In Experiments 1, 2, 4 and 5 every P(X_i | parents) is a constant: the X are independent, and the edges among them
matter only to a learner, who cannot know that.  The reward depends on one X_j: its mean is 1/2 + epsilon where X_j = 1
and 1/2 - q * epsilon / (1 - q) where X_j = 0, with q = P(X_j = 1), so that do() and every arm on another node have 1/2.

Left open by the paper: how many parents a node has (here uniform on 0, 1, ... up to the stated maximum), and whether
Experiment 2 draws new graphs for each m (here it does not).

The networks behind the paper's two lower bounds: M + 1 networks that a learner cannot tell apart cheaply.

In network 0 every arm has mean 1/2.  Network i differs from it only in the reward, and only where do(X_i=1) leads:
there its mean is 1/2 + epsilon, with epsilon so small for the budget that few pulls show no difference.

Theorem 4.1 is read with "root" meaning a root of T_M, the subgraph of X_1..X_M: a node of it whose parent lies outside
is 1 with probability alpha whatever that parent is.  Read literally, with 1 - alpha for a parent that is 1, do(X_i=1)
ties with do(X_j=0) for a sibling X_j, and the claimed gap of epsilon / 2 is 0.
"""

from __future__ import annotations

from itertools import islice
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError
from whichdo.estimate.rarity import hardness
from whichdo.world.instances.instance import Instance, Seed, check_budget, generator
from whichdo.world.mechanism import Mechanism, bernoulli
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import FloatArray


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


TABLE_INPUTS = 12
"""A reward that waits for more nodes than this gets hidden helpers, so that no table grows past 2**12 rows."""


# -------------------------------------------------------------------------------------------------------- Theorem 4.1


def full_tree(arity: int = 2, levels: int = 3) -> list[int | None]:
    """The tree in which every node but those of the last level has ``arity`` children, as for `theorem_4_1`.

    >>> full_tree(2, 2)            # X3 is the parent of X1 and X2
    [3, 3, None]
    """
    if arity < 1 or levels < 1:
        raise UsageError(f"A tree has an arity and levels of 1 or more; found {arity} and {levels}.")
    size = sum(arity**level for level in range(levels))
    return [size - (size - number - 1) // arity if number < size else None for number in range(1, size + 1)]


def random_tree(nodes: int, arity: int = 3, seed: Seed = 0) -> list[int | None]:
    """A random tree in which every node has no child or 2 to ``arity``, as for `theorem_4_1`."""
    rng = generator(seed)
    above: list[int | None] = [None]
    leaves = [0]
    while len(above) < nodes:
        left = nodes - len(above)
        sizes = [size for size in range(2, min(arity, left) + 1) if left - size != 1]
        if not sizes:
            raise UsageError(f"No tree of {nodes} nodes gives each node that has children 2 to {arity} of them.")
        parent = leaves.pop(int(rng.integers(len(leaves))))
        for _ in range(int(rng.choice(sizes))):
            leaves.append(len(above))
            above.append(parent)
    return [None if parent is None else nodes - parent for parent in reversed(above)]


def theorem_4_1(
    m: int,
    parents: Sequence[int | None] | None = None,
    *,
    budget: int = 1000,
    epsilon: float | None = None,
    only: int | None = None,
) -> list[Instance]:
    """P_0, ..., P_m on one tree, each with hardness ``m``; do(X_i=1) is best in P_i by more than epsilon / 2.

    ``parents[i - 1]`` is the number of X_i's parent, larger than i (the paper's reverse topological order), or None;
    `full_tree` and `random_tree` make them.  epsilon is min(1/4, sqrt(m / (18 * budget))) unless given.  ``only`` makes
    that one of them alone.
    """
    check_budget(budget)
    parents = full_tree() if parents is None else list(parents)
    tree = _Tree(m, parents)
    epsilon = min(0.25, sqrt(m / (18 * budget))) if epsilon is None else epsilon
    about = f"lower bound on trees: {len(parents)} nodes, m = {m}, epsilon = {epsilon:.4g}"
    made = []
    for number in range(m + 1) if only is None else (only,):
        wanted = {f"X{leaf}": int(leaf in tree.below[number]) for leaf in tree.leaves if leaf <= m} if number else {}
        network = CausalNetwork(*_with_reward(tree.mechanisms(), wanted, epsilon, [f"X{leaf}" for leaf in tree.leaves]))
        problem = network.problem("Y", [f"X{node}" for node in range(1, len(parents) + 1)])
        made.append(Instance(f"theorem-4.1/m{m}/{number}", network, problem, about))
    return made


class _Tree:
    """The tree of Theorem 4.1 with T_M = X_1..X_m: leaves, the leaves below each node, and the law of the X."""

    def __init__(self, m: int, parents: Sequence[int | None]) -> None:
        size = len(parents)
        children: dict[int, list[int]] = {node: [] for node in range(1, size + 1)}
        for node, parent in enumerate(parents, start=1):
            if parent is not None:
                if not node < parent <= size:
                    raise UsageError(f"X{node} has the parent X{parent}; number the nodes so that parents come after.")
                children[parent].append(node)
        for node, below in children.items():
            if len(below) == 1:
                raise UsageError(f"X{node} has one child; the theorem's trees have none or at least two.")
        if not 2 <= m <= size:
            raise UsageError(f"m is {m}; a tree of {size} nodes allows 2 to {size}.")
        if m < 4 and any(parent is not None for parent in parents[m:]):
            raise UsageError(f"m is {m}; nodes outside X1..X{m} with a parent have q = 1/4, which makes m at least 4.")
        self.m, self.parents = m, parents
        self.leaves = [node for node, below in children.items() if not below]
        self.below: dict[int, set[int]] = {}
        height: dict[int, int] = {}
        for node, below in children.items():  # children have smaller numbers: they are done first
            self.below[node] = set().union(*(self.below[each] for each in below)) if below else {node}
            height[node] = 1 + max((height[each] for each in below), default=1)  # nodes on the way to Y, both counted
        highest, leaves = max(height.values()), len(self.leaves)
        self.alpha = min(1 / (2 * highest * leaves + 2 ** (highest + 1)), 1 / (2**highest * leaves * m))

    def mechanisms(self) -> dict[str, Mechanism]:
        """P_0 without the reward."""
        found = {}
        for node in range(len(self.parents), 0, -1):
            parent = self.parents[node - 1]
            above = () if parent is None else (f"X{parent}",)
            if node <= self.m and parent is not None and parent <= self.m:
                found[f"X{node}"] = bernoulli(above, [self.alpha, 1 - self.alpha])
            else:
                found[f"X{node}"] = bernoulli((), self.alpha if node <= self.m else 0.5, parents=above)
        return found


def _with_reward(
    mechanisms: dict[str, Mechanism], wanted: Mapping[str, int], epsilon: float, parents: Sequence[str]
) -> tuple[dict[str, Mechanism], list[str]]:
    """The mechanisms with Y, which is 1/2 + epsilon where all ``wanted`` values hold; and the hidden helpers' names.

    A helper is a function of X whose only effect is on Y, so hiding it leaves the arrows X -> Y and nothing else.
    """
    wanted = dict(wanted)
    helpers: list[str] = []
    while len(wanted) > TABLE_INPUTS:
        first = dict(islice(wanted.items(), TABLE_INPUTS))
        helper = f"all{len(helpers) + 1}"
        mechanisms[helper] = bernoulli(tuple(first), _where(first, 0.0, 1.0))
        helpers.append(helper)
        wanted = {helper: 1} | {name: value for name, value in wanted.items() if name not in first}
    behind = {name for helper in helpers for name in mechanisms[helper].inputs}
    direct = [name for name in (*wanted, *parents) if name not in behind]
    mechanisms["Y"] = bernoulli(tuple(wanted), _where(wanted, 0.5, 0.5 + epsilon), parents=dict.fromkeys(direct))
    return mechanisms, helpers


def _where(wanted: Mapping[str, int], otherwise: float, there: float) -> FloatArray:
    table = np.full((2,) * len(wanted), otherwise)
    if wanted:
        table[tuple(wanted.values())] = there
    return table


# -------------------------------------------------------------------------------------------------------- Theorem 4.2


def theorem_4_2(
    q: Sequence[float], *, budget: int = 1000, epsilon: float | None = None, only: int | None = None
) -> list[Instance]:
    """P_0, ..., P_N on a star with the given rarities; do(X_i=1) is best in P_i.

    X_N is the parent of all others, and all are parents of Y.  ``q`` ascends; it is valid when q_N <= 1/2 and the
    others are at most q_N / 2.  The m of these q decides the construction.  For m >= 12 the reward rises where X_i = 1
    and X_N = 0 (for i = N, where X_N = 1), epsilon is min(1/4, sqrt((m - 1) / (24 * budget))) unless given, and
    do(X_i=1) leads by at least epsilon / 10 for i < m; for a larger i it may tie with do(X_N=0).  For m < 12 the reward
    rises where X_i = 1, epsilon is sqrt(1 / (45 * budget)) unless given, and do(X_i=1) leads by at least epsilon / 2.
    ``only`` makes that one of them alone.
    """
    check_budget(budget)
    hub = len(q)
    if hub < 3 or list(q) != sorted(q) or q[0] <= 0 or q[-1] > 0.5 or q[-2] > q[-1] / 2:
        raise UsageError(
            "q needs at least 3 numbers above 0, ascending: the last at most 1/2, the others at most half the last."
        )
    m = hardness(q, 1)
    if epsilon is None:
        epsilon = min(0.25, sqrt((m - 1) / (24 * budget))) if m >= 12 else sqrt(1 / (45 * budget))
    about = f"lower bound for given rarities: a star of {hub} nodes, m = {m}, epsilon = {epsilon:.4g}"
    center, names = f"X{hub}", [f"X{node}" for node in range(1, hub + 1)]
    law = {center: bernoulli((), q[-1])}
    law |= {f"X{node}": bernoulli((center,), [q[node - 1] / (1 - q[-1]), 0.5]) for node in range(1, hub)}
    made = []
    for number in range(hub + 1) if only is None else (only,):
        wanted = {f"X{number}": 1} if number else {}
        if m >= 12 and 0 < number < hub:
            wanted[center] = 0
        network = CausalNetwork(
            {**law, "Y": bernoulli(tuple(wanted), _where(wanted, 0.5, 0.5 + epsilon), parents=names)}
        )
        made.append(Instance(f"theorem-4.2/m{m}/{number}", network, network.problem("Y", names), about))
    return made
