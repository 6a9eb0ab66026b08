"""A newcomer with real data: one command after the other, no edit but naming the reward.

The numbers are compared with standardisation by pandas, with the cut points read from the file that was proposed: the
same strata, nothing of the library.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.calling import Call

pd = pytest.importorskip("pandas")
causaldata = pytest.importorskip("causaldata", reason="the data sets come with the development tools")


@dataclass(frozen=True)
class Case:
    """A data set, what is drawn of it, and what the newcomer names."""

    sets: tuple[str, ...]
    causes: tuple[str, ...]
    treatment: str
    reward: str
    randomised: bool = False

    @property
    def drawing(self) -> str:
        both = self.reward if self.randomised else f"{self.treatment} {self.reward}"
        edges = [f"  {cause} -> {{{both}}}" for cause in self.causes]
        return "\n".join(
            ["dag {", f"  {self.treatment} [exposure]", *edges, f"  {self.treatment} -> {self.reward}", "}"]
        )

    def load(self) -> Any:
        frames = [getattr(causaldata, name).load_pandas().data for name in self.sets]
        return pd.concat([frames[0][frames[0]["treat"] == 1], frames[1]]) if len(frames) > 1 else frames[0]


CASES = {
    "NHEFS, weight": Case(("nhefs",), ("age", "sex", "race", "smokeintensity"), "qsmk", "wt82_71"),
    "NHEFS, death": Case(("nhefs",), ("age", "sex", "race", "smokeintensity"), "qsmk", "death"),
    "Thornton": Case(("thornton_hiv",), ("age", "distvct"), "any", "got", randomised=True),
    "NSW": Case(("nsw_mixtape",), ("age", "educ", "black", "re74", "re75"), "treat", "re78", randomised=True),
    "NSW and CPS": Case(("nsw_mixtape", "cps_mixtape"), ("age", "black", "re75"), "treat", "re78"),
    "college": Case(("close_college",), ("black", "south", "smsa", "exper"), "nearc4", "lwage"),
    "Titanic": Case(("titanic",), ("age", "sex"), "class", "survived"),
    "restaurants": Case(("restaurant_inspections",), ("Year", "NumberofLocations"), "Weekend", "inspection_score"),
}


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHICHDO_DB", "campaigns.db")
    return Call(monkeypatch, capsys)


def good(call: Call, *words: str) -> str:
    answer = call(*words)
    assert answer.code == 0, (words, answer.err)
    return answer.out


def standardised(data: Any, case: Case, file: dict[str, Any], treatment: object) -> float:
    """Sum over strata of their share times the mean of those with the value; strata without any are left out."""
    data = data.copy()
    for name, cuts in file.get("bins", {}).items():
        data[name] = np.digitize(data[name], cuts)
    reward = data[case.reward].map(file["rewards"]) if "rewards" in file else data[case.reward]
    data = data.assign(reward=reward.astype(float))
    mine = data[data[case.treatment] == treatment]
    if case.randomised:
        return float(mine["reward"].mean())
    strata = list(case.causes)
    shares = data.groupby(strata).size() / len(data)
    means = mine.groupby(strata)["reward"].mean()
    known = shares.loc[means.index]
    return float((known * means).sum() / known.sum())


@pytest.mark.slow("8 s: eight real data sets from init to report; found drops that start could not be told of")
@pytest.mark.parametrize("name", CASES)
def test_from_a_table_and_a_drawing_to_a_report(name: str, call: Call, tmp_path: Path) -> None:
    case = CASES[name]
    case.load().to_csv("data.csv", index=False)
    (tmp_path / "drawing.dag").write_text(case.drawing)
    out = good(call, "init", "data.csv", "drawing.dag", "--reward", case.reward)
    proposed = next(line for line in out.splitlines() if line.strip().startswith("whichdo rank"))
    rank = shlex.split(proposed)[1:]
    drop = rank[3:]
    good(call, "inspect", "problem.toml")
    checked = call("check", "problem.toml", "data.csv", *drop)
    assert checked.code in {0, 1}, checked.err  # 1: the logs contradict the drawing, which is an answer
    good(call, *rank)
    assert "Drawn into rank.svg" in good(call, *rank, "--plot", "rank.svg")
    found = json.loads(good(call, *rank, "-f", "json"))

    file = tomllib.loads((tmp_path / "problem.toml").read_text())
    data = pd.read_csv("data.csv")
    needed = [case.treatment, case.reward, *(() if case.randomised else case.causes)]
    data = data.dropna(subset=needed) if drop else data
    low, high = file.get("reward_range", (0, 1))
    for row in found["arms"][1:]:
        value = str(row["arm"]["settings"][case.treatment])
        treatment = next(each for each in data[case.treatment].unique() if str(each * 1) in {value, f"{value}.0"})
        expected = standardised(data, case, file, treatment)
        close = max(0.01, 0.02 * (high - low))
        if row["unseen"] > 0.05:  # too few counterparts: the interval says so, and the overlap has the number
            assert row["low"] < expected < row["high"], row["arm"]
            assert row["must_try"] or row["unseen"] < 0.5, row["arm"]
            assert row["overlap"]["estimate"] == pytest.approx(expected, abs=close), row["arm"]
        else:
            assert row["estimate"] == pytest.approx(expected, abs=close), row["arm"]

    good(call, "start", "spring", "problem.toml", "data.csv", "--horizon", "60", *drop)
    asked = json.loads(good(call, "ask", "spring", "-f", "json"))["tickets"][0]
    settings = asked["arm"]["settings"]
    rows = data[[*needed, *case.causes]].dropna().iloc[0].to_dict()
    told = {each: settings.get(each, rows[each]) for each in asked["needed"]}
    good(call, "tell", "spring", asked["id"], json.dumps(told, default=lambda value: value.item()))
    good(call, "report", "spring", "-o", "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000


LALONDE = ("age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75")


def ranked(call: Call, case: Case, tmp_path: Path, *more: str) -> dict[str, Any]:
    """The arms by name, from the table and the drawing by the proposed command."""
    case.load().to_csv("data.csv", index=False)
    (tmp_path / "drawing.dag").write_text(case.drawing)
    good(call, "init", "data.csv", "drawing.dag", "--reward", case.reward, "--force")
    found = json.loads(good(call, "rank", "problem.toml", "data.csv", "-f", "json", *more))
    assert isinstance(found, dict)
    return {row["arm"]["text"]: row for row in found["arms"]} | {"": found}


@pytest.mark.slow("1 s: a real experiment with its models")
@pytest.mark.parametrize("randomised", [True, False])
def test_the_experiment_of_lalonde_to_one_standard_error(randomised: bool, call: Call, tmp_path: Path) -> None:
    """445 people, 1,794 dollars (671): by their means, and by models that adjust for everything that was recorded."""
    case = Case(("nsw_mixtape",), LALONDE, "treat", "re78", randomised=randomised)
    rows = ranked(call, case, tmp_path, "--model", "logistic")
    data = case.load()
    treated, others = (data[data["treat"] == value]["re78"] for value in (1, 0))
    difference = float(treated.mean() - others.mean())
    error = float(np.sqrt(treated.var() / len(treated) + others.var() / len(others)))
    assert (round(difference), round(error)) == (1_794, 671)
    one, nought = rows["do(treat=1)"], rows["do(treat=0)"]
    if randomised:
        assert one["estimate"] - nought["estimate"] == pytest.approx(difference, abs=error)
    assert one["modelled"]["estimate"] - nought["modelled"]["estimate"] == pytest.approx(difference, abs=error)
    assert one["modelled"]["without_counterpart"] < 0.05
    assert rows[""]["best"]["text"] == "do(treat=1)"


@pytest.mark.slow("2 s: 16,177 rows, five times; the answer that the first hour shows")
def test_nsw_and_cps_say_that_overlap_is_poor_and_show_the_doubly_robust_answer(call: Call, tmp_path: Path) -> None:
    """185 trained people beside 15,992 of a survey: what training would do for most of these was never seen."""
    case = Case(("nsw_mixtape", "cps_mixtape"), LALONDE, "treat", "re78")
    plain = ranked(call, case, tmp_path)
    assert plain["do(treat=1)"]["unseen"] > 0.8
    assert any(line.startswith("Thin cells: ") and 'model="logistic"' in line for line in plain[""]["warnings"])
    rows = ranked(call, case, tmp_path, "--model", "logistic")
    assert any(line.startswith("Poor overlap: ") and "do(treat=1)" in line for line in rows[""]["warnings"])
    own = rows["do(treat=1)"]["modelled"]
    assert own["without_counterpart"] > 0.5
    assert own["low"] < own["estimate"] < own["high"]
    assert own["high"] - own["low"] < 0.4 * (rows["do(treat=1)"]["high"] - rows["do(treat=1)"]["low"])
    assert own["overlap"]["low"] < own["overlap"]["estimate"] < own["overlap"]["high"]
    assert rows["do(treat=1)"]["must_try"]
    assert rows["do(treat=0)"]["modelled"]["without_counterpart"] < 0.01
    text = good(call, "rank", "problem.toml", "data.csv", "--model", "logistic", "--plot", "rank.svg")
    page = (Path(__file__).parents[2] / "docs" / "many-covariates.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"```\n( arm .*?)```", page, re.DOTALL)
    printed = [line.rstrip() for line in text.splitlines()]
    assert [line for line in table.splitlines() if line not in printed] == []
    assert "By models (logistic, doubly robust, 5 folds)" in text
    assert "For looks that have a counterpart alone:" in text
    assert "do(treat=1), by the model: " in text
    assert "the same by models" in (tmp_path / "rank.svg").read_text(encoding="utf-8")
    columns = good(call, "rank", "problem.toml", "data.csv", "--model", "logistic", "-f", "csv").splitlines()[0]
    assert "modelled_overlap_effect_low" in columns
