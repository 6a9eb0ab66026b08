"""Do rows that were dropped differ from the others?

Leaving out rows with missing values is harmless where what is missing has nothing to do with the
reward or with what was set.  The dropped rows still have some of their values; these are compared
with the values of the rows that were kept: by a chi-square test for values, by a normal one for a
reward that is a number.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from whichdo.remedies import Message, Option
from whichdo.tails import chi_square_tail
from whichdo.text import listed

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray
    from whichdo.counting.gaps import Compared
    from whichdo.counting.notes import CountNotes
    from whichdo.problem import Problem


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


def missingness_words(problem: Problem, notes: CountNotes) -> tuple[str, ...]:
    """What a reader should know of dropped rows: whether they differ."""
    if not notes.dropped or notes.compared is None:
        return ()
    found = missingness(problem, notes.compared)
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
