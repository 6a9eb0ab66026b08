"""Checking a campaign from the first event on: the file, the chain, the replay, and receipts.

Receipts may be kept outside the database, one JSON object a line: ``{"campaign": "spring", "receipt": "17:0a1b..."}``.

Somebody who can write the database can write another history with hashes that hold; a receipt that is kept where they
cannot write shows it.  A line is on the disk before the verb that got the receipt returns.  A line that a crash has
torn is passed over, and the next begins on a line of its own.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from whichdo.campaign.chain import ENVIRONMENT, canonical, secret_of
from whichdo.campaign.ledger import Ledger
from whichdo.campaign.plan import decided_elsewhere
from whichdo.errors import ConflictError, DamagedError, InputError, ReplayDivergedError, StorageError, UsageError
from whichdo.files import is_guarded
from whichdo.text import counted, quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from whichdo.campaign.chain import Event
    from whichdo.campaign.storage import Storage

__all__ = ["ReceiptFile", "Verified", "parsed", "verified"]

BEGINNING = b'{"campaign":'
LONGEST = 4096


@dataclass(frozen=True)
class ReceiptFile:
    """A file that receipts are added to; it may hold those of many campaigns."""

    path: Path

    def check(self) -> None:
        """Refuse, before anything is written, a file that is no file of receipts, or cannot be written."""
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
                f"What was asked for is on record, but its receipt could not be added to {visible(self.path)} "
                f"({error.strerror or error}): {lines.strip()} Repeat the command once it can."
            ) from None

    def _opened(self) -> Any:
        if self.path.exists():
            if not stat.S_ISREG(self.path.stat().st_mode) or is_guarded(self.path):
                raise UsageError(f"{visible(self.path)} is no regular file to keep receipts in. Name another.")
            with self.path.open("rb") as file:
                if file.read(len(BEGINNING)) not in {BEGINNING, b""}:
                    raise ConflictError(
                        f"{visible(self.path)} is there already and holds no receipts. Name another file; nothing was "
                        f"changed."
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
            raise InputError(f"{visible(self.path)} holds no receipt of campaign {quoted(campaign)}.")
        return found, torn

    def _lines(self) -> Iterator[bytes]:
        try:
            if not self.path.is_file():
                raise InputError(f"There is no file {quoted(self.path)} with receipts.")
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
                        f"is {event.receipt}. Either it is of another campaign {quoted(campaign)}, or the log was "
                        f"replaced.",
                        event.seq,
                    )
        if wanted:
            first = min(wanted)
            raise DamagedError(
                f"{counted(sum(map(len, wanted.values())), 'receipt')} in {visible(self.path)} are of events from "
                f"{first} on, and the log ends with event {last}. Either they are of another campaign "
                f"{quoted(campaign)}, or what they acknowledged was lost.",
                last + 1,
            )
        said = f"{counted(total, 'receipt')} in {visible(self.path)}, all on record."
        return (said, *([f"{counted(torn, 'line')} in it cannot be read."] if torn else []))


def parsed(receipt: object) -> tuple[int, str]:
    """The number and the hash of a receipt."""
    seq, _, digest = str(receipt).partition(":")
    if not seq.isascii() or not seq.isdigit() or len(seq) > 12 or len(digest) != 64:
        raise UsageError(f"{quoted(receipt)} is no receipt; it looks like 17:0a1b... with 64 letters after the colon.")
    return int(seq), digest


# ---------------------------------------------------------------------------------------------------------- verify


class Verified(str):
    """The last receipt of a campaign in which everything holds; ``notes`` say what could not be derived again."""

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
                f"there on are not derived again."
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
