"""Mean regret in the paper's Experiments 1, 2 and 4, and SRM's mean estimate of m, against faithful re-runs.

The re-runs are older, independent and slower code for the same algorithms and networks; they gave a mean and its
standard error for each cell.  Runs on one network share it, so our own error is taken over networks: 50 of them with 60
runs each under ``make soak``, where a cell must lie within 3 standard errors, both sides combined.  ``make test`` makes
fewer runs on fewer networks and allows 6 standard errors, for a false-alarm rate below 1e-6 a cell: our error is never
taken below what the reference's own mean implies for runs that share nothing; sharing networks adds less than half to
that variance in every cell, and 6 standard errors of the smaller are still 4.9 of the larger.

Seen to fail on planted bugs; the last tests here keep some of them planted.
"""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from tests.soak import FULL, scaled
from whichdo.policies import base, srm
from whichdo.policy_names import policy
from whichdo.simulation import simulate
from whichdo.world.instances import experiment_1, experiment_2, experiment_4

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from whichdo.policies.base import Policy
    from whichdo.world.instances import Instance

    Record = Callable[[str, object], None]
    Hardness = Callable[[NDArray[np.float64], NDArray[np.int64]], int]

pytestmark = pytest.mark.slow(
    "35 s: the paper's experiments at 25 runs or more a network; finds regret that is off by a few standard errors"
)

SEED = 2024
EPSILON = 0.3
SIGMAS = 3.0 if FULL else 6.0
RUNS = scaled(60, 25)
MOST, FEWER = {100: 40, 200: 12}, {100: 20, 200: 12}
"""How many networks of so many nodes ``make test`` has in Experiments 1 and 2."""

