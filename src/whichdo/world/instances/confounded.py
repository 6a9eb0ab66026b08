"""Networks with hidden confounders, where conditioning is wrong by a known amount.

The paper allows hidden causes but experiments without any.  In `front_door` and `component` the arm that looks best,
judged by E[Y | X=x], is not the best arm, by construction.  In the random families conditioning is off by at least
``least_bias`` on some arm: networks are drawn until one is.  `joint_confounded` sets several nodes at once.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import TooLargeError, UsageError
from whichdo.world.instances.instance import Instance, Seed, child, generator
from whichdo.world.instances.paper import random_parents
from whichdo.world.mechanism import MAX_TABLE, Mechanism, bernoulli
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whichdo.arrays import FloatArray
    from whichdo.problem import Value
    from whichdo.world.instances.instance import Seed


DRAWS = 1000


# ------------------------------------------------------------------------------------------------------ by construction


def front_door(chains: int = 2, *, reversal: float = 1.5, mediators: bool = False) -> Instance:
    """X_i -> M_i -> Y with a hidden U_i behind X_i and Y: what raises the reward goes along with bad luck.

    All X share one c-component with Y, of size chains + 1, and none has a child in it; the M have none of their own and
    are settled by adjusting for X.  ``mediators`` makes them intervenable too.

    U is a fair coin, X is .1 + .8 U, M is .1 + .8 X, and Y is linear: M_1 adds a, each other M adds a/2, and each U_i
    takes off ``reversal`` times what its M_i adds.  Setting X_i moves the reward by .8 of what M_i adds; comparing rows
    with X_i = 1 and X_i = 0 shows (1 - reversal) times that: for a reversal above 1 the wrong sign.
    """
    if chains < 1 or reversal < 0:
        raise UsageError(
            f"front_door needs at least 1 chain and a reversal of 0 or more; found {chains} and {reversal}."
        )
    gains = np.array([1.0] + [0.5] * (chains - 1))
    gains *= 0.9 / (gains.sum() * (1 + reversal))  # Y stays within .05 and .95
    mechanisms: dict[str, Mechanism] = {}
    terms: dict[str, float] = {}
    for number, gain in enumerate(gains.tolist(), start=1):
        mechanisms[f"U{number}"] = bernoulli((), 0.5)
        mechanisms[f"X{number}"] = linear(0.1, {f"U{number}": 0.8})
        mechanisms[f"M{number}"] = linear(0.1, {f"X{number}": 0.8})
        terms |= {f"M{number}": gain, f"U{number}": -reversal * gain}
    mechanisms["Y"] = linear(0.05 + reversal * float(gains.sum()), terms)
    network = CausalNetwork(mechanisms, [f"U{number}" for number in range(1, chains + 1)])
    nodes = [f"{kind}{number}" for number in range(1, chains + 1) for kind in ("XM" if mediators else "X")]
    about = f"{chains} front-door chains; rows show {1 - reversal:g} times each effect"
    name = f"front-door/{chains}" + ("/mediators" if mediators else "")
    return Instance(name, network, network.problem("Y", nodes), about)


def component(size: int = 3, q: float = 0.005, *, others: int = 5) -> Instance:
    """A c-component A_1..A_size in which the rarest cell has probability ``q`` exactly, and ``others`` fair coins.

    Hidden fair coins U_j tie A_j to A_(j+1), two children each.  All A and all X are parents of Y, which is
    .5 + .25 A_1 - .4 A_2.  A_1 = 1 is rare, and then A_2 is mostly 1: rows with A_1 = 1 have poor rewards, and A_2 = 0
    looks best; do(A_1=1) is best.  The q of every A is ``q`` and its exponent in m is ``size``.
    """
    if size < 2:
        raise UsageError(f"A component of {size} holds no confounding; ask for 2 nodes or more.")
    tied = [f"A{number}" for number in range(1, size + 1)]
    # The cells with A_1 = 1 all scale with its rarity: measure them at .1, then scale to q.
    rarity = 0.1 * q / float(CausalNetwork(_component(size, 0.1)).law(tied)[1].min())
    if not 0 < rarity <= 0.15:
        raise UsageError(
            f"q is {q:g}; a component of {size} allows up to {q * 0.15 / max(rarity, 1e-300):.4g}, above 0."
        )
    mechanisms = _component(size, rarity)
    coins = [f"X{number}" for number in range(1, others + 1)]
    mechanisms |= {name: bernoulli((), 0.5) for name in coins}
    mechanisms["Y"] = linear(0.5, {"A1": 0.25, "A2": -0.4}, parents=[*tied, *coins])
    network = CausalNetwork(mechanisms, [f"U{number}" for number in range(1, size)])
    about = f"a c-component of {size} nodes whose rarest cell has probability {q:g}"
    return Instance(f"component/{size}", network, network.problem("Y", [*tied, *coins]), about)


def _component(size: int, rarity: float) -> dict[str, Mechanism]:
    """The U and the A: A_1 is 1 with probability .2 or 1.8 times ``rarity``, the others lean to U on both sides."""
    mechanisms = {f"U{number}": bernoulli((), 0.5) for number in range(1, size)}
    mechanisms["A1"] = linear(0.2 * rarity, {"U1": 1.6 * rarity})
    for number in range(2, size):
        mechanisms[f"A{number}"] = linear(0.1, {f"U{number - 1}": 0.6, f"U{number}": 0.2})
    mechanisms[f"A{size}"] = linear(0.2, {f"U{size - 1}": 0.6})
    return mechanisms


def linear(base: float, terms: Mapping[str, float], *, parents: Iterable[str] | None = None) -> Mechanism:
    """A 0/1 node that is 1 with probability base + the sum of the weights of its inputs that are 1.

    >>> linear(0.25, {"A": 0.5}).table.tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    _check_inputs(len(terms))
    table = np.full((2,) * len(terms), base)
    for axis, weight in enumerate(terms.values()):
        table += weight * np.arange(2.0).reshape([2 if each == axis else 1 for each in range(len(terms))])
    return bernoulli(tuple(terms), table, parents=parents)


