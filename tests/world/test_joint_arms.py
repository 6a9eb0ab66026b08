"""The truth about joint arms, and samples of them.

Chi-square tests reject at 1e-9.  With fixed seeds they pass or fail for good; each is seen to fail when the last of the
targets is not set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.soak import repeated
from tests.world.enumeration import marginal, means, random_network
from tests.world.test_sampler import fits
from whichdo.evidence import REWARDS, ROWS, TABLES, Batch
from whichdo.policy_names import policy
from whichdo.problem import Arm, do
from whichdo.simulation import simulate
from whichdo.world import exact, sampler
from whichdo.world.instances import Instance
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from whichdo.problem import Problem


def joint_problem(network: CausalNetwork, rng: np.random.Generator, *, most: int = 4) -> Problem | None:
    """Up to a dozen random arms on one to ``most`` nodes; None where nothing can be set together."""
    reward, *others = rng.permutation(network.graph.nodes).tolist()
    if len(others) < 2:
        return None
    arms: dict[Arm, None] = {}
    for _ in range(int(rng.integers(1, 12))):
        targets = rng.permutation(others)[: int(rng.integers(1, min(most, len(others)) + 1))].tolist()
        arms[do({name: network.domains[name][int(rng.integers(network.sizes[name]))] for name in targets})] = None
    rewards = {level: float(rng.random()) for level in network.domains[reward]}
    return network.problem(reward, arms=list(arms), rewards=rewards)


@pytest.mark.parametrize("few", [0, exact.FEW_CELLS])
def test_means_of_joint_arms_equal_enumeration(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random networks, arms on the same targets summed one by one and together."""
    monkeypatch.setattr(exact, "FEW_CELLS", few)
    rng = np.random.default_rng(60)
    compared, networks = 0, repeated(1000, quick=100)
    for _ in range(networks):
        network = random_network(rng)
        problem = joint_problem(network, rng)
        if problem is not None:
            assert network.means(problem) == pytest.approx(means(network, problem), abs=1e-12)
            compared += sum(arm.is_joint for arm in problem.arms)
    assert compared > min(1500, 1.5 * networks)


def test_parent_laws_of_joint_arms_equal_enumeration() -> None:
    rng = np.random.default_rng(61)
    for _ in range(repeated(200, quick=50)):
        network = random_network(rng)
        problem = joint_problem(network, rng)
        if problem is not None:
            parents = problem.graph.parents(problem.reward)
            for arm, law in zip(problem.arms, network.parent_laws(problem), strict=True):
                true = marginal(network, parents, network.codes_of(arm.settings))
                assert law == pytest.approx(true.ravel(), abs=1e-12)


def drawn_right(detail: Any, trials: int = 40) -> bool:
    rng = np.random.default_rng(62)
    right = True
    for trial in range(trials):
        network = random_network(rng, most_values=4)
        problem = joint_problem(network, rng)
        if problem is None:
            continue
        scope = tuple(network.graph.nodes)
        tally = World(network, problem, trial).pull(Batch(problem.arms, (5_000,) * len(problem.arms), detail, (scope,)))
        for position, arm in enumerate(problem.arms):
            forced = network.codes_of(arm.settings)
            right &= fits(tally.levels[arm], marginal(network, (problem.reward,), forced))
            if detail is TABLES:
                right &= fits(tally.tables[arm][scope].count, marginal(network, scope, forced))
            if detail is ROWS:
                assert tally.rows is not None
                sizes = [network.sizes[name] for name in scope]
                codes = tally.rows.codes[tally.rows.arms == position].T.astype(int)
                counts = np.bincount(np.ravel_multi_index(tuple(codes), sizes), minlength=int(np.prod(sizes)))
                right &= fits(counts, marginal(network, scope, forced))
    return right


@pytest.mark.parametrize("detail", [REWARDS, TABLES, ROWS])
def test_samples_of_joint_arms_have_the_exact_law(detail: Any) -> None:
    assert drawn_right(detail)


@pytest.mark.parametrize("detail", [TABLES, ROWS])
def test_the_law_test_sees_a_target_that_is_not_set(detail: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the last of several targets is left alone."""
    right = sampler._forced

    def careless(network: CausalNetwork, problem: Problem) -> list[Any]:
        return [forced[:-1] if len(forced) > 1 else forced for forced in right(network, problem)]

    monkeypatch.setattr(sampler, "_forced", careless)
    assert not drawn_right(detail)


def test_rewards_of_joint_arms_follow_the_exact_law_and_not_that_of_one_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the law of a joint arm is that of its first target."""
    right = exact._joint_arms

    def careless(network: CausalNetwork, problem: Problem, arms: list[Arm]) -> Any:
        first = [do({arm.targets[0]: arm.settings[arm.targets[0]]}) for arm in arms]
        return right(network, problem, first)

    monkeypatch.setattr(exact, "_joint_arms", careless)
    assert not drawn_right(REWARDS)


def xor() -> tuple[CausalNetwork, Problem]:
    """Y is X xor Z but for one in ten; neither alone does anything."""
    network = CausalNetwork(
        {
            "X": bernoulli((), 0.5),
            "Z": bernoulli((), 0.5),
            "Y": bernoulli(("X", "Z"), [[0.1, 0.9], [0.9, 0.1]]),
        }
    )
    return network, network.problem("Y", arms=[do(X=1), do(Z=1), do(X=1, Z=1), do(X=1, Z=0)])


def test_only_a_joint_arm_is_best_and_simulations_find_it() -> None:
    """UE has 100 pulls an arm of means .9 and at most .5: it errs with chance below 1e-9 a run."""
    network, problem = xor()
    assert network.means(problem) == pytest.approx([0.5, 0.5, 0.5, 0.1, 0.9])
    out = simulate(policy("ue"), network, problem, horizon=500, runs=200, seed=3)
    assert set(out.arms) == {do(X=1, Z=0)}


def test_conditionals_of_joint_arms_are_those_of_rows_that_have_all_values() -> None:
    instance = Instance("xor", *xor(), "two levers")
    assert instance.conditionals == pytest.approx([0.5, 0.5, 0.5, 0.1, 0.9])
    assert instance.best == do(X=1, Z=0)
