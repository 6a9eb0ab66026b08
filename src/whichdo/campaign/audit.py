"""Audits: a few direct pulls of the arms that lead by looking, before they are believed.

Looking is right as far as the graph is.  The alarm hears of a wrong graph only where arms are pulled, and a policy that
trusts looking may never pull the arm it is going to name.  So a tenth of the budget is kept back, and spent on the
leaders once the policy is done.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.campaign.alarm import AUDIT_SHARE
from whichdo.campaign.tickets import Phase
from whichdo.errors import Unsuitable
from whichdo.evidence import Batch
from whichdo.graph.identify import Route
from whichdo.policies.base import Objective, Policy, Recommendation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.campaign.state import State
    from whichdo.campaign.tickets import Pull
    from whichdo.evidence import Tally
    from whichdo.policies.base import Play
    from whichdo.problem import Arm, Problem

__all__ = ["Audit", "audits_owed", "kept_for_audits"]


def kept_for_audits(policy: Policy, problem: Problem, budget: float) -> float:
    """How much of a budget is kept back; nothing where looking settles no arm, or the policy needs it all.

    Policies that never look need no audit, nor do those that earn while they learn: they pull what they believe in.
    """
    settled = any(each.route not in {Route.SAME, Route.TRY} for each in problem.verdicts.values())
    kept = float(int(AUDIT_SHARE * budget))
    if not settled or not policy.looks or policy.objective is not Objective.SIMPLE or kept <= 0:
        return 0.0
    try:
        policy.check(problem, budget - kept)
    except Unsuitable:
        return 0.0
    return kept


def audits_owed(state: State, given_up: Sequence[Pull] = ()) -> dict[Arm, int]:
    """The pulls of the audit that is on which are neither told nor out; nor are those that are ``given_up`` now."""
    number = state.plan.number
    made = Counter(
        pull.arm
        for pull in state.tickets.values()
        if pull.play == number and not pull.extra and pull.phase in (Phase.ASKED, Phase.TOLD)
    ) - Counter(pull.arm for pull in given_up if pull.play == number)
    return {arm: count - made[arm] for arm, count in (state.audits or {}).items() if count > made[arm]}


@dataclass(frozen=True)
class Audit(Policy):
    """So many pulls of some arms.  It believes nothing of its own: the recommendation that was made before stands."""

    pulls: tuple[tuple[Arm, int], ...]
    name = "audit"
    objective = Objective.SIMPLE

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:  # noqa: ARG002
        """One batch; none where the arms to audit were forbidden."""
        if self.pulls:
            yield Batch(tuple(arm for arm, _ in self.pulls), tuple(count for _, count in self.pulls))
        return Recommendation(problem.arms[0], np.full(len(problem.arms), np.nan))
