"""Delimiters of a CSV file: counted as the csv module divides rows, wherever the blocks end."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichdo.counting import dividers
from whichdo.counting.dividers import all_dividers, dividers_outside_quotes, may_end_empty

FIELDS = st.sampled_from(["", "0", "a,b", 'a "word",', "two\nlines,", ",", '"', "\u00e9,\U0001d11e", " ", "\r\n"])
TABLES = st.lists(st.lists(FIELDS, min_size=1, max_size=4), min_size=1, max_size=6)


def written(rows: list[list[str]], end: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator=end).writerows(rows)
    return text.getvalue().encode()


@given(TABLES, st.sampled_from(["\n", "\r\n"]), st.integers(1, 20), st.booleans())
def test_delimiters_outside_quotes_are_those_between_fields(
    rows: list[list[str]], end: str, block: int, mark: bool
) -> None:
    data = written(rows, end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dividers, "CACHED", block)
        patch.setattr(dividers, "BLOCK", block)
        file = io.BytesIO((b"\xef\xbb\xbf" if mark else b"") + data)
        assert dividers_outside_quotes(file, ",") == sum(len(row) - 1 for row in rows)
        assert all_dividers(io.BytesIO(data), ",") == data.count(b",")
        if not may_end_empty(io.BytesIO(data), ","):
            assert all(row[-1].strip(" ") for row in rows)


@pytest.mark.parametrize("block", [1, 2, 3, 1000])
@pytest.mark.parametrize(
    ("text", "may"),
    [
        *(("1,0\n1,0\n", False), ("1,0", False), ('"1","0"\r\n', False), ("1,0\n\n\n", False), ("", False)),
        *(("1,0,\n1,0\n", True), ("1,0,", True), ('1,0,""\n1', True), ("1,0,\r\n1", True), ("1,0,\r1", True)),
        *(('1,0, ""', True), ('1,0,"" \n', True), ("1,0,\t\n", True)),
    ],
)
def test_a_line_that_may_end_in_an_empty_field(
    text: str, may: bool, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dividers, "CACHED", block)
    assert may_end_empty(io.BytesIO(text.encode()), ",") is may


@pytest.mark.parametrize("text", ['5" pipe,1\n', 'a"b,c"d\n', 'x\n1, "a,b"\n'])
def test_a_quote_inside_a_field_leaves_the_number_open(text: str) -> None:
    assert dividers_outside_quotes(io.BytesIO(text.encode()), ",") is None
