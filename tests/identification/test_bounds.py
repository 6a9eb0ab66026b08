"""Bounds on effects that looks do not settle: exact answers, and the truth inside in random models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.response_types import sharp_bounds
from tests.estimate.oracle import Oracle, semi_markovian
from tests.identification.laws import (
    BINARY,
    conditional_table,
    experiment,
    fixture,
    fixture_graph,
    fixture_law,
    onto,
    screened,
    under,
)
from tests.soak import repeated, scaled
from whichdo.estimate.evaluate import table_evaluator
from whichdo.graph.admg import CausalGraph
from whichdo.graph.targets import acting_targets
from whichdo.identification.bounds import Screen, factor_bounds, natural_bounds, screen
from whichdo.identification.engine import find_hedge
from whichdo.identification.estimand import conditionals_in
from whichdo.world.instances import half_open

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


def test_bounds_by_a_screen_have_the_truth_inside_and_the_sharp_ones() -> None:
    """The fixture has the linear programme's for every arm; in some a screen closes nearly all that it leaves open."""
    narrower = 0
    for entry in fixture("bounds"):
        graph, names = fixture_graph(entry), tuple(entry["graph"]["nodes"])
        law = fixture_law(entry, entry["joint"])
        for arm in entry["arms"]:
            node, setting = arm["do"]
            found = screen(graph, [node], "Y", names)
            if found is None or find_hedge(graph, (node,), "Y") is None:
                continue
            low, high = (end[setting] for end in screened(law, names, (node,), found, BINARY))
            assert arm["natural"][0] - 1e-9 <= low <= arm["lp"][0] + 1e-6
            assert arm["lp"][1] - 1e-6 <= high <= arm["natural"][1] + 1e-9
            assert low - 1e-9 <= arm["truth"] <= high + 1e-9
            narrower += high - low < 0.5 * (arm["factor"][1] - arm["factor"][0])
    assert narrower > 5


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_screen_holds_the_sharp_bounds_in_random_networks(at_once: int) -> None:
    """Of six nodes, or of pairs of four; more than an eighth of the arms that looking does not settle have a screen."""
    networks = repeated(scaled(200, least=20), quick=8)
    arms, found = 0, 0
    for instance in half_open(6, 4, networks, 77) if at_once == 1 else half_open(4, 3, networks, 77, at_once=2):
        problem, names = instance.problem, instance.problem.graph.nodes
        law = instance.network.law(names)
        for targets, places in problem.positions.items():
            acting = problem.verdicts[targets].acting
            if problem.verdicts[targets].identified or not acting:
                continue
            arms += 1
            by = screen(problem.graph, acting, "Y", names)
            if by is None:
                continue
            found += 1
            low, high = screened(law, names, acting, by, BINARY)
            natural = limits(natural_bounds(problem.graph, acting, "Y"), {(): law}, names)
            for place in places:
                codes = {name: int(problem.arms[place].settings[name]) for name in acting}
                at = tuple(codes.values())
                assert natural[0][at] - 1e-9 <= low[at] <= instance.means[place] + 1e-9
                assert instance.means[place] - 1e-9 <= high[at] <= natural[1][at] + 1e-9
                sharp = sharp_bounds(problem.graph, law, "Y", codes)
                if sharp is not None:
                    assert low[at] <= sharp[0] + 1e-6
                    assert high[at] >= sharp[1] - 1e-6
    assert found > arms / 8


def test_a_screen_is_near_its_targets_and_made_of_what_is_counted() -> None:
    graph = CausalGraph.parse("Z -> X -> W -> V -> Y; Z -> Y; X <-> W; Z <-> X")
    assert screen(graph, ["X"], "Y", graph.nodes) == Screen(("Z",), ("W",))
    assert screen(graph, ["X"], "Y", ["X", "Z", "V", "Y"]) == Screen(("Z",), ("V",))
    assert screen(graph, ["X"], "Y", ["X", "V", "W", "Y"]) is None
    assert screen(CausalGraph.parse("X -> Y; X <-> Y"), ["X"], "Y", ["X", "Y"]) is None


@pytest.mark.soak
def test_the_truth_lies_inside_in_random_models_and_bounds_close_where_the_effect_is_settled() -> None:
    """Mixed domains, rewards of several levels, joint targets, with an experiment or without."""
    rng = np.random.default_rng(51)
    opened, narrower, screens, models = 0, 0, 0, repeated(scaled(3_000, least=300), quick=100)
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
        acting = acting_targets(graph, targets, reward)
        found = screen(graph, acting, reward, names)
        if found is not None and acting:
            low, high = screened(oracle.seen, names, acting, found, worth)
            truth_of_acting = onto(under(oracle, acting), names, (*acting, reward)) @ worth
            assert (low <= truth_of_acting + 1e-9).all()
            assert (truth_of_acting <= high + 1e-9).all()
            screens += bool(found.after)
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
    assert screens >= models // 100
    assert opened > min(20, models // 15)
    assert narrower > min(5, models // 60)


def test_the_bounds_of_an_instrument_take_its_best_value() -> None:
    graph = fixture_graph(next(entry for entry in fixture("bounds") if entry["name"] == "iv"))
    (factor,) = factor_bounds(graph, ["X"], "Y").factors
    assert (factor.nodes, factor.given, factor.instruments, factor.settled) == (("Y",), ("X",), ("Z",), False)
