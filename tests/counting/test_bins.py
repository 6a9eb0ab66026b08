"""Numbers put into bins and values into groups at counting time, from every kind of column."""

from __future__ import annotations

from math import inf, isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whichdo as wd
from whichdo.counting.books import BinBook
from whichdo.counting.values import BAD, MISSING, decode
from whichdo.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CUTS = [-2.5, 0, 30, 50]
PROBLEM = wd.Problem("age -> {X Y}; X -> Y", "Y", ["X"], domains={"age": wd.bins(CUTS)})
BOOK = BinBook(wd.bins(CUTS))


def plain(value: float) -> int:
    """The slow twin: one comparison after the other."""
    if isnan(value):
        return MISSING
    return BAD if abs(value) == inf else sum(value >= cut for cut in CUTS)


NUMBERS = [
    -3,
    -2.5,
    np.nextafter(-2.5, -9),
    -0.0,
    0,
    1e-300,
    29,
    30,
    np.nextafter(30, 0),
    50,
    51,
    1e300,
    inf,
    -inf,
    np.nan,
]


@pytest.mark.parametrize("value", NUMBERS)
def test_a_cut_belongs_to_the_bin_above_it(value: float) -> None:
    assert BOOK.code(value) == plain(float(value))


def codes(column: Any) -> list[int]:
    found = decode(BOOK, column)
    out = found.codes.astype(int)
    out[found.missing if found.missing is not None else np.zeros(len(out), bool)] = MISSING
    out[found.bad if found.bad is not None else np.zeros(len(out), bool)] = BAD
    return list(map(int, out))


KINDS: dict[str, Callable[[Any], Any]] = {
    "float64": lambda a: a,
    "list": lambda a: a.tolist(),
    "arrow": pa.array,
    "texts": lambda a: pa.array([None if np.isnan(v) else repr(float(v)) for v in a]),
    "few texts": lambda a: pa.array([repr(float(v)) for v in a[:50]]),
    "large texts": lambda a: pa.array([repr(float(v)) for v in a], pa.large_string()),
    "nullable": lambda a: pa.array(a, from_pandas=True),
}


@pytest.mark.parametrize("kind", KINDS)
def test_whole_columns_are_coded_as_values_one_by_one_are(kind: str) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(20, 30, 6_000)
    if kind in {"nullable", "texts"}:
        values[::7] = np.nan
    column = KINDS[kind](values)
    assert codes(column) == [plain(v) for v in values[: len(column)]]


@pytest.mark.parametrize("kind", ["i1", "i2", "i8", "u1", "u8"])
def test_whole_numbers_of_any_size(kind: str) -> None:
    values = np.array([0, 1, 29, 30, 49, 50, 100], kind)
    assert codes(values) == [plain(float(v)) for v in values]


@pytest.mark.parametrize("text", ["1_0", "1,000", " 1", "+1", "1.", "\uff11", "$5", "5%", "1" * 60, "(1, 0]", "x"])
def test_texts_that_are_not_numbers_are_refused_also_among_many_numbers(text: str) -> None:
    assert BOOK.code(text) == BAD
    many = [repr(float(v)) for v in np.random.default_rng(2).normal(size=5_000)]
    many[17] = text
    assert codes(pa.array(many))[17] == BAD
    assert codes(pa.array(many)).count(BAD) == 1


@pytest.mark.parametrize(
    ("interval", "code"),
    [
        ("[30, 50)", 3), ("[35, 40]", 3), ("(30, 49.5]", 3), ("[50.0, inf)", 4), ("(-inf, -2.5)", 0),
        ("(30, 50]", BAD), ("[20, 40)", BAD), ("(-inf, inf)", BAD), ("[31, 31]", 3),
    ],
)  # fmt: skip
def test_an_interval_counts_where_all_of_it_is_in_one_bin(interval: str, code: int) -> None:
    assert BOOK.code(interval) == code


AGES = np.random.default_rng(3).normal(30, 25, 400).round(1)
FRAME = pd.DataFrame({"age": AGES, "X": (AGES > 20).astype(int), "Y": (AGES > 35).astype(int)})
EDGES = [-200, *CUTS, 500]
AS: dict[str, Callable[[Any], Any]] = {
    "cut": lambda s: pd.cut(s, EDGES, right=False),
    "names": lambda s: pd.cut(s, EDGES, right=False, labels=PROBLEM.domains["age"]),
    "intervals": lambda s: pd.Series(pd.IntervalIndex(pd.cut(s, EDGES, right=False))),
    "category": lambda s: s.astype("category"),
    "Float64": lambda s: s.astype("Float64"),
    "string": lambda s: s.astype("string"),
    "object": lambda s: s.astype(object),
    "arrow": lambda s: s.astype("double[pyarrow]"),
    "float32": lambda s: s.astype("float32"),
}


