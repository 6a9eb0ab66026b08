"""Tables: whatever their form, the counts are those of the rows."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichdo.tables import (
    Layout,
    Radix,
    Table,
    TableIndex,
    Tables,
    conditional_rows,
    contingency,
    smallest_table,
    starts,
)

if TYPE_CHECKING:
    from whichdo.tables import Scope

NAMES = "ABCD"


@st.composite
def some_rows(draw: st.DrawFn) -> tuple[Scope, tuple[int, ...], Any]:
    """A scope, its sizes, and rows of codes, a column for each of its columns."""
    sizes = tuple(draw(st.lists(st.integers(1, 4), max_size=4)))
    rows = draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = np.array([rng.integers(0, size, rows) for size in sizes], np.uint8).reshape(len(sizes), rows)
    return tuple(NAMES[: len(sizes)]), sizes, codes


def counted(scope: Scope, sizes: tuple[int, ...], codes: Any, *, sparse: bool) -> Table:
    made = Table.from_rows(scope, sizes, list(codes), np.ones(codes.shape[1], np.int64))
    return made.sparse() if sparse else made


def plain(wanted: Scope, scope: Scope, sizes: tuple[int, ...], codes: Any, values: Any = None) -> Any:
    """The sums by a loop over the rows, flat in the order of itertools.product."""
    places = [scope.index(name) for name in wanted]
    found = dict.fromkeys(product(*(range(sizes[place]) for place in places)), 0)
    for number in range(codes.shape[1]):
        found[tuple(int(codes[place, number]) for place in places)] += 1 if values is None else values[number]
    return list(found.values())


@given(st.lists(st.integers(1, 5), max_size=5))
def test_cells_are_numbered_as_numpy_lays_them_out(sizes: list[int]) -> None:
    radix = Radix(tuple("ABCDE"[: len(sizes)]), tuple(sizes))
    cells = np.array(list(np.ndindex(*sizes)), np.uint8).reshape(int(np.prod(sizes)), len(sizes))
    assert radix.cells == len(cells)
    assert radix.strides == tuple(stride // 8 for stride in np.zeros(sizes, np.int64).strides)
    assert radix.codes(np.arange(len(cells))).tolist() == cells.tolist()
    if sizes:
        assert radix.numbers(list(cells.T)).tolist() == list(range(len(cells)))


def test_the_number_of_cells_is_a_python_integer() -> None:
    assert Radix(tuple(map(str, range(200))), (256,) * 200).cells == 256**200
    assert starts([2, 3], 10) == [10, 12, 15]


@given(some_rows(), st.booleans(), st.randoms(use_true_random=False))
def test_a_marginal_is_that_of_the_rows_in_any_order(rows: Any, sparse: bool, random: Any) -> None:
    scope, sizes, codes = rows
    wanted = tuple(random.sample(scope, random.randint(0, len(scope))))
    found = counted(scope, sizes, codes, sparse=sparse).marginal(wanted)
    assert found.dense().count.shape == tuple(sizes[scope.index(name)] for name in wanted)
    assert (found.scope, found.sizes) == (wanted, tuple(sizes[scope.index(name)] for name in wanted))
    assert found.dense().count.ravel().tolist() == plain(wanted, scope, sizes, codes)
    assert found.total == codes.shape[1]


@given(some_rows(), st.integers(0, 30), st.booleans(), st.booleans())
def test_tables_of_any_form_add_up(rows: Any, cut: int, first: bool, second: bool) -> None:
    scope, sizes, codes = rows
    one = counted(scope, sizes, codes[:, :cut], sparse=first)
    two = counted(scope, sizes, codes[:, cut:], sparse=second)
    both = one + two
    assert (both.cells is not None) == (first and second and len(scope) > 0)
    assert both.tolist() == counted(scope, sizes, codes, sparse=False).tolist()
    if both.cells is not None:
        assert both.cells.tolist() == [list(cell) for cell in sorted({tuple(row) for row in codes.T.tolist()})]


def test_tables_of_different_scopes_do_not_add_up() -> None:
    with pytest.raises(ValueError, match="do not add up"):
        Table.of(("X",), np.array([1, 2])) + Table.of(("Y",), np.array([1, 2]))


@given(some_rows(), st.integers(0, 2**32))
def test_every_statistic_of_a_cell_is_carried_along(rows: Any, seed: int) -> None:
    """Sums of what rows weigh, say, are added up, folded and listed as the counts are."""
    scope, sizes, codes = rows
    weights = np.random.default_rng(seed).integers(1, 9, codes.shape[1]).astype(np.float64)
    ones = np.ones(len(weights), np.int64)
    made = Table.from_rows(scope, sizes, list(codes), ones, weight=weights)
    for found in (made, made.sparse(), made.sparse().dense(), made.sparse() + made.sparse()):
        times = found.total // max(1, len(weights)) or 1
        for wanted in (scope, scope[::-1], scope[:1]):
            sums = found.marginal(wanted).dense().statistics["weight"]
            assert sums.ravel().tolist() == [times * each for each in plain(wanted, scope, sizes, codes, weights)]


@given(some_rows())
def test_the_form_is_decided_by_the_number_of_cells(rows: Any) -> None:
    scope, sizes, codes = rows
    dense = counted(scope, sizes, codes, sparse=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contingency, "MAX_CELLS", 8)
        wide = dense.radix.cells > 8
        ones = np.ones(codes.shape[1], np.int64)
        for found in (dense.compact(), dense.sparse().compact(), Table.from_rows(scope, sizes, list(codes), ones)):
            assert (found.cells is not None) == wide
            assert found.tolist() == dense.tolist()
            if found.cells is not None:
                assert found.cells.tolist() == [list(cell) for cell in sorted({tuple(row) for row in codes.T.tolist()})]


def test_conditionals_are_shares_and_uniform_where_nothing_was_seen() -> None:
    rows = np.array([[3.0, 1.0], [0.0, 0.0], [1.0, 1.0]])
    assert conditional_rows(rows).tolist() == [[0.75, 0.25], [0.5, 0.5], [0.5, 0.5]]
    assert conditional_rows(rows, smoothing=1.0)[0].tolist() == [4 / 6, 2 / 6]
    assert conditional_rows(rows, threshold=3.0).tolist() == [[0.75, 0.25], [0.5, 0.5], [0.5, 0.5]]
    assert conditional_rows(np.zeros(4)).tolist() == [0.25] * 4


def test_tables_in_one_array_are_those_of_their_scopes() -> None:
    sizes = {"A": 2, "B": 3, "C": 2}
    layout = Layout(sizes, [("A", "B"), ("C",), (), ("A", "B")])
    assert (layout.scopes, layout.starts, layout.cells) == ((("A", "B"), ("C",), ()), [0, 6, 8, 9], 9)
    places = layout.places(("C", "B", "A"))
    assert [each.tolist() for each in places] == [[0, 2, 3, 3], [2, 1, 0], [3, 1, 1], [0, 6, 8, 9]]
    found = Tables(layout, np.arange(9))
    assert {scope: each.tolist() for scope, each in found.items()} == {
        ("A", "B"): [[0, 1, 2], [3, 4, 5]],
        ("C",): [6, 7],
        (): 8,
    }
    assert (found + found)["C",].tolist() == [12, 14]
    with pytest.raises(ValueError, match="different scopes"):
        found + Tables(Layout(sizes, [("C",)]), np.arange(2))


def test_an_index_finds_the_table_that_a_search_through_all_finds() -> None:
    rng = np.random.default_rng(3)
    sizes = {"A": 2, "B": 3, "C": 2, "D": 4}
    for _ in range(50):
        scopes = [
            tuple(rng.permutation(sorted(sizes))[: rng.integers(0, 5)].tolist()) for _ in range(rng.integers(0, 6))
        ]
        tables = {scope: Table.of(scope, np.zeros([sizes[name] for name in scope], np.int64)) for scope in scopes}
        index = TableIndex(tables)
        for number in range(1 << len(sizes)):
            columns = [name for place, name in enumerate(sizes) if number >> place & 1]
            assert index.smallest(columns) is smallest_table(tables, columns)
