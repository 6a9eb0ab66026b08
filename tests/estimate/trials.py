"""Worlds in which arms were tried: the exact law of everything observed under each arm, and tallies of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.estimate.oracle import Oracle, semi_markovian
from tests.estimate.tallies import unit_worth
from tests.identification.laws import under
from whichdo.evidence import Tally
from whichdo.problem import LOOK, Arm, Problem, do
from whichdo.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Trials:
    """A problem, and for each of its arms the law of all nodes, with an axis for each in the graph's order."""

    problem: Problem
    laws: Mapping[Arm, Array]

    @classmethod
    def of(cls, oracle: Oracle, problem: Problem) -> Trials:
        """All arms of a problem in a network."""
        order = [oracle.names.index(name) for name in problem.graph.nodes]
        laws = {}
        for arm in problem.arms:
            place: list[Any] = [slice(None)] * len(oracle.names)
            for name, value in arm.settings.items():
                code = problem.domains[name].index(value)
                place[oracle.names.index(name)] = slice(code, code + 1)
            whole = under(oracle, arm.targets)
            law = np.zeros(whole.shape)
            law[tuple(place)] = whole[tuple(place)]
            laws[arm] = (law / law.sum()).transpose(order)
        return cls(problem, laws)

    @cached_property
    def worth(self) -> Array:
        """Of each level of the reward, from 0 to 1."""
        return unit_worth(self.problem)

    @cached_property
    def truth(self) -> Array:
        """The mean of each arm, from 0 to 1."""
        return np.array([self._rewards(self.laws[arm]) @ self.worth for arm in self.problem.arms])

    def exact(self, rows: Callable[[Arm], float]) -> Tally:
        """The tally of laws as they are, times so many rows of each arm."""
        return self._tally({arm: rows(arm) * law for arm, law in self.laws.items() if rows(arm)})

    def draw(self, rng: np.random.Generator, rows: Callable[[Arm], int]) -> Tally:
        """A tally of so many rows of each arm."""
        return self._tally(
            {
                arm: rng.multinomial(rows(arm), law.ravel()).reshape(law.shape)
                for arm, law in self.laws.items()
                if rows(arm)
            }
        )

    def _rewards(self, table: Array) -> Array:
        nodes = self.problem.graph.nodes
        found: Array = table.sum(axis=tuple(axis for axis, name in enumerate(nodes) if name != self.problem.reward))
        return found

    def _tally(self, tables: Mapping[Arm, Array]) -> Tally:
        problem, nodes = self.problem, self.problem.graph.nodes
        counts = np.array(
            [
                self._rewards(tables[arm]) if arm in tables else np.zeros(len(self.worth), np.int64)
                for arm in problem.arms
            ]
        )
        return Tally(problem, counts, {arm: {nodes: Table.of(nodes, table)} for arm, table in tables.items()})


def random_trials(rng: np.random.Generator, observed: tuple[int, int] = (4, 5)) -> Trials:
    """A random network with a reward anywhere; the arms are all settings of single nodes, and of pairs that act."""
    while True:
        network = semi_markovian(rng, observed=observed)
        oracle = Oracle(network)
        reward = str(rng.choice(oracle.names))
        graph = network.graph
        acting = [name for name in graph.ancestors([reward]) if name != reward]
        if len(acting) >= 2:
            break
    domains = network.domains
    sets = [(name,) for name in graph.nodes if name != reward] + [
        tuple(sorted(pair)) for pair in combinations(acting, 2)
    ]
    arms = [
        do(dict(zip(names, values, strict=True)))
        for names in sets
        for values in product(*(domains[name] for name in names))
    ]
    levels = domains[reward]
    worth = {level: place / (len(levels) - 1) for place, level in enumerate(levels)}
    return Trials.of(oracle, network.problem(reward, arms=arms, rewards=worth))


def singles(looks: int, pulls: int) -> Callable[[Arm], int]:
    """So many looks, so many pulls of each arm that sets one node, and none of the others."""
    return lambda arm: looks if arm == LOOK else pulls if len(arm.targets) == 1 else 0
