"""Servers that do not answer, connections that break, clients that freeze, and turns at a SQLite file."""

from __future__ import annotations

import fcntl
import socket
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.campaign.trials import create, rng, row_of, run
from whichdo.campaign.storage import postgres, turns
from whichdo.campaign.storage.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

    NewDatabase = Callable[[], str]


class Between:
    """Stands between a client and a server, and passes on what they say until it is told to stop."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        self.silent = threading.Event()
        self.ends: list[socket.socket] = []
        self._all: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._open, daemon=True)]
        self._threads[0].start()

    def _open(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                self.ends += [client, server]
                self._all += [client, server]
                for one, other in ((client, server), (server, client)):
                    self._threads.append(threading.Thread(target=self._pass, args=(one, other), daemon=True))
                    self._threads[-1].start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                if not self.silent.is_set():
                    other.sendall(data)

    def drop(self) -> None:
        """Break every connection that there is."""
        for end in self.ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self.ends.clear()

    def close(self) -> None:
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self.drop()
        for thread in self._threads:
            thread.join(10)
        for each in (self._door, *self._all):
            each.close()


@contextmanager
def between(address: str) -> Iterator[tuple[Between, str]]:
    port = int(address.rpartition("/")[0].rpartition(":")[2])
    made = Between(port)
    try:
        yield made, address.replace(f":{port}/", f":{made.port}/")
    finally:
        made.close()


@pytest.mark.slow("2 s: a server that accepts and says nothing; nothing shorter is waited for")
def test_a_server_that_says_nothing_is_given_up() -> None:
    pytest.importorskip("psycopg")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/none"
        with pytest.raises(wd.StorageError, match=r"cannot be reached: .*timeout"):
            wd.Campaign.open(address, "spring", patience=1)


@pytest.mark.slow("2 s: an answer that never comes")
def test_an_answer_that_never_comes_is_given_up(
    new_server_database: NewDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "SLACK", 0.2)
    with between(new_server_database()) as (proxy, address):
        campaign = create(address, policy="ue", patience=1)
        ticket = campaign.ask()
        proxy.silent.set()
        with pytest.raises(wd.StorageError, match="cannot be reached"):
            campaign.tell(ticket, {"Y": 1})
        proxy.silent.clear()
        proxy.drop()
        assert not campaign.tell(ticket, {"Y": 1}).repeated
        assert campaign.verify()


def test_a_connection_that_broke_before_the_commit_is_made_anew(new_server_database: NewDatabase) -> None:
    with between(new_server_database()) as (proxy, address):
        campaign = create(address, policy="ue")
        random = rng(3)
        for _ in range(5):
            ticket = campaign.ask()
            proxy.drop()
            campaign.tell(ticket, row_of(ticket, random))
            proxy.drop()
            assert campaign.status().tickets["open"] == 0
        assert campaign.status().tickets["told"] == 5
        assert campaign.verify()


def test_a_server_ends_what_takes_too_long(new_server_database: NewDatabase) -> None:
    campaign = create(new_server_database(), policy="ue", patience=7)
    shown = campaign._store.run(
        lambda connection: [
            connection.execute(f"SHOW {name}").fetchone()[0]
            for name in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
        ]
    )
    assert shown == ["7s", "17s", "5min"]


def test_a_client_that_is_frozen_in_a_transaction_loses_it(
    new_server_database: NewDatabase, no_turns: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = new_server_database()
    other = create(address, policy="ue")
    monkeypatch.setattr(postgres, "FROZEN", 300)
    frozen = wd.Campaign.open(address, "spring")
    held, goes_on = threading.Event(), threading.Event()
    errors: list[Exception] = []

    def freeze() -> None:
        def work(connection: object) -> None:
            frozen._store.find(connection, "spring", lock=True)
            held.set()
            goes_on.wait(30)

        try:
            frozen._store.run(work, writes=True)
        except wd.WhichdoError as error:
            errors.append(error)

    thread = threading.Thread(target=freeze)
    thread.start()
    held.wait(30)
    other.ask()  # waits until the server has ended the other's transaction
    goes_on.set()
    thread.join()
    assert isinstance(errors[0], wd.StorageError)


def test_what_the_address_says_goes_first(server: str, new_server_database: NewDatabase) -> None:
    campaign = create(f"{new_server_database()}?connect_timeout=3&keepalives_idle=99", policy="ue")
    made = campaign._store._ready().info.get_parameters()
    assert (made["connect_timeout"], made["keepalives_idle"]) == ("3", "99")
    assert made["tcp_user_timeout"] == "20000"


# ---------------------------------------------------------------------------------------------------------------- turns


def test_turns_are_taken_in_order(tmp_path: Path) -> None:
    (tmp_path / "a.db-wal").touch()
    waiting = [Turns(str(tmp_path / "a.db-wal")) for _ in range(4)]
    waiting[0].wait()
    order: list[int] = []

    def take(number: int) -> None:
        waiting[number].wait()
        order.append(number)
        waiting[number].close()

    threads = [threading.Thread(target=take, args=(number,)) for number in (1, 2, 3)]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    assert order == []  # it is the first one's turn
    waiting[0].close()
    for thread in threads:
        thread.join()
    assert sorted(order) == [1, 2, 3]


@pytest.mark.skipif(not hasattr(fcntl, "F_OFD_SETLK"), reason="the system has no such locks")
@pytest.mark.parametrize("number", [None, 7])
def test_whoever_had_a_turn_lets_the_next_one_have_his(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int | None
) -> None:
    """The next one is woken, but on a busy machine it does not run at once; the turn must not be gone by then."""
    monkeypatch.setattr(turns, "AT_ONCE", 0.0)  # no turn is kept
    (tmp_path / "a.db-wal").touch()
    had, other = (Turns(str(tmp_path / "a.db-wal"), number) for _ in range(2))
    had.wait()
    is_next, goes_on = threading.Event(), threading.Event()
    order: list[str] = []

    def asleep() -> None:
        is_next.set()
        goes_on.wait(30)

    def take(turns: Turns, name: str, meanwhile: Callable[[], object] | None) -> None:
        turns.wait(meanwhile)
        order.append(name)
        turns.close()

    threads = [threading.Thread(target=take, args=(other, "next", asleep))]
    threads[0].start()
    assert is_next.wait(30)
    had.leave()
    threads.append(threading.Thread(target=take, args=(had, "again", None)))
    threads[1].start()
    time.sleep(0.1)
    assert order == []
    goes_on.set()
    for thread in threads:
        thread.join()
    assert order == ["next", "again"]


@pytest.mark.skipif(not hasattr(fcntl, "F_OFD_SETLK"), reason="the system has no such locks")
@pytest.mark.parametrize("number", [None, 7])
def test_two_read_while_a_third_has_its_turn(tmp_path: Path, number: int | None) -> None:
    """Where many write, to read what they wrote takes longer than a turn, and would hold all of them up."""
    (tmp_path / "a.db-wal").touch()
    has, *others = (Turns(str(tmp_path / "a.db-wal"), number) for _ in range(4))
    has.wait()
    reading, both = [threading.Event() for _ in others], threading.Barrier(3)
    order: list[int] = []

    def take(place: int) -> None:
        def read() -> None:
            if not reading[place].is_set():
                reading[place].set()
                both.wait(30)

        others[place].wait(read)
        order.append(place)
        others[place].close()

    threads = [threading.Thread(target=take, args=(place,)) for place in range(3)]
    for place, thread in enumerate(threads[:2]):
        thread.start()
        assert reading[place].wait(30)
    threads[2].start()
    time.sleep(0.1)
    assert not reading[2].is_set()
    reading[2].set()  # when it comes to it, nobody else is there
    both.wait(30)
    assert order == []
    has.close()
    for thread in threads:
        thread.join(30)
    assert order == [0, 1, 2]


def test_what_others_wrote_is_read_before_the_turn(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that within it there is little left to read."""
    campaign, other = create(database, policy="ue"), wd.Campaign.open(database, "spring")
    run(other, rng(1), most=5)
    held: Turns = other._store._turns
    monkeypatch.setattr(held, "leave", lambda: None)
    ticket = other.ask(client="slow")  # and has not ended its turn
    read: list[tuple[bool, int]] = []
    real = campaign._ledger._caught_up

    def noted(connection: object, *, lock: bool) -> object:
        before = 0 if campaign._ledger._state is None else campaign._ledger._state.events
        found = real(connection, lock=lock)
        read.append((lock, found[0].events - before))
        if not lock:
            held.close()
        return found

    monkeypatch.setattr(campaign._ledger, "_caught_up", noted)
    campaign.tell(ticket, {"Y": 1})
    assert read == [(False, 11), (True, 0)]
    assert campaign.verify()


