"""Forest plot: every arm's estimate with its interval, and the naive conditional mean beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import InputError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from whichdo.estimate.rank import ArmRank, Ranking

__all__ = ["check_plot", "forest_plot"]

KINDS = (".png", ".svg", ".pdf")

MOST = 60
# Okabe and Ito's colours, which the colour-blind can tell apart; shapes differ too, for print.
INK = "#1a1a1a"
ESTIMATE = "#0072B2"
NAIVE = "#D55E00"
FAINT = "#8c8c8c"


def forest_plot(ranking: Ranking, path: Path, *, title: str | None = None) -> None:
    """Draw the ranking into a file (PNG, SVG or PDF by its suffix), best arm on top."""
    check_plot(path)
    import matplotlib.pyplot as plt

    rows = ranking.ordered[:MOST]
    with plt.rc_context({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "whichdo"}):
        figure, axes = plt.subplots(figsize=(7.5, 1.5 + 0.3 * len(rows)), layout="constrained")
        _draw(axes, rows, ranking)
        axes.set_title(title or _title(ranking), loc="left", fontsize=10, color=INK)
        try:
            metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
            figure.savefig(path, dpi=150, metadata=metadata)
        except (OSError, ValueError) as error:
            raise InputError(f"The plot cannot be written to {path.name}: {error}.") from None
        finally:
            plt.close(figure)


def check_plot(path: Path) -> None:
    """Refuse, before a long log is read, what could not be drawn at its end."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise UsageError("A plot needs matplotlib: pip install 'whichdo[plots]'.") from None
    if path.suffix.lower() not in KINDS:
        raise UsageError(f"{path.name} does not tell what to draw: end it in {', '.join(KINDS)}.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"The plot cannot be written to {path.name}: its folder does not exist.")
    mpl.use("Agg")


def _title(ranking: Ranking) -> str:
    best = ranking.best
    more = f", the best {MOST} of {len(ranking)} arms" if len(ranking) > MOST else ""
    return f"{best.arm} looks best for {ranking.problem.reward} ({ranking.looks:,} looks{more})"


def _draw(axes: Any, rows: tuple[ArmRank, ...], ranking: Ranking) -> None:
    heights = np.arange(len(rows))[::-1]
    base = ranking[next(iter(ranking))].estimate
    axes.axvline(base, color=FAINT, lw=0.8, ls=(0, (4, 3)), zorder=0)
    for row, height in zip(rows, heights, strict=True):
        if np.isnan(row.estimate):
            axes.axhline(height, color=FAINT, lw=0.8, ls=":")
            axes.annotate(
                "must be tried",
                (0.99, height),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                color=FAINT,
            )
            continue
        axes.plot([row.low, row.high], [height, height], color=ESTIMATE, lw=2, solid_capstyle="butt")
        axes.plot(row.estimate, height, "o", color=ESTIMATE, ms=5)
        if not row.arm.is_look and not np.isnan(row.conditional):
            axes.plot(row.conditional, height, "D", mfc="white", mec=NAIVE, mew=1.3, ms=5, zorder=3)
    axes.set_yticks(heights, [_label(row) for row in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlabel(f"mean {ranking.problem.reward}")
    axes.plot([], [], "o-", color=ESTIMATE, lw=2, ms=5, label="effect of doing, with interval")
    axes.plot([], [], "D", mfc="white", mec=NAIVE, mew=1.3, ms=5, label="naive: mean among those who happen to")
    axes.plot([], [], color=FAINT, lw=0.8, ls=(0, (4, 3)), label="do()")
    axes.figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _label(row: ArmRank) -> str:
    text = str(row.arm)
    # A dollar sign would begin a formula.
    return (text if len(text) <= 40 else text[:37] + "...").replace("$", r"\$")
