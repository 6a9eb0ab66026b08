"""The register of tickets: millions of them, a column for each thing that is known of them.

Columns hold numbers alone, so that a long campaign takes little memory and is written and read as it is
(`whichdo.campaign.snapshot`).  Only what a ticket needs while it is out is held beside them.
"""

from __future__ import annotations

from array import array
from heapq import heappop, heappush
from itertools import repeat
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from whichdo.campaign.tallying import Outcomes
from whichdo.campaign.tickets import PHASES, Out, Phase, Pull, ticket_id
from whichdo.problem import LOOK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from whichdo.arrays import BoolArray
    from whichdo.campaign.chain import Event
    from whichdo.campaign.events import Asked, Handed
    from whichdo.campaign.tickets import Record
    from whichdo.problem import Arm

__all__ = ["ASKED", "EXPIRED", "TOLD", "VOIDED", "Deadlines", "Interned", "Register"]

ASKED, TOLD, VOIDED, EXPIRED = range(4)
ORDER = {phase: number for number, phase in enumerate(PHASES)}

T = TypeVar("T")


class Interned(Generic[T]):
    """Things that come up again and again, numbered in the order in which they first did."""

    def __init__(self, things: Iterable[T] = ()) -> None:
        self.things = [*things]
        self._numbers = {thing: number for number, thing in enumerate(self.things)}

    def number(self, thing: T) -> int:
        """The number of a thing, known or new."""
        found = self._numbers.setdefault(thing, len(self.things))
        if found == len(self.things):
            self.things.append(thing)
        return found

    def __getitem__(self, number: int) -> T:
        return self.things[number]


