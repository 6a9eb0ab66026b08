"""Rows that a model reads, kept while a log is counted.

Tables of counts are enough for estimates that stratify.  A model wants the rows themselves, and of a
number that is cut into bins the number.  They are kept in the same pass that counts, so that both
see the same rows: what is missing, dropped or refused is decided once.

Memory is bounded: of a log with more than `MOST_ROWS` rows so many are kept, drawn at random with a
fixed seed.  Every row is given a random key in the order of the log, and the smallest keys stay, so
that the choice does not depend on how the log was cut into chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.books import NumberBook
from whichdo.counting.values import decode
from whichdo.domains import MISSING_LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whichdo.arrays import Array, BoolArray, CodeArray, FloatArray, IntArray
    from whichdo.problem import Problem


MOST_ROWS = 200_000
SEED = 20_170_714
"""Of the choice of rows, and of everything else that is random about a model."""
SIGN = np.uint64(1 << 63)


@dataclass(frozen=True)
class KeptRows:
    """Looks, row by row; every column is as long as ``rewards``."""

    codes: Mapping[str, CodeArray]
    """The position of each value in the domain of its node; of a number that of its bin."""
    numbers: Mapping[str, FloatArray]
    """Nodes that are numbers; NaN where a row lacks it.  A column that names bins instead of numbers is not among them.
    """
    rewards: FloatArray
    """From 0 to 1."""
    weights: FloatArray
    """What each row counts for, or weighs."""
    counted: bool
    """Whether the weights say how often a row occurred (or are all 1) rather than how much it weighs."""
    total: int
    """How many looks there were; more than were kept where the log is long."""

    @property
    def sampled(self) -> bool:
        """Whether the log was too long to keep all rows."""
        return self.total > len(self.rewards)


class _FloatBook(NumberBook):
    """Any finite number: its bits in the order of the numbers, without the last one, so that none is negative."""

    dtype = np.int64

    def boolean(self, value: bool) -> int:  # noqa: FBT001
        """True and false as 1 and 0."""
        return self.number(float(value))

    def numbers(self, values: Array) -> tuple[Array, BoolArray | None]:
        """As above, without a Python step for each value."""
        plain = values.astype(np.float64)
        bad = ~np.isfinite(plain)
        bits = (np.where(bad, 0.0, plain) + 0.0).view(np.uint64)
        ordered = np.where(bits & SIGN, ~bits, bits | SIGN)
        return (ordered >> np.uint64(1)).view(np.int64), bad if bad.any() else None

    def allowed(self) -> str:
        """In words."""
        return "numbers"


def _floats(codes: Array) -> FloatArray:
    """The numbers that `_FloatBook` made codes of."""
    ordered = codes.view(np.uint64) << np.uint64(1)
    return np.where(ordered & SIGN, ordered ^ SIGN, ~ordered).view(np.float64)


class RowKeeper:
    """Keeps the columns that a model needs of every look.

    ``problem``: the problem; with "missing" among the values of nodes that lack some, where that is a value.
    ``choose``: from the columns that there are to those that the model reads, the reward aside.
    ``worth``: of each level of the reward, from 0 to 1; a reward on a range is on that scale already.
    ``most``: how many rows are kept.
    """

    def __init__(
        self,
        problem: Problem,
        choose: Callable[[frozenset[str]], Iterable[str]],
        worth: FloatArray,
        most: int = MOST_ROWS,
    ) -> None:
        self.problem, self._choose, self._worth, self._most = problem, choose, worth, most
        self.names: tuple[str, ...] = ()
        self._book = _FloatBook()
        self._unnumbered: set[str] = set()
        self._rng = np.random.default_rng(SEED)
        self._bar = 1.0
        self._pieces: list[dict[str, Array]] = []
        self._held = self._total = 0
        self._counted = True

    def open(self, there: frozenset[str]) -> None:
        """Begin with a source that has these columns."""
        chosen = set(self._choose(there))
        self.names = tuple(name for name in self.problem.graph.nodes if name in chosen)

    def add(
        self,
        columns: Mapping[str, Any],
        codes: Mapping[str, CodeArray],
        rows: IntArray,
        rewards: FloatArray | None,
        weights: Array | None,
        *,
        counted: bool,
    ) -> None:
        """Take the looks of a chunk: ``rows`` are their positions in its raw ``columns`` and in their ``codes``."""
        self._counted = counted
        if weights is not None:
            rows = rows[weights[rows] > 0]
        self._total += len(rows)
        keys = self._rng.random(len(rows))
        under = keys < self._bar
        rows, keys = rows[under], keys[under]
        reward = self.problem.reward
        piece: dict[str, Array] = {
            "key": keys,
            "reward": self._worth[codes[reward][rows]] if rewards is None else rewards[rows],
            "weight": np.ones(len(rows)) if weights is None else weights[rows].astype(np.float64),
        }
        for name in self.names:
            piece[f"code {name}"] = codes[name][rows]
            if name in self.problem.bins:
                piece[f"number {name}"] = self._numbers(name, columns[name], codes[name], rows)
        self._pieces.append(piece)
        self._held += len(rows)
        if self._held > 2 * self._most:
            self._thin()

    def _numbers(self, name: str, column: Any, codes: CodeArray, rows: IntArray) -> FloatArray:
        """What stands in a column as numbers."""
        found = decode(self._book, column)
        numbers = _floats(found.codes)
        for gaps in (found.missing, found.bad):
            if gaps is not None:
                numbers = np.where(gaps, np.nan, numbers)
        missing = _missing_code(self.problem.domains[name])
        if np.isnan(numbers[rows][codes[rows] != missing]).any():
            self._unnumbered.add(name)
        return numbers[rows]

    def _thin(self) -> None:
        """Keep the smallest keys."""
        whole = {name: np.concatenate([piece[name] for piece in self._pieces]) for name in self._pieces[0]}
        if len(whole["key"]) > self._most:
            self._bar = float(np.partition(whole["key"], self._most)[self._most])
            kept = np.flatnonzero(whole["key"] < self._bar)
            whole = {name: column[kept] for name, column in whole.items()}
        self._pieces, self._held = [whole], len(whole["key"])

    def rows(self) -> KeptRows:
        """All that was kept."""
        if not self._pieces:
            nothing = np.zeros(0)
            return KeptRows({name: np.zeros(0, np.uint8) for name in self.names}, {}, nothing, nothing, True, 0)
        self._thin()
        whole = self._pieces[0]
        numbers = {name: whole[f"number {name}"] for name in self.names if name in self.problem.bins}
        numbers = {name: column for name, column in numbers.items() if name not in self._unnumbered}
        return KeptRows(
            {name: whole[f"code {name}"] for name in self.names},
            numbers,
            whole["reward"],
            whole["weight"],
            self._counted,
            self._total,
        )


def _missing_code(domain: Sequence[object]) -> int:
    return domain.index(MISSING_LEVEL) if MISSING_LEVEL in domain else -1