@pytest.mark.parametrize("kind", AS)
def test_frames_of_every_type_count_alike(kind: str) -> None:
    """Categorical, `pandas.cut`, intervals, nullable and Arrow types, texts."""
    expected = wd.count(PROBLEM, FRAME).tables[wd.do()]["age", "X", "Y"].tolist()
    changed = FRAME.assign(age=AS[kind](FRAME["age"]))
    found = wd.count(PROBLEM, changed).tables[wd.do()]["age", "X", "Y"].tolist()
    assert found == expected
    assert wd.count(PROBLEM, dict(changed)).tables[wd.do()]["age", "X", "Y"].tolist() == expected


def test_files_and_polars_count_alike(tmp_path: Path) -> None:
    expected = wd.count(PROBLEM, FRAME).tables[wd.do()]["age", "X", "Y"].tolist()
    FRAME.to_csv(tmp_path / "log.csv", index=False)
    pq.write_table(pa.table(FRAME), tmp_path / "log.parquet")
    for source in (tmp_path / "log.csv", tmp_path / "log.parquet", pl.from_pandas(FRAME)):
        assert wd.count(PROBLEM, source).tables[wd.do()]["age", "X", "Y"].tolist() == expected


@pytest.mark.parametrize("kind", ["bool", "boolean", "Int8", "UInt16", "category", "string"])
def test_binary_columns_of_nullable_types(kind: str) -> None:
    expected = wd.count(PROBLEM, FRAME).tables[wd.do()]["age", "X", "Y"].tolist()
    assert (
        wd.count(PROBLEM, FRAME.assign(X=FRAME["X"].astype(kind))).tables[wd.do()]["age", "X", "Y"].tolist() == expected
    )


def test_ordered_categories_and_intervals_can_be_domains_themselves() -> None:
    cut = pd.cut(FRAME["age"], [-200, 0, 500])
    problem = wd.Problem("age -> Y", "Y", domains={"age": cut.cat.categories})
    assert problem.domains["age"] == ("(-200, 0]", "(0, 500]")
    assert wd.count(problem, FRAME.assign(age=cut)).pulls[0] == 400


def test_a_value_that_is_no_number_names_the_bins() -> None:
    with pytest.raises(DataError) as caught:
        wd.count(PROBLEM, {"age": ["1", "old"], "X": [0, 1], "Y": [0, 1]})
    assert str(caught.value).startswith(
        'Row 2, column age: "old". Allowed: numbers, or under -2.5, -2.5 to under 0, 0 to under 30'
    )


def test_intervals_that_are_closed_at_the_right_are_refused_with_the_way_out() -> None:
    with pytest.raises(DataError, match=r"bins are closed at the left: pandas\.cut\(\.\.\., right=False\)\."):
        wd.count(PROBLEM, FRAME.assign(age=pd.cut(FRAME["age"], EDGES)))


def test_grouped_values_count_as_the_declared_one() -> None:
    problem = wd.Problem(
        "r -> Y", "Y", domains={"r": ["a", 7, "other"]}, groups={"r": {"other": ["b", "c", 9], 7: [8]}}
    )
    data = {"r": ["a", "b", 7, 8, "9", "other", 8.0], "Y": [0] * 7}
    assert wd.count(problem, data).tables[wd.do()]["r", "Y"].tolist() == [[1, 0], [3, 0], [3, 0]]
    assert wd.count(problem, {"r": np.array([7, 8, 9, 9]), "Y": [0] * 4}).tables[wd.do()]["r", "Y"].tolist() == [
        [0, 0], [2, 0], [2, 0]
    ]  # fmt: skip
    with pytest.raises(DataError, match=r'column r: "d"\. Allowed: a, 7, other'):
        wd.count(problem, {"r": ["d"], "Y": [0]})


def test_told_rows_take_the_number_or_the_name_of_its_bin(tmp_path: Path) -> None:
    """On record stands the name, and an arm on a bin is applied by any number in it."""
    problem = wd.Problem("age -> Y", "Y", ["age"], domains={"age": wd.bins([30, 50])})
    campaign = wd.Campaign.create(tmp_path / "a.db", "spring", wd.policy("ue"), problem, horizon=12, seed=1)
    told = {"under 30": 12, "30 to under 50": "30 to under 50", "50 or more": "50"}
    for number in range(12):
        ticket = campaign.ask()
        age = told.get(str(ticket.arm.settings.get("age")), 31.5)
        if number == 5 and not ticket.arm.is_look:
            with pytest.raises(DataError, match="the intervention was not applied"):
                campaign.tell(ticket, {"age": 29 if age == "50" else 99, "Y": 0})
        campaign.tell(ticket, {"age": age, "Y": number % 2})
    campaign.verify()
    campaign.export(tmp_path / "log.jsonl")
    text = (tmp_path / "log.jsonl").read_text()
    assert '"age":"30 to under 50"' in text
    assert '"bins":{"age":[30,50]}' in text
    copy = wd.Campaign.import_(tmp_path / "b.db", tmp_path / "log.jsonl")
    assert copy.problem == problem
    assert copy.problem.bins == problem.bins
