"""Threads, locked databases, dropped connections, and reading that changes nothing."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.campaign.servers import new_database
from tests.campaign.trials import Clock, create, rng, row_of, run, transaction
from whichdo.campaign.state import State
from whichdo.campaign.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whichdo.campaign.chain import Event


@pytest.mark.slow("1 s: three threads for a second and a half; finds a connection used by two")
def test_threads_may_look_while_others_work(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=100_000)
    campaign.ask(2_000, client="holder")
    over, errors = time.monotonic() + 1.5, []

    def repeat(work: Callable[[], object]) -> None:
        try:
            while time.monotonic() < over:
                work()
        except Exception as error:  # noqa: BLE001 - whatever it is
            errors.append(error)

    def told() -> None:
        ticket = campaign.ask(client=threading.current_thread().name)
        campaign.tell(ticket, {"Y": 1})

    threads = [threading.Thread(target=repeat, args=(work,)) for work in (told, told, campaign.status)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_look_does_not_change_the_replay(tmp_path: Path) -> None:
    """A play begins with what is known when it is first asked, whoever looked at it before."""
    campaign = create(str(tmp_path / "a.db"), policy="causal-ts", horizon=60)
    outcomes = rng(4)
    ticket = campaign.ask()
    campaign.restart("a new week")
    campaign.status()
    campaign.tell(ticket, row_of(ticket, outcomes))
    campaign.recommend()
    campaign.amend(ticket, row_of(ticket, outcomes), "a slip")
    run(campaign, outcomes, most=8, client="other")
    assert campaign.verify()


def test_a_refusal_does_not_read_the_log_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="srm", horizon=60)
    other = wd.Campaign.open(tmp_path / "a.db", "spring")
    tickets = campaign.ask(60, client="holder")
    begun = []

    def fold(event: Event) -> State:
        begun.append(event)
        return State(event)

    monkeypatch.setattr("whichdo.campaign.ledger.State", fold)
    for ticket in tickets[:5]:
        other.tell(ticket, row_of(ticket, rng(8)))
        with pytest.raises(wd.WaitError):
            campaign.ask(client="poller")
    assert begun == []


def test_a_status_of_a_locked_database_is_given_as_it_stood(tmp_path: Path, no_turns: None) -> None:
    clock = Clock()
    campaign = create(str(tmp_path / "a.db"), policy="ue", lease=100, clock=clock, patience=0.1)
    campaign.ask(3)
    clock.move(seconds=101)
    other = wd.Campaign.open(tmp_path / "a.db", "spring")
    with transaction(other._store):
        assert "could not be recorded" in campaign.status().notes[0]
        assert campaign.recommend().pulls == 0
    assert campaign.status().tickets["expired"] == 3


def test_a_recommendation_says_what_could_not_be_put_on_record(tmp_path: Path, no_turns: None) -> None:
    clock = Clock()
    campaign = create(str(tmp_path / "a.db"), policy="ue", window=100, clock=clock, patience=0.1)
    run(campaign, rng(12), most=20)
    clock.move(seconds=101)
    other = wd.Campaign.open(tmp_path / "a.db", "spring", clock=clock)
    with transaction(other._store):
        assert "could not be recorded" in campaign.recommend().warnings[-1]
    assert campaign.recommend().arm is not None


def test_a_database_that_is_stricter_by_default_serves_as_well(server: str) -> None:
    address = new_database(server, "strict")
    store = open_storage(address, create=True)
    with transaction(store) as connection:
        connection.execute("ALTER DATABASE strict SET default_transaction_isolation = 'serializable'")
    store.close()
    campaign = create(address, policy="ue", horizon=200)
    errors = []

    def work() -> None:
        own = wd.Campaign.open(address, "spring")
        try:
            for _ in range(10):
                own.tell(own.ask(client=threading.current_thread().name), {"Y": 1})
        except Exception as error:  # noqa: BLE001 - whatever it is
            errors.append(error)
        own.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert campaign.status().tickets["told"] == 40


def test_a_connection_that_was_dropped_at_rest_is_made_anew(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = new_database(server, "dropped")
    campaign = create(address, policy="ue")
    ticket = campaign.ask()
    other = open_storage(address)
    with transaction(other, writes=False) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    other.close()
    monkeypatch.setattr("whichdo.campaign.storage.postgres.REST", 0.0)
    assert campaign.tell(ticket, {"Y": 1}).seq == 2


def test_a_wait_names_what_is_waited_for(database: str) -> None:
    campaign = create(database, policy="ucb")
    campaign.ask(client="a")
    campaign.restart("a new week")
    ticket = campaign.ask(client="b")
    with pytest.raises(
        wd.WaitError, match=f"^ucb cannot go on until 1 open ticket is told: {ticket.id}\\. A ticket that was lost"
    ) as info:
        campaign.ask(client="c")
    assert info.value.tickets == (ticket.id,)
