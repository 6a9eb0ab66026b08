"""What went wrong once: interrupts, keys used again, forbidden arms, logs that lack columns, clocks, forged exports."""

from __future__ import annotations

import gzip
import random
import shutil
import signal
import threading
import time
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sqlalchemy.event import listen, remove

import whichdo as wd
from tests.campaign.servers import new_database
from tests.campaign.trials import PROBLEM, Clock, create, row_of, run, transaction
from tests.soak import scaled
from whichdo.campaign.events import Event, canonical, sealed
from whichdo.campaign.exchange import export_lines
from whichdo.campaign.state import State
from whichdo.campaign.store import Store
from whichdo.policies.base import Recommendation
from whichdo.report.campaign import campaign_page, write_report

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# ----------------------------------------------------------------------------------------------------- interrupts


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
                found = connection.exec_driver_sql(f"SELECT hash FROM whichdo_event WHERE seq = {receipt.seq}").one()
            assert found[0] == receipt.hash
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    again = wd.Campaign.open(tmp_path / "a.db", "spring")
    assert again.status() == campaign.status()
    assert again.verify()
    record_property("interrupted", interrupted)


def test_threads_may_look_while_others_work(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=4_000)
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


# ------------------------------------------------------------------------------------------------------------ keys


def test_a_key_used_again_for_another_row_is_a_conflict_that_shows_both(database: str) -> None:
    campaign = create(database, policy="ue")
    ticket = campaign.ask()
    first = campaign.tell(ticket, {"Y": 1}, key="k")
    assert campaign.tell(ticket, {"Y": 1}, key="k").hash == first.hash
    with pytest.raises(wd.ConflictError, match=r'The key "k" was used at .*"row":\{"Y":1\}.* now told .*\{"Y":0\}'):
        campaign.tell(ticket, {"Y": 0}, key="k")
    other = next(arm for arm in PROBLEM.arms if arm != ticket.arm)
    with pytest.raises(wd.ConflictError, match="is for"):
        campaign.tell(ticket, {"Y": 1}, arm=other, key="k")
    with pytest.raises(wd.UsageError, match="A row is a mapping"):
        campaign.tell(ticket, None, key="k")
    campaign.amend(ticket, {"Y": 0}, "typo", key="a")
    assert campaign.amend(ticket, {"Y": 0}, "typo", key="a").repeated
    assert campaign.tell(ticket, {"Y": 1}, key="k").repeated  # as it was answered then
    with pytest.raises(wd.ConflictError, match=r'The key "a" was used'):
        campaign.amend(ticket, {"Y": 1}, "typo", key="a")


def test_an_ask_under_a_key_gives_the_same_tickets_again(database: str) -> None:
    campaign = create(database, policy="ue")
    campaign.ask(2, client="me")
    asked = campaign.ask(5, client="me", key="k")
    assert len(asked) == 5
    campaign.tell(asked[0], {"Y": 1})
    assert campaign.ask(5, client="me", key="k") == asked
    with pytest.raises(wd.ConflictError, match='"wanted":9'):
        campaign.ask(9, client="me", key="k")


# ------------------------------------------------------------------------------------------------- forbidden arms


def test_tickets_of_a_forbidden_arm_are_voided(database: str) -> None:
    campaign = create(database, policy="ue", horizon=60)
    tickets = campaign.ask(40)
    arm = next(ticket.arm for ticket in tickets if not ticket.arm.is_look)
    campaign.forbid(str(arm), "dangerous")
    out = [ticket for ticket in tickets if ticket.arm == arm]
    status = campaign.status()
    assert status.tickets["voided"] == len(out)
    assert status.left == 60 - 40 + len(out)
    assert all(ticket.arm != arm for ticket in campaign.ask(60))
    with pytest.raises(wd.ConflictError, match=r"was voided at .* is forbidden: dangerous"):
        campaign.tell(out[0], {"Y": 1})


