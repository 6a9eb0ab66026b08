"""A campaign's log and the state it folds to, kept together: read what is new, validate, append, commit.

A process keeps the state in memory.  Every verb first reads the events that other processes have appended since, within
its own transaction, so what it checks is what is on record.  If a write fails, the state is folded anew.
"""

from __future__ import annotations

import gc
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from whichdo.campaign.chain import GENESIS, Event, canonical, check_chain, sealed, time_text
from whichdo.campaign.commands import Receipt, Settle
from whichdo.campaign.decide import already_due, decide, parts_of
from whichdo.campaign.events import Asked, Told, body_of
from whichdo.campaign.follow import consequences
from whichdo.campaign.snapshot import UnreadableSnapshotError, opened, taken
from whichdo.campaign.state import State
from whichdo.campaign.storage import Place
from whichdo.campaign.terms import differences
from whichdo.errors import (
    BusyError,
    ConflictError,
    DamagedError,
    StorageError,
    UnfitStateError,
    UnknownCampaignError,
    UsageError,
    WhichdoError,
    is_interrupt,
)
from whichdo.text import listed, nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whichdo.campaign.commands import Command
    from whichdo.campaign.events import Said
    from whichdo.campaign.receipts import ReceiptFile
    from whichdo.campaign.storage.contract import Connection, Storage

    Clock = Callable[[], datetime]


T = TypeVar("T")


FEWEST_NEW, SHARE_NEW = 1_000, 50
"""A snapshot is kept again after so many new events, and after a fiftieth of all: replaying these is quick."""
SOON = 100
"""New events after which it is tried again, where others were writing just then."""


def wall_clock() -> datetime:
    """The time of day."""
    return datetime.now(UTC)


