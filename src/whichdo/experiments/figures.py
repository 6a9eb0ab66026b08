"""One figure for each experiment: a panel for each family of networks, a line for each policy.

A policy looks the same in every figure: colours are those of Okabe and Ito, which the colour-blind can tell apart, and
marks and strokes differ for print.  Bands are 95% intervals of the mean.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.errors import StorageError, visible
from whichdo.estimate.forest import FAINT, INK, SETTINGS, TIMELESS, check_plot
from whichdo.experiments.experiment import Axis

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from whichdo.experiments.experiment import Experiment
    from whichdo.experiments.results import Line, Results

__all__ = ["draw", "label"]

WIDE = 1.96
FLOOR = 1e-4
"""On a logarithmic scale, what is below is drawn here."""
MARKS = 12
"""A curve of many points has about so many marks."""
SOLID, DASHED, DOTTED, BROKEN = "-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5))


class Look(NamedTuple):
    """What a policy is called and how it is drawn."""

    label: str
    colour: str
    marker: str
    stroke: Any = SOLID
    width: float = 1.5


LOOKS = {
    "srm": Look("SRM-ALG", "#0072B2", "o"),
    "srm(second_phase=rejects)": Look("SRM-ALG with rejects", "#56B4E9", "D", DASHED),
    "ue": Look("uniform exploration", "#767676", "v", DOTTED),
    "sr": Look("successive rejects", "#D55E00", "s", DASHED),
    "sh": Look("sequential halving", "#E69F00", "P", BROKEN),
    "cb": Look("CB-ALG (propagating inference)", "#CC79A7", "s", DASHED),
    "cb(eta=optimal)": Look("CB-ALG, eta optimal", "#E69F00", "P", DOTTED),
    "conditioning": Look("conditioning", "#CC79A7", "X", BROKEN),
    "warm-halving": Look("warm halving (ours)", "#009E73", "^", SOLID, 2.4),
    "crm": Look("CRM-ALG", "#0072B2", "o"),
    "ucb": Look("UCB", "#D55E00", "s", DASHED),
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
SPARE = (("#1a1a1a", "X"), ("#56B4E9", "<"), ("#767676", ">"), ("#E69F00", "h"), ("#CC79A7", "*"))


def label(policy: str) -> str:
    """What people call a policy."""
    return LOOKS[policy].label if policy in LOOKS else policy


def draw(experiment: Experiment, results: Results, paths: list[Path]) -> None:
    """The figure of an experiment, into a file for each path (PNG, SVG or PDF by its suffix)."""
    check_plot(paths[0])
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        rows, columns = (2, 2) if len(experiment.panels) == 4 else (1, len(experiment.panels))
        figure = Figure(figsize=(7.2 if columns == 1 else 9.6, 0.9 + 3.5 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(rows, columns, squeeze=False, sharey=experiment.logarithmic or experiment.number == 2)
        for place, axes in enumerate(grid.ravel()):
            _panel(axes, experiment, results, place)
        for place, axes in enumerate(grid.ravel()):  # when all is drawn: panels may share a scale
            _scales(axes, experiment, results.lines(experiment.number, place))
            axes.set_ylabel(f"mean {experiment.objective} regret" if place % columns == 0 else "")
        _legend(figure, grid.ravel())
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once for all files
        for path in paths:
            try:
                figure.savefig(path, dpi=150, metadata=TIMELESS.get(path.suffix.lower()))
            except OSError as error:
                raise StorageError(f"{visible(path)} cannot be written: {error.strerror or error}.") from None


def _panel(axes: Any, experiment: Experiment, results: Results, place: int) -> None:
    panel = experiment.panels[place]
    lines = results.lines(experiment.number, place)
    looks = _looks(results.policies(experiment.number))
    for policy, line in lines.items():
        _line(axes, looks[policy], line, experiment, panel.budget or 1)
    axes.set_title(panel.title, loc="left", fontsize=9.5, color=INK)


def _looks(policies: tuple[str, ...]) -> dict[str, Look]:
    """How each policy is drawn; others than ours get what is left."""
    strangers = [policy for policy in policies if policy not in LOOKS]
    spare = {policy: Look(policy, *SPARE[number % len(SPARE)], DOTTED) for number, policy in enumerate(strangers)}
    return {policy: LOOKS.get(policy) or spare[policy] for policy in policies}


def _line(axes: Any, look: Look, line: Line, experiment: Experiment, budget: int) -> None:
    where = np.sqrt(line.points / budget) if experiment.by_root else line.points
    floor = FLOOR if experiment.logarithmic else 0.0
    low, high = (np.maximum(line.means + sign * WIDE * line.errors, floor) for sign in (-1, 1))
    axes.fill_between(where, low, high, color=look.colour, alpha=0.15, lw=0, zorder=1)
    axes.plot(
        where,
        np.maximum(line.means, floor),
        label=look.label,
        color=look.colour,
        marker=look.marker,
        ls=look.stroke,
        lw=look.width,
        markersize=5,
        mec="white",
        mew=0.6,
        markevery=_marked(line, experiment) if experiment.axis is Axis.ROUND else None,
        zorder=4 if look.width > 2 else 3,
        clip_on=False,
    )


def _marked(line: Line, experiment: Experiment) -> list[int]:
    """Of a curve, the points nearest to an even division of the axis."""
    wanted = np.linspace(0, line.points[-1], MARKS + 1)[1:]
    if experiment.logarithmic:
        wanted = np.geomspace(line.points[0], line.points[-1], MARKS + 1)
    return sorted({int(np.abs(line.points - each).argmin()) for each in wanted})


def _scales(axes: Any, experiment: Experiment, lines: Mapping[str, Line]) -> None:
    names = {
        Axis.BUDGET: "budget T (pulls)",
        Axis.HARDNESS: "hardness m",
        Axis.ROUND: "round t",
    }
    axes.set_xlabel("square root of m/T" if experiment.by_root else names[experiment.axis])
    if experiment.logarithmic:
        axes.set_xscale("log")
        axes.set_yscale("log")
        points = next(iter(lines.values())).points.tolist() if lines else []
        if experiment.axis is Axis.ROUND:
            points = [10**power for power in range(1, 7) if 10**power <= max(points, default=0)]
        axes.set_xticks(points, [f"{point:,}" for point in points])
        axes.xaxis.set_minor_locator(_nothing())
        axes.set_ylim(bottom=_floor(lines))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    else:
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0 if experiment.axis is Axis.ROUND else None)
        if not experiment.by_root:
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.grid(axis="y", color="#e6e6e6", lw=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _floor(lines: Mapping[str, Line]) -> float:
    """The power of ten below all means, but not below `FLOOR`."""
    least = min((float(line.means.min()) for line in lines.values()), default=1.0)
    return max(FLOOR, float(10.0 ** np.floor(np.log10(max(least, FLOOR)))))


def _nothing() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _legend(figure: Any, panels: Any) -> None:
    """One for all panels, in the order of the policies."""
    handles = {name: handle for axes in panels for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=min(3, len(handles)),
        frameon=False,
        fontsize=8.5,
        handlelength=3.2,
        labelcolor=INK,
    )
    figure.supxlabel("bands: 95% intervals of the mean", x=0.99, ha="right", fontsize=7, color=FAINT)
