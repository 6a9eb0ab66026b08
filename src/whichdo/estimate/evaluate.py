"""The value of an estimand on tables of conditionals, and its slope in every cell of them.

An estimand (`whichdo.identification.estimand`) is compiled once into a flat list of steps.
Products and the sums around them become contractions: variables are summed out in the order of
`whichdo.tables.contingency`, each step multiplies the tables that speak of one variable and sums out
what no other table speaks of.  A ratio is its numerator times the reciprocal of its denominator.
Both are tables of their own, and a part that occurs twice is computed once.

A target that is free in the estimand is an axis that every step keeps, so that one evaluation gives
all arms on the targets.  The slopes are reverse mode through the same steps.  They need no further
axis for the arm: the value of an arm depends only on cells with its own setting, so the derivative
of a table with a target's axis is kept on the diagonal. It is spread out at the end, since one
table may be read with the target's value in one place and summed in another.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from string import ascii_letters
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.errors import TooLargeError
from whichdo.identification.estimand import Conditional, Product, Ratio, Sum, conditionals_in
from whichdo.tables.contingency import min_fill
from whichdo.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.identification.estimand import Estimand, Expression, Names


FloatArray = np.ndarray[Any, np.dtype[np.float64]]
Axes = tuple[str, ...]

MAX_CELLS = 1 << 24
"""The most cells that one step may visit: about a fifth of a second."""

MAX_OPERANDS = 16  # in one call of einsum, which is slow with many and refuses 64


def evaluator(estimand: Estimand, sizes: Mapping[str, int]) -> Evaluator:
    """What evaluates an estimand whose nodes have so many values; made once for each estimand and sizes.

    Raises `TooLargeError` if a table on the way would have more than `MAX_CELLS` cells.
    """
    return _make(estimand.expression, estimand.targets, estimand.reward, _needed(estimand, sizes))


def table_evaluator(expression: Expression, axes: Names, sizes: Mapping[str, int]) -> Evaluator:
    """What evaluates any expression to a table over its free names, such as one source of a c-factor.

    Its methods take no worth of the reward: give ``None``.
    """
    names = {name for conditional in conditionals_in(expression) for name in conditional.columns} | {*axes}
    return _make(expression, axes, None, tuple(sorted((name, sizes[name]) for name in names)))


def _needed(estimand: Estimand, sizes: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    names = {name for conditional in estimand.conditionals for name in conditional.columns}
    return tuple(sorted((name, sizes[name]) for name in names.union(estimand.targets)))


@lru_cache(maxsize=512)
def _make(expression: Expression, targets: Names, reward: str | None, sizes: tuple[tuple[str, int], ...]) -> Evaluator:
    return Evaluator(expression, targets, reward, dict(sizes))


class Evaluator:
    """An expression compiled for given domain sizes; see the module.  Make one with `evaluator`.

    Tables are given in the order of ``conditionals``, each with one axis a column: what is given, then its nodes.
    """

    def __init__(self, expression: Expression, targets: Names, reward: str | None, sizes: Mapping[str, int]) -> None:
        self.targets = targets
        self.conditionals = tuple(conditionals_in(expression))
        self.shape = tuple(sizes[name] for name in targets)
        self.shapes = [tuple(sizes[name] for name in conditional.columns) for conditional in self.conditionals]
        """The shape that each table must have."""
        self._plan = plan = _Planner(self.conditionals, targets)
        self._last = plan.finish(expression, reward)
        self._sizes = {axis: sizes[name] for axis, name in plan.names.items()}
        self._check(step.visits for step in plan.steps)
        self._forward = [_forward(step) for step in plan.steps]
        self._spread = tuple(slice(None) if name in self._last.axes else np.newaxis for name in targets)
        self._backward: list[_Backward] | None = None

    def resized(self, name: str, size: int) -> Evaluator:
        """The same for another number of values of one node, which is not a target: no step depends on it.

        Raises `TooLargeError` as `evaluator`.
        """
        found = copy(self)
        found._sizes = {axis: size if self._plan.names[axis] == name else own for axis, own in self._sizes.items()}
        found.shapes = [
            tuple(size if column == name else own for column, own in zip(each.columns, shape, strict=True))
            for each, shape in zip(self.conditionals, self.shapes, strict=True)
        ]
        found._check(step.visits for step in self._plan.steps)
        if self._backward is None:
            self._backward = self._reversed()
        found._backward = self._backward
        found._check(axes for back in self._backward for axes in back.tables)
        return found

    def values(self, tables: Sequence[FloatArray], worth: FloatArray | None) -> FloatArray:
        """The mean of ``worth`` under do(targets), an axis for each target.

        ``tables``: one for each of `conditionals`, in their order and of their `shapes`.
        ``worth``: the worth of each level of the reward.
        """
        return self._broadcast(self._run(tables, worth)[self._last.register])

    def moments(self, tables: Sequence[FloatArray], worth: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean of ``worth`` and of its square, as `values`."""
        return self.values(tables, worth), self.values(tables, worth**2)

    def slopes(self, tables: Sequence[FloatArray], worth: FloatArray | None) -> tuple[FloatArray, list[FloatArray]]:
        """As `values`, and its derivative with respect to each cell of each table.

        Returns an axis for each target; and for each table an array with an axis for each target, then the axes of the
        table.
        """
        registers = self._run(tables, worth)
        if self._backward is None:
            self._backward = self._reversed()
        leading = [self._sizes[axis] for axis in self._last.axes]
        found: dict[int, FloatArray] = {self._last.register: np.ones(leading)}
        for back in self._backward:
            back.run(found, registers, self._sizes)
        slopes = [self._broadcast(found[place]) for place in range(len(self.shapes))]
        return self._broadcast(registers[self._last.register]), slopes

    def _run(self, tables: Sequence[FloatArray], worth: FloatArray | None) -> list[Any]:
        for table, shape, conditional in zip(tables, self.shapes, self.conditionals, strict=True):
            if table.shape != shape:
                raise ValueError(f"the table of {conditional} has the shape {table.shape}, not {shape}")
        # einsum walks its operands in the order of their memory: a view of the same numbers may differ in the last bit.
        registers: list[Any] = [*map(np.ascontiguousarray, tables), worth, *[None] * len(self._forward)]
        for spec, inputs, output in self._forward:
            if spec is None:
                registers[output] = _reciprocal(registers[inputs[0]])
            else:
                registers[output] = np.einsum(spec, *[registers[place] for place in inputs])
        return registers

    def _broadcast(self, array: FloatArray) -> FloatArray:
        """With an axis for targets too on which nothing depends."""
        if len(self._last.axes) == len(self.targets):
            return array
        rest = array.shape[len(self._last.axes) :]
        return np.broadcast_to(array[self._spread], (*self.shape, *rest))

    def _reversed(self) -> list[_Backward]:
        made = [_Backward(step, self._last.axes, len(self.shapes), set(self.targets)) for step in self._plan.steps]
        self._check(axes for back in made for axes in back.tables)
        return made[::-1]

    def _check(self, steps: Iterable[Axes]) -> None:
        for visits in steps:
            cells = prod(self._sizes[axis] for axis in visits)
            if cells > MAX_CELLS or len(visits) > len(ascii_letters):
                names = listed(dict.fromkeys(self._plan.names[axis] for axis in visits))
                raise TooLargeError(
                    f"The estimand of do({', '.join(self.targets)}) needs a table of {cells:,} cells over {names}; "
                    f"{MAX_CELLS:,} are allowed. Coarser domains for some of these nodes would do, or a smaller "
                    f"adjustment set, or fewer arrows between them."
                )


