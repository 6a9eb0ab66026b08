"""Wealth is fair, and bounds are where it says; both against sums and integrals that a reader can redo."""

from __future__ import annotations

from itertools import product
from math import exp, factorial, log, prod
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special

from tests.soak import scaled
from whichdo.errors import UsageError
from whichdo.monitoring.wealth import log_wealth, mean_bounds

Array = np.ndarray[Any, np.dtype[np.float64]]

BINARY = np.array([0.0, 1.0])
FOUR = np.array([0.0, 0.25, 0.5, 1.0])
SEED = 20_261_116


def outcomes(levels: int, pulls: int) -> list[tuple[int, ...]]:
    """Every way in which some pulls can fall on the levels."""
    return [each for each in product(range(pulls + 1), repeat=levels) if sum(each) == pulls]


def likelihood(counts: tuple[int, ...], law: Array) -> float:
    ways = factorial(sum(counts)) / prod(factorial(count) for count in counts)
    return float(ways * np.prod(law ** np.array(counts)))


@pytest.mark.parametrize("law", [[0.2, 0.3, 0.4, 0.1], [0.0, 0.0, 1.0, 0.0], [0.9, 0.0, 0.0, 0.1]])
def test_bets_are_fair(law: list[float]) -> None:
    """Summed over all outcomes of seven pulls, the wealth against the true mean is 1, whatever the law."""
    mean = float(FOUR @ law)
    counts = np.array(outcomes(4, 7))
    wealth = np.exp(log_wealth(counts.astype(float), FOUR, np.full((len(counts), 1), mean))[:, 0])
    chances = np.array([likelihood(tuple(each), np.array(law)) for each in counts.tolist()])
    assert chances @ wealth == pytest.approx(1)


def test_bets_against_a_wrong_mean_win() -> None:
    """Of 100 pulls 30 were 1: against 0.6 bets made e^12 or so, against 0.3 they lost the stakes on errors."""
    made = log_wealth(np.array([[70.0, 30.0]]), BINARY, np.array([[0.3, 0.6]]))[0]
    best = 30 * log(0.3 / 0.6) + 70 * log(0.7 / 0.4)
    assert best - 3 < made[1] < best
    assert made[0] < 0


def mixed(counts: Array, levels: Array, m: float) -> float:
    """The wealth of the Beta(1/2, 1/2) mixture by numerical integration; q = sin^2 t makes that law uniform."""

    def at(t: float) -> float:
        q = np.sin(t) ** 2
        return float(np.prod((levels * q / m + (1 - levels) * (1 - q) / (1 - m)) ** counts))

    return float(integrate.quad(at, 0, np.pi / 2, limit=200)[0] * 2 / np.pi)


@pytest.mark.parametrize("counts", [(3, 7), (0, 5), (40, 2), (25, 25), (1, 0)])
@pytest.mark.parametrize("miss", [0.05, 0.001])
def test_two_levels_are_bounded_where_the_mixture_has_made_enough(counts: tuple[int, int], miss: float) -> None:
    low, high = (float(each[0]) for each in mean_bounds(np.array([counts]), BINARY, miss))
    if counts[1] == 0:
        assert low == 0
    else:
        assert mixed(np.array(counts), BINARY, low) == pytest.approx(1 / miss, rel=1e-6)
    if counts[0] == 0:
        assert high == 1
    else:
        assert mixed(np.array(counts), BINARY, high) == pytest.approx(1 / miss, rel=1e-6)


@pytest.mark.parametrize("counts", [(3, 2, 7, 1), (0, 0, 9, 0), (0, 4, 8, 3), (30, 0, 0, 1), (0, 12, 0, 12)])
def test_many_levels_are_bounded_where_the_best_bet_has_made_enough(counts: tuple[int, ...]) -> None:
    """By brute force over q; the mixture itself has made at least 1/miss there, so the bounds are valid."""
    miss, n = 0.05, sum(counts)
    allowed = log(1 / miss) + special.gammaln(n + 1) - special.gammaln(n + 0.5) + 0.5 * log(np.pi)
    for bound in (float(each[0]) for each in mean_bounds(np.array([counts]), FOUR, miss)):
        if bound in {0.0, 1.0}:
            continue
        q = np.linspace(0, 1, 200_001)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.array(counts) * np.log(FOUR * q / bound + (1 - FOUR) * (1 - q) / (1 - bound))
        best = np.where(np.array(counts) > 0, each, 0.0).sum(axis=1).max()
        assert best == pytest.approx(allowed, abs=1e-4)
        assert mixed(np.array(counts), FOUR, bound) >= 1 / miss


def test_more_levels_cost_little() -> None:
    """The same fair coin told with a level that never comes: bounds a twentieth wider at most."""
    two = np.subtract(*mean_bounds(np.array([[50, 50]]), BINARY, 0.05))
    three = np.subtract(*mean_bounds(np.array([[50, 0, 50]]), np.array([0.0, 0.5, 1.0]), 0.05))
    assert abs(two[0]) < abs(three[0]) < 1.05 * abs(two[0])


