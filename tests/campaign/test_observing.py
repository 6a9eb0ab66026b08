"""Logged observations that a campaign receives: when it begins, while it runs, and where its policy cannot go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from tests.campaign.trials import PROBLEM, create, rng, row_of, run
from whichdo.policies.base import Recommendation

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


def test_a_log_that_lacks_a_column_does_not_deafen_the_alarm(tmp_path: Path) -> None:
    """do(X) moves W, on which X does not act in the graph."""
    problem = wd.Problem("X -> Y; W -> Y", "Y", ["X"])
    outcomes = rng(3)

    def rows(count: int, *, moved: bool = False) -> dict[str, Any]:
        x = np.ones(count, int) if moved else outcomes.integers(0, 2, count)
        w = (outcomes.random(count) < (0.9 if moved else 0.2)).astype(int)
        return {"X": x, "W": w, "Y": outcomes.integers(0, 2, count)}

    campaign = wd.Campaign.create(
        tmp_path / "a.db", "a", wd.policy("ue"), problem, horizon=300, logs=rows(5_000), audit=False
    )
    short = rows(10)
    del short["W"]
    campaign.observe(short, name="short")
    tickets = [ticket for ticket in campaign.ask(300) if ticket.arm == wd.do(X=1)]
    pulls = rows(len(tickets), moved=True)
    for place, ticket in enumerate(tickets[:60]):
        campaign.tell(ticket, {name: int(column[place]) for name, column in pulls.items()})
    assert len(campaign.status().alarms) == 1


def test_observe_with_restart_is_one_request(database: str) -> None:
    campaign = create(database, policy="ue", horizon=30)
    log = {"Z": [0, 1], "X": [0, 1], "W": [1, 1], "Y": [0, 1]}
    outcomes = rng(4)
    run(campaign, outcomes, most=3)
    campaign.observe(log)
    assert campaign.status().restarts == ()
    (again,) = campaign.observe(log, restart=True)  # as after a kill between the two
    assert again.repeated
    assert campaign.status().restarts == ("observed 1 log",)
    run(campaign, outcomes, most=1)
    campaign.observe(log, restart=True)
    assert len(campaign.status().restarts) == 1
    run(campaign, outcomes)
    before = campaign.status().events
    with pytest.raises(wd.UnsuitableError, match="needs a budget"):
        campaign.restart("more")
    assert campaign.status().events == before


def test_looks_with_the_same_counts_need_a_name(database: str) -> None:
    campaign = create(database, policy="ue")
    log = {"Z": [0, 1], "X": [0, 1], "W": [1, 1], "Y": [0, 1]}
    campaign.observe(log, name="monday")
    (again,) = campaign.observe(log, name="monday")
    assert again.notes[0].endswith("If these are different looks with the same counts, give them a name.")
    campaign.observe(log, name="tuesday")
    assert campaign.status().looks_in_logs == 4


def test_a_campaign_is_not_begun_with_a_log_that_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("Z,X,W,Y\n0,0,0,7\n")
    with pytest.raises(wd.DataError):
        create(str(tmp_path / "a.db"), logs=str(tmp_path / "bad.csv"))
    assert not (tmp_path / "a.db").exists()


def test_logs_are_taken_where_the_policy_cannot_go_on(tmp_path: Path) -> None:
    laws = np.full((len(PROBLEM.arms), 8), 1 / 8)
    campaign = wd.Campaign.create(tmp_path / "a.db", "a", wd.policy("c-ucb", laws=laws.tolist()), PROBLEM, horizon=60)
    campaign.tell(ticket := campaign.ask(), row_of(ticket, rng(8)))
    campaign.forbid("do(W=1)", "dear")
    assert campaign.status().phase == "stuck"
    campaign.observe({"Z": [0, 1], "X": [0, 1], "W": [1, 0], "Y": [0, 1]})
    assert campaign.recommend().looks_in_logs == 2


def test_a_policy_that_knows_enough_from_logs_is_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def play(_self: object, problem: wd.Problem, *_: object) -> Generator[object, object, Recommendation]:
        yield from ()
        return Recommendation(problem.arms[1], np.full(len(problem.arms), 0.5))

    monkeypatch.setattr("whichdo.policies.warm_halving.WarmHalving.play", play)
    outcomes = rng(10)
    columns = {name: outcomes.integers(0, 2, 200).tolist() for name in "ZXWY"}
    campaign = create(str(tmp_path / "a.db"), horizon=100, audit=True, logs=columns)
    run(campaign, outcomes)
    assert sum(count for arm, count in campaign.status().by_arm.items() if arm != "do()") > 0
    assert campaign.finished
    assert campaign.verify()
