"""NB: condition on looks where looking is cheap, try the rare values where it is not.

Nair, Patil and Sinha, AISTATS 2021, gamma-NB-ALG: a look costs 1, every intervention gamma, and no back-door path leads
from a node that can be set to the reward, so that E[Y | do(X=x)] = E[Y | X=x].  With p the probability of the rarest
value and m the least tau of 2 or more such that at most tau pairs (node, value) are rarer than 1/tau, looking alone has
expected simple regret of order sqrt(1/(pB)) and trying the rare pairs sqrt(gamma m/B), up to logarithms.  The two meet
at gamma = 1/(p m); the policy estimates both sides from half the budget and takes the better.

What the paper leaves open, and what is done: gamma is read from the problem's costs, in units of the cost of a look.
``m`` counts pairs, where `parallel` and `srm` count nodes.  Budget that does not divide is not spent; only where there
is less than a pull for each rare arm the rarest get one.  An arm without a pull keeps its conditional mean, or has none
if its value was never seen.  A direct mean replaces the conditional one.  Logged looks count as further looks.  Ties
are broken at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError
from whichdo.estimate.conditional import conditional, pair_scopes
from whichdo.estimate.rarity import hardness
from whichdo.evidence import observe
from whichdo.policies.base import ROUNDING, Objective, Play, Policy, best_arm, refuse_below, refuse_joint
from whichdo.policies.conditioning import one_price, rarest_first, refuse_backdoors, whole_shares
from whichdo.policies.registry import register

if TYPE_CHECKING:
    from whichdo.evidence import Tally
    from whichdo.problem import Problem


@register("nb")
@dataclass(frozen=True)
class NB(Policy):
    """gamma-NB-ALG of Nair et al.; ``trust`` skips the check for back-door paths."""

    trust: bool = False
    objective = Objective.SIMPLE

    def __post_init__(self) -> None:
        if not isinstance(self.trust, bool):
            raise UsageError(f"trust is {self.trust!r}; it must be True or False.")

    def check(self, problem: Problem, budget: float) -> None:
        """One cost for all interventions, conditioning right, and a look and a pull at least."""
        refuse_joint(self, problem)
        look, act = self._prices(problem)
        if not self.trust:
            refuse_backdoors(self, problem)
        refuse_below(self, budget, 2 * max(look, act), f"half of it for looks at {look:g}, half for pulls at {act:g}")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """Two batches."""
        price, act = self._prices(problem)
        look = int(budget / (2 * price) + ROUNDING)
        seen = seen + (yield observe(look, scopes=pair_scopes(problem)))  # half the budget on do()
        looked = conditional(problem, seen)
        pairs = looked.shares[1:]
        m = hardness(pairs, 1)
        poor = rarest_first(problem, looked.shares, looked.shares < 1 / m)
        rest = budget - look * price
        if pairs.min() * m * act >= price or not poor:  # p m >= 1/gamma: looking is the better buy
            seen = seen + (yield observe(int(rest / price + ROUNDING), scopes=pair_scopes(problem)))
            return best_arm(problem, conditional(problem, seen).means, rng)
        tried = yield whole_shares(problem, rest, poor)
        return best_arm(problem, np.where(np.isnan(tried.means), looked.means, tried.means), rng)

    def _prices(self, problem: Problem) -> tuple[float, float]:
        return one_price(self, problem, "srm, or ue or sh")
