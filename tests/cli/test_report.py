"""``whichdo report``: where the page goes, and what is said about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.calling import Call
from tests.report.campaigns import begun, run
from whichdo.problem import Problem

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHICHDO_DB", "campaigns.db")
    run(begun(tmp_path, Problem("X -> Y", "Y"), name="../spring <1>", how="ue"), 5)
    return Call(monkeypatch, capsys)


def test_a_page_is_named_after_the_campaign_and_stays_in_the_folder(call: Call, tmp_path: Path) -> None:
    answer = call("report", "../spring <1>")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "The report on ../spring <1> is in spring-1.html.\n"
    assert "../spring &lt;1&gt;" in (tmp_path / "spring-1.html").read_text(encoding="utf-8")


def test_letters_of_any_language_stay(call: Call, tmp_path: Path) -> None:
    run(begun(tmp_path, Problem("X -> Y", "Y"), name="größe 東京" + "京" * 90, how="ue"), 5)
    answer = call("report", "größe 東京" + "京" * 90, "-f", "json")
    assert json.loads(answer.out)["file"] == "größe-東京" + "京" * 52 + ".html"


def test_a_program_gets_the_file_and_the_receipt(call: Call, tmp_path: Path) -> None:
    answer = call("report", "../spring <1>", "-o", "page.html", "-f", "json")
    found = json.loads(answer.out)
    assert found["file"] == "page.html"
    assert found["receipt"] in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_database_is_not_overwritten(call: Call) -> None:
    answer = call("report", "../spring <1>", "-o", "campaigns.db")
    assert answer.code == 4
    assert "is a database" in answer.err
    assert call("verify", "../spring <1>").code == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("winter",), 3, "There is no campaign"),
        (("../spring <1>", "--db", "none.db"), 5, "none.db"),
        (("../spring <1>", "-o", "nowhere/page.html"), 3, "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said(call: Call, words: tuple[str, ...], code: int, said: str) -> None:
    answer = call("report", *words)
    assert answer.code == code
    assert said in answer.err
