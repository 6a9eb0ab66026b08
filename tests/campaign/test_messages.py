"""What a user sees: the messages about tells, tickets and terms, by their text."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from tests.campaign.trials import PROBLEM, Clock, create, row_of
from tests.soak import repeated
from whichdo.campaign.tallying import RowReader

if TYPE_CHECKING:
    from pathlib import Path


NOON = "2026-03-01T12:00:00.000000Z"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def campaign(tmp_path: Path, clock: Clock) -> wd.Campaign:
    return create(str(tmp_path / "a.db"), policy="ue", horizon=10, lease=3600, clock=clock)


def refused(campaign: wd.Campaign, kind: type[Exception], text: str, *call: object) -> None:
    """Something is refused in these words, and nothing has changed."""
    before = campaign.status().receipt
    verb, *given = call
    with pytest.raises(kind) as info:
        getattr(campaign, str(verb))(*given)
    assert str(info.value) == text
    assert campaign.status().receipt == before


def test_a_second_outcome_shows_both_and_how_to_amend(campaign: wd.Campaign) -> None:
    ticket = campaign.ask()
    campaign.tell(ticket, {"Y": 1})
    refused(
        campaign,
        wd.ConflictError,
        f'Ticket {ticket.id}, {ticket.arm}, was told {{"Y":1}} at 2026-03-01T12:00:00.000000Z; the new row is {{"Y":0}}'
        f'. Nothing was changed. To correct it: campaign.amend("{ticket.id}", row, reason=...).',
        "tell",
        ticket,
        {"Y": 0},
    )
    assert campaign.tell(ticket, {"Y": "1"}).repeated  # the same value, written otherwise


def test_an_unknown_ticket_names_the_one_that_was_meant(campaign: wd.Campaign) -> None:
    ticket = campaign.ask()
    refused(
        campaign,
        wd.UnknownTicketError,
        f'There is no ticket "1-zz" in campaign "spring". Ticket 1 is "{ticket.id}", {ticket.arm}. Nothing was stored.',
        "tell",
        "1-zz",
        {"Y": 0},
    )


def test_the_arm_that_was_done_is_compared(campaign: wd.Campaign) -> None:
    ticket = campaign.ask()
    with pytest.raises(wd.ConflictError) as info:
        campaign.tell(ticket, {"Y": 0}, arm=wd.do(X=1))
    assert str(info.value) == (
        f"Ticket {ticket.id} is for {ticket.arm}, asked at {NOON}; the row belongs to do(X=1). Nothing was changed. "
        f'If do(X=1) was done, void the ticket and say so: campaign.void("{ticket.id}", reason=...).'
    )


def test_an_intervention_that_was_not_applied_is_refused(campaign: wd.Campaign) -> None:
    ticket = next(ticket for ticket in campaign.ask(10) if ticket.arm == wd.do(X=1))
    with pytest.raises(
        wd.DataError, match=r"do\(X=1\).*X is 0.*the intervention was not applied.* Nothing was stored\.$"
    ):
        campaign.tell(ticket, {"X": 0, "Y": 1})
    assert campaign.status().tickets["told"] == 0


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"Y": 1.2}, 'The reward Y: got "1.2", declared 0 and 1. Nothing was stored.'),
        ({"Y": "1_0"}, 'The reward Y: got "1_0", declared 0 and 1. Nothing was stored.'),
        ({"Y": float("inf")}, 'The reward Y: got "inf", declared 0 and 1. Nothing was stored.'),
        ([1, 2], 'A row is a mapping such as {"X": 1, "Y": 0}; found "[1, 2]". Nothing was stored.'),
    ],
)
def test_a_reward_outside_its_range_is_refused(campaign: wd.Campaign, row: object, text: str) -> None:
    ticket = campaign.ask()
    refused(campaign, wd.WhichdoError, text, "tell", ticket, row)


def test_rows_that_lack_or_spoil_a_column_say_which(campaign: wd.Campaign) -> None:
    ticket = campaign.ask()
    with pytest.raises(wd.DataError, match=r"^The row of do\(.*\) lacks Y; it has only X\. Nothing was stored\.$"):
        campaign.tell(ticket, {"X": 1})
    with pytest.raises(wd.DataError, match=r"lacks Y; it is empty\. Nothing was stored\.$"):
        campaign.tell(ticket, {})
    with pytest.raises(wd.DataError, match=r"misses|missing"):
        campaign.tell(ticket, {"Y": None})
    with pytest.raises(wd.DataError, match=r'column X: "7"\. Allowed: 0, 1\..* Nothing was stored\.$'):
        campaign.tell(ticket, {"X": 7, "Y": 1})
    receipt = campaign.tell(ticket, {"Y": 1, "mood": "good"})
    assert receipt.notes == ('Ignored, not nodes of the graph: "mood".',)


def test_a_voided_ticket_is_told_only_by_amending(campaign: wd.Campaign) -> None:
    ticket = campaign.ask()
    campaign.void(ticket, "survey lost")
    refused(
        campaign,
        wd.ConflictError,
        f"Ticket {ticket.id}, {ticket.arm}, was voided at 2026-03-01T12:00:00.000000Z (survey lost); the new row is "
        f'{{"Y":1}}. Nothing was changed. If it was done after all: campaign.amend("{ticket.id}", row, reason=...).',
        "tell",
        ticket,
        {"Y": 1},
    )
    campaign.amend(ticket, {"Y": 1}, "the survey was found")
    assert campaign.status().tickets["counted"] == 1


def test_a_told_ticket_cannot_be_voided_nor_an_open_one_amended(campaign: wd.Campaign) -> None:
    ticket = campaign.ask()
    with pytest.raises(wd.ConflictError, match=r"has been open since .*: there is nothing to amend yet"):
        campaign.amend(ticket, {"Y": 1}, "a reason")
    campaign.tell(ticket, {"Y": 1})
    with pytest.raises(wd.ConflictError, match=r'was told \{"Y":1\} at .*, so it cannot be voided'):
        campaign.void(ticket, "a reason")


def test_an_expired_ticket_shows_its_times(campaign: wd.Campaign, clock: Clock) -> None:
    ticket = campaign.ask()
    clock.move(hours=3)
    with pytest.raises(wd.ConflictError) as info:
        campaign.tell(ticket, {"Y": 1})
    assert str(info.value) == (
        f"Ticket {ticket.id}, {ticket.arm}, asked at {NOON}, expired at 2026-03-01T13:00:00.000000Z, "
        f'and the grace of 1h after it is over; the new row is {{"Y":1}}. Nothing was changed. If it should count '
        f'all the same: campaign.amend("{ticket.id}", row, reason=...).'
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"lease": 3600, "window": 7200}, "The lease (1h) ends before the reward window (2h)"),
        ({"lease": -1}, 'The lease is "-1"; it must be a timedelta or a number of seconds above 0.'),
        ({"name": " "}, "The name of a campaign is empty."),
        ({"name": "a\u202eb"}, "contains invisible characters"),
        ({"horizon": 2}, "ue needs a budget of at least 5"),
    ],
)
def test_terms_that_do_not_hold_together_are_refused(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(wd.WhichdoError) as info:
        create(str(tmp_path / "a.db"), policy="ue", **options)
    assert text in str(info.value)
    assert not (tmp_path / "a.db").exists()


def test_a_policy_that_cannot_be_read_back_is_refused(tmp_path: Path) -> None:
    from tests.sessions import Scripted

    with pytest.raises(wd.UsageError, match=r"cannot be kept in a log: it is not registered by name"):
        wd.Campaign.create(tmp_path / "a.db", "a", Scripted(()), PROBLEM, horizon=5)


def test_a_reason_is_needed(campaign: wd.Campaign) -> None:
    with pytest.raises(wd.UsageError, match="The reason is empty"):
        campaign.void(campaign.ask(), "")
    with pytest.raises(wd.ConflictError, match="is not paused"):
        campaign.resume("a reason")
    with pytest.raises(wd.UsageError, match=r"do\(\) means doing nothing; it cannot be forbidden"):
        campaign.forbid(wd.do(), "a reason")
    with pytest.raises(wd.ConflictError, match=r"Every arm but do\(\) would be forbidden"):
        campaign.forbid([arm for arm in PROBLEM.arms if not arm.is_look], "a reason")


def test_what_cannot_be_imported_says_where(tmp_path: Path, campaign: wd.Campaign) -> None:
    file = tmp_path / "spring.jsonl"
    campaign.ask(3)
    campaign.export(file)
    whole = file.read_text()
    lines = whole.splitlines(keepends=True)
    assert lines[0].startswith('{"body":{"audit":0.0,"budget":10.0,')
    for text, kind, message in [
        (whole[:-20], wd.InputError, "line 3 is not an event of a campaign"),
        ("".join(lines[:-1]), wd.InputError, "spring.jsonl ends without its checksum, after 2 events"),
        (lines[0] + lines[2], wd.DamagedError, "its checksum does not match its 1 events"),
        (whole.replace('"seed":0', '"seed":1'), wd.DamagedError, "line 1: event 0 is not what was exported"),
        (whole + lines[0], wd.InputError, "line 4: something follows the checksum"),
        ("", wd.InputError, "ends without its checksum, after 0 events"),
        ("[1]\n", wd.InputError, "line 1 is not an event of a campaign: [1]"),
    ]:
        file.write_text(text)
        with pytest.raises(kind) as info:
            wd.Campaign.import_(tmp_path / "b.db", file)
        assert message in str(info.value)
    assert not (tmp_path / "b.db").exists()


def test_a_backup_is_a_database_and_overwrites_nothing(tmp_path: Path, campaign: wd.Campaign) -> None:
    ticket = campaign.ask()
    campaign.tell(ticket, row_of(ticket, np.random.default_rng(1)))
    copy = campaign.backup(tmp_path / "copy.db")
    assert wd.Campaign.open(copy, "spring").verify() == campaign.verify()
    with pytest.raises(wd.ConflictError, match=r"copy\.db already exists\. Name another file"):
        campaign.backup(copy)


def test_rows_read_quickly_are_those_that_are_read_with_care(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, quick, careful = Random(11), RowReader(PROBLEM), RowReader(PROBLEM)
    monkeypatch.setattr(careful, "_plain", lambda *_: None)
    values = [0, 1, 1.0, "0", "1", True, np.int64(1), 0.5, 7, "x", None, float("nan"), [1]]

    def read(reader: RowReader, *given: Any) -> object:
        try:
            return reader.read(*given)
        except wd.WhichdoError as error:
            return str(error)

    came_through, rows = 0, repeated(3_000, quick=600)
    for _ in range(rows):
        known = [*"ZXWY", *chance.choice([[], [], ["note"], [" X"]])]
        names = chance.sample(known, chance.randint(0, len(known)))
        row = {name: chance.choice(values[: chance.choice([2, 7, 13])]) for name in names}
        arm = chance.choice(PROBLEM.arms)
        needed = chance.choice([("Y",), ("X", "Y"), ("Z", "X", "W", "Y")])
        assert read(quick, arm, row, needed) == read(careful, arm, row, needed)
        came_through += quick._plain(arm, row, needed) is not None
    assert came_through > rows // 15
