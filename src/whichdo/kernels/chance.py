"""Random numbers for policies that decide by chance: uniform, normal, gamma and beta draws from one sfc64 generator.

The generator is part of a policy's explicit state, so a compiled run and `play` draw the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.kernels.compiling import compiled
from whichdo.kernels.random import keyed_stream, step

if TYPE_CHECKING:
    from whichdo.kernels.compiling import U64Array

__all__ = ["beta", "generator", "uniform"]

SCALE = 2.0**-53


def generator(rng: np.random.Generator) -> U64Array:
    """A generator seeded from a policy's own."""
    key = np.asarray(rng.integers(0, 2**64, 2, dtype=np.uint64))
    states: Any = np.zeros((1, 4), np.uint64)
    keyed_stream(key, 0, 0, states)
    return states  # type: ignore[no-any-return]


@compiled
def uniform(states: U64Array) -> float:
    """Between 0 and 1, neither included."""
    return (np.float64(step(states, 0) >> np.uint64(11)) + 0.5) * SCALE


@compiled
def _normal(states: U64Array) -> float:
    """Marsaglia's polar method; the second number of a pair is thrown away, so that there is nothing to keep."""
    while True:
        x, y = 2.0 * uniform(states) - 1.0, 2.0 * uniform(states) - 1.0
        square = x * x + y * y
        if square < 1.0:
            return float(x * np.sqrt(-2.0 * np.log(square) / square))


@compiled
def _gamma(shape: float, states: U64Array) -> float:
    """Marsaglia and Tsang 2000, for shapes of 1 and more."""
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        x = _normal(states)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = uniform(states)
        if u < 1.0 - 0.0331 * x * x * x * x or np.log(u) < 0.5 * x * x + d * (1.0 - v + np.log(v)):
            return float(d * v)


@compiled
def beta(a: float, b: float, states: U64Array) -> float:
    """A beta draw for parameters of 1 and more."""
    x = _gamma(a, states)
    return x / (x + _gamma(b, states))
