"""What every policy is: a frozen dataclass with one generator method, `play`.

Between two decisions a policy wants a number of pulls and reads back a statistic.  So `play` yields a `Batch` ("pull
these arms so often, I need this much detail back"), receives a `Tally`, and at the end returns a `Recommendation`.

A policy is a function of what it has been told.  It sees no world, no clock, no file and no global random generator.

Arms are positions in ``problem.arms`` wherever many are handled: tallies count by position, and `Batch.at` takes them.
Two things make simulations fast, and neither is a second way to decide.  A batch may carry a *course*, the compiled
steps by which a play goes on, and a simulated world runs it at once (`whichdo.policies.racing`).  A policy that decides
in every round says so by `play_by_round` (`whichdo.policies.sequential`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whichdo.errors import UnsuitableError
from whichdo.evidence import TABLES, Batch, Tally, all_prices
from whichdo.formulas import counted_scopes
from whichdo.policies.allocation import best_of, equal_counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.policies.sequential import Rounds
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope

__all__ = [
    "BEFORE_DOUBT",
    "BEFORE_READINGS",
    "DOUBT",
    "DOUBT_WHEN_NAMING",
    "Objective",
    "Play",
    "Policy",
    "Recommendation",
    "best_arm",
    "check_policy",
    "equal_batch",
    "equal_pulls",
    "look_batch",
    "prices",
    "refuse_below",
    "refuse_joint",
    "unit_costs",
]

ROUNDING = 1e-9
DO = np.zeros(1, np.int64)
"""The position of do(), as a list of one."""
BEFORE_READINGS: Mapping[str, Any] = MappingProxyType({"reading": "graph"})
"""Logs of the time before readings lack one: estimates then leaned on every missing edge."""
BEFORE_DOUBT: Mapping[str, Any] = MappingProxyType({**BEFORE_READINGS, "doubt": 0.0})
"""Those of the time before doubt believed every estimate by looking."""
DOUBT, DOUBT_WHEN_NAMING = 0.5, 0.3
"""How likely the graph or the logs are thought to be wrong, unless a policy is told: by those that earn, and by those
that name an arm at the end, whose pulls reach every arm anyway.  See docs/robustness.md."""


class Objective(StrEnum):
    """What a policy is good at."""

    SIMPLE = "simple"
    """Naming a good arm at the end, whatever was pulled on the way."""
    CUMULATIVE = "cumulative"
    """Pulling good arms all along."""


@dataclass(frozen=True)
class Recommendation:
    """The arm a policy names, and what it believes of every arm (mean utility; NaN where it believes nothing).

    The arm is one of ``problem.answers``: where do() was pruned it is a look, and no answer.

    ``notes`` are what a careful reader would point out, such as an assumption that has not been met.
    """

    arm: Arm
    means: FloatArray
    notes: tuple[str, ...] = ()


Play = Generator[Batch, Tally, Recommendation]


class Policy(ABC):
    """The base of all policies; a subclass is a frozen dataclass whose fields are its parameters."""

    name: ClassVar[str]
    objective: ClassVar[Objective]
    looks: ClassVar[bool] = True
    """Whether it learns about arms by looking; one that does not has nothing to be audited in a campaign."""
    takes_pulls: ClassVar[bool] = False
    """Whether `play` uses direct pulls in `seen`; others are given looks alone."""
    revision: ClassVar[int] = 1
    """Counted up whenever the same evidence would lead to other pulls than before: logs of campaigns name it."""
    origin: ClassVar[str | None] = None
    """The package or file that a policy came from; None for one of ours."""
    when_absent: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """For each parameter added since campaigns were first logged, the value with which the policy decides as it did
    without: a log that does not name the parameter is read with it, whatever the default is today."""

    def check(self, problem: Problem, budget: float) -> None:  # noqa: B027 - not every policy has a least budget
        """Raise `UnsuitableError`, naming the least that would do, where the budget or the problem cannot be served."""

    def trusting(self) -> Policy:
        """The same policy for a graph that is known to be right, as those of the paper's experiments are."""
        return self

    @abstractmethod
    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """Spend ``budget`` (in cost units: pulls, where all costs are 1) and recommend; ``seen`` are looks at hand."""

    def numbers_read(self, problem: Problem) -> int:
        """About how many numbers a decision works with, which says whether it is worth a compiler."""
        return len(problem.arms) + (sum(map(problem.cells, counted_scopes(problem))) if self.looks else 0)

    def play_by_round(
        self,
        problem: Problem,  # noqa: ARG002
        budget: float,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
        seen: Tally,  # noqa: ARG002
        saved: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> Rounds | None:
        """`play` as rounds of one pull each, for a policy that decides in every round; None for all others.

        ``saved`` is what `Rounds.saved` gave, where such a play goes on.
        """
        return None


def best_arm(problem: Problem, means: FloatArray, rng: np.random.Generator) -> Recommendation:
    """The arm of the largest mean among the problem's answers; ties are broken at random, NaN is passed over."""
    return Recommendation(problem.arms[best_of(means, rng.random(len(means)), problem.first_answer)], means)


def equal_pulls(problem: Problem, money: float, arms: Iterable[Arm]) -> Batch:
    """Pull the arms equally often for ``money``; what is left buys one more pull each, in the order given."""
    chosen = tuple(arms)
    return Batch(chosen, equal_counts(money, prices(problem, chosen)).tolist())


def equal_batch(problem: Problem, money: float, places: IntArray) -> Batch:
    """As `equal_pulls`, the arms given by position."""
    return Batch.at(problem, places, equal_counts(money, all_prices(problem)[places]))


def look_batch(problem: Problem, count: int, scopes: tuple[Scope, ...]) -> Batch:
    """Look so often, counting the tables of some scopes."""
    return Batch.at(problem, DO, np.array([count]), TABLES, scopes)


def prices(problem: Problem, arms: Iterable[Arm]) -> FloatArray:
    """What a pull of each arm costs."""
    return np.array([problem.costs[arm] for arm in arms], np.float64)


def refuse_below(policy: Policy, budget: float, least: float, why: str) -> None:
    """Refuse a hopeless budget, naming the least that would do."""
    if budget < least - ROUNDING:
        raise UnsuitableError(f"{policy.name} needs a budget of at least {least:g}: {why}. The budget is {budget:g}.")


def check_policy(policy: Policy, problem: Problem, budget: float) -> None:
    """Refuse a problem that leaves nothing to decide, and whatever the policy itself refuses."""
    if len(problem.arms) < 2:
        raise UnsuitableError(
            f"There is nothing to decide: by the graph no arm can be better than do() ({len(problem.pruned):,} were "
            f"pruned). Mend the graph, let other nodes be set, or keep all arms (prune=False)."
        )
    policy.check(problem, budget)


def refuse_joint(policy: Policy, problem: Problem) -> None:
    """Refuse a problem with joint arms, for a policy whose estimates are of one node at a time."""
    arm = problem.first_joint
    if arm is not None:
        raise UnsuitableError(
            f"{policy.name} conditions on one node at a time, and {arm} sets {len(arm.targets)}. Choose a policy for "
            f"any arms, such as warm-halving, srm, causal-ts, sr, sh or ue, or leave joint arms out."
        )


def unit_costs(policy: Policy, problem: Problem) -> None:
    """Refuse a problem whose arms cost differently, for a policy that counts pulls."""
    dear = [arm for arm, cost in problem.costs.items() if cost != 1]
    if dear:
        raise UnsuitableError(
            f"{policy.name} counts pulls, and {dear[0]} costs {problem.costs[dear[0]]:g}. "
            f"Choose a policy that minds costs, such as warm-halving, srm, sr, sh or ue."
        )
