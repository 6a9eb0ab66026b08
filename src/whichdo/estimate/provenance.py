"""Where the estimate of each arm comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.limits import mean_limits
from whichdo.estimate.ranking import Source

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray
    from whichdo.estimate.pooling import Pooled

__all__ = ["sources_of_arms"]


def sources_of_arms(
    pooled: Pooled, limits: tuple[FloatArray, FloatArray], z: float, scale: tuple[float, float]
) -> list[tuple[Source, ...]]:
    """The sources of each arm's estimate.

    Parameters
    ----------
    pooled
        All arms, on a scale from 0 to 1.
    limits
        Of all arms, as ``pooled`` has them.
    z
        How many standard errors away the limits of a normal estimate would be.
    scale
        What leads back to the reward's own scale: its least value and its range.
    """
    looked, (least, reach) = pooled.looked, scale

    def source(name: str, weight: float, *numbers: float) -> Source:
        estimate, low, high = (least + reach * float(number) for number in numbers)
        return Source(name, float(weight), estimate, low, high)

    entries: dict[int, list[Source]] = {}
    for start, origins in looked.origins.items():
        for each in origins:
            name = f"do({', '.join(each.source)})" if each.source else "looks"
            unknown = np.full(each.weights.shape, np.nan)
            alone = each.settled
            numbers = (unknown,) * 3 if alone is None else (alone.means, *alone.limits(z))
            for setting, row in enumerate(zip(each.weights, *numbers, strict=True)):
                entries.setdefault(start + setting, []).append(source(name, *row))
    pulled = np.flatnonzero(pooled.pulls > 0)
    own: FloatArray = np.full((2, len(pooled.pulls)), np.nan)
    by_looks = own.copy()
    if len(pulled):
        noise, sizes = pooled.direct_variances[pulled], pooled.direct_sizes[pulled]
        own[:, pulled] = mean_limits(pooled.direct[pulled], noise, 1 / sizes, z)
        by_looks[:] = [looked.by_arm(each) for each in looked.settled.limits(z)]
    found = []
    for position, entry in enumerate(looked.sources.tolist()):
        part, direct = float(pooled.part[position]), pooled.pulls[position] > 0
        sources: list[Source] = []
        if entry >= 0 and looked.settled.most[entry] > 0:
            low, high = by_looks[:, position] if direct else (limits[0][position], limits[1][position])
            looks = [source("looks", 1.0, looked.settled.means[entry], low, high)]
            sources = [each._replace(weight=part * each.weight) for each in entries.get(entry, looks)]
        if direct:
            weight = 1 - part if sources else 1.0
            sources.append(source("direct", weight, pooled.direct[position], *own[:, position]))
        found.append(tuple(sources))
    return found
