"""Pa+, effective parents, and the parents that a back-door path needs."""

from __future__ import annotations

import itertools
import random

import pytest

from tests import twins
from tests.twins import CANONICAL, Mixed, letters
from whichdo.errors import GraphError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.components import backdoor_parents, effective_parents, with_parents
from whichdo.graph.projection import project


def test_with_parents_is_the_set_and_its_parents_in_order() -> None:
    graph = letters("ABCXY", "AB BC CX XY")
    assert with_parents(graph, ["X", "C"]) == ("B", "C", "X")
    assert with_parents(graph, ["A"]) == ("A",)
    assert with_parents(graph, []) == ()
    with pytest.raises(GraphError, match='no node "Q"'):
        with_parents(graph, ["Q"])


@pytest.mark.parametrize("name", CANONICAL)
def test_canonical_effective_parents(name: str) -> None:
    """Z of each node in the projection on W; node by node as worked out by hand."""
    within = project(twins.canonical(name).graph(), CANONICAL[name]["W"])
    assert {node: list(given) for node, given in effective_parents(within).items()} == CANONICAL[name]["Zmin"]


def test_effective_parents_of_the_component_are_the_same_before_and_after_projection() -> None:
    """Projecting on Pa+(cc(X)) and the reward changes neither the Z of cc(X)'s members nor cc(X) itself."""
    rng = random.Random(8)
    for mixed in twins.many_mixed()[-1500:]:
        graph = mixed.graph()
        node, reward = rng.choice(mixed.nodes), rng.choice(mixed.nodes)
        component = graph.c_component(node)
        within = project(graph, {*with_parents(graph, component), reward})
        before, after = effective_parents(graph), effective_parents(within)
        assert [after[member] for member in component] == [before[member] for member in component]
        assert set(within.c_component(node)) == set(component)
        assert not (set(graph.children(node)) & set(component)) or set(within.children(node)) & set(component)


def test_effective_parents_agree_with_the_definition() -> None:
    for mixed in twins.many_mixed():
        found = effective_parents(mixed.graph())
        assert {node: set(given) for node, given in found.items()} == twins.effective_parents(mixed)


def test_effective_parents_are_the_smallest_set_that_screens_off() -> None:
    """Each node is separated from all other earlier nodes by Z, and from no member of Z by the rest of Z."""
    rng = random.Random(9)
    for _ in range(250):
        mixed = twins.random_mixed(rng, 6)
        for position, (node, given) in enumerate(effective_parents(mixed.graph()).items()):
            earlier = mixed.nodes[:position]
            for other in earlier:
                assert twins.separated(mixed.induced([*earlier, node]), node, other, set(given) - {other}) == (
                    other not in given
                )


@pytest.mark.slow("0.3 s: a chain of 1,500 nodes; finds a search that takes cubic time")
def test_effective_parents_of_a_long_confounded_chain_are_quick() -> None:
    names = [f"N{i}" for i in range(1_500)]
    found = effective_parents(CausalGraph(names, (), itertools.pairwise(names)))
    assert found[names[-1]] == tuple(names[:-1])


# ------------------------------------------------------------------------------------------------- back-door parents


def all_prunings(mixed: Mixed, node: str, reward: str) -> set[frozenset[str]]:
    """Every set of parents that some order of dropping ends in."""
    cut = mixed.without_arrows_out_of(node)
    ends: set[frozenset[str]] = set()
    seen: set[frozenset[str]] = set()
    todo = [frozenset(mixed.parents(node))]
    while todo:
        left = todo.pop()
        if left in seen:
            continue
        seen.add(left)
        smaller = [left - {parent} for parent in left if twins.separated(cut, node, reward, left - {parent})]
        todo += smaller
        if not smaller:
            ends.add(left)
    return ends


@pytest.mark.parametrize("bows", [False, True], ids=["DAGs", "ADMGs"])
def test_backdoor_parents_are_what_every_order_of_dropping_ends_in(bows: bool) -> None:
    rng = random.Random(10 + bows)
    judged = spared = 0
    while judged < 400:
        mixed = twins.random_mixed(rng, 7, bows=bows)
        node, reward = rng.choice(mixed.nodes), rng.choice(mixed.nodes)
        if node == reward or len(mixed.parents(node)) < 2 or twins.c_component(mixed, node) != {node}:
            continue
        judged += 1
        found = frozenset(backdoor_parents(mixed.graph(), node, reward))
        assert all_prunings(mixed, node, reward) == {found}, (mixed, node, reward)
        spared += len(mixed.parents(node)) - len(found)
    assert spared > 100


def test_backdoor_parents_on_all_small_graphs() -> None:
    """All ADMGs on 4 nodes with D's effect on the others and on nodes in between, wherever cc(X) = {X}."""
    for mixed in itertools.islice(twins.all_mixed(4), 0, None, 7):
        for node, reward in itertools.permutations(mixed.nodes, 2):
            if len(mixed.parents(node)) and twins.c_component(mixed, node) == {node}:
                found = frozenset(backdoor_parents(mixed.graph(), node, reward))
                assert all_prunings(mixed, node, reward) == {found}, (mixed, node, reward)


def test_a_greedy_pass_in_each_order_ends_in_the_same_set() -> None:
    """Z1, Z2 -> X; Z1 -> Y: only Z1 lies on a back-door path."""
    mixed = twins.from_fixture(["Z1", "Z2", "X", "Y"], [["Z1", "X"], ["Z2", "X"], ["Z1", "Y"], ["X", "Y"]], [])
    assert backdoor_parents(mixed.graph(), "X", "Y") == ("Z1",)
    for order in itertools.permutations(["Z1", "Z2"]):
        assert twins.pruned_parents(mixed, "X", "Y", order) == {"Z1"}


def test_backdoor_parents_special_positions() -> None:
    chain = letters("ZXY", "ZX XY")
    assert backdoor_parents(chain, "X", "Y") == ()
    assert backdoor_parents(chain, "Y", "X") == ("X",)  # the reward is a parent: it is itself what is needed
    confounded = letters("ZXY", "ZX XY", "ZY")
    assert backdoor_parents(confounded, "X", "Y") == ("Z",)
    collider = letters("ABCXY", "AC BC AX BY XY")
    assert backdoor_parents(collider, "X", "Y") == ()  # A -> C <- B is blocked by itself


@pytest.mark.slow("0.3 s: a chain of 10,000 nodes; finds a search that takes quadratic time")
def test_backdoor_parents_in_long_graphs_are_quick() -> None:
    names = [f"N{i}" for i in range(9_998)]
    graph = CausalGraph((), [*itertools.pairwise(names), ("N0", "X"), (names[-1], "Y"), ("X", "Y")])
    assert backdoor_parents(graph, "X", "Y") == ("N0",)
