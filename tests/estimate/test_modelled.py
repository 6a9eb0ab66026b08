"""Doubly robust estimates beside counted ones: what they read, what they say, and where they say nothing."""

from __future__ import annotations

import csv
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from whichdo.counting import count_with_notes
from whichdo.counting.kept_rows import KeptRows, RowKeeper
from whichdo.errors import DataError, UsageError
from whichdo.estimate.doubly_robust import FOLDS, deal, features, least_propensity
from whichdo.estimate.limits import mean_limits, normal_quantile
from whichdo.problem import Problem, do

pytest.importorskip("sklearn", reason="models are an extra")
pa = pytest.importorskip("pyarrow")

if TYPE_CHECKING:
    from pathlib import Path

    from whichdo.arrays import FloatArray
    from whichdo.estimate.rank import ArmRank, Ranking

SEED = 20_170_714
NUMBERS = ("estimate", "low", "high", "effect", "effect_low", "effect_high")


def logistic(odds: FloatArray) -> FloatArray:
    return 1 / (1 + np.exp(-odds))


def smokers(rows: int = 2_000, seed: int = 3, **more: Any) -> dict[str, Any]:
    """Age and income make both X and Y likelier; X itself helps by half a unit of log odds."""
    rng = np.random.default_rng(seed)
    age, income = rng.normal(45, 10, rows), rng.exponential(2.0, rows)
    town = rng.choice(["a", "b", "c"], rows)
    line = (age - 45) / 10 + 0.3 * (income - 2) + 0.5 * (town == "b")
    x = (rng.random(rows) < logistic(line - 0.2)).astype(int)
    y = (rng.random(rows) < logistic(line + 0.5 * x - 0.5)).astype(int)
    return {"age": age, "income": income, "town": town, "X": x, "Y": y, **more}


def survey(**more: Any) -> Problem:
    domains: dict[str, Any] = {"age": wd.bins([35, 45, 55]), "income": wd.bins([1, 2, 4]), "town": ["a", "b", "c"]}
    return Problem("age -> {X Y}; income -> {X Y}; town -> {X Y}; X -> Y", "Y", ["X"], domains=domains, **more)


def modelled(row: ArmRank) -> FloatArray:
    assert row.modelled is not None, row.not_modelled
    return np.array([getattr(row.modelled, name) for name in NUMBERS])


def same(one: Ranking, two: Ranking) -> bool:
    return all(np.allclose(modelled(one[arm]), modelled(two[arm]), rtol=1e-12, atol=1e-12) for arm in one)


# ------------------------------------------------------------------------------------------------------------ agreement


def newton(columns: FloatArray, y: FloatArray, ask: FloatArray) -> FloatArray:
    """Logistic regression with a ridge of one, by Newton's method: a plain twin."""
    inside = np.column_stack([np.ones(len(columns)), columns])
    beta, ridge = np.zeros(inside.shape[1]), np.eye(inside.shape[1])
    ridge[0, 0] = 0.0
    for _ in range(50):
        p = logistic(inside @ beta)
        step = np.linalg.solve((inside * (p * (1 - p))[:, None]).T @ inside + ridge, inside.T @ (y - p) - ridge @ beta)
        beta += step
    return logistic(np.column_stack([np.ones(len(ask)), ask]) @ beta)


def ridge(columns: FloatArray, y: FloatArray, ask: FloatArray) -> FloatArray:
    middle, level = columns.mean(axis=0), y.mean()
    inside = columns - middle
    beta = np.linalg.solve(inside.T @ inside + np.eye(inside.shape[1]), inside.T @ (y - level))
    found: FloatArray = np.clip(level + (ask - middle) @ beta, 0.0, 1.0)
    return found


