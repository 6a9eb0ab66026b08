"""Every form of an effect is exact where it applies, and every wrong reading of the formula is caught."""

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests import twins
from tests.estimate.oracle import Oracle, semi_markovian
from tests.identification.laws import adjusted, onto, under, value
from tests.soak import repeated, scaled
from tests.twins import CANONICAL, Mixed
from whichdo.errors import NotIdentifiedError, UsageError
from whichdo.graph.admg import CausalGraph
from whichdo.graph.targets import acting_targets
from whichdo.identification.engine import find_hedge, identify
from whichdo.identification.estimand import Conditional, Estimand, product, sum_over
from whichdo.identification.forms import (
    adjustment_sets,
    paper_estimand,
    weight_estimand,
    weighted_components,
)
from whichdo.world.instances import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tests.identification.laws import Array, Names

    Reader = Callable[[Mixed, str, str], Estimand]


def every_form(graph: CausalGraph, targets: Names, reward: str) -> Iterator[tuple[str, Estimand]]:
    """All forms that apply."""
    if find_hedge(graph, targets, reward) is None:
        yield "graph", identify(graph, targets, reward)
    for candidate in adjustment_sets(graph, targets, reward):
        yield "adjustment", adjusted(graph, targets, reward, candidate.given)
    if weighted_components(graph, acting_targets(graph, targets, reward), reward) is not None:
        yield "weight", weight_estimand(graph, targets, reward)
    if len(targets) == 1:
        within = twins.plain(graph.subgraph(graph.ancestors([reward])))
        passes = targets[0] not in within.nodes or twins.assumption_3(within, targets[0])
        for plain, late in itertools.product((False, True), repeat=2) if passes else ():
            yield "paper", paper_estimand(graph, targets[0], reward, plain=plain, late=late)


