"""Forest plot of a ranking: every arm's estimate with its interval, and below it the naive conditional mean.

Drawn with matplotlib's own objects, never through pyplot: a process that plots for itself keeps its backend, its
settings and its figures.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import InputError, UsageError, counted, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whichdo.estimate.ranking import ArmRank, Ranking

__all__ = ["check_plot", "drawn_figure", "forest_plot"]

KINDS = (".png", ".svg", ".pdf")
#: The same ranking gives the same bytes: no file holds the time.
TIMELESS = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}

MOST = 60
BELOW = 0.26  # of a line: how far the naive mean stands below the estimate, so that neither covers the other
ABOVE = 0.27  # how far the words on bounds stand above them
# Okabe and Ito's colours, which the colour-blind can tell apart; shapes differ too, for print.
INK = "#1a1a1a"
ESTIMATE = "#0072B2"
NAIVE = "#D55E00"
FAINT = "#767676"
BAND = "#f2f2f2"
SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "font.family": ["DejaVu Sans"],
    "svg.fonttype": "none",
    "svg.hashsalt": "whichdo",
    "text.usetex": False,
    "text.parse_math": False,  # a dollar sign in a name begins no formula
}


def forest_plot(ranking: Ranking, path: Path | None = None, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw the ranking, best arm on top: into a file (PNG, SVG or PDF by its suffix), axes, or a figure of its own.

    Returns the figure.
    """
    rows = ranking.ordered[:MOST]
    with drawn_figure(path, ax, (7.5, 1.6 + 0.34 * len(rows))) as (figure, axes):
        _draw(axes, rows, ranking)
        _legend(figure if ax is None else axes, axes, rows, ranking)
        axes.set_title(_title(ranking) if title is None else title, loc="left", fontsize=10, color=INK)
    return figure


@contextmanager
def drawn_figure(path: Path | None, ax: Any, size: tuple[float, float]) -> Iterator[tuple[Any, Any]]:
    """A figure and its axes to draw on, with the package's own settings; written to ``path`` afterwards.

    ``ax`` are axes of the caller's, whose figure is returned; without them there is a new one, and pyplot does not
    know of it.
    """
    if path is not None:
        check_plot(path)
    else:
        check_matplotlib()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if ax is not None and not hasattr(ax, "get_figure"):
        raise UsageError(f"`ax` is a {type(ax).__name__}; give axes of matplotlib, such as plt.gca().")
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a box stands for an unknown letter
        if ax is None:
            figure = Figure(figsize=size, layout="constrained")
            FigureCanvasAgg(figure)
            yield figure, figure.add_subplot()
        else:
            figure = ax.get_figure()
            yield figure, ax
        if path is not None:
            try:
                figure.savefig(path, dpi=150, metadata=TIMELESS.get(path.suffix.lower()))
            except (OSError, ValueError) as error:
                raise InputError(f"The plot cannot be written to {visible(path.name)}: {error}.") from None


def check_matplotlib() -> None:
    """Refuse to draw where matplotlib is not installed."""
    try:
        import matplotlib as mpl  # noqa: F401 - only whether it is there
    except ModuleNotFoundError:
        raise UsageError("A plot needs matplotlib: pip install 'whichdo[plots]'.") from None


