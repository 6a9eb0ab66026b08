"""The test of conditional independence: its moments, its tails, its strength."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from whichdo.tables.independence import _Strata, measure_dependence, measure_difference


def test_the_moments_of_pearsons_statistic_are_those_of_all_tables_with_the_margins() -> None:
    """Every order of the second column is as likely as any other; tables of two and three rows are among these."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        rows = int(rng.integers(2, 7))
        first, second = rng.integers(0, 3, rows), rng.integers(0, 3, rows)
        counts = np.zeros((1, 3, 3), np.int64)
        np.add.at(counts[0], (first, second), 1)
        strata = _Strata.of(counts)
        if not len(strata.total):
            continue
        tables = np.zeros((0, 1, 3, 3))
        for order in permutations(range(rows)):
            table = np.zeros((1, 1, 3, 3))
            np.add.at(table[0, 0], (first, second[list(order)]), 1)
            tables = np.concatenate([tables, table])
        pearson = strata.statistics(tables)[0]
        assert strata.moments() == pytest.approx((pearson.mean(), pearson.var()), abs=1e-9)


def test_thick_strata_have_scipys_chi_square_and_thin_ones_are_left_out() -> None:
    counts = np.array([[[30, 45], [50, 25]], [[70, 80], [60, 90]], [[2, 1], [1, 3]]])
    parts = [stats.chi2_contingency(each, correction=False) for each in counts[:2]]
    found = measure_dependence(counts)
    assert found.p == pytest.approx(float(stats.chi2.sf(sum(part.statistic for part in parts), 2)), rel=1e-9)
    assert (found.method, found.rows) == ("chi-square", int(counts[:2].sum()))


def test_values_that_do_not_occur_in_a_stratum_cost_no_freedom() -> None:
    counts = np.array([[[30, 0, 45], [0, 0, 0], [50, 0, 25]]])
    small = counts[:, [0, 2]][:, :, [0, 2]]
    assert measure_dependence(counts) == measure_dependence(small)


def test_drawn_tables_have_the_margins_and_the_exact_moments() -> None:
    """20,000 draws: a mean more than six standard errors off has a chance below 1e-8."""
    rng = np.random.default_rng(6)
    strata = _Strata.of(rng.poisson(1.5, (5, 3, 4)))
    tables = strata._drawn(np.random.default_rng(7), 2)
    assert (tables.sum(axis=3) == strata.rows).all()
    assert (tables.sum(axis=2) == strata.columns).all()
    pearson, _ = strata.draws(20_000)
    mean, variance = strata.moments()
    assert abs(pearson.mean() - mean) < 6 * np.sqrt(variance / 20_000)
    assert pearson.var() == pytest.approx(variance, rel=0.1)


def test_a_rare_value_on_both_sides_is_not_called_surprising_by_chance_alone() -> None:
    """One row of 1,000 has X=1, thirty have Y=1: that the one has Y=1 too happens with chance .03.

    A gamma law alone says .007: seen to fail where small chances are not confirmed by drawn tables.
    """
    counts = np.array([[[970, 29], [0, 1]]])
    assert 0.015 < measure_dependence(counts).p < 0.05


@pytest.mark.slow("2 s: thin strata at the nominal rate, which a G-test has at .27")
def test_thin_strata_keep_their_level() -> None:
    """32 strata of about ten rows, 4,000 tables: .05 give or take .0034; five standard errors are allowed."""
    rng = np.random.default_rng(8)
    low = 0
    for _ in range(4_000):
        share = rng.dirichlet([0.7, 0.7], 32), rng.dirichlet([0.7, 0.7, 0.7], 32)
        law = share[0][:, :, None] * share[1][:, None, :] / 32
        low += measure_dependence(rng.multinomial(320, law.ravel()).reshape(law.shape)).p < 0.05
    assert 0.025 < low / 4_000 < 0.067


@pytest.mark.slow("1 s: an interval that is off would let statements fail, or pass, for no reason")
def test_the_interval_of_the_strength_covers_the_truth() -> None:
    """Two columns in three strata that depend on each other a little, 1,000 tables: 95% give or take .7%.

    Four standard errors are allowed.  Without taking chance off, the strength is a third too large: seen to fail.
    """
    rng = np.random.default_rng(9)
    law = rng.dirichlet(np.full(6, 3.0), 3).reshape(3, 2, 3) / 3
    expected = law.sum(axis=2, keepdims=True) * law.sum(axis=1, keepdims=True) * 3
    law = 0.2 * law + 0.8 * expected
    truth = float((law * np.log(law / expected)).sum())
    for rows in (3_000, 30_000):
        found = [measure_dependence(rng.multinomial(rows, law.ravel()).reshape(law.shape)) for _ in range(1_000)]
        covered = np.mean([each.low <= truth <= each.high for each in found])
        assert 0.922 < covered < 0.978
        assert np.mean([each.strength for each in found]) == pytest.approx(truth, rel=0.1)


def test_a_column_that_never_varies_says_nothing() -> None:
    assert np.isnan(measure_dependence(np.array([[[10, 20], [0, 0]]])).p)
    assert measure_dependence(np.zeros((4, 2, 2), np.int64)).method == "none"


def test_differences_of_means_are_those_of_the_law_and_their_lower_end_is_below_the_truth() -> None:
    """Strata with other rewards and other spreads; 400 samples, of which the lower end may be above 5% at most.

    The chance that more than 40 of 400 are, if 2.5% are, is below 1e-12.  The seed is fixed.
    """
    rng = np.random.default_rng(12)
    law = rng.dirichlet(np.ones(3), size=(4, 2)) * np.array([0.1, 0.2, 0.3, 0.4])[:, None, None] / 2
    worth = np.array([0.0, 0.4, 1.0])
    means = law @ worth / law.sum(axis=2)
    middle = (law @ worth).sum(axis=1) / law.sum(axis=(1, 2))
    truth = float(np.sqrt((law.sum(axis=2) * (means - middle[:, None]) ** 2).sum()))
    above, sizes = 0, []
    for _ in range(400):
        size, low = measure_difference(rng.multinomial(3_000, law.ravel()).reshape(law.shape), worth)
        sizes.append(size)
        above += low > truth
    assert np.mean(sizes) == pytest.approx(truth, rel=0.01)
    assert above <= 40
    assert measure_difference(np.array([[[5, 5], [0, 0]]]), np.array([0.0, 1.0])) == (0.0, 0.0)
