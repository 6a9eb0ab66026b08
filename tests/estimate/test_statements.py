"""Statements tested together: the correction for many, what is too large, what fails."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from whichdo.errors import UsageError
from whichdo.estimate.statements import adjusted_chances, check_statements, statement_cells
from whichdo.evidence import Tally
from whichdo.graph.separation import Statement
from whichdo.problem import LOOK, Problem
from whichdo.tables import Scope, Table

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, IntArray


def columns(rows: int, seed: int = 3) -> dict[str, CodeArray]:
    """A acts on B and B on C; D is nobody's; E is on a range."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, rows)
    b = np.where(rng.random(rows) < 0.8, a, 1 - a)
    c = np.where(rng.random(rows) < 0.8, b, 1 - b)
    codes = {"A": a, "B": b, "C": c, "D": rng.integers(0, 3, rows), "E": 100 * c + rng.integers(0, 156, rows)}
    return {name: values.astype(np.uint8) for name, values in codes.items()}


def table(data: dict[str, CodeArray], *scope: str) -> dict[Scope, Table]:
    sizes = {"A": 2, "B": 2, "C": 2, "D": 3, "E": 256}
    return {scope: Table.from_rows(scope, [sizes[name] for name in scope], [data[name] for name in scope])}


def two_columns(counts: IntArray) -> dict[Scope, Table]:
    return {("A", "B"): Table.of(("A", "B"), counts)}


def test_the_correction_is_scipys() -> None:
    chances = np.random.default_rng(1).random(40) ** 3
    assert adjusted_chances(list(chances)) == pytest.approx(stats.false_discovery_control(chances, method="by"))
    assert adjusted_chances([nan, 0.01, nan])[1] == pytest.approx(0.01)
    assert adjusted_chances([]).size == 0


def test_a_chain_is_found_and_what_it_separates_is_not_denied() -> None:
    counted = table(columns(5_000), "A", "B", "C", "D")
    wrong, right, apart = check_statements(
        counted, [Statement("A", "C"), Statement("A", "C", ("B",)), Statement("A", "D")]
    )
    assert wrong.fails
    assert (wrong.left, wrong.right, wrong.given) == ("A", "C", ())
    assert wrong.low < wrong.strength < wrong.high
    assert not right.fails
    assert not apart.fails


def test_a_statement_is_tested_on_any_table_that_has_its_columns() -> None:
    data = columns(5_000)
    asked = [Statement("A", "C", ("B",))]
    assert check_statements(table(data, "C", "A", "B"), asked) == check_statements(
        table(data, "A", "B", "C", "D"), asked
    )


def test_what_is_not_counted_or_too_large_is_not_tested_and_says_why() -> None:
    counted = table(columns(59), "A", "C", "D")
    large, absent = check_statements(counted, [Statement("A", "C", ("D",)), Statement("A", "B")])
    assert (large.tested, large.method) == (False, "12 cells are too many for 59 rows")
    assert (absent.tested, absent.fails, absent.method) == (False, False, "its columns were not counted together")


def test_a_column_of_many_values_is_tested_in_four_groups() -> None:
    sizes = {"C": 2, "E": 256, "A": 2}
    assert statement_cells(Statement("C", "E", ("A",)), sizes) == 16
    assert statement_cells(Statement("A", "C", ("E",)), sizes) == 1_024
    counted = table(columns(2_000), "C", "E", "A")
    assert check_statements(counted, [Statement("C", "E")])[0].fails
    assert not check_statements(table(columns(2_000), "D", "E"), [Statement("D", "E")])[0].fails


def test_a_dependence_that_is_sure_but_negligible_does_not_fail() -> None:
    """Ten million rows, 50.5% against 49.5%: a strength of .00005 nats, with a chance of 1e-200."""
    law = np.array([[0.2525, 0.2475], [0.2475, 0.2525]])
    found = check_statements(two_columns((law * 10_000_000).astype(np.int64)), [Statement("A", "B")])[0]
    assert found.adjusted < 1e-100
    assert 0 < found.low < found.strength < 0.0005
    assert not found.fails


def test_other_tests_made_at_the_same_time_count() -> None:
    counted = two_columns(np.array([[60, 40], [40, 60]]))
    alone = check_statements(counted, [Statement("A", "B")])[0]
    among = check_statements(counted, [Statement("A", "B")], others=[0.5] * 9)[0]
    assert alone.fails
    assert not among.fails
    assert among.adjusted == pytest.approx(alone.p * 10 * sum(1 / k for k in range(1, 11)))


def test_rows_with_weights_are_refused() -> None:
    weighted = Table(("A", "B"), (2, 2), np.full((2, 2), 50), weight=np.ones((2, 2)), weight_square=np.ones((2, 2)))
    with pytest.raises(UsageError, match="weights"):
        check_statements({("A", "B"): weighted}, [Statement("A", "B")])


def test_a_weak_dependence_of_the_reward_fails_where_mean_rewards_surely_differ() -> None:
    """A strength of .0003 nats is below the negligible, and a difference of .024 in a rate of .5 is not."""
    law = np.array([[0.256, 0.244], [0.244, 0.256]])
    counts = np.rint(law * 200_000).astype(np.int64)
    problem = Problem("A; B", "B")
    tally = Tally(problem, counts.sum(axis=0)[None].repeat(len(problem.arms), 0), {LOOK: two_columns(counts)})
    of_columns = check_statements(two_columns(counts), [Statement("A", "B")])[0]
    of_reward = check_statements(tally, [Statement("A", "B")])[0]
    assert (of_columns.fails, of_reward.fails) == (False, True)
    assert of_columns.low < of_columns.strength < 0.0005
    assert of_reward.difference == pytest.approx(0.012, abs=2e-4)
    assert 0.005 < of_reward.difference_low < of_reward.difference
    assert np.isnan(of_columns.difference)
    less = np.rint(np.array([[0.2525, 0.2475], [0.2475, 0.2525]]) * 1_000_000).astype(np.int64)
    small = Tally(problem, less.sum(axis=0)[None].repeat(len(problem.arms), 0), {LOOK: two_columns(less)})
    found = check_statements(small, [Statement("A", "B")])[0]
    assert found.adjusted < 1e-20
    assert not found.fails