def test_a_queue_of_somebody_else_is_not_waited_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "elsewhere").touch()
    name = turns.queue_of("postgresql://here")._path
    assert oct((tmp_path / name).stat().st_mode & 0o777) == "0o600"
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    assert turns.queue_of("postgresql://here")._path == ""


def interrupted(work: Callable[[], object], step: int, files: tuple[str, ...]) -> bool:
    """Do some work and interrupt it at a step that is taken in some files; whether it got that far.

    Steps are where Python looks for signals: as a function begins, and as one ends, of C too.  What it took is lost.
    """
    count = 0

    def strike(frame: FrameType, event: str, _value: object) -> None:
        nonlocal count
        if event in {"call", "return", "c_return"} and frame.f_code.co_filename.endswith(files):
            count += 1
            if count == step:
                raise KeyboardInterrupt

    before = sys.getprofile()
    sys.setprofile(strike)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(before)
    return False


@pytest.mark.parametrize("busy", [False, True])
def test_an_interrupt_at_any_step_of_a_turn_leaves_nothing_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, busy: bool
) -> None:
    """Ctrl-C in the middle of an event's own lock once left it taken: the next turn was waited for without end.

    ``busy``: another has the turn, so that it is waited for.
    """
    monkeypatch.setattr(turns, "TURN", 0.001)
    (tmp_path / "a.db-wal").touch()
    steps = []

    def all_steps() -> None:
        step, met = 0, True
        while met:
            step += 1
            holder, mine = (Turns(str(tmp_path / "a.db-wal")) for _ in range(2))
            if busy:
                holder.wait()
                threading.Timer(0.002, holder.close).start()

            def once(mine: Turns = mine) -> None:
                """As a storage does it."""
                try:
                    mine.wait()
                finally:
                    try:
                        mine.leave()
                    except BaseException:
                        mine.close()
                        raise

            met = interrupted(once, step, ("turns.py", "threading.py", "queue.py"))
            once()
            mine.close()
            holder.close()
            with (tmp_path / "a.db-wal").open() as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # nobody has it
        steps.append(step)

    worker = threading.Thread(target=all_steps, daemon=True)
    worker.start()
    worker.join(60)
    assert steps, "somebody waits without end"
    assert steps[0] > 20


