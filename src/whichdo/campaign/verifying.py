"""Checking a campaign from the first event on: the file, the chain, the replay, and receipts."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from whichdo.campaign.ledger import Ledger
from whichdo.campaign.plan import decided_elsewhere
from whichdo.campaign.receipts import ReceiptFile, parsed
from whichdo.campaign.sealing import ENVIRONMENT, secret_of
from whichdo.errors import DamagedError, ReplayDivergedError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from whichdo.campaign.events import Event
    from whichdo.campaign.storage import Storage

__all__ = ["Verified", "verified"]


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
    ledger = Ledger(store, name)
    ledger.known = known
    state = ledger.state()
    if receipt is not None:
        _check_receipt(receipt, ledger.stream(), state.events)
    said = () if receipts is None else ReceiptFile(receipts).compare(name, ledger.stream())
    if state.secret is None and secret_of() is not None:
        said += (f"{ENVIRONMENT} is set, but this campaign began without a key: its hashes are plain.",)
    if state.diverged is not None:
        raise ReplayDivergedError(state.diverged)
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
