"""Snapshots: a campaign opened from one is the campaign replayed from event 0, and one that does not fit is not used.

The random programs of `test_any_order` and the model of `test_machine` run with a snapshot after every event.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

import whichdo as wd
from tests.campaign import test_any_order, test_machine
from tests.campaign.test_any_order import SETTINGS, shown
from tests.campaign.trials import ALSO_ON_A_SERVER, create, rng, run, transaction
from tests.soak import scaled
from whichdo.campaign import ledger, snapshot
from whichdo.campaign.advice import advised
from whichdo.campaign.chain import digest_of
from whichdo.campaign.commands import Ask, Restart
from whichdo.campaign.decide import decide
from whichdo.campaign.ledger import Ledger
from whichdo.campaign.snapshot import taken
from whichdo.campaign.storage import Storage
from whichdo.policies.sequential import parts_of, with_parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.campaign.mortal import Forker
    from whichdo.campaign.state import State

PARTS = (
    "id arm cost client needed play slot phase lease_end window_end codes counted late extra amended asked_at "
    "asked asked_receipt process since receipt row reason first teller"
)
"""All that a ticket can be asked for."""


TABLE = "whichdo_snapshot"
WRONG: tuple[Any, ...] = (None, [], {}, "x", [[1]], -1)


def always(patch: pytest.MonkeyPatch) -> None:
    """A snapshot after every event."""
    patch.setattr(ledger, "FEWEST_NEW", 0)
    patch.setattr(ledger, "SHARE_NEW", 10**9)
    patch.setattr(ledger, "SOON", 0, raising=False)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)


def answers(state: State, now: Any, *, advice: bool = True) -> dict[str, Any]:
    """All that anybody can get to know of a campaign, and what it would do next; what it advises takes longest."""
    tickets = [[getattr(pull, name) for name in PARTS.split()] for pull in state.tickets.values()]
    orders = [Ask(3, "someone"), Ask(5, "a", keyed=True), Ask(1, "b"), Restart("again")]
    return {
        "shown": shown(state),
        "tickets": tickets,
        "orders": [_or_error(lambda order=order: decide(state, order, now)) for order in orders],  # type: ignore[misc]
        "clock": state.due(now),
        "advice": str(advised(state).to_dict()) if advice else None,
        "held": {client: list(held) for client, held in state.held.items() if held},
        "rows": [*state.rows()],
        "logs": [(log.name, log.sha256, log.looks, log.receipt, log.bytes, log.since) for log in state.logs],
        "plan": (state.plan, state.basis, state.restarts, state.early, state.receipt),
    }


def _or_error(work: Callable[[], Any]) -> object:
    try:
        return work()
    except wd.WhichdoError as error:
        return str(error)


def both(campaign: wd.Campaign) -> tuple[State, State]:
    """The state from the snapshot, and by replaying everything."""
    used = Ledger(campaign._store, campaign.name)
    again = used.state()
    assert used._kept, "no snapshot was used"
    return again, Ledger(campaign._store, campaign.name, snapshots=False).state()


class Program(test_any_order.Program):
    """Any verbs in any order, each process opening from the snapshot of the last."""

    def check(self) -> None:
        if self.chance.random() < 0.5:
            return
        state = self.state()
        if taken(state) is None:  # something is wrong with the play: none is kept then
            self.seen["unsound"] += 1
            return
        kept = Ledger(self.campaign._store, "spring")
        found, replayed = kept.state(), Ledger(self.campaign._store, "spring", snapshots=False).state()
        self.seen["from snapshot" if kept._kept else "replayed"] += 1
        advice = self.chance.random() < 0.2
        self.seen["advice"] += advice
        assert answers(found, self.clock.now, advice=advice) == answers(replayed, self.clock.now, advice=advice)
        if self.chance.random() < 0.5:  # and go on from it
            self.campaign.close()
            self.campaign = wd.Campaign.open(self.folder / "a.db", "spring", clock=self.clock)


@pytest.mark.slow("20 s: random programs of verbs opened from a snapshot at many steps; finds what a snapshot forgets")
@pytest.mark.soak
@pytest.mark.parametrize("updates", [False, True])
@pytest.mark.parametrize("setting", SETTINGS)
def test_from_a_snapshot_it_goes_on_as_replayed(
    tmp_path: Path, setting: str, updates: bool, at_once: None, record_property: Callable[[str, object], None]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_any_order, "Program", Program)
        seen = test_any_order.programs(tmp_path, range(scaled(200)), setting, updates=updates)
    assert seen["from snapshot"] > 10 * seen["unsound"]
    assert seen["from snapshot"] > seen["replayed"] or updates
    assert {"restarted", "forbidden", "amended", "voided", "expired", "observed"} <= set(seen)
    record_property("programs' events", dict(seen))


@pytest.mark.slow("18 s: the model of tickets with a snapshot after every event, on both databases")
@pytest.mark.soak
def test_any_program_from_snapshots_stands_as_the_model(database: str, at_once: None) -> None:
    Here = type("Here", (test_machine.Program,), {"database": database})  # noqa: N806
    options = {"deadline": None, "derandomize": True, "database": None, "suppress_health_check": list(HealthCheck)}
    run_state_machine_as_test(Here, settings=settings(max_examples=scaled(400, 10), stateful_step_count=20, **options))  # type: ignore[arg-type]


AGAIN = pytest.mark.slow("4 s: the same with more policies of each kind")
MORE = ("warm-halving", "ts", "kl-ucb", "causal-kl-ucb")


@ALSO_ON_A_SERVER
@pytest.mark.parametrize(
    "policy", ["srm", "ue", "causal-ts", "ucb", *(pytest.param(name, marks=AGAIN) for name in MORE)]
)
def test_every_kind_of_policy_goes_on_from_its_snapshot(database: str, policy: str, at_once: None) -> None:
    campaign = create(
        database, policy=policy, horizon=60, audit=True, logs={name: [0, 1, 1, 0] * 20 for name in "ZXWY"}
    )
    random, clock = rng(3), campaign._ledger._now()
    run(campaign, random, most=17)
    campaign.ask(4, client="open")
    found, replayed = both(campaign)
    assert answers(found, clock) == answers(replayed, clock)
    again = wd.Campaign.open(database, "spring")
    run(again, random, client="open")
    found, replayed = both(again)
    assert answers(found, clock) == answers(replayed, clock)
    assert again.verify()


def test_none_is_kept_of_a_short_campaign(database: str) -> None:
    campaign = create(database)
    run(campaign, rng())
    with transaction(campaign._store, writes=False) as connection:
        assert not campaign._store._has_table(connection, TABLE)


# ---------------------------------------------------------------------------------------------------- not to be trusted


def body_of(campaign: wd.Campaign) -> bytes:
    with transaction(campaign._store, writes=False) as connection:
        place = campaign._ledger._place(connection, lock=False)
        return campaign._store.snapshot_of(connection, place) or b""


def put(campaign: wd.Campaign, body: bytes) -> None:
    with transaction(campaign._store) as connection:
        campaign._store.keep_snapshot(connection, campaign._ledger._place(connection, lock=False), 1, body)


def is_used(campaign: wd.Campaign) -> bool:
    own = Ledger(campaign._store, campaign.name)
    state = own.state()
    assert shown(state) == shown(Ledger(campaign._store, campaign.name, snapshots=False).state())
    return bool(own._kept)


def test_a_snapshot_with_one_bit_flipped_is_left_aside(database: str, at_once: None) -> None:
    campaign = create(database)
    run(campaign, rng(), most=12)
    whole, chance = body_of(campaign), Random(5)
    assert is_used(campaign)
    places = [0, 63, 64, 70, 90, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(40))]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        put(campaign, bytes(damaged))
        assert not is_used(campaign), place
    put(campaign, whole)
    assert is_used(campaign)


def test_a_snapshot_that_was_cut_off_is_left_aside_and_replaced(database: str, at_once: None) -> None:
    campaign = create(database)
    run(campaign, rng(), most=6)
    whole = body_of(campaign)
    for length in (0, 10, 64, 100, len(whole) // 2, len(whole) - 1):
        put(campaign, whole[:length])
        assert not is_used(campaign)
    campaign.close()
    again = wd.Campaign.open(database, "spring")
    run(again, rng(1), most=1)
    assert is_used(again)


def test_a_snapshot_whose_checksum_was_made_to_hold_must_still_make_sense(
    database: str, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who can write the database can forge it, as the log; but a careless edit ends in a replay."""
    campaign = create(database)
    run(campaign, rng(), most=12)
    state = campaign._ledger.state()
    encoded, spoiled = snapshot._encoded, 0
    for part in ("tickets", "play", "plan", "audits", "logs", "money", "basis", "pulled", "events", "head"):
        for wrong in WRONG:

            def spoil(tree: dict[str, Any], part: str = part, wrong: object = wrong) -> bytes:
                return encoded(tree | {part: wrong})

            monkeypatch.setattr(snapshot, "_encoded", spoil)
            body = taken(state)
            assert body is not None
            put(campaign, body)
            monkeypatch.setattr(snapshot, "_encoded", encoded)
            own = Ledger(campaign._store, "spring")
            with suppress(wd.WhichdoError):
                spoiled += own.state() is not None and not own._kept
    assert spoiled >= 50


