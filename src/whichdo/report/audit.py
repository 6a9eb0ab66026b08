"""The audit trail of a campaign for people: each event in a line, with the first letters of its hash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whichdo.drawing.labels import safe
from whichdo.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.campaign.events import Event

__all__ = ["short_text", "short_time", "trail"]

ENDS = 100
"""Events that are shown at the beginning, and as many at the end."""
LETTERS = 160
HASH = 12
PAGE = 500
"""Events that are opened at a time."""
PAGES = 10
"""Pages of a very long log that are shown after its beginning, and as many before its end."""


def trail(events: Sequence[Event]) -> str:
    """The events as a table; of a longer log the beginning and the end, and what is between in pages to be opened.

    Of a very long one the middle is left out, and said to be.
    """
    if len(events) <= 2 * ENDS:
        return _table(events)
    middle = events[ENDS:-ENDS]
    pages = [middle[first : first + PAGE] for first in range(0, len(middle), PAGE)]
    shown = [_page(page) for page in pages]
    if len(pages) > 2 * PAGES:
        left_out = sum(map(len, pages[PAGES:-PAGES]))
        between = f"{counted(left_out, 'event')} between, not shown; an export has them all"
        shown[PAGES:-PAGES] = [f'<p class="faint between">... {between} ...</p>\n']
    return f"{_table(events[:ENDS])}{''.join(shown)}{_table(events[-ENDS:])}"


def _page(events: Sequence[Event]) -> str:
    first, last = events[0], events[-1]
    title = f"Events {first.seq:,} to {last.seq:,}, {short_time(first.time)} to {short_time(last.time)}"
    return f"<details><summary>{safe(title)}</summary>{_table(events)}</details>\n"


def _table(events: Sequence[Event]) -> str:
    head = "<tr><th>event</th><th>kind</th><th>what</th><th>time (UTC)</th><th>hash</th></tr>\n"
    rows = "".join(map(_row, events))
    return f'<div class="wide"><table class="trail">{head}{rows}</table></div>\n'


def _row(event: Event) -> str:
    return (
        f'<tr><td>{event.seq}</td><td>{safe(event.kind)}</td><td class="what">{safe(short_text(event))}</td>'
        f'<td class="time">{safe(short_time(event.time))}</td><td><code>{safe(event.hash[:HASH])}</code></td></tr>\n'
    )


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
