"""Damaged CSV and Parquet files: a clear error or the right counts, never a traceback, never a wait."""

from __future__ import annotations

import csv
import gzip
import io
import random
import time
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.soak import scaled
from whichdo.counting import count
from whichdo.errors import InputError
from whichdo.problem import Problem, do

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = 5_000
SECONDS = 2.0
PROBLEM = Problem("Z -> X; X -> Y; Z -> Y", "Y", domains={"Z": ("low", "mid", "high, really")})
WORDS = (
    *(
        b'"',
        b'""',
        b",",
        b";",
        b"\t",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xc3",
        b"X",
        b"Y",
    ),
    *(
        b"Z",
        b"low",
        b"NA",
        b"01",
        b" 1",
        b"1.0",
        b"true",
        b"-",
        b"9" * 30,
        b"\xe2\x80\xa8",
        b"\x1a",
        b"\\",
        b"'",
        b"#",
        b"x" * 3000,
    ),
    *(b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"1e400", b"nan", b"\xef\xbc\x91", b"$(x)", b"=1+1"),
)


def whole(rng: random.Random) -> bytes:
    rows = [
        [str(rng.randrange(2)), str(rng.randrange(2)), rng.choice(["low", "mid", "high, really"]), "note"]
        for _ in range(30)
    ]
    buffer = io.StringIO()
    end = rng.choice(["\n", "\r\n"])
    quoting: Literal[0, 1] = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    csv.writer(buffer, lineterminator=end, quoting=quoting).writerows([["X", "Y", "Z", "note"], *rows])
    return buffer.getvalue().encode()


def damaged(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice((0, 1, 1, 2, 3, 6))):
        at, span = rng.randrange(len(data) + 1), rng.randrange(12)
        how = rng.randrange(5)
        if how == 0:
            data = data[:at] + data[at + span :]
        elif how == 1:
            data = data[:at] + rng.choice(WORDS) + data[at:]
        elif how == 2:
            data = data[:at] + data[at : at + span] * 3 + data[at + span :]
        elif how == 3:
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        else:
            data = data[:at]
    return data


def read_again(data: bytes) -> list[list[int]]:
    """The table of X and Y as Python's own reader gives it."""
    text = data.decode("utf-8-sig")
    records = [record for record in csv.reader(io.StringIO(text, newline="")) if record]
    place = {name: j for j, name in reversed(list(enumerate(records[0])))}
    table = [[0, 0], [0, 0]]
    for record in records[1:]:
        fields = [record[place[name]].lower() for name in "XY"]
        x, y = (int(field == "true") if field in {"true", "false"} else int(float(field)) for field in fields)
        table[x][y] += 1
    return table


@pytest.mark.slow("7 s: 250 damaged files; finds counts of rows that are not there")
@pytest.mark.soak
def test_damaged_csv_files(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """What can still be counted gives the counts that Python's own reader gives."""
    rng = random.Random(23)
    path = tmp_path / "log.csv"
    path.write_bytes(whole(rng))
    count(PROBLEM, path)  # kernels are compiled once
    read = 0
    for number in range(scaled(FILES)):
        data = damaged(whole(rng), rng)
        packed = number % 5 == 0
        path.write_bytes(
            damaged(gzip.compress(data), rng) if packed and number % 2 else gzip.compress(data) if packed else data
        )
        began = time.process_time()
        try:
            tally = count(PROBLEM, path, scopes=[("X", "Y")])
        except InputError as error:
            str(error).encode()  # it can be printed
        else:
            read += 1
            found = tally.tables[do()]["X", "Y"]
            if b";" not in data.splitlines()[0]:
                assert found.tolist() == read_again(data), data
        assert time.process_time() - began < SECONDS, data
    assert read > 0
    record_property("files", scaled(FILES))
    record_property("still counted", read)
    record_property("seed", 23)


@pytest.mark.slow("1 s: 50 damaged files; finds counts of rows that are not there")
@pytest.mark.soak
def test_damaged_parquet_files(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    rng = random.Random(29)
    values = np.random.default_rng(0).integers(0, 2, (2, 200))
    pq.write_table(pa.table({"X": values[0], "Y": values[1], "Z": ["low"] * 200}), tmp_path / "whole.parquet")
    data = (tmp_path / "whole.parquet").read_bytes()
    count(PROBLEM, tmp_path / "whole.parquet")
    path = tmp_path / "log.parquet"
    read = 0
    for _ in range(scaled(1_000)):
        path.write_bytes(damaged(data, rng))
        began = time.process_time()
        try:
            tally = count(PROBLEM, path)
        except InputError as error:
            str(error).encode()
        else:
            read += 1
            assert int(tally.pulls.sum()) >= 1
        assert time.process_time() - began < SECONDS
    assert read > 0
    record_property("files", scaled(1_000))
    record_property("still counted", read)
    record_property("seed", 29)