@pytest.mark.parametrize("asked", [0, 1])
def test_the_leader_may_be_forbidden_while_it_is_audited(tmp_path: Path, asked: int) -> None:
    campaign = create(str(tmp_path / "a.db"), horizon=400, audit=True)
    outcomes = rng(1)
    while campaign._ledger.state().audits is None:
        ticket = campaign.ask()
        campaign.tell(ticket, row_of(ticket, outcomes))
    named = campaign.recommend().policy_arm
    assert named is not None
    if asked:
        campaign.ask()
    campaign.forbid(named, "dangerous")
    advice = campaign.recommend()
    assert advice.policy_arm is None
    assert advice.arm != named
    assert f"names {named}, which is forbidden by now" in advice.sentences[-1]
    pulled = []
    while not campaign.finished:
        ticket = campaign.ask()
        pulled.append(ticket.arm)
        campaign.tell(ticket, row_of(ticket, outcomes))
    assert named not in pulled
    assert campaign.verify()


def test_an_arm_forbidden_for_a_while_does_not_spoil_the_report(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=60)
    outcomes = rng(2)
    run(campaign, outcomes, most=5)
    campaign.forbid(wd.do(X=1), "not now")
    run(campaign, outcomes, most=5)
    campaign.allow(wd.do(X=1), "now")
    run(campaign, outcomes)
    assert "How it developed" in campaign_page(campaign.events())


# ------------------------------------------------------------------------------------------------------------- logs


def test_a_log_that_lacks_a_column_does_not_deafen_the_alarm(tmp_path: Path) -> None:
    """do(X) moves W, on which X does not act in the graph."""
    problem = wd.Problem("X -> Y; W -> Y", "Y", ["X"])
    outcomes = rng(3)

    def rows(count: int, *, moved: bool = False) -> dict[str, Any]:
        x = np.ones(count, int) if moved else outcomes.integers(0, 2, count)
        w = (outcomes.random(count) < (0.9 if moved else 0.2)).astype(int)
        return {"X": x, "W": w, "Y": outcomes.integers(0, 2, count)}

    campaign = wd.Campaign.create(
        tmp_path / "a.db", "a", problem, wd.policy("ue"), horizon=300, logs=rows(5_000), audit=False
    )
    short = rows(10)
    del short["W"]
    campaign.observe(short, name="short")
    tickets = [ticket for ticket in campaign.ask(300) if ticket.arm == wd.do(X=1)]
    pulls = rows(len(tickets), moved=True)
    for place, ticket in enumerate(tickets[:60]):
        campaign.tell(ticket, {name: int(column[place]) for name, column in pulls.items()})
    assert len(campaign.status().alarms) == 1


def test_observe_with_restart_is_one_request(database: str) -> None:
    campaign = create(database, policy="ue", horizon=30)
    log = {"Z": [0, 1], "X": [0, 1], "W": [1, 1], "Y": [0, 1]}
    outcomes = rng(4)
    run(campaign, outcomes, most=3)
    campaign.observe(log)
    assert campaign.status().restarts == ()
    (again,) = campaign.observe(log, restart=True)  # as after a kill between the two
    assert again.repeated
    assert campaign.status().restarts == ("observed 1 log",)
    run(campaign, outcomes, most=1)
    campaign.observe(log, restart=True)
    assert len(campaign.status().restarts) == 1
    run(campaign, outcomes)
    before = campaign.status().events
    with pytest.raises(wd.Unsuitable, match="needs a budget"):
        campaign.restart("more")
    assert campaign.status().events == before


def test_looks_with_the_same_counts_need_a_name(database: str) -> None:
    campaign = create(database, policy="ue")
    log = {"Z": [0, 1], "X": [0, 1], "W": [1, 1], "Y": [0, 1]}
    campaign.observe(log, name="monday")
    (again,) = campaign.observe(log, name="monday")
    assert again.notes[0].endswith("If these are others with the same counts, give them a name.")
    campaign.observe(log, name="tuesday")
    assert campaign.status().looks_in_logs == 4


