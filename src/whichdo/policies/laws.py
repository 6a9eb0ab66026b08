"""What policies that must be told the law of the reward's parents have in common: reading it, and where it serves.

If nothing hidden acts on the reward, its mean given its parents is the same under every arm, so that with the law of
the parents under each arm, P(Pa(Y)=s | a), every pull tells about every arm.  The laws are an array of arms by joint
cells of the parents: arms in the order of ``problem.arms``, parents as in ``problem.graph.parents(reward)``, the last
varying fastest.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from whichdo.errors import UnsuitableError
from whichdo.policies.mixture import probabilities
from whichdo.tables import MAX_CELLS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from whichdo.policies.base import Policy
    from whichdo.problem import Problem

__all__ = ["Laws", "given_laws", "refuse_laws"]

Laws = tuple[tuple[float, ...], ...]
"""A row for each arm; tuples, so that policies compare and hash."""


def given_laws(given: ArrayLike | None) -> Laws | None:
    """What a user gave, checked to be rows of probabilities; further axes are flattened."""
    return None if given is None else tuple(map(tuple, probabilities(given, "laws", 2).tolist()))


def refuse_laws(policy: Policy, problem: Problem, laws: Laws | None, instead: str) -> None:
    """Refuse a hidden cause of the reward, and laws that are not there or do not fit, before anything large is made."""
    hidden = problem.graph.siblings(problem.reward)
    if hidden:
        raise UnsuitableError(
            f"{policy.name} needs a reward that depends on its parents alone, and {hidden[0]} <-> {problem.reward} "
            f"is a hidden cause. Choose {instead}."
        )
    parents = problem.graph.parents(problem.reward)
    arms, cells = len(problem.arms), prod(len(problem.domains[name]) for name in parents)
    if cells * max(arms, len(problem.domains[problem.reward])) > MAX_CELLS:
        raise UnsuitableError(
            f"{policy.name} needs the joint law of the {len(parents)} parents of {problem.reward} under each of "
            f"{arms} arms: more than {MAX_CELLS:,} numbers. Choose {instead}."
        )
    if laws is None:
        raise UnsuitableError(
            f"{policy.name} needs to know the law of {problem.reward}'s parents under each arm: give laws=, an array "
            f"of {arms} arms by {cells} cells; in a simulation, laws=network.parent_laws(problem)."
        )
    if (len(laws), len(laws[0])) != (arms, cells):
        raise UnsuitableError(
            f"The laws have {len(laws)} rows of {len(laws[0])}; this problem has {arms} arms and {cells} cells of the "
            f"parents {list(parents)}."
        )
