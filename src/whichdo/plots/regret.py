"""Regret against the horizon or budget, a line for each policy, its name at the end of the line."""

from __future__ import annotations

from itertools import pairwise
from math import isnan, log
from typing import TYPE_CHECKING, Any, NamedTuple

from whichdo.plots.canvas import FAINT, INK, WIDE, drawn_figure, plain_axes
from whichdo.plots.looks import cut, policy_looks
from whichdo.text import short_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from whichdo.plots.looks import Look


#: Leaders end at the middle of the left side of a name.
BESIDE: dict[str, Any] = {"relpos": (0.0, 0.5)}
LINE = 0.052
"""The height of a name, as a share of the axes."""


class Curve(NamedTuple):
    """A policy's mean regrets at some horizons or budgets, with their standard errors (NaN: unknown)."""

    lengths: Sequence[float]
    means: Sequence[float]
    errors: Sequence[float]


def regret_plot(
    curves: Mapping[str, Curve],
    lengths: Sequence[float],
    *,
    across: str,
    axis: str,
    title: str,
    footnote: str,
    path: Path | None = None,
    ax: Any = None,
    force: bool = False,
) -> Any:
    """Draw the curves of some policies into a file (PNG, SVG or PDF by its suffix), axes, or a new figure.

    ``curves``: by policy, as policies are written.  Bands are 95% intervals of the mean.
    ``lengths``: all horizons or budgets, ascending, also those that no policy has a point at.
    ``across``, ``axis``, ``title``, ``footnote``: the text below the scale of lengths, beside that of regrets, above
    the axes, and below a separate figure.
    ``path``, ``ax``, ``force``: where to draw; ``force`` also over a file that is not a drawing of ours.
    """
    with drawn_figure(path, ax, (7.5, 4.4), force=force) as (figure, axes):
        looks = policy_looks(curves)
        for policy, curve in curves.items():
            _draw(axes, curve, looks[policy])
        _scale(axes, lengths)
        axes.set_xlabel(across)
        _name(axes, curves, looks)
        axes.set_ylabel(axis)
        axes.set_title(title, loc="left", fontsize=10, color=INK)
        if ax is None:
            figure.supxlabel(footnote, x=0.01, ha="left", fontsize=7.5, color=FAINT)
    return figure


def _draw(axes: Any, curve: Curve, look: Look) -> None:
    reach = [0.0 if isnan(error) else WIDE * error for error in curve.errors]
    low = [max(0.0, mean - error) for mean, error in zip(curve.means, reach, strict=True)]
    high = [mean + error for mean, error in zip(curve.means, reach, strict=True)]
    if len(curve.means) > 1:
        axes.fill_between(curve.lengths, low, high, color=look.colour, alpha=0.16, lw=0, zorder=1)
    else:
        axes.vlines(curve.lengths, low, high, color=look.colour, lw=1.4, zorder=2)
    axes.plot(curve.lengths, curve.means, **look.line)


def _scale(axes: Any, lengths: Sequence[float]) -> None:
    """Lengths that span a decade get a logarithmic scale; each has its number unless they are many."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    if lengths[-1] >= 10 * lengths[0]:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    gaps = [log(right / left) for left, right in pairwise(lengths)]
    if len(lengths) <= 10 and (not gaps or min(gaps) > sum(gaps) / 16):
        axes.set_xticks(lengths)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_number(round(value, 6))))
    axes.set_ylim(bottom=0, top=None if axes.get_ylim()[1] > 0 else 1)
    plain_axes(axes)


def _name(axes: Any, curves: Mapping[str, Curve], looks: Mapping[str, Look]) -> None:
    """The names right of the axes, at the heights of the lines' ends and a line of text apart."""
    bottom, top = axes.get_ylim()
    ends = {name: (curve.means[-1] - bottom) / (top - bottom) for name, curve in curves.items()}
    before = {name: list(reversed(curve.means)) for name, curve in curves.items()}
    heights = _spread({name: ends[name] for name in sorted(ends, key=before.__getitem__)})
    for name, curve in curves.items():
        leader = {"arrowstyle": "-", "color": looks[name].colour, "lw": 0.8, "shrinkA": 1, "shrinkB": 3}
        axes.annotate(
            cut(name),
            (curve.lengths[-1], curve.means[-1]),
            (1.045, heights[name]),
            textcoords="axes fraction",
            va="center",
            ha="left",
            color=INK,
            arrowprops=leader | BESIDE,
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
