"""Every policy on a pruned problem: do() is a look that is never named, and graph-free policies do not pull it."""

from __future__ import annotations

import numpy as np
import pytest

import whichdo as wd
from tests.policies.driving import batch_by_batch
from tests.policies.test_conformance import EVERY, SEQUENTIAL, equipped, played_out
from tests.soak import repeated
from whichdo.errors import UnsuitableError, UsageError
from whichdo.evidence import Batch, Tally, observe
from whichdo.policies.base import Objective, Play, Policy, Recommendation, best_arm
from whichdo.policies.sequential import Sequential
from whichdo.problem import Problem, do
from whichdo.session import Session
from whichdo.simulation import played as run_played
from whichdo.simulation import run_rounds, simulate
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

NAMED = pytest.mark.parametrize("played", EVERY, ids=lambda each: each.name)


def instrument() -> CausalNetwork:
    """Setting Z or X is at least as good as looking, which has nearly the best mean."""
    return CausalNetwork(
        {
            "C": bernoulli((), 0.5),
            "Z": bernoulli((), 0.9),
            "X": bernoulli(("Z", "C"), [[0.5, 0.5], [0.9, 0.1]]),
            "Y": bernoulli(("X", "C"), [[0.1, 0.9], [0.8, 0.2]]),
        },
        hidden={"C"},
    )


def chain() -> CausalNetwork:
    """Nothing hidden, so that every policy can play."""
    return CausalNetwork({"Z": bernoulli((), 0.8), "Y": bernoulli(("Z",), [0.2, 0.8])})


def worlds() -> list[tuple[CausalNetwork, Problem]]:
    found = [(network, network.problem("Y").but(prune=True)) for network in (instrument(), chain())]
    both = instrument()
    return [*found, (both, both.problem("Y", at_once=2).but(prune=True))]


def served(each: Policy, budget: float) -> list[tuple[Policy, CausalNetwork, Problem]]:
    found = []
    for network, problem in worlds():
        assert problem.first_answer == 1
        told = equipped(each, network, problem)
        try:
            told.check(problem, budget)
        except UnsuitableError:
            continue
        found.append((told, network, problem))
    assert found
    return found


@NAMED
def test_do_is_never_named_and_only_those_who_look_pull_it(played: Policy) -> None:
    looked = 0
    for told, network, problem in served(played, 120):
        for seed in range(4):
            batches, final = played_out(told, network, problem, 120, seed)
            assert final.arm in problem.answers
            assert len(final.means) == len(problem.arms)
            looked += sum(
                count for batch in batches for arm, count in zip(batch.arms, batch.counts, strict=True) if arm == do()
            )
    if not played.looks:
        assert looked == 0


@NAMED
def test_run_at_once_it_decides_as_batch_by_batch(played: Policy) -> None:
    for told, network, problem in served(played, 120):
        for seed in range(repeated(8, quick=2)):
            key = np.array([seed, 7], np.uint64)
            slow = batch_by_batch(told, World(network, problem, key), 120, seed)
            found = run_played(told, World(network, problem, key), 120, np.random.default_rng(seed))
            assert found[0] == slow[0] != 0
            assert found[1] == pytest.approx(slow[1])


@pytest.mark.parametrize("played", SEQUENTIAL, ids=lambda each: each.name)
def test_the_compiled_loop_makes_the_pulls_of_play(played: Sequential) -> None:
    for told, network, problem in served(played, 150):
        assert isinstance(told, Sequential)
        for seed in range(repeated(3, quick=1)):
            key = np.array([seed, 3], np.uint64)
            batches, final = _played(told, network, problem, key, seed)
            marks = np.arange(1, 151)
            record, means, _ = run_rounds(told, network, problem, 150, key, np.random.default_rng(seed), marks)
            pulled = [problem.index(batch.arms[0]) for batch in batches]
            assert np.diff(record, axis=0, prepend=0).argmax(axis=1)[: len(pulled)].tolist() == pulled
            assert np.array_equal(means, final.means, equal_nan=True)


@pytest.mark.parametrize("name", ["ts", "causal-ts", "ue", "warm-halving"])
def test_simulated_it_is_not_named_either(name: str) -> None:
    network, problem = worlds()[0]
    found = simulate(wd.policy(name), network, problem, horizon=60, runs=60, seed=5)
    assert set(found.arms) <= set(problem.answers)


def test_the_least_budget_of_those_who_do_not_look_is_that_of_the_answers() -> None:
    _, problem = worlds()[0]
    for name in ("ue", "ts", "ucb", "kl-ucb"):
        wd.policy(name).check(problem, 4)
        with pytest.raises(UnsuitableError, match="at least 4: 4 arms, each pulled once"):
            wd.policy(name).check(problem, 3)


class Stubborn(Policy):
    """Looks, and names do()."""

    name = "stubborn"
    objective = Objective.SIMPLE

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        told = yield observe(int(budget), scopes=((problem.reward,),))
        assert best_arm(problem, np.full(len(problem.arms), 0.5), rng).arm in problem.answers
        return Recommendation(do(), told.means)


def test_a_policy_that_names_a_look_breaks_the_rules() -> None:
    session = Session(Stubborn(), worlds()[1][1], horizon=1)
    with pytest.raises(UsageError, match=r"breaks the rules: it names do\(\), which is not among problem.answers"):
        session.tell(do(), {"Z": 1, "Y": 1})


def _played(
    each: Policy, network: CausalNetwork, problem: Problem, key: np.ndarray, seed: int
) -> tuple[list[Batch], Recommendation]:
    world = World(network, problem, key)
    play = each.play(problem, 150, np.random.default_rng(seed), Tally.empty(problem))
    batches: list[Batch] = []
    answer = None
    while True:
        try:
            batches.append(play.send(answer))  # type: ignore[arg-type]
        except StopIteration as stop:
            return batches, stop.value
        answer = world.pull(batches[-1])
