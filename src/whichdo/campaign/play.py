"""One play of the policy: its batches as numbered slots, filled in the order of asking.

A policy asks for a batch, and decides on once all of it is told.  Here every pull of a batch has a *slot*, numbered
through the whole play.  Slots are handed out in order; one that comes back (voided, expired) goes out again before new
ones.  Whatever order the answers arrive in, the policy gets them in the order of the slots: arrival depends on
outcomes, and an order that decides anything must not.

A `Play` runs the policy.  A play that another revision of the policy decided is `Followed` instead: which slots it has,
and for which arms, is read from the asks on record.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import heappop, heappush, nsmallest
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from whichdo.campaign.audit import Audit
from whichdo.counting.told import Told
from whichdo.errors import is_interrupt
from whichdo.evidence import Tally
from whichdo.policies.base import check_policy
from whichdo.policies.sequential import NO_ROW
from whichdo.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whichdo.policies.base import Policy, Recommendation
    from whichdo.policies.sequential import Rounds
    from whichdo.problem import Arm, Problem

__all__ = ["Followed", "Play"]

Codes = tuple[int, ...]
Wanted = tuple[tuple["Arm", ...], tuple[int, ...], tuple[str, ...]]
"""Arms, how often each, and the nodes that rows must say."""


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
    """A run of the policy on the money it was given; ``number`` counts the runs of a campaign from 0.

    ``nodes``: which node each code of a row is about, by default those of the problem's graph in their order.
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
    ) -> None:
        super().__init__(number, budget)
        self.needed: tuple[str, ...]
        """The nodes whose values the rows of this batch must say."""
        places = {name: place for place, name in enumerate(problem.graph.nodes if nodes is None else nodes)}
        self._driver = _driver(policy, problem, budget, seed, seen, places)
        self._first = 0
        self._open()

    def _open(self) -> None:
        """Number the slots of the batch that the policy asks for now."""
        self._arms, counts, self.needed = self._driver.wanted()
        self._ends = [self._first, *(self._first + end for end in accumulate(counts))]
        self._fresh = self._first
        self._returned, self._back = [], set()
        self._filled: dict[int, Codes] = {}

    # ------------------------------------------------------------------------------------------------ handing out

    @property
    def finished(self) -> bool:
        """Whether the policy has made its recommendation."""
        return self._driver.finished

    @property
    def recommendation(self) -> Recommendation | None:
        """What the policy recommends, once it is finished."""
        return self._driver.recommendation() if self._driver.finished else None

    @property
    def owed(self) -> int:
        """How many slots could be handed out now."""
        return 0 if self.failure else len(self._back) + self._ends[-1] - self._fresh

    @property
    def unfilled(self) -> int:
        """How many pulls the policy must hear of before it decides on."""
        return self._ends[-1] - self._first - len(self._filled)

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
        self._filled[slot] = codes
        if len(self._filled) == self._ends[-1] - self._first and not self.failure:
            self._close()

    def refill(self, slot: int, codes: Codes) -> bool:
        """Another outcome for a slot; False if the policy has already decided on the first."""
        if slot not in self._filled:
            return False
        self._filled[slot] = codes
        return True

    def _close(self) -> None:
        """Tell the batch, arm by arm in the order of the slots."""
        filled, first = self._filled, self._first
        self._first = self._ends[-1]
        try:
            for position, arm in enumerate(self._arms):
                start, end = self._ends[position], self._ends[position + 1]
                if end > start:
                    self._driver.tell(arm, [filled[slot] for slot in range(start, end)])
        except Exception as error:  # whatever a policy raises, what was told must not be lost with it
            if is_interrupt(error):
                raise KeyboardInterrupt from error
            self.failure = f"{type(error).__name__}: {error}"
            self._first = first
            return
        self._open()


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


# ---------------------------------------------------------------------------------------------- driving the policy


class _Batches:
    """Any policy, through a session."""

    def __init__(self, session: Session, problem: Problem, places: dict[str, int]) -> None:
        self._session, self._places = session, places
        self._levels = len(problem.domains[problem.reward])
        self._reward = places[problem.reward]

    def wanted(self) -> Wanted:
        batch, needed = self._session.batch, self._session.needed
        self._columns = [self._places[name] for name in needed]
        return batch.arms, batch.counts, needed

    @property
    def finished(self) -> bool:
        return self._session.finished

    def recommendation(self) -> Recommendation:
        return self._session.recommend()

    def tell(self, arm: Arm, rows: Sequence[Codes]) -> None:
        codes = np.array(rows, np.int16)
        levels = np.bincount(codes[:, self._reward], minlength=self._levels).astype(np.int64)
        self._session.tell(arm, Told(levels, codes[:, self._columns].astype(np.uint8)))


class _Rounds:
    """A sequential policy, round by round: its log is long, and a session would take longer than the policy itself."""

    def __init__(self, rounds: Rounds, problem: Problem, places: dict[str, int]) -> None:
        self._rounds, self._problem = rounds, problem
        self._reward = places[problem.reward]
        nodes, reward = problem.graph.nodes, problem.graph.index(problem.reward)
        self._read = tuple(nodes[column] for column in sorted({*rounds.columns, reward}))
        self._columns = [places[nodes[column]] for column in rounds.columns]

    def wanted(self) -> Wanted:
        rounds = self._rounds
        if rounds.over:
            return (), (), ()
        return (self._problem.arms[rounds.arm],), (1,), self._read if rounds.reads else (self._problem.reward,)

    @property
    def finished(self) -> bool:
        return self._rounds.over

    def recommendation(self) -> Recommendation:
        return self._rounds.recommendation()

    def tell(self, arm: Arm, rows: Sequence[Codes]) -> None:  # noqa: ARG002 - as for batches
        (row,) = rows
        rounds = self._rounds
        codes = np.array([row[column] for column in self._columns], np.uint8) if rounds.reads else NO_ROW
        rounds.take(row[self._reward], codes)


class _Listed:
    """An audit: looks first, which must say more than their reward, then the other arms."""

    def __init__(self, audit: Audit, reward: str) -> None:
        looks = [(arm, count) for arm, count in audit.pulls if arm.is_look]
        others = [(arm, count) for arm, count in audit.pulls if not arm.is_look]
        parts = [(looks, audit.columns), (others, (reward,))]
        self._coming: Iterator[Wanted] = iter(
            [
                (tuple(arm for arm, _ in pulls), tuple(count for _, count in pulls), needed)
                for pulls, needed in parts
                if pulls
            ]
        )
        self.finished = False

    def wanted(self) -> Wanted:
        batch = next(self._coming, None)
        self.finished = batch is None
        return batch or ((), (), ())

    def recommendation(self) -> None:
        return None

    def tell(self, arm: Arm, rows: Sequence[Codes]) -> None:
        """Nobody decides on it here."""


def _driver(
    policy: Policy | Audit, problem: Problem, budget: float, seed: int, seen: Tally | None, places: dict[str, int]
) -> _Batches | _Rounds | _Listed:
    if isinstance(policy, Audit):
        return _Listed(policy, problem.reward)
    check_policy(policy, problem, budget)
    rng = np.random.default_rng(np.random.SeedSequence(seed))  # as a session has it
    rounds = policy.play_by_round(problem, budget, rng, seen or Tally.empty(problem))
    if rounds is not None:
        return _Rounds(rounds, problem, places)
    return _Batches(Session(policy, problem, budget=budget, seed=seed, seen=seen), problem, places)
