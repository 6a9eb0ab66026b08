"""Which target sets can be best: exact answers, the definitions on random graphs, and soundness in random models."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests import twins
from tests.estimate.oracle import Oracle, semi_markovian
from tests.identification.laws import fixture, fixture_graph, onto, under
from tests.soak import scaled
from whichdo.errors import TooLargeError, UsageError
from whichdo.graph.admg import CausalGraph
from whichdo.identification.pruning import dominating_sets, minimal_sets, possibly_optimal, territory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.identification.laws import Names


def ordered(sets: Iterable[Iterable[str]]) -> tuple[Names, ...]:
    return tuple(sorted((tuple(sorted(each)) for each in sets), key=lambda names: (len(names), names)))


@pytest.mark.parametrize("entry", fixture("pomis"), ids=lambda entry: entry["name"])
def test_minimal_and_possibly_optimal_sets_have_their_exact_answers(entry: dict[str, Any]) -> None:
    graph = fixture_graph(entry)
    assert minimal_sets(graph, "Y") == ordered(entry["mis"])
    assert possibly_optimal(graph, "Y") == ordered(entry["pomis"])
    assert possibly_optimal(graph, "Y", fixed=entry["not_manipulable"]) == ordered(entry["pomis_not_manipulable"])
    assert [sorted(each) for each in territory(graph, "Y")] == [sorted(entry["muct"]), sorted(entry["border"])]


@pytest.mark.parametrize("entry", fixture("limited"))
def test_sets_of_at_most_k_nodes_have_their_exact_answers(entry: dict[str, Any]) -> None:
    graph = fixture_graph(entry)
    assert possibly_optimal(graph, "Y", at_once=1) == ordered(entry["k1"])
    assert possibly_optimal(graph, "Y", at_once=2) == ordered(entry["k2"])
    assert possibly_optimal(graph, "Y") == ordered(entry["all"])
    few = ordered(each for each in minimal_sets(graph, "Y") if len(each) <= 1)
    assert few == ordered(entry["k1_candidates"])


def subsets(names: Sequence[str], most: int | None = None) -> Iterator[Names]:
    sizes = range((len(names) if most is None else min(most, len(names))) + 1)
    return itertools.chain.from_iterable(itertools.combinations(names, size) for size in sizes)


def cut_into(mixed: twins.Mixed, targets: Iterable[str]) -> twins.Mixed:
    gone = set(targets)
    arrows = frozenset(arrow for arrow in mixed.arrows if arrow[1] not in gone)
    return twins.Mixed(mixed.nodes, arrows, frozenset(bow for bow in mixed.bows if not bow & gone))


def border_by_definition(mixed: twins.Mixed, reward: str) -> set[str]:
    within = mixed.induced(twins.ancestors(mixed, [reward]))
    found = {reward}
    while True:
        more = found.union(*(twins.c_component(within, name) for name in found))
        more = more.union(*(within.children(name) for name in more))
        if more == found:
            return set[str]().union(*(within.parents(name) for name in found)) - found
        found = more


@pytest.mark.soak
def test_enumerating_agrees_with_the_definitions_on_random_graphs() -> None:
    """Every subset of up to 6 nodes: minimal if all of it acts once it is set, possibly optimal if it is its border."""
    rng = random.Random(41)
    for _ in range(scaled(300, least=60)):
        mixed = twins.random_mixed(rng, 7)
        reward = rng.choice(mixed.nodes)
        others = [name for name in mixed.nodes if name != reward]
        fixed = [name for name in others if rng.random() < 0.3]
        minimal = [some for some in subsets(others) if twins.ancestors(cut_into(mixed, some), [reward]) >= {*some}]
        best = [some for some in subsets(others) if border_by_definition(cut_into(mixed, some), reward) == {*some}]
        assert minimal_sets(mixed.graph(), reward) == ordered(minimal)
        assert minimal_sets(mixed.graph(), reward, fixed) == ordered(
            some for some in minimal if not set(some).intersection(fixed)
        )
        assert possibly_optimal(mixed.graph(), reward) == ordered(best)
        shown = twins.projection(mixed, set(mixed.nodes) - set(fixed))
        free = [name for name in others if name not in fixed]
        best = [some for some in subsets(free) if border_by_definition(cut_into(shown, some), reward) == {*some}]
        assert possibly_optimal(mixed.graph(), reward, fixed=fixed) == ordered(best)


def test_the_rule_for_few_nodes_agrees_with_the_recursion_where_there_is_no_limit() -> None:
    """A node before all others makes k one less than all, and no set of all nodes is minimal."""
    rng = random.Random(42)
    for _ in range(60):
        mixed = twins.random_mixed(rng, 6)
        reward = mixed.nodes[-1]
        acting = twins.ancestors(mixed, [reward])
        first = next(name for name in mixed.nodes if name in acting)
        longer = twins.Mixed(("before", *mixed.nodes), mixed.arrows | {("before", first)}, mixed.bows)
        if first == reward:
            continue
        limited = possibly_optimal(longer.graph(), reward, at_once=len(acting) - 1)
        assert limited == possibly_optimal(longer.graph(), reward), longer


@pytest.mark.soak
def test_pruning_never_loses_the_best_arm_in_random_models() -> None:
    """The best of the kept sets is as good as the best of all sets of at most k nodes, to rounding."""
    rng = np.random.default_rng(43)
    pruned = 0
    for _ in range(scaled(2_000, least=100)):
        oracle = Oracle(semi_markovian(rng, observed=(3, 5)))
        graph, names = oracle.mixed.graph(), oracle.names
        reward = str(rng.choice(names))
        others = [name for name in names if name != reward]
        worth = rng.random(oracle.network.sizes[reward])
        fixed = [name for name in others if rng.random() < 0.2]
        free = [name for name in others if name not in fixed]
        best = {
            some: float((onto(under(oracle, some), names, (*some, reward)) @ worth).max()) for some in subsets(free)
        }
        best = {tuple(sorted(some)): value for some, value in best.items()}
        for most in (1, 2, None):
            kept = possibly_optimal(graph, reward, most, fixed)
            candidates = [some for some in best if most is None or len(some) <= most]
            assert set(kept) <= set(candidates)
            assert max(best[some] for some in kept) >= max(best[some] for some in candidates) - 1e-12
            pruned += len(candidates) - len(kept)
    assert pruned > 500


@pytest.mark.parametrize(
    ("text", "targets", "at_once", "better", "added"),
    [
        ("Z -> X -> Y; X <-> Y", [], 1, ("Z",), ("Z",)),
        ("Z -> X -> Y; X <-> Y", ["Z"], 2, None, None),  # X and Z as good as X, and X hides what the confounder tells
        ("X -> Y", [], 1, ("X",), ("X",)),
        ("X -> Y; X <-> Y", [], 1, None, None),
        ("A -> Y; B -> Y", ["A"], 1, None, None),  # both would be better, and are too many
        ("A -> Y; B -> Y", ["A"], 2, ("A", "B"), ("B",)),
    ],
)
def test_a_set_that_cannot_be_best_is_told_by_which(
    text: str, targets: list[str], at_once: int, better: Names | None, added: Names | None
) -> None:
    every = dominating_sets(CausalGraph.parse(text), tuple(targets), "Y", lambda names: len(names) <= at_once)
    assert next(every, None) == (None if better is None else (better, added))


@pytest.mark.slow("1 s: 100,000 sets before it gives up; finds a search that does not")
def test_too_many_sets_are_refused_with_ways_out() -> None:
    """30 independent causes of the reward have 2^30 minimal sets, and one that can be best: all of them."""
    names = [f"X{number:02}" for number in range(30)]
    graph = CausalGraph([*names, "Y"], [(name, "Y") for name in names])
    with pytest.raises(TooLargeError, match=r"more than 100,000 minimal target sets\. Set fewer nodes at once"):
        minimal_sets(graph, "Y")
    assert possibly_optimal(graph, "Y") == (tuple(names),)
    with pytest.raises(UsageError, match="`at_once` is -1"):
        possibly_optimal(graph, "Y", at_once=-1)
    with pytest.raises(UsageError, match="cannot be set"):
        possibly_optimal(graph, "Y", fixed=["Y"])
