"""The factor network: its structure, and each way of reading the paper's Algorithms 3 to 5 that is wrong.

A wrong reading is a function from a network and a query to the law of the reward under do(X=x), computed from the exact
law of what is observed.  Numbers are those of the canonical networks, each of which a reader can redo by hand.
"""

from __future__ import annotations

import itertools
import random
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests import twins
from tests.estimate.oracle import Oracle, any_problem, defined, semi_markovian
from tests.twins import CANONICAL, Mixed, letters
from whichdo.counting.scopes import MAX_CELLS, Reading, cell_count, scopes, together
from whichdo.estimate.dnet import Factor, FactorNetwork, factor_networks, look_network
from whichdo.estimate.interventional import Estimator
from whichdo.graph.identify import Route
from whichdo.problem import Problem
from whichdo.world.instances import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.estimate.oracle import Array

    Projection = Callable[[Mixed, Iterable[str]], Mixed]
    Reader = Callable[[Oracle, str, str], Array]

IDENTIFIED = [name for name in CANONICAL if CANONICAL[name]["assumption3"]]


def ours(oracle: Oracle, problem: Problem, reading: Reading) -> Array:
    """The estimator's means, fed the exact law."""
    estimator = Estimator(problem, reading)
    counts = np.concatenate([oracle.table(scope).ravel() for scope in estimator.scopes])
    worth = np.array(list(problem.rewards.values()))
    return estimator.from_counts(counts, worth, smoothing=0).means


# ------------------------------------------------------------------------------------------------------------ structure


@pytest.mark.parametrize("name", IDENTIFIED)
def test_the_canonical_networks_have_the_scopes_components_and_effective_parents_worked_out_by_hand(name: str) -> None:
    """In the paper's reading; X of `backdoor` has one parent, which a back-door path needs."""
    known = CANONICAL[name]
    network = factor_networks(canonical(name).problem, Reading.PAPER)["X"]
    assert sorted(network.scope) == known["W"]
    assert sorted(network.cells) == sorted({*known["S1"], *parents_of(name, known["S1"])})
    assert "Y" in {factor.node for factor in network.factors}
    for factor in network.factors:
        assert sorted(factor.given) == sorted(known["Zmin"][factor.node])
        assert factor.inside == (factor.node in known["S1"])


def parents_of(name: str, nodes: Iterable[str]) -> set[str]:
    return set().union(*(twins.canonical(name).parents(node) for node in nodes))


def test_the_front_door_network_in_full() -> None:
    """Sum over m of P(m | x) times the sum over x' of P(x') P(y | x', m)."""
    assert factor_networks(canonical("frontdoor").problem) == {
        ("X",): FactorNetwork(
            "X",
            ("X", "M", "Y"),
            ("X", "M", "Y"),
            (Factor("X", (), inside=True), Factor("M", ("X",), inside=False), Factor("Y", ("X", "M"), inside=True)),
        )
    }


def test_adjustment_needs_no_factor_of_the_node_itself() -> None:
    """Sum over z of P(z) P(y | x, z)."""
    network = factor_networks(canonical("backdoor").problem)["X"]
    assert network.factors == (Factor("Z", (), inside=False), Factor("Y", ("Z", "X"), inside=False))
    assert not network.sums_over_node


def test_a_node_that_does_not_act_on_the_reward_shares_the_network_of_looking() -> None:
    problem = canonical("not_anc", ["X", "A"]).problem
    assert factor_networks(problem) == {("X",): look_network(problem), ("A",): look_network(problem)}
    look = look_network(problem)
    assert (look.node, look.scope, look.cells) == (None, ("Y",), ())
    assert look.factors == (Factor("Y", (), inside=False),)


@pytest.mark.parametrize("name", ["napkin", "bow"])
@pytest.mark.parametrize("reading", Reading)
def test_what_must_be_tried_has_no_network(name: str, reading: Reading) -> None:
    assert factor_networks(canonical(name).problem, reading) == {}
    assert scopes(canonical(name).problem, reading) == {}


@pytest.mark.slow("3 s: many graphs by the definition; finds a factor with the wrong columns")
def test_networks_agree_with_the_definition_on_many_graphs() -> None:
    """All ADMGs on up to 4 nodes (a tenth of them) and 1,000 random ones on up to 8, any node as the reward."""
    rng = random.Random(11)
    graphs = [mixed for mixed in twins.many_mixed() if len(mixed.nodes) > 1]
    for mixed in (*graphs[:4000:10], *graphs[-1000:]):
        reward = rng.choice(mixed.nodes)
        problem = Problem(mixed.graph(), reward)
        order = twins.plain(problem.graph)  # the same edges, in the graph's own order
        for reading in Reading:
            networks = factor_networks(problem, reading)
            for node in problem.intervene:
                expected = defined(order, node, reward, reading)
                assert ((node,) in networks) == (expected is not None), (mixed, node, reward)
                if expected is not None and networks[node].node is not None:
                    check_network(networks[node], *expected, reward)


