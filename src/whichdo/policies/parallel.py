"""PARALLEL: look for half the budget and condition, then try what was seen too rarely.

Lattimore, Lattimore and Reid, NIPS 2016, Algorithm 1, for parallel bandits: independent nodes that are all parents of
the reward.  Expected simple regret of order sqrt(m/T log(NT/m)), where m is the least tau of 2 or more such that at
most tau nodes have a value rarer than 1/tau; no policy does better than sqrt(m/T).

It conditions, so it is right wherever E[Y | do(X=x)] = E[Y | X=x] for every node that can be set, which is wherever no
back-door path leads from one to the reward; other graphs are refused.  ``trust=True`` takes the user's word for it.

What the paper leaves open, and what is done: half the budget is rounded down and the second half gets the rest.  A node
with more than two values has an arm and a share for each that it can be set to.  Pulls that do not divide are not
spent, as printed; only where there is less than a pull for each rare arm the rarest get one.  An arm without a pull
keeps its conditional mean, or has none if its value was never seen.  If no arm is rare the rest is spent on looking.
Logged looks count as further looks.  Ties are broken at random.  The authors' program finds m from pairs of node and
value and pulls exactly m arms; here m counts nodes, as printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError
from whichdo.estimate.conditional import conditional, pair_scopes
from whichdo.estimate.rarity import hardness
from whichdo.evidence import observe
from whichdo.policies.base import Objective, Play, Policy, best_arm, refuse_below, refuse_joint, unit_costs
from whichdo.policies.conditioning import rarest_first, refuse_backdoors, whole_shares
from whichdo.policies.registry import register

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray
    from whichdo.evidence import Tally
    from whichdo.problem import Problem


@register("parallel")
@dataclass(frozen=True)
class Parallel(Policy):
    """Lattimore's Algorithm 1, its steps numbered in its order.  ``trust`` skips the check for back-door paths."""

    trust: bool = False
    objective = Objective.SIMPLE

    def __post_init__(self) -> None:
        if not isinstance(self.trust, bool):
            raise UsageError(f"trust is {self.trust!r}; it must be True or False.")

    def check(self, problem: Problem, budget: float) -> None:
        """Conditioning must be right, and there must be a look and a pull at least."""
        refuse_joint(self, problem)
        unit_costs(self, problem)
        if not self.trust:
            refuse_backdoors(self, problem)
        refuse_below(self, budget, 2, "a look and a pull")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """Two batches."""
        look = int(budget) // 2
        seen = seen + (yield observe(look, scopes=pair_scopes(problem)))  # step 1
        looked = conditional(problem, seen)  # step 2: mu^, p^
        m = hardness(_rarest_values(problem, looked.shares), 1)  # step 3: m^
        poor = rarest_first(problem, looked.shares, looked.shares <= 1 / m)  # step 4: the set A
        rest = int(budget) - look
        if not poor:  # nothing is rare: look on
            seen = seen + (yield observe(rest, scopes=pair_scopes(problem)))
            return best_arm(problem, conditional(problem, seen).means, rng)
        tried = yield whole_shares(problem, rest, poor)  # step 5
        return best_arm(problem, np.where(np.isnan(tried.means), looked.means, tried.means), rng)  # step 6


def _rarest_values(problem: Problem, shares: FloatArray) -> list[float]:
    """For each intervenable node the least share among the values that it can be set to."""
    return [float(shares[list(places)].min()) for places in problem.positions.values()]
