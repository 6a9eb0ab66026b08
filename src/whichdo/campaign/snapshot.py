"""A snapshot: what the fold has come to at some event, as bytes, so that opening a campaign need not replay it all.

It is a cache.  It says of which campaign, event and hash it is, and which program and revision of the policy wrote it;
one that does not fit, or is damaged in any way, is left aside and everything is replayed.  `verify` never uses it.

The layout is our own: a checksum, a header of JSON, then the arrays that the header refers to, one after the other.
Tickets are columns of the smallest numbers that hold them.  A sequential policy's state is its arrays; any other policy
is run again on the tallies that it was told.  What a state derives from the rest, such as tables for the alarm, is not
kept.  `FORM` is counted up whenever the fold, or what is kept here, changes.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo._version import __version__
from whichdo.campaign.chain import check_chain, digest_of, secret_for
from whichdo.campaign.events import Alarm, SetAside, body_of
from whichdo.campaign.plan import Begun, Plan
from whichdo.campaign.play import Followed, Play
from whichdo.campaign.register import Interned, Out
from whichdo.campaign.state import State
from whichdo.campaign.storage import Place
from whichdo.campaign.tallying import Log
from whichdo.campaign.tickets import NEVER
from whichdo.errors import StorageError, WhichdoError, is_interrupt
from whichdo.evidence import Tally
from whichdo.policies.base import Recommendation
from whichdo.tables import Table
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.arrays import Array, IntArray
    from whichdo.campaign.chain import Event
    from whichdo.campaign.storage.contract import Connection, Storage
    from whichdo.problem import Problem
    from whichdo.tables import Scope

    Tree = dict[str, Any]


FORM = 1
MAGIC = b"whichdo snapshot\n"
ARRAY = "\0array"
LENGTH = 8
"""Bytes that say how long the header is."""
COLUMNS = {"arm": "i", "client": "i", "needed": "i", "play": "i", "slot": "q", "asked_at": "q", "at": "q"}
COLUMNS |= {"lease": "q", "window": "q", "phase": "b", "late": "b", "extra": "b", "counted": "b", "codes": "h"}


MOMENTS = ("lease", "window")


class UnreadableSnapshotError(StorageError):
    """The table of snapshots cannot be read; with the log nothing is lost."""


class Snapshot(dict[str, Any]):
    """What a snapshot says, not yet a state."""

    @property
    def events(self) -> int:
        """How many events it comes to."""
        return int(self["events"])

    @property
    def head(self) -> str:
        """The hash of the last of them."""
        return str(self["head"])

    @classmethod
    def read(cls, data: bytes, secret: bytes | None) -> Snapshot | None:
        """What was `taken`; None where it is not, to the last bit."""
        digest, rest = data[:64], memoryview(data)[64:]
        if rest[: len(MAGIC)] != MAGIC or digest != digest_of(rest, secret).encode():
            return None
        return cls(_decoded(rest[len(MAGIC) :]))


def _writer(state: State) -> str:
    """The program that writes a snapshot of a state, and the revision of the policy that it runs."""
    policy = state.terms.policy
    return f"whichdo {__version__}, form {FORM}, {policy.name} {policy.revision}"


# ---------------------------------------------------------------------------------------------------------------- bytes


def _encoded(tree: Tree) -> bytes:
    """A tree of what JSON can hold and of arrays, as bytes."""
    arrays: list[Array] = []

    def reference(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            arrays.append(np.ascontiguousarray(value))
            return {ARRAY: len(arrays) - 1, "dtype": value.dtype.str, "shape": value.shape}
        raise TypeError(f"{type(value).__name__} cannot be kept")

    header = json.dumps(tree, default=reference, separators=(",", ":")).encode()
    return b"".join([len(header).to_bytes(LENGTH, "big"), header, *(each.tobytes() for each in arrays)])


def _decoded(data: memoryview) -> Tree:
    """What `_encoded` wrote, its arrays not to be written to; an error where it did not."""
    length = int.from_bytes(data[:LENGTH], "big")
    at = LENGTH + length

    def array_of(value: dict[str, Any]) -> Any:
        nonlocal at
        if ARRAY not in value:
            return value
        dtype = np.dtype(value["dtype"])
        count = int(np.prod(value["shape"], dtype=np.int64))
        found = np.frombuffer(data, dtype, count, at).reshape(value["shape"])
        at += count * dtype.itemsize
        return found

    tree: Tree = json.loads(bytes(data[LENGTH:at]), object_hook=array_of)
    return tree


def _small(numbers: Any) -> IntArray:
    """The same numbers in the smallest type that holds them."""
    found = np.array(numbers)
    if not len(found):
        return np.zeros(0, np.int8)
    low, high = found.min(), found.max()
    bits = next(each for each in (8, 16, 32, 64) if -1 << each - 1 <= low <= high < 1 << each - 1)
    return found.astype(f"i{bits // 8}")


# --------------------------------------------------------------------------------------------------------------- taking


def taken(state: State) -> bytes | None:
    """A snapshot of a state; None where something is wrong with its play, or the policy's state cannot be kept."""
    if not state.is_sound:
        return None
    play = _play(state)
    if play is None:
        return None
    tree: Tree = {
        "campaign": state.terms.name,
        "writer": _writer(state),
        "events": state.events,
        "head": state.head,
        "last": state.last,
        "tickets": _tickets(state),
        "logs": [_log(log) for log in state.logs],
        "early": state.early,
        "logs_known": state.logs_known,
        "set_aside": [body_of(each) for each in state.set_aside],
        "alarms": [body_of(each) for each in state.alarms],
        "forbidden": [[str(arm), reason] for arm, reason in state.forbidden.items()],
        "pulled": [[str(arm), count] for arm, count in state.pulled.items()],
        "paused": state.paused,
        "stopped": state.stopped,
        "restarts": [asdict(each) for each in state.restarts],
        "money": [state.spent, state.promised],
        "audits": _audits(state),
        "plan": asdict(state.plan),
        "basis": [[body_of(each) for each in state.basis[0]], [str(arm) for arm in state.basis[1]]],
        "named": _named(state.named),
        "followed": [_followed(each, state) for each in state.followed.values()],
        "play": play,
    }
    body = MAGIC + _encoded(tree)
    return digest_of(body, state.secret).encode() + body