def check_network(network: FactorNetwork, within: Mixed, cells: set[str], reward: str) -> None:
    assert network.node is not None
    projected = twins.projection(within, cells | {reward})
    component = twins.c_component(projected, network.node)
    given = twins.effective_parents(projected)
    assert set(network.cells) == cells
    assert network.scope == tuple(name for name in within.nodes if name in cells | {reward})
    assert not projected.children(network.node) & component  # the projection keeps Assumption 3
    made = {factor.node: factor for factor in network.factors}
    for name, factor in made.items():
        assert set(factor.given) == given[name]
        assert factor.inside == (name in component)
    assert needed(network.node, reward, given, component) == set(made)


def needed(node: str, reward: str, given: dict[str, set[str]], component: set[str]) -> set[str]:
    """The factors that do not sum to one: those the reward hangs on, where x outside the component hangs on nothing."""
    found = {reward}
    while True:
        more = found.union(*(given[name] - (set() if name in component else {node}) for name in found))
        if more == found:
            return found
        found = more


def test_a_node_without_confounder_is_counted_with_what_a_back_door_path_needs_only_in_our_reading() -> None:
    """P acts on X alone; A <-> B elsewhere makes the paper count all of Pa(X)."""
    problem = Problem(letters("PQXABY", "PX QX QY XY AY BY", "AB"), "Y", ["X"])
    verdict = problem.verdicts["X"]
    assert together(problem, verdict, Reading.OURS) == ("Q", "X")
    assert together(problem, verdict, Reading.PAPER) == ("P", "Q", "X")
    assert scopes(problem, Reading.OURS) == {("X",): ("Q", "X", "Y")}
    assert scopes(problem, Reading.PAPER) == {("X",): ("P", "Q", "X", "Y")}


def test_a_scope_may_fill_the_limit_and_not_pass_it() -> None:
    """19 binary parents that also act on the reward make 2^21 cells with X and Y; 18 make 2^20, the limit."""
    assert MAX_CELLS == 2**20
    for count in (18, 19):
        names = [f"P{number}" for number in range(count)]
        arrows = [(name, head) for name in names for head in "XY"]
        problem = Problem(f"{'; '.join(f'{tail} -> {head}' for tail, head in arrows)}; X -> Y", "Y", ["X"])
        assert cell_count(problem, (*names, "X", "Y")) == 2 ** (count + 2)
        assert (("X",) in factor_networks(problem)) == (count == 18)


# ------------------------------------------------------------------------------------------------------- wrong readings


def paper(mixed: Mixed, node: str, reward: str, project: Projection = twins.projection) -> Mixed:
    """The projection on W = Pa+(cc(X)) with the reward."""
    component = twins.c_component(mixed, node)
    return project(mixed, component.union({reward}, *(mixed.parents(member) for member in component)))


def right(oracle: Oracle, node: str, reward: str) -> Array:
    """The formula as it must be read."""
    return over(oracle, paper(oracle.mixed, node, reward), node, reward)


def over(oracle: Oracle, within: Mixed, node: str, reward: str) -> Array:
    return oracle.formula(node, reward, twins.effective_parents(within), twins.c_component(within, node))


def cut_inside_the_component(oracle: Oracle, node: str, reward: str) -> Array:
    """Read "remove all outgoing edges from the original X" to mean those to its own component too."""
    within = paper(oracle.mixed, node, reward)
    component = twins.c_component(within, node)
    given = twins.effective_parents(within)
    return oracle.formula(
        node, reward, {name: given[name] - {node} if name in component else given[name] for name in given}, component
    )


def no_sum_over_the_original(oracle: Oracle, node: str, reward: str) -> Array:
    """X's own factor dropped, its component conditioned on X = x."""
    return oracle.without_sum(node, reward, twins.effective_parents(paper(oracle.mixed, node, reward)))


def plain_parents(oracle: Oracle, node: str, reward: str) -> Array:
    """Z_v read as the parents of v in H."""
    within = paper(oracle.mixed, node, reward)
    given = {name: within.parents(name) for name in within.nodes}
    return oracle.formula(node, reward, given, twins.c_component(within, node))


def literal_step_3(oracle: Oracle, node: str, reward: str) -> Array:
    """Read "for every pair of unobservable variables": nothing is added between observed ones."""

    def project(mixed: Mixed, keep: Iterable[str]) -> Mixed:
        made = twins.projection(mixed, keep)
        return Mixed(made.nodes, made.arrows, frozenset(bow for bow in mixed.bows if bow.issubset(made.nodes)))

    return over(oracle, paper(oracle.mixed, node, reward, project), node, reward)


def confounders_that_were_hidden_already(oracle: Oracle, node: str, reward: str) -> Array:
    """Bidirected edges only where an original hidden cause leads, not where a marginalised node does."""

    def project(mixed: Mixed, keep: Iterable[str]) -> Mixed:
        keep = set(keep)
        made = twins.projection(mixed, keep)
        ends = {name: reached(mixed, name, keep) for name in mixed.nodes}
        bows = {
            frozenset(pair)
            for bow in mixed.bows
            for pair in itertools.combinations(sorted(set().union(*(ends[name] for name in bow))), 2)
        }
        return Mixed(made.nodes, made.arrows, frozenset(bows))

    return over(oracle, paper(oracle.mixed, node, reward, project), node, reward)


