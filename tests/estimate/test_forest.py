"""The forest plot: what it shows, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from whichdo.errors import InputError, UsageError
from whichdo.estimate.rank import Ranking, rank
from whichdo.plots.canvas import FAINT
from whichdo.plots.forest import shorter
from whichdo.problem import Problem, do

figures = pytest.importorskip("matplotlib.figure")

if TYPE_CHECKING:
    from pathlib import Path


def found() -> Ranking:
    """X is adjusted for Z and never 1 where Z is 0; W is confounded with Y."""
    rng = np.random.default_rng(0)
    z, w = rng.integers(0, 2, (2, 500))
    x = z * rng.integers(0, 2, 500)
    y = (rng.random(500) < 0.2 + 0.5 * x).astype(int)
    return rank(Problem("Z -> X; Z -> Y; X -> Y; W -> Y; W <-> Y", "Y"), {"Z": z, "X": x, "W": w, "Y": y})


def drawn(ranking: Ranking) -> Any:
    """The axes without what only the legend needs."""
    (axes,) = ranking.plot().axes
    for line in [each for each in axes.lines if not len(each.get_xdata())]:
        line.remove()
    return axes


def test_the_naive_mean_never_covers_the_estimate() -> None:
    """A node without confounder has both at the same place, so they stand one below the other."""
    axes = drawn(found())
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    diamonds = [line for line in axes.lines if line.get_marker() == "D"]
    assert len(dots) == 5  # do(), Z and X; looking cannot settle W
    assert len(diamonds) == 6
    assert {round(line.get_ydata()[0] % 1, 2) for line in dots} == {0}
    assert {round(line.get_ydata()[0] % 1, 2) for line in diamonds} == {0.74}


def test_what_must_be_tried_is_told_apart() -> None:
    ranking = found()
    axes = drawn(ranking)
    labels = {label.get_text(): label.get_color() for label in axes.get_yticklabels()}
    tried = {str(row.arm) for row in ranking.values() if row.must_try}
    assert tried == {"do(X=1)", "do(W=0)", "do(W=1)"}
    assert {name for name, colour in labels.items() if colour == FAINT} == tried
    hollow = [line for line in axes.lines if line.get_marker() == "o" and line.get_markerfacecolor() == "white"]
    assert [line.get_xdata()[0] for line in hollow] == [ranking[do(X=1)].estimate]
    shown = [f"not settled, {ranking[arm].interval}" for arm in (do(W=0), do(W=1))]
    words = [text.get_text() for text in axes.texts]
    assert sorted(text for text in words if text.startswith("not settled")) == sorted(shown)


def test_one_look_is_one_look() -> None:
    one = rank(Problem("X -> Y", "Y"), {"X": [1], "Y": [1]})
    assert drawn(one).get_title(loc="left").endswith("(1 look)")
    assert repr(one).startswith("<Ranking of 3 arms from 1 look: nothing to compare")


def test_a_long_name_is_cut_and_a_dollar_is_a_dollar(tmp_path: Path) -> None:
    problem = Problem("X -> Y", "Y", domains={"X": ["$a$", "b" * 100]})
    ranking = rank(problem, {"X": ["$a$", "b" * 100], "Y": [0, 1]})
    assert max(len(shorter(str(arm))) for arm in ranking) == 40
    ranking.plot(str(tmp_path / "rank.svg"), title="50 % of $ and $")
    text = (tmp_path / "rank.svg").read_text(encoding="utf-8")
    assert "do(X=$a$)" in text
    assert "50 % of $ and $" in text


def test_thousands_are_separated_on_the_scale() -> None:
    problem = Problem("X -> Y", "Y", reward_range=(0, 60_000))
    axes = drawn(rank(problem, {"X": [0, 1] * 50, "Y": [20_000, 30_000] * 50}))
    axes.figure.draw_without_rendering()
    assert "20,000" in [label.get_text() for label in axes.get_xticklabels()]


def test_effects_against_doing_nothing_stand_beside_the_arms() -> None:
    ranking = found()
    axes = drawn(ranking)
    (beside,) = axes.child_axes
    texts = [label.get_text() for label in beside.get_yticklabels()]
    assert texts == ["" if row.arm.is_look or np.isnan(row.effect) else row.effect_text for row in ranking.ordered]
    assert sum(map(bool, texts)) == 4  # X and Z; looking cannot settle W
    assert "against do()" in [text.get_text() for text in axes.texts]


AGAIN = pytest.mark.slow("0.3 s: the same picture in another format; finds a date that is written into it")


@pytest.mark.parametrize("suffix", [pytest.param("png", marks=AGAIN), "svg", pytest.param("pdf", marks=AGAIN)])
def test_the_same_ranking_is_drawn_alike(suffix: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        found().plot(tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_what_cannot_be_drawn_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"^rank\.xyz does not show which format to draw: end it in \.png, \.svg, \.pdf\."
    ):
        found().plot(tmp_path / "rank.xyz")
    with pytest.raises(InputError, match=r"^The plot cannot be written to rank\.png: its folder does not exist\."):
        found().plot(tmp_path / "nowhere" / "rank.png")


@pytest.mark.slow("2 s: a process of its own, with its own settings of matplotlib")
def test_a_process_that_plots_for_itself_is_left_alone(tmp_path: Path) -> None:
    """Neither the backend nor a setting changes, and pyplot is not even loaded."""
    code = (
        "import sys, matplotlib as mpl\n"
        "mpl.use('svg'); mpl.rcParams['font.size'] = 33\n"
        "import whichdo as wd\n"
        "found = wd.rank(wd.Problem('X -> Y', 'Y'), {'X': [0, 1], 'Y': [0, 1]})\n"
        f"found.plot({str(tmp_path / 'rank.png')!r})\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert (mpl.get_backend(), mpl.rcParams['font.size']) == ('svg', 33)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
