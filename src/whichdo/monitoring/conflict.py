"""What is reported when pulls contradict the graph, and how a campaign goes on after that.

A conflict names an arm, where its pulls disagree with looking, and the edge that is probably missing.  `fallback` gives
the problem to go on with: the same one with that edge drawn, so that looking settles the arms concerned no more and
they are tried.  Drawing a hidden cause too many costs pulls; leaving one out costs a wrong answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from math import sqrt
from typing import TYPE_CHECKING

from whichdo.errors import UsageError
from whichdo.estimate.arm_rank import decimals
from whichdo.evidence import Rows, Tally
from whichdo.graph.admg import CausalGraph
from whichdo.graph.identify import Route
from whichdo.identification.reasons import complete_verdicts
from whichdo.text import counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whichdo.graph.identify import Verdict
    from whichdo.graph.targets import ByTargets, Targets
    from whichdo.problem import Arm, Problem, Value
    from whichdo.tables import Scope, Table


class Kind(StrEnum):
    """What kind of disagreement."""

    ESTIMATE = "estimate"
    """The arm's mean reward is not what looking makes of it."""
    MOVED = "moved"
    """Setting the targets changed a node on which they do not act in the graph."""


@dataclass(frozen=True)
class Suspect:
    """Where the graph is held to be wrong: all of a conflict that decides how a campaign goes on."""

    arm: Arm
    kind: Kind
    node: str
    """The node that behaves differently: the reward or one on the way to it; or the one that should not have moved."""

    @property
    def edge(self) -> str:
        """The edge that is probably missing, as one would write it; of a joint arm one for each target, by "or"."""
        line = "<->" if self.kind is Kind.ESTIMATE else "->"
        return " or ".join(f"{name} {line} {self.node}" for name in self.arm.targets)

    @property
    def body(self) -> dict[str, str]:
        """As plain strings, for a log."""
        return {"arm": str(self.arm), "kind": str(self.kind), "node": self.node}

    @classmethod
    def read(cls, problem: Problem, body: Mapping[str, str]) -> Suspect:
        """What `body` gave."""
        return cls(problem.arm(body["arm"]), Kind(body["kind"]), problem.graph.nodes[problem.graph.index(body["node"])])


@dataclass(frozen=True)
class Conflict:
    """A place where the graph is wrong, as the data have it.

    ``looked`` and ``direct`` are the mean reward in its own scale, or for a node that moved the share of ``value``.
    """

    problem: Problem
    suspect: Suspect
    sure_of_node: bool
    """Whether tables name the node; if not, it is the reward for want of knowing better."""
    looked: float
    looks: int
    worth: float
    """How many direct pulls the looks are worth."""
    direct: float
    pulls: int
    value: Value | None
    chance: float
    """In at most this share of whole campaigns with a right graph so much evidence would come up, ever."""
    lost: tuple[Arm, ...]
    """The arms for which looking is no longer trusted."""
    where: str = ""
    """Of the law of a node given others, what these were."""

    @property
    def arm(self) -> Arm:
        """The arm whose pulls disagree."""
        return self.suspect.arm

    @property
    def kind(self) -> Kind:
        """What kind of disagreement."""
        return self.suspect.kind

    @property
    def node(self) -> str:
        """The node that behaves differently."""
        return self.suspect.node

    @property
    def message(self) -> str:
        """What is wrong, where, what was found, and what to do."""
        found = self._moved() if self.kind is Kind.MOVED else self._estimate() if self.value is None else self._law()
        rare = f"With a right graph that happens in at most 1 of {round(1 / max(self.chance, 1e-9)):,} campaigns."
        lost = listed([str(arm) for arm in self.lost], most=12)
        judged = f" Looking is no longer trusted for {lost}: only direct pulls count there." if self.lost else ""
        return f"{found[0]} {rare} {found[1]}{judged}"

    def _estimate(self) -> tuple[str, str]:
        node, reward = " or ".join(self.arm.targets), self.problem.reward
        what = (
            f"{self.arm} and looking disagree: {counted(self.pulls, 'direct pull')} had mean {reward} "
            f"{self._mean(self.direct)}, where {counted(self.looks, 'look')}, worth {self.worth:,.0f} pulls, "
            f"say {self._mean(self.looked)}."
        )
        if self.sure_of_node:
            where = f"{self.node} is the first node to behave differently from when {node} comes by itself"
            likely = (
                f"a hidden common cause of {node} and {self.node} is likely missing in the graph ({self.suspect.edge})"
            )
        else:
            where = f"{node} and {reward} go together differently from what the graph says"
            likely = (
                f"a hidden common cause of {node} and {reward} or of {node} and something between them is likely "
                f"missing in the graph ({self.suspect.edge}), or a path from {node} to {reward}"
            )
        return what, f"{where}, so {likely}. Draw it, or observe the common cause."

    def _law(self) -> tuple[str, str]:
        """Of a node whose law given its parents is another than among looks."""
        node = " or ".join(self.arm.targets)
        among = f" with {self.where}" if self.where else ""
        what = (
            f"{self.arm} and looking disagree on {self.node}: {self.node}={self.value} is {self.direct:.1%} in "
            f"{counted(self.pulls, 'direct pull')}{among}, where {counted(self.looks, 'look')} like these have "
            f"{self.looked:.1%}."
        )
        return what, (
            f"Given its causes, {self.node} should not depend on whether {node} was set or came by itself, so a hidden "
            f"common cause of {node} and {self.node} is likely missing in the graph ({self.suspect.edge}), or an arrow "
            f"into {self.node}. Draw it, or observe the common cause."
        )

    def _mean(self, value: float) -> str:
        """A mean with the digits that so many pulls allow."""
        return f"{value:.{decimals(self.problem.unit / sqrt(self.pulls + 1))}f}"

    def _moved(self) -> tuple[str, str]:
        node, does = " or ".join(self.arm.targets), "do" if self.arm.is_joint else "does"
        if self.value is None:
            unit = f"mean {self.node}"
            direct, looked = self._mean(self.direct), self._mean(self.looked)
        else:
            unit = f"{self.node}={self.value}"
            direct, looked = f"{self.direct:.1%}", f"{self.looked:.1%}"
        what = (
            f"{self.arm} changes {self.node}, on which {listed(self.arm.targets)} {does} not act in the graph: "
            f"{unit} is {direct} in "
            f"{counted(self.pulls, 'direct pull')}, where {counted(self.looks, 'look')} have {looked}."
        )
        if set(self.arm.targets).intersection(self.problem.graph.descendants([self.node])):
            return what, (
                f"The graph has {self.node} acting on {node}: an arrow on that path points in the wrong direction, or "
                f"setting {node} was not clean and touched {self.node} as well. Turn it round, or set {node} alone."
            )
        return what, (
            f"An edge from {node} towards {self.node} is missing in the graph ({self.suspect.edge}), or setting {node} "
            f"was not clean and touched {self.node} as well. Draw the edge, or set {node} alone."
        )


