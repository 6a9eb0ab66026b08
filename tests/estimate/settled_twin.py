"""The estimates by adjustment once more, cell by cell in plain Python: the twin of `whichdo.estimate.settled`.

A table is a dict from (stratum, setting) to (count, sum of rewards, sum of squares).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt
from typing import TYPE_CHECKING

from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Mapping

Cell = tuple[int, int]
STRENGTH = 2.0
EDGE = 1e-6


def logit(share: float) -> float:
    return log(share / (1 - share))


@dataclass(frozen=True)
class Row:
    count: float
    raw: float
    mean: float
    square: float
    prior: float

    @property
    def variance(self) -> float:
        return max(self.square - self.mean**2, 0.0)


def shrunk(table: Mapping[Cell, tuple[float, float, float]]) -> dict[Cell, Row]:
    """Every row leans on what its stratum and its setting expect together, with the strength of two rows."""
    looks = sum(count for count, _, _ in table.values())
    overall = sum(total for _, total, _ in table.values()) / looks
    mean = min(max(overall, EDGE), 1 - EDGE)
    second = mean if mean in {EDGE, 1 - EDGE} else sum(square for _, _, square in table.values()) / looks
    second = (second * looks + STRENGTH * mean) / (looks + STRENGTH)

    def margin(axis: int, value: int) -> tuple[float, float, float]:
        cells = [numbers for cell, numbers in table.items() if cell[axis] == value]
        count, total, square = (sum(column) for column in zip(*cells, strict=True))
        own = (total + STRENGTH * mean) / (count + STRENGTH)
        return count, own, (square + STRENGTH * second) / (count + STRENGTH)

    stratum = {z: margin(0, z)[1] for z in {z for z, _ in table}}
    found = {}
    for (z, x), (count, total, square) in table.items():
        whole, own, own_square = margin(1, x)
        expected = sum(table[w, x][0] * stratum[w] for w in stratum)
        expected = (expected + STRENGTH * mean) / (whole + STRENGTH)
        prior = 1 / (1 + exp(-(logit(stratum[z]) + logit(own) - logit(expected))))
        dispersion = (own_square - own**2) / (own - own**2)
        wanted = prior**2 + dispersion * prior * (1 - prior)
        found[z, x] = Row(
            count,
            total / count if count else prior,
            (total + STRENGTH * prior) / (count + STRENGTH),
            (square + STRENGTH * wanted) / (count + STRENGTH),
            prior,
        )
    return found


def limits(weights: Mapping[Cell, float], rows: Mapping[Cell, Row], law: float) -> tuple[float, float, float]:
    """A weighted mean of rows with its 95% limits."""
    total = sum(weights.values())
    share = {cell: weight / total for cell, weight in weights.items()}
    mean = sum(share[cell] * rows[cell].mean for cell in share)
    seen = [cell for cell in share if rows[cell].count]
    variance = sum(share[cell] ** 2 * rows[cell].variance / (rows[cell].count + STRENGTH) for cell in seen)
    variance += sum(share[cell] * (rows[cell].mean - rows[cell].raw) for cell in seen) ** 2 + law
    heavy = sum(share[cell] for cell in seen)
    average = sum(share[cell] ** 2 / rows[cell].count for cell in seen) / heavy if heavy else 1.0
    trials = mean * (1 - mean) / variance
    low = stats.beta.ppf(0.025, mean * trials, (1 - mean) * trials + average * trials)
    high = stats.beta.ppf(0.975, mean * trials + average * trials, (1 - mean) * trials)
    hidden = [cell for cell in share if not rows[cell].count]
    low = min(low, mean) - sum(share[cell] * rows[cell].prior for cell in hidden)
    high = max(high, mean) + sum(share[cell] * (1 - rows[cell].prior) for cell in hidden)
    return mean, max(float(low), 0.0), min(float(high), 1.0)


def adjusted(
    table: Mapping[Cell, tuple[float, float, float]], x: int
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """The mean of a setting with its limits, and its effect against doing nothing with its own."""
    rows = shrunk(table)
    looks = sum(row.count for row in rows.values())
    strata = {z: sum(rows[w, v].count for w, v in rows if w == z) / looks for z in {z for z, _ in rows}}
    mean = sum(share * rows[z, x].mean for z, share in strata.items())
    law = sum(share * (rows[z, x].mean - mean) ** 2 for z, share in strata.items()) / looks
    own = limits({(z, x): share for z, share in strata.items()}, rows, law)
    happened = sum(row.count * row.raw for row in rows.values()) / looks
    gain = {(z, x): strata[z] - rows[z, x].count / looks for z in strata}
    loss = {cell: row.count / looks for cell, row in rows.items() if cell[1] != x}
    pushes = [(row.count / looks, rows[z, x].mean - row.mean) for (z, _), row in rows.items()]
    middle = sum(share * push for share, push in pushes)
    spread = 1.959963984540054**2 * (sum(share * push**2 for share, push in pushes) - middle**2) / looks
    total = sum(gain.values())
    would, would_low, would_high = limits(gain, rows, 0.0)
    had, had_low, had_high = limits(loss, rows, 0.0)
    effect = mean - happened
    low = effect - sqrt((total * (would - would_low)) ** 2 + (total * (had_high - had)) ** 2 + spread)
    high = effect + sqrt((total * (would_high - would)) ** 2 + (total * (had - had_low)) ** 2 + spread)
    return own, (effect, low, high)
