"""What files get that cannot be counted: every message by its text."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.counting.refused import HEAD, XY, log, message
from whichdo.counting import count, count_with_notes
from whichdo.errors import DataError, TooLargeError
from whichdo.problem import Problem

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
        f"%s, line 4: Row 2 {words}; the header names 2 columns. Correct the row: a value that contains the "
        f"delimiter needs double quotes."
    )
    assert message(log(tmp_path, text)) == said % "log.csv"
    assert message(log(tmp_path, gzip.compress(text.encode()), "log.csv.gz")) == said % "log.csv.gz"


def test_a_ragged_row_far_down(tmp_path: Path) -> None:
    path = log(tmp_path, HEAD + "1,0\n" * 300_000 + "1\n")
    assert message(path).startswith("log.csv, line 300,002: Row 300,001 has 1 field; the header names 2 columns.")


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_one_delimiter_too_many_among_quoted_ones(end: str, tmp_path: Path) -> None:
    """Delimiters and line breaks inside quotes divide no fields; an empty field at the end is one too many."""
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
        "log.csv cannot be divided into fields after line 2: a double quote is opened and not closed there, or is "
        "followed by text. Double the quotes inside a quoted value."
    )
    assert message(log(tmp_path, f'{HEAD}0,1\n1,"0\n')) == words
    assert message(log(tmp_path, f'{HEAD}0,1\n"1"x,0\n')) == words
    assert message(log(tmp_path, f'{HEAD}0,1\n1,"0" \n')) == words
    assert message(log(tmp_path, '"X,Y\n0,1\n')) == (
        "The first row of log.csv cannot be divided into names: a double quote is opened and not closed, or has text "
        "behind it."
    )


def test_line_endings_of_two_kinds(tmp_path: Path) -> None:
    assert message(log(tmp_path, "X,Y\r\n1,1\r\n0,0\n1,0\r\n")) == (
        "log.csv ends its lines in two ways; line 3 is the first that differs. Save it with one kind of line ending."
    )


def test_a_last_line_that_ends_in_a_carriage_return(tmp_path: Path) -> None:
    assert message(log(tmp_path, "X,Y\n1,1\n0,0\r")) == (
        "log.csv ends its lines in two ways; line 3 is the first that differs. Save it with one kind of line ending."
    )


def test_a_line_ending_inside_quotes_is_a_value(tmp_path: Path) -> None:
    assert count(XY, log(tmp_path, 'X,note,Y\n1,"a\r\nb",1\n0,"\r",0\n')).pulls[0] == 2


def test_nul_is_not_text(tmp_path: Path) -> None:
    """In a column that is not read too: whatever wrote it did not write text."""
    assert message(log(tmp_path, b"X,note,Y\n1,a,0\n1,\0,0\n")) == (
        "log.csv has a NUL character, byte 17: it is not text. Export it again as CSV in UTF-8, or as Parquet."
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
    assert message(log(tmp_path, "x" * 3_000_000), kind=TooLargeError) == (
        "The first row of log.csv is longer than 1 MB. Is it a CSV file whose first row names the columns, with one "
        "row per line?"
    )
    assert message(log(tmp_path, "X,Y," * 500_000), kind=TooLargeError).startswith("The first row of log.csv is longer")
    assert message(log(tmp_path, f"{HEAD}1,{'0' * 3_000_000}\n"), kind=TooLargeError) == (
        "Line 2 of log.csv is longer than 1 MB. Is it a CSV file with one row per line?"
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
    ids=lambda each: each if isinstance(each, str) else "",  # compressed data differ from second to second
)
def test_files_that_are_something_else(data: bytes, words: str, tmp_path: Path) -> None:
    assert message(log(tmp_path, data)).startswith(words)


NO_TABLE = "The first line must name the columns: remove"
JSON = (
    "log.csv is JSON, not a table. Export the rows as CSV in UTF-8, or as Parquet; or read it into a frame and give "
    "that."
)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"X": 1, "Y": 0}\n{"X": 1, "Y": 1}\n', JSON),
        (b'[{"X": 1, "Y": 0}]', JSON),
        (b'\xef\xbb\xbf[\n  {"X": 1, "Y": 0}\n]\n', JSON),
        (b'{"X": [' + b"1, " * 1_000_000 + b"1]}", JSON),
        (b"# made on Monday\nX,Y\n1,1\n", f'log.csv begins with a comment, "# made on Monday". {NO_TABLE} what comes'),
        (b"# X,Z\nX,Y\n1,1\n", f'log.csv begins with a comment, "# X,Z". {NO_TABLE} what comes'),
        (b"sep=;\r\nX;Y\r\n1;1\r\n", f'log.csv begins with "sep=;", a marker for Excel. {NO_TABLE} this one.'),
        (b'"sep=;"\nX;Y\n1;1\n', f'log.csv begins with "\\"sep=;\\"", a marker for Excel. {NO_TABLE} this one.'),
        (b"<!DOCTYPE html><html>Log in</html>", "log.csv is a web page or XML, not a table. Export the rows"),
        ("X,Y\n1,1\n".encode("utf-16"), "log.csv is text in UTF-16. Save it as UTF-8."),
        ("X,Y\n1,1\n".encode("utf-16-le"), "log.csv is text in UTF-16. Save it as UTF-8."),
        ("X,Y\n1,1\n".encode("utf-16-be"), "log.csv is text in UTF-16. Save it as UTF-8."),
        ("X,Y\n1,1\n".encode("utf-32"), "log.csv is text in UTF-32. Save it as UTF-8."),
    ],
)
def test_texts_that_are_no_table(data: bytes, words: str, tmp_path: Path) -> None:
    assert message(log(tmp_path, data)).startswith(words)
    packed = log(tmp_path, gzip.compress(data), "log.csv.gz")
    assert message(packed).startswith(words.replace("log.csv", "log.csv.gz"))


@pytest.mark.parametrize("name", ["#", "[0]", "% up", "{a}", "sep="])
def test_a_name_may_begin_with_any_letter(name: str, tmp_path: Path) -> None:
    problem = Problem("X -> Y", "Y", intervene=["X"])
    assert count(problem, log(tmp_path, f"{name},X,Y\n1,1,1\n")).pulls[0] == 1


def test_a_parquet_file_that_is_none(tmp_path: Path) -> None:
    assert message(log(tmp_path, "X,Y\n1,1\n", "log.parquet")) == (
        "log.parquet is not a Parquet file: it does not begin with PAR1. Write or copy it again."
    )


@pytest.mark.parametrize("keep", [0.2, 0.9, 0.999])
def test_a_parquet_file_that_is_cut(keep: float, tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 2, 50_000)
    pq.write_table(pa.table({"X": values, "Y": values}), tmp_path / "whole.parquet")
    data = (tmp_path / "whole.parquet").read_bytes()
    path = log(tmp_path, data[: int(len(data) * keep)], "log.parquet")
    assert message(path) == "log.parquet is a damaged or incomplete Parquet file. Write or copy it again."


def test_a_parquet_file_with_a_bad_page_checksum(tmp_path: Path) -> None:
    """Every bit of the values counts where the pages have checksums; where they have none, that is said."""
    values = np.random.default_rng(0).integers(0, 2, 5_000)
    table = pa.table({"X": values, "Y": values})
    whole = tmp_path / "whole.parquet"
    for codec in ("none", "snappy", "gzip", "zstd"):
        pq.write_table(table, whole, write_page_checksum=True, use_dictionary=False, compression=codec)
        assert count_with_notes(XY, whole)[1].sentences == ()
        data = bytearray(whole.read_bytes())
        column = pq.ParquetFile(whole).metadata.row_group(0).column(0)
        data[column.data_page_offset + column.total_compressed_size // 2] ^= 1
        path = log(tmp_path, bytes(data), "log.parquet")
        assert message(path) == "log.parquet is a damaged or incomplete Parquet file. Write or copy it again."
        pq.write_table(table, whole, compression=codec)
        assert count_with_notes(XY, [whole])[1].sentences == (
            '"whole.parquet" has no page checksums: damage to single values would not be noticed.',
        )


def test_strings_in_a_parquet_file_that_are_not_utf_8(tmp_path: Path) -> None:
    pq.write_table(pa.table({"X": ["0", "1~"], "Y": [0, 1]}), tmp_path / "whole.parquet", use_dictionary=False)
    data = (tmp_path / "whole.parquet").read_bytes().replace(b"1~", b"1\xff")
    path = log(tmp_path, data, "log.parquet")
    assert message(path) == "log.parquet is a damaged or incomplete Parquet file. Write or copy it again."


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    assert message(tmp_path / "logs") == (
        '"logs" is a directory: expected a file. Name its files, such as "logs/*.csv".'
    )
    absent = str(Path(os.sep) / "no" / "log.csv")
    assert message(absent) == f'There is no file "{absent}".'
    assert message(str(Path(os.sep) / "no" / "*.csv")) == f'No file matches "{Path(os.sep) / "no" / "*.csv"}".'
    assert message("a\0b") == '"a\\x00b" is not a path.'
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
    assert message(tmp_path / "pipe") == (
        '"pipe" is not a regular file. Write the rows to a CSV or Parquet file first.'
    )


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = log(tmp_path, HEAD)
    path.chmod(0)
    assert message(path) == '"log.csv" cannot be read: Permission denied.'
