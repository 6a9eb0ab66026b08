"""Events: what a campaign is made of, each sealed to the one before it.

An event has a campaign, a number (``seq``, dense from 0), a kind, a key that makes a repeated request one request, a
body, a time, and two hashes.  The hash of an event is the SHA-256 of the hash before it and of the event as canonical
JSON (sorted keys, no blanks, no NaN), so the last hash depends on the whole history: a changed letter anywhere breaks
the chain at that event, unless all hashes after it are worked out anew (docs/security.md).  A *receipt* is
``seq:hash``.

Kinds, and what their bodies hold:

created      all that decides: problem, policy with parameters and revision, budget, seed, lease, window; never changes
observed     a log of looks, as counts, under the hash of its content
asked        tickets handed to a client, each with its arm and its place (``slot``) in the play
told         the row that came of a ticket
voided       a ticket that came to nothing, and why; its pull is owed again
expired      tickets whose lease has ended; their pulls are owed again
closed       tickets whose reward window has ended; they count from here on
amended      another row for a ticket, and why
paused, resumed, forbidden, allowed    each with its reason
alarm        direct pulls disagree with looking: which arms, and which edge is probably missing
restarted    the policy begins anew with the money that is left, and why; its revision, where event 0 has another
audited      the policy is done: pulls of the arms that lead by looking, before they are believed; revision as above
stopped      direct pulls make it sure enough, where that was asked for
"""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime, timedelta
from json.encoder import encode_basestring as json_text
from typing import TYPE_CHECKING, Any, NamedTuple

from whichdo.campaign.sealing import digest_of, secret_for
from whichdo.errors import DamagedError, TooLargeError, UsageError
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "GENESIS",
    "Event",
    "canonical",
    "check_chain",
    "in_chain",
    "in_units",
    "moment",
    "plain_text",
    "sealed",
    "seconds_of",
    "time_text",
]

_read = json.JSONDecoder().raw_decode
_write = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode

MOST_LETTERS = 60 * 2**20
"""Of the body of an event: what is exported can be imported again."""
GENESIS = "0" * 64
"""What stands before the first event."""


class Event(NamedTuple):
    """One event; ``body`` is its canonical JSON."""

    campaign: str
    seq: int
    kind: str
    key: str | None
    body: str
    time: str
    previous: str
    hash: str

    @property
    def content(self) -> dict[str, Any]:
        """The body, read; canonical JSON has no blanks around it."""
        found: dict[str, Any] = _read(self.body)[0]
        return found

    @property
    def receipt(self) -> str:
        """``seq:hash``: if it is still on record later, so are this event and all before it, as they were."""
        return f"{self.seq}:{self.hash}"

    @property
    def text(self) -> str:
        """The event without its hashes, as canonical JSON: what is hashed."""
        key = "null" if self.key is None else json_text(self.key)
        return (
            f'{{"body":{self.body},"campaign":{json_text(self.campaign)},"key":{key},"kind":{json_text(self.kind)},'
            f'"seq":{self.seq},"time":{json_text(self.time)}}}'
        )

    def seal(self, secret: bytes | None = None) -> str:
        """The hash that this event must have, under the campaign's key if it has one."""
        own = secret if self.seq else None  # that of event 0, which says so, is plain
        return digest_of((self.previous + self.text).encode("utf-8", "surrogatepass"), own)


def sealed(
    campaign: str,
    seq: int,
    kind: str,
    body: dict[str, Any],
    time: str,
    previous: str,
    key: str | None = None,
    secret: bytes | None = None,
) -> Event:
    """A new event, its hash worked out; ``key`` is the request's, ``secret`` the campaign's."""
    draft = Event(campaign, seq, kind, key, canonical(body), time, previous, "")
    if len(draft.body) > MOST_LETTERS:
        raise TooLargeError(
            f"What would go on record ({kind}) has {len(draft.body):,} letters; one event has at most "
            f"{MOST_LETTERS:,}. Nothing was stored. Divide it into several."
        )
    return draft._replace(hash=draft.seal(secret))


def canonical(content: object) -> str:
    """JSON with sorted keys and no blanks; the same content gives the same letters."""
    return _write(content)


def check_chain(events: Iterable[Event], seq: int = 0, previous: str = GENESIS, secret: bytes | None = None) -> None:
    """Raise `DamagedError`, naming the first bad event, unless events follow one another from ``seq`` on, all whole.

    ``secret``: the campaign's, where the first of them is not event 0, which says whether there is one.
    """
    for _ in in_chain(events, seq, previous, secret):
        pass


def in_chain(
    events: Iterable[Event], seq: int = 0, previous: str = GENESIS, secret: bytes | None = None
) -> Iterator[Event]:
    """The same events one by one, each checked as `check_chain` does."""
    for event in events:
        if event.seq != seq:
            raise DamagedError(
                f"Campaign {quoted(event.campaign)} is damaged: event {seq} is missing, event {event.seq} follows.", seq
            )
        if event.previous != previous or not _whole(event, secret):
            raise DamagedError(
                f"Campaign {quoted(event.campaign)} is damaged: event {seq} ({quoted(event.kind)}, "
                f"{quoted(event.time)}) is not what was written. The {seq} events before it are whole; restore a "
                f"backup, or import an export.",
                seq,
            )
        if not seq:
            secret = secret_for(event.content, event.campaign)
        seq, previous = seq + 1, event.hash
        yield event


def _whole(event: Event, secret: bytes | None) -> bool:
    """Whether the hash holds; a damaged file may hand over numbers where texts should be."""
    try:
        return event.seal(secret) == event.hash
    except (TypeError, UnicodeError):
        return False


def time_text(when: datetime) -> str:
    """A moment as events hold it: UTC, to the microsecond."""
    return f"{when.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def moment(text: str) -> datetime:
    """The moment that `time_text` wrote."""
    return datetime.fromisoformat(text)


def plain_text(value: object, what: str, most: int = 500) -> str:
    """A user's text that may go on record: something, printable, not too long."""
    if not isinstance(value, str):
        raise UsageError(f"The {what} is {quoted(value)}; it must be a text.")
    text = unicodedata.normalize("NFC", value).strip()
    if not text:
        raise UsageError(f"The {what} is empty. Say it in a few words.")
    if not text.isprintable():
        raise UsageError(f"The {what} {quoted(text)} holds characters that cannot be seen. Write it in plain letters.")
    if len(text) > most:
        raise UsageError(f"The {what} has {len(text):,} letters; at most {most:,} are kept.")
    return text


def seconds_of(value: object, what: str) -> float | None:
    """A stretch of time: a timedelta or a number of seconds, above 0; None stays None."""
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not number or not 0 < seconds < 1e10:  # type: ignore[operator]
        raise UsageError(f"The {what} is {quoted(value)}; it must be a timedelta or a number of seconds above 0.")
    return float(seconds)  # type: ignore[arg-type]


def in_units(seconds: float) -> str:
    """A stretch of time as it is written: 7d, 12h, 90s."""
    for unit, size in (("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size and not seconds % size:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"