def _tickets(state: State) -> Tree:
    tickets = state.tickets
    columns: Tree = {name: _small(getattr(tickets, name)) for name in COLUMNS if name not in MOMENTS}
    columns |= {
        name: None if set(column := getattr(tickets, name)) <= {NEVER} else np.array(column) for name in MOMENTS
    }
    return columns | {
        "clients": tickets.clients.things,
        "needs": tickets.needs.things,
        "amended": _pairs(tickets.amended),
        "first_at": _pairs(tickets.first_at),
        "out": [[position, *each] for position, each in tickets.out.items()],
        "odd": tickets.odd,
    }


def _pairs(mapping: Mapping[int, int]) -> IntArray:
    return np.array([*mapping.items()], np.int64).reshape(-1, 2)


def _log(log: Log) -> Tree:
    return {
        "name": log.name,
        "sha256": log.sha256,
        "looks": log.looks,
        "tables": [_table(table) for table in log.tables.values()],
        "receipt": log.receipt,
        "bytes": log.bytes,
        "since": log.since,
        "database": log.database,
    }


def _table(table: Table) -> list[Any]:
    return [table.scope, table.sizes, table.count, table.cells]


def _audits(state: State) -> Tree:
    audits = state.audits
    pulls = None if audits.pulls is None else [[str(arm), count] for arm, count in audits.pulls.items()]
    return {"pulls": pulls} | {name: getattr(audits, name) for name in ("planned", "interim", "rounds", "over")}


def _named(found: Recommendation | None) -> Tree | None:
    return None if found is None else {"arm": str(found.arm), "means": found.means, "notes": found.notes}


def _followed(play: Followed, state: State) -> Tree:
    """Of a play that is over, only what is reported later."""
    whole = play.saved() if play is state.on else None
    numbers = [play.number, play.budget, play.revision, play.asks, play.first_event, play.last_event]
    return {"numbers": numbers, "whole": whole}


def _play(state: State) -> Tree | None:
    """The play that is on; nothing where it has not been asked, for then it begins anew."""
    play = state.on
    if play is None or not play.asked:
        return {"kind": "none"}
    if isinstance(play, Followed):
        return {"kind": "followed", "number": play.number}
    saved = play.saved()
    return None if saved is None else {"kind": "run", "saved": saved, "seen": _tally(play.seen)}


def _tally(seen: Tally | None) -> Tree | None:
    if seen is None:
        return None
    tables = [[str(arm), [_table(table) for table in held.values()]] for arm, held in seen.tables.items()]
    return {"counts": seen.counts, "tables": tables}


# ------------------------------------------------------------------------------------------------------------ restoring


