"""Shares of the arms that serve the worst-served arm best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.optimize import minimize

from whichdo.policies.mixture import apportioned, balanced, worst

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray


def test_disjoint_arms_share_equally() -> None:
    """Arms that reach cells of their own: f_a = 1 / eta_a, so K at best."""
    found = balanced(np.eye(4))
    assert found == pytest.approx([0.25] * 4)
    assert worst(np.eye(4), found) == pytest.approx(4)


def test_by_hand() -> None:
    """Two arms reach cell 1 surely, a third both cells equally.  With x its share, Q = (1 - x/2, x/2): the first two
    have f = 1 / (1 - x/2), the third 1/4 / (1 - x/2) + 1/2 / x, and all are equal at x = 1/2, where they are 4/3.
    """
    laws = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]])
    found = balanced(laws, tolerance=1e-6)
    assert found == pytest.approx([0.25, 0.25, 0.5], abs=1e-3)
    assert worst(laws, found) == pytest.approx(4 / 3, rel=1e-6)


def test_a_cell_that_nothing_reaches_has_no_say() -> None:
    laws = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert balanced(laws) == pytest.approx([0.5, 0.5])
    assert worst(laws, np.array([1.0, 0.0])) == float("inf")


def test_what_does_not_divide_goes_to_the_largest_fractions() -> None:
    """Of 10 pulls .26 and .25 have fractions .6 and .5; equal shares favour the first."""
    assert apportioned(np.array([0.25, 0.26, 0.49]), 10).tolist() == [2, 3, 5]
    assert apportioned(np.full(3, 1 / 3), 11).tolist() == [4, 4, 3]
    assert apportioned(np.full(3, 1 / 3), 12).tolist() == [4, 4, 4]
    for count, pulls in [(7, 100), (21, 218), (49, 49 * 11)]:
        expected = [pulls // count + (j < pulls % count) for j in range(count)]
        assert apportioned(np.full(count, 1 / count), pulls).tolist() == expected


def test_no_solver_of_others_does_better() -> None:
    """SLSQP, from scipy, on the same problem; within the certified thousandth."""
    rng = np.random.default_rng(3)
    for arms, cells in [(2, 3), (3, 4), (7, 8), (13, 16)] * 3:
        laws = rng.dirichlet(np.full(cells, 0.3), arms) * (rng.random((arms, cells)) < 0.7) + 1e-6
        found = balanced(laws)
        assert found.sum() == pytest.approx(1)
        assert (found >= 0).all()
        assert worst(laws, found) <= 1.0011 * rival(laws)


def rival(laws: FloatArray) -> float:
    arms = len(laws)

    def slack(x: FloatArray) -> FloatArray:
        left: FloatArray = x[-1] - (laws**2) @ (1 / (np.maximum(x[:-1], 1e-9) @ laws))
        return left

    start = np.append(np.full(arms, 1 / arms), worst(laws, np.full(arms, 1 / arms)))
    found = minimize(
        lambda x: x[-1],
        start,
        bounds=[(1e-9, 1)] * arms + [(0, None)],
        constraints=[{"type": "eq", "fun": lambda x: x[:-1].sum() - 1}, {"type": "ineq", "fun": slack}],
        options={"maxiter": 500, "ftol": 1e-10},
    )
    shares = np.maximum(found.x[:-1], 0)
    return worst(laws, shares / shares.sum())
