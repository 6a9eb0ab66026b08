"""Campaigns as files: export and import, one JSON event a line with a checksum at the end; and checking a campaign.

An export is the log itself.  Imported, it is checked line by line (chain, checksum) and replayed before any of it
is stored, so what comes out of an import is the campaign that went in, receipts included.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from whichdo.campaign.advice import advised
from whichdo.campaign.chain import (
    ENVIRONMENT,
    GENESIS,
    MOST_LETTERS,
    Event,
    canonical,
    check_chain,
    secret_for,
    secret_of,
)
from whichdo.campaign.ledger import Ledger
from whichdo.campaign.receipts import ReceiptFile, parsed
from whichdo.campaign.revisions import decided_elsewhere
from whichdo.campaign.state import State
from whichdo.campaign.terms import plain_text
from whichdo.errors import DamagedError, InputError, ReplayDivergedError, StorageError, WhichdoError, is_interrupt
from whichdo.text import quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from whichdo.campaign.storage import Storage


LONGEST = 8 * MOST_LETTERS
"""Characters of one line of an export that are read; earlier programs wrote longer ones than are written now."""


def export_lines(events: Iterable[Event]) -> Iterator[str]:
    """One line for each event, then the checksum of all lines."""
    digest, number = sha256(), 0
    for event in events:
        line = f'{event.text[:-1]},"previous":"{event.previous}","hash":"{event.hash}"}}\n'
        digest.update(line.encode())
        number += 1
        yield line
    yield canonical({"checksum": digest.hexdigest(), "events": number}) + "\n"


PACKED = b"\x1f\x8b"


def read_export(path: Path) -> Iterator[Event]:
    """The events of an export one by one, an error at the end where its checksum does not hold; maybe packed."""
    if not os.path.isfile(path):  # noqa: PTH113 - nor where its name is too long
        what = "is not a regular file" if os.path.lexists(path) else "does not exist"
        raise StorageError(f"{visible(path)} cannot be read: it {what}.")
    try:
        with path.open("rb") as file:
            packed = file.read(2) == PACKED
        with (gzip.open if packed else open)(path, "rt", encoding="utf-8", newline="\n") as file:
            yield from events_of(_limited(file), visible(path.name))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise StorageError(f"{visible(path)} cannot be read: {error}.") from None


def _limited(file: Any) -> Iterator[str]:
    """The lines of a file; one that goes on for ever is not read to its end."""
    while line := file.readline(LONGEST + 1):
        yield line


def understood(events: Iterable[Event]) -> State:
    """The state of a log that comes from elsewhere; whatever stands in it, it must make sense."""
    following = iter(events)
    first = next(following)
    try:
        plain_text(first.campaign, "name of a campaign", 200)
        state = State(first)
        for event in following:
            state.apply(event)
        advised(state)
    except WhichdoError:
        raise
    except Exception as error:
        if is_interrupt(error):
            raise
        raise DamagedError(
            f"Campaign {quoted(first.campaign)} cannot be understood: {type(error).__name__} {error}. Nothing was "
            f"imported."
        ) from error
    return state


def events_of(lines: Iterable[str], name: str) -> Iterator[Event]:
    """The events of an export's lines, in a chain; ``name`` is the file's, for messages."""
    found, previous = 0, GENESIS
    secret: bytes | None = None
    digest = sha256()
    ended = False
    for number, line in enumerate(lines, start=1):
        if ended:
            raise InputError(f"{name}, line {number}: something follows the checksum. Export the campaign again.")
        if len(line) > LONGEST:
            raise InputError(f"{name}, line {number} has {len(line):,} characters; no event is that long.")
        content = _object(line, name, number)
        if "checksum" in content:
            _check_sum(content, digest.hexdigest(), found, name)
            ended = True
            continue
        digest.update(line.encode("utf-8", "surrogatepass"))
        event = _event(content, line, name, number, secret)
        check_chain([event], found, previous, secret)
        secret = secret_for(event.content, event.campaign) if not found else secret
        found, previous = found + 1, event.hash
        yield event
    if not ended:
        raise InputError(f"{name} ends without its checksum, after {found:,} events: a part is missing. Copy it again.")
    if not found:
        raise InputError(f"{name} contains no events.")


def _object(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise InputError(f"{name}, line {number} is not an event of a campaign: {visible(line[:60]).strip()}")
    return content


def _event(content: dict[str, Any], line: str, name: str, number: int, secret: bytes | None) -> Event:
    try:
        event = Event(
            campaign=content["campaign"],
            seq=content["seq"],
            kind=content["kind"],
            key=content["key"],
            body=canonical(content["body"]),
            time=content["time"],
            previous=content["previous"],
            hash=content["hash"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{name}, line {number} is not an event of a campaign: {type(error).__name__} {error}."
        ) from None
    texts = (event.campaign, event.kind, event.time, event.previous, event.hash)
    if not all(isinstance(each, str) for each in texts) or type(event.seq) is not int:
        raise InputError(f"{name}, line {number} is not an event of a campaign: {visible(line[:60]).strip()}")
    if event.seq != number - 1 or event.seal(secret) != event.hash:
        raise DamagedError(
            f"{name}, line {number}: event {event.seq} is not what was exported. Copy the file again.", number - 1
        )
    return event


def _check_sum(content: dict[str, Any], found: str, events: int, name: str) -> None:
    if content.get("checksum") != found or content.get("events") != events:
        raise DamagedError(
            f"{name} is damaged: its checksum does not match its {events:,} events. Copy the file again."
        )


# ---------------------------------------------------------------------------------------------------------- verify


class Verified(str):
    """The last receipt of a campaign in which everything holds; ``notes`` say what could not be recomputed."""

    __slots__ = ("campaign", "notes")
    campaign: str
    notes: tuple[str, ...]

    def __new__(cls, campaign: str, receipt: str, notes: tuple[str, ...] = ()) -> Self:
        """The receipt as it is written, ``seq:hash``."""
        made = super().__new__(cls, receipt)
        made.campaign = campaign
        made.notes = notes
        return made

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON can hold it."""
        return {"campaign": self.campaign, "whole": True, "receipt": str(self), "notes": list(map(str, self.notes))}


