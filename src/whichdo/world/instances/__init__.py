"""Worlds to test policies on: the papers' experiments, the lower-bound constructions, and confounded families.

Every function here returns an `Instance` or a list of them: a network, the problem it poses, and the truth about it.
`families` names them all with small defaults.

    paper       the paper's Experiments 1 to 5, the example of its Section 3, and what is behind its two lower bounds
    classics    those of papers before, and nine tiny networks, one for each way an identification formula can go wrong
    confounded  hidden confounders under which conditioning misleads, also where several nodes are set at once
    mistakes    worlds in which the learner's graph is wrong, or its logs are of another season
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from whichdo.world.instances.classics import (
    CANONICAL,
    STRUCTURAL,
    Among,
    canonical,
    confounded_parallel,
    misspecified_parallel,
    no_backdoor,
    parallel,
    structural,
)
from whichdo.world.instances.confounded import (
    bnlearn,
    bows,
    component,
    front_door,
    half_open,
    joint_confounded,
    random_confounded,
)
from whichdo.world.instances.instance import Instance, Seed
from whichdo.world.instances.mistakes import MISTAKES, Planted, planted
from whichdo.world.instances.paper import (
    experiment_1,
    experiment_2,
    experiment_3,
    experiment_4,
    experiment_5,
    full_tree,
    random_tree,
    section_3,
    theorem_4_1,
    theorem_4_2,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "CANONICAL", "MISTAKES", "STRUCTURAL", "Among", "Family", "Instance", "Planted", "Seed", "bnlearn", "bows",
    "canonical", "component", "confounded_parallel", "experiment_1", "experiment_2", "experiment_3", "experiment_4",
    "experiment_5", "families", "front_door", "full_tree", "half_open", "joint_confounded", "misspecified_parallel",
    "no_backdoor", "parallel", "planted", "random_confounded", "random_tree", "section_3", "structural",
    "theorem_4_1", "theorem_4_2",
]  # fmt: skip


class Family(Protocol):
    """A family with a small default; one that has nothing random ignores the seed."""

    def __call__(self, seed: Seed = 0) -> Sequence[Instance]: ...  # noqa: D102


def families() -> dict[str, Family]:
    """Every family by name, small enough to run each policy on all of them.

    >>> [instance.hardness for instance in families()["experiment-1"](seed=1)]
    [9, 9]
    """
    made: dict[str, Family] = {
        "experiment-1": lambda seed=0: experiment_1(2, seed, nodes=20),
        "experiment-2": lambda seed=0: experiment_2(12, 2, seed, nodes=20),
        "experiment-3": lambda seed=0: [experiment_3(), experiment_3(set_x1=False)],  # noqa: ARG005
        "experiment-4": lambda seed=0: experiment_4(2, seed),
        "experiment-5": lambda seed=0: experiment_5(2, seed),
        "section-3": lambda seed=0: section_3(16, 2, 2, seed),
        "theorem-4.1": lambda seed=0: theorem_4_1(5, random_tree(8, 3, seed)),
        "theorem-4.2": lambda seed=0: theorem_4_2([0.05] * 3 + [0.25, 0.5]),  # noqa: ARG005
        "parallel": lambda seed=0: [parallel(3, nodes=10)],  # noqa: ARG005
        "confounded-parallel": lambda seed=0: [confounded_parallel(2, nodes=6)],  # noqa: ARG005
        "misspecified-parallel": lambda seed=0: [misspecified_parallel()],  # noqa: ARG005
        "no-backdoor": lambda seed=0: no_backdoor(3, 2, seed, nodes=10),
        "front-door": lambda seed=0: [front_door(2), front_door(2, mediators=True)],  # noqa: ARG005
        "component": lambda seed=0: [component(2, 0.02), component(3, 0.005)],  # noqa: ARG005
        "random-confounded": lambda seed=0: random_confounded(6, 3, 3, seed),
        "bows": lambda seed=0: bows(4, 2, seed),
        "structural": lambda seed=0: [structural(task, among) for among in Among for task in STRUCTURAL],  # noqa: ARG005
        "joint-confounded": lambda seed=0: joint_confounded(5, 3, 3, seed),
        "pruned-joint-confounded": lambda seed=0: joint_confounded(5, 3, 3, seed, pruned=True),
        "canonical": lambda seed=0: [canonical(name) for name in CANONICAL],  # noqa: ARG005
    }
    return made
