"""A campaign that was opened before a fork may be used on both sides of it, in both databases."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.campaign.trials import create

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def in_a_fork(work: Callable[[], object]) -> Callable[[], None]:
    """Begin some work in a child; what it gives waits for its end."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)

    def wait() -> None:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    return wait


def pulls(campaign: wd.Campaign, client: str, count: int) -> None:
    for _ in range(count):
        campaign.tell(campaign.ask(client=client), {"Y": 1})


def test_both_sides_go_on(database: str) -> None:
    campaign = create(database, policy="ue", horizon=100)
    pulls(campaign, "parent", 2)
    wait = in_a_fork(lambda: pulls(campaign, "child", 20))
    pulls(campaign, "parent", 20)
    wait()
    assert campaign.status().tickets["told"] == 42
    assert wd.Campaign.open(database, "spring").verify()


def test_what_the_child_was_answered_stays_when_the_parent_is_done_with_it(database: str) -> None:
    """SQLite tidies up when the last connection closes, and must not take the child's log for nobody's."""
    campaign = create(database, policy="ue", horizon=100)
    pulls(campaign, "parent", 1)
    read, write = os.pipe()

    def later() -> None:
        os.read(read, 1)
        pulls(campaign, "child", 5)

    wait = in_a_fork(later)
    campaign.close()
    os.write(write, b".")
    wait()
    again = wd.Campaign.open(database, "spring")
    assert again.status().tickets["told"] == 6
    assert again.verify()


def test_a_fork_waits_for_the_threads_that_are_at_work(database: str) -> None:
    campaign = create(database, policy="ue", horizon=2_000)
    over = threading.Event()

    def work() -> None:
        left = 1_900  # a slow child must find something to ask for
        while left and not over.is_set():
            pulls(campaign, "thread", 1)
            left -= 1

    thread = threading.Thread(target=work)
    thread.start()
    waits = [in_a_fork(lambda: pulls(campaign, "child", 2)) for _ in range(5)]
    for wait in waits:
        wait()
    over.set()
    thread.join()
    assert wd.Campaign.open(database, "spring").verify()


@pytest.mark.slow("3 s: two seconds of forks beside open campaigns; finds a lock that a child inherits held")
def test_many_threads_may_fork_while_others_open_campaigns(tmp_path: Path) -> None:
    campaigns = [create(str(tmp_path / f"{number}.db"), policy="ue", horizon=100) for number in range(3)]
    over, errors = time.monotonic() + 2.0, []

    def guarded(work: Callable[[], object]) -> None:
        try:
            while time.monotonic() < over:
                work()
        except BaseException as error:  # noqa: BLE001 - whatever it is
            errors.append(error)

    def opened() -> None:
        with wd.Campaign.open(tmp_path / "0.db", "spring") as campaign:
            campaign.status()

    def forked() -> None:
        in_a_fork(lambda: None)()

    works = [forked, forked, forked, opened, campaigns[1].status]
    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert errors == []
    for campaign in campaigns:
        pulls(campaign, "after", 1)
