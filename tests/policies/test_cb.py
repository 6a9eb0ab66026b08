"""CB-ALG: exact inference for all arms at once, its plays against a slow twin, and the paper's Experiment 4."""

from __future__ import annotations

from itertools import product
from math import prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.policies.driving import driven
from tests.soak import scaled
from whichdo.errors import UnsuitableError, UsageError
from whichdo.estimate.frontier import extent, onward, reach, steps
from whichdo.policy_names import policy
from whichdo.problem import Problem, do
from whichdo.simulation import simulate
from whichdo.world.instances import canonical, experiment_1, experiment_3, experiment_4
from whichdo.world.mechanism import Mechanism
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import FloatArray
    from whichdo.evidence import Tally
    from whichdo.problem import Arm

Rows = dict[str, dict[tuple[int, ...], list[float]]]


def random_network(rng: np.random.Generator) -> tuple[CausalNetwork, Problem]:
    """Five nodes of two or three values with up to two parents each; not all need act on the reward."""
    names = ["A", "B", "C", "D", "E"]
    sizes = {name: int(rng.integers(2, 4)) for name in names}
    mechanisms = {}
    for place, name in enumerate(names):
        parents = sorted(rng.choice(names[:place], min(place, int(rng.integers(3))), replace=False).tolist())
        mechanisms[name] = Mechanism(
            parents, rng.dirichlet(np.full(sizes[name], 2.0), [sizes[other] for other in parents])
        )
    causes = sorted(rng.choice(names, int(rng.integers(1, 4)), replace=False).tolist())
    mechanisms["Y"] = Mechanism(causes, rng.dirichlet(np.ones(3), [sizes[name] for name in causes]))
    network = CausalNetwork(mechanisms)
    offered = {name: range(sizes[name]) if name != "B" else [1] for name in names if name != "D"}
    return network, network.problem("Y", offered, rewards={0: 0.0, 1: 0.3, 2: 1.0}, goal="minimize")


# ------------------------------------------------------------------------------------------------------- inference


def test_inference_equals_the_exact_laws() -> None:
    """With a thousand million counts in the true proportions, the laws of all parents and the means of all arms."""
    for seed in range(25):
        network, problem = random_network(np.random.default_rng(seed))
        law = np.ones((len(problem.arms), 1))
        for step in steps(problem):
            found, _ = step.parents(law)
            for j, arm in enumerate(problem.arms):
                exact = network.law(step.scope[:-1], arm.settings).ravel() * (step.node not in arm.settings)
                assert found[j] == pytest.approx(exact, abs=1e-6)
            counts = np.round(network.law(step.scope) * 1e9).astype(np.int64).reshape(step.rows, step.size)
            law = step.onward(law, counts)
        truth = network.means(problem)
        assert law @ np.array(list(problem.rewards.values())) == pytest.approx(truth, abs=1e-6)


def test_kernels_equal_plain_loops() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        arms, before, rows, size, after = (int(rng.integers(1, 6)) for _ in range(5))
        law = rng.random((arms, before))
        row_of = rng.integers(0, rows, before)
        next_of = rng.integers(0, after, (before, size))
        counts = rng.integers(0, 3, (rows, size))
        forced = rng.integers(-1, size, arms)
        reached = np.zeros((arms, rows))
        moved = np.zeros((arms, after))
        for arm, cell in product(range(arms), range(before)):
            sets = forced[arm] >= 0
            reached[arm, row_of[cell]] += 0 if sets else law[arm, cell]
            for value in range(size):
                row = counts[row_of[cell]]
                share = row[value] / row.sum() if row.sum() else 1 / size
                if sets:
                    share = float(forced[arm] == value)
                moved[arm, next_of[cell, value]] += law[arm, cell] * share
        found, best = reach(law, row_of, rows, forced)
        assert found == pytest.approx(reached)
        assert best.tolist() == reached.argmax(axis=0).tolist()  # random numbers: no two alike but zeros
        assert onward(law, counts, row_of, next_of, after, forced) == pytest.approx(moved)


def test_the_frontier_holds_only_what_is_still_needed() -> None:
    """A chain of 40 nodes: two values of one node and two of the next, for 81 arms."""
    names = [f"X{j}" for j in range(40)]
    problem = Problem(" -> ".join([*names, "Y"]), reward="Y")
    assert extent(problem).rows == 1 + 40 * 2
    assert extent(problem).numbers == 4 * 81


# ------------------------------------------------------------------------------------------------------- the plays


