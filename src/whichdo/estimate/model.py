"""The compiled estimator of a problem: formulas laid out as flat arrays for `whichdo.estimate.kernel`.

Policies ask again and again what looks say of every arm, so everything that does not depend on the
counts is worked out once here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import UsageError
from whichdo.estimate.kernel import KernelPlan
from whichdo.estimate.shrinkage import STRENGTH
from whichdo.formulas import Formula, Reading, choose_formula, formulas, setting_numbers
from whichdo.graph.identify import Route
from whichdo.identification.estimand import Conditional, Estimand, Product, Ratio, Sum
from whichdo.problem import LOOK, per_problem
from whichdo.tables import MAX_CELLS, Radix, Tables, smallest_table, starts
from whichdo.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.evidence import Tally
    from whichdo.identification.estimand import Expression, Names
    from whichdo.problem import Problem
    from whichdo.tables import Scope


MAX_PLACES = 1 << 20
"""The most places that the sum of one formula may visit."""


def model_of(problem: Problem, reading: Reading, rows: int, seen: Tally | None = None) -> Model:
    """The compiled estimator of a problem; made once for each choice of formulas.

    ``reading``: how estimates lean on the graph.
    ``rows``: how many looks there may be in the end, which decides between formulas.
    ``seen``: looks that already exist: a formula whose tables they lack is passed over.
    """
    tables: Mapping[Scope, Any] = seen.tables.get(LOOK, {}) if seen is not None and seen.counts[0].any() else {}
    known, key = _models(problem), (reading, max(rows, 1).bit_length(), *sorted(tables))
    if key not in known:

        def served(scope: Scope) -> bool:
            return not tables or scope == (problem.reward,) or smallest_table(tables, scope) is not None

        chosen = {}
        for targets in problem.target_sets:
            candidates = [each for each in formulas(problem, targets, reading) if is_compiled(each, problem.sizes)]
            chosen[targets] = choose_formula(candidates, rows, served)
        known[key] = Model(problem, chosen)
    return known[key]


@per_problem
def _models(problem: Problem) -> dict[tuple[object, ...], Model]:  # noqa: ARG001 - kept with it
    """Those that were made, by what decides them."""
    return {}


def is_compiled(formula: Formula, sizes: Mapping[str, int]) -> bool:
    """Whether a formula can be laid out: a sum of products, with tables and sums that are not too large."""
    found = occurrences(formula.estimand)
    if found is None or formula.cells > MAX_CELLS:
        return False
    fixed = {*formula.targets, formula.estimand.reward}
    return len(found) * prod(_summed(found, fixed, sizes).values()) <= MAX_PLACES


def _summed(found: Sequence[_Occurrence], fixed: set[str], sizes: Mapping[str, int]) -> dict[str, int]:
    """The axes that are summed over, with their sizes."""
    return {
        axis: sizes[name]
        for each in found
        for axis, name in zip(each.axes, each.conditional.columns, strict=True)
        if axis not in fixed
    }


class Model:
    """The formulas of a problem, laid out for the kernel.

    ``scopes`` are what it counts, the reward's own first; ``sources`` gives for each arm its place among the kernel's
    results, 0 for do() and what equals it, -1 for arms that looking does not settle.
    """

    def __init__(
        self, problem: Problem, chosen: Mapping[tuple[str, ...], Formula | None], *, literal: bool = False
    ) -> None:
        self.problem = problem
        tasks = [Task(Estimand(Conditional((problem.reward,)), (), problem.reward), ((),), shared=True)]
        scopes: dict[Scope, None] = {(problem.reward,): None}
        first: dict[Formula, int] = {}
        self.sources: IntArray = np.full(len(problem.arms), -1, np.int64)
        self.sources[0] = 0
        size = 1
        for targets, formula in chosen.items():
            if formula is None:
                continue
            places = list(problem.positions[targets])
            if formula.route is Route.SAME:
                self.sources[places] = 0
                continue
            if formula not in first:
                settings = Radix.of(formula.targets, problem.sizes)
                codes = settings.codes(np.arange(settings.cells)).tolist()
                tasks.append(Task(formula.estimand, tuple(map(tuple, codes)), formula.shared))
                scopes |= dict.fromkeys(formula.scopes)
                first[formula] = size
                size += settings.cells
            self.sources[places] = first[formula] + setting_numbers(problem, formula.targets, places)
        self.scopes: tuple[Scope, ...] = tuple(scopes)
        self._tasks, self._literal = tasks, literal

    @cached_property
    def plan(self) -> KernelPlan:
        """Everything as flat arrays."""
        return lay_out(self._tasks, self.scopes, self.problem.sizes, self.problem.reward, literal=self._literal)

    def counts(self, seen: Tally) -> FloatArray:
        """The looks' tables of ``scopes``, flattened one after the other."""
        tables = seen.tables.get(LOOK, {})
        if isinstance(tables, Tables) and tables.layout.scopes == self.scopes:
            return tables.counts.astype(np.float64)
        return np.concatenate([self._table(scope, tables, seen) for scope in self.scopes]).astype(np.float64)

    def _table(self, scope: Scope, tables: Mapping[Scope, Any], seen: Tally) -> IntArray:
        if scope == (self.problem.reward,):
            levels: IntArray = seen.counts[0]
            return levels
        found = tables.get(scope) or smallest_table(tables, scope)
        if found is not None:
            table: IntArray = found.marginal(scope).dense().count.ravel()
            return table
        if not seen.counts[0].any():  # nothing looked at yet
            return np.zeros(self.problem.cells(scope), np.int64)
        raise UsageError(
            f"The tally has no table of {listed(scope)}; count with whichdo.count(problem, data), or look with "
            f"detail TABLES."
        )


