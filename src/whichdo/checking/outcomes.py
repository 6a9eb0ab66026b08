"""What each edit of a graph does to the decision, and what that comes to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.checking.words import headline, table_html, table_text
from whichdo.estimate.contest import leaders
from whichdo.estimate.limits import normal_quantile
from whichdo.estimate.ranking import decimals
from whichdo.estimate.shrinkage import reward_scale
from whichdo.files import DRAWING, write_file
from whichdo.frames import frame_of
from whichdo.problem import Arm, Goal, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import BoolArray, FloatArray, IntArray
    from whichdo.checking.edits import Edit
    from whichdo.drawing.svg import Edge

__all__ = ["EditOutcome", "Predictions", "Pulls", "WhatIf", "pulls_to_tell"]

REACH = normal_quantile(0.975) + normal_quantile(0.8)
"""How many standard errors a difference must be to be found: 5% two-sided, power 80%."""
MOST_DRAWN = 12
"""Missing edges that a drawing shows, those that matter most."""
TIE = 1e-9
"""Means that are closer are the same: other formulas add the same numbers in another order."""


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

    Parameters
    ----------
    differences
        Between the mean and the prediction.
    spreads
        The variance of one pull.
    errors
        The variance of the prediction, which pulls do not reduce.
    """
    room = (differences / REACH) ** 2 - errors
    enough = room > 0
    needed = np.divide(spreads, room, out=np.full(room.shape, np.inf), where=enough)
    return np.where(np.isnan(needed), np.inf, np.maximum(np.ceil(needed), 1.0))


