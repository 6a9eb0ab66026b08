"""Audits: direct pulls that a campaign makes to find out whether what it was told still holds.

Looking is right as far as the graph is, and logs are right as far as they are up to date.  A policy that trusts both
may never make the pull that would tell.  So a part of the budget is kept back and spent on three things:

fresh looks   before the policy begins on logs, and when pulls contradict what logs say: do() is audited like any arm;
the leader    once the policy is done, direct pulls of the arm that is going to be named;
all arms      with the rest, a race by direct pulls alone, which an arm that looking wrongly holds to be poor can win.

The audit of a policy that is done goes in rounds, so that a race can follow what came of the round before.  Every
round is an ``audited`` event that lists its pulls; a replay runs what is listed and decides nothing again.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.campaign.tickets import Phase
from whichdo.errors import UnsuitableError
from whichdo.formulas import counted_scopes
from whichdo.graph.identify import Route
from whichdo.kernels.compiling import uncompiled
from whichdo.policies.allocation import water_filling
from whichdo.policies.base import prices
from whichdo.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import BoolArray
    from whichdo.campaign.events import Audited
    from whichdo.campaign.register import Pull, Register
    from whichdo.evidence import Tally
    from whichdo.policies.base import Policy
    from whichdo.problem import Arm, Problem


AUDIT_SHARE = 0.1
"""What is kept of a budget where the policy itself doubts what looking says, and so pulls all arms; and where looking
settles nothing or the policy never looks, but takes do() from logs."""
WITHOUT_DOUBT = 0.2
"""The same for policies that take what looking says on trust."""

LEAST = 5
"""Fewer pulls than these are not worth keeping."""
ROUNDS = 3
ENOUGH = 100
"""Direct pulls of an arm that find an error of 0.3 nearly surely; more are not an audit any more."""

TO_COMPARE = 40
"""Fresh looks that are wanted before a contradiction is blamed on the graph."""
PLAUSIBLE = 1.5
"""How many standard errors an arm must be worse by direct pulls to be left out of the race."""


def kept_for_audits(policy: Policy, problem: Problem, budget: float, *, logs: bool) -> float:
    """How much of a budget is kept back; nothing where there is nothing to audit, or the policy needs it all."""
    settled = any(each.route not in {Route.SAME, Route.TRY} for each in problem.verdicts.values())
    if policy.looks and settled:
        share = AUDIT_SHARE if getattr(policy, "doubt", 0.0) > 0 else WITHOUT_DOUBT
    else:
        share = AUDIT_SHARE if logs else 0.0
    kept = float(int(share * budget))
    if kept < LEAST * min(problem.costs.values()):
        return 0.0
    try:
        policy.check(problem, budget - kept)
    except UnsuitableError:
        return 0.0
    return kept


@dataclass
class Audits:
    """What a campaign has audited so far."""

    kept: float
    """What the terms keep for it."""
    planned: float = 0.0
    """What the pulls of all audits cost, but for those that were given up."""
    pulls: dict[Arm, int] | None = None
    """The pulls of the last audit."""
    interim: bool = False
    """Whether the last one were fresh looks on the way, after which the policy goes on."""
    rounds: int = 0
    """How many there were since the policy was done."""
    over: bool = False
    """Whether the log says that there are no more."""

    @property
    def left(self) -> float:
        """What is left of what was kept."""
        return 0.0 if self.over else max(self.kept - self.planned, 0.0)

    def begin(self, pulls: dict[Arm, int], audited: Audited, problem: Problem) -> None:
        """An event of its kind; those of the time before rounds say all there was to audit."""
        self.pulls = pulls
        self.planned += sum(count * problem.prices[arm] for arm, count in pulls.items())
        self.interim = bool(audited.interim)
        if not self.interim:
            self.rounds = ROUNDS if audited.round is None else audited.round
            self.over = self.rounds >= ROUNDS or not pulls

    def owed(self, tickets: Register, play: int, given_up: Sequence[Pull] = ()) -> dict[Arm, int]:
        """The pulls of the audit that is on which are neither told nor out; nor are those that are ``given_up`` now."""
        live = tickets.where(phase=Phase.ASKED) | tickets.where(phase=Phase.TOLD)
        made = Counter(tickets.by_arm(live & tickets.where(play=play, extra=False)))
        made -= Counter(pull.arm for pull in given_up if pull.play == play)
        return {arm: count - made[arm] for arm, count in (self.pulls or {}).items() if count > made[arm]}

    def give_up(self, owed: dict[Arm, int], problem: Problem) -> None:
        """Pulls of the last audit that will not be made."""
        self.planned -= sum(count * problem.prices[arm] for arm, count in owed.items())


def round_of_audits(named: Arm | None, direct: Tally, money: float, *, logged: bool) -> dict[Arm, int]:
    """The pulls of one round: half for the arm that is going to be named, the rest for a race of all arms.

    ``direct`` are pulls of the campaign alone, fresh looks among them; ``logged`` is whether there are logs that do()
    is known from.  The race is of all arms that could be best by these pulls, those with the fewest first.  An arm that
    was pulled a hundred times needs no more, nor does do() where nothing is known from logs.
    """
    problem = direct.problem
    wanted = np.maximum(ENOUGH - direct.pulls, 0)
    if not logged:
        wanted[0] = 0
    counts = np.zeros(len(problem.arms), np.int64)
    price = prices(problem, problem.arms)
    if named is not None:
        place = problem.index(named)
        counts[place] = min(int(money / 2 / price[place]), wanted[place])
    racing = np.flatnonzero(_plausible(direct) & (wanted > counts))
    racing = racing[racing >= problem.first_answer]
    left = money - float(counts @ price)
    if len(racing) and left > 0:
        levels = (direct.pulls + counts)[racing].astype(np.float64)
        with uncompiled():  # one pass over the arms, to the same last bit
            filled = water_filling(levels, price[racing], left)
        counts[racing] += np.minimum(filled, (wanted - counts)[racing])
    return {arm: int(count) for arm, count in zip(problem.arms, counts, strict=True) if count}


def _plausible(direct: Tally) -> BoolArray:
    """The arms that could be best by direct pulls alone; a fair coin's two flips stand in for what is not known."""
    worth = np.array(list(direct.problem.utility.values()))
    mean = (direct.counts @ worth + 1) / (direct.pulls + 2)
    error = np.sqrt(mean * (1 - mean) / (direct.pulls + 3))
    found: BoolArray = mean + PLAUSIBLE * error >= (mean - PLAUSIBLE * error).max()
    return found


@dataclass(frozen=True)
class Audit:
    """So many pulls of some arms, decided beforehand: nothing hangs on what comes of them."""

    pulls: tuple[tuple[Arm, int], ...]
    columns: tuple[str, ...]
    """What a look must say, so that it can be compared with logs; of other pulls only the reward is needed."""


def columns_of_looks(policy: Policy, problem: Problem, budget: float) -> tuple[str, ...]:
    """What a look must say to be of use to estimates and to the policy."""
    wanted = {name for scope in counted_scopes(problem) for name in scope}
    with suppress(UnsuitableError):
        first = Session(policy, problem, budget=budget).batch
        wanted.update(name for scope in first.scopes or () for name in scope)
    return tuple(name for name in problem.graph.nodes if name in wanted or name == problem.reward)