def verified(
    store: Storage,
    name: str,
    receipt: str | None = None,
    known: tuple[int, str] | None = None,
    receipts: Path | None = None,
) -> Verified:
    """The last receipt of a campaign in which everything holds; an error names the first thing that does not.

    ``known``: how many events have been seen on record before, and the hash of the last.  ``receipts``: a file of them.
    """
    store.check_file()
    ledger = Ledger(store, name, snapshots=False)
    ledger.known = known
    state = ledger.state()
    if receipt is not None:
        _check_receipt(receipt, ledger.stream(), state.events)
    said = () if receipts is None else ReceiptFile(receipts).compare(name, ledger.stream())
    if state.secret is None and secret_of() is not None:
        said += (f"{ENVIRONMENT} is set, but this campaign began without a key: its hashes are plain.",)
    if state.diverged is not None:
        raise ReplayDivergedError(state.diverged)
    if state.failure is not None:
        said += (
            (
                f"{state.terms.policy.name} stopped with {state.failure.rstrip('.')}. The chain was checked; asks from "
                f"there on are not recomputed."
            ),
        )
    return Verified(name, state.receipt, (*said, *decided_elsewhere(state)))


def _check_receipt(receipt: str, events: Iterable[Event], length: int) -> None:
    seq, digest = parsed(receipt)
    if seq >= length:
        raise DamagedError(
            f"Event {seq} is not on record: the log ends with event {length - 1}. Either the receipt is of "
            f"another campaign, or what it acknowledged was lost.",
            length,
        )
    found = next(islice(events, seq, None))
    if found.hash != digest:
        raise DamagedError(
            f"The receipt {receipt} is not on record: event {seq} is {found.receipt}. Either the receipt is "
            f"of another campaign, or the log was replaced.",
            seq,
        )
