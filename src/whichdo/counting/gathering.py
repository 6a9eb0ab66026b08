"""One batch being answered: what is still owed of each arm, and the tally of the rows received so far.

The tally depends on the rows, not on how they arrive: at once, in pieces or pull by pull, whatever arm came first.
Rows are kept arm by arm in the batch's order, and within an arm in the order of arrival.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.counting.packed import Adder, Plan
from whichdo.counting.told import TellReader, Told
from whichdo.errors import DataError, UsageError
from whichdo.evidence import Detail, Rows, Tally
from whichdo.formulas import counted_scopes
from whichdo.text import counted, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.arrays import CodeArray
    from whichdo.evidence import Batch
    from whichdo.problem import Arm, Problem
    from whichdo.tables import Scope, Table


MOST_PLANS = 64
WAITING = 4096  # rows that are kept before they are counted together: one at a time each would cost a pass


class Desk:
    """What the batches of one problem have in common: worked out once, since a batch may be a single pull."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.reader = TellReader(problem)
        self._columns: dict[object, tuple[tuple[Scope, ...], tuple[str, ...]]] = {}
        self._plans: dict[object, Plan] = {}

    def columns(self, batch: Batch) -> tuple[tuple[Scope, ...], tuple[str, ...]]:
        """The scopes to count, and the nodes that a row must say, in the graph's order."""
        key = (batch.detail, batch.scopes)
        if key not in self._columns:
            scopes = _scopes(self.problem, batch)
            self._columns[key] = scopes, _needed(self.problem, batch, scopes)
        return self._columns[key]

    def plan(self, scopes: tuple[Scope, ...], arms: int, rows: int) -> Plan:
        """How the tables of ``arms`` arms, one of them with ``rows`` rows to come, are counted."""
        key = (scopes, arms, rows)
        if key not in self._plans:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            self._plans[key] = Plan(self.problem.sizes, scopes, arms=arms, rows=rows)
        return self._plans[key]


class Gathering:
    """Fills the tally of one batch."""

    def __init__(self, desk: Desk, batch: Batch) -> None:
        self._desk, self._problem, self._reader = desk, desk.problem, desk.reader
        self.batch = batch
        self.owed = {arm: count for arm, count in zip(batch.arms, batch.counts, strict=True) if count}
        self.scopes, self.needed = desk.columns(batch)
        problem = self._problem
        self._counts = np.zeros((len(problem.arms), len(problem.domains[problem.reward])), np.int64)
        self._piles: dict[Arm, _Pile] = {}

    def read(self, arm: Arm, outcome: object) -> Told:
        """What an outcome says about pulls of ``arm`` that are owed, or an error; nothing is changed."""
        self._problem.index(arm)
        if arm not in self.owed:
            waiting = listed((f"{other} ({count:,})" for other, count in self.owed.items()), most=12)
            raise UsageError(f"{arm} is not among the pulls asked for. Outstanding pulls: {waiting}.")
        if isinstance(outcome, Told):
            told = outcome  # read before, as a campaign reads a tell when it comes
        elif isinstance(outcome, Tally):
            told = self._reader.read_tally(arm, outcome, self.needed, self.scopes)
            if self.batch.detail is Detail.ROWS and told.codes is None:
                raise DataError(
                    "This tally has no rows, and the policy reads rows. Tell rows, or pull with detail ROWS."
                )
        else:
            told = self._reader.read(arm, outcome, self.needed)
        owed = self.owed[arm]
        if told.pulls > owed:
            pulls = counted(owed, "pull")
            raise UsageError(f"{arm} has {pulls} outstanding, and {told.pulls:,} were told.")
        return told

    def add(self, arm: Arm, told: Told) -> None:
        """Take in what `read` found."""
        self.owed[arm] -= told.pulls
        if not self.owed[arm]:
            del self.owed[arm]
        self._counts[self._problem.index(arm)] += told.levels
        if self.batch.detail is not Detail.REWARDS:
            self._pile(arm).add(told)

    def tally(self) -> Tally:
        """All that was told, at the batch's detail."""
        tables: dict[Arm, Mapping[Scope, Table]] = {}
        rows = None
        if self.batch.detail is Detail.TABLES:
            tables = {arm: self._pile(arm).counted() for arm in self.batch.arms}
        elif self.batch.detail is Detail.ROWS and self.batch.arms:
            codes = [self._pile(arm).rows() for arm in self.batch.arms]
            positions = [self._problem.index(arm) for arm in self.batch.arms]
            rows = Rows(np.repeat(np.array(positions, np.int64), [len(each) for each in codes]), np.concatenate(codes))
        return Tally(self._problem, self._counts.copy(), tables, rows)

    def _pile(self, arm: Arm) -> _Pile:
        if arm not in self._piles:
            plan = None
            if self.batch.detail is Detail.TABLES:
                rows = self.batch.counts[self.batch.arms.index(arm)]
                plan = self._desk.plan(self.scopes, len(self.batch.arms), rows)
            self._piles[arm] = _Pile(self.needed, plan)
        return self._piles[arm]


class _Pile:
    """The rows of one arm, with its tables if there is a ``plan`` for them."""

    def __init__(self, needed: tuple[str, ...], plan: Plan | None) -> None:
        self._needed, self._plan = needed, plan
        self._blocks: list[CodeArray] = []
        self._waiting = 0
        self._adder: Adder | None = None
        self._tables: dict[Scope, Table] = {}

    def add(self, told: Told) -> None:
        if told.codes is not None:
            self._blocks.append(told.codes)
            self._waiting += len(told.codes)
            if self._plan is not None and self._waiting >= WAITING:
                self._count(self._plan)
            return
        for scope, table in told.tables.items():
            known = self._tables.get(scope)
            self._tables[scope] = table if known is None else known + table

    def rows(self) -> CodeArray:
        codes = np.concatenate([np.zeros((0, len(self._needed)), np.uint8), *self._blocks])
        self._blocks = [codes]
        return codes.copy()

    def counted(self) -> dict[Scope, Table]:
        if self._plan is None:
            return {}
        found: dict[Scope, Table] = {}
        for scope, table in self._count(self._plan).tables().items():
            told = self._tables.get(scope)
            found[scope] = table.compact() if told is None else table.compact() + told
        return found

    def _count(self, plan: Plan) -> Adder:
        """Count the rows that wait."""
        if self._adder is None:
            self._adder = Adder(plan)
        if self._waiting:
            codes = np.ascontiguousarray(np.concatenate(self._blocks).T)
            self._adder.add(dict(zip(self._needed, codes, strict=True)), self._waiting)
            self._blocks, self._waiting = [], 0
        return self._adder


def _scopes(problem: Problem, batch: Batch) -> tuple[Scope, ...]:
    if batch.detail is not Detail.TABLES:
        return ()
    return counted_scopes(problem) if batch.scopes is None else tuple(dict.fromkeys(batch.scopes))


def _needed(problem: Problem, batch: Batch, scopes: tuple[Scope, ...]) -> tuple[str, ...]:
    """The nodes that a row must say, in the graph's order."""
    if batch.detail is Detail.ROWS:
        return problem.graph.nodes
    named = {problem.reward}.union(*scopes)
    return tuple(sorted(named, key=problem.graph.index))
