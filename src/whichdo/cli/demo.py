"""``whichdo demo``: causal bandits in a minute, on a town that a survey misleads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whichdo.cli.output import console, say_if_compiling


def demo(
    *,
    folder: Annotated[
        Path | None, typer.Option(help="Folder for its files; by default a new temporary folder.", show_default=False)
    ] = None,
) -> None:
    """Show in a minute what causal bandits are for: a survey that misleads, experiments, a decision and its report."""
    import tempfile

    from whichdo.demo.story import story

    say_if_compiling()
    where = Path(tempfile.mkdtemp(prefix="whichdo-demo-")) if folder is None else folder
    out = console()
    for part in story(where):
        out.print(part, style="bold" if part.isupper() else "", soft_wrap=True, end="")