class WhatIf:
    """The decision under every single edit of a graph; `whichdo.what_if` makes it.

    Printed it is a table, the edits that matter most first; notebooks show it too.

    Attributes
    ----------
    problem
        The problem whose graph was edited.
    choice
        The best arm of the graph as it is; None if nothing can be compared.
    edits
        An outcome for each edit, in the order of `whichdo.checking.edits.single_edits`.
    refuted
        Whether the logs contradict the graph as it is; None if that was not tested.
    looks
        The number of rows that were looks.
    notes
        Remarks on the rows.
    """

    def __init__(
        self,
        problem: Problem,
        edits: Sequence[Edit],
        predictions: Predictions,
        contradicted: Sequence[bool | None],
        *,
        refuted: bool | None,
        looks: int,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.problem = problem
        self.refuted = refuted
        self.looks = looks
        self.notes = notes
        self._sign = -1.0 if problem.goal is Goal.MINIMIZE else 1.0
        _, self._least, self._reach = reward_scale(problem)
        best = leaders(predictions.ranked, self._sign * predictions.means)
        self._choice = int(best[-1])
        self.choice: Arm | None = None if self._choice < 0 else problem.arms[self._choice]
        error = float(np.nanmin(predictions.errors[-1], initial=np.inf))
        self._decimals = decimals(2 * self._reach * error**0.5) if np.isfinite(error) else 3
        self.edits: tuple[EditOutcome, ...] = self._outcomes(edits, predictions, contradicted, best[:-1])

    def _outcomes(
        self, edits: Sequence[Edit], predictions: Predictions, refuted: Sequence[bool | None], best: IntArray
    ) -> tuple[EditOutcome, ...]:
        arms, choice = self.problem.arms, self._choice
        edited = predictions[:-1]
        fewest, pulls = self._settling(predictions[-1:], edited, best)
        found = []
        for row, edit in enumerate(edits):
            means, leader = edited.means[row], int(best[row])
            known = choice >= 0 and bool(edited.ranked[row, choice])
            regret: float | None = None
            if known and leader >= 0:
                gap = self._sign * float(means[leader] - means[choice])
                regret = self._reach * gap if gap > TIE else 0.0
            settled = Pulls(arms[int(fewest[row])], int(pulls[row])) if np.isfinite(pulls[row]) else None
            found.append(
                EditOutcome(
                    edit=str(edit),
                    change=edit,
                    best=None if leader < 0 else arms[leader],
                    best_estimate=None if leader < 0 else self._own(means[leader]),
                    estimate=self._own(means[choice]) if known else None,
                    regret=regret,
                    refuted=refuted[row],
                    settled_by=settled,
                )
            )
        return tuple(found)

    def _settling(self, today: Predictions, edited: Predictions, best: IntArray) -> tuple[IntArray, FloatArray]:
        """For each edit the arm that tells the graphs apart with the fewest pulls, and how many that is."""
        apart = edited.means - today.means
        apart = np.where(np.abs(apart) > TIE, apart, 0.0)
        # Whichever graph is wrong: pulls scatter as the right one says, around what it says.
        needed = np.maximum(
            pulls_to_tell(apart, edited.spreads, today.errors), pulls_to_tell(apart, today.spreads, edited.errors)
        )
        choice = self._choice
        if choice >= 0:
            lost = np.flatnonzero(~edited.ranked[:, choice] & (best >= 0))
            rival = edited[lost, best[lost]]
            needed[lost, choice] = pulls_to_tell(
                rival.means - today.means[0, choice],
                np.full(len(lost), today.spreads[0, choice]),
                rival.errors + today.errors[0, choice],
            )
        arm = needed.argmin(axis=1)
        return arm, needed[np.arange(len(arm)), arm]

    def _own(self, mean: float) -> float:
        """A mean on the reward's own scale."""
        return float(self._least + self._reach * mean)

    def written(self, value: float | None) -> str:
        """Format a number with as many digits as the least error of today's estimates allows.

        Parameters
        ----------
        value
            A mean reward.

        Returns
        -------
        str
            The number; "?" if it is not known.
        """
        return "?" if value is None else f"{value:.{self._decimals}f}"

    @cached_property
    def ordered(self) -> tuple[EditOutcome, ...]:
        """The edits, those first that matter: under which today's choice must be tried, then by regret."""
        return tuple(
            sorted(
                self.edits,
                key=lambda each: (not each.matters, each.keeps, each.regret is not None, -(each.regret or 0)),
            )
        )

    @cached_property
    def summary(self) -> tuple[str, ...]:
        """The answer in a few sentences."""
        return headline(self)

    def columns(self) -> dict[str, list[Any]]:
        """The table by columns, arms as text, in the order of `edits`."""
        rows = [each.to_dict() for each in self.edits]
        names = ("edit", "best", "best_estimate", "estimate", "regret", "refuted", "settled_by", "pulls")
        texts = ("best", "settled_by")
        return {
            name: [row[name]["text"] if name in texts and row[name] is not None else row[name] for row in rows]
            for name in names
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it, an entry for each edit."""
        return {
            "reward": self.problem.reward,
            "goal": str(self.problem.goal),
            "looks": self.looks,
            "choice": None if self.choice is None else self.choice.to_dict(),
            "refuted": self.refuted,
            "summary": list(self.summary),
            "edits": [each.to_dict() for each in self.edits],
            "notes": list(map(str, self.notes)),
        }

    def to_frame(self, backend: str | None = None, *, labels: bool = False) -> Any:
        """Return the table as a data frame.

        Parameters
        ----------
        backend
            "pandas", "polars" or "pyarrow"; by default the first that is installed.
        labels
            Whether to use heads for readers, which say what each column is, with the reward's unit.

        Returns
        -------
        DataFrame
            A row for each edit.
        """
        columns, unit = self.columns(), self.problem.in_unit
        heads = {
            "best": "best arm then",
            "best_estimate": f"its mean {self.problem.label(self.problem.reward)}",
            "estimate": unit("today's choice then"),
            "regret": unit("regret"),
            "refuted": "contradicted by the logs",
            "settled_by": "settled by pulls of",
        }
        return frame_of({heads.get(name, name): each for name, each in columns.items()} if labels else columns, backend)

    def svg(self) -> str:
        """The graph as SVG, its edges coloured by what rests on them; edges whose lack the choice rests on are dotted.

        Raises
        ------
        TooLargeError
            If the graph has too many nodes or edges for a drawing.
        """
        from whichdo.drawing.svg import draw_svg

        graph, reward = self.problem.graph, self.problem.reward
        ends = (end for each in self.edits for end in each.change.ends)
        shown = graph.subgraph([*graph.ancestors([reward]), *ends])
        choice = () if self.choice is None else self.choice.targets
        looks: dict[Edge, str] = {}
        missing: list[Edge] = []
        for each in self.ordered:
            edge = (*each.change.ends, each.change.hidden)
            if not each.change.adds:
                looks[edge] = "idle" if each.keeps else "vouched" if each.refuted else "rests"
            elif each.matters and self.choice is not None and len(missing) < MOST_DRAWN:
                missing.append(edge)
        marks = {name: "choice" for name in choice if name in shown}
        return draw_svg(shown, reward=reward, marks=marks, edges=looks, missing=missing)

    def write_svg(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write `svg` into a file.

        Parameters
        ----------
        path
            The file.  An earlier drawing is replaced.
        force
            Whether to replace any other regular file.
        """
        write_file(Path(os.fspath(path)), self.svg(), DRAWING, force=force)

    def __str__(self) -> str:
        return table_text(self)

    def __repr__(self) -> str:
        kept = sum(each.keeps for each in self.edits)
        return f"<WhatIf: {self.choice} stays the choice in {kept:,} of {len(self.edits):,} edits>"

    def _repr_html_(self) -> str:
        return table_html(self)
