"""One pull a round against a simulated world: what the compiled loops of sequential policies share.

A loop runs until the rounds are over, the money is out, or the looks at hand are used up; then its driver hands over
the next block of looks and calls it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.kernels.compiling import compiled
from whichdo.kernels.rewards import pull_one

if TYPE_CHECKING:
    from whichdo.kernels.compiling import F64Array, I64Array, U8Array
    from whichdo.kernels.rewards import RewardStreams

__all__ = ["MARK", "OVER", "ROUND", "USED", "Rounds", "going", "payable", "pulled"]

ROUND, USED, MARK, OVER = 0, 1, 2, 3  # places of the clock


class Rounds(NamedTuple):
    """A world that is pulled once a round; a loop takes it apart once, which is much faster than in every round.

    ``rows`` are the next looks, a row of codes each, the reward last; without columns looks are rewards as those of any
    arm.  ``clock`` holds the rounds played, the rows used, the marks passed, and whether it is over.  ``money`` holds
    what is left, and then the price of each arm.  ``record`` counts the pulls of all arms up to each of ``marks``.
    """

    streams: RewardStreams
    rows: U8Array
    clock: I64Array
    money: F64Array
    marks: I64Array
    record: I64Array


@compiled
def going(clock: I64Array, rows: U8Array) -> bool:
    """Whether a round can be played now: rounds are left, and a look if it should be one."""
    return bool(clock[OVER] == 0) and (rows.shape[1] == 0 or bool(clock[USED] < rows.shape[0]))


@compiled
def payable(clock: I64Array, money: F64Array, arm: int) -> bool:
    """Whether the money is enough for a pull of an arm; if not, it is over."""
    if money[0] < money[1 + arm] - 1e-9:
        clock[OVER] = 1
        return False
    return True


@compiled
def pulled(
    streams: RewardStreams,
    rows: U8Array,
    clock: I64Array,
    money: F64Array,
    marks: I64Array,
    record: I64Array,
    arm: int,
) -> int:
    """Pull an arm: the level of the reward.  A look is the row before ``clock[USED]``."""
    if arm == 0 and rows.shape[1] > 0:
        level = np.int64(rows[clock[USED], rows.shape[1] - 1])
        clock[USED] += 1
    else:
        level = np.int64(pull_one(streams, arm))
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
    return level  # type: ignore[return-value]
