"""Panels side by side: a scale that is shared holds the lines of all."""

from __future__ import annotations

import numpy as np
import pytest

from whichdo.errors import UsageError
from whichdo.plots.regret import FLOOR, Panel, Scales, panels_plot

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

WHERE = np.array([100.0, 200, 400, 800, 1600, 3200, 6400, 12800])


def panel(least: float) -> Panel:
    return Panel("a title", {"srm": (WHERE, np.geomspace(0.5, least, 8), np.full(8, 0.001))}, {})


@pytest.mark.parametrize("order", [(1e-3, 1e-1), (1e-1, 1e-3)])
def test_a_shared_logarithmic_scale_reaches_down_to_the_lowest_line(order: tuple[float, float]) -> None:
    """Seen cut off, or drawn below its axes, by the last panel."""
    figure = panels_plot([panel(each) for each in order], Scales("T", "regret", logarithmic=True), shared=True)
    assert [axes.get_ylim()[0] for axes in figure.axes] == pytest.approx([1e-3, 1e-3])


def test_what_is_below_the_floor_is_drawn_there() -> None:
    figure = panels_plot([panel(1e-9)], Scales("T", "regret", logarithmic=True), shared=True)
    (line,) = figure.axes[0].lines
    assert min(line.get_ydata()) == FLOOR
    assert figure.axes[0].get_ylim()[0] == pytest.approx(FLOOR)


def test_of_many_points_every_second_has_its_number() -> None:
    figure = panels_plot([panel(0.1)], Scales("T", "regret", logarithmic=True), shared=False)
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels == ["100", "", "400", "", "1,600", "", "6,400", ""]


def test_a_curve_over_rounds_has_a_number_for_every_decade() -> None:
    where = np.arange(1.0, 5001)
    curve = Panel("a title", {"ts": (where, where / 10, np.zeros(5000))}, {})
    scales = Scales("round t", "regret", logarithmic=True, few_marks=True)
    (axes,) = panels_plot([curve], scales, shared=False).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "100", "1,000"]
    assert axes.get_xlim()[0] == 10
    marked = where[axes.lines[0].get_markevery()]
    assert len(marked) == 12
    assert np.diff(np.log(marked)) == pytest.approx(np.full(11, np.log(500) / 11), abs=0.05)


LOGARITHMIC = Scales("T", "regret", logarithmic=True)


def test_panels_on_the_callers_axes() -> None:
    """As `plt.subplots` gives them, in an array; the caller's other axes stay as they are."""
    mine = Figure()
    grid = mine.subplots(2, 2)
    assert panels_plot([panel(0.1), panel(0.2)], LOGARITHMIC, shared=True, ax=grid[0]) is mine
    assert [len(axes.lines) for axes in grid.ravel()] == [1, 1, 0, 0]
    assert grid[0, 0].get_legend().get_title().get_text() == "bands: 95% intervals of the mean"


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_panels_in_a_subfigure(layout: str | None) -> None:
    mine = Figure(layout=layout)  # type: ignore[arg-type]
    left, right = mine.subfigures(1, 2)  # type: ignore[misc]
    assert panels_plot([panel(0.1)], LOGARITHMIC, shared=True, ax=left) is mine
    assert [len(each.axes) for each in (left, right)] == [1, 0]
    mine.draw_without_rendering()


@pytest.mark.parametrize(
    ("ax", "said"), [(3, "`ax` has a int"), ([], "2 panels and `ax` 0 axes"), (Figure().subplots(), "`ax` 1 axes")]
)
def test_panels_on_other_things_are_refused(ax: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        panels_plot([panel(0.1), panel(0.2)], LOGARITHMIC, shared=True, ax=ax)