def fallback(problem: Problem, suspects: Iterable[Suspect]) -> Problem:
    """The same problem, same arms, in which looking settles none of the arms that conflicts put in doubt.

    The missing edge is drawn, for a joint arm one from each target.  Where the node is settled all the same (by a
    mediator, say), a hidden cause of it and a child is drawn too: what named the edge is a guess.  Where an arrow has
    to be turned, the order of the graph's nodes can change (`carried`).
    """
    draft = _Draft(problem)
    for suspect in suspects:
        draft.draw(suspect)
    return draft.finish()


def lost_arms(problem: Problem, suspect: Suspect) -> tuple[Arm, ...]:
    """The arms that looking settles in the problem and does not once this edge is drawn."""
    left = fallback(problem, [suspect])
    return tuple(
        each
        for each in problem.arms
        if not each.is_look and problem.verdicts[each.targets].identified and not left.verdicts[each.targets].identified
    )


def carried(tally: Tally, problem: Problem) -> Tally:
    """What was seen, for a problem with the same arms and nodes, such as `fallback` makes."""
    old = tally.problem
    if old.arms != problem.arms or old.domains != problem.domains or old.reward != problem.reward:
        raise UsageError("A tally is carried over to a problem with the same arms, reward and domains only.")
    if old.graph.nodes == problem.graph.nodes:
        return replace(tally, problem=problem)
    rows = tally.rows
    if rows is not None and rows.codes.shape[1] == len(old.graph.nodes):
        rows = Rows(rows.arms, rows.codes[:, [old.graph.index(name) for name in problem.graph.nodes]])
    tables = {arm: dict(_ordered(problem, table) for table in held.values()) for arm, held in tally.tables.items()}
    return Tally(problem, tally.counts, tables, rows)


def _ordered(problem: Problem, table: Table) -> tuple[Scope, Table]:
    """A table with its columns in the order of the problem's graph."""
    wanted = tuple(sorted(table.scope, key=problem.graph.index))
    return wanted, table.marginal(wanted)


class _Draft:
    """A graph to which edges are added until it says what it should."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.graph = problem.graph

    def draw(self, suspect: Suspect) -> None:
        """Draw the edge that is missing, and see to it that the arm is tried."""
        targets = suspect.arm.targets
        for source in self.problem.verdicts[targets].acting if suspect.kind is Kind.ESTIMATE else targets:
            if suspect.kind is Kind.ESTIMATE:
                self._with(bidirected=(source, suspect.node))
            elif source not in self.graph.descendants([suspect.node]):
                self._with(directed=(source, suspect.node))
        self._doubt(targets)

    def finish(self) -> Problem:
        """The problem on this graph."""
        return self.problem.but(graph=self.graph)

    def _doubt(self, targets: Targets) -> None:
        """Draw a hidden cause of a target and a child on the way to the reward, unless they are to be tried already."""
        reward = self.problem.reward
        verdict = self._verdicts()[targets]
        if verdict.route is Route.SAME:  # no child leads to the reward: the arrow is missing too, or points backwards
            behind, name = set(self.graph.descendants([reward])), targets[0]
            self._with(
                directed=(name, reward), without=[(tail, name) for tail in self.graph.parents(name) if tail in behind]
            )
            verdict = self._verdicts()[targets]
        if verdict.identified:
            acting, name = set(self.graph.ancestors([reward])), verdict.acting[0]
            child = next(child for child in self.graph.children(name) if child in acting)
            self._with(bidirected=(name, child))

    def _verdicts(self) -> ByTargets[Verdict]:
        return complete_verdicts(self.graph, self.problem.reward, self.problem.target_sets)

    def _with(
        self,
        directed: tuple[str, str] | None = None,
        bidirected: tuple[str, str] | None = None,
        without: Iterable[tuple[str, str]] = (),
    ) -> None:
        graph = self.graph
        arrows = (graph.directed - set(without)) | ({directed} if directed else set())
        tied = graph.bidirected | ({frozenset(bidirected)} if bidirected else set())
        self.graph = CausalGraph(
            graph.nodes,
            sorted(arrows),
            sorted((min(pair), max(pair)) for pair in tied),
            hidden=sorted(graph.hidden),
            exposures=sorted(graph.exposures),
            outcomes=sorted(graph.outcomes),
        )
