"""Cumulative regret in the paper's Experiments 3 and 5 against faithful re-runs, and that crm stops losing.

Under ``make soak`` within 3 combined standard errors of every number, as the reference asks: a false alarm has
probability .003 a number.  Under ``make test``, with fewer runs, within 6, about 2e-7.  Seeds are fixed, so each passes
or fails for good.  The reference for Experiment 5 has 180 runs; its errors, taken over 12 networks, come out smaller
than 180 runs allow (UCB's regret does not depend on the network), so they are taken from the runs at hand.  That our
UCB is right where it is beyond three of the printed errors is shown in test_ucb.py.

Seen to fail, Experiment 3 at t = 30,000 with 200 runs, where crm has 151: a radius that leaves out the draws gives
350, one that counts them twice 82.  Blind to beta: set back to 1 whenever do() has the largest mean, or without any
forced look, every number here stays the same to a tenth or so, since looks are plenty by t = 1,000 either way.
The comparison with the twin in test_crm.py fails on the former.
"""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.soak import FULL, scaled
from whichdo.policy_names import policy
from whichdo.simulation import simulate
from whichdo.world.instances import experiment_3, experiment_5

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.soak,
    pytest.mark.slow("10 s: 60 runs of 30,000 rounds; finds draws that are left out of a radius or counted twice"),
]

ROUNDS = (1000, 2000, 4000, 8000, 30_000)
BOUND = 3 if FULL else 6

EXPERIMENT_3 = {
    "ucb": ((47.3, 80.9, 129.1, 195.1, 349.7), (0.4, 0.7, 1.2, 1.7, 2.8)),
    "crm": ((45.9, 74.1, 107.3, 134.4, 148.0), (0.4, 0.8, 1.2, 1.6, 1.8)),
}
X1_NOT_SET = {"ucb": (70.8, 117.2, 177.8, 267.4), "crm": (65.6, 97.9, 121.0, 125.1)}  # 8 runs
EXPERIMENT_5 = {
    "ucb": ((96.5, 189.9, 371.1, 706.2, 1978.6), (0.1, 0.2, 0.4, 1.3, 8.5)),
    "crm": ((95.5, 186.9, 360.3, 671.4, 1687.7), (0.2, 0.3, 1.0, 2.6, 13.2)),
}

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@cache
def third(name: str, set_x1: bool) -> Array:
    """The regret of each run in Experiment 3 up to each of the rounds."""
    each = experiment_3(set_x1=set_x1)
    curve = simulate(
        policy(name), each.network, each.problem, horizon=30_000, runs=scaled(200, 60), seed=1, rounds=ROUNDS
    ).curve
    assert curve is not None
    return curve


@cache
def fifth(name: str) -> Array:
    """The regret of each run in Experiment 5, 12 networks together."""
    runs = scaled(100, 5)
    found = []
    for number, each in enumerate(experiment_5(12, seed=0)):
        curve = simulate(
            policy(name), each.network, each.problem, horizon=30_000, runs=runs, seed=number, rounds=ROUNDS
        ).curve
        assert curve is not None
        found.append(curve)
    return np.concatenate(found)


def misses(curve: Array, means: tuple[float, ...], errors: Array) -> Array:
    """By how many combined standard errors each mean differs from the reference."""
    curve = curve[:, : len(means)]
    own = curve.std(axis=0, ddof=1) / sqrt(len(curve))
    found: Array = np.abs(curve.mean(axis=0) - means) / np.hypot(own, errors)
    return found


@pytest.mark.parametrize("name", ["ucb", "crm"])
def test_experiment_3(name: str, record_property: Callable[[str, object], None]) -> None:
    curve = third(name, True)
    record_property("runs", len(curve))
    record_property("regret", curve.mean(axis=0).round(1).tolist())
    means, errors = EXPERIMENT_3[name]
    assert misses(curve, means, np.array(errors)).max() < BOUND


@pytest.mark.parametrize("name", ["ucb", "crm"])
def test_experiment_3_where_looking_is_the_only_best_arm(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    curve = third(name, False)
    record_property("runs", len(curve))
    record_property("regret", curve.mean(axis=0).round(1).tolist())
    means = X1_NOT_SET[name]
    assert misses(curve, means, curve[:, : len(means)].std(axis=0, ddof=1) / sqrt(8)).max() < BOUND


@pytest.mark.parametrize("name", ["ucb", "crm"])
def test_experiment_5(name: str, record_property: Callable[[str, object], None]) -> None:
    curve = fifth(name)
    record_property("runs", len(curve))
    record_property("regret", curve.mean(axis=0).round(1).tolist())
    means, errors = EXPERIMENT_5[name]
    of_runs = curve.std(axis=0, ddof=1) / sqrt(180)
    assert misses(curve, means, np.maximum(errors, of_runs)).max() < BOUND


@pytest.mark.parametrize("set_x1", [True, False])
def test_where_looking_is_best_crm_stops_losing_and_ucb_does_not(set_x1: bool) -> None:
    """From round 8,000 to 30,000 crm loses at most a fifth of what ucb loses, which is over 100.

    Measured: 13 of 151, and 0.2 of 160; the standard error of the ratio with 60 runs is about .02.
    """
    lost = {name: float((third(name, set_x1)[:, 4] - third(name, set_x1)[:, 3]).mean()) for name in ("ucb", "crm")}
    assert lost["ucb"] > 100
    assert lost["crm"] < lost["ucb"] / 5
