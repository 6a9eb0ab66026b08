"""Networks summed one variable at a time: the kernel's numbers where both can, the truth where only this can."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whichdo as wd
from tests.estimate.oracle import Oracle, any_problem, semi_markovian
from tests.estimate.wide import fine_reward, many_parents, tied_chain
from whichdo.counting import count
from whichdo.counting.scopes import MAX_CELLS, Reading, cell_count, full_scope, judged, together
from whichdo.counting.wide import counted_scopes, needed_cells
from whichdo.estimate.elimination import Elimination, looked_wide, slopes
from whichdo.estimate.interventional import Estimator, Looked, estimator, interventional
from whichdo.estimate.rank import ranking
from whichdo.evidence import Tally, observe
from whichdo.graph.factors import factor_network, surely_together
from whichdo.graph.identify import Route
from whichdo.graph.ordering import min_fill
from whichdo.problem import Problem, do
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from pathlib import Path

    from whichdo.graph.factors import FactorNetwork
    from whichdo.graph.targets import Targets
    from whichdo.world.network import CausalNetwork


def forced(made: Estimator) -> dict[Targets, Elimination]:
    """Every network of an estimator that is more than the reward alone, to be eliminated, places as the kernel's."""
    networks = {targets: network for targets, network in made.networks.items() if network.node is not None}
    starts = made.plan.work_start[made.plan.factor_start[1:-1]]
    return {
        targets: Elimination(made.problem, network, int(start))
        for (targets, network), start in zip(networks.items(), starts, strict=True)
    }


def blank(looked: Looked) -> Looked:
    """The same with nothing known of any arm."""
    empty = {field.name: np.full_like(getattr(looked, field.name), np.nan) for field in fields(looked)[1:]}
    return replace(looked, **empty)


OTHERWISE = pytest.mark.slow(
    "1 s: all readings on 100 networks, with each smoothing and threshold; finds a cell that is counted otherwise"
)


@pytest.mark.parametrize(
    ("smoothing", "threshold"),
    [
        pytest.param(1.0, 0.0, marks=OTHERWISE),
        pytest.param(0.5, 7.0, marks=OTHERWISE),
        pytest.param(0.0, 0.0, marks=OTHERWISE),
    ],
)
def test_everything_equals_the_kernel(smoothing: float, threshold: float) -> None:
    """300 random confounded networks, binary and mixed, up to 200 rows; tables laid out and sparse in turn."""
    rng = np.random.default_rng(int(10 * smoothing + threshold))
    compared, summed = 0, 0
    for number in range(100):
        problem = any_problem(semi_markovian(rng, observed=(3, 6), binary=number % 2 == 0), rng)
        sizes = [len(values) for values in problem.domains.values()]
        length = int(rng.integers(1, 200))
        codes = [rng.integers(0, size, length) for size in sizes]
        data = dict(zip(problem.domains, codes, strict=True))
        worth = rng.random(len(problem.rewards))
        for reading in Reading:
            made = Estimator(problem, reading)
            named = {name: [problem.domains[name][code] for code in column] for name, column in data.items()}
            seen = count(problem, named, scopes=made.scopes)
            if number % 3:
                seen = sparse(seen)
            kernel = made.from_counts(made.counts(seen), worth, smoothing=smoothing, threshold=threshold)
            wide = forced(made)
            found = looked_wide(wide, blank(kernel), seen, worth, smoothing, threshold)
            arms = [position for position, arm in enumerate(problem.arms) if arm.targets in wide]
            sets = [position for position, targets in enumerate(problem.target_sets) if targets in wide]
            for field in fields(kernel)[1:]:
                chosen = sets if field.name == "rarest" else arms
                mine, theirs = getattr(found, field.name)[chosen], getattr(kernel, field.name)[chosen]
                assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-12), field.name
            compared += len(arms)
            summed += sum(each.network.sums_over_node for each in wide.values())
    assert compared > 500
    assert summed > 20


def sparse(tally: Tally) -> Tally:
    """The same with tables as lists of the cells that occurred."""
    tables = {scope: table.sparse() for scope, table in tally.tables[do()].items() if table.cells is None}
    return Tally(tally.problem, tally.counts, {do(): tables})


def test_the_node_put_late_in_the_order_gives_the_same_law() -> None:
    """Any topological order will do: exact laws give the true means, whichever order the factors were made in."""
    rng, compared, moved = np.random.default_rng(3), 0, 0
    while compared < 200:
        network = semi_markovian(rng)
        problem, oracle = any_problem(network, rng), Oracle(network)
        truth = oracle.means(problem)
        worth = np.array(list(problem.rewards.values()))
        for reading in Reading:
            for targets, verdict in judged(problem, reading).items():
                if verdict.route in {Route.TRY, Route.SAME}:
                    continue
                scope, cells = full_scope(problem, verdict, reading), together(problem, verdict, reading)
                made = Elimination(problem, factor_network(verdict, scope, cells, late=True))
                for columns in surely_together(verdict):
                    assert any(set(columns) <= set(factor.columns) for factor in made.network.factors)
                counts = [oracle.table(factor.columns).ravel() for factor in made.network.factors]
                arms = [position for position, arm in enumerate(problem.arms) if arm.targets == targets]
                assert made.estimate(counts, worth, 1.0, 0.0, 0.0)["means"] == pytest.approx(truth[arms], abs=1e-9)
                compared += 1
                moved += made.network != factor_network(verdict, scope, cells)
    assert moved > 10