def through(
    row: int,
    inside: FloatArray,
    at: FloatArray,
    y: FloatArray,
    m: FloatArray,
    e: FloatArray,
    limit: float,
    *,
    numeric: bool,
) -> float:
    """How far one row moves the mean by moving coefficients: d mean / d coefficients, times d coefficients / d row."""
    n = len(y)
    penalty = np.eye(inside.shape[1])
    penalty[0, 0] = 1e-9
    slope = np.ones(n) if numeric else m * (1 - m)
    by_outcome = ((1 - at / np.maximum(e, limit)) * slope) @ inside
    by_choice = -(at * (e >= limit) * (y - m) / np.maximum(e, limit) ** 2 * e * (1 - e)) @ inside
    of_outcome = np.linalg.inv((inside.T * (at * slope)) @ inside + penalty)
    of_choice = np.linalg.inv((inside.T * (e * (1 - e))) @ inside + penalty)
    own = inside[row]
    found = by_outcome @ of_outcome @ own * at[row] * (y[row] - m[row])
    return float(found + by_choice @ of_choice @ own * (at[row] - e[row]))


@pytest.mark.parametrize("numeric", [False, True])
def test_a_plain_twin_has_the_same_estimates_and_errors(numeric: bool) -> None:
    """The same folds and columns, everything else written out: both models, the average, its error."""
    data = smokers(300)
    if numeric:
        data["Y"] = np.clip(data["Y"] * 0.5 + (data["age"] - 20) / 100, 0, 1)
    problem = survey(reward_range=(0, 1)) if numeric else survey()
    found = wd.rank(problem, data, model="logistic")
    y, x, n = data["Y"].astype(float), data["X"], len(data["Y"])
    codes = {"town": np.searchsorted(["a", "b", "c"], data["town"]).astype(np.uint8)}
    codes |= {name: np.zeros(n, np.uint8) for name in ("age", "income")}
    kept = KeptRows(codes, {name: data[name] for name in ("age", "income")}, y, np.ones(n), counted=True, total=n)
    columns = features(problem, kept, ("age", "income", "town"))
    fold = deal(np.ones(n, np.int64), x.astype(np.int64), np.random.default_rng(SEED)).argmax(axis=1)
    for value in (0, 1):
        m, e = np.empty(n), np.empty(n)
        for number in range(FOLDS):
            mine, others = fold == number, fold != number
            e[mine] = newton(columns[others], (x == value)[others].astype(float), columns[mine])
            learn = others & (x == value)
            m[mine] = (ridge if numeric else newton)(columns[learn], y[learn], columns[mine])
        limit = least_propensity(n, float((x == value).mean()))
        psi = m + (x == value) * (y - m) / np.maximum(e, limit)
        own = found[do(X=value)].modelled
        assert own is not None
        assert own.limit == limit
        assert own.estimate == pytest.approx(psi.mean(), abs=1e-6)
        assert own.effect == pytest.approx((psi - y).mean(), abs=1e-6)
        stands = (x == value) / np.maximum(e, limit) / n
        inside = np.column_stack([np.ones(n), columns])
        moved = np.zeros(n)
        for row in range(n):  # by the coefficients that a row moves
            moved[row] = through(row, inside, (x == value).astype(float), y, m, e, limit, numeric=numeric)
        variance, spread = (
            max((each**2).sum(), ((each + moved) ** 2).sum()) / n**2 * n / (n - 1)
            for each in (psi - psi.mean(), psi - y - (psi - y).mean())
        )
        z = normal_quantile(0.975)
        low, high = mean_limits(psi.mean(), variance, (stands**2).sum() / stands.sum(), z)
        assert own.low == pytest.approx(float(low), abs=1e-6)
        assert own.high == pytest.approx(float(high), abs=1e-6)
        more = max((high - psi.mean()) ** 2 - z**2 * variance, 0.0)
        above = np.sqrt(z**2 * spread + more * min(spread / variance, 1.0))
        assert own.effect_high - own.effect == pytest.approx(above, abs=1e-6)