@pytest.mark.soak
def test_every_form_is_exact_on_random_networks() -> None:
    """Mixed domains, the reward anywhere, single and joint targets; what one form settles, the graph form does too."""
    rng = np.random.default_rng(16)
    met: dict[tuple[str, int], int] = {}
    networks = repeated(scaled(5_000, least=300), quick=60)
    for _ in range(networks):
        oracle = Oracle(semi_markovian(rng, observed=(3, 6)))
        graph, names = oracle.mixed.graph(), oracle.names
        reward = str(rng.choice(names)) if rng.random() < 0.5 else names[-1]
        others = [name for name in names if name != reward]
        worth = rng.random(oracle.network.sizes[reward])
        joint = [tuple(sorted(rng.choice(others, min(len(others), 2 + i), replace=False).tolist())) for i in range(2)]
        for targets in {*((name,) for name in others), *joint}:
            truth = onto(under(oracle, targets), names, (*targets, reward)) @ worth
            forms = list(every_form(graph, targets, reward))
            assert not forms or forms[0][0] == "graph"
            for form, estimand in forms:
                assert value(estimand, {(): oracle.seen}, names, worth) == pytest.approx(truth, abs=1e-9), form
                met[form, len(targets)] = met.get((form, len(targets)), 0) + 1
    for form in ("graph", "adjustment", "weight"):
        assert min(met[form, size] for size in (1, 2, 3)) > min(30, networks // 20), met
    assert met["paper", 1] > min(300, networks)


def test_the_forms_by_hand() -> None:
    """Two levers that follow each other, and a confounded mediator."""
    graph = CausalGraph.parse("X1 -> Z; Z -> X2; Z -> Y; X1 -> Y; X2 -> Y")
    assert str(identify(graph, ["X1", "X2"], "Y")) == "Σ_Z P(Z | X1) P(Y | X1, Z, X2)"
    assert str(weight_estimand(graph, ["X1", "X2"], "Y")) == "Σ_Z (P(X1, Z, X2) P(Y | X1, Z, X2)) / (P(X1) P(X2 | Z))"
    graph = CausalGraph.parse("A <-> X; A -> B; X -> Y; B -> Y")
    assert str(weight_estimand(graph, ["X"], "Y")) == "Σ_A (P(A, X) P(Y | A, X)) / (P(X | A))"
    assert str(paper_estimand(graph, "X", "Y")) == "Σ_A P(A) P(Y | A, X)"


def test_a_joint_law_is_counted_as_one() -> None:
    """Correlated covariates without an edge between them: P(A, B), never P(A) P(B)."""
    graph = CausalGraph.parse("A -> X; B -> X; A -> Y; B -> Y; X -> Y")
    assert Conditional(("A", "B")) in adjusted(graph, ["X"], "Y", ["B", "A"]).conditionals
    assert Conditional(("A", "B", "X")) in weight_estimand(graph, ["X"], "Y").conditionals


def test_a_form_that_does_not_apply_says_why() -> None:
    bow = CausalGraph.parse("X -> Y; X <-> Y")
    with pytest.raises(UsageError, match="X cannot be weighted"):
        weight_estimand(bow, ["X"], "Y")
    with pytest.raises(UsageError, match="Assumption 3 fails: the effect of X cannot be computed by looking: X <-> Y"):
        paper_estimand(bow, "X", "Y")
    with pytest.raises(NotIdentifiedError):
        identify(bow, ["X"], "Y")


# ------------------------------------------------------------------------------------------------------- wrong readings


def over(within: Mixed, node: str, reward: str, given: Mapping[str, Iterable[str]] | None = None) -> Estimand:
    """The factor formula over a plain graph, with conditioning sets that may be wrong."""
    before = twins.effective_parents(within) if given is None else given
    inside = twins.c_component(within, node)
    kernels = {name: Conditional((name,), tuple(sorted(before[name]))) for name in within.nodes}
    inner = sum_over([node], product(kernels[name] for name in within.nodes if name in inside))
    outer = [kernels[name] for name in within.nodes if name not in inside]
    rest = [name for name in within.nodes if name not in {node, reward}]
    return Estimand(sum_over(rest, product([inner, *outer])), (node,), reward)


def paper(mixed: Mixed, node: str, reward: str) -> set[str]:
    component = twins.c_component(mixed, node)
    return component.union({reward}, *(mixed.parents(member) for member in component))


def right(mixed: Mixed, node: str, reward: str) -> Estimand:
    """The formula as it must be read."""
    return over(twins.projection(mixed, paper(mixed, node, reward)), node, reward)


def cut_inside_the_component(mixed: Mixed, node: str, reward: str) -> Estimand:
    """Read "remove all outgoing edges from the original X" to mean those to its own component too."""
    within = twins.projection(mixed, paper(mixed, node, reward))
    inside = twins.c_component(within, node)
    given = twins.effective_parents(within)
    return over(within, node, reward, {name: given[name] - ({node} if name in inside else set()) for name in given})


def no_sum_over_the_original(mixed: Mixed, node: str, reward: str) -> Estimand:
    """X's own factor dropped, its component conditioned on X = x."""
    given = twins.effective_parents(twins.projection(mixed, paper(mixed, node, reward)))
    kernels = [Conditional((name,), tuple(sorted(given[name]))) for name in given if name != node]
    return Estimand(sum_over([name for name in given if name not in {node, reward}], product(kernels)), (node,), reward)


def plain_parents(mixed: Mixed, node: str, reward: str) -> Estimand:
    """Z_v read as the parents of v in H."""
    within = twins.projection(mixed, paper(mixed, node, reward))
    return over(within, node, reward, {name: within.parents(name) for name in within.nodes})


def literal_step_3(mixed: Mixed, node: str, reward: str) -> Estimand:
    """Read "for every pair of unobservable variables": nothing is added between observed ones."""
    made = twins.projection(mixed, paper(mixed, node, reward))
    bows = frozenset(bow for bow in mixed.bows if bow.issubset(made.nodes))
    return over(Mixed(made.nodes, made.arrows, bows), node, reward)


def confounders_that_were_hidden_already(mixed: Mixed, node: str, reward: str) -> Estimand:
    """Bidirected edges only where an original hidden cause leads, not where a marginalised node does."""
    keep = paper(mixed, node, reward)
    made = twins.projection(mixed, keep)
    ends = {name: reached(mixed, name, keep) for name in mixed.nodes}
    bows = {
        frozenset(pair)
        for bow in mixed.bows
        for pair in itertools.combinations(sorted(set[str]().union(*(ends[name] for name in bow))), 2)
    }
    return over(Mixed(made.nodes, made.arrows, frozenset(bows)), node, reward)


def reached(mixed: Mixed, name: str, keep: set[str]) -> set[str]:
    """The kept nodes at which directed paths from a node first arrive; itself, if kept."""
    return {name} if name in keep else set().union(*(reached(mixed, child, keep) for child in mixed.children(name)))


def paths_through_kept_nodes(mixed: Mixed, node: str, reward: str) -> Estimand:
    """The projection of the code published with the paper: paths run on through nodes of W."""
    keep = paper(mixed, node, reward)
    nodes, arrows = twins.canonical_dag(mixed)
    dag = Mixed(tuple(nodes), frozenset(arrows), frozenset())
    below = {name: {other for other in keep if name in twins.ancestors(dag, [other])} - {name} for name in nodes}
    pairs = (itertools.combinations(sorted(below[name]), 2) for name in nodes if name not in keep)
    within = Mixed(
        tuple(name for name in mixed.nodes if name in keep),
        frozenset((tail, head) for tail in keep for head in below[tail]),
        frozenset(frozenset(pair) for some in pairs for pair in some),
    )
    return over(within, node, reward)


def component_forgotten(mixed: Mixed, node: str, reward: str) -> Estimand:
    """W = {X, Y} with Pa(X)."""
    return over(twins.projection(mixed, {node, reward} | mixed.parents(node)), node, reward)


def blind_adjustment(mixed: Mixed, node: str, reward: str) -> Estimand:
    """Sum over z of P(z) P(y | x, z), z the parents, whatever is hidden."""
    parents = tuple(sorted(mixed.parents(node) - {reward}))
    law = Conditional((reward,), (*parents, node))
    return Estimand(sum_over(parents, product([Conditional(parents), law] if parents else [law])), (node,), reward)


WRONG: list[Reader] = [
    cut_inside_the_component,
    no_sum_over_the_original,
    plain_parents,
    literal_step_3,
    confounders_that_were_hidden_already,
    paths_through_kept_nodes,
    component_forgotten,
    blind_adjustment,
]


@cache
def canonical_law(name: str) -> Array:
    return Oracle(canonical(name).network).table(tuple(CANONICAL[name]["nodes"]))


@pytest.mark.parametrize(
    ("reader", "name", "wrong"),
    [
        (cut_inside_the_component, "frontdoor", (0.255455, 0.694545)),
        (cut_inside_the_component, "s1_chain", (0.3704, 0.6296)),
        (no_sum_over_the_original, "frontdoor", (0.21, 0.74)),
        (no_sum_over_the_original, "s1_chain", (0.338, 0.662)),
        (plain_parents, "frontdoor", (0.255455, 0.694545)),
        (plain_parents, "hiddenV", (0.204, 0.796)),
        (literal_step_3, "hiddenV", (0.204, 0.796)),
        (confounders_that_were_hidden_already, "hiddenV", (0.204, 0.796)),
        (paths_through_kept_nodes, "authors_bug", (0.5, 0.5)),
        (component_forgotten, "frontdoor", (0.475, 0.475)),
        (component_forgotten, "s1_chain", (0.5, 0.5)),
        (blind_adjustment, "frontdoor", (0.21, 0.74)),
        (blind_adjustment, "authors_bug", (0.254, 0.746)),
        (blind_adjustment, "not_anc", (0.26, 0.74)),
        (right, "napkin", (0.5, 0.5)),
        (right, "bow", (0.5, 0.5)),
    ],
)
def test_a_wrong_reading_is_off_on_the_network_that_catches_it(
    reader: Reader, name: str, wrong: tuple[float, float]
) -> None:
    """The last two are the formula itself where Assumption 3 fails."""
    means = value(reader(twins.canonical(name), "X", "Y"), {(): canonical_law(name)}, tuple(CANONICAL[name]["nodes"]))
    assert means == pytest.approx(wrong, abs=1e-6)
    true = [CANONICAL[name][f"do(X={x})"]["true"] for x in (0, 1)]
    assert np.abs(means - true).min() > 0.01


@pytest.mark.parametrize("name", CANONICAL)
def test_every_form_is_right_on_every_canonical_network_or_does_not_apply(name: str) -> None:
    known, nodes = CANONICAL[name], tuple(CANONICAL[name]["nodes"])
    forms = list(every_form(twins.canonical(name).graph(), ("X",), "Y"))
    assert bool(forms) == (name != "bow")
    assert {form for form, _ in forms if form in {"weight", "paper"}} == (
        {"weight", "paper"} if known["assumption3"] else set()
    )
    for form, estimand in forms:
        true = [known[f"do(X={x})"]["true"] for x in (0, 1)]
        assert value(estimand, {(): canonical_law(name)}, nodes) == pytest.approx(true, abs=1e-9), form


@pytest.mark.slow("2 s: eight wrong readings on 150 networks; finds a test that could not fail")
def test_every_wrong_reading_is_off_on_some_random_network_where_ours_is_right() -> None:
    """150 binary networks of 3 to 5 observed nodes; the last is the formula itself where Assumption 3 fails."""
    rng = np.random.default_rng(1)
    worst = dict.fromkeys([*WRONG, right], 0.0)
    for _ in range(150):
        oracle = Oracle(semi_markovian(rng, observed=(3, 5), binary=True))
        graph, mixed, names = oracle.mixed.graph(), oracle.mixed, oracle.names
        reward = names[-1]
        for node in names[:-1]:
            true = onto(under(oracle, (node,)), names, (node, reward))[:, 1]
            good = twins.assumption_3(mixed, node)
            if good:
                for _, estimand in every_form(graph, (node,), reward):
                    assert value(estimand, {(): oracle.seen}, names) == pytest.approx(true, abs=1e-9)
                assert value(right(mixed, node, reward), {(): oracle.seen}, names) == pytest.approx(true, abs=1e-9)
            for reader in WRONG if good else [right]:
                off = np.abs(value(reader(mixed, node, reward), {(): oracle.seen}, names) - true).max()
                worst[reader] = max(worst[reader], float(off))
    assert min(worst.values()) > 0.01, {reader.__name__: error for reader, error in worst.items()}
