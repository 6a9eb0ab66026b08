"""A session: one policy at work on one problem, with the caller making the pulls.

`Session.ask` returns the arms to pull next, `Session.tell` takes the outcomes, and once a batch is complete the policy
decides how to continue.  When the budget is spent, `Session.recommend` names the arm.

What a session asks and recommends is a function of policy, problem, budget, seed, logged looks and outcomes.  Outcomes
may arrive at once, in pieces or pull by pull: the session asks the same, and a new session that receives the same
outcomes is in the same state.  The policy's random generator is ``numpy.random.default_rng(SeedSequence(seed))``.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice, repeat
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from whichdo.counting.told import Desk, Gathering
from whichdo.errors import InputError, ProblemError, UsageError, WhichdoError
from whichdo.evidence import Batch, Detail, Rows, Tally, spending_limit, whole_number
from whichdo.kernels.compiling import uncompiled
from whichdo.policies.base import ROUNDING, Policy, Recommendation, check_policy
from whichdo.policy_names import as_policy
from whichdo.problem import LOOK
from whichdo.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.problem import Arm, Problem


LAST_BITS = 1e-15
"""Of a budget: what sums of costs that come to it may be off by, a whole pull of it only beyond 10^15 pulls."""

MOST_EMPTY = 10_000
FEW_NUMBERS, FEW_ARMS = 1_000, 4_000
"""A built-in policy that works with at most this many numbers decides without the compiler, and decides the same."""


class Session:
    """A policy at work in memory: ask for arms, make the pulls, tell the outcomes.

    Give ``horizon`` or ``budget``, not both.  `whichdo.Campaign` does the same for weeks, on disk.

    Parameters
    ----------
    policy
        A policy, or its name with parameters, such as ``"srm"`` or ``"causal-ts(doubt=0.1)"``.
    problem
        The problem to be played.
    horizon
        The number of pulls, if every arm costs 1.
    budget
        What all pulls may cost together.
    seed
        The seed of the policy's own choices, such as breaking ties.
    seen
        Logged looks, counted by `whichdo.count`; they cost nothing.  It may contain direct pulls too, if the policy's
        ``takes_pulls`` is set.

    Raises
    ------
    UsageError
        If neither or both of ``horizon`` and ``budget`` are given, or ``seen`` belongs to another problem.
    UnsuitableError
        If the policy does not support the problem or the budget.

    Examples
    --------
    >>> import whichdo as wd
    >>> session = wd.Session("ue", wd.Problem("X -> Y", "Y"), horizon=6, seed=1)
    >>> while not session.finished:
    ...     (arm,) = session.ask()
    ...     session.tell(arm, {"Y": int(arm == wd.do(X=1))})  # in practice, the outcome of the pull
    >>> session.recommend().arm
    do(X=1)
    """

    def __init__(
        self,
        policy: Policy | str,
        problem: Problem,
        *,
        horizon: int | None = None,
        budget: float | None = None,
        seed: int = 0,
        seen: Tally | None = None,
    ) -> None:
        played = as_policy(policy)
        self._policy, self._problem = played, problem
        self._budget = spending_limit(problem, horizon, budget)
        self._seen = _at_hand(played, problem, seen)
        check_policy(played, problem, self._budget)
        self._is_small = played.origin is None and played.numbers_read(problem) <= (
            FEW_NUMBERS if played.looks else FEW_ARMS
        )
        self._desk = Desk(problem)
        self._told = Tally.empty(problem)
        self._rows: list[Rows] = []
        self._ignored: dict[str, None] = {}
        self._committed = 0.0, 0.0  # what all batches so far cost, and what that lost to rounding
        self._gathering: Gathering | None = None
        self._final: Recommendation | None = None
        self._failure: str | None = None
        rng = np.random.default_rng(np.random.SeedSequence(whole_number(seed, "seed")))
        self._play = played.play(problem, self._budget, rng, self._seen)
        self._resume(None)

    # --------------------------------------------------------------------------------------------------- ask and tell

    def ask(self, n: int = 1) -> list[Arm]:
        """Return the arms to pull next; the same ones until their outcomes are told.

        Parameters
        ----------
        n
            How many arms to return at most.

        Returns
        -------
        list of Arm
            An arm for each pull.  Fewer than ``n`` if the policy needs these outcomes before it decides on more; empty
            once the session is finished.
        """
        wanted = whole_number(n, "number of arms to ask for")
        self._check_alive()
        owed = self._gathering.owed if self._gathering is not None else {}
        return list(islice(chain.from_iterable(repeat(arm, count) for arm, count in owed.items()), wanted))

    def tell(self, arm: Arm, outcome: object) -> None:
        """Record the outcome of one or more pulls that the session asked for.

        Parameters
        ----------
        arm
            The arm that was pulled.
        outcome
            A row, such as ``{"X": 1, "M": 0, "Y": 1}``, with a value for each node in ``needed``; a list of rows;
            columns, as a dict of arrays, a frame or a path, as for `whichdo.count`; or a `Tally` of this arm's pulls.

        Raises
        ------
        UsageError
            If the session is finished or did not ask for these pulls.  Nothing has changed then.
        InputError
            If the outcome cannot be read.  Nothing has changed then.
        """
        self._check_alive()
        if self._gathering is None:
            raise UsageError(
                f"The session is finished and expects no more outcomes; the row belongs to {arm}. Nothing was changed."
            )
        try:
            told = self._gathering.read(arm, outcome)
        except (UsageError, InputError) as error:
            error.add(after=" Nothing was changed.")
            raise
        self._gathering.add(arm, told)
        self._ignored |= dict.fromkeys(told.extra)
        if not self._gathering.owed:
            self._resume(self._close(self._gathering))

    def recommend(self) -> Recommendation:
        """Return the arm that the policy names, and what it believes of every arm.

        Returns
        -------
        Recommendation
            The arm and the means.

        Raises
        ------
        UsageError
            If the session is not finished.
        """
        self._check_alive()
        if self._final is None:
            owed = {} if self._gathering is None else self._gathering.owed
            raise UsageError(
                f"{self._name} is not finished: it waits for {sum(owed.values()):,} pulls, "
                f"{listed(f'{arm} ({count:,})' for arm, count in owed.items())}; {self.spent:g} of its budget of "
                f"{self._budget:g} is spent. Continue to ask and tell."
            )
        return self._final

    # -------------------------------------------------------------------------------------------------- how it stands

    @property
    def finished(self) -> bool:
        """True once the policy has recommended an arm."""
        return self._final is not None

    @property
    def batch(self) -> Batch:
        """The pulls that are outstanding, and the detail the policy needs; no arms once finished."""
        if self._gathering is None:
            return Batch((), ())
        owed, asked = self._gathering.owed, self._gathering.batch
        return Batch(tuple(owed), tuple(owed.values()), asked.detail, asked.scopes)

    @property
    def needed(self) -> tuple[str, ...]:
        """The nodes whose values a row must contain now; empty once finished."""
        return () if self._gathering is None else self._gathering.needed

    @property
    def told(self) -> Tally:
        """All outcomes so far, each pull at the detail that the policy asked for; without ``seen``."""
        if self._gathering is None:
            return replace(self._told, rows=_joined(self._rows))
        now = self._gathering.tally()
        rows = [*self._rows, now.rows] if now.rows is not None else self._rows
        return replace(self._told + replace(now, rows=None), rows=_joined(rows))

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns of outcomes that are not observed nodes of the graph; they were not read."""
        return tuple(self._ignored)

    @property
    def spent(self) -> float:
        """The cost of all pulls whose outcomes were told."""
        owed = {} if self._gathering is None else self._gathering.owed
        return fsum((*self._committed, -_cost(self._problem, owed)))

    @property
    def left(self) -> float:
        """What is left of the budget; a policy may not need all of it."""
        return self._budget - self.spent

    def __repr__(self) -> str:
        state = "finished" if self.finished else "failed" if self._failure else f"{self.batch.pulls:,} pulls owed"
        return f"<Session: {self._name}, {state}, {self.spent:g} of {self._budget:g} spent>"

    # ----------------------------------------------------------------------------------------------------- the policy

    @property
    def _name(self) -> str:
        return getattr(self._policy, "name", type(self._policy).__name__)

    def _close(self, done: Gathering) -> Tally:
        """Add a complete batch to the outcomes before it."""
        answer = done.tally()
        self._told = self._told + replace(answer, rows=None)
        if answer.rows is not None:
            self._rows.append(answer.rows)
        self._gathering = None
        return answer

    def _resume(self, answer: Tally | None) -> None:
        try:
            self._decide(answer)
        except BaseException as error:  # a generator that has raised cannot go on
            self._failure = f"{type(error).__name__}: {error}"
            raise

    def _decide(self, answer: Tally | None) -> None:
        """Let the policy go on until it wants pulls or recommends.  Batches of no pulls are answered at once."""
        for _ in range(MOST_EMPTY):
            try:
                with uncompiled(self._is_small):
                    batch = self._play.send(answer)  # type: ignore[arg-type]
                asked = self._accepted(batch)
            except StopIteration as stop:
                self._final = self._recommended(stop.value)
                return
            if asked.owed:
                self._gathering = asked
                return
            answer = asked.tally()
        raise self._fault(f"it asked for no pulls {MOST_EMPTY:,} times in a row")

    def _accepted(self, batch: object) -> Gathering:
        """A batch that keeps to the rules."""
        if not isinstance(batch, Batch):
            raise self._fault(f"it asked for {quoted(repr(batch))}, which is not a Batch")
        try:
            cost = _cost(self._problem, dict(zip(batch.arms, batch.counts, strict=True)))
            for name in chain.from_iterable(batch.scopes or ()):
                self._problem.graph.index(name)
        except WhichdoError as error:
            raise self._fault(str(error)) from error
        if any(len(set(scope)) < len(scope) for scope in batch.scopes or ()):
            raise self._fault("it asked for a scope that names a node twice")
        left = fsum((self._budget, *(-each for each in self._committed)))
        if cost > left + self._rounding(batch):
            raise self._fault(
                f"it asked for {batch.pulls:,} pulls that cost {cost:g}, with {left:g} left of its budget of "
                f"{self._budget:g}"
            )
        asked = Gathering(self._desk, batch)
        if LOOK in batch.arms:
            self._check_seen(asked)
        total = fsum((*self._committed, cost))
        self._committed = total, fsum((*self._committed, cost, -total))
        return asked

    def _rounding(self, batch: Batch) -> float:
        """By how much a batch may exceed the budget: policies round to a billionth of a pull, sums lose bits.

        A budget of 404 times 147,738.95 pays for 404 such pulls, however they add up.
        """
        dearest = max((self._problem.costs[arm] for arm in batch.arms), default=0.0)
        return max(ROUNDING * max(1.0, dearest), LAST_BITS * self._budget)

    def _check_seen(self, asked: Gathering) -> None:
        """Refuse logged looks that are counted by other scopes than new ones will be: the two would not add up."""
        if not self._seen.counts[0].any() or asked.batch.detail is not Detail.TABLES:
            return
        tables = self._seen.tables.get(LOOK, {})
        lacking = [scope for scope in asked.scopes if scope not in tables and scope != (self._problem.reward,)]
        if lacking:
            raise UsageError(
                f"{self._name} counts {listed(lacking[0], most=12)} together, and `seen` has no such table. Count "
                f"the log by what the policy asks for: whichdo.count(problem, data, scopes=session.batch.scopes), with "
                f"a session made without `seen`."
            )

    def _recommended(self, final: object) -> Recommendation:
        if not isinstance(final, Recommendation):
            raise self._fault(f"it returned {quoted(repr(final))}, which is not a Recommendation")
        try:
            self._problem.index(final.arm)
        except ProblemError as error:
            raise self._fault(str(error)) from error
        if final.arm not in self._problem.answers:
            raise self._fault(f"it names {final.arm}, which is not among problem.answers")
        return final

    def _fault(self, what: str) -> UsageError:
        return UsageError(f"The policy {self._name} breaks the rules: {what.rstrip('.')}. Fix the policy.")

    def _check_alive(self) -> None:
        if self._failure is not None:
            raise UsageError(
                f"The policy {self._name} failed, so the session cannot go on ({self._failure}). "
                f"`told` still has all outcomes."
            )


def _at_hand(policy: Policy, problem: Problem, seen: Tally | None) -> Tally:
    if seen is None:
        return Tally.empty(problem)
    if not isinstance(seen, Tally):
        raise UsageError(f"`seen` is a {type(seen).__name__}; give a Tally: whichdo.count(problem, data) counts a log.")
    if seen.problem != problem:
        raise UsageError("`seen` was counted for another problem. Count the log again for this one.")
    done = [str(arm) for arm in seen.levels if not arm.is_look]
    if done and not policy.takes_pulls:
        raise UsageError(f"`seen` contains pulls of {listed(done)}; the policy takes only looks, pulls of do().")
    return seen


def _cost(problem: Problem, counts: Mapping[Arm, int]) -> float:
    for arm in counts:
        problem.index(arm)
    return fsum(problem.costs[arm] * count for arm, count in counts.items())


def _joined(rows: list[Rows]) -> Rows | None:
    if not rows:
        return None
    return Rows(np.concatenate([each.arms for each in rows]), np.concatenate([each.codes for each in rows]))