@pytest.mark.slow("2 s: statsmodels, whose import alone takes a second; finds what a twin of ours shares with us")
@pytest.mark.parametrize("numeric", [False, True])
def test_a_straightforward_computation_by_statsmodels_agrees(numeric: bool) -> None:
    """No folds, no penalty, plain lines: the same to a third of a standard error."""
    sm = pytest.importorskip("statsmodels.api")
    data = smokers(8_000, 4)
    if numeric:
        noise = np.random.default_rng(9).uniform(0, 0.3, 8_000)
        data["Y"] = np.clip(0.004 * data["age"] + 0.02 * data["income"] + 0.1 * data["X"] + noise, 0, 1)
    found = wd.rank(survey(reward_range=(0, 1)) if numeric else survey(), data, model="logistic")
    towns = [(data["town"] == town).astype(float) for town in ("b", "c")]
    columns = sm.add_constant(np.column_stack([data["age"] / 10, data["income"], *towns]))
    chance = sm.Logit(data["X"], columns).fit(disp=0).predict(columns)
    for value in (0, 1):
        at = data["X"] == value
        fit = sm.OLS(data["Y"][at], columns[at]).fit() if numeric else sm.Logit(data["Y"][at], columns[at]).fit(disp=0)
        m = fit.predict(columns)
        psi = m + at * (data["Y"] - m) / (chance if value else 1 - chance)
        own = found[do(X=value)].modelled
        assert own is not None
        error = psi.std() / np.sqrt(len(psi))
        assert own.estimate == pytest.approx(psi.mean(), abs=error / 3)
        assert (own.high - own.low) / 2 == pytest.approx(1.96 * error, rel=0.1)


def test_without_anything_to_adjust_for_it_is_the_plain_mean() -> None:
    rng = np.random.default_rng(1)
    data = {"X": rng.integers(0, 3, 500), "Y": rng.integers(0, 2, 500)}
    found = wd.rank(Problem("X -> Y", "Y", domains={"X": [0, 1, 2]}), data, model="logistic")
    for value in range(3):
        assert modelled(found[do(X=value)])[0] == pytest.approx(data["Y"][data["X"] == value].mean(), abs=0.002)


def test_numbers_enter_as_numbers_where_counting_has_their_bins() -> None:
    """One cut leaves most of the confounding inside the bins; the model reads the number itself."""
    rng = np.random.default_rng(2)
    age = rng.uniform(20, 70, 20_000)
    x = (rng.random(20_000) < (age - 10) / 70).astype(int)
    y = (rng.random(20_000) < 0.1 + 0.01 * (age - 20) + 0.1 * x).astype(int)
    problem = Problem("age -> {X Y}; X -> Y", "Y", ["X"], domains={"age": wd.bins([45])})
    row = wd.rank(problem, {"age": age, "X": x, "Y": y}, model="logistic")[do(X=1)]
    assert row.low > 0.45
    assert abs(modelled(row)[0] - 0.45) < 0.015  # three standard errors


# --------------------------------------------------------------------------------------------------------- what is read


def test_files_frames_and_columns_read_alike(tmp_path: Path) -> None:
    data = smokers(400)
    plain = wd.rank(survey(), data, model="logistic")
    with (tmp_path / "log.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(data)
        writer.writerows(zip(*(column.tolist() for column in data.values()), strict=True))
    table = pa.table(data)
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "log.parquet")
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=33))
    for source in (tmp_path / "log.csv", tmp_path / "log.parquet", table, reader):
        assert same(plain, wd.rank(survey(), source, model="logistic"))


@pytest.mark.parametrize("most", [7, 150, 10_000])
def test_a_long_log_keeps_so_many_rows_whatever_the_chunks(most: int) -> None:
    data = smokers(500)
    kept = []
    for chunk in (500, 64, 3):
        keeper = RowKeeper(survey(), lambda _: ["age", "town", "X"], np.array([0.0, 1.0]), most)
        count_with_notes(survey(), data, chunk=chunk, keeper=keeper)
        kept.append(keeper.rows())
    for each in kept:
        assert (each.total, len(each.rewards)) == (500, min(most, 500))
        assert np.array_equal(each.numbers["age"], kept[0].numbers["age"])
        assert np.array_equal(each.codes["X"], kept[0].codes["X"])
    rows = [int(np.abs(data["age"] - age).argmin()) for age in kept[0].numbers["age"].tolist()]
    assert rows == sorted(rows)
    assert np.array_equal(kept[0].rewards, data["Y"][rows])


