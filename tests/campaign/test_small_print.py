"""What an attack found at the edges: passwords, spreadsheets, terminals, modes, media, clocks and repeated commands."""

from __future__ import annotations

import json
import os
import shutil
import stat
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import whichdo as wd
from tests.campaign.trials import PROBLEM, Clock, create, rng, row_of, run
from tests.cli.calling import Call
from whichdo.campaign.chain import moment
from whichdo.campaign.storage import sqlite
from whichdo.cli.output import print_csv, print_json
from whichdo.text import masked

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:pass@host/a", "postgresql://me:***@host/a"),
        ("see postgresql+psycopg://me:p%40:ss@host:5/a?x=1", "see postgresql+psycopg://me:***@host:5/a?x=1"),
        ("postgresql://me:p@ss@host/a", "postgresql://me:***@host/a"),
        ("postgresql://host/a?user=me&password=p%26", "postgresql://host/a?user=me&password=***"),
        ("postgresql://me@host/a", "postgresql://me@host/a"),
        ("sqlite:///a.db", "sqlite:///a.db"),
        ("do(X=1): a:b@c", "do(X=1): a:b@c"),
    ],
)
def test_a_password_is_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


def test_no_command_prints_the_password(
    server: str, new_server_database: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    address = new_server_database().replace("whichdo@", "whichdo:hunter2@")  # type: ignore[operator]
    monkeypatch.chdir(tmp_path)
    wd.write_problem(wd.Problem("X -> Y", "Y"), tmp_path / "p.toml")
    call = Call(monkeypatch, capsys)
    for words in (
        ("start", "a", "p.toml", "--policy", "ue", "--horizon", "9"),
        ("start", "a", "p.toml", "--policy", "ue", "--horizon", "10"),
        ("ask", "a"),
        ("tell", "a", "9-zz", "{}"),
        ("status", "b"),
        ("status", "a", "-f", "json"),
    ):
        answer = call(*words, "--db", address)
        assert "hunter2" not in answer.out + answer.err
    answer = call("status", "--db", "postgresql://me:hunter2@[::1/a")
    assert "hunter2" not in answer.out + answer.err


def test_a_cell_is_no_formula(capsys: pytest.CaptureFixture[str]) -> None:
    print_csv({"=arm": ["=1+1", "+a", "-b", "@c", "d", None], "number": [-1.5, -2, 3, float("nan"), 0, 1]})
    assert capsys.readouterr().out.splitlines() == [
        "'=arm,number", "'=1+1,-1.5", "'+a,-2", "'-b,3", "'@c,", "d,0", ",1"
    ]  # fmt: skip


def test_json_holds_nothing_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    text = "a\x1b[31m\x9b31m\u202eb\u2066\u200b\U000e0041é京"
    for size in (1, 100_000):
        print_json({"name": [text] * size})
        out = capsys.readouterr().out
        assert json.loads(out) == {"name": [text] * size}
        assert not set(out) & set("\x1b\x9b\u202e\u2066\u200b\U000e0041")
        assert "é京" in out


def test_only_the_owner_reads_what_is_made(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        campaign = create(str(tmp_path / "a.db"), policy="ue")
        campaign.ask()
        campaign.export(tmp_path / "a.jsonl")
        campaign.backup(tmp_path / "b.db")
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert len(modes) >= 5
    assert set(modes.values()) == {0o600}, modes


@pytest.mark.parametrize("closed", [True, False])
def test_a_database_on_media_that_can_only_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, closed: bool
) -> None:
    """With or without a log beside it, as a copy made while somebody worked has."""
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    run(campaign, rng(1), most=5)
    expected = campaign.status(settle=False).to_dict()
    if closed:
        campaign.close()
    (tmp_path / "media").mkdir()
    for each in tmp_path.glob("a.db*"):
        if not each.name.endswith("-shm"):
            shutil.copyfile(each, tmp_path / "media" / each.name)
    before = {each: each.read_bytes() for each in (tmp_path / "media").iterdir()}
    monkeypatch.setattr(sqlite, "can_only_be_read", lambda _: True)
    found = wd.Campaign.open(tmp_path / "media" / "a.db", "spring")
    assert found.status().to_dict() == expected
    assert found.recommend().arm is not None
    assert found.verify(expected["receipt"])
    assert found.export(tmp_path / "a.jsonl") == expected["events"]
    with pytest.raises(wd.StorageError, match="is read-only"):
        found.ask()
    found.close()
    assert {each: each.read_bytes() for each in (tmp_path / "media").iterdir()} == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else")
def test_a_database_in_a_folder_of_somebody_else(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    receipt = str(campaign.pause("holidays"))
    campaign.close()
    (tmp_path / "a.db").chmod(0o644)
    for each in (tmp_path, *tmp_path.parents):
        if each == tmp_path or each.name.startswith(("pytest", "popen-")):
            each.chmod(0o755)
    assert wd.Campaign.open(tmp_path / "a.db", "spring").verify() == receipt  # and all that it needs is imported
    wd.Campaign.open(tmp_path / "a.db", "spring").close()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            answer = str(wd.Campaign.open(tmp_path / "a.db", "spring").verify())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
            answer = repr(error)
        os.write(writer, answer.encode())
        os._exit(0)
    os.waitpid(child, 0)
    answer = os.read(reader, 10_000).decode()
    os.close(reader)
    os.close(writer)
    assert answer == receipt


def test_restarting_again_for_the_same_reason_is_the_same_restart(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    run(campaign, rng(1), most=5)
    first = campaign.restart("new week")
    again = campaign.restart("new week")
    assert (again.repeated, str(again)) == (True, str(first))
    assert not campaign.restart("another reason").repeated
    ticket = campaign.ask()
    assert not campaign.restart("another reason").repeated
    campaign.void(ticket, "lost")  # there is more to spend now
    assert not campaign.restart("another reason").repeated
    assert campaign.restart("another reason").repeated
    assert campaign.verify()


@pytest.mark.parametrize("cost", [0.1, 1.1, 147_738.95])
def test_a_restart_is_known_again_whatever_pulls_cost(tmp_path: Path, cost: float) -> None:
    """What is promised becomes what is spent; in sums of such costs the last bits change by it, and no budget does."""
    costs = {str(arm): cost for arm in PROBLEM.arms}
    problem = wd.Problem("Z -> X; X -> Y; Z -> Y; W -> Y", "Y", ["X", "W"], costs=costs)
    campaign = create(str(tmp_path / "a.db"), policy="ue", problem=problem, budget=100 * cost)
    tickets = campaign.ask(7)
    campaign.restart("new week")
    for ticket in tickets:
        campaign.tell(ticket, row_of(ticket, rng(1)))
        assert campaign.restart("new week").repeated
    assert campaign.status().restarts == ("new week",)


def test_a_ticket_from_a_clock_that_is_ahead_is_leased_by_the_others(tmp_path: Path) -> None:
    right, ahead = Clock(), Clock()
    ahead.move(days=30)
    campaign = create(str(tmp_path / "a.db"), policy="ue", lease=3600, clock=right)
    wrong = wd.Campaign.open(tmp_path / "a.db", "spring", clock=ahead)
    ticket = wrong.ask(client="ahead")
    campaign.ask(client="right")
    right.move(hours=1.5)
    assert [each.client for each in campaign.status().open] == []
    expired = [event.content["tickets"] for event in campaign.events() if event.kind == "expired"]
    assert ticket.id in expired[0]
    assert campaign.verify()


def test_a_status_goes_by_the_clock_of_the_database_too(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client whose own clock is behind showed tickets as open that any verb would find expired."""
    campaign = create(database, policy="ue", lease=3600)
    campaign.ask()
    now = datetime.now(UTC)
    monkeypatch.setattr(campaign._store, "time", lambda connection: now + timedelta(hours=2))
    status = campaign.status()
    assert (status.tickets["expired"], status.open) == (1, ())


def test_a_server_says_what_time_it_is(new_server_database: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client's own clock may be days ahead: leases are of the server's."""
    campaign = create(new_server_database(), policy="ue", lease=3600)  # type: ignore[operator]

    class Ahead:
        @staticmethod
        def now(zone: Any) -> datetime:
            return datetime.now(zone) + timedelta(days=3)

    with monkeypatch.context() as patched:
        patched.setattr("whichdo.campaign.ledger.datetime", Ahead)
        campaign.ask()
    (asked,) = [event for event in campaign.events() if event.kind == "asked"]
    assert abs(moment(asked.time) - datetime.now(UTC)) < timedelta(hours=1)
