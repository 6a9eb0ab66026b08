"""``whichdo check``: the table, JSON, the exit code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.checking.test_check import CHAIN, survey
from tests.cli.calling import Call

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def whichdo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """A survey, a problem whose graph lacks an arrow, and one whose graph has it."""
    monkeypatch.chdir(tmp_path)
    rows = survey()
    lines = [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
    (tmp_path / "logs.csv").write_text("\n".join(lines) + "\n")
    for name, graph in (("wrong", CHAIN), ("right", f"{CHAIN}; age -> ill")):
        text = f'graph = "{graph}"\nreward = "ill"\ngoal = "minimize"\nintervene = ["mask"]\n'
        (tmp_path / f"{name}.toml").write_text(text)
    return Call(monkeypatch, capsys)


def test_logs_that_do_not_contradict_the_graph_exit_0(whichdo: Call) -> None:
    answer = whichdo("check", "right.toml", "logs.csv")
    assert answer.code == 0
    assert answer.out.startswith("2 statements tested on 4,000 rows, none fails.\n")


def test_logs_that_contradict_the_graph_exit_1_and_name_the_edge(whichdo: Call) -> None:
    answer = whichdo("check", "wrong.toml", "logs.csv")
    assert answer.code == 1
    assert "4 statements tested on 4,000 rows, 3 fail: age and ill given" in answer.out.replace("\n", " ")
    assert "Likely missing: age <-> ill, age -> ill" in answer.out
    assert "fails" in answer.out


def test_json_is_the_dict_of_the_check(whichdo: Call) -> None:
    answer = whichdo("check", "wrong.toml", "logs.csv", "-f", "json")
    assert answer.code == 1
    content = json.loads(answer.out)
    assert content["ok"] is False
    assert [each["fails"] for each in content["statements"]].count(True) == 3


def test_an_absent_file_is_an_error_of_its_own(whichdo: Call) -> None:
    assert whichdo("check", "wrong.toml", "nowhere.csv").code == 3
