"""Warm halving: where its pulls go."""

from __future__ import annotations

import numpy as np
import pytest

from whichdo.errors import UsageError
from whichdo.evidence import Batch, Tally, observe
from whichdo.policies import policy
from whichdo.policies.allocation import water_filling
from whichdo.problem import do
from whichdo.world.instances import canonical
from whichdo.world.sampler import World


def test_water_filling_gives_each_pull_to_the_least_evidence() -> None:
    """One pull at a time is the definition; all at once must reach the same levels, but for the last pull of each."""
    rng = np.random.default_rng(3)
    for _ in range(1000):
        levels = rng.integers(0, 20, int(rng.integers(1, 8))) + rng.random(1)
        pulls = int(rng.integers(0, 60))
        one_by_one = levels.copy()
        for _ in range(pulls):
            one_by_one[np.argmin(one_by_one)] += 1
        found = water_filling(levels, np.ones(len(levels)), float(pulls))
        assert found.sum() == pulls
        assert (found >= 0).all()
        assert np.abs(np.sort(levels + found) - np.sort(one_by_one)).max() <= 1 + 1e-9


def test_water_filling_pays_prices() -> None:
    """The levels of all arms that were pulled end within one pull of each other; what is left buys none of them."""
    rng = np.random.default_rng(4)
    for _ in range(1000):
        arms = int(rng.integers(1, 8))
        levels, prices, money = rng.random(arms) * 20, rng.random(arms) * 5 + 0.1, float(rng.random() * 60)
        found = water_filling(levels, prices, money)
        reached = (levels + found)[found > 0]
        assert found @ prices <= money + 1e-6
        assert reached.size == 0 or reached.max() - reached.min() <= 2 + 1e-9
        assert reached.size == 0 or money - found @ prices < prices.max() * arms


def first_batch(name: str, looks_at_hand: int = 0) -> Batch:
    instance = canonical(name)
    seen = Tally.empty(instance.problem)
    if looks_at_hand:
        seen = World(instance.network, instance.problem, 1).pull(observe(looks_at_hand))
    return next(policy("warm-halving").play(instance.problem, 100, np.random.default_rng(1), seen))


def test_half_is_looked_where_looking_serves_every_arm() -> None:
    batch = first_batch("frontdoor")
    assert (batch.arms, batch.counts) == ((do(),), (50,))


def test_nothing_is_looked_where_looking_serves_none() -> None:
    """A bow: both arms of X must be tried."""
    assert do(X=1) in first_batch("bow").arms


def test_logs_at_hand_are_looks_already_made() -> None:
    assert first_batch("frontdoor", 30).counts == (20,)
    assert do(X=1) in first_batch("frontdoor", 5000).arms


def test_caution_must_be_positive() -> None:
    with pytest.raises(UsageError, match="caution is 0"):
        policy("warm-halving", caution=0)
