"""Random confounded graphs in which several nodes can be set at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whichdo.world.instances.confounded import random_confounded

if TYPE_CHECKING:
    from whichdo.world.instances.instance import Instance, Seed

__all__ = ["joint_confounded"]


def joint_confounded(
    nodes: int = 5,
    confounders: int = 3,
    count: int = 1,
    seed: Seed = 0,
    *,
    at_once: int = 2,
    pruned: bool = False,
    in_degree: int = 2,
    bound: float = 0.1,
) -> list[Instance]:
    """The networks of `random_confounded` with arms on up to ``at_once`` nodes.

    ``pruned`` leaves out the arms that cannot be best.
    """
    made = []
    for each in random_confounded(nodes, confounders, count, seed, in_degree=in_degree, bound=bound):
        network = each.network
        problem = network.problem("Y", at_once=at_once, prune=pruned)
        kind = "pruned-joint" if pruned else "joint"
        about = f"{each.about}; {at_once} nodes at once" + (", arms that can be best" if pruned else "")
        made.append(replace(each, name=each.name.replace("random", kind), problem=problem, about=about))
    return made
