"""The columns that are no nodes: what was done, and how often a row counts.  And rows that lack a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counting.plain import as_columns, assert_counted, binary_problem, mixed_problem, random_rows
from whichdo.counting import count, count_with_notes
from whichdo.errors import DataError, TooLargeError, UsageError
from whichdo.problem import Problem, Value, do

if TYPE_CHECKING:
    from pathlib import Path

    from tests.counting.plain import Row

XY = Problem("X -> Y", "Y")


def done(problem: Problem, rows: list[Row], seed: int) -> list[str]:
    """An arm for each row that it does not contradict."""
    rng = np.random.default_rng(seed)
    names = list(problem.intervene)
    chosen = []
    for row in rows:
        name = names[rng.integers(len(names))]
        chosen.append("" if rng.random() < 0.4 else str(do({name: row[name]})))
    return chosen


@pytest.mark.parametrize("problem", [binary_problem(), mixed_problem()], ids=["binary", "mixed"])
@pytest.mark.parametrize("kind", ["dict", "pandas", "csv", "parquet"])
def test_rows_go_to_their_arms(problem: Problem, kind: str, tmp_path: Path) -> None:
    rows = random_rows(problem, 500, seed=5)
    arms = done(problem, rows, seed=6)
    data: dict[str, Any] = {**as_columns(rows), "what was done": arms}
    frame = pd.DataFrame(data)
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_parquet(tmp_path / "log.parquet", write_page_checksum=True)
    source = {"dict": data, "pandas": frame, "csv": tmp_path / "log.csv", "parquet": tmp_path / "log.parquet"}[kind]
    tally = count_with_notes(problem, source, arm="what was done", chunk=70)[0]
    assert int(tally.pulls.sum()) == 500
    for arm in problem.arms:
        mine = [row for row, text in zip(rows, arms, strict=True) if (text or "do()") == str(arm)]
        if mine:
            assert_counted(tally, mine, arm=arm)
        else:
            assert arm not in tally.tables


def test_looks_have_tables_even_if_there_are_none() -> None:
    tally = count(XY, {"X": [1], "Y": [0], "arm": ["do(X=1)"]}, arm="arm")
    assert tally.tables[do()]["X", "Y"].tolist() == [[0, 0], [0, 0]]
    assert tally.pulls.tolist() == [0, 0, 1]


@pytest.mark.parametrize("nothing", [None, "", "do()", " do( ) "])
def test_nothing_said_is_a_look(nothing: str | None) -> None:
    data = {"X": [1, 0], "Y": [0, 1], "arm": ["do(X = 1)", nothing]}
    assert count(XY, data, arm="arm").pulls.tolist() == [1, 0, 1]
    assert count(XY, pl.DataFrame(data), arm="arm").pulls.tolist() == [1, 0, 1]


def test_a_column_of_nothing_is_all_looks() -> None:
    assert count(XY, {"X": [1, 0], "Y": [0, 1], "arm": [np.nan, np.nan]}, arm="arm").pulls.tolist() == [2, 0, 0]


def test_an_arm_that_the_problem_does_not_have() -> None:
    data = {"X": [1, 0, 0], "Y": [0, 1, 1], "arm": ["do(X=1)", "do(X=2)", "X"]}
    with pytest.raises(DataError) as caught:
        count(XY, data, arm="arm")
    assert str(caught.value) == (
        'Row 2, column arm: "do(X=2)". Allowed: do(), do(X=0), do(X=1). 2 such values in 1 column.'
    )


def test_an_intervention_that_was_not_applied() -> None:
    data = {"X": [1, 0, 1, 0], "Y": [0, 1, 1, 0], "arm": ["do(X=1)", "do(X=1)", "do(X=0)", ""]}
    with pytest.raises(DataError) as caught:
        count(XY, data, arm="arm")
    assert str(caught.value) == (
        "Row 2: the arm is do(X=1), but X is 0: the intervention was not applied. 2 such rows. Correct the row, or "
        "leave it out."
    )


def test_what_was_done_is_checked_for_nodes_that_no_scope_needs() -> None:
    """X is confounded with its child, so no scope holds it; its column is still read."""
    problem = Problem("X -> Y; X <-> Y", "Y")
    with pytest.raises(DataError, match=r"^Row 1: the arm is do\(X=1\), but X is 0"):
        count(problem, {"X": [0], "Y": [1], "arm": ["do(X=1)"]}, arm="arm")
    assert count(problem, {"Y": [1], "arm": ["do(X=1)"]}, arm="arm").pulls.tolist() == [0, 0, 1]


@settings(max_examples=40, deadline=None)
@given(
    weights=st.lists(st.integers(0, 5), min_size=1, max_size=60).filter(any),
    seed=st.integers(0, 1000),
    chunk=st.integers(1, 30),
)
def test_a_column_of_counts_is_rows_repeated(weights: list[int], seed: int, chunk: int) -> None:
    for problem in (binary_problem(4), mixed_problem()):
        rows = random_rows(problem, len(weights), seed)
        tally = count_with_notes(problem, {**as_columns(rows), "n": weights}, counts="n", chunk=chunk)[0]
        assert_counted(tally, rows, weights)
        repeated = [row for row, weight in zip(rows, weights, strict=True) for _ in range(weight)]
        again = count(problem, as_columns(repeated))
        assert (again.counts == tally.counts).all()


@pytest.mark.parametrize("n", [[2, 3], [2.0, 3.0], ["2", "3"], np.array([2, 3], np.uint8), ["2.0", "3e0"]])
def test_counts_in_any_form(n: Any, tmp_path: Path) -> None:
    data = {"X": [0, 1], "Y": [1, 0], "n": n}
    pd.DataFrame(data).to_csv(tmp_path / "log.csv", index=False)
    for source in (data, pd.DataFrame(data), tmp_path / "log.csv"):
        assert count(XY, source, counts="n").counts[0].tolist() == [3, 2]


def test_counts_and_arms_together() -> None:
    data = {"X": [0, 1, 1], "Y": [1, 0, 1], "n": [2, 3, 4], "arm": ["", "do(X=1)", "do(X=1)"]}
    assert count(XY, data, counts="n", arm="arm").counts.tolist() == [[0, 2], [0, 0], [3, 4]]


@pytest.mark.parametrize(
    ("n", "shown"),
    [([1, -1], "-1"), ([1, 0.5], "0.5"), ([1, float("inf")], "inf"), (["1", "many"], "many"), ([1, 2**64], str(2**64))],
)
def test_counts_that_are_none(n: list[Any], shown: str) -> None:
    with pytest.raises(DataError) as caught:
        count(XY, {"X": [0, 1], "Y": [1, 0], "n": n}, counts="n")
    assert str(caught.value) == (
        f'Row 2, column n: "{shown}". Allowed: whole numbers from 0. 1 such value in 1 column.'
    )


def test_a_count_that_is_missing() -> None:
    with pytest.raises(DataError, match=r"^1 of 2 rows has missing values: n 1\."):
        count(XY, {"X": [0, 1], "Y": [1, 0], "n": [1, np.nan]}, counts="n")


def test_counts_whose_sum_no_table_holds() -> None:
    with pytest.raises(TooLargeError, match=r'^The counts in column "n" add up to over 9,223,372,036,854,775,807'):
        count(XY, {"X": [0, 1, 1], "Y": [1, 0, 1], "n": [2**62, 2**62, 2**62]}, counts="n")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"counts": "X"}, '`counts` names "X", which is a node of the graph.'),
        ({"arm": "Y"}, '`arm` names "Y", which is a node of the graph.'),
        ({"counts": "n", "arm": "n"}, '`counts` and `arm` name the same column, "n".'),
        ({"missing": "fill"}, '`missing` is "fill"; it must be "error", "drop" or "level".'),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        count(XY, {"X": [1], "Y": [1], "n": [1]}, **options)
    assert str(caught.value) == words


@pytest.mark.parametrize("role", ["counts", "arm"])
def test_a_role_that_no_column_has(role: str) -> None:
    with pytest.raises(DataError) as caught:
        count(XY, {"X": [1], "Y": [1], "number": [1]}, **{role: "numbr"})  # type: ignore[arg-type]
    assert str(caught.value) == (f'The data has no column "numbr", which `{role}` names. Did you mean "number"?')


MISSING: dict[str, list[Any]] = {"X": [0, None, 1, None], "Y": [1, 1, None, None]}


@pytest.mark.parametrize("kind", ["dict", "pandas", "Polars", "csv", "parquet"])
def test_rows_that_lack_a_value(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(MISSING)
    frame.convert_dtypes().to_csv(tmp_path / "log.csv", index=False)
    frame.to_parquet(tmp_path / "log.parquet", write_page_checksum=True)
    source: Any = {
        "dict": MISSING, "pandas": frame, "Polars": pl.DataFrame(MISSING), "csv": tmp_path / "log.csv",
        "parquet": tmp_path / "log.parquet",
    }[kind]  # fmt: skip
    where = {"csv": "log.csv, line 3: Row 2", "parquet": "log.parquet: Row 2"}.get(kind, "Row 2")
    with pytest.raises(DataError) as caught:
        count(XY, source)
    assert str(caught.value) == (
        f"3 of 4 rows have missing values: X 2 and Y 2. First: {where}, column X. Fill them in, drop these rows "
        f'(missing="drop"), take missing as a value of its own (missing="level"), or mark a node that is often '
        f"missing as hidden."
    )
    tally, notes = count_with_notes(XY, source, missing="drop", chunk=3)
    assert tally.counts[0].tolist() == [0, 1]
    assert (notes.rows, notes.dropped, dict(notes.missing)) == (4, 3, {"X": 2, "Y": 2})
    assert notes.share_dropped == 0.75
    assert notes.sentences == ("Dropped 3 of 4 rows (75.0%) with missing values: X 2 and Y 2.",)


@settings(max_examples=40, deadline=None)
@given(rows=st.integers(1, 100), seed=st.integers(0, 1000), chunk=st.integers(1, 40), weighted=st.booleans())
def test_dropping_is_counting_the_rest(rows: int, seed: int, chunk: int, weighted: bool) -> None:
    problem = mixed_problem()
    drawn = random_rows(problem, rows, seed)
    rng = np.random.default_rng(seed)
    gaps = rng.random((rows, len(problem.domains))) < 0.05
    gaps[0] = False  # one row is left
    holed: dict[str, list[Value | None]] = {
        name: [None if gaps[i, j] else row[name] for i, row in enumerate(drawn)]
        for j, name in enumerate(problem.domains)
    }
    weights = [1, *rng.integers(0, 3, rows - 1).tolist()]
    options: dict[str, Any] = {"counts": "n"} if weighted else {}
    tally, notes = count_with_notes(problem, {**holed, "n": weights}, missing="drop", chunk=chunk, **options)
    kept = [i for i in range(rows) if not gaps[i].any()]  # every node is in some scope
    assert notes.dropped == rows - len(kept)
    assert_counted(tally, [drawn[i] for i in kept], [weights[i] for i in kept] if weighted else None)


def test_the_share_that_is_dropped_goes_by_the_counts() -> None:
    """The dropped row counts 90 of 100; the one whose count is missing counts for nothing that is known."""
    data = {"X": [0, None, 1], "Y": [1, 1, 0], "n": [6, 90, 4]}
    notes = count_with_notes(XY, data, counts="n", missing="drop", chunk=2)[1]
    assert (notes.dropped, notes.weight, notes.weight_dropped, notes.share_dropped) == (1, 100, 90, 0.9)
    assert notes.sentences == ("Dropped 1 of 3 rows, 90 of 100 by their counts (90.0%) with missing values: X 1.",)
    for n in ([6, 90, None], pa.array([6, 90, None]), pa.array(["6", "90", None]).dictionary_encode()):
        notes = count_with_notes(XY, {**data, "n": n}, counts="n", missing="drop")[1]
        assert (notes.dropped, notes.weight, notes.weight_dropped) == (2, 96, 90)


def test_rows_that_count_for_nothing_are_no_look() -> None:
    with pytest.raises(DataError) as caught:
        count(XY, {"X": [0, 1], "Y": [1, 0], "n": [0, 0]}, counts="n")
    assert str(caught.value) == (
        'Every count in column "n" is 0, so nothing was looked at. Is it the column that says how often each row '
        "counts?"
    )
    with pytest.raises(DataError, match=r'^Every row with a count above 0 in column "n" has a missing value, so none'):
        count(XY, {"X": [0, None], "Y": [1, 0], "n": [0, 5]}, counts="n", missing="drop")


def test_dropping_every_row_is_an_error() -> None:
    with pytest.raises(DataError, match=r"^Every one of the 2 rows has a missing value, so none is left: X 2\."):
        count(XY, {"X": [None, None], "Y": [1, 1]}, missing="drop")


def test_one_row_is_one_row() -> None:
    with pytest.raises(DataError, match=r"^The only row has a missing value, so none is left: X 1\."):
        count(XY, {"X": [None], "Y": [1]}, missing="drop")
    with pytest.raises(DataError, match=r"^1 of 1 row has missing values: X 1\."):
        count(XY, {"X": [None], "Y": [1]})