# ------------------------------------------------------------------------------------------------------------ planning


@dataclass(frozen=True)
class _Operand:
    """A register as one step reads it: which axis each of its axes is there."""

    register: int
    axes: Axes


@dataclass(frozen=True)
class _Step:
    """Multiply some tables and sum out all axes but those of the output; or take the reciprocal of one table."""

    inputs: tuple[_Operand, ...]
    output: _Operand
    reciprocal: bool = False

    @property
    def visits(self) -> Axes:
        return tuple(dict.fromkeys(axis for operand in self.inputs for axis in operand.axes))


class _Planner:
    """Turns an expression into steps.  An axis is called by the target whose value it is, or by a number."""

    def __init__(self, conditionals: Sequence[Conditional], targets: Names) -> None:
        self.steps: list[_Step] = []
        self._targets = targets
        self._leaves = {conditional: place for place, conditional in enumerate(conditionals)}
        self.names = {name: name for name in targets}
        """The node whose values run along each axis."""
        self._known: dict[tuple[Expression, bool, frozenset[str]], tuple[int, Names]] = {}

    def finish(self, expression: Expression, reward: str | None) -> _Operand:
        """The steps of the whole; with a reward, weighted by its worth."""
        scope = {name: name for name in self._targets}
        worth = []
        if reward is not None:
            scope[reward] = self._axis(reward)
            worth = [_Operand(len(self._leaves), (scope[reward],))]
        keep = tuple(name for name in self._targets if name in expression.free)
        return self._contract([*self._gather(expression, scope), *worth], keep)

    def _gather(self, expression: Expression, scope: Mapping[str, str]) -> list[_Operand]:
        """The tables whose product, summed over every axis that is not in scope, is the expression."""
        match expression:
            case Conditional():
                axes = tuple(scope[name] for name in expression.columns)
                return [_Operand(self._leaves[expression], axes)]
            case Product(factors):
                return [operand for factor in factors for operand in self._gather(factor, scope)]
            case Sum(names, term):
                return self._gather(term, {**scope, **{name: self._axis(name) for name in names}})
            case Ratio(numerator, denominator):
                return [self._table(numerator, scope), self._table(denominator, scope, reciprocal=True)]

    def _table(self, expression: Expression, scope: Mapping[str, str], *, reciprocal: bool = False) -> _Operand:
        """An expression as a table over its free names, made once and read with the axes of this scope."""
        fixed = frozenset(name for name in expression.free if scope[name] == name)
        key = (expression, reciprocal, fixed)
        if key not in self._known:
            names = tuple(sorted(expression.free))
            inner = {name: name if name in fixed else self._axis(name) for name in names}
            axes = tuple(inner[name] for name in names)
            made = self._contract(self._gather(expression, inner), axes)
            if reciprocal:
                made = self._add((made,), axes, reciprocal=True)
            self._known[key] = (made.register, names)
        register, names = self._known[key]
        return _Operand(register, tuple(scope[name] for name in names))

    def _contract(self, operands: list[_Operand], keep: Axes) -> _Operand:
        """Steps that multiply tables and sum over all axes that are not kept; the result has the kept axes in order."""
        left = operands
        kept = set(keep)
        for turn in min_fill([tuple(axis for axis in each.axes if axis not in kept) for each in operands]):
            bucket = [operand for operand in left if turn[0] in operand.axes]
            if bucket:
                left = [operand for operand in left if turn[0] not in operand.axes]
                beside = kept.union(*(operand.axes for operand in left))
                around = dict.fromkeys(axis for operand in bucket for axis in operand.axes)
                axes = tuple(axis for axis in around if axis in beside) if left else keep
                left.append(self._multiply(bucket, axes))
        if len(left) != 1 or left[0].axes != keep or left[0].register <= len(self._leaves):
            left = [self._multiply(left, keep)]
        return left[0]

    def _multiply(self, operands: list[_Operand], axes: Axes) -> _Operand:
        while len(operands) > MAX_OPERANDS:
            some, operands = operands[:MAX_OPERANDS], operands[MAX_OPERANDS:]
            around = dict.fromkeys(axis for operand in some for axis in operand.axes)
            operands.insert(0, self._add(tuple(some), tuple(around)))
        return self._add(tuple(operands), axes)

    def _add(self, inputs: tuple[_Operand, ...], axes: Axes, *, reciprocal: bool = False) -> _Operand:
        output = _Operand(len(self._leaves) + 1 + len(self.steps), axes)
        self.steps.append(_Step(inputs, output, reciprocal))
        return output

    def _axis(self, name: str) -> str:
        number = len(self.names)
        while str(number) in self.names:  # a target may have a number for a name
            number += 1
        self.names[str(number)] = name
        return str(number)


