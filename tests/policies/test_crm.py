"""CRM-ALG: the pulls of its literal twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.estimate.draws_twin import split_draws, tape_draws
from tests.policies.crm_twin import crm_twin
from tests.policies.driving import driven
from tests.soak import scaled
from tests.world.enumeration import random_network
from whichdo.errors import UnsuitableError
from whichdo.policies.crm import CRM
from whichdo.problem import do
from whichdo.simulation import run_rounds
from whichdo.world.instances import (
    CANONICAL,
    Instance,
    bows,
    canonical,
    component,
    experiment_3,
    experiment_5,
    front_door,
    random_confounded,
)
from whichdo.world.mechanism import Mechanism, bernoulli
from whichdo.world.network import CausalNetwork
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from tests.policies.crm_twin import Draws
    from whichdo.problem import Problem


def pulls(network: CausalNetwork, problem: Problem, rounds: int, seed: int) -> list[int]:
    """The arms that the compiled policy pulls."""
    key, rng = np.array([seed, 5], np.uint64), np.random.default_rng(seed)
    record, _, _ = run_rounds(CRM(), network, problem, rounds, key, rng, np.arange(1, rounds + 1))
    return np.diff(record, axis=0, prepend=0).argmax(axis=1).tolist()  # type: ignore[no-any-return]


def twin(network: CausalNetwork, problem: Problem, rounds: int, seed: int, draws: Draws) -> list[int]:
    world = World(network, problem, np.array([seed, 5], np.uint64))
    luck = np.random.default_rng(seed).random(len(problem.arms))
    return crm_twin(world, rounds, luck.tolist(), draws, reads_looks=bool(CRM().columns(problem)))


def random_open(rng: np.random.Generator) -> tuple[CausalNetwork, Problem]:
    """Nothing hidden: three to five nodes of two or three values, up to two parents, now and then a rare value."""
    names = [f"V{j}" for j in range(int(rng.integers(3, 6)))]
    sizes = rng.choice([2, 2, 3], len(names))
    mechanisms = {}
    for j, name in enumerate(names):
        given = sorted(rng.choice(j, int(rng.integers(min(j, 2) + 1)), replace=False).tolist()) if j else []
        table = rng.dirichlet(np.full(sizes[j], 0.8), [sizes[k] for k in given])
        mechanisms[name] = Mechanism([names[k] for k in given], 0.9 * table + 0.1 / sizes[j])
    network = CausalNetwork(mechanisms)
    last = len(names) - 1
    reward = int(rng.integers(last)) if rng.random() < 0.1 else last
    goal = "minimize" if rng.random() < 0.3 else "maximize"
    rewards = dict(enumerate(rng.random(sizes[reward]).round(2).tolist())) if rng.random() < 0.4 else None
    if rewards is None and sizes[reward] > 2:
        rewards = {0: 0.0, 1: 0.5, 2: 1.0}
    return network, network.problem(names[reward], goal=goal, rewards=rewards)


@pytest.mark.slow("3 s: CRM-ALG in rational numbers beside the kernel; finds any pull that differs")
@pytest.mark.soak
def test_the_pulls_of_the_twin_on_random_networks() -> None:
    """300 rounds on each of 60 networks (30 under ``make test``), round by round."""
    rng = np.random.default_rng(21)
    looked, networks = 0, scaled(60, 30)
    for seed in range(networks):
        network, problem = random_open(rng)
        found = pulls(network, problem, 300, seed)
        assert found == twin(network, problem, 300, seed, split_draws)
        looked += found.count(0)
    assert looked > networks * 40


@pytest.mark.slow("2 s: 700 rounds of CRM-ALG in rational numbers; finds a beta that is set back")
@pytest.mark.parametrize("set_x1", [True, False])
def test_the_pulls_of_the_twin_in_experiment_3(set_x1: bool) -> None:
    instance = experiment_3(set_x1=set_x1)
    for seed in range(3):
        found = pulls(instance.network, instance.problem, 700, seed)
        assert found == twin(instance.network, instance.problem, 700, seed, split_draws)


def test_the_pulls_of_the_twin_in_experiment_5() -> None:
    for seed, instance in enumerate(experiment_5(2, seed=4)):
        found = pulls(instance.network, instance.problem, 600, seed)
        assert found == twin(instance.network, instance.problem, 600, seed, split_draws)


@pytest.mark.slow("6 s: CRM-ALG in rational numbers where arms need a factor network; finds any pull that differs")
@pytest.mark.soak
def test_the_pulls_of_the_twin_where_hidden_causes_are() -> None:
    """300 rounds on each: front-door, bows, nodes rescued or not, three values; some arms cannot be settled.

    60 networks; under ``make test`` all that have a name and a few random ones.
    """
    chosen = [canonical(name) for name in CANONICAL if canonical(name).problem.graph.bidirected]
    chosen += [*random_confounded(5, 3, 12, seed=6), *bows(4, 2, seed=1), component(2, 0.02), front_door(2)]
    rng = np.random.default_rng(8)
    while len(chosen) < scaled(60, 30):
        network = random_network(rng, zeros=False)
        if network.graph.bidirected:
            reward = network.graph.nodes[-1]
            levels = network.domains[reward]
            worths = {level: k / (len(levels) - 1) for k, level in enumerate(levels)}
            problem = network.problem(reward, rewards=worths)
            chosen.append(Instance(f"random {len(chosen)}", network, problem, ""))
    drawn = 0
    for seed, each in enumerate(chosen):
        found = pulls(each.network, each.problem, 300, seed)
        assert found == twin(each.network, each.problem, 300, seed, tape_draws), each.name
        drawn += bool(CRM().columns(each.problem))
    assert drawn > len(chosen) * 2 / 3


def test_only_equal_costs() -> None:
    problem = experiment_3().network.problem("Y", costs={do(X1=1): 2})
    with pytest.raises(UnsuitableError, match="crm counts pulls"):
        CRM().check(problem, 100)


def test_a_setting_that_never_occurs_is_noted() -> None:
    """X copies Z without fail, so X=1 with Z=0 is not seen: do(X=1) has its direct pulls only, and do(X=0) too."""
    network = CausalNetwork(
        {"Z": bernoulli((), 0.5), "X": bernoulli(("Z",), [0, 1]), "Y": bernoulli(("Z", "X"), [[0.1, 0.6], [0.3, 0.4]])}
    )
    problem = network.problem("Y", ["X"])
    _, _, final = driven(CRM(), problem, 200, World(network, problem, 3).pull)
    assert len(final.notes) == 2
    assert "do(X=0) was judged by direct pulls alone" in final.notes[0]
    assert "among " in final.notes[0]
    assert "had X=0, Z=1" in final.notes[0]
    assert "had X=1, Z=0" in final.notes[1]
    instance = canonical("frontdoor")
    _, _, final = driven(CRM(), instance.problem, 4, World(instance.network, instance.problem, 3).pull)
    assert "do(X=0) was judged by direct pulls alone: among 2 looks none that could serve it had" in final.notes[0]
    open_to_view = experiment_3()
    _, _, final = driven(CRM(), open_to_view.problem, 400, World(open_to_view.network, open_to_view.problem, 3).pull)
    assert final.notes == ()
