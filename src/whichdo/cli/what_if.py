"""``whichdo what-if``: what the decision would be if one edge of the graph were wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whichdo.cli.output import ForceOption, TableFormat, TableFormatOption, console, print_csv, print_json, worded
from whichdo.progress import progress_bar
from whichdo.text import counted, visible

if TYPE_CHECKING:
    from whichdo.checking.decision import WhatIf


def what_if(
    problem: Annotated[Path, typer.Argument(help="The problem, a .toml file.", show_default=False)],
    logs: Annotated[list[str], typer.Argument(help="CSV or Parquet files, or a glob in quotes.", show_default=False)],
    *,
    node: Annotated[list[str] | None, typer.Option(help="Edit only edges among these; may be repeated.")] = None,
    counts: Annotated[str | None, typer.Option(help="Column that says how often each row counts.")] = None,
    weights: Annotated[str | None, typer.Option(help="Column that says how much each row weighs.")] = None,
    missing: Annotated[str, typer.Option(help='Rows with missing values: "error" or "drop".')] = "error",
    reading: Annotated[str, typer.Option(help="How much of the graph estimates lean on: robust or graph.")] = "robust",
    shrinkage: Annotated[
        float, typer.Option(min=0, help="How many rows the prior from the data's margins is worth.")
    ] = 2.0,
    svg: Annotated[Path | None, typer.Option(help="Draw the graph, edges coloured by what rests on them.")] = None,
    force: ForceOption = False,
    top: Annotated[int, typer.Option(min=1, help="How many edits the table shows.")] = 40,
    every: Annotated[bool, typer.Option("--all", help="Also show edits that keep the choice.")] = False,
    format: TableFormatOption = TableFormat.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Drop or add each edge of the graph in turn: is the best arm still the same, and what would settle it?"""
    from whichdo.checking.what_if import what_if as edit_each
    from whichdo.files import DRAWING, check_target
    from whichdo.problem_file import read_problem

    asked = read_problem(problem)
    if svg is not None:
        check_target(svg, DRAWING, force=force)
    source: Any = logs[0] if len(logs) == 1 else list(logs)
    with progress_bar("counting", "rows") as progress:
        found = edit_each(
            asked,
            source,
            among=node,
            counts=counts,
            weights=weights,
            missing=missing,
            reading=reading,
            shrinkage=shrinkage,
            progress=progress,
        )
    if format is TableFormat.JSON:
        print_json(found.to_dict())
    elif format is TableFormat.CSV:
        print_csv(found.columns())
    else:
        _print(found, top if every else min(top, sum(not each.keeps for each in found.edits)))
    if svg is not None:
        found.write_svg(svg, force=force)
        if format is TableFormat.TABLE:
            console().print(f"Drawn into {visible(str(svg))}.")


def _print(found: WhatIf, top: int) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from whichdo.checking.decision import cells, titles

    out = console()
    size = f"{counted(len(found.edits), 'edit')}, {counted(found.looks, 'look')}"
    out.print(f"{size}; {found.problem.goal} {found.problem.label(found.problem.reward)}", style="bold")
    for line in found.summary:
        out.print(line)
    if top:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for title in titles(found):
            table.add_column(title, overflow="fold")
        for each in found.ordered[:top]:
            style = "yellow" if each.matters else "dim" if each.refuted else ""
            table.add_row(*map(Text, cells(found, each)), style=style)
        out.print(table)
    left = len(found.edits) - top
    if left > 0:
        out.print(f"{counted(left, 'more edit')} (--all, --top, or -f json).")
    if found.problem.labels:
        out.print(found.problem.legend)
    for line in found.notes:
        out.print(f"! {worded(line)}", style="yellow")
