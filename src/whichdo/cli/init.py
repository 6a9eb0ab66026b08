"""``whichdo init``: from data and a drawing to a problem file that a person edits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whichdo.cli.output import Format, FormatOption, command, console, print_json, worded
from whichdo.text import visible

if TYPE_CHECKING:
    from whichdo.proposing.proposal import Proposal


def init(
    data: Annotated[str, typer.Argument(help="A CSV or Parquet file, or a glob in quotes.", show_default=False)],
    graph: Annotated[str, typer.Argument(help='The drawing: a file, or text such as "X -> Y".', show_default=False)],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The problem file to write.")] = Path("problem.toml"),
    reward: Annotated[str | None, typer.Option(help="The node to improve, if the drawing does not say.")] = None,
    intervene: Annotated[list[str] | None, typer.Option(help="A node that can be set; may be repeated.")] = None,
    goal: Annotated[str, typer.Option(help="maximize, or minimize where the reward is a harm.")] = "maximize",
    good: Annotated[
        list[str] | None, typer.Option(help="A value of the reward that is good, if it is a word; repeatable.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Propose a problem: values, cut points and ranges from the data; write it as a commented file to edit."""
    from whichdo.proposing.proposal import proposal
    from whichdo.proposing.writing import check_free, write_proposal

    drawing = Path(graph) if len(graph) < 250 and "\n" not in graph and os.path.isfile(graph) else None  # noqa: PTH113
    check_free(output, force=force, inputs=[data, *([graph] if drawing is not None else [])])
    found = proposal(data, graph if drawing is None else drawing, reward, intervene=intervene, goal=goal, good=good)
    write_proposal(found, output, data=data, graph_file=drawing)
    if format is Format.JSON:
        print_json({"written": str(output)} | found.to_dict())
    else:
        _print(found, output, data)


def _print(found: Proposal, output: Path, data: str) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from whichdo.proposing.writing import next_command

    out, problem = console(), found.problem
    out.print(
        f"{found.rows:,} rows; {problem.goal} {visible(problem.reward)}: {visible(found.reward_words)}", style="bold"
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("node", "values", "in the data", "missing"):
        table.add_column(title, overflow="fold", justify="right" if title == "missing" else "left")
    for name, values in found.values.items():
        shown = ", ".join(map(str, problem.domains[name][:8]))
        more = f" and {len(problem.domains[name]) - 8} more" if len(problem.domains[name]) > 8 else ""
        missing = found.columns[name].missing
        cells = (
            visible(name),
            visible(shown + more),
            visible("; ".join(values.words)),
            f"{missing:,}" if missing else "",
        )
        table.add_row(*(Text(cell) for cell in cells))
    out.print(table)
    for remark in found.remarks:
        out.print(f"! {worded(remark)}", style="yellow")
    out.print(f"Written to {visible(output)}. Next: edit it, then")
    out.print(f"  {visible(command('inspect', str(output)))}", soft_wrap=True)
    for verb in ("check", "rank"):
        out.print(f"  {visible(next_command(found, output, data, verb))}", soft_wrap=True)
