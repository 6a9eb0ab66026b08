"""Doubt: what pulls make of it, and that a wrong graph or old logs do not lock the best arm out."""

from __future__ import annotations

from itertools import product
from math import exp, lgamma
from typing import Any

import numpy as np
import pytest

from tests.policies.driving import driven
from whichdo.errors import UsageError
from whichdo.estimate.doubt import CHANGED, ENOUGH, FEW, GROWTH, LEFT, MANY, OLD, belief, doubt_after
from whichdo.policies.doubting import OF_FEW, OF_MANY, Doubts, before_pulls, recount, weigh, wrong_chances
from whichdo.policies.sequential import Sequential
from whichdo.policy_names import policy
from whichdo.problem import do
from whichdo.simulation import run_rounds
from whichdo.world.instances import Planted, planted
from whichdo.world.sampler import World

OURS = ("warm-halving", "causal-ts", "causal-kl-ucb")


def likelihood(won: float, lost: float, mean: float, worth: float) -> float:
    """The beta-binomial chance of some pulls, whose prior is worth so many pulls of that mean."""
    a, b = 1 + worth * mean, 1 + worth * (1 - mean)
    return exp(lgamma(a + won) + lgamma(b + lost) - lgamma(a + b + won + lost) - lgamma(a) - lgamma(b) + lgamma(a + b))


def enumerated(
    doubt: float, arms: list[tuple[float, float, float, float]], denied: list[float]
) -> tuple[list[float], list[float]]:
    """By Bayes' rule over every set of arms that may be wrong: that few or many are, and that each arm is.

    An arm is wrong if it is one of few or many, or because the logs deny it.
    """
    chances, wrong, total = [0.0, 0.0], [0.0] * len(arms), 0.0
    for case, (prior, each) in enumerate(((1 - doubt, 0.0), (doubt / 2, FEW), (doubt / 2, MANY))):
        for bad in product((False, True), repeat=len(arms)):
            weight = prior
            for is_bad, own, (won, lost, mean, size) in zip(bad, denied, arms, strict=True):
                good = (1 - each) * (1 - own)
                weight *= 1 - good if is_bad else good
                weight *= likelihood(won, lost, mean, min(size, LEFT) if is_bad else size)
            total += weight
            if case:
                chances[case - 1] += weight
            for arm, is_bad in enumerate(bad):
                wrong[arm] += weight * is_bad
    return [each / total for each in chances], [each / total for each in wrong]


def random_arms(rng: np.random.Generator) -> list[tuple[float, float, float, float]]:
    return [
        (
            float(rng.integers(0, 9)),
            float(rng.integers(0, 9)),
            float(rng.uniform(0.1, 0.9)),
            float(rng.choice([0.0, 2.0, 7.5, 400.0])),
        )
        for _ in range(4)
    ]


def test_belief_is_bayes_rule_over_every_set_of_wrong_arms() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        arms, doubt = random_arms(rng), float(rng.uniform(0.01, 0.99))
        denied = rng.choice([0.0, 0.0, 0.3, 0.9], 4)
        wins, losses, means, sizes = np.array(arms).T
        found = belief(doubt, wins, losses, means, sizes, denied)
        chances, wrong = enumerated(doubt, arms, denied.tolist())
        assert found.cases[:2] == pytest.approx(chances)
        assert found.wrong.tolist() == pytest.approx(wrong)


