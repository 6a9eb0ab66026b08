"""What every registered policy must do; a new one is picked up by its registration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from whichdo.errors import Unsuitable, UsageError
from whichdo.evidence import Tally
from whichdo.policies import policies, policy
from whichdo.problem import Problem, do
from whichdo.simulation import played as run_played
from whichdo.simulation import simulate
from whichdo.world.instances import canonical, families
from whichdo.world.network import CausalNetwork, bernoulli
from whichdo.world.sampler import SimulatedArena, World

if TYPE_CHECKING:
    from whichdo.policies.base import Policy, Recommendation

EVERY = [policy(name) for name in policies()]
NAMED = pytest.mark.parametrize("played", EVERY, ids=lambda each: each.name)


def plain() -> CausalNetwork:
    """Three causes of Y; do(X2=1) has mean .9 and every other arm at most .6."""
    table = np.full((2, 2, 2), 0.3)
    table[:, 1, :] = 0.9
    return CausalNetwork(
        {f"X{j}": bernoulli((), 0.5 if j != 2 else 0.2) for j in (1, 2, 3)}
        | {"Y": bernoulli(("X1", "X2", "X3"), table)}
    )


def played_out(each: Policy, network: CausalNetwork, problem: Problem, budget: float, seed: int) -> tuple[Any, ...]:
    """Every batch and the recommendation of one run."""
    world = World(network, problem, seed)
    play = each.play(problem, budget, np.random.default_rng(seed), Tally.empty(problem))
    batches = []
    answer: Any = None
    while True:
        try:
            batches.append(play.send(answer))
        except StopIteration as stop:
            final: Recommendation = stop.value
            return batches, final
        answer = world.pull(batches[-1])


@NAMED
@pytest.mark.parametrize("budget", [40, 41, 100, 997])
def test_never_over_budget_and_only_listed_arms(played: Policy, budget: int) -> None:
    for seed, instance in enumerate(
        [canonical("frontdoor"), canonical("bow"), *families()["random-confounded"](seed=1)[:2]]
    ):
        try:
            played.check(instance.problem, budget)
        except Unsuitable:
            continue
        batches, final = played_out(played, instance.network, instance.problem, budget, seed)
        assert sum(batch.pulls for batch in batches) <= budget
        assert {arm for batch in batches for arm in batch.arms} | {final.arm} <= set(instance.problem.arms)


@NAMED
def test_the_same_seed_decides_the_same_and_global_randomness_has_no_say(played: Policy) -> None:
    network = plain()
    problem = network.problem("Y")
    first = played_out(played, network, problem, 200, 5)
    before = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002 - what a user's script may do
    second = played_out(played, network, problem, 200, 5)
    assert first[0] == second[0]
    assert first[1].arm == second[1].arm
    assert before is not None


@NAMED
def test_a_hopeless_budget_is_refused_with_the_least_that_would_do(played: Policy) -> None:
    problem = plain().problem("Y")
    with pytest.raises(Unsuitable, match=f"{re.escape(played.name)} needs a budget of at least") as refused:
        played.check(problem, 1)
    found = re.search(r"at least ([\d.]+)", str(refused.value))
    assert found is not None
    least = float(found[1])
    played.check(problem, least)
    with pytest.raises(Unsuitable):
        played.check(problem, least - 1)
    played_out(played, plain(), problem, least, 1)


@NAMED
def test_an_obvious_best_arm_is_found_in_95_percent_of_200_runs(played: Policy) -> None:
    network = plain()
    found = simulate(played, network, network.problem("Y"), horizon=700, runs=200, seed=3)
    assert sum(arm == do(X2=1) for arm in found.arms) >= 190


@NAMED
def test_costs_are_paid(played: Policy) -> None:
    network = plain()
    problem = network.problem("Y", costs={do(X1=0): 7.5, do(): 0.5})
    try:
        played.check(problem, 301.25)
    except Unsuitable as refused:
        assert "costs" in str(refused)  # noqa: PT017
        return
    found = simulate(played, network, problem, horizon=301.25, runs=20, seed=1)
    assert (found.spent <= 301.25).all()
    assert (found.spent > 240).all()


@NAMED
@pytest.mark.parametrize("dear", [False, True], ids=["equal costs", "different costs"])
def test_a_compiled_run_is_play(played: Policy, dear: bool) -> None:
    """The same recommendation and the same money, on every kind of instance, for every seed."""
    rng = np.random.default_rng(11)
    chosen = [canonical("frontdoor"), canonical("bow"), canonical("two_comp")]
    chosen += [made(seed=2)[0] for name, made in families().items() if name != "bnlearn"]
    for instance in chosen:
        problem, network = instance.problem, instance.network
        if len(problem.arms) > 60:
            continue
        if dear:
            costs = {arm: float(rng.integers(1, 9)) / 2 for arm in problem.arms}
            problem = network.problem(problem.reward, problem.intervene, costs=costs, goal=problem.goal)
        budget = 40.0 * sum(problem.costs.values()) / 3
        arena = SimulatedArena.of(network, problem)
        assert arena is not None
        try:
            played.check(problem, budget)
        except Unsuitable:
            continue
        fast = played.compiled_run(problem, budget, arena)
        if fast is None:
            continue
        for seed in range(12):
            slow_rng, fast_rng = np.random.default_rng(seed), np.random.default_rng(seed)
            key = np.array([seed, 7], np.uint64)
            slow = run_played(played, World(network, problem, key), budget, slow_rng)
            found = fast(key, fast_rng)
            assert found[0] == slow[0]
            assert found[1] == pytest.approx(slow[1])


def test_unknown_names_and_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match=r'There is no policy "smr"\. Did you mean "sr" or "srm"'):
        policy("smr")
    with pytest.raises(UsageError, match="does not take these parameters"):
        policy("ue", speed=3)
    with pytest.raises(UsageError, match="must be uniform or rejects"):
        policy("srm", second_phase="both")