def check_plot(path: Path) -> None:
    """Refuse, before a long log is read, what could not be drawn at its end."""
    check_matplotlib()
    if path.suffix.lower() not in KINDS:
        raise UsageError(f"{visible(path.name)} does not tell what to draw: end it in {', '.join(KINDS)}.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"The plot cannot be written to {visible(path.name)}: its folder does not exist.")


def _title(ranking: Ranking) -> str:
    best = ranking.best
    more = f", the best {MOST} of {len(ranking):,} arms" if len(ranking) > MOST else ""
    looks = f"({counted(ranking.looks, 'look')}{more})"
    reward = visible(ranking.problem.label(ranking.problem.reward))
    if best is None:
        return f"No arm's effect on {reward} is known {looks}"
    return f"Best for {reward}: {_label(best)} {looks}"


def _draw(axes: Any, rows: tuple[ArmRank, ...], ranking: Ranking) -> None:
    heights = np.arange(len(rows))[::-1]
    base = ranking[next(iter(ranking))].estimate
    if not np.isnan(base):
        axes.axvline(base, color=FAINT, lw=0.8, ls=(0, (4, 3)), zorder=1)
    for row, height in zip(rows, heights.tolist(), strict=True):
        axes.axhspan(height - 0.5, height + 0.5, color=_ground(height), lw=0, zorder=0)
        _draw_estimate(axes, row, height)
        if not row.arm.is_look and not np.isnan(row.conditional):
            axes.plot(row.conditional, height - BELOW, **_NAIVE)
    axes.set_yticks(heights, [_label(row) for row in rows])
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        if row.must_try:
            label.set(color=FAINT, style="italic")
    axes.set_ylim(-0.5, len(rows) - 0.5)
    _keep_inside(axes, *ranking.reward_range)
    axes.set_xlabel(_axis(ranking))
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _draw_estimate(axes: Any, row: ArmRank, height: int) -> None:
    """Full where the arm is known; hollow and dotted where it leans on what was never seen; bounds or words else."""
    if row.is_bounded and row.bounds is not None:
        axes.plot(row.bounds, [height, height], **_BOUNDS)
        place = (sum(row.bounds) / 2, height + ABOVE)
        words = f"not settled, {row.interval}"
        ground = {"facecolor": _ground(height), "edgecolor": "none", "pad": 0.6}
        style = {"ha": "center", "va": "center", "color": FAINT, "style": "italic", "fontsize": 7, "bbox": ground}
        axes.annotate(words, place, **style)
        return
    if np.isnan(row.estimate):
        place = (0.5, height + 0.04)
        words = "must be tried: looking cannot settle it"
        ground = {"facecolor": _ground(height), "edgecolor": "none", "pad": 1.5}  # so that no line runs through them
        style = {"ha": "center", "va": "center", "color": FAINT, "style": "italic", "fontsize": 8, "bbox": ground}
        axes.annotate(words, place, xycoords=("axes fraction", "data"), **style)
        return
    axes.plot([row.low, row.high], [height, height], **(_TRY_LINE if row.must_try else _LINE))
    axes.plot(row.estimate, height, **(_TRY_DOT if row.must_try else _DOT))


_LINE: dict[str, Any] = {"color": ESTIMATE, "lw": 2, "solid_capstyle": "butt", "zorder": 2}
_TRY_LINE: dict[str, Any] = {"color": FAINT, "lw": 1.4, "ls": (0, (1, 1.4)), "zorder": 2}
_BOUNDS: dict[str, Any] = {"color": FAINT, "lw": 1.1, "marker": "|", "ms": 7, "mew": 1.3, "zorder": 2}
_DOT: dict[str, Any] = {"marker": "o", "color": ESTIMATE, "ms": 5.5, "ls": "", "zorder": 3}
_TRY_DOT: dict[str, Any] = {"marker": "o", "mfc": "white", "mec": FAINT, "mew": 1.3, "ms": 5.5, "ls": "", "zorder": 3}
_NAIVE: dict[str, Any] = {"marker": "D", "mfc": "white", "mec": NAIVE, "mew": 1.2, "ms": 4, "ls": "", "zorder": 4}


def _ground(height: int) -> str:
    return "white" if height % 2 else BAND


def _keep_inside(axes: Any, low: float, high: float) -> None:
    """Show no values that the reward cannot have, but for a margin that keeps markers whole."""
    margin = 0.015 * (high - low or 1.0)
    left, right = axes.get_xlim()
    axes.set_xlim(max(left, low - margin), min(right, high + margin))


def _legend(holder: Any, axes: Any, rows: tuple[ArmRank, ...], ranking: Ranking) -> None:
    """Only what the picture shows; below the axes, whether they are alone in their figure or not."""
    known = [row for row in rows if not np.isnan(row.estimate)]
    if any(not row.must_try for row in known):
        axes.plot([], [], **{**_DOT, "ls": "-", "lw": 2}, label="mean if it is done, with interval")
    if any(row.must_try for row in known):
        axes.plot(
            [], [], **{**_TRY_DOT, "ls": ":", "color": FAINT}, label="the same, but some of it was never seen: try it"
        )
    if any(row.is_bounded for row in rows):
        axes.plot([], [], **_BOUNDS, label="bounds of a mean that looking does not settle")
    if any(not row.arm.is_look and not np.isnan(row.conditional) for row in rows):
        axes.plot([], [], **_NAIVE, label="mean among those who happen to have it (naive)")
    if not np.isnan(ranking[next(iter(ranking))].estimate):
        axes.plot([], [], color=FAINT, lw=0.8, ls=(0, (4, 3)), label="mean if nothing is done")
    if holder is axes:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, fontsize=8)
    else:
        holder.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)


def _axis(ranking: Ranking) -> str:
    better = "lower" if ranking.problem.goal == "minimize" else "higher"
    return f"mean {visible(ranking.problem.label(ranking.problem.reward))} ({better} is better)"


def _label(row: ArmRank) -> str:
    text = visible(row.arm)
    return text if len(text) <= 40 else text[:37] + "..."