# ------------------------------------------------------------------------------------------------------------ at random


def random_confounded(
    nodes: int = 6,
    confounders: int = 3,
    count: int = 1,
    seed: Seed = 0,
    *,
    in_degree: int = 2,
    rare: int = 0,
    chance: float = 0.02,
    bound: float = 0.1,
    least_bias: float = 0.05,
) -> list[Instance]:
    """Random graphs of X_1..X_nodes and Y with hidden common causes of random pairs, and random tables.

    Each X has 0 to ``in_degree`` parents; Y has exactly as many as that, childless X first, so that most X act on it.
    Each of the ``confounders`` hidden coins has two children, no pair twice.  All probabilities lie in
    [bound, 1 - bound], but the last ``rare`` X are 1 with a probability in [chance / 2, chance].  Arms may be
    identifiable or not: `Problem.verdicts` tells.
    """
    names = _names(nodes)
    pairs = list(combinations([*names, "Y"], 2))
    if nodes < 1 or in_degree < 1 or not 0 <= confounders <= len(pairs) or not 0 <= rare <= nodes:
        raise UsageError(
            f"{nodes} nodes allow 0 to {len(pairs)} confounders, 0 to {nodes} rare nodes, an in-degree of 1 or more: "
            f"{confounders}, {rare} and {in_degree} were given."
        )
    rarity = dict.fromkeys(names[nodes - rare :], (chance / 2, chance))

    about = f"random graph: {nodes} nodes, {confounders} hidden confounders"
    draw = _ties(nodes, in_degree, confounders)
    return _family("random-confounded", about, count, seed, draw, confounders, bound, least_bias, rarity)


