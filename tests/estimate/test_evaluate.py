"""Values and slopes of estimands on tables: against plain loops over all cells, and against exact derivatives."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests import twins
from tests.identification.laws import adjusted, random_tables
from whichdo.errors import NotIdentifiedError, TooLargeError
from whichdo.estimate.evaluate import Evaluator, evaluator, table_evaluator
from whichdo.graph.admg import CausalGraph
from whichdo.identification.engine import identify
from whichdo.identification.estimand import Conditional, Estimand, Product, Ratio, Sum
from whichdo.identification.forms import adjustment_sets, weight_estimand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whichdo.identification.estimand import Expression

Array = np.ndarray[Any, np.dtype[np.float64]]

NAPKIN = CausalGraph.parse("W -> Z -> X -> Y; W <-> X; W <-> Y")


def plain(
    expression: Expression, at: Mapping[str, int], tables: Mapping[Conditional, Array], sizes: Mapping[str, int]
) -> float:
    """The value of an expression at one setting of its free names, straight from what it means."""
    match expression:
        case Conditional():
            return float(tables[expression][tuple(at[name] for name in expression.columns)])
        case Product(factors):
            return float(np.prod([plain(factor, at, tables, sizes) for factor in factors]))
        case Sum(names, term):
            cells = itertools.product(*(range(sizes[name]) for name in names))
            return sum(plain(term, {**at, **dict(zip(names, cell, strict=True))}, tables, sizes) for cell in cells)
        case Ratio(numerator, denominator):
            below = plain(denominator, at, tables, sizes)
            return plain(numerator, at, tables, sizes) / below if below else 0.0


def plain_values(estimand: Estimand, tables: Sequence[Array], worth: Array, sizes: Mapping[str, int]) -> Array:
    known = dict(zip(estimand.conditionals, tables, strict=True))
    found = np.zeros([sizes[name] for name in estimand.targets])
    for cell in np.ndindex(found.shape):
        at = dict(zip(estimand.targets, cell, strict=True))
        for level, value in enumerate(worth):
            found[cell] += value * plain(estimand.expression, {**at, estimand.reward: level}, known, sizes)
    return found


def random_estimands(count: int, seed: int, largest: int = 6) -> Iterator[tuple[Estimand, dict[str, int]]]:
    """Formulas of all kinds for random graphs, with domains of two and three values."""
    rng = random.Random(seed)
    made = 0
    while made < count:
        mixed = twins.random_mixed(rng, largest)
        if len(mixed.nodes) < 3:
            continue
        graph, reward, others = mixed.graph(), mixed.nodes[-1], mixed.nodes[:-1]
        targets = rng.sample(others, rng.randint(1, 2))
        sizes = {name: rng.choice((2, 3)) for name in mixed.nodes}
        try:
            found = [identify(graph, targets, reward, [rng.sample(others, 1)])]
        except NotIdentifiedError:
            continue
        found += [adjusted(graph, targets, reward, each.given) for each in adjustment_sets(graph, targets, reward)]
        if found[0].expression.free == {reward}:
            continue
        made += 1
        yield rng.choice(found), sizes


def test_values_are_those_of_plain_loops() -> None:
    rng = np.random.default_rng(31)
    for estimand, sizes in [*random_estimands(60, 31), (identify(NAPKIN, ["X"], "Y"), dict.fromkeys("WZXY", 3))]:
        engine = evaluator(estimand, sizes)
        tables, worth = random_tables(engine, rng), rng.random(sizes[estimand.reward])
        expected = plain_values(estimand, tables, worth, sizes)
        assert engine.values(tables, worth) == pytest.approx(expected, abs=1e-12)
        mean, square = engine.moments(tables, worth)
        assert mean == pytest.approx(expected, abs=1e-12)
        assert square == pytest.approx(plain_values(estimand, tables, worth**2, sizes), abs=1e-12)


def complex_steps(engine: Evaluator, tables: Sequence[Array], worth: Array, place: int) -> Array:
    """The exact derivative with respect to each cell of one table: the imaginary part after a tiny imaginary step."""
    found = np.zeros((*engine.shape, *tables[place].shape))
    for cell in np.ndindex(tables[place].shape):
        moved = [table.astype(complex) for table in tables]
        moved[place][cell] += 1e-40j
        values: Any = engine.values(moved, worth)
        found[(..., *cell)] = values.imag / 1e-40
    return found


def test_slopes_are_exact_derivatives_in_every_cell() -> None:
    """Also where one table is read at the value that is set and summed over elsewhere, as in the weight form."""
    rng = np.random.default_rng(32)
    front = CausalGraph.parse("X -> M -> Y; X <-> Y")
    chosen = [
        *random_estimands(25, 32, largest=5),
        (identify(NAPKIN, ["X"], "Y"), dict.fromkeys("WZXY", 3)),
        (weight_estimand(front, ["X"], "Y"), {"X": 3, "M": 2, "Y": 2}),
        (weight_estimand(CausalGraph.parse("X -> Z; Z -> T; Z -> Y; X -> Y; T -> Y"), ["X", "T"], "Y"),
         {"X": 3, "Z": 2, "T": 2, "Y": 2}),
        (identify(CausalGraph.parse("X -> Y; A -> Y"), ["X"], "Y"), {"X": 2, "A": 3, "Y": 4}),
    ]  # fmt: skip
    for estimand, sizes in chosen:
        engine = evaluator(estimand, sizes)
        tables, worth = random_tables(engine, rng), rng.random(sizes[estimand.reward])
        values, slopes = engine.slopes(tables, worth)
        assert values == pytest.approx(engine.values(tables, worth), abs=1e-14)
        for place, slope in enumerate(slopes):
            assert slope.shape == (*engine.shape, *tables[place].shape)
            assert slope == pytest.approx(complex_steps(engine, tables, worth, place), rel=1e-9, abs=1e-11)


def test_a_target_that_does_not_act_has_an_axis_along_which_nothing_changes() -> None:
    estimand = identify(CausalGraph.parse("A -> X -> Y"), ["A", "X"], "Y")
    engine = evaluator(estimand, {"A": 3, "X": 2, "Y": 2})
    table = np.array([[0.9, 0.1], [0.4, 0.6]])
    values, (slope,) = engine.slopes([table], np.array([0.0, 1.0]))
    assert values == pytest.approx(np.array([[0.1, 0.6]] * 3))
    assert slope.shape == (3, 2, 2, 2)
    assert slope[2] == pytest.approx(np.array([[[0, 1], [0, 0]], [[0, 0], [0, 1]]]))


def test_what_never_occurs_counts_as_nothing() -> None:
    """0 / 0 is 0, and has no slope: X = 1 never occurs in the napkin's rows."""
    estimand = identify(NAPKIN, ["X"], "Y")
    engine = evaluator(estimand, dict.fromkeys("WZXY", 2))
    tables = random_tables(engine, np.random.default_rng(33))
    for conditional, table in zip(engine.conditionals, tables, strict=True):
        if conditional.nodes == ("X",):
            table[..., 0], table[..., 1] = 1, 0
    values, slopes = engine.slopes(tables, np.ones(2))
    assert values == pytest.approx([1, 0])
    assert all(np.isfinite(slope).all() for slope in slopes)


