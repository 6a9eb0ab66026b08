"""Run experiments, resume them, and write down what they came to.

A folder of results holds

    cells.jsonl         the journal: every cell that is done
    results.csv         the tidy table, and the same as results.parquet
    figures/            a PNG and an SVG for each experiment
    manifest.json       what was run, with which versions, where and how long
    index.html          one page: figures, tables, and the claims with their verdicts

All but the manifest are the same, bit for bit, for any number of workers, on a cluster, and after any number of stops.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from time import gmtime, perf_counter, strftime
from typing import TYPE_CHECKING, Any, NamedTuple

from whichdo._version import __version__
from whichdo.comparison.spelling import policy_text
from whichdo.errors import StorageError, UsageError, quoted, visible
from whichdo.evidence import whole_number
from whichdo.experiments.cells import EXPERIMENTS, Cell, Work, named_policy
from whichdo.experiments.experiment import Axis
from whichdo.experiments.journal import opened, sources
from whichdo.experiments.results import Results
from whichdo.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from whichdo.experiments.executors import Executor
    from whichdo.experiments.journal import Journal

__all__ = ["Plan", "Reproduction", "chosen_policies", "reproduce"]

PACKAGES = ("numpy", "numba", "pyarrow", "matplotlib")
SIMPLE_RUN, ROUND = 3e-4, 1e-6
"""Seconds that a run of a simple policy takes, and a round of a cumulative one; to tell the time left."""


class Plan(NamedTuple):
    """What is asked for."""

    policies: Mapping[int, tuple[str, ...]]
    """For each experiment, by its number."""
    seed: int
    quick: bool


@dataclass(frozen=True)
class Reproduction:
    """A run that is done."""

    folder: Path
    plan: Plan
    results: Results
    seconds: float
    computed: int
    """Cells that were computed now; the others were at hand."""


def chosen_policies(wanted: str | Sequence[str], numbers: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """The policies of each experiment: "paper", "all", or names, each where its kind of regret is asked about."""
    experiments = [EXPERIMENTS[number] for number in numbers]
    if wanted == "paper":
        return {each.number: each.paper for each in experiments}
    if wanted == "all":
        return {each.number: (*each.paper, *each.more) for each in experiments}
    made = [named_policy(name) for name in ([wanted] if isinstance(wanted, str) else wanted)]
    kinds = {policy_text(each): each.objective for each in made}  # one spelling for one policy
    names = list(kinds)
    found = {each.number: tuple(name for name in names if kinds[name] is each.objective) for each in experiments}
    idle = [name for name in names if not any(name in policies for policies in found.values())]
    if idle:
        raise UsageError(
            f"{idle[0]} is about {kinds[idle[0]]} regret, and none of the experiments asked for is. "
            f"1, 2, 4, 6 and 8 are about simple regret, 3, 5 and 7 about cumulative regret."
        )
    return {number: policies for number, policies in found.items() if policies}


def reproduce(
    plan: Plan,
    folder: Path,
    executor: Executor,
    *,
    progress: Callable[[float, float, str], None] | None = None,
) -> Reproduction:
    """Compute the cells that are not at hand, then write tables, figures, page and manifest.

    ``progress`` is told how much work is done, how much there is, in seconds of one core, and what is being done.
    """
    began = perf_counter()
    whole_number(plan.seed, "seed")
    _check_drawing()
    for number in plan.policies:
        if number not in EXPERIMENTS:
            raise UsageError(f"There is no experiment {quoted(number)}; there are 1 to {len(EXPERIMENTS)}.")
    try:
        with opened(folder, plan.seed, quick=plan.quick) as journal:
            cells = _missing(plan, journal)
            (folder / "figures").mkdir(exist_ok=True)
            for number in _completed(plan, cells, executor, journal, progress):
                _draw(folder, number, Results(_wanted(plan, journal)))
            results = Results(_wanted(plan, journal))
            results.write_csv(folder / "results.csv")
            results.write_parquet(folder / "results.parquet")
            done = Reproduction(folder, plan, results, perf_counter() - began, len(cells))
            text = json.dumps(manifest(done), indent=2, ensure_ascii=False, allow_nan=False)
            write_whole(folder / "manifest.json", text + "\n")
    except OSError as error:
        where = visible(error.filename) if error.filename else visible(folder)
        raise StorageError(
            f"{where} cannot be written: {error.strerror or error}. What was computed before is kept; run the same "
            f"command again when there is room."
        ) from None
    return done


def _check_drawing() -> None:
    """Before anything is computed: figures need matplotlib."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise UsageError("The figures need matplotlib: pip install 'whichdo[plots]'.") from None
    del mpl


