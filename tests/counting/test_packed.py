"""Tables from codes: packed, coded and sparse ones against counting row by row."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter as Plain
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whichdo.counting import packed
from whichdo.counting.packed import Adder, Plan, SparseAdder, pack_columns

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray
    from whichdo.tables import Scope, Table

NAMES = "ABCDEFGHIJK"


def plain(codes: dict[str, CodeArray], scope: Scope, weights: list[int]) -> dict[tuple[int, ...], int]:
    found: Plain[tuple[int, ...]] = Plain()
    for i, weight in enumerate(weights):
        found[tuple(int(codes[name][i]) for name in scope)] += weight
    return {cell: count for cell, count in found.items() if count}


def cells(table: Table) -> dict[tuple[int, ...], int]:
    if table.cells is not None:
        return dict(zip(map(tuple, table.cells.tolist()), table.count.tolist(), strict=True))
    return {tuple(map(int, cell)): int(table.count[tuple(cell)]) for cell in np.argwhere(table.count)}


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
def test_all_ways_of_counting_agree_with_counting_rows(data: st.DataObject) -> None:
    sizes = {name: data.draw(st.sampled_from([1, 2, 2, 2, 3, 5])) for name in NAMES}
    chosen = data.draw(st.lists(st.lists(st.sampled_from(NAMES), unique=True, max_size=10).map(tuple), max_size=5))
    weighted = data.draw(st.booleans())
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    plan = Plan(sizes, tuple(dict.fromkeys(chosen)), weighted=weighted)
    counter = Adder(plan)
    small = data.draw(st.sampled_from([0, 2_000, packed.SMALL]))  # none, some or all of the rows counted by numpy
    every: dict[str, list[CodeArray]] = {name: [] for name in NAMES}
    weights: list[int] = []
    for size in data.draw(st.lists(st.sampled_from([0, 1, 64, 100, 4096, 5000]), max_size=3)):
        codes = {name: rng.integers(0, sizes[name], size).astype(np.uint8) for name in NAMES}
        mine = rng.integers(0, 4, size) if weighted else np.ones(size, np.int64)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(packed, "SMALL", small)
            counter.add(codes, size, mine if weighted else None)
        weights += mine.tolist()
        for name in NAMES:
            every[name].append(codes[name])
    together = {name: np.concatenate([np.zeros(0, np.uint8), *parts]) for name, parts in every.items()}
    for scope, table in counter.tables().items():
        assert cells(table) == plain(together, scope, weights)


@pytest.mark.parametrize("rows", [63, 4097])
def test_compiled_counting_agrees_with_counting_rows(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed and coded tables, the same rows three times."""
    monkeypatch.setattr(packed, "SMALL", 0)
    rng = np.random.default_rng(rows)
    sizes = {"A": 2, "B": 2, "C": 5}
    codes = {name: rng.integers(0, size, rows).astype(np.uint8) for name, size in sizes.items()}
    counter = Adder(Plan(sizes, (("A",), ("B", "A"), ("A", "B", "C"))))
    for _ in range(3):
        counter.add(codes, rows)
    for scope, table in counter.tables().items():
        assert cells(table) == plain(codes, scope, [3] * rows)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_counted_alike_wherever_a_block_ends(
    weighted: bool, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """100 rows in blocks of 6, the last with 4; numpy counts half a million codes at a time.

    For 20 rows, as is thought, 30 cells are too many to lay out.
    """
    monkeypatch.setattr(packed, "NUMPY_BLOCK", 36)
    monkeypatch.setattr(packed, "FEW_CELLS", 16)
    rng = np.random.default_rng(8)
    sizes = {"A": 2, "B": 3, "C": 5}
    codes = {name: rng.integers(0, size, 100).astype(np.uint8) for name, size in sizes.items()}
    weights = rng.integers(0, 4, 100) if weighted else None
    plan = Plan(sizes, (("A",), ("C", "A"), ("A", "B", "C")), weighted=weighted, rows=20 if sparse else None)
    assert len(plan.sparse) == sparse
    counter = Adder(plan)
    counter.add(codes, 100, weights)
    for scope, table in counter.tables().items():
        assert cells(table) == plain(codes, scope, [1] * 100 if weights is None else weights.tolist())


@pytest.mark.slow(
    "2 s: ten million rows in a process of its own; finds where the compiler is loaded too early or never"
)
def test_few_rows_load_no_compiler() -> None:
    """16 million codes are counted by numpy in less time than numba takes to load."""
    code = (
        "import sys, numpy as np, whichdo as wd\n"
        "rows = {name: np.arange(100_000) % 2 for name in 'XY'}\n"
        "problem = wd.Problem('X -> Y', 'Y')\n"
        "wd.count(problem, rows); assert 'numba' not in sys.modules\n"
        "many = {name: np.tile(column, 100) for name, column in rows.items()}\n"
        "assert wd.count(problem, many).pulls[0] == 10_000_000\n"
        "assert 'numba' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_table_with_too_many_cells_keeps_those_that_occurred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MAX_CELLS", 16)
    sizes = dict.fromkeys("ABCDE", 2)
    plan = Plan(sizes, (("A", "B"), ("A", "B", "C", "D", "E")))
    assert plan.sparse == (("A", "B", "C", "D", "E"),)
    counter = Adder(plan)
    codes = {name: np.random.default_rng(j).integers(0, 2, 100).astype(np.uint8) for j, name in enumerate("ABCDE")}
    counter.add(codes, 100)
    for scope, table in counter.tables().items():
        assert (table.cells is not None) == (len(scope) == 5)
        assert cells(table) == plain(codes, scope, [1] * 100)


def test_the_largest_tables_give_way_when_all_together_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "DENSE_TOTAL", 40)
    sizes = dict.fromkeys("ABCD", 2)
    scopes: tuple[Scope, ...] = (("A", "B", "C", "D"), ("A", "B"), ("B", "C", "D"), ("A", "B", "C"))
    assert Plan(sizes, scopes).sparse == ()
    assert Plan(sizes, scopes, rows=10**9).sparse == ()
    assert Plan(sizes, scopes, arms=2).sparse == (("A", "B", "C", "D"),)


