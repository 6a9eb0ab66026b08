"""Rewards that are any number of a range, and rows with weights: exact sums, own units, honest intervals."""

from __future__ import annotations

import csv
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from whichdo.errors import DataError, ProblemError, UsageError
from whichdo.problem import Problem, do
from whichdo.problem_file import problem_from_json, problem_to_json, read_problem, write_problem

if TYPE_CHECKING:
    from pathlib import Path

GRAPH = "Z -> {X Y}; X -> Y"
RANGE = (0.0, 20_000.0)


def earnings(rows: int = 2_000, seed: int = 1) -> dict[str, Any]:
    """Z makes both X and money likelier; X itself is worth 1,000."""
    rng = np.random.default_rng(seed)
    z = (rng.random(rows) < 0.4).astype(int)
    x = (rng.random(rows) < 0.2 + 0.5 * z).astype(int)
    return {"Z": z, "X": x, "Y": np.minimum(1_000 * (rng.gamma(2, 1, rows) + 2 * z + x), 20_000.0)}


def standardised(data: dict[str, Any], x: int, weights: Any = None) -> float:
    """Sum over z of P(z) E[Y | x, z], by plain averages."""
    w = np.ones(len(data["Y"])) if weights is None else weights
    total = 0.0
    for z in (0, 1):
        here = (data["Z"] == z) & (data["X"] == x)
        total += w[data["Z"] == z].sum() / w.sum() * np.average(data["Y"][here], weights=w[here])
    return total


def numeric(**more: Any) -> Problem:
    return Problem(GRAPH, "Y", ["X"], reward_range=RANGE, **more)


@pytest.mark.parametrize("x", [0, 1])
def test_a_numeric_reward_is_averaged_as_it_is_and_reported_in_its_own_unit(x: int) -> None:
    data = earnings()
    row = wd.rank(numeric(), data, shrinkage=0)[do(X=x)]
    assert row.estimate == pytest.approx(standardised(data, x), abs=1e-6)
    assert row.low < row.estimate < row.high
    assert row.high - row.low < 600
    assert row.effect == pytest.approx(row.estimate - data["Y"].mean(), abs=1e-6)
    assert row.conditional == pytest.approx(data["Y"][data["X"] == x].mean(), abs=1e-6)


def test_shrinkage_moves_a_numeric_mean_by_less_than_its_error() -> None:
    data = earnings()
    plain, shrunk = (wd.rank(numeric(), data, shrinkage=strength)[do(X=1)] for strength in (0, 2))
    assert 0 < abs(plain.estimate - shrunk.estimate) < (shrunk.high - shrunk.low) / 10