def reached(mixed: Mixed, name: str, keep: set[str]) -> set[str]:
    """The kept nodes at which directed paths from a node first arrive; itself, if kept."""
    return {name} if name in keep else set().union(*(reached(mixed, child, keep) for child in mixed.children(name)))


def paths_through_kept_nodes(oracle: Oracle, node: str, reward: str) -> Array:
    """The projection of the code published with the paper: paths run on through nodes of W."""

    def project(mixed: Mixed, keep: Iterable[str]) -> Mixed:
        keep = set(keep)
        nodes, arrows = twins.canonical_dag(mixed)
        dag = Mixed(tuple(nodes), frozenset(arrows), frozenset())
        below = {name: {other for other in keep if name in twins.ancestors(dag, [other])} - {name} for name in nodes}
        pairs = (itertools.combinations(sorted(below[name]), 2) for name in nodes if name not in keep)
        return Mixed(
            tuple(name for name in mixed.nodes if name in keep),
            frozenset((tail, head) for tail in keep for head in below[tail]),
            frozenset(frozenset(pair) for some in pairs for pair in some),
        )

    return over(oracle, paper(oracle.mixed, node, reward, project), node, reward)


def component_forgotten(oracle: Oracle, node: str, reward: str) -> Array:
    """W = {X, Y} with Pa(X)."""
    return over(oracle, twins.projection(oracle.mixed, {node, reward} | oracle.mixed.parents(node)), node, reward)


def blind_adjustment(oracle: Oracle, node: str, reward: str) -> Array:
    """Sum over z of P(z) P(y | x, z), z the parents, whatever is hidden."""
    parents = sorted(oracle.mixed.parents(node), key=oracle.names.index)
    if reward in parents:
        return np.broadcast_to(oracle.table((reward,)), oracle.table((node, reward)).shape)
    before = {name: parents[:position] for position, name in enumerate(parents)}
    return oracle.without_sum(node, reward, {**before, reward: [*parents, node]})


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
def canonical_oracle(name: str) -> Oracle:
    return Oracle(canonical(name).network)


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
        (component_forgotten, "frontdoor", (0.475, 0.475)),  # P(Y): W = {X, Y} is a bow, and x' averages X away
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
    means = reader(canonical_oracle(name), "X", "Y")[:, 1]
    assert means == pytest.approx(wrong, abs=1e-6)
    true = [CANONICAL[name][f"do(X={x})"]["true"] for x in (0, 1)]
    assert np.abs(means - true).min() > 0.01


@pytest.mark.slow("4 s: every canonical network by every reading")
@pytest.mark.parametrize("name", CANONICAL)
@pytest.mark.parametrize("reading", Reading)
def test_ours_is_right_on_every_canonical_network_or_says_nothing(name: str, reading: Reading) -> None:
    known = CANONICAL[name]
    means = ours(canonical_oracle(name), canonical(name).problem, reading)
    true = [known[f"do(X={x})"]["true"] for x in (0, 1)] if known["assumption3"] else [np.nan, np.nan]
    assert means == pytest.approx([known["PY"], *true], abs=1e-12, nan_ok=True)


@pytest.mark.slow("5 s: many networks and every mistake one could make; finds a test that could not fail")
def test_every_wrong_reading_is_off_on_some_random_network_where_ours_is_right() -> None:
    """600 binary networks of 3 to 5 observed nodes; the last is the formula itself where Assumption 3 fails."""
    rng = np.random.default_rng(1)
    worst = dict.fromkeys([*WRONG, right], 0.0)
    for _ in range(600):
        oracle = Oracle(semi_markovian(rng, observed=(3, 5), binary=True))
        problem = any_problem(oracle.network, rng)
        reward, worth = problem.reward, np.array(list(problem.rewards.values()))
        means = {reading: iter(ours(oracle, problem, reading)[1:]) for reading in Reading}
        for node in problem.intervene:
            true = oracle.truth(node, reward) @ worth
            good = twins.assumption_3(oracle.mixed, node)
            for reading in Reading:
                mine = np.array([next(means[reading]) for _ in true])
                if good:
                    assert mine == pytest.approx(true, abs=1e-9)
            if good:
                assert right(oracle, node, reward) @ worth == pytest.approx(true, abs=1e-9)
            for reader in WRONG if good else [right]:
                error = float(np.abs(reader(oracle, node, reward) @ worth - true).max())
                worst[reader] = max(worst[reader], error)
    assert min(worst.values()) > 0.01, {reader.__name__: error for reader, error in worst.items()}


def test_two_components_elsewhere_do_not_spoil_adjustment() -> None:
    """On `two_comp` adjusting for parents is right: a confounder of others may not switch to something else."""
    problem = canonical("two_comp").problem
    assert problem.verdicts["X"].route is Route.ADJUSTMENT
    assert blind_adjustment(canonical_oracle("two_comp"), "X", "Y")[:, 1] == pytest.approx([0.4, 0.6])
