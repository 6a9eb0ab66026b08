"""Who asks and who tells: workers that share a machine, and what is handed out twice."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.campaign.trials import create
from tests.cli.calling import Call

if TYPE_CHECKING:
    from pathlib import Path

ROW = {"Z": 0, "X": 1, "W": 1, "Y": 1}


@pytest.fixture
def campaign(tmp_path: Path) -> wd.Campaign:
    return create(str(tmp_path / "a.db"), policy="ue")


def row_for(ticket: wd.Ticket) -> dict[str, object]:
    return ROW | dict(ticket.arm.settings)


def test_processes_on_one_machine_get_tickets_of_their_own(campaign: wd.Campaign, tmp_path: Path) -> None:
    """Without a name, as a script is begun four times over."""
    mine = campaign.ask(2)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, " ".join(each.id for each in campaign.ask(2)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reader, 1_000).decode().split()
    os.close(reader)
    os.close(writer)
    assert len({*theirs, *(each.id for each in mine)}) == 4
    clients = {each.client for each in campaign.status().open}
    assert len(clients) == 2
    assert {client.rpartition(":")[2] for client in clients} == {str(os.getpid()), str(child)}


def test_a_ticket_that_is_handed_out_again_says_so(campaign: wd.Campaign) -> None:
    (first,) = campaign.ask(1, client="lab", process="17")
    assert first.again == ""
    again, new = campaign.ask(2, client="lab", process="18")
    assert again == first
    assert re.fullmatch(r"handed out before, at \S+Z, to process 17 of lab", again.again)
    assert (new.again, again.receipt) == ("", first.receipt)


def test_the_same_row_from_another_client_is_a_conflict(campaign: wd.Campaign) -> None:
    ticket, other = campaign.ask(2, client="lab 1")
    receipt = campaign.tell(ticket, row_for(ticket), client="lab 1")
    assert campaign.tell(ticket, row_for(ticket), client="lab 1") == wd.Receipt(
        receipt.seq, receipt.hash, repeated=True
    )
    assert campaign.tell(ticket, row_for(ticket)).repeated  # whoever it is
    with pytest.raises(wd.ConflictError, match=r"by lab 1 at .* lab 2 tells .* one ticket is one pull"):
        campaign.tell(ticket, row_for(ticket), client="lab 2")
    campaign.tell(other, row_for(other), client="lab 2")  # it may tell for another, once
    assert campaign.tell(other, row_for(other), client="lab 2").repeated
    with pytest.raises(wd.ConflictError, match="by lab 2 at"):
        campaign.tell(other, row_for(other), client="lab 1")
    assert campaign.verify()


def test_the_first_row_after_an_amendment_is_answered_with_it(campaign: wd.Campaign) -> None:
    ticket = campaign.ask()
    first, second = row_for(ticket), row_for(ticket) | {"Y": 0}
    campaign.tell(ticket, first)
    amended = campaign.amend(ticket, second, "misread")
    receipt = campaign.tell(ticket, first)
    assert (receipt.repeated, str(receipt)) == (True, str(amended))
    assert re.search(r'was amended at \S+ \(misread\): the row on record is \{.*"Y":0', receipt.notes[0])
    with pytest.raises(wd.ConflictError):
        campaign.tell(ticket, row_for(ticket) | {"Z": 1})


def test_a_command_says_what_it_hands_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WHICHDO_DB", str(tmp_path / "a.db"))
    create(str(tmp_path / "a.db"), policy="ue")
    call = Call(monkeypatch, capsys)
    assert "before" not in call("ask", "spring").err
    answer = call("ask", "spring")
    assert re.search(
        rf"was handed out before, at \S+, to process {os.getpid()} of \S+@\S+\. If .* --client", answer.err
    )
    ticket = answer.out.split()[0]
    row = '{"Z": 0, "X": 0, "W": 0, "Y": 1}'
    assert call("tell", "spring", ticket, row, "--client", "lab 2").code == 0
    assert call("tell", "spring", ticket, row, "--client", "lab 3").code == 4
