"""The divergence of coins: its index against bisection, and the largest index found without solving all."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from tests.soak import repeated
from whichdo.kernels.kl import kl, kl_index, largest_kl_index


def plain_kl(p: float, q: float) -> float:
    """The definition, with 0 ln 0 = 0."""
    return sum(a * log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def bisected(mean: float, size: float, level: float) -> float:
    """The largest u with size * kl(mean, u) <= level, to 1e-13."""
    if mean >= 1 or size <= 0:
        return 1.0
    low, high = mean, 1.0
    while high - low > 1e-13:
        middle = (low + high) / 2
        if middle >= 1 or size * plain_kl(mean, middle) > level:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def test_by_hand() -> None:
    """kl(0, u) = -ln(1-u); kl(1/2, u) = -ln(4 u (1-u)) / 2, so that two pulls and a level of ln(4/3) give u = 3/4."""
    assert kl(0.0, 0.5) == pytest.approx(log(2))
    assert kl_index(0.0, 4.0, 2.0) == pytest.approx(1 - exp(-0.5))
    assert kl_index(0.5, 2.0, log(4 / 3)) == pytest.approx(0.75)
    assert kl_index(1.0, 7.0, 2.0) == 1
    assert kl_index(0.3, 0.0, 2.0) == 1
    assert kl_index(np.nan, 0.0, 2.0) == 1
    assert kl_index(0.3, 5.0, 0.0) == 0.3


def test_the_index_equals_bisection() -> None:
    """All sizes from a part of a pull to ten million, means at and near the ends, levels of up to a million rounds."""
    rng = np.random.default_rng(1)
    for _ in range(repeated(4000, quick=500)):
        size = float(10 ** rng.uniform(-1, 7))
        level = float(rng.uniform(0.01, 14))
        mean = float(rng.choice([rng.random(), 0.0, 10 ** rng.uniform(-8, 0), 1 - 10 ** rng.uniform(-8, 0)]))
        found = kl_index(mean, size, level)
        assert found == pytest.approx(bisected(mean, size, level), abs=2e-12), (mean, size, level)
        assert mean <= found <= 1


def test_the_largest_index_is_that_of_solving_all() -> None:
    """Whatever the guess; ties, which small counts bring often, go to the larger luck."""
    rng = np.random.default_rng(2)
    ties = 0
    for case in range(3000):
        arms = int(rng.integers(1, 12))
        sizes = rng.integers(0 if case % 3 else 1, 6 if case % 2 else 3000, arms).astype(float)
        means = np.array([rng.integers(0, size + 1) / size if size else np.nan for size in sizes])
        if case % 5 == 0:  # near ties of different sizes
            means, sizes = np.full(arms, 0.4), 500.0 + rng.integers(0, 2, arms)
        luck, level = rng.random(arms), float(rng.uniform(0.01, 12))
        indices = [kl_index(mean, size, level) for mean, size in zip(means, sizes, strict=True)]
        best = max(range(arms), key=lambda arm: (indices[arm], luck[arm]))
        ties += indices.count(indices[best]) > 1
        for guess in range(arms):
            assert largest_kl_index(means, sizes, level, luck, guess) == best
    assert ties > 500
