"""What every registered policy must do; a new one is picked up by its registration."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from whichdo.errors import TooLarge, Unsuitable, UsageError
from whichdo.evidence import Tally
from whichdo.policies import policies, policy
from whichdo.policies.importance import Importance
from whichdo.problem import Problem, do
from whichdo.simulation import simulate
from whichdo.world.instances import canonical, families
from whichdo.world.network import CausalNetwork, bernoulli
from whichdo.world.sampler import World

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


def equipped(each: Policy, network: CausalNetwork, problem: Problem) -> Policy:
    """The policy, told what it must know beyond the graph; one that cannot be told here says so when it is checked."""
    if isinstance(each, Importance):
        with contextlib.suppress(TooLarge):
            return replace(each, laws=network.parent_laws(problem))
    return each


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
    confounded = [canonical("frontdoor"), canonical("bow"), *families()["random-confounded"](seed=1)[:2]]
    open_to_view = [canonical("backdoor"), *families()["no-backdoor"](seed=1)[:1], *families()["experiment-3"]()]
    for seed, instance in enumerate([*confounded, *open_to_view]):
        told = equipped(played, instance.network, instance.problem)
        try:
            told.check(instance.problem, budget)
        except Unsuitable:
            continue
        batches, final = played_out(told, instance.network, instance.problem, budget, seed)
        assert sum(batch.pulls for batch in batches) <= budget
        assert {arm for batch in batches for arm in batch.arms} | {final.arm} <= set(instance.problem.arms)


@NAMED
def test_the_same_seed_decides_the_same_and_global_randomness_has_no_say(played: Policy) -> None:
    network = plain()
    problem = network.problem("Y")
    played = equipped(played, network, problem)
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
    played = equipped(played, plain(), problem)
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
    played = equipped(played, network, network.problem("Y"))
    found = simulate(played, network, network.problem("Y"), horizon=700, runs=200, seed=3)
    assert sum(arm == do(X2=1) for arm in found.arms) >= 190


@pytest.mark.parametrize("name", ["ue", "sh"])
def test_costs_are_paid(name: str) -> None:
    network = plain()
    problem = network.problem("Y", costs={do(X1=0): 7.5, do(): 0.5})
    found = simulate(policy(name), network, problem, horizon=301.25, runs=20, seed=1)
    assert (found.spent <= 301.25).all()
    assert (found.spent > 280).all()


@pytest.mark.parametrize("name", ["sr", "srm"])
def test_a_policy_that_counts_pulls_refuses_costs(name: str) -> None:
    problem = plain().problem("Y", costs={do(X1=0): 7.5})
    with pytest.raises(Unsuitable, match=r"counts pulls, and do\(X1=0\) costs 7.5"):
        policy(name).check(problem, 100)


def test_unknown_names_and_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match=r'There is no policy "smr"\. Did you mean "sr" or "srm"'):
        policy("smr")
    with pytest.raises(UsageError, match="does not take these parameters"):
        policy("ue", speed=3)
    with pytest.raises(UsageError, match="must be uniform or rejects"):
        policy("srm", second_phase="both")