# ---------------------------------------------------------------------------------------------------------- laying out


@dataclass(frozen=True)
class Task:
    """A formula with the arms that it serves: the code of each target's value, in the order of the targets."""

    estimand: Estimand
    settings: tuple[tuple[int, ...], ...]
    shared: bool
    """Whether the errors of its tables go together: counted from the same looks, with nothing assumed of them."""


@dataclass(frozen=True)
class _Occurrence:
    conditional: Conditional
    axes: Names
    inverse: bool


def occurrences(estimand: Estimand) -> list[_Occurrence] | None:
    """Every reading of a conditional, if the formula is one sum of products and reciprocals of conditionals; else None.

    An axis is called by the target whose value it is, or by a number.
    """
    found: list[_Occurrence] = []
    number = iter(range(1 << 30))

    def walk(part: Expression, scope: Mapping[str, str], *, inverse: bool) -> bool:
        match part:
            case Conditional():
                found.append(_Occurrence(part, tuple(scope[name] for name in part.columns), inverse))
                return True
            case Product(factors):
                return all(walk(factor, scope, inverse=inverse) for factor in factors)
            case Sum(names, term):
                inner = {**scope, **{name: f"{next(number)} {name}" for name in names}}
                return not inverse and walk(term, inner, inverse=inverse)
            case Ratio(above, below):
                return not inverse and walk(above, scope, inverse=False) and walk(below, scope, inverse=True)

    outside = {name: name for name in (*estimand.targets, estimand.reward)}
    if not walk(estimand.expression, outside, inverse=False):
        return None
    found.sort(key=lambda each: estimand.reward not in each.conditional.nodes)
    return found


def lay_out(
    tasks: Sequence[Task],
    scopes: Sequence[Names],
    sizes: Mapping[str, int],
    reward: str,
    *,
    literal: bool = False,
) -> KernelPlan:
    """Formulas as flat arrays, for counts of ``scopes`` flattened one after the other.

    ``literal`` is the paper's add-one: every row leans on the uniform law, with one row for each of its values.

    Raises `ValueError` if a formula is not a sum of products, or a conditional is in none of the scopes.
    """
    return _Layout(scopes, sizes, reward, literal=literal).plan(tasks)


