"""Upper confidence bounds by the divergence of coins, kl(p, q) = p ln(p/q) + (1-p) ln((1-p)/(1-q)).

The index of an arm with this mean over this many pulls is the largest u with size * kl(mean, u) <= level.  To name the
arm of the largest index one need not solve them all: kl(mean, u) grows with u, so an arm whose size * kl(mean, u) is
above the level has an index below u.  Given one arm's index, the others are so dismissed, most of them by Pinsker's
inequality, kl(p, q) >= 2 (p - q)^2, before any logarithm.  Nothing is kept from round to round, so nothing must be
forgotten where means and sizes change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.kernels.compiling import compiled

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray


STEPS = 100  # far more than Newton's method takes
MARGIN = 1e-9  # of a level: who comes so close is solved and compared; rounding is far below


@compiled
def kl(p: float, q: float) -> float:
    """The divergence of a coin of mean ``p`` from one of mean ``q``, for 0 <= p < 1 and 0 < q < 1."""
    if p <= 0.0:
        return -np.log1p(-q)  # type: ignore[no-any-return]
    return p * np.log1p((p - q) / q) + (1.0 - p) * np.log1p((q - p) / (1.0 - q))  # type: ignore[no-any-return]


@compiled
def kl_index(mean: float, size: float, level: float) -> float:
    """The largest u with ``size * kl(mean, u) <= level``; 1 where nothing is known (size 0).

    Newton's method from above, where it falls towards the root of a convex function and never passes it.  It starts at
    the lower of two bounds: Pinsker's, and the one that leaves p ln(1/q) >= 0 out.
    """
    if mean >= 1.0 or size <= 0.0:
        return 1.0
    if level <= 0.0:
        return mean
    share = level / size
    bare = share if mean <= 0.0 else share - mean * np.log(mean)
    u = min(mean + np.sqrt(0.5 * share), 1.0 - (1.0 - mean) * np.exp(-bare / (1.0 - mean)))
    if mean <= 0.0 or u >= 1.0:  # exact for mean 0; or as near to 1 as a number can be
        return u  # type: ignore[no-any-return]
    for _ in range(STEPS):
        step = (kl(mean, u) - share) * u * (1.0 - u) / (u - mean)
        if step <= 1e-15:
            break
        u -= step
    return u  # type: ignore[no-any-return]


@compiled
def largest_kl_index(
    means: FloatArray, sizes: FloatArray, level: float, luck: FloatArray, guess: int, first: int = 0
) -> int:
    """The arm from ``first`` on whose `kl_index` is the largest; among equals that of the largest ``luck``.

    ``guess`` is the arm that is solved first, such as the last choice: it saves time and never changes the answer.
    """
    best, top = guess, kl_index(means[guess], sizes[guess], level)
    for arm in range(first, means.size):
        mean, size = means[arm], sizes[arm]
        if arm == guess:
            continue
        if mean < top < 1.0:
            enough = level * (1.0 + MARGIN) + MARGIN
            if 2.0 * size * (top - mean) * (top - mean) > enough or size * kl(mean, top) > enough:
                continue
        index = kl_index(mean, size, level)
        if index > top or (index == top and luck[arm] > luck[best]):
            best, top = arm, index
    return best
