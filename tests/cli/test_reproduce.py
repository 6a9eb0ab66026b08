"""``whichdo reproduce``: what it says, what it leaves, and what it refuses."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.calling import Call

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return Call(monkeypatch, capsys)


#: What the quick size finds with seed 0, which is what the full size finds (docs/reproduction.md).
VERDICTS = {
    (1, "SRM-ALG has a much lower regret"): "holds",
    (2, "For fixed T the regret of SRM-ALG grows"): "not reproduced",
    (2, "The regret of SRM-ALG depends on m"): "holds",
    (2, "With N = 200"): "holds in part",
    (3, "Where looking is best the regret of CRM-ALG"): "holds",
    (4, "SRM-ALG has a lower regret than propagating"): "not reproduced",
    (5, "For large T, CRM-ALG"): "holds",
}


@pytest.mark.slow("10 s: five experiments at the quick size; finds a verdict that depends on the size")
def test_the_papers_claims_are_judged_as_at_full_size(call: Call, tmp_path: Path) -> None:
    answer = call(
        "reproduce", "1", "2", "3", "4", "5", "--quick", "--policies", "paper", "--out", str(tmp_path), "-f", "json",
        "--workers", "1",
    )  # fmt: skip
    assert answer.code == 0
    found = json.loads(answer.out)
    judged = {(each["experiment"], each["claim"]): each["verdict"] for each in found["verdicts"]}
    assert len(judged) == len(VERDICTS)
    for (number, start), word in VERDICTS.items():
        (claim,) = [text for at, text in judged if at == number and text.startswith(start)]
        assert judged[number, claim] == word, claim
    assert all(each["numbers"] and each["test"] for each in found["verdicts"])
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 5
    assert page.count('class="word"') == len(VERDICTS)


def test_a_table_for_people_and_a_page_that_needs_nothing_else(call: Call, tmp_path: Path) -> None:
    answer = call(
        "reproduce", "4", "--quick", "--policies", "srm, ue", "--out", str(tmp_path / "out"), "--workers", "1"
    )
    assert answer.code == 0
    assert "index.html" in answer.out
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)\s*=\s*["'](?!data:|#)""", page)
    assert "<script" not in page
    assert "Experiment 4" in page


def test_policies_with_parameters_are_told_apart_from_lists(call: Call, tmp_path: Path) -> None:
    answer = call(
        "reproduce", "4", "--quick", "--policies", "srm(second_phase=rejects, pool=true),ue", "--workers", "1",
        "--out", str(tmp_path), "-f", "json",
    )  # fmt: skip
    assert answer.code == 0
    header, *rows = (tmp_path / "results.csv").read_text(encoding="utf-8").splitlines()
    assert header == "experiment,panel,axis,x,policy,network,runs,mean_regret,sd_regret,share_best"
    assert {row.split('"')[1] if '"' in row else row.split(",")[4] for row in rows} == {
        "srm(second_phase=rejects, pool=true)",
        "ue",
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("10",), 'There is no experiment "10"; there are 1, 2, 3, 4, 5, 6, 7, 8, 9, and all.'),
        (("one",), 'There is no experiment "one"'),
        (("1", "--policies", "nonsense"), "nonsense"),
        (("1", "--policies", ","), "--policies is empty"),
        (("1", "--policies", "ucb"), "ucb is about cumulative regret"),
        (("1", "--workers", "0"), "--workers is 0; 1 works in this process."),
        (("1", "--workers", "2", "--cluster", "tcp://x:1"), "a cluster brings its own"),
    ],
)
def test_what_does_not_exist_is_refused(call: Call, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    answer = call("reproduce", *words, "--quick", "--out", str(tmp_path / "out"))
    assert answer.code == 2
    assert said in answer.err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_used_is_named(call: Call, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    answer = call("reproduce", "4", "--quick", "--policies", "ue", "--out", str(tmp_path / "out"))
    assert answer.code == 5
    assert "cannot be used for results" in answer.err


def test_a_cluster_that_does_not_answer_is_named(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="needs the extra `cluster`")
    monkeypatch.setattr("whichdo.experiments.executors.PATIENCE", 1)
    answer = call("reproduce", "4", "--quick", "--out", str(tmp_path / "out"), "--cluster", "tcp://127.0.0.1:9")
    assert answer.code == 1
    assert "No Dask scheduler answers at tcp://127.0.0.1:9" in answer.err
