"""Sequential policies: one decision a round.

Such a policy is two compiled functions over an explicit state: `choose` an arm, and `learn` what it yielded.  Here they
become `play`, for sessions and campaigns.  For simulation each policy adds its own few-line compiled loop over the same
two functions (`whichdo.kernels.rounds`): numba keeps a function on disk only if it calls others by name.  A conformance
test shows that both make the same pulls.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whichdo.evidence import REWARDS, ROWS, pull
from whichdo.kernels.compiling import bound
from whichdo.policies.base import Objective, Play, Policy, Recommendation, prices, refuse_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whichdo.arrays import CodeArray, FloatArray
    from whichdo.evidence import Tally
    from whichdo.problem import Problem
    from whichdo.tables import Scope

__all__ = ["NO_ROW", "Rounds", "Sequential", "named"]

NO_ROW: CodeArray = np.zeros(0, np.uint8)


def named(problem: Problem, means: FloatArray) -> int:
    """The position of the answer with the largest mean."""
    first = problem.first_answer
    return first + int(np.nanargmax(means[first:]))


class Sequential(Policy):
    """A policy that decides every round.

    A subclass sets three functions of its module, wrapped in ``staticmethod``: ``choose(state) -> arm``,
    ``learn(state, arm, level, row)``, ``loop(state, world)``; and writes `begin` and `means`.  ``row`` holds the codes
    of the nodes that `columns` names: of looks alone, or of the pulls of every arm where ``reads_every_arm`` is set
    (its `choose` must then leave the state as it is).  It is empty otherwise.  ``choose`` compares arms from
    ``problem.first_answer`` on: before it lies do() where that is no answer, which may only be pulled to learn.
    """

    objective = Objective.CUMULATIVE
    reads_every_arm: ClassVar[bool] = False
    choose: ClassVar[Callable[..., int]]
    learn: ClassVar[Callable[..., None]]
    loop: ClassVar[Callable[..., None]]

    def suited(self, problem: Problem) -> Sequential:  # noqa: ARG002
        """The form of the policy that plays a problem, by the problem alone; whoever drives rounds asks first."""
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

        Compiled code cannot put longer arrays into a tuple, so whoever drives the rounds asks for room between them.
        """
        return state

    def notes(self, problem: Problem, state: Any) -> tuple[str, ...]:  # noqa: ARG002
        """What a careful reader of the recommendation would point out."""
        return ()

    def check(self, problem: Problem, budget: float) -> None:
        """Every arm is pulled once; do() too where it is an answer, or looks are of use."""
        pulled = problem.arms if self.looks else problem.answers
        refuse_below(self, budget, prices(problem, pulled).sum(), f"{len(pulled)} arms, each pulled once")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """One batch of one pull a round, until the money does not pay the arm that is chosen."""
        rounds = Rounds(self, problem, budget, rng, seen)
        scopes = self.suited(problem).scopes(problem)
        while not rounds.over:
            told = yield pull(problem.arms[rounds.arm], detail=ROWS if rounds.reads else REWARDS, scopes=scopes)
            row = told.rows.codes[0, rounds.columns] if rounds.reads and told.rows is not None else NO_ROW
            rounds.take(int(np.argmax(told.counts[rounds.arm])), row)
        return rounds.recommendation()


class Rounds:
    """A sequential policy on its way: the arm it wants to pull now, and what it makes of the outcome.

    `Sequential.play` is this as a generator; a campaign, which runs the policy again on a long log, takes it as it is.
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
        policy = policy.suited(problem)
        self._policy, self._problem = policy, problem
        self._prices = prices(problem, problem.arms).tolist()
        self._made: Any = None
        self._parts: Sequence[Any] | None = None
        self._learn: Callable[..., None] | None = None
        self.left = float(budget)
        self.columns = [problem.graph.index(name) for name in policy.columns(problem)]
        """The nodes, by position in the graph, whose values `take` is told where ``reads`` is set."""
        self.arm = 0
        """The position of the arm to pull."""
        self.over = False
        """Whether the money does not pay it."""
        self.reads = False
        """Whether the policy reads the row of this pull, beside the reward."""
        self._given = problem, budget, rng, seen
        if saved is None:
            self._set(policy.begin(problem, budget, rng, seen))
            self._choose()
        else:
            self.left, self.arm, self.over, self.reads = (saved[name] for name in ("left", "arm", "over", "reads"))
            self._parts = saved["parts"]

    def saved(self) -> dict[str, Any] | None:
        """What it has come to, for another process to go on from; None where the state of the policy is not arrays.

        What goes on from it chooses the same arms: the state holds all that the policy draws from.
        """
        parts = self._parts if self._parts is not None else parts_of(self._state)
        if parts is None:
            return None
        return {"left": self.left, "arm": self.arm, "over": self.over, "reads": self.reads, "parts": parts}

    @property
    def _state(self) -> Any:
        """The policy's own state; one that was saved is put together when it is first needed."""
        if self._parts is not None:
            parts, self._parts = self._parts, None
            self._set(with_parts(self._policy.begin(*self._given), parts))
        return self._made

    def take(self, level: int, row: CodeArray) -> None:
        """What came of the pull: the position of the reward's value, and the values of ``columns``, as `NO_ROW` is."""
        state = self._state
        self.left -= self._prices[self.arm]
        if self.reads and (roomy := self._policy.with_room(state, 1)) is not state:
            self._set(roomy)
            state = roomy
        if self._learn is None:
            self._learn = bound(self._policy.learn, state, 0, 0, NO_ROW)
        self._learn(state, self.arm, level, row)
        self._choose()

    def _set(self, state: Any) -> None:
        self._made, self._learn = state, None
        self._pick = bound(self._policy.choose, state)

    def _choose(self) -> None:
        self.arm = int(self._pick(self._state))
        self.over = self.left < self._prices[self.arm] - 1e-9
        self.reads = bool(self.columns) and (self.arm == 0 or self._policy.reads_every_arm)

    def recommendation(self) -> Recommendation:
        """The answer of the largest mean."""
        means = self._policy.means(self._state)
        return Recommendation(
            self._problem.arms[named(self._problem, means)],
            means,
            self._policy.notes(self._problem, self._state),
        )


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