def test_a_campaign_is_not_begun_with_a_log_that_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("Z,X,W,Y\n0,0,0,7\n")
    with pytest.raises(wd.DataError):
        create(str(tmp_path / "a.db"), logs=str(tmp_path / "bad.csv"))
    assert not (tmp_path / "a.db").exists()


# ------------------------------------------------------------------------------------------------- clocks and budgets


def test_a_clock_that_was_ahead_does_not_hold_a_pull_for_ever(database: str) -> None:
    clock = Clock()
    campaign = create(database, policy="ue", horizon=20, window=3_600, clock=clock)
    clock.now = clock.now.replace(year=2099)
    ticket = campaign.ask()
    clock.now = clock.now.replace(year=2026)
    campaign.tell(ticket, {"Y": 1})
    assert campaign.status().tickets["counted"] == 0
    clock.move(hours=1)
    assert campaign.status().tickets["counted"] == 1


def test_a_clock_without_a_time_zone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(wd.UsageError, match="with its time zone"):
        create(str(tmp_path / "a.db"), clock=lambda: datetime(2026, 3, 1))  # noqa: DTZ001 - what is refused


def test_late_tells_beyond_the_budget_are_said(tmp_path: Path) -> None:
    clock = Clock()
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=10, lease=100, clock=clock)
    first = campaign.ask(10)
    clock.move(seconds=101)
    for ticket in campaign.ask(10):
        campaign.tell(ticket, {"Y": 1})
    for ticket in reversed(first):
        campaign.tell(ticket, {"Y": 0})
    status = campaign.status()
    assert (status.spent, status.left) == (20, -10)
    assert "(late tells count, and were more than the budget)" in status.sentences[0]
    assert 'class="spent" style="width:100.00%"' in campaign_page(campaign.events())


def test_late_tells_take_the_slots_that_were_given_back(tmp_path: Path) -> None:
    """In any order, and what has gone out again is not taken back."""
    clock = Clock()
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=30, lease=100, clock=clock)
    first = campaign.ask(30)
    clock.move(seconds=101)
    again = campaign.ask(10, client="other")
    for ticket in reversed(first[10:]):
        assert campaign.tell(ticket, {"Y": 0}).seq
    assert campaign.status().tickets["extra"] == 0
    campaign.tell(first[3], {"Y": 0})
    assert campaign.status().tickets["extra"] == 1
    for ticket in again:
        campaign.tell(ticket, {"Y": 1})
    assert campaign.finished
    assert wd.Campaign.open(tmp_path / "a.db", "spring").status() == campaign.status()


def test_money_has_no_dust(tmp_path: Path) -> None:
    problem = wd.Problem("X -> Y", "Y", costs={"do()": 0.1, "do(X=0)": 0.3, "do(X=1)": 0.7})
    campaign = wd.Campaign.create(tmp_path / "a.db", "a", problem, wd.policy("ue"), budget=20.3)
    for ticket in campaign.ask(40):
        campaign.tell(ticket, {"X": ticket.arm.settings.get("X", 0), "Y": 1})
    status = campaign.status()
    assert status.promised == 0
    assert "e-" not in status.sentences[0]


def test_a_voided_ticket_of_a_play_that_is_over_says_so(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=40)
    (ticket, *_) = campaign.ask(20)
    campaign.restart("anew")
    assert campaign.void(ticket, "lost").notes[0].startswith("The play that wanted this pull is over")
    assert not campaign.void(campaign.ask(client="new"), "lost").notes


