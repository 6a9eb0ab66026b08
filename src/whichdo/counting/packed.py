"""Tables of counts from columns of codes, chunk by chunk.

0/1 columns are packed 64 rows a word and counted by AND and popcount; other domains, and rows that count more than
once, by their codes; a scope with too many cells to lay out keeps only the cells that occurred.  Nothing grows with the
rows but the last.  The first rows are counted by numpy: a small log is done before a compiler would be loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.tables import MAX_CELLS, Layout, Places, Radix, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import Array, CodeArray, FloatArray, IntArray, WordArray
    from whichdo.problem import Problem
    from whichdo.tables import Scope


DENSE_TOTAL = 1 << 25  # cells that all tables laid out may have together, 256 MB; the largest give way
FEW_CELLS = 1 << 12  # cells that are laid out however few the rows are
FLAT = 1 << 62  # cells up to which a cell's number fits a word
SMALL = 1 << 24  # codes, of all rows and scopes, that numpy counts: a twentieth of the time that loading numba takes
NUMPY_BLOCK = 1 << 19  # codes at a time, so that they stay in a cache


@dataclass(frozen=True)
class Plan:
    """How each scope is counted.  ``arms`` tallies share the memory; ``weighted`` rows cannot be counted as bits.

    ``rows``, where known: a scope with more cells than rows (and more than `FEW_CELLS`) is mostly empty.
    """

    sizes: Mapping[str, int]
    scopes: tuple[Scope, ...]
    weighted: bool = False
    arms: int = 1
    rows: int | None = None

    def cells(self, scope: Scope) -> int:
        """The number of cells, which may be far more than a machine word holds."""
        return Radix.of(scope, self.sizes).cells

    @cached_property
    def dense(self) -> frozenset[Scope]:
        """The scopes that are laid out: the smallest, as many as there is room for."""
        room = DENSE_TOTAL // self.arms
        most = MAX_CELLS if self.rows is None else min(MAX_CELLS, max(FEW_CELLS, self.rows))
        chosen = []
        for scope in sorted(self.scopes, key=self.cells):
            room -= self.cells(scope)
            if room < 0 or self.cells(scope) > most:
                break
            chosen.append(scope)
        return frozenset(chosen)

    @cached_property
    def packed(self) -> Layout:
        """The scopes counted by AND and popcount."""
        return Layout(self.sizes, [scope for scope in self.scopes if self._is_packed(scope)])

    @cached_property
    def coded(self) -> Layout:
        """The scopes counted by codes."""
        return Layout(
            self.sizes, [scope for scope in self.scopes if scope in self.dense and not self._is_packed(scope)]
        )

    @cached_property
    def sparse(self) -> tuple[Scope, ...]:
        """The scopes of which only cells that occurred are kept."""
        return tuple(scope for scope in self.scopes if scope not in self.dense)

    @cached_property
    def places(self) -> tuple[Places, Places]:
        """Of `packed` and `coded`."""
        return self.packed.places(), self.coded.places()

    def _is_packed(self, scope: Scope) -> bool:
        return not self.weighted and scope in self.dense and all(self.sizes[name] == 2 for name in scope)


class Adder:
    """Adds up the tables of one arm."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._cells = (np.zeros(plan.packed.cells, np.int64), np.zeros(plan.coded.cells, np.int64))
        self._subsets: IntArray | None = None  # of the packed scopes, once there are many rows
        self._sparse = [SparseAdder([plan.sizes[name] for name in scope]) for scope in plan.sparse]
        self._done = 0

    def add(self, codes: Mapping[str, CodeArray], rows: int, weights: IntArray | None = None) -> None:
        """Add ``rows`` rows: one array of codes for each column, and how often each row counts."""
        if not rows:
            return
        layouts = self.plan.packed, self.plan.coded
        self._done += rows * sum(len(scope) + 1 for layout in layouts for scope in layout.scopes)
        for layout, places, cells in zip(layouts, self.plan.places, self._cells, strict=True):
            if not layout.scopes:
                continue
            if self._done <= SMALL:
                count_small(_matrix(layout, codes, rows), weights, places, cells)
            elif layout is self.plan.packed:
                self._add_packed(codes, rows)
            else:
                from whichdo.kernels.packing import count_codes

                none = np.empty(0, np.int64)
                count_codes(_matrix(layout, codes, rows), none if weights is None else weights, places, cells)
        for scope, counter in zip(self.plan.sparse, self._sparse, strict=True):
            counter.add([codes[name] for name in scope], weights)

    def tables(self) -> dict[Scope, Table]:
        """The table of every scope, in the plan's order."""
        packed, coded = (cells.copy() for cells in self._cells)
        if self._subsets is not None:
            from whichdo.kernels.packing import cells_from_subsets

            more = self._subsets.copy()
            cells_from_subsets(self.plan.places[0], more)
            packed += more
        found = {scope: self.plan.packed.table(scope, packed) for scope in self.plan.packed.scopes}
        found |= {scope: self.plan.coded.table(scope, coded) for scope in self.plan.coded.scopes}
        found |= {scope: own.table(scope) for scope, own in zip(self.plan.sparse, self._sparse, strict=True)}
        return {scope: found[scope] for scope in self.plan.scopes}

    def _add_packed(self, codes: Mapping[str, CodeArray], rows: int) -> None:
        from whichdo.kernels.packing import count_packed

        if self._subsets is None:
            self._subsets = np.zeros_like(self._cells[0])
        words = pack_columns([codes[name] for name in self.plan.packed.columns], rows)
        count_packed(words, rows, self.plan.places[0], self._subsets)


