"""Latent projection: the definition, its laws, and the readings of Algorithm 4 that are wrong."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import pytest

from tests import twins
from tests.twins import CANONICAL, Mixed, letters
from whichdo.errors import GraphError, TooLargeError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.components import with_parents
from whichdo.graph.formats.scan import write_text
from whichdo.graph.projection import project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@pytest.mark.slow("1 s: many random graphs by the definition")
def test_projection_agrees_with_the_search_over_all_paths() -> None:
    """All ADMGs on up to 4 nodes and 5,000 random ones on up to 8, each onto a random subset."""
    rng = random.Random(4)
    for mixed in twins.many_mixed():
        keep = twins.random_subset(rng, mixed.nodes)
        assert twins.plain(project(mixed.graph(), keep)) == twins.projection(mixed, keep), (mixed, keep)


def test_all_projections_of_all_graphs_on_three_nodes_agree() -> None:
    for mixed in twins.all_mixed(3):
        for size in range(4):
            for keep in itertools.combinations(mixed.nodes, size):
                assert twins.plain(project(mixed.graph(), keep)) == twins.projection(mixed, keep), (mixed, keep)


def test_hiding_in_steps_equals_hiding_at_once() -> None:
    rng = random.Random(5)
    for mixed in twins.many_mixed()[-2000:]:
        graph = mixed.graph()
        some = twins.random_subset(rng, mixed.nodes)
        fewer = twins.random_subset(rng, some)
        assert project(project(graph, some), fewer) == project(graph, fewer)


def test_hiding_one_by_one_in_any_order_gives_the_same_graph() -> None:
    rng = random.Random(6)
    for mixed in twins.many_mixed()[-300:]:
        keep = twins.random_subset(rng, mixed.nodes)
        results = set()
        for _ in range(4):
            graph = mixed.graph()
            gone = [node for node in mixed.nodes if node not in keep]
            rng.shuffle(gone)
            for node in gone:
                graph = project(graph, [other for other in graph.nodes if other != node])
            results.add(graph)
        assert results == {project(mixed.graph(), keep)}


def test_projection_keeps_separation_and_ancestry() -> None:
    """What is m-separated among kept nodes is so before and after: what a projection is for."""
    rng = random.Random(7)
    for _ in range(150):
        mixed = twins.random_mixed(rng, 6)
        keep = twins.random_subset(rng, mixed.nodes)
        after = twins.plain(project(mixed.graph(), keep))
        for first, second in itertools.combinations(after.nodes, 2):
            rest = [node for node in after.nodes if node not in (first, second)]
            given = twins.random_subset(rng, rest)
            assert twins.separated(mixed, first, second, given) == twins.separated(after, first, second, given)
        for node in after.nodes:
            assert twins.ancestors(after, [node]) == twins.ancestors(mixed, [node]) & set(keep)


def test_projection_keeps_the_order_of_nodes_however_keep_is_ordered() -> None:
    graph = letters("DCBA", "DA CB", "AB")
    assert graph.nodes == ("D", "C", "B", "A")
    for keep in itertools.permutations("DBA"):
        assert project(graph, keep).nodes == ("D", "B", "A")
    assert project(graph, "ABAB") == project(graph, "BA")


def test_keeping_everything_changes_nothing_and_keeping_nothing_is_empty() -> None:
    graph = letters("AB", "AB", exposures="A")
    assert project(graph, "BA") == graph
    assert project(graph, []).nodes == ()
    assert project(graph, []).hidden == {"A", "B"}


def test_an_unknown_node_cannot_be_kept() -> None:
    with pytest.raises(GraphError, match=r'The graph has no node "Prise"\. Did you mean "Price"\?'):
        project(CausalGraph(["Price"]), ["Prise"])


def test_names_roles_and_notes_go_with_the_nodes() -> None:
    graph = letters("XMZY", "XM MY ZY MZ", exposures="XM", outcomes="Y", hidden=["U"])
    part = project(graph, "XY")
    assert part.hidden == {"U", "M", "Z"}
    assert part.exposures == {"X"}
    assert part.outcomes == {"Y"}
    assert part.notes == (
        "Hidden node M has its own causes: it was projected out.",
        "Hidden node Z has its own causes: it was projected out.",
    )
    assert project(part, "Y").notes[:2] == part.notes


def test_a_confounded_hidden_node_has_causes_of_its_own() -> None:
    part = project(letters("AHB", "HB", "AH"), "AB")
    assert part.bidirected == {frozenset("AB")}
    assert part.notes == ("Hidden node H has its own causes: it was projected out.",)


# ----------------------------------------------------------------------------------------------- canonical instances


def kept(name: str) -> tuple[str, ...]:
    """W = Pa+(cc(X)) with the reward."""
    graph = twins.canonical(name).graph()
    return tuple({*with_parents(graph, graph.c_component("X")), "Y"})


@pytest.mark.parametrize("name", CANONICAL)
def test_canonical_projections(name: str) -> None:
    """S1, W and H of each instance, as worked out by hand."""
    known = CANONICAL[name]
    graph = twins.canonical(name).graph()
    assert sorted(graph.c_component("X")) == known["S1"]
    assert sorted(kept(name)) == known["W"]
    within = project(graph, kept(name))
    expected = twins.from_fixture(within.nodes, known["H_edges"], known["H_bidir"])
    assert twins.plain(within) == expected
    assert within.nodes == tuple(node for node in known["nodes"] if node in known["W"])


@pytest.mark.parametrize("name", [name for name in CANONICAL if CANONICAL[name]["assumption3"]])
def test_the_effect_computed_over_the_projection_is_the_true_one(name: str) -> None:
    within = twins.plain(project(twins.canonical(name).graph(), kept(name)))
    for x in (0, 1):
        assert twins.effect_by_looking(name, within, x) == pytest.approx(CANONICAL[name][f"do(X={x})"]["true"])


# ------------------------------------------------------------------------------------------------------ wrong readings


def step_3_read_literally(mixed: Mixed, keep: Iterable[str]) -> Mixed:
    """Read as "pair of unobservable variables": nothing is added between observed ones; only what stood there stays."""
    keep = set(keep)
    right = twins.projection(mixed, keep)
    return Mixed(right.nodes, right.arrows, frozenset(bow for bow in mixed.bows if bow <= keep))


def sources_only_from_original_confounders(mixed: Mixed, keep: Iterable[str]) -> Mixed:
    """Marginalised observed nodes confound nothing: bows only where an original bow's two sides lead."""
    keep = set(keep)
    right = twins.projection(mixed, keep)
    bows: set[frozenset[str]] = set()
    for bow in mixed.bows:
        # The one hidden cause of this bow, with nobody else's: both ends as its children, arrows as they are.
        alone = Mixed(mixed.nodes, mixed.arrows, frozenset([bow]))
        causes = twins.projection(alone, keep).bows - twins.projection(alone_without_bows(alone), keep).bows
        bows |= causes
    return Mixed(right.nodes, right.arrows, frozenset(bows))


