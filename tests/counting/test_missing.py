"""Missing values: refused, dropped with a test whether that matters, a value of their own, or not needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import whichdo as wd
from tests.soak import scaled
from whichdo.counting import count_with_notes
from whichdo.counting.gaps import missingness
from whichdo.errors import DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

do = wd.do
GRAPH = "Z -> {X Y}; X -> Y; X -> W"
PROBLEM = wd.Problem(GRAPH, "Y", ["X"])


def rows(n: int = 4_000, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, n)
    x = (rng.random(n) < 0.3 + 0.4 * z).astype(int)
    y = (rng.random(n) < 0.2 + 0.2 * x + 0.3 * z).astype(int)
    return pd.DataFrame({"Z": z, "X": x, "Y": y, "W": rng.integers(0, 2, n)}).astype("Int64")


def holed(data: Any, column: str, where: Any) -> Any:
    data = data.copy()
    data.iloc[where, data.columns.get_loc(column)] = pd.NA
    return data


def test_a_column_that_no_estimate_needs_may_lack_values() -> None:
    """W is behind X: neither an estimate nor a naive mean reads it."""
    data = rows()
    ranking = wd.rank(PROBLEM, holed(data, "W", slice(None, None, 3)))
    assert ranking[do(X=1)].estimate == wd.rank(PROBLEM, data)[do(X=1)].estimate
    assert ranking.looks == 4_000


def test_what_only_the_test_of_the_graph_reads_may_be_missing_too() -> None:
    """V acts on the reward, but is needed by no estimate of X: only the comparison with the whole graph reads it."""
    problem = wd.Problem("Z -> {X Y}; X -> Y; V -> Y", "Y", ["X"])
    data = rows().rename(columns={"W": "V"})
    ranking = wd.rank(problem, holed(data, "V", slice(0, 10)))
    assert ranking.notes == ("Missing, but not needed by any estimate: V 10.",)
    assert ranking[do(X=1)].estimate == wd.rank(problem, data)[do(X=1)].estimate


def test_a_naive_mean_whose_column_lacks_values_is_not_known() -> None:
    problem = wd.Problem("X -> Y; X <-> Y; Z -> Y", "Y", ["X", "Z"])
    ranking = wd.rank(problem, holed(rows(), "X", slice(0, 5)))
    assert np.isnan(ranking[do(X=1)].conditional)
    assert not np.isnan(ranking[do(Z=1)].estimate)


def test_missing_is_refused_unless_something_is_said_about_it() -> None:
    with pytest.raises(DataError) as caught:
        wd.rank(PROBLEM, holed(rows(), "Z", slice(0, 3)))
    assert str(caught.value) == (
        "3 of 4,000 rows have missing values: Z 3. First: Row 1, column Z. Fill them in, drop these rows "
        '(missing="drop"), count missing as a separate value (missing="level"), or mark a node that is often missing '
        "as hidden."
    )
    with pytest.raises(UsageError, match='is "fill"; it must be "error", "drop" or "level"'):
        wd.rank(PROBLEM, rows(), missing="fill")


def test_dropping_says_the_share_and_that_the_rows_do_not_differ() -> None:
    data = rows()
    gone = np.random.default_rng(1).random(len(data)) < 0.1
    notes = wd.rank(PROBLEM, holed(data, "Z", gone), missing="drop").notes
    assert notes[0] == f"Dropped {gone.sum()} of 4,000 rows ({gone.mean():.1%}) with missing values: Z {gone.sum()}."
    assert notes[1].startswith("The dropped rows do not differ in Y and X beyond chance (p = ")


def test_dropping_says_where_missingness_goes_with_the_reward() -> None:
    data = rows()
    gone = (np.random.default_rng(1).random(len(data)) < 0.2) & (data["Y"] == 1).to_numpy()
    notes = wd.rank(PROBLEM, holed(data, "Z", gone), missing="drop").notes
    assert "Values are not missing at random: the dropped rows differ in Y" in notes[1]
    assert 'compare missing="level"' in notes[1]


def test_rows_without_a_reward_are_compared_by_what_was_done() -> None:
    data = rows()
    gone = (np.random.default_rng(1).random(len(data)) < 0.2) & (data["X"] == 1).to_numpy()
    notes = wd.rank(PROBLEM, holed(data, "Y", gone), missing="drop").notes
    assert "the dropped rows differ in X (p = " in notes[1]


@pytest.mark.slow("1 s: loads scipy; would find a wrong test of missingness")
def test_p_values_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    data = rows(500)
    gone = np.arange(500) % 9 == 0
    table = pd.crosstab(gone, data["X"].to_numpy())
    problem = wd.Problem(GRAPH, "Y", ["X"], reward_range=(0, 10))
    numbers = data.assign(Y=np.random.default_rng(4).uniform(0, 10, 500))
    _, notes = count_with_notes(problem, holed(numbers, "Z", gone), missing="drop")
    assert notes.compared is not None
    found = missingness(problem, notes.compared)
    assert found["X"] == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue, rel=1e-9)
    t = stats.ttest_ind(numbers["Y"][gone], numbers["Y"][~gone], equal_var=False).statistic
    assert found["Y"] == pytest.approx(2 * stats.norm.sf(abs(t)), rel=1e-9)


@pytest.mark.slow("1 s: six hundred logs; would find a test of missingness that cries wolf")
def test_the_test_keeps_its_size() -> None:
    """Independent gaps: a warning in at most 3% of the logs, where 1% is meant (binomial, 600 logs: chance 1e-5)."""
    many = scaled(2_000, 600)
    warned = 0
    for seed in range(many):
        data = rows(400, seed)
        gone = np.random.default_rng(seed + 10_000).random(400) < 0.2
        _, notes = count_with_notes(PROBLEM, holed(data, "Z", gone), missing="drop")
        assert notes.compared is not None
        found = missingness(PROBLEM, notes.compared)
        warned += min(found.values()) * len(found) < 0.01
    assert warned <= 0.03 * many


@pytest.mark.parametrize("binned", [False, True])
def test_level_is_as_if_the_word_stood_there(binned: bool) -> None:
    data = rows()
    gone = (data["Z"] == 1).to_numpy() & (np.arange(4_000) % 3 == 0)
    domains: dict[str, Any] = {"Z": wd.bins([1])} if binned else {}
    ranking = wd.rank(wd.Problem(GRAPH, "Y", ["X"], domains=domains), holed(data, "Z", gone), missing="level")
    words = data["Z"].astype("string").mask(pd.Series(gone), "missing")
    explicit = wd.Problem(GRAPH, "Y", ["X"], domains={"Z": ["0", "1", "missing"]})
    assert ranking[do(X=1)].estimate == pytest.approx(wd.rank(explicit, data.assign(Z=words))[do(X=1)].estimate)
    assert f'Missing values count as the value "missing": Z {gone.sum()}.' in ranking.notes
    assert [str(arm) for arm in ranking] == ["do()", "do(X=0)", "do(X=1)"]


def test_level_drops_rows_without_a_reward_and_reads_data_once_only_where_it_can() -> None:
    data = holed(holed(rows(), "Y", slice(0, 7)), "Z", slice(5, 9))
    assert wd.rank(PROBLEM, data, missing="level").looks == 3_993
    table = pa.Table.from_pandas(data)
    with pytest.raises(UsageError, match="reads the data twice"):
        wd.rank(PROBLEM, table.to_reader(), missing="level")


def test_a_campaign_takes_missing_as_a_value_that_its_problem_declares(tmp_path: Path) -> None:
    data = holed(rows(300), "Z", slice(0, 30))
    declared = wd.Problem(GRAPH, "Y", ["X"], domains={"Z": [0, 1, "missing"]})
    campaign = wd.Campaign.create(
        tmp_path / "a.db", "spring", wd.policy("warm-halving"), declared, horizon=40, logs=data, missing="level"
    )
    assert any('the value "missing": Z 30' in note for note in campaign.notes)
    with pytest.raises(DataError, match='"Z" lacks 30 values, and "missing" is not one of its values'):
        wd.Campaign.create(
            tmp_path / "b.db", "spring", wd.policy("warm-halving"), PROBLEM, horizon=40, logs=data, missing="level"
        )


def test_a_row_that_does_not_say_what_was_set_does_not_contradict_its_arm() -> None:
    data = {"X": [None, 1, 0], "Z": [0, 1, 1], "Y": [1, 0, 1], "W": [0, 0, 0], "arm": ["do(X=1)", "do(X=1)", ""]}
    problem = wd.Problem("X -> Y; X <-> Y; Z -> W", "Y", ["X"])
    assert wd.rank(problem, data, arm="arm")[do(X=1)].direct == 2
    data["X"] = [0, 1, 0]
    with pytest.raises(DataError, match="the arm is do\\(X=1\\), but X is 0"):
        wd.rank(problem, data, arm="arm")
