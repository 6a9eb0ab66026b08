"""Why an arm's estimate is what it is, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.counting.scopes import cell_count, together
from whichdo.graph.identify import Route, listed

if TYPE_CHECKING:
    from whichdo.estimate.interventional import Estimator
    from whichdo.evidence import Tally
    from whichdo.graph.identify import Verdict
    from whichdo.problem import Arm

__all__ = ["reason", "weakest"]


def weakest(model: Estimator, seen: Tally, arm: Arm) -> tuple[str, int] | None:
    """The cell that the arm's estimate knows least about, as text, and how often it was seen.

    With an adjustment only cells with the arm's own value count; through a c-component all do.
    """
    if arm.node is None or arm.node not in model.networks:
        return None
    network = model.networks[arm.node]
    table = model.table(seen, arm.node)
    if table is None or not network.cells:
        return None
    problem = model.problem
    counts = table.sum(axis=tuple(j for j, name in enumerate(network.scope) if name not in network.cells))
    if problem.verdicts[arm.node].route is Route.ADJUSTMENT and arm.value is not None:
        axis = network.cells.index(arm.node)
        only = np.arange(counts.shape[axis]) != problem.domains[arm.node].index(arm.value)
        counts = np.where(np.expand_dims(only, [j for j in range(counts.ndim) if j != axis]), np.inf, counts)
    at = np.unravel_index(int(np.argmin(counts)), counts.shape)
    named = zip(network.cells, at, strict=True)
    return ", ".join(f"{name}={problem.domains[name][code]}" for name, code in named), int(counts[at])


def reason(model: Estimator, arm: Arm, cell: tuple[str, int] | None) -> str:
    """One sentence on how the arm is known, or why it is not."""
    if arm.node is None:
        return "the mean of all looks"
    problem = model.problem
    verdict = problem.verdicts[arm.node]
    if verdict.route is Route.SAME:
        return f"{arm.node} does not act on {problem.reward}: the same as do()"
    if verdict.route is Route.TRY:
        return "cannot be learned by looking: " + verdict.reason.split(": ", 1)[1]
    if arm.node not in model.networks:
        scope = {*together(problem, verdict), problem.reward}
        cells = cell_count(problem, tuple(scope))
        return f"{_how(verdict)} needs {cells:,} cells, more than any log fills: try it"
    return f"{_how(verdict)}{_seen(cell)}"


def _how(verdict: Verdict) -> str:
    if verdict.route is Route.ADJUSTMENT:
        return f"adjusting for {listed(verdict.given)}" if verdict.given else "nothing to adjust for"
    tied = [name for name in verdict.component if name != verdict.node]
    others = [name for name in verdict.given if name not in verdict.component]
    if verdict.reward in tied:
        return f"{verdict.node} <-> {verdict.reward} is blocked by {listed(others)}"
    return f"counting {verdict.node} together with {listed([*tied, *others])}, to which hidden causes tie it"


def _seen(cell: tuple[str, int] | None) -> str:
    if cell is None:
        return ""
    text, count = cell
    rows = "no row" if count == 0 else "1 row" if count == 1 else f"{count:,} rows"
    return f": {rows} had {text}"