def test_what_was_drawn_from_a_long_log_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowKeeper.__init__, "__defaults__", (300,))
    found = wd.rank(survey(), smokers(500), model="logistic")
    assert found.model is not None
    assert (found.model.rows, found.model.looks, found.model.seed) == (300, 500, SEED)
    assert any("read 300 of 500 looks" in line for line in found.warnings)


@pytest.mark.parametrize("numbers", [[-1e300, -2.5, -0.0, 0.0, 1e-300, 7.0, 35.0, 1e300], ["-7", "35", "1e2", "0.5"]])
def test_numbers_of_any_size_and_spelling_are_kept(numbers: list[Any]) -> None:
    rows = len(numbers)
    problem = Problem("age -> {X Y}; X -> Y", "Y", ["X"], domains={"age": wd.bins([35])})
    keeper = RowKeeper(problem, lambda _: ["age", "X"], np.array([0.0, 1.0]))
    count_with_notes(problem, {"age": numbers, "X": [0] * rows, "Y": [1] * rows}, keeper=keeper)
    assert keeper.rows().numbers["age"].tolist() == pytest.approx([float(each) for each in numbers], rel=1e-15)


def test_a_column_that_names_its_bins_enters_by_them() -> None:
    pd = pytest.importorskip("pandas")
    data = smokers(500)
    data["age"] = pd.cut(data["age"], [-np.inf, 35, 45, 55, np.inf], right=False)
    keeper = RowKeeper(survey(), lambda _: ["age", "income"], np.array([0.0, 1.0]))
    count_with_notes(survey(), pd.DataFrame(data), keeper=keeper)
    kept = keeper.rows()
    assert set(kept.numbers) == {"income"}
    assert features(survey(), kept, ("age",)).shape == (500, 3)


def test_columns_of_models() -> None:
    """A number, three bends and a mark for no earnings; three towns; nine declared numbers; a constant."""
    rng = np.random.default_rng(5)
    earned = np.where(rng.random(300) < 0.3, 0.0, rng.exponential(1e300, 300))
    codes = {"town": rng.integers(0, 3, 300), "school": rng.integers(0, 9, 300), "alike": np.zeros(300)}
    kept = KeptRows(
        {name: each.astype(np.uint8) for name, each in codes.items()} | {"earned": np.zeros(300, np.uint8)},
        {"earned": earned},
        np.zeros(300),
        np.ones(300),
        counted=True,
        total=300,
    )
    problem = Problem(
        "earned -> Y; town -> Y; school -> Y; alike -> Y",
        "Y",
        domains={"earned": wd.bins([5]), "town": ["a", "b", "c"], "school": range(9)},
    )
    widths = [features(problem, kept, (name,)).shape[1] for name in ("earned", "town", "school", "alike")]
    assert widths == [4, 2, 5, 0]  # the first quartile of what was earned is 0: no bend there
    columns = features(problem, kept, ("earned", "town", "school"))
    assert np.isfinite(columns).all()
    assert np.abs(columns.mean(axis=0)).max() < 1e-9


def test_counts_of_one_change_nothing_and_counts_are_rows() -> None:
    data = smokers(600)
    plain = wd.rank(survey(), data, model="logistic")
    assert same(plain, wd.rank(survey(), smokers(600, n=np.ones(600, int)), model="logistic", counts="n"))
    times = np.random.default_rng(4).integers(0, 4, 600)
    counted = wd.rank(survey(), smokers(600, n=times), model="logistic", counts="n")
    spelled = wd.rank(survey(), {name: np.repeat(column, times) for name, column in data.items()}, model="logistic")
    for arm in (do(X=0), do(X=1)):
        one, two = modelled(counted[arm]), modelled(spelled[arm])
        width = two[2] - two[1]
        assert np.abs(one - two).max() < width / 5  # other folds
        assert one[2] - one[1] == pytest.approx(width, rel=0.1)


