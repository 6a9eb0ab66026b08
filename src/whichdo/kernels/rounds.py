"""One pull a round against a simulated world: what the compiled loops of sequential policies share.

A loop runs until the rounds are over, the budget is spent, or the block of rows is used up; then its driver hands over
the next block of rows and calls it again.  Most policies read the rows of looks alone (`pulled`), some those of every
arm (`at_hand`, `pulled_row`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.kernels.compiling import compiled
from whichdo.kernels.rewards import pull_one

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, FloatArray, IntArray, WordArray
    from whichdo.kernels.rewards import RewardStreams


ROUND, USED, MARK, OVER, NEXT = 0, 1, 2, 3, 4  # places of the clock


class Rounds(NamedTuple):
    """A world that is pulled once a round; a loop takes it apart once, which is much faster than in every round.

    ``rows`` are the next looks, a row of codes each, the reward last; without columns looks are rewards as those of any
    arm.  ``clock`` holds the rounds played, the rows used, the marks passed, and whether it is over.  ``money`` holds
    what is left of the budget, and then the cost of each arm.  ``record`` counts the pulls of all arms up to each of
    ``marks``.

    For a policy that reads every arm ``rows`` has a block of equal length for each arm, one after the other, and from
    its place NEXT on the clock holds the next row of each, or -1 where a new block is wanted.
    """

    streams: RewardStreams
    rows: CodeArray
    clock: IntArray
    money: FloatArray
    marks: IntArray
    record: IntArray


@compiled
def going(clock: IntArray, rows: CodeArray) -> bool:
    """Whether a round can be played now: rounds are left, and a look if it should be one."""
    return bool(clock[OVER] == 0) and (rows.shape[1] == 0 or bool(clock[USED] < rows.shape[0]))


@compiled
def payable(clock: IntArray, money: FloatArray, arm: int) -> bool:
    """Whether the budget pays for a pull of an arm; if not, the play is over."""
    if money[0] < money[1 + arm] - 1e-9:
        clock[OVER] = 1
        return False
    return True


@compiled
def pulled(streams: RewardStreams, rows: CodeArray, clock: IntArray, arm: int) -> int:
    """Pull an arm: the level of the reward.  A look is the row before ``clock[USED]``.  `noted` must follow."""
    if arm == 0 and rows.shape[1] > 0:
        clock[USED] += 1
        return np.int64(rows[clock[USED] - 1, rows.shape[1] - 1])  # type: ignore[return-value]
    return np.int64(pull_one(streams, arm))  # type: ignore[return-value]


@compiled
def drawn(bits: WordArray, left: IntArray, arm: int) -> int:
    """The level of the reward of an arm of which one is drawn and not yet used: ``left[arm] > 0``.

    A loop asks that first, and then for `pulled`, which takes a tuple of arrays: their references are noted at every
    call.  `noted` must follow.
    """
    level = np.int64(bits[arm] & np.uint64(1))
    bits[arm] >>= np.uint64(1)
    left[arm] -= 1
    return level  # type: ignore[return-value]


@compiled
def at_hand(rows: CodeArray, clock: IntArray, record: IntArray, arm: int) -> bool:
    """Whether a row of the arm has been drawn, for policies that read every arm; if not, the loop ends to get some.

    Most arms are never pulled, so no rows are drawn in advance.  The arm is then chosen again: `choose` of such a
    policy must leave the state as it is.
    """
    if clock[NEXT + arm] < (arm + 1) * (rows.shape[0] // record.shape[1]):
        return True
    clock[NEXT + arm] = -1
    clock[USED] = rows.shape[0]
    return False


@compiled
def pulled_row(
    rows: CodeArray, clock: IntArray, money: FloatArray, marks: IntArray, record: IntArray, arm: int
) -> CodeArray:
    """Pull an arm of which a row has been drawn: the row, the reward last."""
    place = clock[NEXT + arm]
    clock[NEXT + arm] = place + 1
    noted(clock, money, marks, record, arm)
    return rows[place]  # type: ignore[no-any-return]


@compiled
def noted(clock: IntArray, money: FloatArray, marks: IntArray, record: IntArray, arm: int) -> None:
    """Pay for a round and put it on record."""
    money[0] -= money[1 + arm]
    clock[ROUND] += 1
    mark = clock[MARK]
    record[mark, arm] += 1
    if clock[ROUND] == marks[mark]:
        clock[MARK] = mark + 1
        if mark + 1 == marks.size:
            clock[OVER] = 1
        else:
            for j in range(record.shape[1]):
                record[mark + 1, j] = record[mark, j]
