"""Complete identification: verdicts, sources and values against exact answers."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests import twins
from tests.estimate.oracle import Oracle, semi_markovian
from tests.identification.laws import (
    c_factor,
    conditional_table,
    experiment,
    fixture,
    fixture_graph,
    fixture_law,
    random_tables,
    table,
    under,
    value,
)
from tests.identification.laws import onto as margin
from tests.soak import repeated, scaled
from whichdo.errors import GraphError, NotIdentifiedError, UsageError
from whichdo.estimate.evaluate import evaluator
from whichdo.graph.admg import CausalGraph
from whichdo.graph.targets import acting_targets
from whichdo.identification.engine import find_hedge, identify
from whichdo.identification.estimand import Estimand, product, sum_over

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tests.identification.laws import Array, Names

NAPKIN = CausalGraph.parse("W -> Z -> X -> Y; W <-> X; W <-> Y")
LONG_FRONT_DOOR = CausalGraph.parse("Z -> X -> M -> Y; X <-> Y")


def assert_means(estimand: Estimand, found: Array, query: dict[str, Any]) -> None:
    for setting, mean in query["means"]:
        at = dict(zip(query["do"], setting, strict=True))
        assert found[tuple(at[name] for name in estimand.targets)] == pytest.approx(mean, abs=1e-9)


def every_combination(estimand: Estimand, most: int = 30) -> Iterator[Estimand]:
    """The same effect with each c-factor taken from each of its sources."""
    names = [name for factor in estimand.factors for name in factor.nodes if name != estimand.reward]
    choices = itertools.product(*(factor.sources for factor in estimand.factors))
    for chosen in itertools.islice(choices, most):
        inner = product(expression for _, expression in chosen)
        yield Estimand(sum_over(names, inner), estimand.targets, estimand.reward)


@pytest.mark.parametrize("entry", fixture("ident"), ids=lambda entry: entry["name"])
def test_looks_settle_what_can_be_settled_and_a_hedge_forbids_the_rest(entry: dict[str, Any]) -> None:
    graph, law, names = fixture_graph(entry), fixture_law(entry, entry["joint"]), tuple(entry["graph"]["nodes"])
    for query in entry["queries"]:
        if query["identified"]:
            estimand = identify(graph, query["do"], "Y")
            assert_means(estimand, value(estimand, {(): law}, names), query)
            assert find_hedge(graph, estimand.targets, "Y") is None
        else:
            with pytest.raises(NotIdentifiedError) as caught:
                identify(graph, query["do"], "Y")
            assert [sorted(each) for each in caught.value.hedge] == [sorted(each) for each in query["hedge"]]
            assert find_hedge(graph, tuple(sorted(query["do"])), "Y") == caught.value.hedge


@pytest.mark.parametrize("entry", fixture("gident"), ids=lambda entry: entry["name"])
def test_experiments_settle_more_and_every_source_of_a_factor_says_the_same(entry: dict[str, Any]) -> None:
    """The arms of an experiment were pulled unequally often, which must not matter."""
    graph, names = fixture_graph(entry), tuple(entry["graph"]["nodes"])
    laws: dict[Names, Array] = {}
    for targets, setting, flat in entry["laws"]:
        share = 1.0 if not setting else (0.7, 0.3)[setting[0]]
        laws[tuple(targets)] = laws.get(tuple(targets), 0) + share * fixture_law(entry, flat)
    tried = [targets for targets in laws if targets]
    for query in entry["queries"]:
        assert is_identified(graph, query["do"]) == query["looks"]
        assert is_identified(graph, query["do"], tried) == query["singles"]
        if query["singles"]:
            estimand = identify(graph, query["do"], "Y", tried)
            sources = [
                [sorted(each.nodes), sorted(list(name) for name, _ in each.sources)] for each in estimand.factors
            ]
            assert sorted(sources) == sorted([sorted(nodes), sorted(some)] for nodes, some in query["sources"])
            for each in (estimand, *every_combination(estimand)):
                assert_means(each, value(each, laws, names), query)


def is_identified(graph: CausalGraph, targets: Sequence[str], tried: Sequence[Names] = ()) -> bool:
    try:
        identify(graph, targets, "Y", tried)
    except NotIdentifiedError:
        return False
    return True


def random_sets(nodes: Sequence[str], rng: np.random.Generator, count: int) -> list[Names]:
    """Some target sets of one to three nodes."""
    found = []
    for _ in range(count):
        size = min(len(nodes), int(rng.integers(1, 4)))
        found.append(tuple(sorted(rng.choice(nodes, size, replace=False).tolist())))
    return found


@pytest.mark.soak
def test_every_source_of_every_factor_is_exact_on_random_networks() -> None:
    """Mixed domains, the reward anywhere, up to three targets, two experiments; factors and effects to 1e-9."""
    rng = np.random.default_rng(15)
    factors, networks = 0, repeated(scaled(5_000, least=300), quick=60)
    for _ in range(networks):
        oracle = Oracle(semi_markovian(rng, observed=(3, 6)))
        graph, names = oracle.mixed.graph(), oracle.names
        reward = str(rng.choice(names))
        others = [name for name in names if name != reward]
        laws = {(): oracle.seen} | {some: experiment(oracle, some, rng) for some in random_sets(others, rng, 2)}
        worth = rng.random(oracle.network.sizes[reward])
        for targets in random_sets(others, rng, 3):
            try:
                estimand = identify(graph, targets, reward, [some for some in laws if some])
            except NotIdentifiedError:
                continue
            truth = margin(under(oracle, targets), names, (*targets, reward)) @ worth
            for each in (estimand, *every_combination(estimand, most=3)):
                assert value(each, laws, names, worth) == pytest.approx(truth, abs=1e-9)
            for factor in estimand.factors:
                exact = c_factor(oracle, factor)
                for _, expression in factor.sources:
                    assert expression.free <= {*factor.nodes, *factor.given}
                    found = table(expression, (*factor.given, *factor.nodes), laws, names)
                    assert found == pytest.approx(exact, abs=1e-9)
                    factors += 1
    assert factors > min(300, networks)


def test_a_target_set_is_settled_just_where_no_hedge_exists_by_brute_force() -> None:
    """Shpitser and Pearl's definition, on all ADMGs of up to 3 nodes and random ones of 4 and 5."""
    rng = random.Random(7)
    graphs = [mixed for size in (2, 3) for mixed in twins.all_mixed(size)]
    graphs += [twins.random_mixed(rng, 5) for _ in range(300)]
    met = set()
    for mixed in graphs:
        graph, reward = mixed.graph(), mixed.nodes[-1]
        for targets in itertools.chain(*(itertools.combinations(mixed.nodes[:-1], size) for size in (1, 2))):
            expected = not has_hedge(mixed, set(targets), reward)
            assert is_settled(graph, targets, reward) == expected, (mixed, targets)
            met.add((len(targets), expected))
    assert met == {(1, True), (1, False), (2, True), (2, False)}


