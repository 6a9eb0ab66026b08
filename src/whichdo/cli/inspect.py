"""``whichdo inspect``: what a graph or a problem says, and what looking can settle in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whichdo.cli.output import ForceOption, Format, FormatOption, console, print_json, worded
from whichdo.errors import UsageError
from whichdo.text import listed, visible

if TYPE_CHECKING:
    from rich.console import Console

    from whichdo.report.inspection import Inspection, TargetReport


ROWS = 50
NAMED = 4


def inspect(
    file: Annotated[Path, typer.Argument(help="A problem (.toml) or a graph in any format.", show_default=False)],
    *,
    reward: Annotated[str | None, typer.Option(help="The node to improve, if the file does not say.")] = None,
    node: Annotated[list[str] | None, typer.Option(help="Report on this node only; may be repeated.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Draw the graph, or the part around --node, as SVG.")] = None,
    force: ForceOption = False,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Show what was read, the c-components, whether looking can settle each arm and why, and what was pruned."""
    from whichdo.files import DRAWING, check_target
    from whichdo.report.inspection import inspect_file

    if svg is not None and os.path.realpath(svg) == os.path.realpath(file):
        raise UsageError(f"--svg {visible(svg)} would overwrite the file that is inspected. Name another file.")
    if svg is not None:
        check_target(svg, DRAWING, force=force)
    found = inspect_file(file, reward=reward, nodes=node)
    if format is Format.JSON:
        print_json(found.to_dict())
    else:
        _print(console(), found)
    if svg is not None:
        found.draw(svg, force=force)
        if format is not Format.JSON:
            console().print(f"Drawn into {visible(svg)}.")


def _print(out: Console, found: Inspection) -> None:
    from whichdo.drawing.listing import draw_text

    out.print(found.headline, style="bold")
    if len(found.graph.nodes) <= ROWS:
        out.print()
        out.print(draw_text(found.graph), soft_wrap=True)
    out.print()
    for line in found.facts:
        out.print(line)
    out.print()
    _print_nodes(out, found.reports(ROWS))
    if found.left_out(ROWS):
        out.print(f"... and {found.left_out(ROWS):,} more nodes (--node NAME shows one, -f json all).")
    _print_pruned(out, found)
    for line in found.warnings:
        out.print(f"! {worded(line)}", style="yellow")


def _print_pruned(out: Console, found: Inspection) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    pruned = found.pruned(ROWS + 1)
    if not pruned:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("pruned", "at least as good", "why"):
        table.add_column(title, overflow="fold")
    for arm, each in pruned[:ROWS]:
        names = listed(map(str, each.among), most=NAMED)
        best = f"the best of {names}" if len(each.among) > 1 else names
        table.add_row(*(Text(cell) for cell in (str(arm), best, each.reason)))
    out.print(table)
    if len(pruned) > ROWS:
        out.print(f"... and more (--node NAME shows those that set one, -f json all {len(found.pruned()):,}).")


def _print_nodes(out: Console, reports: list[TargetReport]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("node", "set to", "by looking", "how, or why not"):
        table.add_column(title, overflow="fold")
    for report in reports:
        between = ", " if len(report.targets) == 1 else "; "
        row = [", ".join(report.targets), between.join(report.values), report.word, report.reason]
        table.add_row(*(Text(cell) for cell in row), style="" if report.settled else "yellow")
    out.print(table)
