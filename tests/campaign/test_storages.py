"""What every storage promises, asked of each by itself: transactions, appends, keys, the clock, snapshots."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.campaign.trials import create, run
from tests.campaign.trials import rng as random
from whichdo.campaign.storage import Place, open_storage, turns
from whichdo.campaign.storage.locations import address_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.campaign.chain import Event
    from whichdo.campaign.storage import Storage
    from whichdo.campaign.storage.contract import Connection


@pytest.fixture
def events(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    campaign = create(str(tmp_path_factory.mktemp("log") / "a.db"), policy="ue")
    campaign.ask(key="first")
    run(campaign, random(1), most=6)
    return campaign.events()


@pytest.fixture
def storage(database: str, events: list[Event]) -> Storage:
    made = open_storage(database, create=True)
    made.run(lambda connection: made.add(connection, events[0]), writes=True)
    return made


def place_in(storage: Storage) -> Place:
    place = storage.run(lambda connection: storage.find(connection, "spring"))
    assert place is not None
    return place


def log(storage: Storage, first: int = 0) -> list[Event]:
    """Events as another process would read them."""
    other = open_storage(storage.address.where)
    place = place_in(other)
    found = other.run(lambda connection: list(other.since(connection, place, first)))
    other.close()
    return found


def appending(storage: Storage, *parts: list[Event]) -> Callable[[Connection], None]:
    def work(connection: Connection) -> None:
        place = storage.find(connection, "spring", lock=True)
        assert place is not None
        for part in parts:
            storage.append(connection, place, part)

    return work


def test_what_is_appended_is_there_for_others(storage: Storage, events: list[Event]) -> None:
    storage.run(appending(storage, events[1:4], events[4:5]), writes=True)
    storage.run(appending(storage, events[5:]), writes=True)
    assert log(storage) == events
    assert log(storage, 3) == events[3:]
    place = place_in(storage)
    assert (place.length, place.head) == (len(events), events[-1].hash)


def test_an_append_that_does_not_follow_changes_nothing(storage: Storage, events: list[Event]) -> None:
    stale = place_in(storage)
    storage.run(appending(storage, events[1:3]), writes=True)
    for place, new in ((stale, events[1:2]), (stale, events[1:4]), (place_in(storage), events[5:6])):
        with pytest.raises(wd.DamagedError, match=r"changed while it was locked\. Nothing was written"):
            storage.run(lambda connection: storage.append(connection, place, new), writes=True)  # noqa: B023
    assert log(storage) == events[:3]


@pytest.mark.parametrize("error", [wd.UsageError("no"), ZeroDivisionError(), KeyboardInterrupt()])
def test_a_transaction_that_fails_is_undone(storage: Storage, events: list[Event], error: BaseException) -> None:
    def work(connection: Connection) -> None:
        appending(storage, events[1:3], events[3:4])(connection)
        raise error

    with pytest.raises(type(error)):
        storage.run(work, writes=True)
    assert log(storage) == events[:1]
    storage.run(appending(storage, events[1:]), writes=True)
    assert log(storage) == events


def test_what_a_server_would_cut_off_is_refused(new_server_database: Callable[[], str], events: list[Event]) -> None:
    storage = open_storage(new_server_database(), create=True)
    storage.run(lambda connection: storage.add(connection, events[0]), writes=True)
    with pytest.raises(wd.InputError, match="contains a NUL character"):
        storage.run(appending(storage, [events[1]._replace(key="a\0b")]), writes=True)
    storage.run(appending(storage, events[1:]), writes=True)
    assert log(storage) == events


def test_a_key_leads_to_its_event(storage: Storage, events: list[Event]) -> None:
    storage.run(appending(storage, events[1:]), writes=True)
    place = place_in(storage)
    found = storage.run(lambda connection: storage.event_of_key(connection, place, "first"))
    assert found == next(event for event in events if event.key == "first")
    assert storage.run(lambda connection: storage.event_of_key(connection, place, "second")) is None


def test_names_and_places(storage: Storage, events: list[Event]) -> None:
    other = events[0]._replace(campaign="autumn")
    storage.run(lambda connection: storage.add(connection, other), writes=True)
    assert storage.run(storage.names) == ["autumn", "spring"]
    assert storage.run(lambda connection: storage.find(connection, "winter")) is None


def test_the_clock_is_read_with_its_zone(storage: Storage) -> None:
    found = storage.run(storage.time)
    assert found.utcoffset() == timedelta(0)
    assert abs(found - datetime.now(UTC)) < timedelta(minutes=5)


def test_a_snapshot_is_kept_in_place_of_the_one_before(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_in(storage)
    assert storage.run(lambda connection: storage.snapshot_of(connection, place)) is None
    for body in (b"", bytes(range(256)) * 300, b"\0"):
        storage.run(lambda connection: storage.keep_snapshot(connection, place, 1, body), writes=True)  # noqa: B023
        assert storage.run(lambda connection: storage.snapshot_of(connection, place)) == body
    monkeypatch.setattr("whichdo.campaign.storage.contract.MOST_BYTES", 0)
    storage.run(lambda connection: storage.keep_snapshot(connection, place, 1, b"longer"), writes=True)
    assert storage.run(lambda connection: storage.snapshot_of(connection, place)) is None  # nor is one too large read


def trips_of(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What goes to servers from here on: the first word of each statement, trip by trip."""
    from whichdo.campaign.storage.postgres import PostgresStorage

    trips: list[list[str]] = []
    real = PostgresStorage._exchange

    def counted(storage: PostgresStorage, connection: object, commands: list[tuple[str, object]]) -> object:
        trips.append([text.split()[0] for text, _ in commands])
        return real(storage, connection, commands)  # type: ignore[arg-type]

    monkeypatch.setattr(PostgresStorage, "_exchange", counted)
    return trips