def test_a_log_of_counts_alone_is_dealt_into_folds() -> None:
    """Eight kinds of rows that occur often: every fold has seen all of them, so it is standardisation."""
    kinds = [(z, x, y) for z in (0, 1) for x in (0, 1) for y in (0, 1)]
    times = [400, 100, 50, 50, 60, 40, 100, 300]
    columns = dict(zip("ZXY", np.array(kinds).T, strict=True))
    row = wd.rank(Problem("Z -> {X Y}; X -> Y", "Y", ["X"]), {**columns, "n": times}, counts="n", model="logistic")
    exact = (600 / 1_100) * 50 / 100 + (500 / 1_100) * 300 / 400
    assert modelled(row[do(X=1)])[0] == pytest.approx(exact, abs=0.003)


def test_weights_weigh_and_only_their_ratios_matter() -> None:
    data = smokers(1_500)
    plain = wd.rank(survey(), data, model="logistic")
    for size in (1e-6, 250.0):
        assert same(plain, wd.rank(survey(), {**data, "w": np.full(1_500, size)}, weights="w", model="logistic"))
    heavy = np.where(data["age"] > 45, 3.0, 1.0)
    weighted = wd.rank(survey(), {**data, "w": heavy}, weights="w", model="logistic")
    repeated = wd.rank(survey(), {**data, "n": heavy.astype(int)}, counts="n", model="logistic")
    for arm in (do(X=0), do(X=1)):
        one, two = modelled(weighted[arm]), modelled(repeated[arm])
        assert one[0] == pytest.approx(two[0], abs=0.01)
        assert one[2] - one[1] > 1.1 * (two[2] - two[1])  # what is repeated is more rows, what weighs more is not
        assert one[0] > modelled(plain[arm])[0] + 0.05


def test_rows_of_weight_nothing_are_not_read() -> None:
    data = smokers(800)
    data["w"] = (np.arange(800) < 400).astype(float)
    half = {name: column[:400] for name, column in data.items()}
    one = wd.rank(survey(), data, weights="w", model="logistic")[do(X=1)].modelled
    assert one is not None
    assert one.rows == half["X"].sum()


@pytest.mark.parametrize("missing", ["drop", "level"])
def test_missing_values_are_dropped_or_marked(missing: str) -> None:
    data = smokers(2_000)
    gone = np.random.default_rng(6).random(2_000) < 0.2
    holes = {**data, "age": np.where(gone, np.nan, data["age"])}
    found = wd.rank(survey(), holes, missing=missing, model="logistic")
    assert found.model is not None
    assert found.model.rows == (2_000 if missing == "level" else int((~gone).sum()))
    whole = wd.rank(survey(), data, model="logistic")
    assert modelled(found[do(X=1)])[0] == pytest.approx(modelled(whole[do(X=1)])[0], abs=0.05)
    with pytest.raises(DataError, match="rows have missing values: age"):
        wd.rank(survey(), holes, model="logistic")


def test_only_looks_are_read() -> None:
    """Rows of experiments are direct pulls; an arm that was tried is compared by what is counted."""
    data = smokers(1_000)
    looks = wd.rank(survey(), data, model="logistic")
    more = {name: np.concatenate([column, column[:50]]) for name, column in data.items()}
    more["X"][1_000:] = 1
    more["arm"] = np.array([""] * 1_000 + ["do(X=1)"] * 50)
    found = wd.rank(survey(), more, arm="arm", model="logistic")
    assert np.allclose(modelled(found[do(X=1)]), modelled(looks[do(X=1)]))
    assert not found[do(X=1)].is_judged_by_model
    assert found[do(X=0)].is_judged_by_model
    assert found[do(X=1)].judged.estimate == found[do(X=1)].estimate


