"""``whichdo reproduce``: the paper's experiments and ours, run, resumed, drawn and judged."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whichdo.cli.output import Format, FormatOption, console, print_json, say_if_compiling
from whichdo.errors import UsageError
from whichdo.text import quoted, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whichdo.experiments.reproduce import Reproduction


def reproduce(
    which: Annotated[list[str], typer.Argument(help="Numbers from 1 to 9, or all.", show_default=False)],
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer networks, runs and points: the same picture sooner.")
    ] = False,
    policies: Annotated[str, typer.Option(help="paper, all, or names separated by commas.")] = "all",
    out: Annotated[Path, typer.Option(help="The folder for results; a run that stopped resumes there.")] = Path(
        "reproduction"
    ),
    workers: Annotated[int | None, typer.Option(help="Number of processes; default: one per core.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="The address of a Dask scheduler to use instead of processes.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed: equal seeds give equal results.")] = 0,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option is called --format
) -> None:
    """Run the paper's five experiments and four more: tables, figures, and each claim judged, on one page."""
    from whichdo.experiments.executors import Cluster, Executor, Processes
    from whichdo.experiments.reproduce import Plan, chosen_policies
    from whichdo.experiments.reproduce import reproduce as run
    from whichdo.report.reproduction import write_page

    numbers = _numbers(which)
    if cluster is not None and workers is not None:
        raise UsageError("--workers are processes of this machine; a cluster brings its own. Leave out one of the two.")
    chosen = chosen_policies(policies if policies in ("paper", "all") else _names(policies), numbers)
    executor: Executor = Processes(_hands(workers)) if cluster is None else Cluster(cluster)
    say_if_compiling()
    plan = Plan(chosen, seed, quick)
    with _progress() as tell:
        done = run(plan, out, executor, progress=tell)
    path = write_page(done)
    if format is Format.JSON:
        print_json(done.to_dict())
    else:
        _print(done, path)


def _numbers(which: list[str]) -> tuple[int, ...]:
    from whichdo.experiments.cells import EXPERIMENTS

    if "all" in which:
        return tuple(EXPERIMENTS)
    wrong = [text for text in which if not (text.isascii() and text.isdigit() and int(text[:6]) in EXPERIMENTS)]
    if wrong:
        raise UsageError(
            f"There is no experiment {quoted(wrong[0])}; there are {', '.join(map(str, EXPERIMENTS))}, and all."
        )
    return tuple(sorted({int(text) for text in which}))


def _names(text: str) -> list[str]:
    """Names separated by commas; those within brackets separate parameters."""
    names, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            names.append("")
        else:
            names[-1] += letter
    found = [name.strip() for name in names if name.strip()]
    if not found:
        raise UsageError("--policies is empty; give paper, all, or names such as srm,sr.")
    return found


def _hands(workers: int | None) -> int:
    from whichdo.crew import cores

    if workers is not None and workers < 1:
        raise UsageError(f"--workers is {workers}; 1 works in this process.")
    return cores() if workers is None else workers


@contextmanager
def _progress() -> Iterator[Callable[[float, float, str], None] | None]:
    """A bar with the time left on a terminal; elsewhere a line whenever another experiment is reached."""
    if not sys.stderr.isatty():
        said: set[str] = set()

        def tell(done: float, total: float, doing: str) -> None:
            if doing not in said:
                said.add(doing)
                print(f"{doing} ({done / total:.0%})", file=sys.stderr, flush=True)

        yield tell
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda done, total, doing: bar.update(task, completed=done, total=total, description=doing)


def _print(done: Reproduction, path: Path) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out = console()
    verdicts = done.to_dict()["verdicts"]
    if verdicts:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("", justify="right")
        table.add_column("claim", overflow="fold")
        table.add_column("whose", overflow="fold")
        table.add_column("verdict", no_wrap=True)
        for each in verdicts:
            table.add_row(*(Text(str(each[key])) for key in ("experiment", "claim", "source", "verdict")))
        out.print(table)
    out.print(f"{done.seconds:,.1f} s. Page with figures, numbers and tests: {visible(path)}")
