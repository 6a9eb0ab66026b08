"""Verbs that are given a table of a database."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import whichdo as wd
from tests.cli.calling import Call
from tests.counting.warehouses import into_duckdb

if TYPE_CHECKING:
    from pathlib import Path

ibis = pytest.importorskip("ibis", reason="the extra warehouse is not installed")
# Ibis 12 asks DuckDB 2 for types by a name that will go.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

PROBLEM = 'graph = "Z -> X; Z -> Y; X -> Y"\nreward = "Y"\nintervene = ["X"]\n'


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return Call(monkeypatch, capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a problem, and the same log as a file and as a table."""
    random = np.random.default_rng(4)
    rows = pa.table({name: random.integers(0, 2, 500) for name in "ZXY"} | {"day": ["2025-12-31", "2026-01-01"] * 250})
    (tmp_path / "problem.toml").write_text(PROBLEM, encoding="utf-8")
    pyarrow.csv.write_csv(rows.slice(0, 500).filter(pa.array([False, True] * 250)), tmp_path / "late.csv")
    backend = ibis.duckdb.connect(tmp_path / "shop.db")
    into_duckdb(backend, "visits", rows)
    backend.disconnect()
    monkeypatch.chdir(tmp_path)
    return tmp_path


TABLE = ("duckdb:///shop.db", "--table", "visits", "--where", "day >= '2026-01-01'")


@pytest.mark.usefixtures("folder")
def test_rank_and_check(call: Call) -> None:
    for verb in ("rank", "check"):
        by_file = call(verb, "problem.toml", "late.csv", "-f", "json")
        by_table = call(verb, "problem.toml", *TABLE, "-f", "json", "--explain")
        assert by_table.code == by_file.code
        assert json.loads(by_table.out) == json.loads(by_file.out)
        assert "-- duckdb" in by_table.err
        assert "GROUP BY" in by_table.err or verb == "check"
        assert "rows back" in by_table.err or verb == "check"


@pytest.mark.usefixtures("folder")
def test_observe_stores_what_ran(call: Call) -> None:
    db = ("--db", "campaigns.db")
    assert call("start", "trial", "problem.toml", "--horizon", "50", *db).code == 0
    first = call("observe", "trial", *TABLE, *db)
    assert first.code == 0
    assert "visits: 250 looks observed" in first.out
    again = call("observe", "trial", *TABLE, *db)
    assert "observed before; counted once" in again.out
    events = wd.Campaign.open("sqlite:///campaigns.db", "trial").export_lines()
    bodies = [json.loads(line) for line in events]
    (observed,) = [each for each in bodies if "observed" in json.dumps(each) and "visits" in json.dumps(each)]
    text = json.dumps(observed)
    assert "GROUP BY" in text
    assert '"rows": 250' in text or '\\"rows\\":250' in text
    assert "digest" in text
    assert call("recommend", "trial", *db).code == 0
    assert call("verify", "trial", *db).code == 0


def test_what_cannot_be_counted_is_not_stored(call: Call, folder: Path) -> None:
    db = ("--db", "campaigns.db")
    assert call("start", "trial", "problem.toml", "--horizon", "50", *db).code == 0
    backend = ibis.duckdb.connect(folder / "shop.db")
    backend.con.execute("UPDATE visits SET X = 7 WHERE day = '2026-01-01' AND Y = 1")
    backend.disconnect()
    before = [*wd.Campaign.open("sqlite:///campaigns.db", "trial").export_lines()]
    answer = call("observe", "trial", *TABLE, *db)
    assert answer.code == 3
    assert 'Table "visits", a row with' in " ".join(answer.err.split())
    assert [*wd.Campaign.open("sqlite:///campaigns.db", "trial").export_lines()] == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("duckdb:///shop.db",), 2, "Which table? Give --table"),
        (("late.csv", "--table", "visits"), 2, "--table goes with the address"),
        (("late.csv", "--where", "1 = 1"), 2, "--where goes with"),
        (("duckdb:///shop.db", "--table", "visit"), 3, 'has no table "visit"'),
        (("duckdb:///none.db", "--table", "visits"), 5, "cannot be reached"),
        (("postgresql://me:hunter2@127.0.0.1:1/x", "--table", "visits"), 5, "me:***@127.0.0.1"),
        (("duckdb:///shop.db", "--table", "visits", "--where", "nobody > 1"), 5, "nobody"),
        (("pyspark://host:7077", "--table", "visits"), 2, "what Spark runs on is a setting"),
        (("nothing://host", "--table", "visits"), 5, "nothing://host cannot be reached"),
    ],
)
def test_what_is_wrong_is_said(call: Call, words: tuple[str, ...], code: int, said: str) -> None:
    answer = call("rank", "problem.toml", *words)
    assert answer.code == code
    assert said in " ".join((answer.out + answer.err).split())
    assert "hunter2" not in answer.out + answer.err


@pytest.mark.usefixtures("folder")
def test_without_spark_it_says_how_to_install_it(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    answer = call("rank", "problem.toml", "pyspark://", "--table", "visits")
    assert answer.code == 2
    said = " ".join((answer.out + answer.err).split())
    assert 'pip install "whichdo[spark]"' in said
    assert "Java runtime" in said
