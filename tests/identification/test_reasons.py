"""Verdicts on target sets: those of single nodes as they were, and what complete identification adds."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests import twins
from whichdo.graph.admg import CausalGraph
from whichdo.graph.identify import Route, verdicts
from whichdo.identification.engine import checked_targets, find_hedge, identify
from whichdo.identification.reasons import CompleteVerdict, complete_verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.graph.identify import Verdict


def one_verdict(graph: CausalGraph, targets: Iterable[str], reward: str = "Y") -> Verdict:
    names = checked_targets(graph, targets, reward)
    return complete_verdicts(graph, reward, [names])[names]


def test_a_single_node_keeps_its_verdict_unless_complete_identification_settles_it() -> None:
    rng = random.Random(21)
    met = set()
    for mixed in (*twins.many_mixed()[::6], twins.canonical("napkin")):
        graph = mixed.graph()
        reward = "Y" if "Y" in graph else rng.choice(mixed.nodes)
        for targets, before in verdicts(graph, reward).items():
            now = one_verdict(graph, targets, reward)
            met.add((before.route, now.route))
            if now.route is Route.GENERAL:
                assert before.route is Route.TRY
                assert now.identified
                assert identify(graph, targets, reward).conditionals
                continue
            assert (now.route, now.given, now.path, now.reason) == (
                before.route, before.given, before.path, before.reason,
            )  # fmt: skip
            assert now.identified is before.identified is (find_hedge(graph, targets, reward) is None)
    assert met == {(route, route) for route in Route if route is not Route.GENERAL} | {(Route.TRY, Route.GENERAL)}


def test_joint_targets_are_settled_just_where_no_hedge_forbids_it() -> None:
    rng = random.Random(22)
    met = set()
    for mixed in [mixed for mixed in twins.many_mixed()[-2000:] if len(mixed.nodes) > 2]:
        graph, reward = mixed.graph(), mixed.nodes[-1]
        targets = tuple(sorted(rng.sample(mixed.nodes[:-1], rng.randint(2, min(3, len(mixed.nodes) - 1)))))
        verdict = one_verdict(graph, rng.sample(targets, len(targets)), reward)
        assert verdict.targets == targets
        assert verdict.identified is (find_hedge(graph, targets, reward) is None)
        assert not set(verdict.given).intersection(verdict.acting)
        if verdict.route is Route.TRY:
            assert verdict.path is not None
            hedge = verdict.hedge if isinstance(verdict, CompleteVerdict) else None
            assert {*verdict.path} <= set(graph.nodes if hedge is None else hedge[0])
        met.add((verdict.route, len(verdict.acting)))
    assert met >= {(route, 2) for route in Route if route is not Route.SAME} | {(Route.SAME, 0), (Route.ADJUSTMENT, 1)}


@pytest.mark.parametrize(
    ("text", "targets", "route", "given", "reason"),
    [
        ("W -> Z -> X -> Y; W <-> X; W <-> Y", ["X"], Route.GENERAL, ("W", "Z"),
         "by complete identification, given W and Z"),
        ("X -> Y; X <-> Y", ["X"], Route.TRY, ("Y",),
         "the effect of X cannot be computed by looking: X <-> Y and X -> Y"),
        ("X -> B; Z -> B; A -> Y", ["X", "Z"], Route.SAME, (), "equal to do(): X and Z do not act on Y"),
        ("A -> X; A -> Y; X -> Y; Z -> Y", ["X", "Z"], Route.ADJUSTMENT, ("A",), "by adjusting for A"),
        ("X -> Y; Z -> Y", ["X", "Z"], Route.ADJUSTMENT, (), "by conditioning: there is nothing to adjust for"),
        ("Z -> X -> Y; A -> X; A -> Y", ["X", "Z"], Route.ADJUSTMENT, ("A",),
         "by adjusting for A (Z no longer acts on Y once X is set)"),
        ("X -> M -> Y; Z -> Y; X <-> Y", ["X", "Z"], Route.COMPONENT, ("M", "Y"),
         "through the c-components {X, Y} and {Z}, given M"),
        ("X1 -> Z; Z -> X2; Z -> Y; X1 -> Y; X2 -> Y", ["X1", "X2"], Route.COMPONENT, ("Z",),
         "through the c-components {X1} and {X2}, given Z"),
        ("X -> M -> Y; Z -> N -> Y; X <-> Y; Z <-> Y", ["X", "Z"], Route.COMPONENT, ("M", "N", "Y"),
         "through their c-component {X, Z, Y}, given M and N"),
        ("X -> Y; Z -> Y; X <-> A; A <-> Y; A -> Z", ["X", "Z"], Route.GENERAL, ("A",),
         "by complete identification, given A"),  # A must be adjusted for because of Z, and must not because of X
        ("X -> Y; Z -> Y; X <-> Y", ["X", "Z"], Route.TRY, (),
         ("the joint effect of X and Z cannot be computed by looking: hidden causes tie X and Y together, "
          "and X acts on Y among them")),
    ],
)  # fmt: skip
def test_a_verdict_in_a_sentence(
    text: str, targets: list[str], route: Route, given: tuple[str, ...], reason: str
) -> None:
    verdict = one_verdict(CausalGraph.parse(text), targets)
    assert (verdict.route, verdict.reason, verdict.given) == (route, reason, given)


def test_a_joint_verdict_names_the_bidirected_path_inside_the_hedge() -> None:
    verdict = one_verdict(CausalGraph.parse("X -> Y; Z -> Y; X <-> A; A <-> Y; A -> Y"), ["X", "Z"])
    assert verdict.path == ("X", "A", "Y")
    assert isinstance(verdict, CompleteVerdict)
    assert verdict.hedge == (("X", "A", "Y"), ("A", "Y"))


def test_very_many_single_nodes_are_left_to_assumption_3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for a hedge takes time linear in the graph for each node; trying an arm is always right."""
    graph = CausalGraph.parse("W -> Z -> X -> Y; W <-> X; W <-> Y")
    assert one_verdict(graph, ["X"]).identified
    monkeypatch.setattr("whichdo.identification.reasons.MOST_WORK", 3)
    assert not one_verdict(graph, ["X"]).identified
