"""Requests that are too large are refused before anything is laid out for them."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.campaign.trials import PROBLEM, create
from tests.cli.calling import Call
from whichdo.campaign import chain, exchange

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHICHDO_DB", "a.db")
    create("a.db", policy="ue")
    wd.write_problem(PROBLEM, tmp_path / "problem.toml")
    return Call(monkeypatch, capsys)


class Zeros(io.TextIOBase):
    """As ``/dev/zero``: there is always more."""

    def __init__(self) -> None:
        self.taken = 0

    def read(self, size: int | None = -1) -> str:
        assert size is not None
        assert 0 < size <= 2**21, "all of it would be read"
        self.taken += size
        return "\0" * size

    readline = read  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("ask", "spring", "-n", "1000000000"), 2, "1,000,000,000 tickets were requested; at most 10,000"),
        (
            ("tell", "spring", "-"),
            3,
            "standard input, line 1 has more than 1,048,576 characters; a row cannot be that long.",
        ),
        (
            ("tell", "spring", "1-ab", "-"),
            3,
            "standard input has more than 1,048,576 characters; a row cannot be that long.",
        ),
        (("start", "a", "problem.toml", "--horizon", "1" + "0" * 21), 2, "The horizon is 1e+21; it can be at most"),
        (("start", "a", "problem.toml", "--budget", "1e308"), 2, "The budget is 1e+308; it can be at most 10^12"),
    ],
)
def test_what_is_too_large_is_said(
    call: Call, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int, said: str
) -> None:
    zeros = Zeros()
    monkeypatch.setattr(sys, "stdin", zeros)
    answer = call(*words)
    assert (answer.code, said in answer.err) == (code, True), answer.err
    assert zeros.taken < 2**22
    assert call("status", "spring").code == 0


def test_as_many_tickets_as_are_allowed_can_be_asked_exported_and_imported(tmp_path: Path) -> None:
    problem = wd.Problem(f"{'X' * 120} -> Y", "Y")
    campaign = create(str(tmp_path / "a.db"), policy="ue", problem=problem, horizon=30_000)
    assert len(campaign.ask(10_000)) == 10_000
    campaign.export(tmp_path / "a.jsonl")
    assert wd.Campaign.import_(tmp_path / "b.db", tmp_path / "a.jsonl").verify() == campaign.verify()


def test_an_event_that_could_not_be_imported_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    before = campaign.status().receipt
    monkeypatch.setattr(chain, "MOST_LETTERS", 500)
    with pytest.raises(wd.TooLargeError, match=r"at most 500 are kept\. Nothing was stored"):
        campaign.ask(40)
    assert campaign.status().receipt == before
    assert exchange.LONGEST > 74 * 2**20  # so long was an event of an earlier version


def test_a_session_has_the_same_limits() -> None:
    for terms in ({"horizon": 10**21}, {"budget": 1e308}):
        with pytest.raises(wd.UsageError, match="at most 10\\^12"):
            wd.Session(wd.policy("ue"), PROBLEM, **terms)