def count_small(codes: CodeArray, weights: IntArray | None, places: Places, cells: IntArray) -> None:
    """Add the rows of ``codes`` (columns, rows) to the cells of every scope, as the kernel ``count_codes`` does."""
    rows = codes.shape[1]
    lengths = np.diff(places.start)
    cells[places.cell_start[:-1][lengths == 0]] += rows if weights is None else weights.sum()
    begin, first_cell = places.start[:-1][lengths > 0], places.cell_start[:-1][lengths > 0]
    if not len(begin):
        return
    block = max(1, NUMPY_BLOCK // len(places.columns))
    for first in range(0, rows, block):
        steps = codes[:, first : first + block][places.columns] * places.strides[:, np.newaxis]
        found = np.add.reduceat(steps, begin, axis=0) + first_cell[:, np.newaxis]
        more = 1 if weights is None else np.broadcast_to(weights[first : first + block], found.shape).ravel()
        np.add.at(cells, found.ravel(), more)


def pack_columns(columns: Sequence[CodeArray], rows: int) -> WordArray:
    """0/1 columns as words of shape (blocks, columns, words a block)."""
    from whichdo.kernels.packing import pack
    from whichdo.kernels.random import BLOCK

    words = np.empty((-(-rows // BLOCK), len(columns), BLOCK // 64), np.uint64)
    full = rows // 64 * 64
    for j, column in enumerate(columns):
        column = np.require(column, np.uint8, "C")
        if column.ctypes.data % 8:
            column = column.copy()
        pack(column[:full].view(np.uint64), column[full:], j, words)
    return words


class SparseAdder:
    """The cells of one scope that occurred.  What is new is merged once it is as much as what is there."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._radix = Radix(tuple(map(str, range(len(sizes)))), tuple(sizes))
        self._flat = self._radix.cells <= FLAT
        self._keys, self._counts = self._key(np.zeros((len(sizes), 0), np.uint8)), np.zeros(0, np.int64)
        self._new: list[tuple[Any, IntArray]] = []
        self._waiting = 0

    def add(self, columns: Sequence[CodeArray], weights: IntArray | None) -> None:
        """Add rows, given by their columns."""
        keys = self._key(np.stack(columns))
        found = _merged(keys, np.ones(len(keys), np.int64) if weights is None else weights)
        self._new.append(found)
        self._waiting += len(found[0])
        if self._waiting >= len(self._keys):
            self._merge()

    def table(self, scope: Scope) -> Table:
        """The cells in lexical order with their counts; a cell that counts nothing is left out."""
        self._merge()
        keys, counts = self._keys[self._counts > 0], self._counts[self._counts > 0]
        if self._flat:
            cells = self._radix.codes(keys)
        else:
            cells = keys.view(np.uint8).reshape(len(keys), len(self._radix.sizes))
        return Table(scope, self._radix.sizes, counts, np.ascontiguousarray(cells))

    def _key(self, codes: CodeArray) -> Any:
        """One number a row, or one string of bytes where no number holds it; both sort as the cells do."""
        if self._flat:
            return self._radix.numbers(list(codes))
        return np.ascontiguousarray(codes.T).view(f"V{len(self._radix.sizes)}").ravel()

    def _merge(self) -> None:
        if self._new:
            keys, counts = zip((self._keys, self._counts), *self._new, strict=True)
            self._keys, self._counts = _merged(np.concatenate(keys), np.concatenate(counts))
            self._new, self._waiting = [], 0


def _matrix(layout: Layout, codes: Mapping[str, CodeArray], rows: int) -> CodeArray:
    """The columns of a layout one below the other; without any, it still has its length."""
    matrix = np.empty((len(layout.columns), rows), np.uint8)
    for j, name in enumerate(layout.columns):
        matrix[j] = codes[name]
    return matrix


def _merged(keys: Any, counts: IntArray) -> tuple[Any, IntArray]:
    """Distinct keys in order, and the sum of the counts of each."""
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    if not len(keys):
        return keys, counts
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[first], np.add.reduceat(counts, first)


class MomentAdder:
    """Adds up tables of one arm that hold more than counts: sums of weights, and of a reward that is any number.

    A weighted table holds for each cell ``weight`` and ``weight_square``, the sums of the weights and of their squares.
    A table of a numeric reward has no axis for it; it holds ``sum`` and ``square``, the sums of the reward on a scale
    from 0 to 1 and of its square, each times the weight where rows have one.
    """

    def __init__(self, problem: Problem, scopes: Sequence[Scope]) -> None:
        self._sizes = problem.sizes
        without = {problem.reward} if problem.reward_range is not None else set()
        kept = [tuple(name for name in scope if name not in without) for scope in scopes]
        self._scopes = tuple(dict.fromkeys(kept))
        self.tables: dict[Scope, Table] = {}
        self.weight = 0.0

    def add(
        self,
        codes: Mapping[str, CodeArray],
        rows: int,
        counts: IntArray | None,
        weights: FloatArray | None,
        rewards: FloatArray | None,
    ) -> None:
        """Add rows: their codes, how often each counts, how much it weighs, and its reward from 0 to 1."""
        number = np.ones(rows, np.int64) if counts is None else counts
        weight = number.astype(np.float64) if weights is None else weights
        statistics: dict[str, Array] = {}
        if weights is not None:
            statistics |= {"weight": weights, "weight_square": weights**2}
        if rewards is not None:
            statistics |= {"sum": weight * rewards, "square": weight * rewards**2}
        self.weight += float(weight.sum())
        for scope in self._scopes:
            sizes = [self._sizes[name] for name in scope]
            table = Table.from_rows(scope, sizes, [codes[name] for name in scope], number, **statistics)
            self.tables[scope] = self.tables[scope] + table if scope in self.tables else table
