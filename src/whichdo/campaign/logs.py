"""Logs of looks, kept in a campaign as counts.

A log is counted once, when it comes, and known by the hash of its content.  Where it has few distinct rows their joint
counts are kept, which serve any graph; of a larger log only the tables are kept that the problem's arms need.
"""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.campaign.events import canonical
from whichdo.counting.counting import count_with_notes
from whichdo.counting.scopes import MAX_CELLS
from whichdo.counting.sources import opened
from whichdo.errors import DataError, InputError, visible
from whichdo.evidence import Sparse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import CodeArray
    from whichdo.counting.scopes import Scope
    from whichdo.evidence import Table
    from whichdo.problem import Problem

__all__ = ["Log", "counted_log", "folded", "sources_of"]

MOST_ROWS = 200_000  # of a log whose distinct rows are counted, if they could be very many
MOST_CELLS = 20_000  # that are kept as they are


@dataclass(frozen=True)
class Log:
    """One log: how many looks, and the counts of some columns together."""

    name: str
    sha256: str
    looks: int
    tables: Mapping[Scope, Sparse] = field(repr=False)
    notes: tuple[str, ...] = ()
    receipt: str = ""
    """Of the event that put it on record."""
    is_file: bool = True

    def as_body(self) -> dict[str, Any]:
        """What its event holds."""
        tables = [
            {"columns": list(scope), "cells": table.cells.tolist(), "counts": table.counts.tolist()}
            for scope, table in self.tables.items()
        ]
        return {"log": self.name, "sha256": self.sha256, "looks": self.looks, "tables": tables}

    @classmethod
    def from_body(cls, body: Mapping[str, Any], receipt: str) -> Log:
        """Read back what `as_body` wrote; a ValueError where it cannot have."""
        tables = {
            tuple(each["columns"]): Sparse(
                np.array(each["cells"], np.uint8).reshape(len(each["counts"]), len(each["columns"])),
                np.array(each["counts"], np.int64),
            )
            for each in body["tables"]
        }
        looks = body["looks"]
        if type(looks) is not int or looks < 1:
            raise ValueError(f"a log of {looks!r} looks")
        for table in tables.values():
            if (table.counts < 1).any() or int(table.counts.sum()) > looks:
                raise ValueError(f"a table of {looks} looks whose counts are none")
        return cls(body["log"], body["sha256"], looks, tables, receipt=receipt)

    def table(self, scope: Scope, sizes: Mapping[str, int]) -> Table | None:
        """The counts of some columns, from the smallest table that holds them; None where none does."""
        holding = [own for own in self.tables if set(scope) <= set(own)]
        if not holding:
            return None
        own = min(holding, key=len)
        table = self.tables[own]
        cells = table.cells[:, [own.index(name) for name in scope]]
        return folded(cells, table.counts, [sizes[name] for name in scope])


def folded(cells: CodeArray, counts: Any, sizes: Sequence[int]) -> Table:
    """Rows of codes with their counts, added up cell by cell; laid out unless there are too many cells."""
    total = prod(sizes)
    if total > MAX_CELLS:
        return Sparse(cells, np.asarray(counts, np.int64)) + Sparse(cells[:0], np.zeros(0, np.int64))
    flat = np.zeros(len(cells), np.int64)
    for column, size in zip(cells.T.astype(np.int64), sizes, strict=True):
        flat = flat * size + column
    table = np.zeros(total, np.int64)
    np.add.at(table, flat, counts)
    return table.reshape(tuple(sizes))


def sources_of(data: object) -> list[object]:
    """The files that a path, a glob or a list of these names, each by itself; anything else is one source."""
    if isinstance(data, (str, os.PathLike)):
        text = os.fspath(data)
        if isinstance(text, str) and glob.has_magic(text) and not Path(text).exists():
            return [*sorted(glob.glob(text, recursive=True))] or [data]  # noqa: PTH207 - takes absolute ones
        return [data]
    if isinstance(data, (list, tuple)) and data and all(isinstance(each, (str, os.PathLike)) for each in data):
        return [source for each in data for source in sources_of(each)]
    return [data]


def counted_log(
    problem: Problem,
    data: object,
    scopes: Iterable[Scope],
    *,
    name: str | None = None,
    counts: str | None = None,
    missing: str = "error",
) -> Log:
    """Count a log of looks; ``scopes`` are counted besides what the problem's arms need."""
    seen, notes = count_with_notes(problem, data, counts=counts, missing=missing)
    wanted = [*seen.tables.get(problem.arms[0], {}), *scopes]
    if not seen.pulls[0]:
        raise DataError("There are no rows in this log, so nothing is observed.")
    looks = int(seen.pulls[0])
    tables = _joint(problem, data, looks, wanted, counts=counts, missing=missing)
    if tables is None:
        extra, _ = count_with_notes(problem, data, counts=counts, missing=missing, scopes=wanted)
        tables = {scope: _sparse(table) for scope, table in extra.tables[problem.arms[0]].items()}
    if isinstance(data, (str, os.PathLike)):
        own = name or visible(Path(data).name)[:200]
        return Log(own, _file_hash(Path(data)), looks, tables, notes.sentences)
    log = Log(name or "rows", "", looks, tables, notes.sentences, is_file=False)
    return replace(log, sha256=sha256(canonical(log.as_body()).encode()).hexdigest())


def _joint(
    problem: Problem, data: object, looks: int, wanted: Sequence[Scope], *, counts: str | None, missing: str
) -> dict[Scope, Sparse] | None:
    """The joint counts of all columns that are nodes, if few rows are distinct; of those that are needed, if others
    lack values.
    """
    sizes = {name: len(values) for name, values in problem.domains.items()}
    with opened(data, frozenset(problem.domains)) as source:
        there = frozenset.intersection(*(frozenset(part.columns) for part in source.parts))
    needed = {name for scope in wanted for name in scope}
    for chosen in (there, needed):
        scope = tuple(name for name in problem.graph.nodes if name in chosen and name in there)
        if looks > MOST_ROWS and prod(sizes[name] for name in scope) > MAX_CELLS:
            continue
        try:
            seen, _ = count_with_notes(problem, data, counts=counts, missing=missing, scopes=[scope])
        except DataError:
            if chosen is needed:
                raise
            continue
        table = _sparse(seen.tables[problem.arms[0]][scope])
        if int(table.counts.sum()) == looks and len(table.counts) <= MOST_CELLS:
            return {scope: table}
    return None


def _sparse(table: Table) -> Sparse:
    if isinstance(table, Sparse):
        return table
    where = np.nonzero(table)
    return Sparse(np.stack(where, axis=1).astype(np.uint8), table[where].astype(np.int64))


def _file_hash(path: Path) -> str:
    digest = sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise InputError(f"{visible(path)} cannot be read: {error.strerror or error}.") from None
    return digest.hexdigest()
