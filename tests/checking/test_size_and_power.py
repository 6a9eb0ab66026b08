"""How often a check accuses a right graph, and how often it finds a missing edge that matters."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import pytest

import whichdo as wd
from tests.checking.random_worlds import RIGHT, SKEWS, RandomWorld, random_graph, telling_graph
from tests.soak import FULL, scaled
from whichdo.estimate.estimator import Rule, look
from whichdo.formulas import Reading
from whichdo.graph.admg import CausalGraph
from whichdo.graph.separation import implied_statements, m_separated

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (300, 1_000, 10_000, 100_000, 1_000_000)
FEW = {300: 400, 1_000: 400, 3_000: 300, 20_000: 200, 200_000: 100}
"""Right graphs of each family, by rows."""


def right_world(rng: np.random.Generator, skew: float) -> RandomWorld:
    """Three to seven nodes of two to four values each, with a statement to test."""
    return RandomWorld.draw(rng, telling_graph(rng), skew=skew)


def accused(rng: np.random.Generator, rows: int, graphs: int) -> tuple[int, int]:
    """How many right graphs fail a whole check, and how many have a corrected chance below 5%."""
    fails = low = 0
    for number in range(graphs):
        world = right_world(rng, SKEWS[number % len(SKEWS)])
        problem = world.problem()
        found = wd.check(problem, world.looks(problem, rng, rows))
        fails += not found.ok
        low += any(each.adjusted < 0.05 for each in (*found.statements, *found.cross_checks))  # type: ignore[attr-defined]
    return fails, low


@pytest.mark.soak
@pytest.mark.slow("6 s: a check that accuses right graphs is worse than none")
@pytest.mark.parametrize("rows", SIZES)
def test_right_graphs_are_accused_in_at_most_six_of_a_hundred_checks(rows: int) -> None:
    """5% are promised; four standard errors of as many checks are allowed above that, at full count 6%.

    Estimates are compared with shrinkage on.  Seen to fail at full count without the correction for many tests: 15% of
    checks with 300 rows, and corrected chances below 5% in 21 to 27% of all.
    """
    graphs = scaled(1_000, 50)
    fails, low = accused(np.random.default_rng([2_718, rows]), rows, graphs)
    limit = max(0.06, 0.05 + 4 * sqrt(0.05 * 0.95 / graphs)) if graphs < 1_000 else 0.06
    assert fails / graphs <= limit
    assert low / graphs <= limit + 0.01


def accused_of(family: str, rows: int, graphs: int, seed: int) -> int:
    """How many right graphs of a family fail a whole check."""
    fails = 0
    for number in range(graphs):
        case = RIGHT[family](np.random.default_rng([seed, list(RIGHT).index(family), rows, number]), rows)
        fails += not wd.check(case.problem, case.data, arm=case.arm).ok
    return fails


@pytest.mark.soak
@pytest.mark.slow("3 s: a test whose law is off where rows are few accuses right graphs of one kind alone")
@pytest.mark.parametrize("family", RIGHT)
def test_no_family_of_right_graphs_is_accused_more_often(
    family: str, record_property: Callable[[str, object], None]
) -> None:
    """5% are promised; 6% at the full count, and four standard errors above 5% in runs of few.

    Seen to fail where tests take every row twice: 22 to 70 of 100 in the statements of three families, 14 and 19 of 100
    where it is experiments.
    """
    for rows, count in FEW.items() if FULL else [(300, FEW[300])]:
        graphs = scaled(count, 10)
        fails = accused_of(family, rows, graphs, 5_772)
        record_property(f"{rows} rows", f"{fails} of {graphs}")
        assert fails / graphs <= (0.06 if graphs == count else 0.05 + 4 * sqrt(0.05 * 0.95 / graphs))


def wrong_world(rng: np.random.Generator, skew: float, *, hidden: bool) -> tuple[RandomWorld, CausalGraph]:
    """A world and its graph without one edge, which logs can show and which moves an estimate by .05 or more."""
    while True:
        nodes = int(rng.integers(3, 7))
        graph = random_graph(rng, nodes, float(rng.uniform(0.2, 0.6)), float(rng.choice([0.1, 0.2, 0.3])))
        arrows, causes = sorted(graph.directed), sorted(map(sorted, graph.bidirected))
        edges: list[list[str]] | list[tuple[str, str]] = causes if hidden else arrows
        if not edges:
            continue
        gone = int(rng.integers(len(edges)))
        left = [tuple(edge) for number, edge in enumerate(edges) if number != gone]
        believed = CausalGraph(graph.nodes, *((arrows, left) if hidden else (left, map(tuple, causes))))
        statements = implied_statements(believed).statements
        if all(m_separated(graph, [each.left], [each.right], each.given) for each in statements):
            continue
        world = RandomWorld.draw(rng, graph, most=int(rng.choice([2, 4])), skew=skew)
        if moves(world, believed) >= 0.05:
            return world, believed


def moves(world: RandomWorld, believed: CausalGraph) -> float:
    """By how much the wrong graph misjudges an arm that it claims to settle, with a thousand billion rows."""
    problem = world.problem(believed)
    counts = np.rint(world.law() * 1e12).astype(np.int64)
    worth = np.array(list(problem.rewards.values()))
    found = look(problem, world.tally(problem, counts), worth, Rule(Reading.ROBUST))
    most = 0.0
    for arm, source in zip(problem.arms[1:], found.sources[1:], strict=True):
        if source >= 0:
            setting = {name: problem.domains[name].index(value) for name, value in arm.settings.items()}
            truth = world.law(setting).reshape(-1, len(worth)).sum(axis=0) @ worth
            most = max(most, abs(float(truth - found.settled.means[source])))
    return most


@pytest.mark.soak
@pytest.mark.slow("9 s: missing edges that matter must be found")
@pytest.mark.parametrize("hidden", [False, True], ids=["arrow", "hidden cause"])
def test_visible_edges_that_move_an_arm_are_found(hidden: bool) -> None:
    """20,000 rows: at least 80% of 400 wrong graphs each; a run of few allows four standard errors below that.

    On another seed 95.5% of 400 arrows and 86% of 400 hidden causes were found; 80% of 400 is missed by chance in less
    than one of a thousand runs then, and this seed is fixed.
    """
    worlds = scaled(400, 20)
    rng = np.random.default_rng([3_141, hidden])
    found = 0
    for number in range(worlds):
        world, believed = wrong_world(rng, SKEWS[number % len(SKEWS)], hidden=hidden)
        problem = world.problem(believed)
        found += not wd.check(problem, world.looks(problem, rng, 20_000)).ok
    assert found / worlds >= (0.8 if worlds >= 400 else 0.8 - 4 * sqrt(0.8 * 0.2 / worlds))
