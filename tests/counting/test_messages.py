"""What values and columns get that cannot be counted: every message by its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.counting.refused import HEAD, XY, log, message
from whichdo.counting import count, count_with_notes
from whichdo.errors import DataError, UsageError
from whichdo.problem import Problem

if TYPE_CHECKING:
    from pathlib import Path

ABSENT = ' If it stands for a missing value, leave the field empty; missing="drop" then drops such rows.'


# ------------------------------------------------------------------------------------------------ values


def test_a_value_outside_the_domain_in_memory() -> None:
    x = [0] * 500
    x[16:447] = [2] * 431
    for source in (
        {"X": x, "Y": [1] * 500},
        pd.DataFrame({"X": x, "Y": [1] * 500}),
        pl.DataFrame({"X": x, "Y": [1] * 500}),
    ):
        assert message(source) == (
            'Row 17, column X: "2". Allowed: 0, 1. 431 such values in 1 column. Declare all its values, or cut numbers '
            "into bins; whichdo init proposes both."
        )


def test_a_value_outside_the_domain_of_a_file(tmp_path: Path) -> None:
    """Rows do not count the header, lines do: they count empty lines and those inside quotes too."""
    text = 'X,note,Y\n0,"one\ntwo",1\n\n1,,1\n' + "2,,1\n" * 3
    assert message(log(tmp_path, text)) == (
        'log.csv, line 6: Row 3, column X: "2". Allowed: 0, 1. 3 such values in 1 column.'
    )
    pq.write_table(pa.table({"X": [0, 1, 7], "Y": [1, 9, 1]}), tmp_path / "log.parquet")
    assert message(tmp_path / "log.parquet") == (
        'log.parquet: Row 2, column Y: "9". Allowed: 0, 1. 2 such values in 2 columns.'
    )


def test_the_first_row_is_named_whatever_the_chunks(tmp_path: Path) -> None:
    x = np.zeros(10_000, int)
    x[[4321, 9000]] = 3
    y = np.zeros(10_000, int)
    y[5000] = 3
    pd.DataFrame({"X": x, "Y": y}).to_csv(tmp_path / "log.csv", index=False)
    for chunk in (10, 2048, 100_000):
        with pytest.raises(DataError) as caught:
            count_with_notes(XY, tmp_path / "log.csv", chunk=chunk)
        assert str(caught.value) == (
            'log.csv, line 4,323: Row 4,322, column X: "3". Allowed: 0, 1. 3 such values in 2 columns.'
        )


def test_the_file_is_named_in_which_the_first_is(tmp_path: Path) -> None:
    files = [
        log(tmp_path, HEAD + "0,0\n", "a.csv"),
        log(tmp_path, HEAD + "0,x\n", "b.csv"),
        log(tmp_path, HEAD + "y,0\n", "c.csv"),
    ]
    assert message(files) == 'b.csv, line 2: Row 1, column Y: "x". Allowed: 0, 1. 2 such values in 2 columns.'


@pytest.mark.parametrize(
    ("field", "hint"),
    [
        ("01", ""),
        (" 1", " Blanks around a value count; remove them."),
        *((text, ABSENT) for text in ("na", "?", "-", ".", "missing")),
        ("1_0", ""),
        ("\uff11", ""),
        ("1.5", ""),
        ("+1", ""),
        ("yes", ""),
    ],
)
def test_texts_are_judged_strictly(field: str, hint: str, tmp_path: Path) -> None:
    assert message(log(tmp_path, f"{HEAD}1,1\n{field},1\n")) == (
        f'log.csv, line 3: Row 2, column X: "{field}". Allowed: 0, 1. 1 such value in 1 column.{hint}'
    )


@pytest.mark.parametrize("text", ["NA", "N/A", "nan", "null"])
def test_a_text_that_says_that_a_value_is_missing(text: str) -> None:
    """As R, pandas and databases write it; a declared value is that value."""
    problem = Problem("X -> Y", "Y", domains={"X": ["no", "yes"]})
    data = {"X": ["no", text, text], "Y": [0, 1, 1]}
    for source in (data, pd.DataFrame(data), pl.DataFrame(data)):
        assert message(source, problem).startswith("2 of 3 rows have missing values: X 2. First: Row 2, column X.")
    declared = Problem("X -> Y", "Y", domains={"X": ["no", text]})
    assert count(declared, data).pulls[0] == 3


def test_a_time_of_day_where_dates_are_declared(tmp_path: Path) -> None:
    problem = Problem("X -> Y", "Y", domains={"X": ["2024-01-01", "2024-01-02"]})
    moments = np.array(["2024-01-01", "2024-01-02T12"], "M8[s]")
    words = (
        'Row 2, column X: "2024-01-02%s12:00:00". Allowed: 2024-01-01, 2024-01-02. 1 such value in 1 column. The '
        "declared values are dates; cut off the time of day and the time zone."
    )
    assert message({"X": moments, "Y": [0, 1]}, problem) == words % "T"
    assert message(pd.DataFrame({"X": moments, "Y": [0, 1]}), problem) == words % " "
    path = log(tmp_path, "X,Y\n2024-01-01,0\n2024-01-02 12:00:00,1\n")
    assert message(path, problem) == "log.csv, line 3: " + words % " "


def test_a_long_domain_is_cut() -> None:
    problem = Problem("X -> Y", "Y", domains={"X": range(100)})
    assert message({"X": [100], "Y": [1]}, problem) == (
        'Row 1, column X: "100". Allowed: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 88 more. 1 such value in 1 column.'
    )


def test_a_value_that_would_flood_the_message_is_cut(tmp_path: Path) -> None:
    found = message(log(tmp_path, f"{HEAD}{'x' * 5000},1\n"))
    assert len(found) < 200
    assert "\\n" in message({"X": ["a\nb"], "Y": [1]})


# ------------------------------------------------------------------------------------------------ columns


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    problem = Problem("Price -> Demand; Demand -> Y", "Y")
    path = log(tmp_path, "Prize,Demand,Y\n1,1,1\n")
    assert message(path, problem) == (
        'log.csv has no column for the observed node "Price". Did you mean "Prize"? Rename a column, or mark Price '
        "hidden if it is never observed."
    )
    assert message({"price": [1], "Demand": [1], "Y": [1]}, problem) == (
        'The data has no column for the observed node "Price". Did you mean "price"? Rename a column, or mark '
        "Price hidden if it is never observed."
    )
    assert message({"Y": [1], "Q": [1]}, problem) == (
        'The data has no column for 2 observed nodes: "Price" and "Demand". Its columns are "Y" and "Q". Rename '
        "columns, or mark nodes hidden that are never observed."
    )
    assert message({}, problem).startswith(
        'The data has no column for 3 observed nodes: "Price", "Demand" and "Y". It has no columns.'
    )


def test_a_column_that_stands_twice(tmp_path: Path) -> None:
    words = 'has the column "X" more than once. Which one counts? Rename or remove one.'
    assert message(log(tmp_path, "X,Y,X\n1,1,1\n")) == f"log.csv {words}"
    table = pa.table([pa.array([1]), pa.array([1]), pa.array([1])], names=["X", "Y", "X"])
    pq.write_table(table, tmp_path / "log.parquet")
    assert message(tmp_path / "log.parquet") == f"log.parquet {words}"
    assert message(table) == f"The frame {words}"
    assert message(pd.DataFrame([[1, 1, 1]], columns=["X", "Y", "X"])) == f"The frame {words}"
    assert message({"e\u0301": [1], "\u00e9": [1]}).startswith('The data has the column "\u00e9" more than once.')


def test_columns_of_unequal_length() -> None:
    assert message({"X": [1, 0], "Y": [1], "Z": [1, 1]}) == (
        "The columns have different lengths: X has 2 rows, Y 1. Every row needs a value in each."
    )


def test_columns_that_are_none() -> None:
    assert message({"X": 1, "Y": [1]}) == 'Column "X" is a int, "1"; a column is an array or a list.'
    assert message({"X": "0101", "Y": [1]}) == 'Column "X" is a str, "0101"; a column is an array or a list.'
    assert message({"X": np.zeros((2, 2)), "Y": [1]}) == 'Column "X" is an array of 2 dimensions; a column has one.'


def test_no_rows(tmp_path: Path) -> None:
    words = "There are no rows to count. Expected at least one row of values."
    assert message({"X": [], "Y": []}) == words
    assert message(pl.DataFrame({"X": [], "Y": []})) == words
    assert message(log(tmp_path, HEAD)) == "log.csv has columns but no rows. Expected at least one row of values."
    assert message(log(tmp_path, "X,Y")) == "log.csv has columns but no rows. Expected at least one row of values."
    pq.write_table(pa.table({"X": pa.array([], pa.int8()), "Y": pa.array([], pa.int8())}), tmp_path / "log.parquet")
    assert message(tmp_path / "log.parquet").startswith("log.parquet has columns but no rows.")


@pytest.mark.parametrize("source", [5, None, [], [1, 2], object(), {1, 2}])
def test_what_is_no_source(source: object) -> None:
    with pytest.raises(UsageError) as caught:
        count(XY, source)
    assert str(caught.value) == (
        f"Data of type {type(source).__name__} cannot be counted. Give a dict of arrays, a pandas, Polars or "
        f"PyArrow frame, Arrow record batches, a path to a CSV or Parquet file (or a list or glob of them), a table of "
        f"a database as Ibis has it, or a Tally."
    )
