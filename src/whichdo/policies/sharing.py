"""The tables that arms share, and how the means of all arms follow from them.

The links of all arms (`whichdo.identification.chains`) are tables of counts: rows for what is given, columns for the
values of the node; of the reward what was won and lost.  A row that is told is counted in every table that its arm
leaves alone.  Given a law for every row of every table, the mean of an arm is a sum of products.  Nodes are summed out
one after the other, and what several target sets have in common is worked out once: a *programme* of steps over one
flat array, tables first, then what is worked out of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.errors import UsageError
from whichdo.formulas import Reading
from whichdo.identification.chains import Chains
from whichdo.kernels.contraction import Laws, Steps, Teaching, contract, mean_laws
from whichdo.problem import per_problem
from whichdo.tables import Radix, starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.graph.targets import Targets
    from whichdo.identification.chains import Link
    from whichdo.identification.estimand import Names
    from whichdo.problem import Problem
    from whichdo.tables import Scope, Table


MOST_ROWS = 1 << 12
"""The most rows of all tables: each is drawn in every round."""
MOST_WORK = 1 << 16
"""The most numbers that a round may read to get from the tables to the means of all arms."""


class Programme(NamedTuple):
    """The tables, the steps from them to the means of all arms, where these are, and how many values there are."""

    laws: Laws
    steps: Steps
    arm_at: IntArray
    size: int


@dataclass(frozen=True)
class Shared:
    """The tables of a problem's arms."""

    problem: Problem
    links: tuple[Link, ...]
    """One for each table; the reward's last."""
    teachers: tuple[tuple[Targets, ...], ...]
    """For each link the target sets whose rows teach it; () are looks."""
    columns: Names
    """What is read of a row, the reward last."""
    programme: Programme
    teaching: Teaching
    rewards: Mapping[Targets, Link]
    """The reward's own link of each target set."""

    def taught(self, targets: Targets) -> list[int]:
        """The tables that rows of the arms on some targets teach."""
        return [table for table, sets in enumerate(self.teachers) if targets in sets]


class _Factor(NamedTuple):
    """Some values: where they begin, and their axes."""

    start: int
    axes: Names


class _Writer:
    """Writes the programme."""

    def __init__(self, sizes: Mapping[str, int], first: int) -> None:
        self._sizes, self.size = sizes, first
        self._known: dict[tuple[frozenset[_Factor], str | None], _Factor] = {}
        self.steps: list[tuple[int, int, int, int]] = []
        self.places: list[IntArray] = []
        self.work = 0

    def multiply(self, parts: Sequence[_Factor], summed: str | None) -> _Factor:
        """The product of some factors, summed over one name or none."""
        key = (frozenset(parts), summed)
        if key not in self._known:
            self._known[key] = self._write(sorted(key[0]), summed)
        return self._known[key]

    def _write(self, parts: Sequence[_Factor], summed: str | None) -> _Factor:
        axes = self.axes_of(parts, summed)
        whole = Radix.of((*axes, summed) if summed else axes, self._sizes)
        self.work += whole.cells * len(parts)
        if self.work > MOST_WORK:
            raise _TooLongError
        at = [part.start + whole.onto(Radix.of(part.axes, self._sizes).steps) for part in parts]
        outs, sums = self.cells(axes), self._sizes[summed] if summed else 1
        made = _Factor(self.size, axes)
        self.steps.append((made.start, outs, sums, len(parts)))
        self.places.append(np.stack(at, axis=1).ravel())
        self.size += outs
        return made

    def axes_of(self, parts: Iterable[_Factor], summed: str | None) -> Names:
        """The axes of a product."""
        return tuple(sorted({name for part in parts for name in part.axes} - {summed}))

    def cells(self, axes: Names) -> int:
        """How many values some axes have together."""
        return prod(self._sizes[name] for name in axes)

    def sum_out(self, parts: Sequence[_Factor], names: Iterable[str]) -> _Factor:
        """The product of all factors, summed over some names; the one that leaves the fewest values first."""
        factors, left = list(parts), sorted(names)
        while left:
            name = min(left, key=lambda each: self.cells(self.axes_of(_with(factors, each), each)))
            touched = _with(factors, name)
            factors = [each for each in factors if each not in touched] + [self.multiply(touched, name)]
            left.remove(name)
        return factors[0] if len(factors) == 1 else self.multiply(factors, None)


class _TooLongError(Exception):
    """The programme would be too long."""


def _with(factors: Sequence[_Factor], name: str) -> list[_Factor]:
    return [each for each in factors if name in each.axes]


