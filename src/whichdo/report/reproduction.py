"""What experiments came to, for people: one offline page, or Markdown for the documentation.

Both hold the same: for each experiment its claims with their verdicts, its figure, and a table of means.  Nothing in
them depends on when, where or how fast they were computed.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo._version import __version__
from whichdo.experiments.cells import EXPERIMENTS, judge
from whichdo.experiments.experiment import Axis, Word
from whichdo.files import write_file
from whichdo.plots.regret import policy_label
from whichdo.report.page import render

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from whichdo.experiments.experiment import Claim, Experiment, Line, Verdict
    from whichdo.experiments.reproduce import Reproduction


ROUNDS_SHOWN = 6
SIGNS = {Word.HOLDS: "yes", Word.PART: "part", Word.NOT: "no"}


class Table(NamedTuple):
    """A table of means: a row a point, a column a policy; the least of each row is marked."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    least: tuple[frozenset[int], ...]
    """The columns that show the least mean of each row."""


def tables(done: Reproduction, experiment: Experiment) -> list[Table]:
    """A table for each panel."""
    found = []
    for place, panel in enumerate(experiment.panels):
        lines = done.results.lines(experiment.number, place)
        if not lines:
            continue
        points = _shown(experiment, lines)
        cells = {policy: _cells(line) for policy, line in lines.items()}
        rows = [(f"{point:,}", *(cells[policy].get(point, "refused") for policy in lines)) for point in points]
        least = [_least(row, lines, point) for row, point in zip(rows, points, strict=True)]
        head = (str(experiment.axis), *map(policy_label, lines))
        found.append(Table(panel.title, head, tuple(rows), tuple(least)))
    return found


def _shown(experiment: Experiment, lines: Mapping[str, Line]) -> list[int]:
    points = sorted({point for line in lines.values() for point in line.points.tolist()})
    if experiment.axis is not Axis.ROUND:
        return points
    wanted = points[-1] * 10.0 ** -np.linspace(2, 0, ROUNDS_SHOWN)
    return sorted({min(points, key=lambda point: abs(point - each)) for each in wanted})


def _cells(line: Line) -> dict[int, str]:
    digits = 1 if line.means.max() > 5 else 4
    return {
        point: f"{mean:,.{digits}f} ({error:.{digits}f})"
        for point, mean, error in zip(line.points.tolist(), line.means, line.errors, strict=True)
    }


def _least(row: tuple[str, ...], lines: Mapping[str, Line], point: int) -> frozenset[int]:
    """Where the least mean of a row stands, and what looks the same."""
    means = [line.means[line.at(point)] if point in line.points else np.inf for line in lines.values()]
    shown = row[1 + int(np.argmin(means))].split(" ")[0]
    return frozenset(place for place, cell in enumerate(row) if place and cell.split(" ")[0] == shown)


def _size(done: Reproduction, experiment: Experiment) -> str:
    scales = [panel.scale(done.plan.quick) for panel in experiment.panels]
    counts = [scale.networks for scale in scales]
    networks = f"{counts[0]}" if len(set(counts)) == 1 else f"{', '.join(map(str, counts))}"
    each = " a panel" if len(scales) > 1 else ""
    many = "network" if networks == "1" else "networks"
    return f"{networks} {many}{each}, {scales[0].runs} runs each. Standard errors in brackets."


def _intro(done: Reproduction) -> str:
    size = " at a reduced size (--quick)" if done.plan.quick else ""
    return (
        f"Computed{size} with whichdo {__version__}, seed {done.plan.seed}. Policies meet the same networks with the "
        "same luck. A difference is called clear when it is more than three of its standard errors, taken network by "
        "network."
    )


# ----------------------------------------------------------------------------------------------------------------- HTML


def write_page(done: Reproduction) -> Path:
    """Write ``index.html`` into the folder of the results; where it is."""
    write_file(done.page, page(done))
    return done.page


class Section(NamedTuple):
    """An experiment: its claims with their verdicts, its figure, and its tables."""

    experiment: Experiment
    picture: str
    """As an address that holds it."""
    claims: tuple[tuple[str, Claim, Verdict], ...]
    """What a verdict looks like, the claim, and the verdict."""
    size: str
    tables: tuple[Table, ...]
    refusals: tuple[str, ...]


def page(done: Reproduction) -> str:
    """One HTML file that needs nothing else."""
    sections = [_section(done, EXPERIMENTS[number]) for number in done.plan.policies]
    return render("reproduction.html", "Causal bandits, reproduced", intro=_intro(done), sections=sections)


def _section(done: Reproduction, experiment: Experiment) -> Section:
    picture = (done.folder / "figures" / f"{experiment.name}.svg").read_bytes()
    refusals = done.results.refusals(experiment.number).items()
    return Section(
        experiment,
        f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}",
        tuple((SIGNS[verdict.word], claim, verdict) for claim, verdict in judge(experiment, done.results)),
        _size(done, experiment),
        tuple(tables(done, experiment)),
        tuple(f"{policy_label(policy)} leaves out points: {why}" for policy, why in refusals),
    )


# ------------------------------------------------------------------------------------------------------------- Markdown


def markdown(done: Reproduction, pictures: Mapping[int, str]) -> str:
    """The same for the documentation; ``pictures`` says where each figure lies."""
    parts = [f"{_intro(done)}\n", "| | claim | whose | verdict |\n|---|---|---|---|"]
    for number in done.plan.policies:
        for claim, verdict in judge(EXPERIMENTS[number], done.results):
            parts.append(f"| {number} | {claim.text} | {claim.source} | **{verdict.word}** |")
    for number in done.plan.policies:
        experiment = EXPERIMENTS[number]
        parts.append(f"\n## Experiment {number}: {experiment.title}\n\n{experiment.about} {_size(done, experiment)}\n")
        for claim, verdict in judge(experiment, done.results):
            parts.append(
                f"- **{verdict.word}**: {claim.text} ({claim.source})\\\n"
                f"  {verdict.numbers}.\\\n  Test: {verdict.test}."
            )
        parts.append(f"\n![{experiment.title}]({pictures[number]})\n")
        parts += [_markdown_table(table) for table in tables(done, experiment)]
    return "\n".join(parts) + "\n"


def _markdown_table(table: Table) -> str:
    lines = [f"{table.title}:\n", f"| {' | '.join(table.head)} |", "|---" + "|---:" * (len(table.head) - 1) + "|"]
    for row, least in zip(table.rows, table.least, strict=True):
        cells = [f"**{cell}**" if place in least else cell for place, cell in enumerate(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
