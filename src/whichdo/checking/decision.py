"""What the edits of a graph mean for the decision, in numbers and in words."""

from __future__ import annotations

import os
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.checking.edits import EditOutcome, Predictions, Pulls, pulls_to_tell
from whichdo.errors import TooLargeError
from whichdo.estimate.arm_rank import decimals
from whichdo.estimate.contest import leaders
from whichdo.estimate.shrinkage import reward_scale
from whichdo.files import DRAWING, write_file
from whichdo.frames import frame_of
from whichdo.problem import Arm, Goal, Problem
from whichdo.text import counted, listed, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.checking.edits import Edit
    from whichdo.drawing.svg import Edge


NAMED = 4
"""How many edits the headline names."""
SHOWN = 40
"""How many edits a printed table shows."""


MOST_DRAWN = 12
"""Missing edges that a drawing shows, those that matter most."""
TIE = 1e-9
"""Means that are closer are the same: other formulas add the same numbers in another order."""


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
        return _headline(self)

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
        return _table_text(self)

    def __repr__(self) -> str:
        kept = sum(each.keeps for each in self.edits)
        return f"<WhatIf: {self.choice} stays the choice in {kept:,} of {len(self.edits):,} edits>"

    def _repr_html_(self) -> str:
        return _table_html(self)


# ------------------------------------------------------------------------------------------------------------ words


def _headline(found: WhatIf) -> tuple[str, ...]:
    """The answer in a few sentences: how many edits keep the choice, which do not, and what would settle those."""
    edits = found.edits
    if not edits:
        return (f"Nothing can be edited: only {found.problem.reward} itself is there.",)
    if found.choice is None:
        return _without_choice(found)
    others = [each for each in edits if not each.keeps]
    same = f"The best arm, {found.choice}, is the same in "
    if not others:
        return (f"{same}{'the only edit' if len(edits) == 1 else f'all {len(edits):,} edits'}.", *_denied(found))
    opening = f"{same}{len(edits) - len(others):,} of {counted(len(edits), 'edit')}"
    left = sorted((each for each in others if not each.refuted), key=_weight, reverse=True)
    parts = [opening]
    gone = len(others) - len(left)
    if gone:
        parts.append(f"{_share(gone, len(others))} contradicted by the logs")
    if left:
        parts.append(f"{_those(len(left), gone, len(others))} {listed(map(_edge, left), NAMED + 1)}")
    return (f"{'; '.join(parts)}.", *_trying(found, left), *_settling(left), *_denied(found))


def _denied(found: WhatIf) -> tuple[str, ...]:
    """That the logs contradict the graph itself."""
    allowed = sum(not each.refuted for each in found.edits)
    if not found.refuted:
        return ()
    rest = f"; {counted(allowed, 'edit')} would end that" if allowed else ", and no single edit ends that"
    return (f"The logs contradict the graph as it is (whichdo check says where){rest}.",)


def _without_choice(found: WhatIf) -> tuple[str, ...]:
    named = [each for each in found.edits if each.best is not None and not each.refuted]
    opening = "The graph as it is leaves nothing to compare, so there is no choice to lose"
    if not named:
        return (f"{opening}; no edit changes that.",)
    return (f"{opening}; {counted(len(named), 'edit')} would name a best arm, {_edge(named[0])} for one.",)


def _weight(each: EditOutcome) -> tuple[bool, float]:
    """What must be tried first, then by regret."""
    return each.regret is None, each.regret or 0.0


def _edge(each: EditOutcome) -> str:
    """``X <-> Y`` where it is added, ``no X -> Y`` where it is dropped."""
    return each.change.edge if each.change.adds else f"no {each.change.edge}"


def _share(part: int, whole: int) -> str:
    """``the other is``, ``2 of the 3 others are``."""
    if part == whole:
        return "the other is" if whole == 1 else f"the {whole:,} others are"
    return f"{part:,} of the {whole:,} others {'is' if part == 1 else 'are'}"


def _those(left: int, gone: int, others: int) -> str:
    if gone:
        return "the one left is" if left == 1 else f"the {left:,} left are"
    return "the other is" if others == 1 else f"the {others:,} others are"