@pytest.fixture
def guessing(
    new_server_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> tuple[wd.Campaign, wd.Campaign]:
    """A campaign whose next write rests on a guess, and the same by a program that does not wait for turns."""
    monkeypatch.setattr(turns, "AT_ONCE", 60.0)
    monkeypatch.setattr(turns, "TURN", 60.0)
    address = new_server_database()
    campaign = create(address, policy="ue")
    monkeypatch.setattr("whichdo.campaign.storage.postgres.queue_of", lambda _: turns.Turns(""))
    other = wd.Campaign.open(address, "spring")
    for _ in range(2):
        campaign.tell(campaign.ask(), {"Y": 1})
    return campaign, other


def test_within_a_turn_a_write_goes_to_the_server_once(
    guessing: tuple[wd.Campaign, wd.Campaign], monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, other = guessing
    trips = trips_of(monkeypatch)
    for _ in range(3):
        campaign.tell(campaign.ask(), {"Y": 1})
    assert trips == [["BEGIN", "WITH", "COMMIT"]] * 6
    assert other.status(settle=False).tickets["told"] == 5
    assert [event.time for event in other.events()] == sorted(event.time for event in other.events())
    assert other.verify()


def test_a_guess_that_was_wrong_writes_nothing_and_is_made_good(guessing: tuple[wd.Campaign, wd.Campaign]) -> None:
    campaign, other = guessing
    ticket = other.ask(client="other")
    mine = campaign.ask(client="mine")
    assert mine.id != ticket.id
    other.tell(ticket, {"Y": 0})
    campaign.tell(mine, {"Y": 1})
    assert campaign.status(settle=False).tickets == other.status(settle=False).tickets
    assert campaign.verify()


def test_nothing_is_refused_on_a_guess(guessing: tuple[wd.Campaign, wd.Campaign]) -> None:
    campaign, other = guessing
    other.pause("not now")
    with pytest.raises(wd.ConflictError, match="is paused"):
        campaign.ask()
    other.resume("now")
    campaign._store._alone = campaign._store._same_turn = True  # type: ignore[attr-defined]
    campaign._store._no_guess = 0.0  # type: ignore[attr-defined]
    assert campaign.ask(client="mine").again == ""


def test_nothing_is_answered_on_a_guess(guessing: tuple[wd.Campaign, wd.Campaign]) -> None:
    """A ticket that this process believes to hold has been voided by another."""
    campaign, other = guessing
    ticket = campaign.ask(client="mine")
    other.void(ticket, "broke")
    again = campaign.ask(client="mine")
    assert again.id != ticket.id


def test_a_write_goes_to_the_server_twice(
    new_server_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begin, lock, read the clock and what is new; then append and commit.  Also where others have appended."""
    monkeypatch.setattr(turns, "AT_ONCE", 0.0)  # no turn is kept
    address = new_server_database()
    campaign = create(address, policy="ue")
    other = wd.Campaign.open(address, "spring")
    campaign.tell(campaign.ask(), {"Y": 1})
    trips = trips_of(monkeypatch)
    ticket = campaign.ask()
    assert trips == [["BEGIN", "SELECT", "SELECT", "SELECT"], ["WITH", "COMMIT"]]
    other.tell(ticket, {"Y": 1})
    campaign.ask()
    assert [trip[-1] for trip in trips] == ["SELECT", "COMMIT"] * 3
    trips.clear()
    campaign.status()
    assert {text for trip in trips for text in trip} == {"SELECT"}  # what only reads begins and commits nothing


@pytest.mark.parametrize(
    ("address", "kind", "where"),
    [
        ("a.db", "sqlite", "a.db"),
        ("sqlite:///a.db", "sqlite", "a.db"),
        ("sqlite:////tmp/a.db", "sqlite", "/tmp/a.db"),
        ("sqlite+pysqlite:///a.db", "sqlite", "a.db"),
        ("sqlite:///file:a.db?mode=ro", "sqlite", "file:a.db"),
        ("postgresql://me@host/a?sslmode=require", "postgresql", "postgresql://me@host/a?sslmode=require"),
        ("postgresql+psycopg://me@host/a", "postgresql", "postgresql://me@host/a"),
    ],
)
def test_addresses(address: str, kind: str, where: str) -> None:
    assert address_of(address)[:2] == (kind, where)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("sqlite://host/a.db", "is not the address of a database"),
        ("://a.db", "is not the address of a database"),
        ("sqlite:///a.db?timeout=5", "has options, which are for"),
        ("mysql://host/a", 'not in "mysql"'),
        ("postgresql+asyncpg://me:secret@host/a", r'not in "postgresql\+asyncpg"'),
        ("sqlite://", "its database is a file: name one"),
        ("sqlite:///:memory:", "its database is a file: name one"),
        ("postgresql://me:secret@[::1/a", "is not the address of a database"),
    ],
)
def test_addresses_that_are_refused(address: str, said: str) -> None:
    with pytest.raises(wd.UsageError, match=said) as info:
        open_storage(address)
    assert "secret" not in str(info.value)