def _all_cells(plan: Plan) -> list[Cell]:
    return [
        Cell(number, place, network, plan.policies[number])
        for number in plan.policies
        for place, panel in enumerate(EXPERIMENTS[number].panels)
        for network in range(panel.scale(plan.quick).networks)
    ]


def _missing(plan: Plan, journal: Journal) -> list[Cell]:
    """The cells of the plan, without what is at hand."""
    found = []
    for cell in _all_cells(plan):
        left = tuple(policy for policy in cell.policies if (*cell[:3], policy) not in journal.found)
        if left:
            found.append(cell._replace(policies=left))
    return found


def _wanted(plan: Plan, journal: Journal) -> dict[tuple[int, int, int, str], Any]:
    """What is at hand and was asked for: a folder may hold more."""
    keys = [(*cell[:3], policy) for cell in _all_cells(plan) for policy in cell.policies]
    return {key: journal.found[key] for key in keys if key in journal.found}


def _completed(
    plan: Plan,
    cells: list[Cell],
    executor: Executor,
    journal: Journal,
    progress: Callable[[float, float, str], None] | None,
) -> Iterator[int]:
    """Compute cells; yields an experiment as soon as all of it is there, so that it is drawn while others go on."""
    weights = {cell: _weight(cell, plan) for cell in cells}
    left = Counter(cell.experiment for cell in cells)
    total, done = sum(weights.values()), 0.0
    yield from (number for number in plan.policies if not left[number])
    with closing(executor.run(Work(plan.seed, plan.quick), cells)) as found:
        for cell, findings in found:
            journal.add(cell, findings)
            done += weights[cell]
            if progress is not None:
                progress(done, total, f"experiment {cell.experiment}")
            left[cell.experiment] -= 1
            if not left[cell.experiment]:
                yield cell.experiment


def _weight(cell: Cell, plan: Plan) -> float:
    """About how long a cell takes."""
    experiment = EXPERIMENTS[cell.experiment]
    panel = experiment.panels[cell.panel]
    scale = panel.scale(plan.quick)
    if experiment.axis is Axis.ROUND:
        return len(cell.policies) * scale.runs * panel.pulls(0, plan.quick) * ROUND
    return len(cell.policies) * scale.runs * len(scale.points) * SIMPLE_RUN


# --------------------------------------------------------------------------------------------------------- what is kept


def _draw(folder: Path, number: int, results: Results) -> None:
    from whichdo.experiments.figures import draw

    experiment = EXPERIMENTS[number]
    draw(experiment, results, [folder / "figures" / f"{experiment.name}.{kind}" for kind in ("png", "svg")])


def manifest(done: Reproduction) -> dict[str, Any]:
    """What was run, with what, where and how long."""
    return {
        "command": ["whichdo", *sys.argv[1:]],
        "experiments": list(done.plan.policies),
        "policies": {str(number): list(names) for number, names in done.plan.policies.items()},
        "seed": done.plan.seed,
        "quick": done.plan.quick,
        "finished": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()),
        "seconds": round(done.seconds, 3),
        "cells_computed": done.computed,
        "versions": {
            "whichdo": __version__,
            "sources": sources(),
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
    }
