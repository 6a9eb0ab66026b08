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
from pathlib import Path
from time import gmtime, perf_counter, strftime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo._version import __version__
from whichdo.errors import StorageError, UsageError
from whichdo.evidence import whole_number
from whichdo.experiments.cells import EXPERIMENTS, Cell, Results, Work, judge, list_named, named_policy
from whichdo.experiments.experiment import Axis
from whichdo.experiments.journal import opened, sources
from whichdo.files import write_whole
from whichdo.plots.canvas import check_matplotlib, check_plot, save_figure, styled, write_figure
from whichdo.plots.regret import Panel, Scales, panels_plot
from whichdo.policy_names import policy_text
from whichdo.text import quoted, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from whichdo.experiments.executors import Executor
    from whichdo.experiments.experiment import Experiment
    from whichdo.experiments.journal import Journal
    from whichdo.policies.base import Objective


PACKAGES = ("numpy", "numba", "pyarrow", "matplotlib")
SIMPLE_RUN, ROUND = 3e-4, 1e-6
"""Seconds that a run of a simple policy takes, and a round of a cumulative one; to tell the time left."""
AXES = {Axis.BUDGET: "budget T (pulls)", Axis.HARDNESS: "hardness m", Axis.ROUND: "round t"}


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
    """Cells that were computed now; the others were already there."""

    @property
    def page(self) -> Path:
        """Where the page with all results is."""
        return self.folder / "index.html"

    def to_dict(self) -> dict[str, Any]:
        """What was run and every claim with its verdict, as JSON can hold it."""
        return {
            "page": str(self.page),
            "seconds": round(self.seconds, 3),
            "cells_computed": self.computed,
            "seed": self.plan.seed,
            "quick": self.plan.quick,
            "verdicts": [
                {
                    "experiment": number,
                    "claim": claim.text,
                    "source": claim.source,
                    "verdict": str(verdict.word),
                    "numbers": verdict.numbers,
                    "test": verdict.test,
                }
                for number in self.plan.policies
                for claim, verdict in judge(EXPERIMENTS[number], self.results)
            ],
        }

    def plot(
        self, number: int, path: str | os.PathLike[str] | None = None, *, ax: Any = None, force: bool = False
    ) -> Any:
        """Draw an experiment: a panel for each family of networks, a line for each policy.

        Parameters
        ----------
        number
            Of the experiment.
        path
            A file to write: PNG, SVG or PDF by its suffix.  One that exists is replaced if whichdo drew it.
        ax
            Where to draw: axes, one for each panel (an array of them, as ``plt.subplots`` gives, will do); or a figure
            or subfigure, which is divided into panels.  Without it there is a new figure.
        force
            Replace any file.

        Returns
        -------
        matplotlib.figure.Figure
            What was drawn on.
        """
        if number not in self.plan.policies:
            known = ", ".join(map(str, self.plan.policies))
            raise UsageError(f"Experiment {quoted(number)} was not run; there are results of {known}.")
        target = None if path is None else Path(os.fspath(path))
        if target is not None:
            check_plot(target, force=force)
        figure = experiment_figure(EXPERIMENTS[number], self.results, ax=ax)
        if target is not None:
            write_figure(figure, target, force=force)
        return figure


