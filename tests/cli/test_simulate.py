"""``whichdo simulate``: the table, JSON, CSV, the plot, and what it can be told to simulate."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.cli.calling import Call
from whichdo.cli import main
from whichdo.world.instances import canonical, experiment_1
from whichdo.world.instances.shelf import read_subject, shelf
from whichdo.world.mechanism import Mechanism, bernoulli
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The front-door network with problems that fit it and one that does not, and a network of texts."""
    monkeypatch.chdir(tmp_path)
    canonical("frontdoor").network.write_bif(tmp_path / "front.bif")
    problem = 'graph = "X -> M; M -> Y; X <-> Y"\nreward = "Y"\nintervene = ["X"]\n'
    (tmp_path / "problem.toml").write_text(problem)
    (tmp_path / "part.toml").write_text('graph = "X -> Y; X <-> Y"\nreward = "Y"\n')
    (tmp_path / "other.toml").write_text(problem.replace("X <-> Y", "X -> Y"))
    (tmp_path / "graph.dot").write_text("digraph { X -> Y }")
    texts = CausalNetwork(
        {"X": bernoulli((), 0.5), "Y": Mechanism(("X",), [[0.5, 0.5], [0.1, 0.9]])}, domains={"Y": ["no", "yes"]}
    )
    texts.write_bif(tmp_path / "texts.bif")
    return tmp_path