def bows(
    nodes: int = 5,
    count: int = 1,
    seed: Seed = 0,
    *,
    in_degree: int = 2,
    bound: float = 0.1,
    least_bias: float = 0.05,
) -> list[Instance]:
    """Random graphs in which looking settles nothing: each X has a child with which it shares a hidden cause.

    The child is a later X or Y, so that all X act on Y; none has more than ``in_degree`` such parents.
    """
    if nodes < 1 or in_degree < 1:
        raise UsageError(f"bows needs at least 1 node and an in-degree of 1 or more; found {nodes} and {in_degree}.")
    names = _names(nodes)

    def draw(rng: np.random.Generator) -> dict[str, list[str]]:
        inputs: dict[str, list[str]] = {name: [] for name in [*names, "Y"]}
        taken = dict.fromkeys(inputs, 0)
        # From the last X backwards: the node just after is then always free, as only later ones have chosen.
        for position in reversed(range(nodes)):
            later = [name for name in [*names, "Y"][position + 1 :] if taken[name] < in_degree]
            head = later[int(rng.integers(len(later)))]
            taken[head] += 1
            inputs[head] += [names[position], f"U{position + 1}"]
            inputs[names[position]].append(f"U{position + 1}")
        return inputs

    about = f"bows everywhere: {nodes} nodes, nothing identifiable"
    return _family("bows", about, count, seed, draw, nodes, bound, least_bias, {})


def half_open(
    nodes: int = 6,
    confounders: int = 4,
    count: int = 1,
    seed: Seed = 0,
    *,
    at_once: int = 1,
    rarity: tuple[float, float] | None = (0.1, 0.2),
    in_degree: int = 2,
    bound: float = 0.1,
) -> list[Instance]:
    """Random graphs as those of `random_confounded` in which looking settles about half of the arms: .4 to .6 of them.

    Each X is 1 with a probability within ``rarity``, whatever its causes, as something that is done now and then: its
    other value is common, and doing that everywhere changes little.  None: probabilities lie in [bound, 1 - bound].
    ``at_once`` nodes may be set together.
    """
    pairs = nodes * (nodes + 1) // 2
    if nodes < 1 or in_degree < 1 or not 0 < confounders <= pairs:
        raise UsageError(
            f"{nodes} nodes allow 1 to {pairs} confounders and an in-degree of 1 or more: {confounders} and "
            f"{in_degree} were given."
        )

    def is_half_open(instance: Instance) -> bool:
        judged = [instance.problem.verdicts[arm.targets] for arm in instance.problem.arms[1:]]
        return 0.4 <= sum(not each.identified for each in judged) / len(judged) <= 0.6

    about = f"random graph: {nodes} nodes, {confounders} hidden confounders, half of the arms not identifiable"
    limits = {} if rarity is None else dict.fromkeys(_names(nodes), rarity)
    draw = _ties(nodes, in_degree, confounders)
    return _family("half-open", about, count, seed, draw, confounders, bound, 0.0, limits, at_once, is_half_open)


def _names(nodes: int) -> list[str]:
    return [f"X{number}" for number in range(1, nodes + 1)]


def _ties(nodes: int, in_degree: int, confounders: int) -> Callable[[np.random.Generator], dict[str, list[str]]]:
    """Draws the inputs of each node: a random graph, and a hidden coin for each of so many random pairs."""
    pairs = list(combinations([*_names(nodes), "Y"], 2))

    def draw(rng: np.random.Generator) -> dict[str, list[str]]:
        inputs = _acting_on_reward(nodes, in_degree, rng)
        for number, pair in enumerate(sorted(rng.choice(len(pairs), confounders, replace=False).tolist()), start=1):
            for end in pairs[pair]:
                inputs[end].append(f"U{number}")
        return inputs

    return draw


def _acting_on_reward(nodes: int, in_degree: int, rng: np.random.Generator) -> dict[str, list[str]]:
    """A random graph as the parents of each node; Y has ``in_degree`` of them, childless X first."""
    names = _names(nodes)
    above = random_parents(nodes, in_degree, rng)
    busy = {parent for given in above for parent in given}
    above.append(sorted(sorted(rng.permutation(nodes).tolist(), key=busy.__contains__)[:in_degree]))
    return {name: [names[parent] for parent in given] for name, given in zip([*names, "Y"], above, strict=True)}


