"""Links: every arm's mean follows from them, and every set of rows that teaches one shows the same law."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.soak import repeated
from tests.world.enumeration import random_network
from whichdo.formulas import Reading
from whichdo.graph.admg import CausalGraph
from whichdo.identification.chains import Chains
from whichdo.kernels.contraction import contract
from whichdo.policies.sharing import shared_tables
from whichdo.world.instances import families, structural

if TYPE_CHECKING:
    from whichdo.arrays import Array
    from whichdo.world.network import CausalNetwork


def conditional(network: CausalNetwork, columns: tuple[str, ...], do: dict[str, int]) -> Array:
    """P(last column | the others) under do(...); NaN where the others never are so."""
    joint = network.law(columns, do)
    chance = joint.sum(axis=-1, keepdims=True)
    found: Array = np.divide(joint, chance, out=np.full(joint.shape, np.nan), where=chance > 1e-12)
    return found


def observed(network: CausalNetwork, most: int = 2) -> list[tuple[str, ...]]:
    """All sets of up to so many nodes beside the last, which is the reward."""
    nodes = network.graph.nodes[:-1]
    return [some for size in range(most + 1) for some in combinations(nodes, size)]


def agree(one: Array, other: Array) -> bool:
    both = ~np.isnan(one) & ~np.isnan(other)
    return bool(np.allclose(one[both], other[both], atol=1e-9))


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("seed", range(repeated(30, quick=6)))
def test_all_that_teach_a_link_show_the_same_law_and_give_every_mean(seed: int, robust: bool) -> None:
    """Exactly, on random networks with hidden nodes: any teacher with any values, put together as the links say."""
    network = random_network(np.random.default_rng(seed), most_values=2, zeros=False)
    graph, reward = network.graph, network.graph.nodes[-1]
    chains, sets = Chains(graph, reward, robust=robust), observed(network)
    known: dict[object, Array] = {}
    for targets in sets:
        for link in chains.of(targets):
            assert link.columns[-1] == link.node
            assert chains.teaches(targets, link)  # an arm teaches what it is made of
            for teacher in sets:
                if chains.teaches(teacher, link):
                    for values in product(*(range(network.sizes[name]) for name in teacher)):
                        shown = conditional(network, link.columns, dict(zip(teacher, values, strict=True)))
                        before = known.setdefault(link, shown)
                        assert agree(before, shown), (targets, str(link), teacher)
                        known[link] = np.where(np.isnan(before), shown, before)
    for targets in sets:
        chain = chains.of(targets)
        names = sorted({name for link in chain for name in link.columns}, key=graph.index)
        axes = {name: place for place, name in enumerate(names)}
        parts: list[Any] = []
        for link in chain:
            parts += [np.nan_to_num(known[link]), [axes[name] for name in link.columns]]
        left = [name for name in names if name in targets]
        found = np.einsum(*parts, [*(axes[name] for name in left), axes[reward]])
        for values in product(*(range(network.sizes[name]) for name in left)):
            setting = dict.fromkeys(targets, 0) | dict(zip(left, values, strict=True))
            assert found[values] == pytest.approx(network.law([reward], setting), abs=1e-9)


def test_what_hidden_causes_tie_to_a_node_keeps_others_from_teaching() -> None:
    """The instrument: rows of do(X) have another law of Y given X and Z than looks have; looks teach nothing of it."""
    chains = Chains(CausalGraph.parse("Z -> X -> Y; X <-> Y"), "Y")
    (of_x,) = chains.of(["X"])
    of_z = chains.of(["Z"])[-1]
    assert (of_x.given, of_z.given) == (("X",), ("Z", "X"))
    assert [chains.teaches(each, of_x) for each in ((), ("Z",), ("X",), ("X", "Z"))] == [False, False, True, True]
    assert [chains.teaches(each, of_z) for each in ((), ("Z",), ("X",), ("X", "Z"))] == [True, True, False, False]


def test_robust_links_are_given_all_that_comes_before() -> None:
    graph = CausalGraph.parse("A -> B -> Y; C -> Y; N -> M")
    assert [str(link) for link in Chains(graph, "Y").of(["B"])] == ["P(C)", "P(Y | B, C)"]
    robust = [str(link) for link in Chains(graph, "Y", robust=True).of(["B"])]
    assert robust[-1] == "P(Y | A, B, C)"
    assert all("N" not in text for text in robust)


@pytest.mark.parametrize("reading", [Reading.GRAPH, Reading.ROBUST])
@pytest.mark.parametrize("name", ["structural", "joint-confounded", "pruned-joint-confounded", "canonical"])
def test_exact_laws_give_exact_means_of_all_arms(name: str, reading: Reading) -> None:
    for instance in families()[name](seed=4):
        network, problem = instance.network, instance.problem
        shared = shared_tables(problem, reading)
        assert shared is not None
        laws, steps, arm_at, size = shared.programme
        values = np.zeros(size)
        for table, (link, teachers) in enumerate(zip(shared.links, shared.teachers, strict=True)):
            law = np.full([network.sizes[name] for name in link.columns], np.nan)
            for teacher in teachers:
                for codes in product(*(range(network.sizes[name]) for name in teacher)):
                    shown = conditional(network, link.columns, dict(zip(teacher, codes, strict=True)))
                    law = np.where(np.isnan(law), shown, law)
            law = np.nan_to_num(law)
            flat = law @ np.array(list(problem.rewards.values())) if link.node == problem.reward else law
            values[laws.value_start[table] : laws.value_start[table + 1]] = flat.ravel()
        contract(steps, values)
        assert values[arm_at] == pytest.approx(instance.means, abs=1e-9)


def test_tables_that_are_too_large_are_not_shared() -> None:
    (wide,) = families()["parallel"]()
    assert shared_tables(wide.problem, Reading.GRAPH) is not None
    (large,) = families()["misspecified-parallel"]()
    assert shared_tables(large.problem, Reading.GRAPH) is None


def test_arms_of_the_third_task_share_the_law_of_the_reward() -> None:
    shared = shared_tables(structural(3).problem, Reading.GRAPH)
    assert shared is not None
    assert {str(link): len(teachers) for link, teachers in zip(shared.links, shared.teachers, strict=True)} == {
        "P(S)": 3,
        "P(T)": 1,
        "P(W | S)": 2,
        "P(Z)": 4,
        "P(X | S, T, W, Z)": 2,
        "P(X | T, Z)": 3,
        "P(Y | T, W, Z, X)": 4,
    }
