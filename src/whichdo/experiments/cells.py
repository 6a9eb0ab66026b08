"""The unit of work: one network of one panel, and the policies that meet it.

What a cell gives depends on its name and the seed alone: neither on who computes it nor on what else is computed.  A
network has a seed of its own, and so has each point on it, shared by all policies: they meet the same luck.

All cells make the tidy table of a run (`Results`): a row for each policy, network and point; and its means.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.errors import UnsuitableError
from whichdo.estimate.conditional import conditional, pair_scopes
from whichdo.evidence import observe
from whichdo.experiments.catalogue import OF_THE_PAPER, UNDER_CONFOUNDING, WHERE_TO_INTERVENE
from whichdo.experiments.experiment import Line
from whichdo.files import write_whole
from whichdo.policies.base import Objective, Policy, best_arm, refuse_joint
from whichdo.policy_names import read_policy
from whichdo.simulation import Job, simulate_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from whichdo.evidence import Tally
    from whichdo.experiments.experiment import Claim, Experiment, Panel, Verdict
    from whichdo.policies.base import Play
    from whichdo.problem import Problem
    from whichdo.simulation import Outcomes
    from whichdo.world.instances import Instance


#: (experiment, panel, network, policy)
Key = tuple[int, int, int, str]

EXPERIMENTS: dict[int, Experiment] = {
    each.number: each for each in (*OF_THE_PAPER, *UNDER_CONFOUNDING, *WHERE_TO_INTERVENE)
}
NETWORK, LUCK = 0, 1
"""What the seed of a network is used for: to draw it, and to draw what happens on it."""


@dataclass(frozen=True)
class Conditioning(Policy):
    """The wrong answer: look, and name the arm whose value came with the best rewards.

    It is what reading a dashboard amounts to.  Where a hidden cause moves X and Y together, E[Y | X=x] is not that of
    do(X=x), and more looks only make it surer of the wrong arm.  It is not in the registry: nobody should run it.
    """

    name = "conditioning"
    objective = Objective.SIMPLE

    def check(self, problem: Problem, budget: float) -> None:  # noqa: ARG002
        """Arms on one node only."""
        refuse_joint(self, problem)

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """One batch of looks."""
        looks = int(budget / problem.costs[problem.arms[0]] + 1e-9)
        seen = seen + (yield observe(looks, scopes=pair_scopes(problem)))
        return best_arm(problem, conditional(problem, seen).means, rng)


class Cell(NamedTuple):
    """One network of one panel of an experiment, by number, and the policies to be played on it."""

    experiment: int
    panel: int
    network: int
    policies: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """What a policy came to on one network: at each point the mean and the spread of the regret over runs.

    A point that the policy refuses is missing; ``refusal`` says why, of the first such.
    """

    policy: str
    points: tuple[int, ...]
    means: tuple[float, ...]
    spreads: tuple[float, ...]
    """Standard deviations, of a sample."""
    best: tuple[float, ...]
    """The share of runs that recommended a best arm; of a cumulative policy, when all rounds were played."""
    runs: int
    refusal: str = ""


@dataclass(frozen=True)
class Work:
    """What a worker receives once."""

    seed: int
    quick: bool

    def __call__(self, cell: Cell) -> tuple[Finding, ...]:
        """All policies of a cell."""
        panel = EXPERIMENTS[cell.experiment].panels[cell.panel]
        points = panel.scale(self.quick).points
        made: dict[str, list[Instance]] = {}
        found = []
        for name in cell.policies:
            policy, arms = named_policy(name), list_named(name)
            if arms not in made:
                made[arms] = _one_problem(panel.maker(arms)(self._seed(cell, NETWORK), points))
            posed = made[arms]
            if policy.objective is Objective.CUMULATIVE:
                found.append(self._curve(cell, panel, policy, posed[0], name))
            else:
                found.append(self._points(cell, panel, policy, posed, name))
        return tuple(found)

    def _seed(self, cell: Cell, *more: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.seed, spawn_key=(cell.experiment, cell.panel, cell.network, *more))

    def _luck(self, cell: Cell, position: int) -> int:
        low, high = self._seed(cell, LUCK, position).generate_state(2, np.uint64).tolist()
        return int(low) | int(high) << 64

    def _points(self, cell: Cell, panel: Panel, policy: Policy, instances: Sequence[Instance], name: str) -> Finding:
        """A policy that recommends at the end: each point is a simulation of its own."""
        runs, refusal = panel.scale(self.quick).runs, ""
        played: list[tuple[int, Outcomes]] = []
        for position, (point, each) in enumerate(zip(panel.scale(self.quick).points, instances, strict=True)):
            budget = panel.pulls(point, self.quick)
            try:
                policy.check(each.problem, budget)
            except UnsuitableError as error:
                refusal = refusal or str(error)
                continue
            job = Job(policy, budget, self._luck(cell, position))
            played.append((point, simulate_all([job], each.network, each.problem, runs)[0]))
        return Finding(
            name,
            tuple(point for point, _ in played),
            tuple(outcome.mean for _, outcome in played),
            tuple(float(outcome.regret.std(ddof=1)) for _, outcome in played),
            tuple(outcome.share_best for _, outcome in played),
            runs,
            refusal,
        )

    def _curve(self, cell: Cell, panel: Panel, policy: Policy, instance: Instance, name: str) -> Finding:
        """A cumulative policy: one simulation, and the points are rounds of it."""
        scale = panel.scale(self.quick)
        budget = panel.pulls(scale.points[-1], self.quick)
        try:
            policy.check(instance.problem, budget)
        except UnsuitableError as error:
            return Finding(name, (), (), (), (), scale.runs, str(error))
        job = Job(policy, budget, self._luck(cell, 0), scale.points)
        (outcome,) = simulate_all([job], instance.network, instance.problem, scale.runs)
        curve = outcome.curve
        means, spreads = np.mean(curve, axis=0), np.std(curve, axis=0, ddof=1)  # type: ignore[arg-type]
        best = (*(float("nan"),) * (len(scale.points) - 1), outcome.share_best)
        return Finding(name, scale.points, tuple(means.tolist()), tuple(spreads.tolist()), best, scale.runs)


def named_policy(name: str) -> Policy:
    """A policy by its text, for graphs that are right by construction; also the one that nobody should run."""
    text = name.partition("@")[0]
    return Conditioning() if text == Conditioning.name else read_policy(text).trusting()


def list_named(name: str) -> str:
    """The list of arms that a policy is named with, as in ``ts@all``; "" for the usual one."""
    return name.partition("@")[2]


def _one_problem(instances: Sequence[Instance]) -> list[Instance]:
    """The same instances, of which those that pose the same problem share it, and all that is worked out of it."""
    shared = instances[0].problem
    return [replace(each, problem=shared) if each.problem == shared else each for each in instances]


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
