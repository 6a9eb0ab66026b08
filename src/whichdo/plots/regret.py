"""Regret against the horizon or budget, a line for each policy, its name at the end of the line.

Figures of experiments have several panels side by side, and one legend for all.

How each policy is drawn: the same colour, mark and stroke in every figure.

Colours are those of Okabe and Ito, which the colour-blind can tell apart; marks and strokes differ for print.  Policies
of simple and of cumulative regret are never in one figure, so the two kinds share colours.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isnan, log
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

from whichdo.errors import UsageError
from whichdo.plots.canvas import FAINT, INK, WIDE, drawn_figure, new_figure, plain_axes, styled
from whichdo.text import counted, short_number, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from whichdo.arrays import FloatArray


SOLID, DASHED, DOTTED, BROKEN = "-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5))
STROKES: tuple[Any, ...] = (DASHED, DOTTED, BROKEN, SOLID)
MARKERS = ("X", "d", "p", "*", "h", "8", "H", "<", ">")
SPARE = ("#6A3D9A", "#1a1a1a", "#56B4E9", "#E69F00", "#CC79A7")
LONGEST = 34
TRIES = len(SPARE) * len(MARKERS) * len(STROKES)
"""All looks there are for a policy that is not ours."""


class Look(NamedTuple):
    """What a policy is called and how it is drawn."""

    label: str
    colour: str
    marker: str
    stroke: Any = SOLID
    width: float = 1.5

    @property
    def line(self) -> dict[str, Any]:
        """Keywords of matplotlib for its line."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "ls": self.stroke,
            "lw": self.width,
            "ms": 6,
            "mec": "white",
            "mew": 0.6,
            "zorder": 4 if self.width > 2 else 3,
            "clip_on": False,  # a marker at no regret stays whole
        }


LOOKS = {
    "srm": Look("SRM-ALG", "#0072B2", "o"),
    "srm(second_phase=rejects)": Look("SRM-ALG with rejects", "#56B4E9", "D", DASHED),
    "ue": Look("uniform exploration", "#767676", "v", DOTTED),
    "sr": Look("successive rejects", "#D55E00", "s", DASHED),
    "sh": Look("sequential halving", "#E69F00", "P", BROKEN),
    "cb": Look("CB-ALG (propagating inference)", "#CC79A7", "s", DASHED),
    "cb(eta=optimal)": Look("CB-ALG, eta optimal", "#E69F00", "P", DOTTED),
    "conditioning": Look("conditioning", "#CC79A7", "X", BROKEN),
    "parallel": Look("Lattimore's Algorithm 1", "#56B4E9", "<", DOTTED),
    "importance": Look("Lattimore's Algorithm 2", "#56B4E9", ">", BROKEN),
    "nb": Look("gamma-NB-ALG", "#1a1a1a", "D", BROKEN),
    "warm-halving": Look("warm halving (ours)", "#009E73", "^", SOLID, 2.4),
    "crm": Look("CRM-ALG", "#0072B2", "o"),
    "crm-nb": Look("CRM-NB-ALG", "#56B4E9", "<", DASHED),
    "ucb": Look("UCB", "#D55E00", "s", DASHED),
    "c-ucb": Look("C-UCB", "#767676", ">", BROKEN),
    "ts": Look("Thompson sampling", "#CC79A7", "D", BROKEN),
    "kl-ucb": Look("KL-UCB", "#E69F00", "P", DOTTED),
    "ts@pomis": Look("TS, possibly optimal arms", "#0072B2", "o"),
    "ts@mis": Look("TS, minimal arms", "#56B4E9", "D", BROKEN),
    "ts@all": Look("TS, all arms", "#CC79A7", "X", DOTTED),
    "kl-ucb@pomis": Look("KL-UCB, possibly optimal arms", "#D55E00", "s"),
    "kl-ucb@mis": Look("KL-UCB, minimal arms", "#E69F00", "P", BROKEN),
    "kl-ucb@all": Look("KL-UCB, all arms", "#767676", "<", DOTTED),
    "causal-ts": Look("causal Thompson sampling (ours)", "#009E73", "^", SOLID, 2.4),
    "causal-kl-ucb": Look("causal KL-UCB (ours)", "#1a1a1a", "v", DASHED),
}


