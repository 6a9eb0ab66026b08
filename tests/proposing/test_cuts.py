"""Round cut points and ranges."""

from __future__ import annotations

import numpy as np
import pytest

from tests.soak import scaled
from whichdo.proposing.levels import SLACK, THIN, _without_thin, nice_cuts, nice_range, roundest


@pytest.mark.parametrize(
    ("low", "high", "near", "found"),
    [
        (32.1, 36.9, 34.7, 35),
        (32.1, 41.0, 34.7, 40),
        (3_204.0, 4_100.0, 3_500.0, 4_000),
        (0.031, 0.052, 0.04, 0.05),
        (-0.4, 0.3, 0.1, 0),
        (-48.0, -41.0, -44.0, -45),
        (99.0, 101.0, 99.5, 100),
        (12.0, 13.0, 12.4, 13),
        (1e9 + 1, 1e9 + 9, 1e9 + 4, 1e9 + 5),
    ],
)
def test_the_roundest_number_of_an_interval(low: float, high: float, near: float, found: float) -> None:
    assert roundest(low, high, near) == found


def test_whole_numbers_stay_whole() -> None:
    assert roundest(2.0, 3.0, 2.2, whole=True) == 3
    assert isinstance(roundest(2.0, 3.0, 2.2, whole=True), int)


def test_cuts_hold_about_equal_shares_rise_and_are_fewer_where_values_repeat() -> None:
    """Whatever the law: rising, inside the data, no interval thinner than it may be."""
    rng = np.random.default_rng(0)
    for number in range(scaled(2_000, 200)):
        size = int(rng.integers(9, 2_000))
        kind = number % 5
        values = np.sort(
            [
                rng.normal(rng.normal(0, 100), 10 ** rng.uniform(-6, 6), size),
                rng.lognormal(8, 2, size),
                rng.poisson(rng.uniform(1, 50), size).astype(float),
                np.where(rng.random(size) < 0.6, 0.0, rng.lognormal(8, 1, size)),
                rng.choice([1.0, 2.0, 7.0, 1e6], size),
            ][kind]
        )
        parts = int(rng.integers(2, 7))
        cuts = nice_cuts(values, parts, whole=kind == 2)
        assert list(cuts) == sorted(set(cuts))
        assert len(cuts) < parts
        if cuts:
            shares = np.diff([0, *np.searchsorted(values, cuts, "left"), size]) / size
            assert shares.min() >= THIN / parts
            assert cuts[0] > values[0]
            assert cuts[-1] <= values[-1]
        if kind == 0 and size > 300:
            assert len(cuts) >= min(parts - 1, 2)
            assert shares.max() <= 1 / parts + 2 * SLACK + 1 / parts + 0.05


def test_a_spike_at_the_lower_end_has_a_bin_of_its_own() -> None:
    """Earnings: nothing for two thirds, then dollars."""
    values = np.sort(np.concatenate([np.zeros(600), np.random.default_rng(1).lognormal(8, 1, 400)]))
    cuts = nice_cuts(values, 4)
    assert 0 < cuts[0] <= values[600]
    assert len(cuts) >= 2


def test_no_cut_where_all_values_are_one() -> None:
    assert nice_cuts(np.full(50, 3.0), 4) == ()


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0.0, 60_307.93, (0, 65_000)), (-41.28, 48.54, (-50, 50)), (0.2, 0.9, (0, 1)), (1.0, 5.0, (1, 5)),
        (100.0, 140.0, (100, 140)), (3.0, 98.0, (0, 100)), (-7.0, -0.1, (-7, 0)),
    ],
)  # fmt: skip
def test_a_range_is_round_and_holds_everything(low: float, high: float, found: tuple[float, float]) -> None:
    assert nice_range(low, high) == found


def test_any_range_holds_everything() -> None:
    rng = np.random.default_rng(2)
    for _ in range(500):
        low, high = np.sort(rng.normal(0, 10.0 ** rng.integers(-6, 7), 2)).tolist()
        least, most = nice_range(low, high)
        assert least <= low < high <= most
        assert most - least <= max(1.0, 1.5 * (high - low) + max(abs(low), abs(high)) * 0.3)


@pytest.mark.parametrize(
    ("cuts", "left"),
    [([50, 98], (50,)), ([2, 50], (50,)), ([30, 32, 60], (30, 60)), ([40, 60, 62], (40, 62)), ([1], ()), ([50], (50,))],
)
def test_thin_intervals_are_joined_to_the_smaller_neighbour(cuts: list[float], left: tuple[float, ...]) -> None:
    """Of a hundred rows 0 to 99; ten at least in each interval."""
    assert _without_thin(np.arange(100.0), list(cuts), 0.1) == left
