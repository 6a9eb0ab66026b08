"""The register of tickets: millions of them, a column for each thing that is known of them.

Columns hold numbers alone, so that a long campaign takes little memory and is written and read as it is
(`whichdo.campaign.snapshot`).  Only what a ticket needs while it is out is held beside them.
"""

from __future__ import annotations

from array import array
from heapq import heappop, heappush
from itertools import repeat
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from whichdo.campaign.tallying import Outcomes
from whichdo.campaign.tickets import PHASES, Phase, moment_of, ticket_id
from whichdo.problem import LOOK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from whichdo.arrays import BoolArray
    from whichdo.campaign.chain import Event
    from whichdo.campaign.events import Asked, Handed
    from whichdo.problem import Arm


ASKED, TOLD, VOIDED, EXPIRED = range(4)
LEASE_ENDED = "its lease ended"
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
        """The position that the number of an id stands for, whatever its other characters are."""
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

    def __len__(self) -> int:
        return len(self._queue)

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


class Record(Protocol):
    """The events of a campaign, to look something up in."""

    def event(self, seq: int) -> Event:
        """The event of a number."""

    def keyed(self, key: str) -> Event | None:
        """The event of a key; None where there is none."""


class Out(NamedTuple):
    """What is held of a ticket while it is out."""

    id: str
    asked: str
    receipt: str
    process: str


class Pull:
    """A ticket as it stands."""

    __slots__ = ("_all", "position")

    def __init__(self, register: Register, position: int) -> None:
        self._all, self.position = register, position

    @property
    def id(self) -> str:
        """As it was handed out."""
        return self._all.id(self.position)

    @property
    def arm(self) -> Arm:
        """What to pull."""
        return self._all.arms[self._all.arm[self.position]]

    @property
    def cost(self) -> float:
        """Of the pull."""
        return self._all.costs[self._all.arm[self.position]]

    @property
    def client(self) -> str:
        """To whom it went."""
        return self._all.clients[self._all.client[self.position]]

    @property
    def needed(self) -> tuple[str, ...]:
        """The nodes whose values the row must say."""
        return self._all.needs[self._all.needed[self.position]]

    @property
    def play(self) -> int:
        """The number of its play."""
        return self._all.play[self.position]

    @property
    def slot(self) -> int:
        """Its place in the play."""
        return self._all.slot[self.position]

    @property
    def phase(self) -> Phase:
        """How far it has come."""
        return PHASES[self._all.phase[self.position]]

    @property
    def lease_end(self) -> datetime | None:
        """When its lease ends."""
        return moment_of(self._all.lease[self.position])

    @property
    def window_end(self) -> datetime | None:
        """When its reward window closes."""
        return moment_of(self._all.window[self.position])

    @property
    def codes(self) -> tuple[int, ...] | None:
        """Of all nodes of the problem, -1 where the row does not say; None where it was never told."""
        return self._all.codes_of(self.position) if self.phase is Phase.TOLD else None

    @property
    def counted(self) -> bool:
        """Whether it counts in the estimates."""
        return bool(self._all.counted[self.position])

    @property
    def late(self) -> bool:
        """Whether it was told after its lease."""
        return bool(self._all.late[self.position])

    @property
    def extra(self) -> bool:
        """Told when its slot had gone to another ticket, or its play was over: it counts in the estimates alone."""
        return bool(self._all.extra[self.position])

    @property
    def amended(self) -> int:
        """How often it was amended."""
        return self._all.amended.get(self.position, 0)

    @property
    def asked_at(self) -> int:
        """The number of the event that handed it out."""
        return self._all.asked_at[self.position]

    # ----------------------------------------------------------------------------------------------- from the log

    def _event(self, seq: int) -> Event:
        if self._all.record is None:
            raise LookupError(f"event {seq} cannot be read without the log")
        return self._all.record.event(seq)

    @property
    def _out(self) -> Out:
        out = self._all.out.get(self.position)
        if out is not None:
            return out
        event = self._event(self.asked_at)
        return Out(self.id, event.time, event.receipt, str(event.content.get("process", "")))

    @property
    def asked(self) -> str:
        """When, as its event says."""
        return self._out.asked

    @property
    def asked_receipt(self) -> str:
        """Of the event that handed it out."""
        return self._out.receipt

    @property
    def process(self) -> str:
        """To which process it went, where the client's name does not say."""
        return self._out.process

    @property
    def _last(self) -> Event:
        return self._event(self._all.at[self.position])

    @property
    def since(self) -> str:
        """When it came to its phase."""
        return self.asked if self.phase is Phase.ASKED else self._last.time

    @property
    def receipt(self) -> str:
        """Of the event that brought it there."""
        return self.asked_receipt if self.phase is Phase.ASKED else self._last.receipt

    @property
    def row(self) -> dict[str, Any] | None:
        """As it is on record; None where it was never told."""
        if self.phase is not Phase.TOLD:
            return None
        row: dict[str, Any] = self._last.content["row"]
        return row

    @property
    def reason(self) -> str:
        """Why it was voided, has expired or was amended."""
        if self.phase is Phase.EXPIRED:
            return LEASE_ENDED
        if self.phase is Phase.VOIDED or self.amended:
            return str(self._last.content["reason"])
        return LEASE_ENDED if self.late else ""

    @property
    def first(self) -> tuple[dict[str, Any], str] | None:
        """The row that was told before it was amended, and the receipt of that."""
        seq = self._all.first_at.get(self.position)
        if seq is None:
            return None
        event = self._event(seq)
        return event.content["row"], event.receipt

    @property
    def teller(self) -> str:
        """The client that told it."""
        if self.phase is not Phase.TOLD:
            return ""
        event = self._event(self._all.first_at.get(self.position, self._all.at[self.position]))
        return str(event.content.get("client", self.client)) if event.kind == "told" else ""
