"""Worlds with a planted mistake: looking claims to settle every arm, and names a wrong one for sure."""

from __future__ import annotations

import numpy as np
import pytest

from whichdo.errors import UsageError
from whichdo.estimate.rank import rank
from whichdo.problem import do
from whichdo.world.instances import MISTAKES, planted

FAMILY = pytest.mark.parametrize("family", MISTAKES)


@FAMILY
def test_the_arm_that_looks_best_is_not_and_every_arm_claims_to_be_settled(family: str) -> None:
    for number, world in enumerate(planted(family, 12, seed=3)):
        assert all(verdict.identified for verdict in world.problem.verdicts.values())
        if family == "shifted-baseline" and number % 2:
            continue  # everything fell alike
        best, named = int(np.argmax(world.means)), int(np.argmax(world.claims))
        assert world.means[best] - world.means[named] >= 0.03
        assert world.claims[named] - world.claims[best] >= 0.03
        assert 0.05 <= np.abs(world.claims - world.means)[[best, named]].max() <= 0.3


@FAMILY
def test_in_the_control_looking_is_right_and_arms_have_the_same_means(family: str) -> None:
    for wrong, right in zip(planted(family, 12, seed=3), planted(family, 12, seed=3, right=True), strict=True):
        assert right.claims == pytest.approx(right.means, abs=1e-6)
        assert right.means[1:] == pytest.approx(wrong.means[1:])
        assert right.problem.arms == wrong.problem.arms
        assert right.logged is right.network


def test_sizes_are_mixed_and_a_member_does_not_depend_on_how_many_are_made() -> None:
    worlds = planted("overrated", 12, seed=5)
    assert sorted({len(world.problem.arms) for world in worlds}) == [2, 3, 4, 5, 7, 9, 11, 12, 50]
    alone = planted("overrated", 4, seed=5)[3]
    assert alone.means.tolist() == worlds[3].means.tolist()
    assert alone.problem == worlds[3].problem


def test_everything_fell_alike_in_odd_shifted_baselines_and_do_alone_in_even_ones() -> None:
    worlds = planted("shifted-baseline", 6, seed=2)
    for world in worlds[1::2]:
        fell = world.claims - world.means
        assert fell == pytest.approx(np.full(len(fell), fell[0]), abs=1e-6)
        assert 0.05 <= fell[0] <= 0.3
    for world in worlds[::2]:
        assert world.claims[1:] == pytest.approx(world.means[1:], abs=1e-6)
        assert world.claims[0] > world.claims.max() - 1e-9
        assert world.best != do()


@FAMILY
def test_logs_say_what_is_claimed_and_are_worth_what_was_asked(family: str) -> None:
    """The estimator that `rank` uses agrees with the claims, which come from the compiled one; six standard errors."""
    world = planted(family, 3, seed=8)[2]
    ranking = rank(world.problem, world.logged.sample(world.rows_worth(2000), seed=1))
    rows = [ranking[arm] for arm in world.problem.arms]
    assert np.median([row.effective_n for row in rows[1:]]) == pytest.approx(2000, rel=0.15)
    assert [row.estimate for row in rows] == pytest.approx(world.claims.tolist(), abs=6 * 0.5 / np.sqrt(700))
    tally = world.logs(2000, seed=4)
    assert tally.pulls[0] == world.rows_worth(2000)
    assert not tally.pulls[1:].any()


def test_a_family_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r'no family of mistakes "underated"\. Did you mean "underrated"'):
        planted("underated")