@pytest.mark.parametrize(("policy", "part"), [("causal-ts", "parts"), ("warm-halving", "columns")])
def test_where_the_part_of_the_policy_does_not_fit_all_is_replayed(
    database: str, at_once: None, monkeypatch: pytest.MonkeyPatch, policy: str, part: str
) -> None:
    """As when a policy keeps its state otherwise, and its revision was not raised: it is noticed when it has to decide.

    Before, the policy was held to have failed, and nothing more could be asked in that process.
    """
    campaign = create(database, policy=policy, horizon=80)
    run(campaign, rng(), most=60)
    encoded = snapshot._encoded

    def spoil(tree: dict[str, Any]) -> bytes:
        driver = tree["play"]["saved"]["driver"]
        driver = {**driver, part: [*driver[part], np.ones(3)] if part == "parts" else driver[part] + 1}
        return encoded(tree | {"play": tree["play"] | {"saved": tree["play"]["saved"] | {"driver": driver}}})

    with monkeypatch.context() as patch:
        patch.setattr(snapshot, "_encoded", spoil)
        body = taken(campaign._ledger.state())
    assert body is not None
    put(campaign, body)
    again = wd.Campaign.open(database, "spring")
    assert again._ledger._kept == again._ledger.state().events  # it was believed
    run(again, rng(2))
    assert again.finished
    assert again.verify()
    assert is_used(wd.Campaign.open(database, "spring"))  # another was kept in its place