def _family(
    name: str,
    about: str,
    count: int,
    seed: Seed,
    draw: Callable[[np.random.Generator], Mapping[str, Sequence[str]]],
    hidden: int,
    bound: float,
    least_bias: float,
    limits: Mapping[str, tuple[float, float]],
    at_once: int = 1,
    accepts: Callable[[Instance], bool] | None = None,
) -> list[Instance]:
    """For each number the first of many draws in which conditioning is off by ``least_bias``, and that is accepted.

    ``draw`` gives the inputs of each node, hidden coins U_1..U_hidden among them; the tables are uniform within
    ``limits``, or within [bound, 1 - bound].
    """
    if not 0 <= bound <= 0.5:
        raise UsageError(f"The bound on probabilities is {bound}; it must lie in 0..0.5.")
    if least_bias > 0:
        about = f"{about}, conditioning off by {least_bias:g} or more"
    made = []
    for number in range(count):
        for attempt in range(DRAWS):
            rng = generator(child(seed, number), attempt)
            network = _random_tables(draw(rng), hidden, bound, limits, rng)
            instance = Instance(f"{name}/{number}", network, network.problem("Y", at_once=at_once), about)
            if (accepts is None or accepts(instance)) and (least_bias <= 0 or instance.bias >= least_bias):
                break
        else:
            raise UsageError(
                f"None of {DRAWS} random networks misleads by {least_bias:g}. Lower `least_bias` or `bound`."
                if accepts is None
                else f"None of {DRAWS} random networks has about half of its arms settled. Ask for other confounders."
            )
        made.append(instance)
    return made


def _random_tables(
    inputs: Mapping[str, Sequence[str]],
    hidden: int,
    bound: float,
    limits: Mapping[str, tuple[float, float]],
    rng: np.random.Generator,
) -> CausalNetwork:
    coins = [f"U{number}" for number in range(1, hidden + 1)]
    mechanisms: dict[str, Mechanism] = {}
    for name in [*coins, *inputs]:
        given = inputs.get(name, ())
        _check_inputs(len(given))
        low, high = limits.get(name, (bound, 1 - bound))
        table: FloatArray = rng.uniform(low, high, (2,) * len(given))
        mechanisms[name] = bernoulli(given, table)
    return CausalNetwork(mechanisms, coins)


def _check_inputs(count: int) -> None:
    """Refuse a table of 0/1 nodes that would not fit, before it is made."""
    cells = 2 ** (count + 1)
    if cells > MAX_TABLE:
        raise TooLargeError(
            f"A node with {count} inputs has a table of {cells:,} cells; {MAX_TABLE:,} are allowed. "
            f"Ask for fewer chains, confounders or parents."
        )


# ----------------------------------------------------------------------------------------------------------- from files


def bnlearn(
    path: str | os.PathLike[str],
    reward: str,
    *,
    hide: Iterable[str] = (),
    intervene: Iterable[str] | None = None,
    rewards: Mapping[Value, float] | None = None,
    goal: str = "maximize",
) -> Instance:
    """A network in BIF, such as those of the bnlearn repository, with some of its nodes hidden.

    ``rewards`` says what each value of the reward is worth, in [0, 1]; it is needed where they are strings.
    """
    concealed = [hide] if isinstance(hide, str) else list(hide)
    network = CausalNetwork.read_bif(path, hidden=concealed)
    problem = network.problem(reward, intervene, rewards=rewards, goal=goal)
    about = f"a network from a file, {len(network.hidden)} of its nodes hidden"
    return Instance(f"bnlearn/{reward}", network, problem, about)


# ------------------------------------------------------------------------------------------------ several nodes at once


def joint_confounded(
    nodes: int = 5,
    confounders: int = 3,
    count: int = 1,
    seed: Seed = 0,
    *,
    at_once: int = 2,
    pruned: bool = False,
    in_degree: int = 2,
    bound: float = 0.1,
) -> list[Instance]:
    """The networks of `random_confounded` with arms on up to ``at_once`` nodes.

    ``pruned`` leaves out the arms that cannot be best.
    """
    made = []
    for each in random_confounded(nodes, confounders, count, seed, in_degree=in_degree, bound=bound):
        network = each.network
        problem = network.problem("Y", at_once=at_once, prune=pruned)
        kind = "pruned-joint" if pruned else "joint"
        about = f"{each.about}; {at_once} nodes at once" + (", arms that can be best" if pruned else "")
        made.append(replace(each, name=each.name.replace("random", kind), problem=problem, about=about))
    return made
