"""``whichdo what-if``: the table, JSON, CSV, the drawing."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from tests.cli.calling import Call

EXAMPLE = Path(__file__).parents[2] / "examples" / "infection"


@pytest.fixture
def whichdo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)
    for name in ("problem.toml", "logs.csv"):
        shutil.copy(EXAMPLE / name, tmp_path)
    return Call(monkeypatch, capsys)


def test_the_table_shows_the_edits_that_change_the_choice(whichdo: Call) -> None:
    answer = whichdo("what-if", "problem.toml", "logs.csv")
    assert answer.code == 0
    assert answer.out.startswith("25 edits, 4,000 looks; minimize infection\nThe best arm, do(vaccination=1), is the ")
    assert "17 more edits (--all, --top, or -f json)." in answer.out
    assert answer.out.count("to be tried") == 6  # a sentence and five rows
    assert "180 x do(work from" in answer.out
    assert "more edit" not in whichdo("what-if", "problem.toml", "logs.csv", "--all").out
    assert "24 more edits" in whichdo("what-if", "problem.toml", "logs.csv", "--top", "1").out


def test_programs_get_the_same_document_as_python(whichdo: Call) -> None:
    found = json.loads(whichdo("what-if", "problem.toml", "logs.csv", "-f", "json").out)
    assert (found["choice"]["text"], len(found["edits"]), found["refuted"]) == ("do(vaccination=1)", 25, False)
    rows = list(csv.DictReader(io.StringIO(whichdo("what-if", "problem.toml", "logs.csv", "-f", "csv").out)))
    assert [row["edit"] for row in rows] == [each["edit"] for each in found["edits"]]
    assert rows[0]["settled_by"] == "do(social distancing=1)"


def test_the_graph_is_drawn_with_what_rests_on_its_edges(whichdo: Call, tmp_path: Path) -> None:
    answer = whichdo("what-if", "problem.toml", "logs.csv", "--svg", "edges.svg")
    assert "Drawn into edges.svg." in answer.out
    drawn = (tmp_path / "edges.svg").read_text(encoding="utf-8")
    assert drawn.count('class="edge directed vouched"') == 2
    assert drawn.count('class="edge hidden missing"') == 4
    assert drawn.count('class="edge directed missing" data-from="vaccination" data-to="face mask"') == 1


def test_edges_in_doubt_can_be_named(whichdo: Call) -> None:
    nodes = ("--node", "vaccination", "--node", "infection")
    answer = whichdo("what-if", "problem.toml", "logs.csv", *nodes, "-f", "json")
    assert [each["edit"] for each in json.loads(answer.out)["edits"]] == [
        "drop vaccination -> infection",
        "add vaccination <-> infection",
    ]
    assert whichdo("what-if", "problem.toml", "logs.csv", "--node", "mask").code != 0
