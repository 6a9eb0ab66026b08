"""How far a long computation is: for a program a callback, for people a bar with the time left."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int | None], None]
"""Told how much is done and, where it is known, how much there is."""


@contextlib.contextmanager
def progress_bar(doing: str, things: str) -> Iterator[Progress | None]:
    """A bar on the error stream of a terminal, gone at the end; None where there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn(doing), BarColumn(), TextColumn(f"{{task.completed:,}} {things}"), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
