"""What a policy asks for and what it gets back: batches and tallies.

Between two decisions a policy wants a number of pulls and reads back a statistic.  A `Batch` says which arms to pull,
how often, and how much detail is enough; a `Tally` is the answer.  Three details, each telling more of the same pulls:

REWARDS   how often each reward level came, per arm;
TABLES    joint counts of the columns in each *scope*, per arm;
ROWS      the rows themselves, in the order of pulling.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError
from whichdo.problem import LOOK
from whichdo.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whichdo.arrays import CodeArray, FloatArray, IntArray
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope, Table

__all__ = [
    "REWARDS",
    "ROWS",
    "TABLES",
    "Batch",
    "Detail",
    "Rows",
    "Tally",
    "observe",
    "pull",
    "spread",
]


class Detail(IntEnum):
    """How much of what happened is asked back."""

    REWARDS = 0
    TABLES = 1
    ROWS = 2


REWARDS, TABLES, ROWS = Detail.REWARDS, Detail.TABLES, Detail.ROWS


@dataclass(frozen=True)
class Batch:
    """Pull ``arms[i]`` ``counts[i]`` times; ``scopes`` None means all that the problem's arms need."""

    arms: tuple[Arm, ...]
    counts: tuple[int, ...]
    detail: Detail = REWARDS
    scopes: tuple[Scope, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", tuple(self.arms))
        object.__setattr__(self, "counts", tuple(whole_number(count, "number of pulls") for count in self.counts))
        object.__setattr__(self, "detail", Detail(self.detail))
        if self.scopes is not None:
            object.__setattr__(self, "scopes", tuple(map(tuple, self.scopes)))
        if len(self.arms) != len(self.counts):
            raise UsageError(
                f"A batch needs a count for each arm; it has {len(self.arms)} arms, {len(self.counts)} counts."
            )
        if len(set(self.arms)) < len(self.arms):
            raise UsageError("A batch lists an arm twice; add the counts.")

    @property
    def pulls(self) -> int:
        """The number of pulls in all."""
        return sum(self.counts)


def whole_number(value: object, what: str) -> int:
    """An integer of any kind, not below 0; fractions and texts are refused."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"The {what} is {value!r}; it must be a whole number.") from None
    if number < 0:
        raise UsageError(f"The {what} is {number}; it cannot be negative.")
    return number


def observe(count: int, *, detail: Detail = TABLES, scopes: Iterable[Scope] | None = None) -> Batch:
    """Look ``count`` times."""
    return Batch((LOOK,), (count,), detail, None if scopes is None else tuple(scopes))


def pull(arm: Arm, count: int = 1, *, detail: Detail = REWARDS, scopes: Iterable[Scope] | None = None) -> Batch:
    """Pull one arm ``count`` times."""
    return Batch((arm,), (count,), detail, None if scopes is None else tuple(scopes))


def spread(count: int, arms: Iterable[Arm], *, detail: Detail = REWARDS) -> Batch:
    """Pull all arms equally often, ``count`` times together; the first arms get what does not divide."""
    chosen = tuple(arms)
    if not chosen:
        raise UsageError("There is no arm to spread pulls over.")
    each, more = divmod(whole_number(count, "number of pulls"), len(chosen))
    return Batch(chosen, tuple(each + (position < more) for position in range(len(chosen))), detail)


@dataclass(frozen=True)
class Rows:
    """Rows in the order of pulling: ``arms[i]`` is an arm's position, ``codes[i]`` a code for each observed node."""

    arms: IntArray
    codes: CodeArray

    def __len__(self) -> int:
        return len(self.arms)


@dataclass(frozen=True, eq=False)
class Tally:
    """What came back; tallies of the same problem add up.

    ``counts`` has a row for each arm of the problem and a column for each reward level.  The tables of an arm cover all
    its pulls: a sum keeps the scopes that both sides counted.
    """

    problem: Problem
    counts: IntArray
    tables: Mapping[Arm, Mapping[Scope, Table]] = field(default_factory=dict)
    rows: Rows | None = None

    @classmethod
    def empty(cls, problem: Problem) -> Tally:
        """Nothing seen yet."""
        return cls(problem, np.zeros((len(problem.arms), len(problem.domains[problem.reward])), np.int64))

    @cached_property
    def pulls(self) -> IntArray:
        """How often each arm was pulled, in the problem's order."""
        pulls: IntArray = self.counts.sum(axis=1)
        return pulls

    @cached_property
    def levels(self) -> dict[Arm, IntArray]:
        """For each arm that was pulled, how often each reward level came."""
        return {arm: self.counts[j] for j, arm in enumerate(self.problem.arms) if self.pulls[j]}

    @cached_property
    def means(self) -> FloatArray:
        """The mean utility of each arm, more is better; NaN for an arm never pulled."""
        utility = np.array(list(self.problem.utility.values()))
        total = np.cumsum(self.counts * utility, axis=1)[:, -1]  # added in order, as compiled runs do
        means: FloatArray = np.divide(total, self.pulls, out=np.full(len(total), np.nan), where=self.pulls > 0)
        return means

    def onto(self, problem: Problem) -> Tally:
        """The same for a problem that differs in its arms alone; what was seen of arms that it lacks is left out."""
        if problem == self.problem:
            return self
        counts = np.zeros((len(problem.arms), self.counts.shape[1]), np.int64)
        for arm, levels in self.levels.items():
            if arm in problem.costs:
                counts[problem.index(arm)] = levels
        return Tally(problem, counts, {arm: held for arm, held in self.tables.items() if arm in problem.costs})

    def __add__(self, other: Tally) -> Tally:
        if self.problem is not other.problem and self.problem != other.problem:
            raise UsageError("Tallies of different problems do not add up.")
        tables = {}
        for arm in {**self.tables, **other.tables}:
            position = self.problem.index(arm)
            mine, others = self.tables.get(arm, {}), other.tables.get(arm, {})
            if not self.pulls[position]:
                tables[arm] = others
            elif not other.pulls[position]:
                tables[arm] = mine
            else:
                tables[arm] = _together(mine, others)
        return Tally(self.problem, self.counts + other.counts, tables, _joined(self.rows, other.rows))


def _together(first: Mapping[Scope, Table], second: Mapping[Scope, Table]) -> Mapping[Scope, Table]:
    if isinstance(first, Tables) and isinstance(second, Tables) and first.layout is second.layout:
        return first + second
    return {scope: table + second[scope] for scope, table in first.items() if scope in second}


def _joined(first: Rows | None, second: Rows | None) -> Rows | None:
    if first is None or second is None:
        return first if second is None else second
    return Rows(np.concatenate([first.arms, second.arms]), np.concatenate([first.codes, second.codes]))