class _Layout:
    """Where everything lies."""

    def __init__(self, scopes: Sequence[Names], sizes: Mapping[str, int], reward: str, *, literal: bool) -> None:
        self.scopes, self.sizes, self.reward, self.literal = scopes, sizes, reward, literal
        self.starts = starts(prod(sizes[name] for name in scope) for scope in scopes)
        self.tables: dict[tuple[Conditional, int, Names], int] = {}
        self.kept: list[tuple[Conditional, int, Names]] = []  # each with its scope and, of the reward's, its targets

    def table(self, conditional: Conditional, scope: int, targets: Names) -> int:
        """The number of a conditional's table; the reward's rows lean on margins that depend on the targets."""
        acting = targets if self.reward in conditional.nodes else ()
        kept = (conditional, scope, acting)
        if kept not in self.tables:
            self.tables[kept] = len(self.kept)
            self.kept.append(kept)
        return self.tables[kept]

    def scope(self, columns: frozenset[str], task: Task) -> int:
        """The smallest scope that has some columns."""
        fits = [number for number, scope in enumerate(self.scopes) if columns.issubset(scope)]
        if not fits:
            raise ValueError(f"no scope has all columns of {task.estimand}")
        return min(fits, key=lambda number: self.starts[number + 1] - self.starts[number])

    def plan(self, tasks: Sequence[Task]) -> KernelPlan:
        reads: list[int] = []
        inverse: list[bool] = []
        places: list[IntArray] = []
        uses: list[list[int]] = []
        widths: list[int] = []
        arms: list[int] = []
        moves: list[list[int]] = []
        for number, task in enumerate(tasks):
            found = occurrences(task.estimand)
            if found is None:
                raise ValueError(f"{task.estimand} is not a sum of products")
            needed = [each.conditional.free for each in found]
            if task.shared:
                needed = [frozenset[str]().union(*needed)] * len(found)
            numbers = [
                self.table(each.conditional, self.scope(columns, task), task.estimand.targets)
                for each, columns in zip(found, needed, strict=True)
            ]
            reads += numbers
            inverse += [each.inverse for each in found]
            places += self._places(found, task.estimand.targets)
            uses.append(list(dict.fromkeys(numbers[1:])))
            widths.append(len(found))
            for codes in task.settings:
                arms.append(number)
                moves.append(self._moves(found, dict(zip(task.estimand.targets, codes, strict=True))))
        shared = [task.shared and len(each) > 1 for task, each in zip(tasks, uses, strict=True)]
        return KernelPlan(
            **self._table_arrays(),
            occurrence_start=_starts(widths),
            reads=_ints(reads),
            inverse=_ints(inverse),
            place_start=_starts(len(each) for each in places),
            places=np.concatenate(places).astype(np.int64),
            use_start=_starts(len(each) for each in uses),
            uses=_ints(t for each in uses for t in each),
            shared=_ints(shared),
            formulas=_ints(arms),
            move_start=_starts(len(each) for each in moves),
            moves=_ints(step for each in moves for step in each),
        )

    def _shape(self, conditional: Conditional) -> tuple[int, ...]:
        """The axes of its table; the reward's table holds one mean a row."""
        return tuple(1 if name == self.reward else self.sizes[name] for name in conditional.columns)

    def _strides(self, conditional: Conditional) -> tuple[int, ...]:
        return Radix(conditional.columns, self._shape(conditional)).strides

    def _table_arrays(self) -> dict[str, Any]:
        goes, setting, stratum = [], [], []
        for conditional, scope, targets in self.kept:
            shape = self._shape(conditional)
            steps = Radix(conditional.columns, shape).steps | {self.reward: 0}
            goes.append(Radix.of(self.scopes[scope], self.sizes).onto(steps))
            own = np.indices(shape).reshape(len(shape), -1)
            held = [j for j, name in enumerate(conditional.columns) if name in targets]
            rest = [j for j in range(len(shape)) if j not in held] if held else []
            setting.append(_number(own, held, shape))
            stratum.append(_number(own, rest, shape))
        rewards = [self.reward in conditional.nodes for conditional, _, _ in self.kept]
        own_sizes = [
            prod(shape[len(conditional.given) :])
            for conditional, shape in ((c, self._shape(c)) for c, _, _ in self.kept)
        ]
        return {
            "table_start": _starts(prod(self._shape(conditional)) for conditional, _, _ in self.kept),
            "own": _ints(own_sizes),
            "strength": np.array(
                [
                    float(self.sizes[self.reward] if is_reward else own)
                    if self.literal
                    else STRENGTH
                    if conditional.given
                    else 0.0
                    for (conditional, _, _), is_reward, own in zip(self.kept, rewards, own_sizes, strict=True)
                ]
            ),
            "uniform": _ints([self.literal] * len(self.kept)),
            "count_start": _ints(self.starts[scope] for _, scope, _ in self.kept),
            "goes_start": _starts(len(each) for each in goes),
            "goes": np.concatenate(goes).astype(np.int64),
            "is_reward": _ints(rewards),
            "level_step": _ints(self._level_step(scope) for _, scope, _ in self.kept),
            "setting": np.concatenate(setting).astype(np.int64),
            "settings": _ints(int(each.max()) + 1 for each in setting),
            "stratum": np.concatenate(stratum).astype(np.int64),
            "strata": _ints(int(each.max()) + 1 for each in stratum),
        }

    def _level_step(self, scope: int) -> int:
        names = self.scopes[scope]
        return prod(self.sizes[name] for name in names[names.index(self.reward) + 1 :]) if self.reward in names else 1

    def _places(self, found: Sequence[_Occurrence], targets: Names) -> list[IntArray]:
        """For each occurrence its place in every term of the sum, the targets' values aside."""
        fixed = {*targets, self.reward}
        sizes = _summed(found, fixed, self.sizes)
        axes = list(sizes)
        codes = np.indices(list(sizes.values())).reshape(len(axes), prod(sizes.values()))
        made = []
        for each in found:
            steps = self._strides(each.conditional)
            place = np.zeros(codes.shape[1], np.int64)
            for axis, step in zip(each.axes, steps, strict=True):
                if axis not in fixed:
                    place += codes[axes.index(axis)] * step
            made.append(place)
        return made

    def _moves(self, found: Sequence[_Occurrence], codes: Mapping[str, int]) -> list[int]:
        return [
            sum(
                codes[axis] * step
                for axis, step in zip(each.axes, self._strides(each.conditional), strict=True)
                if axis in codes
            )
            for each in found
        ]


def _number(codes: IntArray, axes: Sequence[int], shape: Sequence[int]) -> IntArray:
    """One number for each combination of some axes."""
    found = np.zeros(codes.shape[1] if codes.size else 1, np.int64)
    for axis in axes:
        found = found * shape[axis] + codes[axis]
    return found


def _starts(lengths: Iterable[int]) -> IntArray:
    return _ints(starts(lengths))


def _ints(values: Iterable[int]) -> IntArray:
    return np.array(list(values), dtype=np.int64)
