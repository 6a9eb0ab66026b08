"""Simulation: the same whatever the number of workers."""

from __future__ import annotations

import numpy as np
import pytest

from whichdo.errors import Unsuitable, UsageError
from whichdo.policies import policy
from whichdo.simulation import simulate
from whichdo.world.instances import canonical


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    instance = canonical("frontdoor")
    alone = simulate(policy("srm"), instance.network, instance.problem, horizon=60, runs=70, seed=4)
    shared = simulate(policy("srm"), instance.network, instance.problem, horizon=60, runs=70, seed=4, workers=2)
    assert alone.recommended.tolist() == shared.recommended.tolist()
    assert alone.regret.tolist() == shared.regret.tolist()


def test_fewer_runs_are_the_first_of_more() -> None:
    instance = canonical("backdoor")
    few, many = (
        simulate(policy("ue"), instance.network, instance.problem, horizon=30, runs=runs, seed=4) for runs in (5, 40)
    )
    assert few.recommended.tolist() == many.recommended[:5].tolist()


def test_regret_is_what_the_recommended_arm_misses() -> None:
    """Front-door: .65 is best; do() misses .175 and do(X=0) .35."""
    instance = canonical("frontdoor")
    found = simulate(policy("ue"), instance.network, instance.problem, horizon=6, runs=200, seed=1)
    misses = np.array([0.175, 0.35, 0.0])
    assert found.regret == pytest.approx(misses[found.recommended])
    assert found.error == pytest.approx(found.regret.std(ddof=1) / np.sqrt(200))


def test_bad_numbers_are_refused() -> None:
    instance = canonical("frontdoor")
    with pytest.raises(UsageError, match="number of runs is 0"):
        simulate(policy("ue"), instance.network, instance.problem, horizon=6, runs=0)
    with pytest.raises(Unsuitable, match="at least 3"):
        simulate(policy("ue"), instance.network, instance.problem, horizon=2, runs=1)