@pytest.fixture
def whichdo(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return Call(monkeypatch, capsys)


def test_the_table_has_a_row_for_each_policy_and_horizon(whichdo: Call) -> None:
    words = ("--policy", "ue", "--policy", "srm(second_phase=rejects)", "--horizon", "2,1000", "--horizon", "60")
    answer = whichdo("simulate", "canonical:frontdoor", *words, "--runs", "50", "--workers", "1")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("canonical:1, the reward inside the component of X\n3 arms; 50 runs a row, seed 0\n")
    rows = [line.split() for line in answer.out.splitlines()]
    assert ["ue", "2", "not", "played"] in rows
    assert ["ue", "1,000", "0.0000", "0.0000", "100.0%", "1,000"] in rows
    assert [row[1] for row in rows if row and row[0] == "srm(second_phase=rejects)"] == ["2", "60", "1,000"]
    assert "! ue needs a budget of at least 3" in answer.out


def test_json_and_csv_hold_the_same_and_no_nan(whichdo: Call) -> None:
    words = (
        "simulate",
        "bows:1",
        "--policy",
        "ue",
        "--horizon",
        "2,60",
        "--runs",
        "9",
        "--seed",
        "5",
        "--workers",
        "1",
    )
    found = json.loads(whichdo(*words, "-f", "json").out, parse_constant=pytest.fail)
    assert (found["runs"], found["seed"], found["reward"], found["goal"]) == (9, 5, "Y", "maximize")
    refused, ran = found["rows"]
    assert refused["regret"] is None
    assert "at least" in refused["refusal"]
    assert ran["refusal"] is None
    rows = list(csv.DictReader(io.StringIO(whichdo(*words, "-f", "csv").out)))
    assert float(rows[1]["regret"]) == ran["regret"]
    assert rows[0]["regret"] == ""


def test_a_network_a_problem_with_its_network_and_a_name_are_the_same_subject(whichdo: Call) -> None:
    more = ("--policy", "srm", "--horizon", "60", "--runs", "20", "--workers", "1", "-f", "json")
    rows = [
        json.loads(whichdo("simulate", *words, *more).out)["rows"]
        for words in (
            ("canonical:frontdoor",),
            ("front.bif", "--reward", "Y", "--intervene", "X"),
            ("problem.toml", "--network", "front.bif"),
        )
    ]
    assert rows[0] == rows[1] == rows[2]
    part = whichdo("simulate", "part.toml", "--network", "front.bif", *more)  # M is projected out
    assert part.code == 0


def test_a_plot_is_drawn(whichdo: Call, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    answer = whichdo("simulate", "canonical:1", "--horizon", "30,60", "--runs", "9", "--plot", "regret.svg")
    assert answer.out.endswith("Drawn into regret.svg; bands are 95% intervals of the mean.\n")
    assert "Regret on canonical:1" in (folder / "regret.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "Nothing to simulate. Name a BIF file"),
        (("bows",), 2, "How long is a run? Give --horizon"),
        (("bows", "--horizon", "1_000"), 2, '--horizon is "1_000"; it must be a number'),
        (("bows", "--horizon", "0"), 2, "The horizon is 0; it must be above 0"),
        (("bows", "--horizon", "60.5"), 2, "--horizon is 60.5; it must be a whole number of pulls"),
        (("bows", "--horizon", "60", "--budget", "60"), 2, "--budget, in cost units. Found both"),
        (("bows", "--budget", "x"), 2, '--budget is "x"; it must be a number'),
        (("bows", "--horizon", "60", "--runs", "0"), 2, "number of runs is 0"),
        (("bows", "--horizon", "60", "--workers", "0"), 2, "number of workers is 0"),
        (("bows", "--horizon", "60", "--seed", "-1"), 2, "it cannot be negative"),
        (("bows", "--horizon", "60", "--policy", "best"), 2, 'There is no policy "best".'),
        (("bows", "--horizon", "1", "--policy", "ue"), 3, "ue needs a budget of at least 9"),
        (("bows", "--horizon", "60", "--reward", "Y"), 2, "bows brings its own problem: leave out --reward."),
        (("bows:7", "--horizon", "60"), 2, 'There is no "bows:7": bows has the networks bows:0 to bows:1.'),
        (("experiment-1:50", "--horizon", "60"), 2, "experiment-1:0 to experiment-1:49"),
        (("parallel:1", "--horizon", "60"), 2, "parallel has one network, without a number"),
        (("fron-door", "--horizon", "60"), 3, 'neither a file nor a network by name. Did you mean "front-door"'),
        (("front.bif", "--horizon", "60"), 2, "Which node of front.bif is the reward? Say --reward and a name, one"),
        (("front.bif", "--reward", "Z", "--horizon", "60"), 3, 'The reward "Z" is not in the graph.'),
        (("front.bif", "--reward", "Y", "--goal", "most", "--horizon", "60"), 3, 'The goal is "most"'),
        (("texts.bif", "--reward", "Y", "--horizon", "60"), 3, "[rewards], and simulate it with --network texts.bif."),
        (("graph.dot", "--reward", "Y", "--horizon", "60"), 3, "a graph without probabilities"),
        (("problem.toml", "--horizon", "60"), 2, "holds no probabilities, so there is nothing to simulate yet."),
        (("problem.toml", "--reward", "Y", "--horizon", "6"), 2, "already states these: leave out --reward."),
        (("other.toml", "--network", "front.bif", "--horizon", "6"), 3, "X -> Y is in other.toml and not in front.bif"),
        (("bows", "--network", "front.bif", "--horizon", "6"), 2, "bows is a network itself: leave out --network."),
        (
            ("experiment-4", "--policy", "importance", "--horizon", "60"),
            3,
            'whichdo.compare([whichdo.policy("importance", laws=network.parent_laws(problem))], network, problem, ...)',
        ),
    ],
)  # fmt: skip
def test_mistakes_are_told_without_a_traceback(whichdo: Call, words: tuple[str, ...], code: int, said: str) -> None:
    answer = whichdo("simulate", *words)
    assert (answer.code, answer.out) == (code, "")
    assert said in answer.err


@pytest.mark.slow("3 s: every world that is offered; finds one that no policy can play")
def test_every_name_of_the_list_can_be_simulated(whichdo: Call) -> None:
    answer = whichdo("simulate", "--list")
    assert [line.split()[0] for line in answer.out.splitlines()] == list(shelf())
    assert json.loads(whichdo("simulate", "--list", "-f", "json").out) == shelf()
    for name in shelf():
        assert read_subject(name).problem.arms
    fourth = read_subject("experiment-1:3").network
    assert fourth.graph == experiment_1(4)[3].network.graph


@pytest.mark.slow("3 s: interrupts a command and its workers; finds processes that are left or complain")
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_ctrl_c_ends_it_quickly_and_quietly(folder: Path) -> None:
    """As a terminal does, the interrupt goes to all processes at once; none is left and none says a word."""
    code = (
        "from whichdo import simulation\n"
        "simulation.SURE = simulation.WORTH = 0.0\n"
        "from whichdo.cli import main\n"
        "if __name__ == '__main__': main()\n"
    )
    (folder / "command.py").write_text(code)
    words = ["simulate", "canonical:1", "--policy", "srm", "--horizon", "500", "--runs", "1000000", "--workers", "2"]
    command = subprocess.Popen(
        [sys.executable, "command.py", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while len(members(command.pid)) < 4 and time.monotonic() < deadline:  # itself, a tracker and two workers
        time.sleep(0.05)
    time.sleep(0.5)  # some of them still import
    os.killpg(command.pid, signal.SIGINT)
    began = time.monotonic()
    out, err = command.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert command.returncode == 130
    assert out == ""
    assert [line for line in err.splitlines() if not line.startswith("Compiling for this machine")] == []
    while members(command.pid) and time.monotonic() < began + 10:  # the tracker ends when it sees that all others have
        time.sleep(0.05)
    assert members(command.pid) == []


def test_an_interrupt_that_finds_compiled_code_at_work_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: numba's dispatcher gives a SystemError, caused by the interrupt."""

    def interrupted() -> None:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr("whichdo.cli._run", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


def members(group: int) -> list[str]:
    """The processes of a process group."""
    found = subprocess.run(["ps", "-o", "pid=", "-g", str(group)], capture_output=True, text=True, check=False)
    return found.stdout.split()