class Twin:
    """CB-ALG by enumeration of all joint values, one arm and one row at a time."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.nodes = problem.graph.ancestors([problem.reward])
        self.size = {name: len(problem.domains[name]) for name in self.nodes}

    def rows(self, node: str) -> list[tuple[int, ...]]:
        return list(product(*(range(self.size[name]) for name in self.problem.graph.parents(node))))

    def chance(self, alpha: Rows, arm: Arm, wanted: Mapping[str, int], among: Sequence[str]) -> float:
        """The probability of some values under an arm, by summing over all values of the nodes ``among``."""
        total = 0.0
        for values in product(*(range(self.size[name]) for name in among)):
            cell = dict(zip(among, values, strict=True))
            if any(cell[name] != value for name, value in wanted.items()):
                continue
            factors = []
            for name in among:
                if name in arm.settings:
                    factors.append(float(self.problem.domains[name][cell[name]] == arm.settings[name]))
                else:
                    given = tuple(cell[other] for other in self.problem.graph.parents(name))
                    factors.append(alpha[name][given][cell[name]])
            total += prod(factors)
        return total

    def best(self, alpha: Rows, node: str, row: tuple[int, ...]) -> Arm:
        """A*(n, pi): the first arm that leaves the node free and shows the row most often."""
        among = self.nodes[: self.nodes.index(node)]
        wanted = dict(zip(self.problem.graph.parents(node), row, strict=True))
        free = [arm for arm in self.problem.arms if node not in arm.settings]
        chances = [self.chance(alpha, arm, wanted, among) for arm in free]
        return next(arm for arm, chance in zip(free, chances, strict=True) if chance >= max(chances) - 1e-9)

    def learned(self, told: Tally, node: str) -> dict[tuple[int, ...], list[float]]:
        scope = (*self.problem.graph.parents(node), node)
        found = {}
        for row in self.rows(node):
            tables: list[Any] = [t[scope].count for arm, t in told.tables.items() if node not in arm.settings]
            counts = [sum(int(table[(*row, value)]) for table in tables) for value in range(self.size[node])]
            found[row] = [each / sum(counts) if sum(counts) else 1 / len(counts) for each in counts]
        return found


@pytest.mark.parametrize("budget", [200, 403])
def test_equals_a_slow_twin(budget: int) -> None:
    for seed in range(6):
        network, problem = random_network(np.random.default_rng(seed))
        twin = Twin(problem)
        each = budget // (3 * sum(len(twin.rows(node)) for node in twin.nodes))
        batches, told, final = driven(policy("cb"), problem, budget, World(network, problem, seed).pull)
        assert len(batches) == len(twin.nodes) + 1
        alpha: Rows = {}
        again = dict.fromkeys(problem.arms, 0)
        for node, batch, answer in zip(twin.nodes, batches[:-1], told[:-1], strict=True):
            expected: dict[Any, int] = {}
            for row in twin.rows(node):
                arm = twin.best(alpha, node, row)
                expected[arm] = expected.get(arm, 0) + each
                again[arm] += each
            assert dict(zip(batch.arms, batch.counts, strict=True)) == expected
            alpha[node] = twin.learned(answer, node)
        more, first = divmod(budget - 2 * sum(again.values()), len(problem.arms))
        expected = {arm: again[arm] + more + (j < first) for j, arm in enumerate(problem.arms)}
        assert dict(zip(batches[-1].arms, batches[-1].counts, strict=True)) == expected
        final_rows = {node: twin.learned(told[-1], node) for node in twin.nodes}
        worth = list(enumerate(problem.utility.values()))
        means = [
            sum(value * twin.chance(final_rows, arm, {"Y": level}, twin.nodes) for level, value in worth)
            for arm in problem.arms
        ]
        assert final.means.tolist() == pytest.approx(means)
        assert sum(batch.pulls for batch in batches) == budget


def test_truncation_leaves_rows_out() -> None:
    """In Experiment 3 do(X1=x) makes the rows of X2 and X3 sure; those of Y are reached with 9/16 or 1/2 at most.

    At .3 nothing is left out.  At .85 Y's rows are: Y is taken for a coin, and every arm has mean 1/2.
    """
    instance = experiment_3()
    world = World(instance.network, instance.problem, 3)
    batches, _, final = driven(policy("cb", truncation=0.3), instance.problem, 900, world.pull)
    assert len(batches) == 5
    assert final.arm in {do(), do(X1=0), do(X1=1)}
    batches, _, final = driven(policy("cb", truncation=0.85), instance.problem, 900, world.pull)
    assert [batch.scopes for batch in batches[:-1]] == [(("X1",),), (("X1", "X2"),), (("X1", "X3"),)]
    assert sum(batch.pulls for batch in batches) == 900
    assert final.means.tolist() == pytest.approx([0.5] * 7)


def test_the_optimal_mixture_spends_all() -> None:
    instance = experiment_3()
    batches, _, _ = driven(
        policy("cb", eta="optimal"), instance.problem, 1000, World(instance.network, instance.problem, 3).pull
    )
    assert sum(batch.pulls for batch in batches) == 1000


# -------------------------------------------------------------------------------------------------------- refusals


def test_what_does_not_fit_is_refused() -> None:
    """Experiment 3 has 1 + 2 + 2 + 4 rows."""
    with pytest.raises(UnsuitableError, match=r"at least 27: 3 pulls of each of C = 9 rows"):
        policy("cb").check(experiment_3().problem, 26)
    policy("cb").check(experiment_3().problem, 27)
    with pytest.raises(UnsuitableError, match=r"X <-> Y is a hidden cause that acts on Y. Choose srm"):
        policy("cb").check(canonical("bow").problem, 1000)
    policy("cb").check(Problem("X -> Y; X -> A; A <-> B", reward="Y"), 1000)  # what is hidden does not act on Y
    with pytest.raises(UnsuitableError, match=r"do\(X=1\) costs 2"):
        policy("cb").check(Problem("X -> Y", reward="Y", costs={do(X=1): 2}), 1000)
    with pytest.raises(UsageError, match="truncation is 2"):
        policy("cb", truncation=2)
    with pytest.raises(UsageError, match="eta is 'best'"):
        policy("cb", eta="best")


def test_a_hundred_parents_are_refused_before_anything_is_laid_out() -> None:
    with pytest.raises(UnsuitableError, match=r"more than 1,099,511,627,776: Y has 100 parents. Choose srm"):
        policy("cb").check(experiment_1(1, 1, nodes=100)[0].problem, 10**6)
    many = Problem("; ".join(f"X{j} -> Y" for j in range(3000)), reward="Y")
    for name in ("cb", "importance"):
        with pytest.raises(UnsuitableError, match="3000 parents"):
            policy(name).check(many, 10**6)


def test_a_wide_frontier_is_refused() -> None:
    """20 coins, each with a child of its own, in an order that keeps all coins until the last: 2**20 joint values."""
    coins = "; ".join(f"A{j}" for j in range(20))
    text = coins + "; " + "; ".join(f"A{j} -> B{j} -> {'Y' if j == 0 else f'B{j - 1}'}" for j in range(20))
    with pytest.raises(UnsuitableError, match="would keep more than 4,194,304 joint probabilities"):
        policy("cb").check(Problem(text, reward="Y"), 10**6)


# ------------------------------------------------------------------------------------------------------ Experiment 4


def regrets(name: str, horizon: int, runs: int) -> FloatArray:
    found = [
        simulate(policy(name), each.network, each.problem, horizon=horizon, runs=runs, seed=number).regret
        for number, each in enumerate(experiment_4(20, seed=3))
    ]
    return np.concatenate(found)


@pytest.mark.slow("2 s: regret over many runs against the paper's figure")
@pytest.mark.parametrize(
    ("name", "horizon", "least", "most", "error"),
    [("cb", 500, 0.0, 0.003, 0.0), ("cb", 1000, 0.0, 0.0, 0.0), ("srm", 500, 0.0242, 0.0242, 0.0058)],
)
def test_experiment_4(name: str, horizon: int, least: float, most: float, error: float) -> None:
    """A faithful re-run of 200 runs gave these: CB-ALG is better here than SRM-ALG, not worse as in the paper's figure.

    Within 3 combined standard errors.  cb erred in 6 of 1,000 runs at T = 500 and in none at 1,000; it would take 13
    and 10 errors in 160 runs to fail: false alarms below 1e-9.  srm: 3 in 1,000 for a fresh seed; this one is fixed.
    Seen to fail when inference forgets which arms set a node.
    """
    regret = regrets(name, horizon, scaled(40, 8))
    own = regret.std(ddof=1) / sqrt(len(regret))
    reach = 3 * sqrt(own**2 + error**2)
    assert least - reach <= regret.mean() <= most + reach
