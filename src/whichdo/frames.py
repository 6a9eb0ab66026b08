"""Results as JSON, as data frames of any installed library, as text for a terminal, as HTML for a notebook.

HTML for notebooks has no colours of its own, so that it is readable in the light and in the dark; all text is escaped.
"""

from __future__ import annotations

from html import escape
from math import isnan
from typing import TYPE_CHECKING, Any

from whichdo.errors import UsageError
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


FRAMES = ("pandas", "polars", "pyarrow")
NARROW = 48
"""Characters of a cell that is not broken into lines."""


def plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """A result and all inside it as JSON has it: objects by their ``to_dict``, tuples as lists, NaN as None.

    >>> plain({"low": float("nan"), "given": ("A", "B")})
    {'low': None, 'given': ['A', 'B']}
    """
    return {name: _plain(each) for name, each in content.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and isnan(value):
        return None
    if isinstance(value, dict):
        return plain(value)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return str(value)
    return value.to_dict() if hasattr(value, "to_dict") else value


def picked(thing: object, names: Iterable[str]) -> dict[str, Any]:
    """Some of the attributes of a thing, by name."""
    return {name: getattr(thing, name) for name in names}


def frame_of(columns: Mapping[str, Sequence[Any]], backend: str | None = None) -> Any:
    """A data frame of "pandas", "polars" or "pyarrow"; by default of the first that is installed."""
    import narwhals as nw

    if backend is not None and backend not in FRAMES:
        raise UsageError(f"{quoted(backend)} is not a known kind of frame; choose {', '.join(FRAMES)}.")
    for name in (backend,) if backend else FRAMES:
        try:
            return nw.from_dict(columns, backend=name).to_native()  # type: ignore[arg-type]
        except ModuleNotFoundError:
            continue
    wanted = backend or "pandas, polars or pyarrow"
    raise UsageError(f"A frame needs {wanted}, which is not installed. columns() gives the same.")


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Rows in aligned columns below their heads: the first ``left`` columns to the left, numbers to the right."""
    widths = [max(len(row[place]) for row in (heads, *rows)) for place in range(len(heads))]
    lines = []
    for row in (heads, ["-" * width for width in widths], *rows):
        cells = [
            cell.ljust(widths[place]) if place < left else cell.rjust(widths[place]) for place, cell in enumerate(row)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def html_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str,
    *,
    left: int = 1,
    bold: Sequence[int] = (),
    lines: Sequence[str] = (),
) -> str:
    """The same for a notebook, in the colours of its theme; ``bold`` rows stand out, ``lines`` stand below."""

    def cells(row: Sequence[str], tag: str) -> str:
        found = ""
        for place, cell in enumerate(row):
            wrap = ";white-space:nowrap" if tag == "td" and len(cell) <= NARROW else ""
            found += f'<{tag} style="text-align:{"left" if place < left else "right"}{wrap}">{escape(cell)}</{tag}>'
        return found

    strong = ' style="font-weight:bold"'
    body = "".join(f"<tr{strong if n in bold else ''}>{cells(row, 'td')}</tr>" for n, row in enumerate(rows))
    return (
        f"<div><div><b>{escape(caption)}</b></div><table>"
        f"<thead><tr>{cells(heads, 'th')}</tr></thead><tbody>{body}</tbody></table>{html_lines(lines)}</div>"
    )


def html_lines(lines: Sequence[str], *, title: str = "") -> str:
    """Sentences for a notebook, each on a line of its own, below a title in bold."""
    head = f"<div><b>{escape(title)}</b></div>" if title else ""
    return head + "".join(f"<div>{escape(line)}</div>" for line in lines)
