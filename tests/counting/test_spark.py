"""What only Spark has: sessions that stop, jobs that are cancelled, files that vanish, instants, and no snapshots.

Run by `make spark`; that Spark counts as every other engine does is in test_warehouse.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whichdo as wd
from tests.cli.calling import Call
from tests.counting.warehouses import into_spark, spark_session
from whichdo.counting.addresses import table_at
from whichdo.counting.warehouse import Engine, ibis, recorded
from whichdo.errors import DataError, StorageError, TooLargeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

if os.environ.get("WHICHDO_SPARK") != "1":
    pytest.skip("Spark is started by make spark alone", allow_module_level=True)

# Spark leaves the sockets by which it sends rows to be closed by whoever collects them.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

PROBLEM = wd.Problem("Z -> X; Z -> Y; X -> Y", "Y", ["X"])


def visits(number: int = 300, **other: Any) -> pa.Table:
    random = np.random.default_rng(6)
    return pa.table({name: random.integers(0, 2, number) for name in "ZXY"} | other)


@pytest.fixture
def backend() -> Any:
    return ibis().pyspark.connect(spark_session())


@pytest.fixture
def stored(backend: Any, tmp_path: Path) -> Iterator[Any]:
    """A table of the catalog, which others may write to."""
    into_spark(backend, tmp_path, "loaded", visits())
    spark_session().sql("CREATE TABLE stored USING parquet AS SELECT * FROM loaded")
    yield backend.table("stored")
    spark_session().sql("DROP TABLE stored")


def test_nothing_is_made_and_a_union_is_asked(stored: Any, backend: Any) -> None:
    before = {each.name for each in spark_session().catalog.listTables()}
    table = table_at("pyspark://", "stored", "X >= 0")
    with recorded() as ran:
        assert wd.rank(PROBLEM, table, missing="drop").to_dict() == wd.rank(PROBLEM, visits(), missing="drop").to_dict()
    assert {each.name for each in spark_session().catalog.listTables()} == before
    assert any("UNION ALL" in each.sql for each in ran)
    assert not any("GROUPING SETS" in each.sql for each in ran)
    assert all(each.engine.startswith("pyspark 4") for each in ran)


def test_rows_that_come_in_meanwhile_are_an_error(stored: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Engine.run

    def busy(self: Engine, sql: str) -> Any:
        found = run(self, sql)
        spark_session().sql("INSERT INTO stored SELECT * FROM loaded LIMIT 10")
        return found

    monkeypatch.setattr(Engine, "run", busy)
    with pytest.raises(DataError, match="changed while it was counted: it had 300 rows, and then 310"):
        wd.rank(PROBLEM, stored)


def test_a_job_that_is_cancelled_says_so(stored: Any) -> None:
    """As by a time limit that an operator sets: Spark has none."""
    done = threading.Event()

    def cancel() -> None:
        while not done.wait(0.002):
            spark_session().sparkContext.cancelAllJobs()

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(StorageError, match=r"cannot be asked: .*cancel.*Nothing was stored"):
            wd.rank(PROBLEM, stored)
    finally:
        done.set()
        thread.join()
    assert wd.rank(PROBLEM, stored).looks == 300


def test_files_that_vanish_are_an_error(backend: Any, tmp_path: Path) -> None:
    table = into_spark(backend, tmp_path, "vanishing", visits())
    next(tmp_path.glob("*.parquet")).unlink()
    with pytest.raises(StorageError, match=r'Table "vanishing" cannot be asked: .*Nothing was stored'):
        wd.rank(PROBLEM, table)


def test_an_instant_is_the_same_in_every_time_zone(backend: Any, tmp_path: Path) -> None:
    moments = [datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 7, 1, 12, tzinfo=UTC)]
    random = np.random.default_rng(9)
    picked = [moments[place] for place in random.integers(0, 2, 200)]
    rows = pa.table(
        {
            "Z": pa.array(picked, pa.timestamp("us", "UTC")),
            "X": random.integers(0, 2, 200),
            "Y": random.integers(0, 2, 200),
        }
    )
    problem = wd.Problem("Z -> X; Z -> Y; X -> Y", "Y", ["X"], domains={"Z": tuple(map(str, moments))})
    table = into_spark(backend, tmp_path, "instants", rows)
    assert wd.rank(problem, table).to_dict() == wd.rank(problem, rows).to_dict()


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_counts_over_2_to_the_63_are_refused(backend: Any, tmp_path: Path, ansi: str) -> None:
    """Without ANSI rules a sum of whole numbers in Spark goes round silently: five times 2^62 would be 2^62."""
    rows = pa.table({name: [1] * 5 for name in "ZXY"} | {"times": [2**62] * 5})
    table = into_spark(backend, tmp_path, "heavy", rows)
    before = spark_session().conf.get("spark.sql.ansi.enabled")
    spark_session().conf.set("spark.sql.ansi.enabled", ansi)
    try:
        with pytest.raises(TooLargeError, match="more than a table can hold"):
            wd.count(PROBLEM, table, counts="times")
    finally:
        spark_session().conf.set("spark.sql.ansi.enabled", before)


def test_conditions_and_names_cannot_do_anything_else(stored: Any) -> None:
    for where in ("1 = 1; DROP TABLE stored", "1 = 1)", "", "X >="):
        with pytest.raises(UsageError, match="The condition"):
            table_at("pyspark://", "stored", where)
    for name in ("stored; DROP TABLE stored", "stored`", "`stored", "nobody"):
        with pytest.raises(DataError, match="has no table"):
            table_at("pyspark://", name)
    assert wd.rank(PROBLEM, table_at("pyspark://", "default.stored")).looks == 300


def test_the_command_line(
    stored: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = Call(monkeypatch, capsys)
    monkeypatch.chdir(tmp_path)
    problem = 'graph = "Z -> X; Z -> Y; X -> Y"\nreward = "Y"\nintervene = ["X"]\n'
    (tmp_path / "problem.toml").write_text(problem, encoding="utf-8")
    pq.write_table(visits(), tmp_path / "visits.parquet", write_page_checksum=True)
    by_file = call("rank", "problem.toml", "visits.parquet", "-f", "json")
    by_table = call("rank", "problem.toml", "pyspark://", "--table", "stored", "-f", "json", "--explain")
    assert by_table.code == by_file.code
    assert json.loads(by_table.out) == json.loads(by_file.out)
    assert "-- pyspark 4" in by_table.err
    wrong = call("rank", "problem.toml", "pyspark://", "--table", "stored", "--where", "nobody > 1")
    assert wrong.code == 5
    assert "nobody" in wrong.err
    assert len(wrong.err) < 1_000


def test_without_java_it_says_so() -> None:
    script = (
        "from whichdo.counting.addresses import table_at\n"
        "try:\n    table_at('pyspark://', 'visits')\n"
        "except Exception as error:\n    print(type(error).__name__, error)"
    )
    away = os.environ | {"JAVA_HOME": "/nowhere"}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=away, check=True)
    assert ran.stdout.startswith("StorageError pyspark:// cannot be reached")
    assert "Is a Java runtime installed" in ran.stdout


def test_a_session_that_is_stopped_says_so() -> None:
    """In a process of its own, since all other tests share a session."""
    script = (
        "from tests.counting.test_spark import PROBLEM, visits\n"
        "import ibis, whichdo as wd\n"
        "from tests.counting.warehouses import spark_session\n"
        "spark_session().createDataFrame(visits()).createOrReplaceTempView('visits')\n"
        "table = ibis.pyspark.connect(spark_session()).table('visits')\n"
        "assert wd.rank(PROBLEM, table).looks == 300\n"
        "spark_session().stop()\n"
        "try:\n    wd.rank(PROBLEM, table)\n"
        "except Exception as error:\n    print(type(error).__name__, error)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith('StorageError Table "visits" cannot be')
    assert "Nothing was stored" in ran.stdout