@pytest.mark.parametrize("seed", range(20))
def test_slopes_are_those_of_the_whole_sum(seed: int) -> None:
    """Against the product over all cells; zeros among the entries, tables that share nothing, or are one number."""
    rng = np.random.default_rng(seed)
    sizes = {name: int(rng.integers(1, 4)) for name in "ABCDEF"}
    scopes = [tuple(rng.permutation(list(sizes))[: rng.integers(0, 4)].tolist()) for _ in range(6)]
    tables = [rng.random([sizes[name] for name in scope]) * (rng.random() < 0.9) for scope in scopes]
    letters = {name: number for number, name in enumerate(sizes)}
    for number, found in enumerate(slopes(tables, scopes, list(min_fill(scopes)))):
        others = [part for j in range(6) if j != number for part in (tables[j], [letters[n] for n in scopes[j]])]
        ones = [np.ones([sizes[name] for name in scopes[number]]), [letters[name] for name in scopes[number]]]
        expected = np.einsum(*others, *ones, [letters[name] for name in scopes[number]])  # type: ignore[call-overload]
        assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("instance", "cells"),
    [
        (tied_chain(40), 2**42),
        (tied_chain(80), 2**82),
        (tied_chain(40, first=True), 2**42),
        (many_parents(40), 2**43),
        (fine_reward(256, 10), 2**21),
    ],
    ids=["chain", "chain beyond 64 columns", "chain told from X", "many parents", "fine reward"],
)
def test_wide_scopes_give_the_truth(instance: tuple[CausalNetwork, Problem], cells: int) -> None:
    """With the exact laws of the factors in place of counts, the estimate is the true mean."""
    network, problem = instance
    assert cell_count(problem, counted_scopes(problem)["X"]) == cells > MAX_CELLS
    made = estimator(problem)
    assert list(made.wide) in ([("X",)], [("X",), ("V",)])
    assert ("X",) not in made.networks
    assert all("X" not in scope for scope in made.scopes)
    each = made.wide["X"]
    counts = [network.law(factor.columns).ravel() for factor in each.network.factors]
    found = each.estimate(counts, np.array(list(problem.rewards.values())), 1.0, 0.0, 0.0)
    arms = [position for position, arm in enumerate(problem.arms) if arm.targets == ("X",)]
    assert found["means"] == pytest.approx(network.means(problem)[arms], abs=1e-12)
    if cells == 2**21:
        assert each.network.sums_over_node


def test_forty_columns_and_a_hundred_thousand_rows_in_seconds() -> None:
    """Estimates within six standard errors of the truth (a false alarm below 1e-8), in little time and memory."""
    network, problem = tied_chain(38)
    rows = network.sample(100_000, seed=4)
    estimator(problem).from_tally(count(problem, {name: column[:10] for name, column in rows.items()}), np.arange(2.0))
    tracemalloc.start()
    try:
        began = time.process_time()
        found = wd.rank(problem, rows)
        took = time.process_time() - began
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert took < 10  # about 1 s
    assert peak < 200_000_000
    truth = network.means(problem)
    for arm, mean in zip(problem.arms, truth, strict=True):
        row = found[arm]
        assert abs(row.estimate - mean) < 6 * (row.high - row.low) / (2 * 1.96)
        assert row.high - row.low < 0.05
    assert found[do(X=1)].method == "component"
    assert found[do(X=1)].reason.startswith("counting X together with A0, A1, A2, A3, A4 and 33 more, to which hidden")
    assert found[do(X=1)].weakest_count == int(np.sum((rows["A37"] == 0) & (rows["X"] == 1)))
    assert found[do(X=1)].weakest_cell == "A37=0, X=1"
    assert found[do(X=1)].conditional == pytest.approx(rows["Y"][rows["X"] == 1].mean())
    assert found.rarity["X"] == 0
    assert 0 < found.probability_best <= 1


def test_each_wide_node_knows_its_own_weakest_row() -> None:
    """Two wide nodes: the rows of the second are numbered after those of the first."""
    network, problem = many_parents(30)
    rows = network.sample(2000, seed=6)
    found = wd.rank(problem, rows)
    for node, cause in ("XA", "VB"):
        for value in (0, 1):
            seen = [int(np.sum((rows[node] == value) & (rows[cause] == code))) for code in (0, 1)]
            row = found[do({node: value})]
            assert row.weakest_count == min(seen)
            assert row.weakest_cell == f"{cause}={int(np.argmin(seen))}, {node}={value}"


