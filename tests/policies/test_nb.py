"""gamma-NB-ALG of Nair et al.: when it looks on and when it tries, and what it pays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.policies.driving import driven
from whichdo.counting import count
from whichdo.errors import UnsuitableError, UsageError
from whichdo.evidence import Tally
from whichdo.policy_names import policy
from whichdo.problem import Problem, do
from whichdo.simulation import simulate
from whichdo.world.instances import canonical, no_backdoor
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from whichdo.evidence import Batch


def priced(gamma: float, look: float = 1.0) -> Problem:
    arms = [do(), *(do({name: value}) for name in "ABC" for value in (0, 1))]
    costs = {arm: look * (1.0 if arm == do() else gamma) for arm in arms}
    return Problem("A -> Y; B -> Y; C -> Y", reward="Y", costs=costs)


def looks(problem: Problem) -> Tally:
    """Ten looks in which A=1 once, B=1 four times, C=1 four times; all with Y=0 but those of A=1."""
    rows = [(0, 0, 0, 0)] * 3 + [(0, 1, 0, 0)] * 2 + [(0, 0, 1, 0)] * 2 + [(0, 1, 1, 0)] * 2 + [(1, 0, 0, 1)]
    return count(problem, {name: [row[j] for row in rows] for j, name in enumerate("ABCY")})


@pytest.mark.parametrize("look", [1.0, 0.25])
@pytest.mark.parametrize(("gamma", "looks_on"), [(3.2, False), (3.4, True), (1.0, False), (12.0, True)])
def test_the_switch_is_at_one_over_p_m(gamma: float, look: float, looks_on: bool) -> None:
    """Pairs have shares .1, .4, .4, .6, .6, .9.  Three are rarer than 1/2 and one is rarer than 1/3, so m = 3; p = .1,
    so looking is the better buy from gamma = 1/.3 on.
    """
    problem = priced(gamma, look)

    def answer(batch: Batch) -> Tally:
        return looks(problem) if batch.arms == (do(),) else Tally.empty(problem)

    batches, _, final = driven(policy("nb"), problem, 20 * look, answer)
    assert (batches[0].arms, batches[0].counts) == ((do(),), (10,))
    if looks_on:
        assert (batches[1].arms, batches[1].counts) == ((do(),), (10,))
    else:
        assert (batches[1].arms, batches[1].counts) == ((do(A=1),), (int(10 / gamma),))  # the one pair rarer than 1/3
    assert final.arm == do(A=1)
    assert final.means[0] == pytest.approx(0.1)


def test_pairs_are_counted_not_nodes() -> None:
    """Shares .1, .1, .1 and .7 of A, .6 and .4 of B.  Four pairs are rarer than 1/2 and three rarer than 1/3, so m = 3
    and B is left alone; of nodes two are rarer than 1/2, so counting nodes would give m = 2 and try B=1 too.
    """
    problem = Problem("A -> Y; B -> Y", reward="Y", domains={"A": [0, 1, 2, 3]})
    rows = {"A": [0, 1, 2] + [3] * 7, "B": [0, 1] * 4 + [0, 0], "Y": [0] * 10}
    batches, _, _ = driven(policy("nb"), problem, 20, lambda batch: count(problem, rows))
    assert batches[1].arms == (do(A=0), do(A=1), do(A=2))
    assert batches[1].counts == (3, 3, 3)


def test_means_are_pooled_over_all_looks_where_it_looks_on() -> None:
    problem = priced(12.0)
    _, told, final = driven(policy("nb"), problem, 24, lambda batch: looks(problem))
    assert len(told) == 2
    assert final.means.tolist() == pytest.approx([0.1, 0, 1, 1 / 6, 0, 1 / 6, 0])


def test_the_budget_is_in_cost_units() -> None:
    instance = no_backdoor(3, 1, 4, nodes=8)[0]
    costs = {arm: 2.5 if arm == do() else 10.0 for arm in instance.problem.arms}
    problem = instance.network.problem("Y", list(instance.problem.intervene), costs=costs)
    found = simulate(policy("nb"), instance.network, problem, budget=501.0, runs=40, seed=1)
    assert (found.spent <= 501).all()
    assert (found.spent > 400).all()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(
        UnsuitableError, match=r"one cost for all interventions; do\(A=0\) costs 1 and do\(A=1\) costs 3. Ch"
    ):
        policy("nb").check(Problem("A -> Y", reward="Y", costs={do(A=1): 3}), 100)
    with pytest.raises(UnsuitableError, match=r"nb needs a budget of at least 24: half of it for looks at 1"):
        policy("nb").check(priced(12.0), 23)
    policy("nb").check(priced(12.0), 24)
    with pytest.raises(UnsuitableError, match="X <- Z -> Y is a back-door path"):
        policy("nb").check(canonical("backdoor").problem, 100)
    policy("nb", trust=True).check(canonical("backdoor").problem, 100)
    with pytest.raises(UsageError, match="trust is 'yes'"):
        policy("nb", trust="yes")


def test_cheap_looks_win_where_pulls_are_dear() -> None:
    """X is 1 in a tenth of the rows and then the reward has mean .8, else .5.  With gamma = 50 and B = 2,000 looking on
    sees X=1 about 200 times; half the budget would buy 20 pulls.

    It errs when 200 coins of .8 fall below 1,000 of .55 or less: a chance below 1e-9 for each of 100 runs.  Seen to
    fail when the switch is turned round and pulls come first.
    """
    network = CausalNetwork({"X": bernoulli((), 0.1), "Z": bernoulli((), 0.5), "Y": bernoulli(("X",), [0.5, 0.8])})
    costs = {do(): 1.0} | {do({name: value}): 50.0 for name in "XZ" for value in (0, 1)}
    problem = network.problem("Y", costs=costs)
    found = simulate(policy("nb"), network, problem, budget=2000, runs=100, seed=1)
    assert found.regret.max() == 0
    assert np.all(found.spent == 2000)