def policy_label(policy: str) -> str:
    """What people call a policy; the policy as it is written where it is not one of ours, cut if it is long."""
    return LOOKS[policy].label if policy in LOOKS else cut(policy)


def policy_looks(policies: Iterable[str]) -> dict[str, Look]:
    """How each policy of a figure is drawn.

    One with other parameters has the colour of its kind.  Which mark and stroke it gets, and which colour a policy that
    is not ours, depends on its text alone, unless two of a figure would look the same or a free colour is left.
    """
    found: dict[str, Look] = {}
    names = list(policies)
    for policy in sorted(names, key=lambda name: name not in LOOKS):  # ours first: theirs are reserved
        look = LOOKS.get(policy)
        if look is None or _taken(look, found):
            spare = [_spare_look(policy, crc32(policy.encode()) + more) for more in range(TRIES)]
            free = [each for each in spare if not _taken(each, found)] or spare
            colours = {other.colour for other in found.values()}
            look = next((each for each in free if each.colour not in colours), free[0])
        found[policy] = look
    return {policy: found[policy] for policy in names}


def _taken(look: Look, found: Mapping[str, Look]) -> bool:
    return any(look[1:4] == other[1:4] for other in found.values())


def _spare_look(policy: str, number: int) -> Look:
    kind = LOOKS.get(policy.partition("(")[0])
    colour = SPARE[number % len(SPARE)] if kind is None else kind.colour
    return Look(cut(policy), colour, MARKERS[number // 5 % len(MARKERS)], STROKES[number // 45 % len(STROKES)])


def cut(name: str) -> str:
    """A name short enough to stand beside a line."""
    text = visible(name)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


FLOOR = 1e-4
"""On a logarithmic scale, what is below is drawn here."""
MOST_NAMED = 6
"""Points on a logarithmic axis that all have their number; of more, every second has."""
MARKS = 12
"""A curve of many points has about so many marks."""

BANDS = "bands: 95% intervals of the mean"

Points = tuple["FloatArray", "FloatArray", "FloatArray"]
"""Where, the mean there, and its standard error."""


@dataclass(frozen=True)
class Panel:
    """One set of axes: the curve of each policy, and lines to compare with (a label and its points)."""

    title: str
    curves: Mapping[str, Points]
    beside: Mapping[str, tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class Scales:
    """What the axes of all panels say, and how they run."""

    across: str
    up: str
    logarithmic: bool = False
    whole: bool = True
    """Whether the numbers across are whole."""
    from_zero: bool = False
    """Whether the axis across begins at 0."""
    few_marks: bool = False
    """Whether curves have so many points that only some are marked."""


def panels_plot(
    panels: Sequence[Panel],
    scales: Scales,
    *,
    shared: bool,
    size: tuple[float, float] | None = None,
    ax: Any = None,
) -> Any:
    """Draw panels, four in a square and others in a row.

    ``panels``: from left to right.
    ``scales``: of all panels.
    ``shared``: whether all panels have the same scale of regrets.
    ``size``: of a new figure in inches.
    ``ax``: where to draw: axes, one for each panel; or a figure or subfigure, which is divided.  Without it a new
    figure.
    A new figure is laid out once, so that all files that it is written to are the same picture.
    """
    rows, columns = (2, 2) if len(panels) == 4 else (1, len(panels))
    looks = policy_looks(dict.fromkeys(policy for panel in panels for policy in panel.curves))
    with styled():
        figure = new_figure(size or (7.2 if columns == 1 else 9.6, 0.9 + 3.5 * rows)) if ax is None else ax
        divided = hasattr(figure, "subplots")
        if divided:
            grid = figure.subplots(rows, columns, squeeze=False, sharey=shared).ravel()
        else:
            grid = _given_axes(ax, len(panels))
        for axes, panel in zip(grid, panels, strict=True):
            _draw_panel(axes, panel, scales, looks)
        for place, (axes, panel) in enumerate(
            zip(grid, panels, strict=True)
        ):  # when all is drawn: a scale may be shared
            _scale_panel(axes, panel, scales, _floor(panels if shared else [panel]))
            axes.set_ylabel("" if divided and place % columns else scales.up)
        _legend(figure if divided and _is_constrained(figure) else None, grid)
        if ax is None:
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
    return _whole_figure(grid[0])


def _given_axes(ax: Any, number: int) -> list[Any]:
    """The caller's axes, as many as there are panels."""
    given = np.ravel(np.asarray(ax, dtype=object)).tolist()
    if not all(hasattr(each, "get_figure") for each in given):
        wrong = next(each for each in given if not hasattr(each, "get_figure"))
        raise UsageError(f"`ax` has a {type(wrong).__name__}; give axes of matplotlib, a figure or a subfigure.")
    if len(given) != number:
        raise UsageError(
            f"The figure has {counted(number, 'panel')} and `ax` {len(given):,} axes; give one for each panel, or a "
            f"figure or subfigure to divide."
        )
    return given


def _is_constrained(figure: Any) -> bool:
    """Whether a legend can stand outside the axes of a figure or subfigure."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine)


def _whole_figure(axes: Any) -> Any:
    """The figure that axes are in, also where they are in a subfigure."""
    found = axes.get_figure()
    while getattr(found, "figure", found) is not found:
        found = found.figure
    return found


def _draw_panel(axes: Any, panel: Panel, scales: Scales, looks: Mapping[str, Look]) -> None:
    floor = FLOOR if scales.logarithmic else 0.0
    for policy, (where, means, errors) in panel.curves.items():
        look = looks[policy]
        low, high = (np.maximum(means + sign * WIDE * errors, floor) for sign in (-1, 1))
        axes.fill_between(where, low, high, color=look.colour, alpha=0.15, lw=0, zorder=1)
        marked = _marked(where, logarithmic=scales.logarithmic) if scales.few_marks else None
        axes.plot(where, np.maximum(means, floor), label=look.label, markevery=marked, **look.line)
    for label, (where, values) in panel.beside.items():
        axes.plot(where, values, color=FAINT, lw=1, label=label)
    axes.set_title(panel.title, loc="left", fontsize=9.5, color=INK)


def _marked(where: FloatArray, *, logarithmic: bool) -> list[int]:
    """Of a curve, the points nearest to an even division of the axis."""
    even = np.geomspace(10, max(where[-1], 10), MARKS) if logarithmic else np.linspace(0, where[-1], MARKS + 1)[1:]
    wanted = even.tolist()
    return sorted({int(np.abs(where - each).argmin()) for each in wanted})


def _scale_panel(axes: Any, panel: Panel, scales: Scales, floor: float) -> None:
    axes.set_xlabel(scales.across)
    if scales.logarithmic:
        from matplotlib.ticker import NullLocator

        axes.set_xscale("log")
        axes.set_yscale("log")
        points = next(iter(panel.curves.values()))[0].tolist() if panel.curves else []
        if scales.few_marks:  # curves: every decade has its number
            points = [10.0**power for power in range(1, 10) if 10.0**power <= max(points, default=0)]
            axes.set_xlim(left=10)
        named = [point if place % 2 == 0 or len(points) <= MOST_NAMED else None for place, point in enumerate(points)]
        axes.set_xticks(points, ["" if point is None else f"{point:,g}" for point in named])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(bottom=floor)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    else:
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0 if scales.from_zero else None)
        if scales.whole:
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    plain_axes(axes)


def _floor(panels: Sequence[Panel]) -> float:
    """The power of ten below all means of some panels, but not below `FLOOR`."""
    means = [float(means.min()) for panel in panels for _, means, _ in panel.curves.values()]
    return max(FLOOR, float(10.0 ** np.floor(np.log10(max(min(means, default=1.0), FLOOR)))))


def _legend(figure: Any, panels: Any) -> None:
    """One for all panels, in the order of the policies: below a figure, or in the first of the caller's axes."""
    handles = {name: handle for axes in panels for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    style: dict[str, Any] = {"frameon": False, "handlelength": 3.2, "labelcolor": INK}
    if figure is None:
        panels[0].legend(handles.values(), handles.keys(), fontsize=7.5, title=BANDS, title_fontsize=7, **style)
        return
    below = {"loc": "outside lower center", "ncols": min(3, len(handles)), "fontsize": 8.5}
    figure.legend(handles.values(), handles.keys(), **below, **style)
    figure.supxlabel(BANDS, x=0.99, ha="right", fontsize=7, color=FAINT)


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
