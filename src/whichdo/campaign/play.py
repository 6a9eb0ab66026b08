"""One play of the policy: its batches as numbered slots, filled in the order of asking.

A policy asks for a batch, and decides on once all of it is told.  Here every pull of a batch has a *slot*, numbered
through the whole play.  Slots are handed out in order; one that comes back (voided, expired) goes out again before new
ones.  Whatever order the answers arrive in, the policy gets them in the order of the slots: arrival depends on
outcomes, and an order that decides anything must not.

A `Play` runs the policy.  A play that another revision of the policy decided is `Followed` instead: which slots it has,
and for which arms, is read from the asks on record.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from heapq import heappop, heappush, nsmallest
from itertools import accumulate, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.campaign.driving import driver_of
from whichdo.errors import UnfitStateError, is_interrupt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import Array
    from whichdo.campaign.audit import Audit
    from whichdo.evidence import Tally
    from whichdo.policies.base import Policy, Recommendation
    from whichdo.problem import Arm, Problem

    Saved = Mapping[str, Any]


Codes = tuple[int, ...]


class _Slots:
    """What all plays have: a number, a budget, and slots that come back and go out again before new ones."""

    def __init__(self, number: int, budget: float) -> None:
        self.number, self.budget = number, budget
        self.asked = 0
        """How many slots have ever been handed out."""
        self.failure: str | None = None
        """Why the play cannot go on, if it cannot."""
        self._returned: list[int] = []
        self._back: set[int] = set()

    def _first_returned(self) -> int | None:
        while self._returned and self._returned[0] not in self._back:
            heappop(self._returned)  # answered after all, since it was given back
        return self._returned[0] if self._returned else None

    def give_back(self, slot: int) -> None:
        """A slot that came to nothing is owed again."""
        heappush(self._returned, slot)
        self._back.add(slot)

    def reclaim(self, slot: int) -> bool:
        """A slot that was given back is answered after all; False where it has gone out again, or its batch is done."""
        if slot not in self._back:
            return False
        self._back.remove(slot)
        return True

    def fail(self, why: str) -> None:
        """The policy cannot be followed any further; tickets that are out still count as evidence."""
        self.failure = self.failure or why


class Play(_Slots):
    """A run of the policy on the budget it was given; ``number`` counts the runs of a campaign from 0.

    ``nodes``: which node each code of a row is about, by default those of the problem's graph in their order.
    ``saved``: how far it had come when it was `saved`; it goes on from there.
    """

    def __init__(
        self,
        number: int,
        policy: Policy | Audit,
        problem: Problem,
        *,
        budget: float,
        seed: int,
        seen: Tally | None,
        nodes: Sequence[str] | None = None,
        saved: Saved | None = None,
    ) -> None:
        super().__init__(number, budget)
        self.seen = seen
        """What was known when it began."""
        self.needed: tuple[str, ...]
        """The nodes whose values the rows of this batch must say."""
        places = {name: place for place, name in enumerate(problem.graph.nodes if nodes is None else nodes)}
        self._width = len(places)
        self._driver = driver_of(
            policy, problem, budget, seed, seen, places, None if saved is None else saved["driver"]
        )
        self._raised = False
        self._answers = _Answers(self._width)
        self._open(0 if saved is None else saved["first"])
        if saved is not None:
            self._resume(saved)

    def saved(self) -> dict[str, Any] | None:
        """How far it has come, as numbers and arrays; None where the policy does not say."""
        driver = self._driver.saved()
        if driver is None or self.failure is not None:
            return None
        return {
            "driver": driver,
            "first": self._first,
            "fresh": self._fresh,
            "asked": self.asked,
            "back": np.array(sorted(self._back), np.int64),
            "answers": self._answers.saved(),
        }

    def _resume(self, saved: Saved) -> None:
        self._fresh, self.asked = saved["fresh"], saved["asked"]
        self._back = set(saved["back"].tolist())
        self._returned = sorted(self._back)
        self._answers.resume(saved["answers"])
        if not self._first <= self._fresh <= self._ends[-1] or self._answers.count > self._ends[-1] - self._first:
            raise ValueError("a play that has handed out more than its policy wants")

    def _open(self, first: int) -> None:
        """Number the slots of the batch that the policy asks for now, from the ``first`` on."""
        self._arms, counts, self.needed = self._driver.wanted()
        self._ends = [first, *(first + end for end in accumulate(counts))]
        self._first = self._fresh = first
        self._returned, self._back = [], set()
        if self._answers.count:
            self._answers = _Answers(self._width)

    # ------------------------------------------------------------------------------------------------ handing out

    @property
    def finished(self) -> bool:
        """Whether the policy has made its recommendation."""
        return not self._raised and self._driver.finished

    @property
    def recommendation(self) -> Recommendation | None:
        """What the policy recommends, once it is finished."""
        try:
            return self._driver.recommendation() if self.finished else None
        except UnfitStateError:
            raise
        except Exception as error:  # noqa: BLE001 - the evidence speaks without it
            self._give_up(error)
            return None

    @property
    def owed(self) -> int:
        """How many slots could be handed out now."""
        return 0 if self.failure else len(self._back) + self._ends[-1] - self._fresh

    @property
    def unfilled(self) -> int:
        """How many pulls the policy must hear of before it decides on."""
        return self._ends[-1] - self._first - self._answers.count

    def next_slots(self, count: int) -> list[int]:
        """The slots that are handed out next, at most ``count``; nothing is changed."""
        if self.failure:
            return []
        again = nsmallest(count, self._back)
        fresh = min(count - len(again), self._ends[-1] - self._fresh)
        return [*again, *range(self._fresh, self._fresh + fresh)]

    @property
    def next_slot(self) -> int | None:
        """The slot that is handed out next."""
        again = self._first_returned()
        if again is not None:
            return again
        return self._fresh if self._fresh < self._ends[-1] else None

    def arm_of(self, slot: int) -> Arm:
        """The arm to pull for a slot of this batch."""
        return self._arms[bisect_right(self._ends, slot) - 1]

    def expects(self, slot: int, arm: Arm) -> bool:
        """Whether this slot is the next, and this its arm."""
        return self.next_slot == slot and self.arm_of(slot) == arm

    @property
    def expected(self) -> str:
        """What is handed out next, in words."""
        coming = self.next_slot
        return "nothing" if coming is None else f"pull {coming}, {self.arm_of(coming)}"

    def hand_out(self, slot: int, arm: Arm, needed: tuple[str, ...]) -> None:  # noqa: ARG002 - as for a followed play
        """A slot has been asked for; it must be the next."""
        if slot in self._back:
            self._back.remove(slot)
        else:
            self._fresh += 1
        self.asked += 1

    # ---------------------------------------------------------------------------------------------------- answers

    def fill(self, slot: int, codes: Codes) -> None:
        """What came of a slot; the last of its batch lets the policy decide on."""
        if self.failure is not None:
            return
        size = self._ends[-1] - self._first
        if size == 1:  # a policy that decides every round
            self._close(np.array([codes], np.int16))
            return
        self._answers.put(slot - self._first, codes)
        if self._answers.count == size:
            self._close(self._answers.rows())

    def refill(self, slot: int, codes: Codes) -> bool:
        """Another outcome for a slot; False if the policy has already decided on the first."""
        if not self._answers.has(slot - self._first):
            return False
        self._answers.put(slot - self._first, codes)
        return True

    def _close(self, rows: Array) -> None:
        """Tell the batch, arm by arm in the order of the slots."""
        first = self._first
        try:
            for position, arm in enumerate(self._arms):
                start, end = self._ends[position] - first, self._ends[position + 1] - first
                if end > start:
                    self._driver.tell(arm, rows[start:end])
            self._open(self._ends[-1])
        except UnfitStateError:  # it is the snapshot's fault, not the policy's
            raise
        except Exception as error:  # noqa: BLE001 - whatever it raises, what was told must not be lost with it
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """The policy has raised: it is not asked again, in this process."""
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        self._raised = True
        self.fail(f"{type(error).__name__}: {error}")


class _Answers:
    """What came of the slots of a batch, as far as they have been handed out; a row of codes each."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._codes, self._known = array("h"), bytearray()
        self.count = 0

    def has(self, place: int) -> bool:
        return 0 <= place < len(self._known) and bool(self._known[place])

    def put(self, place: int, codes: Codes) -> None:
        missing = place + 1 - len(self._known)
        if missing > 0:
            self._known.extend(bytes(missing))
            self._codes.extend(repeat(-1, missing * self._width))
        self.count += not self._known[place]
        self._known[place] = 1
        self._codes[place * self._width : (place + 1) * self._width] = array("h", codes)

    def rows(self) -> Array:
        found: Array = np.array(self._codes, np.int16).reshape(len(self._known), self._width)
        return found

    def saved(self) -> dict[str, Any]:
        return {"codes": self.rows(), "known": np.frombuffer(bytes(self._known), np.uint8)}

    def resume(self, saved: Saved) -> None:
        self._known = bytearray(saved["known"].astype(np.uint8).tobytes())
        self._codes = array("h", saved["codes"].astype(np.int16).tobytes())
        self.count = sum(self._known)
        if len(self._codes) != len(self._known) * self._width:
            raise ValueError("answers that are not those of a batch")