def test_a_file_and_a_frame_have_the_same_sums(tmp_path: Path) -> None:
    data = earnings(300)
    with (tmp_path / "log.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(data)
        writer.writerows(zip(*(column.tolist() for column in data.values()), strict=True))
    one, two = wd.rank(numeric(), data), wd.rank(numeric(), tmp_path / "log.csv")
    for arm in one:
        assert one[arm].estimate == pytest.approx(two[arm].estimate, rel=1e-12)


def test_direct_pulls_of_a_numeric_reward_are_exact() -> None:
    """Ten pulls of each arm, with means that no level of 256 has."""
    data = {"Z": [0] * 20, "X": [0] * 10 + [1] * 10, "Y": [10.0] * 10 + [7_777.7] * 10}
    found = wd.rank(numeric(), {**data, "arm": ["do(X=0)"] * 10 + ["do(X=1)"] * 10}, arm="arm")
    assert found[do(X=0)].estimate == pytest.approx(10.0)
    assert found[do(X=1)].estimate == pytest.approx(7_777.7)
    assert found[do(X=1)].method == "direct"


def test_two_levels_as_numbers_are_what_two_levels_are() -> None:
    """A reward of 0 and 1 read as a number of 0..1 has the same estimates and intervals."""
    data = earnings(500)
    data["Y"] = (data["Y"] > 4_000).astype(int)
    one = wd.rank(Problem(GRAPH, "Y", ["X"]), data)
    two = wd.rank(Problem(GRAPH, "Y", ["X"], reward_range=(0, 1)), data)
    for arm in one:
        for field in ("estimate", "low", "high", "effect", "effect_low", "effect_high", "effective_n", "conditional"):
            assert getattr(one[arm], field) == pytest.approx(getattr(two[arm], field), abs=1e-9)


def test_a_shift_of_the_unit_shifts_the_estimates() -> None:
    data = earnings(500)
    shifted = {**data, "Y": data["Y"] * 3 - 5_000}
    one = wd.rank(numeric(), data)
    two = wd.rank(Problem(GRAPH, "Y", ["X"], reward_range=(-5_000, 55_000)), shifted)
    for arm in one:
        for field in ("estimate", "low", "high"):
            assert 3 * getattr(one[arm], field) - 5_000 == pytest.approx(getattr(two[arm], field), rel=1e-9)
        assert 3 * one[arm].effect_low == pytest.approx(two[arm].effect_low, rel=1e-9)


@pytest.mark.parametrize("of_numbers", [True, False])
def test_weights_weigh_strata_and_means(of_numbers: bool) -> None:
    data = earnings()
    weights = np.random.default_rng(2).gamma(1, 1, len(data["Y"]))
    problem = numeric() if of_numbers else Problem(GRAPH, "Y", ["X"])
    if not of_numbers:
        data["Y"] = (data["Y"] > 4_000).astype(int)
    found = wd.rank(problem, {**data, "w": weights}, weights="w", shrinkage=0)
    assert found[do(X=1)].estimate == pytest.approx(standardised(data, 1, weights), rel=1e-9)
    assert found[do()].estimate == pytest.approx(np.average(data["Y"], weights=weights), rel=1e-9)


def test_weights_that_are_alike_change_nothing_whatever_their_size() -> None:
    data = earnings(400)
    plain = wd.rank(numeric(), data)
    for size in (1.0, 1e-6, 250.0):
        found = wd.rank(numeric(), {**data, "w": np.full(400, size)}, weights="w")
        for arm in plain:
            for field in ("estimate", "low", "high", "effect_low", "effect_high", "effective_n"):
                assert getattr(found[arm], field) == pytest.approx(getattr(plain[arm], field), rel=1e-9)


def test_unequal_weights_widen_intervals_and_are_said() -> None:
    """Half the rows weigh nine times as much: (50 * 1 + 50 * 9)^2 / (50 * 1 + 50 * 81) = 61 of 100."""
    data = earnings(100)
    found = wd.rank(numeric(), {**data, "w": np.tile([1.0, 9.0], 50)}, weights="w")
    plain = wd.rank(numeric(), data)
    assert found[do()].high - found[do()].low > 1.1 * (plain[do()].high - plain[do()].low)
    assert found.warnings[0] == "Rows have weights: 100 rows tell as much as 61 of equal weight."


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0, -2.0, 1.0], 'Row 2, column w: "-2.0". Allowed: 0, and numbers from 1e-100 to 1e+100.'),
        ([1.0, float("inf"), 1.0], 'Row 2, column w: "inf". Allowed: 0, and numbers from 1e-100 to 1e+100.'),
        ([1.0, float("nan"), 1.0], "1 of 3 rows has missing values: w 1."),
        ([0.0, 0.0, 0.0], 'Every weight in column "w" is 0'),
        ([1.0, 1e200, 1.0], 'Row 2, column w: "1e+200". Allowed: 0, and numbers from 1e-100 to 1e+100.'),
        (["1", "heavy", "1"], 'Row 2, column w: "heavy". Allowed: 0, and numbers from 1e-100 to 1e+100.'),
    ],
)
def test_bad_weights_are_refused_by_row_and_value(weights: list[Any], said: str) -> None:
    data = {"Z": [0, 1, 0], "X": [0, 1, 1], "Y": [1.0, 2.0, 3.0], "w": weights}
    with pytest.raises(DataError) as refused:
        wd.rank(numeric(), data, weights="w")
    assert said in str(refused.value)


