"""A file looked over: what it holds, and what looking alone could settle.

The answer behind ``whichdo inspect``.  Reasons (a witness path, an adjustment set) take time linear in the graph for
each node, so they are worked out only for the nodes that are shown; the verdicts are linear for all nodes together.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whichdo.errors import ProblemError
from whichdo.graph.formats import read_graph
from whichdo.graph.identify import Route, Verdict, assumption_3, confounding_path, listed
from whichdo.problem import Problem
from whichdo.problem_file import read_problem

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from whichdo.graph.admg import CausalGraph

__all__ = ["Inspection", "NodeReport", "inspect_file"]

EXPLAIN_STEPS = 5_000_000
WORDS = {
    Route.SAME: "equal to do()",
    Route.ADJUSTMENT: "by adjustment",
    Route.COMPONENT: "by c-component",
    Route.TRY: "must be tried",
}


def inspect_file(path: Path, *, reward: str | None = None, nodes: Iterable[str] | None = None) -> Inspection:
    """Read a problem (``.toml``) or a graph and look it over; ``reward`` names the reward of a bare graph."""
    if path.suffix == ".toml":
        problem: Problem | None = read_problem(path)
        if reward is not None and problem is not None and reward != problem.reward:
            raise ProblemError(f"{path.name} names {problem.reward} as its reward; --reward {reward} disagrees.")
        graph = problem.graph if problem is not None else read_graph(path)
    else:
        graph = read_graph(path)
        told = reward is not None or len(graph.outcomes) == 1
        problem = Problem(graph, reward) if told and len(graph.nodes) > 1 else None
    chosen = tuple(nodes) if nodes else None
    for name in chosen or ():
        graph.index(name)
    return Inspection(path.name, graph, problem, chosen)


@dataclass(frozen=True)
class NodeReport:
    """One node's line: the values it can be set to, the verdict in two words, and the reason."""

    node: str
    values: tuple[str, ...]
    settled: bool
    word: str
    reason: str


@dataclass(frozen=True)
class Inspection:
    """What a file says.  Without a reward only Assumption 3 is judged, for every node."""

    source: str
    graph: CausalGraph
    problem: Problem | None
    chosen: tuple[str, ...] | None

    @property
    def headline(self) -> str:
        """One line on what was read."""
        graph = self.graph
        size = f"{len(graph.nodes):,} nodes, {len(graph.directed):,} ->, {len(graph.bidirected):,} <->"
        return f"{self.source}: {size}"

    @cached_property
    def facts(self) -> tuple[str, ...]:
        """Roles, hidden variables, c-components and the number of arms, a line each."""
        lines = []
        if self.problem is None:
            lines.append("Reward: not given (--reward NAME judges the arms; below is Assumption 3 for each node)")
        else:
            count = Counter(verdict.route for verdict in self.problem.verdicts.values())
            shares = ", ".join(f"{count[route]:,} {WORDS[route]}" for route in Route if count[route])
            lines.append(f"Reward: {self.problem.reward} ({self.problem.goal})")
            lines.append(f"Arms: {len(self.problem.arms):,}, on {len(self.problem.intervene):,} nodes: {shares}")
        if self.graph.hidden:
            lines.append(f"Hidden: {listed(sorted(self.graph.hidden))}")
        large = [component for component in self.graph.c_components if len(component) > 1]
        shown = ", ".join(
            "{" + ", ".join(component[:8]) + (", ..." if len(component) > 8 else "") + "}" for component in large[:10]
        )
        more = f" and {len(large) - 10} more" if len(large) > 10 else ""
        lines.append(f"C-components of two or more: {shown + more if large else 'none'}")
        return tuple(lines)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What was changed in reading, and what a careful reader would point out."""
        return self.graph.notes if self.problem is None else self.problem.warnings

    def reports(self, most: int | None = None) -> list[NodeReport]:
        """The first ``most`` of the nodes that are reported on."""
        return [self._report(name) for name in self._nodes[:most]]

    def left_out(self, most: int) -> int:
        """How many nodes `reports` leaves out."""
        return max(0, len(self._nodes) - most)

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        graph, problem = self.graph, self.problem
        return {
            "source": self.source,
            "nodes": list(graph.nodes),
            "directed": sorted(map(list, graph.directed)),
            "bidirected": sorted(sorted(pair) for pair in graph.bidirected),
            "hidden": sorted(graph.hidden),
            "exposures": sorted(graph.exposures),
            "outcomes": sorted(graph.outcomes),
            "c_components": [list(component) for component in graph.c_components],
            "reward": problem.reward if problem is not None else None,
            "goal": str(problem.goal) if problem is not None else None,
            "arms": [str(arm) for arm in problem.arms] if problem is not None else None,
            "verdicts": [self._verdict_json(name) for name in self._nodes],
            "reasons_left_out": not self._explains,
            "notes": list(graph.notes),
            "warnings": list(self.warnings),
        }

    def draw(self, path: Path) -> None:
        """Draw the graph as SVG, nodes coloured by verdict."""
        from whichdo.graph.formats.files import write_file
        from whichdo.report.svg import draw_svg

        problem = self.problem
        marks = {name: str(verdict.route) for name, verdict in problem.verdicts.items()} if problem else {}
        write_file(path, draw_svg(self.graph, reward=problem.reward if problem else None, marks=marks))

    @cached_property
    def _nodes(self) -> tuple[str, ...]:
        if self.chosen is not None:
            return self.chosen
        return self.graph.nodes if self.problem is None else tuple(self.problem.intervene)

    @property
    def _explains(self) -> bool:
        edges = len(self.graph.directed) + len(self.graph.bidirected)
        return len(self._nodes) * edges <= EXPLAIN_STEPS

    def _report(self, name: str) -> NodeReport:
        verdict = self._verdict(name)
        if verdict is None:
            path = confounding_path(self.graph, name)
            reason = "no hidden path to a child" if path is None else f"{' <-> '.join(path)} and {name} -> {path[-1]}"
            return NodeReport(name, (), path is None, "yes" if path is None else "no", reason)
        return NodeReport(name, self._values(name), verdict.identified, WORDS[verdict.route], verdict.reason)

    def _verdict_json(self, name: str) -> dict[str, Any]:
        verdict = self._verdict(name)
        report: dict[str, Any] = {"node": name, "arms": list(self._arms(name))}
        if verdict is None:
            path = confounding_path(self.graph, name) if self._explains else None
            return report | {"assumption_3": assumption_3(self.graph, name), "path": list(path) if path else None}
        report |= {"route": str(verdict.route), "identified": verdict.identified, "rescued": verdict.rescued}
        if self._explains:
            path = verdict.path
            report |= {"given": list(verdict.given), "path": list(path) if path else None, "reason": verdict.reason}
        return report

    def _verdict(self, name: str) -> Verdict | None:
        return self.problem.verdicts.get(name) if self.problem is not None else None

    def _arms(self, name: str) -> tuple[str, ...]:
        return tuple(f"do({name}={value})" for value in self._values(name))

    def _values(self, name: str) -> tuple[str, ...]:
        return tuple(map(str, self.problem.intervene.get(name, ()) if self.problem is not None else ()))
