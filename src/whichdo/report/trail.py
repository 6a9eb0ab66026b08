"""The audit trail of a campaign for people: each event in a line, with the beginning of its hash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whichdo.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.campaign.chain import Event

__all__ = ["Row", "Stretch", "short_text", "short_time", "trail"]

ENDS = 100
"""Events that are shown at the beginning, and as many at the end."""
LETTERS = 160
HASH = 12
PAGE = 500
"""Events that are opened at a time."""
PAGES = 10
"""Pages of a very long log that are shown after its beginning, and as many before its end."""


class Row(NamedTuple):
    """An event in a line."""

    seq: int
    kind: str
    what: str
    time: str
    hash: str


class Stretch(NamedTuple):
    """Events in a table: open where it has no title; without rows, what is said of events that are left out."""

    title: str
    rows: tuple[Row, ...]


def trail(events: Sequence[Event]) -> list[Stretch]:
    """The events in tables; of a longer log the beginning and the end, and what is between in pages to be opened.

    Of a very long one the middle is left out, and said to be.
    """
    if len(events) <= 2 * ENDS:
        return [_stretch(events)]
    middle = events[ENDS:-ENDS]
    pages = [middle[first : first + PAGE] for first in range(0, len(middle), PAGE)]
    left_out = 0
    if len(pages) > 2 * PAGES:
        left_out = sum(map(len, pages[PAGES:-PAGES]))
        del pages[PAGES:-PAGES]
    shown = [_stretch(page, _title(page)) for page in pages]
    if left_out:
        between = f"... {counted(left_out, 'event')} between, not shown; an export has them all ..."
        shown.insert(PAGES, Stretch(between, ()))
    return [_stretch(events[:ENDS]), *shown, _stretch(events[-ENDS:])]


def _stretch(events: Sequence[Event], title: str = "") -> Stretch:
    rows = (Row(each.seq, each.kind, short_text(each), short_time(each.time), each.hash[:HASH]) for each in events)
    return Stretch(title, tuple(rows))


def _title(events: Sequence[Event]) -> str:
    first, last = events[0], events[-1]
    return f"Events {first.seq:,} to {last.seq:,}, {short_time(first.time)} to {short_time(last.time)}"


def short_time(text: str) -> str:
    """A moment as events hold it, to the second."""
    return text[:19].replace("T", " ")


def short_text(event: Event) -> str:
    """What an event says, in a line."""
    text = _words(event.kind, event.content)
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 3]}..."


def _words(kind: str, body: dict[str, Any]) -> str:
    if kind == "created":
        return f"{body['policy']['name']} with a budget of {body['budget']:g}, seed {body['seed']}"
    if kind == "observed":
        return f"{body['log']}: {counted(body['looks'], 'look')}, content {body['sha256'][:HASH]}"
    if kind == "asked":
        tickets = ", ".join(f"{each['id']} {each['arm']}" for each in body["tickets"][:8])
        more = f" and {len(body['tickets']) - 8} more" if len(body["tickets"]) > 8 else ""
        return f"{body['client']}: {tickets}{more}"
    if kind in {"told", "amended"}:
        row = ", ".join(f"{name}={value}" for name, value in body["row"].items())
        late = " (late)" if body.get("late") else ""
        return f"{body['ticket']}{late}{_because(body)}: {row}"
    return _rest(kind, body)


def _rest(kind: str, body: dict[str, Any]) -> str:
    if kind in {"expired", "closed"}:
        return f"{counted(len(body['tickets']), 'ticket')}: {', '.join(body['tickets'][:12])}"
    if kind == "voided":
        return f"{body['ticket']}{_because(body)}"
    if kind in {"forbidden", "allowed"}:
        return f"{', '.join(body['arms'])}{_because(body)}"
    if kind == "audited":
        return ", ".join(f"{count} x {arm}" for arm, count in body["pulls"].items())
    if kind in {"alarm", "set_aside"}:
        return str(body.get("text", ""))
    return str(body.get("reason", ""))


def _because(body: dict[str, Any]) -> str:
    return f" ({body['reason']})" if body.get("reason") else ""
