"""Missing values of a log: which of them matter, which count as a value, and how rows that are dropped differ.

Only columns that an estimate reads must be complete.  What else is counted, such as naive means and the table by which
logs are asked whether they contradict the graph, is given up where its own columns lack values.

Rows that were dropped are asked whether they differ from the others (`missingness`).  Leaving out
rows with missing values is harmless where what is missing has nothing to do with the reward or with
what was set.  The dropped rows still have some of their values; these are compared with the values
of the rows that were kept: by a chi-square test for values, by a normal one for a reward that is a
number.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.books import book_of
from whichdo.counting.parts import CHUNK
from whichdo.counting.sources import BatchPart, opened
from whichdo.counting.values import Decoded, decode
from whichdo.counting.warehouse import TablePart
from whichdo.domains import MISSING_LEVEL, Bins, Value
from whichdo.errors import DataError, UsageError
from whichdo.evidence import Tally
from whichdo.formulas import Reading, counted_scopes
from whichdo.remedies import Message, Option
from whichdo.tails import chi_square_tail
from whichdo.text import counted, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import BoolArray, CodeArray, FloatArray, IntArray
    from whichdo.problem import Problem
    from whichdo.tables import Scope, Table


@dataclass
class Compared:
    """Rows that were kept beside rows that were dropped, by the values that the dropped ones do have."""

    levels: dict[str, IntArray] = field(default_factory=dict)
    """For the reward and each node that arms set: rows by kept or dropped, and by value."""
    moments: FloatArray = field(default_factory=lambda: np.zeros((2, 3)))
    """Of a reward on a range from 0 to 1: rows, sum and sum of squares, kept and dropped."""


class Gaps:
    """What becomes of the missing values of one log; ``way`` is "error", "drop" or "level"."""

    def __init__(self, problem: Problem, way: str) -> None:
        self._problem = problem
        self._way = way
        self.needed: set[str] = set()
        """Columns that must be complete."""
        self.spared: Counter[str] = Counter()
        self.levelled: Counter[str] = Counter()
        self.compared = Compared()

    def sort(
        self,
        name: str,
        found: Decoded,
        codes: dict[str, Any],
        missing: dict[str, BoolArray],
        unsaid: dict[str, BoolArray],
    ) -> None:
        """Put the gaps of one column of a chunk where they belong: a value, missing, or free to be missing."""
        gaps = found.missing
        if gaps is None:
            return
        level = self.level(name)
        if level is not None:
            codes[name] = np.where(gaps, found.codes.dtype.type(level), found.codes)
            self.levelled[name] += int(gaps.sum())
        elif name in self.needed:
            missing[name] = gaps
        else:
            unsaid[name] = gaps
            self.spared[name] += int(gaps.sum())

    def level(self, name: str) -> int | None:
        """The code that a missing value of a node counts as; None where it counts as none."""
        if self._way != "level" or name == self._problem.reward:
            return None
        domain = self._problem.domains.get(name, ())
        return domain.index(MISSING_LEVEL) if MISSING_LEVEL in domain else None

    def check(self, missing: Mapping[str, int], droppable: set[str]) -> None:
        """With "level", refuse gaps of nodes that do not declare them; rows without a reward are dropped."""
        if self._way != "level":
            return
        undeclared = [name for name in missing if name not in droppable]
        if undeclared:
            name = undeclared[0]
            where = "the cuts of its bins" if name in self._problem.bins else "its values"
            raise DataError(
                f"{quoted(name)} lacks {counted(missing[name], 'value')}, and {quoted(MISSING_LEVEL)} is not one of "
                f"its values in this problem. Add it at the end of {where}, or drop these rows "
                "(",
                Option("missing", "drop"),
                ").",
            )

    def served(self, tables: Mapping[Scope, Table], scopes: Sequence[Scope]) -> dict[Scope, Table]:
        """The tables without those that were to be spared: their columns lack values."""
        kept = set(scopes)
        return {scope: table for scope, table in tables.items() if scope in kept or not self.spared.keys() & set(scope)}

    def compare(
        self,
        codes: Mapping[str, CodeArray],
        missing: Mapping[str, BoolArray],
        keep: IntArray | None,
        size: int,
        counts: IntArray | None,
        rewards: FloatArray | None,
    ) -> None:
        """Add one chunk to the comparison of kept and dropped rows."""
        dropped = np.ones(size, np.int64)
        if keep is None:
            dropped[:] = 0
        else:
            dropped[keep] = 0
        number = np.ones(size, np.int64) if counts is None else counts
        for name in (self._problem.reward, *self._problem.intervene):
            if name not in codes:
                continue
            there = slice(None) if name not in missing else ~missing[name]
            if name == self._problem.reward and rewards is not None:
                self._add_numbers(dropped[there], number[there], rewards[there])
                continue
            width = self._problem.sizes[name]
            place = dropped[there] * width + codes[name][there]
            table = np.bincount(place, weights=number[there], minlength=2 * width).astype(np.int64)
            known = self.compared.levels.get(name)
            self.compared.levels[name] = table if known is None else known + table

    def _add_numbers(self, dropped: IntArray, number: IntArray, rewards: FloatArray) -> None:
        for side in (0, 1):
            own = dropped == side
            weight, reward = number[own], rewards[own]
            self.compared.moments[side] += weight.sum(), (weight * reward).sum(), (weight * reward**2).sum()


def with_missing_levels(problem: Problem, data: object, reading: Reading) -> Problem:
    """The problem with "missing" among the values of every node that an estimate needs and that lacks some."""
    if isinstance(data, Tally):
        return problem
    with opened(data, frozenset(problem.domains)) as source:
        if any(isinstance(part, BatchPart) and part.rows is None for part in source.parts):
            raise UsageError(
                Option("missing", "level"),
                " reads the data twice, and a reader of batches can be read once. Give a table.",
            )
        there = frozenset.intersection(*(frozenset(part.columns) for part in source.parts))
        needed = {name for scope in counted_scopes(problem, reading, None, there) for name in scope}
        wanted = sorted((needed & there) - {problem.reward})
        lacking: set[str] = set()
        for part in source.parts:
            lacking |= _lacking(problem, part, [name for name in wanted if MISSING_LEVEL not in problem.domains[name]])
    return problem.but(domains={name: _extend(problem, name) for name in lacking}) if lacking else problem


def _lacking(problem: Problem, part: Any, names: Iterable[str]) -> set[str]:
    books = {name: book_of(problem, name) for name in names}
    if isinstance(part, TablePart):
        from whichdo.counting.spelling import lacking

        return lacking(part, books)
    place = [part.columns.index(name) for name in books]
    found: set[str] = set()
    for columns in part.chunks(place, CHUNK) if books else ():
        for (name, book), column in zip(books.items(), columns, strict=True):
            if name not in found and decode(book, column).missing is not None:
                found.add(name)
    return found


def _extend(problem: Problem, name: str) -> Bins | tuple[Value, ...]:
    if name in problem.bins:
        return Bins(problem.bins[name].cuts, missing=True)
    return (*problem.domains[name], MISSING_LEVEL)


LEVEL = 0.01
"""The chance of a warning, over all columns that are compared, where nothing differs."""


def missingness(problem: Problem, compared: Compared) -> dict[str, float]:
    """For the reward and each node that arms set: the p-value of a difference between kept and dropped rows.

    Only columns of which dropped rows have values.
    """
    found = {}
    for name, counts in compared.levels.items():
        table = counts.reshape(2, -1)
        p = _independent(table)
        if p is not None:
            found[name] = p
    if problem.reward_range is not None:
        p = _equal_means(compared.moments)
        if p is not None:
            found[problem.reward] = p
    return found


def missingness_words(problem: Problem, dropped: int, compared: Compared | None) -> tuple[str, ...]:
    """What a reader should know of dropped rows: whether they differ."""
    if not dropped or compared is None:
        return ()
    found = missingness(problem, compared)
    if not found:
        return ()
    wrong = {name: p for name, p in found.items() if p * len(found) < LEVEL}
    if not wrong:
        least = min(1.0, min(found.values()) * len(found))
        return (
            f"The dropped rows do not differ in {listed(map(problem.label, found))} beyond chance (p = {least:.2g}).",
        )
    least = min(wrong.values())
    words = Message(
        f"Values are not missing at random: the dropped rows differ in {listed(map(problem.label, wrong))} "
        f"(p = {least:.1g}). Estimates speak of the rows that are left; compare ",
        Option("missing", "level"),
        ".",
    )
    return (words,)


def _independent(table: IntArray) -> float | None:
    """The p-value of a chi-square test of two rows of counts; None where there is nothing to compare."""
    table = table[:, table.sum(axis=0) > 0]
    total = table.sum()
    sides = table.sum(axis=1)
    if table.shape[1] < 2 or sides.min() == 0:
        return None
    expected = np.outer(sides, table.sum(axis=0)) / total
    return chi_square_tail(float(((table - expected) ** 2 / expected).sum()), table.shape[1] - 1)


def _equal_means(moments: FloatArray) -> float | None:
    """The p-value of two means that are equal, from rows, sum and sum of squares of each."""
    rows = moments[:, 0]
    if rows.min() < 2:
        return None
    means = moments[:, 1] / rows
    spread = np.maximum(moments[:, 2] / rows - means**2, 0) / (rows - 1)
    if spread.sum() <= 0:
        return None
    distance = float(means[0] - means[1]) / sqrt(float(spread.sum()))
    return chi_square_tail(distance**2, 1)
