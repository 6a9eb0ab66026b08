"""``whichdo rank``: what the logs alone already settle."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whichdo.cli.output import (
    TableFormat,
    TableFormatOption,
    console,
    json_value,
    print_csv,
    print_json,
)
from whichdo.errors import counted, visible
from whichdo.progress import progress_bar

if TYPE_CHECKING:
    from whichdo.estimate.rank import ArmRank, Ranking

__all__ = ["rank"]


def rank(
    problem: Annotated[Path, typer.Argument(help="The problem, a .toml file.", show_default=False)],
    logs: Annotated[list[str], typer.Argument(help="CSV or Parquet files, or a glob in quotes.", show_default=False)],
    *,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    counts: Annotated[str | None, typer.Option(help="A column by which each row counts.")] = None,
    weights: Annotated[str | None, typer.Option(help="A column that says how much each row weighs.")] = None,
    arm: Annotated[str | None, typer.Option(help="A column that says what was done in each row.")] = None,
    missing: Annotated[
        str, typer.Option(help="Missing values: error, drop (their rows) or level (as a value).")
    ] = "error",
    reading: Annotated[str, typer.Option(help="What estimates lean on: robust, graph or paper.")] = "robust",
    shrinkage: Annotated[float, typer.Option(min=0, help="How many rows the data's own margins count for.")] = 2.0,
    threshold: Annotated[float, typer.Option(min=0, help="The paper's t: rows seen less often are uniform.")] = 0,
    sampled: Annotated[int | None, typer.Option(help="Average so many draws, as the paper does; default: sum.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw a forest plot into this file (PNG, SVG, PDF).")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many arms the table shows.")] = 40,
    format: TableFormatOption = TableFormat.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Estimate every do(X=x) from logs: estimate, interval, how it is known and why, best arm first."""
    from whichdo.estimate.rank import rank as rank_arms
    from whichdo.problem_file import read_problem

    asked = read_problem(problem)
    if plot is not None:
        from whichdo.estimate.forest import check_plot

        check_plot(plot)
    source: Any = logs[0] if len(logs) == 1 else list(logs)
    with progress_bar("counting", "rows") as progress:
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
            progress=progress,
        )
    if plot is not None:
        found.plot(plot)
    if format is TableFormat.JSON:
        print_json(_as_json(found, confidence))
    elif format is TableFormat.CSV:
        texts = [_sources_text(row) for row in found.values()]
        ends = ["" if row.bounds is None else f"{row.bounds[0]} to {row.bounds[1]}" for row in found.values()]
        print_csv(found.to_dict() | {"sources": texts, "bounds": ends})
    else:
        _print(found, top, confidence, plot)


def _print(found: Ranking, top: int, confidence: float, plot: Path | None) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out = console()
    size = f"{counted(len(found), 'arm')}, {counted(found.looks, 'look')}"
    out.print(f"{size}; {found.problem.goal} {found.problem.label(found.problem.reward)}", style="bold")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("arm", overflow="fold")
    for title in ("estimate", f"{confidence:.0%} interval", "against do()", "naive", "worth pulls"):
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
    for line in found.summary:
        out.print(line)
    out.print("\nHow each is known:", style="bold")
    for row in shown:
        out.print(f"  {row.arm}: {row.reason}")
    several = [row for row in shown if {each.source for each in row.sources} - {"looks", "direct"}]
    if several:
        out.print("\nWhat each is estimated from, and what each source says alone:", style="bold")
        for row in several:
            out.print(f"  {row.arm}: {_sources_text(row)}")
    for line in found.warnings:
        out.print(f"! {line}", style="yellow")
    if plot is not None:
        out.print(f"Drawn into {visible(str(plot))}.")


def _sources_text(row: ArmRank) -> str:
    """Every source of an arm: ``looks 62% 0.41 (0.35 to 0.48); do(Z) 38% ...``."""
    parts = []
    for each in row.sources:
        estimate, low, high = map(row.written, each[2:])
        alone = "" if math.isnan(each.estimate) else f": {estimate} ({low} to {high})"
        parts.append(f"{each.source} {each.weight:.0%}{alone}")
    return "; ".join(parts)


def _as_json(found: Ranking, confidence: float) -> dict[str, Any]:
    columns = found.to_dict()
    columns["sources"] = [
        [{name: json_value(value) for name, value in each.items()} for each in some] for some in columns["sources"]
    ]
    rows = [{name: json_value(column[j]) for name, column in columns.items()} for j in range(len(found))]
    return {
        "reward": found.problem.reward,
        "goal": str(found.problem.goal),
        "looks": found.looks,
        "confidence": confidence,
        "reading": found.reading,
        "best": None if found.best is None else str(found.best.arm),
        "best_low": json_value(found.best_low),
        "best_high": json_value(found.best_high),
        "probability_best": json_value(found.probability_best),
        "arms": rows,
        "notes": list(found.notes),
        "warnings": list(found.warnings),
    }
