"""What a policy asks for and what it gets back: batches and tallies.

Between two decisions a policy wants a number of pulls and reads back a statistic.  A `Batch` says which arms to pull,
how often, and how much detail is enough; a `Tally` is the answer.  Three details, each telling more of the same pulls:

REWARDS   how often each reward level came, per arm;
TABLES    joint counts of the columns in each *scope*, per arm;
ROWS      the rows themselves, in the order of pulling.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from whichdo.errors import UsageError
from whichdo.problem import LOOK, per_problem
from whichdo.tables import Tables
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whichdo.arrays import CodeArray, FloatArray, IntArray
    from whichdo.kernels.rewards import RewardStreams
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope, Table


class Detail(IntEnum):
    """How much of each outcome a batch asks for: only rewards, tables of counts, or whole rows."""

    REWARDS = 0
    TABLES = 1
    ROWS = 2


REWARDS, TABLES, ROWS = Detail.REWARDS, Detail.TABLES, Detail.ROWS
MOST = 10**12
"""The longest horizon, and the largest budget."""


class Course(Protocol):
    """How a play goes on after a batch, in compiled steps that a simulated world can run at once."""

    def run(self, streams: RewardStreams) -> IntArray:
        """Pull from these streams until the course is over; the counts of reward levels of each arm by position."""


class Batch:
    """What to pull next: ``arms[i]`` ``counts[i]`` times.  Made by `pull`, `observe` and `spread`.

    Policies that work with positions make batches by `Batch.at`; their arms are looked up only when somebody asks for
    them.

    ``course`` is for simulated worlds, which may run it to its end instead of answering this batch and those that would
    follow.  Everybody else answers the batch.

    Parameters
    ----------
    arms
        The arms, each once.
    counts
        The number of pulls of each arm.
    detail
        How much of each outcome to return: REWARDS, TABLES or ROWS.
    scopes
        The columns to count together; None for all that the problem's arms need.
    """

    detail: Detail
    scopes: tuple[Scope, ...] | None
    course: Course | None
    _problem: Problem
    _places: IntArray
    _numbers: IntArray

    def __init__(
        self,
        arms: Iterable[Arm],
        counts: Iterable[int],
        detail: Detail = REWARDS,
        scopes: Iterable[Scope] | None = None,
    ) -> None:
        self.arms = tuple(arms)
        self.counts = tuple(whole_number(count, "number of pulls") for count in counts)
        self.detail = Detail(detail)
        self.scopes = None if scopes is None else tuple(map(tuple, scopes))
        self.course = None
        if len(self.arms) != len(self.counts):
            raise UsageError(
                f"A batch needs a count for each arm; it has {len(self.arms)} arms, {len(self.counts)} counts."
            )
        if len(set(self.arms)) < len(self.arms):
            raise UsageError("A batch lists an arm twice; add the counts.")

    @classmethod
    def at(
        cls,
        problem: Problem,
        places: IntArray,
        counts: IntArray,
        detail: Detail = REWARDS,
        scopes: tuple[Scope, ...] | None = None,
        course: Course | None = None,
    ) -> Batch:
        """Make a batch from positions in ``problem.arms``, without checking them.

        Parameters
        ----------
        problem
            The problem.
        places
            The positions of the arms, each once.
        counts
            The number of pulls of each arm.
        detail
            How much of each outcome to return: REWARDS, TABLES or ROWS.
        scopes
            The columns to count together; None for all that the problem's arms need.
        course
            The race that a simulated world may run at once, if the batch begins one.

        Returns
        -------
        Batch
            The batch.
        """
        made = cls.__new__(cls)
        made._problem, made._places, made._numbers = problem, places, counts
        made.detail, made.scopes, made.course = detail, scopes, course
        return made

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        """The arms to pull."""
        return tuple(map(self._problem.arms.__getitem__, self._places.tolist()))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How often to pull each."""
        return tuple(self._numbers.tolist())

    def places(self, problem: Problem) -> IntArray:
        """Return the positions of the arms in ``problem.arms``.

        Parameters
        ----------
        problem
            The problem.

        Returns
        -------
        ndarray of int
            A position for each arm of the batch.
        """
        if self.__dict__.get("_problem") is problem:
            return self._places
        return np.array([problem.index(arm) for arm in self.arms], np.int64)

    @property
    def numbers(self) -> IntArray:
        """The counts as an array."""
        return self._numbers if "_numbers" in self.__dict__ else np.array(self.counts, np.int64)

    @property
    def pulls(self) -> int:
        """The number of pulls in all."""
        return sum(self.counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Batch) and self._said == other._said

    def __hash__(self) -> int:
        return hash(self._said)

    @property
    def _said(self) -> tuple[object, ...]:
        return self.arms, self.counts, self.detail, self.scopes

    def __repr__(self) -> str:
        pulls = ", ".join(f"{arm} {count:,}" for arm, count in zip(self.arms, self.counts, strict=True))
        return f"<Batch: {pulls or 'no pulls'}; {self.detail.name.lower()}>"


