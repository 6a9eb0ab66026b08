"""``kill -9`` at every step: what was acknowledged is there, what was not is wholly there or wholly absent."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

import pytest

import whichdo as wd
from tests.campaign.mortal import STEPS
from tests.campaign.servers import mortal, new_database, why_not
from tests.campaign.trials import create
from tests.campaign.trials import rng as random_numbers
from tests.soak import FULL, scaled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.campaign.mortal import Forker

T = TypeVar("T")


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


@pytest.mark.slow(
    "8 s: a server of its own, that is ended at once 3 times; finds an answer before its commit is written"
)
@pytest.mark.soak
def test_a_server_that_dies_has_all_that_was_acknowledged(record_property: Callable[[str, object], None]) -> None:
    """Ended at once while four write: what the server had in memory is lost, and clients repeat what was not answered.

    With ``synchronous_commit`` off this was seen to fail.
    """
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    wanted, random = scaled(60), random_numbers(20261118)
    lost_answers, acknowledged = 0, 0
    with mortal() as (server, crash):
        for trial in range(wanted):
            address = new_database(server, f"trial{trial}")
            create(address, policy="ue", horizon=10**6).close()
            receipts: list[tuple[int, str]] = []
            over = threading.Event()
            unanswered = Counter[int]()

            def work(me: int) -> None:
                campaign = wd.Campaign.open(address, "spring", patience=20)  # noqa: B023 - ends before the next trial

                def sure(verb: Callable[[], T]) -> T:
                    while True:
                        try:
                            return verb()
                        except wd.errors.DamagedError:
                            raise
                        except wd.StorageError:
                            unanswered[me] += 1  # noqa: B023
                            time.sleep(0.05)

                while not over.is_set():  # noqa: B023
                    ticket = sure(lambda: campaign.ask(client=f"worker {me}"))
                    told = sure(lambda: campaign.tell(ticket, {"Y": me % 2}))  # noqa: B023
                    seq, _, digest = ticket.receipt.partition(":")
                    receipts.extend([(int(seq), digest), (told.seq, str(told).partition(":")[2])])  # noqa: B023

            threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(0.1 + 0.4 * random.random())
            crash()
            time.sleep(0.1)
            over.set()
            for thread in threads:
                thread.join(120)
            campaign = wd.Campaign.open(address, "spring")
            hashes = [event.hash for event in campaign.events()]
            assert all(hashes[seq] == digest for seq, digest in receipts)
            assert campaign.status().tickets["told"] == len(receipts) / 2
            assert campaign.verify()
            campaign.close()
            lost_answers += unanswered.total()
            acknowledged += len(receipts)
    assert lost_answers
    record_property("crashes", wanted)
    record_property("acknowledged", acknowledged)


@pytest.mark.slow("13 s: kills the first asks after an update at every third point; finds a restart without its ask")
@pytest.mark.soak
def test_an_ask_that_restarts_is_wholly_there_or_wholly_absent(
    database: str, forker: Forker, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """A campaign whose policy was updated while a pull was owed: killed while it goes on, and gone on with again."""
    stride, point, ended = 1 if FULL else 3, 0, -signal.SIGKILL
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