def test_the_same_numbers_again_and_no_global_generator() -> None:
    data = smokers(400)
    one = wd.rank(survey(), data, model="logistic")
    before = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    two = wd.rank(survey(), data, model="logistic")
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]  # noqa: NPY002
    for arm in one:
        assert one[arm].modelled == two[arm].modelled


# ----------------------------------------------------------------------------------------------------------- which arms


@pytest.mark.slow("1 s: eleven arms of 6,000 rows; finds settings that are numbered wrongly")
def test_joint_arms_and_targets_of_many_values() -> None:
    rng = np.random.default_rng(8)
    z = rng.normal(0, 1, 6_000)
    dose = np.digitize(z + rng.normal(0, 1, 6_000), (-0.7, 0.7))
    x = (rng.random(6_000) < logistic(z)).astype(int)
    y = (rng.random(6_000) < logistic(0.8 * z + 0.4 * dose - 0.6 * x - 0.5)).astype(int)
    problem = Problem(
        "Z -> {X D Y}; X -> Y; D -> Y", "Y", ["X", "D"], at_once=2, domains={"Z": wd.bins([0]), "D": [0, 1, 2]}
    )
    found = wd.rank(problem, {"Z": z, "D": dose, "X": x, "Y": y}, model="logistic")
    grid = np.random.default_rng(9).normal(0, 1, 200_000)
    for d in range(3):
        for value in (0, 1):
            truth = logistic(0.8 * grid + 0.4 * d - 0.6 * value - 0.5).mean()
            row = found[do(D=d, X=value)]
            low, high = modelled(row)[1:3]
            assert low - 0.02 < truth < high + 0.02, row.arm
    assert all(row.modelled is not None for row in found.values())


def test_arms_that_no_adjustment_settles_say_so() -> None:
    """The front door and a confounded arm have no set to adjust for; an arm that does nothing equals do()."""
    rng = np.random.default_rng(10)
    data = {name: rng.integers(0, 2, 300) for name in "XMWIY"}
    graph = "X -> M; M -> Y; X <-> Y; W -> Y; W <-> Y; Y -> I"
    found = wd.rank(Problem(graph, "Y", ["X", "M", "W", "I"]), data, model="logistic")
    for arm in (do(X=1), do(W=0)):
        assert found[arm].modelled is None
        assert found[arm].not_modelled == "no set to adjust for settles it"
    assert found[do(M=1)].modelled is not None
    assert found[do(I=1)].modelled == found[do()].modelled
    assert modelled(found[do(I=1)])[0] == pytest.approx(data["Y"].mean())
    assert any(
        line == "No modelled estimate of do(X=0), do(X=1), do(W=0) and do(W=1): no set to adjust for settles it."
        for line in found.warnings
    )


def test_an_arm_with_hardly_any_row_has_no_model() -> None:
    data = smokers(500)
    data["X"] = np.where(np.arange(500) < 9, 1, 0)
    found = wd.rank(survey(), data, model="logistic")
    assert found[do(X=1)].not_modelled == "9 looks have it, and a model needs 10"
    assert found[do(X=0)].modelled is not None


def test_rewards_that_are_all_alike() -> None:
    data = smokers(300)
    data["Y"] = np.zeros(300, int)
    found = wd.rank(survey(), data, model="logistic")[do(X=1)]
    estimate, low, high, effect, effect_low, effect_high = modelled(found)
    assert (estimate, effect) == (0, 0)
    assert low < 1e-12
    assert 0.01 < high < 0.08
    assert effect_low <= 0 <= effect_high


def test_everybody_at_x() -> None:
    data = smokers(300)
    data["X"] = np.ones(300, int)
    found = wd.rank(survey(), data, model="logistic")
    assert modelled(found[do(X=1)])[0] == pytest.approx(data["Y"].mean())
    assert found[do(X=0)].modelled is None


# -------------------------------------------------------------------------------------------------------------- overlap


