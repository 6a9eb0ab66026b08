"""A table of counts over a *scope*, which is a tuple of columns; numbers of its cells; many tables in one array.

A cell is one setting of all columns of the scope, each column by its code, 0, 1, 2, ...  A table is *dense*, with an
axis for each column, or *sparse*: a list of the cells that occurred.  Arrays only: nothing here knows what a column
means.

Variables are summed out of a product of tables in a good order (`min_fill`).  Summing one variable
out multiplies all tables that speak of it into one over its neighbours.  How large these grow
depends on the order; the best is hard to find, and *min-fill* is good in practice: at each turn the
variable whose neighbours lack the fewest edges among each other.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whichdo.arrays import Array, CodeArray, FloatArray, IntArray


Scope = tuple[str, ...]

MAX_CELLS = 1 << 20
"""The most cells of a scope that are laid out unless someone asks for it."""


@dataclass(frozen=True)
class Radix:
    """How the cells of a scope are numbered: the codes are digits, the last column's varies fastest.

    >>> radix = Radix(("X", "Y"), (2, 3))
    >>> radix.cells, radix.strides
    (6, (3, 1))
    """

    scope: Scope
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, scope: Iterable[str], sizes: Mapping[str, int]) -> Radix:
        """The numbering of a scope, given the number of values of every column."""
        scope = tuple(scope)
        return cls(scope, tuple(sizes[name] for name in scope))

    @cached_property
    def cells(self) -> int:
        """The number of cells: a Python integer, which may be far more than a machine word holds."""
        return prod(self.sizes)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """For each column how far apart two cells are that differ by one in its code."""
        return tuple(accumulate(self.sizes[:0:-1], int.__mul__, initial=1))[::-1] if self.sizes else ()

    @cached_property
    def steps(self) -> dict[str, int]:
        """The strides by the name of the column."""
        return dict(zip(self.scope, self.strides, strict=True))

    def onto(self, steps: Mapping[str, int]) -> IntArray:
        """For each cell the sum of its codes times the step of their column, 0 for columns without one.

        With the steps of some of the columns by themselves it is the number of the margin's cell.
        """
        found = np.zeros(self.cells, np.int64).reshape(self.sizes)
        for axis, (name, size) in enumerate(zip(self.scope, self.sizes, strict=True)):
            along = np.arange(size, dtype=np.int64).reshape([-1 if j == axis else 1 for j in range(len(self.sizes))])
            found += along * steps.get(name, 0)
        return found.ravel()

    def numbers(self, columns: Sequence[Array]) -> IntArray:
        """The number of each row's cell; ``columns`` holds an array of codes for each column of the scope."""
        found = np.zeros(len(columns[0]) if len(columns) else 0, np.int64)
        for column, size in zip(columns, self.sizes, strict=True):
            found = found * size + column
        return found

    def codes(self, numbers: IntArray) -> CodeArray:
        """The codes of each numbered cell, a row for each."""
        found = np.empty((len(numbers), len(self.sizes)), np.uint8)
        for place in range(len(self.sizes) - 1, -1, -1):
            numbers, found[:, place] = np.divmod(numbers, self.sizes[place])
        return found


def starts(lengths: Iterable[int], first: int = 0) -> list[int]:
    """Where each of some parts begins that lie one after the other; last, where all of them end."""
    return list(accumulate(lengths, initial=first))


