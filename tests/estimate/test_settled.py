"""Estimates with all their errors: against a plain twin, against exact laws, and compiled against not."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.estimate.settled_twin import adjusted
from whichdo.estimate import kernel
from whichdo.estimate.evaluate import evaluator
from whichdo.estimate.limits import normal_quantile
from whichdo.estimate.model import Task, lay_out, occurrences
from whichdo.estimate.settling import Scope, settle, settle_by_adjustment
from whichdo.estimate.shrinkage import STRENGTH, Rows, shrink_law, shrink_reward
from whichdo.formulas import Formula, Reading, choose_formula, formulas
from whichdo.graph.admg import CausalGraph
from whichdo.graph.identify import Route
from whichdo.problem import Problem, do

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whichdo.arrays import FloatArray
    from whichdo.estimate.settled import Settled

Z = normal_quantile(0.975)
FIXTURES = Path(__file__).parents[1] / "fixtures"


def rows_of(count: FloatArray, total: FloatArray, square: FloatArray) -> Rows:
    seen = count > 0
    mean = np.divide(total, count, out=np.zeros(count.shape), where=seen)
    return Rows(count, count, mean, np.divide(square, count, out=np.zeros(count.shape), where=seen))


def margin(counts: FloatArray, names: Sequence[str], wanted: Sequence[str]) -> FloatArray:
    kept = [name for name in names if name in wanted]
    found = counts.sum(axis=tuple(j for j, name in enumerate(names) if name not in wanted))
    return np.asarray(found.transpose([kept.index(name) for name in wanted]))


def settled(formula: Formula, counts: FloatArray, names: Sequence[str], strength: float = STRENGTH) -> Settled:
    """From a joint table of all nodes, of which the reward, 0 or 1, is the last."""
    reward = formula.estimand.reward
    sizes = dict(zip(names, counts.shape, strict=True)) | {reward: 1}
    whole = margin(counts, names, (*formula.reward.given, reward))
    targets = [place for place, name in enumerate(formula.reward.given) if name in formula.targets]
    rows = shrink_reward(rows_of(whole.sum(axis=-1), whole[..., 1], whole[..., 1]), targets, strength)
    laws = {each: shrink_law(margin(counts, names, each.columns), len(each.nodes), strength) for each in formula.laws}
    columns = tuple(name for name in names if name != reward and name in {*formula.targets, *formula.given})
    scope = Scope(columns, margin(counts, names, columns)) if formula.shared else None
    return settle(evaluator(formula.estimand, sizes), laws, formula.reward, rows, float(counts.sum()), scope)


def fixture_queries() -> Iterator[tuple[Problem, FloatArray, tuple[str, ...], list[float]]]:
    """Every identified query of the fixture: the problem, its law as an array, the targets, and the true means."""
    for entry in json.loads((FIXTURES / "ident.json").read_text(encoding="utf-8")):
        nodes = entry["graph"]["nodes"]
        graph = CausalGraph(nodes, *([tuple(e) for e in entry["graph"][kind]] for kind in ("directed", "bidirected")))
        law = np.array(entry["joint"]).reshape((2,) * len(nodes))
        for query in entry["queries"]:
            if query["identified"] and query["do"] == sorted(query["do"]):
                targets, others = tuple(query["do"]), [name for name in nodes if name not in {*query["do"], "Y"}]
                arms = [do(dict(zip(targets, values, strict=True))) for values, _ in query["means"]]
                problem = Problem(graph, "Y", arms=[*arms, *(do({name: 0}) for name in others)])
                yield problem, law / law.sum(), targets, [mean for _, mean in query["means"]]


def forms(problem: Problem, targets: tuple[str, ...]) -> Iterator[tuple[Reading, Formula]]:
    for reading in Reading:
        if reading is not Reading.PAPER or (len(targets) == 1 and problem.verdicts[targets].identified):
            formula = choose_formula(formulas(problem, targets, reading), 1 << 20)
            if formula is not None:
                yield reading, formula


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["rare", "common", "numeric"])
def test_adjustment_is_that_of_a_plain_twin(seed: int, kind: str) -> None:
    """Means, effects and all limits, with empty cells among them."""
    rng = np.random.default_rng([seed, 7])
    count = rng.poisson(rng.gamma(0.6, 12, (5, 3))).astype(float)
    if kind == "numeric":
        draws = [[rng.beta(2, 3, int(n)) for n in row] for row in count]
        total, square = (np.array([[(d**power).sum() for d in row] for row in draws]) for power in (1, 2))
    else:
        total = square = rng.binomial(count.astype(int), 0.03 if kind == "rare" else 0.4).astype(float)
    total[count == 0] = 0
    found = settle_by_adjustment(shrink_reward(rows_of(count, total, square), [1]), float(count.sum()))
    low, high = found.limits(Z)
    effect_low, effect_high = found.effect_limits(Z)
    table = {(z, x): (count[z, x], total[z, x], square[z, x]) for z in range(5) for x in range(3)}
    for x in range(3):
        own, effect = adjusted(table, x)
        assert (found.means[x], low[x], high[x]) == pytest.approx(own, abs=2e-5)
        assert (found.effects[x], effect_low[x], effect_high[x]) == pytest.approx(effect, abs=2e-5)


def test_every_reading_has_the_exact_mean_of_an_exact_law() -> None:
    routes = set()
    for problem, law, targets, means in fixture_queries():
        for reading, formula in forms(problem, targets):
            found = settled(formula, law, problem.graph.nodes, strength=0.0)
            shape = [2] * len(formula.targets)
            idle = [slice(None) if name in formula.targets else None for name in targets]
            wide = np.broadcast_to(found.means.reshape(shape)[tuple(idle)], [2] * len(targets))
            assert wide.ravel() == pytest.approx(means, abs=1e-9)
            routes.add((reading, formula.route))
    assert {(Reading.ROBUST, route) for route in Route if route is not Route.TRY} <= routes
    assert (Reading.GRAPH, Route.COMPONENT) in routes
    assert (Reading.PAPER, Route.COMPONENT) in routes


def test_what_shrinkage_moves_fades_like_one_over_the_rows() -> None:
    for problem, law, targets, _ in itertools.islice(fixture_queries(), 40):
        for _, formula in forms(problem, targets):
            exact = settled(formula, law, problem.graph.nodes, strength=0.0).means
            moved = [np.abs(settled(formula, law * n, problem.graph.nodes).means - exact).max() * n for n in (1e4, 1e6)]
            assert moved[1] <= 1.2 * moved[0] + 1e-3


def test_adjustment_laid_out_or_not_is_the_same() -> None:
    """Every field that a ranking reads, with the strata as one axis or as one for each covariate."""
    rng = np.random.default_rng(3)
    met = 0
    for problem, law, targets, _ in fixture_queries():
        formula = choose_formula(formulas(problem, targets, Reading.ROBUST), 1 << 20)
        if formula is None or formula.route is not Route.ADJUSTMENT:
            continue
        counts = rng.multinomial(60, law.ravel()).reshape(law.shape).astype(float)
        one = settled(formula, counts, problem.graph.nodes)
        whole = margin(counts, problem.graph.nodes, (*formula.given, *formula.targets, "Y"))
        flat = whole.reshape(2 ** len(formula.given), 2 ** len(formula.targets), 2)
        rows = shrink_reward(rows_of(flat.sum(axis=-1), flat[..., 1], flat[..., 1]), [1])
        two = settle_by_adjustment(rows, float(counts.sum()))
        for field in ("means", "spreads", "effects", "sizes", "law", "effect_law", "below", "above"):
            assert getattr(one, field) == pytest.approx(getattr(two, field), abs=1e-12)
        assert one.effect_covariance == pytest.approx(two.effect_covariance, abs=1e-12)
        for first, second in zip((*one.own, *one.gain, *one.loss), (*two.own, *two.gain, *two.loss), strict=True):
            assert first == pytest.approx(second, abs=1e-12)
        met += 1
    assert met > 50


def test_the_kernel_finds_the_same_means_and_sizes() -> None:
    """All formulas of all fixture graphs that are sums of products, few rows and many."""
    rng = np.random.default_rng(4)
    kinds: dict[tuple[Any, ...], int] = {}
    for problem, queries in itertools.groupby(fixture_queries(), key=lambda query: query[0]):
        for _, law, targets, _ in queries:
            found = [
                (formula, Task(formula.estimand, codes, formula.shared))
                for reading, formula in forms(problem, targets)
                if reading is not Reading.PAPER and occurrences(formula.estimand) is not None
                for codes in [tuple(itertools.product((0, 1), repeat=len(formula.targets)))]
            ]
            if not found:
                continue
            names = problem.graph.nodes
            plan = lay_out([each for _, each in found], [names], dict.fromkeys(names, 2), "Y")
            for looks in (40, 4_000):
                counts = rng.multinomial(looks, law.ravel()).astype(float)
                compiled = kernel.look(plan, counts, np.array([0.0, 1.0]))
                plain = [settled(formula, counts.reshape(law.shape), names) for formula, _ in found]
                means = np.concatenate([each.means for each in plain])
                sizes = np.concatenate([each.sizes for each in plain])
                assert compiled[:, kernel.MEAN] == pytest.approx(means, abs=1e-12)
                assert compiled[:, kernel.SIZE] == pytest.approx(sizes, rel=1e-9)
            kinds |= {(formula.route, formula.shared): 1 for formula, _ in found}
    assert {(Route.ADJUSTMENT, True), (Route.COMPONENT, True), (Route.COMPONENT, False)} <= set(kinds)


def test_the_kernel_runs_uncompiled_to_the_last_bit() -> None:
    problem = Problem("Z -> X; Z -> Y; X -> Y; A -> Z", "Y", ["X"])
    formula = choose_formula(formulas(problem, ("X",), Reading.GRAPH), 1_000)
    assert formula is not None
    plan = lay_out(
        [Task(formula.estimand, ((0,), (1,)), formula.shared)],
        formula.scopes,
        dict.fromkeys(problem.graph.nodes, 2),
        "Y",
    )
    counts = np.random.default_rng(5).poisson(20, int(plan.count_start[-1]) + 16).astype(float)
    worth = np.array([0.0, 1.0])
    plain = getattr(kernel.look, "py_func", kernel.look)
    assert plain(plan, counts, worth).tolist() == kernel.look(plan, counts, worth).tolist()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_no_success_anywhere_leaves_the_honest_interval(value: float) -> None:
    """30 rows of x, 5,000 of the other, all alike: one-sided, and no narrower than for those 30 rows alone."""
    count = np.array([[30.0, 5_000.0]])
    rows = shrink_reward(rows_of(count, count * value, count * value), [1])
    low, high = settle_by_adjustment(rows, 5_030.0).limits(Z)
    assert high[0] - low[0] == pytest.approx(1 - 0.025 ** (1 / 32), rel=0.05)


def test_a_cell_never_seen_counts_by_its_weight() -> None:
    """Stratum 1 holds a hundredth of the rows and never x = 1: its interval is wider by a hundredth in all, no more."""
    count = np.array([[500.0, 490.0], [10.0, 0.0]])
    total = count * 0.5
    found = settle_by_adjustment(shrink_reward(rows_of(count, total, total), [1]), 1_000.0)
    assert found.below[1] + found.above[1] == pytest.approx(0.01)
    assert found.below[0] == found.above[0] == 0.0


def test_a_row_that_never_occurs_has_no_weight() -> None:
    """A declared value that nobody has: an empty stratum changes no number."""
    count = np.array([[50.0, 40.0], [30.0, 70.0]])
    more = np.vstack([count, [0.0, 0.0]])
    one, two = (settle_by_adjustment(shrink_reward(rows_of(c, c / 4, c / 4), [1]), 190.0) for c in (count, more))
    assert one.means == pytest.approx(two.means)
    assert one.limits(Z)[1] == pytest.approx(two.limits(Z)[1])
    assert two.above == pytest.approx([0, 0])
