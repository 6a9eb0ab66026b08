"""Conditional means and shares of all arms from pair tables."""

from __future__ import annotations

import numpy as np
import pytest

from whichdo.counting import count
from whichdo.errors import UsageError
from whichdo.estimate.conditional import conditional, first_backdoor, pair_scopes
from whichdo.evidence import Tally, observe
from whichdo.problem import Problem, do
from whichdo.tables import Table
from whichdo.world.instances import experiment_3
from whichdo.world.sampler import World


def test_by_hand() -> None:
    """Six rows, of which X is 2 in none; the mean of the reward is that of its worth."""
    problem = Problem("X -> Y", reward="Y", domains={"X": [0, 1, 2], "Y": [0, 1, 2]}, rewards={0: 0, 1: 0.5, 2: 1})
    found = conditional(problem, count(problem, {"X": [0, 0, 0, 0, 1, 1], "Y": [0, 1, 2, 2, 0, 1]}))
    assert found.means.tolist() == pytest.approx([0.5, 5 / 8, 1 / 4, np.nan], nan_ok=True)
    assert found.shares.tolist() == pytest.approx([1, 4 / 6, 2 / 6, 0])


def test_a_node_below_the_reward_is_read_by_its_own_axis() -> None:
    """X copies Y three times in four: rows (Y, X) = (0, 0) x 3, (0, 1), (1, 1) x 3, (1, 0)."""
    problem = Problem("Y -> X", reward="Y")
    assert pair_scopes(problem) == (("Y", "X"),)
    assert first_backdoor(problem) == ("X", "X <- Y")
    table = Table(("Y", "X"), (2, 2), np.array([[3, 1], [1, 3]]))
    seen = Tally(problem, np.array([[4, 4], [0, 0], [0, 0]]), {do(): {("Y", "X"): table}})
    assert conditional(problem, seen).means.tolist() == [0.5, 0.25, 0.75]


def test_listed_cells_are_laid_out() -> None:
    problem = Problem("X -> Y", reward="Y")
    listed = Table(("X", "Y"), (2, 2), np.array([2, 1]), np.array([[0, 1], [1, 0]], np.uint8))
    seen = Tally(problem, np.array([[1, 2], [0, 0], [0, 0]]), {do(): {("X", "Y"): listed}})
    assert conditional(problem, seen).means.tolist() == pytest.approx([2 / 3, 1, 0])


def test_nothing_seen_is_nothing_known_and_a_missing_table_is_an_error() -> None:
    instance = experiment_3()
    assert np.isnan(conditional(instance.problem, Tally.empty(instance.problem)).means).all()
    looks = World(instance.network, instance.problem, 1).pull(observe(10, scopes=[("X1", "Y")]))
    with pytest.raises(UsageError, match="no table of X2 and Y"):
        conditional(instance.problem, looks)