class Table:
    """What is known of each cell of a scope: how often it occurred.

    ``statistics`` has an array for each number that is known, and each adds up over rows: ``count`` is always there.
    In a dense table the arrays have an axis for each column; in a sparse one they have an entry for each row of
    ``cells``, the codes of the cells that occurred, each once and in lexical order.
    """

    __slots__ = ("cells", "radix", "statistics")

    def __init__(
        self,
        scope: Scope,
        sizes: Iterable[int],
        count: IntArray,
        cells: CodeArray | None = None,
        **statistics: Array,
    ) -> None:
        self.radix = Radix(scope, tuple(sizes))
        self.statistics: dict[str, Array] = {"count": count, **statistics}
        self.cells = cells

    @classmethod
    def of(cls, scope: Scope, count: IntArray) -> Table:
        """The dense table whose counts are this array, which has an axis for each column.

        >>> Table.of(("X", "Y"), np.array([[1, 0], [2, 4]])).marginal(("Y",)).tolist()
        [3, 4]
        """
        return cls(scope, count.shape, count)

    @classmethod
    def from_rows(
        cls,
        scope: Scope,
        sizes: Iterable[int],
        columns: Sequence[CodeArray],
        count: IntArray | None = None,
        **statistics: Array,
    ) -> Table:
        """Add up rows, given by an array of codes for each column; ``count`` says how often each counts, by default 1.

        Dense or sparse as by `compact`.
        """
        radix = Radix(scope, tuple(sizes))
        by_row = {"count": np.ones(len(columns[0]), np.int64) if count is None else count, **statistics}
        if radix.cells <= MAX_CELLS:
            where = radix.numbers(columns) if columns else np.zeros(len(by_row["count"]), np.int64)
            sums = {name: _sums(where, values, radix.cells).reshape(radix.sizes) for name, values in by_row.items()}
            return cls(scope, radix.sizes, **sums)
        cells, where = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        sums = {name: _sums(where.ravel(), values, len(cells)) for name, values in by_row.items()}
        return cls(scope, radix.sizes, cells=np.ascontiguousarray(cells), **sums)

    @property
    def scope(self) -> Scope:
        """The columns."""
        return self.radix.scope

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each column."""
        return self.radix.sizes

    @property
    def count(self) -> IntArray:
        """How often each cell occurred."""
        return self.statistics["count"]

    @property
    def total(self) -> int:
        """How often all cells together occurred."""
        return int(self.count.sum())

    def __add__(self, other: Table) -> Table:
        """The same scope counted over the rows of both: sparse if both are.

        It has the statistics that both have: of rows without their reward's number there is no sum.
        """
        if self.radix != other.radix:
            raise ValueError(f"Tables of {self.scope} and {other.scope} do not add up.")
        if "weight" in self.statistics and "weight" not in other.statistics:
            raise ValueError(f"Tables of {self.scope} with weights and without do not add up.")
        names = [name for name in self.statistics if name in other.statistics]
        if self.cells is None or other.cells is None:
            one, two = self.dense().statistics, other.dense().statistics
            return Table(self.scope, self.sizes, **{name: np.asarray(one[name] + two[name]) for name in names})
        cells, where = np.unique(np.concatenate([self.cells, other.cells]), axis=0, return_inverse=True)
        both = {name: np.concatenate([self.statistics[name], other.statistics[name]]) for name in names}
        sums = {name: _sums(where.ravel(), values, len(cells)) for name, values in both.items()}
        return Table(self.scope, self.sizes, cells=cells, **sums)

    def marginal(self, scope: Scope) -> Table:
        """The table of some of the columns, in any order: dense if this is, or if it is small enough."""
        if scope == self.scope:
            return self
        places = [self.scope.index(name) for name in scope]
        sizes = tuple(self.sizes[place] for place in places)
        if self.cells is not None:
            return Table.from_rows(scope, sizes, [self.cells[:, place] for place in places], **self.statistics)
        gone = tuple(axis for axis, name in enumerate(self.scope) if name not in scope)
        left = [name for name in self.scope if name in scope]
        order = [left.index(name) for name in scope]
        sums = {name: np.asarray(values.sum(axis=gone)).transpose(order) for name, values in self.statistics.items()}
        # The shape is given again: numpy makes a whole line of a single number.
        return Table(scope, sizes, **{name: np.ascontiguousarray(part).reshape(sizes) for name, part in sums.items()})

    def dense(self) -> Table:
        """The same with an axis for each column, however many cells there are."""
        if self.cells is None:
            return self
        where = tuple(self.cells.T)

        def laid_out(name: str) -> Array:
            found = np.zeros(self.sizes, self.statistics[name].dtype)
            found[where] = self.statistics[name]
            return found

        return self._like(laid_out)

    def sparse(self) -> Table:
        """The same as a list of the cells that occurred; a table without columns, which has one cell, stays dense."""
        if not self.sizes:
            return self
        where = np.nonzero(self.count)
        cells = np.stack(where, axis=1).astype(np.uint8) if self.cells is None else self.cells[where]
        return self._like(lambda name: self.statistics[name][where], np.ascontiguousarray(cells))

    def compact(self) -> Table:
        """The same in the form that its scope decides: dense with at most `MAX_CELLS` cells, sparse with more."""
        return self.dense() if self.radix.cells <= MAX_CELLS else self if self.cells is not None else self.sparse()

    def tolist(self) -> list[object]:
        """How often each cell occurred, as nested lists with a level for each column."""
        found: list[object] = self.dense().count.tolist()
        return found

    def _like(self, made: Callable[[str], Array], cells: CodeArray | None = None) -> Table:
        """A table of the same scope whose statistics are ``made``."""
        found = {name: made(name) for name in self.statistics}
        return Table(self.scope, self.sizes, cells=cells, **found)

    def __repr__(self) -> str:
        kind = "dense" if self.cells is None else "sparse"
        return f"<{kind} table of {', '.join(self.scope) or 'nothing'}: {self.total:,} rows>"


def smallest_table(tables: Mapping[Scope, Table], columns: Iterable[str]) -> Table | None:
    """Of some tables the smallest that has all of these columns; None where none has."""
    wanted = frozenset(columns)
    holding = [scope for scope in tables if wanted.issubset(scope)]
    return min((tables[scope] for scope in holding), key=lambda table: table.radix.cells, default=None)


class TableIndex:
    """Answers as `smallest_table` does, for many questions about the same tables.

    The tables are numbered by their size, and each column knows the tables that have it, as the bits of an integer.
    """

    def __init__(self, tables: Mapping[Scope, Table]) -> None:
        self._tables = sorted(tables.values(), key=lambda table: table.radix.cells)
        self._having: dict[str, int] = {}
        for number, table in enumerate(self._tables):
            for name in table.scope:
                self._having[name] = self._having.get(name, 0) | 1 << number

    def smallest(self, columns: Iterable[str]) -> Table | None:
        """The smallest table that has all of these columns; None where none has.

        >>> index = TableIndex({("X", "Y"): Table.of(("X", "Y"), np.zeros((2, 2)))})
        >>> index.smallest(["Y"]), index.smallest(["Z"])
        (<dense table of X, Y: 0 rows>, None)
        """
        holding = (1 << len(self._tables)) - 1
        for name in columns:
            holding &= self._having.get(name, 0)
        return self._tables[(holding & -holding).bit_length() - 1] if holding else None


def conditional_rows(counts: FloatArray, smoothing: float = 0.0, threshold: float = 0.0) -> FloatArray:
    """The shares along the last axis, ``smoothing`` being added to every count.

    Uniform where nothing was counted and where the row's total is below ``threshold``.
    """
    size = counts.shape[-1]
    totals = counts.sum(axis=-1, keepdims=True)
    weights = totals + smoothing * size
    uniform = (weights <= 0) | (totals < threshold)
    found: FloatArray = np.where(uniform, 1 / size, (counts + smoothing) / np.where(uniform, 1.0, weights))
    return found


def _sums(places: IntArray, values: Array, size: int) -> Array:
    """The sum of the values at each place, exact for integers of any size."""
    if values.dtype.kind == "f":
        return np.bincount(places, weights=values, minlength=size)
    found = np.zeros(size, values.dtype)
    np.add.at(found, places, values)
    return found


class Places(NamedTuple):
    """A layout as kernels read it: ``start[s] : start[s + 1]`` are the columns of scope s, with their strides.

    ``columns`` are places in whatever the kernel has of each row; the cells of scope s begin at ``cell_start[s]``.
    """

    start: IntArray
    columns: IntArray
    strides: IntArray
    cell_start: IntArray


class Layout:
    """Where the table of each scope lies in one array, one after the other: what a simulation hands over by the
    hundred, and what counting kernels write to.  ``sizes`` has the number of values of every column.
    """

    def __init__(self, sizes: Mapping[str, int], scopes: Iterable[Scope]) -> None:
        self.scopes: tuple[Scope, ...] = tuple(dict.fromkeys(scopes))
        self._radixes = [Radix.of(scope, sizes) for scope in self.scopes]
        self.starts = starts(radix.cells for radix in self._radixes)
        self.cells = self.starts[-1]
        self._numbers = {scope: number for number, scope in enumerate(self.scopes)}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of all scopes, each once."""
        return tuple(dict.fromkeys(name for scope in self.scopes for name in scope))

    def place(self, scope: Scope) -> slice:
        """Where the cells of a scope lie."""
        number = self._numbers[scope]
        return slice(self.starts[number], self.starts[number + 1])

    def places(self, columns: Sequence[str] | None = None) -> Places:
        """The layout for kernels that see ``columns`` in this order, by default its own."""
        position = {name: number for number, name in enumerate(self.columns if columns is None else columns)}
        return Places(
            np.array(starts(len(scope) for scope in self.scopes), np.int64),
            np.array([position[name] for scope in self.scopes for name in scope], np.int64),
            np.array([stride for radix in self._radixes for stride in radix.strides], np.int64),
            np.array(self.starts, np.int64),
        )

    def table(self, scope: Scope, counts: IntArray) -> Table:
        """The table of one scope, from the array in which all lie."""
        sizes = self._radixes[self._numbers[scope]].sizes
        return Table(scope, sizes, counts[self.place(scope)].reshape(sizes))


