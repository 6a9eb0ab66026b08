"""An instance: a network, the problem it poses, and the truth about it, computed when asked for.

Seeds are explicit everywhere.  A family of many networks gives each its own child of the seed, by number, so that
network 7 is the same whether 10 or 50 are made, and the same again when the same `SeedSequence` object is used twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import UsageError
from whichdo.problem import Goal

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray
    from whichdo.graph.targets import Targets
    from whichdo.problem import Arm, Problem
    from whichdo.world.network import CausalNetwork


Seed = int | np.random.SeedSequence

TIE = 1e-12
"""Means closer than this are the same number, rounded twice."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A network with the problem it poses; everything below is exact.

    ``name`` is the family's name with the member's number; ``about`` says in a sentence what it is for.
    """

    name: str
    network: CausalNetwork
    problem: Problem
    about: str

    @cached_property
    def means(self) -> FloatArray:
        """The mean reward of each arm, in the order of ``problem.arms``."""
        return _frozen(self.network.means(self.problem))

    @cached_property
    def best_arms(self) -> tuple[Arm, ...]:
        """All arms that no arm is better than."""
        return self._leaders(self.means)

    @property
    def best(self) -> Arm:
        """The best arm; the first of ``best_arms`` when several are."""
        return self.best_arms[0]

    @cached_property
    def gap(self) -> float:
        """How far the best arms are from the next mean that differs; 0 when all arms are alike."""
        worth = self._sign * self.means
        behind = worth[worth < worth.max() - TIE]
        return float(worth.max() - behind.max()) if behind.size else 0.0

    @cached_property
    def hardness(self) -> int:
        """The paper's m: how many nodes must be tried because looking sees them too rarely."""
        return self.network.hardness(self.problem)

    @cached_property
    def conditionals(self) -> FloatArray:
        """E[Y | X=x] for each arm do(X=x), E[Y] for do(): what conditioning reports.  NaN where X=x never happens."""
        problem = self.problem
        worth = np.array(list(problem.rewards.values()))
        found: dict[Targets, Any] = {(): self.network.law([problem.reward]) @ worth}
        for targets in problem.target_sets:
            joint = self.network.law([*targets, problem.reward])
            chance = joint.sum(axis=-1)
            found[targets] = np.divide(joint @ worth, chance, out=np.full(chance.shape, np.nan), where=chance > 0)
        values = [
            found[arm.targets][tuple(problem.domains[name].index(value) for name, value in arm.settings.items())]
            for arm in problem.arms
        ]
        return _frozen(np.array(values))

    @cached_property
    def apparent_arms(self) -> tuple[Arm, ...]:
        """The arms that conditioning would call best."""
        return self._leaders(self.conditionals)

    @cached_property
    def bias(self) -> float:
        """The largest error of conditioning: max over arms of abs(E[Y | X=x] - E[Y | do(X=x)])."""
        return float(np.nanmax(np.abs(self.conditionals - self.means)))

    @property
    def misleading(self) -> bool:
        """True if no arm that conditioning would call best is a best arm (it may be one that rows never show)."""
        return not set(self.apparent_arms) & set(self.best_arms)

    @property
    def _sign(self) -> int:
        return -1 if self.problem.goal is Goal.MINIMIZE else 1

    def _leaders(self, values: FloatArray) -> tuple[Arm, ...]:
        worth = self._sign * values
        return tuple(
            arm for arm, value in zip(self.problem.arms, worth, strict=True) if value >= np.nanmax(worth) - TIE
        )


def child(seed: Seed, *key: int) -> np.random.SeedSequence:
    """The descendant of a seed under ``key``.  Unlike `SeedSequence.spawn` it leaves the seed as it was."""
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, *key), pool_size=root.pool_size)


def generator(seed: Seed, *key: int) -> np.random.Generator:
    """A generator of the seed's descendant under ``key``."""
    return np.random.default_rng(child(seed, *key))


def check_budget(budget: float) -> None:
    """Refuse a budget for which no gap is small enough."""
    if not budget >= 1:
        raise UsageError(f"The budget is {budget}; it must be 1 or more.")


def _frozen(array: FloatArray) -> FloatArray:
    array.flags.writeable = False
    return array
