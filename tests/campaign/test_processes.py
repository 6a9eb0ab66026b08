"""Several processes at once on one campaign: every pull is told once, and nobody sees "locked"."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING, Any

import pytest

import whichdo as wd
from tests.campaign.trials import create
from tests.soak import scaled

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.campaign.mortal import Forker

PROCESSES = 8


@pytest.mark.slow("4 s: eight processes at one database; finds pulls that are told twice")
@pytest.mark.soak
def test_eight_processes_tell_every_pull_once(
    database: str, forker: Forker, record_property: Callable[[str, object], None]
) -> None:
    each = scaled(250, 12)
    campaign = create(database, policy="ue", horizon=PROCESSES * each)
    assert forker.cycles(database, PROCESSES, each) == [0] * PROCESSES
    record_property("asks and tells", 2 * PROCESSES * each)
    status = campaign.status()
    assert status.tickets["told"] == status.tickets["asked"] == PROCESSES * each
    assert status.phase == "finished"
    assert status.events == 1 + 2 * PROCESSES * each
    assert wd.Campaign.open(database, "spring").verify() == status.receipt


PAIRS = 600


def worked(database: str, name: str, mine: int, start: Any, done: Any) -> None:
    """Ask and tell without a pause until all together have made so many pairs; ``done`` has those of each process."""
    campaign = wd.Campaign.open(database, name, patience=60)
    campaign.ask(client="warm")
    start.wait()
    while sum(done[:]) < PAIRS:
        ticket = campaign.ask(client=multiprocessing.current_process().name)
        campaign.tell(ticket, {"Y": 1})
        done[mine] += 1
    campaign.close()


@pytest.mark.slow("3 s: six processes at two campaigns of one database; finds one that gets no turn")
def test_two_campaigns_in_one_database_do_not_starve_each_other(database: str) -> None:
    """Five processes write without a pause to one, a sixth to the other; by pairs, whatever else the machine does."""
    for name in ("busy", "quiet"):
        create(database, name, policy="ue", horizon=10**6).close()
    fork = multiprocessing.get_context("fork")
    start, done = fork.Barrier(6), fork.Array("i", 6)
    jobs = [
        fork.Process(target=worked, args=(database, "quiet" if each == 5 else "busy", each, start, done))
        for each in range(6)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0] * 6
    assert min(done[:]) * 4 >= PAIRS / 6, done[:]  # a quarter of a fair share at least
    for name in ("busy", "quiet"):
        assert wd.Campaign.open(database, name).verify()
