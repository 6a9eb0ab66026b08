"""Simulation: the same whatever the number of workers, and whatever becomes of them."""

from __future__ import annotations

import os
import signal
from multiprocessing import active_children

import numpy as np
import pytest

from tests.slow import Slow
from whichdo import simulation
from whichdo.errors import UnsuitableError, UsageError
from whichdo.policy_names import policy
from whichdo.simulation import simulate
from whichdo.world.instances import canonical


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
    assert found.share_best == pytest.approx((found.recommended == 2).mean())


def test_bad_numbers_are_refused() -> None:
    instance = canonical("frontdoor")
    with pytest.raises(UsageError, match="number of runs is 0"):
        simulate(policy("ue"), instance.network, instance.problem, horizon=6, runs=0)
    with pytest.raises(UnsuitableError, match="at least 3"):
        simulate(policy("ue"), instance.network, instance.problem, horizon=2, runs=1)
    with pytest.raises(UsageError, match="number of workers is 0; 1 works in this process"):
        simulate(policy("ue"), instance.network, instance.problem, horizon=6, runs=1, workers=0)
    for horizon in (float("nan"), 6.0, -1, 0, "6", True):
        with pytest.raises(UsageError, match=r"must be a whole number|cannot be negative|must be above 0"):
            simulate(policy("ue"), instance.network, instance.problem, horizon=horizon, runs=1)  # type: ignore[arg-type]
    for budget in (float("nan"), float("inf"), -1, 0, "6", True):
        with pytest.raises(UsageError, match=r"must be a finite number|must be above 0"):
            simulate(policy("ue"), instance.network, instance.problem, budget=budget, runs=1)  # type: ignore[arg-type]


def test_a_horizon_is_in_pulls_and_a_budget_in_cost_units() -> None:
    instance = canonical("frontdoor")
    costs = {instance.problem.arms[1]: 2.0}
    problem = instance.network.problem(instance.problem.reward, list(instance.problem.intervene), costs=costs)
    with pytest.raises(UsageError, match=r"`horizon` counts pulls, and do\(\w+=0\) costs 2. Give `budget`"):
        simulate("ue", instance.network, problem, horizon=30, runs=2)
    with pytest.raises(UsageError, match="Give `horizon`, the number of pulls, or `budget`, in cost units; found both"):
        simulate("ue", instance.network, instance.problem, horizon=30, budget=30, runs=2)
    with pytest.raises(UsageError, match="found neither"):
        simulate("ue", instance.network, instance.problem, runs=2)
    by_pulls, by_cost = (
        simulate("ue", instance.network, instance.problem, runs=2, **length)
        for length in ({"horizon": 30}, {"budget": 30.0})
    )
    assert by_pulls.recommended.tolist() == by_cost.recommended.tolist()


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are started at once, however short the job."""
    monkeypatch.setattr(simulation, "SURE", 0.0)
    monkeypatch.setattr(simulation, "WORTH", 0.0)


@pytest.mark.slow("6 s: several crews of processes; finds runs that depend on who makes them")
@pytest.mark.usefixtures("eager")
def test_results_do_not_depend_on_the_number_of_workers() -> None:
    instance = canonical("frontdoor")
    found = [
        simulate(policy("srm"), instance.network, instance.problem, horizon=60, runs=70, seed=4, workers=workers)
        for workers in (1, 2, 3)
    ]
    for each in found[1:]:
        assert each.recommended.tolist() == found[0].recommended.tolist()
        assert each.spent.tolist() == found[0].spent.tolist()


@pytest.mark.slow("4 s: kills a worker that simulates; finds runs that are lost or made twice")
@pytest.mark.usefixtures("eager")
def test_a_worker_that_is_killed_changes_nothing() -> None:
    instance = canonical("frontdoor")
    alone = simulate(Slow(0.0), instance.network, instance.problem, horizon=60, runs=600, seed=4)
    killed: list[int] = []

    def kill(done: int, total: int | None) -> None:
        assert total == 600
        if not killed and done > 300:
            killed.append(active_children()[0].pid or 0)
            os.kill(killed[0], signal.SIGKILL)

    found = simulate(
        Slow(0.01), instance.network, instance.problem, horizon=60, runs=600, seed=4, workers=2, progress=kill
    )
    assert killed
    assert found.recommended.tolist() == alone.recommended.tolist()
    assert found.spent.tolist() == alone.spent.tolist()


@pytest.mark.slow("3 s: starts processes, and compares what each of them reports")
@pytest.mark.usefixtures("eager")
def test_progress_is_told_in_runs() -> None:
    instance = canonical("frontdoor")
    for workers in (1, 2):
        told: list[tuple[int, int | None]] = []
        simulate(
            Slow(0.001), instance.network, instance.problem, horizon=6, runs=300, workers=workers,
            progress=lambda done, total, told=told: told.append((done, total)),  # type: ignore[misc]
        )  # fmt: skip
        assert told[-1] == (300, 300)
        assert [done for done, _ in told] == sorted({done for done, _ in told})
        assert len(told) > 5


def test_a_bar_shows_only_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    instance = canonical("frontdoor")
    simulate(policy("ue"), instance.network, instance.problem, horizon=6, runs=20, progress=True)
    assert capsys.readouterr() == ("", "")


def test_a_short_job_starts_no_process() -> None:
    instance = canonical("frontdoor")
    found: list[int] = []
    simulate(
        policy("ue"), instance.network, instance.problem, horizon=6, runs=50, workers=8,
        progress=lambda done, total: found.append(len(active_children())),
    )  # fmt: skip
    assert set(found) == {0}


@pytest.mark.slow("1 s: starts processes; finds some that are left behind")
@pytest.mark.usefixtures("eager")
def test_an_error_while_simulating_ends_the_workers() -> None:
    instance = canonical("frontdoor")

    def stop(done: int, total: int | None) -> None:
        if done > 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(Slow(), instance.network, instance.problem, horizon=6, runs=2000, workers=2, progress=stop)
    assert active_children() == []


def test_rounds_that_cannot_be_recorded_are_refused() -> None:
    instance = canonical("frontdoor")
    with pytest.raises(UsageError, match="ue recommends at the end; its regret has no rounds to record"):
        simulate(policy("ue"), instance.network, instance.problem, horizon=30, runs=1, rounds=[10])
    for rounds in ([0], [31], []):
        with pytest.raises(UsageError, match="The rounds to record must lie between 1 and 30"):
            simulate(policy("ucb"), instance.network, instance.problem, horizon=30, runs=1, rounds=rounds)
