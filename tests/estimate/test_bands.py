"""Bounds in rank: exact in the limit, and wide enough for finitely many rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.estimate.trials import random_trials
from tests.identification.laws import BINARY, fixture, fixture_graph, fixture_law, screened
from tests.soak import repeated, scaled
from whichdo.estimate.bands import bound_arms
from whichdo.estimate.blending import learn
from whichdo.estimate.estimator import Rule
from whichdo.estimate.rank import rank, ranking
from whichdo.evidence import Tally
from whichdo.formulas import Reading
from whichdo.open_arms import screens
from whichdo.problem import LOOK, Problem, do
from whichdo.tables import Table
from whichdo.world.instances import half_open

if TYPE_CHECKING:
    from whichdo.problem import Arm

ENDLESS = 1e22
"""So many rows have bands narrower than 1e-9."""


def bounds(tally: Tally, worth: Any, **more: Any) -> tuple[Any, Any]:
    looked = learn(tally.problem, tally, worth, Rule())
    return bound_arms(tally.problem, tally, worth, Rule(), looked, 0.95, **more)


@pytest.mark.parametrize("entry", fixture("bounds"), ids=lambda entry: entry["name"])
def test_endless_rows_have_the_exact_bounds(entry: dict[str, Any]) -> None:
    """Natural, and by factors and a screen, to 1e-9, the truth inside; the answers are rounded to ten digits."""
    graph, nodes = fixture_graph(entry), tuple(entry["graph"]["nodes"])
    problem = Problem(graph, "Y")
    law = np.transpose(fixture_law(entry, entry["joint"]), [nodes.index(name) for name in graph.nodes])
    rewards = law.sum(axis=tuple(range(law.ndim - 1))) if graph.nodes[-1] == "Y" else None
    assert rewards is not None
    counts: Any = np.zeros((len(problem.arms), 2))
    counts[0] = ENDLESS * rewards
    cells: Any = ENDLESS * law
    tally = Tally(problem, counts, {LOOK: {graph.nodes: Table.of(graph.nodes, cells)}})
    worth = np.array([0.0, 1.0])
    for arm in entry["arms"]:
        node, setting = arm["do"]
        place = problem.index(do({node: setting}))
        for key, alone in (("natural", True), ("factor", False)):
            low, high = bounds(tally, worth, natural_alone=alone)
            if np.isnan(low[place]):  # looking settles it
                assert problem.verdicts[node,].identified
                continue
            ends = arm[key]
            by = screens(problem, Reading.ROBUST).get((node,))
            if by is not None and not alone:
                least, most = screened(law, graph.nodes, (node,), by, worth)
                ends = [max(ends[0], least[setting]), min(ends[1], most[setting])]
            assert [low[place], high[place]] == pytest.approx(ends, abs=1e-9)
            assert low[place] - 1e-9 <= arm["truth"] <= high[place] + 1e-9


@pytest.mark.soak
@pytest.mark.parametrize(("rows", "experiments"), [(200, False), (2_000, False), (200, True)])
def test_bounds_cover_the_truth_and_each_end_covers_its_own(rows: int, experiments: bool) -> None:
    """Random confounded networks, mixed domains, joint arms: misses are at most 5% of means, and 2.5% of either end.

    The end that a network has with endless rows must lie outside of the reported one: some model of the same law has
    its mean there.  One arm and one end of each data set count, so that misses are independent; more than 2.5% by
    six standard errors happen by chance less than once in a million times.  Seen to fail with ends that were plugged in
    (z = 0), and with errors half as large as they are.
    """
    rng = np.random.default_rng(rows + experiments)
    wanted = repeated(scaled(8_000), quick=40)
    missed, outside, made = 0, 0, 0

    def number(arm: Arm) -> int:
        return rows if arm == LOOK else rows // 2 if experiments and len(arm.targets) == 1 else 0

    while made < wanted:
        trials = random_trials(rng)
        worth = trials.worth
        first = trials.draw(rng, number)
        exact = trials.exact(lambda arm: 1e13 * bool(number(arm)))
        ends = bound_arms(trials.problem, exact, worth, Rule(), learn(trials.problem, first, worth, Rule()), 0.95)
        at = np.flatnonzero(~np.isnan(ends[0]))
        for _ in range(20 if len(at) else 0):
            low, high = bounds(trials.draw(rng, number), worth)
            place = int(rng.choice(at))
            made += 1
            outside += not low[place] <= trials.truth[place] <= high[place]
            missed += bool(
                low[place] > ends[0][place] + 1e-6 if rng.random() < 0.5 else high[place] < ends[1][place] - 1e-6
            )
    assert missed <= 0.025 * made + 6 * np.sqrt(0.025 * made)
    assert outside <= 0.05 * made


@pytest.mark.soak
@pytest.mark.parametrize("rows", [200, 2_000])
def test_a_mean_at_the_end_of_its_bounds_is_covered(rows: int) -> None:
    """A hidden coin decides X, and all who were not at X=1 would fail: E[Y | do(X=1)] is P(X=1, Y=1) = .12 exactly.

    Misses above 5% by six standard errors happen by chance less than once in a million times.
    """
    problem = Problem("X -> Y; X <-> Y", "Y")
    rng = np.random.default_rng(rows)
    runs, missed = repeated(scaled(10_000), quick=200), 0
    for _ in range(runs):
        cells = rng.multinomial(rows, [0.5, 0.2, 0.18, 0.12]).reshape(2, 2)
        tally = Tally(
            problem,
            np.array([cells.sum(axis=0), *np.zeros((2, 2), np.int64)]),
            {LOOK: {("X", "Y"): Table.of(("X", "Y"), cells)}},
        )
        low, high = bounds(tally, np.array([0.0, 1.0]))
        place = problem.index(do(X=1))
        missed += not low[place] <= 0.12 <= high[place]
    assert missed <= 0.05 * runs + 6 * np.sqrt(0.05 * runs)


@pytest.mark.soak
@pytest.mark.parametrize("rarity", [(0.1, 0.2), None])
@pytest.mark.parametrize("rows", [200, 2_000])
def test_each_end_by_a_screen_covers_its_own(rows: int, rarity: tuple[float, float] | None) -> None:
    """As above, of arms that have a screen; one arm and one end of each data set."""
    rng = np.random.default_rng(rows)
    made, missed, outside, narrower, again = 0, 0, 0, 0, 20
    for instance in half_open(6, 4, repeated(scaled(200, least=40), quick=10), 77, rarity=rarity):
        problem, law = instance.problem, instance.network.law(instance.problem.graph.nodes)
        known = screens(problem, Reading.ROBUST)
        places = [place for targets in known for place in problem.positions[targets]]
        exact = bounds(looks_of(problem, 1e13 * law), BINARY)
        for _ in range(again if known else 0):
            tally = looks_of(problem, rng.multinomial(rows, law.ravel()).reshape(law.shape))
            low, high = bounds(tally, BINARY)
            place = int(rng.choice(places))
            made += 1
            outside += not low[place] <= instance.means[place] <= high[place]
            missed += bool(
                low[place] > exact[0][place] + 1e-6 if rng.random() < 0.5 else high[place] < exact[1][place] - 1e-6
            )
            natural = bounds(tally, BINARY, natural_alone=True)
            narrower += bool(high[place] - low[place] < 0.9 * (natural[1][place] - natural[0][place]))
    assert missed <= 0.025 * made + 6 * np.sqrt(0.025 * made)
    assert outside <= 0.05 * made
    assert narrower > 0.2 * made


@pytest.mark.soak
@pytest.mark.parametrize("rows", [200, 2_000])
def test_a_mean_at_the_end_by_a_screen_is_covered(rows: int) -> None:
    """All who were at X=0 would be at W=0 under do(X=1), where Y has .1, and not .9 as at W=1.

    Of X=1, who are .4, a half is at W=1: E[Y | do(X=1)] is .4 * .5 + .6 * .1 = .26 exactly.  Misses of an end above
    2.5% by six standard errors happen by chance less than once in a million times.  Seen to fail with the means of the
    screen taken as known.
    """
    problem = Problem("X -> W -> Y; X <-> W", "Y")
    rng = np.random.default_rng(rows)
    at = np.zeros((2, 2, 2))  # X, W, Y
    at[0, 0], at[0, 1] = 0.3 * np.array([0.9, 0.1]), 0.3 * np.array([0.1, 0.9])
    at[1, 0], at[1, 1] = 0.2 * np.array([0.9, 0.1]), 0.2 * np.array([0.1, 0.9])
    runs, missed, place = repeated(scaled(10_000), quick=200), 0, problem.index(do(X=1))
    for _ in range(runs):
        low, high = bounds(looks_of(problem, rng.multinomial(rows, at.ravel()).reshape(at.shape)), BINARY)
        missed += not low[place] <= 0.26
        assert high[place] > 0.26
    assert missed <= 0.025 * runs + 6 * np.sqrt(0.025 * runs)


def looks_of(problem: Problem, cells: Any) -> Tally:
    """Looks that fell into these cells, an axis for each node of the graph."""
    counts = np.zeros((len(problem.arms), 2), cells.dtype)
    counts[0] = cells.sum(axis=tuple(range(cells.ndim - 1)))
    return Tally(problem, counts, {LOOK: {problem.graph.nodes: Table.of(problem.graph.nodes, cells)}})


def instrument(rows: int, seed: int = 5) -> dict[str, Any]:
    """Z -> X -> Y, X <-> Y, W -> Y; the value of Z decides most of X."""
    rng = np.random.default_rng(seed)
    hidden, z, w = (rng.random(rows) < 0.5 for _ in range(3))
    x = rng.random(rows) < 0.05 + 0.75 * z + 0.1 * hidden
    y = rng.random(rows) < 0.1 + 0.3 * hidden + 0.1 * x + 0.45 * w
    return {name: each.astype(int) for name, each in (("Z", z), ("X", x), ("W", w), ("Y", y))}


def test_an_instrument_narrows_bounds() -> None:
    problem, data = Problem("Z -> X -> Y; X <-> Y; W -> Y", "Y"), instrument(5_000)
    with_it = rank(problem, data)[do(X=1)]
    without = rank(problem, data, reading="paper")[do(X=1)]
    assert with_it.bounds is not None
    assert without.bounds is not None
    assert with_it.bounds[1] - with_it.bounds[0] < 0.7 * (without.bounds[1] - without.bounds[0])
    assert with_it.bounds[0] < 0.575 < with_it.bounds[1]  # .1 + .3 / 2 + .1 + .45 / 2


def test_what_is_worse_by_its_bounds_need_not_be_tried() -> None:
    """Nearly all are at X=0: doing that everywhere changes little, and do(W=1) is better than that."""
    rng = np.random.default_rng(2)
    hidden, w = rng.random(4_000) < 0.5, rng.random(4_000) < 0.5
    x = rng.random(4_000) < 0.02 + 0.06 * hidden
    y = rng.random(4_000) < 0.1 + 0.2 * hidden + 0.1 * x + 0.5 * w
    data = {name: each.astype(int) for name, each in (("X", x), ("W", w), ("Y", y))}
    for goal, best in (("maximize", do(W=1)), ("minimize", do(W=0))):
        found = rank(Problem("X -> Y; X <-> Y; W -> Y", "Y", goal=goal), data)
        row = found[do(X=0)]
        assert found.best is not None
        assert found.best.arm == best
        assert not row.identified
        assert not row.must_try
        assert np.isnan(row.estimate)
        assert (row.low, row.high) == row.bounds
        assert f"Not settled, but worse than that whatever hidden causes do: do(X=0) ({row.interval})." in found.summary
        assert found[do(X=1)].must_try
        assert found[best].bounds is None
        assert "not settled" in str(found)
        assert "between" in found._repr_html_()


def test_weights_that_are_all_alike_change_nothing_and_others_widen() -> None:
    problem, data = Problem("Z -> X -> Y; X <-> Y; W -> Y", "Y"), instrument(800)
    plain = rank(problem, data)[do(X=1)].bounds
    alike = rank(problem, data | {"v": np.full(800, 2.5)}, weights="v")[do(X=1)].bounds
    uneven = rank(problem, data | {"v": np.random.default_rng(1).choice([0.1, 1.0, 4.0], 800)}, weights="v")
    assert plain is not None
    assert alike == pytest.approx(plain, abs=1e-9)
    wider = uneven[do(X=1)].bounds
    assert wider is not None
    assert wider[1] - wider[0] > plain[1] - plain[0]


def test_a_numeric_reward_of_two_values_has_the_bounds_of_two_levels() -> None:
    """On its own scale; the instrument's values are then chosen by means, of which there is one cell."""
    data = instrument(800)
    levels = rank(Problem("Z -> X -> Y; X <-> Y; W -> Y", "Y"), data)[do(X=1)].bounds
    numeric = Problem("Z -> X -> Y; X <-> Y; W -> Y", "Y", reward_range=(0, 60))
    numbers = rank(numeric, data | {"Y": 60.0 * data["Y"]})[do(X=1)].bounds
    assert levels is not None
    assert numbers == pytest.approx([60 * end for end in levels], abs=0.6)