@per_problem
def shared_tables(problem: Problem, reading: Reading) -> Shared | None:
    """The tables of all arms; None where there would be too many rows, or too much to work out in a round."""
    chains = Chains(problem.graph, problem.reward, robust=reading is not Reading.GRAPH)
    by_set = {targets: chains.of(targets) for targets in ((), *problem.target_sets)}
    links = sorted(
        dict.fromkeys(link for chain in by_set.values() for link in chain), key=lambda link: link.node == problem.reward
    )
    rows = [problem.cells(link.given) for link in links]
    if sum(rows) > MOST_ROWS:
        return None
    widths = [2 if link.node == problem.reward else problem.sizes[link.node] for link in links]
    lengths = [
        count * (1 if link.node == problem.reward else width)
        for link, count, width in zip(links, rows, widths, strict=True)
    ]
    value_start = starts(lengths)
    factors = {
        link: _Factor(start, link.given if link.node == problem.reward else link.columns)
        for link, start in zip(links, value_start, strict=False)
    }
    writer = _Writer(problem.sizes, value_start[-1])
    try:
        whole = {
            targets: writer.sum_out(
                [factors[link] for link in chain], [link.node for link in chain if link.node != problem.reward]
            )
            for targets, chain in by_set.items()
        }
    except _TooLongError:
        return None
    arm_at = []
    for arm in problem.arms:
        made = whole[arm.targets]
        steps = Radix.of(made.axes, problem.sizes).steps
        arm_at.append(
            made.start + sum(steps[name] * problem.domains[name].index(arm.settings[name]) for name in made.axes)
        )
    numbers = np.array(writer.steps, np.int64).reshape(-1, 4)
    programme = Programme(
        Laws(
            np.array(widths, np.int64),
            np.array(rows, np.int64),
            np.array(starts(count * width for count, width in zip(rows, widths, strict=True)), np.int64),
            np.array(value_start, np.int64),
            sum(link.node != problem.reward for link in links),
        ),
        Steps(
            numbers[:, 0].copy(),
            numbers[:, 1].copy(),
            numbers[:, 2].copy(),
            numbers[:, 3].copy(),
            np.concatenate([np.zeros(0, np.int64), *writer.places]),
        ),
        np.array(arm_at, np.int64),
        writer.size,
    )
    teachers = tuple(tuple(targets for targets in by_set if chains.teaches(targets, link)) for link in links)
    columns = _columns(problem, links)
    return Shared(
        problem,
        tuple(links),
        teachers,
        columns,
        programme,
        _teaching(problem, links, teachers, columns),
        {targets: chain[-1] for targets, chain in by_set.items()},
    )


def _columns(problem: Problem, links: Sequence[Link]) -> Names:
    named = reduce(set.union, (set(link.columns) for link in links), set[str]())
    return (*sorted(named - {problem.reward}, key=problem.graph.index), problem.reward)


def _teaching(
    problem: Problem, links: Sequence[Link], teachers: Sequence[Sequence[Targets]], columns: Names
) -> Teaching:
    by_set = {
        targets: [table for table, sets in enumerate(teachers) if targets in sets]
        for targets in ((), *problem.target_sets)
    }
    taught = [by_set[arm.targets] for arm in problem.arms]
    place = {name: number for number, name in enumerate(columns)}
    strides = [Radix.of(link.given, problem.sizes).strides for link in links]
    return Teaching(
        np.array(starts(map(len, taught)), np.int64),
        np.array([t for tables in taught for t in tables], np.int64),
        np.array(starts(len(link.given) for link in links), np.int64),
        np.array([place[name] for link in links for name in link.given], np.int64),
        np.array([step for each in strides for step in each], np.int64),
        np.array([-1 if link.node == problem.reward else place[link.node] for link in links], np.int64),
    )


# ----------------------------------------------------------------------------------------------------------- at hand


def counted_before(shared: Shared, seen: Tally) -> FloatArray:
    """The counts of all tables, from logged looks and earlier pulls.

    Pulls of which only the rewards are known are spread over the rows of the reward's table as the other tables say
    that their arm comes to them.

    Raises `UsageError` if looks were not counted by what the tables need.
    """
    problem, start_of = shared.problem, shared.programme.laws.count_start
    utility = np.array(list(problem.utility.values()))
    counts = np.zeros(start_of[-1])
    unknown: dict[int, FloatArray] = {}
    for place, arm in enumerate(problem.arms):
        if not seen.pulls[place]:
            continue
        rest = seen.counts[place].astype(np.float64)
        for table in shared.taught(arm.targets):
            link, start = shared.links[table], start_of[table]
            found = _fullest(seen.tables.get(arm, {}), link.columns)
            if found is None:
                continue
            cells = found.marginal(link.columns).dense().count.astype(np.float64)
            if link.node == problem.reward:
                if link == shared.rewards[arm.targets]:
                    rest -= cells.reshape(-1, len(utility)).sum(axis=0)
                cells = np.stack([cells @ (1.0 - utility), cells @ utility], axis=-1)
            counts[start : start + cells.size] += cells.ravel()
        if rest.sum() == seen.pulls[place] and arm.is_look:
            columns = shared.rewards[()].columns
            raise UsageError(
                f"The tally holds no table of {', '.join(columns)}; count the log by all that policies want to know "
                f"together: whichdo.count(problem, data, scopes=[{shared.columns}])."
            )
        if rest.any():
            unknown[place] = rest
    more = [_spread(shared, counts, place, rest @ utility, rest.sum()) for place, rest in unknown.items()]
    return sum(more, start=counts)


def _fullest(tables: Mapping[Scope, Table], columns: Names) -> Table | None:
    """The table with these columns that counts the most rows, of several the smallest."""
    holding = [table for scope, table in tables.items() if set(columns) <= set(scope)]
    return min(holding, key=lambda table: (-table.total, table.radix.cells), default=None)


def _spread(shared: Shared, counts: FloatArray, place: int, won: float, pulls: float) -> FloatArray:
    """What pulls of one arm add whose rows are not known: the mean is linear in the rows of the reward's tables."""
    laws, steps, arm_at, size = shared.programme
    values = np.zeros(size)
    mean_laws(counts, laws, values)
    first, end = laws.value_start[laws.first_reward], laws.value_start[-1]
    weights = np.zeros(end - first)
    for row in range(end - first):
        values[first:end] = 0.0
        values[first + row] = 1.0
        contract(steps, values)
        weights[row] = values[arm_at[place]]
    found = np.zeros(len(counts))
    split = found[laws.count_start[laws.first_reward] :].reshape(-1, 2)
    split[:, 0], split[:, 1] = weights * (pulls - won), weights * won
    return found
