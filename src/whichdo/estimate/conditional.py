"""What rows that happen to have X=x say: the conditional mean of every arm, and how often its value came.

E[Y | X=x] is E[Y | do(X=x)] only where no back-door path leads from X to the reward (`whichdo.graph.components`).
There it is the simplest estimate by looking, with nothing to adjust for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import UsageError
from whichdo.evidence import utilities
from whichdo.formulas import naive_scope
from whichdo.graph.components import backdoor_path
from whichdo.problem import LOOK, per_problem
from whichdo.tables import Table
from whichdo.text import listed

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray
    from whichdo.evidence import Tally
    from whichdo.problem import Problem
    from whichdo.tables import Scope


@dataclass(frozen=True)
class Conditional:
    """For each arm the mean utility among looks that have its value (NaN where none has), and their share.

    do() has the mean of all looks and the share 1.
    """

    means: FloatArray
    shares: FloatArray


@per_problem
def pair_scopes(problem: Problem) -> tuple[Scope, ...]:
    """Each intervenable node with the reward: what the conditional means are counted from."""
    return tuple(naive_scope(problem, (name,)) for name in problem.intervene)


def conditional(problem: Problem, seen: Tally) -> Conditional:
    """The conditional means and shares of all arms from the pair tables of the looks in ``seen``."""
    looks = float(seen.counts[0].sum())
    utility = utilities(problem)
    counts = levels_given(problem, seen)
    came = counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        means: FloatArray = (counts @ utility) / came
    shares: FloatArray = came / max(looks, 1.0)
    shares[0] = 1.0
    return Conditional(means, shares)


def levels_given(problem: Problem, seen: Tally) -> FloatArray:
    """For each arm how often each reward level came among the looks in ``seen`` that have its value; do() has all."""
    tables = np.concatenate([_table(problem, seen, scope) for scope in pair_scopes(problem)])
    counts: FloatArray = np.concatenate([seen.counts[:1], tables[_rows(problem)]]).astype(np.float64)
    return counts


@per_problem
def first_backdoor(problem: Problem) -> tuple[str, str] | None:
    """The first intervenable node that a back-door path joins to the reward, with the path; None if there is none."""
    for name in problem.intervene:
        path = backdoor_path(problem.graph, name, problem.reward)
        if path is not None:
            return name, path
    return None


def _table(problem: Problem, seen: Tally, scope: Scope) -> Any:
    """The counts of one pair, a row for each value of the node."""
    found = seen.tables.get(LOOK, {}).get(scope)
    sizes = [len(problem.domains[name]) for name in scope]
    if found is None:
        needed = any(name in scope for arm in problem.arms for name in arm.settings)  # arms may have been pruned
        if needed and seen.counts[0].any():
            raise UsageError(
                f"The tally has no table of {listed(scope)}; count with whichdo.count(problem, data), or look with "
                f"detail TABLES and these scopes."
            )
        found = Table(scope, sizes, np.zeros(sizes, np.int64))
    counts = found.dense().count
    return counts.T if scope[0] == problem.reward else counts


@per_problem
def _rows(problem: Problem) -> Any:
    """For each arm but do(), all of which set one node, the row of its value among those of all intervenable nodes."""
    starts, start = {}, 0
    for name in problem.intervene:
        starts[name] = start
        start += len(problem.domains[name])
    settings = [next(iter(arm.settings.items())) for arm in problem.arms[1:]]
    return np.array([starts[name] + problem.domains[name].index(value) for name, value in settings], np.int64)