def is_settled(graph: CausalGraph, targets: Sequence[str], reward: str) -> bool:
    return find_hedge(graph, tuple(sorted(targets)), reward) is None


def has_hedge(mixed: twins.Mixed, targets: set[str], reward: str) -> bool:
    """Two c-forests with one root set inside An(Y) once the targets are set, of which only the larger meets them.

    A set of nodes contains a c-forest with the roots R just if bidirected edges connect it and every node has a
    directed path to R inside it.
    """
    cut = twins.Mixed(mixed.nodes, frozenset(arrow for arrow in mixed.arrows if arrow[1] not in targets), mixed.bows)
    acting = twins.ancestors(cut, [reward])
    subsets = [
        set(some) for size in range(1, len(mixed.nodes) + 1) for some in itertools.combinations(mixed.nodes, size)
    ]
    connected = [some for some in subsets if twins.c_component(mixed.induced(some), min(some)) == some]
    for small in connected:
        if small & targets:
            continue
        for roots in subsets:
            if roots <= small and roots <= acting and twins.ancestors(mixed.induced(small), roots) == small:
                for large in connected:
                    if small < large and large & targets and twins.ancestors(mixed.induced(large), roots) == large:
                        return True
    return False


# ---------------------------------------------------------------------------------- axes that must not be summed over


