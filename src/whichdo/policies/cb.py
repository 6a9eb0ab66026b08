"""CB: learn every mechanism of the network, each row by the arm that shows it most often, and compute the arms' means.

Yabe, Hatano, Sumita, Ito, Kakimura, Fukunaga and Kawarabayashi, ICML 2018, CB-ALG, for graphs without hidden causes.
Expected simple regret of order sqrt(max(gamma, N) log(KT) / T) with gamma the least value, over mixtures eta of the
arms, of max_A sum beta_n(pi, A)^2 / sum_B eta_B beta_n(pi, B); beta_n(pi, A) is the probability that the parents of n
take the values pi under an arm A that leaves n free.  It needs three pulls at least for each of the C rows (n, pi).

The paper does not print all of its constants; this is a reconstruction of its three algorithms.  What is left
open, and what is done: nodes may have any number of values, and a row is a distribution.  Nodes that do not act on the
reward are left out, exactly.  The k pulls of each row of one node are one batch, and a row is estimated from all pulls
of that batch that show it; ties for the best arm go to the first, do() before others.  A row never seen is uniform.
``truncation``, the paper's Equation 4, leaves out rows that no arm reaches with that probability; with the published
constant it leaves out all rows for any budget below ten thousand million, so it is off unless given.  ``eta="uniform"``
spends the last third on all arms alike, as the paper reports of its experiments; "optimal" minimises the above.  What
does not divide goes to the largest fractions.  Logged looks are not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Literal

import numpy as np

from whichdo.errors import UnsuitableError, UsageError
from whichdo.estimate.frontier import MAX_NUMBERS, counted, extent, hidden_causes, steps
from whichdo.evidence import TABLES, Batch
from whichdo.policies.base import Objective, Play, Policy, best_arm, refuse_below, unit_costs
from whichdo.policies.mixture import apportioned, balanced
from whichdo.policies.registry import register

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.estimate.frontier import Step
    from whichdo.evidence import Tally
    from whichdo.problem import Problem
    from whichdo.tables import Scope


MAX_ROWS = 1 << 40


@register("cb")
@dataclass(frozen=True)
class CB(Policy):
    """CB-ALG; ``truncation`` is the least probability of a row that is learned, None for all."""

    truncation: float | None = None
    eta: Literal["uniform", "optimal"] = "uniform"
    objective = Objective.SIMPLE

    def __post_init__(self) -> None:
        if self.eta not in ("uniform", "optimal"):
            raise UsageError(f"eta is {self.eta!r}; it must be uniform or optimal.")
        if self.truncation is not None and not (isfinite(self.truncation) and 0 <= self.truncation <= 1):
            raise UsageError(f"truncation is {self.truncation!r}; it must be a probability, or None for none.")

    def check(self, problem: Problem, budget: float) -> None:
        """No hidden causes, a pull of each row in each third, and a frontier that can be kept."""
        unit_costs(self, problem)
        hidden = hidden_causes(problem)
        if hidden:
            raise UnsuitableError(
                f"{self.name} learns each node from its parents, and {' <-> '.join(hidden[0])} is a hidden cause that "
                f"acts on {problem.reward}. Choose srm or warm-halving."
            )
        size = extent(problem)
        if size.rows > MAX_ROWS:
            acting = problem.graph.ancestors([problem.reward])
            most = max(sorted(acting), key=lambda name: len(problem.graph.parents(name)))
            raise UnsuitableError(
                f"{self.name} pulls each row (a node, and values of its parents) 3 times, and there are more than "
                f"{MAX_ROWS:,}: {most} has {len(problem.graph.parents(most))} parents. Choose srm or warm-halving."
            )
        refuse_below(self, budget, 3 * size.rows, f"3 pulls of each of C = {size.rows:,} rows (node, parents' values)")
        if size.numbers > MAX_NUMBERS:
            raise UnsuitableError(
                f"{self.name} would keep more than {MAX_NUMBERS:,} joint probabilities of nodes that later ones need. "
                f"Choose srm or warm-halving."
            )

    def numbers_read(self, problem: Problem) -> int:
        """The laws of mechanisms too."""
        return super().numbers_read(problem) + extent(problem).numbers

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:  # noqa: ARG002
        """One batch a node, and one more."""
        plan = steps(problem)
        each = int(budget) // (3 * extent(problem).rows)
        count = len(problem.arms)
        law = start = np.ones((count, 1))
        again = np.zeros(count, np.int64)
        reached: list[FloatArray] = []
        for step in plan:  # Algorithm 1
            beta, shown = step.parents(law)  # beta~_n(pi, A), and A*(n, pi)
            if self.truncation is not None:
                learned = beta.max(axis=0) >= self.truncation
                beta, shown = beta * learned, shown[learned]
            pulls = each * np.bincount(shown, minlength=count)
            counts = np.zeros((step.rows, step.size), np.int64)
            if len(shown):
                told = yield _batch(problem, pulls, (step.scope,))
                counts = self._counts(told, [step], [beta])[0]
            law = step.onward(law, counts)  # with alpha~_n
            again += pulls
            reached.append(beta)
        pulls = again + self._last_third(reached, int(budget) - 2 * int(again.sum()))
        told = yield _batch(problem, pulls, tuple(step.scope for step in plan))  # Algorithm 2
        law = start
        for step, counts in zip(plan, self._counts(told, plan, reached), strict=True):  # Algorithm 3, with alpha^_n
            law = step.onward(law, counts)
        return best_arm(problem, law @ np.array(list(problem.utility.values())), rng)

    def _counts(self, told: Tally, plan: Sequence[Step], reached: Sequence[FloatArray]) -> list[IntArray]:
        """What the pulls show of each node's rows; nothing of those that are left out."""
        found = counted(told, plan)
        if self.truncation is None:
            return found
        return [counts * beta.any(axis=0, keepdims=True).T for counts, beta in zip(found, reached, strict=True)]

    def _last_third(self, reached: list[FloatArray], pulls: int) -> IntArray:
        """The pulls of each arm by eta."""
        count = len(reached[0])
        uniform = self.eta == "uniform"
        return apportioned(np.full(count, 1 / count) if uniform else balanced(np.concatenate(reached, axis=1)), pulls)


def _batch(problem: Problem, pulls: IntArray, scopes: tuple[Scope, ...]) -> Batch:
    counts = pulls.tolist()
    arms = tuple(arm for arm, count in zip(problem.arms, counts, strict=True) if count)
    return Batch(arms, tuple(filter(None, counts)), TABLES, scopes)