def whole_number(value: object, what: str) -> int:
    """An integer of any kind, not below 0; fractions and strings are refused."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"The {what} is {value!r}; it must be a whole number.") from None
    if number < 0:
        raise UsageError(f"The {what} is {number}; it cannot be negative.")
    return number


def spending_limit(problem: Problem, horizon: object, budget: object) -> float:
    """What all pulls may cost together, given as a number of pulls or in cost units; exactly one must be given."""
    if (horizon is None) == (budget is None):
        given = "neither" if horizon is None else "both"
        raise UsageError(f"Give `horizon`, the number of pulls, or `budget`, in cost units; found {given}.")
    name, value = ("budget", _finite(budget)) if horizon is None else ("horizon", float(_pulls(problem, horizon)))
    if value > MOST:
        raise UsageError(f"The {name} is {value:.6g}; it can be at most 10^12 ({MOST:,}).")
    return value


def _pulls(problem: Problem, horizon: object) -> int:
    costly = [arm for arm, cost in problem.costs.items() if cost != 1]
    if costly:
        raise UsageError(
            f"`horizon` counts pulls, and {costly[0]} costs {problem.costs[costly[0]]:g}. Give `budget`, in cost units."
        )
    if isinstance(horizon, bool):
        raise UsageError(f"The horizon is {horizon}; it must be a whole number.")
    return whole_number(horizon, "horizon")


def _finite(budget: object) -> float:
    number = isinstance(budget, (int, float, np.number)) and not isinstance(budget, bool)
    if not number or not math.isfinite(float(budget)):  # type: ignore[arg-type]
        raise UsageError(f"The budget is {quoted(budget)}; it must be a finite number.")
    return float(budget)  # type: ignore[arg-type]


def observe(count: int, *, detail: Detail = TABLES, scopes: Iterable[Scope] | None = None) -> Batch:
    """Make a batch of looks: pull ``do()`` ``count`` times.

    Parameters
    ----------
    count
        The number of looks.
    detail
        How much of each outcome to return: REWARDS, TABLES or ROWS.
    scopes
        The columns to count together; None for all that the problem's arms need.

    Returns
    -------
    Batch
        The batch.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.observe(100).pulls
    100
    """
    return Batch((LOOK,), (count,), detail, None if scopes is None else tuple(scopes))


def pull(arm: Arm, count: int = 1, *, detail: Detail = REWARDS, scopes: Iterable[Scope] | None = None) -> Batch:
    """Make a batch that pulls one arm ``count`` times.

    Parameters
    ----------
    arm
        The arm.
    count
        The number of pulls.
    detail
        How much of each outcome to return: REWARDS, TABLES or ROWS.
    scopes
        The columns to count together; None for all that the problem's arms need.

    Returns
    -------
    Batch
        The batch.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.pull(wd.do(X=1), 3).counts
    (3,)
    """
    return Batch((arm,), (count,), detail, None if scopes is None else tuple(scopes))


def spread(count: int, arms: Iterable[Arm], *, detail: Detail = REWARDS) -> Batch:
    """Make a batch that pulls several arms equally often.

    Parameters
    ----------
    count
        The number of pulls in all.  If it does not divide evenly, the first arms get one more.
    arms
        The arms.
    detail
        How much of each outcome to return: REWARDS, TABLES or ROWS.

    Returns
    -------
    Batch
        The batch.

    Raises
    ------
    UsageError
        If there are no arms, or ``count`` is not a whole number.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.spread(5, [wd.do(X=0), wd.do(X=1)]).counts
    (3, 2)
    """
    chosen = tuple(arms)
    if not chosen:
        raise UsageError("There is no arm to spread pulls over.")
    each, more = divmod(whole_number(count, "number of pulls"), len(chosen))
    return Batch(chosen, tuple(each + (position < more) for position in range(len(chosen))), detail)


@per_problem
def utilities(problem: Problem) -> FloatArray:
    """What each level of the reward is worth, more is better; not to be written to."""
    return np.array(list(problem.utility.values()), np.float64)


@per_problem
def all_prices(problem: Problem) -> FloatArray:
    """What a pull of each arm costs, by position; not to be written to."""
    return np.array([problem.costs[arm] for arm in problem.arms], np.float64)


@dataclass(frozen=True)
class Rows:
    """Rows in the order of pulling: ``arms[i]`` is an arm's position, ``codes[i]`` a code for each observed node."""

    arms: IntArray
    codes: CodeArray

    def __len__(self) -> int:
        return len(self.arms)


