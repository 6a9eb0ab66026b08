"""Worlds whose truth is known exactly, from which whole tables of counts are drawn at once.

No rows are made and no file is read: counts of looks are a multinomial draw from the joint law of
everything that is observed, and rewards of direct pulls one from the law of the reward under the arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from whichdo.estimate.bands import bound_arms
from whichdo.estimate.contest import Contest, target_sets
from whichdo.estimate.estimator import Rule, look
from whichdo.estimate.limits import normal_quantile
from whichdo.estimate.pooling import pool
from whichdo.estimate.rank import OF_USE
from whichdo.estimate.shrinkage import unit_scale
from whichdo.evidence import Tally
from whichdo.formulas import counted_scopes
from whichdo.problem import LOOK, Goal
from whichdo.tables import Table
from whichdo.world.exact import reward_laws
from whichdo.world.mechanism import Mechanism, bernoulli
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.estimate.pooling import Pooled
    from whichdo.problem import Problem

Z = normal_quantile(0.975)


@dataclass(frozen=True)
class World:
    """A problem with the exact law of what can be seen of it."""

    problem: Problem
    law: FloatArray
    """Of all observed columns, an axis for each node of the graph."""
    by_arm: FloatArray
    """Of the reward under each arm, a row for each."""

    @classmethod
    def of(cls, network: CausalNetwork, problem: Problem) -> World:
        """The world of a network."""
        law = network.law(problem.graph.nodes)
        return cls(problem, law / law.sum(), reward_laws(network, problem))

    @cached_property
    def truth(self) -> FloatArray:
        """The mean of each arm, on a scale from 0 to 1."""
        found: FloatArray = self.by_arm @ unit_scale(np.array(list(self.problem.rewards.values())))[0]
        return found

    def share(self, position: int) -> float:
        """How often looks happen to be at the setting of an arm."""
        arm = self.problem.arms[position]
        nodes = self.problem.graph.nodes
        found = self.law
        for axis, name in enumerate(nodes):
            if name in arm.settings:
                code = self.problem.domains[name].index(arm.settings[name])
                found = np.take(found, [code], axis=axis)
        return float(found.sum())

    def draw(self, rng: np.random.Generator, sets: int, looks: int, pulls: int | IntArray = 0) -> Iterator[Tally]:
        """Data sets with so many looks, and so many pulls of each arm other than do()."""
        problem = self.problem
        nodes = problem.graph.nodes
        reward = nodes.index(problem.reward)
        others = tuple(axis for axis in range(len(nodes)) if axis != reward)
        wanted = np.broadcast_to(np.asarray(pulls, np.int64), (len(problem.arms),)).copy()
        wanted[0] = 0
        flat = self.law.ravel()
        for _ in range(sets):
            table = rng.multinomial(looks, flat).reshape(self.law.shape)
            counts = rng.multinomial(wanted, self.by_arm)
            counts[0] = table.sum(axis=others)
            yield Tally(problem, counts, {LOOK: {nodes: Table.of(nodes, table)}})


@dataclass(frozen=True)
class Answer:
    """What `whichdo.rank` says of one data set, on a scale from 0 to 1, without its sentences."""

    seen: Tally
    worth: FloatArray
    rule: Rule
    pooled: Pooled

    @cached_property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Of the means."""
        return self.pooled.limits(Z)

    @cached_property
    def effect_limits(self) -> tuple[FloatArray, FloatArray]:
        """Of the effects against do()."""
        return self.pooled.effect_limits(Z)

    @property
    def unseen(self) -> FloatArray:
        """The weight of what was never seen in each mean."""
        return np.nan_to_num(self.pooled.below + self.pooled.above, nan=1.0)

    @cached_property
    def contest(self) -> Contest:
        """The arms as rivals."""
        problem, pooled = self.seen.problem, self.pooled
        low, high = self.limits
        must_try = (pooled.pulls == 0) & (~pooled.known | (high - low > OF_USE))
        must_try[0] = False
        sign = -1.0 if problem.goal is Goal.MINIMIZE else 1.0
        ranked = pooled.known & ~must_try
        bounds = None  # they say nothing of arms that can be compared
        if not ranked.all():
            bounds = np.stack(bound_arms(problem, self.seen, self.worth, self.rule, pooled.looked, 0.95))
        return Contest(pooled, ranked, sign, target_sets(problem), bounds=bounds)


def answer(seen: Tally, rule: Rule | None = None) -> Answer:
    """Rank the arms of a tally; `test_coverage` checks that these are the numbers of `whichdo.rank`."""
    worth = unit_scale(np.array(list(seen.problem.rewards.values())))[0]
    looked = look(seen.problem, seen, worth, rule)
    return Answer(seen, worth, rule or Rule(), pool(looked, seen, worth))


