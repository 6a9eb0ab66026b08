"""The codes of columns of numbers: how often a row counts, how much it weighs, a reward that is any number, and
numbers that are cut into intervals.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from whichdo.counting.values import BAD, MOST, Codebook, DomainBook, parse_number
from whichdo.domains import RANGE_LEVELS
from whichdo.text import listed

if TYPE_CHECKING:
    from decimal import Decimal

    from whichdo.arrays import Array, BoolArray
    from whichdo.domains import Bins, NumberRange
    from whichdo.problem import Problem


LIGHTEST, HEAVIEST = 1e-100, 1e100
NUMBER = r"(-?(?:inf|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?))"
INTERVAL = re.compile(rf"[\[(]{NUMBER}, {NUMBER}([\])])", re.ASCII)


class NumberBook(Codebook):
    """Numbers as they are: the code of a number from 0 is its bits, which are in the order of the numbers."""

    reads_numbers = True

    def text(self, value: str) -> int:
        """A number as text."""
        number = parse_number(value)
        return BAD if number is None else self.number(number)

    def number(self, value: float | Decimal) -> int:
        """A number that is allowed."""
        codes, bad = self.numbers(np.array([value], np.float64))
        return BAD if bad is not None else int(codes[0])


class WeightBook(NumberBook):
    """How much a row weighs: 0, or a number whose square can still be added up."""

    def numbers(self, values: Array) -> tuple[Array, BoolArray | None]:
        """The bits of each weight."""
        weights = values.astype(np.float64)
        bad = ~((weights == 0) | ((weights >= LIGHTEST) & (weights <= HEAVIEST)))
        bits = (np.where(bad, 0.0, weights) + 0.0).view(np.int64)  # plus 0: there is a -0
        return bits, bad if bad.any() else None

    def allowed(self) -> str:
        """In words."""
        return f"0, and numbers from {LIGHTEST:g} to {HEAVIEST:g}"


class RangeBook(NumberBook):
    """A reward that may be any number of a range: its nearest level or, exact, its bits on a scale from 0 to 1."""

    def __init__(self, numbers: NumberRange, *, exact: bool) -> None:
        self.range, self._exact = numbers, exact
        self.dtype = np.int64 if exact else np.uint8

    def boolean(self, value: bool) -> int:  # noqa: FBT001
        """1 and 0 where these are in the range."""
        return self.number(float(value))

    def numbers(self, values: Array) -> tuple[Array, BoolArray | None]:
        """As above, without a Python step for each value."""
        numbers = values.astype(np.float64)
        bad = ~((numbers >= self.range.low) & (numbers <= self.range.high))
        units = np.clip((numbers - self.range.low) / (self.range.high - self.range.low), 0.0, 1.0)
        units = np.where(bad, 0.0, units) + 0.0
        codes = units.view(np.int64) if self._exact else np.rint(units * (RANGE_LEVELS - 1)).astype(np.uint8)
        return codes, bad if bad.any() else None

    def allowed(self) -> str:
        """In words."""
        return str(self.range)


class BinBook(NumberBook):
    """Numbers by the interval that they lie in; the name of an interval stands for itself.

    An interval of pandas counts where all of it lies in one of ours.
    """

    dtype = np.uint8

    def __init__(self, cut: Bins) -> None:
        self._bins = cut
        self.cuts = np.array(cut.cuts, np.float64)
        self._names = {name: code for code, name in enumerate(cut.values)}

    def text(self, value: str) -> int:
        """The name of an interval, a number as text, or an interval as pandas writes it."""
        named = self._names.get(value)
        if named is not None:
            return named
        found = super().text(value)
        return self._within(value) if found == BAD else found

    def boolean(self, value: bool) -> int:  # noqa: FBT001
        """True and false as 1 and 0."""
        return self.number(float(value))

    def _within(self, text: str) -> int:
        """The interval that holds all of another, such as ``(35, 40]``."""
        written = INTERVAL.fullmatch(text)
        if written is None:
            return BAD
        low, high = float(written[1]), float(written[2])
        last = int(np.searchsorted(self.cuts, high, "right" if written[3] == "]" else "left"))
        first = int(np.searchsorted(self.cuts, low, "right"))
        return first if first == last and low <= high else BAD

    def numbers(self, values: Array) -> tuple[Array, BoolArray | None]:
        """How many cuts each number has reached."""
        if values.dtype.kind == "f":
            bad = ~np.isfinite(values)
            return np.searchsorted(self.cuts, values, "right").astype(np.uint8), bad if bad.any() else None
        return np.searchsorted(self.cuts, values, "right").astype(np.uint8), None

    def allowed(self) -> str:
        """In words."""
        return f"numbers, or {listed(map(str, self._bins.values), most=12)}"


def book_of(problem: Problem, name: str, *, exact: bool = False) -> Codebook:
    """The codes of a node's values; ``exact``: of a numeric reward the number itself instead of the nearest level."""
    if name == problem.reward and problem.reward_range is not None:
        return RangeBook(problem.reward_range, exact=exact)
    if name in problem.bins:
        return BinBook(problem.bins[name])
    return DomainBook(problem.domains[name], problem.groups.get(name))


class CountBook(Codebook):
    """How often a row counts: whole numbers from 0."""

    def text(self, value: str) -> int:
        """A whole number as text."""
        number = parse_number(value)
        return BAD if number is None else self.number(number)

    def number(self, value: float | Decimal) -> int:
        """A whole number from 0."""
        return int(value) if 0 <= value <= MOST and value == int(value) else BAD

    def numbers(self, values: Array) -> tuple[Array, BoolArray | None]:
        """As above, without a Python step for each value."""
        if values.dtype == np.float16:
            values = values.astype(np.float32)
        with np.errstate(invalid="ignore"):
            bad = values < 0
            bad |= values > MOST if values.dtype.kind == "u" else values >= 2.0**63
            if values.dtype.kind == "f":
                bad |= values != np.floor(values)
            weights = np.where(bad, 0, values).astype(np.int64)
        return weights, bad if bad.any() else None

    def allowed(self) -> str:
        """In words."""
        return "whole numbers from 0"
