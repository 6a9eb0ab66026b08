"""Panels side by side: a scale that is shared holds the lines of all."""

from __future__ import annotations

import numpy as np
import pytest

from whichdo.plots.panels import FLOOR, Panel, Scales, panels_plot

pytest.importorskip("matplotlib")

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