def test_direct_pulls_that_weigh_nothing_say_nothing() -> None:
    data = earnings(200)
    rows = {**data, "w": np.where(data["X"] == 1, 0.0, 1.0), "arm": np.where(data["X"] == 1, "do(X=1)", "do(X=0)")}
    found = wd.rank(numeric(), rows, weights="w", arm="arm")
    assert found[do(X=1)].must_try
    assert not found[do(X=1)].is_known
    assert found[do(X=1)].method == "none"
    assert found[do(X=0)].is_known


def test_a_reward_outside_its_range_names_row_and_value() -> None:
    with pytest.raises(DataError, match=r'Row 2, column Y: "20001". Allowed: numbers from 0 to 20000.'):
        wd.rank(numeric(), {"Z": [0, 1], "X": [0, 1], "Y": [5, 20_001]})


def test_weights_and_counts_exclude_each_other() -> None:
    data = {**earnings(10), "w": np.ones(10), "n": np.ones(10)}
    with pytest.raises(UsageError, match="exclude each other"):
        wd.rank(numeric(), data, weights="w", counts="n")


def test_the_papers_reading_knows_no_numbers_and_no_weights() -> None:
    with pytest.raises(UsageError, match="supports neither weights nor a reward range"):
        wd.rank(numeric(), earnings(10), reading="paper")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reward_range": (1, 1)}, "its low end must be below its high end"),
        ({"reward_range": (0, float("inf"))}, "An end of `reward_range`"),
        ({"reward_range": (0, "x")}, "An end of `reward_range`"),
        ({"reward_range": 5}, "it must be two numbers"),
        ({"reward_range": (0, 1), "domains": {"Y": [0, 1]}}, "were both given"),
        ({"reward_range": (0, 1), "rewards": {0: 0, 1: 1}}, "were both given"),
        ({"reward_range": (1e16, 1e16 + 4)}, "too close"),
    ],
)
def test_a_range_that_is_not_one_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ProblemError) as refused:
        Problem(GRAPH, "Y", ["X"], **given)
    assert said in str(refused.value)


def test_a_numeric_problem_is_written_and_read_back(tmp_path: Path) -> None:
    problem = numeric(goal="minimize")
    write_problem(problem, tmp_path / "problem.toml")
    assert "reward_range = [0.0, 20000.0]" in (tmp_path / "problem.toml").read_text(encoding="utf-8")
    assert read_problem(tmp_path / "problem.toml") == problem == problem_from_json(problem_to_json(problem))
    assert problem != Problem(GRAPH, "Y", ["X"], goal="minimize")


def test_less_money_may_be_the_goal() -> None:
    found = wd.rank(numeric(goal="minimize"), earnings())
    assert found.best is not None
    assert found.best.arm == do(X=0)
    assert "mean Y 2,780 (" in found.summary[0]


@pytest.mark.slow("1 s: a campaign of 150 pulls on 1,500 looks, to its end")
def test_a_campaign_earns_money_and_says_so_in_its_unit(tmp_path: Path) -> None:
    """X is worth 1,000 in a range of 20,000; told rows keep the number itself, and format 2 is on record."""
    rng = np.random.default_rng(4)
    campaign = wd.Campaign.create(
        tmp_path / "c.db", "spring", wd.policy("warm-halving"), numeric(), horizon=150, seed=3, audit=False
    )
    campaign.observe({name: column.tolist() for name, column in earnings(1_500).items()})
    while tickets := campaign.ask(10):
        for ticket in tickets:
            z = int(rng.random() < 0.4)
            x = ticket.arm.settings.get("X", int(rng.random() < 0.2 + 0.5 * z))
            campaign.tell(ticket, {"Z": z, "X": x, "Y": 1_000 * (float(rng.gamma(2, 1)) + 2 * z + int(x))})
    advice = campaign.recommend()
    assert advice.arm == do(X=1)
    assert 3_400 < advice.estimate < 4_200  # 2,000 + .4 * 2,000 + 1,000
    events = campaign.events()
    assert events[0].content["format"] == 2
    told = next(event for event in events if event.kind == "told")
    assert isinstance(told.content["row"]["Y"], float)
    again = wd.Campaign.open(tmp_path / "c.db", "spring")
    assert again.recommend().estimate == advice.estimate
    again.verify()


