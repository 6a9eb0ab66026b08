"""The regret of causal Thompson sampling where several nodes are set at once, beside the published policies.

Lee and Bareinboim's tasks over the possibly optimal arms; Thompson sampling there is the published policy, whose regret
on task 3 is 20.7, 59.6 and 96.2 at t = 100, 1,000 and 10,000.  A table that is not taught by pulls of other arms, and a
policy that ignores what is pruned, were planted and failed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.joint import cells, logged
from tests.soak import scaled
from whichdo.policies.sequential import Sequential
from whichdo.policy_names import policy
from whichdo.simulation import Lots, log_spaced, run_rounds, simulate
from whichdo.world.instances import structural

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray


def curves(name: str, task: int, rounds: list[int], runs: int, seed: int) -> FloatArray:
    """The regret of each run at some rounds."""
    instance = structural(task)
    chosen = policy(name).trusting()
    found = simulate(
        chosen, instance.network, instance.problem, horizon=rounds[-1], runs=runs, seed=seed, rounds=rounds
    )
    assert found.curve is not None
    return found.curve


@pytest.mark.slow("15 s: 60 runs of two policies to t = 10,000; finds rows that do not teach")
@pytest.mark.soak
def test_on_the_third_task_ours_has_three_fifths_of_the_published_regret_at_most() -> None:
    """Measured: 36%, and lower from t = 130 on.  With 60 runs the share has a standard error of .02, and at t = 300,
    where the two are closest, the difference of 8 has one of 1.5: a false alarm has a chance below 1e-6.
    """
    rounds = [each for each in log_spaced(10_000).tolist() if each >= 300]
    runs = scaled(240, 60)
    ours, theirs = (curves(name, 3, [300, *rounds], runs, 31) for name in ("causal-ts", "ts"))
    assert ours[:, -1].mean() <= 0.6 * theirs[:, -1].mean()
    assert (ours.mean(axis=0) < theirs.mean(axis=0)).all()
    published = {1_000: 59.6, 10_000: 96.2}
    places = {t: int(np.abs(np.array([300, *rounds]) - t).argmin()) for t in published}
    for t, place in places.items():  # recorded rounds are within 2% of these; five standard errors
        error = theirs[:, place].std(ddof=1) / np.sqrt(runs)
        assert theirs[:, place].mean() == pytest.approx(published[t], abs=5 * error + 0.03 * published[t])


@pytest.mark.slow("5 s: 60 runs with logs; finds logs that do not reach the tables")
@pytest.mark.soak
def test_with_500_log_rows_hardly_anything_is_lost_on_the_third_task() -> None:
    """Measured: .38 (.06) over 200 runs, a standard deviation of .84 a run.  The mean of 60 is above 2 with a chance
    below 1e-9.
    """
    instance, chosen = structural(3), policy("causal-ts").trusting()
    assert isinstance(chosen, Sequential)
    gaps, lots, found = instance.means.max() - instance.means, Lots(32), []
    for number in range(scaled(240, 60)):
        key, rng = lots.drawn(number)
        seen = logged(chosen, instance, 500, 1000 + number)
        pulls, *_ = run_rounds(chosen, instance.network, instance.problem, 1_000, key, rng, np.array([1_000]), seen)
        found.append(float(pulls[-1] @ gaps))
    assert np.mean(found) <= 2


@pytest.mark.slow("8 s: 1,000 runs of two policies; finds looks that are taken where they cannot pay")
@pytest.mark.soak
def test_on_the_instrument_task_ours_has_at_most_the_published_regret() -> None:
    """Measured: 19.5 and 20.0, one pull in a hundred apart.  Five standard errors of the difference are allowed, so
    that a false alarm has a chance below 1e-6; before do() was pruned ours had 22.1.
    """
    runs = scaled(4_000, 1_000)
    ours, theirs = (curves(name, 2, [5_000], runs, 33)[:, 0] for name in ("causal-ts", "ts"))
    error = np.hypot(ours.std(ddof=1), theirs.std(ddof=1)) / np.sqrt(runs)
    assert ours.mean() <= theirs.mean() + 5 * error
    assert ours.mean() < 21.5


@pytest.mark.slow("20 s: random confounded graphs, all rivals; finds a family in which sharing harms")
@pytest.mark.soak
@pytest.mark.parametrize("family", ["joint-confounded", "pruned-joint-confounded"])
def test_on_joint_confounded_graphs_ours_is_within_the_bound_of_every_rival(family: str) -> None:
    """As docs/joint.md, on other networks, to t = 10,000 under ``make soak``.  Ours has about half of the best
    rival's regret there, so that even 24 runs have a false alarm with a chance below 1e-6 only.
    """
    for cell in cells("earning", [family], runs=scaled(240, 24), networks=scaled(12, 4), seed=50):
        assert cell.holds, (cell.family, cell.logs, cell.budget, {k: v.mean() for k, v in cell.regrets.items()})
