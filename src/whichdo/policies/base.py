"""What every policy is: a frozen dataclass with one generator method, `play`.

Between two decisions a policy wants a number of pulls and reads back a statistic.  So `play` yields a `Batch` ("pull
these arms so often, I need this much detail back"), receives a `Tally`, and at the end returns a `Recommendation`.

A policy is a function of what it has been told.  It sees no world, no clock, no file and no global random generator.

A policy may add a *compiled run*, which makes the very decisions of `play` against a simulated world, only faster; the
conformance tests hold the two together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from whichdo.arrays import WordArray
from whichdo.errors import UnsuitableError
from whichdo.evidence import Batch, Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whichdo.arrays import FloatArray
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope

__all__ = [
    "BEFORE_DOUBT",
    "BEFORE_READINGS",
    "DOUBT",
    "DOUBT_WHEN_NAMING",
    "Arena",
    "Objective",
    "Play",
    "Policy",
    "Recommendation",
    "Run",
    "best_arm",
    "check_policy",
    "equal_pulls",
    "prices",
    "refuse_below",
    "refuse_joint",
    "unit_costs",
    "utilities",
]

ROUNDING = 1e-9
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
Run = Callable[[WordArray, np.random.Generator], tuple[int, float]]
"""One run against the world with this key: the position of the recommended arm, and the money spent."""


class Arena(Protocol):
    """What a simulated world offers to compiled runs: ways to pull, none to peep."""

    bounds: WordArray
    """For `whichdo.kernels.rewards.reward_streams`."""

    def looks(self, scopes: tuple[Scope, ...]) -> Callable[[WordArray], Callable[[int], FloatArray]] | None:
        """For a world's key, a function that looks so often and gives the tables of the scopes, flat, in order.

        The very looks that `play` would get; None where a scope is too wide to lay out.
        """


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

    def compiled_run(self, problem: Problem, budget: float, arena: Arena) -> Run | None:  # noqa: ARG002
        """What `play` does with nothing seen before, in compiled steps; None where there is only `play`."""
        return None


def best_arm(problem: Problem, means: FloatArray, rng: np.random.Generator) -> Recommendation:
    """The arm of the largest mean among the problem's answers; ties are broken at random, NaN is passed over."""
    from whichdo.policies.allocation import best_of

    return Recommendation(problem.arms[best_of(means, rng.random(len(means)), problem.first_answer)], means)


def equal_pulls(problem: Problem, money: float, arms: Iterable[Arm]) -> Batch:
    """Pull the arms equally often for ``money``; what is left buys one more pull each, in the order given."""
    from whichdo.policies.allocation import equal_counts

    chosen = tuple(arms)
    return Batch(chosen, tuple(equal_counts(money, prices(problem, chosen)).tolist()))


def prices(problem: Problem, arms: Iterable[Arm]) -> FloatArray:
    """What a pull of each arm costs."""
    return np.array([problem.costs[arm] for arm in arms], np.float64)


def utilities(problem: Problem) -> FloatArray:
    """What each level of the reward is worth, more is better."""
    return np.array(list(problem.utility.values()), np.float64)


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
