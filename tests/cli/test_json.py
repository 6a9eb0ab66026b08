"""Every verb with ``-f json``: what it prints is `to_dict` of the result that Python gets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whichdo as wd
from tests.cli.calling import Call
from whichdo.cli.app import VERBS
from whichdo.frames import plain
from whichdo.remedies import Message, Option

if TYPE_CHECKING:
    from collections.abc import Callable

PROBLEM = 'graph = "Z -> X; X -> Y; Z -> Y"\nreward = "Y"\nintervene = ["X"]\n'
HORIZON = ("--policy", "ue", "--horizon", "12")


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    (tmp_path / "problem.toml").write_text(PROBLEM)
    rows = [(z, x, y) for z in (0, 1) for x in (0, 1) for y in (0, 1) for _ in range(5 + 3 * (x == y) + z)]
    (tmp_path / "log.csv").write_text("Z,X,Y\n" + "".join(f"{z},{x},{y}\n" for z, x, y in rows))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHICHDO_DB", "campaigns.db")
    return Call(monkeypatch, capsys)


def printed(call: Call, *words: str) -> Any:
    answer = call(*words, "-f", "json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out, parse_constant=pytest.fail)


def dumped(content: Any) -> Any:
    """As a program reads it."""
    return json.loads(json.dumps(content, allow_nan=False))


def open_campaign() -> wd.Campaign:
    return wd.Campaign.open("campaigns.db", "spring")


def started(call: Call) -> None:
    printed(call, "start", "spring", "problem.toml", "log.csv", *HORIZON)


def check_rank(call: Call) -> None:
    found = wd.rank(wd.read_problem("problem.toml"), "log.csv", confidence=0.9)
    assert printed(call, "rank", "problem.toml", "log.csv", "--confidence", "0.9") == dumped(found.to_dict())
    assert found.to_dict()["arms"][1]["arm"] == {"settings": {"X": 0}, "text": "do(X=0)"}


def check_check(call: Call) -> None:
    found = wd.check(wd.read_problem("problem.toml"), "log.csv")
    assert printed(call, "check", "problem.toml", "log.csv") == dumped(found.to_dict())


def check_what_if(call: Call) -> None:
    found = wd.what_if(wd.read_problem("problem.toml"), "log.csv")
    assert printed(call, "what-if", "problem.toml", "log.csv") == dumped(found.to_dict())


def check_init(call: Call) -> None:
    from whichdo.proposing.proposal import proposal

    found = proposal("log.csv", "Z -> X; X -> Y; Z -> Y", "Y")
    words = ("init", "log.csv", "Z -> X; X -> Y; Z -> Y", "--reward", "Y", "-o", "other.toml")
    assert printed(call, *words) == dumped({"written": "other.toml"} | found.to_dict())


def check_inspect(call: Call) -> None:
    from whichdo.report.inspection import inspect_file

    assert printed(call, "inspect", "problem.toml") == dumped(inspect_file(Path("problem.toml")).to_dict())


def check_simulate(call: Call) -> None:
    from whichdo.world.instances.shelf import read_subject

    found = printed(
        call, "simulate", "experiment-3", "--policy", "ue", "--horizon", "60", "--runs", "3", "--workers", "1"
    )
    subject = read_subject("experiment-3")
    same = wd.compare(["ue"], subject.network, subject.problem, horizons=[60], runs=3, seed=0, workers=1)
    assert found == dumped(replace(same, subject=subject.title).to_dict())


def check_reproduce(call: Call) -> None:
    pytest.importorskip("matplotlib")
    from whichdo.experiments.executors import Processes
    from whichdo.experiments.reproduce import Plan, chosen_policies, reproduce

    words = ("reproduce", "1", "--quick", "--policies", "sr", "--workers", "1", "--out", "results")
    found = printed(call, *words)
    again = reproduce(Plan(chosen_policies(["sr"], [1]), 0, quick=True), Path("results"), Processes(1)).to_dict()
    changing = {"seconds", "cells_computed"}
    assert found.keys() == again.keys()
    assert {name: found[name] for name in found.keys() - changing} == {
        name: dumped(again)[name] for name in again.keys() - changing
    }


def check_start(call: Call) -> None:
    found = printed(call, "start", "spring", "problem.toml", "log.csv", *HORIZON)
    same = open_campaign().status()
    assert found == dumped(replace(same, notes=("log.csv: 56 looks observed.",)).to_dict())


def check_status(call: Call) -> None:
    started(call)
    printed(call, "forbid", "spring", "do(X=1)", "--reason", "unsafe")
    printed(call, "ask", "spring", "-n", "2")
    found = printed(call, "status", "spring")
    assert found == dumped(open_campaign().status().to_dict())
    assert [each["arm"].keys() for each in found["open"]] == [{"settings", "text"}] * 2
    assert found["forbidden"] == [{"arm": {"settings": {"X": 1}, "text": "do(X=1)"}, "reason": "unsafe"}]
    assert printed(call, "status") == {"campaigns": ["spring"]}


def check_recommend(call: Call) -> None:
    started(call)
    found = printed(call, "recommend", "spring", "--confidence", "0.9")
    assert found == dumped(open_campaign().recommend(confidence=0.9).to_dict())
    assert found["certainty"]["arms"][0]["arm"] == {"settings": {}, "text": "do()"}


def check_ask(call: Call) -> None:
    started(call)
    found = printed(call, "ask", "spring", "-n", "2", "--client", "me")
    same = open_campaign().ask(2, client="me")
    assert [each | {"again": None} for each in found["tickets"]] == [
        dumped(each.to_dict()) | {"again": None} for each in same
    ]
    assert all(each.to_dict()["again"] for each in same)
    assert found["finished"] is False


def check_receipts(call: Call) -> None:
    """Tell, void, amend and the verbs of whole campaigns: a receipt each, and what it is about."""
    started(call)
    first, second = printed(call, "ask", "spring", "-n", "2")["tickets"]
    row = json.dumps({"Z": 0, "X": 0, "Y": 1} | first["arm"]["settings"])
    campaign = open_campaign()
    told = printed(call, "tell", "spring", first["id"], row)
    assert told == {
        "receipts": [
            {"ticket": first["id"]} | campaign.tell(first["id"], json.loads(row)).to_dict() | {"repeated": False}
        ]
    }
    voided = printed(call, "void", "spring", second["id"], "--reason", "lost")
    assert voided == {
        "receipts": [{"ticket": second["id"]} | campaign.void(second["id"], "lost").to_dict() | {"repeated": False}]
    }
    for words, about in (
        (("amend", "spring", first["id"], row.replace('"Y": 1', '"Y": 0'), "--reason", "a slip"), {"ticket"}),
        (("pause", "spring", "--reason", "away"), set()),
        (("resume", "spring", "--reason", "back"), set()),
        (("forbid", "spring", "do(X=1)", "--reason", "unsafe"), {"arms"}),
        (("allow", "spring", "do(X=1)", "--reason", "safe"), {"arms"}),
        (("restart", "spring", "--reason", "anew"), set()),
        (("observe", "spring", "log.csv"), {"log"}),
    ):
        (receipt,) = printed(call, *words)["receipts"]
        assert receipt.keys() == about | {"receipt", "repeated", "notes"}, words
        assert receipt.get("arms", [wd.do(X=1).to_dict()]) == [wd.do(X=1).to_dict()]


def check_verify(call: Call) -> None:
    started(call)
    whole = dumped(open_campaign().verify().to_dict())
    assert printed(call, "verify", "spring") == whole
    assert printed(call, "export", "spring", "log.jsonl").keys() == {"campaign", "file", "events"}
    assert printed(call, "import", "log.jsonl", "--db", "other.db") == whole
    assert printed(call, "backup", "copy.db") == {"file": "copy.db"}
    assert printed(call, "report", "spring", "-o", "page.html").keys() == {"campaign", "file", "receipt"}


VISITS: dict[Callable[[Call], None], tuple[str, ...]] = {
    check_rank: ("rank",),
    check_check: ("check",),
    check_what_if: ("what-if",),
    check_init: ("init",),
    check_inspect: ("inspect",),
    check_simulate: ("simulate",),
    check_reproduce: ("reproduce",),
    check_start: ("start",),
    check_status: ("status",),
    check_recommend: ("recommend",),
    check_ask: ("ask",),
    check_receipts: ("tell", "void", "amend", "pause", "resume", "forbid", "allow", "restart", "observe"),
    check_verify: ("verify", "export", "import", "backup", "report"),
}


SLOW: dict[Callable[[Call], None], pytest.MarkDecorator] = {
    check_reproduce: pytest.mark.slow("2 s: an experiment twice, with its figure"),
    check_simulate: pytest.mark.slow("1 s: two simulations"),
}


@pytest.mark.parametrize("visit", [pytest.param(each, marks=SLOW.get(each, ()), id=each.__name__) for each in VISITS])
def test_a_verb_prints_the_dict_of_its_result(visit: Callable[[Call], None], call: Call) -> None:
    visit(call)


def test_every_verb_is_visited() -> None:
    """All but the demo, which tells a story and has no result."""
    assert {verb for verbs in VISITS.values() for verb in verbs} == set(VERBS) - {"demo"}


def test_plain_values() -> None:
    found = plain({"a": float("nan"), "b": (wd.do(X=1), None), "c": {"d": [Message("x ", Option("y"))]}, "e": True})
    assert found == {"a": None, "b": [wd.do(X=1).to_dict(), None], "c": {"d": ["x `y`"]}, "e": True}
    assert type(found["c"]["d"][0]) is str
