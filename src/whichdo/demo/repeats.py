"""The demonstration's story many times over, each time with new luck: how often does each way name the best measure?

A repeat draws a survey and the experiments of each way from the same town.  Nothing is stored, so two hundred take some
ten seconds.  Policies have all experiments to themselves here, where a campaign keeps a part for audits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.checking.denial import statement_scopes
from whichdo.estimate.rank import ranking
from whichdo.evidence import Tally, observe
from whichdo.formulas import counted_scopes
from whichdo.policy_names import policy
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.evidence import Batch
    from whichdo.policies.base import Policy, Recommendation
    from whichdo.problem import Arm, Problem
    from whichdo.world.network import CausalNetwork


WAYS = {
    "naive": "compare those who happen to, in the survey",
    "uniform": "experiments spread evenly over the measures, no survey",
    "alone": "experiments chosen by whichdo, no survey",
    "looking": "the survey read with the graph, no experiment",
    "campaign": "the survey, then experiments chosen by whichdo",
}


@dataclass(frozen=True)
class Score:
    """How a way of deciding fared."""

    right: int
    """In how many repeats it named the best arm."""
    worse: float
    """How much worse than the best its choices are on average, in the reward's own scale."""


def scores(
    network: CausalNetwork, problem: Problem, *, looks: int, pulls: int, runs: int, seed: int
) -> dict[str, Score]:
    """For each of `WAYS` how it did in this many repeats."""
    truth = network.means(problem)
    best = float(truth.min())
    chosen: dict[str, list[int]] = {way: [] for way in WAYS}
    for number in range(runs):
        for way, arm in _choices(
            World(network, problem, np.random.SeedSequence([seed, number])), looks, pulls, number
        ).items():
            chosen[way].append(problem.index(arm))
    return {
        way: Score(int(np.sum(truth[arms] <= best)), float(np.mean(truth[arms] - best))) for way, arms in chosen.items()
    }


def _choices(world: World, looks: int, pulls: int, number: int) -> Mapping[str, Arm]:
    """What each way names in one repeat."""
    problem = world.problem
    survey, nothing = world.pull(observe(looks)), Tally.empty(problem)
    return {
        "naive": naive_best(problem, survey),
        "uniform": experiment(policy("ue"), world, pulls, nothing, number).arm,
        "alone": experiment(policy("warm-halving"), world, pulls, nothing, number).arm,
        "looking": ranking(survey).ordered[0].arm,
        "campaign": experiment(policy("warm-halving"), world, pulls, survey, number).arm,
    }


def mistaken(
    network: CausalNetwork, problem: Problem, drawn: Problem, *, looks: int, pulls: int, runs: int, seed: int
) -> dict[str, Score]:
    """How a wrong drawing fares: the survey read with it, and experiments chosen with it, on top of the survey."""
    truth = network.means(problem)
    chosen: dict[str, list[int]] = {"looking": [], "campaign": []}
    for number in range(runs):
        world = World(network, problem, np.random.SeedSequence([seed, number]))
        told = _Retold(world, drawn)
        survey = told.pull(observe(looks, scopes=(*counted_scopes(drawn), *statement_scopes(drawn))))
        chosen["looking"].append(drawn.index(ranking(survey).ordered[0].arm))
        chosen["campaign"].append(drawn.index(experiment(policy("warm-halving"), told, pulls, survey, number).arm))
    best = float(truth.min())
    return {
        way: Score(int(np.sum(truth[arms] <= best)), float(np.mean(truth[arms] - best))) for way, arms in chosen.items()
    }


@dataclass(frozen=True)
class _Retold:
    """A world that answers somebody whose drawing of it differs."""

    world: World
    problem: Problem

    def pull(self, batch: Batch) -> Tally:
        """What comes of a batch, counted for the drawing; both have the same arms."""
        found = self.world.pull(batch)
        return Tally(self.problem, found.counts, found.tables)


def naive_best(problem: Problem, survey: Tally) -> Arm:
    """The measure whose followers are infected least, whatever else tells them from others."""
    found = ranking(survey)
    return min((arm for arm in problem.arms if not arm.is_look), key=lambda arm: found[arm].conditional)


def experiment(chosen: Policy, world: World | _Retold, pulls: int, seen: Tally, seed: int) -> Recommendation:
    """What a policy recommends after ``pulls`` experiments, given the logged looks."""
    play = chosen.play(world.problem, float(pulls), np.random.default_rng(seed), seen)
    answer: Any = None
    while True:
        try:
            answer = world.pull(play.send(answer))
        except StopIteration as stop:
            final: Recommendation = stop.value
            return final
