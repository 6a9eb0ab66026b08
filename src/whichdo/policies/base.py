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
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from whichdo.errors import UnsuitableError
from whichdo.evidence import TABLES, Batch, Tally, all_prices
from whichdo.formulas import counted_scopes
from whichdo.policies.allocation import best_of, equal_counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whichdo.arrays import CodeArray, FloatArray, IntArray
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope


ROUNDING = 1e-9
DO = np.zeros(1, np.int64)
"""The position of do(), as a list of one."""
BEFORE_READINGS: Mapping[str, Any] = MappingProxyType({"reading": "graph"})
"""Logs of the time before readings lack one: estimates then leaned on every missing edge."""
BEFORE_DOUBT: Mapping[str, Any] = MappingProxyType({**BEFORE_READINGS, "doubt": 0.0})
"""Those of the time before doubt believed every estimate by looking."""
DOUBT, DOUBT_WHEN_NAMING = 0.5, 0.3
"""The default ``doubt``, how likely the graph or the logs are thought to be wrong: of policies that earn, and of those
that name an arm at the end, whose pulls reach every arm anyway.  See docs/robustness.md."""


class Objective(StrEnum):
    """What a policy is good at: the kind of regret that it keeps small."""

    SIMPLE = "simple"
    """Naming a good arm at the end, whatever was pulled on the way."""
    CUMULATIVE = "cumulative"
    """Pulling good arms all along."""


@dataclass(frozen=True)
class Recommendation:
    """The arm that a policy names, and what it believes of every arm.

    Parameters
    ----------
    arm
        One of ``problem.answers``: where do() was pruned it is only a way to look.
    means
        The mean utility of each arm, in the order of ``problem.arms``; NaN where the policy believes nothing.
    notes
        What a careful reader would point out, such as an assumption that has not been met.
    """

    arm: Arm
    means: FloatArray
    notes: tuple[str, ...] = ()


Play = Generator[Batch, Tally, Recommendation]
"""What `Policy.play` is: it yields batches, receives tallies, and returns the recommendation."""


class ByRound(Protocol):
    """A play that decides every round: `whichdo.policies.sequential.Rounds`."""

    left: float
    """The budget left."""
    columns: list[int]
    """The nodes, by position in the graph, whose values `take` receives where ``reads`` is set."""

    @property
    def arm(self) -> int:
        """The position of the arm to pull."""

    @property
    def over(self) -> bool:
        """Whether the budget does not pay for it."""

    @property
    def reads(self) -> bool:
        """Whether the policy reads the row of this pull, beside the reward."""

    @property
    def scopes(self) -> tuple[Scope, ...] | None:
        """What logs must be counted by for it to begin; None for what estimates of the problem's arms need."""

    def take(self, level: int, row: CodeArray) -> None:
        """Take in the outcome of the pull."""

    def run(self, arena: Any) -> None:
        """Play all rounds against a simulated world."""

    def saved(self) -> dict[str, Any] | None:
        """What another process can go on from; None where the state of the policy is not arrays."""

    def recommendation(self) -> Recommendation:
        """The arm that the policy names now."""


