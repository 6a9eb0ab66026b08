"""SRM-ALG: look for half the budget, then try what looking serves badly.

Maiti, Nair and Sinha 2022, Algorithm 1, on any ADMG.  Expected simple regret of order sqrt(m/T), up to logarithms,
where m is the hardness of the network: looking serves all nodes but the m rarest.

What the paper leaves open, and what is done: half the budget is rounded down.  do() has the plain mean of the looks.
If no node is badly seen the rest is spent on looking, and everything is estimated from all looks.  Pulls that do not
divide go to the rarest arms first; an arm without a pull keeps its estimate.  A direct mean replaces the estimate, as
printed.  Ties are broken at random.  A node that looking cannot settle has rarity 0, so that it is always tried.
``second_phase="rejects"`` runs successive rejects on the badly seen arms instead of pulling them equally often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from whichdo.counting.scopes import Reading
from whichdo.errors import UsageError
from whichdo.estimate.interventional import estimator
from whichdo.estimate.rarity import c_sizes, hardness
from whichdo.evidence import observe
from whichdo.policies.base import Objective, Play, Policy, best_arm, equal_pulls, refuse_below, unit_costs
from whichdo.policies.registry import register
from whichdo.policies.rejects import rejects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.evidence import FloatArray, Tally
    from whichdo.problem import Arm, Problem

__all__ = ["SRM"]


@register("srm")
@dataclass(frozen=True)
class SRM(Policy):
    """SRM-ALG; step numbers are those of the paper's Algorithm 1."""

    second_phase: Literal["uniform", "rejects"] = "uniform"
    objective = Objective.SIMPLE

    def __post_init__(self) -> None:
        if self.second_phase not in ("uniform", "rejects"):
            raise UsageError(f"second_phase is {self.second_phase!r}; it must be uniform or rejects.")

    def check(self, problem: Problem, budget: float) -> None:
        """One look and one pull at least."""
        unit_costs(self, problem)
        refuse_below(self, budget, 2, "a look and a pull")

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        """Two batches, or one a reject."""
        scopes = estimator(problem, Reading.PAPER).scopes
        look = int(budget) // 2
        seen = seen + (yield observe(look, scopes=scopes))  # steps 1-3
        means, q = _estimates(problem, seen)  # steps 4-5
        k = c_sizes(problem)
        m = hardness(q, k)  # step 6
        poor = _arms_on(problem, q, (q**k < 1 / m).tolist())  # step 7: the set Q, rarest first
        rest = int(budget) - look
        if not poor:  # nothing is badly seen: look on
            seen = seen + (yield observe(rest, scopes=scopes))
            return best_arm(problem, _estimates(problem, seen)[0], rng)
        if self.second_phase == "rejects" and len(poor) > 1 and rest > len(poor):
            _, tried = yield from rejects(problem, poor, rest, rng)
        else:
            tried = yield equal_pulls(problem, rest, poor)  # steps 8-9
        direct = tried.means  # steps 10-11
        return best_arm(problem, np.where(np.isnan(direct), means, direct), rng)


def _estimates(problem: Problem, seen: Tally) -> tuple[FloatArray, FloatArray]:
    """The mean of every arm from looking, do() plainly averaged; and the rarity of every node."""
    utility = np.array(list(problem.utility.values()))
    looked = estimator(problem, Reading.PAPER).from_tally(seen, utility)
    means = looked.means.copy()
    if looked.looks:
        means[0] = seen.means[0]
    return means, looked.rarest / max(looked.looks, 1.0)


def _arms_on(problem: Problem, q: FloatArray, chosen: Sequence[bool]) -> list[Arm]:
    """All arms on the chosen nodes, the rarest node first."""
    nodes = list(problem.intervene)
    order = [int(j) for j in np.argsort(q, kind="stable") if chosen[j]]
    by_node: dict[str, list[Arm]] = {name: [] for name in nodes}
    for arm in problem.arms[1:]:
        by_node[str(arm.node)].append(arm)
    return [arm for j in order for arm in by_node[nodes[j]]]
