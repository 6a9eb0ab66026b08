"""CRM-ALG as its algorithm box has it, in plain Python: every estimate from all looks, in every round that looks."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from tests.estimate.draws_twin import UNIT, hundredths
from whichdo.evidence import REWARDS, ROWS, pull

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whichdo.problem import Arm, Problem
    from whichdo.world.sampler import World

    Draws = Callable[[Problem, Arm, Sequence[dict[str, int]]], list[Fraction | int]]


def crm_twin(world: World, rounds: int, luck: Sequence[float], draws: Draws, *, reads_looks: bool) -> list[int]:
    """The arms pulled; ``luck`` breaks ties, ``draws`` are the Y_c of an arm from all looks in order."""
    problem = world.problem
    arms, utility = problem.arms, hundredths(problem)
    pulls, total = [0] * len(arms), [0] * len(arms)
    looks: list[dict[str, int]] = []
    drawn, extra = [0] * len(arms), [Fraction(0)] * len(arms)  # C and the sum of Y_c, in hundredths like all rewards
    beta = 1.0
    chosen = []
    for t in range(1, rounds + 1):
        if t <= len(arms):
            arm = t - 1
        elif pulls[0] < beta**2 * log(t):
            arm = 0
        else:
            index = [
                float((total[j] + extra[j]) / (pulls[j] + drawn[j]) / UNIT)
                + sqrt(2 * log(t - 1) / (pulls[j] + drawn[j]))
                for j in range(len(arms))
            ]
            arm = max((j for j in range(len(arms)) if index[j] > max(index) - 1e-12), key=lambda j: luck[j])
        told = world.pull(pull(arms[arm], detail=ROWS if arm == 0 and reads_looks else REWARDS))
        chosen.append(arm)
        pulls[arm] += 1
        total[arm] += utility[int(np.argmax(told.counts[arm]))]
        if arm == 0:
            if told.rows is not None:
                looks.append(dict(zip(problem.graph.nodes, map(int, told.rows.codes[0]), strict=True)))
            else:
                looks.append({problem.reward: int(np.argmax(told.counts[0]))})
            found: list[list[Fraction | int]] = [[] if each.is_look else draws(problem, each, looks) for each in arms]
            drawn, extra = list(map(len, found)), [Fraction(sum(each)) for each in found]
        if t > len(arms):
            means = [(total[j] + extra[j]) / (pulls[j] + drawn[j]) / UNIT for j in range(len(arms))]
            if means[0] < max(means):
                beta = min(2 * sqrt(2) / float(max(means) - means[0]), sqrt(log(t)))
    return chosen
