"""``whichdo rank``: what the logs alone already settle."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whichdo.cli.output import (
    ForceOption,
    TableFormat,
    TableFormatOption,
    console,
    print_csv,
    print_json,
    worded,
)
from whichdo.cli.tables import ExplainOption, LogsArgument, TableOption, WhereOption, explained, given_logs
from whichdo.progress import progress_bar
from whichdo.text import counted, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.estimate.overlap import Overlap
    from whichdo.estimate.rank import ArmRank, Ranking


def rank(
    problem: Annotated[Path, typer.Argument(help="The problem, a .toml file.", show_default=False)],
    logs: LogsArgument,
    *,
    table: TableOption = None,
    where: WhereOption = None,
    explain: ExplainOption = False,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    counts: Annotated[str | None, typer.Option(help="Column that says how often each row counts.")] = None,
    weights: Annotated[str | None, typer.Option(help="Column that says how much each row weighs.")] = None,
    arm: Annotated[str | None, typer.Option(help="Column that says which arm each row belongs to.")] = None,
    missing: Annotated[
        str, typer.Option(help="Missing values: error, drop (their rows) or level (as a value).")
    ] = "error",
    reading: Annotated[
        str, typer.Option(help="How much of the graph estimates lean on: robust, graph or paper.")
    ] = "robust",
    shrinkage: Annotated[
        float, typer.Option(min=0, help="How many rows the prior from the data's margins is worth.")
    ] = 2.0,
    threshold: Annotated[float, typer.Option(min=0, help="The paper's t: rows seen less often count as uniform.")] = 0,
    sampled: Annotated[
        int | None, typer.Option(help="Average this many draws, as the paper does; default: exact sum.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Estimate by models too, doubly robust, for many covariates: logistic.", show_default=False),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw a forest plot into this file (PNG, SVG, PDF).")] = None,
    force: ForceOption = False,
    top: Annotated[int, typer.Option(min=1, help="How many arms to show.")] = 40,
    format: TableFormatOption = TableFormat.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Estimate every do(X=x) from logs: estimate, interval, how it is known and why, best arm first."""
    from whichdo.estimate.rank import rank as rank_arms
    from whichdo.problem_file import read_problem

    asked = read_problem(problem)
    if plot is not None:
        from whichdo.plots.canvas import check_plot

        check_plot(plot, force=force)
    source = given_logs(logs, table, where)
    with explained(explain), progress_bar("counting", "rows") as progress:
        found = rank_arms(
            asked,
            source,
            confidence=confidence,
            counts=counts,
            weights=weights,
            arm=arm,
            missing=missing,
            reading=reading,
            shrinkage=shrinkage,
            threshold=threshold,
            sampled=sampled,
            model=model,
            progress=progress,
        )
    if plot is not None:
        found.plot(plot, force=force)
    if format is TableFormat.JSON:
        print_json(found.to_dict())
    elif format is TableFormat.CSV:
        print_csv(_as_columns(found))
    else:
        _print(found, top, confidence, plot)


def _print(found: Ranking, top: int, confidence: float, plot: Path | None) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out = console()
    size = f"{counted(len(found), 'arm')}, {counted(found.looks, 'look')}"
    out.print(f"{size}; {found.problem.goal} {found.problem.label(found.problem.reward)}", style="bold")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("arm", overflow="fold")
    estimate, effect = map(found.problem.in_unit, ("estimate", "against do()"))
    for title in (estimate, f"{confidence:.0%} interval", effect, "naive", "worth pulls"):
        table.add_column(title, justify="right", no_wrap=True)
    shown = found.ordered[:top]
    for row in shown:
        cells = [
            str(row.arm),
            row.estimate_text,
            row.interval,
            "" if row.arm.is_look else row.effect_text,
            "" if row.arm.is_look or math.isnan(row.conditional) else row.written(row.conditional),
            f"{row.effective_n:,.0f}",
        ]
        style = "bold" if row is found.best else "yellow" if row.must_try else ""
        table.add_row(*(Text(cell) for cell in cells), style=style)
    out.print(table)
    if len(found) > top:
        out.print(f"... and {len(found) - top:,} more (--top, or -f json).")
    if found.model is not None:
        _print_models(found, top)
    for line in found.summary:
        out.print(worded(line))
    out.print("\nHow each is known:", style="bold")
    for row in shown:
        out.print(f"  {row.arm}: {row.reason}")
    _print_details(shown)
    if found.problem.arms_legend:
        out.print(found.problem.arms_legend)
    for line in found.warnings:
        out.print(f"! {worded(line)}", style="yellow")
    if plot is not None:
        out.print(f"Drawn into {visible(str(plot))}.")


