"""Several processes at once on one campaign: every pull is told once, and nobody sees "locked"."""

from __future__ import annotations

import multiprocessing
import time
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


def worked(database: str, name: str, seconds: float, start: Any, results: Any) -> None:
    """Ask and tell without a pause; how many pairs, and the longest wait for an ask."""
    campaign = wd.Campaign.open(database, name, patience=60)
    campaign.ask(client="warm")
    start.wait()
    ends, pairs, longest = time.monotonic() + seconds, 0, 0.0
    while time.monotonic() < ends:
        begin = time.monotonic()
        ticket = campaign.ask(client=multiprocessing.current_process().name)
        longest = max(longest, time.monotonic() - begin)
        campaign.tell(ticket, {"Y": 1})
        pairs += 1
    campaign.close()
    results.put((name, pairs, longest))


@pytest.mark.slow("3 s: six processes at two campaigns of one database; finds one that gets no turn")
def test_two_campaigns_in_one_database_do_not_starve_each_other(database: str) -> None:
    """Five processes write without a pause to one, a sixth to the other."""
    for name in ("busy", "quiet"):
        create(database, name, policy="ue", horizon=10**6).close()
    fork = multiprocessing.get_context("fork")
    start, results = fork.Barrier(6), fork.SimpleQueue()
    jobs = [
        fork.Process(target=worked, args=(database, "quiet" if each == 5 else "busy", 1.5, start, results))
        for each in range(6)
    ]
    for job in jobs:
        job.start()
    done = [results.get() for _ in jobs]
    for job in jobs:
        job.join()
    (quiet,) = (pairs for name, pairs, _ in done if name == "quiet")
    busy = [pairs for name, pairs, _ in done if name == "busy"]
    assert max(longest for *_, longest in done) < 3
    assert quiet * 5 * 4 >= sum(busy)  # a fair share is a fifth of it
    assert min(busy) * 5 * 4 >= sum(busy)
    for name in ("busy", "quiet"):
        assert wd.Campaign.open(database, name).verify()
