"""Regret against the horizon, a line for each policy, its name at the end of the line.

Drawn with matplotlib's own objects, never through pyplot, as the forest plot is.
"""

from __future__ import annotations

from itertools import pairwise
from math import isnan, log
from typing import TYPE_CHECKING, Any

from whichdo.comparison.table import short
from whichdo.errors import counted, visible
from whichdo.estimate.forest import FAINT, INK, drawn_figure

if TYPE_CHECKING:
    from pathlib import Path

    from whichdo.comparison.table import Cell, Comparison

__all__ = ["regret_plot"]

# Okabe and Ito's colours, darkest first, which the colour-blind can tell apart; shapes and strokes differ for print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#1a1a1a", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
STROKES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
#: Leaders end at the middle of the left side of a name.
BESIDE: dict[str, Any] = {"relpos": (0.0, 0.5)}
LINE = 0.052
"""The height of a name, as a share of the axes."""


def regret_plot(
    comparison: Comparison, path: Path | None = None, *, ax: Any = None, title: str | None = None, force: bool = False
) -> Any:
    """Draw a comparison into a file (PNG, SVG or PDF by its suffix), axes, or a figure of its own, which it returns."""
    with drawn_figure(path, ax, (7.5, 4.4), force=force) as (figure, axes):
        _draw(axes, comparison)
        axes.set_ylabel(f"mean {_kind(comparison)} regret (lower is better)")
        axes.set_title(_title(comparison) if title is None else title, loc="left", fontsize=10, color=INK)
        if ax is None:
            figure.supxlabel(_footnote(comparison), x=0.01, ha="left", fontsize=7.5, color=FAINT)
    return figure


def _title(comparison: Comparison) -> str:
    problem = comparison.problem
    return f"Regret in {visible(problem.label(problem.reward))}, {counted(len(problem.arms), 'arm')}"


def _kind(comparison: Comparison) -> str:
    summed = any(cell.outcomes is not None and cell.outcomes.curve is not None for cell in comparison.cells)
    return "cumulative" if summed else "simple"


def _footnote(comparison: Comparison) -> str:
    refused = [name for name in comparison.policies if not _played(comparison, name)]
    more = f" Not served here: {', '.join(refused)}." if refused else ""
    return f"{counted(comparison.runs, 'run')} a point; bands: ±1 standard error of the mean.{more}"


def _played(comparison: Comparison, name: str) -> list[Cell]:
    return [cell for cell in comparison.cells if cell.policy == name and cell.outcomes is not None]


def _draw(axes: Any, comparison: Comparison) -> None:
    lines = {name: cells for name in comparison.policies if (cells := _played(comparison, name))}
    styles = {name: _style(number) for number, name in enumerate(lines)}
    for name, cells in lines.items():
        where, regret = [cell.horizon for cell in cells], [cell.regret for cell in cells]
        errors = [0.0 if isnan(cell.error) else cell.error for cell in cells]
        low = [max(0.0, mean - error) for mean, error in zip(regret, errors, strict=True)]
        high = [mean + error for mean, error in zip(regret, errors, strict=True)]
        colour = styles[name]["color"]
        if len(cells) > 1:
            axes.fill_between(where, low, high, color=colour, alpha=0.16, lw=0, zorder=1)
        else:
            axes.vlines(where, low, high, color=colour, lw=1.4, zorder=2)
        axes.plot(where, regret, **styles[name])
    _scale(axes, comparison.horizons)
    _name(axes, lines, styles)


def _style(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "ls": STROKES[number % len(STROKES)],
        "lw": 1.6,
        "ms": 5,
        "mec": "white",
        "mew": 0.6,
        "zorder": 3,
        "clip_on": False,  # a marker at no regret stays whole
    }


def _scale(axes: Any, horizons: tuple[float, ...]) -> None:
    """Horizons that span a decade stand on a logarithmic scale; each has its number unless they are many."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    if horizons[-1] >= 10 * horizons[0]:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    gaps = [log(right / left) for left, right in pairwise(horizons)]
    if len(horizons) <= 10 and (not gaps or min(gaps) > sum(gaps) / 16):
        axes.set_xticks(horizons)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(round(value, 6))))
    axes.set_ylim(bottom=0, top=None if axes.get_ylim()[1] > 0 else 1)
    axes.set_xlabel("horizon (budget of a run)")
    axes.grid(axis="y", color="#e6e6e6", lw=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _name(axes: Any, lines: dict[str, list[Cell]], styles: dict[str, dict[str, Any]]) -> None:
    """The names right of the axes, at the heights of the lines' ends and a line of text apart."""
    bottom, top = axes.get_ylim()
    ends = {name: (cells[-1].regret - bottom) / (top - bottom) for name, cells in lines.items()}
    before = {name: [cell.regret for cell in reversed(cells)] for name, cells in lines.items()}
    heights = _spread({name: ends[name] for name in sorted(ends, key=before.__getitem__)})
    for name, cells in lines.items():
        axes.annotate(
            _cut(name),
            (cells[-1].horizon, cells[-1].regret),
            (1.045, heights[name]),
            textcoords="axes fraction",
            va="center",
            ha="left",
            color=INK,
            arrowprops={"arrowstyle": "-", "color": styles[name]["color"], "lw": 0.8, "shrinkA": 1, "shrinkB": 3}
            | BESIDE,
            annotation_clip=False,
        )


def _spread(ends: dict[str, float]) -> dict[str, float]:
    """Heights in the order of the ends, lowest first, as near to them as names that do not touch can be."""
    groups: list[list[str]] = []
    for name in ends:
        groups.append([name])
        while len(groups) > 1 and _bottom(groups[-1], ends) < _bottom(groups[-2], ends) + len(groups[-2]) * LINE:
            groups[-2:] = [groups[-2] + groups[-1]]
    return {name: _bottom(group, ends) + number * LINE for group in groups for number, name in enumerate(group)}


def _bottom(group: list[str], ends: dict[str, float]) -> float:
    """The height of the lowest name of a group whose middle stands at the middle of its ends; never below the axes."""
    middle = sum(ends[name] for name in group) / len(group)
    return max(0.0, middle - (len(group) - 1) * LINE / 2)


def _cut(name: str) -> str:
    text = visible(name)
    return text if len(text) <= 34 else text[:31] + "..."
