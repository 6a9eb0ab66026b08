"""How often to pull each arm so that pulls of one tell most about all.

Each arm reaches some cells with known weights w_a(s).  If arm b is pulled a share eta_b of the time, cell s is visited
with weight Q(s) = sum_b eta_b w_b(s), and what arm a needs to know varies like f_a = sum_s w_a(s)^2 / Q(s).  Lattimore
et al. (laws of the reward's parents) and Yabe et al. (laws of every node's parents) both ask for the shares that make
the largest f_a least: a convex problem on the simplex.

Policies that must be given the laws of the reward's parents read and check them here.  If nothing hidden acts on the
reward, its mean given its parents is the same under every arm, so that with P(Pa(Y)=s | a) every pull tells about every
arm.  The laws are an array of arms by joint cells of the parents: arms in the order of ``problem.arms``, parents as in
``problem.graph.parents(reward)``, the last varying fastest.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import UnsuitableError, UsageError
from whichdo.tables import MAX_CELLS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.policies.base import Policy
    from whichdo.problem import Problem


STEPS = 5_000
PATIENCE = 0.5
ROUNDING = 1e-9
SUM_ERROR = 1e-6
KEPT_DIGITS = 12
"""Of shares that were searched for: in later ones, matrix products and exponentials differ between processors."""


def worst(weights: FloatArray, shares: FloatArray) -> float:
    """The largest f_a for these shares; infinite where an arm needs a cell that no share reaches."""
    reached = (shares[:, None] * weights).sum(axis=0)
    if (weights[:, reached == 0] > 0).any():
        return float("inf")
    used = reached > 0
    return float((weights[:, used] ** 2 / reached[used]).sum(axis=1).max())


def balanced(weights: FloatArray, *, tolerance: float = 1e-3) -> FloatArray:
    """The shares whose largest f_a is least, to a certified relative ``tolerance``; nothing in it is random.

    Two players: ``blame`` leans on the arms that are worst off, the shares answer by the multiplicative step of optimal
    design.  For any blame, the tangent 2 h - max_b g_b of its convex h = sum_a blame_a f_a bounds the optimum below.
    """
    weights = weights[:, weights.max(axis=0) > 0]  # 0/0 is 0: a cell that nothing reaches has no say
    squares = weights**2
    shares = np.full(len(weights), 1 / len(weights))
    blame = shares.copy()
    best, found, bound = np.inf, shares, 0.0
    for _ in range(STEPS):
        inverse = 1 / (shares @ weights)
        each = squares @ inverse
        if each.max() < best:
            best, found = float(each.max()), shares
        blame = blame * np.exp(PATIENCE * (each / each.max() - 1))
        blame /= blame.sum()
        here = float(blame @ each)
        pressure = weights @ ((blame @ squares) * inverse**2)  # its mean under the shares is `here`
        bound = max(bound, 2 * here - float(pressure.max()))
        if best <= bound * (1 + tolerance):
            break
        shares = shares * np.sqrt(pressure / here)
        shares /= shares.sum()
    kept: FloatArray = np.round(found, KEPT_DIGITS)
    kept /= kept.sum()
    return kept


def apportioned(shares: FloatArray, pulls: int) -> IntArray:
    """Whole pulls by share; what does not divide goes to the largest fractions, the first among equals."""
    exact = shares * pulls
    whole: IntArray = np.floor(exact + ROUNDING).astype(np.int64)
    whole[np.argsort(whole - exact, kind="stable")[: pulls - int(whole.sum())]] += 1
    return whole


def probabilities(given: Any, name: str, axes: int) -> FloatArray:
    """What a user gave for probabilities, checked: one row (``axes`` 1), or rows whose further axes are flattened."""
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} must be a rectangular array of numbers: {error}.") from None
    if array.ndim < axes or array.size == 0:
        raise UsageError(f"{name} has shape {array.shape}; it needs {'a row for each arm' if axes > 1 else 'shares'}.")
    rows: FloatArray = array.reshape(len(array), -1) if axes > 1 else array.reshape(1, -1)
    if not np.isfinite(rows).all() or (rows < 0).any():
        raise UsageError(f"{name} contains a value that is not a probability: it is negative, infinite or NaN.")
    sums = rows.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > SUM_ERROR)
    if len(wrong):
        where = f" in row {wrong[0]}" if axes > 1 else ""
        raise UsageError(f"{name} must sum to one{where}; found {sums[wrong[0]]:g}.")
    normal: FloatArray = rows / sums[:, None]
    return normal if axes > 1 else normal[0]


# ----------------------------------------------------------------------------------------------------------- given laws

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
