"""``kill -9`` at every step: what was acknowledged is there, what was not is wholly there or wholly absent."""

from __future__ import annotations

import json
import signal
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.campaign.mortal import STEPS
from tests.campaign.trials import create
from tests.soak import FULL, scaled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.campaign.mortal import Forker


@pytest.mark.slow("15 s: kills a writer at 40 points on each database; finds a commit that was lost or made twice")
@pytest.mark.soak
def test_nothing_acknowledged_is_lost_or_doubled(
    new_address: Callable[[], str], forker: Forker, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """The first trials die while the tables are made, in a database of their own; points are taken in turn."""
    wanted, killed, point, trial = scaled(800), 0, 0, -1
    stride = 1 if wanted > 200 else 7  # in few trials the points are met with steps in between
    database = new_address()
    while killed < wanted:
        trial += 1
        point += stride
        fresh = trial % 5 == 0
        if fresh:
            database = new_address()
        name, notes = f"trial {trial}", tmp_path / f"{trial}.jsonl"
        notes.touch()
        ended = forker.run(database, name, notes, die_at=point)
        assert ended in (0, -signal.SIGKILL)
        killed += ended != 0
        if ended == 0:  # beyond the last point: begin again
            point = trial % 3
        acknowledged = [json.loads(line) for line in notes.read_text().splitlines()]
        _check(database, name, acknowledged, whole=ended == 0)
        assert forker.run(database, name, notes) == 0
        _check(database, name, [json.loads(line) for line in notes.read_text().splitlines()], whole=True)
    record_property("killed", killed)
    record_property("trials", trial + 1)


@pytest.mark.slow("13 s: kills the first asks after an update at every fifth point; finds a restart without its ask")
@pytest.mark.soak
def test_an_ask_that_restarts_is_wholly_there_or_wholly_absent(
    database: str, forker: Forker, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """A campaign whose policy was updated while a pull was owed: killed while it goes on, and gone on with again."""
    stride, point, ended = 1 if FULL else 5, 0, -signal.SIGKILL
    found: Counter[tuple[str, ...]] = Counter()
    while ended:
        point += stride
        name, notes = f"trial {point}", tmp_path / f"{point}.jsonl"
        campaign = create(database, name, "ue")
        campaign.void(campaign.ask(client="me"), "lost")
        before = len(campaign.events())
        ended = forker.run(database, name, notes, die_at=point, update=True)
        assert ended in (0, -signal.SIGKILL)
        found[tuple(event.kind for event in campaign.events()[before:])] += 1
        assert forker.run(database, name, notes, update=True) == 0
        events = campaign.events()[before:]
        assert tuple(event.kind for event in events) == WHOLE
        assert [event.key for event in events] == ["ask owed", None, None, "ask decided", None]
        assert (events[0].content["play"], events[3].content["play"]) == (0, 1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(wd.available_policies()["ue"], "revision", 2)
            for line in notes.read_text().splitlines():
                campaign.verify(json.loads(line)[1])
        campaign.close()
    assert set(found) == {WHOLE[:count] for count in (0, 1, 2, 4, 5)}  # never a restart alone
    record_property("killed", found.total() - 1)


WHOLE = ("asked", "told", "restarted", "asked", "told")
"""What the updated program appends."""


def _check(database: str, name: str, acknowledged: list[list[str]], *, whole: bool) -> None:
    if not acknowledged and not whole:
        return
    campaign = wd.Campaign.open(database, name)
    for what, receipt in acknowledged:
        if what.startswith("asked"):
            continue
        campaign.verify(receipt)
    status = campaign.status()
    promised = [what for what, _ in acknowledged]
    assert status.tickets["told"] >= len({what for what in promised if what.startswith("told")})
    assert status.tickets["asked"] >= len({what for what in promised if what.startswith("asked")})
    assert len({receipt for what, receipt in acknowledged if what.startswith("asked")}) <= STEPS
    if whole:
        assert status.tickets["asked"] == STEPS
        assert (status.tickets["told"], status.tickets["voided"]) == (STEPS - 1, 1)
        assert status.looks_in_logs == 4
        assert status.events == 1 + STEPS + STEPS + 1
    campaign.close()
