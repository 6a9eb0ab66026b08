"""What looking says about every arm: means, variances, effective sample sizes, all at once.

The mean of an arm is a sum of products of conditional probabilities (`whichdo.estimate.dnet`).  Each is estimated by
add-one smoothing.  The mean is linear in the rows P(. | z), and rows are independent given how often z was seen, so the
variance is a sum over rows.  An arm's *effective size* is the number of direct pulls that would know its mean as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from whichdo.counting.scopes import Reading, cell_count
from whichdo.counting.wide import wide_networks
from whichdo.errors import UsageError
from whichdo.estimate.dnet import Factor, FactorNetwork, factor_networks, look_network
from whichdo.estimate.elimination import Elimination, looked_wide
from whichdo.graph.identify import listed
from whichdo.graph.targets import ByTargets
from whichdo.problem import LOOK
from whichdo.tables import Radix, Table, Tables, starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.counting.scopes import Scope
    from whichdo.evidence import Tally
    from whichdo.graph.targets import Targets
    from whichdo.kernels.contraction import NetPlan, Walk
    from whichdo.problem import Problem

__all__ = ["Estimator", "Looked", "estimator", "interventional"]


BATCH = 1 << 16  # slopes kept at a time, in cells; an arm that needs more is a batch of its own


@dataclass(frozen=True)
class Looked:
    """What looking says about each arm of the problem, in its order; NaN where it says nothing.

    ``means`` and ``variances`` are on the scale that was asked for; ``shifts`` is how far smoothing moved the means,
    ``doubts`` how far rows that were never seen could move them, ``leans`` how lopsided their errors are (third central
    moment over variance), ``spreads`` the variance of one pull of the arm.
    ``weakest`` is how often the row was seen that the mean knows least about, ``weakest_rows`` says which
    (`Estimator.row_text`).  ``sizes`` are effective sizes: how many direct pulls of each arm looking was worth, by the
    mean square error, what smoothing moved and what was never seen included; 0 where it says nothing, never more than
    the looks.
    ``rarest`` is the least count among the cells of each target set: 0 where looking settles nothing, all looks for
    targets that do not act on the reward.
    """

    looks: float
    means: FloatArray
    variances: FloatArray
    shifts: FloatArray
    doubts: FloatArray
    leans: FloatArray
    weakest: FloatArray
    weakest_rows: FloatArray
    spreads: FloatArray
    sizes: FloatArray
    rarest: FloatArray

    def errors(self, z: float = 1.0) -> FloatArray:
        """Half the width of an interval of z standard errors; see `docs/decisions/0006-intervals.md`."""
        widths: FloatArray = z * np.sqrt(self.variances + self.shifts**2) + self.doubts
        return widths

    def offsets(self, z: float = 1.0) -> FloatArray:
        """How far the middle of that interval lies above the mean: what lopsided errors ask for beyond smoothing."""
        moved: FloatArray = ((1 + 2 * z**2) / 6 - 1) * self.leans
        return moved


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
    """The factor networks of a problem, laid out for the kernel.

    ``networks``, ``scopes``, ``plan`` and ``sources`` are of those that can be laid out: what policies work on.  Those
    of ``wide`` are summed by elimination, where a tally holds their counts.  Networks are looked up by target set; sets
    of which the same node acts have the same network, which the plan holds once.
    """

    def __init__(self, problem: Problem, reading: Reading = Reading.OURS) -> None:
        self.problem, self.reading = problem, reading
        self.networks = factor_networks(problem, reading)
        distinct = {network.node: network for network in self.networks.values() if network.node is not None}
        nets = [look_network(problem), *distinct.values()]
        self.scopes: tuple[Scope, ...] = tuple(dict.fromkeys(network.scope for network in nets))
        self._nodes = [None, *distinct]
        self.plan = _layout(problem, nets, self.scopes)
        self._factors = [factor for network in nets for factor in network.factors]
        self.sources = self._arm_sources()
        # For each target set, whose least cell counts: its network's, or all looks (-2), or none (-1).
        place = {node: number for number, node in enumerate(self._nodes)}
        self._rarest = np.array(
            [
                -1 if network is None else -2 if network.node is None else place[network.node]
                for network in map(self.networks.get, problem.target_sets)
            ]
        )
        self._cells = sum(cell_count(problem, scope) for scope in self.scopes)

    def from_tally(self, seen: Tally, worth: FloatArray, *, smoothing: float = 1.0, threshold: float = 0.0) -> Looked:
        """Estimate from the tables of looks in a tally."""
        looked = self.from_counts(self.counts(seen), worth, smoothing=smoothing, threshold=threshold)
        return looked_wide(self.wide, looked, seen, worth, smoothing, threshold) if self.wide else looked

    @cached_property
    def wide(self) -> ByTargets[Elimination]:
        """The networks that are too wide to lay out and are summed one variable at a time, by target set."""
        made: dict[Targets, Elimination] = {}
        start = int(self.plan.work_start[-1])
        for targets, network in wide_networks(self.problem, self.reading).items():
            made[targets] = Elimination(self.problem, network, start)
            start = made[targets].starts[-1]
        return ByTargets(made)

    def counts(self, seen: Tally) -> FloatArray:
        """The looks' tables of ``scopes``, flattened one after the other."""
        tables = seen.tables.get(LOOK, {})
        if isinstance(tables, Tables) and tables.layout.scopes == self.scopes:
            return tables.counts.astype(np.float64)
        found = [self._table(scope, tables, seen).count.ravel() for scope in self.scopes]
        return np.concatenate(found).astype(np.float64)

    def from_counts(
        self, counts: FloatArray, worth: FloatArray, *, smoothing: float = 1.0, threshold: float = 0.0
    ) -> Looked:
        """Estimate from the tables of ``scopes``, flattened one after the other; ``wide`` arms stay unknown."""
        from whichdo.kernels.contraction import contract

        if not (0 <= smoothing < np.inf and 0 <= threshold < np.inf):
            raise UsageError(f"Smoothing ({smoothing:g}) and threshold ({threshold:g}) must be finite, not negative.")
        if counts.shape != (self._cells,):
            raise UsageError(f"The scopes have {self._cells:,} cells in all; the counts have shape {counts.shape}.")
        found, rarest = contract(self.plan, counts, worth, smoothing, threshold)
        looks = float(counts[: len(worth)].sum())
        means, squares, variances, shifts, doubts, leans, least, where, sizes = np.where(
            self.sources >= 0, found.T[:, self.sources], np.nan
        )
        return Looked(
            looks=looks,
            means=means,
            variances=variances,
            shifts=shifts,
            doubts=doubts,
            leans=leans,
            weakest=least,
            weakest_rows=where,
            spreads=np.maximum(squares - means**2, 0.0),
            sizes=np.nan_to_num(sizes),
            rarest=self.rarest(rarest, looks),
        )

    def rarest(self, by_network: FloatArray, looks: float) -> FloatArray:
        """For each target set the count of its least cell, from what the kernel found for each network."""
        found: FloatArray = np.concatenate([by_network, [looks, 0.0]])[self._rarest]
        return found

    def row_text(self, place: float) -> str:
        """A row of some factor, by its place in the tables, the kernel's and then the wide ones, as text."""
        begin, factors = self._every_factor
        number = int(np.searchsorted(begin, place, side="right")) - 1
        given = factors[number].given
        row = (int(place) - int(begin[number])) // len(self.problem.domains[factors[number].node])
        domains = [self.problem.domains[name] for name in given]
        (codes,) = Radix(given, tuple(map(len, domains))).codes(np.array([row])).tolist()
        settings = zip(given, domains, codes, strict=True)
        return ", ".join(f"{name}={domain[code]}" for name, domain, code in settings)

    @cached_property
    def _every_factor(self) -> tuple[IntArray, list[Factor]]:
        """Where the table of each factor begins, wide networks' last, and the factors."""
        begin, factors = list(self.plan.work_start[:-1]), list(self._factors)
        for elimination in self.wide.values():
            begin += elimination.starts[:-1]
            factors += elimination.network.factors
        return _ints(begin), factors

    def network(self, targets: Targets) -> FactorNetwork | None:
        """The network of ``targets``, wide or not; None where looking settles nothing, or needs too large tables."""
        return self.wide[targets].network if targets in self.wide else self.networks.get(targets)

    def folded(self, seen: Tally, targets: Targets, wanted: Scope) -> FloatArray | None:
        """The looks' counts of some columns, an axis each, from those that settle the targets; None if they lack."""
        network = self.network(targets)
        if network is None or not set(wanted) <= set(network.scope):
            return None
        table = seen.tables.get(LOOK, {}).get(network.scope)
        if table is None and targets in self.wide:
            if seen.counts[0].any():
                return None
            shape = [len(self.problem.domains[name]) for name in wanted]
            return np.zeros(shape)
        if table is None:  # the reward's own counts, or none, or an error that says so
            table = self._table(network.scope, {}, seen)
        return table.marginal(wanted).dense().count.astype(np.float64)

    def _table(self, scope: Scope, tables: Mapping[Scope, Table], seen: Tally) -> Table:
        """A table of looks that is laid out."""
        if scope in tables:
            return tables[scope].dense()  # few looks at many cells; at most MAX_CELLS, as a scope has
        sizes = [len(self.problem.domains[name]) for name in scope]
        if scope == (self.problem.reward,):
            return Table(scope, sizes, seen.counts[0])
        if not seen.counts[0].any():  # nothing looked at yet
            return Table(scope, sizes, np.zeros(sizes, np.int64))
        raise UsageError(
            f"The tally holds no table of {listed(scope)}; count with whichdo.count(problem, data), or look with "
            f"detail TABLES."
        )

    def _arm_sources(self) -> IntArray:
        """For each arm of the problem the position of its estimate among the kernel's, or -1."""
        first = dict(zip(self._nodes, np.searchsorted(self.plan.arm_networks, range(len(self._nodes))), strict=True))
        found = []
        for arm in self.problem.arms:
            network = look_network(self.problem) if arm.is_look else self.networks.get(arm.targets)
            if network is None:
                found.append(-1)
            elif network.node is None:
                found.append(0)
            else:
                values = self.problem.intervene[network.node]
                found.append(first[network.node] + values.index(arm.settings[network.node]))
        return np.array(found, dtype=np.int64)


