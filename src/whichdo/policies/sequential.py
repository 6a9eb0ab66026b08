"""Sequential policies: one decision a round.

Such a policy is two compiled functions over an explicit state: `choose` an arm, and `learn` what it yielded.  `Rounds`
makes a play of them, for sessions and campaigns.  For simulation each policy adds its own few-line compiled loop over
the same two functions (`whichdo.kernels.rounds`): numba keeps a function on disk only if it calls others by name.  A
conformance test shows that both make the same pulls.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from whichdo.errors import UnfitStateError
from whichdo.evidence import REWARDS, ROWS, Batch, all_prices
from whichdo.kernels.compiling import bound, uncompiled
from whichdo.kernels.random import BLOCK
from whichdo.kernels.rounds import MARK, NEXT, OVER, USED
from whichdo.kernels.rounds import Rounds as KernelRounds
from whichdo.policies.base import Objective, Play, Policy, Recommendation, refuse_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from whichdo.arrays import CodeArray, FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.kernels.rewards import RewardStreams
    from whichdo.problem import Problem
    from whichdo.tables import Scope


NO_ROW: CodeArray = np.zeros(0, np.uint8)
ONCE: IntArray = np.ones(1, np.int64)
PLAIN_ROUNDS, PLAIN_NUMBERS = 300, 160
"""Up to so many rounds of a problem with so many numbers are played without a compiler."""


class Sequential(Policy):
    """A policy that decides every round.

    A subclass sets three functions of its module, wrapped in ``staticmethod``: ``choose(state) -> arm``,
    ``learn(state, arm, level, row)``, ``loop(state, world)``; and writes `begin` and `means`.  ``row`` holds the codes
    of the nodes that `columns` names: of looks alone, or of the pulls of every arm where ``reads_every_arm`` is set
    (its `choose` must then leave the state as it is).  It is empty otherwise.  ``choose`` compares arms from
    ``problem.first_answer`` on: before it lies do() where that is not an answer; it may then only be pulled to learn.
    """

    objective = Objective.CUMULATIVE
    reads_every_arm: ClassVar[bool] = False
    choose: ClassVar[Callable[..., int]]
    learn: ClassVar[Callable[..., None]]
    loop: ClassVar[Callable[..., None]]

    def suited(self, problem: Problem) -> Sequential:  # noqa: ARG002
        """The variant of the policy that plays a problem; it depends on the problem alone."""
        return self

    def columns(self, problem: Problem) -> tuple[str, ...]:  # noqa: ARG002
        """The nodes that `learn` reads of a row, the reward last; none where it reads rewards alone."""
        return ()

    def scopes(self, problem: Problem) -> tuple[Scope, ...] | None:  # noqa: ARG002
        """What logs must be counted by for `begin`; None for what estimates of the problem's arms need."""
        return None

    @abstractmethod
    def begin(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Any:
        """The state before the first round; a tuple of arrays."""

    @abstractmethod
    def means(self, state: Any) -> FloatArray:
        """What the state says of every arm's mean utility; NaN where it says nothing."""

    def with_room(self, state: Any, looks: int) -> Any:  # noqa: ARG002
        """The state, able to take in so many looks more; for one that keeps them, whose arrays must grow at times.

        Compiled code cannot put longer arrays into a tuple, so the driver of the rounds asks for room between them.
        """
        return state

    def notes(self, problem: Problem, state: Any) -> tuple[str, ...]:  # noqa: ARG002
        """What a careful reader of the recommendation would point out."""
        return ()

    def check(self, problem: Problem, budget: float) -> None:
        """Every arm is pulled once; do() too where it is an answer, or looks are of use."""
        pulled = all_prices(problem)[0 if self.looks else problem.first_answer :]
        refuse_below(self, budget, pulled.sum(), f"{len(pulled)} arms, each pulled once")

    def play_by_round(
        self,
        problem: Problem,
        budget: float,
        rng: np.random.Generator,
        seen: Tally,
        saved: Mapping[str, Any] | None = None,
    ) -> Rounds:
        """One pull a round, until the budget does not pay for the chosen arm."""
        return Rounds(self.suited(problem), problem, budget, rng, seen, saved)

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """The same, a batch a round."""
        rounds = self.play_by_round(problem, budget, rng, seen)
        while not rounds.over:
            told = yield rounds.batch
            row = told.rows.codes[0, rounds.columns] if rounds.reads and told.rows is not None else NO_ROW
            rounds.take(int(np.argmax(told.counts[rounds.arm])), row)
        return rounds.recommendation()


class Arena(Protocol):
    """What a simulated world offers to rounds: ways to pull, none to peep."""

    marks: IntArray
    """The rounds, rising, up to which pulls are recorded; the last is the last that is played.  None where empty."""
    record: IntArray
    """A row for each mark: the pulls of each arm up to it."""

    @property
    def rewards(self) -> RewardStreams:
        """The rewards of all arms."""

    def next_rows(self, position: int, count: int) -> CodeArray:
        """The next pulls of an arm as rows of codes, a column for each node of the graph."""


class Rounds:
    """A sequential policy on its way: the arm it wants to pull now, and what it makes of the outcome.

    It begins, and chooses, when that is first asked for; or is `run` against a simulated world from the start.
    """

    def __init__(
        self,
        policy: Sequential,
        problem: Problem,
        budget: float,
        rng: np.random.Generator,
        seen: Tally,
        saved: Mapping[str, Any] | None = None,
    ) -> None:
        self._policy, self._problem, self._given = policy, problem, (problem, float(budget), rng, seen)
        self.left = float(budget)
        self._prices = all_prices(problem)
        self.columns = [problem.graph.index(name) for name in policy.columns(problem)]
        """The nodes, by position in the graph, whose values `take` is told where ``reads`` is set."""
        self._made: Any = None
        self._parts: Sequence[Any] | None = None
        self._learn: Callable[..., None] | None = None
        self._arm: int | None = None
        if saved is not None:
            self.left, self._arm, self._parts = saved["left"], saved["arm"], saved["parts"]
        self._plain_left = PLAIN_ROUNDS if policy.numbers_read(problem) <= PLAIN_NUMBERS else 0

    @property
    def arm(self) -> int:
        """The position of the arm to pull."""
        if self._arm is None:
            state = self._state
            with self._steps():
                self._arm = int(self._pick(state))
        return self._arm

    @property
    def _state(self) -> Any:
        """The policy's own state; it begins, or what was saved is put together, when that is first needed."""
        if self._made is None:
            with self._steps():
                begun = self._policy.begin(*self._given)
                self._set(begun if self._parts is None else _resumed(begun, self._parts))
            self._parts = None
        return self._made

    def saved(self) -> dict[str, Any] | None:
        """What it has come to, for another process to go on from; None where the state of the policy is not arrays.

        What goes on from it chooses the same arms: the state holds all that the policy draws from.
        """
        arm = self.arm  # chosen before the state is read
        parts = self._parts if self._parts is not None else parts_of(self._state)
        if parts is None:
            return None
        return {"left": self.left, "arm": arm, "over": self.over, "reads": self.reads, "parts": parts}

    def _steps(self) -> AbstractContextManager[None]:
        """The first rounds of a small problem are over before a compiler is loaded; it would choose the same."""
        return uncompiled(self._plain_left > 0)

    @property
    def over(self) -> bool:
        """Whether the budget does not pay for it."""
        return bool(self.left < self._prices[self.arm] - 1e-9)

    @property
    def reads(self) -> bool:
        """Whether the policy reads the row of this pull, beside the reward."""
        return bool(self.columns) and (self.arm == 0 or self._policy.reads_every_arm)

    @property
    def scopes(self) -> tuple[Scope, ...] | None:
        """What logs must be counted by for it to begin; None for what estimates of the problem's arms need."""
        return self._policy.scopes(self._problem)

    @property
    def batch(self) -> Batch:
        """The pull as a batch."""
        return Batch.at(self._problem, np.array([self.arm]), ONCE, ROWS if self.reads else REWARDS, self.scopes)

    def take(self, level: int, row: CodeArray) -> None:
        """What came of the pull: the position of the reward's value, and the values of ``columns``, as `NO_ROW` is."""
        arm, state = self.arm, self._state
        self.left -= float(self._prices[arm])
        with self._steps():
            if self.reads and (roomy := self._policy.with_room(state, 1)) is not state:
                self._set(roomy)
                state = roomy
            if self._learn is None:
                self._learn = bound(self._policy.learn, state, 0, 0, NO_ROW)
            self._learn(state, arm, level, row)
        self._arm = None
        if self._plain_left:
            self._plain_left -= 1
            if not self._plain_left:
                self._set(state)

    def _set(self, state: Any) -> None:
        self._made, self._learn = state, None
        self._pick = bound(self._policy.choose, state)

    def run(self, arena: Arena) -> None:
        """All rounds against a simulated world, to its last mark or until the chosen arm is beyond the budget."""
        policy, count = self._policy, len(self._prices)
        state = policy.begin(*self._given)
        read = (count if policy.reads_every_arm else 1) if self.columns else 0
        marks, record = arena.marks, arena.record
        if not len(marks):  # nobody wants to know
            marks, record = np.array([int(self.left / self._prices.min() + 1e-9)]), np.zeros((1, count), np.int64)
        rounds = KernelRounds(
            streams=arena.rewards,
            rows=np.zeros((read * BLOCK, len(self.columns)), np.uint8),
            clock=np.zeros(NEXT + read, np.int64),
            money=np.concatenate([[self.left], self._prices]),
            marks=marks,
            record=record,
        )
        rounds.clock[NEXT:] = BLOCK * np.arange(1, read + 1)  # no row is there yet
        rounds.clock[USED] = 0 if policy.reads_every_arm else len(rounds.rows)
        while not rounds.clock[OVER]:
            if read and rounds.clock[USED] == len(rounds.rows):
                self._refill(rounds, arena)
                state = policy.with_room(state, BLOCK)
            policy.loop(state, rounds)
        last = min(int(rounds.clock[MARK]), len(marks) - 1)
        record[last + 1 :] = record[last]
        self._made, self.left, self._plain_left = state, float(rounds.money[0]), 0

    def _refill(self, rounds: KernelRounds, arena: Arena) -> None:
        """Draw the next block of looks or, for a policy that reads every arm, of the arm that wants one."""
        for arm, start in enumerate(range(0, len(rounds.rows), BLOCK)):
            if not self._policy.reads_every_arm or rounds.clock[NEXT + arm] == -1:
                rounds.rows[start : start + BLOCK] = arena.next_rows(arm, BLOCK)[:, self.columns]
                rounds.clock[NEXT + arm] = start
        rounds.clock[USED] = 0

    def recommendation(self) -> Recommendation:
        """The answer of the largest mean."""
        first = self._problem.first_answer
        with self._steps():
            means, notes = self._policy.means(self._state), self._policy.notes(self._problem, self._state)
        return Recommendation(self._problem.arms[first + int(np.nanargmax(means[first:]))], means, notes)


def parts_of(state: Any) -> list[Any] | None:
    """The arrays and numbers that a state is made of, in order; None where it has others, or arrays that overlap.

    An array that it has at two places is given once, and then by the place of the first.
    """
    found: list[Any] = []
    places: dict[int, int] = {}
    for each in _leaves(state):
        if isinstance(each, np.ndarray):
            if id(each) in places:
                found.append([places[id(each)]])
                continue
            if any(isinstance(other, np.ndarray) and np.may_share_memory(each, other) for other in found):
                return None
            places[id(each)] = len(found)
        elif not isinstance(each, (bool, int, float)):
            return None
        found.append(each)
    return found


def _leaves(state: Any) -> Iterator[Any]:
    if isinstance(state, tuple):
        for each in state:
            yield from _leaves(each)
    else:
        yield state


def _resumed(like: Any, parts: Sequence[Any]) -> Any:
    """The same state as `with_parts`; where they do not fit, another layout of the policy saved them."""
    try:
        return with_parts(like, parts)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise UnfitStateError(f"What was saved of a play does not fit: {error}.") from error


def with_parts(like: Any, parts: Sequence[Any]) -> Any:
    """A state of these parts, built ``like`` another of the same policy; a ValueError if they do not fit."""
    made: list[Any] = []

    def build(old: Any) -> Any:
        if isinstance(old, tuple):
            inside = [build(each) for each in old]
            return type(old)(*inside) if hasattr(old, "_fields") else tuple(inside)
        part = parts[len(made)]
        if isinstance(part, list):
            new = made[part[0]]
        elif isinstance(old, np.ndarray):
            if part.dtype != old.dtype or part.ndim != old.ndim:
                raise ValueError(f"a part of {part.dtype}, where {old.dtype} should be")
            new = np.array(part, order="C")
        else:
            new = type(old)(part)
        made.append(new)
        return new

    state = build(like)
    if len(made) != len(parts):
        raise ValueError(f"{len(parts)} parts, where {len(made)} should be")
    return state