def test_nobody_waits_for_a_snapshot_to_be_kept(database: str, at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another writes just then, it is kept later: an answer that is on record is given at once."""
    campaign = create(database, patience=60)
    other = wd.Campaign.open(database, "spring", patience=60)
    run(campaign, rng(), most=3)
    ticket = campaign.ask()
    real = campaign._ledger._keep
    began, goes_on, took = threading.Event(), threading.Event(), []

    def hold(connection: Any) -> None:
        place = other._store.find(connection, "spring", lock=True)
        assert place is not None
        other._store.keep_snapshot(connection, place, 1, b"held")
        began.set()
        goes_on.wait(30)

    thread = threading.Thread(target=lambda: other._store.run(hold, writes=True))

    def committed(answer: Any) -> None:
        real(answer)
        thread.start()
        assert began.wait(30)
        took.append(time.monotonic())

    monkeypatch.setattr(campaign._ledger, "_keep", committed)
    campaign.tell(ticket, {"Z": 0, "X": 0, "W": 0, "Y": 1} | dict(ticket.arm.settings))
    waited = time.monotonic() - took[0]
    goes_on.set()
    thread.join()
    assert waited < 5
    monkeypatch.undo()
    always(monkeypatch)
    run(campaign, rng(), most=3)
    again = wd.Campaign.open(database, "spring")
    assert is_used(again)


def test_a_snapshot_of_another_campaign_is_left_aside(database: str, at_once: None) -> None:
    first, second = create(database), create(database, "summer")
    run(first, rng(), most=8)
    run(second, rng(), most=8)
    body = body_of(first)
    put(second, body)
    assert is_used(first)
    assert not is_used(second)
    alike = create(database + ".other" if database.startswith("sqlite") else database, "autumn")
    run(alike, rng(), most=8)
    put(alike, body)
    assert not is_used(alike)


def test_a_snapshot_ahead_of_a_log_that_was_restored_is_left_aside_and_replaced(
    database: str, copy_of: Callable[[str], str], at_once: None
) -> None:
    """The log comes from an older backup, the snapshot does not."""
    campaign = create(database)
    run(campaign, rng(), most=6)
    campaign.close()
    older = copy_of(database)
    campaign = wd.Campaign.open(database, "spring")
    run(campaign, rng(1), most=6)
    newer = body_of(campaign)
    campaign.close()
    restored = wd.Campaign.open(older, "spring")
    put(restored, newer)
    assert not is_used(restored)
    run(restored, rng(2), most=9)  # beyond the event that the snapshot was of, on another way
    put(restored, newer)
    assert not is_used(restored)
    assert restored.verify()
    restored.close()
    again = wd.Campaign.open(older, "spring")
    run(again, rng(3), most=1)
    assert is_used(again)


def test_a_snapshot_of_another_program_is_left_aside(
    database: str, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = create(database)
    run(campaign, rng(), most=6)
    assert is_used(campaign)
    for name, value in (("FORM", 2), ("__version__", "99")):
        with monkeypatch.context() as patch:
            patch.setattr(snapshot, name, value)
            assert not is_used(campaign)
    with monkeypatch.context() as patch:
        policy = wd.available_policies()["warm-halving"]
        patch.setattr(policy, "revision", policy.revision + 1)
        assert not is_used(campaign)
    assert is_used(campaign)


def test_under_a_key_a_snapshot_has_one_too(database: str, at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHICHDO_KEY", "a key that nobody guesses")
    campaign = create(database)
    run(campaign, rng(), most=6)
    assert is_used(campaign)
    body = body_of(campaign)
    put(campaign, digest_of(body[64:], None).encode() + body[64:])
    assert not is_used(campaign)


def test_without_its_table_a_campaign_is_whole(database: str, at_once: None) -> None:
    campaign = create(database)
    run(campaign, rng(), most=6)
    with transaction(campaign._store) as connection:
        campaign._store._do(connection, f"DROP TABLE {TABLE}")
    campaign.close()
    again = wd.Campaign.open(database, "spring")
    assert again.status().tickets["told"] == 6
    run(again, rng(1), most=1)
    assert is_used(again)
    with transaction(again._store) as connection:
        again._store._do(connection, f"UPDATE {TABLE} SET campaign = 77")
    assert not is_used(again)


@pytest.mark.parametrize("change", ["RENAME COLUMN body TO gone", "RENAME COLUMN campaign TO gone"])
def test_a_table_of_snapshots_that_cannot_be_read_is_done_without(database: str, change: str, at_once: None) -> None:
    """On PostgreSQL the transaction that tried is lost, and another one made."""
    campaign = create(database)
    run(campaign, rng(), most=6)
    with transaction(campaign._store) as connection:
        campaign._store._do(connection, f"ALTER TABLE {TABLE} {change}")
    campaign.close()
    again = wd.Campaign.open(database, "spring")
    assert again.status().tickets["told"] == 6
    run(again, rng(1), most=2)
    assert again.verify()
    assert len(list(again.export_lines())) == again.status().events + 1


def test_a_snapshot_of_another_history_of_the_same_length_is_noticed(database: str, at_once: None) -> None:
    """As many events as this process knows of, and then another one: an old backup was restored, and work went on."""
    campaign = create(database)
    run(campaign, rng(), most=6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "FEWEST_NEW", 10**6)
        length = campaign.status().events
        run(campaign, rng(1), most=1)
    knowing = Ledger(campaign._store, campaign.name)
    knowing.known = length, "0" * 64
    with pytest.raises(wd.DamagedError, match="went back"):
        knowing.state()


@pytest.mark.parametrize("how", ["new", "replayed", "from a snapshot"])
def test_the_empty_id_is_no_ticket(database: str, how: str, at_once: None) -> None:
    campaign = create(database)
    if how == "new":
        campaign.ask()
    else:
        run(campaign, rng(), most=4)
        campaign.close()
        campaign = wd.Campaign.open(database, "spring")
        campaign._ledger._snapshots = how == "from a snapshot"
    before = campaign.status().events
    verbs: tuple[Callable[[], object], ...] = (
        lambda: campaign.tell("", dict.fromkeys("ZXWY", 1)),
        lambda: campaign.void("", "lost"),
        lambda: campaign.amend("", dict.fromkeys("ZXWY", 1), "wrong"),
    )
    for verb in verbs:
        with pytest.raises(wd.errors.UnknownTicketError):
            verb()
    assert campaign.status().events == before


def test_verify_does_not_believe_a_snapshot(tmp_path: Path, at_once: None) -> None:
    """A row that was changed behind the snapshot is found by verify, by export, and by whoever reads it."""
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    first = campaign.ask(client="me")
    campaign.tell(first, {"Y": 0})
    run(campaign, rng(), most=6)
    with transaction(campaign._store) as connection:
        campaign._store._do(
            connection, """UPDATE whichdo_event SET body = replace(body, '"Y":0', '"Y":1') WHERE seq = 2"""
        )
    campaign.close()
    again = wd.Campaign.open(tmp_path / "a.db", "spring")
    assert again._ledger._kept
    for use in (again.verify, lambda: again.export(tmp_path / "a.jsonl"), lambda: again.tell(first, {"Y": 1})):
        with pytest.raises(wd.DamagedError, match="event 2"):
            use()


def test_that_it_cannot_be_kept_is_no_failure_of_the_verb(
    database: str, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = create(database)
    run(campaign, rng(), most=3)

    def full(*_: object) -> None:
        raise wd.StorageError("The disk is full.")

    monkeypatch.setattr(Storage, "keep_snapshot", full)
    ticket = campaign.ask()
    assert campaign.tell(ticket, {"Z": 0, "X": 0, "W": 0, "Y": 1} | dict(ticket.arm.settings)).seq
    monkeypatch.undo()
    campaign.close()
    assert wd.Campaign.open(database, "spring").status().tickets["told"] == 4


@pytest.mark.slow("15 s: kills a writer at points of the snapshot's own transaction on both databases")
def test_a_kill_while_a_snapshot_is_kept_loses_nothing(database: str, forker: Forker, tmp_path: Path) -> None:
    """The verb was acknowledged by then; the snapshot is there or not, and never half."""
    killed = used = 0
    for point in range(1, scaled(400, 20)):
        name, notes = f"trial {point}", tmp_path / f"{point}.jsonl"
        notes.touch()
        ended = forker.run(database, name, notes, die_at=9 * point, snapshots=True)
        assert ended in (0, -signal.SIGKILL)
        killed += ended != 0
        if notes.read_text():
            used += is_used(wd.Campaign.open(database, name))
        assert forker.run(database, name, notes, snapshots=True) == 0
        campaign = wd.Campaign.open(database, name)
        assert campaign.verify()
        assert campaign.status().tickets["told"] == 4
        campaign.close()
    assert killed > 8
    assert used > 5


# ------------------------------------------------------------------------------------------------- states of policies


def test_a_state_is_put_together_from_its_parts() -> None:
    """Arrays that are the same stay the same; arrays that overlap are refused."""
    shared = np.arange(3.0)
    state = (shared, (np.array([1, 2]), 4), shared, 0.5)
    parts = parts_of(state)
    assert parts is not None
    assert [type(part) for part in parts] == [np.ndarray, np.ndarray, int, list, float]
    made = with_parts((np.zeros(3), (np.zeros(2, np.int64), 0), np.zeros(3), 0.0), parts)
    made[0][1] = 7
    assert made[2][1] == 7
    assert (made[1][0].tolist(), made[1][1], made[3]) == ([1, 2], 4, 0.5)
    assert parts_of((shared, shared[1:])) is None
    assert parts_of((shared, "text")) is None
    with pytest.raises(ValueError, match="parts, where"):
        with_parts((np.zeros(3),), parts)
    with pytest.raises(ValueError, match="where int64 should be"):
        with_parts((np.zeros(3, np.int64),), [shared])
