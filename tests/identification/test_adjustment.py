"""Valid adjustment sets: the criterion against random models, the candidates against all sets, and the choice."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from tests import twins
from tests.estimate.oracle import Oracle, semi_markovian
from tests.identification.laws import onto, under, value
from tests.soak import scaled
from whichdo.formulas import Formula, choose_formula
from whichdo.graph.admg import CausalGraph
from whichdo.graph.identify import Route
from whichdo.graph.targets import acting_targets
from whichdo.identification.estimand import Conditional, Estimand, product, sum_over
from whichdo.identification.forms import adjustment_sets, is_valid_adjustment


def adjusted(graph: CausalGraph, targets: tuple[str, ...], reward: str, given: tuple[str, ...]) -> Estimand:
    """The formula without a question whether it is valid."""
    law = Conditional((reward,), (*given, *targets))
    parts = [Conditional(given), law] if given else [law]
    return Estimand(sum_over(given, product(parts)), targets, reward)


def test_a_set_is_valid_just_where_adjusting_is_right_in_a_random_model() -> None:
    """Every set of other nodes; in a model drawn at random an invalid one is off, but for a set of probability zero."""
    rng = np.random.default_rng(8)
    met = set()
    for _ in range(scaled(1_200)):
        oracle = Oracle(semi_markovian(rng, observed=(3, 5), binary=True))
        graph, names = oracle.mixed.graph(), oracle.names
        reward = names[-1]
        size = int(rng.integers(1, 3))
        targets = tuple(sorted(rng.choice(names[:-1], size, replace=False).tolist()))
        truth = onto(under(oracle, targets), names, (*targets, reward))[..., 1]
        rest = [name for name in names if name not in {*targets, reward}]
        for given in itertools.chain(*(itertools.combinations(rest, count) for count in range(len(rest) + 1))):
            found = value(adjusted(graph, targets, reward, given), {(): oracle.seen}, names)
            valid = is_valid_adjustment(graph, targets, reward, given)
            assert valid == (np.abs(found - truth).max() < 1e-11), (oracle.mixed, targets, given)
            met.add((len(targets), valid))
    assert met == {(1, True), (1, False), (2, True), (2, False)}


def test_candidates_are_valid_can_spare_nothing_and_exist_where_any_set_does() -> None:
    rng = random.Random(9)
    met = set()
    for mixed in [mixed for mixed in twins.many_mixed()[-1500:] if len(mixed.nodes) > 1]:
        graph, reward = mixed.graph(), rng.choice(mixed.nodes)
        others = [name for name in mixed.nodes if name != reward]
        chosen = tuple(sorted(rng.sample(others, rng.randint(1, min(3, len(others))))))
        targets = acting_targets(graph, chosen, reward)
        found = adjustment_sets(graph, chosen, reward)
        for candidate in found:
            assert is_valid_adjustment(graph, targets, reward, candidate.given)
            for name in candidate.given:
                assert not is_valid_adjustment(graph, targets, reward, set(candidate.given) - {name})
        assert len({candidate.given for candidate in found}) == len(found)
        if len(mixed.nodes) <= 6:
            rest = [name for name in others if name not in targets]
            every = itertools.chain(*(itertools.combinations(rest, count) for count in range(len(rest) + 1)))
            assert bool(found) == any(is_valid_adjustment(graph, targets, reward, some) for some in every)
            met.add(bool(found))
    assert met == {True, False}


@pytest.mark.parametrize(
    ("text", "targets", "sets"),
    [
        ("Z -> X; Z -> Y; X -> Y", ["X"], [("optimal", ("Z",))]),
        ("P -> X; P -> C; C -> Y; X -> Y", ["X"], [("optimal", ("C",)), ("parents", ("P",))]),
        ("A <-> X; A -> Y; X -> Y", ["X"], [("optimal", ("A",))]),  # a hidden confounder, and a set all the same
        ("X -> M -> Y; X <-> Y", ["X"], []),
        ("X -> Y; X <-> Y", ["X"], []),
        ("X -> M -> Y; W -> Y", ["X"], [("optimal", ())]),
        ("Z -> X1; Z -> Y; X1 -> X2; X2 -> Y; X1 -> Y", ["X1", "X2"], [("optimal", ("Z",))]),
        ("X1 -> Z; Z -> X2; Z -> Y; X1 -> Y; X2 -> Y", ["X1", "X2"], []),  # Z is needed and on a causal path
        ("A <-> B; A -> X; B -> Y; X -> Y; C <-> X; C <-> Y", ["X"], [("optimal", ("B",)), ("parents", ("A",))]),
        ("D <-> X; D <-> C; C -> Y; C <-> X; X -> Y; U2 <-> Y; U2 -> C", ["X"], [("ancestors", ("U2", "C"))]),
        ("X -> B; Y -> C", ["X"], [("optimal", ())]),  # it does not act: nothing to adjust for
    ],
)
def test_candidates_by_hand(text: str, targets: list[str], sets: list[tuple[str, tuple[str, ...]]]) -> None:
    found = adjustment_sets(CausalGraph.parse(text), targets, "Y")
    assert [(each.origin, each.given) for each in found] == sets


@pytest.mark.parametrize(
    ("cells", "rows", "number"),
    [
        ([64, 2], 0, 0),  # 64 cells are few whatever the rows
        ([65, 2], 0, 1),
        ([102, 2], 1_024, 0),  # a tenth of 1,024
        ([103, 2], 1_024, 1),
        ([102, 2], 2_047, 0),  # rounded down to a power of two
        ([103, 2], 2_047, 1),
        ([400, 300, 300], 100, 1),  # none is few: the fewest, the first of equals
    ],
)
def test_the_first_candidate_with_few_cells_is_taken_else_the_fewest(cells: list[int], rows: int, number: int) -> None:
    law = Estimand(Conditional(("Y",)), (), "Y")
    candidates = [Formula(Route.ADJUSTMENT, law, (str(place),), (), size, True) for place, size in enumerate(cells)]
    assert choose_formula(candidates, rows) is candidates[number]
