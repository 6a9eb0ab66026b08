"""Every verb with joint arms."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.cli.calling import Answer, Call
from whichdo.cli import app as completion
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from pathlib import Path

    import typer

PROBLEM = """
graph = "Z -> X; X -> Y; Z -> Y; W -> X"
reward = "Y"
arms = [{X = 1, Z = 0}, {X = 1}, {X = 1, W = 1}, {X = 0, Z = 1}]
"""
JOINT = "do(X=1, Z=0)"


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.setenv("WHICHDO_DB", str(tmp_path / "campaigns.db"))
    (tmp_path / "problem.toml").write_text(PROBLEM)
    (tmp_path / "log.csv").write_text("W,Z,X,Y\n" + "0,0,0,0\n1,1,1,1\n0,0,1,1\n1,1,0,0\n" * 10)
    network = CausalNetwork(
        {
            "W": bernoulli((), 0.5),
            "Z": bernoulli((), 0.5),
            "X": bernoulli(("Z", "W"), [[0.2, 0.4], [0.6, 0.8]]),
            "Y": bernoulli(("X", "Z"), [[0.2, 0.3], [0.9, 0.1]]),
        }
    )
    network.write_bif(tmp_path / "world.bif")
    monkeypatch.chdir(tmp_path)
    return Call(monkeypatch, capsys)


def answer(found: Answer) -> Any:
    assert found.code == 0, found.err
    return json.loads(found.out)


def test_rank_lists_joint_arms(call: Call, tmp_path: Path) -> None:
    found = call("rank", "problem.toml", "log.csv")
    assert found.code == 0, found.err
    assert JOINT in found.out
    ranked = answer(call("rank", "problem.toml", "log.csv", "-f", "json"))
    arms = {row["arm"]["text"]: row for row in ranked["arms"]}
    assert arms["do(X=1, W=1)" if "do(X=1, W=1)" in arms else "do(W=1, X=1)"]["estimate"] == arms["do(X=1)"]["estimate"]
    assert arms[JOINT]["method"] == "adjustment"  # (X, Z): nothing is left to adjust for
    (tmp_path / "pulls.csv").write_text('arm,W,Z,X,Y\n"do(Z=0, X=1)",0,0,1,1\ndo(),1,0,0,1\n')
    assert call("rank", "problem.toml", "pulls.csv", "--arm", "arm").code == 0
    (tmp_path / "pulls.csv").write_text('arm,W,Z,X,Y\n"do(Z=0, X=1)",0,1,0,1\n')
    refused = call("rank", "problem.toml", "pulls.csv", "--arm", "arm")
    assert refused.code == 3
    assert "the arm is do(X=1, Z=0), but X is 0 and Z is 1: the intervention was not applied" in " ".join(
        refused.err.split()
    )


def test_inspect_reports_on_target_sets(call: Call, tmp_path: Path) -> None:
    found = answer(call("inspect", "problem.toml", "-f", "json"))
    assert [arm["text"] for arm in found["arms"]] == ["do()", JOINT, "do(X=1)", "do(W=1, X=1)", "do(X=0, Z=1)"]
    verdicts = {tuple(each.get("targets") or [each["node"]]): each for each in found["verdicts"]}
    assert list(verdicts) == [("X", "Z"), ("X",), ("W", "X")]
    assert [arm["text"] for arm in verdicts["X", "Z"]["arms"]] == [JOINT, "do(X=0, Z=1)"]
    assert (verdicts["X", "Z"]["route"], verdicts["X", "Z"]["path"]) == ("adjustment", None)
    assert verdicts["X",]["route"] == verdicts["W", "X"]["route"] == "adjustment"
    table = " ".join(call("inspect", "problem.toml").out.split())
    assert "Arms: 5, on 3 nodes in 3 sets: 3 by adjustment" in table
    assert "X, Z X=1, Z=0; X=0, Z=1 by adjustment" in table
    chosen = answer(call("inspect", "problem.toml", "--node", "W", "--node", "Y", "-f", "json"))
    assert [each.get("targets") or each["node"] for each in chosen["verdicts"]] == [["W", "X"], "Y"]
    assert call("inspect", "problem.toml", "--svg", str(tmp_path / "graph.svg")).code == 0
    assert (tmp_path / "graph.svg").read_text().startswith("<svg")


def test_simulate_finds_a_joint_arm(call: Call) -> None:
    """Y is best under do(X=1, Z=0), .9, and below .6 otherwise: UE with 500 pulls names it in all of 20 runs."""
    found = call(
        "simulate", "problem.toml", "--network", "world.bif", "--policy", "ue", "--horizon", "500", "--runs", "20"
    )
    assert found.code == 0, found.err
    refused = call("simulate", "problem.toml", "--network", "world.bif", "--policy", "nb", "--horizon", "500")
    assert refused.code == 3
    assert "nb conditions on one node at a time, and do(X=1, Z=0) sets 2" in " ".join(refused.err.split())


def test_a_campaign_with_joint_arms_from_start_to_end(call: Call, tmp_path: Path) -> None:
    started = call("start", "spring", "problem.toml", "log.csv", "--policy", "ue", "--horizon", "10", "-f", "json")
    assert answer(started)["looks_in_logs"] == 40
    context = cast("typer.Context", SimpleNamespace(params={"db": str(tmp_path / "campaigns.db"), "name": "spring"}))
    assert JOINT in completion.arms(context, "do(X=1,")
    seen = set()
    for _ in range(10):
        (ticket,) = answer(call("ask", "spring", "-f", "json"))["tickets"]
        arm = ticket["arm"]["text"]
        seen.add(arm)
        row = {"W": 0, "Z": 0, "X": 1, "Y": int(arm == JOINT)} | ticket["arm"]["settings"]
        if arm == JOINT:
            refused = call("tell", "spring", ticket["id"], json.dumps(row | {"Z": 1}))
            assert refused.code == 3
            assert "but Z is 1: the intervention was not applied" in " ".join(refused.err.split())
        told = call("tell", "spring", ticket["id"], json.dumps(row), "--arm", arm.replace(" ", ""), "-f", "json")
        assert told.code == 0, told.err
    assert seen == {"do()", JOINT, "do(X=1)", "do(W=1, X=1)", "do(X=0, Z=1)"}
    assert call("recommend", "spring").code == 0
    assert call("report", "spring", "--output", "report.html").code == 0
    assert JOINT in (tmp_path / "report.html").read_text()
    assert call("verify", "spring").code == 0