def test_a_reward_on_a_range_is_a_table_of_means_with_one_level() -> None:
    estimand = identify(CausalGraph.parse("Z -> X; Z -> Y; X -> Y"), ["X"], "Y")
    engine = evaluator(estimand, {"Z": 2, "X": 2, "Y": 1})
    means = np.array([[10.0, 20.0], [30.0, 50.0]])[..., np.newaxis]
    assert engine.values([np.array([0.5, 0.5]), means], np.ones(1)) == pytest.approx([20, 35])


def test_a_factor_is_evaluated_to_a_table_and_the_outline_puts_factors_together() -> None:
    graph = CausalGraph.parse("X -> M -> Y; X <-> Y")
    estimand, sizes = identify(graph, ["X"], "Y"), {"X": 3, "M": 2, "Y": 2}
    engine = evaluator(estimand, sizes)
    tables = random_tables(engine, np.random.default_rng(34))
    known = dict(zip(engine.conditionals, tables, strict=True))
    factors = []
    for factor in estimand.factors:
        part = table_evaluator(factor.sources[0][1], factor.symbol.columns, sizes)
        factors.append(part.values([known[each] for each in part.conditionals], None))
    whole = evaluator(Estimand(estimand.outline, ("X",), "Y"), sizes)
    worth = np.array([0.0, 1.0])
    assert whole.values(factors, worth) == pytest.approx(engine.values(tables, worth), abs=1e-14)


