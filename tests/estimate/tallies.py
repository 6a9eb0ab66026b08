"""Tallies of looks from whole joint tables, with an axis for each node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.estimate.shrinkage import unit_scale
from whichdo.evidence import Tally
from whichdo.formulas import Reading, counted_scopes
from whichdo.problem import do
from whichdo.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.problem import Problem
    from whichdo.tables import Scope

Array = np.ndarray[Any, np.dtype[Any]]


def every_scope(problem: Problem) -> tuple[Scope, ...]:
    """What any reading may need, however many rows there are."""
    found = {scope: None for reading in Reading for scope in counted_scopes(problem, reading)}
    return tuple(found)


def tally_of(problem: Problem, joint: Array, scopes: Iterable[Scope] | None = None) -> Tally:
    """The tally of looks of which ``joint`` holds the counts, with an axis for each node in the graph's order."""
    names = problem.graph.nodes
    tables = {}
    for scope in every_scope(problem) if scopes is None else scopes:
        kept = [name for name in names if name in scope]
        left = joint.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in scope))
        tables[scope] = Table.of(scope, left.transpose([kept.index(name) for name in scope]))
    counts = np.zeros((len(problem.arms), len(problem.domains[problem.reward])), joint.dtype)
    counts[0] = joint.sum(axis=tuple(axis for axis, name in enumerate(names) if name != problem.reward))
    return Tally(problem, counts, {do(): tables})


def unit_worth(problem: Problem) -> Array:
    """The worth of each level of the reward, stretched to fill [0, 1]."""
    return unit_scale(np.array(list(problem.rewards.values())))[0]
