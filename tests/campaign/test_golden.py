"""Logs of every version are read for ever: what was asked, told and spent stands, and work goes on.

Where the policy has the revision of the log, its asks are made again and the same is recommended, in the same words.
Where it has another, the log is followed, and the next ask begins a play of the new revision.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from tests.campaign.golden import FOLDER
from tests.campaign.trials import Clock, row_of
from whichdo.campaign.chain import moment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = sorted(FOLDER.glob("campaign-*.jsonl"))
ON_A_SERVER = [f"campaign-{wd.__version__}-{policy}" for policy in ("warm-halving", "causal-ts")]
KINDS = {
    "created", "observed", "asked", "told", "voided", "amended", "paused", "resumed", "forbidden", "restarted",
}  # fmt: skip


def test_this_version_has_its_logs() -> None:
    assert {path.stem for path in FILES} >= {
        f"campaign-{wd.__version__}-{policy}" for policy in ("warm-halving", "causal-ts")
    }


def events_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()[:-1]]  # the last line is the checksum


def imported(path: Path, database: str) -> wd.Campaign:
    """A campaign from a file, at the time of its last event."""
    clock = Clock(moment(events_in(path)[-1]["time"]))
    return wd.Campaign.import_(database, path, clock=clock)


def tickets_in(events: list[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """Of each ticket its arm, client, play, slot and needed columns, what became of it, and its row."""
    found: dict[str, tuple[Any, ...]] = {}
    for event in events:
        body = event["body"]
        if event["kind"] == "asked":
            for each in body["tickets"]:
                asked = (each["arm"], body["client"], body["play"], each["slot"], body["needed"])
                found[each["id"]] = (*asked, "asked", None)
        elif event["kind"] in {"told", "amended"}:
            found[body["ticket"]] = (*found[body["ticket"]][:-2], "told", body["row"])
        elif event["kind"] in {"voided", "expired"}:
            for each in body.get("tickets", [body.get("ticket")]):
                found[each] = (*found[each][:-2], event["kind"], None)
    return found


def tickets_of(campaign: wd.Campaign) -> dict[str, tuple[Any, ...]]:
    return {
        pull.id: (str(pull.arm), pull.client, pull.play, pull.slot, list(pull.needed), pull.phase.value, pull.row)
        for pull in campaign._ledger.state().tickets.values()
    }


JOINT = pytest.mark.slow("3 s: campaigns with joint arms to their end; as read by `test_old_logs_are_read`")


@pytest.fixture(params=["as it is", "updated"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program as it is, and as if every policy had come to another revision."""
    if request.param == "updated":
        for kind in wd.available_policies().values():
            monkeypatch.setattr(kind, "revision", 99)


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_old_logs_are_read(path: Path, tmp_path: Path) -> None:
    read(path, str(tmp_path / "a.db"), tmp_path)


@pytest.mark.slow("2 s: two of these logs in the other database as well; each kind of event is in them")
@pytest.mark.parametrize("path", [each for each in FILES if each.stem in ON_A_SERVER], ids=lambda path: path.stem)
def test_old_logs_are_read_and_work_goes_on_on_a_server(
    path: Path, new_server_database: Callable[[], str], tmp_path: Path
) -> None:
    read(path, new_server_database(), tmp_path)
    go_on(path, new_server_database())


def read(path: Path, database: str, tmp_path: Path) -> None:
    events = events_in(path)
    campaign = imported(path, database)
    assert {event["kind"] for event in events} >= KINDS
    assert campaign.verify(f"{events[-1]['seq']}:{events[-1]['hash']}") == campaign.status(settle=False).receipt
    campaign.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes()
    tickets = tickets_in(events)
    assert tickets_of(campaign) == tickets
    status = campaign.status(settle=False)
    phases = [phase for *_, phase, _ in tickets.values()]
    assert status.budget == events[0]["body"]["budget"]
    assert (status.spent, status.promised) == (phases.count("told"), phases.count("asked"))  # every arm costs 1
    assert campaign.recommend(at=events[-1]["seq"]).arm is not None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_logs_of_the_same_revision_recommend_the_same(path: Path, tmp_path: Path) -> None:
    (first, *_, last) = events_in(path)
    policy = first["body"]["policy"]
    if policy["revision"] != wd.available_policies()[policy["name"]].revision:
        pytest.skip(f"{policy['name']} has another revision by now")
    campaign = imported(path, str(tmp_path / "a.db"))
    assert campaign.verify().notes == ()
    sentences = list(campaign.recommend(at=last["seq"]).sentences)
    assert sentences == path.with_suffix(".txt").read_text().splitlines()


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=JOINT if "joint" in path.stem else (), id=path.stem) for path in FILES]
)
def test_work_on_old_logs_goes_on(path: Path, tmp_path: Path) -> None:
    go_on(path, str(tmp_path / "a.db"))


def go_on(path: Path, database: str) -> None:
    """With what is out told and the rest asked for; at another revision after a restart of its own."""
    (first, *_, last) = events_in(path)
    policy = first["body"]["policy"]
    now = wd.available_policies()[policy["name"]].revision
    campaign, random = imported(path, database), np.random.default_rng(5)
    clock = campaign._ledger._clock
    assert isinstance(clock, Clock)
    for pull in [*campaign._ledger.state().tickets.values()]:
        if pull.phase.value == "asked":
            campaign.tell(pull.id, row_of(wd.Ticket(pull.id, pull.arm), random))
    while not campaign.finished:
        try:
            tickets = campaign.ask(4, client="later")
        except wd.WaitError:
            clock.move(days=1)  # reward windows close
            continue
        for ticket in tickets:
            campaign.tell(ticket, row_of(ticket, random))
    new = campaign.events()[last["seq"] + 1 :]
    restarted = [event.content["revision"] for event in new if event.kind == "restarted"]
    assert restarted == ([] if policy["revision"] == now else [now])
    status = campaign.status()
    assert status.phase == "finished"
    assert status.tickets["open"] == 0
    assert status.spent <= status.budget
    again = wd.Campaign.open(database, campaign.name, clock=clock)
    assert again.verify() == status.receipt
    assert again.recommend().to_dict() == campaign.recommend().to_dict()
