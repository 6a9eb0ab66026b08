"""Why an arm's estimate is what it is, in plain words."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from whichdo.counting.wide import needed_cells
from whichdo.graph.identify import Route, listed

if TYPE_CHECKING:
    from whichdo.estimate.interventional import Estimator, Looked
    from whichdo.graph.identify import Verdict
    from whichdo.problem import Arm

__all__ = ["reason", "weakest"]


def weakest(model: Estimator, looked: Looked, position: int) -> tuple[str, int] | None:
    """What the arm's estimate knows least about: a setting that it conditions on, and how often that was seen."""
    place = looked.weakest_rows[position]
    if not place >= 0:
        return None
    return model.row_text(place), int(looked.weakest[position])


def reason(model: Estimator, looked: Looked, position: int, cell: tuple[str, int] | None, pulls: int) -> str:
    """One sentence on how the arm is known, or why it is not."""
    arm = model.problem.arms[position]
    words = _looking(model, arm, cell, known=not isnan(looked.means[position]))
    if pulls and not arm.is_look:
        words += f"; {pulls:,} direct pull{'s' if pulls > 1 else ''}"
    return words


def _looking(model: Estimator, arm: Arm, cell: tuple[str, int] | None, *, known: bool) -> str:
    if arm.is_look:
        return "the mean of all looks"
    problem = model.problem
    verdict = problem.verdicts[arm.targets]
    if verdict.route is Route.SAME:
        act = "do" if arm.is_joint else "does"
        return f"{listed(arm.targets)} {act} not act on {problem.reward}: the same as do()"
    if verdict.route is Route.TRY:
        joint = verdict.path is None
        return verdict.reason if joint else "cannot be learned by looking: " + verdict.reason.split(": ", 1)[1]
    if arm.targets in model.wide and not known:
        columns = len(model.wide[arm.targets].network.scope)
        return f"{_how(verdict)} needs {columns:,} columns counted together, which this tally does not hold"
    if not known:
        cells = needed_cells(problem, arm.targets)
        return f"{_how(verdict)} needs {cells:,} cells, more than any log fills: try it"
    same = "" if verdict.acting == arm.targets else f"the same as setting {listed(verdict.acting)} alone: "
    return f"{same}{_how(verdict)}{_seen(cell)}"


def _how(verdict: Verdict) -> str:
    if verdict.route is Route.ADJUSTMENT:
        return f"adjusting for {listed(verdict.given)}" if verdict.given else "nothing to adjust for"
    node = verdict.acting[0]
    tied = [name for name in verdict.component if name != node]
    others = [name for name in verdict.given if name not in verdict.component]
    if verdict.reward in tied:
        return f"{node} <-> {verdict.reward} is blocked by {listed(others)}"
    return f"counting {node} together with {listed([*tied, *others])}, to which hidden causes tie it"


def _seen(cell: tuple[str, int] | None) -> str:
    if cell is None or not cell[0]:
        return ""
    text, count = cell
    rows = "no row" if count == 0 else "1 row" if count == 1 else f"{count:,} rows"
    return f": {rows} had {text}"