# ----------------------------------------------------------------------------------------------------------- mechanisms


def logistic(odds: FloatArray) -> FloatArray:
    """Log odds as chances."""
    found: FloatArray = 1 / (1 + np.exp(-odds))
    return found


def rewarding(means: FloatArray, levels: int, scatter: float) -> FloatArray:
    """Laws of a reward on evenly spaced levels with the given means: beta-binomial, ``scatter`` rows behind the beta.

    The last axis is the level.  Two levels are a coin.
    """
    if levels == 2:
        return np.stack([1 - means, means], axis=-1)
    middle = means[..., None]
    found: FloatArray = stats.betabinom.pmf(np.arange(levels), levels - 1, scatter * middle, scatter * (1 - middle))
    found /= found.sum(axis=-1, keepdims=True)
    return found


def main_effects(rng: np.random.Generator, sizes: Sequence[int], scale: float) -> FloatArray:
    """A table of log odds: a normal main effect for each value of each input, with mean 0 over the table."""
    found = np.zeros(tuple(sizes))
    for axis, size in enumerate(sizes):
        effect = rng.normal(0, scale, size)
        found += (effect - effect.mean()).reshape([-1 if j == axis else 1 for j in range(len(sizes))])
    return found


def choices(odds: FloatArray) -> FloatArray:
    """Softmax along the last axis."""
    found: FloatArray = np.exp(odds - odds.max(axis=-1, keepdims=True))
    found /= found.sum(axis=-1, keepdims=True)
    return found


@dataclass(frozen=True)
class Reward:
    """How the reward comes about."""

    rate: float
    levels: int = 2
    scatter: float = 4.0

    def mechanism(self, inputs: Sequence[str], odds: FloatArray) -> Mechanism:
        """The reward given its inputs, whose log odds come on top of those of the rate."""
        means = np.clip(logistic(np.log(self.rate / (1 - self.rate)) + odds), 1e-6, 1 - 1e-6)
        return Mechanism(inputs, rewarding(means, self.levels, self.scatter))


def worths(levels: int) -> dict[object, float]:
    """Levels evenly from 0 to 1."""
    return {level: level / (levels - 1) for level in range(levels)}


# --------------------------------------------------------------------------------------------------------------- shapes


def by_adjustment(
    rng: np.random.Generator,
    reward: Reward,
    strata: Sequence[int],
    odds: FloatArray,
    share: float | None = None,
    *,
    hidden: bool = False,
) -> World:
    """Confounders of the given sizes act on X and the reward; ``odds`` of each value of X are its effects.

    ``share`` is that of the last value of X; by default some values are a few times as common as others.  Where
    ``hidden``, a confounder that is not observed acts on both too, and looking settles nothing.
    """
    names = tuple(f"Z{number}" for number in range(len(strata)))
    mechanisms = {}
    for name, size in zip(names, strata, strict=True):
        mechanisms[name] = Mechanism((), choices(rng.normal(0, 0.5, size)))
    inputs, sizes = (("U", *names), (2, *strata)) if hidden else (names, tuple(strata))
    if hidden:
        mechanisms["U"] = bernoulli((), 0.5)
    values = len(odds)
    popular = rng.normal(0, 0.7, values)
    if share is not None:
        popular = np.log(np.append(np.full(values - 1, (1 - share) / (values - 1)), share))
    leaning = np.stack([main_effects(rng, sizes, 0.5) for _ in range(values)], axis=-1)
    mechanisms["X"] = Mechanism(inputs, choices(popular + leaning))
    acting = main_effects(rng, sizes, 0.5)[..., None] + odds
    acting = acting + rng.normal(0, 0.1, acting.shape) * (np.ptp(odds) > 0)
    mechanisms["Y"] = reward.mechanism((*inputs, "X"), acting)
    network = CausalNetwork(mechanisms, ["U"] if hidden else [])
    return World.of(network, network.problem("Y", ["X"], rewards=worths(reward.levels)))


