"""Forest plot of a ranking: every arm's estimate with its interval, and below it the naive conditional mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from whichdo.plots.canvas import BAND, BLUE, FAINT, GREEN, INK, ORANGE, drawn_figure
from whichdo.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


MOST = 60
BELOW = 0.26  # of a line: how far the naive mean stands below the estimate, so that neither covers the other
ABOVE = 0.24  # and the modelled one, or the words on bounds, above it
ESTIMATE = BLUE
NAIVE = ORANGE
THOUSANDS = 1_000
"""A scale that goes so far has separators."""


class ForestArm(Protocol):
    """What a row is called, and whether it is doing nothing."""

    @property
    def is_look(self) -> bool:
        """Whether it is do()."""


class ForestModel(Protocol):
    """A second estimate of an arm."""

    @property
    def estimate(self) -> float:
        """Its mean."""

    @property
    def low(self) -> float:
        """The lower limit of the mean."""

    @property
    def high(self) -> float:
        """The upper limit."""


class ForestRow(Protocol):
    """The numbers of an arm; NaN for what is not known."""

    @property
    def arm(self) -> ForestArm:
        """The arm."""

    @property
    def estimate(self) -> float:
        """Its mean."""

    @property
    def low(self) -> float:
        """The lower limit of the mean."""

    @property
    def high(self) -> float:
        """The upper limit."""

    @property
    def conditional(self) -> float:
        """The mean among those who happen to have the arm's values."""

    @property
    def effect_text(self) -> str:
        """What it does against doing nothing, with its interval, in words; "?" where that is not known."""

    @property
    def must_try(self) -> bool:
        """Whether too little is known of it."""

    @property
    def modelled(self) -> ForestModel | None:
        """What models say of it."""

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Where its mean lies, if that is not settled."""

    @property
    def is_bounded(self) -> bool:
        """Whether bounds are all that is known of it."""

    @property
    def interval(self) -> str:
        """Its limits or bounds in words."""


@dataclass(frozen=True)
class Forest:
    """What a forest plot shows."""

    rows: Sequence[ForestRow]
    """From the top down, `MOST` at most."""
    reference: float
    """The mean if nothing is done, NaN where it is not known."""
    reward_range: tuple[float, float]
    title: str
    axis: str
    label: Callable[[Any], str]
    """What an arm is called."""


def forest_plot(forest: Forest, path: Path | None = None, *, ax: Any = None, force: bool = False) -> Any:
    """Draw a ranking, best arm on top: into a file (PNG, SVG or PDF by its suffix), axes, or a figure of its own.

    Returns the figure.
    """
    rows = forest.rows
    with drawn_figure(path, ax, (8.6, 1.6 + 0.34 * len(rows)), force=force) as (figure, axes):
        _draw(axes, rows, forest)
        if ax is None:
            _write_effects(axes, rows)
        _legend(figure if ax is None else axes, axes, rows, forest)
        above = 16 if ax is None else 6  # points: a long title would run into the head of the effects
        axes.set_title(forest.title, loc="left", fontsize=10, color=INK, pad=above)
    return figure


def _draw(axes: Any, rows: Sequence[ForestRow], forest: Forest) -> None:
    heights = np.arange(len(rows))[::-1]
    if not np.isnan(forest.reference):
        axes.axvline(forest.reference, color=FAINT, lw=0.8, ls=(0, (4, 3)), zorder=1)
    for row, height in zip(rows, heights.tolist(), strict=True):
        axes.axhspan(height - 0.5, height + 0.5, color=_ground(height), lw=0, zorder=0)
        _draw_estimate(axes, row, height)
        if row.modelled is not None and not row.arm.is_look:
            axes.plot([row.modelled.low, row.modelled.high], [height + ABOVE, height + ABOVE], **_MODEL_LINE)
            axes.plot(row.modelled.estimate, height + ABOVE, **_MODEL)
        if not row.arm.is_look and not np.isnan(row.conditional):
            axes.plot(row.conditional, height - BELOW, **_NAIVE)
    axes.set_yticks(heights, [shorter(forest.label(row.arm)) for row in rows])
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        if row.must_try:
            label.set(color=FAINT, style="italic")
    axes.set_ylim(-0.5, len(rows) - 0.5)
    _keep_inside(axes, *forest.reward_range)
    axes.set_xlabel(forest.axis)
    if max(map(abs, forest.reward_range)) >= THOUSANDS:
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _draw_estimate(axes: Any, row: ForestRow, height: int) -> None:
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

_MODEL_LINE: dict[str, Any] = {"color": GREEN, "lw": 1.5, "solid_capstyle": "butt", "zorder": 2}
_MODEL: dict[str, Any] = {"marker": "s", "color": GREEN, "ms": 4.5, "ls": "", "zorder": 3}


def _write_effects(axes: Any, rows: Sequence[ForestRow]) -> None:
    """Right of the axes, what each arm does against doing nothing."""
    texts = ["" if row.arm.is_look or row.effect_text == "?" else row.effect_text for row in rows]
    if not any(texts):
        return
    beside = axes.secondary_yaxis("right")
    beside.set_yticks(range(len(rows) - 1, -1, -1), texts, fontsize=8, color=INK)
    beside.tick_params(axis="y", length=0)
    beside.spines["right"].set_visible(False)
    above = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    axes.annotate("against do()", (1, 1), (4, 4), fontsize=8, color=FAINT, **above)


def _ground(height: int) -> str:
    return "white" if height % 2 else BAND


def _keep_inside(axes: Any, low: float, high: float) -> None:
    """Show no values that the reward cannot have, but for a margin that keeps markers whole."""
    margin = 0.015 * (high - low or 1.0)
    left, right = axes.get_xlim()
    axes.set_xlim(max(left, low - margin), min(right, high + margin))


def _legend(holder: Any, axes: Any, rows: Sequence[ForestRow], forest: Forest) -> None:
    """Only what the picture shows; below the axes, whether they are alone in their figure or not."""
    known = [row for row in rows if not np.isnan(row.estimate)]
    if any(not row.must_try for row in known):
        axes.plot([], [], **{**_DOT, "ls": "-", "lw": 2}, label="mean if it is done, with interval")
    if any(row.must_try for row in known):
        axes.plot(
            [], [], **{**_TRY_DOT, "ls": ":", "color": FAINT}, label="the same, but some of it was never seen: try it"
        )
    if any(row.modelled is not None and not row.arm.is_look for row in rows):
        axes.plot([], [], **{**_MODEL, "ls": "-", "lw": 1.5}, label="the same by models (doubly robust)")
    if any(row.is_bounded for row in rows):
        axes.plot([], [], **_BOUNDS, label="bounds of a mean that looking does not settle")
    if any(not row.arm.is_look and not np.isnan(row.conditional) for row in rows):
        axes.plot([], [], **_NAIVE, label="mean among those who happen to have it (naive)")
    if not np.isnan(forest.reference):
        axes.plot([], [], color=FAINT, lw=0.8, ls=(0, (4, 3)), label="mean if nothing is done")
    if holder is axes:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, fontsize=8)
    else:
        holder.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)


def shorter(name: str) -> str:
    """What an arm is called, cut where it is long."""
    text = visible(name)
    return text if len(text) <= 40 else text[:37] + "..."