def test_rows_of_experiments_settle_a_part_of_an_arm() -> None:
    """do(X=1, Z=1): experiments on Z settle how Z acts, and only what X does to M stays open."""
    rng = np.random.default_rng(3)
    problem = Problem("X -> M -> Y; Z -> Y; X <-> M; Z <-> Y", "Y", at_once=2)

    def drawn(rows: int, z: int | None) -> dict[str, Any]:
        first, second = rng.random(rows) < 0.5, rng.random(rows) < 0.5
        x = rng.random(rows) < 0.3 + 0.5 * first
        m = rng.random(rows) < 0.1 + 0.5 * x + 0.3 * first
        own = rng.random(rows) < 0.2 + 0.6 * second if z is None else np.full(rows, z)
        y = rng.random(rows) < 0.1 + 0.4 * m + 0.2 * own + 0.2 * second
        return {name: each.astype(int) for name, each in (("X", x), ("M", m), ("Z", own), ("Y", y))}

    looks, tried = drawn(3_000, None), [drawn(1_500, 0), drawn(1_500, 1)]
    arms = [""] * 3_000 + ["do(Z=0)"] * 1_500 + ["do(Z=1)"] * 1_500
    whole = {name: np.concatenate([looks[name], *(each[name] for each in tried)]) for name in looks}
    both = rank(problem, whole | {"arm": arms}, arm="arm")[do(X=1, Z=1)]
    alone = rank(problem, looks)[do(X=1, Z=1)]
    assert both.bounds is not None
    assert alone.bounds is not None
    assert both.bounds[1] - both.bounds[0] < 0.75 * (alone.bounds[1] - alone.bounds[0])
    assert both.bounds[0] < 0.1 + 0.4 * 0.75 + 0.2 + 0.1 < both.bounds[1]


def test_without_looks_there_are_no_bounds() -> None:
    problem = Problem("X -> Y; X <-> Y", "Y")
    assert ranking(Tally.empty(problem))[do(X=1)].bounds is None


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_and_columns_carry_bounds(backend: str) -> None:
    found = rank(Problem("Z -> X -> Y; X <-> Y; W -> Y", "Y"), instrument(300))
    columns = found.columns()["bounds"]
    assert columns[0] is None
    assert found.to_frame(backend)["bounds"] is not None
    place = list(found).index(do(X=1))
    assert columns[place] == list(found[do(X=1)].bounds or ())
