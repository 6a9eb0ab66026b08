"""Campaigns as files: export and import, one JSON event a line with a checksum at the end.

An export is the log itself.  Imported, it is checked line by line (chain, checksum) and replayed before a letter of it
is stored, so what comes out of an import is the campaign that went in, receipts included.
"""

from __future__ import annotations

import gzip
import json
import zlib
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from whichdo.campaign.advice import advised
from whichdo.campaign.chain import GENESIS, MOST_LETTERS, Event, canonical, check_chain, secret_for
from whichdo.campaign.state import State
from whichdo.campaign.terms import plain_text
from whichdo.errors import DamagedError, InputError, StorageError, WhichdoError, is_interrupt
from whichdo.text import quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


__all__ = ["events_of", "export_lines", "read_export", "understood"]

LONGEST = 8 * MOST_LETTERS
"""Letters of one line of an export that are read; programs before this one wrote longer ones than are written now."""


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
    if not path.is_file():
        what = "is no regular file" if path.exists() else "is not there"
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
            raise InputError(f"{name}, line {number} has {len(line):,} letters; no event is that long.")
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
        raise InputError(f"{name} holds no event.")


def _object(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise InputError(f"{name}, line {number} is no event of a campaign: {visible(line[:60]).strip()}")
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
        raise InputError(f"{name}, line {number} is no event of a campaign: {type(error).__name__} {error}.") from None
    texts = (event.campaign, event.kind, event.time, event.previous, event.hash)
    if not all(isinstance(each, str) for each in texts) or type(event.seq) is not int:
        raise InputError(f"{name}, line {number} is no event of a campaign: {visible(line[:60]).strip()}")
    if event.seq != number - 1 or event.seal(secret) != event.hash:
        raise DamagedError(
            f"{name}, line {number}: event {event.seq} is not what was exported. Copy the file again.", number - 1
        )
    return event


def _check_sum(content: dict[str, Any], found: str, events: int, name: str) -> None:
    if content.get("checksum") != found or content.get("events") != events:
        raise DamagedError(
            f"{name} is damaged: its checksum does not hold for its {events:,} events. Copy the file again."
        )
