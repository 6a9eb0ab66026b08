"""Scopes that are too wide to lay out, and which of them are counted all the same.

A scope of more than `MAX_CELLS` cells is counted sparsely, the cells that occurred.  That is worth it where the node's
factors are small tables and so is every table on the way when variables are summed out one by one: the arms are then
estimated exactly (`whichdo.estimate.elimination`).  Where they are not, no log is long enough, and the arms are left
to be tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.counting.scopes import MAX_CELLS, Reading, cell_count, full_scope, judged, scopes, together
from whichdo.graph.factors import factor_network, surely_together
from whichdo.graph.identify import Route
from whichdo.graph.ordering import min_fill
from whichdo.graph.targets import ByTargets
from whichdo.tables import Radix

if TYPE_CHECKING:
    from whichdo.counting.scopes import Scope
    from whichdo.graph.factors import FactorNetwork
    from whichdo.graph.identify import Verdict
    from whichdo.graph.targets import Targets
    from whichdo.problem import Problem

__all__ = ["MAX_WORK", "counted_scopes", "needed_cells", "wide_networks"]

MAX_WORK = 1 << 24
"""The most cells that all tables of one sum may have together; a fraction of a second for each value of the node."""


def counted_scopes(problem: Problem, reading: Reading = Reading.OURS) -> ByTargets[Scope]:
    """For each target set that looking can estimate, what is counted together, laid out or sparsely."""
    wide = {targets: network.scope for targets, network in wide_networks(problem, reading).items()}
    found = {**scopes(problem, reading), **wide}
    return ByTargets({targets: found[targets] for targets in problem.target_sets if targets in found})


def wide_networks(problem: Problem, reading: Reading = Reading.OURS) -> ByTargets[FactorNetwork]:
    """The networks of targets whose scope is too wide to lay out, but whose sum can be done one variable at a time."""
    measured = _measured(problem, reading).items()
    return ByTargets({targets: found for targets, found in measured if not isinstance(found, int)})


def needed_cells(problem: Problem, targets: Targets, reading: Reading = Reading.OURS) -> int:
    """For targets that no log can settle: the cells of a table they need, or of all where only these are too many."""
    found = _measured(problem, reading).get(targets)
    if isinstance(found, int):
        return found
    return cell_count(problem, full_scope(problem, judged(problem, reading)[targets], reading))


def _measured(problem: Problem, reading: Reading) -> dict[Targets, FactorNetwork | int]:
    """For all targets whose scope is not laid out their network or, where that is too much as well, how many cells."""
    found: dict[Targets, FactorNetwork | int] = problem.remember(
        f"wide networks {reading}",
        lambda: {
            targets: _network(problem, verdict, reading)
            for targets, verdict in judged(problem, reading).items()
            if verdict.route in {Route.ADJUSTMENT, Route.COMPONENT}
            and cell_count(problem, full_scope(problem, verdict, reading)) > MAX_CELLS
        },
    )
    return found


def _network(problem: Problem, verdict: Verdict, reading: Reading) -> FactorNetwork | int:
    sizes = {name: len(values) for name, values in problem.domains.items()}
    least = max((Radix.of(columns, sizes).cells for columns in surely_together(verdict)), default=1)
    if least > MAX_CELLS:
        return least
    cells = together(problem, verdict, reading)
    network = factor_network(verdict, full_scope(problem, verdict, reading), cells, late=True)
    factors = [Radix.of(factor.columns, sizes).cells for factor in network.factors]
    if max(factors) > MAX_CELLS:  # in whatever order the sum is done
        return max(factors)
    turns = [Radix.of(turn, sizes).cells for turn in min_fill(network.summed)]
    if max(turns) > MAX_CELLS:
        return max(turns)
    work = sum(factors) + sum(turns)
    return work if work > MAX_WORK else network
