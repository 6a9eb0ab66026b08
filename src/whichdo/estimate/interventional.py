"""What looking says about every arm: means, variances, effective sample sizes, all at once.

The mean of an arm is a sum of products of conditional probabilities (`whichdo.estimate.dnet`).  Each is estimated by
add-one smoothing.  The mean is linear in the rows P(. | z), and rows are independent given how often z was seen, so the
variance is a sum over rows.  An arm's *effective size* is the number of direct pulls that would know its mean as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.scopes import Reading, cell_count
from whichdo.errors import UsageError
from whichdo.estimate.dnet import FactorNetwork, factor_networks, look_network
from whichdo.graph.identify import listed
from whichdo.problem import Arm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.counting.scopes import Scope
    from whichdo.evidence import Table, Tally
    from whichdo.kernels.contraction import NetPlan
    from whichdo.problem import Problem

__all__ = ["Estimator", "Looked", "estimator", "interventional"]

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
IntArray = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Looked:
    """What looking says about each arm of the problem, in its order; NaN where it says nothing.

    ``means`` and ``variances`` are on the scale that was asked for; ``shifts`` is how far smoothing moved the means,
    ``doubts`` how far rows that were never seen could move them, ``spreads`` the variance of one pull of the arm.
    ``weakest`` is how often the row was seen that the mean knows least about, ``weakest_rows`` says which
    (`Estimator.row_text`).
    ``rarest`` is the least count among the cells of each intervenable node: 0 where looking settles nothing, all looks
    for a node that does not act on the reward.
    """

    looks: float
    means: FloatArray
    variances: FloatArray
    shifts: FloatArray
    doubts: FloatArray
    weakest: FloatArray
    weakest_rows: FloatArray
    spreads: FloatArray
    rarest: FloatArray

    def errors(self, z: float = 1.0) -> FloatArray:
        """Half the width of an interval of z standard errors; see `docs/decisions/0006-intervals.md`."""
        widths: FloatArray = z * np.sqrt(self.variances + self.shifts**2) + self.doubts
        return widths

    @cached_property
    def sizes(self) -> FloatArray:
        """Effective sizes: how many direct pulls of each arm looking was worth; 0 where it says nothing.

        By the mean square error, what smoothing moved and what was never seen included; never more than the looks.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = self.spreads / (self.variances + self.shifts**2 + self.doubts**2)
        return np.where(np.isfinite(worth), np.minimum(worth, self.looks), 0.0)


def interventional(
    problem: Problem,
    seen: Tally,
    *,
    reading: Reading = Reading.OURS,
    smoothing: float = 1.0,
    threshold: float = 0.0,
) -> Looked:
    """Estimate every arm from the looks in ``seen``, as utility (more is better).

    ``smoothing`` is added to every count; ``threshold`` is the paper's t: a row seen less often is taken as uniform.
    """
    utility = np.array(list(problem.utility.values()))
    return estimator(problem, reading).from_tally(seen, utility, smoothing=smoothing, threshold=threshold)


def estimator(problem: Problem, reading: Reading = Reading.OURS) -> Estimator:
    """The estimator of a problem; made once and remembered with the problem."""
    made: Estimator = problem.remember(f"estimator {reading}", lambda: Estimator(problem, reading))
    return made