def test_an_evaluator_is_made_once() -> None:
    estimand = identify(CausalGraph.parse("X -> Y"), ["X"], "Y")
    sizes = {"X": 2, "Y": 2, "elsewhere": 5}
    assert evaluator(estimand, sizes) is evaluator(identify(CausalGraph.parse("X -> Y"), ["X"], "Y"), {"X": 2, "Y": 2})
    assert evaluator(estimand, {"X": 3, "Y": 2}) is not evaluator(estimand, sizes)


def test_a_table_of_the_wrong_shape_is_refused() -> None:
    engine = evaluator(identify(CausalGraph.parse("X -> Y"), ["X"], "Y"), {"X": 2, "Y": 2})
    with pytest.raises(ValueError, match=r"the table of P\(Y \| X\) has the shape \(2, 3\), not \(2, 2\)"):
        engine.values([np.ones((2, 3))], np.ones(2))


def test_a_target_may_have_a_number_for_a_name() -> None:
    estimand = identify(CausalGraph(["1", "2", "Y"], [("1", "2"), ("1", "Y"), ("2", "Y")]), ["2"], "Y")
    engine = evaluator(estimand, {"1": 2, "2": 2, "Y": 2})
    tables = random_tables(engine, np.random.default_rng(35))
    worth = np.array([0.0, 1.0])
    assert engine.values(tables, worth) == pytest.approx(
        plain_values(estimand, tables, worth, {"1": 2, "2": 2, "Y": 2})
    )


def test_a_sum_one_variable_at_a_time_reaches_where_laying_out_does_not() -> None:
    """A chain of 60 nodes: 2^60 cells at once, four in each step."""
    names = [f"N{number}" for number in range(60)]
    graph = CausalGraph(names, itertools.pairwise(names))
    estimand = identify(graph, ["N0"], "N59")
    engine = evaluator(estimand, dict.fromkeys(names, 2))
    step = np.array([[0.9, 0.1], [0.2, 0.8]])
    values, slopes = engine.slopes([step] * 59, np.array([0.0, 1.0]))
    assert values == pytest.approx(np.linalg.matrix_power(step, 59)[:, 1], abs=1e-12)
    assert len(slopes) == 59


def test_what_is_too_large_to_lay_out_says_how_large_before_anything_is_made() -> None:
    names = [f"P{number}" for number in range(40)]
    arrows = [(name, head) for name in names for head in ("X", "Y")]
    graph = CausalGraph([*names, "X", "Y"], [*arrows, ("X", "Y")])
    with pytest.raises(
        TooLargeError, match=r"do\(X\) needs a table of 1,099,511,627,776 cells over .* 16,777,216 are allowed"
    ):
        evaluator(identify(graph, ["X"], "Y"), {**dict.fromkeys(names, 2), "X": 1, "Y": 1})


def test_many_factors_of_one_variable_are_multiplied_in_groups() -> None:
    """70 factors that speak of Z: more operands than one call takes."""
    law = Conditional(("Y",), ("X", "Z"))
    engine = Evaluator(Sum(("Z",), Product((Conditional(("Z",)), *[law] * 70))), ("X",), "Y", {"X": 2, "Z": 2, "Y": 2})
    tables = random_tables(engine, np.random.default_rng(36))
    worth = np.array([0.0, 1.0])
    values, slopes = engine.slopes(tables, worth)
    assert values == pytest.approx(np.einsum("z,xzy->xy", tables[0], tables[1] ** 70)[:, 1])
    assert slopes[1] == pytest.approx(complex_steps(engine, tables, worth, 1))