class Followed(_Slots):
    """A play that another revision of the policy decided: the policy is not run, the asks on record say what it wanted.

    It learns of a slot when that is asked for.  All it can hand out itself is slots that came back; for anything more
    the policy has to decide, which takes a play of its present revision.
    """

    finished = False
    """Never by its own word: whether the policy was done is not on record."""
    recommendation: Recommendation | None = None

    def __init__(self, number: int, budget: float, revision: int) -> None:
        super().__init__(number, budget)
        self.revision = revision
        """Of the policy, that decided it."""
        self.asks = 0
        self.first_event = self.last_event = 0
        """The events of its first and its last ask."""
        self._arms: list[Arm] = []
        self._needs: list[tuple[str, ...]] = []
        self._filled: set[int] = set()

    def saved(self) -> dict[str, Any]:
        """How far it has come, as numbers and arrays."""
        arms, needs = [*dict.fromkeys(map(str, self._arms))], [*dict.fromkeys(self._needs)]
        where = {text: place for place, text in enumerate(arms)}
        which = {names: place for place, names in enumerate(needs)}
        return {
            "names": arms,
            "needs": [[*names] for names in needs],
            "arm": np.array([where[str(arm)] for arm in self._arms], np.int64),
            "need": np.array([which[names] for names in self._needs], np.int64),
            "filled": np.array(sorted(self._filled), np.int64),
            "back": np.array(sorted(self._back), np.int64),
            "asked": self.asked,
            "asks": [self.asks, self.first_event, self.last_event],
        }

    def resume(self, saved: Saved, arms: Mapping[str, Arm]) -> None:
        """Go on from what was `saved`; ``arms`` by their strings."""
        names, needs = [arms[text] for text in saved["names"]], [tuple(each) for each in saved["needs"]]
        self._arms = [names[place] for place in saved["arm"].tolist()]
        self._needs = [needs[place] for place in saved["need"].tolist()]
        self._filled, self._back = set(saved["filled"].tolist()), set(saved["back"].tolist())
        self._returned = sorted(self._back)
        self.asked = saved["asked"]
        self.asks, self.first_event, self.last_event = saved["asks"]

    def note_ask(self, event: int) -> None:
        """An event asked for slots of this play."""
        self.asks += 1
        self.first_event, self.last_event = self.first_event or event, event

    @property
    def needed(self) -> tuple[str, ...]:
        """The nodes whose values the rows of the next slots must say."""
        again = self._first_returned()
        return () if again is None else self._needs[again]

    @property
    def owed(self) -> int:
        """How many slots came back and could be handed out now."""
        return 0 if self.failure else len(self._back)

    @property
    def unfilled(self) -> int:
        """How many slots were asked for and have no answer yet."""
        return len(self._arms) - len(self._filled)

    def next_slots(self, count: int) -> list[int]:
        """The slots that came back, at most ``count``, as far as they need the same."""
        if self.failure:
            return []
        needed = self.needed
        return nsmallest(count, (slot for slot in self._back if self._needs[slot] == needed))

    def arm_of(self, slot: int) -> Arm:
        """The arm that a slot was asked for with."""
        return self._arms[slot]

    def expects(self, slot: int, arm: Arm) -> bool:
        """Whether this slot is the next: the first that came back, for the same arm, or else a new one for any arm."""
        again = self._first_returned()
        return slot == len(self._arms) if again is None else slot == again and self._arms[slot] == arm

    @property
    def expected(self) -> str:
        """What must be handed out next, in words."""
        again = self._first_returned()
        return f"pull {len(self._arms)}" if again is None else f"pull {again}, {self._arms[again]}"

    def hand_out(self, slot: int, arm: Arm, needed: tuple[str, ...]) -> None:
        """A slot has been asked for; it must be the next."""
        if slot in self._back:
            self._back.remove(slot)
        else:
            self._arms.append(arm)
            self._needs.append(needed)
        self.asked += 1

    def fill(self, slot: int, codes: Codes) -> None:  # noqa: ARG002 - nobody decides on it here
        """A slot is answered."""
        self._filled.add(slot)

    def refill(self, slot: int, codes: Codes) -> bool:  # noqa: ARG002
        """Another outcome for a slot; nothing hangs on it here."""
        return slot in self._filled