def chosen_policies(wanted: str | Sequence[str], numbers: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """The policies of each experiment: "paper", "all", or names, each where its kind of regret is asked about."""
    experiments = [EXPERIMENTS[number] for number in numbers]
    if wanted == "paper":
        return {each.number: each.paper for each in experiments}
    if wanted == "all":
        return {each.number: (*each.paper, *each.more) for each in experiments}
    kinds = {}
    for name in [wanted] if isinstance(wanted, str) else wanted:
        made, arms = named_policy(name), list_named(name)
        kinds[f"{policy_text(made)}@{arms}" if arms else policy_text(made)] = made.objective  # one spelling for each
    names = list(kinds)
    found = {each.number: tuple(name for name in names if _plays(each, name, kinds[name])) for each in experiments}
    idle = [name for name in names if not any(name in policies for policies in found.values())]
    if idle and (arms := list_named(idle[0])):
        lists = dict.fromkeys(key for each in experiments for panel in each.panels for key in panel.lists)
        raise UsageError(
            f"None of the experiments asked for offers {idle[0]} the arms {quoted(arms)}. "
            + (f"Their lists of arms: {', '.join(lists)}." if lists else "They have one list of arms: leave the @ out.")
        )
    if idle:
        raise UsageError(
            f"{idle[0]} is about {kinds[idle[0]]} regret, and none of the experiments asked for is. "
            f"1, 2, 4, 6 and 8 are about simple regret, 3, 5, 7 and 9 about cumulative regret."
        )
    return {number: policies for number, policies in found.items() if policies}


def _plays(experiment: Experiment, name: str, objective: Objective) -> bool:
    """Whether an experiment is about what a policy is good at, and offers the arms that it is named with."""
    arms = list_named(name)
    return objective is experiment.objective and all(not arms or arms in panel.lists for panel in experiment.panels)


def reproduce(
    plan: Plan,
    folder: Path,
    executor: Executor,
    *,
    progress: Callable[[float, float, str], None] | None = None,
) -> Reproduction:
    """Compute the cells that are not there yet, then write tables, figures, page and manifest.

    ``progress`` is told how much work is done, how much there is, in seconds of one core, and what is being done.
    """
    began = perf_counter()
    whole_number(plan.seed, "seed")
    check_matplotlib()
    for number in plan.policies:
        if number not in EXPERIMENTS:
            raise UsageError(f"There is no experiment {quoted(number)}; there are 1 to {len(EXPERIMENTS)}.")
    try:
        with opened(folder, plan.seed, quick=plan.quick) as journal:
            cells = _missing(plan, journal)
            (folder / "figures").mkdir(exist_ok=True)
            for number in _complete(plan, cells, executor, journal, progress):
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


def _all_cells(plan: Plan) -> list[Cell]:
    return [
        Cell(number, place, network, plan.policies[number])
        for number in plan.policies
        for place, panel in enumerate(EXPERIMENTS[number].panels)
        for network in range(panel.scale(plan.quick).networks)
    ]


def _missing(plan: Plan, journal: Journal) -> list[Cell]:
    """The cells of the plan, without those already computed."""
    found = []
    for cell in _all_cells(plan):
        left = tuple(policy for policy in cell.policies if (*cell[:3], policy) not in journal.found)
        if left:
            found.append(cell._replace(policies=left))
    return found


def _wanted(plan: Plan, journal: Journal) -> dict[tuple[int, int, int, str], Any]:
    """What was computed and asked for: a folder may hold more."""
    keys = [(*cell[:3], policy) for cell in _all_cells(plan) for policy in cell.policies]
    return {key: journal.found[key] for key in keys if key in journal.found}


def _complete(
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
    name = EXPERIMENTS[number].name
    paths = [folder / "figures" / f"{name}.{kind}" for kind in ("png", "svg")]
    figure = experiment_figure(EXPERIMENTS[number], results)
    with styled():
        for path in paths:
            save_figure(figure, path)


def experiment_figure(experiment: Experiment, results: Results, *, ax: Any = None) -> Any:
    """The figure of an experiment: a panel for each family of networks, a line for each policy."""
    panels = [
        Panel(
            panel.title,
            {
                policy: (
                    np.sqrt(line.points / (panel.budget or 1)) if experiment.by_root else line.points.astype(float),
                    line.means,
                    line.errors,
                )
                for policy, line in results.lines(experiment.number, place).items()
            },
            {},
        )
        for place, panel in enumerate(experiment.panels)
    ]
    rounds = experiment.axis is Axis.ROUND
    scales = Scales(
        across="square root of m/T" if experiment.by_root else AXES[experiment.axis],
        up=f"mean {experiment.objective} regret",
        logarithmic=experiment.logarithmic,
        whole=not experiment.by_root,
        from_zero=rounds,
        few_marks=rounds,
    )
    return panels_plot(panels, scales, shared=experiment.logarithmic or experiment.number == 2, ax=ax)


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
