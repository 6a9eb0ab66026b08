"""What looks deny of the graph before the first pull, and which arms are doubted for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import whichdo as wd
from tests.policies.driving import driven
from whichdo.checking.denial import CAPPED, denial, statement_scopes
from whichdo.evidence import Tally
from whichdo.policies.base import Objective
from whichdo.simulation import run_rounds
from whichdo.world.instances import planted
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from whichdo.world.instances import Planted

CHAIN = "W -> X; X -> Y; Z -> Y; Z -> V; V -> Y"
"""What is drawn; in the rows below W acts on Y as well."""


def rows(count: int, direct: float, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    w, z = rng.random(count) < 0.5, rng.random(count) < 0.5
    x = rng.random(count) < 0.2 + 0.6 * w
    v = rng.random(count) < 0.2 + 0.6 * z
    y = rng.random(count) < 0.1 + 0.3 * x + 0.1 * z + 0.1 * v + direct * w
    return {name: column.astype(int) for name, column in zip("WXZVY", (w, x, z, v, y), strict=True)}


def looks(problem: wd.Problem, direct: float, count: int = 4_000) -> Tally:
    return wd.count(problem, rows(count, direct))


def test_a_missing_arrow_is_denied_and_only_the_arms_that_it_touches_are_doubted() -> None:
    problem = wd.Problem(CHAIN, "Y", ["X", "V"])
    found = denial(problem, looks(problem, 0.3), 0.3)
    assert (found.failing[0].left, found.failing[0].right) == ("W", "Y")
    doubted = {str(arm) for arm, chance in zip(problem.arms, found.chances, strict=True) if chance}
    assert doubted == {"do(X=0)", "do(X=1)"}
    assert found.chances.max() == CAPPED
    (words,) = found.words
    assert "The logs deny that W and Y are independent given X" in words
    assert "what looking says of do(X=0) and do(X=1) is doubted from the start" in words


def test_an_arrow_drawn_the_wrong_way_is_among_what_explains_it() -> None:
    """By no single edge more does looking say anything else of an arm, but with the arrow turned it does."""
    drawn = wd.Problem("Z -> X; W -> X; X -> Y; W -> Y", "Y", ["X"])
    rng = np.random.default_rng(3)
    z = rng.random(6_000) < 0.5
    x = rng.random(6_000) < 0.2 + 0.6 * z
    w = rng.random(6_000) < 0.2 + 0.6 * x  # X acts on W, not W on X
    y = rng.random(6_000) < 0.1 + 0.3 * x + 0.4 * w
    seen = wd.count(drawn, {name: each.astype(int) for name, each in zip("ZXWY", (z, x, w, y), strict=True)})
    assert denial(drawn, seen, 0.3).chances[1:].tolist() == [CAPPED, CAPPED]


def test_a_right_graph_no_looks_and_no_doubt_deny_nothing() -> None:
    problem = wd.Problem(CHAIN, "Y", ["X", "V"])
    for seen, doubt in ((looks(problem, 0.0), 0.3), (looks(problem, 0.3), 0.0), (Tally.empty(problem), 0.3)):
        found = denial(problem, seen, doubt)
        assert found.anything == 0
        assert not found.chances.any()
        assert found.words == ()


def test_the_chance_is_the_largest_that_a_failure_can_mean() -> None:
    """Sellke, Bayarri and Berger: p = .05 means odds of at most 2.46 to one."""
    problem = wd.Problem(CHAIN, "Y", ["X", "V"])
    found = denial(problem, looks(problem, 0.3), 0.3)
    weak = type(found)(problem, 0.5, found.failing, found.apart, 0.05, found.touched)
    assert weak.anything / (1 - weak.anything) == pytest.approx(2.456, abs=0.001)
    assert weak.chances.max() == pytest.approx(weak.anything)


def test_a_large_graph_counts_single_statements_those_about_the_reward_first() -> None:
    names = [f"N{number}" for number in range(24)]
    graph = "; ".join(f"{tail} -> {head}" for tail, head in zip(names, [*names[1:], "Y"], strict=True))
    problem = wd.Problem(graph, "Y", ["N3"])
    scopes = statement_scopes(problem)
    assert 1 < len(scopes) <= 48
    assert all("Y" in scope for scope in scopes[:20])
    assert all(problem.cells(scope) <= 1 << 12 for scope in scopes)


def lost(name: str, world: Planted, seen: Tally, seed: int) -> float:
    """The regret of 300 rounds, or of the arm that is named after so many pulls."""
    played = wd.policy(name)
    key = np.array([seed, 9], np.uint64)
    gaps = world.means.max() - world.means
    if played.objective is Objective.CUMULATIVE:
        rng, marks = np.random.default_rng(seed), np.array([300])
        pulls, _, _ = run_rounds(played, world.network, world.problem, 300, key, rng, marks, seen)
        return float(pulls[0] @ gaps)
    answer = World(world.network, world.problem, key).pull
    _, _, final = driven(played, world.problem, 300, answer, seed=seed, seen=seen)
    return float(gaps[world.problem.index(final.arm)])


@pytest.mark.slow("2 s: 22 campaigns of 300 pulls for each policy; finds a denial that policies do not heed")
@pytest.mark.parametrize("name", ["warm-halving", "causal-ts", "causal-kl-ucb"])
def test_policies_lose_less_where_the_logs_have_denied_the_graph(name: str) -> None:
    """Than without the table that denies it: 11 worlds, two runs each, of a seed that nothing was tuned on.

    causal-kl-ucb explores what is doubted at all from the start, so that it gains little.
    """
    denied = silent = 0.0
    for seed, world in enumerate(planted("missing-arrow", 11, 77)):
        for run in range(2):
            seen = world.logs(3_000, seed + 100 * run)
            less = {scope: table for scope, table in seen.tables[wd.do()].items() if "W" not in scope}
            denied += lost(name, world, seen, seed + 100 * run)
            silent += lost(name, world, Tally(world.problem, seen.counts, {wd.do(): less}), seed + 100 * run)
    assert denied < (0.85 if name != "causal-kl-ucb" else 0.99) * silent


@pytest.mark.parametrize("at_once", [1, 2])
def test_where_arms_are_pruned_what_logs_deny_is_asked_of_all_that_are_left(at_once: int) -> None:
    """The graph that would explain the rows prunes other arms than the one that was drawn."""
    problem, rng = wd.Problem("A -> Y; B -> Y; C -> D", "Y", at_once=at_once, prune=True), np.random.default_rng(3)
    b, c = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    a, d = b ^ (rng.random(300) < 0.2), c ^ (rng.random(300) < 0.2)
    y = (rng.random(300) < np.where(b, 0.8, 0.2)).astype(int)
    scopes = [tuple("ABCDY"), tuple("ABY"), tuple("AY"), tuple("BY")]
    seen = wd.count(problem, {"A": a, "B": b, "C": c, "D": d, "Y": y}, scopes=scopes)
    assert denial(problem, seen, 0.3).chances.shape == (len(problem.arms),)