def _layout(problem: Problem, networks: Sequence[FactorNetwork], scopes: Sequence[Scope]) -> NetPlan:
    """All networks as flat arrays; the counts are those of ``scopes``, one after the other."""
    from whichdo.kernels.contraction import NetPlan

    size = {name: len(values) for name, values in problem.domains.items()}
    offsets = dict(zip(scopes, starts(Radix.of(scope, size).cells for scope in scopes), strict=False))
    factors = [(network, factor) for network in networks for factor in network.factors]
    codes = [_codes(problem, network) for network in networks]
    tables = [sum(Radix.of((*f.given, f.node), size).cells for f in network.factors) for network in networks]
    batches, slopes = _batches([cells for cells, each in zip(tables, codes, strict=True) for _ in each])
    return NetPlan(
        table_start=_ints(offsets[network.scope] for network in networks),
        factor_start=_ints(starts(len(network.factors) for network in networks)),
        own_sizes=_ints(size[factor.node] for _, factor in factors),
        inside=_ints(factor.inside for _, factor in factors),
        work_start=_ints(starts(Radix.of((*f.given, f.node), size).cells for _, f in factors)),
        cell_start=_ints(starts(Radix.of(network.cells, size).cells for network in networks)),
        fold=_walk([_fold_axes(network, size) for network in networks]),
        sum=_walk([_sum_axes(network, size, problem.reward) for network in networks]),
        x_strides=_ints(
            0 if network.node is None or f.inside else Radix.of((*f.given, f.node), size).steps.get(network.node, 0)
            for network, f in factors
        ),
        arm_networks=_ints(g for g, each in enumerate(codes) for _ in each),
        arm_codes=_ints(code for each in codes for code in each),
        batch_start=_ints(batches),
        slope_start=_ints(slopes),
    )


