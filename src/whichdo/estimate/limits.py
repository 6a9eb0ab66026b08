"""Limits for a mean on a scale from 0 to 1, from its variance alone, that hold where successes are few.

A mean m with variance v is taken for the share of successes among n = m(1-m)/v trials, and its
limits are those of Clopper and Pearson: the lower from Beta(mn, (1-m)n + c), the upper from
Beta(mn + c, (1-m)n), where c is one more success.  Where rows weigh differently, one more row moves
the mean by some weight w instead of 1/n, so that c = wn; the weight of an average row is taken, as
for standardised rates (Fay and Feuer 1997, who take the largest).  So 30 failures in 30 pulls give
an upper limit of about a tenth, whatever the rate is elsewhere, and many rows give the usual normal
interval.

The quantiles are found by Newton steps on the incomplete beta function; importing scipy for them
would take longer than ranking a log.
"""

from __future__ import annotations

from math import lgamma
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from whichdo.arrays import FloatArray


LEAST = 1e-14  # a share of successes that is as good as none
LARGE = 100.0  # both parameters above this: the normal expansion is right to a thousandth of a standard error
STEPS = 64  # halvings at most; Newton needs about five
FAR, NEAR = -700.0, -1e-15  # logarithms between which a limit is looked for
CLOSE = 1e-9  # relative precision of a limit
DEPTH = 40.0  # e^-40 of the density is as good as none
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(40)
POINTS, WEIGHTS = (POINTS + 1) / 2, WEIGHTS / 2


def normal_quantile(probability: float) -> float:
    """The z of a probability."""
    return NormalDist().inv_cdf(probability)


def mean_limits(mean: ArrayLike, variance: ArrayLike, weight: ArrayLike, z: float) -> tuple[FloatArray, FloatArray]:
    """The lower and the upper limit of means between 0 and 1, each missed with the probability of z standard errors.

    ``mean``, ``variance``: of the estimates.
    ``weight``: how far one more row would move each mean: 1/n where n rows count alike.
    ``z``: 1.96 for limits of a 95% interval.
    """
    middle = np.clip(np.asarray(mean, np.float64), LEAST, 1 - LEAST)
    noise, more = np.asarray(variance, np.float64), np.asarray(weight, np.float64)
    # Successes alone, or failures alone, have no variance: the rows themselves are counted.
    trials = np.where(noise > 0, middle * (1 - middle) / np.where(noise > 0, noise, 1.0), 1 / np.maximum(more, LEAST))
    successes, failures = middle * trials, (1 - middle) * trials
    more = more * trials
    tail = NormalDist().cdf(-z)
    # Both at once: most of the time goes into starting operations on short arrays.
    low, high = beta_quantile(tail, np.stack([successes, failures]), np.stack([failures, successes]) + more)
    return np.minimum(low, middle), np.maximum(1 - high, middle)


def beta_quantile(probability: float, first: ArrayLike, second: ArrayLike) -> FloatArray:
    """The x below which a Beta(first, second) variable lies with this probability, which is at most 1/2."""
    a, b = np.broadcast_arrays(np.asarray(first, np.float64), np.asarray(second, np.float64))
    shape = a.shape
    a, b = np.maximum(a.ravel(), 1e-12), np.maximum(b.ravel(), 1e-12)
    found = np.empty(a.shape)
    large = (a > LARGE) & (b > LARGE)
    found[large] = _expansion(normal_quantile(probability), a[large], b[large])
    if not large.all():
        found[~large] = _solve(probability, a[~large], b[~large])
    return found.reshape(shape)


def _expansion(z: float, a: FloatArray, b: FloatArray) -> FloatArray:
    """Carter's approximation to Fisher's z (Abramowitz and Stegun 26.5.22); for large parameters, or to begin with."""
    first, second = 1 / (2 * a - 1), 1 / (2 * b - 1)
    scale = (z * z - 3) / 6
    h = 2 / (first + second)
    w = -z * np.sqrt(h + scale) / h - (second - first) * (scale + 5 / 6 - 2 / (3 * h))
    found: FloatArray = a / (a + b * np.exp(2 * w))
    return found


def _solve(probability: float, a: FloatArray, b: FloatArray) -> FloatArray:
    """Newton on the logarithms, kept inside an interval that is halved where a step leaves it."""
    constant = np.array([lgamma(p + q) - lgamma(p) - lgamma(q) for p, q in zip(a, b, strict=True)])
    goal = np.log(probability)
    # Near 0 the distribution function is x^a / (a B(a, b)): a first guess from below where a is small.
    at = np.minimum((goal + np.log(a) - constant) / a, np.log(a / (a + b)))
    usable = (a > 1) & (b > 1)
    at[usable] = np.log(_expansion(normal_quantile(probability), a[usable], b[usable]))
    at = np.clip(at, FAR, NEAR)
    low, high = np.full(a.shape, 2 * FAR), np.zeros(a.shape)
    left = np.flatnonzero(at > FAR)  # what begins below all numbers ends there: a limit of 0
    for _ in range(STEPS):
        if not len(left):
            break
        here, p, q, constant_here = at[left], a[left], b[left], constant[left]
        x = np.exp(here)
        density = constant_here + p * here + (q - 1) * np.log1p(-x)  # of log x
        value = _log_below(x, p, q, constant_here)
        above = value > goal
        high[left] = np.where(above, here, high[left])
        low[left] = np.where(above, low[left], here)
        following = here + (goal - value) * np.exp(np.clip(value - density, FAR, -FAR))
        outside = (following < low[left]) | (following > high[left])
        following = np.clip(np.where(outside, (low[left] + high[left]) / 2, following), FAR, NEAR)
        at[left] = following
        left = left[np.abs(following - here) > CLOSE * np.minimum(1.0, -following)]
    found: FloatArray = np.exp(at)
    return found


def _log_below(x: FloatArray, a: FloatArray, b: FloatArray, constant: FloatArray) -> FloatArray:
    """The logarithm of the distribution function, by quadrature over log x, on which the density is log-concave.

    The density is followed down to where it has fallen by e^40.  Its logarithm falls ever faster on the way, so that 40
    points on that stretch are enough.
    """
    fallen = DEPTH + (b - 1) * -np.log1p(-x)
    length = np.maximum(fallen, DEPTH) / a  # certainly enough; Newton's steps for a convex function lead back from it
    for _ in range(6):
        inner = x * np.exp(-length)
        drop = a * length + (b - 1) * (np.log1p(-x) - np.log1p(-inner))
        length -= (drop - DEPTH) / (a - (b - 1) * inner / (1 - inner))
    back = length[:, None] * POINTS
    shape = (b - 1)[:, None]
    inside = -a[:, None] * back + shape * (np.log1p(-x[:, None] * np.exp(-back)) - np.log1p(-x[:, None]))
    area = length * (np.exp(inside) @ WEIGHTS)
    found: FloatArray = constant + a * np.log(x) + (b - 1) * np.log1p(-x) + np.log(area)
    return found
