"""Every kind of source gives the tables of its rows."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counting.plain import (
    as_columns,
    assert_counted,
    binary_problem,
    mixed_problem,
    plain_table,
    random_rows,
)
from tests.soak import scaled
from whichdo.counting import count, count_with_notes
from whichdo.errors import DataError, UsageError
from whichdo.evidence import Tally
from whichdo.problem import Problem, do

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.counting.plain import Row

PROBLEMS = {"binary": binary_problem(), "mixed": mixed_problem()}


def arrays(rows: list[Row]) -> dict[str, Any]:
    return {name: np.array(values) for name, values in as_columns(rows).items()}


def write_csv(path: Path, rows: list[Row], delimiter: str = ",", end: str = "\n") -> Path:
    lines = [delimiter.join(rows[0])] + [delimiter.join(map(str, row.values())) for row in rows]
    data = (end.join(lines) + end).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def parquet(path: Path, rows: list[Row], **options: Any) -> Path:
    pq.write_table(pa.table(arrays(rows)), path, write_page_checksum=True, **options)
    return path


def categorical(rows: list[Row]) -> pd.DataFrame:
    return pd.DataFrame(as_columns(rows)).astype("category")


def nullable(rows: list[Row]) -> pd.DataFrame:
    return pd.DataFrame(as_columns(rows)).convert_dtypes()


SOURCES: dict[str, Callable[[Path, list[Row]], Any]] = {
    "dict of lists": lambda _, rows: as_columns(rows),
    "dict of arrays": lambda _, rows: arrays(rows),
    "dict of tuples": lambda _, rows: {name: tuple(values) for name, values in as_columns(rows).items()},
    "dict of texts": lambda _, rows: {name: [str(v) for v in values] for name, values in as_columns(rows).items()},
    "dict of objects": lambda _, rows: {name: np.array(v, object) for name, v in as_columns(rows).items()},
    "dict of pandas series": lambda _, rows: dict(pd.DataFrame(as_columns(rows)).items()),
    "dict of Polars series": lambda _, rows: pl.DataFrame(arrays(rows)).to_dict(),
    "dict of Arrow arrays": lambda _, rows: {name: pa.array(values) for name, values in arrays(rows).items()},
    "pandas": lambda _, rows: pd.DataFrame(as_columns(rows)),
    "pandas texts": lambda _, rows: pd.DataFrame(as_columns(rows)).astype(str),
    "pandas objects": lambda _, rows: pd.DataFrame(as_columns(rows), dtype=object),
    "pandas with another index": lambda _, rows: pd.DataFrame(as_columns(rows)).sample(frac=1, random_state=0),
    "pandas categorical": lambda _, rows: categorical(rows),
    "pandas nullable": lambda _, rows: nullable(rows),
    "pandas Arrow types": lambda _, rows: pd.DataFrame(as_columns(rows)).convert_dtypes(dtype_backend="pyarrow"),
    "Polars": lambda _, rows: pl.DataFrame(arrays(rows)),
    "Polars lazy": lambda _, rows: pl.DataFrame(arrays(rows)).lazy(),
    "Polars categorical": lambda _, rows: pl.DataFrame(arrays(rows)).cast(pl.String).cast(pl.Categorical),
    "PyArrow": lambda _, rows: pa.table(arrays(rows)),
    "Arrow record batch": lambda _, rows: pa.table(arrays(rows)).combine_chunks().to_batches()[0],
    "Arrow record batches": lambda _, rows: pa.table(arrays(rows)).to_batches(max_chunksize=150),
    "Arrow batch reader": lambda _, rows: pa.table(arrays(rows)).to_reader(max_chunksize=150),
    "CSV": lambda folder, rows: write_csv(folder / "log.csv", rows),
    "CSV as text": lambda folder, rows: str(write_csv(folder / "log.csv", rows)),
    "CSV with CRLF": lambda folder, rows: write_csv(folder / "log.csv", rows, end="\r\n"),
    "CSV with semicolons": lambda folder, rows: write_csv(folder / "log.csv", rows, delimiter=";"),
    "CSV gzip": lambda folder, rows: write_csv(folder / "log.csv.gz", rows),
    "TSV": lambda folder, rows: write_csv(folder / "log.tsv", rows, delimiter="\t"),
    "Parquet": lambda folder, rows: parquet(folder / "log.parquet", rows),
    "Parquet in small groups": lambda folder, rows: parquet(folder / "log.parquet", rows, row_group_size=100),
    "Parquet under another name": lambda folder, rows: parquet(folder / "log.dat", rows),
    "list of files": lambda folder, rows: [
        write_csv(folder / "a.csv", rows[:300]),
        parquet(folder / "b.parquet", rows[300:]),
    ],
    "glob": lambda folder, rows: (
        write_csv(folder / "part-1.csv", rows[:300]),
        write_csv(folder / "part-2.csv", rows[300:]),
        str(folder / "part-*.csv"),
    )[-1],
}


@pytest.mark.slow("4 s: 40 examples in every form that data comes in; finds a form that is read otherwise")
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_tables_of_its_rows(kind: str, problem: Problem, tmp_path: Path) -> None:
    rows = random_rows(problem, 700, seed=1)
    for chunk in (100, 1 << 17):
        tally, notes = count_with_notes(problem, SOURCES[kind](tmp_path, rows), chunk=chunk)
        assert_counted(tally, rows)
        assert (notes.rows, notes.dropped, notes.extra_columns) == (700, 0, ())
        assert notes.sentences == ()


@pytest.mark.slow("2 s: every type in every form that data comes in")
@pytest.mark.parametrize("kind", ["bool", "int8", "uint8", "int32", "int64", "uint64", "float32", "float64"])
def test_binary_columns_of_every_type(kind: str, tmp_path: Path) -> None:
    problem = binary_problem()
    rows = random_rows(problem, 5000, seed=2)
    typed = {name: np.array(values).astype(kind) for name, values in as_columns(rows).items()}
    pq.write_table(pa.table(typed), tmp_path / "log.parquet")
    for source in (typed, pd.DataFrame(typed), pl.DataFrame(typed), pa.table(typed), tmp_path / "log.parquet"):
        assert_counted(count(problem, source), rows)


@pytest.mark.slow("2 s: many sizes of chunks; finds rows lost where two meet")
@pytest.mark.parametrize("chunk", [1, 63, 64, 65, 4095, 4096, 4097, 9000])
def test_chunks_of_any_size_give_the_same(chunk: int) -> None:
    problem = binary_problem()
    rows = random_rows(problem, 9000 if chunk > 1 else 50, seed=3)
    for source in (arrays(rows), pd.DataFrame(as_columns(rows))):
        assert_counted(count_with_notes(problem, source, chunk=chunk)[0], rows)


def test_a_file_of_many_batches_keeps_the_order_of_its_rows(tmp_path: Path) -> None:
    """400,000 rows are read by several threads; an error at the end still knows its row."""
    problem = Problem("X -> Y", "Y")
    values = np.random.default_rng(0).integers(0, 2, 400_000)
    pq.write_table(pa.table({"X": values, "Y": 1 - values}), tmp_path / "log.parquet", row_group_size=50_000)
    lines = "\n".join(f"{x},{1 - x}" for x in values.tolist())
    (tmp_path / "log.csv").write_text(f"X,Y\n{lines}\n")
    ones = int(values.sum())
    for name in ("log.parquet", "log.csv"):
        assert count(problem, tmp_path / name).tables[do()]["X", "Y"].tolist() == [[0, 400_000 - ones], [ones, 0]]


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 200),
    seed=st.integers(0, 2**32),
    chunk=st.integers(1, 100),
    name=st.sampled_from(["binary", "mixed"]),
)
def test_random_rows(rows: int, seed: int, chunk: int, name: str) -> None:
    problem = PROBLEMS[name]
    drawn = random_rows(problem, rows, seed)
    assert_counted(count_with_notes(problem, as_columns(drawn), chunk=chunk)[0], drawn)


def test_a_csv_file_as_people_write_them(tmp_path: Path) -> None:
    """A byte-order mark, quotes, a quoted line break, empty lines, no line end at the end."""
    path = tmp_path / "log.csv"
    path.write_bytes(b'\xef\xbb\xbfX,"note",Y\r\n1,"a ""word"",\r\nor two",0\r\n\r\n"0",,"1"\r\ntrue,x,1.0')
    tally, notes = count_with_notes(Problem("X -> Y", "Y"), path)
    assert tally.tables[do()]["X", "Y"].tolist() == [[0, 1], [1, 1]]
    assert notes.extra_columns == ("note",)
    assert notes.sentences == ('Ignored 1 column that is not a node: "note".',)


def test_names_are_compared_in_nfc(tmp_path: Path) -> None:
    problem = Problem("caf\u00e9 -> Y", "Y")
    (tmp_path / "log.csv").write_text("cafe\u0301,Y\n1,1\n")
    for source in ({"cafe\u0301": [1], "Y": [1]}, tmp_path / "log.csv", pd.DataFrame({"cafe\u0301": [1], "Y": [1]})):
        assert count(problem, source).pulls[0] == 1


def test_names_that_differ_in_case_are_different_columns(tmp_path: Path) -> None:
    problem = Problem("x -> X; X -> Y", "Y", domains={"x": ("a", "b")})
    table = {"X": [0, 1], "x": ["a", "b"], "Y": [1, 1], "y": [5, 5]}
    pq.write_table(pa.table(table), tmp_path / "log.parquet")
    pd.DataFrame(table).to_csv(tmp_path / "log.csv", index=False)
    for source in (table, tmp_path / "log.parquet", tmp_path / "log.csv"):
        found = count(problem, source, scopes=[("x", "X")]).tables[do()]["x", "X"]
        assert found.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("odd", ["a\"b'; DROP TABLE x; --", "X.Y", "X.", "", "Y\n"])
def test_a_column_with_an_odd_name_is_nobody_else(odd: str, tmp_path: Path) -> None:
    table = {odd: [1, 2], "X": [0, 1], "Y": [1, 1]}
    pq.write_table(pa.table(table), tmp_path / "log.parquet")
    tally, notes = count_with_notes(Problem("X -> Y", "Y"), tmp_path / "log.parquet")
    assert tally.tables[do()]["X", "Y"].tolist() == [[0, 1], [0, 1]]
    assert notes.extra_columns == (odd,)


@pytest.mark.parametrize(
    "name", ["lo[gs]1.csv", "a*b.csv", "it's.csv", "q?z.csv", "{x,y}.csv", "100%.csv", "s3:--b.csv"]
)
def test_a_path_is_taken_as_it_is(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("X,Y\n1,1\n")
    (tmp_path / "aXb.csv").write_text("X,Y\n0,0\n")
    assert count(Problem("X -> Y", "Y"), path).counts[0].tolist() == [0, 1]


def test_nested_columns_do_not_shift_the_others(tmp_path: Path) -> None:
    table = pa.table({"s": [{"a": 1, "b": {"c": 2}}], "X": [1], "l": [[1, 2]], "Y": [0]})
    pq.write_table(table, tmp_path / "log.parquet")
    assert count(Problem("X -> Y", "Y"), tmp_path / "log.parquet").counts[0].tolist() == [1, 0]


def test_masked_values_are_missing() -> None:
    column = np.ma.MaskedArray([1, 0, 1], mask=[False, True, False])
    tally, notes = count_with_notes(Problem("X -> Y", "Y"), {"X": column, "Y": [1, 1, 0]}, missing="drop")
    assert tally.counts[0].tolist() == [1, 1]
    assert notes.dropped == 1


def test_midnight_in_frames_is_a_date(tmp_path: Path) -> None:
    problem = Problem("X -> Y", "Y", domains={"X": ["2024-01-01", "2024-01-02"]})
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-02"], "M8[us]")
    data = {"X": days, "Y": [0, 1, 1]}
    pq.write_table(pa.table(data), tmp_path / "log.parquet")
    for source in (data, pd.DataFrame(data), pl.DataFrame(data), pa.table(data), tmp_path / "log.parquet"):
        assert count(problem, source).tables[do()]["X", "Y"].tolist() == [[1, 0], [0, 2]]


def test_batches_of_a_log_have_the_same_columns() -> None:
    problem = Problem("X -> Y", "Y")
    first = pa.record_batch({"X": [0, 1], "Y": [1, 1]})
    with pytest.raises(DataError, match=r'^Batch 2 has the columns "Y" and "X", the first "X" and "Y"\.'):
        count(problem, [first, first.select(["Y", "X"])])
    with pytest.raises(DataError, match=r'^Row 4, column X: "7"\.'):
        count(problem, [first, pa.record_batch({"X": [0, 7], "Y": [1, 1]})])
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([1])], names=["X", "X"])
    with pytest.raises(DataError, match=r'^The batch has the column "X" more than once\.'):
        count(problem, twice)


def test_a_reader_that_fails_is_told() -> None:
    schema = pa.schema({"X": pa.int8(), "Y": pa.int8()})

    def broken() -> Iterator[Any]:
        yield pa.record_batch({"X": [0], "Y": [1]}, schema)
        raise pa.ArrowInvalid("cut short")

    with pytest.raises(DataError, match=r"^The batches cannot be read to their end: .*cut short"):
        count(Problem("X -> Y", "Y"), pa.RecordBatchReader.from_batches(schema, broken()))


def test_a_file_is_counted_once_however_often_it_is_named(tmp_path: Path) -> None:
    problem = Problem("X -> Y", "Y")
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("X,Y\n1,1\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "a.csv")
    whole = str(tmp_path / "?.csv")
    for source, again in (
        ([whole], ()),
        ([tmp_path / "a.csv", whole], ("a.csv",)),
        ([whole, str(tmp_path / "b*.csv"), str(tmp_path / ".." / tmp_path.name / "a.csv")], ("b.csv", "a.csv")),
        ([whole, tmp_path / "link.csv"], ("link.csv",)),
    ):
        tally, notes = count_with_notes(problem, source)
        assert int(tally.pulls[0]) == 2
        assert notes.repeated == again
    assert notes.sentences == ('Named more than once, counted once: "link.csv".',)


@pytest.mark.slow("0.6 s: a process that may open 50 files; finds files that stay open")
@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of open files")
def test_there_may_be_more_files_than_can_be_open_at_once(tmp_path: Path) -> None:
    for number in range(60):
        pq.write_table(pa.table({"X": [0, 1], "Y": [1, 1]}), tmp_path / f"{number}.parquet")
    code = (
        "import resource, sys, whichdo as wd, pyarrow.parquet\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50))\n"
        "assert wd.count(wd.Problem('X -> Y', 'Y'), sys.argv[1]).pulls[0] == 120"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "*.parquet")], check=True)


def test_a_tally_is_returned_as_it_is() -> None:
    problem = Problem("X -> Y", "Y")
    tally = count(problem, {"X": [0, 1], "Y": [1, 1]})
    assert count(problem, tally) is tally
    with pytest.raises(UsageError, match=r"^This tally was counted for another problem\. Count the log again"):
        count(Problem("X -> Y", "Y", goal="minimize"), Tally.empty(problem))


def test_scopes_can_be_chosen() -> None:
    problem = binary_problem()
    rows = random_rows(problem, 300, seed=4)
    chosen = [("X3", "X1"), ("X0",), (), ("X3", "X1")]
    tables = count(problem, as_columns(rows), scopes=chosen).tables[do()]
    assert list(tables) == [("X3", "X1"), ("X0",), (), ("X5",)]
    for scope, table in tables.items():
        assert table.tolist() == plain_table(problem, rows, scope)
    with pytest.raises(UsageError, match='names "Q", which is not an observed node'):
        count(problem, as_columns(rows), scopes=[("Q",)])
    with pytest.raises(UsageError, match="names a column twice"):
        count(problem, as_columns(rows), scopes=[("X1", "X1")])


def test_only_what_a_scope_needs_is_read() -> None:
    """V acts on Y through W alone and is counted with it; a node that no scope holds needs no column."""
    problem = Problem("X -> Y; Y -> Z", "Y", intervene=["X"])
    assert count(problem, {"X": [0, 1], "Y": [1, 1]}).pulls[0] == 2
    assert count_with_notes(problem, {"X": [0], "Y": [1], "Z": ["whatever"]})[1].extra_columns == ()


def test_progress_is_told(tmp_path: Path) -> None:
    problem = Problem("X -> Y", "Y")
    told: list[tuple[int, int | None]] = []
    data = {"X": [0] * 25, "Y": [1] * 25}
    count_with_notes(problem, data, chunk=10, progress=lambda done, total: told.append((done, total)))
    assert told == [(10, 25), (20, 25), (25, 25)]
    pd.DataFrame(data).to_csv(tmp_path / "log.csv", index=False)
    told.clear()
    count(problem, tmp_path / "log.csv", progress=lambda done, total: told.append((done, total)))
    assert told == [(25, None)]


@pytest.mark.slow("2 s: a process of its own, to see what it imports")
def test_counting_a_dict_loads_neither_pyarrow_nor_pandas() -> None:
    code = (
        "import sys, whichdo.counting as c; assert 'numpy' not in sys.modules\n"
        "from whichdo.problem import Problem\n"
        "import numpy as np\n"
        "c.count(Problem('X -> Y', 'Y'), {'X': np.array([0, 1]), 'Y': [1, 1]})\n"
        "assert not {'duckdb', 'pandas', 'polars', 'pyarrow'} & set(sys.modules), set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_counting_a_small_file_loads_no_compiler() -> None:
    """What `rank` on the infection example waits for before anything is estimated."""
    folder = Path(__file__).parents[2] / "examples" / "infection"
    code = (
        "import sys, whichdo as wd\n"
        f"seen = wd.count(wd.read_problem({str(folder / 'problem.toml')!r}), {str(folder / 'logs.csv')!r})\n"
        "assert seen.pulls[0] == 4_000\n"
        "heavy = {'numba', 'duckdb', 'pandas', 'scipy', 'narwhals', 'pyarrow.dataset', 'pyarrow.parquet'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.soak
@pytest.mark.slow(
    "6 s: 20 processes, six at a time; three in a hundred were aborted as they ended, by pyarrow's threads"
)
def test_a_process_that_counted_a_file_ends_quietly() -> None:
    code = (
        "import whichdo as wd; folder = 'examples/infection/'\n"
        "wd.count(wd.read_problem(folder + 'problem.toml'), folder + 'logs.csv')"
    )
    root = Path(__file__).parents[2]
    for _ in range(scaled(400, 20) // 6 + 1):
        crowd = [subprocess.Popen([sys.executable, "-c", code], cwd=root) for _ in range(6)]
        assert [each.wait() for each in crowd] == [0] * 6
