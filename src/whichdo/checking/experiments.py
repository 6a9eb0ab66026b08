"""What an experiment must leave alone: the law of everything that does not come after what was set.

Setting X changes only what X acts on.  If a node that is not a descendant of X is distributed otherwise
among direct pulls of do(X=x) than among looks, then an arrow out of X is missing, the pulls were not
made as told, or they come from another population than the looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.problem import LOOK
from whichdo.tables import smallest_table
from whichdo.tables.independence import measure_dependence

if TYPE_CHECKING:
    from whichdo.arrays import IntArray
    from whichdo.evidence import Tally
    from whichdo.graph.targets import Targets
    from whichdo.problem import Arm

__all__ = ["Untouched", "untouched_laws"]


@dataclass(frozen=True)
class Untouched:
    """A node that an experiment should leave alone, compared between looks and direct pulls."""

    targets: Targets
    node: str
    p: float
    """The chance of such a difference if the experiment leaves the node alone."""
    strength: float
    """How many nats a pull tells apart from a look by this node, on average over the fewer of the two."""
    low: float
    """The lower end of its 95% interval."""


def untouched_laws(seen: Tally) -> tuple[Untouched, ...]:
    """Compare each node that is not a descendant of a target set between looks and the arms on that set.

    A node is compared where it was counted, and where both sides have rows; where nothing can be told, it is left out.
    """
    problem = seen.problem
    found = []
    for targets, places in problem.positions.items():
        arms = [LOOK, *(problem.arms[place] for place in places)]
        below = set(problem.graph.descendants(targets))
        for node in problem.graph.nodes:
            if node in below:
                continue
            rows = [_margin(seen, arm, node) for arm in arms]
            counts = np.stack([row for row in rows if row is not None and row.sum()] or [np.zeros(1, np.int64)])
            measured = measure_dependence(counts[None])
            if len(counts) > 1 and not np.isnan(measured.p):
                looks = counts[0].sum() if rows[0] is not None and rows[0].sum() else counts.sum(axis=1).max()
                share = measured.rows / max(min(int(looks), measured.rows - int(looks)), 1)
                found.append(Untouched(targets, node, measured.p, measured.strength * share, measured.low * share))
    return tuple(found)


def _margin(seen: Tally, arm: Arm, node: str) -> IntArray | None:
    """How often each value of a node occurred among the rows of an arm; None where it was not counted."""
    table = smallest_table(seen.tables.get(arm, {}), [node])
    return None if table is None else table.marginal((node,)).dense().count
