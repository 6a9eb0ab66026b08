"""IMPORTANCE: draw arms from a fixed mixture and reweight, where the law of the reward's parents is known for each.

Lattimore, Lattimore and Reid, NIPS 2016, Algorithm 2, on any graph.  If P(Pa(Y)=s | a) is known for all arms, every
pull tells about every arm: a row with parents s counts R_a(s) = P(s|a) / Q(s) for arm a, where Q is the law under the
mixture eta.  Expected simple regret of order sqrt(m(eta)/T log(TK)) with m(eta) = max_a E_a[R_a]; eta is chosen to make
that least.

The laws are knowledge beyond the graph and must be given: an array of arms by joint cells of the reward's parents (in
the order of ``problem.arms``; parents as in ``problem.graph.parents(reward)``, the last varying fastest).  In a
simulation ``network.parent_laws(problem)`` has them.

What the paper leaves open, and what is done: the T draws from eta are one multinomial draw.  ``truncation="zero"``, as
printed, drops a row whose weight exceeds B = sqrt(m T / log(2 T K)); "clip" counts it with B, as the authors' program
does by default; "none" leaves it.  eta is optimised unless given.  A hidden cause of the reward would make its mean
given the parents differ from arm to arm: such graphs are refused.  Logged looks are not drawn from eta and are not
used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import inf, log, sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

from whichdo.errors import UnsuitableError, UsageError
from whichdo.evidence import TABLES, Batch
from whichdo.policies.base import Objective, Play, Policy, best_arm, refuse_below, unit_costs
from whichdo.policies.mixture import balanced, given_laws, probabilities, refuse_laws, worst
from whichdo.policies.registry import register

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from whichdo.arrays import FloatArray
    from whichdo.evidence import Tally
    from whichdo.problem import Problem
    from whichdo.tables import Scope


@register("importance")
@dataclass(frozen=True)
class Importance(Policy):
    """Lattimore's Algorithm 2, steps numbered in its order.  Arrays are kept as tuples, so that policies compare."""

    laws: ArrayLike | None = field(default=None, repr=False)
    truncation: Literal["zero", "clip", "none"] = "zero"
    eta: ArrayLike | None = None
    objective = Objective.SIMPLE
    revision = 2

    def __post_init__(self) -> None:
        if self.truncation not in ("zero", "clip", "none"):
            raise UsageError(f"truncation is {self.truncation!r}; it must be zero, clip or none.")
        object.__setattr__(self, "laws", given_laws(self.laws))
        if self.eta is not None:
            object.__setattr__(self, "eta", tuple(probabilities(self.eta, "eta", 1).tolist()))

    def check(self, problem: Problem, budget: float) -> None:
        """The graph must let the laws be used, they must be there and fit, and there must be two pulls."""
        unit_costs(self, problem)
        refuse_laws(self, problem, self.laws, "srm or warm-halving")  # type: ignore[arg-type] # a tuple by now
        self._fit(problem)
        refuse_below(self, budget, 2, "one pull cannot tell two arms apart")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:  # noqa: ARG002
        """One batch."""
        pulls = int(budget)
        drawn = rng.multinomial(pulls, self._eta).tolist()  # steps 1-2: eta, and T draws from it
        scope = (*problem.graph.parents(problem.reward), problem.reward)
        arms = [arm for arm, count in zip(problem.arms, drawn, strict=True) if count]
        tried = yield Batch(tuple(arms), tuple(filter(None, drawn)), TABLES, (scope,))
        gained = _gained(problem, tried, scope)
        return best_arm(problem, (self._weights(pulls) * gained).sum(axis=1) / pulls, rng)  # steps 3-4

    def _fit(self, problem: Problem) -> None:
        """Refuse a mixture that is not of this problem's shape, or reaches too little."""
        if self._eta.shape != (len(problem.arms),):
            raise UnsuitableError(f"eta has {len(self._eta)} shares; this problem has {len(problem.arms)} arms.")
        if self._worst == inf:
            raise UnsuitableError(
                "eta never reaches some cells that an arm of this problem reaches. Give each arm a share."
            )

    @cached_property
    def _laws(self) -> FloatArray:
        return np.array(self.laws, np.float64)

    @cached_property
    def _eta(self) -> FloatArray:
        """The mixture: as given, or the one whose largest E_a[R_a] is least."""
        return balanced(self._laws) if self.eta is None else np.array(self.eta, np.float64)

    @cached_property
    def _worst(self) -> float:
        """m(eta)."""
        return worst(self._laws, self._eta)

    @cached_property
    def _ratios(self) -> FloatArray:
        """R_a(s), with 0/0 = 0."""
        mixed = (self._eta[:, None] * self._laws).sum(axis=0)
        ratios: FloatArray = np.divide(self._laws, mixed, out=np.zeros_like(self._laws), where=mixed > 0)
        return ratios

    def _weights(self, pulls: int) -> FloatArray:
        """R_a(s), cut at B."""
        bound = sqrt(self._worst * pulls / log(2 * pulls * len(self._laws)))
        if self.truncation == "none":
            return self._ratios
        if self.truncation == "clip":
            return np.minimum(self._ratios, bound)
        return np.where(self._ratios <= bound, self._ratios, 0.0)


def _gained(problem: Problem, tried: Tally, scope: Scope) -> FloatArray:
    """The utility that came with each cell of the reward's parents, over all arms."""
    total = sum(tables[scope].dense().count for tables in tried.tables.values())
    utility = np.array(list(problem.utility.values()))
    gained: FloatArray = (np.reshape(total, (-1, len(utility))) * utility).sum(axis=1)
    return gained
