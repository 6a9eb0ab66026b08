"""Simulated campaigns for the alarm: a true network, the graph that the user believes, logs, live looks and pulls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.evidence import TABLES, Batch, Tally
from whichdo.monitoring.alarm import conflicts, watched_scopes
from whichdo.problem import Arm, Problem
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whichdo.monitoring.alarm import Conflict
    from whichdo.world.network import CausalNetwork

    Alarm = Callable[..., tuple[object, ...]]


class Believed:
    """Pulls of a true network, told as pulls of the problem that is believed (its graph may be wrong)."""

    def __init__(self, network: CausalNetwork, problem: Problem, seed: int) -> None:
        true = Problem(
            network.graph,
            problem.reward,
            arms=problem.arms,
            goal=problem.goal,
            domains=problem.domains,
            rewards=problem.rewards,
        )
        assert true.arms == problem.arms
        self.problem, self.world = problem, World(network, true, seed)
        self.scopes = watched_scopes(problem)

    def pull(self, arm: Arm, count: int) -> Tally:
        found = self.world.pull(Batch((arm,), (count,), TABLES, self.scopes))
        return Tally(self.problem, found.counts, found.tables)


def campaign(
    believed: Believed, logs: int, pulls: int, rng: np.random.Generator, *, every: int = 5
) -> Iterator[tuple[Tally, Tally, Sequence[Arm]]]:
    """Looks, pulls and the arms to test after every few tells: the one told, or all after looks.

    A quarter of the turns look; a quarter pull an arm at random; half pull the arm whose direct mean seems furthest
    from the truth, so as to find a conflict where there is none.
    """
    problem = believed.problem
    looks, direct = believed.pull(Arm(), logs), Tally.empty(problem)
    centre = believed.world.network.means(believed.world.problem)
    arms = len(problem.arms)
    for turn in range(pulls // every):
        away = np.nan_to_num((direct.means - centre) ** 2) * direct.pulls
        away[0] = -1.0
        if turn % 4 == 0:
            looks += believed.pull(Arm(), every * 4)
            yield looks, direct, problem.arms
        else:
            chosen = problem.arms[int(rng.integers(1, arms)) if turn % 4 == 1 else int(away.argmax())]
            direct += believed.pull(chosen, every)
            yield looks, direct, [chosen]


def goes_off(
    network: CausalNetwork, problem: Problem, seed: int, *, logs: int, pulls: int, alarm: Alarm = conflicts
) -> tuple[object, ...]:
    """What the alarm says first in one whole campaign, listened to after every few tells; empty if nothing."""
    rng = np.random.default_rng([seed, 1])
    for looks, direct, told in campaign(Believed(network, problem, seed), logs, pulls, rng):
        found = alarm(problem, looks, direct, arms=told, logged=logs)
        if found:
            return found
    return ()


def audited(
    network: CausalNetwork, problem: Problem, seed: int, *, logs: int, arm: Arm, pulls: int = 100, every: int = 5
) -> tuple[Conflict, ...]:
    """What the alarm says first while one arm is pulled so often, after so many logged looks."""
    believed = Believed(network, problem, seed)
    looks, direct = believed.pull(Arm(), logs), Tally.empty(problem)
    for _ in range(pulls // every):
        direct += believed.pull(arm, every)
        found = conflicts(problem, looks, direct, logged=logs)
        if found:
            return found
    return ()
