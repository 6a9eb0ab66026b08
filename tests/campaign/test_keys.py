"""A request under a key is answered once; the same key for something else is a conflict."""

from __future__ import annotations

import pytest

import whichdo as wd
from tests.campaign.trials import PROBLEM, create


def test_a_key_used_again_for_another_row_is_a_conflict_that_shows_both(database: str) -> None:
    campaign = create(database, policy="ue")
    ticket = campaign.ask()
    first = campaign.tell(ticket, {"Y": 1}, key="k")
    assert campaign.tell(ticket, {"Y": 1}, key="k").hash == first.hash
    with pytest.raises(wd.ConflictError, match=r'The key "k" was used at .*"row":\{"Y":1\}.* now told .*\{"Y":0\}'):
        campaign.tell(ticket, {"Y": 0}, key="k")
    other = next(arm for arm in PROBLEM.arms if arm != ticket.arm)
    with pytest.raises(wd.ConflictError, match="is for"):
        campaign.tell(ticket, {"Y": 1}, arm=other, key="k")
    with pytest.raises(wd.UsageError, match="A row is a mapping"):
        campaign.tell(ticket, None, key="k")
    campaign.amend(ticket, {"Y": 0}, "typo", key="a")
    assert campaign.amend(ticket, {"Y": 0}, "typo", key="a").repeated
    assert campaign.tell(ticket, {"Y": 1}, key="k").repeated  # as it was answered then
    with pytest.raises(wd.ConflictError, match=r'The key "a" was used'):
        campaign.amend(ticket, {"Y": 1}, "typo", key="a")


def test_an_ask_under_a_key_gives_the_same_tickets_again(database: str) -> None:
    campaign = create(database, policy="ue")
    campaign.ask(2, client="me")
    asked = campaign.ask(5, client="me", key="k")
    assert len(asked) == 5
    campaign.tell(asked[0], {"Y": 1})
    assert campaign.ask(5, client="me", key="k") == asked
    with pytest.raises(wd.ConflictError, match='"wanted":9'):
        campaign.ask(9, client="me", key="k")


def test_an_ask_under_a_key_that_is_answered_with_what_is_held_holds(database: str) -> None:
    campaign = create(database, policy="ue")
    held = campaign.ask(client="c")
    assert campaign.ask(1, client="c", key="k") == [held]
    campaign.tell(held, {"Y": 1})
    assert campaign.ask(1, client="c", key="k") == [held]
    assert campaign.ask(1, client="c") != [held]