def alone_without_bows(mixed: Mixed) -> Mixed:
    return Mixed(mixed.nodes, mixed.arrows, frozenset())


def paths_through_kept_nodes(mixed: Mixed, keep: Iterable[str]) -> Mixed:
    """Paths run on through nodes that are kept, as in the code published with the paper."""
    keep = set(keep)
    nodes, arrows = twins.canonical_dag(mixed)
    dag = Mixed(tuple(nodes), frozenset(arrows), frozenset())
    below = {node: {other for other in keep if node in twins.ancestors(dag, [other])} - {node} for node in nodes}
    return Mixed(
        tuple(node for node in mixed.nodes if node in keep),
        frozenset((tail, head) for tail in keep for head in below[tail]),
        frozenset(
            frozenset(pair)
            for node in nodes
            if node not in keep
            for pair in itertools.combinations(sorted(below[node]), 2)
        ),
    )


@pytest.mark.parametrize(
    ("reading", "name", "wrong"),
    [
        (step_3_read_literally, "hiddenV", (0.204, 0.796)),
        (sources_only_from_original_confounders, "hiddenV", (0.204, 0.796)),
        (paths_through_kept_nodes, "authors_bug", (0.5, 0.5)),
    ],
)
def test_a_wrong_reading_gives_another_graph_and_another_effect(
    reading: Callable[[Mixed, Iterable[str]], Mixed], name: str, wrong: tuple[float, float]
) -> None:
    """E[Y | do(X=0)] and E[Y | do(X=1)] are .3 and .7 on hiddenV, .35 and .65 on authors_bug."""
    mixed = twins.canonical(name)
    ours = twins.plain(project(mixed.graph(), kept(name)))
    theirs = reading(mixed, kept(name))
    assert ours != theirs
    for x in (0, 1):
        true = CANONICAL[name][f"do(X={x})"]["true"]
        assert twins.effect_by_looking(name, ours, x) == pytest.approx(true)
        assert twins.effect_by_looking(name, theirs, x) == pytest.approx(wrong[x])
        assert abs(wrong[x] - true) > 0.09