@pytest.mark.parametrize("columns", [3, 70, 300])
def test_sparse_cells_of_any_width_in_lexical_order(columns: int) -> None:
    """70 columns of 2 values still have a number each that fits no word; so the number is not what is sorted."""
    rng = np.random.default_rng(columns)
    pool = rng.integers(0, 2, (columns, 40)).astype(np.uint8)
    counter = SparseAdder([2] * columns)
    expected: Plain[tuple[int, ...]] = Plain()
    for size in (50, 0, 1, 200):
        codes = pool[:, rng.integers(0, 40, size)]
        counter.add(list(codes), None)
        expected.update(map(tuple, codes.T.tolist()))
    table = counter.table(tuple(map(str, range(columns))))
    assert cells(table) == expected
    assert table.cells is not None
    assert table.cells.tolist() == sorted(table.cells.tolist())


def test_the_number_of_cells_is_a_python_integer() -> None:
    names = [f"N{j}" for j in range(200)]
    plan = Plan(dict.fromkeys(names, 256), (tuple(names),))
    assert plan.cells(tuple(names)) == 256**200
    assert plan.sparse == (tuple(names),)


def test_a_scope_with_more_cells_than_rows_is_counted_sparsely() -> None:
    """Fourteen binary columns: 16,384 cells, laid out for as many rows and listed for fewer."""
    names = tuple(f"C{j}" for j in range(14))
    sizes = dict.fromkeys(names, 2)
    assert Plan(sizes, (names, names[:3]), rows=16_384).sparse == ()
    assert Plan(sizes, (names, names[:3]), rows=16_383).sparse == (names,)
    assert Plan(sizes, (names[:12],), rows=1).sparse == ()
