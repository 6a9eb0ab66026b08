"""A campaign looked back upon: how it stands, what its log said on the way, and its audit trail for people.

Everything is folded from the events, so the same log gives the same history on any day.  The trail has a line for each
event, with the beginning of its hash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.campaign.advice import Advice, advised
from whichdo.campaign.state import State
from whichdo.campaign.status import Status, status_of
from whichdo.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.campaign.chain import Event
    from whichdo.estimate.arm_rank import ArmRank
    from whichdo.estimate.ranking import Ranking


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
    """Events in a table: open where it has no title; without rows, the remark on events that are left out."""

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


# -------------------------------------------------------------------------------------------------------- what happened

MOMENTS = 10
EVIDENCE = frozenset({"observed", "told", "closed", "amended"})
"""Kinds after which estimates may change."""


@dataclass(frozen=True)
class Moment:
    """What the log said after event ``seq``."""

    seq: int
    time: str
    pulls: int
    """Pulls that counted by then, looks that were asked for among them."""
    ranking: Ranking

    @property
    def leader(self) -> ArmRank | None:
        """The best arm by then of which enough was known."""
        return next(iter(self.ranking.contenders), None)


@dataclass(frozen=True)
class History:
    """A campaign's log, folded."""

    events: Sequence[Event]
    state: State
    status: Status
    advice: Advice
    moments: tuple[Moment, ...]
    """Some moments on the way, the last is now; none before there is evidence."""


def recall(events: Sequence[Event]) -> History:
    """Fold a log; damage is an error that names the first bad event."""
    wanted = set(_chosen(events))
    state = State(events[0])
    moments = []
    for event in events[1:]:
        state.apply(event)
        if event.seq in wanted:
            moments.append(_moment(state, event))
    return History(events, state, status_of(state), advised(state), tuple(moments))


def _chosen(events: Sequence[Event]) -> list[int]:
    """The events to stop at: the last log before the first outcome, then evenly along the evidence, and the last."""
    evidence = [event.seq for event in events if event.kind in EVIDENCE]
    if not evidence:
        return []
    at_hand = 0
    while at_hand < len(evidence) - 1 and events[evidence[at_hand + 1]].kind == "observed":
        at_hand += 1
    rest = evidence[at_hand:]
    places = np.unique(np.linspace(0, len(rest) - 1, MOMENTS + 1).round().astype(int))
    return [rest[place] for place in places]


def _moment(state: State, event: Event) -> Moment:
    return Moment(event.seq, event.time, sum(1 for _ in state.rows()), state.ranked())
