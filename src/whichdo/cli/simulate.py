"""``whichdo simulate``: policies played against a network, side by side."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from whichdo.cli.app import policies
from whichdo.cli.output import (
    ForceOption,
    TableFormat,
    TableFormatOption,
    console,
    print_csv,
    print_json,
    say_if_compiling,
)
from whichdo.errors import UnsuitableError, UsageError
from whichdo.text import counted, quoted, short_number, visible

if TYPE_CHECKING:
    from rich.console import Console

    from whichdo.comparison import Cell, Comparison
    from whichdo.world.instances.shelf import Subject

    class _Lengths(TypedDict, total=False):
        horizons: list[int]
        budgets: list[float]


POLICIES = ["warm-halving", "srm", "ue"]


def simulate(
    source: Annotated[
        str | None,
        typer.Argument(help="A BIF file, a problem (.toml) with --network, or a name from --list.", show_default=False),
    ] = None,
    *,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help='A name, "srm(second_phase=rejects)" or my_policy.py:MyPolicy; repeatable. '
            "Default: warm-halving, srm and ue.",
            autocompletion=policies,
        ),
    ] = None,
    horizon: Annotated[
        list[str] | None, typer.Option(help="Pulls of a run, if every arm costs 1; repeatable, or comma-separated.")
    ] = None,
    budget: Annotated[
        list[str] | None, typer.Option(help="What the pulls of a run may cost together, instead of --horizon.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs of each policy at each horizon or budget.")] = 200,
    seed: Annotated[int, typer.Option(help="Random seed: equal seeds give equal results.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Number of processes; default: one per core.")] = None,
    network: Annotated[str | None, typer.Option(help="A BIF file: the probabilities for a problem.")] = None,
    reward: Annotated[str | None, typer.Option(help="The node of a BIF file that is to be improved.")] = None,
    intervene: Annotated[list[str] | None, typer.Option(help="Nodes that can be set; by default all others.")] = None,
    goal: Annotated[str | None, typer.Option(help="For a BIF file: maximize (default) or minimize.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw regret against horizon or budget (PNG, SVG, PDF).")] = None,
    force: ForceOption = False,
    show_list: Annotated[bool, typer.Option("--list", help="List the built-in networks and exit.")] = False,
    format: TableFormatOption = TableFormat.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Play policies many times against a known network: mean regret, its error, and how often a best arm was named."""
    from whichdo.world.instances.shelf import read_subject

    if show_list:
        _print_list(format)
        return
    if source is None:
        raise UsageError(
            "Nothing to simulate. Name a BIF file, a problem.toml with --network, or a network from --list."
        )
    if plot is not None:
        from whichdo.plots.canvas import check_plot

        check_plot(plot, force=force)
    subject = read_subject(source, network=network, reward=reward, intervene=_parts(intervene), goal=goal)
    found = _compare(subject, policy or POLICIES, _lengths(horizon, budget), (runs, seed, workers), format)
    if plot is not None:
        found.plot(plot, title=f"Regret on {subject.title.partition(',')[0]}", force=force)
    if format is TableFormat.JSON:
        print_json(replace(found, subject=subject.title).to_dict())
    elif format is TableFormat.CSV:
        print_csv(found.columns())
    else:
        _print(console(), found, subject, plot)


def _compare(
    subject: Subject,
    policies: list[str],
    lengths: _Lengths,
    numbers: tuple[int, int, int | None],
    format: TableFormat,  # noqa: A002
) -> Comparison:
    from whichdo.comparison import compare
    from whichdo.crew import cores

    runs, seed, workers = numbers
    say_if_compiling()
    try:
        return compare(
            policies,
            subject.network,
            subject.problem,
            **lengths,
            runs=runs,
            seed=seed,
            workers=cores() if workers is None else workers,
            progress=format is not TableFormat.JSON,
        )
    except UnsuitableError as refused:
        raise UnsuitableError(_explain(str(refused))) from None


def _parts(given: list[str] | None) -> list[str]:
    """What was repeated or separated by commas."""
    return [part.strip() for text in given or () for part in text.split(",") if part.strip()]


def _lengths(horizons: list[str] | None, budgets: list[str] | None) -> _Lengths:
    """How long the runs are, as `compare` takes it."""
    if bool(_parts(horizons)) == bool(_parts(budgets)):
        found = "both" if _parts(horizons) else "neither"
        raise UsageError(
            f"How long is a run? Give --horizon, in pulls, such as --horizon 500,1000; or --budget, in cost units. "
            f"Found {found}."
        )
    if _parts(budgets):
        return {"budgets": _numbers("--budget", budgets)}
    numbers = _numbers("--horizon", horizons)
    for number in numbers:
        if not number.is_integer():
            raise UsageError(f"--horizon is {number:g}; it must be a whole number of pulls.")
    return {"horizons": [int(number) for number in numbers]}


def _numbers(option: str, given: list[str] | None) -> list[float]:
    from whichdo.policy_names import NUMBER

    for text in _parts(given):
        if not NUMBER.fullmatch(text):
            raise UsageError(f"{option} is {quoted(text)}; it must be a number, or several separated by commas.")
    return [float(text) for text in _parts(given)]


def _print(out: Console, found: Comparison, subject: Subject, plot: Path | None) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out.print(subject.title, style="bold")
    out.print(f"{counted(len(found.problem.arms), 'arm')}; {counted(found.runs, 'run')} a row, seed {found.seed}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("policy", overflow="fold")
    for title in ("horizon" if found.horizons else "budget", "mean regret", "std. error", "best arm", "spent"):
        table.add_column(title, justify="right", no_wrap=True)
    for cell in found.cells:
        table.add_row(*map(Text, _cells(cell)), style="yellow" if cell.refusal else "")
    out.print(table)
    out.print("best arm: share of runs that named a best arm; spent: mean, in cost units.")
    for line in _refusals(found):
        out.print(f"! {line}", style="yellow")
    if plot is not None:
        out.print(f"Drawn into {visible(plot)}; bands are 95% intervals of the mean.")


def _cells(cell: Cell) -> list[str]:
    if cell.outcomes is None:
        return [cell.policy, short_number(cell.budget), "not played", "", "", ""]
    error = "" if math.isnan(cell.error) else f"{cell.error:.4f}"
    spent = short_number(round(cell.spent, 1))
    return [cell.policy, short_number(cell.budget), f"{cell.regret:.4f}", error, f"{cell.share_best:.1%}", spent]


def _refusals(found: Comparison) -> list[str]:
    """Each reason once."""
    return [_explain(refusal) for refusal in dict.fromkeys(cell.refusal for cell in found.cells) if refusal]


def _explain(refusal: str) -> str:
    """A reason that asks for an array, which no option can hold, says how it is given in Python."""
    if "laws=" not in refusal:
        return refusal
    code = 'whichdo.compare([whichdo.policy("importance", laws=network.parent_laws(problem))], network, problem, ...)'
    return f"{refusal} No option can hold them; in Python: {code}."


def _print_list(format: TableFormat) -> None:  # noqa: A002
    from whichdo.world.instances.shelf import shelf

    found = shelf()
    if format is TableFormat.JSON:
        print_json(found)
        return
    width = max(map(len, found))
    for name, about in found.items():
        typer.echo(f"{name:<{width}}  {about}")