@pytest.mark.parametrize("graph", [NAPKIN, LONG_FRONT_DOOR], ids=["napkin", "front door with one more ancestor"])
def test_an_axis_that_a_factor_carries_is_averaged_and_never_summed(graph: CausalGraph) -> None:
    """With tables that fit no model, as estimated ones do, the mean stays in [0, 1]; a sum over Z would leave it."""
    estimand = identify(graph, ["X"], "Y")
    engine = evaluator(estimand, dict.fromkeys(graph.nodes, 2))
    assert any(each.nodes == ("Z",) and not each.given for each in engine.conditionals)
    rng = np.random.default_rng(2)
    for _ in range(200):
        tables = random_tables(engine, rng)
        assert engine.values(tables, np.ones(2)) == pytest.approx(np.ones(2), abs=1e-12)
        assert np.all(engine.values(tables, np.array([0.0, 1.0])) <= 1)
        summed = [
            np.ones_like(each) if law.nodes == ("Z",) and not law.given else each
            for law, each in zip(engine.conditionals, tables, strict=True)
        ]
        wrong = engine.values(summed, np.ones(2))
        if graph is LONG_FRONT_DOOR:  # of the napkin both parts of the ratio are averaged, so that the weights cancel
            assert wrong == pytest.approx([2, 2])


def test_the_napkin_has_its_exact_means() -> None:
    """algorithms.md 1.6: .3 and .7, where the formula that asks for Assumption 3 would give .5 and .5."""
    law = np.zeros([2] * 4)
    for cell, chance in twins.joint("napkin").items():
        law[cell] = chance
    names = tuple(twins.CANONICAL["napkin"]["nodes"])
    estimand = identify(twins.canonical("napkin").graph(), ["X"], "Y")
    assert value(estimand, {(): law}, names) == pytest.approx([0.3, 0.7], abs=1e-9)


@pytest.mark.soak
def test_no_estimate_leaves_the_range_of_the_reward_whatever_the_tables() -> None:
    """Every kernel is normalised in every formula, so the law of the reward sums to one for any normalised tables."""
    rng = np.random.default_rng(5)
    for _ in range(repeated(scaled(4_000, least=200), quick=60)):
        mixed = twins.random_mixed(random.Random(int(rng.integers(1 << 30))), 7)
        graph, reward = mixed.graph(), mixed.nodes[-1]
        others = mixed.nodes[:-1]
        if not others:
            continue
        tried = random_sets(others, rng, 2)
        try:
            estimand = identify(graph, random_sets(others, rng, 1)[0], reward, tried)
        except NotIdentifiedError:
            continue
        for each in every_combination(estimand, most=3):
            engine = evaluator(each, {name: 2 + position % 2 for position, name in enumerate(mixed.nodes)})
            tables = random_tables(engine, rng)
            levels = next(
                shape[-1] for law, shape in zip(engine.conditionals, engine.shapes, strict=True) if reward in law.nodes
            )
            assert engine.values(tables, np.ones(levels)) == pytest.approx(1, abs=1e-9)
            laws = [engine.values(tables, np.eye(levels)[level]) for level in range(levels)]
            assert min(law.min() for law in laws) >= 0


# ------------------------------------------------------------------------------------------------------------ details


def test_targets_that_do_not_act_leave_the_law_of_the_looks() -> None:
    graph = CausalGraph.parse("A -> Y; A -> B; Y -> C")
    assert str(identify(graph, ["B", "C"], "Y")) == "P(Y)"
    assert str(identify(graph, [], "Y")) == "P(Y)"
    assert acting_targets(graph, ("A", "B", "C"), "Y") == ("A",)


