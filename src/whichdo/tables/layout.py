"""Tables of many scopes in one array, one after the other.

What a simulation hands over by the hundred, what the counting kernels write to, and what an estimator that wants the
same scopes reads as it lies.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.tables.table import Radix, Scope, Table, starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whichdo.arrays import IntArray

__all__ = ["Layout", "Places", "Tables"]


class Places(NamedTuple):
    """A layout as kernels read it: ``start[s] : start[s + 1]`` are the columns of scope s, with their strides.

    ``columns`` are places in whatever the kernel has of each row; the cells of scope s begin at ``cell_start[s]``.
    """

    start: IntArray
    columns: IntArray
    strides: IntArray
    cell_start: IntArray


class Layout:
    """Where the table of each scope lies.  ``sizes`` has the number of values of every column."""

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
