"""A file looked over: what it holds, and what looking alone could settle.

The answer behind ``whichdo inspect``.  Reasons (a witness path, an adjustment set) take time linear in the graph for
each node, so they are worked out only for those that are shown; the verdicts are linear for all nodes together.  Nodes
that arms set together are reported on together.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whichdo.errors import ProblemError, TooLargeError
from whichdo.files import DRAWING, write_file
from whichdo.graph.admg import CausalGraph
from whichdo.graph.formats import read_graph_and_format
from whichdo.graph.identify import Route, Verdict, assumption_3, confounding_path
from whichdo.problem import Problem
from whichdo.problem_file import read_problem
from whichdo.text import counted, listed, visible

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from whichdo.candidates import Pruned
    from whichdo.graph.targets import Targets
    from whichdo.problem import Arm


EXPLAIN_STEPS = 5_000_000
WORDS = {
    Route.SAME: "equal to do()",
    Route.ADJUSTMENT: "by adjustment",
    Route.COMPONENT: "by c-component",
    Route.GENERAL: "by complete identification",
    Route.TRY: "must be tried",
}


def inspect_file(path: Path, *, reward: str | None = None, nodes: Iterable[str] | None = None) -> Inspection:
    """Read a problem (``.toml``) or a graph and look it over; ``reward`` names the reward of a bare graph."""
    source = visible(path.name)
    problem: Problem | None = None
    if path.name.lower().removesuffix(".gz").endswith(".toml"):
        problem = read_problem(path)
        graph, kind = problem.graph, None
        if reward is not None and reward != problem.reward:
            raise ProblemError(f"{source} names {problem.reward} as its reward; --reward {visible(reward)} disagrees.")
    else:
        read, kind = read_graph_and_format(path)
        graph = CausalGraph.of(read)
        if reward is not None or (len(graph.outcomes) == 1 and len(graph.nodes) > 1):
            problem = Problem(graph, reward)
    chosen = tuple(graph.nodes[graph.index(name)] for name in nodes) if nodes else None
    return Inspection(source, kind, graph, problem, chosen)


def marks_of(problem: Problem) -> dict[str, str]:
    """For each node that can be set how looking settles it: by itself or, where no arm does that, with others.

    A node that only pruned arms set is marked as that.
    """
    sets = sorted(problem.verdicts.items(), key=lambda each: len(each[0]), reverse=True)
    marks = {name: "pruned" for arm in problem.pruned for name in arm.targets}
    return marks | {name: str(verdict.route) for targets, verdict in sets for name in targets}


@dataclass(frozen=True)
class TargetReport:
    """The line of one node or of several that are set together.

    The values they can be set to, the verdict in two words, and the reason.
    """

    targets: Targets
    values: tuple[str, ...]
    settled: bool
    word: str
    reason: str


@dataclass(frozen=True)
class Inspection:
    """What a file says.  Without a reward only Assumption 3 is judged, for every node."""

    source: str
    format: str | None
    """The format of a bare graph."""
    graph: CausalGraph
    problem: Problem | None
    chosen: tuple[str, ...] | None

    @property
    def headline(self) -> str:
        """One line on what was read."""
        graph = self.graph
        size = f"{len(graph.nodes):,} nodes, {len(graph.directed):,} ->, {len(graph.bidirected):,} <->"
        return f"{self.source}: {size}" if self.format is None else f"{self.source}: {self.format}, {size}"

    @cached_property
    def facts(self) -> tuple[str, ...]:
        """Roles, hidden variables, c-components and the number of arms, a line each."""
        lines = []
        if self.problem is None:
            lines.append(f"Reward: not given ({self._why_no_reward}; below is Assumption 3 for each node)")
        else:
            count = Counter(verdict.route for verdict in self.problem.verdicts.values())
            shares = ", ".join(f"{count[route]:,} {WORDS[route]}" for route in Route if count[route])
            lines.append(f"Reward: {self.problem.label(self.problem.reward)} ({self.problem.goal})")
            where = counted(len({name for targets in self.problem.target_sets for name in targets}), "node")
            if self.problem.first_joint is not None:
                where += f" in {len(self.problem.target_sets):,} sets"
            lines.append(f"Arms: {len(self.problem.arms):,}, on {where}: {shares}")
            if self.problem.prune:
                lines.append(_pruned_in_words(self.problem))
            lines += _values_in_words(self.problem)
            if self.problem.merged:
                same = [
                    f"{' with '.join(targets)} as {' with '.join(acting) or 'do()'}"
                    for targets, acting in self.problem.merged.items()
                ]
                lines.append(f"The same as arms on fewer nodes, and not listed: {listed(same, most=12)}")
        marked = [
            f"{word}{'s' if len(names) > 1 else ''} {listed(sorted(names))}"
            for word, names in (("exposure", self.graph.exposures), ("outcome", self.graph.outcomes))
            if names
        ]
        if marked:
            lines.append(f"Marked: {'; '.join(marked)}")
        if self.graph.hidden:
            lines.append(f"Hidden: {listed(sorted(self.graph.hidden))}")
        large = [component for component in self.graph.c_components if len(component) > 1]
        shown = ", ".join(
            "{" + ", ".join(component[:8]) + (", ..." if len(component) > 8 else "") + "}" for component in large[:10]
        )
        more = f" and {len(large) - 10} more" if len(large) > 10 else ""
        lines.append(f"C-components of two or more: {shown + more if large else 'none'}")
        return tuple(lines)

    @property
    def _why_no_reward(self) -> str:
        outcomes = sorted(self.graph.outcomes)
        if len(outcomes) < 2:
            return "--reward NAME judges the arms"
        number = "two" if len(outcomes) == 2 else f"{len(outcomes):,}"
        return f"the file marks {number} outcomes: {listed(outcomes)}; choose with --reward"

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What was changed in reading, and what a careful reader would point out."""
        return self.graph.notes if self.problem is None else self.problem.warnings

    def reports(self, most: int | None = None) -> list[TargetReport]:
        """The first ``most`` of the target sets that are reported on."""
        return [self._report(targets) for targets in self._sets[:most]]

    def left_out(self, most: int) -> int:
        """How many target sets `reports` leaves out."""
        return max(0, len(self._sets) - most)

    def pruned(self, most: int | None = None) -> list[tuple[Arm, Pruned]]:
        """The first ``most`` pruned arms, with what is at least as good; of chosen nodes those that set one of them."""
        arms = () if self.problem is None else self.problem.pruned
        chosen = [arm for arm in arms if self.chosen is None or set(self.chosen).intersection(arm.targets)]
        return [] if self.problem is None else [(arm, self.problem.pruned[arm]) for arm in chosen[:most]]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it."""
        graph, problem = self.graph, self.problem
        return {
            "source": self.source,
            "format": self.format,
            "nodes": list(graph.nodes),
            "directed": [list(edge) for edge in sorted(graph.directed)],
            "bidirected": sorted(sorted(pair) for pair in graph.bidirected),
            "hidden": sorted(graph.hidden),
            "exposures": sorted(graph.exposures),
            "outcomes": sorted(graph.outcomes),
            "c_components": [list(component) for component in graph.c_components],
            "reward": problem.reward if problem is not None else None,
            "goal": str(problem.goal) if problem is not None else None,
            "arms": [arm.to_dict() for arm in problem.arms] if problem is not None else None,
            "merged": [
                [list(targets), list(acting)] for targets, acting in (problem.merged if problem else {}).items()
            ],
            "pruned": [{"arm": arm.to_dict(), **each.to_dict()} for arm, each in self.pruned()],
            "verdicts": [self._verdict_json(targets) for targets in self._sets],
            "reasons_left_out": not self._explains,
            "notes": list(graph.notes),
            "warnings": list(self.warnings),
        }

    def draw(self, path: Path, *, force: bool = False) -> None:
        """Draw the graph as SVG, nodes coloured by verdict; of chosen nodes only the part around them.

        A file that is there is replaced if it is a drawing of ours, or with ``force``.
        """
        from whichdo.drawing.svg import draw_svg

        graph, problem = self._drawn, self.problem
        marks = {} if problem is None else {name: mark for name, mark in marks_of(problem).items() if name in graph}
        reward = problem.reward if problem is not None and problem.reward in graph else None
        try:
            text = draw_svg(graph, reward=reward, marks=marks)
        except TooLargeError as error:
            raise TooLargeError(f"{error} On the command line, --node NAME draws the part around a node.") from None
        write_file(path, text, DRAWING, force=force)

    @property
    def _drawn(self) -> CausalGraph:
        """The chosen nodes with their parents, children and siblings, or the whole graph."""
        graph = self.graph
        if self.chosen is None:
            return graph
        around = [{name, *graph.parents(name), *graph.children(name), *graph.siblings(name)} for name in self.chosen]
        return graph.subgraph(set().union(*around))

    @cached_property
    def _sets(self) -> tuple[Targets, ...]:
        """What is reported on: the target sets of the problem's arms, or the nodes of a bare graph one by one.

        Of chosen nodes those sets that have them, and the nodes themselves where no arm sets them.
        """
        sets = () if self.problem is None else self.problem.target_sets
        if self.chosen is None:
            return sets if self.problem is not None else tuple((name,) for name in self.graph.nodes)
        holding = [[targets for targets in sets if name in targets] or [(name,)] for name in self.chosen]
        return tuple(dict.fromkeys(targets for each in holding for targets in each))

    @property
    def _explains(self) -> bool:
        edges = len(self.graph.directed) + len(self.graph.bidirected)
        return len(self._sets) * edges <= EXPLAIN_STEPS

    def _report(self, targets: Targets) -> TargetReport:
        verdict, name = self._verdict(targets), targets[0]
        if self.problem is not None and verdict is None:
            return TargetReport(targets, (), True, *self._not_set(name))
        if verdict is None:
            path = confounding_path(self.graph, name)
            reason = "no hidden path to a child" if path is None else f"{' <-> '.join(path)} and {name} -> {path[-1]}"
            return TargetReport(targets, (), path is None, "yes" if path is None else "no", reason)
        return TargetReport(targets, self._values(targets), verdict.identified, WORDS[verdict.route], verdict.reason)

    def _verdict_json(self, targets: Targets) -> dict[str, Any]:
        verdict, name = self._verdict(targets), targets[0]
        report: dict[str, Any] = {"node": name} if len(targets) == 1 else {"targets": list(targets)}
        report["arms"] = [arm.to_dict() for arm in self._arms(targets)]
        if self.problem is not None and verdict is None:
            return report | {"route": None, "identified": None, "reason": ": ".join(self._not_set(name))}
        if verdict is None:
            path = confounding_path(self.graph, name) if self._explains else None
            return report | {"assumption_3": assumption_3(self.graph, name), "path": list(path) if path else None}
        report |= {"route": str(verdict.route), "identified": verdict.identified, "rescued": verdict.rescued}
        if self._explains:
            path = verdict.path
            report |= {"given": list(verdict.given), "path": list(path) if path else None, "reason": verdict.reason}
        return report

    def _not_set(self, name: str) -> tuple[str, str]:
        """The two words and the reason for a node of a problem that has no arms."""
        if self.problem is not None and name == self.problem.reward:
            return "is the reward", "what the arms are to improve"
        if self.problem is not None and name in self.problem.intervene:
            return "pruned", "setting it is never better than other arms"
        return "cannot be set", "the problem does not list it among the nodes to intervene on"

    def _verdict(self, targets: Targets) -> Verdict | None:
        return self.problem.verdicts.get(targets) if self.problem is not None else None

    def _arms(self, targets: Targets) -> list[Arm]:
        places = () if self.problem is None else self.problem.positions.get(targets, ())
        return [] if self.problem is None else [self.problem.arms[place] for place in places]

    def _values(self, targets: Targets) -> tuple[str, ...]:
        """The values that the targets are set to; of several targets the values of each arm by name."""
        arms = self._arms(targets)
        if len(targets) == 1:
            return tuple(str(arm.settings[targets[0]]) for arm in arms)
        return tuple(str(arm).removeprefix("do(").removesuffix(")") for arm in arms)


def _pruned_in_words(problem: Problem) -> str:
    """How many arms cannot be best, and what becomes of do()."""
    if not problem.pruned:
        return "Pruned: none, any arm can be the best"
    number = f"Pruned: {len(problem.pruned):,} of {counted(len(problem.offered), 'arm')} can never be the only best"
    return f"{number}; do() among them stays a look" if problem.first_answer else number


def _values_in_words(problem: Problem) -> list[str]:
    """How numbers are cut and values put together, and what nodes are called."""
    lines = []
    if problem.bins:
        cuts = "; ".join(f"{name} at {', '.join(map(str, each.cuts))}" for name, each in problem.bins.items())
        lines.append(f"Cut into bins: {cuts}")
    if problem.groups:
        parts = (
            f"{name}: {value} for {listed(map(str, members))}"
            for name, groups in problem.groups.items()
            for value, members in groups.items()
        )
        lines.append(f"Put together: {'; '.join(parts)}")
    if problem.labels:
        lines.append(problem.legend)
    return lines
