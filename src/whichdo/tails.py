"""Upper tails of the chi-square and the gamma law: how often chance alone exceeds a value.

Whole degrees of freedom need no special function: the tail is a finite sum of Poisson terms.  A
gamma law with any shape takes a power series below its mean and a continued fraction above it.
Both are exact to about twelve digits, far into the tail, where an approximation by a normal law is
wrong many times over.
"""

from __future__ import annotations

from math import erfc, exp, inf, lgamma, log, sqrt

import numpy as np

MOST_STEPS = 100_000
PRECISE = 1e-15
TINY = 1e-300


def chi_square_tail(value: float, freedom: int) -> float:
    """The chance that a chi-square variable with so many degrees of freedom exceeds a value.

    >>> round(chi_square_tail(3.841459, 1), 6), round(chi_square_tail(5.991465, 2), 6)
    (0.05, 0.05)
    """
    half = value / 2
    if half <= 0:
        return 1.0
    odd = freedom % 2
    steps = np.arange(odd, freedom, 2, dtype=np.float64) / 2  # 0, 1, 2, ... or 1/2, 3/2, ...
    total = erfc(sqrt(half)) if odd else 0.0
    if len(steps):
        # Logarithms: the largest of many terms need not be near the first, which may be too small to write.
        first = -half if not odd else -half + log(half) / 2 - lgamma(1.5)
        growth = np.concatenate([[0.0], log(half) - np.log(steps[1:])])
        total += float(np.exp(first + np.cumsum(growth)).sum())
    return min(total, 1.0)


def gamma_tail(value: float, shape: float, scale: float = 1.0) -> float:
    """The chance that a gamma variable, of mean ``shape * scale``, exceeds a value.

    >>> round(gamma_tail(3.841459, 0.5, 2.0), 6)
    0.05
    """
    x = value / scale
    if x <= 0:
        return 1.0
    if x == inf:
        return 0.0
    front = shape * log(x) - x - lgamma(shape)
    if x < shape + 1:
        return max(0.0, 1.0 - _series(x, shape) * exp(front))
    return min(1.0, _fraction(x, shape) * exp(front)) if front > -745 else 0.0


def _series(x: float, shape: float) -> float:
    """The lower tail over its front factor: 1/a + x/(a(a+1)) + ..."""
    term = total = 1 / shape
    for step in range(1, MOST_STEPS):
        term *= x / (shape + step)
        total += term
        if term < total * PRECISE:
            break
    return total


def _fraction(x: float, shape: float) -> float:
    """The upper tail over its front factor, as a continued fraction (Lentz's way)."""
    b = x + 1 - shape
    c, d = 1 / TINY, 1 / (b or TINY)
    total = d
    for step in range(1, MOST_STEPS):
        a = -step * (step - shape)
        b += 2
        d = 1 / (a * d + b or TINY)
        c = b + a / c or TINY
        total *= d * c
        if abs(d * c - 1) < PRECISE:
            break
    return total
