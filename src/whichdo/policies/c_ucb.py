"""C-UCB: learn the reward given its parents from every pull, where the law of the parents is known for each arm.

Lu, Meisami, Tewari and Yan, UAI 2020: if P(Pa(Y)=s | a) is known for all arms, only the means mu_s = E[Y | Pa(Y)=s] are
to be learned, and a pull of any arm tells about the cell s that it shows.  Each cell has the bound U_s = mean of s +
sqrt(2 ln(1/delta) / max(1, n_s)) with delta = 1/T^2, and the arm of the largest sum_s P(s|a) U_s is pulled.  Cumulative
regret of order sqrt(T S ln T) for S cells, where UCB's grows with the number of arms; often much less, as the cells
that a bad arm needs are seen under good ones.

The laws are knowledge beyond the graph and must be given, in the form that `whichdo.policies.mixture` says; in a
simulation ``network.parent_laws(problem)`` has them.  A hidden cause of the reward would make its mean given the
parents differ from arm to arm, and the regret may then grow like T (Bilodeau, Wang and Roy 2022): such graphs are
refused.

What the paper leaves open, and what is done: T is the most pulls that the budget can pay.  Bounds are not cut at 1, as
printed.  A cell never seen has mean 0 in its bound; in the final means it counts 1/2, the middle of what it can be.
Equal sums are told apart by lots drawn once for the whole run.  Costs have no say in the choice.  Logged looks are not
used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.evidence import utilities
from whichdo.kernels.compiling import compiled
from whichdo.kernels.rounds import at_hand, going, payable, pulled_row
from whichdo.policies.base import ROUNDING, refuse_below
from whichdo.policies.mixture import given_laws, refuse_laws
from whichdo.policies.registry import register
from whichdo.policies.sequential import Sequential
from whichdo.tables import Radix

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from whichdo.arrays import CodeArray, FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.kernels.rounds import Rounds
    from whichdo.problem import Problem


class _Cells(NamedTuple):
    """For each cell of the parents how often it came and the utility that came with it; for each arm its sum of bounds.

    ``laws`` has a row for each cell, so that what a cell's new bound changes lies together.  ``strides`` make a cell
    of the parents' codes.  ``level`` holds 2 ln(1/delta); ``luck`` breaks ties; arms are compared from ``first`` on.
    """

    came: FloatArray
    total: FloatArray
    sums: FloatArray
    laws: FloatArray
    strides: IntArray
    utility: FloatArray
    level: FloatArray
    luck: FloatArray
    first: int


@compiled
def choose(state: _Cells) -> int:
    """The arm of the largest sum of bounds."""
    sums, luck = state.sums, state.luck
    best = state.first
    for arm in range(state.first + 1, sums.size):
        if sums[arm] > sums[best] or (sums[arm] == sums[best] and luck[arm] > luck[best]):
            best = arm
    return best


@compiled
def bound(state: _Cells, cell: int) -> float:
    """U_s as it stands."""
    came = max(1.0, state.came[cell])
    return state.total[cell] / came + np.sqrt(state.level[0] / came)  # type: ignore[no-any-return]


@compiled
def learn(state: _Cells, arm: int, level: int, row: CodeArray) -> None:  # noqa: ARG001
    """Count the reward for the cell, and move every arm's sum by what that changes: bounds do not depend on time."""
    strides, laws, sums = state.strides, state.laws, state.sums
    cell = 0
    for j in range(strides.size):
        cell += strides[j] * row[j]
    before = bound(state, cell)
    state.came[cell] += 1.0
    state.total[cell] += state.utility[level]
    change = bound(state, cell) - before
    for other in range(sums.size):
        sums[other] += change * laws[cell, other]


@compiled
def _loop(state: _Cells, world: Rounds) -> None:
    _, rows, clock, money, marks, record = world
    while going(clock, rows):
        arm = choose(state)
        if payable(clock, money, arm) and at_hand(rows, clock, record, arm):
            row = pulled_row(rows, clock, money, marks, record, arm)
            learn(state, arm, row[row.size - 1], row)


@register("c-ucb")
@dataclass(frozen=True)
class CUCB(Sequential):
    """C-UCB of Lu et al.  The laws are kept as tuples, so that policies compare."""

    laws: ArrayLike | None = field(default=None, repr=False)
    reads_every_arm = True
    choose = staticmethod(choose)
    learn = staticmethod(learn)
    loop = staticmethod(_loop)

    def __post_init__(self) -> None:
        object.__setattr__(self, "laws", given_laws(self.laws))

    def check(self, problem: Problem, budget: float) -> None:
        """The graph must let the laws be used, they must be there and fit, and there must be two pulls."""
        refuse_laws(self, problem, self.laws, "ucb or ts")  # type: ignore[arg-type] # a tuple by now
        refuse_below(self, budget, 2 * max(problem.costs.values()), "one pull cannot tell two arms apart")

    def columns(self, problem: Problem) -> tuple[str, ...]:
        """The reward and its parents."""
        return (*problem.graph.parents(problem.reward), problem.reward)

    def begin(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> _Cells:  # noqa: ARG002
        """Nothing seen yet: all cells have one bound, and so have all arms."""
        laws = np.ascontiguousarray(np.array(self.laws, np.float64).T)
        cells, arms = len(laws), len(problem.arms)
        sizes = {name: len(values) for name, values in problem.domains.items()}
        strides = np.array(Radix.of(problem.graph.parents(problem.reward), sizes).strides, np.int64)
        pulls = int(budget / min(problem.costs.values()) + ROUNDING)
        level = 2 * log(pulls**2)
        return _Cells(
            np.zeros(cells),
            np.zeros(cells),
            np.full(arms, sqrt(level)),
            laws,
            strides,
            utilities(problem),
            np.array([level]),
            rng.random(arms),
            problem.first_answer,
        )

    def means(self, state: _Cells) -> FloatArray:
        """The means of the cells, weighed by each arm's law."""
        seen = state.came > 0
        means: FloatArray = np.divide(state.total, state.came, out=np.full(len(seen), 0.5), where=seen) @ state.laws
        return means