class Ledger:
    """One campaign of a database."""

    def __init__(self, store: Storage, name: str, clock: Clock = wall_clock, *, snapshots: bool = True) -> None:
        self.store, self.name, self._clock = store, name, clock
        self._snapshots = self._reads_snapshots = snapshots
        self._kept = 0  # how many events the snapshot has that was read or kept last
        self._state: State | None = None
        self._sound: int | None = None  # how many events the state had when it agreed with the log
        self.known: tuple[int, str] | None = None
        """How many events this process has seen on record, and the hash of the last: they must stay there."""
        self.receipts: ReceiptFile | None = None
        """Where receipts are kept besides the database."""
        self._written: list[str] = []  # receipts of the events that were appended last
        self._new: list[Event] = []  # those events, which may not be on record yet
        self._connection: Connection | None = None  # of the transaction that is on
        self.lock = store.lock
        """Held while the state is read or changed: one object may serve many threads."""

    # -------------------------------------------------------------------------------------------------------- reading

    def state(self) -> State:
        """The state by what is on record now."""
        return self._run(lambda connection: self._caught_up(connection, lock=False)[0])

    def read(self, what: Callable[[State], T]) -> T:
        """Something of the state by what is on record now, left alone by other threads meanwhile."""
        with self.lock:
            try:
                return what(self.state())
            except UnfitStateError:
                self._do_without()
                return what(self.state())
            except WhichdoError:
                raise
            except BaseException:
                self._state = None
                raise

    def events(self) -> list[Event]:
        """All events as they are on record; not checked, but for the end."""
        return list(self.stream())

    def stream(self) -> Iterator[Event]:
        """The same one by one, read page by page: never all in memory, and no transaction waits for the reader."""
        place = self.store.run(lambda connection: self._place(connection, lock=False))
        at, last = 0, ""
        while at < place.length:
            page = self.store.run(lambda connection: self.store.page(connection, place, at))  # noqa: B023 - run at once
            if not page:
                break
            at, last = at + len(page), page[-1].hash
            yield from page
        if at != place.length or last != place.head:
            raise self._cut(place, at)

    def _place(self, connection: Connection, *, lock: bool) -> Place:
        place = self.store.find(connection, self.name, lock=lock)
        if place is None:
            known = self.store.names(connection)
            verb = "is" if len(known) == 1 else "are"
            others = f"There {verb} {listed(map(quoted, known))}" if known else "There is none yet"
            hint = nearest(self.name, known) or f" {others}."
            raise UnknownCampaignError(f"There is no campaign {quoted(self.name)} in {self.store.name}.{hint}")
        return place

    def _caught_up(self, connection: Connection, *, lock: bool) -> tuple[State, Place]:
        """The state with all that others have appended."""
        place = self._place(connection, lock=lock)
        state = self._state
        if self.known is not None and (place.length < self.known[0] or self._went_another_way(place)):
            raise self._went_back(place)
        if state is None and self._snapshots and self._reads_snapshots:
            state = opened(self.store, connection, place, self.known)
            self._kept = 0 if state is None else state.events
        if state is None or state is not self._state or state.events != place.length:
            state = self._with_new(connection, place, state)
        if state is None or state.events != place.length or state.head != place.head:
            raise self._cut(place, 0 if state is None else state.events)
        self._state, self._sound = state, state.events
        self.known = state.events, state.head
        return state, place

    def _with_new(self, connection: Connection, place: Place, state: State | None) -> State | None:
        """The state with the events that are not in it; None where there are none at all."""
        was_on = gc.isenabled()
        gc.disable()  # of a hundred thousand tickets none is garbage, and looking for it takes long
        try:
            for event in self.store.since(connection, place, 0 if state is None else state.events):
                if state is None:
                    state = State(event)
                else:
                    state.apply(event)
                if self.known is not None and state.events == self.known[0] and state.head != self.known[1]:
                    raise self._went_back(place)
        finally:
            if was_on:
                gc.enable()
        if state is not None:
            state.tickets.record = self
        return state

    def _do_without(self) -> None:
        """Replay the log where the snapshot turns out not to fit; another is kept in its place."""
        self._state, self._reads_snapshots, self._kept = None, False, 0

    def _keep_snapshot(self) -> None:
        """Keep a snapshot, where there has been enough since the last; the log does not depend on it."""
        state = self._state
        if state is None or not self._snapshots or self.store.only_reads:
            return
        if state.events - self._kept <= max(FEWEST_NEW, state.events // SHARE_NEW):
            return
        before, self._kept = self._kept, state.events  # whatever comes of it, it is not tried again at every verb
        try:
            body = taken(state)
            if body is not None:
                work = self._storing(state.events, body)
                self.store.run(work, writes=True, waits=False)
        except BusyError:  # whoever asked for something is not kept waiting for it
            self._kept = max(before, state.events - max(FEWEST_NEW, state.events // SHARE_NEW) + SOON)
        except Exception as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from error

    def _storing(self, count: int, body: bytes) -> Callable[[Connection], None]:
        return lambda connection: self.store.keep_snapshot(connection, self._place(connection, lock=False), count, body)

    def _went_back(self, place: Place) -> DamagedError:
        length, head = self.known or (0, "")
        return DamagedError(
            f"Campaign {quoted(self.name)} went back: this process knows event {f'{length - 1}:{head}'[:24]}..., and "
            f"{self.store.name} ends at event {place.length - 1}. Was an old backup restored? Open it again."
        )

    def _cut(self, place: Place, at: int) -> DamagedError:
        return DamagedError(
            f"Campaign {quoted(self.name)} is damaged: its log should have {place.length:,} events and ends after "
            f"{at:,}, or with the wrong hash. {self.store.mending}",
            at,
        )

    def _went_another_way(self, place: Place) -> bool:
        return self.known is not None and place.length == self.known[0] and place.head != self.known[1]

    def _run(self, work: Callable[[Connection], T], *, writes: bool = False) -> T:
        """Do some work in a transaction; if anything goes wrong, the state in memory is not trusted any more.

        Only a request that was refused before anything was applied leaves it as it was.  An interrupt may come at any
        moment, also in the middle of an event.
        """

        def within(connection: Connection) -> T:
            self._new.clear()
            self._connection = connection
            try:
                return work(connection)
            finally:
                self._connection = None

        def follow(connection: Connection) -> None:
            self._caught_up(connection, lock=False)

        def done() -> T:
            return self.store.run(
                within, writes=writes, meanwhile=follow if writes and self._state is not None else None
            )

        with self.lock:
            self.store.check_free()
            try:
                self._sound = None if self._state is None else self._state.events
                answer = self._mended(done, writes=writes)
                if self._state is not None:
                    self.known = self._state.events, self._state.head  # committed
                return answer  # noqa: TRY300 - it belongs to what may fail
            except WhichdoError as error:
                if isinstance(error, StorageError) or self._state is None or self._state.events != self._sound:
                    self._state = None
                raise
            except BaseException:
                self._state = None
                raise

    def _mended(self, done: Callable[[], T], *, writes: bool) -> T:
        """What is done; again, once for each of what can be put aside: a snapshot, and what others wrote meanwhile."""
        seen: set[type[WhichdoError]] = set()
        while True:
            try:
                return done()
            except (StorageError, BusyError) as error:
                if type(error) in seen or not self._put_aside(error, writes=writes):
                    raise
                seen.add(type(error))

    def _put_aside(self, error: WhichdoError, *, writes: bool) -> bool:
        """Make ready for another try, if that may end otherwise."""
        if isinstance(error, UnreadableSnapshotError):
            self._snapshots, self._state = False, None  # a cache: the log has everything
        elif isinstance(error, UnfitStateError):
            self._do_without()
        elif not writes or not self.store.may_repeat:
            return False
        elif self._state is not None and self._state.events != self._sound:
            self._state = None  # it has what was not committed: once more, from what is on record
        return True

    # -------------------------------------------------------------------------------------------------------- writing

    def create(self, body: dict[str, object]) -> None:
        """Event 0; the same again changes nothing."""

        def work(connection: Connection) -> None:
            self.store.reserve_names(connection)
            if self.store.find(connection, self.name) is not None:
                state, _ = self._caught_up(connection, lock=True)
                different = differences(state.terms.as_body(), body)
                if not different:
                    return
                raise ConflictError(
                    f"{self.store.name} already has a campaign {quoted(self.name)}, started at {state.began} on other "
                    f"terms: {'; '.join(different)}. Choose another name; nothing was changed."
                )
            first = sealed(self.name, 0, "created", dict(body), time_text(self._now(connection)), GENESIS, None)
            self._state = State(first)
            self._state.tickets.record = self
            self.store.add(connection, first)

        self._run(work, writes=True)
        self._keep(None)

    def restore(self, imported: State, events: Iterable[Event]) -> Receipt:
        """All events of an export, which were ``imported`` into a state before; what is here already is compared."""

        def work(connection: Connection) -> Receipt:
            self.store.reserve_names(connection)
            if self.store.find(connection, self.name) is not None:
                state, _ = self._caught_up(connection, lock=True)
                if state.head == imported.head:
                    return Receipt.of(state.receipt, repeated=True)
                raise ConflictError(
                    f"{self.store.name} already has a campaign {quoted(self.name)}, which ends with event "
                    f"{state.receipt[:24]}..., the import with {imported.receipt[:24]}... Nothing was changed."
                )
            again = iter(events)
            place = self.store.add(connection, next(again))
            while some := list(islice(again, 1_000)):
                self.store.append(connection, place, some)
            if (place.length, place.head) != (imported.events, imported.head):
                raise ConflictError("The export changed while it was read. Nothing was imported; try again.")
            self._state = imported
            imported.tickets.record = self
            return Receipt.of(imported.receipt)

        receipt = self._run(work, writes=True)
        self._keep(receipt)
        self._keep_snapshot()
        return receipt

    def _keep(self, answer: Receipt | None) -> None:
        """Add the receipts of what was just committed to the file that was named for them."""
        if self.receipts is not None and self._state is not None:
            said = [] if answer is None else [str(answer)]
            self.receipts.add(self.name, dict.fromkeys([*self._written, *said, self._state.receipt]))

    def write(self, order: Command, *, key: str | None = None) -> tuple[State, Receipt | None, tuple[Said, ...]]:
        """Put on record what a command comes to; the state after it, the receipt and the events, if there are any.

        ``key``: a command under a key that is on record gets the answer it got then; it must be the same command.
        """

        def work(connection: Connection) -> tuple[State, Receipt | None, tuple[Said, ...]] | None:
            self._written = []
            state, place = self._caught_up(connection, lock=True)
            now = self._now(connection)
            standing = already_due(state, now)
            if standing:  # it stands by itself, whatever becomes of the command
                self._append(connection, place, state, [standing], now, None)
                return None
            before = None if key is None else self.keyed(key)
            if before is not None:
                return state, _same_request(state, before, order), ()
            decision = decide(state, order, now)
            if decision.before is not None or not decision.events:
                return state, decision.before, ()
            parts, notes = [decision.events], decision.notes
            answer = self._append(connection, place, state, parts, now, key, order if decision.make_way else None)
            return state, Receipt(answer.seq, answer.hash, notes=notes), parts[-1]

        with self.lock:
            if self.receipts is not None:
                self.receipts.check()
            while (answer := self._run(work, writes=True)) is None:
                self._keep(None)
            if answer[1] is not None:
                self._keep(answer[1])
            self._keep_snapshot()
            return answer

    def _now(self, connection: Connection | None = None) -> datetime:
        """The time by the clock that the database's clients share; by the one that was given, if one was."""
        if connection is not None and self._clock is wall_clock:
            return self.store.time(connection)
        now = self._clock()
        if getattr(now, "tzinfo", None) is None:
            raise UsageError(f"The clock says {quoted(now)}; it must give a datetime with its time zone.")
        return now

    def settle(self) -> None:
        """Put on record what the clock says, if it says anything."""

        def is_due(connection: Connection) -> bool:
            return any(self._caught_up(connection, lock=False)[0].due(self._now(connection)))

        with self.lock:
            if self._run(is_due):
                self.write(Settle())

    def _append(
        self,
        connection: Connection,
        place: Place,
        state: State,
        parts: list[tuple[Said, ...]],
        now: datetime,
        key: str | None,
        order: Command | None = None,
    ) -> Event:
        """Append events, what the ``order`` comes to that they make way for, and what follows of them.

        The answer, which has the key, is the first event; where some only make way for others, the first of those.
        """
        time, new = time_text(now), self._new
        new.clear()

        def add(what: Said, own: str | None = None) -> None:
            new.append(sealed(self.name, state.events, what.kind, body_of(what), time, state.head, own, state.secret))
            # Of an audit the order of its pulls matters, which is that of the JSON.
            state.apply(new[-1], what if isinstance(what, Asked | Told) else None)

        def add_all(those: tuple[Said, ...], own: str | None) -> None:
            for number, what in enumerate(those):
                add(what, None if number else own)

        answer = 0
        add_all(parts[0], key if order is None else None)
        if order is not None and (following := decide(state, order, now).events):
            answer = len(new)
            add_all(following, key)
        for what in consequences(state, parts[0]):
            add(what)
        self.store.append(connection, place, new)
        self._written = [event.receipt for event in new] if self.receipts is not None else []
        return new[answer]

    # ---------------------------------------------------------------------------------------------------- looking up

    def event(self, seq: int) -> Event:
        """The event of a number, checked by itself."""

        def find(connection: Connection) -> list[Event]:
            place = self._place(connection, lock=False)
            return list(self.store.since(connection, Place(place.id, place.name, seq + 1, ""), seq))

        own = next((event for event in self._new if event.seq == seq), None)
        if own is not None:
            return own
        found = self._look_up(find)
        if not found:
            raise DamagedError(f"Campaign {quoted(self.name)} is damaged: event {seq} is missing.", seq)
        check_chain(found, seq, found[0].previous, None if self._state is None else self._state.secret)
        return found[0]

    def keyed(self, key: str) -> Event | None:
        """The event of a key; None where there is none."""
        return self._look_up(
            lambda connection: self.store.event_of_key(connection, self._place(connection, lock=False), key)
        )

    def _look_up(self, work: Callable[[Connection], T]) -> T:
        """Within the transaction that is on, or in one of its own."""
        return self.store.run(work) if self._connection is None else work(self._connection)


def _same_request(state: State, before: Event, order: Command) -> Receipt:
    kind, now = parts_of(state, order)
    body = before.content
    then = {name: body.get(name) for name in now}
    if (before.kind, then) != (kind, now):
        was = canonical(then if before.kind == kind else body)
        raise ConflictError(
            f"The key {quoted(before.key)} was used at {before.time} for another request (event {before.seq}): "
            f"{before.kind} {was[:300]}, now {kind} {canonical(now)}. Nothing was changed; choose a new key "
            f"for a new request."
        )
    return Receipt.of(before.receipt, repeated=True)