class Register:
    """All tickets of a campaign by their ids, in the order of asking; a column for each thing that is known of them.

    ``arms``: all that can be asked for, with their costs.  ``nodes``: how many codes a row has.
    """

    def __init__(self, campaign: str, costs: Mapping[Arm, float], nodes: int) -> None:
        self._campaign, self.nodes = campaign, nodes
        self.arms, self.costs = tuple(costs), tuple(costs.values())
        self._place = {arm: place for place, arm in enumerate(self.arms)}
        self.clients, self.needs = Interned[str](), Interned[tuple[str, ...]]()
        self.arm, self.client, self.needed, self.play = array("i"), array("i"), array("i"), array("i")
        self.slot, self.asked_at, self.at = array("q"), array("q"), array("q")
        self.lease, self.window = array("q"), array("q")
        """When lease and reward window end, in microseconds since 1970; `NEVER` where they do not."""
        self.phase, self.late, self.extra, self.counted = array("b"), array("b"), array("b"), array("b")
        self.codes, self._untold = array("h"), array("h", repeat(-1, nodes))
        self.amended: dict[int, int] = {}
        """How often, where at all."""
        self.first_at: dict[int, int] = {}
        """The events that told those which were amended since."""
        self.out: dict[int, Out] = {}
        """Those that are out, by position."""
        self._out_by_id: dict[str, int] = {}
        self._came_back: tuple[str, int] | None = None
        self.odd: dict[str, int] = {}
        """Ids that are not what their number and arm make of them."""
        self.record: Record | None = None

    def add(self, ask: Asked, handed: Handed, arm: Arm, event: Event, lease: int, window: int) -> int:
        """A ticket that goes out; its position."""
        position = len(self.arm)
        if handed.id != ticket_id(self._campaign, position + 1, handed.arm):
            if self.find(handed.id) is not None:
                raise ValueError(f"ticket {handed.id} is handed out twice")
            self.odd[handed.id] = position
        self.arm.append(self._place[arm])
        self.client.append(self.clients.number(ask.client))
        self.needed.append(self.needs.number(ask.needed))
        self.play.append(ask.play)
        self.slot.append(handed.slot)
        self.asked_at.append(event.seq)
        self.at.append(event.seq)
        self.lease.append(lease)
        self.window.append(window)
        self.phase.append(ASKED)
        self.late.append(0)
        self.extra.append(0)
        self.counted.append(0)
        self.codes.extend(self._untold)
        self.go_out(position, Out(handed.id, event.time, event.receipt, ask.process))
        return position

    def go_out(self, position: int, out: Out) -> None:
        """A ticket is out."""
        self.out[position] = out
        self._out_by_id[out.id] = position

    def come_back(self, position: int) -> str:
        """A ticket is no longer out; its id."""
        name = self.out.pop(position).id
        del self._out_by_id[name]
        self._came_back = name, position
        return name

    def set_codes(self, position: int, codes: tuple[int, ...]) -> None:
        """The codes of a row, of all nodes; -1 where it does not say."""
        self.codes[position * self.nodes : (position + 1) * self.nodes] = array("h", codes)

    def codes_of(self, position: int) -> tuple[int, ...]:
        """The same, as they were set last."""
        return tuple(self.codes[position * self.nodes : (position + 1) * self.nodes])

    # --------------------------------------------------------------------------------------------------- as a mapping

    def find(self, name: object) -> int | None:
        """The position of a ticket; None where there is none of this id."""
        if name in self._out_by_id:
            return self._out_by_id[str(name)]
        if self._came_back is not None and name == self._came_back[0]:  # whoever tells a ticket asks for it again
            return self._came_back[1]
        if name in self.odd:
            return self.odd[str(name)]
        position = self.numbered(name)
        return position if position is not None and self.id(position) == name else None

    def numbered(self, name: object) -> int | None:
        """The position that the number of an id stands for, whatever its other letters say."""
        number = str(name).partition("-")[0]
        if not number.isascii() or not number.isdigit() or number.startswith("0") or len(number) > 18:
            return None
        return int(number) - 1 if int(number) <= len(self.arm) else None

    def position(self, name: str) -> int:
        """The position of a ticket; a KeyError where there is none of this id."""
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def id(self, position: int) -> str:
        """The id of a ticket."""
        if position in self.out:
            return self.out[position].id
        if self.odd:
            odd = next((name for name, each in self.odd.items() if each == position), None)
            if odd is not None:
                return odd
        return ticket_id(self._campaign, position + 1, self.arms[self.arm[position]])

    def __len__(self) -> int:
        return len(self.arm)

    def __contains__(self, name: object) -> bool:
        return self.find(name) is not None

    def __getitem__(self, name: str) -> Pull:
        return Pull(self, self.position(name))

    def get(self, name: str) -> Pull | None:
        """The ticket of an id, if there is one."""
        found = self.find(name)
        return None if found is None else Pull(self, found)

    def __iter__(self) -> Iterator[str]:
        return map(self.id, range(len(self.arm)))

    def values(self) -> Iterator[Pull]:
        """Every ticket in the order of asking."""
        return (Pull(self, position) for position in range(len(self.arm)))

    def items(self) -> Iterator[tuple[str, Pull]]:
        """Every ticket with its id."""
        return ((pull.id, pull) for pull in self.values())

    # ------------------------------------------------------------------------------------------------------- together

    def where(self, *, phase: Phase | None = None, play: int | None = None, extra: bool | None = None) -> BoolArray:
        """Which tickets are in a phase, of a play, counted for no slot."""
        found = np.ones(len(self), np.bool_)
        if phase is not None:
            found &= np.array(self.phase, np.int8) == ORDER[phase]
        if play is not None:
            found &= np.array(self.play) == play
        if extra is not None:
            found &= np.array(self.extra, np.bool_) == extra
        return found

    def waiting(self) -> BoolArray:
        """Which tickets are told but do not count yet, their reward window being open."""
        return self.where(phase=Phase.TOLD) & ~np.array(self.counted, np.bool_)

    def by_arm(self, which: BoolArray) -> dict[Arm, int]:
        """How many of some tickets each arm has, where any."""
        counts = np.bincount(np.array(self.arm, np.int64)[which], minlength=len(self.arms)).tolist()
        return {arm: count for arm, count in zip(self.arms, counts, strict=True) if count}

    def outcomes(self, *, looks_alone: bool = False) -> Outcomes:
        """The pulls that count, in the order of asking."""
        which = np.array(self.counted, np.bool_)
        places = np.array(self.arm, np.int64)
        if looks_alone:
            which &= places == self._place[LOOK]
        codes = np.array(self.codes, np.int16).reshape(len(which), self.nodes)
        return Outcomes(self.arms, places[which], codes[which])


class Deadlines:
    """Tickets, each with a moment (in microseconds) at which something about it is over; the next first."""

    def __init__(self) -> None:
        self._queue: list[tuple[int, str]] = []

    def add(self, when: int, ticket: str) -> None:
        """Something about a ticket is over then."""
        heappush(self._queue, (when, ticket))

    def over(self, now: int, still: Callable[[str], bool]) -> list[str]:
        """The tickets whose moment has come, in order, of those of which it ``still`` matters; the rest is dropped."""
        while self._queue and not still(self._queue[0][1]):
            heappop(self._queue)
        if not self._queue or self._queue[0][0] > now:
            return []
        over = [ticket for when, ticket in sorted(self._queue) if when <= now and still(ticket)]
        return list(dict.fromkeys(over))  # one may have been given an earlier end since