def torn(rows: int = 4_000) -> tuple[Problem, dict[str, Any]]:
    """Those under 40 are never at X = 1; X is worth .2 to the others, of whom half are at 1."""
    rng = np.random.default_rng(11)
    age, other = rng.uniform(20, 60, rows), rng.integers(0, 2, (3, rows))
    x = ((age >= 40) & (rng.random(rows) < 0.5)).astype(int)
    y = (rng.random(rows) < 0.3 + 0.2 * x + 0.1 * other[0]).astype(int)
    names = ["age", "A", "B", "C"]
    edges = "; ".join(f"{name} -> {{X Y}}" for name in names)
    problem = Problem(f"{edges}; X -> Y", "Y", ["X"], domains={"age": wd.bins([30, 40, 50])})
    return problem, dict(zip(names, (age, *other), strict=True)) | {"X": x, "Y": y}


def test_who_has_no_counterpart_and_the_answer_for_the_others() -> None:
    problem, data = torn()
    row = wd.rank(problem, data, model="logistic")[do(X=1)]
    own = row.modelled
    old = data["age"] >= 40
    assert own is not None
    assert own.overlap is not None
    assert 0.2 < own.without_counterpart < 0.55  # a curve cannot fall as steeply as the choice does
    assert own.overlap.estimate == pytest.approx(0.55, abs=0.05)
    assert own.low < 0.55 < own.high
    assert own.overlap.high - own.overlap.low < 0.1
    assert row.unseen == pytest.approx((~old).mean(), abs=1e-9)
    inside = row.overlap
    assert inside is not None
    assert inside.low < 0.55 < inside.high
    assert inside.effect_low < 0.1 < inside.effect_high
    assert inside.high - inside.low < 0.1


def test_the_counted_answer_on_the_overlap_is_that_of_its_rows_alone() -> None:
    """Without shrinkage: the rows of strata that have the arm, standardised; as rank has it for these rows alone."""
    problem, data = torn()
    row = wd.rank(problem, data, shrinkage=0)[do(X=1)].overlap
    old = {name: column[data["age"] >= 40] for name, column in data.items()}
    alone = wd.rank(problem, old, shrinkage=0)[do(X=1)]
    assert row is not None
    for name in NUMBERS:
        assert getattr(row, name) == pytest.approx(getattr(alone, name), abs=1e-9), name


def test_thin_cells_suggest_a_model_and_few_columns_do_not() -> None:
    problem, data = torn()
    said = wd.rank(problem, data).warnings
    assert any(line.startswith("Thin cells: ") and 'model="logistic"' in line for line in said)
    poor = wd.rank(problem, data, model="logistic").warnings
    assert any(line.startswith("Poor overlap: ") and "do(X=1)" in line for line in poor)
    assert not any('model="logistic"' in line for line in poor)
    x = np.tile([0, 1], 100)
    z = np.repeat([0, 1], 100)
    small = wd.rank(Problem("Z -> {X Y}; X -> Y", "Y", ["X"]), {"Z": z, "X": x * z, "Y": x})
    assert not any("model" in line for line in small.warnings)


# -------------------------------------------------------------------------------------------------------- which is best


def thin() -> tuple[Problem, dict[str, Any]]:
    """Twelve numbers, each in three bins: hardly two rows share a cell."""
    rng = np.random.default_rng(12)
    names = [f"Z{number}" for number in range(12)]
    z = rng.normal(0, 1, (12, 1_500))
    line = z.sum(axis=0) * 0.25
    x = (rng.random(1_500) < logistic(line)).astype(int)
    y = (rng.random(1_500) < logistic(line + 0.9 * x - 0.4)).astype(int)
    edges = "; ".join(f"{name} -> {{X Y}}" for name in names)
    problem = Problem(f"{edges}; X -> Y", "Y", ["X"], domains=dict.fromkeys(names, wd.bins([-0.5, 0.5])))
    return problem, dict(zip(names, z, strict=True)) | {"X": x, "Y": y}


