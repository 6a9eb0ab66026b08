"""Target sets: which of several targets act, and the verdict on all of them together."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tests import twins
from tests.world.enumeration import marginal, random_network
from whichdo.graph.admg import CausalGraph
from whichdo.graph.identify import Route, verdicts
from whichdo.graph.targets import ByTargets, acting_targets, target_set


def test_acting_targets_are_ancestors_of_the_reward_once_arrows_into_all_are_cut() -> None:
    for mixed in twins.many_mixed()[::40]:
        graph = mixed.graph()
        for reward in graph.nodes:
            others = sorted(set(graph.nodes) - {reward})
            for size in (1, 2, 3):
                for targets in combinations(others, size):
                    cut = CausalGraph(graph.nodes, [edge for edge in graph.directed if edge[1] not in targets])
                    expected = tuple(name for name in targets if name in cut.ancestors([reward]))
                    assert acting_targets(graph, targets, reward) == expected


def test_an_arm_with_idle_members_has_the_mean_of_its_acting_ones() -> None:
    """The law of the reward by enumeration, on random networks: setting idle targets too changes nothing."""
    rng = np.random.default_rng(2)
    compared = 0
    for _ in range(300):
        network = random_network(rng)
        nodes = network.graph.nodes
        if len(nodes) < 3:
            continue
        reward, *others = rng.permutation(nodes).tolist()
        targets = tuple(sorted(others[:2]))
        acting = acting_targets(network.graph, targets, reward)
        if acting == targets:
            continue
        forced = {name: int(rng.integers(network.sizes[name])) for name in targets}
        both = marginal(network, (reward,), forced)
        alone = marginal(network, (reward,), {name: forced[name] for name in acting})
        assert both == pytest.approx(alone, abs=1e-12)
        compared += 1
    assert compared > 50


def test_the_verdict_on_several_targets_is_that_of_the_acting_ones() -> None:
    graph = CausalGraph.parse("W -> X; X -> Y; Z -> X; Z -> Y; B -> Y; B <-> Y; Q")
    found = verdicts(graph, "Y", [("W", "X"), "X", ("Q", "W"), ("Q",), ("X", "Z"), ("B", "Q"), ("X", "Y")])
    assert list(found) == [("W", "X"), ("X",), ("Q", "W"), ("Q",), ("X", "Z"), ("B", "Q")]
    assert found["W", "X"].acting == found["X"].acting == ("X",)
    assert (found["W", "X"].route, found["W", "X"].given) == (found["X"].route, found["X"].given)
    assert found["W", "X"].reason == "by adjusting for Z (W no longer acts on Y once X is set)"
    assert found["Q", "W"].acting == ("W",)
    assert (found["Q"].route, found["Q"].acting, found["Q"].component) == (Route.SAME, (), ("Q",))
    assert (found["X", "Z"].route, found["X", "Z"].path, found["X", "Z"].identified) == (Route.TRY, None, False)
    assert found["X", "Z"].reason == (
        "the effect of X and Z together is not computed from looking: what several nodes do at once is learned by "
        "trying it"
    )
    assert (found["B", "Q"].route, found["B", "Q"].path) == (Route.TRY, ("B", "Y"))


def test_targets_none_of_which_acts_equal_do() -> None:
    found = verdicts(CausalGraph.parse("X -> Y; Y -> A; Y -> B"), "Y", [("A", "B")])["B", "A"]
    assert (found.route, found.identified, found.given) == (Route.SAME, True, ())
    assert found.reason == "equal to do(): A and B do not act on Y"


def test_a_table_by_target_set_is_a_mapping() -> None:
    table = ByTargets({("X",): 1, ("X", "Z"): 2})
    assert table == {("X",): 1, ("X", "Z"): 2}
    assert (table["X"], table["Z", "X"], table[["X", "Z"]], len(table)) == (1, 2, 2, 2)
    assert repr(table) == "ByTargets({('X',): 1, ('X', 'Z'): 2})"
    assert target_set("XZ") == ("XZ",)
    for wrong in (5, None, (), ("X", 1)):
        assert wrong not in table
        with pytest.raises(KeyError, match="no arm sets"):
            table[wrong]  # type: ignore[index]
