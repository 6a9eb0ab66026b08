"""A figure to draw on, with the package's own style, and the file that it is written to.

Drawn with matplotlib's own objects, never through pyplot: a process that plots for itself keeps its backend, its
settings and its figures.  Error bands and intervals show 95% unless they carry another number.
"""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whichdo.errors import InputError, UsageError
from whichdo.files import DRAWING, MARK, check_target, write_whole
from whichdo.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator


KINDS = (".png", ".svg", ".pdf")
#: The same numbers give the same bytes: no file holds the time; each says who made it.
TIMELESS = {
    ".png": {"Software": MARK},
    ".svg": {"Date": None, "Title": MARK},
    ".pdf": {"CreationDate": None, "Creator": MARK},
}
DOTS_PER_INCH = 150

WIDE = 1.96
"""Standard errors to each side of a mean in a 95% band."""

# Okabe and Ito's colours, which the colour-blind can tell apart; shapes and strokes differ too, for print.
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#007A59"
INK, FAINT = "#1a1a1a", "#767676"
BAND, GRID = "#f2f2f2", "#e6e6e6"
SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "font.family": ["DejaVu Sans"],
    "svg.fonttype": "none",
    "svg.hashsalt": "whichdo",
    "text.usetex": False,
    "text.parse_math": False,  # a dollar sign in a name begins no formula
}


class Plotted:
    """A result that draws itself."""

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        ax: Any = None,
        title: str | None = None,
        force: bool = False,
    ) -> Any:
        """Draw the result with matplotlib; the docstring of its class says what is drawn.

        Parameters
        ----------
        path
            A file to write: PNG, SVG or PDF by its suffix.  One that exists is replaced if whichdo drew it.
        ax
            Axes to draw on; without them there is a new figure.
        title
            Instead of the title that says what the result comes to.
        force
            Replace any file.

        Returns
        -------
        matplotlib.figure.Figure
            What was drawn on.  pyplot is not used, and no global setting of matplotlib changes.
        """
        return self._plotted(None if path is None else Path(os.fspath(path)), ax, title, force=force)

    @abstractmethod
    def _plotted(self, path: Path | None, ax: Any, title: str | None, *, force: bool) -> Any:
        """The figure."""


@contextmanager
def styled() -> Iterator[None]:
    """The package's own settings of matplotlib for as long as the block runs."""
    check_matplotlib()
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a box stands for an unknown character
        yield


@contextmanager
def drawn_figure(
    path: Path | None, ax: Any, size: tuple[float, float], *, force: bool = False
) -> Iterator[tuple[Any, Any]]:
    """A figure and its axes to draw on, in the package's style; written to ``path`` afterwards.

    ``ax`` are axes of the caller, whose figure is given; without them there is a new one, and pyplot does not know of
    it.
    """
    if path is not None:
        check_plot(path, force=force)
    with styled():
        if ax is not None and not hasattr(ax, "get_figure"):
            raise UsageError(f"`ax` is a {type(ax).__name__}; give axes of matplotlib, such as plt.gca().")
        figure = new_figure(size) if ax is None else ax.get_figure()
        yield figure, figure.add_subplot() if ax is None else ax
        if path is not None:
            write_figure(figure, path, force=force)


def new_figure(size: tuple[float, float]) -> Any:
    """An empty figure of so many inches that lays itself out, and that a notebook shows as a picture."""
    return _figure_class()(figsize=size, layout="constrained")


@cache
def _figure_class() -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A figure that shows itself in a notebook also where pyplot was never loaded."""

        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            FigureCanvasAgg(self)

        def _repr_png_(self) -> bytes:
            file = BytesIO()
            with styled():
                self.savefig(file, format="png", dpi=100, metadata={"Software": None})
            return file.getvalue()

    ShownFigure.__name__ = ShownFigure.__qualname__ = "Figure"
    return ShownFigure


def write_figure(figure: Any, path: Path, *, force: bool = False) -> None:
    """Write a figure into a file, PNG, SVG or PDF by its suffix; one that is there only if it is a drawing of ours."""
    try:
        save_figure(figure, path, force=force)
    except (OSError, ValueError) as error:
        raise InputError(f"The plot cannot be written to {visible(path.name)}: {error}.") from None


def save_figure(figure: Any, path: Path, *, force: bool = False) -> None:
    """The same, for a caller that knows what to do if the disk is full; the same figure gives the same bytes."""
    kind, drawn = path.suffix.lower(), BytesIO()
    with styled():
        figure.savefig(drawn, format=kind.removeprefix("."), dpi=DOTS_PER_INCH, metadata=TIMELESS.get(kind))
    write_whole(path, drawn.getvalue(), DRAWING, force=force)


def check_matplotlib() -> None:
    """Refuse to draw where matplotlib is not installed."""
    try:
        import matplotlib as mpl  # noqa: F401 - only whether it is there
    except ModuleNotFoundError:
        raise UsageError("A plot needs matplotlib: pip install 'whichdo[plots]'.") from None


def check_plot(path: Path, *, force: bool = False) -> None:
    """Refuse, before a long log is read, what could not be drawn at its end."""
    check_matplotlib()
    if path.suffix.lower() not in KINDS:
        raise UsageError(f"{visible(path.name)} does not show which format to draw: end it in {', '.join(KINDS)}.")
    if not os.path.isdir(path.absolute().parent):  # noqa: PTH112 - nor where its name is too long
        raise InputError(f"The plot cannot be written to {visible(path.name)}: its folder does not exist.")
    check_target(path, DRAWING, force=force)


def plain_axes(axes: Any) -> None:
    """Axes with a faint grid across, and lines on the left and below alone."""
    axes.grid(axis="y", color=GRID, lw=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