def test_the_best_arm_is_the_counted_one_unless_a_model_was_asked_for() -> None:
    problem, data = thin()
    counted = wd.rank(problem, data)
    assert counted.best is None
    assert counted[do(X=1)].must_try
    found = wd.rank(problem, data, model="logistic")
    best = found.best
    assert best is not None
    assert best.arm == do(X=1)
    assert best.is_judged_by_model
    assert best.estimate == counted[do(X=1)].estimate  # what is counted stays what it is
    own = best.modelled
    assert own is not None
    assert own.low <= found.best_low + 1e-9 or found.best_low == pytest.approx(own.low, abs=0.02)
    assert found.best_low < own.estimate < found.best_high
    assert found.probability_best > 0.95
    assert found.summary[0].startswith(f"Best: do(X=1), mean Y {best.judged.written(own.estimate)} (")
    assert "by the model" in found.summary[0]
    assert [row.arm for row in found.ordered] == [do(X=1), do(), do(X=0)]


def test_an_arm_without_counterparts_is_not_compared() -> None:
    problem, data = torn()
    data["X"] = np.where(data["age"] > 55, data["X"], 0)
    found = wd.rank(problem, data, model="logistic")
    assert found[do(X=1)].must_try
    assert found.best is None or found.best.arm != do(X=1)


# --------------------------------------------------------------------------------------------------- words and pictures


def test_tables_frames_and_notebooks_have_both() -> None:
    problem, data = torn()
    found = wd.rank(problem, data, model="logistic")
    text = str(found)
    assert "By models (logistic, doubly robust, 5 folds):" in text
    assert "no counterpart" in text
    assert found._repr_html_().count("<table>") == 2
    plain = wd.rank(problem, data)
    assert "By models" not in str(plain)
    assert plain._repr_html_().count("<table>") == 1
    for backend in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(backend)
        assert found.to_frame(backend) is not None
        assert plain.to_frame(backend) is not None
    columns = found.columns()
    assert columns["modelled"][2]["overlap"]["estimate"] == found[do(X=1)].modelled.overlap.estimate  # type: ignore[union-attr]


@pytest.mark.slow("1 s: two pictures with matplotlib")
def test_the_plot_has_a_second_mark_for_models() -> None:
    pytest.importorskip("matplotlib")
    problem, data = torn()
    for model, squares in ((None, 0), ("logistic", 2)):
        axes = wd.rank(problem, data, model=model).plot().axes[0]
        marks = [line for line in axes.lines if line.get_marker() == "s" and len(line.get_xdata())]
        assert len(marks) == squares


# ------------------------------------------------------------------------------------------------------------ bad input


def test_what_is_not_a_model_and_what_a_model_cannot_read() -> None:
    data = smokers(50)
    with pytest.raises(UsageError, match='`model` is "forest"; it must be logistic'):
        wd.rank(survey(), data, model="forest")
    with pytest.raises(UsageError, match="goes with the readings robust and graph"):
        wd.rank(survey(), data, model="logistic", reading="paper")
    with pytest.raises(UsageError, match="a tally holds counts alone"):
        wd.rank(survey(), wd.count(survey(), data), model="logistic")


def test_without_scikit_learn_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(UsageError, match=r"A model needs scikit-learn: pip install 'whichdo\[models\]'"):
        wd.rank(survey(), smokers(50), model="logistic")
    assert wd.rank(survey(), smokers(50))[do(X=1)].modelled is None


@pytest.mark.slow("1 s: a process of its own, to see what it imports")
def test_scikit_learn_is_imported_only_for_a_model() -> None:
    code = (
        "import sys, whichdo as wd\n"
        "wd.rank(wd.Problem('Z -> {X Y}; X -> Y', 'Y'), {'Z': [0, 1] * 9, 'X': [0, 1] * 9, 'Y': [0, 1] * 9})\n"
        "assert 'sklearn' not in sys.modules and 'threadpoolctl' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
