"""Back-door paths, against what conditioning gives in random networks."""

from __future__ import annotations

import numpy as np
import pytest

from whichdo.graph.admg import CausalGraph
from whichdo.graph.components import backdoor_path
from whichdo.world.instances import canonical, no_backdoor, random_confounded


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("X -> M -> Y", None),
        ("A -> X -> Y; A <-> X", None),  # whatever A does, it does through X
        ("X -> Y; X -> C; Y -> C", None),  # a collider is closed
        ("X -> Y; X <-> C; C <-> Y", None),  # so is this one
        ("X -> Y; X <-> Y", "X <-> Y"),
        ("Z -> X -> Y; Z -> Y", "X <- Z -> Y"),
        ("A -> X -> Y; A <-> B; B -> C -> Y", "X <- A <-> B -> C -> Y"),
        ("Y -> X", "X <- Y"),
        ("Z -> X; Z -> Y", "X <- Z -> Y"),
        ("X -> B -> Y; X <-> B", "X <-> B -> Y"),
    ],
)
def test_by_hand(text: str, path: str | None) -> None:
    assert backdoor_path(CausalGraph.parse(text), "X", "Y") == path


@pytest.mark.slow("2 s: compares with exact laws; finds a path that is missed")
def test_a_path_is_found_just_where_conditioning_is_not_setting() -> None:
    """Random laws: where there is a path the two differ, but for a set of networks of probability zero."""
    instances = [*random_confounded(6, 3, 12, seed=5), *no_backdoor(3, 2, 2, nodes=8), canonical("not_anc")]
    found = set()
    for instance in instances:
        network, problem = instance.network, instance.problem
        for name in problem.intervene:
            joint = network.law((name, problem.reward))
            if joint.min() <= 0:
                continue
            conditional = joint[:, 1] / joint.sum(axis=1)
            codes = range(len(problem.domains[name]))
            doing = np.array([network.law((problem.reward,), {name: code})[1] for code in codes])
            free = backdoor_path(problem.graph, name, problem.reward) is None
            # A path of weak links differs by little, and by rounding alone only where there is none.
            assert free == (np.abs(conditional - doing).max() < 1e-11), (instance.name, name)
            found.add(free)
    assert found == {True, False}
