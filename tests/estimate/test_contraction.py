"""The kernel against a plain twin (`tests.estimate.oracle.Twin`) that evaluates the formula cell by cell."""

from __future__ import annotations

import numpy as np
import pytest

from tests.estimate.oracle import Twin, any_problem, semi_markovian
from whichdo.counting.scopes import Reading, cell_count
from whichdo.estimate.interventional import Estimator
from whichdo.world.instances import canonical


@pytest.mark.parametrize("threshold", [0, 7])
@pytest.mark.parametrize(
    "smoothing",
    [
        1,
        pytest.param(
            0.5,
            marks=pytest.mark.slow(
                "5 s: the same with other smoothing and thresholds; finds a cell that is counted otherwise"
            ),
        ),
    ],
)
def test_everything_equals_the_twin(smoothing: float, threshold: float) -> None:
    """Random graphs with mixed domains, random worths, up to 80 rows: many cells are empty or below the threshold."""
    rng = np.random.default_rng(int(10 * smoothing + threshold))
    compared, summed, below = 0, 0, 0
    while compared < 80:
        network = semi_markovian(rng, observed=(2, 5))
        problem = any_problem(network, rng)
        sizes = [len(values) for values in problem.domains.values()]
        rows = int(rng.integers(1, 80))
        data = np.zeros(sizes)
        np.add.at(data, tuple(rng.integers(0, size, rows) for size in sizes), 1)
        worth = rng.random(len(problem.rewards)).tolist()
        for reading in Reading:
            made = Estimator(problem, reading)
            axes = problem.graph.nodes
            tables = [
                data.sum(axis=tuple(j for j, name in enumerate(axes) if name not in scope)) for scope in made.scopes
            ]
            counts = np.concatenate([table.ravel() for table in tables])
            looked = made.from_counts(counts, np.array(worth), smoothing=smoothing, threshold=threshold)
            assert looked.looks == data.sum()
            for number, targets in enumerate(((), *problem.target_sets), start=-1):
                twin = Twin.of(problem, targets[0] if targets else None, reading, data)
                arms = [position for position, arm in enumerate(problem.arms) if arm.targets == targets]
                if twin is None:
                    silent = (looked.means, looked.variances, looked.spreads, looked.shifts, looked.doubts)
                    assert np.isnan([each[arms] for each in silent]).all()
                    assert (looked.sizes[arms] == 0).all()
                    assert looked.rarest[number] == 0
                    continue
                assert not targets or looked.rarest[number] == twin.rarest()
                if cell_count(problem, twin.scope) > 48:  # the twin visits all cells for each entry of each table
                    continue
                for x, arm in enumerate(arms):
                    mean, square, variance, shift, doubt = twin.estimate(x, worth, smoothing, threshold)
                    assert looked.means[arm] == pytest.approx(mean, abs=1e-12)
                    assert looked.spreads[arm] == pytest.approx(square - mean**2, abs=1e-12)
                    assert looked.variances[arm] == pytest.approx(variance, rel=1e-9, abs=1e-14)
                    assert looked.shifts[arm] == pytest.approx(shift, abs=1e-12)
                    assert looked.doubts[arm] == pytest.approx(doubt, abs=1e-12)
                    worth_pulls = (square - mean**2) / (variance + shift**2 + doubt**2)
                    assert looked.sizes[arm] == pytest.approx(min(worth_pulls, rows), rel=1e-6)
                compared += bool(targets)
                summed += len(twin.inside) > 1
                below += twin.rarest() < 7
    assert summed > 10
    assert below > 10