class Policy(ABC):
    """The base of all policies; a subclass is a frozen dataclass whose fields are its parameters.

    `whichdo.policy` makes one by name; docs/add-a-policy.md is a recipe for writing one.

    Attributes
    ----------
    name
        The name by which the policy is registered, such as ``"srm"``.
    objective
        Whether it keeps simple or cumulative regret small.
    """

    name: ClassVar[str]
    objective: ClassVar[Objective]
    looks: ClassVar[bool] = True
    """Whether it learns about arms by looking.  A campaign has nothing to audit in one that does not."""
    takes_pulls: ClassVar[bool] = False
    """Whether `play` uses direct pulls in ``seen``; others receive only looks."""
    revision: ClassVar[int] = 1
    """Raised whenever the same evidence would lead to other pulls than before; logs of campaigns record it."""
    origin: ClassVar[str | None] = None
    """The package or file that a policy came from; None for a built-in one."""
    when_absent: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """For each parameter added since campaigns were first logged, the value with which the policy decides as it did
    without: a log that does not name the parameter is read with it, whatever the default is today."""

    def check(self, problem: Problem, budget: float) -> None:  # noqa: B027 - not every policy has a least budget
        """Refuse a problem or a budget that the policy does not support.

        Parameters
        ----------
        problem
            The problem to be played.
        budget
            What all pulls may cost together.

        Raises
        ------
        UnsuitableError
            If the policy does not support the problem or the budget; the message names the least that would do.
        """

    def trusting(self) -> Policy:
        """Return the same policy for a graph that is known to be right, as in the paper's experiments."""
        return self

    @abstractmethod
    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """Spend a budget and recommend an arm: a generator that yields batches and receives tallies.

        Parameters
        ----------
        problem
            The problem to be played.
        budget
            What all pulls may cost together; the number of pulls, where every arm costs 1.
        rng
            The only source of randomness.
        seen
            Logged looks, and earlier pulls if ``takes_pulls`` is set.

        Returns
        -------
        Play
            A generator of batches; it returns the recommendation.
        """

    def numbers_read(self, problem: Problem) -> int:
        """Estimate how many numbers a decision works with, which decides whether the compiler is loaded.

        Parameters
        ----------
        problem
            The problem to be played.

        Returns
        -------
        int
            A rough count.
        """
        return len(problem.arms) + (sum(map(problem.cells, counted_scopes(problem))) if self.looks else 0)

    def play_by_round(
        self,
        problem: Problem,  # noqa: ARG002
        budget: float,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
        seen: Tally,  # noqa: ARG002
        saved: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> ByRound | None:
        """Play round by round, if the policy decides in every round.

        Parameters
        ----------
        problem, budget, rng, seen
            As for `play`.
        saved
            What `ByRound.saved` returned, to continue such a play.

        Returns
        -------
        ByRound or None
            `play` as rounds of one pull each; None for a policy that plays in batches.
        """
        return None


def best_arm(problem: Problem, means: FloatArray, rng: np.random.Generator) -> Recommendation:
    """Recommend the arm of the largest mean among the problem's answers.

    Parameters
    ----------
    problem
        The problem that is played.
    means
        The mean utility of each arm, in the order of ``problem.arms``; NaN for an arm that is not to be named.
    rng
        Breaks ties.

    Returns
    -------
    Recommendation
        The arm, with the means.

    Examples
    --------
    >>> import numpy as np
    >>> import whichdo as wd
    >>> wd.best_arm(wd.Problem("X -> Y", "Y"), np.array([0.5, 0.4, 0.7]), np.random.default_rng(0)).arm
    do(X=1)
    """
    return Recommendation(problem.arms[best_of(means, rng.random(len(means)), problem.first_answer)], means)


def equal_pulls(problem: Problem, budget: float, arms: Iterable[Arm]) -> Batch:
    """Make a batch that pulls some arms equally often for a budget.

    Parameters
    ----------
    problem
        The problem that is played.
    budget
        What the batch may cost.  What is left over buys one more pull each, in the order given.
    arms
        The arms to pull.

    Returns
    -------
    Batch
        The pulls; only their rewards are asked for.

    Examples
    --------
    >>> import whichdo as wd
    >>> problem = wd.Problem("X -> Y", "Y")
    >>> wd.equal_pulls(problem, 8, problem.arms).counts
    (3, 3, 2)
    """
    chosen = tuple(arms)
    return Batch(chosen, equal_counts(budget, prices(problem, chosen)).tolist())


def equal_batch(problem: Problem, budget: float, places: IntArray) -> Batch:
    """As `equal_pulls`, the arms given by position."""
    return Batch.at(problem, places, equal_counts(budget, all_prices(problem)[places]))


def look_batch(problem: Problem, count: int, scopes: tuple[Scope, ...]) -> Batch:
    """Look so often, counting the tables of some scopes."""
    return Batch.at(problem, DO, np.array([count]), TABLES, scopes)


def prices(problem: Problem, arms: Iterable[Arm]) -> FloatArray:
    """The cost of a pull of each arm."""
    return np.array([problem.costs[arm] for arm in arms], np.float64)


def refuse_below(policy: Policy, budget: float, least: float, why: str) -> None:
    """Refuse a budget that is too small for a policy.

    Parameters
    ----------
    policy
        The policy, for the message.
    budget
        The budget that was given.
    least
        The smallest budget that works.
    why
        The reason, as the end of a sentence.

    Raises
    ------
    UnsuitableError
        If the budget is below the least; the message names it.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.refuse_below(wd.policy("ue"), 2, 3, "every arm is pulled once")
    Traceback (most recent call last):
    whichdo.errors.UnsuitableError: ue needs a budget of at least 3: every arm is pulled once. The budget is 2.
    """
    if budget < least - ROUNDING:
        raise UnsuitableError(f"{policy.name} needs a budget of at least {least:g}: {why}. The budget is {budget:g}.")


def check_policy(policy: Policy, problem: Problem, budget: float) -> None:
    """Refuse a problem that leaves nothing to decide, and whatever the policy itself refuses."""
    if len(problem.arms) < 2:
        raise UnsuitableError(
            f"There is nothing to decide: by the graph no arm can be better than do() ({len(problem.pruned):,} were "
            f"pruned). Correct the graph, let other nodes be set, or keep all arms (prune=False)."
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
    """Refuse a problem whose arms do not all cost 1, for a policy that counts pulls.

    Parameters
    ----------
    policy
        The policy, for the message.
    problem
        The problem to be played.

    Raises
    ------
    UnsuitableError
        If an arm does not cost 1.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.unit_costs(wd.policy("ue"), wd.Problem("X -> Y", "Y"))
    """
    costly = [arm for arm, cost in problem.costs.items() if cost != 1]
    if costly:
        raise UnsuitableError(
            f"{policy.name} counts pulls, and {costly[0]} costs {problem.costs[costly[0]]:g}. "
            f"Choose a policy that supports costs, such as warm-halving, srm, sr, sh or ue."
        )