def test_what_each_wrong_reading_loses_or_invents() -> None:
    hidden = twins.canonical("hiddenV")
    assert twins.plain(project(hidden.graph(), "AXY")).bows == {frozenset("AY")}
    assert step_3_read_literally(hidden, "AXY").bows == frozenset()
    assert sources_only_from_original_confounders(hidden, "AXY").bows == frozenset()
    assert ("A", "Y") in paths_through_kept_nodes(hidden, "AXY").arrows  # A -> X -> Y runs through X, which is kept
    authors = twins.canonical("authors_bug")
    assert twins.plain(project(authors.graph(), "AXY")).bows == {frozenset("AX")}
    assert paths_through_kept_nodes(authors, "AXY").bows == {frozenset("AX"), frozenset("AY"), frozenset("XY")}


def test_the_literal_reading_also_loses_a_confounder_whose_child_is_hidden() -> None:
    """A <-> B -> Y with B hidden: the cause behind A <-> B confounds A and Y."""
    mixed = twins.from_fixture("ABY", ["BY"], ["AB"])
    assert twins.plain(project(mixed.graph(), "AY")).bows == {frozenset("AY")}
    assert sources_only_from_original_confounders(mixed, "AY").bows == {frozenset("AY")}
    assert step_3_read_literally(mixed, "AY").bows == frozenset()


# --------------------------------------------------------------------------------------------------------------- size


@pytest.mark.slow("0.3 s: 10,000 hidden nodes; finds a projection that recurses")
def test_a_chain_of_ten_thousand_hidden_nodes_is_quick() -> None:
    names = [f"N{i}" for i in range(10_000)]
    graph = CausalGraph(names, itertools.pairwise(names), [(names[1], names[9_000])])
    ends = project(graph, [names[0], names[-1]])
    assert ends.directed == {(names[0], names[-1])}
    assert ends.bidirected == frozenset()
    assert len(project(graph, names[::2]).directed) == 4_999


@pytest.mark.slow("1 s: 600 confounders and 100,000 bows; finds a projection that is cubic")
def test_many_confounders_over_one_hub_are_quick() -> None:
    """Hidden h_i with an own child each, all acting on a hidden hub of 600 children, and 100,000 bows among them."""
    kept_names = [f"K{i}" for i in range(600)]
    sources = [f"h{i}" for i in range(600)]
    arrows = [("hub", name) for name in kept_names] + [(name, "hub") for name in sources]
    arrows += zip(sources, kept_names, strict=True)
    bows = itertools.islice(itertools.combinations(sources, 2), 100_000)
    graph = CausalGraph(kept_names, arrows, bows)
    result = project(graph, kept_names)
    assert len(result.bidirected) == 600 * 599 // 2


def test_too_many_confounded_pairs_are_refused_with_the_number() -> None:
    names = [f"K{i}" for i in range(700)]
    graph = CausalGraph(names, [("hub", name) for name in names])
    with pytest.raises(TooLargeError) as caught:
        project(graph, names)
    assert str(caught.value) == (
        "Hiding 1 node leaves 244,650 edges between the others (0 -> and 244,650 <->); 200,000 are allowed. "
        'Of the hidden, "hub" has the most children, 700: keep it observed, or leave out some of its children.'
    )


@pytest.mark.slow("1 s: a projection at the limit of edges")
def test_what_is_projected_within_the_limit_can_be_written_and_read_back() -> None:
    """632 children of one hidden node: 632 * 631 / 2 = 199,396 pairs; 633 would be 200,028."""
    names = [f"K{i}" for i in range(632)]
    graph = CausalGraph(names, [("hub", name) for name in names], hidden=["hub"])
    assert CausalGraph.parse(write_text(graph)) == graph
    with pytest.raises(TooLargeError, match="200,028"):
        CausalGraph([*names, "K632"], [("hub", name) for name in [*names, "K632"]], hidden=["hub"])


def test_notes_on_hidden_nodes_are_cut_with_their_number() -> None:
    """25 hidden nodes between two others: 20 are named, 5 are counted."""
    hidden = [f"H{i}" for i in range(25)]
    graph = CausalGraph("AB", [("A", name) for name in hidden] + [(name, "B") for name in hidden], hidden=hidden)
    assert len(graph.notes) == 21
    assert graph.notes[0] == "Hidden node H0 has its own causes: it was projected out."
    assert graph.notes[-1] == "... and 5 more like this."


def test_too_many_arrows_are_refused_with_the_number() -> None:
    """A hidden hub between 1,500 causes and 1,500 effects stands for 2,250,000 arrows."""
    causes, effects = [f"A{i}" for i in range(1_500)], [f"B{i}" for i in range(1_500)]
    graph = CausalGraph((), [(name, "hub") for name in causes] + [("hub", name) for name in effects])
    with pytest.raises(TooLargeError, match="2,250,000"):
        project(graph, [*causes, *effects])
