"""CRM-NB: UCB that counts a look for every arm whose value it happens to show, and looks often enough for that.

Nair, Patil and Sinha, AISTATS 2021, CRM-NB-ALG: no back-door path leads from a node that can be set to the reward, so
looks with X=x are as good as pulls of do(X=x).  An arm's effective size E is its pulls and those looks together, and
its mean is over both.  do() is pulled while it has fewer than beta^2 ln t pulls, beta = min{2 sqrt(2) / (largest mean -
mean of do()), sqrt(ln t)}; else the arm of the largest mean + sqrt(8 ln t / E), where do() has its own pulls for E.  If
do() is best the expected cumulative regret is bounded by a constant of the instance; else it is of order ln T, and
smaller than UCB's by what the looks save.

A look costs 1 and every intervention gamma: the index of an intervention is then divided by gamma, and the policy aims
at utility per cost.  gamma is read from the problem's costs, in units of the cost of a look; with equal costs it is 1.

What the paper leaves open, and what is done: every arm is pulled once, in order, and beta is 1 until the round after.
In round t + 1 the test for do() has ln(t + 1) and the indices ln t, t being the pulls so far.  beta is set anew in each
round in which do() has not the largest mean, and otherwise stays.  Nodes of more than two values have an arm for each
that they can be set to; looks with other values count for do() alone.  Ties are told apart by lots drawn once for the
whole run.  Logged looks count as looks, not as rounds.  The arm that is recommended has the largest mean, whatever it
costs.  ``trust=True`` skips the check for back-door paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.errors import UsageError
from whichdo.estimate.conditional import levels_given
from whichdo.evidence import utilities
from whichdo.kernels.compiling import compiled
from whichdo.kernels.rounds import USED, drawn, going, noted, payable, pulled
from whichdo.policies.base import refuse_joint
from whichdo.policies.conditioning import one_price, refuse_backdoors
from whichdo.policies.registry import register
from whichdo.policies.sequential import Sequential

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.kernels.rounds import Rounds
    from whichdo.problem import Problem


class _Pooled(NamedTuple):
    """For each arm its pulls, its effective size E, and the utility that these brought.

    ``told[j, x]`` is the arm on the j-th node that a look with its value x counts for, or -1.  ``worth`` is what an
    index is multiplied by: 1 for do(), 1/gamma for others.  ``luck`` breaks ties; ``beta`` holds one number.  Indices
    are compared from ``first`` on.
    """

    pulls: IntArray
    size: FloatArray
    total: FloatArray
    told: IntArray
    utility: FloatArray
    worth: FloatArray
    luck: FloatArray
    beta: FloatArray
    first: int


@compiled
def choose(state: _Pooled) -> int:
    """do() while it is owed pulls, else the arm of the largest index; arms never pulled first, in order."""
    pulls, size, total, worth, luck = state.pulls, state.size, state.total, state.worth, state.luck
    rounds = 0
    for arm in range(pulls.size):
        if pulls[arm] == 0:
            return arm
        rounds += pulls[arm]
    if size[0] < state.beta[0] * state.beta[0] * np.log(rounds + 1.0):
        return 0
    width = 8.0 * np.log(rounds)
    best, top = state.first, -np.inf
    for arm in range(state.first, pulls.size):
        part = 1.0 / size[arm]
        index = worth[arm] * (total[arm] * part + np.sqrt(width * part))
        if index > top or (index == top and luck[arm] > luck[best]):
            best, top = arm, index
    return best


@compiled
def learn(state: _Pooled, arm: int, level: int, row: CodeArray) -> None:
    """Count the reward for the arm and, of a look, for every arm whose value it shows; then set beta."""
    pulls, size, total, told = state.pulls, state.size, state.total, state.told
    gain = state.utility[level]
    pulls[arm] += 1
    size[arm] += 1.0
    total[arm] += gain
    if arm == 0:
        for j in range(told.shape[0]):
            shown = told[j, row[j]]
            if shown >= 0:
                size[shown] += 1.0
                total[shown] += gain
    rounds, most = 0, -1.0
    for other in range(pulls.size):
        if pulls[other] == 0:
            return
        rounds += pulls[other]
        most = max(most, total[other] / size[other])
    lead = most - total[0] / size[0]
    if lead > 0.0 and rounds > pulls.size:
        state.beta[0] = min(2.0 * np.sqrt(2.0) / lead, np.sqrt(np.log(rounds)))


@compiled
def _loop(state: _Pooled, world: Rounds) -> None:
    streams, rows, clock, money, marks, record = world
    bits, left = streams.bits, streams.left
    nothing = rows[0][:0]
    while going(clock, rows):
        arm = choose(state)
        if payable(clock, money, arm):
            level = drawn(bits, left, arm) if left[arm] > 0 else pulled(streams, rows, clock, arm)
            noted(clock, money, marks, record, arm)
            learn(state, arm, level, rows[clock[USED] - 1] if arm == 0 else nothing)


@register("crm-nb")
@dataclass(frozen=True)
class CRMNB(Sequential):
    """CRM-NB-ALG of Nair et al.; ``trust`` skips the check for back-door paths."""

    trust: bool = False
    choose = staticmethod(choose)
    learn = staticmethod(learn)
    loop = staticmethod(_loop)

    def __post_init__(self) -> None:
        if not isinstance(self.trust, bool):
            raise UsageError(f"trust is {self.trust!r}; it must be True or False.")

    def check(self, problem: Problem, budget: float) -> None:
        """One cost for all interventions, conditioning right, and every arm pulled once."""
        refuse_joint(self, problem)
        self._prices(problem)
        if not self.trust:
            refuse_backdoors(self, problem)
        super().check(problem, budget)

    def columns(self, problem: Problem) -> tuple[str, ...]:
        """The nodes that can be set, and the reward."""
        return (*problem.intervene, problem.reward)

    def begin(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> _Pooled:  # noqa: ARG002
        """Nothing pulled yet; logged looks count for every arm whose value they show."""
        arms, utility = len(problem.arms), utilities(problem)
        given = levels_given(problem, seen)
        look, act = self._prices(problem)
        worth = np.full(arms, look / act)
        worth[0] = 1.0
        size, total = given.sum(axis=1), given @ utility
        pulls, luck, beta = np.zeros(arms, np.int64), rng.random(arms), np.ones(1)
        return _Pooled(pulls, size, total, _told(problem), utility, worth, luck, beta, problem.first_answer)

    def means(self, state: _Pooled) -> FloatArray:
        """Means over pulls and looks together."""
        with np.errstate(invalid="ignore"):
            return state.total / state.size

    def _prices(self, problem: Problem) -> tuple[float, float]:
        return one_price(self, problem, "ucb or ts, which count pulls")


def _told(problem: Problem) -> IntArray:
    """For each node that can be set and each value that it can have, the position of the arm that sets it, or -1."""
    most = max(len(problem.domains[name]) for name in problem.intervene)
    told = np.full((len(problem.intervene), most), -1, np.int64)
    place = {name: j for j, name in enumerate(problem.intervene)}
    for position, arm in enumerate(problem.arms):
        for name, value in arm.settings.items():
            told[place[name], problem.domains[name].index(value)] = position
    return told
