"""Verdicts on made-up results: each word, and the numbers beside it."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from whichdo.experiments import claims
from whichdo.experiments.experiment import Line, Word, clearly_below, difference, exponent


def line(means: list[float], points: list[int] | None = None, *, noise: float = 0.001, networks: int = 20) -> Line:
    rng = np.random.default_rng(len(means))
    table = np.array(means) + noise * rng.standard_normal((networks, len(means)))
    where = np.array(points or range(500, 500 + 100 * len(means), 100))
    return Line("any", where, table, np.full(table.shape, 0.1), 30)


def test_differences_are_taken_network_by_network() -> None:
    """Networks that differ by far more than the policies do not hide that one policy is better on each."""
    level = np.linspace(0, 10, 20)[:, None]
    one = Line("a", np.array([1]), level, np.zeros((20, 1)), 5)
    other = Line("b", np.array([1]), level + 0.1, np.zeros((20, 1)), 5)
    gap, error = difference(one, other)
    assert gap == pytest.approx([-0.1])
    assert error == pytest.approx([0], abs=1e-12)
    assert clearly_below(one, [other]).all()


def test_one_network_has_the_errors_of_its_runs() -> None:
    one, other = (
        Line(name, np.array([1]), np.array([[mean]]), np.array([[2.0]]), 25) for name, mean in (("a", 1.0), ("b", 2.0))
    )
    gap, error = difference(one, other)
    assert (gap[0], error[0]) == pytest.approx((-1, sqrt(2) * 0.4))
    assert not clearly_below(one, [other])[0]


def test_equal_is_not_below() -> None:
    same = line([0.0, 0.0], noise=0)
    assert not clearly_below(same, [same]).any()


@pytest.mark.parametrize("power", [0.5, 1.3, -0.7])
def test_the_exponent_of_a_power_is_found(power: float) -> None:
    points = [4, 8, 16, 32]
    found, error = exponent(np.array(points, float), line([point**power for point in points], points, noise=1e-6))
    assert found == pytest.approx(power, abs=1e-3)
    assert error < 1e-3


@pytest.mark.parametrize(("srm", "word"), [([0.1, 0.1], Word.HOLDS), ([0.1, 0.3], Word.PART), ([0.3, 0.3], Word.NOT)])
def test_srm_below_the_rest(srm: list[float], word: Word) -> None:
    lines = {"srm": line(srm), "ue": line([0.25, 0.25]), "sr": line([0.2, 0.2])}
    assert claims.srm_below_the_rest.judge({"": lines}).word is word


def grown(small: float, large: float) -> dict[str, Line]:
    return {"N=100": line([small, small]), "N=200": line([large, large])}


@pytest.mark.parametrize(
    ("srm", "sr", "word"),
    [((0.1, 0.1), (0.1, 0.2), Word.HOLDS), ((0.1, 0.15), (0.1, 0.2), Word.PART), ((0.1, 0.2), (0.1, 0.1), Word.PART)],
)
def test_independent_of_n(srm: tuple[float, float], sr: tuple[float, float], word: Word) -> None:
    made = {"srm": grown(*srm), "sr": grown(*sr), "ue": grown(0.2, 0.3)}
    panels = {name: {policy: lines[name] for policy, lines in made.items()} for name in ("N=100", "N=200")}
    assert claims.independent_of_n.judge(panels).word is word


@pytest.mark.parametrize(("power", "word"), [(0.5, Word.HOLDS), (1.2, Word.NOT)])
def test_root_of_m(power: float, word: Word) -> None:
    points = [12, 20, 30, 40, 50]
    panels = {name: {"srm": line([0.02 * m**power for m in points], points, noise=1e-5)} for name in ("N=100", "N=200")}
    assert claims.root_of_m.judge(panels).word is word


def curve(means: list[float]) -> Line:
    return line(means, [10, 50, 100], noise=0.01)


@pytest.mark.parametrize(
    ("crm", "ucb", "word"),
    [
        ([50, 99, 100], [50, 90, 120], Word.HOLDS),
        ([50, 90, 100], [50, 60, 120], Word.PART),
        ([50, 60, 120], [50, 60, 120], Word.NOT),
    ],
)
def test_crm_flat(crm: list[float], ucb: list[float], word: Word) -> None:
    assert claims.crm_flat.judge({"": {"crm": curve(crm), "ucb": curve(ucb)}}).word is word


def test_warm_halving_ahead_counts_points_that_are_small_apart() -> None:
    lines = {"srm": line([0.3, 0.01], noise=0), "sr": line([0.2, 0.02], noise=0)}
    assert (
        claims.warm_halving_ahead.judge({"": lines | {"warm-halving": line([0.02, 0.01], noise=0)}}).word is Word.HOLDS
    )
    assert (
        claims.warm_halving_ahead.judge({"": lines | {"warm-halving": line([0.02, 0.011], noise=0)}}).word is Word.PART
    )
    assert (
        claims.warm_halving_ahead.judge({"": lines | {"warm-halving": line([0.05, 0.011], noise=0)}}).word is Word.NOT
    )


def test_warm_halving_never_behind_names_where_it_is() -> None:
    lines = {"srm": line([0.1, 0.1], noise=0), "warm-halving": line([0.05, 0.2], noise=0)}
    verdict = claims.warm_halving_never_behind.judge({"x": lines})
    assert verdict.word is Word.PART
    assert verdict.numbers == "x at 600: 0.2000 against 0.1000 of any"


@pytest.mark.parametrize(
    ("blind", "word"), [([0.2, 0.2], Word.HOLDS), ([0.2, 0.1], Word.PART), ([0.2, 0.01], Word.NOT)]
)
def test_conditioning_stays_wrong(blind: list[float], word: Word) -> None:
    lines = {"conditioning": line(blind), "srm": line([0.1, 0.02])}
    assert claims.conditioning_stays_wrong.judge({"x": lines}).word is word


def test_causal_thompson_must_be_clearly_below_all_others() -> None:
    rest = {"crm": curve([1, 2, 30]), "ts": curve([1, 2, 20]), "causal-kl-ucb": curve([1, 2, 3])}
    assert claims.ours_earn_more.judge({"": rest | {"causal-ts": curve([1, 2, 10])}}).word is Word.HOLDS
    assert claims.ours_earn_more.judge({"": rest | {"causal-ts": curve([1, 2, 25])}}).word is Word.NOT