def test_the_same_terms_after_an_update_are_the_same(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create(database).ask()
    monkeypatch.setattr("whichdo.campaign.terms.np.__version__", "99.0")
    assert create(database).status().tickets["asked"] == 1
    with pytest.raises(wd.ConflictError, match="on other terms"):
        create(database, horizon=41)


def test_many_begin_the_same_campaign_at_once(database: str) -> None:
    create(database, name="first").close()  # the tables are there
    found: list[object] = []

    def begin() -> None:
        try:
            found.append(create(database, policy="ue").status().events)
        except Exception as error:  # noqa: BLE001 - shown by the assertion
            found.append(error)

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 6


# ------------------------------------------------------------------------------------------------- files and exports


def test_an_export_replaces_an_export_and_nothing_else(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"))
    campaign.ask()
    for target in (tmp_path / "a.db", tmp_path / "notes.txt"):
        if target.suffix == ".txt":
            target.write_text("mine")
        with pytest.raises(wd.ConflictError, match="is there already and is no export"):
            campaign.export(target)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert campaign.verify()
    for name in ("a.jsonl", "a.jsonl.gz"):
        before = campaign.export(tmp_path / name)
        ticket = campaign.ask()
        campaign.tell(ticket, row_of(ticket, rng(6)))
        assert campaign.export(tmp_path / name) > before
        there = wd.Campaign.import_(tmp_path / f"{name}.db", tmp_path / name)
        assert there.verify() == campaign.verify()
    (tmp_path / "half.gz").write_bytes(gzip.compress(b"{}")[:-3])
    with pytest.raises(wd.StorageError, match="cannot be read"):
        wd.Campaign.import_(tmp_path / "b.db", tmp_path / "half.gz")


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (0, {"budget": "much"}),
        (0, {"audit": None}),
        (0, {"margin": "x"}),
        (0, {"lease": 1e300}),
        (0, {"name": "another"}),
        (1, {"looks": "x"}),
        (1, {"looks": -3}),
        (1, {"tables": [{"columns": ["Y"], "cells": [[0]], "counts": [-1]}]}),
        (1, {"tables": [{"columns": ["Y"], "cells": [[0]], "counts": [10**30]}]}),
        (1, {"tables": [{"columns": ["Y"], "cells": [[300]], "counts": [1]}]}),
        (1, {"tables": [{"columns": ["Y"], "cells": [[5]], "counts": [1]}]}),
        (2, {"tickets": None}),
        (3, {"ticket": "1-zz"}),
    ],
)
def test_a_forged_export_is_refused(tmp_path: Path, number: int, changes: dict[str, Any]) -> None:
    """Its chain and its checksum hold: whoever forges it can work them out."""
    campaign = create(str(tmp_path / "a.db"), policy="ue", lease=100, logs={name: [0, 1] for name in "ZXWY"})
    ticket = campaign.ask()
    campaign.tell(ticket, {"Y": 1})
    campaign.tell(campaign.ask(), {"Y": 1})
    forged: list[Any] = []
    for event in campaign.events():
        body = event.content | (changes if event.seq == number else {})
        before = forged[-1].hash if forged else event.previous
        forged.append(sealed(event.campaign, event.seq, event.kind, body, event.time, before, event.key))
    assert all(canonical(one.content) == one.body for one, _ in pairwise(forged))
    (tmp_path / "forged.jsonl").write_text("".join(export_lines(forged)))
    with pytest.raises(wd.WhichdoError):
        wd.Campaign.import_(tmp_path / "b.db", tmp_path / "forged.jsonl")
    assert wd.Campaign.list(tmp_path / "b.db") == []


