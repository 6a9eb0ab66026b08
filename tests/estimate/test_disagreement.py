"""Whether logs contradict the graph: a wrong graph is seen, a right one is not accused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import whichdo as wd
from tests.checking.test_size_and_power import right_world
from tests.soak import scaled
from whichdo.estimate.disagreement import disagreements
from whichdo.evidence import observe
from whichdo.formulas import counted_scopes, doubted_scope
from whichdo.problem import Problem, do
from whichdo.world.mechanism import bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray


def alike(rows: int, share: float, seed: int = 1) -> dict[str, object]:
    """A and B agree in ``share`` of the rows; both act on X and Y."""
    rng = np.random.default_rng(seed)
    a = (rng.random(rows) < 0.5).astype(int)
    b = np.where(rng.random(rows) < share, a, 1 - a)
    x = (rng.random(rows) < 0.05 + 0.9 * a * b).astype(int)
    y = (rng.random(rows) < 0.1 + 0.7 * a * b + 0.1 * x).astype(int)
    return {"A": a, "B": b, "X": x, "Y": y}


def test_covariates_that_are_alike_without_an_edge_are_adjusted_for_as_they_are_and_said() -> None:
    """P(A=B=1) is .45, not .25: do(X=0) has .1 + .7 * .45 = .415, and the graph's reading .1 + .7 * .25."""
    problem = Problem("A -> {X Y}; B -> {X Y}; X -> Y", "Y", ["X"])
    found = wd.rank(problem, alike(20_000, 0.9))
    assert found[do(X=0)].estimate == pytest.approx(0.415, abs=0.02)
    assert wd.rank(problem, alike(20_000, 0.9), reading="graph")[do(X=0)].estimate == pytest.approx(0.275, abs=0.03)
    assert any(line.startswith("The logs contradict the graph: for X") for line in found.warnings)


def test_with_the_edge_or_without_the_likeness_nothing_is_said() -> None:
    with_edge = Problem("A -> B; A -> {X Y}; B -> {X Y}; X -> Y", "Y", ["X"])
    without = Problem("A -> {X Y}; B -> {X Y}; X -> Y", "Y", ["X"])
    for problem, share in ((with_edge, 0.9), (without, 0.5)):
        assert not any("contradict" in line for line in wd.rank(problem, alike(20_000, share)).warnings)


def test_few_rows_are_not_enough_to_compare_estimates() -> None:
    problem = Problem("A -> {X Y}; B -> {X Y}; X -> Y", "Y", ["X"])
    assert not any("estimates" in line for line in wd.rank(problem, alike(1_500, 0.9)).warnings)


def test_nodes_that_are_alike_without_an_edge_are_named_by_rank() -> None:
    problem = Problem("A -> {X Y}; B -> {X Y}; X -> Y", "Y", ["X"])
    (line,) = [line for line in wd.rank(problem, alike(1_500, 0.9)).warnings if "contradict" in line]
    assert line.startswith("The logs contradict the graph: A and B are not independent (p = ")
    assert line.endswith("`whichdo check` names the edge that is likely missing and what it would change.")


def random_network(rng: np.random.Generator) -> CausalNetwork:
    names = [f"V{number}" for number in range(int(rng.integers(3, 6)))] + ["Y"]
    mechanisms = {}
    for place, name in enumerate(names):
        parents = tuple(other for other in names[:place] if rng.random() < 0.5) or tuple(names[: min(place, 1)])
        mechanisms[name] = bernoulli(parents, rng.beta(1.5, 1.5, [2] * len(parents)) if parents else 0.4)
    return CausalNetwork(mechanisms)


@pytest.mark.soak
@pytest.mark.slow("5 s: many right graphs; finds a variance that is too small")
def test_a_right_graph_is_accused_no_more_often_than_stated() -> None:
    """p-values below .05 in at most 12% of some 300 target sets at 2,000 looks.

    Target sets of one network go together, so the share has a standard error of about 1.5 points around 5%.  With half
    the variance the test was seen to fail.
    """
    rng = np.random.default_rng(20_261_118)
    found: list[float] = []
    for _ in range(scaled(3_000)):
        network = random_network(rng)
        problem = network.problem("Y")
        scope = doubted_scope(problem)
        if scope is not None:
            world = World(network, problem, int(rng.integers(1 << 40)))
            seen = world.pull(observe(2_000, scopes=(*counted_scopes(problem), scope)))
            found += [each.p for each in disagreements(problem, seen, np.array([0.0, 1.0])).values()]
    assert len(found) > 100
    assert np.mean(np.array(found) < 0.05) < 0.12


@pytest.mark.slow("1 s: skewed laws have rows that are hardly seen, and shrinkage moves these most")
def test_a_right_graph_is_not_accused_where_laws_are_skewed() -> None:
    """Laws near 0 and 1, two to four values: p-values below .001 in at most 2% of some 160 target sets at 2,000 looks.

    A right test has .1%, and more than 2% in less than one of 10,000 runs even where target sets go together by threes.
    Planted: without taking shrinkage back it is 5%, with rows that are hardly seen 13%.
    """
    rng = np.random.default_rng(20_261_119)
    found: list[float] = []
    for _ in range(600):
        world = right_world(rng, 0.3)
        problem = world.problem()
        found += [each.p for each in disagreements(problem, world.looks(problem, rng, 2_000), levels(problem)).values()]
    assert len(found) > 100
    assert np.mean(np.array(found) < 0.001) < 0.02


def levels(problem: Problem) -> FloatArray:
    return np.array(list(problem.rewards.values()))
