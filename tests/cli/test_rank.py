"""``whichdo rank``: the table, JSON, CSV, the plot, and what bad logs get."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.cli.calling import Call
from tests.estimate.wide import many_parents
from whichdo.world.instances import canonical

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A front-door problem and 2,000 rows of logs."""
    monkeypatch.chdir(tmp_path)
    rows = canonical("frontdoor").network.sample(2000, seed=1)
    lines = [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
    (tmp_path / "logs.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "problem.toml").write_text('graph = "X -> M; M -> Y; X <-> Y"\nreward = "Y"\nintervene = ["X"]\n')
    return tmp_path


@pytest.fixture
def whichdo(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return Call(monkeypatch, capsys)


def test_the_table_says_what_is_best_and_why(whichdo: Call) -> None:
    answer = whichdo("rank", "problem.toml", "logs.csv")
    assert answer.code == 0
    assert answer.out.startswith("3 arms, 2,000 looks; maximize Y\n")
    (row,) = (
        row
        for row in json.loads(whichdo("rank", "problem.toml", "logs.csv", "-f", "json").out)["arms"]
        if row["arm"]["text"] == "do(X=1)"
    )
    assert row["reason"].startswith("X <-> Y is blocked by M: ")
    assert "Best: do(X=1)" in answer.out
    assert "; against doing nothing +0." in answer.out
    assert "The best of all arms with probability 100% (10,000 draws)." in answer.out


def test_what_comes_from_experiments_is_said_below_the_table(whichdo: Call, folder: Path) -> None:
    """Rows of experiments on M teach about X: in the reading `robust` they are added to the looks."""
    lines = (folder / "logs.csv").read_text().splitlines()
    place = lines[0].split(",").index("M")
    texts = [f"do(M={line.split(',')[place]})" if number % 4 == 0 else "" for number, line in enumerate(lines[1:])]
    rows = [f"{line},{text}" for line, text in zip(lines[1:], texts, strict=True)]
    (folder / "tried.csv").write_text("\n".join([f"{lines[0]},what", *rows]) + "\n")
    (folder / "both.toml").write_text('graph = "X -> M; M -> Y; X <-> Y"\nreward = "Y"\nintervene = ["X", "M"]\n')
    answer = whichdo("rank", "both.toml", "tried.csv", "--arm", "what")
    assert "What each is estimated from, and what each source says alone:" in answer.out
    assert "do(X=1): looks " in " ".join(answer.out.split())
    as_json = json.loads(whichdo("rank", "both.toml", "tried.csv", "--arm", "what", "-f", "json").out)
    sources = {row["arm"]["text"]: [each["source"] for each in row["sources"]] for row in as_json["arms"]}
    assert sources["do(X=1)"] == ["looks", "do(M)"]
    table = list(
        csv.DictReader(io.StringIO(whichdo("rank", "both.toml", "tried.csv", "--arm", "what", "-f", "csv").out))
    )
    assert next(row for row in table if row["arm"] == "do(X=1)")["sources"].startswith("looks ")
    assert "What each is estimated from" not in whichdo("rank", "problem.toml", "logs.csv").out


def test_one_look_is_one_look(whichdo: Call, folder: Path) -> None:
    (folder / "one.csv").write_text("X,M,Y\n1,1,1\n")
    answer = whichdo("rank", "problem.toml", "one.csv")
    assert answer.out.startswith("3 arms, 1 look; maximize Y\n")
    assert "1 looks" not in answer.out


def test_forty_parents_and_a_confounder_are_no_obstacle(whichdo: Call, folder: Path) -> None:
    """Only P(A) and P(Y | A, X) to know; with all of them acting on Y, half of the strata never had X=1."""
    network, _ = many_parents(40)
    rows = network.sample(2000, seed=1)
    lines = [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
    (folder / "wide.csv").write_text("\n".join(lines) + "\n")
    parents = " ".join(f"X{number}" for number in range(40))
    text = f"{{{parents}}} -> X; X <-> A; A -> Y; X -> Y"
    (folder / "wide.toml").write_text(f'graph = "{text}"\nreward = "Y"\nintervene = ["X"]\n')
    arms = {
        row["arm"]["text"]: row
        for row in json.loads(whichdo("rank", "wide.toml", "wide.csv", "-f", "json").out)["arms"]
    }
    assert (arms["do(X=1)"]["method"], arms["do(X=1)"]["given"]) == ("adjustment", ["A"])
    assert arms["do(X=1)"]["reason"].startswith("adjusting for A: ")
    assert 0 <= arms["do(X=1)"]["low"] < arms["do(X=1)"]["estimate"] < arms["do(X=1)"]["high"] <= 1
    (folder / "wide.toml").write_text(f'graph = "{text}; {{{parents}}} -> Y"\nreward = "Y"\nintervene = ["X"]\n')
    arms = {
        row["arm"]["text"]: row
        for row in json.loads(whichdo("rank", "wide.toml", "wide.csv", "-f", "json").out)["arms"]
    }
    share = 1 - np.mean(rows["X"])  # every row is a stratum of its own: those of X=0 have none of X=1
    assert arms["do(X=1)"]["unseen"] == pytest.approx(share)
    assert arms["do(X=1)"]["must_try"]
    assert arms["do(X=1)"]["reason"].startswith("adjusting for X0, X1, X2, X3, X4 and 36 more: no row had X0=")


def test_json_holds_every_field_and_no_nan(whichdo: Call, folder: Path) -> None:
    (folder / "problem.toml").write_text('graph = "X -> M; M -> Y; X -> Y; X <-> Y"\nreward = "Y"\n')
    answer = whichdo("rank", "problem.toml", "logs.csv", "-f", "json")
    found = json.loads(answer.out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    arms = {row["arm"]["text"]: row for row in found["arms"]}
    assert arms["do(X=1)"]["estimate"] is None
    assert arms["do(X=1)"]["must_try"]
    assert arms["do(M=1)"]["method"] == "adjustment"
    assert found["looks"] == 2000
    assert "Not estimated, to be tried: do(X=1)." in found["warnings"]  # do(X=0) is worse, by its bounds
    low, high = arms["do(X=0)"]["bounds"]
    assert (low, high) == (arms["do(X=0)"]["low"], arms["do(X=0)"]["high"])
    assert high < found["best_low"]
    assert not arms["do(X=0)"]["must_try"]
    assert arms["do(M=1)"]["bounds"] is None


def test_csv_is_a_table(whichdo: Call) -> None:
    rows = list(csv.DictReader(io.StringIO(whichdo("rank", "problem.toml", "logs.csv", "-f", "csv").out)))
    assert [row["arm"] for row in rows] == ["do()", "do(X=0)", "do(X=1)"]
    assert float(rows[2]["low"]) < 0.65 < float(rows[2]["high"])


@pytest.mark.parametrize(
    "name",
    [
        "forest.png",
        pytest.param("forest.svg", marks=pytest.mark.slow("0.2 s: another format")),
        pytest.param("forest.pdf", marks=pytest.mark.slow("0.2 s: another format")),
    ],
)
def test_a_plot_is_drawn(whichdo: Call, folder: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    assert whichdo("rank", "problem.toml", "logs.csv", "--plot", name).code == 0
    assert (folder / name).stat().st_size > 5_000


def test_a_plot_of_no_known_kind_is_refused(whichdo: Call) -> None:
    pytest.importorskip("matplotlib")
    answer = whichdo("rank", "problem.toml", "logs.csv", "--plot", "forest.xyz")
    assert (answer.code, answer.out) == (2, "")
    assert "forest.xyz does not show which format to draw: end it in .png, .svg, .pdf." in answer.err


def test_several_files_are_one_log(whichdo: Call, folder: Path) -> None:
    (folder / "more.csv").write_text((folder / "logs.csv").read_text())
    assert whichdo("rank", "problem.toml", "logs.csv", "more.csv").out.startswith("3 arms, 4,000 looks")
    assert whichdo("rank", "problem.toml", "*.csv").out.startswith("3 arms, 4,000 looks")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("problem.toml", "none.csv"), 3, "There is no file"),
        (("problem.toml", "logs.csv", "--counts", "n"), 3, "n"),
        (("problem.toml", "logs.csv", "--confidence", "95"), 2, "it must lie between 0 and 1"),
        (("problem.toml", "logs.csv", "--missing", "ignore"), 2, "ignore"),
        (("problem.toml",), 2, "logs"),
    ],
)
def test_mistakes_are_told_without_a_traceback(whichdo: Call, words: tuple[str, ...], code: int, said: str) -> None:
    answer = whichdo("rank", *words)
    assert answer.code == code
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_options_are_named_as_they_are_typed(whichdo: Call, folder: Path) -> None:
    lines = (folder / "logs.csv").read_text().splitlines()
    (folder / "holes.csv").write_text("\n".join([*lines, ",0,1"]) + "\n")
    (folder / "na.csv").write_text("\n".join([*lines, "NA,0,1"]) + "\n")
    for words, said in (
        (("holes.csv",), "drop these rows (--missing drop)"),
        (("na.csv",), "count missing as a separate value (--missing level)"),
        (("logs.csv", "--missing", "fill"), '--missing is "fill"; it must be "error", "drop" or "level".'),
        (("logs.csv", "--counts", "X"), '--counts names "X", which is a node of the graph.'),
        (("logs.csv", "--arm", "done"), 'no column "done", which --arm names.'),
        (("logs.csv", "--arm", "n", "--counts", "n"), '--counts and --arm name the same column, "n".'),
        (("logs.csv", "--sampled", "0", "--reading", "paper"), "or sum exactly (no --sampled)."),
        (("logs.csv", "--sampled", "5"), "--sampled belongs to the paper's way of estimating; say --reading paper."),
    ):
        answer = whichdo("rank", "problem.toml", *words)
        assert answer.code in {2, 3}
        assert said in answer.err
    assert whichdo("rank", "problem.toml", "holes.csv", "--missing", "drop").code == 0


def test_a_value_outside_the_domain_is_shown_with_its_row(whichdo: Call, folder: Path) -> None:
    lines = (folder / "logs.csv").read_text().splitlines()
    lines[17] = "2,0,1"
    (folder / "logs.csv").write_text("\n".join(lines) + "\n")
    answer = whichdo("rank", "problem.toml", "logs.csv")
    assert answer.code == 3
    assert 'Row 17, column X: "2". Allowed: 0, 1. 1 such value in 1 column.' in answer.err


def test_a_model_by_name_and_what_is_not_one(whichdo: Call, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="models are an extra")
    problem, log = tmp_path / "problem.toml", tmp_path / "log.csv"
    problem.write_text('graph = "Z -> {X Y}; X -> Y; W -> Y; W <-> Y"\nreward = "Y"\nintervene = ["X", "W"]\n')
    kinds = [(z, x, w, y) for z in (0, 1) for x in (0, 1) for w in (0, 1) for y in (0, 1)]
    lines = [",".join(map(str, kind)) for place, kind in enumerate(kinds) for _ in range(3 + place % 5)]
    log.write_text("\n".join(["Z,X,W,Y", *lines]) + "\n")
    plain = json.loads(whichdo("rank", str(problem), str(log), "-f", "json").out)
    found = json.loads(whichdo("rank", str(problem), str(log), "--model", "logistic", "-f", "json").out)
    assert plain["model"] is None
    assert found["model"] == {
        "name": "logistic",
        "rows": len(lines),
        "looks": len(lines),
        "folds": 5,
        "seed": 20_170_714,
    }
    for before, after in zip(plain["arms"], found["arms"], strict=True):
        assert {**after, "modelled": None, "not_modelled": "", "must_try": before["must_try"]} == before
    by_arm = {row["arm"]["text"]: row for row in found["arms"]}
    assert by_arm["do(W=1)"]["modelled"] is None
    assert by_arm["do(W=1)"]["not_modelled"] == "no set to adjust for settles it"
    assert by_arm["do(X=1)"]["modelled"]["overlap"]["estimate"] == by_arm["do(X=1)"]["modelled"]["estimate"]
    text = whichdo("rank", str(problem), str(log), "--model", "logistic").out
    assert "By models (logistic, doubly robust, 5 folds)" in text
    assert "No modelled estimate of do(W=0) and do(W=1): no set to adjust for settles it." in " ".join(text.split())
    for words, said in (
        (("--model", "trees"), '--model is "trees"; it must be logistic.'),
        (("--model", "logistic", "--reading", "paper"), "--model goes with the readings robust and graph"),
    ):
        answer = whichdo("rank", str(problem), str(log), *words)
        assert answer.code == 2
        assert said in answer.err
