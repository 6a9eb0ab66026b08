"""Arms that are forbidden, and allowed again, while a campaign runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.campaign.trials import create, rng, row_of, run
from whichdo.report.campaign_page import campaign_page

if TYPE_CHECKING:
    from pathlib import Path


def test_tickets_of_a_forbidden_arm_are_voided(database: str) -> None:
    campaign = create(database, policy="ue", horizon=60)
    tickets = campaign.ask(40)
    arm = next(ticket.arm for ticket in tickets if not ticket.arm.is_look)
    campaign.forbid(str(arm), "dangerous")
    out = [ticket for ticket in tickets if ticket.arm == arm]
    status = campaign.status()
    assert status.tickets["voided"] == len(out)
    assert status.left == 60 - 40 + len(out)
    assert all(ticket.arm != arm for ticket in campaign.ask(60))
    with pytest.raises(wd.ConflictError, match=r"was voided at .* is forbidden: dangerous"):
        campaign.tell(out[0], {"Y": 1})


@pytest.mark.slow("1 s: two audited campaigns of 400 pulls to their end")
@pytest.mark.parametrize("asked", [0, 1])
def test_the_leader_may_be_forbidden_while_it_is_audited(tmp_path: Path, asked: int) -> None:
    campaign = create(str(tmp_path / "a.db"), horizon=400, audit=True)
    outcomes = rng(1)
    while campaign._ledger.state().audits.pulls is None:
        ticket = campaign.ask()
        campaign.tell(ticket, row_of(ticket, outcomes))
    named = campaign.recommend().policy_arm
    assert named is not None
    if asked:
        campaign.ask()
    campaign.forbid(named, "dangerous")
    advice = campaign.recommend()
    assert advice.policy_arm is None
    assert advice.arm != named
    assert f"names {named}, which is forbidden by now" in advice.sentences[-1]
    pulled = []
    while not campaign.finished:
        ticket = campaign.ask()
        pulled.append(ticket.arm)
        campaign.tell(ticket, row_of(ticket, outcomes))
    assert named not in pulled
    assert campaign.verify()


def test_an_arm_forbidden_for_a_while_does_not_spoil_the_report(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=60)
    outcomes = rng(2)
    run(campaign, outcomes, most=5)
    campaign.forbid(wd.do(X=1), "not now")
    run(campaign, outcomes, most=5)
    campaign.allow(wd.do(X=1), "now")
    run(campaign, outcomes)
    assert "How it developed" in campaign_page(campaign.events())


def test_an_arm_that_is_allowed_again_is_audited_after_all(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), horizon=400, audit=True)
    outcomes = rng(1)
    while campaign._ledger.state().audits.pulls is None:
        ticket = campaign.ask()
        campaign.tell(ticket, row_of(ticket, outcomes))
    wanted = dict(campaign._ledger.state().audits.pulls or {})
    campaign.tell(ticket := campaign.ask(), row_of(ticket, outcomes))
    arm = ticket.arm
    out = campaign.ask(2)
    assert [each.arm for each in out] == [arm, arm]
    campaign.forbid(arm, "not now")
    pulled = [arm]
    for _ in range(3):
        pulled.append((ticket := campaign.ask()).arm)
        campaign.tell(ticket, row_of(ticket, outcomes))
    assert arm not in pulled[1:]
    campaign.allow(str(arm), "now")
    while not campaign.finished:
        pulled.append((ticket := campaign.ask()).arm)
        campaign.tell(ticket, row_of(ticket, outcomes))
    assert all(pulled.count(each) >= wanted[each] for each in wanted)  # more of them in the rounds after
    assert campaign.verify()


def test_a_log_that_diverged_at_once_goes_on_when_an_arm_is_forbidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="sr")
    ticket = campaign.ask(client="a")
    monkeypatch.setattr("whichdo.campaign.play.Play.arm_of", lambda *_: wd.do(W=0))
    again = wd.Campaign.open(tmp_path / "a.db", "spring")
    assert again.status().phase == "stuck"
    again.tell(ticket, row_of(ticket, rng(9)))
    assert again.status().phase == "stuck"
    monkeypatch.undo()
    again.forbid("do(X=0)", "dear")
    assert again.status().phase == "running"
    assert again.ask(client="b").arm != wd.do(X=0)