# ------------------------------------------------------------------------------------------------- forward and backward


def _forward(step: _Step) -> tuple[str | None, tuple[int, ...], int]:
    letters = dict(zip(step.visits, ascii_letters, strict=False))
    inputs = tuple(operand.register for operand in step.inputs)
    if step.reciprocal:
        return None, inputs, step.output.register
    return _spec([operand.axes for operand in step.inputs], step.output.axes, letters), inputs, step.output.register


class _Backward:
    """One step in reverse: from the derivative with respect to its output to those with respect to its inputs.

    A derivative has the axes of the arms first.  Then, for a table on the way, its axes but those of targets, which are
    the same as the arms'; for a table that was given, all of its axes, and what is read at a target's value is written
    to the diagonal.
    """

    def __init__(self, step: _Step, arms: Axes, leaves: int, targets: set[str]) -> None:
        visits = tuple(dict.fromkeys((*arms, *step.visits)))
        letters = dict(zip(visits, ascii_letters, strict=False))
        self._output = step.output.register
        self._reciprocal = step.reciprocal
        own = (*arms, *_without(step.output.axes, targets))
        self._parts: list[_Part] = []
        for place, operand in enumerate(step.inputs):
            if operand.register == leaves:
                continue  # the worth of the reward
            others = [other for position, other in enumerate(step.inputs) if position != place]
            if step.reciprocal:
                others = [step.output, step.output]
            present = set(own).union(*(other.axes for other in others))
            wanted = (*arms, *_without(operand.axes, targets))
            shown = tuple(axis for axis in wanted if axis in present)
            at_target = operand.register < leaves and not targets.isdisjoint(operand.axes)
            self._parts.append(
                _Part(
                    operand.register,
                    tuple(other.register for other in others),
                    _spec([own, *(other.axes for other in others)], shown, letters),
                    tuple(slice(None) if axis in present else np.newaxis for axis in wanted)
                    if wanted != shown
                    else None,
                    wanted,
                    (*arms, *operand.axes),
                    _spec([(*arms, *operand.axes)], wanted, letters) if at_target else None,
                )
            )

        self.tables = [visits, *(part.layout for part in self._parts if part.diagonal is not None)]
        """The axes of everything that is visited or made."""

    def run(self, found: dict[int, FloatArray], registers: Sequence[Any], sizes: Mapping[str, int]) -> None:
        """Add what this step contributes to the derivatives with respect to its inputs."""
        above = found.get(self._output)
        if above is None:
            return
        for part in self._parts:
            slope = np.einsum(part.spec, above, *[registers[place] for place in part.others])
            if self._reciprocal:
                slope = -slope
            if part.spread is not None:
                slope = np.broadcast_to(slope[part.spread], [sizes[axis] for axis in part.axes])
            before = found.get(part.register)
            if part.diagonal is None:
                found[part.register] = slope if before is None else before + slope
                continue
            whole = np.zeros([sizes[axis] for axis in part.layout]) if before is None else before.copy()
            view = np.einsum(part.diagonal, whole)  # of the diagonals, and what is written to it is written to them
            view += slope
            found[part.register] = whole


@dataclass(frozen=True)
class _Part:
    """How one input's derivative is found: from the output's and the other inputs, then spread over missing axes."""

    register: int
    others: tuple[int, ...]
    spec: str
    spread: tuple[slice | None, ...] | None
    axes: Axes
    layout: Axes
    """The axes of the arms and all of the table's own."""
    diagonal: str | None
    """Where a table is read at the values of targets: from the layout to the axes."""


def _without(axes: Axes, targets: set[str]) -> Axes:
    return tuple(axis for axis in axes if axis not in targets)


def _spec(inputs: Sequence[Axes], output: Axes, letters: Mapping[str, str]) -> str:
    """What einsum calls subscripts."""
    read = ",".join("".join(letters[axis] for axis in axes) for axes in inputs)
    return f"{read}->{''.join(letters[axis] for axis in output)}"


def _reciprocal(table: FloatArray) -> FloatArray:
    found: FloatArray = np.divide(1.0, table, out=np.zeros_like(table), where=table != 0)
    return found