@dataclass(frozen=True, eq=False, init=False)
class Tally:
    """What came back from pulls, as counts; tallies of the same problem can be added.

    Parameters
    ----------
    problem
        The problem.
    counts
        A row for each arm of the problem and a column for each reward level.
    tables
        For each arm its tables of counts by scope.  They cover all pulls of the arm: a sum keeps the scopes that both
        sides counted.
    rows
        The rows, where they were asked for.
    """

    problem: Problem
    counts: IntArray
    tables: Mapping[Arm, Mapping[Scope, Table]]
    rows: Rows | None

    def __init__(
        self,
        problem: Problem,
        counts: IntArray,
        tables: Mapping[Arm, Mapping[Scope, Table]] | None = None,
        rows: Rows | None = None,
    ) -> None:
        own = self.__dict__  # a simulated run makes several
        own["problem"], own["counts"], own["rows"] = problem, counts, rows
        own["tables"] = {} if tables is None else tables

    @classmethod
    def empty(cls, problem: Problem) -> Tally:
        """Make a tally without any pulls.

        Parameters
        ----------
        problem
            The problem.

        Returns
        -------
        Tally
            Counts of 0 for every arm.
        """
        return cls(problem, np.zeros((len(problem.arms), len(problem.domains[problem.reward])), np.int64))

    @property
    def pulls(self) -> IntArray:
        """How often each arm was pulled, in the problem's order."""
        pulls: IntArray | None = self.__dict__.get("_pulls")
        if pulls is None:
            pulls = self.counts[:, 0].copy()
            for level in range(1, self.counts.shape[1]):  # rows are short: faster than a sum by axis
                pulls += self.counts[:, level]
            self.__dict__["_pulls"] = pulls
        return pulls

    @property
    def is_empty(self) -> bool:
        """Whether no arm was pulled."""
        empty: bool | None = self.__dict__.get("_is_empty")
        if empty is None:
            empty = self.__dict__["_is_empty"] = not np.count_nonzero(self.counts)
        return empty

    @cached_property
    def levels(self) -> dict[Arm, IntArray]:
        """For each arm that was pulled, how often each reward level came."""
        return {arm: self.counts[j] for j, arm in enumerate(self.problem.arms) if self.pulls[j]}

    @property
    def means(self) -> FloatArray:
        """The mean utility of each arm, more is better; NaN for an arm never pulled."""
        means: FloatArray | None = self.__dict__.get("_means")
        if means is None:
            means = self.__dict__["_means"] = self._found_means()
        return means

    def _found_means(self) -> FloatArray:
        levels, utility = self.counts.T.astype(np.float64, order="C"), utilities(self.problem)
        total: FloatArray = levels[0] * utility[0]
        pulls: FloatArray = levels[0]
        for level in range(1, len(utility)):  # added in order, as kernels do
            total += levels[level] * utility[level]
            pulls += levels[level]
        pulls[pulls == 0.0] = np.nan
        total /= pulls
        return total

    def onto(self, problem: Problem) -> Tally:
        """Convert the tally to a problem that differs only in its arms.

        Parameters
        ----------
        problem
            The other problem.

        Returns
        -------
        Tally
            The counts of the arms that both problems have.
        """
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
        if self.is_empty and not self.tables and self.rows is None:
            return other
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
        return Tally(self.problem, self.counts + other.counts, tables, _join(self.rows, other.rows))


def _together(first: Mapping[Scope, Table], second: Mapping[Scope, Table]) -> Mapping[Scope, Table]:
    if isinstance(first, Tables) and isinstance(second, Tables) and first.layout is second.layout:
        return first + second
    return {scope: table + second[scope] for scope, table in first.items() if scope in second}


def _join(first: Rows | None, second: Rows | None) -> Rows | None:
    if first is None or second is None:
        return first if second is None else second
    return Rows(np.concatenate([first.arms, second.arms]), np.concatenate([first.codes, second.codes]))
