"""A probability of being best means what it says, over the named population of `population`.

Data sets are sorted into ten bins by the probability that was stated of the arm named best.  In each
bin the share of data sets in which that arm is truly the best of all, arms that are not known
included, is within .05 of the mean probability; smaller bins than 2,000 cases have three standard errors more.
At a twentieth of the count each bin has five standard errors.  Arms within 1e-6 of the best are best.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.soak import FULL, scaled
from tests.statistical.population import population
from tests.statistical.worlds import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.statistical.worlds import Answer
    from whichdo.arrays import FloatArray

SEED = 20_261_121
WORLDS, DATA_SETS = 5_400, 4
"""At least 20,000 data sets: in some worlds nothing can be compared."""
ALIKE = 1e-6
ROOM, MANY = 0.05, 2_000


def stated(found: Answer) -> float:
    """What `whichdo.rank` says."""
    return found.contest.probability


def boastful(found: Answer) -> float:
    """A planted mistake: how likely the best estimate beats the second, as if there were no other arms."""
    pooled = found.pooled
    ranked = np.flatnonzero(found.contest.ranked)
    if len(ranked) < 2:
        return 1.0
    second, best = ranked[np.argsort(pooled.means[ranked])[-2:]]
    error = sqrt(max(pooled.variances[best] + pooled.variances[second], 1e-12))
    return NormalDist().cdf((pooled.means[best] - pooled.means[second]) / error)


def cases(worlds: int) -> tuple[FloatArray, FloatArray]:
    """The probability that is stated, and a boast; each with whether the named arm is best, a row for a data set."""
    found = []
    for number, member in enumerate(population(SEED, worlds)):
        rng = np.random.default_rng([SEED, number, 1])
        truth = member.world.truth
        for tally in member.world.draw(rng, DATA_SETS, member.looks, member.pulls):
            said = answer(tally)
            best = said.contest.best
            if best is not None:
                found.append((stated(said), boastful(said), truth[best] >= truth.max() - ALIKE))
    columns = np.array(found, np.float64)
    return columns[:, [0, 2]], columns[:, [1, 2]]


def bins(found: FloatArray) -> list[tuple[int, float, float]]:
    """For each tenth of probability: how many cases, what was stated, and what is true."""
    place = np.minimum((found[:, 0] * 10).astype(np.int64), 9)
    return [
        (int(here.sum()), float(found[here, 0].mean()), float(found[here, 1].mean()))
        for here in (place == number for number in range(10))
        if here.any()
    ]


def missed(made: list[tuple[int, float, float]], errors: float) -> list[tuple[int, float, float]]:
    """Bins that are further off than they may be; ``errors`` standard errors of room where cases are few."""
    return [
        (count, said, true)
        for count, said, true in made
        if abs(true - said) > ROOM + (0.0 if count >= MANY else errors * sqrt(max(said * (1 - said), 1e-4) / count))
    ]


@pytest.mark.slow("10 s: a twentieth of 21,600 data sets; finds probabilities that boast")
@pytest.mark.soak
def test_probabilities_are_calibrated(record_property: Callable[[str, object], None]) -> None:
    """And on the same data sets a boast is seen: the test can fail."""
    found, boasts = cases(scaled(WORLDS))
    made = bins(found)
    record_property("data sets", len(found))
    record_property("stated and true", "; ".join(f"{said:.2f} {true:.2f} ({count:,})" for count, said, true in made))
    record_property("seed", SEED)
    assert not missed(made, 3.0 if FULL else 5.0)
    assert not FULL or len(found) >= 20_000
    assert missed(bins(boasts), 5.0)