class Tables(Mapping[Scope, Table]):
    """The tables of a layout, looked up by scope; ``counts`` is the array in which they lie."""

    def __init__(self, layout: Layout, counts: IntArray) -> None:
        self.layout, self.counts = layout, counts

    def __getitem__(self, scope: Scope) -> Table:
        return self.layout.table(scope, self.counts)

    def __iter__(self) -> Iterator[Scope]:
        return iter(self.layout.scopes)

    def __len__(self) -> int:
        return len(self.layout.scopes)

    def __add__(self, other: Tables) -> Tables:
        """The same scopes counted over the rows of both."""
        if self.layout.scopes != other.layout.scopes:
            raise ValueError("Tables of different scopes do not add up.")
        return Tables(self.layout, self.counts + other.counts)


HOPELESS = 64  # neighbours; a table over so many nodes of two values is far beyond any limit


def min_fill(groups: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """For each turn the name that is summed out, then what is tied to it by then; ``groups`` are the tables' names.

    >>> [turn[0] for turn in min_fill([("A", "B"), ("B", "C"), ("C", "D")])]
    ['A', 'B', 'C', 'D']
    """
    near: dict[str, set[str]] = {}
    for group in groups:
        for name in group:
            near.setdefault(name, set()).update(group)
    for name, others in near.items():
        others.discard(name)
    first = {name: number for number, name in enumerate(near)}
    fill = {name: _missing(near, name) for name in near}
    queue = [(fill[name], len(near[name]), first[name], name) for name in near]
    heapq.heapify(queue)
    while queue:
        joins, degree, _, name = heapq.heappop(queue)
        if name not in near or joins != fill[name] or degree != len(near[name]):
            continue  # an old entry: the node is gone, or stands elsewhere in the queue by now
        around = near.pop(name)
        yield (name, *sorted(around, key=first.__getitem__))
        for other in around:
            near[other].discard(name)
            near[other] |= around - {other}
        # New edges change the count of everyone near; without any, only the neighbours lost something.
        touched = {far for other in around for far in (other, *near[other])} if joins else around
        for other in touched:
            fill[other] = _missing(near, other)
            heapq.heappush(queue, (fill[other], len(near[other]), first[other], other))


def _missing(near: Mapping[str, set[str]], name: str) -> int:
    """How many (ordered) pairs of neighbours are not neighbours of each other; not counted where all is lost anyway."""
    around = near[name]
    if len(around) > HOPELESS:
        return HOPELESS**3 + len(around)
    return sum(len(around - near[other]) - 1 for other in around)
