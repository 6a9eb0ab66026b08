"""Bounds on effects that looks do not settle: exact answers, and the truth inside in random models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.estimate.oracle import Oracle, semi_markovian
from tests.identification.laws import (
    BINARY,
    conditional_table,
    experiment,
    fixture,
    fixture_graph,
    fixture_law,
    onto,
    under,
)
from tests.soak import repeated, scaled
from whichdo.estimate.evaluate import table_evaluator
from whichdo.identification.bounds import factor_bounds, natural_bounds
from whichdo.identification.engine import find_hedge
from whichdo.identification.estimand import conditionals_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.identification.laws import Array, Names
    from whichdo.identification.bounds import LowerLaw


def limits(lower: LowerLaw, laws: Mapping[Names, Array], names: Names, worth: Array = BINARY) -> tuple[Array, Array]:
    """The least and the greatest mean: what the lower law leaves open lies on the worst level, or on the best."""
    sizes = dict(zip(names, laws[()].shape, strict=True))
    needed = {each for factor in lower.factors for each in conditionals_in(factor.expression)}
    tables = {each: conditional_table(each, laws[each.source], names) for each in needed}
    parts = {}
    for factor in lower.factors:
        axes = (*factor.instruments, *factor.symbol.columns)
        engine = table_evaluator(factor.expression, axes, sizes)
        table = engine.values([tables[each] for each in engine.conditionals], None)
        parts[factor.symbol] = table.max(axis=tuple(range(len(factor.instruments))))
    whole = table_evaluator(lower.outline, (*lower.targets, lower.reward), sizes)
    law = whole.values([parts[each] for each in whole.conditionals], None)
    rest = 1 - law.sum(axis=-1)
    return law @ worth + rest * worth.min(), law @ worth + rest * worth.max()


@pytest.mark.parametrize("entry", fixture("bounds"), ids=lambda entry: entry["name"])
def test_bounds_have_their_exact_answers(entry: dict[str, Any]) -> None:
    """Natural and by factors to 1e-9, the truth inside; the answers are rounded to ten digits."""
    graph, names = fixture_graph(entry), tuple(entry["graph"]["nodes"])
    laws: dict[Names, Array] = {(): fixture_law(entry, entry["joint"])}
    for arm in entry["arms"]:
        node, setting = arm["do"]
        for key, lower in (
            ("natural", natural_bounds(graph, [node], "Y")),
            ("factor", factor_bounds(graph, [node], "Y")),
        ):
            low, high = limits(lower, laws, names)
            assert [low[setting], high[setting]] == pytest.approx(arm[key], abs=1e-9)
            assert low[setting] - 1e-9 <= arm["truth"] <= high[setting] + 1e-9


@pytest.mark.soak
def test_the_truth_lies_inside_in_random_models_and_bounds_close_where_the_effect_is_settled() -> None:
    """Mixed domains, rewards of several levels, joint targets, with an experiment or without."""
    rng = np.random.default_rng(51)
    opened, narrower, models = 0, 0, repeated(scaled(3_000, least=300), quick=100)
    for _ in range(models):
        oracle = Oracle(semi_markovian(rng, observed=(3, 5)))
        graph, names = oracle.mixed.graph(), oracle.names
        reward = names[-1]
        targets = tuple(sorted(rng.choice(names[:-1], int(rng.integers(1, 3)), replace=False).tolist()))
        tried: list[Names] = [(str(rng.choice(names[:-1])),)] if rng.random() < 0.3 else []
        laws = {(): oracle.seen} | {some: experiment(oracle, some, rng) for some in tried}
        worth = rng.random(oracle.network.sizes[reward])
        truth = onto(under(oracle, targets), names, (*targets, reward)) @ worth
        natural = limits(natural_bounds(graph, targets, reward), laws, names, worth)
        lower = factor_bounds(graph, targets, reward, tried)
        factor = limits(lower, laws, names, worth)
        for low, high in (natural, factor):
            assert (low <= truth + 1e-9).all()
            assert (truth <= high + 1e-9).all()
        settled = all(each.settled for each in lower.factors)
        if find_hedge(graph, targets, reward) is None:
            assert settled
        if settled:
            assert factor[0] == pytest.approx(truth, abs=1e-9)
            assert factor[1] == pytest.approx(truth, abs=1e-9)
        else:
            opened += 1
            assert (factor[0] >= natural[0] - 1e-9).all()
            narrower += bool((factor[0] > natural[0] + 1e-6).any())
    assert opened > min(20, models // 15)
    assert narrower > min(5, models // 60)


def test_the_bounds_of_an_instrument_take_its_best_value() -> None:
    graph = fixture_graph(next(entry for entry in fixture("bounds") if entry["name"] == "iv"))
    (factor,) = factor_bounds(graph, ["X"], "Y").factors
    assert (factor.nodes, factor.given, factor.instruments, factor.settled) == (("Y",), ("X",), ("Z",), False)
