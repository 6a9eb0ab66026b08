"""C-UCB of Lu et al.: a plain twin, what every pull tells, and the regret where all arms show all cells."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
import pytest

from tests.policies.driving import driven
from tests.worlds import family
from whichdo.errors import UnsuitableError, UsageError
from whichdo.evidence import ROWS, Batch, Rows, Tally
from whichdo.policies.c_ucb import CUCB
from whichdo.policies.sequential import Sequential
from whichdo.policy_names import policy
from whichdo.problem import Problem, do
from whichdo.session import Session
from whichdo.simulation import run_rounds, simulate
from whichdo.world.instances import canonical, experiment_1, experiment_3
from whichdo.world.mechanism import Mechanism, bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World


def many_values() -> tuple[CausalNetwork, Problem]:
    """Parents of three and two values that come in another order than the graph's, and a hidden cause elsewhere."""
    rng = np.random.default_rng(5)
    network = CausalNetwork(
        {
            "U": bernoulli((), 0.5),
            "A": Mechanism(("U",), [[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]]),
            "B": bernoulli(("A", "U"), rng.random((3, 2))),
            "C": bernoulli(("B",), [0.3, 0.8]),
            "Y": Mechanism(("C", "A"), rng.dirichlet(np.ones(3), size=(2, 3))),
        },
        hidden={"U"},
    )
    return network, network.problem("Y", rewards={0: 0.0, 1: 0.3, 2: 1.0}, goal="minimize")


def test_it_chooses_as_a_plain_twin() -> None:
    """The twin sums all bounds again every round; sums that are equal but for rounding are left to the policy."""
    instances = [experiment_3(), canonical("hiddenV"), family("no-backdoor", 3)[0]]
    for number, (network, problem) in enumerate([(i.network, i.problem) for i in instances] + [many_values()]):
        laws = network.parent_laws(problem)
        played = policy("c-ucb", laws=laws)
        played.check(problem, 500)
        batches, answers, final = driven(played, problem, 500, World(network, problem, number).pull, number)
        parents = problem.graph.parents("Y")
        sizes = [len(problem.domains[name]) for name in parents]
        came: dict[int, list[float]] = {cell: [] for cell in range(laws.shape[1])}
        clear = 0
        for batch, told in zip(batches, answers, strict=False):
            bounds = []
            for gains in came.values():
                mean = sum(gains) / len(gains) if gains else 0.0
                bounds.append(mean + sqrt(2 * log(500**2) / max(1, len(gains))))
            sums = [sum(p * u for p, u in zip(law, bounds, strict=True)) for law in laws]
            best = [arm for arm, total in enumerate(sums) if total > max(sums) - 1e-9]
            clear += len(best) == 1
            assert problem.index(batch.arms[0]) in best
            assert batch.detail is ROWS
            assert told.rows is not None
            row = dict(zip(problem.graph.nodes, told.rows.codes[0].tolist(), strict=True))
            cell = 0
            for name, size in zip(parents, sizes, strict=True):
                cell = cell * size + row[name]
            came[cell].append(list(problem.utility.values())[row["Y"]])
        assert sum(map(len, came.values())) == 500
        assert clear > 100
        means = np.array([sum(gains) / len(gains) if gains else 0.5 for gains in came.values()])
        assert final.means.tolist() == pytest.approx((laws @ means).tolist())
        assert final.arm == problem.arms[int(np.argmax(final.means))]


def test_by_hand() -> None:
    """X -> Y with P(X=1) = 1/4 and T = 4, so that a bound is mean + sqrt(4 ln 4 / n) = mean + 2.355 / sqrt(n).

    At first all sums are equal and the lot decides; say it shows X=0, Y=1.  Then U = 3.355, 2.355: do(X=0) is best and
    shows X=0, Y=0: U = .5 + 1.665, 2.355: do(X=1) is best; it gives 0 and U_1 stays 2.355: do(X=1) again, and U_1 is
    1.665.  The final means are .5 and 0, and 3/8 for do().
    """
    problem = Problem("X -> Y", reward="Y")
    told = iter([(0, 1), (0, 0), (1, 0), (1, 0)])

    def answer(batch: Batch) -> Tally:
        x, y = next(told)
        counts = np.zeros((3, 2), np.int64)
        counts[problem.index(batch.arms[0]), y] = 1
        return Tally(problem, counts, {}, Rows(np.zeros(1, np.int64), np.array([[x, y]], np.uint8)))

    played = CUCB([[0.75, 0.25], [1.0, 0.0], [0.0, 1.0]])
    batches, _, final = driven(played, problem, 4, answer, seed=0)
    first = problem.arms[int(np.argmax(np.random.default_rng(0).random(3)))]
    assert [batch.arms[0] for batch in batches] == [first, do(X=0), do(X=1), do(X=1)]
    assert final.means.tolist() == pytest.approx([3 / 8, 1 / 2, 0])


