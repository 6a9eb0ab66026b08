"""Lattimore's Algorithm 1: what it asks for, what it concludes, and its authors' first and fifth experiments."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.policies.driving import driven
from tests.soak import scaled
from whichdo.counting import count
from whichdo.errors import UnsuitableError, UsageError
from whichdo.evidence import Tally, observe
from whichdo.policy_names import policy
from whichdo.problem import Arm, Problem, do
from whichdo.simulation import simulate
from whichdo.world.instances import canonical, misspecified_parallel, no_backdoor, parallel
from whichdo.world.mechanism import Mechanism
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from whichdo.evidence import Batch

PROBLEM = Problem("A -> Y; B -> Y; C -> Y", reward="Y")


def columns(cells: dict[tuple[int, int, int, int], int]) -> dict[str, list[int]]:
    """Rows of A, B, C, Y, each so often."""
    rows = [row for row, times in cells.items() for _ in range(times)]
    return {name: [row[j] for row in rows] for j, name in enumerate("ABCY")}


def test_by_hand() -> None:
    """Ten looks: A=1 once, B=1 five times, C=1 three times; shares .1, .5, .3, so at most 2 nodes are rarer than 1/2
    and m = 2.  Arms of a share of at most 1/2: do(A=1), do(C=1), do(B=0), do(B=1), five pulls for four arms.
    """
    looks = columns({(0, 0, 0, 0): 4, (0, 1, 0, 1): 2, (0, 1, 1, 1): 3, (1, 0, 0, 1): 1})
    told: list[Tally] = [count(PROBLEM, looks)]

    def answer(batch: Batch) -> Tally:
        if batch.arms == (do(),):
            return told[0]
        counts = np.zeros((len(PROBLEM.arms), 2), np.int64)
        for arm, pulls in zip(batch.arms, batch.counts, strict=True):
            counts[PROBLEM.index(arm)] = (pulls, 0) if arm != do(C=1) else (0, pulls)
        return Tally(PROBLEM, counts)

    batches, _, final = driven(policy("parallel"), PROBLEM, 20, answer)
    assert [batch.arms for batch in batches] == [(do(),), (do(A=1), do(C=1), do(B=0), do(B=1))]
    assert [batch.counts for batch in batches] == [(10,), (2, 2, 2, 2)]
    expected = {do(): 0.6, do(A=0): 5 / 9, do(C=0): 3 / 7}  # conditional means; the rest are the pulls' own
    expected |= {do(A=1): 0, do(B=0): 0, do(B=1): 0, do(C=1): 1}
    assert dict(zip(PROBLEM.arms, final.means, strict=True)) == pytest.approx(expected)
    assert final.arm == do(C=1)


def has(row: dict[str, int], arm: Arm) -> bool:
    return all(row[name] == value for name, value in arm.settings.items())


def literal(problem: Problem, rows: list[dict[str, int]]) -> tuple[dict[Arm, float], list[Arm]]:
    """Algorithm 1 up to its set A, one row at a time; the conditional means, and A."""
    utility = problem.utility
    share = {arm: sum(has(row, arm) for row in rows) / len(rows) for arm in problem.arms[1:]}
    mean = {}
    for arm in problem.arms:
        gained = [utility[row[problem.reward]] for row in rows if has(row, arm)]
        mean[arm] = sum(gained) / len(gained) if gained else float("nan")
    m = 2
    while sum(min(share[a] for a in share if a.targets == (node,)) < 1 / m for node in problem.intervene) > m:
        m += 1
    return mean, [arm for arm in share if share[arm] <= 1 / m]


def three_values(rng: np.random.Generator) -> tuple[CausalNetwork, Problem]:
    """Nodes of 2, 3 and 4 values, a reward of three levels that is a harm, and not every value on offer."""
    sizes = (2, 3, 4)
    mechanisms = {f"X{size}": Mechanism((), rng.dirichlet(np.full(size, 0.7))) for size in sizes}
    mechanisms["Y"] = Mechanism(tuple(mechanisms), rng.dirichlet(np.ones(3), size=sizes))
    network = CausalNetwork(mechanisms)
    more = {"goal": "minimize", "rewards": {0: 0.0, 1: 0.25, 2: 1.0}}
    return network, network.problem("Y", {"X2": [0, 1], "X3": [0, 1, 2], "X4": [1, 3]}, **more)


def test_equals_a_literal_twin() -> None:
    for seed in range(60):
        network, problem = three_values(np.random.default_rng(seed))
        world = World(network, problem, seed)
        rows = network.sample(30, seed=seed)
        listed = [dict(zip(rows, map(int, row), strict=True)) for row in zip(*rows.values(), strict=True)]
        looks = count(problem, rows)
        means, rare = literal(problem, listed)

        def answer(batch: Batch, world: World = world, looks: Tally = looks) -> Tally:
            return looks if batch.arms == (do(),) else world.pull(batch)

        batches, told, final = driven(policy("parallel"), problem, 61, answer)
        assert batches[0] == observe(30, scopes=batches[0].scopes)
        if not rare:
            assert batches[1].arms == (do(),)
            continue
        assert set(batches[1].arms) == set(rare)
        assert set(batches[1].counts) == {31 // len(rare)}
        for j, arm in enumerate(problem.arms):
            expected = told[1].means[j] if arm in rare else means[arm]
            assert final.means[j] == pytest.approx(expected, nan_ok=True)


def test_more_rare_arms_than_pulls_get_one_each_rarest_first() -> None:
    instance = parallel(8, nodes=8)
    batches, _, _ = driven(policy("parallel"), instance.problem, 9, World(instance.network, instance.problem, 1).pull)
    assert batches[1].counts == (1,) * 5
    assert len(set(batches[1].arms)) == 5


def test_looks_at_hand_count() -> None:
    instance = parallel(2, nodes=4, chance=0.1)
    world = World(instance.network, instance.problem, 1)
    seen = world.pull(observe(1000, scopes=tuple((f"X{j}", "Y") for j in range(1, 5))))
    play = policy("parallel").play(instance.problem, 20, np.random.default_rng(1), seen)
    told = world.pull(next(play))
    assert set(play.send(told).arms) >= {do(X1=1), do(X2=1)}  # shares near .1, from 1,010 looks


def test_a_backdoor_path_is_refused_unless_trusted() -> None:
    problem = misspecified_parallel().problem
    with pytest.raises(
        UnsuitableError, match=r"conditioning on X1 is not setting it: X1 <- Z -> X2 -> Y is a back-door path"
    ):
        policy("parallel").check(problem, 100)
    policy("parallel", trust=True).check(problem, 100)
    with pytest.raises(UnsuitableError, match="X <-> Y is a back-door path"):
        policy("parallel").check(canonical("bow").problem, 100)
    for instance in no_backdoor(3, 3, 1, nodes=8):
        policy("parallel").check(instance.problem, 100)


def test_costs_and_parameters_are_refused() -> None:
    with pytest.raises(UnsuitableError, match=r"counts pulls, and do\(A=1\) costs 3"):
        policy("parallel").check(Problem("A -> Y", reward="Y", costs={do(A=1): 3}), 100)
    with pytest.raises(UsageError, match="trust is 1"):
        policy("parallel", trust=1)


@pytest.mark.slow("1 s: regret over 400 runs against its authors' figure")
@pytest.mark.parametrize(("m", "mean", "error"), [(2, 0.0, 0.0), (10, 0.0357, 0.002), (20, 0.1377, 0.0027)])
def test_experiment_1_of_its_authors(m: int, mean: float, error: float) -> None:
    """N = 50, T = 400, epsilon = .3: a faithful re-run gave these means.

    Within 3 combined standard errors, of which .0027 for m = 20 is that of 3,000 runs: a fresh seed would fail 3 times
    in 1,000; this one is fixed.  Seen to fail when all arms are pulled in the second half, and when only half of A is.
    """
    instance = parallel(m, nodes=50, epsilon=0.3)
    found = simulate(
        policy("parallel"), instance.network, instance.problem, horizon=400, runs=scaled(3000, 400), seed=2
    )
    assert abs(found.mean - mean) <= 3 * sqrt(found.error**2 + error**2)


def test_experiment_5_where_conditioning_misleads_for_ever() -> None:
    """Rows with X21=0 have mean 2/3, do(X21=0) has .56 and the best arm .62: the regret tends to .06, not to 0.

    At T = 6,400 the mean over 300 runs was .0583 (.0007); below .03 is 20 standard errors of 100 runs away (false
    alarms below 1e-12).  Seen to fail when all arms are pulled in the second half.
    """
    instance = misspecified_parallel()
    trusting = policy("parallel", trust=True)
    means = [
        simulate(trusting, instance.network, instance.problem, horizon=horizon, runs=100, seed=4).mean
        for horizon in (400, 6400)
    ]
    assert means[1] > 0.03
    assert means[1] > means[0]
