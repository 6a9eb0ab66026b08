"""The layered layout: where boxes stand and what lines pass."""

from __future__ import annotations

from functools import cache
from itertools import combinations, pairwise, permutations
from random import Random

import pytest

from tests.drawing.graphs import EXPERIMENT_3, FRONT_DOOR, GRAPHS, random_graph
from whichdo.drawing.layers import MAX_STONES, Ladder, assign_layers, build_ladder, crossings, reduce_crossings
from whichdo.drawing.placement import Box, Flow, Layout, Wish, layout, mean, settle
from whichdo.errors import TooLargeError, UsageError
from whichdo.graph.admg import CausalGraph

FLOWS: tuple[Flow, ...] = ("right", "down")


@cache
def laid_out(name: str, flow: Flow) -> Layout:
    return layout(GRAPHS[name], flow=flow)


def overlap(one: Box, two: Box) -> bool:
    return one.left < two.right and two.left < one.right and one.top < two.bottom and two.top < one.bottom


def ladder_of(graph: CausalGraph) -> Ladder:
    members = range(len(graph.nodes))
    return build_ladder(graph, members, assign_layers(graph, members))


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("name", GRAPHS)
def test_boxes_do_not_overlap_and_lie_within_the_drawing(name: str, flow: Flow) -> None:
    plan = laid_out(name, flow)
    assert set(plan.boxes) == set(GRAPHS[name].nodes)
    assert not any(overlap(one, two) for one, two in combinations(plan.boxes.values(), 2))
    for box in plan.boxes.values():
        assert box.left >= -1e-6
        assert box.top >= -1e-6
        assert box.right <= plan.width + 1e-6
        assert box.bottom <= plan.height + 1e-6


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("name", GRAPHS)
def test_every_edge_is_routed_and_points_onwards(name: str, flow: Flow) -> None:
    """Two points for each layer between the ends of an edge, in ascending order along the flow."""
    graph = GRAPHS[name]
    plan = laid_out(name, flow)
    along = 0 if flow == "right" else 1
    assert set(plan.directed) == graph.directed
    assert {frozenset(pair) for pair in plan.hidden} == graph.bidirected
    for (tail, head), points in plan.directed.items():
        assert plan.boxes[tail].layer < plan.boxes[head].layer
        assert len(points) == 2 * (plan.boxes[head].layer - plan.boxes[tail].layer - 1)
        assert all(a[along] <= b[along] for a, b in pairwise(points))


def test_a_chain_is_straight_even_under_an_arc() -> None:
    boxes = layout(FRONT_DOOR, flow="right").boxes
    assert boxes["X"].y == pytest.approx(boxes["M"].y)
    assert boxes["M"].y == pytest.approx(boxes["Y"].y)
    assert boxes["X"].right < boxes["M"].left < boxes["M"].right < boxes["Y"].left


def test_parents_and_children_are_centred() -> None:
    boxes = layout(EXPERIMENT_3, flow="right").boxes
    middle = (boxes["X2"].y + boxes["X3"].y) / 2
    assert boxes["X1"].y == pytest.approx(middle)
    assert boxes["Y"].y == pytest.approx(middle)


def test_a_source_stands_next_to_its_first_child() -> None:
    """A chain A -> B -> C -> D, and S -> D: S belongs into the layer of C; so does a whole chain T -> S."""
    graph = CausalGraph(directed=[("A", "B"), ("B", "C"), ("C", "D"), ("S", "D")])
    assert layout(graph).boxes["S"].layer == 2
    longer = CausalGraph(directed=[*graph.directed, ("T", "S")])
    assert {name: layout(longer).boxes[name].layer for name in "STD"} == {"S": 2, "T": 1, "D": 3}


def test_a_planar_graph_is_drawn_without_crossings() -> None:
    """A ladder of two chains with rungs, its second chain listed backwards."""
    rungs = [(f"a{number}", f"b{number + 1}") for number in range(5)]
    chains = [(f"{side}{number}", f"{side}{number + 1}") for side in "ba" for number in range(5)]
    ladder = ladder_of(CausalGraph(directed=rungs[::-1] + chains[::-1]))
    reduce_crossings(ladder)
    assert sum(crossings(ladder, upper, lower) for upper, lower in pairwise(ladder.rows)) == 0


def test_crossings_are_counted_as_pairs_of_links_that_cross() -> None:
    """Against the definition, on random rows of two layers."""
    rng = Random(7)
    for _ in range(50):
        arrows = {(f"a{rng.randrange(6)}", f"b{rng.randrange(6)}") for _ in range(12)}
        ladder = ladder_of(CausalGraph(directed=sorted(arrows)))
        upper, lower = ladder.rows
        rng.shuffle(upper)
        rng.shuffle(lower)
        links = [(upper.index(item), lower.index(other)) for item in upper for other, _ in ladder.below[item]]
        crossed = sum(a[0] < b[0] and a[1] > b[1] for a, b in permutations(links, 2))
        assert crossings(ladder, upper, lower) == pytest.approx(crossed)


def test_settling_keeps_distances_and_balances_a_push() -> None:
    """Two items that wish for 0 and must stand 10 apart stand at -5 and 5; a third at 100 is not touched."""
    wishes: list[list[Wish]] = [[(0.0, 1.0)], [(0.0, 1.0)], [(100.0, 1.0)]]
    assert settle(wishes, [10.0, 10.0], mean) == pytest.approx([-5.0, 5.0, 100.0])


def test_layers_of_an_empty_graph() -> None:
    plan = layout(CausalGraph())
    assert (plan.width, plan.height, dict(plan.boxes)) == (0.0, 0.0, {})


@pytest.mark.slow("0.6 s: a chain of 3,000 nodes; finds a layout that recurses")
def test_a_deep_graph_needs_no_recursion() -> None:
    names = [f"V{number}" for number in range(3000)]
    plan = layout(CausalGraph(directed=list(pairwise(names))), flow="right")
    assert plan.boxes["V2999"].layer == 2999


def test_too_many_bends_are_counted_before_they_are_made() -> None:
    """Among 200 nodes with every edge there are 200 - s of span s, each with s - 1 bends."""
    names = [f"V{number}" for number in range(200)]
    graph = CausalGraph(directed=list(combinations(names, 2)))
    bends = sum((200 - span) * (span - 1) for span in range(1, 200))
    assert bends > MAX_STONES
    with pytest.raises(TooLargeError, match=rf"{bends:,} bends.*graph\.subgraph"):
        layout(graph)


def test_an_unknown_flow_is_refused() -> None:
    with pytest.raises(UsageError, match="right"):
        layout(FRONT_DOOR, flow="up")  # type: ignore[arg-type]


def test_the_same_graph_has_the_same_layout() -> None:
    assert layout(random_graph(25, 40, 5, seed=3)) == layout(random_graph(25, 40, 5, seed=3))
