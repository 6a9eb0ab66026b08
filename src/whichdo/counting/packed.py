"""Tables of counts from columns of codes, chunk by chunk.

0/1 columns are packed 64 rows a word and counted by AND and popcount; other domains, and rows that count more than
once, by their codes; a scope with too many cells to lay out keeps only the cells that occurred.  Nothing grows with the
rows but the last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.scopes import MAX_CELLS
from whichdo.evidence import Sparse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import CodeArray, IntArray, WordArray
    from whichdo.counting.scopes import Scope
    from whichdo.evidence import Table
    from whichdo.kernels.plans import Scopes

__all__ = ["DENSE_TOTAL", "Counter", "Layout"]

DENSE_TOTAL = 1 << 25  # cells that all tables laid out may have together, 256 MB; the largest give way
FEW_CELLS = 1 << 12  # cells that are laid out however few the rows are
FLAT = 1 << 62  # cells up to which a cell's number fits a word


@dataclass(frozen=True)
class Layout:
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
        return prod(self.sizes[name] for name in scope)

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
    def packed(self) -> Group:
        """The scopes counted by AND and popcount."""
        return Group(self.sizes, () if self.weighted else tuple(s for s in self.scopes if self._binary(s)))

    @cached_property
    def coded(self) -> Group:
        """The scopes counted by codes."""
        return Group(
            self.sizes, tuple(s for s in self.scopes if s in self.dense and (self.weighted or not self._binary(s)))
        )

    @cached_property
    def sparse(self) -> tuple[Scope, ...]:
        """The scopes of which only cells that occurred are kept."""
        return tuple(scope for scope in self.scopes if scope not in self.dense)

    def _binary(self, scope: Scope) -> bool:
        return scope in self.dense and all(self.sizes[name] == 2 for name in scope)


@dataclass(frozen=True)
class Group:
    """Scopes that one kernel counts together, and the columns they need."""

    sizes: Mapping[str, int]
    scopes: tuple[Scope, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of all scopes, in the order the kernel sees them."""
        return tuple(dict.fromkeys(name for scope in self.scopes for name in scope))

    @cached_property
    def plan(self) -> Scopes:
        """The flat arrays that the kernels read."""
        from whichdo.kernels.plans import Scopes

        place = {name: number for number, name in enumerate(self.columns)}
        strides = [
            prod(self.sizes[other] for other in scope[j + 1 :]) for scope in self.scopes for j in range(len(scope))
        ]
        return Scopes(
            _starts([len(scope) for scope in self.scopes]),
            np.array([place[name] for scope in self.scopes for name in scope], np.int64),
            np.array(strides, np.int64),
            _starts([prod(self.sizes[name] for name in scope) for scope in self.scopes]),
        )

    def tables(self, flat: IntArray) -> dict[Scope, IntArray]:
        """Cut the cells of all scopes into one array each."""
        bounds = self.plan.cell_start
        return {
            scope: flat[bounds[j] : bounds[j + 1]].reshape([self.sizes[name] for name in scope])
            for j, scope in enumerate(self.scopes)
        }


@dataclass
class Counter:
    """Adds up the tables of one arm."""

    layout: Layout
    rows: int = 0
    _subsets: IntArray = field(init=False)
    _cells: IntArray = field(init=False)
    _sparse: list[SparseCounter] = field(init=False)

    def __post_init__(self) -> None:
        self._subsets = np.zeros(int(self.layout.packed.plan.cell_start[-1]), np.int64)
        self._cells = np.zeros(int(self.layout.coded.plan.cell_start[-1]), np.int64)
        self._sparse = [SparseCounter([self.layout.sizes[n] for n in scope]) for scope in self.layout.sparse]

    def add(self, codes: Mapping[str, CodeArray], rows: int, weights: IntArray | None = None) -> None:
        """Add ``rows`` rows: one array of codes for each column, and how often each row counts."""
        from whichdo.kernels.packing import count_codes, count_packed

        if not rows:
            return
        self.rows += rows
        packed, coded = self.layout.packed, self.layout.coded
        if packed.scopes:
            count_packed(pack_columns([codes[name] for name in packed.columns], rows), rows, packed.plan, self._subsets)
        if coded.scopes:
            # A scope without columns counts rows all the same, so the matrix keeps its length.
            matrix = np.empty((len(coded.columns), rows), np.uint8)
            for j, name in enumerate(coded.columns):
                matrix[j] = codes[name]
            count_codes(matrix, np.empty(0, np.int64) if weights is None else weights, coded.plan, self._cells)
        for scope, counter in zip(self.layout.sparse, self._sparse, strict=True):
            counter.add([codes[name] for name in scope], weights)

    def tables(self) -> dict[Scope, Table]:
        """The table of every scope, in the layout's order."""
        from whichdo.kernels.packing import cells_from_subsets

        cells = self._subsets.copy()
        cells_from_subsets(self.layout.packed.plan, cells)
        found: dict[Scope, Table] = {**self.layout.packed.tables(cells), **self.layout.coded.tables(self._cells.copy())}
        for scope, counter in zip(self.layout.sparse, self._sparse, strict=True):
            found[scope] = counter.table()
        return {scope: found[scope] for scope in self.layout.scopes}


def pack_columns(columns: Sequence[CodeArray], rows: int) -> WordArray:
    """0/1 columns as words of shape (blocks, columns, words a block)."""
    from whichdo.kernels.packing import pack
    from whichdo.kernels.plans import BLOCK

    words = np.empty((-(-rows // BLOCK), len(columns), BLOCK // 64), np.uint64)
    full = rows // 64 * 64
    for j, column in enumerate(columns):
        column = np.require(column, np.uint8, "C")
        if column.ctypes.data % 8:
            column = column.copy()
        pack(column[:full].view(np.uint64), column[full:], j, words)
    return words


class SparseCounter:
    """The cells of one scope that occurred.  What is new is merged once it is as much as what is there."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = tuple(sizes)
        self._flat = prod(sizes) <= FLAT
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

    def table(self) -> Sparse:
        """The cells in lexical order with their counts; a cell that counts nothing is left out."""
        self._merge()
        keys, counts = self._keys[self._counts > 0], self._counts[self._counts > 0]
        if not self._flat:
            cells = keys.view(np.uint8).reshape(len(keys), len(self._sizes))
            return Sparse(np.ascontiguousarray(cells), counts)
        cells = np.stack(np.unravel_index(keys, self._sizes), axis=1).astype(np.uint8)
        return Sparse(np.ascontiguousarray(cells), counts)

    def _key(self, codes: CodeArray) -> Any:
        """One number a row, or one string of bytes where no number holds it; both sort as the cells do."""
        if self._flat:
            return np.ravel_multi_index(tuple(codes.astype(np.int64)), self._sizes).astype(np.int64)
        return np.ascontiguousarray(codes.T).view(f"V{len(self._sizes)}").ravel()

    def _merge(self) -> None:
        if self._new:
            keys, counts = zip((self._keys, self._counts), *self._new, strict=True)
            self._keys, self._counts = _merged(np.concatenate(keys), np.concatenate(counts))
            self._new, self._waiting = [], 0


def _merged(keys: Any, counts: IntArray) -> tuple[Any, IntArray]:
    """Distinct keys in order, and the sum of the counts of each."""
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    if not len(keys):
        return keys, counts
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[first], np.add.reduceat(counts, first)


def _starts(lengths: Sequence[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
