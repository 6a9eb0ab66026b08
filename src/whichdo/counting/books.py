"""The codes of columns of numbers: how often a row counts, how much it weighs, a reward that is any number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.counting.values import BAD, MOST, Codebook, DomainBook, parse_number
from whichdo.domains import RANGE_LEVELS

if TYPE_CHECKING:
    from decimal import Decimal

    from whichdo.arrays import Array, BoolArray
    from whichdo.domains import NumberRange
    from whichdo.problem import Problem

__all__ = ["CountBook", "RangeBook", "WeightBook", "book_of"]

LIGHTEST, HEAVIEST = 1e-100, 1e100


class _NumberBook(Codebook):
    """Numbers as they are: the code of a number from 0 is its bits, which are in the order of the numbers."""

    def text(self, value: str) -> int:
        """A number as text."""
        number = parse_number(value)
        return BAD if number is None else self.number(number)

    def number(self, value: float | Decimal) -> int:
        """A number that is allowed."""
        codes, bad = self.numbers(np.array([value], np.float64))
        return BAD if bad is not None else int(codes[0])


class WeightBook(_NumberBook):
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


class RangeBook(_NumberBook):
    """A reward that may be any number of a range: its nearest level or, exact, its bits on a scale from 0 to 1."""

    def __init__(self, numbers: NumberRange, *, exact: bool) -> None:
        self._range, self._exact = numbers, exact
        self.dtype = np.int64 if exact else np.uint8

    def boolean(self, value: bool) -> int:  # noqa: FBT001
        """1 and 0 where these are in the range."""
        return self.number(float(value))

    def numbers(self, values: Array) -> tuple[Array, BoolArray | None]:
        """As above, without a Python step for each value."""
        numbers = values.astype(np.float64)
        bad = ~((numbers >= self._range.low) & (numbers <= self._range.high))
        units = np.clip((numbers - self._range.low) / (self._range.high - self._range.low), 0.0, 1.0)
        units = np.where(bad, 0.0, units) + 0.0
        codes = units.view(np.int64) if self._exact else np.rint(units * (RANGE_LEVELS - 1)).astype(np.uint8)
        return codes, bad if bad.any() else None

    def allowed(self) -> str:
        """In words."""
        return str(self._range)


def book_of(problem: Problem, name: str, *, exact: bool = False) -> Codebook:
    """The codes of a node's values; ``exact``: of a numeric reward the number itself instead of the nearest level."""
    if name == problem.reward and problem.reward_range is not None:
        return RangeBook(problem.reward_range, exact=exact)
    return DomainBook(problem.domains[name])


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
