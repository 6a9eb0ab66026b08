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
    say_if_compiling,
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
    arm: Annotated[str | None, typer.Option(help="A column that says what was done in each row.")] = None,
    missing: Annotated[str, typer.Option(help='Rows with missing values: "error" or "drop".')] = "error",
    threshold: Annotated[float, typer.Option(min=0, help="Take rows seen less often as uniform (the paper's t).")] = 0,
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
    say_if_compiling()
    source: Any = logs[0] if len(logs) == 1 else list(logs)
    with progress_bar("counting", "rows") as progress:
        found = rank_arms(
            asked,
            source,
            confidence=confidence,
            counts=counts,
            arm=arm,
            missing=missing,
            threshold=threshold,
            sampled=sampled,
            progress=progress,
        )
    if plot is not None:
        found.plot(plot)
    if format is TableFormat.JSON:
        print_json(_as_json(found, confidence))
    elif format is TableFormat.CSV:
        print_csv(found.to_dict())
    else:
        _print(found, top, confidence, plot)


def _print(found: Ranking, top: int, confidence: float, plot: Path | None) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out = console()
    size = f"{counted(len(found), 'arm')}, {counted(found.looks, 'look')}"
    out.print(f"{size}; {found.problem.goal} {found.problem.reward}", style="bold")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("arm", overflow="fold")
    for title in ("estimate", f"{confidence:.0%} interval", "naive", "worth pulls"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("how it is known", overflow="fold")
    for row in found.ordered[:top]:
        cells = [str(row.arm), _number(row.estimate), _interval(row), _naive(row), _pulls(row.effective_n), row.reason]
        style = "bold" if row is found.best else "yellow" if row.must_try else ""
        table.add_row(*(Text(cell) for cell in cells), style=style)
    out.print(table)
    if len(found) > top:
        out.print(f"... and {len(found) - top:,} more (--top, or -f json).")
    for line in found.summary:
        out.print(line)
    for line in found.warnings:
        out.print(f"! {line}", style="yellow")
    if plot is not None:
        out.print(f"Drawn into {visible(str(plot))}.")


def _number(value: float) -> str:
    return "?" if math.isnan(value) else f"{value:.3f}"


def _interval(row: ArmRank) -> str:
    return "?" if math.isnan(row.estimate) else f"{row.low:.3f} to {row.high:.3f}"


def _naive(row: ArmRank) -> str:
    return "" if row.arm.is_look or math.isnan(row.conditional) else _number(row.conditional)


def _pulls(size: float) -> str:
    return f"{size:,.0f}"


def _as_json(found: Ranking, confidence: float) -> dict[str, Any]:
    columns = found.to_dict()
    rows = [{name: json_value(column[j]) for name, column in columns.items()} for j in range(len(found))]
    return {
        "reward": found.problem.reward,
        "goal": str(found.problem.goal),
        "looks": found.looks,
        "confidence": confidence,
        "best": str(found.best.arm),
        "probability_best_approximate": found.probability_best,
        "hardness": found.hardness,
        "rarity": {", ".join(targets): share for targets, share in found.rarity.items()},
        "rare": [", ".join(targets) for targets in found.rare],
        "arms": rows,
        "notes": list(found.notes),
        "warnings": list(found.warnings),
    }
