"""What the sampler draws has the exact law, at every detail.

Chi-square tests reject at 1e-9.  With fixed seeds they pass or fail for good; each is seen to fail on a planted bug, a
threshold with one wrong bit or two inputs swapped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from tests.soak import repeated
from tests.world.enumeration import marginal, problem_on, random_network
from whichdo.errors import GraphError, UsageError
from whichdo.evidence import REWARDS, ROWS, TABLES, Batch, observe, pull, spread
from whichdo.kernels.binary import BinaryPlan
from whichdo.kernels.random import BLOCK, seed_streams
from whichdo.problem import Arm, do
from whichdo.world.mechanism import Mechanism, bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import Stream, World
from whichdo.world.sampling_plans import look_plan

if TYPE_CHECKING:
    from whichdo.evidence import Tally

LEVEL = 1e-9


def fits(counts: np.ndarray[Any, Any], law: np.ndarray[Any, Any]) -> bool:
    """Whether counts could come from a law: nothing impossible occurred, and chi-square does not reject."""
    counts, law = np.asarray(counts).ravel(), np.asarray(law).ravel()
    if (counts[law <= 0] > 0).any():
        return False
    expected = law[law > 0] * counts.sum()
    seen = counts[law > 0]
    # Cells with few expected counts are pooled, or their skewness would spoil the chi-square law.
    small = expected < 20
    expected = np.append(expected[~small], expected[small].sum())
    seen = np.append(seen[~small], seen[small].sum())
    keep = expected > 0
    if keep.sum() < 2:
        return True
    statistic = ((seen[keep] - expected[keep]) ** 2 / expected[keep]).sum()
    return bool(stats.chi2.sf(statistic, keep.sum() - 1) > LEVEL)


def random_binary(rng: np.random.Generator) -> CausalNetwork:
    """Distinct rows, equal rows, dyadic probabilities, certain ones, and a node with eight inputs."""
    mechanisms: dict[str, Mechanism] = {}
    names = [f"B{j}" for j in range(10)]
    for j, name in enumerate(names):
        inputs = [names[i] for i in rng.permutation(j)[: int(rng.integers(0, 4))]] if j < 9 else names[:8]
        shape = (2,) * len(inputs)
        table = [rng.random(shape), np.full(shape, 1 / 18), rng.integers(0, 9, shape) / 8][int(rng.integers(3))]
        mechanisms[name] = bernoulli(inputs, table)
    return CausalNetwork(mechanisms, hidden={"B1"})


SCOPES = (
    ("B9", "B0", "B2"),
    ("B3",),
    ("B2", "B4", "B5", "B6", "B7", "B8"),
    tuple(f"B{j}" for j in (0, 2, 3, 4, 5, 6, 7, 8, 9)),
)


@pytest.mark.parametrize("seed", range(repeated(12, quick=3)))
@pytest.mark.parametrize("arm", [do(), do(B5=1), do(B0=0)], ids=str)
def test_tables_of_binary_networks_have_the_exact_law(seed: int, arm: Arm) -> None:
    network = random_binary(np.random.default_rng(seed))
    problem = network.problem("B9")
    tally = World(network, problem, seed).pull(Batch((arm,), (100_000,), TABLES, SCOPES))
    forced = network.codes_of(arm.settings)
    for scope in SCOPES:
        table = tally.tables[arm][scope]
        assert table.total == 100_000
        assert fits(table.count, marginal(network, scope, forced))
    assert fits(tally.levels[arm], marginal(network, ("B9",), forced))


@pytest.mark.parametrize("detail", [REWARDS, TABLES, ROWS])
def test_any_domain_has_the_exact_law_at_every_detail(detail: Any) -> None:
    rng = np.random.default_rng(40)
    for trial in range(40):
        network = random_network(rng, most_values=4)
        problem = problem_on(network, rng)
        arm = problem.arms[int(rng.integers(len(problem.arms)))]
        scope = tuple(network.graph.nodes)
        tally = World(network, problem, trial).pull(Batch((arm,), (20_000,), detail, (scope,)))
        forced = network.codes_of(arm.settings)
        assert fits(tally.levels[arm], marginal(network, (problem.reward,), forced))
        if detail is TABLES:
            assert fits(tally.tables[arm][scope].count, marginal(network, scope, forced))
        if detail is ROWS:
            assert tally.rows is not None
            flat = np.ravel_multi_index(tuple(tally.rows.codes.T.astype(int)), [network.sizes[name] for name in scope])
            counts = np.bincount(flat, minlength=int(np.prod([network.sizes[name] for name in scope])))
            assert fits(counts, marginal(network, scope, forced))


def count(network: CausalNetwork, plan: BinaryPlan, scope: tuple[str, ...]) -> np.ndarray[Any, Any]:
    stream = Stream(network, look_plan(network, (scope,), ()), seed_streams(np.random.SeedSequence(5)))
    stream._plan = stream._plan._replace(steps=plan)
    return stream.tables(400_000)[1][scope].count


def test_the_law_test_sees_a_wrong_threshold_bit_and_swapped_inputs() -> None:
    """Planted bugs: bit 7 of one threshold (0.4 percent of one row), and the two inputs of a node exchanged."""
    rng = np.random.default_rng(8)
    network = CausalNetwork(
        {"A": bernoulli((), 0.4), "B": bernoulli(("A",), [0.3, 0.6]), "C": bernoulli(("A", "B"), rng.random((2, 2)))}
    )
    scope = ("A", "B", "C")
    law = marginal(network, scope, {})
    plan = Stream(network, look_plan(network, (scope,), ()), seed_streams(np.random.SeedSequence(5)))._plan.steps
    assert isinstance(plan, BinaryPlan)
    assert fits(count(network, plan, scope), law)
    wrong = plan.thresholds.copy()
    wrong[0] ^= np.uint64(1 << 57)
    assert not fits(count(network, plan._replace(thresholds=wrong), scope), law)
    assert not fits(count(network, plan._replace(inputs=np.array([0, 1, 0])), scope), law)


def test_rows_do_not_depend_on_how_they_are_asked() -> None:
    network = random_binary(np.random.default_rng(0))
    problem = network.problem("B9")
    whole = World(network, problem, 3).pull(observe(BLOCK + 500, detail=ROWS)).rows
    world = World(network, problem, 3)
    parts = [world.pull(observe(n, detail=ROWS)).rows for n in (1, 63, 0, 64, BLOCK, 372)]
    assert whole is not None
    assert np.concatenate([part.codes for part in parts if part is not None]).tolist() == whole.codes.tolist()
    assert network.sample(10, seed=1)["B9"].tolist() == network.sample(9000, seed=1)["B9"][:10].tolist()


def told(tally: Tally) -> tuple[Any, ...]:
    return tally.counts.tolist(), {arm: {s: t.tolist() for s, t in f.items()} for arm, f in tally.tables.items()}


def test_the_same_seed_tells_the_same_and_arms_do_not_disturb_each_other() -> None:
    network = random_binary(np.random.default_rng(2))
    problem = network.problem("B9")
    first, second = World(network, problem, 9), World(network, problem, 9)
    second.pull(spread(999, problem.arms))
    second.pull(pull(do(B5=0), 70, detail=TABLES))
    assert told(first.pull(pull(do(B3=1), 70, detail=TABLES))) == told(second.pull(pull(do(B3=1), 70, detail=TABLES)))
    assert told(first.pull(observe(5000))) != told(World(network, problem, 10).pull(observe(5000)))


def test_a_scope_too_wide_to_lay_out_is_counted_by_the_cells_that_occur() -> None:
    """Forty fair coins: 2^40 cells, 1,000 samples."""
    network = CausalNetwork({f"C{j}": bernoulli((), 0.5) for j in range(40)} | {"Y": bernoulli((), 0.5)})
    problem = network.problem("Y")
    wide = tuple(f"C{j}" for j in range(40))
    world = World(network, problem, 1)
    tally = world.pull(observe(1000, scopes=[wide, ("C3",)])) + world.pull(observe(500, scopes=[wide, ("C3",)]))
    table = tally.tables[do()][wide]
    assert table.cells is not None
    assert table.total == 1500
    assert len(table.cells) == len(np.unique(table.cells, axis=0)) == 1500
    narrow = tally.tables[do()][("C3",)]
    assert narrow.count[1] == table.count[table.cells[:, 3] == 1].sum()


def test_a_scope_that_is_named_twice_is_counted_once() -> None:
    """And the tables behind it stay where they are: A is always 1, B never."""
    network = CausalNetwork({"A": bernoulli((), 1.0), "B": bernoulli((), 0.0), "Y": bernoulli((), 0.5)})
    tables = World(network, network.problem("Y"), 1).pull(observe(50, scopes=[("A",), ("A",), ("B",)])).tables[do()]
    assert {scope: table.tolist() for scope, table in tables.items()} == {("A",): [0, 50], ("B",): [50, 0]}


def test_rewards_of_a_reward_with_levels_are_multinomial() -> None:
    network = CausalNetwork({"X": bernoulli((), 0.3), "Y": Mechanism(("X",), [[0.2, 0.3, 0.5], [0.7, 0.0, 0.3]])})
    problem = network.problem("Y", rewards={0: 0.0, 1: 0.5, 2: 1.0})
    tally = World(network, problem, 4).pull(spread(300_000, problem.arms))
    assert tally.levels[do(X=1)][1] == 0
    assert tally.means == pytest.approx(network.means(problem), abs=0.01)


def test_nothing_is_drawn_for_no_pulls() -> None:
    network = random_binary(np.random.default_rng(2))
    world = World(network, network.problem("B9"), 1)
    for detail in (REWARDS, TABLES, ROWS):
        assert world.pull(observe(0, detail=detail)).pulls.sum() == 0


def test_bad_batches_are_refused() -> None:
    with pytest.raises(UsageError, match="The number of pulls is -1; it cannot be negative"):
        observe(-1)
    with pytest.raises(UsageError, match=r"The number of pulls is 2\.7; it must be a whole number"):
        observe(2.7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="lists an arm twice"):
        Batch((do(), do()), (1, 2))
    with pytest.raises(UsageError, match="no arm to spread"):
        spread(5, ())


def test_what_is_hidden_or_unknown_cannot_be_counted() -> None:
    network = random_binary(np.random.default_rng(2))
    world = World(network, network.problem("B9"), 1)
    with pytest.raises(GraphError, match='"B1" is hidden'):
        world.pull(observe(10, scopes=[("B1", "B9")]))
    with pytest.raises(GraphError, match='no node "C"'):
        world.pull(observe(10, scopes=[("C",)]))


def test_a_number_for_a_detail_is_that_detail() -> None:
    network = random_binary(np.random.default_rng(2))
    tally = World(network, network.problem("B9"), 1).pull(Batch((do(),), (5,), 1))  # type: ignore[arg-type]
    assert tally.tables


def test_tallies_add() -> None:
    network = random_binary(np.random.default_rng(2))
    problem = network.problem("B9")
    world = World(network, problem, 1)
    first, second = world.pull(observe(300)), world.pull(spread(50, problem.arms[:7]))
    both = first + second
    assert both.pulls.sum() == 350
    assert np.isnan(both.means[-1])
    assert set(both.tables) == {do()}