def test_a_session_is_told_whole_rows_of_every_arm() -> None:
    problem = Problem("Z -> X; X -> Y", reward="Y", intervene=["X"])
    session = Session(CUCB([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]), problem, horizon=6)
    while not session.finished:
        (arm,) = session.ask()
        assert {"X", "Y"} <= set(session.needed)
        session.tell(arm, {"Z": 0, "X": arm.settings.get("X", 0), "Y": 1})
    assert session.told.pulls.sum() == 6


@pytest.mark.slow("1 s: 14,000 rounds one by one; finds a row that is lost between blocks")
@pytest.mark.parametrize("name", ["c-ucb", "crm-nb"])
def test_rows_go_on_where_a_block_ends(name: str) -> None:
    """Blocks have 4,096 rows; in 14,000 rounds the arms that are pulled most need several, at different times."""
    network = CausalNetwork({"A": bernoulli((), 0.4), "B": bernoulli((), 0.5), "Y": bernoulli(("A",), [0.5, 0.5])})
    problem = network.problem("Y", ["A"])
    played: Any = CUCB(network.parent_laws(problem)) if name == "c-ucb" else policy(name)
    assert isinstance(played, Sequential)
    key, budget = np.array([3, 4], np.uint64), 14_000
    world = World(network, problem, key)
    batches, _, final = driven(played, problem, budget, world.pull, 5)
    arms = [problem.index(batch.arms[0]) for batch in batches]
    record, means, _ = run_rounds(
        played, network, problem, budget, key, np.random.default_rng(5), np.arange(1, budget + 1)
    )
    assert np.diff(record, axis=0, prepend=0).argmax(axis=1).tolist() == arms
    assert means.tolist() == final.means.tolist()
    assert sum(count > 4096 for count in record[-1]) >= (2 if name == "c-ucb" else 1)


def test_what_does_not_fit_is_refused() -> None:
    network, problem = many_values()
    laws = network.parent_laws(problem)
    with pytest.raises(
        UnsuitableError, match=r"c-ucb needs .* an array of 8 arms by 6 cells; in a simulation, laws=net"
    ):
        policy("c-ucb").check(problem, 100)
    with pytest.raises(
        UnsuitableError, match=r"7 rows of 6; this problem has 8 arms and 6 cells of the parents \['A', 'C'\]"
    ):
        CUCB(laws[1:]).check(problem, 100)
    with pytest.raises(UnsuitableError, match=r"X <-> Y is a hidden cause\. Choose ucb or ts"):
        policy("c-ucb").check(canonical("bow").problem, 100)
    with pytest.raises(UnsuitableError, match="joint law of the 100 parents of Y under each of 201 arms"):
        policy("c-ucb").check(experiment_1(1, 1, nodes=100)[0].problem, 1000)
    with pytest.raises(UnsuitableError, match="c-ucb needs a budget of at least 2"):
        CUCB(laws).check(problem, 1)
    with pytest.raises(UsageError, match=r"laws must sum to one in row 0; found 0\.9"):
        policy("c-ucb", laws=[[0.5, 0.4]])
    assert CUCB(laws) == CUCB(laws.tolist())
    assert hash(CUCB(laws)) == hash(CUCB(laws.tolist()))


def shared_cells() -> tuple[CausalNetwork, Problem]:
    """Eight coins each turn Z a little, by .02 to .16, and the reward follows Z: 17 arms, and two cells for all."""
    names = [f"A{j}" for j in range(1, 9)]
    coins = np.indices((2,) * 8) - 0.5
    table = 0.5 + sum(0.02 * j * coin for j, coin in enumerate(coins, start=1))
    mechanisms = {name: bernoulli((), 0.5) for name in names}
    network = CausalNetwork(mechanisms | {"Z": bernoulli(names, table), "Y": bernoulli(("Z",), [0.3, 0.7])})
    return network, network.problem("Y", names)


def test_where_all_arms_show_all_cells_the_regret_stays() -> None:
    """Over 200 runs the regret was .76 with a standard deviation of .68, the same at 300 as at 30,000 rounds, where
    UCB's is 752: the laws say which arm is best as soon as it is known which cell is.

    A mean of 1.5 is 6.9 standard errors of 40 runs above: a false alarm in 10^8 at most.  UCB's 100 at 5,000 rounds is
    further off.  Seen to fail when only looks are learned from (162) and when the wrong cell is counted (319).
    """
    network, problem = shared_cells()
    played = policy("c-ucb", laws=network.parent_laws(problem))
    found = simulate(played, network, problem, horizon=5_000, runs=40, seed=2)
    assert found.mean < 1.5
    assert simulate(policy("ucb"), network, problem, horizon=5_000, runs=4, seed=2).mean > 100