def _trying(found: WhatIf, left: Sequence[EditOutcome]) -> tuple[str, ...]:
    """How many edits leave the choice itself without a formula."""
    unknown = sum(each.regret is None for each in left)
    if not unknown:
        return ()
    which = "it" if len(left) == 1 else "all of them" if unknown == len(left) else f"{unknown:,} of them"
    return (f"Under {which} {found.choice} cannot be settled by looking; it would have to be tried.",)


def _settling(left: Sequence[EditOutcome]) -> tuple[str, ...]:
    """What would settle the edits that are left: those that the fewest pulls settle first."""
    settled = [each.settled_by for each in left if each.settled_by is not None]
    if not left:
        return ()
    if not settled:
        return ("No number of pulls can be named: the means in question differ by less than the error of looking.",)
    cheapest = min(settled, key=lambda each: each.pulls)
    together = [each for each in settled if each.arm == cheapest.arm]
    most = max(each.pulls for each in together)
    what = f"{rounded(most)} pulls of {cheapest.arm}" if most > 1 else f"One pull of {cheapest.arm}"
    which = "it" if len(left) == 1 else "them" if len(together) == len(left) else f"{len(together):,} of them"
    return (f"About {what} would settle {which}." if most > 1 else f"{what} would settle {which}.",)


# --------------------------------------------------------------------------------------------------------------- tables


def titles(found: WhatIf) -> tuple[str, ...]:
    """The heads of the table, with the reward's unit."""
    choice, regret = map(found.problem.in_unit, ("today's choice then", "regret"))
    return ("edit", "best arm then", choice, regret, "the logs", "settled by")


def cells(found: WhatIf, each: EditOutcome) -> tuple[str, ...]:
    """One edit as a row of text, a cell for each of `titles`."""
    untried = "to be tried" if found.choice is not None else ""
    return (
        each.edit,
        "nothing to compare" if each.best is None else f"{each.best} {found.written(each.best_estimate)}",
        untried if each.estimate is None else found.written(each.estimate),
        "" if each.regret is None else "0" if each.keeps else found.written(each.regret),
        {True: "contradict it", False: "allow it", None: "not tested"}[each.refuted],
        "" if each.settled_by is None else f"{rounded(each.settled_by.pulls)} x {each.settled_by.arm}",
    )


def _table_text(found: WhatIf) -> str:
    """The sentences and the first rows, for a terminal."""
    rows = [titles(found), *(cells(found, each) for each in found.ordered[:SHOWN])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*found.summary, "", *lines, *_more(found)])


def _table_html(found: WhatIf) -> str:
    """The same for a notebook, with the graph drawn where that can be read; what keeps the choice is folded away."""
    said = "".join(f"<p>{escape(line)}</p>" for line in found.summary)
    shown = found.ordered[:SHOWN]
    keeping = [each for each in shown if each.keeps]
    folded = ""
    if keeping:
        left = sum(each.keeps for each in found.edits)
        what = f"{counted(left, 'edit')} that {'keeps' if left == 1 else 'keep'} the choice"
        folded = (
            f"<details><summary>{what}</summary>{_rows(found, keeping, headed=len(keeping) == len(shown))}</details>"
        )
    more = "".join(f"<p>{escape(line)}</p>" for line in _more(found))
    return f"{said}{_drawing(found)}{_rows(found, [each for each in shown if not each.keeps])}{folded}{more}"


def _rows(found: WhatIf, some: Sequence[EditOutcome], *, headed: bool = True) -> str:
    if not some:
        return ""
    head = "".join(f"<th style='text-align:left'>{escape(title)}</th>" for title in titles(found))
    head = f"<thead><tr>{head}</tr></thead>" if headed else ""
    body = "".join(f"<tr{_style(each)}>{_row(found, each)}</tr>" for each in some)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _drawing(found: WhatIf) -> str:
    try:
        return f"<div style='overflow-x:auto'>{found.svg()}</div>"
    except TooLargeError:
        return ""


def _row(found: WhatIf, each: EditOutcome) -> str:
    return "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in cells(found, each))


def _style(each: EditOutcome) -> str:
    """What matters stands out, what the logs contradict steps back; readable on light and on dark."""
    return " style='font-weight:600'" if each.matters else " style='opacity:.6'" if each.refuted else ""


def _more(found: WhatIf) -> list[str]:
    left = len(found.edits) - SHOWN
    more = [f"... and {left:,} more; to_frame() has all."] if left > 0 else []
    return [*more, found.problem.legend] if found.problem.labels else more
