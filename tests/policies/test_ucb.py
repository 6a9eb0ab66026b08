"""UCB1 against a plain re-run of its formula, many runs side by side; this is what its reference numbers rest on.

The reference for Experiment 5 has 371.1 (.4) at t = 4,000, the error taken over 12 networks.  UCB's regret does not
depend on the network there, so 180 runs allow an error of .7, not .4, and the number is two and a half such errors from
what both this re-run and ours have.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import pytest

import whichdo as wd
from tests.soak import scaled
from whichdo.evidence import Tally
from whichdo.policies.sequential import NO_ROW
from whichdo.policy_names import policy
from whichdo.simulation import simulate
from whichdo.world.instances import experiment_5

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

ROUNDS = (1000, 2000, 4000)


def plain(means: NDArray[np.float64], runs: int, seed: int) -> NDArray[np.float64]:
    """The regret of each run up to each of the rounds: each arm once, then the largest mean + sqrt(2 ln t / n)."""
    rng = np.random.default_rng(seed)
    each, arms = np.arange(runs), len(means)
    pulls, total = np.ones((runs, arms)), (rng.random((runs, arms)) < means).astype(float)
    gaps = means.max() - means
    regret, found = np.full(runs, gaps.sum()), []
    for t in range(arms, ROUNDS[-1]):
        chosen = (total / pulls + np.sqrt(2 * np.log(t) / pulls)).argmax(axis=1)
        total[each, chosen] += rng.random(runs) < means[chosen]
        pulls[each, chosen] += 1
        regret += gaps[chosen]
        if t + 1 in ROUNDS:
            found.append(regret.copy())
    return np.array(found).T


def test_each_choice_has_the_largest_index() -> None:
    """On rewards that come as they like: an arm that is chosen has the largest mean + sqrt(2 ln t / n)."""
    problem = wd.Problem("A -> Y; B -> Y; C -> Y", "Y")
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rounds = policy("ucb").play_by_round(problem, 1_000, rng, Tally.empty(problem))
        assert rounds is not None
        pulls, total = np.zeros((2, len(problem.arms)))
        for t in range(200):
            arm, level, tried = rounds.arm, int(rng.random() < 0.5), pulls > 0
            if tried[arm]:
                index = total[tried] / pulls[tried] + np.sqrt(2 * np.log(t) / pulls[tried])
                assert total[arm] / pulls[arm] + np.sqrt(2 * np.log(t) / pulls[arm]) >= index.max() - 1e-12
            rounds.take(level, NO_ROW)
            pulls[arm] += 1
            total[arm] += level
        assert pulls[1:].all()


@pytest.mark.soak
def test_regret_is_that_of_the_formula(record_property: Callable[[str, object], None]) -> None:
    """Within 5 standard errors at three rounds: a false alarm once in a million.

    Seen to fail with ln(t) / 2 in place of 2 ln t, and with one pull too many at the start.
    """
    runs = scaled(2000, 200)
    instance = experiment_5(1)[0]
    ours = simulate(
        policy("ucb"), instance.network, instance.problem, horizon=ROUNDS[-1], runs=runs, seed=2, rounds=ROUNDS
    ).curve
    assert ours is not None
    theirs = plain(instance.means, runs, seed=3)
    error = np.hypot(ours.std(axis=0), theirs.std(axis=0)) / sqrt(runs)
    record_property(
        "regret", {"whichdo": ours.mean(axis=0).round(1).tolist(), "formula": theirs.mean(axis=0).round(1).tolist()}
    )
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 5 * error).all()
