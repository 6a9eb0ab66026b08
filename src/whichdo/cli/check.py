"""``whichdo check``: whether the logs contradict the graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whichdo.cli.output import Format, FormatOption, console, print_json, worded
from whichdo.cli.tables import ExplainOption, LogsArgument, TableOption, WhereOption, explained, given_logs
from whichdo.progress import progress_bar

if TYPE_CHECKING:
    from whichdo.checking.result import Check


CONTRADICTED = 1


def check(
    problem: Annotated[Path, typer.Argument(help="The problem, a .toml file.", show_default=False)],
    logs: LogsArgument,
    *,
    table: TableOption = None,
    where: WhereOption = None,
    explain: ExplainOption = False,
    counts: Annotated[str | None, typer.Option(help="Column that says how often each row counts.")] = None,
    arm: Annotated[str | None, typer.Option(help="Column that says which arm each row belongs to.")] = None,
    missing: Annotated[str, typer.Option(help='Rows with missing values: "error" or "drop".')] = "error",
    top: Annotated[int, typer.Option(min=1, help="How many statements the table shows.")] = 12,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Check whether logs contradict the graph, and which edge is likely missing; exit 1 where they do."""
    from whichdo.checking.check import check as check_graph
    from whichdo.problem_file import read_problem

    asked = read_problem(problem)
    source = given_logs(logs, table, where)
    with explained(explain), progress_bar("counting", "rows") as progress:
        found = check_graph(asked, source, counts=counts, arm=arm, missing=missing, progress=progress)
    if format is Format.JSON:
        print_json(found.to_dict())
    else:
        _print(found, top)
    if not found.ok:
        raise typer.Exit(CONTRADICTED)


def _print(found: Check, top: int) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from whichdo.checking.result import chance_text, strength_text

    out = console()
    for number, line in enumerate(found.summary):
        out.print(line, style="bold" if not number else None)
    if found.statements:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("independent", overflow="fold")
        table.add_column("given", overflow="fold")
        for title in ("p", "strength"):
            table.add_column(title, justify="right", no_wrap=True)
        table.add_column("", overflow="fold")
        for each in found.shown[:top]:
            cells = [
                f"{each.left}, {each.right}",
                ", ".join(each.given),
                chance_text(each.p),
                strength_text(each.strength),
                "fails" if each.fails else "" if each.tested else f"not tested: {each.method}",
            ]
            table.add_row(*(Text(cell) for cell in cells), style="yellow" if each.fails else "")
        out.print(table)
        if len(found.statements) > top:
            out.print(f"... and {len(found.statements) - top:,} more (--top, or -f json).")
    if found.problem.labels:
        out.print(found.problem.legend)
    for line in found.notes:
        out.print(f"! {worded(line)}", style="yellow")
