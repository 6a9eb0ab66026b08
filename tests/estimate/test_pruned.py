"""Ranking the arms of a pruned problem: do() is shown and not named, and pulls of pruned arms teach the others."""

from __future__ import annotations

import numpy as np
import pytest

import whichdo as wd
from whichdo.evidence import Tally
from whichdo.problem import Problem, do

GRAPH = "Z -> X -> Y; X <-> Y"


def rows(number: int, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    hidden, z = rng.random(number) < 0.5, rng.random(number) < 0.5
    x = rng.random(number) < np.where(z, 0.6, 0.4)
    y = rng.random(number) < np.where(x == hidden, 0.7, 0.4)
    return {"Z": z.astype(int), "X": x.astype(int), "Y": y.astype(int)}


def test_do_is_shown_and_not_named() -> None:
    """Its plain mean is above those of do(Z=0) and do(Z=1), by noise alone."""
    data = {"Z": [0] * 200 + [1] * 200, "X": [0, 1] * 200, "Y": ([0] * 90 + [1] * 110) * 2}
    pruned, whole = Problem(GRAPH, "Y", prune=True), Problem(GRAPH, "Y")
    found, before = wd.rank(pruned, data), wd.rank(whole, data)
    assert before.best is not None
    assert found.best is not None
    assert list(found) == list(pruned.arms)
    assert found.best.arm in (do(Z=0), do(Z=1))
    assert do() not in [row.arm for row in found.contenders]
    assert found[do()].estimate == before[do()].estimate
    assert [row.arm for row in found.contenders] == [row.arm for row in before.contenders if row.arm != do()]
    assert 0 <= found.probability_best <= 1
    assert found.best_low < found.best.estimate < found.best_high
    assert f"Best: {found.best.arm}" in found.summary[0]


def test_estimates_are_those_of_the_whole_problem() -> None:
    data = rows(4_000)
    pruned, whole = Problem(GRAPH, "Y", at_once=2, prune=True), Problem(GRAPH, "Y", at_once=2)
    found, before = wd.rank(pruned, data), wd.rank(whole, data)
    for arm in pruned.arms:
        assert found[arm].estimate == pytest.approx(before[arm].estimate, nan_ok=True)
        assert found[arm].low == pytest.approx(before[arm].low, nan_ok=True)


def test_pulls_of_pruned_arms_teach_the_others() -> None:
    """do(A=1) is pruned; its rows tell of B and so of do(A=1, B=1), as they do in the whole problem."""
    rng = np.random.default_rng(5)
    number = 1_200
    a, b = rng.integers(0, 2, number), rng.integers(0, 2, number)
    tried = np.arange(number) < 800
    a = np.where(tried, 1, a)
    y = (rng.random(number) < 0.2 + 0.3 * a + 0.3 * b).astype(int)
    data = {"A": a, "B": b, "Y": y, "done": np.where(tried, "do(A=1)", "do()")}
    pruned = Problem("A -> Y; B -> Y; A <-> Y", "Y", at_once=2, prune=True)
    assert do(A=1) in pruned.pruned
    found, before = wd.rank(pruned, data, arm="done"), wd.rank(pruned.unpruned, data, arm="done")
    assert do(A=1) not in found
    both = do(A=1, B=1)
    assert found[both].estimate == before[both].estimate
    assert found[both].sources == before[both].sources
    assert found[both].is_known
    assert found.best is not None
    assert found.best.arm in pruned.answers


def test_a_tally_of_the_whole_problem_is_one_of_the_pruned_and_the_other_way_round() -> None:
    data = rows(500)
    pruned = Problem(GRAPH, "Y", prune=True)
    whole, narrow = wd.count(pruned.unpruned, data), wd.count(pruned, data)
    assert isinstance(whole, Tally)
    assert wd.rank(pruned, whole)[do(Z=1)].estimate == wd.rank(pruned, narrow)[do(Z=1)].estimate
    assert wd.check(pruned, data).ok == wd.check(pruned.unpruned, data).ok
    assert str(wd.what_if(pruned, data)) == str(wd.what_if(pruned.unpruned, data))


def test_arms_that_are_equal_share_their_pulls_listed_or_pruned() -> None:
    """do(X=1, Z=0) is do(X=1): 60 rows of the one and 40 of the other are 100 pulls of each."""
    done = np.array(["do(X=1)"] * 60 + ["do(X=1, Z=0)"] * 40 + ["do(X=0)"] * 50)
    data = {
        "X": np.where(done == "do(X=0)", 0, 1),
        "Z": np.where(done == "do(X=1, Z=0)", 0, np.arange(150) % 2),
        "Y": (np.arange(150) % 3 > 0).astype(int),
        "done": done,
    }
    arms = [do(X=1), do(X=1, Z=0), do(X=0)]
    listed = wd.rank(Problem(GRAPH, "Y", arms=arms), data, arm="done")
    pruned = wd.rank(Problem(GRAPH, "Y", arms=arms, prune=True), data, arm="done")
    assert listed[do(X=1)].direct == listed[do(X=1, Z=0)].direct == pruned[do(X=1)].direct == 100
    assert listed[do(X=1)].estimate == listed[do(X=1, Z=0)].estimate == pruned[do(X=1)].estimate
    assert do(X=1, Z=0) not in pruned
