"""Exact truth against enumeration of the whole joint table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.soak import repeated, scaled
from tests.world.enumeration import marginal, means, problem_on, random_network
from whichdo.errors import TooLargeError
from whichdo.estimate.rarity import hardness
from whichdo.problem import do
from whichdo.world.mechanism import Mechanism, bernoulli
from whichdo.world.network import CausalNetwork


@pytest.mark.slow("1 s: 400 networks; finds any sum that leaves out a state")
@pytest.mark.soak
def test_means_of_every_arm_equal_enumeration_on_2000_random_networks() -> None:
    """Hidden nodes, mixed domains, parents without influence, probabilities 0 and 1, any reward."""
    rng = np.random.default_rng(20)
    for _ in range(scaled(2000, 400)):
        network = random_network(rng)
        problem = problem_on(network, rng)
        assert network.means(problem) == pytest.approx(means(network, problem), abs=1e-12)


def test_joint_laws_equal_enumeration_in_any_order_of_the_scope() -> None:
    rng = np.random.default_rng(21)
    for _ in range(repeated(400, quick=100)):
        network = random_network(rng)
        names = list(network.full.nodes)
        scope = tuple(rng.permutation(names)[: int(rng.integers(1, len(names) + 1))].tolist())
        forced = {names[0]: int(rng.integers(network.sizes[names[0]]))} if rng.random() < 0.5 else {}
        setting = {name: network.domains[name][code] for name, code in forced.items()}
        assert np.abs(network.law(scope, setting) - marginal(network, scope, forced)).max() < 1e-12


def test_a_reward_with_100_parents_that_depends_on_one_costs_nothing() -> None:
    """Experiment 1's shape: 2^100 cells would be needed for the parents."""
    mechanisms = {f"X{j}": bernoulli((), 0.5) for j in range(100)}
    mechanisms["Y"] = bernoulli(("X7",), [0.25, 0.75], parents=tuple(mechanisms))
    network = CausalNetwork(mechanisms)
    truth = dict(zip((problem := network.problem("Y")).arms, network.means(problem), strict=True))
    assert len(network.graph.parents("Y")) == 100
    assert truth[do(X7=1)] == 0.75
    assert truth[do(X8=1)] == truth[do()] == 0.5


@pytest.mark.slow("2 s: works out how large the sum would be")
def test_a_sum_that_is_too_large_is_refused_with_the_number_and_the_node() -> None:
    """Forty inputs of two values joined by pairwise children: every elimination order meets a clique of 2^40."""
    mechanisms = {f"X{j}": bernoulli((), 0.5) for j in range(40)}
    for i in range(40):
        for j in range(i):
            mechanisms[f"P{i}_{j}"] = bernoulli((f"X{i}", f"X{j}"), [[0.1, 0.2], [0.3, 0.4]])
    pairs = [name for name in mechanisms if name.startswith("P")]
    previous = pairs[0]
    for number, name in enumerate(pairs[1:]):
        mechanisms[f"S{number}"] = bernoulli((previous, name), [[0.2, 0.5], [0.6, 0.9]])
        previous = f"S{number}"
    network = CausalNetwork(mechanisms)
    with pytest.raises(
        TooLargeError, match=r'An exact sum over ".*" and \d+ nodes tied to it takes more than [\d,]+ cells'
    ):
        network.means(network.problem(previous))


def test_deterministic_mechanisms_stay_deterministic_under_interventions() -> None:
    """Dividing by P(x | parents) would fail here: X = 1 never happens by itself."""
    network = CausalNetwork({"X": bernoulli((), 0.0), "Y": Mechanism(("X",), [[1, 0], [0, 1]])})
    assert network.means(network.problem("Y")).tolist() == [0.0, 0.0, 1.0]


CANONICAL = json.loads((Path(__file__).parents[1] / "fixtures" / "canonical.json").read_text())["instances"]


@pytest.mark.parametrize(
    ("q", "k", "m"),
    [
        ([0.5], [1], 2),
        ([0.0], [1], 2),
        ([0.0] * 5, [1] * 5, 5),
        ([1 / 18] * 9 + [1 / 8] * 60 + [1 / 2] * 31, [1] * 100, 9),
        ([1 / 4] * 10, [1] * 10, 4),
        ([1 / 2] * 10, [2] * 10, 4),
        ([], [], 2),
    ],
)
def test_hardness_by_hand(q: list[float], k: list[int], m: int) -> None:
    assert hardness(q, k) == m


def test_hardness_is_the_least_tau_with_at_most_tau_rarer_nodes() -> None:
    rng = np.random.default_rng(22)
    for _ in range(2000):
        count = int(rng.integers(1, 30))
        q = np.where(rng.random(count) < 0.2, 0.0, rng.random(count) ** rng.integers(1, 6, count))
        k = rng.integers(1, 4, count)
        literal = next(tau for tau in range(2, max(2, count) + 1) if (q**k < 1 / tau).sum() <= tau)
        assert hardness(q, k) == literal
