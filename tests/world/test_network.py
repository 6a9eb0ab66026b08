"""What a network accepts, refuses and says."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from whichdo.errors import GraphError, InputError, NetworkError, TooLargeError, UsageError
from whichdo.problem import Problem
from whichdo.world.mechanism import Mechanism, bernoulli
from whichdo.world.network import CausalNetwork

if TYPE_CHECKING:
    from collections.abc import Iterable

FRONT_DOOR = {
    "U": bernoulli((), 0.5),
    "X": bernoulli(("U",), [0.2, 0.8]),
    "M": bernoulli(("X",), [0.1, 0.8]),
    "Y": bernoulli(("M", "U"), [[0.1, 0.4], [0.6, 0.9]]),
}


def test_the_graph_is_the_projection_on_what_is_observed() -> None:
    graph = CausalNetwork(FRONT_DOOR, hidden={"U"}).graph
    assert graph.directed == {("X", "M"), ("M", "Y")}
    assert graph.bidirected == {frozenset("XY")}
    assert graph.hidden == {"U"}


def test_nested_and_flat_tables_are_the_same() -> None:
    flat = CausalNetwork(FRONT_DOOR | {"Y": bernoulli(("M", "U"), [0.1, 0.4, 0.6, 0.9])}, hidden="U")
    nested = CausalNetwork(FRONT_DOOR, hidden={"U"})
    assert (flat.mechanisms["Y"].table == nested.mechanisms["Y"].table).all()


def test_parents_that_the_table_ignores_are_edges_all_the_same() -> None:
    network = CausalNetwork(
        {"X": bernoulli((), 0.5), "M": bernoulli((), 0.5), "Y": bernoulli(("X",), [0.1, 0.7], parents=("X", "M"))}
    )
    assert network.graph.parents("Y") == ("X", "M")
    assert network.mechanisms["Y"].table.shape == (2, 2)


@pytest.mark.parametrize(
    ("mechanisms", "message"),
    [
        ({"X": bernoulli(("Z",), [0.1, 0.2])}, '"X" has the parent "Z", which has no mechanism.'),
        ({"X": Mechanism((), [0.2, 0.9])}, 'The probabilities of "X" sum to 1.1, not 1.'),
        (
            {"Zed": bernoulli((), 0.5), "X": Mechanism(("Zed",), [[0.2, 0.8], [0.2, 0.7]])},
            'The probabilities of "X" given Zed=1 sum to 0.9, not 1.',
        ),
        (
            {"Z": bernoulli((), 0.5), "X": bernoulli(("Z",), [0.1, 0.2, 0.3])},
            "The table of \"X\" has shape (3, 2); its inputs ['Z'] ask for (2, 2)",
        ),
        ({"X": 0.5}, '"X" has 0.5 for a mechanism; use bernoulli(...) or Mechanism(...).'),
    ],
)
def test_mechanisms_that_make_no_network_are_refused(mechanisms: dict[str, Mechanism], message: str) -> None:
    with pytest.raises(NetworkError, match=re.escape(message)):
        CausalNetwork(mechanisms)


@pytest.mark.parametrize("probability", [-0.1, 1.5, float("nan"), [0.2, float("inf")]])
def test_what_is_no_probability_is_refused(probability: float) -> None:
    with pytest.raises(NetworkError, match="not a probability"):
        bernoulli((), probability)


def test_a_ragged_table_is_refused() -> None:
    with pytest.raises(NetworkError, match="rectangular array of numbers"):
        Mechanism(("X",), [[0.5, 0.5], [1.0]])


def test_inputs_must_be_among_the_parents() -> None:
    with pytest.raises(NetworkError, match='The input "X" is not among the parents'):
        bernoulli(("X",), [0.1, 0.2], parents=("M",))


def test_a_cycle_is_refused_by_name() -> None:
    with pytest.raises(GraphError, match="The graph has a cycle: A -> B -> A"):
        CausalNetwork({"A": bernoulli(("B",), [0.1, 0.2]), "B": bernoulli(("A",), [0.1, 0.2])})


def test_a_hidden_node_needs_a_mechanism() -> None:
    with pytest.raises(NetworkError, match='The hidden node "V" has no mechanism'):
        CausalNetwork({"X": bernoulli((), 0.5)}, hidden={"V"})


def test_a_node_with_300_values_is_refused() -> None:
    with pytest.raises(TooLargeError, match="300 values; 256 are allowed"):
        CausalNetwork({"X": Mechanism((), np.full(300, 1 / 300))})


def test_a_table_is_sized_before_it_is_allocated() -> None:
    names = [f"X{j}" for j in range(60)]
    mechanisms = {name: bernoulli((), 0.5) for name in names}
    mechanisms["Y"] = Mechanism(names, [[0.5, 0.5]])
    with pytest.raises(TooLargeError, match="60 inputs; 31 are allowed"):
        CausalNetwork(mechanisms)


def test_domains_name_the_values() -> None:
    network = CausalNetwork(
        {"D": Mechanism((), [0.2, 0.3, 0.5]), "Y": bernoulli(("D",), [0.1, 0.2, 0.3])},
        domains={"D": ("low", "mid", "high")},
    )
    rows = network.sample(50, do={"D": "mid"}, seed=1)
    assert set(rows["D"].tolist()) == {"mid"}
    assert rows["Y"].dtype == np.uint8
    coded = network.sample(50, seed=1, codes=True)["D"]
    assert [("low", "mid", "high")[code] for code in coded] == network.sample(50, seed=1)["D"].tolist()
    with pytest.raises(NetworkError, match=re.escape('"D" has no value "medium". Allowed: low, mid, high.')):
        network.sample(5, do={"D": "medium"})


def test_a_problem_about_other_nodes_or_values_is_refused() -> None:
    network = CausalNetwork(FRONT_DOOR, hidden={"U"})
    with pytest.raises(NetworkError, match='The network has no observed node "U"'):
        network.means(Problem("U -> Y", reward="Y"))
    with pytest.raises(NetworkError, match=r'"M" takes \[0, 1\] in the network and \[0, 1, 2\] in the problem'):
        network.means(Problem(network.graph, reward="Y", domains={"M": (0, 1, 2)}))


def test_two_spellings_of_one_name_are_refused() -> None:
    with pytest.raises(NetworkError, match="names a node twice"):
        CausalNetwork({"\u00e9": bernoulli((), 0.5), "e\u0301": bernoulli((), 0.5)})


def test_names_are_compared_in_composed_form() -> None:
    network = CausalNetwork({"\u00e9": bernoulli((), 0.5), "Y": bernoulli(("e\u0301",), [0.2, 0.4])})
    assert network.law(["e\u0301"]).tolist() == [0.5, 0.5]
    assert set(network.sample(20, do={"e\u0301": 1})["\u00e9"].tolist()) == {1}


@pytest.mark.parametrize("domain", ["ab", {"a", "b"}, ("a", "a"), ("a", ""), ("a", "b", "c")])
def test_a_domain_must_be_a_list_of_different_values(domain: Iterable[str]) -> None:
    with pytest.raises(InputError, match="X"):
        CausalNetwork({"X": bernoulli((), 0.5)}, domains={"X": domain})


def test_plain_misuse_is_told_plainly() -> None:
    network = CausalNetwork(FRONT_DOOR, hidden={"U"})
    with pytest.raises(NetworkError, match="lists a node twice"):
        network.law(["X", "X"])
    with pytest.raises(NetworkError, match="at least one node"):
        CausalNetwork({})
    with pytest.raises(UsageError, match=r"number of rows is 3\.5"):
        network.sample(3.5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="The seed is -1; it cannot be negative"):
        network.sample(3, seed=-1)


def test_a_network_survives_a_copy_between_processes() -> None:
    network = CausalNetwork(FRONT_DOOR, hidden={"U"}, domains={"X": ("low", "high")})
    again = copy.deepcopy(network)
    assert again.graph == network.graph
    assert again.sample(9, seed=1)["X"].tolist() == network.sample(9, seed=1)["X"].tolist()


def test_a_network_cannot_be_changed() -> None:
    network = CausalNetwork(FRONT_DOOR, hidden={"U"})
    with pytest.raises(AttributeError, match="cannot be changed"):
        network.hidden = frozenset()
    with pytest.raises(ValueError, match="read-only"):
        network.mechanisms["X"].table[0, 0] = 1.0
