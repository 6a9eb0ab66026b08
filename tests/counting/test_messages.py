"""What a log gets that cannot be counted: every message by its text."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whichdo.counting import count, count_with_notes
from whichdo.errors import DataError, InputError, TooLarge, UsageError
from whichdo.problem import Problem

XY = Problem("X -> Y", "Y")
HEAD = "X,Y\n"
ABSENT = ' If it stands for a missing value, leave the field empty; missing="drop" then drops such rows.'


def message(source: Any, problem: Problem = XY, kind: type[InputError] = DataError, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        count(problem, source, **options)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 3
    return str(caught.value)


def log(folder: Path, data: str | bytes, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


# ------------------------------------------------------------------------------------------------ values


def test_a_value_outside_the_domain_in_memory() -> None:
    x = [0] * 500
    x[16:447] = [2] * 431
    for source in (
        {"X": x, "Y": [1] * 500},
        pd.DataFrame({"X": x, "Y": [1] * 500}),
        pl.DataFrame({"X": x, "Y": [1] * 500}),
    ):
        assert message(source) == 'Row 17, column X: "2". Allowed: 0, 1. 431 such values in 1 column.'


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
        *((text, ABSENT) for text in ("NA", "N/A", "nan", "null", "None", "?")),
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
    problem = Problem("X -> Y", "Y", domains={"X": ["no", "yes"]})
    data = {"X": ["no", text, text], "Y": [0, 1, 1]}
    for source in (data, pd.DataFrame(data), pl.DataFrame(data)):
        assert message(source, problem) == (
            f'Row 2, column X: "{text}". Allowed: no, yes. 2 such values in 1 column. If it stands for a missing '
            f'value, put None in its place; missing="drop" then drops such rows.'
        )
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
        'log.csv has no column for the observed node "Price". Did you mean "Prize"? Rename a column, or is Price never '
        "observed: mark it hidden?"
    )
    assert message({"price": [1], "Demand": [1], "Y": [1]}, problem) == (
        'The data has no column for the observed node "Price". Did you mean "price"? Rename a column, or is Price '
        "never observed: mark it hidden?"
    )
    assert message({"Y": [1], "Q": [1]}, problem) == (
        'The data has no column for 2 observed nodes: "Price" and "Demand". Its columns are "Y" and "Q". Rename '
        "columns, or are they never observed: mark them hidden?"
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
        "The columns are of unequal length: X has 2 rows, Y 1. Every row needs a value in each."
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
        f"A thing of type {type(source).__name__} cannot be counted. Give a dict of arrays, a pandas, Polars or "
        f"PyArrow frame, Arrow record batches, a path to a CSV or Parquet file (or a list or glob of them), or a "
        f"Tally."
    )


# ------------------------------------------------------------------------------------------------ CSV


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("1", "has 1 field"),
        ("1,1,1", "has 3 fields"),
        ("1,1,1,1", "has 4 fields"),
        ("1,1,", "has 3 fields"),
        ("1,1,,", "has 4 fields"),
        ('1,1,""', "has 3 fields"),
        ('"1","1",', "has 3 fields"),
    ],
)
def test_a_ragged_row(row: str, words: str, tmp_path: Path) -> None:
    text = f"{HEAD}0,1\n\n{row}\n0,0\n"
    said = (
        f"%s, line 4: Row 2 {words}; the header names 2 columns. Correct the row: a text with the delimiter in it "
        f"must stand in double quotes."
    )
    assert message(log(tmp_path, text)) == said % "log.csv"
    assert message(log(tmp_path, gzip.compress(text.encode()), "log.csv.gz")) == said % "log.csv.gz"


def test_a_ragged_row_far_down(tmp_path: Path) -> None:
    path = log(tmp_path, HEAD + "1,0\n" * 300_000 + "1\n")
    assert message(path).startswith("log.csv, line 300,002: Row 300,001 has 1 field; the header names 2 columns.")


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_one_delimiter_too_many_among_quoted_ones(end: str, tmp_path: Path) -> None:
    """Delimiters and line breaks inside quotes are no fields; DuckDB would overlook the empty field at the end."""
    rows = ['X,"no,te",Y', '1,"a, b",1', '0,"a ""word"",', 'and, another",1', "1,,0,"]
    text = (end or "\n").join(rows) + end
    said = "%s, line 5: Row 3 has 4 fields; the header names 3 columns."
    assert message(log(tmp_path, text)).startswith(said % "log.csv")
    assert message(log(tmp_path, gzip.compress(text.encode()), "log.csv.gz")).startswith(said % "log.csv.gz")
    whole = (text.removesuffix(end)[:-1] + end).encode()
    assert count(XY, log(tmp_path, b"\xef\xbb\xbf" + whole)).pulls[0] == 3


def test_a_quote_inside_a_field_quotes_nothing(tmp_path: Path) -> None:
    rows = 'X,note,Y\n1,5" pipe,1\n0,3" pipe,0\n'
    assert count(XY, log(tmp_path, rows)).pulls[0] == 2
    assert message(log(tmp_path, rows + '1,5" pipe,1,\n1,"a,b",1\n')).startswith("log.csv, line 4: Row 3 has 4 fields;")


def test_one_delimiter_too_many_far_down(tmp_path: Path) -> None:
    path = log(tmp_path, HEAD + "1,0\n" * 300_000 + "1,0,\n")
    assert message(path).startswith("log.csv, line 300,002: Row 300,001 has 3 fields; the header names 2 columns.")


def test_one_column_and_a_delimiter(tmp_path: Path) -> None:
    problem = Problem("X -> Y", "Y")
    with pytest.raises(DataError, match=r"^log\.csv, line 3: Row 2 has 2 fields; the header names 1 columns?\."):
        count(problem, log(tmp_path, "Y\n1\n1,\n0\n"), scopes=[("Y",)])
    assert count(problem, log(tmp_path, "Y\n1\n0\n"), scopes=[("Y",)]).pulls[0] == 2


def test_quotes_that_do_not_close(tmp_path: Path) -> None:
    words = (
        "log.csv cannot be divided into fields after line 2: a double quote is opened and not closed there, or has "
        "text behind it. Double the quotes inside a quoted text."
    )
    assert message(log(tmp_path, f'{HEAD}0,1\n1,"0\n')) == words
    assert message(log(tmp_path, f'{HEAD}0,1\n"1"x,0\n')) == words
    assert message(log(tmp_path, '"X,Y\n0,1\n')) == (
        "The first row of log.csv cannot be divided into names: a double quote is opened and not closed, or has text "
        "behind it."
    )


def test_line_endings_of_two_kinds(tmp_path: Path) -> None:
    assert message(log(tmp_path, "X,Y\r\n1,1\r\n0,0\n1,0\r\n")) == (
        "log.csv ends its lines in two ways; line 3 is the first that differs. Save it with one kind of line ending."
    )


def test_an_empty_file(tmp_path: Path) -> None:
    words = "log.csv is empty: expected a row of column names, then rows of values."
    for data in (b"", b"\n", b"\xef\xbb\xbf", b"  \r\n\r\n"):
        assert message(log(tmp_path, data)) == words
    assert message(log(tmp_path, gzip.compress(b""), "log.csv.gz")) == words.replace(".csv", ".csv.gz")
    assert message(log(tmp_path, "\nX,Y\n1,1\n")) == (
        "log.csv begins with an empty line. The first line must name the columns."
    )


def test_what_is_no_utf_8(tmp_path: Path) -> None:
    assert message(log(tmp_path, b"X,Y\n1,\xe9\n")) == "log.csv is not UTF-8 text: byte 6 is 0xe9. Save it as UTF-8."
    assert message(log(tmp_path, b"X,\xe9\n1,1\n")) == "log.csv is not UTF-8 text: byte 2 is 0xe9. Save it as UTF-8."
    far = HEAD.encode() + b"1,1\n" * 300_000 + b"1,\xc3\x28\n"
    assert message(log(tmp_path, far)) == "log.csv is not UTF-8 text: byte 1,200,006 is 0xc3. Save it as UTF-8."


def test_lines_without_end(tmp_path: Path) -> None:
    assert message(log(tmp_path, "x" * 3_000_000), kind=TooLarge) == (
        "The first row of log.csv is longer than 1 MB. Is it a CSV file whose first row names the columns, with a row "
        "a line?"
    )
    assert message(log(tmp_path, "X,Y," * 500_000), kind=TooLarge).startswith("The first row of log.csv is longer")
    assert message(log(tmp_path, f"{HEAD}1,{'0' * 3_000_000}\n"), kind=TooLarge) == (
        "Line 2 of log.csv is longer than 1 MB. Is it a CSV file with a row a line?"
    )


def test_damaged_gzip(tmp_path: Path) -> None:
    whole = gzip.compress((HEAD + "1,0\n" * 100_000).encode())
    early = "log.csv.gz is a gzip file that ends too early. Copy or download it again."
    damaged = "log.csv.gz is a damaged gzip file. Copy or download it again."
    assert message(log(tmp_path, whole[:-30], "log.csv.gz")) == early
    assert message(log(tmp_path, whole[:-1], "log.csv.gz")) == early
    middle = len(whole) // 2
    assert message(log(tmp_path, whole[:middle] + b"\0\1\2\3" + whole[middle + 4 :], "log.csv.gz")) == damaged
    assert message(log(tmp_path, whole[:-8] + bytes(8), "log.csv.gz")) == damaged
    assert message(log(tmp_path, b"\x1f\x8b nothing of the kind", "log.csv.gz")) == damaged


# ------------------------------------------------------------------------------------------------ files


def spreadsheet() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            pickle.dumps({"X": [1]}),
            "log.csv is a Python pickle. Reading one can run code. Export the rows as CSV in UTF-8, or as Parquet.",
        ),
        (
            spreadsheet(),
            "log.csv is a spreadsheet or a ZIP archive. Export the sheet as CSV in UTF-8, or unpack the archive.",
        ),
        (b"\xd0\xcf\x11\xe0" + bytes(100), "log.csv is an old Office document. Export the sheet as CSV in UTF-8."),
        ("X,Y\n1,1\n".encode("utf-16"), "log.csv is text in UTF-16. Save it as UTF-8."),
        (b"ARROW1\0\0", "log.csv is a Feather or Arrow file. Write it as Parquet."),
        (b"PARE" + bytes(100), "log.csv is an encrypted Parquet file. Write it without encryption."),
        (gzip.compress(gzip.compress(b"X,Y\n")), "log.csv is compressed twice. Unpack it once."),
        (gzip.compress(pickle.dumps(1)), "log.csv is a Python pickle. Reading one can run code. Export the rows"),
        (gzip.compress(b"PAR1"), "log.csv is a Parquet file inside gzip. Unpack it."),
        (b"PAR1" + bytes(100), "log.csv is a damaged or incomplete Parquet file. Write or copy it again."),
        (b"PAR1", "log.csv is a damaged or incomplete Parquet file. Write or copy it again."),
    ],
)
def test_files_that_are_something_else(data: bytes, words: str, tmp_path: Path) -> None:
    assert message(log(tmp_path, data)).startswith(words)


def test_a_parquet_file_that_is_none(tmp_path: Path) -> None:
    assert message(log(tmp_path, "X,Y\n1,1\n", "log.parquet")) == (
        "log.parquet is no Parquet file: it does not begin with PAR1. Write or copy it again."
    )


@pytest.mark.parametrize("keep", [0.2, 0.9, 0.999])
def test_a_parquet_file_that_is_cut(keep: float, tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 2, 50_000)
    pq.write_table(pa.table({"X": values, "Y": values}), tmp_path / "whole.parquet")
    data = (tmp_path / "whole.parquet").read_bytes()
    path = log(tmp_path, data[: int(len(data) * keep)], "log.parquet")
    assert message(path) == "log.parquet is a damaged or incomplete Parquet file. Write or copy it again."


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    assert message(tmp_path / "logs") == (
        '"logs" is a directory: expected a file. Name its files, such as "logs/*.csv".'
    )
    absent = str(Path(os.sep) / "no" / "log.csv")
    assert message(absent) == f'There is no file "{absent}".'
    assert message(str(Path(os.sep) / "no" / "*.csv")) == f'No file matches "{Path(os.sep) / "no" / "*.csv"}".'
    assert message("a\0b") == '"a\\x00b" is no path.'
    assert message("x" * 5000).endswith("cannot be read: File name too long.")
    assert message(log(tmp_path, "") / "inside.csv").endswith("cannot be read: Not a directory.")


@pytest.mark.parametrize(
    "address", ["https://example.org/log.csv", "s3://bucket/log.parquet", "hf://datasets/x", "http://x/*.csv"]
)
def test_an_address_is_not_followed(address: str) -> None:
    assert message(address) == f'"{address}" is an address; only files on this machine are read. Download it first.'


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert message(tmp_path / "pipe") == ('"pipe" is no ordinary file. Write the rows to a CSV or Parquet file first.')


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = log(tmp_path, HEAD)
    path.chmod(0)
    assert message(path) == '"log.csv" cannot be read: Permission denied.'