def opened(store: Storage, connection: Connection, place: Place, known: tuple[int, str] | None) -> State | None:
    """The state of the snapshot that is kept, if it is whole, ours, and of the log as it is; None where it is not.

    ``known``: how many events have been seen on record, and the hash of the last.  Where the snapshot has more, that is
    compared by replaying them.
    """
    try:
        data = store.snapshot_of(connection, place)
    except Exception as error:
        if is_interrupt(error):
            raise
        raise UnreadableSnapshotError(f"The snapshot of {quoted(place.name)} cannot be read: {error}") from error
    if data is None:
        return None
    try:
        (first,) = store.since(connection, Place(place.id, place.name, 1, ""), 0)
        found = Snapshot.read(data, secret_for(first.content, first.campaign))
        if found is None or not 0 < found.events <= place.length:
            return None
        if known is not None and known[0] <= found.events and known != (found.events, found.head):
            return None
        (last,) = store.since(connection, Place(place.id, place.name, found.events, ""), found.events - 1)
        if last.hash != found.head:
            return None
        state = restored(first, found)
        if state is not None:
            check_chain([last], last.seq, last.previous, state.secret)
    except (WhichdoError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError, MemoryError):
        return None  # a cache that does not fit: the log has everything
    return state


def restored(first: Event, tree: Snapshot) -> State | None:
    """The state of a snapshot, on event 0; None where another program, revision or campaign wrote it.

    Whatever does not fit is an error of any kind.
    """
    state = State(first)
    if (tree["campaign"], tree["writer"]) != (state.terms.name, _writer(state)):
        return None
    arms = state.arms
    state.events, state.head, state.last = tree.events, tree.head, tree["last"]
    _fill_tickets(state, tree["tickets"])
    state.logs = [_read_log(each) for each in tree["logs"]]
    state.early, state.logs_known = tree["early"], tree["logs_known"]
    state.set_aside = [SetAside.from_body(each) for each in tree["set_aside"]]
    state.alarms = [Alarm.from_body(each) for each in tree["alarms"]]
    state.forbidden = {arms[text]: reason for text, reason in tree["forbidden"]}
    state.pulled = Counter({arms[text]: count for text, count in tree["pulled"]})
    state.paused, state.stopped = tree["paused"], tree["stopped"]
    state.restarts = [Begun(**each) for each in tree["restarts"]]
    state.spent, state.promised = tree["money"]
    audits = tree["audits"]
    pulls = audits["pulls"]
    state.audits.pulls = None if pulls is None else {arms[text]: count for text, count in pulls}
    for name in ("planned", "interim", "rounds", "over"):
        setattr(state.audits, name, audits[name])
    state.plan = Plan(**tree["plan"])
    state.basis = [Alarm.from_body(each) for each in tree["basis"][0]], [arms[text] for text in tree["basis"][1]]
    named = tree["named"]
    if named is not None:
        state.named = Recommendation(arms[named["arm"]], np.array(named["means"]), tuple(named["notes"]))
    for each in tree["followed"]:
        number, budget, revision, *asks = each["numbers"]
        play = state.followed[number] = Followed(number, budget, revision)
        play.asks, play.first_event, play.last_event = asks
        if each["whole"] is not None:
            play.resume(each["whole"], arms)
    state.on = _resumed(state, tree["play"])
    return state


def _resumed(state: State, play: Tree) -> Play | Followed | None:
    if play["kind"] == "none":
        return None
    if play["kind"] == "followed":
        return state.followed[play["number"]]
    problem = state.revision.problems(*state.basis).allowed
    return state.play_on(_read_tally(state, problem, play["seen"]), play["saved"])


def _fill_tickets(state: State, tree: Tree) -> None:
    tickets = state.tickets
    for name, code in COLUMNS.items():
        kept = tree[name]
        column = array(code)
        if kept is not None:
            column.frombytes(kept.astype(np.dtype(code)).tobytes())
        setattr(tickets, name, column if kept is not None else array(code, [NEVER]) * len(tree["arm"]))
    tickets.clients, tickets.needs = Interned(tree["clients"]), Interned(map(tuple, tree["needs"]))
    tickets.amended, tickets.first_at = dict(tree["amended"].tolist()), dict(tree["first_at"].tolist())
    tickets.odd = tree["odd"]
    for position, *each in tree["out"]:
        tickets.go_out(position, Out(*each))
        name = each[0]
        state.held.setdefault(tickets.clients[tickets.client[position]], {})[name] = None
        if tickets.lease[position] != NEVER:
            state.leases.add(tickets.lease[position], name)
    if state.terms.window is not None:
        for position in tickets.waiting().nonzero()[0].tolist():
            state.windows.add(tickets.window[position], tickets.id(position))


def _read_log(tree: Tree) -> Log:
    return Log(**{**tree, "tables": _read_tables(tree["tables"])})


def _read_tables(kept: list[Any]) -> dict[Scope, Table]:
    return {
        tuple(scope): Table(tuple(scope), sizes, count.copy(), None if cells is None else cells.copy())
        for scope, sizes, count, cells in kept
    }


def _read_tally(state: State, problem: Problem, tree: Tree | None) -> Tally | None:
    if tree is None:
        return None
    tables = {state.arms[text]: _read_tables(held) for text, held in tree["tables"]}
    return Tally(problem, tree["counts"].copy(), tables)