def test_a_row_told_twice_is_no_log(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    campaign.tell(campaign.ask(), {"Y": 1})
    events = campaign.events()
    last = events[-1]
    events.append(sealed(last.campaign, last.seq + 1, "told", last.content, last.time, last.hash))
    (tmp_path / "forged.jsonl").write_text("".join(export_lines(events)))
    with pytest.raises(wd.Damaged, match="is told twice"):
        wd.Campaign.import_(tmp_path / "b.db", tmp_path / "forged.jsonl")


def test_an_empty_file_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    with pytest.raises(wd.NotOurs, match="holds no campaigns"):
        wd.Campaign.open(tmp_path / "empty.db", "a")
    assert (tmp_path / "empty.db").stat().st_size == 0


def test_a_backup_under_the_companions_of_a_damaged_file_says_to_remove_them(tmp_path: Path) -> None:
    """As after kill -9: the log that SQLite keeps beside the file is still there."""
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=2_000)
    campaign.backup(tmp_path / "copy.db")
    run(campaign, rng(5), most=200)
    for end in ("-wal", "-shm"):
        shutil.copyfile(tmp_path / f"a.db{end}", tmp_path / f"b.db{end}")
    shutil.copyfile(tmp_path / "copy.db", tmp_path / "b.db")
    with pytest.raises(wd.Damaged, match=r"remove .*b\.db-wal and .*b\.db-shm"):
        wd.Campaign.open(tmp_path / "b.db", "spring").verify()
    for end in ("-wal", "-shm"):
        (tmp_path / f"b.db{end}").unlink(missing_ok=True)
    shutil.copyfile(tmp_path / "copy.db", tmp_path / "b.db")
    assert wd.Campaign.open(tmp_path / "b.db", "spring").status().events == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [({"margin": "a"}, "The margin is"), ({"grace": 5.0}, "there is no lease"), ({"margin": True}, "The margin is")],
)
def test_terms_that_make_no_sense_are_refused(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(wd.UsageError, match=text):
        create(str(tmp_path / "a.db"), **options)


# ------------------------------------------------------------------------------------- memory and what is on record


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


def test_an_interrupted_recommendation_loses_no_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue", horizon=60)
    run(campaign, rng(5))
    expected = campaign.recommend()
    campaign = wd.Campaign.open(tmp_path / "a.db", "spring")

    def strike(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("whichdo.campaign.listening.np.bincount", strike)
        with pytest.raises(KeyboardInterrupt):
            campaign.recommend()
    assert campaign.recommend() == expected
    assert campaign.recommend().certainty == expected.certainty


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


def test_a_log_whose_end_is_missing_is_not_exported(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    run(campaign, rng(7), most=3)
    with transaction(campaign._store) as connection:
        connection.exec_driver_sql("DELETE FROM whichdo_event WHERE seq = 6")
    with pytest.raises(wd.Damaged, match="its log should have 7 events and ends after 6"):
        campaign.export(tmp_path / "a.jsonl")
    with pytest.raises(wd.Damaged):
        campaign.recommend(at=2)


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
        with pytest.raises(wd.Wait):
            campaign.ask(client="poller")
    assert begun == []


def test_an_ask_under_a_key_that_is_answered_with_what_is_held_holds(database: str) -> None:
    campaign = create(database, policy="ue")
    held = campaign.ask(client="c")
    assert campaign.ask(1, client="c", key="k") == [held]
    campaign.tell(held, {"Y": 1})
    assert campaign.ask(1, client="c", key="k") == [held]
    assert campaign.ask(1, client="c") != [held]


def test_logs_are_taken_where_the_policy_cannot_go_on(tmp_path: Path) -> None:
    laws = np.full((len(PROBLEM.arms), 8), 1 / 8)
    campaign = wd.Campaign.create(tmp_path / "a.db", "a", PROBLEM, wd.policy("c-ucb", laws=laws.tolist()), horizon=60)
    campaign.tell(ticket := campaign.ask(), row_of(ticket, rng(8)))
    campaign.forbid("do(W=1)", "dear")
    assert campaign.status().phase == "stuck"
    campaign.observe({"Z": [0, 1], "X": [0, 1], "W": [1, 0], "Y": [0, 1]})
    assert campaign.recommend().looks_in_logs == 2


def test_an_arm_that_is_allowed_again_is_audited_after_all(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), horizon=400, audit=True)
    outcomes = rng(1)
    while campaign._ledger.state().audits is None:
        ticket = campaign.ask()
        campaign.tell(ticket, row_of(ticket, outcomes))
    wanted = dict(campaign._ledger.state().audits or {})
    campaign.tell(ticket := campaign.ask(), row_of(ticket, outcomes))
    arm = ticket.arm
    out = campaign.ask(2)
    assert [each.arm for each in out] == [arm, arm]
    campaign.forbid(arm, "not now")
    pulled = [arm]
    for _ in range(3):
        pulled.append((ticket := campaign.ask()).arm)
        campaign.tell(ticket, row_of(ticket, outcomes))
    assert arm not in pulled[1:]
    campaign.allow(str(arm), "now")
    while not campaign.finished:
        pulled.append((ticket := campaign.ask()).arm)
        campaign.tell(ticket, row_of(ticket, outcomes))
    assert {each: pulled.count(each) for each in wanted} == wanted
    assert campaign.verify()


def test_a_log_that_diverged_at_once_goes_on_when_an_arm_is_forbidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="sr")
    ticket = campaign.ask(client="a")
    monkeypatch.setattr("whichdo.campaign.play.Play.arm_of", lambda *_: wd.do(W=0))
    again = wd.Campaign.open(tmp_path / "a.db", "spring")
    assert again.status().phase == "stuck"
    again.tell(ticket, row_of(ticket, rng(9)))
    assert again.status().phase == "stuck"
    monkeypatch.undo()
    again.forbid("do(X=0)", "dear")
    assert again.status().phase == "running"
    assert again.ask(client="b").arm != wd.do(X=0)


def test_a_policy_that_knows_enough_from_logs_is_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def play(_self: object, problem: wd.Problem, *_: object) -> Generator[object, object, Recommendation]:
        yield from ()
        return Recommendation(problem.arms[1], np.full(len(problem.arms), 0.5))

    monkeypatch.setattr("whichdo.policies.warm_halving.WarmHalving.play", play)
    outcomes = rng(10)
    columns = {name: outcomes.integers(0, 2, 200).tolist() for name in "ZXWY"}
    campaign = create(str(tmp_path / "a.db"), horizon=100, audit=True, logs=columns)
    assert not campaign.ask().arm.is_look
    run(campaign, outcomes)
    assert campaign.finished
    assert campaign.verify()


def test_a_status_of_a_locked_database_is_given_as_it_stood(tmp_path: Path) -> None:
    clock = Clock()
    campaign = create(str(tmp_path / "a.db"), policy="ue", lease=100, clock=clock, patience=0.1)
    campaign.ask(3)
    clock.move(seconds=101)
    other = wd.Campaign.open(tmp_path / "a.db", "spring")
    with transaction(other._store):
        assert "could not be put on record" in campaign.status().notes[0]
        assert campaign.recommend().pulls == 0
    assert campaign.status().tickets["expired"] == 3


def test_a_database_that_is_stricter_by_default_serves_as_well(server: str) -> None:
    address = new_database(server, "strict")
    store = Store(address, create=True)
    with transaction(store) as connection:
        connection.exec_driver_sql("ALTER DATABASE strict SET default_transaction_isolation = 'serializable'")
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


def test_a_report_while_no_window_has_closed(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue", window=3_600)
    run(campaign, rng(11), most=4)
    assert "There is too little evidence yet" in campaign_page(campaign.events())


# ------------------------------------------------------------------------------------------------- the one connection


def test_a_handler_that_comes_in_between_cannot_undo_a_tell(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a tell, in the same thread, as a handler of a signal would."""
    campaign = create(database, policy="ue")
    ticket = campaign.ask()
    real, refusals = Store.append, []

    def append(store: Store, *given: Any) -> None:
        for verb in (campaign.status, campaign.events, campaign.ask):
            with pytest.raises(wd.Busy, match="is at work in this thread") as info:
                verb()
            refusals.append(info.value)
        campaign.close()
        real(store, *given)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "append", append)
        receipt = campaign.tell(ticket, {"Y": 1})
    assert len(refusals) == 3
    assert wd.Campaign.open(database, "spring").verify(receipt)
    assert campaign.tell(ticket, {"Y": 1}).repeated


def test_an_interrupt_while_a_transaction_begins_leaves_nothing(database: str) -> None:
    campaign = create(database, policy="ue")
    campaign.ask(3)

    def strike(*_: object) -> None:
        raise KeyboardInterrupt

    engine = campaign._store.line._wire._engine
    listen(engine, "begin", strike)
    for verb in (campaign.events, campaign.status, lambda: campaign.ask(5)):
        with pytest.raises(KeyboardInterrupt):
            verb()
    remove(engine, "begin", strike)
    assert len(campaign.events()) == 2
    assert len(campaign.ask(5)) == 5


def test_a_connection_that_was_dropped_at_rest_is_made_anew(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = new_database(server, "dropped")
    campaign = create(address, policy="ue")
    ticket = campaign.ask()
    other = Store(address)
    with transaction(other, writes=False) as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    other.close()
    monkeypatch.setattr("whichdo.campaign.line.REST", 0.0)
    assert campaign.tell(ticket, {"Y": 1}).seq == 2


def test_a_file_that_another_has_taken_the_place_of_is_noticed(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    campaign.backup(tmp_path / "old.db")
    ticket = campaign.ask()
    for end in ("-wal", "-shm"):
        (tmp_path / f"a.db{end}").unlink()
    (tmp_path / "old.db").replace(tmp_path / "a.db")
    with pytest.raises(wd.Damaged, match=r"went back: .* Was an old backup restored"):
        campaign.tell(ticket, {"Y": 1})
    (tmp_path / "a.db").unlink()
    with pytest.raises(wd.StorageError, match=r"a\.db is gone: it was there when it was opened"):
        campaign.ask()
    assert not (tmp_path / "a.db").exists()


def test_a_recommendation_says_what_could_not_be_put_on_record(tmp_path: Path) -> None:
    clock = Clock()
    campaign = create(str(tmp_path / "a.db"), policy="ue", window=100, clock=clock, patience=0.1)
    run(campaign, rng(12), most=20)
    clock.move(seconds=101)
    other = wd.Campaign.open(tmp_path / "a.db", "spring", clock=clock)
    with transaction(other._store):
        assert "could not be put on record" in campaign.recommend().warnings[-1]
    assert campaign.recommend().arm is not None


def test_a_wait_names_what_is_waited_for(database: str) -> None:
    campaign = create(database, policy="ucb")
    campaign.ask(client="a")
    campaign.restart("a new week")
    ticket = campaign.ask(client="b")
    with pytest.raises(wd.Wait, match=f"^ucb decides on when it has heard of 1 open ticket: {ticket.id}\\.$") as info:
        campaign.ask(client="c")
    assert info.value.tickets == (ticket.id,)


def test_a_campaign_stays_where_it_is_when_the_program_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    campaign = create("a.db", policy="ue")
    monkeypatch.chdir(tmp_path / "elsewhere")
    campaign.close()
    run(campaign, rng(13), most=3)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert wd.Campaign.open(tmp_path / "a.db", "spring").status().tickets["told"] == 3
    assert repr(campaign) == "<Campaign spring in a.db>"


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(wd.StorageError, match=r"is a folder; name a file in it, such as .*/campaigns\.db\.$"):
        create(str(tmp_path))


def test_nobody_opens_the_files_of_a_database_to_see_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system takes a process's locks on a file away when any handle of it is closed."""
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    own = sorted(tmp_path.glob("a.db*"))
    assert len(own) == 3
    real, opened = type(tmp_path).open, []

    def watched(path: Path, *given: Any, **named: Any) -> Any:
        opened.append(path)
        return real(path, *given, **named)

    monkeypatch.setattr(type(tmp_path), "open", watched)
    for path in own:
        with pytest.raises(wd.ConflictError, match="is there already and is no export"):
            campaign.export(path)
        with pytest.raises(wd.ConflictError, match="is there already and is no page"):
            write_report(campaign, path)
    assert not set(opened) & set(own)
    campaign.export(tmp_path / "a.jsonl")
    campaign.export(tmp_path / "a.jsonl")  # which has to be looked at
    assert tmp_path / "a.jsonl" in opened
