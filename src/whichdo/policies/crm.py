"""CRM-ALG: UCB in which every look counts for all arms.

Maiti, Nair and Sinha 2022, Algorithm 2.  Looks give each arm C unbiased draws of its mean beside its N direct pulls
(`whichdo.estimate.splitsample`); the index is the mean of all + sqrt(2 ln t / (N + C)).  do() is pulled at least
beta^2 ln t times.  Where do() is the best arm the regret stops growing; otherwise it is of order ln T, with fewer pulls
of bad arms than UCB makes.

What the paper leaves open, and what is done: all arms are pulled once, in order, before the first round that decides,
whose number t is one more than the arms.  Whether to look is decided by ln t, the index by ln(t - 1), what was known
when the round before ended.  beta starts at 1 and is kept, not lowered, while do() has the largest mean.  Draws use
the first looks in time.  Where a node has no parent its draws are the rewards of odd looks.  Ties are broken by an
order of the arms that is drawn once; what differs by less than 1e-12 is a tie.  An arm that does not act on the reward
shares the looks of do().  Logged looks have no order and are not used.

The paper wants no hidden cause.  Where there is one, the draws of all arms that looking settles come from their factor
networks (`whichdo.estimate.tape`); an arm that it does not settle lives on its direct pulls, and so does a joint arm.

The paper needs every value of a node with every value of its parents to occur.  An arm for which one has not occurred
has no draw either; the recommendation's ``notes`` say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.estimate.splitsample import SIZE, SUM, look, parents_of, split_sample, unseen, with_room
from whichdo.estimate.tape import networks_of, tape, tape_look, unseen_on_tape, with_tape
from whichdo.evidence import utilities
from whichdo.graph.identify import Route
from whichdo.kernels.compiling import compiled
from whichdo.kernels.rounds import USED, drawn, going, noted, payable, pulled
from whichdo.policies.base import unit_costs
from whichdo.policies.registry import register
from whichdo.policies.sequential import Sequential
from whichdo.text import counted

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, FloatArray
    from whichdo.estimate.splitsample import Split
    from whichdo.estimate.tape import Tape
    from whichdo.evidence import Tally
    from whichdo.kernels.rounds import Rounds
    from whichdo.problem import Problem


TIE = 1e-12
PULLS, TOTAL, MEAN, ROOT, LUCK, SAME = 2, 3, 4, 5, 6, 7  # rows of what is known of every arm, after SIZE and SUM
ROUND, BETA, LOG, NEXT, FIRST = 0, 1, 2, 3, 4  # of the clock


class _State(NamedTuple):
    """What is known of every arm, and the looks.

    The rows of ``arms`` are the number of draws from looks and their sum, the pulls and the utility they brought, the
    mean of both, 1 / sqrt(pulls + draws), the order that breaks ties, and whether the arm does not act on the reward.
    ``clock`` holds the rounds played, beta squared, the logarithms of this number and the next, and from which arm on
    indices are compared.
    """

    arms: FloatArray
    clock: FloatArray
    utility: FloatArray
    split: Split
    tape: Tape


@compiled
def choose(state: _State) -> int:
    """Steps 1 and 4 to 7: each arm once, then do() as often as it must, then the largest index."""
    return _best(state.arms, state.clock)


@compiled
def learn(state: _State, arm: int, level: int, row: CodeArray) -> None:
    """Steps 9 to 13: count, estimate, and set beta."""
    if arm == 0 and state.split.nodes.size > 0:
        look(state.split, row, state.utility, state.arms)
    if arm == 0 and state.tape.nets.size > 0:
        tape_look(state.tape, row, state.utility, state.arms)
    _count(state.arms, state.clock, arm, state.utility[level])


@compiled
def _loop(state: _State, world: Rounds) -> None:
    """As `choose` and `learn`, with the state taken apart once."""
    streams, rows, time, money, marks, record = world
    bits, left = streams.bits, streams.left
    arms, clock, utility, split, tape = state
    splits, tapes = split.nodes.size > 0, tape.nets.size > 0
    while going(time, rows):
        arm = _best(arms, clock)
        if payable(time, money, arm):
            level = drawn(bits, left, arm) if left[arm] > 0 else pulled(streams, rows, time, arm)
            noted(time, money, marks, record, arm)
            if arm == 0 and splits:
                look(split, rows[time[USED] - 1], utility, arms)
            elif arm == 0 and tapes:
                tape_look(tape, rows[time[USED] - 1], utility, arms)
            _count(arms, clock, arm, utility[level])


@compiled
def _best(arms: FloatArray, clock: FloatArray) -> int:
    if clock[ROUND] < arms.shape[1]:
        return int(clock[ROUND])  # step 1
    if arms[PULLS, 0] < clock[BETA] * clock[NEXT]:
        return 0  # steps 4-5
    width = np.sqrt(2.0 * clock[LOG])
    first = int(clock[FIRST])
    best, top = first, -np.inf
    for arm in range(first, arms.shape[1]):  # step 7, Equation 5
        index = arms[MEAN, arm] + width * arms[ROOT, arm]
        if index > top + TIE:
            best, top = arm, index
        elif index > top - TIE and arms[LUCK, arm] > arms[LUCK, best]:
            best, top = arm, max(index, top)
    return best


@compiled
def _count(arms: FloatArray, clock: FloatArray, arm: int, gain: float) -> None:
    arms[PULLS, arm] += 1.0  # step 9
    arms[TOTAL, arm] += gain
    if arm > 0:
        _estimate(arms, arm)
    else:
        for other in range(arms.shape[1]):  # step 10
            if arms[SAME, other] > 0.0:
                arms[SIZE, other], arms[SUM, other] = arms[PULLS, 0], arms[TOTAL, 0]
            _estimate(arms, other)
    clock[ROUND] += 1.0
    clock[LOG] = clock[NEXT]
    clock[NEXT] = np.log(clock[ROUND] + 1.0)
    if clock[ROUND] > arms.shape[1]:
        top = arms[MEAN, 0]
        for other in range(1, arms.shape[1]):
            top = max(top, arms[MEAN, other])  # step 11
        gap = top - arms[MEAN, 0]
        if gap > TIE:  # steps 12-13
            clock[BETA] = min(8.0 / (gap * gap), clock[LOG])


@compiled
def _estimate(arms: FloatArray, arm: int) -> None:
    """Equations 3 and 4."""
    size = arms[PULLS, arm] + arms[SIZE, arm]
    if size > 0.0:
        arms[MEAN, arm] = (arms[TOTAL, arm] + arms[SUM, arm]) / size
        arms[ROOT, arm] = 1.0 / np.sqrt(size)


@register("crm")
@dataclass(frozen=True)
class CRM(Sequential):
    """CRM-ALG; step numbers are those of the paper's Algorithm 2."""

    choose = staticmethod(choose)
    learn = staticmethod(learn)
    loop = staticmethod(_loop)

    def check(self, problem: Problem, budget: float) -> None:
        """Every arm is pulled once, and all pulls cost the same."""
        unit_costs(self, problem)
        super().check(problem, budget)

    def columns(self, problem: Problem) -> tuple[str, ...]:
        """What the arms that looks serve are read from, and the reward; none where looks serve no arm."""
        named = {name for node, given in parents_of(problem).items() for name in (node, *given)}
        named |= {name for network in networks_of(problem).values() for name in network.scope}
        return (*sorted(named - {problem.reward}, key=problem.graph.index), problem.reward) if named else ()

    def begin(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> _State:  # noqa: ARG002
        """Nothing pulled yet."""
        arms = np.zeros((8, len(problem.arms)))
        arms[LUCK] = rng.random(len(problem.arms))
        verdicts = problem.verdicts
        arms[SAME] = [not arm.is_look and verdicts[arm.targets].route is Route.SAME for arm in problem.arms]
        clock = np.array([0.0, 1.0, 0.0, 0.0, float(problem.first_answer)])  # step 2: beta = 1
        columns = self.columns(problem)
        return _State(arms, clock, utilities(problem), split_sample(problem, columns), tape(problem, columns))

    def with_room(self, state: _State, looks: int) -> _State:
        """Longer arrays for the looks, where they are nearly full."""
        split, tape = with_room(state.split, looks), with_tape(state.tape, looks)
        if split is state.split and tape is state.tape:
            return state
        return state._replace(split=split, tape=tape)

    def means(self, state: _State) -> FloatArray:
        """The means of pulls and draws together."""
        known = state.arms[PULLS] + state.arms[SIZE] > 0
        return np.where(known, state.arms[MEAN], np.nan)

    def notes(self, problem: Problem, state: _State) -> tuple[str, ...]:
        """Arms that looks have not served, because a setting that the paper assumes to occur has not been seen."""
        looks = counted(int(state.arms[PULLS, 0]), "look")
        found = []
        for position, setting in (unseen(problem, state.split) | unseen_on_tape(problem, state.tape)).items():
            cell = ", ".join(f"{name}={value}" for name, value in setting.items())
            found.append(
                f"{problem.arms[position]} was judged by direct pulls alone: among {looks} none that could serve it "
                f"{f'had {cell}' if cell else 'was left'}. Looks serve an arm once every setting that it is compared "
                f"within has occurred."
            )
        return tuple(found)
