"""Tails of the chi-square and the gamma law, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from whichdo.tails import chi_square_tail, gamma_tail


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 12, 101, 2_000])
def test_the_tail_of_a_chi_square_is_scipys(freedom: int) -> None:
    for value in (0.0, 0.3, 2.0, 9.0, 40.0, 300.0, 1_500.0, 2_600.0):
        assert chi_square_tail(value, freedom) == pytest.approx(float(stats.chi2.sf(value, freedom)), rel=1e-9)


def test_the_tail_of_a_gamma_is_scipys() -> None:
    rng = np.random.default_rng(11)
    for _ in range(300):
        shape, scale = float(np.exp(rng.uniform(-7, 8))), float(np.exp(rng.uniform(-3, 3)))
        for value in (0.0, shape * scale * np.exp(rng.uniform(-2, 3)), scale * np.exp(rng.uniform(-9, 6))):
            expected = float(stats.gamma.sf(value, shape, scale=scale))
            assert gamma_tail(float(value), shape, scale) == pytest.approx(expected, rel=1e-8, abs=1e-290)


def test_a_value_beyond_all_numbers_has_no_tail() -> None:
    assert gamma_tail(float("inf"), 2.0) == 0.0
    assert chi_square_tail(1e9, 3) == gamma_tail(1e9, 3.0) == 0.0
