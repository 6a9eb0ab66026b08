"""Limits of means: the quantiles against scipy, and what Clopper and Pearson promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from whichdo.estimate.limits import beta_quantile, mean_limits, normal_quantile

Z = normal_quantile(0.975)


@pytest.mark.parametrize("probability", [0.25, 0.025, 0.005, 0.0005])
def test_quantiles_are_those_of_scipy_to_a_thousandth_of_a_standard_error(probability: float) -> None:
    rng = np.random.default_rng(1)
    first, second = 10 ** rng.uniform(-9, 6, 600), 10 ** rng.uniform(-0.3, 6, 600)
    first[:3], second[:3] = [1, 5e-7, 1e7], [1, 1e7, 0.5]
    exact = stats.beta.ppf(probability, first, second)
    assert np.all(np.abs(beta_quantile(probability, first, second) - exact) <= 1.5e-3 * stats.beta.std(first, second))


def test_where_rows_count_alike_they_are_clopper_and_pearsons() -> None:
    successes, trials = np.array([0.0, 1, 7, 29, 30]), 30.0
    share = successes / trials
    low, high = mean_limits(share, share * (1 - share) / trials, 1 / trials, Z)
    assert low[1:] == pytest.approx(stats.beta.ppf(0.025, successes[1:], trials - successes[1:] + 1), rel=1e-6)
    assert high[:-1] == pytest.approx(stats.beta.ppf(0.975, successes[:-1] + 1, trials - successes[:-1]), rel=1e-6)
    assert (low[0], high[-1]) == (pytest.approx(0, abs=1e-9), pytest.approx(1, abs=1e-9))


def test_thirty_failures_leave_room_for_a_tenth() -> None:
    """1 - .025^(1/30) = .116, whatever the variance of what was never seen is called."""
    _, high = mean_limits(1e-9, 1e-9 / 30, 1 / 30, Z)
    assert float(high) == pytest.approx(1 - 0.025 ** (1 / 30), rel=1e-3)


def test_many_rows_give_the_normal_interval() -> None:
    low, high = mean_limits(0.3, 0.21 / 1e6, 1e-6, Z)
    assert (float(low), float(high)) == pytest.approx((0.3 - Z * 0.21**0.5 / 1e3, 0.3 + Z * 0.21**0.5 / 1e3), abs=2e-6)


def test_limits_enclose_the_mean_and_stay_in_the_range() -> None:
    rng = np.random.default_rng(2)
    mean, variance, weight = rng.random(500), 10 ** rng.uniform(-12, 0, 500), 10 ** rng.uniform(-6, 1, 500)
    low, high = mean_limits(mean, variance, weight, Z)
    assert np.all((low >= 0) & (low <= mean) & (mean <= high) & (high <= 1))
