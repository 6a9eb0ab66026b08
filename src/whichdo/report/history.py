"""A campaign looked back upon: how it stands, and what its log said at some moments on the way.

Everything is folded from the events, so the same log gives the same history on any day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.campaign.advice import Advice, advised
from whichdo.campaign.state import State
from whichdo.campaign.status import Status, status_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.campaign.chain import Event
    from whichdo.estimate.ranking import ArmRank, Ranking

__all__ = ["History", "Moment", "recall"]

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
