"""Hardness: its definition, and the paper's lemma that a good estimate of q makes a good estimate of m."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import Phase, example, find, given, settings
from hypothesis import strategies as st

from whichdo.estimate.rarity import hardness

OPTIONS = settings(max_examples=300, derandomize=True, deadline=None, database=None)
SIZES = st.integers(1, 4)


def by_definition(q: list[Fraction], k: list[int]) -> int:
    """The least whole tau from 2 on such that at most tau nodes have q^k < 1 / tau."""
    tau = 2
    while sum(share**size * tau < 1 for share, size in zip(q, k, strict=True)) > tau:
        tau += 1
    return tau


@OPTIONS
@given(looks=st.integers(1, 200), data=st.data())
def test_hardness_is_what_its_definition_says(looks: int, data: st.DataObject) -> None:
    """For shares of a number of looks, in exact fractions: also where a power of a share is 1 / tau exactly."""
    cells = data.draw(st.lists(st.tuples(st.integers(0, looks), SIZES), min_size=1, max_size=12))
    exact, k = [Fraction(count, looks) for count, _ in cells], [size for _, size in cells]
    assert hardness(np.array([count for count, _ in cells]) / looks, k) == by_definition(exact, k)


def test_a_share_that_is_exactly_one_mth_is_not_rarer_than_that() -> None:
    """Three nodes of q = 1/3 squared, 1/9: at tau = 3 none of k = 1 is rarer; with k = 2 all are, until tau = 9."""
    assert hardness([1 / 3] * 3, [1] * 3) == 3
    assert hardness([1 / 3] * 12, [2] * 12) == 9
    assert hardness([0.0] * 5, [1] * 5) == 5
    assert hardness([0.0], [1]) == 2


# ---------------------------------------------------------------------------------------------------- the paper's lemma


@st.composite
def estimated(draw: st.DrawFn, widened: float) -> tuple[list[float], list[float], list[int]]:
    """True q, estimates of it, and k; every estimate is closer than (1 - 2^(-1/k)) q / 4 times ``widened``.

    q without index is the least that is not 0, k the greatest.  Many q lie just on a power that matters, and many
    estimates just inside the end of the band.
    """
    tau = draw(st.integers(2, 4))
    k = draw(st.lists(SIZES, min_size=1, max_size=12) | st.integers(5, 12).map(lambda count: [1] * count))
    edge = [draw(st.sampled_from((0.0, 1.0, 1.0, 1.0)) | st.floats(0.2, 2.0)) for _ in k]
    true = [min(1.0, (factor / tau) ** (1 / size)) for factor, size in zip(edge, k, strict=True)]
    least = min((share for share in true if share > 0), default=1 / (len(k) + 1))
    band = widened * (1 - 2 ** (-1 / max(k))) * least / 4
    errors = [draw(st.sampled_from((-0.999, -0.999, 0.999)) | st.floats(-0.999, 0.999)) for _ in k]
    found = [min(1.0, max(0.0, share + error * band)) for share, error in zip(true, errors, strict=True)]
    return true, found, k


def good(case: tuple[list[float], list[float], list[int]]) -> bool:
    true, found, k = case
    return hardness(found, k) <= 2 * by_definition([Fraction(share) for share in true], k)


def rounded(case: tuple[list[float], list[float], list[int]]) -> tuple[list[float], list[float], list[int]]:
    """The same with every true q a hair larger, so that its power is on the right side of 1 / tau."""
    true, found, k = case
    return [share * (1 + 1e-12) for share in true], found, k


@pytest.mark.slow("2 s: 300 examples of the paper's lemma")
@OPTIONS
@given(case=estimated(1.0))
def test_the_estimate_of_m_is_at_most_twice_m_where_every_q_is_well_estimated(
    case: tuple[list[float], list[float], list[int]],
) -> None:
    """The paper's lemma on the estimate of m (appendix, proof of its first theorem).

    Let q be the least of the q_i that is not 0 (1 / (N + 1) if all are 0) and k the largest k_i.  If each estimate is
    off by less than (1 - 2^(-1/k)) q / 4, then the m that is estimated with them is at most 2 m.
    """
    assert good(rounded(case))


@pytest.mark.slow("2 s: 300 examples of the paper's lemma where it is sharp")
@OPTIONS
@given(case=estimated(4.0))
@example(case=([0.5] * 5, [0.2505] * 5, [1] * 5))  # m is 2, its estimate 4: the bound is met, one more would break it
def test_the_lemma_holds_up_to_four_times_its_band(case: tuple[list[float], list[float], list[int]]) -> None:
    """Its proof gives away the factor 1/4: (1 - 2^(-1/k)) q is enough to keep q_i^(k_i) above half of what it was."""
    assert good(rounded(case))


@pytest.mark.slow("3 s: searches for a case that breaks the lemma, so that the others look where it matters")
def test_beyond_four_times_its_band_the_lemma_is_false() -> None:
    """So the test above looks where it matters: a band a little wider is seen to fail."""
    true, found, k = find(
        estimated(4.8),
        lambda case: not good(rounded(case)),
        settings=settings(OPTIONS, max_examples=5000, phases=[Phase.generate]),  # any case will do
    )
    assert hardness(found, k) > 2 * hardness(true, k)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_nodes_never_seen_are_all_tried(count: int) -> None:
    assert hardness([0.0] * count, [1] * count) == max(2, count)
