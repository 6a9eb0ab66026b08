"""Random numbers for policies that decide by chance: uniform, normal, gamma and beta draws from one sfc64 generator.

The generator is part of a policy's explicit state, so a compiled loop and `play` draw the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.kernels.compiling import compiled
from whichdo.kernels.random import keyed_stream, step

if TYPE_CHECKING:
    from whichdo.arrays import WordArray


SCALE = 2.0**-53


def generator(rng: np.random.Generator) -> WordArray:
    """A generator seeded from a policy's own."""
    key = np.asarray(rng.integers(0, 2**64, 2, dtype=np.uint64))
    states: Any = np.zeros((1, 4), np.uint64)
    keyed_stream(key, 0, 0, states)
    return states  # type: ignore[no-any-return]


@compiled
def uniform(states: WordArray) -> float:
    """Between 0 and 1, neither included."""
    return (np.float64(step(states, 0) >> np.uint64(11)) + 0.5) * SCALE


@compiled
def _normals(states: WordArray) -> tuple[float, float]:
    """Two normal draws, by Marsaglia's polar method."""
    while True:
        x, y = 2.0 * uniform(states) - 1.0, 2.0 * uniform(states) - 1.0
        square = x * x + y * y
        if square < 1.0:
            scale = np.sqrt(-2.0 * np.log(square) / square)
            return x * scale, y * scale


@compiled
def _gamma(shape: float, normal: float, states: WordArray) -> float:
    """Marsaglia and Tsang 2000, for shapes of 1 and more; ``normal`` is the first draw to try."""
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    x = normal
    while True:
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u = uniform(states)
            if u < 1.0 - 0.0331 * x * x * x * x or np.log(u) < 0.5 * x * x + d * (1.0 - v + np.log(v)):
                return float(d * v)
        x, _ = _normals(states)


@compiled
def beta(a: float, b: float, states: WordArray) -> float:
    """A beta draw for parameters of 1 and more."""
    first, second = _normals(states)
    x = _gamma(a, first, states)
    return x / (x + _gamma(b, second, states))


@compiled
def gamma(shape: float, states: WordArray) -> float:
    """A gamma draw for any shape; one below 1 is raised by 1 and scaled, as Marsaglia and Tsang say."""
    first, _ = _normals(states)
    if shape >= 1.0:
        return _gamma(shape, first, states)
    return float(_gamma(shape + 1.0, first, states) * uniform(states) ** (1.0 / shape))
