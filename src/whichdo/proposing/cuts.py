"""Cut points that people would choose: quantiles, rounded as far as the shares of the intervals allow.

A third of all people may be under 34.7 years old; nobody cuts there.  Any cut whose share is close
to the wanted one serves as well, so the roundest of these is taken: 35.  A value that very many
rows share, such as no earnings at all, gets a separate interval at the lower end.
"""

from __future__ import annotations

from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray

__all__ = ["nice_cuts", "nice_range", "roundest"]

STEPS = (1.0, 0.5, 0.2)
"""Steps between round numbers, as shares of a power of ten, roundest first."""
SLACK = 1 / 16
"""The share of the rows by which a cut may move to become round, either way."""
THIN = 0.4
"""An interval with less than this part of an equal share is joined to its neighbour."""
MARGIN = 0.1
"""By how much of its width a range may grow at either end to become round."""


def roundest(low: float, high: float, near: float, *, whole: bool = False) -> float:
    """The roundest number above ``low``, up to ``high``; of equally round ones the nearest to ``near``.

    >>> roundest(32.1, 36.9, 34.7), roundest(3_204.0, 4_100.0, 3_500.0), roundest(0.031, 0.052, 0.04)
    (35, 4000, 0.05)
    """
    size = max(abs(low), abs(high), high - low)
    top = floor(log10(size)) + 1 if size > 0 else 0
    for power in range(min(top, 307), max(top - 18, -300), -1):  # as far as floating-point numbers go
        for share in STEPS:
            step = share * 10.0**power
            if whole and (step < 1 or step % 1):
                continue
            first, last = floor(low / step) + 1, floor(high / step)
            if first <= last:
                multiple = min(max(round(near / step), first), last)
                return _plain(multiple, share, power)
    return int(high) if float(high).is_integer() else float(high)


def _plain(multiple: int, share: float, power: int) -> float:
    """``multiple * share * 10 ** power`` without the noise of binary fractions, whole where it is."""
    hundredths = multiple * round(share * 100)
    value = float(f"{hundredths}e{power - 2}")
    return int(value) if value.is_integer() else value


def nice_cuts(values: FloatArray, intervals: int, *, whole: bool = False) -> tuple[float, ...]:
    """Round cuts that divide sorted ``values`` into about ``intervals`` parts of equal size; () where none does."""
    least, most = float(values[0]), float(values[-1])
    spike = int(np.searchsorted(values, least, "right"))
    if intervals < 2 or spike == len(values):
        return ()
    everything, parts = values, intervals
    cuts: list[float] = []
    if spike / len(values) > 1 / intervals:
        after = float(values[spike])
        cuts.append(_above(least, after, whole=whole))
        values, intervals = values[spike:], intervals - 1
    places = len(values) - 1
    for number in range(1, intervals):
        wanted = number / intervals
        low, near, high = (
            float(values[round(max(0.0, min(1.0, share)) * places)])
            for share in (wanted - SLACK, wanted, wanted + SLACK)
        )
        cut = roundest(low, high, near, whole=whole) if low < high else near
        cut = int(cut) if float(cut).is_integer() else cut
        if cut > least and cut <= most and (not cuts or cut > cuts[-1]):
            cuts.append(cut)
    return _without_thin(everything, cuts, THIN / parts)


def _without_thin(values: FloatArray, cuts: list[float], least: float) -> tuple[float, ...]:
    """The cuts that are left when intervals with too small a share are joined to the smaller of their neighbours."""
    while cuts:
        shares = np.diff([0, *np.searchsorted(values, cuts, "left").tolist(), len(values)]) / len(values)
        thin = int(np.argmin(shares))
        if shares[thin] >= least:
            break
        at_left = thin == len(cuts) or (thin > 0 and shares[thin - 1] <= shares[thin + 1])
        del cuts[thin - 1 if at_left else thin]
    return tuple(cuts)


def _above(least: float, after: float, *, whole: bool) -> float:
    """A round number between a value and the next, which belongs above."""
    if least == 0 and not whole:
        power = floor(log10(after))
        return 10**power if power >= 0 else float(f"1e{power}")
    return roundest(least, after, after, whole=whole)


def nice_range(low: float, high: float) -> tuple[float, float]:
    """A round range that holds all from ``low`` to ``high``; it begins or ends at 0 where that is near.

    >>> nice_range(0.0, 60_307.93), nice_range(-41.28, 48.54), nice_range(0.2, 0.9)
    ((0, 65000), (-50, 50), (0, 1))
    """
    reach = high - low
    below = roundest_down(low, low - MARGIN * reach)
    above = -roundest_down(-high, -high - MARGIN * reach)
    if 0 <= low <= 0.1 * high:
        below = 0
    if 0.1 * low <= high <= 0:
        above = 0
    if low >= 0 and 0.5 <= high <= 1:
        below, above = 0, 1
    return below, above


def roundest_down(high: float, low: float) -> float:
    """The roundest number from ``low`` to ``high``."""
    if not isfinite(high - low) or low >= high:
        return floor(high)
    found = roundest(low, high, high)
    return found if found <= high else ceil(low)