def by_front_door(rng: np.random.Generator, reward: Reward, strata: Sequence[int], odds: FloatArray) -> World:
    """X acts through M alone, and shares a hidden cause with the reward; observed confounders act on all three."""
    names = tuple(f"Z{number}" for number in range(len(strata)))
    mechanisms = {
        name: Mechanism((), choices(rng.normal(0, 0.5, size))) for name, size in zip(names, strata, strict=True)
    }
    sizes, values = tuple(strata), len(odds)
    mechanisms["U"] = bernoulli((), 0.5)
    mechanisms["X"] = Mechanism(
        (*names, "U"), choices(np.stack([main_effects(rng, (*sizes, 2), 0.6) for _ in range(values)], axis=-1))
    )
    leads = main_effects(rng, (*sizes, 1), 0.5) + np.linspace(-1, 1, values)
    mechanisms["M"] = bernoulli((*names, "X"), logistic(leads))
    acting = main_effects(rng, (*sizes, 2, 1), 0.6) + np.array([-0.5, 0.5]) * np.ptp(odds)
    mechanisms["Y"] = reward.mechanism((*names, "U", "M"), acting)
    network = CausalNetwork(mechanisms, ["U"])
    return World.of(network, network.problem("Y", ["X"], rewards=worths(reward.levels)))


def by_napkin(rng: np.random.Generator, reward: Reward, odds: FloatArray) -> World:
    """W1 -> W2 -> X -> Y; W1 shares a hidden cause with X and one with the reward: a ratio of two sums."""
    values = len(odds)
    mechanisms = {"U": bernoulli((), 0.5), "V": bernoulli((), 0.5)}
    mechanisms["W1"] = bernoulli(("U", "V"), logistic(main_effects(rng, (2, 2), 0.7)))
    mechanisms["W2"] = bernoulli(("W1",), logistic(main_effects(rng, (2,), 0.7)))
    mechanisms["X"] = Mechanism(
        ("U", "W2"), choices(np.stack([main_effects(rng, (2, 2), 0.6) for _ in range(values)], axis=-1))
    )
    mechanisms["Y"] = reward.mechanism(("V", "X"), main_effects(rng, (2, 1), 0.6) + odds)
    network = CausalNetwork(mechanisms, ["U", "V"])
    return World.of(network, network.problem("Y", ["X"], rewards=worths(reward.levels)))


@dataclass(frozen=True)
class Nodes(World):
    """Many causes of a binary reward, each 0 or 1 and independent of the others, chances adding up.

    The joint law is too large to lay out, so rows are drawn; ``law`` holds the chance that each cause is 1, then what
    each adds to the reward's chance.
    """

    base: float

    @classmethod
    def made(cls, rng: np.random.Generator, rate: float, nodes: int, apart: float) -> Nodes:
        """Causes that add ``apart`` times the rate up and down, on average as much as they take."""
        from whichdo.problem import Problem

        names = [f"X{number}" for number in range(nodes)]
        problem = Problem("\n".join(f"{name} -> Y" for name in names), "Y", names)
        chances = rng.uniform(0.2, 0.8, nodes)
        adds = rate * np.clip(rng.normal(0, apart, nodes), -0.8, 0.8)
        adds *= min(1.0, 0.9 * rate / max(float(np.abs(adds).sum()), 1e-12))
        base = rate - float(chances @ adds)
        means = np.full(len(problem.arms), rate)
        for position, arm in enumerate(problem.arms[1:], 1):
            ((name, value),) = arm.settings.items()
            number = names.index(name)
            means[position] = rate + (int(value) - chances[number]) * adds[number]
        return cls(problem, np.stack([chances, adds]), np.stack([1 - means, means], axis=1), base)

    def share(self, position: int) -> float:
        """How often looks happen to be at the setting of an arm."""
        ((name, value),) = self.problem.arms[position].settings.items()
        chance = float(self.law[0, int(name[1:])])
        return chance if value == 1 else 1 - chance

    def draw(self, rng: np.random.Generator, sets: int, looks: int, pulls: int | IntArray = 0) -> Iterator[Tally]:
        """Data sets with so many looks, and so many pulls of each arm other than do()."""
        problem = self.problem
        scopes = counted_scopes(problem, rows=looks)
        wanted = np.broadcast_to(np.asarray(pulls, np.int64), (len(problem.arms),)).copy()
        wanted[0] = 0
        for _ in range(sets):
            causes = rng.random((looks, len(self.law[0]))) < self.law[0]
            hits = rng.random(looks) < self.base + causes @ self.law[1]
            columns = {f"X{number}": causes[:, number].astype(np.uint8) for number in range(len(self.law[0]))}
            columns["Y"] = hits.astype(np.uint8)
            tables = {
                scope: Table.from_rows(scope, [2] * len(scope), [columns[name] for name in scope]) for scope in scopes
            }
            counts = rng.multinomial(wanted, self.by_arm)
            counts[0] = [looks - hits.sum(), hits.sum()]
            yield Tally(problem, counts, {LOOK: tables})
