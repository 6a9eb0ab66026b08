"""Counting in plain Python, one row at a time: what every source must agree with."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from whichdo.formulas import counted_scopes, doubted_scope
from whichdo.problem import Problem, Value, do

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.evidence import Tally
    from whichdo.problem import Arm
    from whichdo.tables import Scope, Table

Row = dict[str, Value]


def mixed_problem() -> Problem:
    """Binary nodes, a node of texts, one of numbers that are no codes, and a reward of three levels."""
    return Problem(
        "Z -> X; Z -> Y; X -> M; M -> Y; X <-> Y; W -> Y; V -> W",
        reward="Y",
        domains={"Z": ("low", "mid", "high"), "W": (-1, 2, 0.5, 7), "Y": (0, 0.5, 1)},
    )


def binary_problem(nodes: int = 6) -> Problem:
    """A chain in which each node also acts on the next but one, confounded at its head."""
    arrows = [f"X{j} -> X{j + d}" for j in range(nodes) for d in (1, 2) if j + d < nodes]
    return Problem("; ".join([*arrows, f"X0 <-> X{nodes - 1}"]), reward=f"X{nodes - 1}")


def random_rows(problem: Problem, count: int, seed: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, len(domain), count) for name, domain in problem.domains.items()}
    return [{name: problem.domains[name][int(codes[i])] for name, codes in columns.items()} for i in range(count)]


def as_columns(rows: Sequence[Row]) -> dict[str, list[Value]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def plain_table(problem: Problem, rows: Sequence[Row], scope: Scope, weights: Sequence[int] | None = None) -> object:
    """The table as nested lists."""
    found: Counter[tuple[Value, ...]] = Counter()
    for i, row in enumerate(rows):
        found[tuple(row[name] for name in scope)] += 1 if weights is None else weights[i]
    domains = [problem.domains[name] for name in scope]
    flat = np.array([found[cell] for cell in product(*domains)], np.int64)
    return flat.reshape([len(domain) for domain in domains]).tolist()


def dense(problem: Problem, scope: Scope, table: Table) -> object:
    assert (table.scope, table.sizes) == (scope, tuple(len(problem.domains[name]) for name in scope))
    assert table.count.dtype == np.int64
    if table.cells is None:
        return table.count.tolist()
    assert (table.count > 0).all()
    assert [tuple(cell) for cell in table.cells.tolist()] == sorted({tuple(cell) for cell in table.cells.tolist()})
    full = np.zeros(table.sizes, np.int64)
    full[tuple(table.cells.T)] = table.count
    return full.tolist()


def assert_counted(
    tally: Tally, rows: Sequence[Row], weights: Sequence[int] | None = None, arm: Arm | None = None
) -> None:
    """The tally of looks (or of one arm) is that of these rows."""
    problem = tally.problem
    arm = do() if arm is None else arm
    denying = doubted_scope(problem)
    wanted = {*counted_scopes(problem), (problem.reward,), *(() if denying is None else (denying,))}
    tables: Mapping[Scope, Table] = tally.tables[arm]
    assert set(tables) == wanted
    for scope, table in tables.items():
        assert dense(problem, scope, table) == plain_table(problem, rows, scope, weights), scope
    assert tally.counts[problem.index(arm)].tolist() == plain_table(problem, rows, (problem.reward,), weights)