def test_a_told_number_outside_its_range_is_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    campaign = wd.Campaign.create(tmp_path / "c.db", "spring", wd.policy("ue"), numeric(), horizon=30)
    (ticket,) = campaign.ask(1)
    before = len(campaign.events())
    with pytest.raises(DataError, match=r'got "20000.5", declared numbers from 0 to 20000. Nothing was stored.'):
        campaign.tell(ticket, {"Z": 0, **ticket.arm.settings, "Y": 20_000.5})
    assert len(campaign.events()) == before


def test_estimates_come_to_the_truth_as_cuts_refine() -> None:
    """A continuous confounder: what is left of its bias is what the width of the bins leaves, and falls to nothing.

    Age is uniform, X has chance age, Y chance X / 5 + age / 2: do(X=1) gives .45, those with X=1 have .533.  In a bin
    with middle m and half width h the mean age of those with X=1 is m + h^2 / 3m.  200,000 rows, standard error about
    .0015: a false alarm in 1e-6.
    """
    rng = np.random.default_rng(11)
    age = rng.random(200_000)
    x = (rng.random(200_000) < age).astype(np.int64)
    y = (rng.random(200_000) < 0.2 * x + 0.5 * age).astype(np.int64)
    for number in (2, 4, 16):
        cuts = [place / number for place in range(1, number)]
        half, middles = 1 / (2 * number), (np.arange(number) + 0.5) / number
        bias = 0.5 * np.mean(half**2 / (3 * middles))
        problem = wd.Problem("age -> {X Y}; X -> Y", "Y", ["X"], domains={"age": wd.bins(cuts)})
        row = wd.rank(problem, {"age": age, "X": x, "Y": y})[wd.do(X=1)]
        assert row.estimate == pytest.approx(0.45 + bias, abs=0.0075)
        assert row.conditional == pytest.approx(0.5333, abs=0.0075)
    assert bias < 0.001


def test_estimates_come_to_the_truth_with_two_confounders_as_cuts_refine() -> None:
    """One symmetric, one skewed, a bent effect: the error falls with every doubling of quantile bins, to nothing.

    300,000 rows, standard error about .0015: a false alarm in 1e-6.  The steps use the same rows, whose noise cancels.
    """
    rng = np.random.default_rng(12)
    age, pay = rng.normal(0, 1, 300_000), rng.exponential(1.0, 300_000)
    x = (rng.random(300_000) < 1 / (1 + np.exp(-age - pay + 1))).astype(np.int64)

    def chance(value: Any) -> Any:
        return 1 / (1 + np.exp(-0.8 * age - np.sqrt(pay) - 0.5 * value + 1))

    y = (rng.random(300_000) < chance(x)).astype(np.int64)
    truth, errors = float(chance(1).mean()), []
    for number in (2, 4, 8, 16):
        parts = np.arange(1, number) / number
        domains = {"age": wd.bins(np.quantile(age, parts)), "pay": wd.bins(np.quantile(pay, parts))}
        problem = wd.Problem("age -> {X Y}; pay -> {X Y}; X -> Y", "Y", ["X"], domains=domains)
        row = wd.rank(problem, {"age": age, "pay": pay, "X": x, "Y": y})[wd.do(X=1)]
        errors.append(row.estimate - truth)
    assert y[x == 1].mean() - truth > 0.09
    assert errors[0] > 0.02
    assert all(after < before for before, after in pairwise(errors))
    assert abs(errors[-1]) < 0.0075


def test_a_node_that_is_always_the_same_is_ranked_beside_a_numeric_reward() -> None:
    """The table of one cell has no axis once its column is summed out."""
    data = {"x": [0, 1] * 10, "z": [7] * 20, "y": [1.0, 4.0] * 10}
    problem = wd.Problem("z -> {x y}; x -> y", "y", domains={"z": [7]}, reward_range=(0, 10))
    found = wd.rank(problem, data)
    assert found[wd.do()].estimate == pytest.approx(2.5)
    assert found[wd.do(z=7)].conditional == pytest.approx(2.5)