def test_targets_are_sorted_and_given_once_in_any_order() -> None:
    graph = CausalGraph.parse("A -> Y; B -> Y")
    assert identify(graph, ["B", "A", "B"], "Y") == identify(graph, ["A", "B"], "Y")
    assert identify(graph, ["B", "A"], "Y").targets == ("A", "B")


def test_what_both_levers_do_follows_from_an_experiment_on_one() -> None:
    """Looks are confounded by Z <-> Y; in the rows of an experiment on Z, X is free of it."""
    graph = CausalGraph.parse("X -> Z; X -> Y; Z -> Y; Z <-> Y")
    with pytest.raises(NotIdentifiedError):
        identify(graph, ["X", "Z"], "Y")
    with pytest.raises(NotIdentifiedError):
        identify(graph, ["X", "Z"], "Y", tried=[["X"]])
    assert str(identify(graph, ["X", "Z"], "Y", tried=[["X"], ["Z"]])) == "P_{do(Z)}(Y | X, Z)"


def test_the_error_names_the_experiments_that_are_not_enough() -> None:
    graph = CausalGraph.parse("X -> Z; X -> Y; Z -> Y; Z <-> Y; X <-> Y")
    with pytest.raises(NotIdentifiedError) as caught:
        identify(graph, ["X", "Z"], "Y", [["X"], ["Z"]])
    assert caught.value.reason == (
        "the effect of X and Z on Y cannot be computed from looks and experiments on {X} and {Z}: "
        "hidden causes tie X, Z and Y together, and X and Z act on Y among them"
    )


def test_the_error_says_what_ties_the_effect_up_and_what_would_do() -> None:
    with pytest.raises(NotIdentifiedError) as caught:
        identify(CausalGraph.parse("X -> Y; X <-> Y"), ["X"], "Y")
    assert caught.value.hedge == (("X", "Y"), ("Y",))
    assert str(caught.value) == (
        "The effect of X on Y cannot be computed by looking: hidden causes tie X and Y together, and X acts on Y "
        "among them. Try the arms on these targets, or name experiments whose rows you have in `tried`."
    )


def test_names_that_do_not_fit_are_refused() -> None:
    graph = CausalGraph.parse("X -> Y")
    with pytest.raises(UsageError, match='the string "X"; give a list'):
        identify(graph, "X", "Y")
    with pytest.raises(UsageError, match="cannot be set"):
        identify(graph, ["Y"], "Y")
    with pytest.raises(UsageError, match="cannot be set"):
        identify(graph, ["X"], "Y", tried=[["Y"]])
    with pytest.raises(GraphError, match='no node "Q"'):
        identify(graph, ["Q"], "Y")


def test_the_conditionals_of_an_experiment_are_counted_in_its_own_rows() -> None:
    """Instrument with X tried: the effect of both from rows in which X was set."""
    graph = CausalGraph.parse("Z -> X -> Y; Z -> Y; X <-> Y")
    estimand = identify(graph, ["X", "Z"], "Y", tried=[["X"]])
    assert str(estimand) == "P_{do(X)}(Y | Z, X)"
    assert estimand.scopes == {("X",): (("Z", "X", "Y"),)}
    law = np.random.default_rng(1).dirichlet(np.ones(8)).reshape(2, 2, 2)
    assert conditional_table(estimand.conditionals[0], law, ("Z", "X", "Y")).sum(axis=-1) == pytest.approx(1)


@pytest.mark.slow("0.5 s: a chain of 10,000 nodes; finds a table of all pairs")
def test_ten_thousand_nodes_are_identified_without_a_table_of_pairs() -> None:
    """A chain: each factor asks only for what is tied to it, not for all of its ancestors."""
    names = [f"N{number}" for number in range(10_000)]
    graph = CausalGraph(names, itertools.pairwise(names))
    estimand = identify(graph, ["N5000"], "N9999")
    assert len(estimand.conditionals) == 4_999
    assert find_hedge(CausalGraph(names, itertools.pairwise(names), [("N5000", "N5001")]), ("N5000",), "N9999") == (
        ("N5000", "N5001"),
        ("N5001",),
    )
