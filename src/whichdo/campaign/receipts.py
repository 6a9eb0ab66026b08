"""Receipts kept outside the database, one JSON object a line: ``{"campaign": "spring", "receipt": "17:0a1b..."}``.

Somebody who can write the database can write another history with hashes that hold; a receipt that is kept where they
cannot write shows it.  A line is on the disk before the verb that got the receipt returns.  A line that a crash has
torn is passed over, and the next begins on a line of its own.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whichdo.campaign.chain import canonical
from whichdo.errors import ConflictError, DamagedError, InputError, StorageError, UsageError
from whichdo.files import is_guarded
from whichdo.text import counted, quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from whichdo.campaign.chain import Event


BEGINNING = b'{"campaign":'
LONGEST = 4096


@dataclass(frozen=True)
class ReceiptFile:
    """A file that receipts are added to; it may hold those of many campaigns."""

    path: Path

    def check(self) -> None:
        """Refuse, before anything is written, a file that does not contain receipts, or cannot be written."""
        try:
            with self._opened():
                pass
        except OSError as error:
            raise StorageError(
                f"{visible(self.path)} cannot be written: {error.strerror or error}. Nothing was changed."
            ) from None

    def add(self, campaign: str, receipts: Iterable[str]) -> None:
        """Add receipts; on the disk when this returns."""
        lines = "".join(canonical({"campaign": campaign, "receipt": each}) + "\n" for each in receipts)
        try:
            with self._opened() as file:
                file.write(self._gap() + lines.encode())  # in one piece: others may add to it too
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StorageError(
                f"The command is on record, but its receipt could not be added to {visible(self.path)} "
                f"({error.strerror or error}): {lines.strip()} Repeat the command once it can."
            ) from None

    def _opened(self) -> Any:
        if self.path.exists():
            if not stat.S_ISREG(self.path.stat().st_mode) or is_guarded(self.path):
                raise UsageError(f"{visible(self.path)} is not a regular file to keep receipts in. Name another.")
            with self.path.open("rb") as file:
                if file.read(len(BEGINNING)) not in {BEGINNING, b""}:
                    raise ConflictError(
                        f"{visible(self.path)} already exists and is not a file of receipts. Name another file; "
                        f"nothing was changed."
                    )
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        return os.fdopen(os.open(self.path, flags, 0o600), "ab")

    def _gap(self) -> bytes:
        """The end of a line that was torn."""
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            return b"\n" if file.read(1) not in {b"", b"\n"} else b""

    def of(self, campaign: str) -> tuple[dict[int, set[str]], int]:
        """The hashes that a campaign's receipts give to events, and how many lines are torn."""
        found: dict[int, set[str]] = {}
        torn = 0
        for line in self._lines():
            try:
                content = json.loads(line)
                name, (seq, digest) = content["campaign"], parsed(content["receipt"])
            except (ValueError, KeyError, TypeError, UsageError, RecursionError):
                torn += bool(line.strip())
                continue
            if name == campaign:
                found.setdefault(seq, set()).add(digest)
        if not found:
            raise InputError(f"{visible(self.path)} contains no receipt of campaign {quoted(campaign)}.")
        return found, torn

    def _lines(self) -> Iterator[bytes]:
        try:
            if not self.path.is_file():
                raise InputError(f"There is no receipts file {quoted(self.path)}.")
            with self.path.open("rb") as file:
                while line := file.readline(LONGEST):
                    yield line
        except OSError as error:
            raise InputError(f"{visible(self.path)} cannot be read: {error.strerror or error}.") from None

    def compare(self, campaign: str, events: Iterable[Event]) -> tuple[str, ...]:
        """Check that all receipts of a campaign are on record; remarks on what was checked."""
        wanted, torn = self.of(campaign)
        total = sum(map(len, wanted.values()))
        last = -1
        for event in events:
            last = event.seq
            for digest in sorted(wanted.pop(event.seq, set())):
                if digest != event.hash:
                    raise DamagedError(
                        f"The receipt {event.seq}:{digest} in {visible(self.path)} is not on record: event {event.seq} "
                        f"is {event.receipt}. Either it belongs to another campaign {quoted(campaign)}, or the log was "
                        f"replaced.",
                        event.seq,
                    )
        if wanted:
            first = min(wanted)
            raise DamagedError(
                f"{counted(sum(map(len, wanted.values())), 'receipt')} in {visible(self.path)} are for events from "
                f"{first} on, but the log ends with event {last}. Either they belong to another campaign "
                f"{quoted(campaign)}, or what they acknowledged was lost.",
                last + 1,
            )
        said = f"{counted(total, 'receipt')} in {visible(self.path)}, all on record."
        return (said, *([f"{counted(torn, 'line')} in it cannot be read."] if torn else []))


def parsed(receipt: object) -> tuple[int, str]:
    """The number and the hash of a receipt."""
    seq, _, digest = str(receipt).partition(":")
    if not seq.isascii() or not seq.isdigit() or len(seq) > 12 or len(digest) != 64:
        raise UsageError(
            f"{quoted(receipt)} is not a receipt; one looks like 17:0a1b... with 64 characters after the colon."
        )
    return int(seq), digest
