"""KL-UCB: the choices of a plain twin that bisects every index in every round, and the regret it is known for."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from tests.policies.driving import driven
from tests.test_kl import bisected
from tests.worlds import family
from whichdo.policy_names import policy
from whichdo.problem import Problem, do
from whichdo.simulation import simulate
from whichdo.world.instances import canonical, experiment_3, experiment_5
from whichdo.world.mechanism import Mechanism
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World


def thirds() -> tuple[CausalNetwork, Problem]:
    """Three reward levels and a node of three values."""
    network = CausalNetwork(
        {
            "X": Mechanism((), [0.2, 0.3, 0.5]),
            "Y": Mechanism(("X",), [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]),
        }
    )
    return network, network.problem("Y", rewards={0: 0.0, 1: 0.3, 2: 1.0}, goal="minimize")


@pytest.mark.slow("2 s: solves every index in every round, where the policy skips most")
def test_it_chooses_as_a_twin_that_solves_all() -> None:
    instances = [experiment_3(), experiment_5(1, 1)[0], canonical("bow"), family("random-confounded", 2)[0]]
    cases = [(each.network, each.problem) for each in instances] + [thirds()]
    for number, (network, problem) in enumerate(cases):
        batches, answers, final = driven(policy("kl-ucb"), problem, 600, World(network, problem, number).pull, number)
        arms, utility = len(problem.arms), list(problem.utility.values())
        luck = np.random.default_rng(number).random(arms)
        pulls, total = [0] * arms, [0.0] * arms
        for t, (batch, told) in enumerate(zip(batches, answers, strict=False)):
            if t < arms:
                expected = t
            else:
                index = [bisected(total[a] / pulls[a], pulls[a], log(t)) for a in range(arms)]
                expected = max(range(arms), key=lambda a: (round(index[a], 11), luck[a]))
            assert problem.index(batch.arms[0]) == expected, (number, t)
            pulls[expected] += 1
            total[expected] += utility[int(np.argmax(told.counts[expected]))]
        assert sum(pulls) == 600
        assert final.means.tolist() == pytest.approx([total[a] / pulls[a] for a in range(arms)])


@pytest.mark.slow("0.5 s: 40 runs of 30,000 rounds; finds a level that is not ln t")
def test_experiment_3_regret() -> None:
    """At t = 30,000 the mean over 400 runs was 109.5, with a standard deviation of 25.9: 4.1 for the mean of 40 runs.

    26 is more than 6 of these: a false alarm in 10^8.  Seen to fail with 2 ln t and with half of ln t for the level.
    """
    instance = experiment_3()
    found = simulate(policy("kl-ucb"), instance.network, instance.problem, horizon=30_000, runs=40, seed=9)
    assert abs(found.mean - 109.5) < 26
    assert all(arm in {do(), do(X1=0), do(X1=1)} for arm in found.arms)