class Estimator:
    """The factor networks of a problem, laid out for the kernel."""

    def __init__(self, problem: Problem, reading: Reading = Reading.OURS) -> None:
        self.problem = problem
        self.networks = factor_networks(problem, reading)
        distinct = {name: network for name, network in self.networks.items() if network.node is not None}
        nets = [look_network(problem), *distinct.values()]
        self.scopes: tuple[Scope, ...] = tuple(dict.fromkeys(network.scope for network in nets))
        self._nodes = [None, *distinct]
        self._plan = _layout(problem, nets, self.scopes)
        self._factors = [factor for network in nets for factor in network.factors]
        self.sources = self._arm_sources()
        self._cells = sum(cell_count(problem, scope) for scope in self.scopes)

    def from_tally(self, seen: Tally, worth: FloatArray, *, smoothing: float = 1.0, threshold: float = 0.0) -> Looked:
        """Estimate from the tables of looks in a tally."""
        tables = seen.tables.get(Arm(), {})
        counts = [self._table(scope, tables, seen) for scope in self.scopes]
        return self.from_counts(np.concatenate(counts), worth, smoothing=smoothing, threshold=threshold)

    def from_counts(
        self, counts: FloatArray, worth: FloatArray, *, smoothing: float = 1.0, threshold: float = 0.0
    ) -> Looked:
        """Estimate from the tables of ``scopes``, flattened one after the other."""
        from whichdo.kernels.contraction import contract

        if not (0 <= smoothing < np.inf and 0 <= threshold < np.inf):
            raise UsageError(f"Smoothing ({smoothing:g}) and threshold ({threshold:g}) must be finite, not negative.")
        if counts.shape != (self._cells,):
            raise UsageError(f"The scopes have {self._cells:,} cells in all; the counts have shape {counts.shape}.")
        found, rarest = contract(self._plan, counts, worth, smoothing, threshold)
        looks = float(counts[: len(worth)].sum())
        by_node = dict.fromkeys(self.networks, looks) | dict(zip(self._nodes, rarest.tolist(), strict=True))
        means, squares, variances, shifts, doubts, least, where = np.where(
            self.sources >= 0, found[:, self.sources], np.nan
        )
        return Looked(
            looks=looks,
            means=means,
            variances=variances,
            shifts=shifts,
            doubts=doubts,
            weakest=least,
            weakest_rows=where,
            spreads=np.maximum(squares - means**2, 0.0),
            rarest=np.array([by_node.get(name, 0.0) for name in self.problem.intervene]),
        )

    def row_text(self, place: float) -> str:
        """A row of some factor, by its place in the kernel's tables, as text: what is conditioned on."""
        factor = int(np.searchsorted(self._plan.work_start, place, side="right")) - 1
        given = self._factors[factor].given
        row = (int(place) - int(self._plan.work_start[factor])) // int(self._plan.own_sizes[factor])
        codes = np.unravel_index(row, [len(self.problem.domains[name]) for name in given]) if given else ()
        return ", ".join(f"{name}={self.problem.domains[name][code]}" for name, code in zip(given, codes, strict=True))

    def scope(self, node: str) -> Scope:
        """What is counted together for ``node``; empty where looking settles nothing."""
        network = self.networks.get(node)
        return () if network is None else network.scope

    def table(self, seen: Tally, node: str) -> FloatArray | None:
        """The looks' counts of the scope that settles ``node``, an axis a column; None where nothing does."""
        network = self.networks.get(node)
        if network is None:
            return None
        flat = self._table(network.scope, seen.tables.get(Arm(), {}), seen)
        return flat.reshape([len(self.problem.domains[name]) for name in network.scope])

    def _table(self, scope: Scope, tables: Mapping[Scope, Table], seen: Tally) -> FloatArray:
        if scope in tables:
            found = tables[scope]
            if not isinstance(found, np.ndarray):  # few looks at many cells; at most MAX_CELLS, as a scope has
                found = found.laid_out([len(self.problem.domains[name]) for name in scope])
            flat: FloatArray = found.ravel().astype(np.float64)
            return flat
        if scope == (self.problem.reward,):
            levels: FloatArray = seen.counts[0].astype(np.float64)
            return levels
        if not seen.counts[0].any():  # nothing looked at yet
            return np.zeros(cell_count(self.problem, scope))
        raise UsageError(
            f"The tally holds no table of {listed(scope)}; count with whichdo.count(problem, data), or look with "
            f"detail TABLES."
        )

    def _arm_sources(self) -> IntArray:
        """For each arm of the problem the position of its estimate among the kernel's, or -1."""
        starts = dict(zip(self._nodes, self._plan.arm_start.tolist(), strict=False))
        found = []
        for arm in self.problem.arms:
            network = None if arm.node is None else self.networks.get(arm.node)
            if arm.node is not None and network is None:
                found.append(-1)
            elif network is None or network.node is None or arm.node is None:
                found.append(0)
            else:
                values = self.problem.intervene[arm.node]
                found.append(starts[arm.node] + values.index(arm.value))
        return np.array(found, dtype=np.int64)


def _layout(problem: Problem, networks: Sequence[FactorNetwork], scopes: Sequence[Scope]) -> NetPlan:
    """All networks as flat arrays; the counts are those of ``scopes``, one after the other."""
    from whichdo.kernels.contraction import NetPlan

    size = {name: len(values) for name, values in problem.domains.items()}
    offsets = dict(zip(scopes, _starts(prod(size[name] for name in scope) for scope in scopes), strict=False))
    factors = [(network, factor) for network in networks for factor in network.factors]
    codes = [_codes(problem, network) for network in networks]
    return NetPlan(
        axis_start=_ints(_starts(len(network.scope) for network in networks)),
        sizes=_ints(size[name] for network in networks for name in network.scope),
        table_start=_ints(offsets[network.scope] for network in networks),
        factor_start=_ints(_starts(len(network.factors) for network in networks)),
        own_sizes=_ints(size[factor.node] for _, factor in factors),
        inside=_ints(factor.inside for _, factor in factors),
        work_start=_ints(_starts(prod(size[name] for name in (*f.given, f.node)) for _, f in factors)),
        stride_start=_ints(_starts(len(network.scope) for network, _ in factors)),
        strides=_ints(stride for network, f in factors for stride in _strides(network.scope, (*f.given, f.node), size)),
        cell_strides=_ints(stride for network in networks for stride in _strides(network.scope, network.cells, size)),
        cell_sizes=_ints(prod(size[name] for name in network.cells) for network in networks),
        enumerated_start=_ints(_starts(len(_enumerated(network)) for network in networks)),
        enumerated=_ints(axis for network in networks for axis in _enumerated(network)),
        x_axis=_ints(-1 if n.node is None else n.scope.index(n.node) for n in networks),
        y_axis=_ints(network.scope.index(problem.reward) for network in networks),
        arm_start=_ints(_starts(len(each) for each in codes)),
        arm_codes=_ints(code for each in codes for code in each),
    )


def _codes(problem: Problem, network: FactorNetwork) -> list[int]:
    if network.node is None:
        return [0]
    domain = problem.domains[network.node]
    return [domain.index(value) for value in problem.intervene[network.node]]


def _enumerated(network: FactorNetwork) -> list[int]:
    """The axes that are summed over: the nodes of the factors, the intervened one only where x' occurs."""
    nodes = [factor.node for factor in network.factors if factor.node != network.node or network.sums_over_node]
    return [network.scope.index(name) for name in nodes]


def _strides(axes: Scope, table: Scope, size: dict[str, int]) -> list[int]:
    """What one step along each axis means in a table over some of the nodes, the last varying fastest."""
    stride = dict.fromkeys(axes, 0)
    step = 1
    for name in reversed(table):
        stride[name] = step
        step *= size[name]
    return [stride[name] for name in axes]


def _starts(lengths: Iterable[int]) -> list[int]:
    return [0, *accumulate(lengths)]


def _ints(values: Iterable[int]) -> IntArray:
    return np.array(list(values), dtype=np.int64)