def test_a_turn_ends_by_itself_when_its_owner_goes_off(tmp_path: Path) -> None:
    (tmp_path / "a.db-wal").touch()
    one, other = Turns(str(tmp_path / "a.db-wal")), Turns(str(tmp_path / "a.db"))
    one.wait()
    one.leave()
    other.wait()  # would not return
    other.leave()
    one.wait()
    one.close()
    other.close()


def test_a_turn_is_kept_for_what_follows_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker tells and asks: to get in line again between the two would double its wait."""
    monkeypatch.setattr(turns, "TURN", 60.0)
    monkeypatch.setattr(turns, "AT_ONCE", 60.0)
    (tmp_path / "a.db-wal").touch()
    one, other = Turns(str(tmp_path / "a.db-wal")), Turns(str(tmp_path / "a.db-wal"))
    assert not one.wait()
    one.leave()
    assert not other.take()
    assert one.wait()
    one.close()
    assert other.take()
    other.close()


def test_a_worker_that_goes_off_keeps_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells, asks at once, and works on what it got: its turn ends then, not when it would end anyway."""
    monkeypatch.setattr(turns, "TURN", 600.0)
    monkeypatch.setattr(turns, "WITHOUT", 600.0)
    (tmp_path / "a.db-wal").touch()
    one, other = Turns(str(tmp_path / "a.db-wal")), Turns(str(tmp_path / "a.db-wal"))

    def in_turn() -> None:
        for each in (one, other, one, other):
            each.wait()
            each.leave()

    worker = threading.Thread(target=in_turn, daemon=True)
    worker.start()
    worker.join(60)
    assert not worker.is_alive()
    one.close()
    other.close()


def test_a_turn_that_does_not_come_is_gone_on_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "WITHOUT", 0.05)
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    frozen = Turns(str(tmp_path / "a.db-wal"))
    frozen.wait()
    assert run(campaign, rng(1), most=3) == 3
    frozen.close()
    assert run(campaign, rng(1), most=3) == 3
