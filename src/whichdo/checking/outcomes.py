"""What each edit of a graph does to the decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.estimate.limits import normal_quantile

if TYPE_CHECKING:
    from whichdo.arrays import BoolArray, FloatArray
    from whichdo.checking.edits import Edit
    from whichdo.problem import Arm


REACH = normal_quantile(0.975) + normal_quantile(0.8)
"""How many standard errors a difference must be to be found: 5% two-sided, power 80%."""


@dataclass(frozen=True)
class Predictions:
    """What each graph says of each arm, from looks and pulls together: a row for each graph, that of today last.

    On a scale of the reward from 0 to 1.
    """

    means: FloatArray
    ranked: BoolArray
    """Which arms can be compared."""
    errors: FloatArray
    """The variance of each mean; what was never seen is in it."""
    spreads: FloatArray
    """The variance of one pull."""

    @classmethod
    def empty(cls, rows: int, arms: int) -> Predictions:
        """Nothing known yet."""
        means, errors, spreads = (np.full((rows, arms), np.nan) for _ in range(3))
        return cls(means, np.zeros((rows, arms), bool), errors, spreads)

    def __getitem__(self, at: Any) -> Predictions:
        """Some of the numbers, as of an array."""
        return Predictions(self.means[at], self.ranked[at], self.errors[at], self.spreads[at])


class Pulls(NamedTuple):
    """An arm and how many pulls of it."""

    arm: Arm
    pulls: int


@dataclass(frozen=True)
class EditOutcome:
    """How the decision would change if one edge of the graph were different; unknown values are None.

    Attributes
    ----------
    change
        The edit itself.
    best_estimate
        The mean reward of ``best`` under the edited graph.
    """

    edit: str
    """In words: ``add X <-> Y``."""
    change: Edit
    best: Arm | None
    """The best arm of the edited graph."""
    best_estimate: float | None
    estimate: float | None
    """Of today's choice under the edited graph; None where looking does not settle it there."""
    regret: float | None
    """How much better the best arm of the edited graph is than today's choice; 0 if it is the best there too."""
    refuted: bool | None
    """Whether the logs contradict the edited graph; None where that was not tested."""
    settled_by: Pulls | None
    """The pulls that would tell the edited graph from today's; None if no arm's mean differs enough."""

    @property
    def keeps(self) -> bool:
        """Whether today's choice is the best, or as good, under the edited graph too."""
        return self.regret == 0

    @property
    def matters(self) -> bool:
        """Whether today's choice might be wrong because of it: the choice changes, and the logs do not object."""
        return not self.keeps and not self.refuted

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        return {
            "edit": self.edit,
            "best": None if self.best is None else self.best.to_dict(),
            "best_estimate": self.best_estimate,
            "estimate": self.estimate,
            "regret": self.regret,
            "refuted": self.refuted,
            "settled_by": None if self.settled_by is None else self.settled_by.arm.to_dict(),
            "pulls": None if self.settled_by is None else self.settled_by.pulls,
        }


def pulls_to_tell(differences: FloatArray, spreads: FloatArray, errors: FloatArray) -> FloatArray:
    """How many pulls find that a mean differs from what was predicted; infinite where no number does.

    ``differences``: between the mean and the prediction.
    ``spreads``: the variance of one pull.
    ``errors``: the variance of the prediction, which pulls do not reduce.
    """
    room = (differences / REACH) ** 2 - errors
    enough = room > 0
    needed = np.divide(spreads, room, out=np.full(room.shape, np.inf), where=enough)
    return np.where(np.isnan(needed), np.inf, np.maximum(np.ceil(needed), 1.0))
