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
from whichdo.policies.base import Objective, Play, Policy, Recommendation, prices, refuse_below

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.evidence import CodeArray, FloatArray, Tally
    from whichdo.problem import Problem

__all__ = ["NO_ROW", "Sequential"]

NO_ROW: CodeArray = np.zeros(0, np.uint8)


class Sequential(Policy):
    """A policy that decides every round.

    A subclass sets three functions of its module, wrapped in ``staticmethod``: ``choose(state) -> arm``,
    ``learn(state, arm, level, row)``, ``loop(state, world)``; and writes `begin` and `means`.  ``row`` holds the codes
    of the nodes that `columns` names: of looks alone, or of the pulls of every arm where ``reads_every_arm`` is set
    (its `choose` must then leave the state as it is).  It is empty otherwise.
    """

    objective = Objective.CUMULATIVE
    reads_every_arm: ClassVar[bool] = False
    choose: ClassVar[Callable[..., int]]
    learn: ClassVar[Callable[..., None]]
    loop: ClassVar[Callable[..., None]]

    def columns(self, problem: Problem) -> tuple[str, ...]:  # noqa: ARG002
        """The nodes that `learn` reads of a row, the reward last; none where it reads rewards alone."""
        return ()

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
        """Every arm is pulled once."""
        least = sum(problem.costs.values())
        refuse_below(self, budget, least, f"{len(problem.arms)} arms, each pulled once")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """One batch of one pull a round, until the money does not pay the arm that is chosen."""
        state = self.begin(problem, budget, rng, seen)
        left, price = float(budget), prices(problem, problem.arms)
        columns = [problem.graph.index(name) for name in self.columns(problem)]
        while True:
            arm = int(self.choose(state))
            if left < price[arm] - 1e-9:
                break
            left -= price[arm]
            read = bool(columns) and (arm == 0 or self.reads_every_arm)
            if read:
                state = self.with_room(state, 1)
            told = yield pull(problem.arms[arm], detail=ROWS if read else REWARDS)
            row = told.rows.codes[0, columns] if read and told.rows is not None else NO_ROW
            self.learn(state, arm, int(np.argmax(told.counts[arm])), row)
        means = self.means(state)
        return Recommendation(problem.arms[int(np.nanargmax(means))], means, self.notes(problem, state))