def _print_models(found: Ranking, top: int) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out = console()
    out.print(found.model_title, style="bold")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    heads = ("arm", found.problem.in_unit("estimate"), *found.model_heads[2:])
    for place, title in enumerate(heads):
        table.add_column(title, justify="right" if place else "left", overflow="fold", no_wrap=bool(place))
    for row, cells in zip(found.ordered[:top], found.model_rows(top), strict=True):
        style = "bold" if row is found.best else "yellow" if row.must_try else ""
        table.add_row(*(Text(cell) for cell in cells), style=style)
    out.print(table)


def _print_details(shown: Sequence[ArmRank]) -> None:
    """What arms do where looks have counterparts, if many have none; and what several sources say."""
    from whichdo.estimate.overlap import THIN

    out = console()
    lines = []
    for row in shown:
        if row.overlap is not None and row.unseen > THIN:
            lines.append(f"  {row.arm}, in their cell: {_overlap_text(row, row.overlap, row.unseen)}")
        inside = None if row.modelled is None else row.modelled.overlap
        if row.modelled is not None and inside is not None and row.modelled.without_counterpart > THIN:
            lines.append(f"  {row.arm}, by the model: {_overlap_text(row, inside, row.modelled.without_counterpart)}")
    if lines:
        out.print("\nFor looks that have a counterpart alone:", style="bold")
    several = [row for row in shown if {each.source for each in row.sources} - {"looks", "direct"}]
    if several:
        lines.append("\nWhat each is estimated from, and what each source says alone:")
        lines += [f"  {row.arm}: {_sources_text(row)}" for row in several]
    for line in lines:
        out.print(line, style="bold" if line.startswith("\n") else None)


def _overlap_text(row: ArmRank, inside: Overlap, lacking: float) -> str:
    """``38% of the weight, mean 0.41 (0.35 to 0.48), against do() there +0.02 (...)``."""
    own = row.with_answer(inside)
    return (
        f"{1 - lacking:.0%} of the weight, mean {own.written(own.estimate)} ({own.interval}), against do() there "
        f"{own.effect_text}"
    )


def _as_columns(found: Ranking) -> dict[str, list[Any]]:
    """The table as plain columns: answers inside answers have columns of their own."""
    from whichdo.estimate.modelled import Modelled
    from whichdo.estimate.overlap import Overlap

    ends = ["" if row.bounds is None else f"{row.bounds[0]} to {row.bounds[1]}" for row in found.values()]
    columns = found.columns() | {"sources": [_sources_text(row) for row in found.values()], "bounds": ends}
    overlap, modelled = columns.pop("overlap"), columns.pop("modelled")
    for name in (field.name for field in fields(Overlap)):
        columns[f"overlap_{name}"] = [None if each is None else each[name] for each in overlap]
    if found.model is None:
        del columns["not_modelled"]
        return columns
    inside = [None if each is None else each["overlap"] for each in modelled]
    for name in (field.name for field in fields(Modelled) if field.name != "overlap"):
        columns[f"modelled_{name}"] = [None if each is None else each[name] for each in modelled]
    for name in (field.name for field in fields(Overlap)):
        columns[f"modelled_overlap_{name}"] = [None if each is None else each[name] for each in inside]
    return columns


def _sources_text(row: ArmRank) -> str:
    """Every source of an arm: ``looks 62% 0.41 (0.35 to 0.48); do(Z) 38% ...``."""
    parts = []
    for each in row.sources:
        estimate, low, high = map(row.written, each[2:])
        alone = "" if math.isnan(each.estimate) else f": {estimate} ({low} to {high})"
        parts.append(f"{each.source} {each.weight:.0%}{alone}")
    return "; ".join(parts)