def test_files_frames_and_worlds_count_wide_scopes_alike(tmp_path: Path) -> None:
    network, problem = tied_chain(25)
    rows = network.sample(3000, seed=2)
    pq.write_table(pa.table(rows), tmp_path / "log.parquet")
    lines = [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    scope = counted_scopes(problem)["X"]
    tallies = [count(problem, source) for source in (rows, tmp_path / "log.parquet", tmp_path / "log.csv")]
    half = [
        count(problem, {name: column[part] for name, column in rows.items()})
        for part in (slice(1500), slice(1500, None))
    ]
    for tally in (*tallies, half[0] + half[1]):
        table = tally.tables[do()][scope]
        assert table.cells is not None
        assert interventional(problem, tally).means.tolist() == interventional(problem, tallies[0]).means.tolist()
    pulled = World(network, problem, seed=1).pull(observe(20_000))
    assert pulled.tables[do()][scope].cells is not None
    assert interventional(problem, pulled).means == pytest.approx(network.means(problem), abs=0.06)


def test_draws_agree_with_the_sum() -> None:
    """The paper's way, 40,000 draws: six standard deviations of a mean of coins are .015."""
    network, problem = tied_chain(25)
    rows = network.sample(2000, seed=3)
    exact, drawn = wd.rank(problem, rows), wd.rank(problem, rows, sampled=40_000)
    for arm in problem.arms[1:]:
        assert drawn[arm].estimate == pytest.approx(exact[arm].estimate, abs=0.015)


def test_nothing_seen_is_all_doubt() -> None:
    """As for narrow scopes: means in the middle, worth no pull."""
    _, problem = tied_chain(25)
    looked = interventional(problem, Tally.empty(problem))
    assert looked.means == pytest.approx([0.5] * 5)
    assert looked.sizes.tolist() == [0] * 5
    assert looked.rarest.tolist() == [0, 0]


def test_a_tally_without_the_wide_table_leaves_its_arms_unknown() -> None:
    """Policies look at what is laid out; a ranking of their looks says what it lacks and does not fail."""
    network, problem = tied_chain(25)
    seen = World(network, problem).pull(observe(500, scopes=estimator(problem).scopes))
    found = ranking(seen)
    row = found[do(X=1)]
    assert np.isnan(row.estimate)
    assert row.must_try
    assert row.method == "none"
    assert row.reason.endswith("needs 27 columns counted together, which this tally does not hold")
    assert not np.isnan(found[do(Z=1)].estimate)


@pytest.mark.parametrize("name", ["srm", "warm-halving"])
def test_policies_take_wide_arms_as_not_served_by_looking(name: str) -> None:
    network, problem = tied_chain(25)
    out = wd.simulate(wd.policy(name), network, problem, horizon=400, runs=5, seed=1)
    assert len(out.regret) == 5
    assert estimator(problem).sources.tolist() == [0, -1, -1, 1, 2]


def test_what_stays_too_wide_says_how_wide() -> None:
    """Forty parents of X that act on Y too: P(Y | X, parents) alone has 2^42 cells, its columns are not needed."""
    parents = [f"P{number}" for number in range(40)]
    text = "; ".join(f"{name} -> {head}" for name in parents for head in "XY")
    problem = Problem(f"{text}; X -> Y; X <-> P0; Z -> Y", "Y", ["X", "Z"])
    assert set(counted_scopes(problem)) == {("Z",)}
    assert needed_cells(problem, ("X",)) == 2**42
    found = wd.rank(problem, {"X": [0, 1], "Z": [0, 1], "Y": [0, 1]})
    assert found[do(X=1)].reason.endswith("needs 4,398,046,511,104 cells, more than any log fills: try it")
    assert found[do(X=1)].must_try
    assert not np.isnan(found[do(Z=1)].estimate)


def test_a_sum_may_be_too_wide_where_no_factor_is() -> None:
    """A 24 by 24 grid below X of factors over three nodes each: any order joins about 24 of them, 2^24 cells."""
    side = 24
    text = []
    for i in range(side):
        for j in range(side):
            text += [f"A{i}_{j} -> A{i + 1}_{j}" for _ in range(i + 1 < side)]
            text += [f"A{i}_{j} -> A{i}_{j + 1}" for _ in range(j + 1 < side)]
            text.append(f"X <-> A{i}_{j}")
    problem = Problem("; ".join([*text, f"A{side - 1}_{side - 1} -> Y; X -> Y"]), "Y", ["X"])
    assert max(len(factor.columns) for factor in _wide(problem).factors) == 3
    assert counted_scopes(problem) == {}
    assert needed_cells(problem, ("X",)) >= 2**21


def test_a_hopeless_component_is_seen_at_once() -> None:
    """300 nodes tied in a chain, all acting on Y: whoever is asked about, the others need a table of 2^150 or more."""
    text = "; ".join(f"P{number} <-> P{number + 1}; P{number} -> Y" for number in range(300))
    problem = Problem(f"{text}; P300 -> Y", "Y")
    began = time.process_time()
    assert counted_scopes(problem) == {}
    assert time.process_time() - began < 3  # .2 s; working all networks out takes 10
    assert needed_cells(problem, ("P0",)) == 2**300


def _wide(problem: Problem) -> FactorNetwork:
    verdict = problem.verdicts["X"]
    return factor_network(verdict, full_scope(problem, verdict), together(problem, verdict), late=True)
