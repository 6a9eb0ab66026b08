"""Ctrl-C and signal handlers at any moment: what was answered is on record, and nothing else is disturbed."""

from __future__ import annotations

import random
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import whichdo as wd
from tests.campaign.trials import create, rng, row_of, run, transaction
from tests.soak import scaled

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from whichdo.campaign.storage import Storage


@pytest.mark.slow("1 s: 30 interrupts for each of three policies; finds a receipt without its event")
@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # struck while garbage was collected
@pytest.mark.parametrize("policy", ["causal-ts", "sr", "warm-halving"])
def test_an_interrupted_tell_is_there_or_not_and_is_never_believed_to_be(
    tmp_path: Path, policy: str, record_property: Callable[[str, object], None]
) -> None:
    """Ctrl-C at any moment of a tell, then the same tell again: its receipt is on record."""
    wanted = scaled(600)
    campaign = create(str(tmp_path / "a.db"), policy=policy, horizon=100_000)
    armed, interrupted, chance, outcomes = False, 0, random.Random(7), rng(7)

    def strike(*_: object) -> None:
        if armed:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, strike)
    try:
        while interrupted < wanted:
            ticket = campaign.ask()
            row = row_of(ticket, outcomes)
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-4, 2e-3))
                armed = True
                receipt = campaign.tell(ticket, row)
                armed = False
            except KeyboardInterrupt:
                armed = False
                interrupted += 1
                receipt = campaign.tell(ticket, row)
            signal.setitimer(signal.ITIMER_REAL, 0)
            with transaction(campaign._store, writes=False) as connection:
                found = connection.execute(f"SELECT hash FROM whichdo_event WHERE seq = {receipt.seq}").fetchone()
            assert found[0] == receipt.hash
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    again = wd.Campaign.open(tmp_path / "a.db", "spring")
    assert again.status() == campaign.status()
    assert again.verify()
    record_property("interrupted", interrupted)


def test_an_interrupted_recommendation_loses_no_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=60)
    run(campaign, rng(5))
    expected = campaign.recommend()
    campaign = wd.Campaign.open(tmp_path / "a.db", "spring")

    def strike(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("whichdo.monitoring.listening.np.bincount", strike)
        with pytest.raises(KeyboardInterrupt):
            campaign.recommend()
    assert campaign.recommend() == expected
    assert campaign.recommend().certainty == expected.certainty


@pytest.mark.slow("1 s: interrupts while two threads read, for a second")
def test_an_interrupt_does_not_disturb_other_threads(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=60)
    run(campaign, rng(6), most=20)
    length = len(campaign.events())
    clock = campaign._ledger._clock
    over, errors = time.monotonic() + 1.0, []

    def read() -> None:
        try:
            while time.monotonic() < over:
                assert len(campaign.events()) == length
        except BaseException as error:  # noqa: BLE001 - whatever it is
            errors.append(error)

    def strike() -> datetime:
        raise KeyboardInterrupt

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    campaign._ledger._clock = strike
    while time.monotonic() < over:
        with pytest.raises(KeyboardInterrupt):
            campaign.pause("now")
    campaign._ledger._clock = clock
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.parametrize("begun", [False, True])
def test_an_interrupt_while_a_transaction_begins_leaves_nothing(
    database: str, monkeypatch: pytest.MonkeyPatch, *, begun: bool
) -> None:
    campaign = create(database, policy="ue")
    campaign.ask(3)
    storage = campaign._store
    real = storage._begin

    def strike(connection: object, *, writes: bool, **_: object) -> None:
        if begun:
            real(connection, writes=writes)
            storage._do(connection, "SELECT 1")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(storage, "_begin", strike)
        for verb in (campaign.events, campaign.status, lambda: campaign.ask(5)):
            with pytest.raises(KeyboardInterrupt):
                verb()
    assert len(campaign.events()) == 2
    assert len(campaign.ask(5)) == 5


def test_a_handler_that_comes_in_between_cannot_undo_a_tell(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a tell, in the same thread, as a handler of a signal would."""
    campaign = create(database, policy="ue")
    ticket = campaign.ask()
    kind = type(campaign._store)
    real, refusals = kind.append, []

    def append(store: Storage, *given: Any) -> None:
        for verb in (campaign.status, campaign.events, campaign.ask):
            with pytest.raises(wd.BusyError, match="is in use by this thread") as info:
                verb()
            refusals.append(info.value)
        campaign.close()
        real(store, *given)

    with monkeypatch.context() as patched:
        patched.setattr(kind, "append", append)
        receipt = campaign.tell(ticket, {"Y": 1})
    assert len(refusals) == 3
    assert wd.Campaign.open(database, "spring").verify(receipt)
    assert campaign.tell(ticket, {"Y": 1}).repeated
