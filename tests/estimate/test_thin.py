"""Formulas on the cells that occurred have the numbers of formulas on full tables."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np
import pytest

import whichdo.estimate.estimator as module
from tests.checking.random_worlds import RandomWorld, random_graph
from tests.soak import scaled
from whichdo.estimate.estimator import Looking, Rule
from whichdo.estimate.settled import WeightedSum
from whichdo.estimate.shrinkage import reward_scale
from whichdo.estimate.thin import distinct_numbers, numbered_form
from whichdo.evidence import Tally
from whichdo.formulas import Formula
from whichdo.graph.identify import Route
from whichdo.problem import LOOK, Problem
from whichdo.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.estimate.settled import Settled


def confounded(seed: int, number: int) -> Iterator[tuple[Problem, Tally]]:
    """Worlds of five to seven nodes with hidden causes; every other one has joint arms, every third one weights."""
    rng = np.random.default_rng(seed)
    for place in range(number):
        graph = random_graph(rng, int(rng.integers(5, 8)), float(rng.uniform(0.3, 0.6)), 0.2)
        world = RandomWorld.draw(rng, graph, most=3, skew=float(rng.choice([0.3, 1.0])))
        alone = world.problem()
        problem = Problem(graph, "Y", domains=dict(alone.domains), rewards=dict(alone.rewards), at_once=1 + place % 2)
        seen = world.looks(problem, rng, int(rng.choice([60, 2_000])))
        yield problem, _weighted(rng, seen) if place % 3 == 0 else seen


def _weighted(rng: np.random.Generator, seen: Tally) -> Tally:
    """The same rows, those in a cell with a weight each."""
    made = {}
    for scope, table in seen.tables[LOOK].items():
        if len(scope) > 1:
            weight = rng.uniform(0.5, 2.0, table.count.shape) * table.count
            square = np.divide(weight**2, table.count, out=np.zeros(weight.shape), where=table.count > 0)
            made[scope] = Table(scope, table.sizes, table.count, weight=weight, weight_square=square)
    return Tally(seen.problem, seen.counts, {LOOK: made})


def numbers_of(found: Settled) -> Iterator[tuple[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]]:
    """All that is said of some means, but where they are weakest: ties are broken by the order of rows."""
    for part in fields(found):
        value = getattr(found, part.name)
        if not part.name.startswith("weakest"):
            for each in value if isinstance(value, WeightedSum) else (value,):
                yield part.name, np.asarray(each)


@pytest.mark.parametrize("effects", [True, False])
def test_cells_that_occurred_say_what_the_full_table_says(monkeypatch: pytest.MonkeyPatch, effects: bool) -> None:
    """Seen to fail without the pushes of laws, without their shifts, and with margins over the wrong columns."""
    compared = joint = 0
    for problem, seen in confounded(11, scaled(2_000, 60)):
        looking = Looking(problem, seen, reward_scale(problem)[0], Rule())
        looking.effects = effects
        for targets in problem.target_sets:
            formula = looking.formula(targets)
            if not isinstance(formula, Formula) or formula.route is not Route.COMPONENT or not formula.shared:
                continue
            monkeypatch.setattr(module, "MOSTLY_EMPTY", 0)
            thin = looking.numbered(formula)
            monkeypatch.setattr(module, "MOSTLY_EMPTY", 1 << 60)
            assert looking.numbered(formula) is None
            full, (columns, weakest) = looking.evaluated(formula)
            if thin is None:  # the reward's conditional has fewer columns, or all columns are targets
                assert numbered_form(formula) is None
                continue
            compared, joint = compared + 1, joint + (len(formula.targets) > 1)
            for (name, one), (_, other) in zip(numbers_of(thin[0]), numbers_of(full), strict=True):
                assert one == pytest.approx(other, abs=1e-12), name
            assert thin[1][0] == columns
            assert thin[1][1].shape == weakest.shape
    assert compared >= 20
    assert joint >= 5


def test_distinct_numbers_are_those_of_numpy() -> None:
    rng = np.random.default_rng(3)
    for cells, size in [(10, 40), (100_000, 20), (1, 3), (5_000, 1_000)]:
        numbers = rng.integers(0, cells, size)
        found, where = distinct_numbers(numbers, cells)
        expected, places = np.unique(numbers, return_inverse=True)
        assert (found == expected).all()
        assert (where == places).all()
