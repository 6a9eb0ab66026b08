"""What policies that condition have in common: where conditioning is right, and which arms it serves badly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UnsuitableError
from whichdo.estimate.conditional import first_backdoor
from whichdo.evidence import Batch
from whichdo.policies.base import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import BoolArray, FloatArray
    from whichdo.policies.base import Policy
    from whichdo.problem import Arm, Problem


def one_price(policy: Policy, problem: Problem, instead: str) -> tuple[float, float]:
    """The cost of a look, and of any intervention; refuse a problem whose interventions cost differently."""
    look, act = problem.costs[problem.arms[0]], problem.costs[problem.arms[1]]
    expensive = [arm for arm in problem.arms[1:] if abs(problem.costs[arm] - act) > ROUNDING]
    if expensive:
        raise UnsuitableError(
            f"{policy.name} needs one cost for all interventions; {problem.arms[1]} costs {act:g} and {expensive[0]} "
            f"costs {problem.costs[expensive[0]]:g}. Choose {instead}."
        )
    return look, act


def refuse_backdoors(policy: Policy, problem: Problem) -> None:
    """Refuse a problem in which conditioning on some node is not the same as setting it."""
    found = first_backdoor(problem)
    if found is not None:
        node, path = found
        raise UnsuitableError(
            f"{policy.name} conditions, and conditioning on {node} is not setting it: {path} is a back-door path. "
            f"Choose srm, which adjusts, drop {node} from `intervene`, or give trust=True to condition anyway."
        )


def rarest_first(problem: Problem, shares: FloatArray, chosen: BoolArray) -> list[Arm]:
    """The chosen arms, those whose value came least often first; do() is never among them."""
    return [problem.arms[j] for j in np.argsort(shares, kind="stable").tolist() if j and chosen[j]]


def whole_shares(problem: Problem, money: float, arms: Sequence[Arm]) -> Batch:
    """Pull arms of equal cost equally often, and leave unspent what does not divide.

    Where there is less than a pull for each, the first arms get one.
    """
    pulls = int(money / problem.costs[arms[0]] + ROUNDING)
    each = pulls // len(arms)
    return Batch(tuple(arms), (each,) * len(arms)) if each else Batch(tuple(arms[:pulls]), (1,) * pulls)
