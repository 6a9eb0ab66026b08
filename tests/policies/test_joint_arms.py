"""Policies on problems with joint arms: those that can serve them do, others say so."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.policies.driving import driven
from tests.world.enumeration import random_network
from tests.world.test_joint_arms import joint_problem, xor
from whichdo.errors import UnsuitableError
from whichdo.estimate.frontier import learned_means, steps
from whichdo.evidence import TABLES, Batch
from whichdo.policy_names import available_policies, policy
from whichdo.problem import Problem, do
from whichdo.simulation import simulate
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

CONDITIONING = {"crm-nb", "nb", "parallel"}
LAWS = {"importance", "c-ucb"}


@pytest.mark.parametrize("name", sorted(set(available_policies()) - CONDITIONING))
def test_the_best_arm_is_found_where_it_is_a_joint_one(name: str) -> None:
    """Means .5, .5, .5, .1 and .9: 2,000 pulls name the last in each of 20 runs, but for chances below 1e-6."""
    network, problem = xor()
    chosen = policy(name, laws=network.parent_laws(problem)) if name in LAWS else policy(name)
    out = simulate(chosen, network, problem, horizon=2000, runs=20, seed=11)
    assert set(out.arms) == {do(X=1, Z=0)}


@pytest.mark.parametrize("name", sorted(CONDITIONING))
def test_policies_that_condition_on_one_node_refuse_joint_arms_by_name(name: str) -> None:
    _, problem = xor()
    words = (
        f"{name} conditions on one node at a time, and do(X=1, Z=1) sets 2. Choose a policy for any arms, such as "
        f"warm-halving, srm, causal-ts, sr, sh or ue, or leave joint arms out."
    )
    with pytest.raises(UnsuitableError, match=re.escape(words)):
        policy(name).check(problem, 1000)


@pytest.mark.parametrize("name", sorted(CONDITIONING))
def test_arms_on_single_nodes_may_be_listed_in_any_order(name: str) -> None:
    """X acts, Z does not: .9 against .5; each policy names do(X=1) in 20 of 20 runs, but for chances below 1e-6."""
    network = CausalNetwork(
        {"X": bernoulli((), 0.5), "Z": bernoulli((), 0.5), "Y": bernoulli(("X", "Z"), [[0.1, 0.1], [0.9, 0.9]])}
    )
    problem = network.problem("Y", arms=[do(Z=1), do(X=0), do(Z=0), do(X=1)])
    assert problem.has_listed_arms
    out = simulate(policy(name), network, problem, horizon=2000, runs=20, seed=12)
    assert set(out.arms) == {do(X=1)}


def test_mechanisms_learned_from_exact_counts_give_the_means_of_joint_arms() -> None:
    """Counts as large as 1e9 in place of laws: what is learned is the truth, for arms on any targets."""
    rng = np.random.default_rng(13)
    compared = 0
    for _ in range(150):
        network = random_network(rng)
        problem = joint_problem(network, rng)
        if network.hidden or problem is None:
            continue
        law = np.ones((len(problem.arms), 1))
        for step in steps(problem):
            law = step.onward(
                law, np.round(network.law(step.scope) * 1e9).astype(np.int64).reshape(step.rows, step.size)
            )
        means = law @ np.array(list(problem.rewards.values()))
        truth = network.means(problem)
        reached = np.isclose(means, truth, atol=1e-6)
        # A cell that never occurs by itself is learned as uniform, and an arm may lead there.
        assert reached.all() or any((mechanism.table == 0).any() for mechanism in network.mechanisms.values())
        compared += reached.all()
    assert compared > 30


def test_pulls_of_a_joint_arm_teach_no_mechanism_that_it_replaces() -> None:
    """Z follows X but for one in ten by itself; pulls that set both must not be counted for Z."""
    network = CausalNetwork(
        {"X": bernoulli((), 0.5), "Z": bernoulli(("X",), [0.1, 0.9]), "Y": bernoulli(("Z",), [0.2, 0.8])}
    )
    problem = network.problem("Y", arms=[do(X=1, Z=0), do(X=1)])
    told = World(network, problem, 1).pull(
        Batch(problem.arms, (20_000, 60_000, 20_000), TABLES, tuple(step.scope for step in steps(problem)))
    )
    # Each mean has a standard error below .003; counting pulls of do(X=1, Z=0) for Z would give do(X=1) about .38.
    assert learned_means(problem, told) == pytest.approx(network.means(problem), abs=0.02)


def test_srm_tries_joint_arms_and_counts_them_by_target_set() -> None:
    network, problem = xor()
    world = World(network, problem, 5)
    batches, _, final = driven(policy("srm"), problem, 400, world.pull)
    assert batches[0].arms == (do(),)
    assert {do(X=1, Z=1), do(X=1, Z=0)} <= set(batches[1].arms)
    assert final.arm == do(X=1, Z=0)


def test_a_joint_arm_that_equals_do_shares_its_looks_in_crm() -> None:
    problem = Problem("X -> Y; Y -> A; Y -> B", "Y", arms=[do(X=1), do(A=1, B=0)])
    state = policy("crm").begin(problem, 100, np.random.default_rng(0), None)  # type: ignore[attr-defined]
    assert state.arms[7].tolist() == [0, 0, 1]