def test_old_logs_and_a_wrong_graph_are_told_apart_by_bayes_rule() -> None:
    """Over every way in which each of three arms is right, wrong by the graph, or old in logs; do() is the first."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        arms, doubt = random_arms(rng)[:3], float(rng.uniform(0.01, 0.99))
        today = [(float(rng.uniform(0.1, 0.9)), float(rng.choice([0.0, 3.0, 60.0]))) for _ in arms]
        denied = rng.choice([0.0, 0.0, 0.3, 0.9], 3).tolist()
        arms[0] = (0.0, 0.0, *arms[0][2:])  # looks of today are in `today`
        old, wrong, total = [0.0] * 3, [0.0] * 3, 0.0
        cases = [(1 - doubt, 0.0, 0.0)]
        cases += [(doubt * OLD / 2, 0.0, each) for each in (FEW, MANY)]
        cases += [(doubt * (1 - OLD) / 2, each, 0.0) for each in (FEW, MANY)]
        for prior, by_graph, by_age in cases:
            for states in product(("right", "wrong", "old"), repeat=3):
                weight = prior
                for place, state in enumerate(states):
                    won, lost, mean, size = arms[place]
                    now, worth = today[place]
                    came, missed, both = worth * now, worth * (1 - now), size + worth
                    bad = 1 - (1 - by_graph) * (1 - denied[place])
                    aged = by_age * (1 - bad)
                    bad = 0.0 if place == 0 else bad
                    if state == "right":
                        weight *= (1 - bad - aged) * likelihood(won + came, lost + missed, mean, size)
                    elif state == "old":
                        weight *= aged * likelihood(won + came, lost + missed, mean, min(size, CHANGED))
                    else:
                        joint = (size * mean + came) / both if both else 0.0
                        weight *= bad * likelihood(came, missed, mean, size)
                        weight *= likelihood(won, lost, joint, min(both, LEFT))
                total += weight
                for place, state in enumerate(states):
                    old[place] += weight * (state == "old")
                    wrong[place] += weight * (state == "wrong")
        means, sizes = np.array(today).T
        wins, losses, logged, worths = np.array(arms).T
        found = belief(doubt, wins, losses, logged, worths, np.array(denied), (means, sizes))
        assert found.old == pytest.approx(np.array(old) / total)
        assert found.wrong == pytest.approx(np.array(wrong) / total)


def test_beside_logs_the_odds_of_a_doubt_grow_with_the_pulls_of_the_second_arm() -> None:
    """Three times the pulls that are enough multiply the odds by three to the power of the growth."""
    enough = int(ENOUGH)
    assert doubt_after(0.3, np.array([enough, 5, enough])) == pytest.approx(0.3)
    assert doubt_after(0.3, np.array([10 * enough, 0, 0])) == pytest.approx(0.3)
    after = doubt_after(0.3, np.array([0, 10 * enough, 3 * enough]))
    assert after / (1 - after) == pytest.approx(3 / 7 * 3**GROWTH)
    many = np.array([100 * enough] * 3)
    assert doubt_after(0.0, many) == 0.0
    assert doubt_after(1.0, many) == 1.0


def test_doubts_of_nothing_and_of_everything_stay() -> None:
    arms = np.array([(5.0, 1.0, 0.2, 300.0), (1.0, 5.0, 0.2, 300.0)]).T
    assert belief(0.0, *arms).cases.tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert belief(1.0, *arms).cases.tolist() == [0.5, 0.5, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("levels", [2, 4], ids=["coins", "fractions"])
def test_pulls_one_by_one_and_all_at_once_are_the_belief(levels: int) -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        means, sizes = rng.uniform(0.05, 0.95, 4), rng.choice([0.0, 3.0, 50.0, 3000.0], 4)
        doubt = float(rng.uniform(0.05, 0.95))
        wins, losses = np.zeros(4), np.zeros(4)
        denied = rng.choice([0.0, 0.0, 0.3, 0.9], 4)
        factors, shares, whole = before_pulls(doubt, denied)
        for arm, level in zip(rng.integers(0, 4, 60), rng.integers(0, levels, 60), strict=True):
            reward = float(level) / (levels - 1)
            weigh(factors, shares, whole, int(arm), reward, wins, losses, means, sizes)
            wins[arm] += reward
            losses[arm] += 1 - reward
        expected = belief(doubt, wins, losses, means, sizes, denied)
        assert whole[OF_FEW : OF_MANY + 1] == pytest.approx(expected.cases[:2])
        assert wrong_chances(Doubts(factors, shares, whole)) == pytest.approx(expected.wrong)
        again = before_pulls(doubt, denied)
        recount(*again, wins, losses, means, sizes)
        assert again.whole == pytest.approx(whole)
        assert again.shares == pytest.approx(shares)


@pytest.mark.parametrize("name", OURS)
def test_a_doubt_that_is_not_a_chance_is_refused(name: str) -> None:
    for doubt in (-0.1, 1.1, float("nan"), "much"):
        with pytest.raises(UsageError, match="the chance that the graph or the logs are wrong, from 0 to 1"):
            policy(name, doubt=doubt)


@pytest.mark.parametrize("name", OURS)
def test_logs_that_name_no_doubt_are_read_without_and_a_right_graph_needs_none(name: str) -> None:
    assert policy(name).when_absent["doubt"] == 0.0
    assert policy(name).trusting() == policy(name, reading="graph", doubt=0.0)


@pytest.mark.parametrize("name", ["causal-ts", "causal-kl-ucb"])
@pytest.mark.parametrize("doubt", [0.0, 0.3, 1.0])
def test_with_logs_too_the_compiled_loop_makes_the_pulls_of_play(name: str, doubt: float) -> None:
    """Round by round, with a wrong graph, with old logs, and with a right graph."""
    worlds = [
        planted("underrated", 2, 4)[1],
        *planted("shifted-baseline", 1, 4),
        *planted("overrated", 1, 4, right=True),
        *planted("missing-arrow", 1, 4),  # whose logs deny the graph
    ]
    played = policy(name, doubt=doubt)
    assert isinstance(played, Sequential)
    for seed, world in enumerate(worlds):
        logs, key = world.logs(300, seed), np.array([seed, 3], np.uint64)
        batches, _, final = driven(
            played, world.problem, 200, World(world.network, world.problem, key).pull, seed=seed, seen=logs
        )
        record, means, _ = run_rounds(
            played, world.network, world.problem, 200, key, np.random.default_rng(seed), np.arange(1, 201), logs
        )
        arms = [world.problem.index(batch.arms[0]) for batch in batches]
        assert np.diff(record, axis=0, prepend=0).argmax(axis=1).tolist() == arms
        assert np.array_equal(means, final.means)


def best_pulled(name: str, world: Planted, doubt: float, rounds: int, seed: int) -> float:
    """The share of pulls of the best arm, logs being worth 1,000 pulls."""
    played: Any = policy(name, doubt=doubt)
    record, _, _ = run_rounds(
        played,
        world.network,
        world.problem,
        rounds,
        np.array([seed, 5], np.uint64),
        np.random.default_rng(seed),
        np.array([rounds]),
        world.logs(1000, seed),
    )
    return float(record[0, world.problem.index(world.best)] / rounds)


@pytest.mark.parametrize("name", ["causal-ts", "causal-kl-ucb"])
def test_an_underrated_best_arm_is_not_locked_out(name: str) -> None:
    """In four small worlds, 3,000 pulls each: without doubt it has less than a fifth of them in each, with it most."""
    worlds = [world for world in planted("underrated", 8, seed=6) if len(world.problem.arms) <= 5][:4]
    assert all(best_pulled(name, world, 0.0, 3000, seed) < 0.2 for seed, world in enumerate(worlds))
    policy_doubt = policy(name).doubt  # type: ignore[attr-defined]
    assert np.mean([best_pulled(name, world, policy_doubt, 3000, seed) for seed, world in enumerate(worlds)]) > 0.5


def test_logs_of_another_season_do_not_name_do_and_fresh_looks_are_asked_for() -> None:
    """do() was best in the logs, worth 1,000 pulls; now another arm is.  Without doubt no run finds out.

    With doubt 8 of these 10 runs do; the seeds are fixed.
    """
    world = planted("shifted-baseline", 1, seed=6)[0]
    assert world.best != do()
    named: dict[float, list[Any]] = {0.0: [], 0.5: []}
    for doubt, found in named.items():
        for seed in range(10):
            logs = world.logs(1000, seed)
            answer = World(world.network, world.problem, 50 + seed).pull
            batches, _, final = driven(policy("warm-halving", doubt=doubt), world.problem, 600, answer, seed, logs)
            found.append(final.arm)
            if doubt:
                assert sum(dict(zip(batch.arms, batch.counts, strict=True)).get(do(), 0) for batch in batches) >= 20
    assert named[0.0] == [do()] * 10
    assert named[0.5].count(do()) < 5
