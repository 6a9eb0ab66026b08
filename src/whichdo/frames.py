"""Tables as data frames of whichever library is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whichdo.errors import UsageError, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["frame_of"]

FRAMES = ("pandas", "polars", "pyarrow")


def frame_of(columns: Mapping[str, Sequence[Any]], backend: str | None = None) -> Any:
    """A data frame of "pandas", "polars" or "pyarrow"; by default of the first that is installed."""
    import narwhals as nw

    if backend is not None and backend not in FRAMES:
        raise UsageError(f"{quoted(backend)} is no kind of frame that is known; choose {', '.join(FRAMES)}.")
    for name in (backend,) if backend else FRAMES:
        try:
            return nw.from_dict(columns, backend=name).to_native()  # type: ignore[arg-type]
        except ModuleNotFoundError:
            continue
    wanted = backend or "pandas, polars or pyarrow"
    raise UsageError(f"A frame needs {wanted}, which is not installed. to_dict() gives the same columns.")
