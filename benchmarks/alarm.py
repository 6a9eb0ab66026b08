"""How often the alarm finds a wrong graph, and how often it goes off by mistake: ``python -m benchmarks.alarm``.

Random networks of five 0/1 nodes before the reward, some with hidden common causes; somebody believes the graph with
one edge left out, one hidden cause left out, or one arrow turned round.  Counted are the believed graphs in which
looking is off by more than .1 for some arm.  Beside them stand the wrong graphs of `whichdo.world.instances.mistakes`,
which have fewer arms, so that 300 pulls can show a bias clearly.

``spread``: 2,000 logged looks, then 300 pulls spread equally over the arms, the alarm heard after every five.
``campaigns``: the same through the verbs of a campaign, with the policy named.
``python -m benchmarks.alarm spread 200 7`` measures 200 graphs of each kind from seed 7 on.

As many logs are checked too.  Told is how often the alarm, the check and either of them finds the mistake: of all; of
those that logs can refute, which imply an independence that does not hold; and of these where the bias of some arm
times the root of its pulls, over .5, is 4 or more.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import whichdo as wd
from tests.campaign.campaigns import Believed
from whichdo.errors import WhichdoError
from whichdo.estimate.estimator import look
from whichdo.evidence import Tally
from whichdo.formulas import counted_scopes
from whichdo.graph.admg import CausalGraph
from whichdo.graph.separation import implied_statements, m_separated
from whichdo.monitoring.alarm import conflicts
from whichdo.problem import LOOK, Arm, Problem
from whichdo.tables import Table
from whichdo.world.instances import planted, random_confounded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.arrays import FloatArray
    from whichdo.world.network import CausalNetwork

KINDS = ("missing edge", "missing confounder", "turned arrow")
FAMILIES = ("underrated", "overrated", "missing-arrow", "reversed-arrow")
"""Of `whichdo.world.instances.mistakes`, those whose graph is wrong."""
LOGS, PULLS, NODES = 2_000, 300, 5


@dataclass(frozen=True)
class Wrong:
    """A network, what somebody believes of it, and how far looking is then off for each arm (NaN: it says nothing)."""

    network: CausalNetwork
    problem: Problem
    bias: FloatArray


def edited(graph: CausalGraph, kind: str, rng: np.random.Generator) -> CausalGraph | None:
    """The graph with one mistake of a kind; None where there is nothing to get wrong."""
    arrows, tied = sorted(graph.directed), sorted((min(pair), max(pair)) for pair in graph.bidirected)
    pool = tied if kind == "missing confounder" else arrows
    if not pool:
        return None
    chosen = pool[int(rng.integers(len(pool)))]
    if kind == "missing confounder":
        tied = [pair for pair in tied if pair != chosen]
    else:
        arrows = [arrow for arrow in arrows if arrow != chosen]
        if kind == "turned arrow":
            if chosen[1] == "Y":
                return None
            arrows.append(chosen[::-1])
    try:
        return CausalGraph(graph.nodes, arrows, tied)
    except WhichdoError:  # a cycle
        return None


def biases(network: CausalNetwork, problem: Problem) -> FloatArray:
    """How far looking would be off with ten million looks, by the exact law."""
    tables = {}
    for scope in (*counted_scopes(problem), (problem.reward,)):
        counts = np.rint(network.law(scope) * 1e7).astype(np.int64)
        tables[scope] = Table(scope, counts.shape, counts)
    levels = np.zeros((len(problem.arms), 2), np.int64)
    levels[0] = np.rint(network.law((problem.reward,)) * 1e7)
    looked = look(problem, Tally(problem, levels, {LOOK: tables}), np.array([0.0, 1.0]))
    true = Problem(network.graph, problem.reward, arms=problem.arms)
    found: FloatArray = looked.means - network.means(true)
    return found


def wrong_graphs(kind: str, count: int, seed: int, least: float = 0.1) -> Iterator[Wrong]:
    """Graphs with one mistake that moves some arm by more than ``least``; of a family, by what it plants."""
    if kind in FAMILIES:
        for world in planted(kind, count, seed):
            yield Wrong(world.network, world.problem, world.claims - world.means)
        return
    number = 0
    while count:
        rng = np.random.default_rng([seed, KINDS.index(kind), number])
        number += 1
        (instance,) = random_confounded(
            NODES, 2 if kind == "missing confounder" else int(rng.integers(2)), 1, int(rng.integers(1 << 30)),
            least_bias=0.0,
        )  # fmt: skip
        graph = edited(instance.problem.graph, kind, rng)
        if graph is None:
            continue
        problem = Problem(graph, "Y")
        bias = biases(instance.network, problem)
        if np.nanmax(np.abs(bias)) > least:
            count -= 1
            yield Wrong(instance.network, problem, bias)


def right_graphs(count: int, seed: int) -> Iterator[Wrong]:
    """Graphs as they are."""
    for number in range(count):
        (instance,) = random_confounded(NODES, number % 3, 1, seed * 100_003 + number, least_bias=0.0)
        yield Wrong(instance.network, instance.problem, np.zeros(1))


@dataclass(frozen=True)
class Outcome:
    """What became of one wrong graph."""

    alarmed: bool
    """Whether the alarm went off."""
    refuted: bool
    """Whether a check of the logs failed."""
    visible: float
    """The largest bias of an arm times the root of its pulls, over .5."""
    refutable: bool
    """Whether logs can refute the graph: it implies an independence that does not hold."""


def is_refutable(case: Wrong) -> bool:
    """Whether the believed graph implies an independence that the true one does not."""
    true = case.network.graph
    statements = implied_statements(case.problem.graph).statements
    return not all(m_separated(true, [each.left], [each.right], each.given) for each in statements)


def is_refuted(case: Wrong, seed: int, logs: int = LOGS) -> bool:
    """Whether a check of logs fails."""
    rows = case.network.sample(logs, seed=seed)
    return not wd.check(case.problem, {name: rows[name] for name in case.problem.graph.nodes}).ok


def spread(case: Wrong, seed: int, logs: int = LOGS, pulls: int = PULLS) -> tuple[bool, float]:
    """Whether the alarm goes off while all arms are pulled in turn; and how visible the bias was at the end."""
    believed = Believed(case.network, case.problem, seed)
    looks, direct = believed.pull(Arm(), logs), Tally.empty(case.problem)
    arms = [arm for arm in case.problem.arms if not arm.is_look]
    went = False
    for turn in range(pulls // 5):
        arm = arms[turn % len(arms)]
        direct += believed.pull(arm, 5)
        if conflicts(case.problem, looks, direct, arms=[arm], logged=logs):
            went = True
            break
    each = pulls / len(arms)
    return went, float(np.nanmax(np.abs(case.bias))) * each**0.5 / 0.5


def _rows(case: Wrong, arm: Arm, seed: int) -> Iterator[dict[str, int]]:
    drawn = case.network.sample(PULLS, do=arm.settings, seed=seed * 1_000 + case.problem.index(arm))
    for number in range(PULLS):
        yield {name: int(column[number]) for name, column in drawn.items()}


def in_campaign(case: Wrong, seed: int, policy: str, folder: Path) -> tuple[bool, float]:
    """The same in a whole campaign."""
    campaign = wd.Campaign.create(
        folder / "a.db", f"{seed}", wd.policy(policy), case.problem, horizon=PULLS, seed=seed,
        logs=case.network.sample(LOGS, seed=seed),
    )  # fmt: skip
    left: dict[Arm, Iterator[dict[str, int]]] = {}
    while tickets := campaign.ask(50, client="me"):
        for ticket in tickets:
            if ticket.arm not in left:
                left[ticket.arm] = _rows(case, ticket.arm, seed)
            campaign.tell(ticket, next(left[ticket.arm]))
    status = campaign.status()
    pulls = np.array([status.by_arm[str(arm)] for arm in case.problem.arms], float)
    visible = float(np.nanmax(np.abs(case.bias) * np.sqrt(pulls[: len(case.bias)]))) / 0.5
    campaign.close()
    return bool(status.alarms), visible


def main(how: str, count: int, seed: int, policy: str) -> None:
    """Print a line for each kind of mistake."""
    with tempfile.TemporaryDirectory() as folder:
        kinds = (*KINDS, "right", *FAMILIES)
        for kind in kinds:
            cases = right_graphs(count, seed) if kind == "right" else wrong_graphs(kind, count, seed)
            found = []
            for number, case in enumerate(cases, start=1000 * kinds.index(kind)):
                own = seed * 10_000 + number
                went, visible = spread(case, own) if how == "spread" else in_campaign(case, own, policy, Path(folder))
                found.append(Outcome(went, is_refuted(case, own), visible, is_refutable(case)))
            print(f"{kind:20} {how}: {told(found)}", flush=True)


def told(found: list[Outcome]) -> str:
    """Shares: the alarm alone, check alone, either; of refutable graphs, and of those whose bias is clearly visible."""

    def share(of: list[Outcome]) -> str:
        both = np.array([[each.alarmed, each.refuted, each.alarmed or each.refuted] for each in of], float)
        return f"{' / '.join(f'{part:.2f}' for part in both.mean(axis=0))} of {len(of)}" if of else "-"

    refutable = [each for each in found if each.refutable]
    clear = [each for each in refutable if each.visible >= 4]
    seen = [each for each in found if each.visible >= 4]
    return (
        f"alarm / check / either {share(found)}; refutable {share(refutable)}, clearly visible {share(clear)}; "
        f"clearly visible, refutable or not, {share(seen)}"
    )


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        given[0] if given else "spread",
        int(given[1]) if len(given) > 1 else 100,
        int(given[2]) if len(given) > 2 else 1,
        given[3] if len(given) > 3 else "warm-halving",
    )