def test_adjustment_by_hand() -> None:
    """Ten rows of Z -> X, Z -> Y, X -> Y; the mean of do(X=x) is the sum over z of P(z) P(Y=1 | x, z).

    Add-one smoothing gives P(Z=1) = 5/12, P(Y=1 | X=1, z) = 2/4 and 4/6, P(Y=1 | X=0, z) = 2/6 and, never seen, 1/2.
    """
    z_x_y = np.array([[[3, 1], [1, 1]], [[0, 0], [1, 3]]], dtype=np.float64)
    made = Estimator(canonical("backdoor").problem)
    assert made.scopes == (("Y",), ("Z", "X", "Y"))
    looked = made.from_counts(np.concatenate([z_x_y.sum(axis=(0, 1)), z_x_y.ravel()]), np.array([0.0, 1.0]))
    assert looked.looks == 10
    assert looked.means == pytest.approx([6 / 12, 29 / 72, 41 / 72])
    of_z = (1 / 6) ** 2 * (35 / 144) / 13  # a row seen N times has p(1-p)/(N+3)
    assert looked.variances == pytest.approx(
        [
            (1 / 4) / 13,
            (7 / 12) ** 2 * (2 / 9) / 7 + (5 / 12) ** 2 * (1 / 4) / 3 + of_z,
            (7 / 12) ** 2 * (1 / 4) / 5 + (5 / 12) ** 2 * (2 / 9) / 7 + of_z,
        ]
    )
    # Smoothing moved P(Z=1) from 4/10 to 5/12, P(Y=1 | X=1, Z=1) from 3/4 to 2/3, P(Y=1 | X=0, Z=0) from 1/4 to 1/3.
    assert looked.shifts == pytest.approx(
        [0, 1 / 60 * 1 / 6 + 7 / 12 * 1 / 12, 1 / 60 * 1 / 6 - 5 / 12 * 1 / 12], abs=1e-12
    )
    assert looked.doubts == pytest.approx([0, 5 / 12 / 2, 0])  # P(Y=1 | X=0, Z=1) was never seen
    assert looked.spreads == pytest.approx([1 / 4, 29 / 72 * 43 / 72, 41 / 72 * 31 / 72])
    assert looked.rarest.tolist() == [0]


def test_with_nothing_seen_every_mean_is_a_half_and_in_doubt() -> None:
    """A cell never seen leaves the variance large: front door, all rows uniform."""
    made = Estimator(canonical("frontdoor").problem)
    looked = made.from_counts(np.zeros(2 + 8), np.array([0.0, 1.0]))
    assert looked.means == pytest.approx([0.5, 0.5, 0.5])
    assert looked.looks == 0
    # P(Y=1 | x', m): four rows of weight 1/4, p(1-p)/(0+3) = 1/12 each; all other rows change nothing.
    assert looked.variances == pytest.approx([1 / 12, 4 / 16 / 12, 4 / 16 / 12])
    assert looked.sizes.tolist() == [0, 0, 0]  # no look is worth no pull
    assert looked.doubts == pytest.approx([1 / 2, 1 / 2, 1 / 2])  # the whole range of the reward


def test_the_threshold_makes_rare_rows_uniform_but_not_inside_the_component() -> None:
    """Front door with 3 rows and a threshold of 4: P(M | X) becomes 1/2, P(X) and P(Y | X, M) stay as counted."""
    x_m_y = np.zeros((2, 2, 2))
    x_m_y[1, 1, 1] = 3
    made = Estimator(canonical("frontdoor").problem)
    counts = np.concatenate([x_m_y.sum(axis=(0, 1)), x_m_y.ravel()])
    above, below = (made.from_counts(counts, np.array([0.0, 1.0]), threshold=t) for t in (3, 4))
    # P(X=1) = 4/5, P(Y=1 | X=1, M=1) = 4/5, all other rows of Y 1/2, so m = 1 gives 1/5 * 1/2 + 4/5 * 4/5 = .74
    assert above.means[2] == pytest.approx(4 / 5 * 0.74 + 1 / 5 * 0.5)
    assert below.means[2] == pytest.approx(1 / 2 * 0.74 + 1 / 2 * 0.5)
    assert above.means[0] == pytest.approx(4 / 5)
    assert below.means[0] == pytest.approx(1 / 2)  # do() itself is one row, outside any component
