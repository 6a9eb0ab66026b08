"""Assumption 3, its witness, and the verdict on every node."""

from __future__ import annotations

import itertools
import random

import pytest

from tests import twins
from tests.twins import CANONICAL, Mixed, letters
from whichdo.errors import GraphError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.identify import Route, assumption_3, confounding_path, verdicts
from whichdo.text import listed


@pytest.mark.parametrize("name", CANONICAL)
def test_canonical_assumption_3(name: str) -> None:
    graph = twins.canonical(name).graph()
    assert assumption_3(graph, "X") is CANONICAL[name]["assumption3"]
    assert (confounding_path(graph, "X") is None) is CANONICAL[name]["assumption3"]


def test_assumption_3_and_its_witness_agree_with_the_definition() -> None:
    """All ADMGs on up to 4 nodes and 5,000 random ones; the path is one, ends in a child and is shortest."""
    for mixed in twins.many_mixed():
        graph = mixed.graph()
        for node in mixed.nodes:
            holds = twins.assumption_3(mixed, node)
            assert assumption_3(graph, node) is holds
            path = confounding_path(graph, node)
            if holds:
                assert path is None
                continue
            assert path is not None
            assert path[0] == node
            assert path[-1] in mixed.children(node)
            assert len(set(path)) == len(path)
            assert {frozenset(pair) for pair in itertools.pairwise(path)} <= mixed.bows
            if len(mixed.bows) <= 8:
                assert len(path) == twins.shortest_confounding_length(mixed, node)


@pytest.mark.slow("1 s: paths of 10,000 nodes; finds a search that recurses and a reason without end")
def test_a_long_confounding_path_is_found_and_told_briefly() -> None:
    names = [f"N{i}" for i in range(10_000)]
    graph = CausalGraph(names, [(names[0], names[-1])], itertools.pairwise(names))
    assert confounding_path(graph, names[0]) == tuple(names)
    reason = verdicts(CausalGraph(names, itertools.pairwise(names), itertools.pairwise(names)),
                      names[-1], [names[0]])[names[0]].reason  # fmt: skip
    assert reason == "the effect of N0 cannot be computed by looking: N0 <-> N1 and N0 -> N1"
    star = [(names[0], names[-1]), *((name, names[-1]) for name in names[1:-1])]
    reason = verdicts(CausalGraph(names, star, itertools.pairwise(names)), names[-1])[names[0]].reason
    assert reason == (
        "the effect of N0 cannot be computed by looking: "
        "N0 <-> N1 <-> N2 <-> N3 <-> ... 9993 more ... <-> N9997 <-> N9998 <-> N9999 and N0 -> N9999"
    )


# ----------------------------------------------------------------------------------------------------------- verdicts


def route_by_definition(mixed: Mixed, node: str, reward: str, *, restrict: bool) -> tuple[Route, bool, Mixed]:
    """The route, whether it was rescued, and the graph that was judged."""
    fails = not twins.assumption_3(mixed, node)
    within = mixed.induced(twins.ancestors(mixed, [reward])) if restrict or fails else mixed
    if node not in within.nodes:
        route = Route.SAME
    elif not twins.assumption_3(within, node):
        route = Route.TRY
    elif twins.c_component(within, node) == {node}:
        route = Route.ADJUSTMENT
    else:
        route = Route.COMPONENT
    return route, fails and route is not Route.TRY, within


@pytest.mark.parametrize("restrict", [True, False])
def test_verdicts_agree_with_the_definition(restrict: bool) -> None:
    rng = random.Random(12)
    met = set()
    for mixed in twins.many_mixed()[::2]:
        reward = rng.choice(mixed.nodes)
        found = verdicts(mixed.graph(), reward, restrict=restrict)
        assert list(found) == [(node,) for node in mixed.nodes if node != reward]
        for (node,), verdict in found.items():
            route, rescued, within = route_by_definition(mixed, node, reward, restrict=restrict)
            assert (verdict.targets, verdict.reward, verdict.route, verdict.rescued) == (
                (node,),
                reward,
                route,
                rescued,
            )
            assert twins.plain(verdict.within) == within
            assert verdict.identified is (route is not Route.TRY)
            assert (verdict.path is not None) is (route is Route.TRY)
            met.add((route, rescued))
            if route is Route.SAME:
                assert (verdict.component, verdict.given) == ((node,), ())
                continue
            component = twins.c_component(within, node)
            assert set(verdict.component) == component
            if route is not Route.ADJUSTMENT:
                assert set(verdict.given) == component.union(*map(within.parents, component)) - {node}
            else:
                order = sorted(within.parents(node))
                assert set(verdict.given) == twins.pruned_parents(within, node, reward, order)
    assert met >= {(Route.TRY, False), *((route, True) for route in (Route.SAME, Route.ADJUSTMENT, Route.COMPONENT))}


