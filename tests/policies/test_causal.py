"""Causal Thompson sampling and causal KL-UCB: what they know, and what they earn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from whichdo.estimate.estimator import look
from whichdo.estimate.kernel import MEAN, SIZE
from whichdo.estimate.kernel import look as compiled_look
from whichdo.evidence import ROWS, Tally, observe
from whichdo.formulas import Reading
from whichdo.policies.looking import columns, evidence
from whichdo.policies.sequential import Sequential
from whichdo.policy_names import policy
from whichdo.problem import Arm, do
from whichdo.simulation import simulate
from whichdo.world.instances import Instance, canonical, experiment_3, experiment_5, random_confounded
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from whichdo.problem import Problem

OURS = ("causal-ts", "causal-kl-ucb")


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize(
    "instance", [canonical("frontdoor"), canonical("bow"), *random_confounded(5, 3, 2, 4)], ids=lambda each: each.name
)
def test_looks_told_row_by_row_are_the_evidence_of_rank(name: str, instance: Instance) -> None:
    """After 32 looks, each of which was worked out, means and sizes are those of the kernel from their tables."""
    problem = instance.problem
    played = policy(name)
    assert isinstance(played, Sequential)
    world = World(instance.network, problem, 5)
    rows = world.pull(observe(32, detail=ROWS)).rows
    assert rows is not None
    state = played.begin(problem, 100, np.random.default_rng(1), Tally.empty(problem))
    places = [problem.graph.index(column) for column in columns(problem, Reading.ROBUST)]
    for row in rows.codes:
        played.learn(state, 0, int(row[problem.graph.index(problem.reward)]), row[places])
    utility = np.array(list(problem.utility.values()))
    looking = state.looking
    seen = compiled_look(looking.plan, looking.counts, utility)[looking.sources]
    known = looking.sources >= 0
    assert state.known.sizes[1:] == pytest.approx(np.where(known, seen[:, SIZE], 0.0)[1:])
    assert state.known.means[1:][known[1:]] == pytest.approx(seen[1:, MEAN][known[1:]])


def test_logs_at_hand_are_looks_already_made() -> None:
    instance = canonical("frontdoor")
    seen = World(instance.network, instance.problem, 1).pull(observe(5000))
    known, _ = evidence(instance.problem, Reading.ROBUST, seen)
    looked = look(instance.problem, seen, np.array([0.0, 1.0]))
    assert known.sizes[1:] == pytest.approx(looked.by_arm(looked.settled.sizes)[1:])
    assert known.means[1:] == pytest.approx(looked.means[1:])
    assert known.sizes[0] == 5000
    assert known.means[0] == pytest.approx(seen.means[0])
    assert known.wins[0] == known.losses[0] == 0  # no look was made since
    play = policy("causal-ts", doubt=0.0).play(instance.problem, 50, np.random.default_rng(1), seen)
    arms: list[Arm] = []
    answer: Any = None
    world = World(instance.network, instance.problem, 2)
    try:
        while True:
            batch = play.send(answer)
            arms.append(batch.arms[0])
            answer = world.pull(batch)
    except StopIteration:
        pass
    assert arms.count(do(X=1)) >= 48  # .65 against .475 and .30, known from 5,000 looks


def regret(name: str, instances: list[Instance], runs: int, horizon: int = 30_000) -> float:
    return float(
        np.mean(
            [
                simulate(
                    policy(name).trusting(), each.network, each.problem, horizon=horizon, runs=runs, seed=j
                ).regret.mean()
                for j, each in enumerate(instances)
            ]
        )
    )


@pytest.mark.slow("2 s: regret over many runs; finds evidence from looking that is thrown away")
def test_experiment_3_a_tenth_of_crm_and_a_quarter_of_thompson() -> None:
    """At t = 30,000 ours has about 1, CRM 148, Thompson 68, each with a standard error below 6 percent of 148."""
    ours = regret("causal-ts", [experiment_3()], 5)
    assert ours <= regret("crm", [experiment_3()], 5) / 10
    assert ours <= regret("ts", [experiment_3()], 5) / 4


@pytest.mark.slow("2 s: regret over many runs; finds evidence from looking that is thrown away")
def test_experiment_5_a_quarter_of_crm_and_below_thompson() -> None:
    """At t = 30,000 ours has about 100, CRM 1,700, Thompson 440; no run of any comes near another's mean."""
    instances = experiment_5(4, 3)
    ours = regret("causal-ts", instances, 3)
    assert ours <= regret("crm", instances, 3) / 4
    assert ours <= regret("ts", instances, 3)


def opening_of(problem: Problem, budget: int, looks: int = 0) -> int:
    """The looks that causal Thompson sampling makes before another arm, every pull being a loss."""
    world, seen = World(experiment_3().network, problem, np.array([3, 4], np.uint64)), Tally.empty(problem)
    if looks:
        seen = world.pull(observe(looks))
    played = policy("causal-ts")
    assert isinstance(played, Sequential)
    rounds = played.play_by_round(problem, budget, np.random.default_rng(1), seen)
    count = 0
    while rounds.arm == 0 and count < 200:
        rounds.take(0, np.zeros(len(rounds.columns), np.uint8))
        count += 1
    return count


def test_causal_thompson_opens_with_looks_for_the_arms_that_these_settle() -> None:
    """Four for each of six, an eighth of the budget at most; fewer with logged looks, none where they settle nothing.

    do() loses all the time, so that the opening ends as soon as it may.
    """
    problem = experiment_3().problem
    assert 24 <= opening_of(problem, 1_000) < 64
    assert 5 <= opening_of(problem, 40) < 24
    assert opening_of(problem, 1_000, looks=400) < 24
    bow, played = canonical("bow").problem, policy("causal-ts")
    assert isinstance(played, Sequential)
    assert played.begin(bow, 1_000, np.random.default_rng(1), Tally.empty(bow)).opening.tolist() == [0, 0]


def test_in_experiment_3_an_opening_of_looks_saves_half_of_the_regret() -> None:
    """1.3 to 1.9 on other seeds, with a standard error of .2; 3.2 to 4.4 without the opening (seen to fail so)."""
    instance = experiment_3()
    ours = policy("causal-ts").trusting()
    found = simulate(ours, instance.network, instance.problem, horizon=2_000, runs=200, seed=60_412)
    assert found.regret.mean() < 2.6
