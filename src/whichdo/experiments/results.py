"""The tidy table of a run: a row for each policy, network and point; and its means over networks."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.experiments.cells import EXPERIMENTS
from whichdo.experiments.judging import Line
from whichdo.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from whichdo.experiments.cells import Finding
    from whichdo.experiments.experiment import Experiment
    from whichdo.experiments.journal import Key
    from whichdo.experiments.judging import Claim, Verdict


class Row(NamedTuple):
    """A row of the tidy table."""

    experiment: int
    panel: str
    axis: str
    x: int
    policy: str
    network: int
    runs: int
    mean_regret: float
    sd_regret: float
    share_best: float


class Results:
    """All findings of a run, by all workers, in any order."""

    def __init__(self, found: Mapping[Key, Finding]) -> None:
        self._found = dict(sorted(found.items()))

    def policies(self, number: int) -> tuple[str, ...]:
        """The policies that were played in an experiment: those it names in its order, then others."""
        experiment = EXPERIMENTS[number]
        there = {policy for at, _, _, policy in self._found if at == number}
        named = [name for name in (*experiment.paper, *experiment.more) if name in there]
        return (*named, *sorted(there - set(named)))

    def lines(self, number: int, panel: int) -> dict[str, Line]:
        """The policies of a panel that were not refused at every point."""
        by_policy: dict[str, list[Finding]] = defaultdict(list)
        for (at, which, _, policy), finding in self._found.items():
            if (at, which) == (number, panel) and finding.points:
                by_policy[policy].append(finding)
        return {policy: _line(by_policy[policy]) for policy in self.policies(number) if policy in by_policy}

    def refusals(self, number: int) -> dict[str, str]:
        """Why a policy left out points, each policy once."""
        return {
            policy: finding.refusal
            for (at, _, _, policy), finding in self._found.items()
            if at == number and finding.refusal
        }

    @property
    def rows(self) -> list[Row]:
        """The tidy table."""
        return [
            Row(number, panel.name, str(experiment.axis), point, policy, network, finding.runs, *values)
            for (number, place, network, policy), finding in self._found.items()
            for experiment, panel in [_where(number, place)]
            for point, *values in zip(finding.points, finding.means, finding.spreads, finding.best, strict=True)
        ]

    def write_csv(self, path: Path) -> None:
        """As text; numbers read back as the same numbers."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows([["" if value != value else value for value in row] for row in self.rows])  # noqa: PLR0124
        write_whole(path, text.getvalue())

    def write_parquet(self, path: Path) -> None:
        """For data frames."""
        import pyarrow as pa
        from pyarrow import parquet

        rows = self.rows
        columns: dict[str, Any] = {name: [row[j] for row in rows] for j, name in enumerate(Row._fields)}
        made = io.BytesIO()
        parquet.write_table(pa.table(columns), made)
        write_whole(path, made.getvalue())


def _where(number: int, place: int) -> tuple[Experiment, Any]:
    experiment = EXPERIMENTS[number]
    return experiment, experiment.panels[place]


def _line(findings: list[Finding]) -> Line:
    """Networks side by side; only points that every network has, as a refusal depends on the problem."""
    points = sorted(set.intersection(*(set(finding.points) for finding in findings)))
    rows = [
        dict(zip(finding.points, zip(finding.means, finding.spreads, strict=True), strict=True)) for finding in findings
    ]
    table = np.array([[row[point] for point in points] for row in rows]).reshape(len(rows), len(points), 2)
    return Line(findings[0].policy, np.array(points, np.int64), table[:, :, 0], table[:, :, 1], findings[0].runs)


def judge(experiment: Experiment, results: Results) -> list[tuple[Claim, Verdict]]:
    """The claims whose policies were played in every panel."""
    panels = {panel.name: results.lines(experiment.number, place) for place, panel in enumerate(experiment.panels)}
    return [
        (claim, claim.judge(panels))
        for claim in experiment.claims
        if all(set(claim.needs) <= set(lines) for lines in panels.values())
    ]
