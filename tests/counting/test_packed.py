"""Tables from codes: packed, coded and sparse ones against counting row by row."""

from __future__ import annotations

from collections import Counter as Plain
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whichdo.counting import packed
from whichdo.counting.packed import Counter, Layout, SparseCounter, pack_columns
from whichdo.evidence import Sparse

if TYPE_CHECKING:
    from whichdo.counting.scopes import Scope
    from whichdo.evidence import CodeArray, Table

NAMES = "ABCDEFGHIJK"


def plain(codes: dict[str, CodeArray], scope: Scope, weights: list[int]) -> dict[tuple[int, ...], int]:
    found: Plain[tuple[int, ...]] = Plain()
    for i, weight in enumerate(weights):
        found[tuple(int(codes[name][i]) for name in scope)] += weight
    return {cell: count for cell, count in found.items() if count}


def cells(table: Table) -> dict[tuple[int, ...], int]:
    if isinstance(table, Sparse):
        return dict(zip(map(tuple, table.cells.tolist()), table.counts.tolist(), strict=True))
    return {tuple(map(int, cell)): int(table[tuple(cell)]) for cell in np.argwhere(table)}


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 4095, 4096, 4097, 10_000])
def test_packing_keeps_every_bit_and_clears_the_rest(rows: int) -> None:
    codes = np.random.default_rng(rows).integers(0, 2, (3, rows)).astype(np.uint8)
    words = pack_columns(list(codes), rows)
    for j in range(3):
        bits = np.unpackbits(words[:, j].reshape(-1)[: -(-rows // 64)].view(np.uint8), bitorder="little")
        assert bits[:rows].tolist() == codes[j].tolist()
        assert not bits[rows:].any()


def test_columns_that_lie_anywhere_in_memory_are_packed() -> None:
    whole = np.random.default_rng(0).integers(0, 2, (2, 401)).astype(np.uint8)
    words = pack_columns([whole[0, 1:], whole[1, ::2][:200]], 200)
    again = pack_columns([whole[0, 1:201].copy(), whole[1, ::2][:200].copy()], 200)
    assert (words[:, 0, :3] == again[:, 0, :3]).all()
    assert (words[:, 1, :4] == again[:, 1, :4]).all()


@pytest.mark.slow("1 s: 60 examples; finds a bit that is counted twice")
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_all_three_ways_of_counting_agree_with_counting_rows(data: st.DataObject) -> None:
    sizes = {name: data.draw(st.sampled_from([1, 2, 2, 2, 3, 5])) for name in NAMES}
    chosen = data.draw(st.lists(st.lists(st.sampled_from(NAMES), unique=True, max_size=10).map(tuple), max_size=5))
    weighted = data.draw(st.booleans())
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    layout = Layout(sizes, tuple(dict.fromkeys(chosen)), weighted=weighted)
    counter = Counter(layout)
    every: dict[str, list[CodeArray]] = {name: [] for name in NAMES}
    weights: list[int] = []
    for size in data.draw(st.lists(st.sampled_from([0, 1, 64, 100, 4096, 5000]), max_size=3)):
        codes = {name: rng.integers(0, sizes[name], size).astype(np.uint8) for name in NAMES}
        mine = rng.integers(0, 4, size) if weighted else np.ones(size, np.int64)
        counter.add(codes, size, mine if weighted else None)
        weights += mine.tolist()
        for name in NAMES:
            every[name].append(codes[name])
    together = {name: np.concatenate([np.zeros(0, np.uint8), *parts]) for name, parts in every.items()}
    for scope, table in counter.tables().items():
        assert cells(table) == plain(together, scope, weights)


def test_a_table_with_too_many_cells_keeps_those_that_occurred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MAX_CELLS", 16)
    sizes = dict.fromkeys("ABCDE", 2)
    layout = Layout(sizes, (("A", "B"), ("A", "B", "C", "D", "E")))
    assert layout.sparse == (("A", "B", "C", "D", "E"),)
    counter = Counter(layout)
    codes = {name: np.random.default_rng(j).integers(0, 2, 100).astype(np.uint8) for j, name in enumerate("ABCDE")}
    counter.add(codes, 100)
    for scope, table in counter.tables().items():
        assert isinstance(table, Sparse) == (len(scope) == 5)
        assert cells(table) == plain(codes, scope, [1] * 100)


def test_the_largest_tables_give_way_when_all_together_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "DENSE_TOTAL", 40)
    sizes = dict.fromkeys("ABCD", 2)
    scopes: tuple[Scope, ...] = (("A", "B", "C", "D"), ("A", "B"), ("B", "C", "D"), ("A", "B", "C"))
    assert Layout(sizes, scopes).sparse == ()
    assert Layout(sizes, scopes, rows=10**9).sparse == ()
    assert Layout(sizes, scopes, arms=2).sparse == (("A", "B", "C", "D"),)


@pytest.mark.parametrize("columns", [3, 70, 300])
def test_sparse_cells_of_any_width_in_lexical_order(columns: int) -> None:
    """70 columns of 2 values still have a number each that fits no word; so the number is not what is sorted."""
    rng = np.random.default_rng(columns)
    pool = rng.integers(0, 2, (columns, 40)).astype(np.uint8)
    counter = SparseCounter([2] * columns)
    expected: Plain[tuple[int, ...]] = Plain()
    for size in (50, 0, 1, 200):
        codes = pool[:, rng.integers(0, 40, size)]
        counter.add(list(codes), None)
        expected.update(map(tuple, codes.T.tolist()))
    table = counter.table()
    assert cells(table) == expected
    assert table.cells.tolist() == sorted(table.cells.tolist())


def test_the_number_of_cells_is_a_python_integer() -> None:
    names = [f"N{j}" for j in range(200)]
    layout = Layout(dict.fromkeys(names, 256), (tuple(names),))
    assert layout.cells(tuple(names)) == 256**200
    assert layout.sparse == (tuple(names),)


def test_a_scope_with_more_cells_than_rows_is_counted_sparsely() -> None:
    """Fourteen binary columns: 16,384 cells, laid out for as many rows and listed for fewer."""
    names = tuple(f"C{j}" for j in range(14))
    sizes = dict.fromkeys(names, 2)
    assert Layout(sizes, (names, names[:3]), rows=16_384).sparse == ()
    assert Layout(sizes, (names, names[:3]), rows=16_383).sparse == (names,)
    assert Layout(sizes, (names[:12],), rows=1).sparse == ()
