"""A population of problems and logs in which statements about the best arm are checked.

Two kinds of worlds, one third and two thirds:

one node       an intervention with 2 to 11 settings, some more common than others, and one to three
               observed confounders;
several nodes  one to five nodes of two or three values that act on each other and on the reward along random
               edges; in half of these worlds one or two hidden causes, each of two nodes or of a node
               and the reward, so that some arms are not settled by looking.

There are 2 to 12 arms.  Effects are of mixed size, as people meet them: in each world they have a scale of .1, .3 or
1 in log odds, and one in three is exactly zero although the graph has an edge.  Rates lie between .01 and
.5 and logs hold 50 to 10,000 rows, both evenly on a scale of logarithms.  In one world of three some arms
were also pulled a few times, up to 50.  Most rewards have two levels, one in four has 5 or 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tests.statistical.worlds import Reward, World, by_adjustment, choices, main_effects, worths
from whichdo.world.mechanism import Mechanism
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.arrays import FloatArray, IntArray

MOST_ARMS = 12
SCALES = (0.1, 0.3, 1.0)
NULL = 1 / 3


@dataclass(frozen=True)
class Member:
    """A world, and how large its logs are."""

    world: World
    looks: int
    pulls: IntArray


def population(seed: int, size: int) -> Iterator[Member]:
    """So many worlds."""
    for number in range(size):
        rng = np.random.default_rng([seed, number])
        world = one_node(rng) if rng.random() < 1 / 3 else several_nodes(rng)
        looks = round(float(np.exp(rng.uniform(np.log(50), np.log(10_000)))))
        arms = len(world.problem.arms)
        pulls = np.zeros(arms, np.int64)
        if rng.random() < 1 / 3:
            pulls = np.where(rng.random(arms) < 0.5, rng.integers(1, 51, arms), 0)
        yield Member(world, looks, pulls)


def a_reward(rng: np.random.Generator) -> Reward:
    """Of the population."""
    rate = float(np.exp(rng.uniform(np.log(0.01), np.log(0.5))))
    levels = int(rng.choice([5, 11])) if rng.random() < 1 / 4 else 2
    return Reward(rate, levels, 4.0)


def effects(rng: np.random.Generator, count: int, scale: float) -> FloatArray:
    """Log odds, some exactly zero."""
    found: FloatArray = np.where(rng.random(count) < NULL, 0.0, rng.normal(0, scale, count))
    return found


def one_node(rng: np.random.Generator) -> World:
    """An intervention of many settings, by adjustment."""
    strata = [int(size) for size in rng.integers(2, 4, rng.integers(1, 4))]
    odds = effects(rng, int(rng.integers(2, MOST_ARMS)), float(rng.choice(SCALES)))
    return by_adjustment(rng, a_reward(rng), strata, odds)


def several_nodes(rng: np.random.Generator) -> World:
    """Nodes that act on each other and on the reward."""
    sizes: list[int] = []
    for _ in range(int(rng.integers(1, 6))):
        size = int(rng.integers(2, 4))
        if sum(sizes) + size < MOST_ARMS:
            sizes.append(size)
    names = [f"V{number}" for number in range(len(sizes))]
    hidden = {}
    if rng.random() < 1 / 2:
        for number in range(int(rng.integers(1, 3))):
            hidden[f"U{number}"] = [str(each) for each in rng.choice([*names, "Y"], 2, replace=False)]
    mechanisms = {name: Mechanism((), [0.5, 0.5]) for name in hidden}
    length = {**dict(zip(names, sizes, strict=True)), **dict.fromkeys(hidden, 2)}
    for place, name in enumerate(names):
        parents = [other for other in names[:place] if rng.random() < 0.4]
        parents += [cause for cause, children in hidden.items() if name in children]
        shape = [length[parent] for parent in parents]
        leaning = [main_effects(rng, shape, 0.7) for _ in range(sizes[place])]
        mechanisms[name] = Mechanism(parents, choices(rng.normal(0, 0.5, sizes[place]) + np.stack(leaning, axis=-1)))
    acting = [name for name in names if rng.random() < 0.7] or [names[int(rng.integers(len(names)))]]
    causes = [cause for cause, children in hidden.items() if "Y" in children]
    scale = float(rng.choice(SCALES))
    odds = main_effects(rng, [*[1] * len(acting), *[2] * len(causes)], 0.7)
    for axis, name in enumerate(acting):
        own = rng.normal(0, scale, length[name]) * (rng.random() >= NULL)
        odds = odds + own.reshape([-1 if j == axis else 1 for j in range(len(acting) + len(causes))])
    mechanisms["Y"] = a_reward(rng).mechanism((*acting, *causes), odds)
    network = CausalNetwork(mechanisms, list(hidden))
    return World.of(network, network.problem("Y", names, rewards=worths(mechanisms["Y"].size)))
