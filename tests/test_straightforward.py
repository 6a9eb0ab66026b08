"""The straightforward peer of the benchmarks computes what we do, only slower."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.straightforward import Arm, Model, do_mean, infrequent, srm, successive_rejects, uniform
from whichdo.counting.counting import count
from whichdo.estimate.estimator import Rule, look
from whichdo.estimate.rarity import c_sizes, hardness, rarity_scopes
from whichdo.formulas import Reading, counted_scopes
from whichdo.policy_names import policy
from whichdo.problem import do
from whichdo.simulation import simulate
from whichdo.world.instances import experiment_1
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from collections.abc import Callable

DRAWS = 4_000
BUDGET = 120


def confounded() -> CausalNetwork:
    """Every node but the first has parents that act on the reward too, so conditioning would be wrong."""
    return CausalNetwork(
        {
            "A": bernoulli((), 0.3),
            "B": bernoulli(("A",), [0.2, 0.7]),
            "C": bernoulli(("A", "B"), [[0.1, 0.5], [0.6, 0.9]]),
            "Y": bernoulli(("A", "B", "C"), [[[0.1, 0.6], [0.3, 0.5]], [[0.7, 0.4], [0.2, 0.9]]]),
        }
    )


def test_estimates_from_the_same_rows_agree() -> None:
    """A mean of 4,000 draws is within 6 standard errors (false alarms: 2e-9 an arm, normal) of our exact sum.

    Seen to fail, by .068, when the reward was conditioned on X = x alone.
    """
    network = confounded()
    problem = network.problem("Y")
    model = Model.of(network, "Y", 5)
    rows = model.samples(1000)
    seen = count(problem, rows, scopes=counted_scopes(problem, Reading.PAPER))
    ours = look(problem, seen, np.array([0.0, 1.0]), Rule(Reading.PAPER)).means
    for arm, mean in zip(problem.arms[1:], ours[1:], strict=True):
        ((node, value),) = arm.settings.items()
        theirs = do_mean(model, rows, (node, int(value)), DRAWS)
        assert abs(theirs - mean) < 6 * sqrt(mean * (1 - mean) / DRAWS), arm


def test_rare_nodes_and_m_agree() -> None:
    instance = experiment_1(1, 4, nodes=20)[0]
    rows = Model.of(instance.network, "Y", 6).samples(300)
    scopes = [scope or () for scope in rarity_scopes(instance.problem)]
    tables = count(instance.problem, rows, scopes=scopes).tables[do()]
    q = np.array([tables[scope].dense().count.min() for scope in scopes]) / len(rows)
    k = c_sizes(instance.problem)
    rare, m = infrequent(Model.of(instance.network, "Y", 0), rows)
    assert m == hardness(q, k)
    assert set(rare) == {name for name, share in zip(instance.problem.intervene, q, strict=True) if share < 1 / m}
    assert rare


@pytest.mark.slow("3 s: a straightforward implementation of three policies, over many runs")
@pytest.mark.parametrize(("peer", "name"), [(srm, "srm"), (uniform, "ue"), (successive_rejects, "sr")])
def test_regrets_agree(peer: Callable[[Model, int], Arm], name: str) -> None:
    """The mean of 40 of its runs is within 5 standard errors (false alarms: 6e-7) of that of 3,000 of ours."""
    network = confounded()
    problem = network.problem("Y")
    truth = dict(zip(map(str, problem.arms), network.means(problem), strict=True))
    chosen = []
    for seed in range(40):
        model = Model.of(network, "Y", seed)
        arm = peer(model, BUDGET)
        assert model.drawn <= BUDGET
        chosen.append("do()" if arm is None else f"do({arm[0]}={arm[1]})")
    regret = max(truth.values()) - np.array([truth[arm] for arm in chosen])
    ours = simulate(policy(name), network, problem, horizon=BUDGET, runs=3000, seed=1)
    assert abs(regret.mean() - ours.mean) < 5 * sqrt(ours.regret.var() / 40 + ours.error**2)
