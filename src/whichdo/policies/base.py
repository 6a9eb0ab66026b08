"""What every policy is: a frozen dataclass with one generator method, `play`.

Between two decisions a policy wants a number of pulls and reads back a statistic.  So `play` yields a `Batch` ("pull
these arms so often, I need this much detail back"), receives a `Tally`, and at the end returns a `Recommendation`.

A policy is a function of what it has been told.  It sees no world, no clock, no file and no global random generator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from whichdo.errors import Unsuitable
from whichdo.evidence import Batch, Tally

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.evidence import FloatArray
    from whichdo.problem import Arm, Problem

__all__ = ["Objective", "Play", "Policy", "Recommendation", "best_arm", "equal_pulls", "refuse_below", "unit_costs"]

ROUNDING = 1e-9


class Objective(StrEnum):
    """What a policy is good at."""

    SIMPLE = "simple"
    """Naming a good arm at the end, whatever was pulled on the way."""
    CUMULATIVE = "cumulative"
    """Pulling good arms all along."""


@dataclass(frozen=True)
class Recommendation:
    """The arm a policy names, and what it believes of every arm (mean utility; NaN where it believes nothing)."""

    arm: Arm
    means: FloatArray


Play = Generator[Batch, Tally, Recommendation]


class Policy(ABC):
    """The base of all policies; a subclass is a frozen dataclass whose fields are its parameters."""

    name: ClassVar[str]
    objective: ClassVar[Objective]

    def check(self, problem: Problem, budget: float) -> None:  # noqa: B027 - not every policy has a least budget
        """Raise `Unsuitable`, naming the least that would do, where the budget or the problem cannot be served."""

    @abstractmethod
    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """Spend ``budget`` (in cost units: pulls, where all costs are 1) and recommend; ``seen`` are looks at hand."""


def best_arm(problem: Problem, means: FloatArray, rng: np.random.Generator) -> Recommendation:
    """The arm of the largest mean; ties are broken at random, arms without a mean are passed over."""
    best = np.flatnonzero(means == np.nanmax(means))
    return Recommendation(problem.arms[int(rng.choice(best))], means)


def equal_pulls(problem: Problem, money: float, arms: Iterable[Arm]) -> Batch:
    """Pull the arms equally often for ``money``; what is left buys one more pull each, in the order given."""
    chosen = tuple(arms)
    prices = [problem.costs[arm] for arm in chosen]
    each = int(np.floor(money / sum(prices) + ROUNDING))
    left = money - each * sum(prices) + ROUNDING
    counts = []
    for price in prices:
        more = left >= price
        left -= price * more
        counts.append(each + more)
    return Batch(chosen, tuple(counts))


def refuse_below(policy: Policy, budget: float, least: float, why: str) -> None:
    """Refuse a hopeless budget, naming the least that would do."""
    if budget < least - ROUNDING:
        raise Unsuitable(f"{policy.name} needs a budget of at least {least:g}: {why}. The budget is {budget:g}.")


def unit_costs(policy: Policy, problem: Problem) -> None:
    """Refuse a problem whose arms cost differently, for a policy that counts pulls."""
    dear = [arm for arm, cost in problem.costs.items() if cost != 1]
    if dear:
        raise Unsuitable(
            f"{policy.name} counts pulls, and {dear[0]} costs {problem.costs[dear[0]]:g}. Choose ue or sh."
        )
