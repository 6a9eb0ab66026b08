"""CSV files in pieces: the same rows wherever the pieces end, and what pyarrow lets pass is noticed."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whichdo.counting import csv_files
from whichdo.counting.csv_files import CsvPart
from whichdo.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = st.sampled_from(
    ["", "0", "a,b", 'a "word",', "two\nlines,", ",", '"', "\u00e9,\U0001d11e", " ", "\r\n", "\r", "\ufeff0", "x" * 30]
)
ROWS = st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(FIELDS, min_size=width, max_size=width), max_size=6))
SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(rows: list[list[str]], end: str, *, every: bool) -> bytes:
    """As programs write them: fields that need it in quotes, or every one."""
    fields = [
        ['"' + field.replace('"', '""') + '"' if every or set(field) & set('",\r\n') else field for field in row]
        for row in rows
    ]
    return "".join(",".join(row) + end for row in fields).encode()


def read(path: Path, size: int = 1000) -> list[list[str | None]]:
    """All rows of a file, as its part hands them over."""
    part = CsvPart(path, packed=False)
    columns: list[list[str | None]] = [[] for _ in part.columns]
    for batch in part.chunks(range(len(columns)), size):
        for column, more in zip(columns, batch, strict=True):
            column += more.to_pylist()
    return [list(row) for row in zip(*columns, strict=True)]


@SHARED
@given(ROWS, st.sampled_from(["\n", "\r\n", "\r"]), st.integers(1, 40), st.booleans(), st.booleans(), st.booleans())
def test_rows_are_the_same_wherever_the_pieces_end(
    tmp_path: Path, rows: list[list[str]], end: str, block: int, mark: bool, whole: bool, every: bool
) -> None:
    width = len(rows[0]) if rows else 1
    data = written([[f"c{j}" for j in range(width)], *rows], end, every=every)
    lost = not every and rows[-1:] == [[""]]  # nothing at the end is not a row
    data = data if whole or lost else data.removesuffix(end.encode())
    path = tmp_path / "log.csv"
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "BLOCK", block)
        assert read(path, 3) == [[field or None for field in row] for row in rows]


@SHARED
@given(st.text('a,"\n', max_size=25), st.integers(1, 40))
def test_quotes_anywhere_are_read_as_the_csv_module_reads_them(tmp_path: Path, text: str, block: int) -> None:
    """Where it refuses a text, or finds a row of another width, so do we."""
    path = tmp_path / "log.csv"
    path.write_text(f"X,Y\n{text}", newline="")
    try:
        expected = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        expected = [[]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "BLOCK", block)
        if any(len(row) != 2 for row in expected):
            with pytest.raises(DataError):
                read(path)
        else:
            assert read(path) == [[field or None for field in row] for row in expected]


@pytest.mark.parametrize("text", ["1,0,\n", "1\n", "1,0\n1,0,\n", '1,"0",\n', "1,,\n"])
def test_pyarrow_refuses_rows_of_another_width(text: str) -> None:
    """What is not checked here because pyarrow does."""
    with pytest.raises(pa.ArrowInvalid):
        arrow_csv.read_csv(pa.py_buffer(text.encode()), read_options=arrow_csv.ReadOptions(column_names=["X", "Y"]))


@pytest.mark.parametrize(("text", "rows"), [("1\n\n0\n", 3), ("1\n0\n\n", 3), ('""\n', 1), ("\n", 1), ("1", 1)])
def test_an_empty_line_of_one_column_is_a_missing_value(text: str, rows: int, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(f"Y\n{text}")
    assert len(read(tmp_path / "log.csv")) == rows


def test_a_row_may_span_many_pieces_but_not_a_megabyte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.csv"
    monkeypatch.setattr(csv_files, "LONGEST_LINE", 200)
    monkeypatch.setattr(csv_files, "BLOCK", 50)
    path.write_text("X,Y\n" + '1,"' + "a\n" * 90 + '"\n')
    assert read(path) == [["1", "a\n" * 90]]
    path.write_text("X,Y\n" + '1,"' + "a\n" * 200 + '"\n')
    with pytest.raises(DataError, match="cannot be read as CSV"):
        read(path)
