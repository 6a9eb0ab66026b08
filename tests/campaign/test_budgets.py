"""Clocks, reward windows, late tells and what they do to the budget."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.campaign.trials import Clock, create, rng, run
from whichdo.errors import UsageError
from whichdo.report.campaign_page import campaign_page

if TYPE_CHECKING:
    from pathlib import Path


def test_a_clock_that_was_ahead_does_not_hold_a_pull_for_ever(database: str) -> None:
    clock = Clock()
    campaign = create(database, policy="ue", horizon=20, window=3_600, clock=clock)
    clock.now = clock.now.replace(year=2099)
    ticket = campaign.ask()
    clock.now = clock.now.replace(year=2026)
    campaign.tell(ticket, {"Y": 1})
    assert campaign.status().tickets["counted"] == 0
    clock.move(hours=1)
    assert campaign.status().tickets["counted"] == 1


def test_a_clock_without_a_time_zone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(wd.UsageError, match='The clock says "1700000000"; it must give a datetime'):
        create(str(tmp_path / "a.db"), clock=lambda: 1_700_000_000)
    with pytest.raises(wd.UsageError, match="with its time zone"):
        create(str(tmp_path / "a.db"), clock=lambda: datetime(2026, 3, 1))  # noqa: DTZ001 - what is refused


def test_late_tells_beyond_the_budget_are_said(tmp_path: Path) -> None:
    clock = Clock()
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=10, lease=100, clock=clock)
    first = campaign.ask(10)
    clock.move(seconds=101)
    for ticket in campaign.ask(10):
        campaign.tell(ticket, {"Y": 1})
    for ticket in reversed(first):
        campaign.tell(ticket, {"Y": 0})
    status = campaign.status()
    assert (status.spent, status.left) == (20, -10)
    assert "(late tells count, and exceeded the budget)" in status.sentences[0]
    assert 'class="spent" style="width:100.00%"' in campaign_page(campaign.events())


def test_late_tells_take_the_slots_that_were_given_back(tmp_path: Path) -> None:
    """In any order, and what has gone out again is not taken back."""
    clock = Clock()
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=30, lease=100, clock=clock)
    first = campaign.ask(30)
    clock.move(seconds=101)
    again = campaign.ask(10, client="other")
    for ticket in reversed(first[10:]):
        assert campaign.tell(ticket, {"Y": 0}).seq
    assert campaign.status().tickets["extra"] == 0
    campaign.tell(first[3], {"Y": 0})
    assert campaign.status().tickets["extra"] == 1
    for ticket in again:
        campaign.tell(ticket, {"Y": 1})
    assert campaign.finished
    assert wd.Campaign.open(tmp_path / "a.db", "spring").status() == campaign.status()


def test_money_has_no_dust(tmp_path: Path) -> None:
    problem = wd.Problem("X -> Y", "Y", costs={"do()": 0.1, "do(X=0)": 0.3, "do(X=1)": 0.7})
    campaign = wd.Campaign.create(tmp_path / "a.db", "a", wd.policy("ue"), problem, budget=20.3)
    for ticket in campaign.ask(40):
        campaign.tell(ticket, {"X": ticket.arm.settings.get("X", 0), "Y": 1})
    status = campaign.status()
    assert status.promised == 0
    assert "e-" not in status.sentences[0]


def test_a_voided_ticket_of_a_play_that_is_over_says_so(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=40)
    (ticket, *_) = campaign.ask(20)
    campaign.restart("anew")
    assert campaign.void(ticket, "lost").notes[0].startswith("The play that asked for this pull is over")
    assert not campaign.void(campaign.ask(client="new"), "lost").notes


def test_a_report_while_no_window_has_closed(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue", window=3_600)
    run(campaign, rng(11), most=4)
    assert "There is too little evidence yet" in campaign_page(campaign.events())


def test_problem_and_policy_are_taken_in_either_order(tmp_path: Path) -> None:
    """As `Session` takes them, or the problem first."""
    problem = wd.Problem("X -> Y", "Y")
    before = wd.Campaign.create(tmp_path / "a.db", "a", problem, "ue", horizon=9)
    assert wd.Campaign.create(tmp_path / "a.db", "a", "ue", problem, horizon=9).events() == before.events()
    with pytest.raises(UsageError, match="needs a policy and a problem"):
        wd.Campaign.create(tmp_path / "a.db", "b", problem, problem, horizon=9)
    with pytest.raises(UsageError, match="needs a policy and a problem; found 'ue' and 'sr'"):
        wd.Campaign.create(tmp_path / "a.db", "b", "ue", "sr", horizon=9)