@pytest.mark.parametrize("worth", [BINARY, FOUR])
def test_bounds_narrow_with_pulls_and_widen_with_confidence(worth: Array) -> None:
    share = np.full(len(worth), 1 / len(worth))
    sizes = 4.0 * 2.0 ** np.arange(12)
    low, high = mean_bounds(sizes[:, None] * share, worth, 0.05)
    assert (np.diff(low) > 0).all()
    assert (np.diff(high) < 0).all()
    surer_low, surer_high = mean_bounds(sizes[:, None] * share, worth, 0.005)
    assert (surer_low < low).all()
    assert (surer_high > high).all()


def test_nothing_pulled_is_the_whole_range() -> None:
    low, high = mean_bounds(np.zeros((1, 3)), np.array([0.2, 0.3, 0.7]), 0.05)
    assert (low[0], high[0]) == pytest.approx((0.2, 0.7))


def test_bounds_stay_within_the_levels_and_turn_with_them() -> None:
    """Levels .2 and .7 are a coin on another scale; counted backwards the bounds change places."""
    low, high = mean_bounds(np.array([[30, 10]]), np.array([0.2, 0.7]), 0.05)
    plain_low, plain_high = mean_bounds(np.array([[30, 10]]), BINARY, 0.05)
    assert (low[0], high[0]) == pytest.approx((0.2 + 0.5 * plain_low[0], 0.2 + 0.5 * plain_high[0]))
    turned_low, turned_high = mean_bounds(np.array([[10, 5, 3, 2]]), 1 - FOUR, 0.05)
    forth_low, forth_high = mean_bounds(np.array([[10, 5, 3, 2]]), FOUR, 0.05)
    assert (turned_low[0], turned_high[0]) == pytest.approx((1 - forth_high[0], 1 - forth_low[0]))


def test_levels_that_are_all_alike_have_that_mean() -> None:
    low, high = mean_bounds(np.array([[3, 4]]), np.array([0.4, 0.4]), 0.05)
    assert (low[0], high[0]) == (0.4, 0.4)


@pytest.mark.parametrize("miss", [0.0, 1.0, float("nan")])
def test_a_chance_lies_between_0_and_1(miss: float) -> None:
    with pytest.raises(UsageError, match="must lie between 0 and 1"):
        mean_bounds(np.array([[1, 1]]), BINARY, miss)


# ------------------------------------------------------------------------------------------------- at all times at once

PATHS = 2_000
LONG = 400


def ever_missed(bounds: Any, worth: Array, law: list[float], paths: int) -> float:
    """The share of paths on which the interval misses the mean at some time: stopping there would be the worst."""
    rng = np.random.default_rng(SEED)
    drawn = rng.choice(len(worth), (paths, LONG), p=law)
    counts = np.cumsum(drawn[:, :, None] == np.arange(len(worth)), axis=1).reshape(-1, len(worth))
    low, high = bounds(counts.astype(np.float64), worth, 0.05)
    mean = float(worth @ law)
    missed = ((low > mean + 1e-9) | (high < mean - 1e-9)).reshape(paths, LONG)
    return float(missed.any(axis=1).mean())


LAWS: list[tuple[Array, list[float]]] = [
    (BINARY, [0.5, 0.5]),
    (BINARY, [0.95, 0.05]),
    (FOUR, [0.25, 0.25, 0.25, 0.25]),
    (FOUR, [0.05, 0.0, 0.9, 0.05]),
    (FOUR, [0.9, 0.0, 0.05, 0.05]),
]


def most_missed(paths: int) -> float:
    """5% and 5.2 standard errors of it: more is a false alarm once in ten million times."""
    return 0.05 + 5.2 * float(np.sqrt(0.05 * 0.95 / paths))


@pytest.mark.slow("4 s: 200 paths for each of five laws; finds bounds that hold at one time only")
@pytest.mark.soak
@pytest.mark.parametrize(("worth", "law"), LAWS)
def test_bounds_hold_at_all_times_at_once(worth: Array, law: list[float], record_property: Any) -> None:
    paths = scaled(PATHS, least=200)
    missed = ever_missed(mean_bounds, worth, law, paths)
    record_property("paths", paths)
    record_property("ever missed", f"{missed:.4f}")
    record_property("seed", SEED)
    assert missed <= most_missed(paths)


def fixed_time(counts: Array, worth: Array, miss: float) -> tuple[Array, Array]:
    """The mistake: an interval for one time (Wilson's, or Hoeffding's for more levels), read at every time."""
    n = counts.sum(axis=1)
    mean = counts @ worth / n
    if len(worth) > 2:
        half = np.sqrt(log(2 / miss) / (2 * n))
        return mean - half, mean + half
    z = 1.96
    middle = (mean + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(mean * (1 - mean) / n + z**2 / (4 * n**2))
    return middle - half, middle + half


def test_an_interval_for_one_time_is_caught() -> None:
    for worth, law in LAWS[:2]:
        assert ever_missed(fixed_time, worth, law, 200) > most_missed(200)


def test_the_bound_of_bets_is_exp_of_its_logarithm() -> None:
    """One pull of 1 against 1/2 at fraction f gives 1+f or 1-f: the stakes' average is 1."""
    made = exp(float(log_wealth(np.array([[0.0, 1.0]]), BINARY, np.array([[0.5]]))[0, 0]))
    assert made == pytest.approx(1)
