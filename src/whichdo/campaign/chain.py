"""The chain: every event of a campaign sealed to the one before it.

An event has a campaign, a number (``seq``, dense from 0), a kind, a key that makes a repeated request one request, a
body, a time, and two hashes.  The hash of an event is the SHA-256 of the hash before it and of the event as canonical
JSON (sorted keys, no blanks, no NaN), so the last hash depends on the whole history: one changed character breaks
the chain at that event, unless all hashes after it are worked out anew (docs/security.md).  A *receipt* is
``seq:hash``.  What the kinds of events hold is in `whichdo.campaign.events`.

Without a key, an event's hash is a SHA-256 that anybody can compute, so anyone who can write to the database can
write another history.  With ``WHICHDO_KEY`` in the environment when a campaign begins, its hashes are HMACs under
that key, from event 1 on; event 0 says so, and holds a check by which another key is told from damage.  The hash
of event 0 itself stays plain: programs that do not know of keys can read it, and refuse the campaign by its format.
"""

from __future__ import annotations

import hmac
import json
import os
from datetime import UTC, datetime
from hashlib import sha256
from json.encoder import encode_basestring as json_text
from typing import TYPE_CHECKING, Any, NamedTuple

from whichdo.errors import DamagedError, StorageError, TooLargeError, UsageError
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


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
            f"This event ({kind}) would have {len(draft.body):,} characters; at most {MOST_LETTERS:,} are kept. "
            f"Nothing was stored. Divide it into several."
        )
    return Event(*draft[:-1], draft.seal(secret))


def canonical(content: object) -> str:
    """JSON with sorted keys and no blanks; the same content gives the same characters."""
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
                f"{quoted(event.time)}) is not what was written. The {seq} events before it are intact; restore a "
                f"backup, or import an export.",
                seq,
            )
        if not seq:
            secret = secret_for(event.content, event.campaign)
        seq, previous = seq + 1, event.hash
        yield event


def follows(event: Event, seq: int, previous: str, secret: bytes | None) -> bool:
    """Whether an event is whole and the next one; `check_chain` says what is wrong with one that is not."""
    return event.seq == seq and event.previous == previous and _whole(event, secret)


def _whole(event: Event, secret: bytes | None) -> bool:
    """Whether the hash holds; a damaged file may contain numbers where strings should be."""
    try:
        return event.seal(secret) == event.hash
    except (TypeError, UnicodeError):
        return False


def time_text(when: datetime) -> str:
    """A moment as events hold it: UTC, to the microsecond."""
    here = when if when.tzinfo is UTC else when.astimezone(UTC)
    day = f"{here.year:04}-{here.month:02}-{here.day:02}"  # `isoformat` asks for the offset, and takes twice as long
    return f"{day}T{here.hour:02}:{here.minute:02}:{here.second:02}.{here.microsecond:06}Z"


def moment(text: str) -> datetime:
    """The moment that `time_text` wrote."""
    return datetime.fromisoformat(text)


# ------------------------------------------------------------------------------------------------------------ keys

ENVIRONMENT = "WHICHDO_KEY"
HOW = "hmac-sha256"
SHORTEST = 16


def digest_of(data: bytes | memoryview, secret: bytes | None) -> str:
    """The hash of some bytes, under a key if there is one."""
    return sha256(data).hexdigest() if secret is None else hmac.digest(secret, data, "sha256").hex()


def secret_of() -> bytes | None:
    """The key in the environment, if there is one."""
    text = os.environ.get(ENVIRONMENT, "")
    if not text:
        return None
    if len(text) < SHORTEST:
        raise UsageError(
            f"{ENVIRONMENT} has {len(text)} characters, few enough to guess; use at least {SHORTEST}, such as from "
            f"`openssl rand -hex 32`."
        )
    return text.encode("utf-8", "surrogateescape")


def new_seal(campaign: str) -> dict[str, Any]:
    """What event 0 says of the hashes of a campaign that begins now; nothing where there is no key."""
    secret = secret_of()
    return {} if secret is None else {"hashes": {"how": HOW, "check": _check(secret, campaign)}}


def secret_for(body: Mapping[str, Any], campaign: str) -> bytes | None:
    """The key of a campaign, by the body of its event 0; an error where it is not the one in the environment."""
    said = body.get("hashes")
    if said is None:
        return None
    if not isinstance(said, dict) or said.get("how") != HOW:
        raise DamagedError(
            f"Event 0 of campaign {quoted(campaign)} does not say how its hashes are made: {quoted(said)}.", 0
        )
    secret = secret_of()
    if secret is None:
        raise StorageError(f"The hashes of campaign {quoted(campaign)} have a key. Set {ENVIRONMENT} to it.")
    if not hmac.compare_digest(str(said.get("check")), _check(secret, campaign)):
        raise StorageError(f"{ENVIRONMENT} is not the key of campaign {quoted(campaign)}. Nothing was changed.")
    return secret


def _check(secret: bytes, campaign: str) -> str:
    return digest_of(f"whichdo key of {campaign}".encode(), secret)[:16]
