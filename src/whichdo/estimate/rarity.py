"""Rarity and hardness: how much of a problem looking alone can serve.

The *rarity* q of a target set, one node in the paper, is the probability of its rarest cell: the least likely joint
value of the node and of everything that must be counted together with it.  The *hardness* m of the paper's Section 3
turns all the q into one number: looking serves all nodes but the m rarest, and those must be tried.  The code is the
same for the true q of a network and for q counted in samples.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from whichdo.graph.components import with_parents
from whichdo.graph.identify import Route, verdicts
from whichdo.problem import per_problem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from whichdo.arrays import IntArray
    from whichdo.graph.identify import Verdict
    from whichdo.graph.targets import ByTargets
    from whichdo.problem import Problem
    from whichdo.tables import Scope


@per_problem
def judged(problem: Problem, *, restrict: bool = False) -> ByTargets[Verdict]:
    """The paper's verdict on each target set: in the whole graph, unless the node fails Assumption 3 there.

    With ``restrict`` always among what acts on the reward.  What only complete identification settles is tried.
    """
    return verdicts(problem.graph, problem.reward, problem.target_sets, restrict=restrict)


def rarity_scopes(problem: Problem, *, plain: bool = False) -> list[Scope | None]:
    """For each target set the nodes whose joint cells decide its q; None where looking settles nothing.

    Parents that no back-door path needs are dropped in graphs without any hidden confounder, as the paper's footnote
    has it; ``plain`` never drops one.  An empty scope means that nothing about the node is rare.
    """
    found: list[Scope | None] = []
    for verdict in judged(problem).values():
        if verdict.route is Route.TRY:
            found.append(None)
        elif verdict.route is Route.SAME:
            found.append(())
        else:
            whole = plain or problem.graph.bidirected
            names = with_parents(verdict.within, verdict.component) if whole else (*verdict.acting, *verdict.given)
            found.append(tuple(sorted(names, key=problem.graph.index)))
    return found


@per_problem
def c_sizes(problem: Problem) -> IntArray:
    """k: the size of each target set's c-component in the graph that `rarity_scopes` counts it in."""
    return np.array([len(verdict.component) for verdict in judged(problem).values()], np.int64)


def hardness(q: ArrayLike, k: ArrayLike) -> int:
    """Smallest m >= 2 such that at most m nodes are rarer than 1/m.

    The paper's m(C), Section 3: the least integer tau with at most tau nodes i of q_i ** k_i < 1 / tau.  ``q`` in
    [0, 1], ``k`` the c-component sizes.  Never more than the number of nodes (at least 2).
    """
    rare = np.asarray(q, dtype=np.float64) ** np.asarray(k, dtype=np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        weights = np.append(np.sort(1.0 / np.maximum(rare, 0.0))[::-1], 0.0)
    best = float(np.maximum(np.arange(len(weights)), weights).min())
    return max(2, ceil(best - 1e-9 * best))
