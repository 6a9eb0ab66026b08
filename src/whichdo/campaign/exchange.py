"""Campaigns as files: export and import, one JSON event a line with a checksum at the end, and backups.

An export is the log itself.  Imported, it is checked line by line (chain, checksum) and replayed before a letter of it
is stored, so what comes out of an import is the campaign that went in, receipts included.
"""

from __future__ import annotations

import gzip
import json
import os
import secrets
import sqlite3
import zlib
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whichdo.campaign.events import Event, canonical
from whichdo.errors import ConflictError, Damaged, InputError, StorageError, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whichdo.campaign.store import Store

__all__ = ["backup", "events_of", "export_lines", "may_be_replaced", "read_export"]

LONGEST = 64 * 2**20
"""Letters of one line of an export; a log of many distinct rows is one line."""


def export_lines(events: Iterable[Event]) -> Iterator[str]:
    """One line for each event, then the checksum of all lines."""
    digest, number = sha256(), 0
    for event in events:
        line = f'{event.text[:-1]},"previous":"{event.previous}","hash":"{event.hash}"}}\n'
        digest.update(line.encode())
        number += 1
        yield line
    yield canonical({"checksum": digest.hexdigest(), "events": number}) + "\n"


BEGINNING = b'{"body":{'
PACKED = b"\x1f\x8b"


def may_be_replaced(path: Path) -> bool:
    """Whether a path is free, or holds nothing or an export."""
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return True
    try:
        with path.open("rb") as file:
            packed = file.read(2) == PACKED
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            return file.read(len(BEGINNING)) == BEGINNING
    except (OSError, EOFError, zlib.error):
        return False


def read_export(path: Path) -> list[Event]:
    """The events of an export whose checksum holds; it may be packed with gzip."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == PACKED
        with (gzip.open if packed else open)(path, "rt", encoding="utf-8", newline="\n") as file:
            return events_of(_limited(file), visible(path.name))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise StorageError(f"{visible(path)} cannot be read: {error}.") from None


def _limited(file: Any) -> Iterator[str]:
    """The lines of a file; one that goes on for ever is not read to its end."""
    while line := file.readline(LONGEST + 1):
        yield line


def events_of(lines: Iterable[str], name: str) -> list[Event]:
    """The events of an export's lines; ``name`` is the file's, for messages."""
    events: list[Event] = []
    digest = sha256()
    ended = False
    for number, line in enumerate(lines, start=1):
        if ended:
            raise InputError(f"{name}, line {number}: something follows the checksum. Export the campaign again.")
        if len(line) > LONGEST:
            raise InputError(f"{name}, line {number} has {len(line):,} letters; no event is that long.")
        content = _object(line, name, number)
        if "checksum" in content:
            _check_sum(content, digest.hexdigest(), len(events), name)
            ended = True
            continue
        digest.update(line.encode("utf-8", "surrogatepass"))
        events.append(_event(content, line, name, number))
    if not ended:
        raise InputError(
            f"{name} ends without its checksum, after {len(events):,} events: a part is missing. Copy it again."
        )
    if not events:
        raise InputError(f"{name} holds no event.")
    return events


def _object(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise InputError(f"{name}, line {number} is no event of a campaign: {visible(line[:60]).strip()}")
    return content


def _event(content: dict[str, Any], line: str, name: str, number: int) -> Event:
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
    if event.seq != number - 1 or event.seal() != event.hash:
        raise Damaged(
            f"{name}, line {number}: event {event.seq} is not what was exported. Copy the file again.", number - 1
        )
    return event


def _check_sum(content: dict[str, Any], found: str, events: int, name: str) -> None:
    if content.get("checksum") != found or content.get("events") != events:
        raise Damaged(f"{name} is damaged: its checksum does not hold for its {events:,} events. Copy the file again.")


def backup(store: Store, target: Path, *, replace: bool = False) -> Path:
    """Copy a SQLite database as it stands, while others work on it; whole or not at all."""
    if store.path is None:
        raise StorageError(f"{store.name} is a PostgreSQL database: back it up with pg_dump, or export each campaign.")
    if target.exists() and not replace:
        raise ConflictError(f"{visible(target)} is there already. Name another file; nothing was written.")
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with store.line.lock, closing(sqlite3.connect(store.path)) as source, closing(sqlite3.connect(draft)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            (whole,) = copy.execute("PRAGMA integrity_check").fetchone()
            if whole != "ok":
                raise Damaged(f"{store.name} is damaged: {whole}. The backup was not made.")
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.replace(target)
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except (OSError, sqlite3.Error) as error:
        raise StorageError(f"{visible(target)} cannot be written: {error}. The backup was not made.") from None
    finally:
        for part in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm"), Path(f"{draft}-journal")):
            part.unlink(missing_ok=True)
    return target