def _batches(sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Where each batch of arms begins, and where the slopes of each arm begin in its batch; last, the room it takes."""
    batches, begin = [0], []
    used = room = 0
    for arm, size in enumerate(sizes):
        if used and used + size > BATCH:
            batches.append(arm)
            used = 0
        begin.append(used)
        used += size
        room = max(room, used)
    return [*batches, len(sizes)], [*begin, room]


Axis = tuple[int, list[int]]  # its size, and what one step along it means in each table


def _fold_axes(network: FactorNetwork, size: Mapping[str, int]) -> list[Axis]:
    """The columns of the scope, in the order in which it is counted."""
    tables = [Radix.of((*f.given, f.node), size).steps for f in network.factors]
    tables.append(Radix.of(network.cells, size).steps)
    return [(size[name], [table.get(name, 0) for table in tables]) for name in network.scope]


def _sum_axes(network: FactorNetwork, size: Mapping[str, int], reward: str) -> list[Axis]:
    """What is summed over: the nodes of the factors, the intervened one only where x' occurs, and then only inside."""
    tables = [dict(Radix.of((*f.given, f.node), size).steps) for f in network.factors]
    for factor, table in zip(network.factors, tables, strict=True):
        if network.node is not None and not factor.inside:
            table.pop(network.node, None)
    tables.append({reward: 1})
    nodes = [factor.node for factor in network.factors if factor.node != network.node or network.sums_over_node]
    return [(size[name], [table.get(name, 0) for table in tables]) for name in nodes]


def _walk(networks: Sequence[Sequence[Axis]]) -> Walk:
    """The last axes of each network as a block of places, the others as steps."""
    from whichdo.kernels.contraction import INNER, Walk

    outer, patterns = [], []
    for axes in networks:
        kept = len(axes)
        while kept and prod(length for length, _ in axes[kept - 1 :]) <= INNER:
            kept -= 1
        outer.append(axes[:kept])
        width = len(axes[0][1]) if axes else 0
        pattern = np.zeros((1, width), np.int64)
        for length, steps in axes[kept:]:
            along = np.arange(length)[:, None] * np.array(steps, np.int64)
            pattern = (pattern[:, None, :] + along[None]).reshape(-1, width)
        patterns.append(pattern)
    return Walk(
        inner_sizes=_ints(len(pattern) for pattern in patterns),
        inner_start=_ints(starts(pattern.size for pattern in patterns)),
        pattern=np.concatenate([pattern.ravel() for pattern in patterns]),
        outer_start=_ints(starts(len(axes) for axes in outer)),
        outer_sizes=_ints(length for axes in outer for length, _ in axes),
        stride_start=_ints(starts(sum(len(steps) for _, steps in axes) for axes in outer)),
        outer_strides=_ints(step for axes in outer for _, steps in axes for step in steps),
    )


def _codes(problem: Problem, network: FactorNetwork) -> list[int]:
    if network.node is None:
        return [0]
    domain = problem.domains[network.node]
    return [domain.index(value) for value in problem.intervene[network.node]]


def _ints(values: Iterable[int]) -> IntArray:
    return np.array(list(values), dtype=np.int64)