def test_restricting_changes_routes_but_never_what_looking_can_settle() -> None:
    rng = random.Random(13)
    for mixed in twins.many_mixed()[::4]:
        graph, reward = mixed.graph(), rng.choice(mixed.nodes)
        narrow, wide = verdicts(graph, reward), verdicts(graph, reward, restrict=False)
        assert [v.identified for v in narrow.values()] == [v.identified for v in wide.values()]
        assert [v.rescued for v in narrow.values()] == [v.rescued for v in wide.values()]
        for (node,), verdict in wide.items():
            if assumption_3(graph, node):
                assert verdict.within == graph


def test_without_restriction_a_node_that_passes_is_judged_in_the_whole_graph() -> None:
    """X -> Y with B a common child's confounder: B is no ancestor of Y but joins cc(X) in the whole graph."""
    graph = letters("XYB", "XY", "XB")
    assert verdicts(graph, "Y")["X"].route is Route.ADJUSTMENT
    wide = verdicts(graph, "Y", restrict=False)
    assert wide["X"].route is Route.COMPONENT
    assert wide["X"].given == ("B",)
    assert verdicts(graph, "Y")["B"].route is Route.SAME
    assert wide["B"].route is Route.COMPONENT


def test_verdicts_on_some_nodes_skip_the_reward_and_refuse_strangers() -> None:
    graph = letters("ZXY", "ZX XY")
    assert list(verdicts(graph, "Y", ["Y", "X"])) == [("X",)]
    with pytest.raises(GraphError, match='no node "Q"'):
        verdicts(graph, "Y", ["Q"])
    with pytest.raises(GraphError, match='no node "Q"'):
        verdicts(graph, "Q")


@pytest.mark.parametrize(
    ("graph", "node", "reason"),
    [
        (twins.canonical("backdoor").graph(), "X", "by adjusting for Z"),
        (twins.canonical("backdoor").graph(), "Z", "by conditioning: there is nothing to adjust for"),
        (twins.canonical("frontdoor").graph(), "X", "through its c-component {X, Y}, given M"),
        (twins.canonical("two_comp").graph(), "X", "by adjusting for A"),
        (twins.canonical("authors_bug").graph(), "X", "through its c-component {A, X}"),
        (twins.canonical("bow").graph(), "X", "the effect of X cannot be computed by looking: X <-> Y and X -> Y"),
        (
            twins.canonical("napkin").graph(),
            "X",
            "the effect of X cannot be computed by looking: X <-> W1 <-> Y and X -> Y",
        ),
        (twins.canonical("not_anc").graph(), "X", "equal to do(): X does not act on Y"),
        (
            CausalGraph(
                ["Price", "A", "Demand", "Y"],
                [("Price", "Demand"), ("A", "Y"), ("Demand", "Y")],
                [("Price", "A"), ("A", "Demand")],
            ),
            "Price",
            "the effect of Price cannot be computed by looking: Price <-> A <-> Demand and Price -> Demand",
        ),
        (
            letters("XBY", "XB XY", "XB"),
            "X",
            "by conditioning: there is nothing to adjust for (after leaving out what does not act on Y)",
        ),
        (
            letters("XBAY", "XB XY AY", "XB XA"),
            "X",
            "through its c-component {X, A} (after leaving out what does not act on Y)",
        ),
        (letters("XBY", "XB", "XB"), "X", "equal to do(): X does not act on Y"),
    ],
)
def test_a_reason_in_a_sentence(graph: CausalGraph, node: str, reason: str) -> None:
    assert verdicts(graph, "Y")[node].reason == reason


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, ""),
        (1, "N0"),
        (2, "N0 and N1"),
        (3, "N0, N1 and N2"),
        (6, "N0, N1, N2, N3, N4 and N5"),
        (7, "N0, N1, N2, N3, N4 and 2 more"),
        (100, "N0, N1, N2, N3, N4 and 95 more"),
    ],
)
def test_lists_are_cut_with_the_number_left_out(count: int, words: str) -> None:
    assert listed(f"N{i}" for i in range(count)) == words


@pytest.mark.slow("0.4 s: 10,000 nodes; finds verdicts that take quadratic time")
def test_verdicts_on_ten_thousand_nodes_are_quick() -> None:
    names = [f"N{i}" for i in range(10_000)]
    chain = list(itertools.pairwise(names))
    found = verdicts(CausalGraph(names, chain, chain[::2]), names[-1])
    assert found["N0"].route is Route.TRY
    assert found["N1"].route is Route.COMPONENT