BUDGETS = (500, 1000, 1500, 2000, 2500)
EXPERIMENT_1 = {
    "srm": ((0.1283, 0.0027), (0.0376, 0.0018), (0.0081, 0.0009), (0.0018, 0.0004), (0.0005, 0.0002)),
    "ue": ((0.2957, 0.0007), (0.2856, 0.0012), (0.2649, 0.0018), (0.2404, 0.0022), (0.2174, 0.0024)),
    "sr": ((0.2376, 0.0022), (0.1436, 0.0027), (0.1044, 0.0026), (0.0742, 0.0024), (0.0553, 0.0021)),
}
ESTIMATED_M = (12.5, 11.3, 10.9, 10.4, 10.1)
HARDNESSES = (12, 20, 30, 40, 50)
EXPERIMENT_2 = {
    (100, "srm"): (0.021, 0.084, 0.171, 0.195, 0.231),
    (100, "ue"): (0.249, 0.256, 0.256, 0.263, 0.260),
    (100, "sr"): (0.099, 0.093, 0.089, 0.100, 0.095),
    (200, "srm"): (0.018, 0.085, 0.169, 0.208, 0.233),
    (200, "ue"): (0.299, 0.294, 0.294, 0.294, 0.294),
    (200, "sr"): (0.166, 0.169, 0.164, 0.175, 0.186),
}
EXPERIMENT_2_ERROR = 0.009
REJECTS = (0.002, 0.014, 0.039, 0.045, 0.084)
REJECTS_ERROR = 0.011
EXPERIMENT_4 = ((0.0242, 0.0058), (0.0015, 0.0015), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
EXPERIMENT_4_RUNS = 200


class Compared(NamedTuple):
    """A cell beside its reference: our mean, and how many combined standard errors it is away."""

    mean: float
    away: float


@cache
def posed(nodes: int) -> list[Instance]:
    """The networks of Experiment 1; those of Experiment 2 have the same graphs, so they share these problems."""
    return experiment_1(50 if FULL else MOST[nodes], SEED, nodes=nodes)


@cache
def hard(m: int, nodes: int) -> list[Instance]:
    """The networks of Experiment 2."""
    return experiment_2(m, 50 if FULL else FEWER[nodes], SEED, nodes=nodes)


def regrets(
    tested: Policy, networks: Sequence[Instance], budget: float, runs: int, posed: Sequence[Instance] | None = None
) -> NDArray[np.float64]:
    """A row a network, a column a run; what is worked out of a problem is shared with ``posed``."""
    given = (posed or networks)[: len(networks)]
    found = [
        simulate(tested, each.network, other.problem, budget=budget, runs=runs, seed=number)
        for number, (each, other) in enumerate(zip(networks, given, strict=True))
    ]
    assert max(out.spent.max() for out in found) <= budget
    return np.array([out.regret for out in found])


def error_of(values: NDArray[np.float64]) -> float:
    """The standard error of the mean, over rows."""
    return float(values.mean(axis=1).std(ddof=1) / sqrt(len(values)))


def compared(regret: NDArray[np.float64], mean: float, error: float, told: Record | None = None) -> Compared:
    """Our side's error is no less than the reference's mean implies: nearly all regrets are 0 or epsilon."""
    implied = sqrt(max(mean * (EPSILON - mean), EPSILON * EPSILON / regret.size) / regret.size)
    own = max(error_of(regret), implied)
    found = Compared(float(regret.mean()), float(abs(regret.mean() - mean) / sqrt(own**2 + error**2)))
    if told:
        for name, value in (("runs", regret.size), ("networks", len(regret)), ("seed", SEED)):
            told(name, value)
        told("regret", f"{found.mean:.4f} against {mean:.4f}: {found.away:.1f} standard errors")
    return found


@pytest.mark.soak
@pytest.mark.parametrize("place", range(5), ids=map(str, BUDGETS))
@pytest.mark.parametrize("name", EXPERIMENT_1)
def test_experiment_1(name: str, place: int, record_property: Record) -> None:
    regret = regrets(policy(name), posed(100), BUDGETS[place], RUNS)
    assert compared(regret, *EXPERIMENT_1[name][place], record_property).away < SIGMAS


def estimates_of_m(budget: int, patch: pytest.MonkeyPatch) -> NDArray[np.float64]:
    """The m that SRM itself works with: a row a network, a column a run."""
    real: Hardness = vars(srm)["hardness"]
    noted: list[int] = []

    def noting(q: NDArray[np.float64], k: NDArray[np.int64]) -> int:
        noted.append(real(q, k))
        return noted[-1]

    with patch.context() as patched:
        patched.setattr(srm, "hardness", noting)
        regrets(policy("srm"), posed(100), budget, RUNS)
    return np.array(noted, np.float64).reshape(len(posed(100)), RUNS)


def far_in_m(found: NDArray[np.float64], place: int) -> float:
    """The reference's mean is rounded to .05 and its error is not said; it had as many runs as ``make soak`` has."""
    return float(max(0.0, abs(found.mean() - ESTIMATED_M[place]) - 0.05) / (sqrt(2) * error_of(found)))


@pytest.mark.soak
@pytest.mark.parametrize("place", range(5), ids=map(str, BUDGETS))
def test_estimate_of_m(place: int, monkeypatch: pytest.MonkeyPatch, record_property: Record) -> None:
    """The true m is 9; counted in T/2 looks it is larger, since a rare cell is sometimes seen less often still."""
    found = estimates_of_m(BUDGETS[place], monkeypatch)
    record_property("mean", f"{found.mean():.3f} against {ESTIMATED_M[place]}")
    assert far_in_m(found, place) < SIGMAS


@pytest.mark.soak
@pytest.mark.parametrize("place", range(5), ids=map(str, HARDNESSES))
@pytest.mark.parametrize(("nodes", "name"), EXPERIMENT_2)
def test_experiment_2(nodes: int, name: str, place: int, record_property: Record) -> None:
    regret = regrets(policy(name), hard(HARDNESSES[place], nodes), 1600, RUNS, posed(nodes))
    assert compared(regret, EXPERIMENT_2[nodes, name][place], EXPERIMENT_2_ERROR, record_property).away < SIGMAS


@pytest.mark.soak
@pytest.mark.parametrize("place", range(5), ids=map(str, HARDNESSES))
def test_rejects_in_the_second_phase(place: int, record_property: Record) -> None:
    """Experiment 2 with N = 100 once more."""
    tested = policy("srm", second_phase="rejects")
    regret = regrets(tested, hard(HARDNESSES[place], 100), 1600, RUNS, posed(100))
    assert compared(regret, REJECTS[place], REJECTS_ERROR, record_property).away < SIGMAS


@pytest.mark.soak
@pytest.mark.parametrize(("budget", "mean"), [(500, 0.049), (1000, 0.010)])
def test_rejects_in_the_second_phase_in_experiment_1(budget: int, mean: float, record_property: Record) -> None:
    regret = regrets(policy("srm", second_phase="rejects"), posed(100), budget, RUNS)
    assert compared(regret, mean, REJECTS_ERROR, record_property).away < SIGMAS


@pytest.mark.soak
@pytest.mark.parametrize("place", range(5), ids=map(str, BUDGETS))
def test_experiment_4(place: int, record_property: Record) -> None:
    """The reference had 200 runs: no error of its own is below that of one wrong run."""
    mean, error = EXPERIMENT_4[place]
    regret = regrets(policy("srm"), experiment_4(50, SEED), BUDGETS[place], RUNS)
    assert compared(regret, mean, max(error, EPSILON / EXPERIMENT_4_RUNS), record_property).away < SIGMAS


def test_warm_halving_is_at_most_a_sixth_of_the_better_rival_in_experiment_1() -> None:
    """The better of SRM and SR at T = 500 is SRM's .1283; a prototype of warm halving had .0006."""
    assert regrets(policy("warm-halving"), posed(100)[:20], 500, RUNS).mean() <= 0.1283 / 6


# ---------------------------------------------------------------------------------------------------- planted bugs


def test_an_m_one_too_large_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Hardness = vars(srm)["hardness"]
    monkeypatch.setattr(srm, "hardness", lambda q, k: real(q, k) + 1)
    assert far_in_m(estimates_of_m(500, monkeypatch), 0) > SIGMAS


def test_overspending_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The authors' code pulls each of 2N + 1 arms T // (2N - 1) times.  It hardly shows in the regret."""
    monkeypatch.setattr(
        base, "equal_counts", lambda money, prices: np.full(len(prices), int(money) // (len(prices) - 2))
    )
    with pytest.raises(AssertionError):
        regrets(policy("ue"), posed(100)[:1], 1000, 1)
