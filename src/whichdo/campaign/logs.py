"""Logs of looks, kept in a campaign as counts.

A log is counted once, when it comes, and known by the hash of its content.  Where it has few distinct rows their joint
counts are kept, which serve any graph; of a larger log only the tables are kept that the problem's arms need.
"""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.campaign.events import canonical
from whichdo.counting.counting import count_with_notes
from whichdo.counting.sources import opened
from whichdo.errors import DataError, InputError, visible
from whichdo.tables import MAX_CELLS, Radix, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.problem import Problem
    from whichdo.tables import Scope

__all__ = ["Log", "counted_log", "sources_of"]

MOST_ROWS = 200_000  # of a log whose distinct rows are counted, if they could be very many
MOST_CELLS = 20_000  # that are kept as they are


@dataclass(frozen=True)
class Log:
    """One log: how many looks, and the counts of some columns together."""

    name: str
    sha256: str
    looks: int
    tables: Mapping[Scope, Table] = field(repr=False)
    """Sparse ones."""
    notes: tuple[str, ...] = ()
    receipt: str = ""
    """Of the event that put it on record."""
    is_file: bool = True

    def as_body(self) -> dict[str, Any]:
        """What its event holds."""
        tables = [
            {"columns": list(scope), "cells": np.asarray(table.cells).tolist(), "counts": table.count.tolist()}
            for scope, table in self.tables.items()
        ]
        return {"log": self.name, "sha256": self.sha256, "looks": self.looks, "tables": tables}

    @classmethod
    def from_body(cls, body: Mapping[str, Any], receipt: str, sizes: Mapping[str, int]) -> Log:
        """Read back what `as_body` wrote; a ValueError where it cannot have."""
        tables = {}
        for each in body["tables"]:
            radix = Radix.of(each["columns"], sizes)
            count = np.array(each["counts"], np.int64)
            cells = np.array(each["cells"], np.uint8).reshape(len(count), len(radix.scope))
            if (cells >= np.array(radix.sizes)).any():
                raise ValueError(f"a table of {', '.join(radix.scope)} with cells that it does not have")
            tables[radix.scope] = Table(radix.scope, radix.sizes, count, cells)
        looks = body["looks"]
        if type(looks) is not int or looks < 1:
            raise ValueError(f"a log of {looks!r} looks")
        for table in tables.values():
            if (table.count < 1).any() or table.total > looks:
                raise ValueError(f"a table of {looks} looks whose counts are none")
        return cls(body["log"], body["sha256"], looks, tables, receipt=receipt)

    def table(self, scope: Scope) -> Table | None:
        """The counts of some columns, from the smallest table that holds them; None where none does."""
        holding = [own for own in self.tables if set(scope) <= set(own)]
        return self.tables[min(holding, key=len)].marginal(scope).compact() if holding else None


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
        tables = {scope: table.sparse() for scope, table in extra.tables[problem.arms[0]].items()}
    if isinstance(data, (str, os.PathLike)):
        own = name or visible(Path(data).name)[:200]
        return Log(own, _file_hash(Path(data)), looks, tables, notes.sentences)
    log = Log(name or "rows", "", looks, tables, notes.sentences, is_file=False)
    return replace(log, sha256=sha256(canonical(log.as_body()).encode()).hexdigest())


def _joint(
    problem: Problem, data: object, looks: int, wanted: Sequence[Scope], *, counts: str | None, missing: str
) -> dict[Scope, Table] | None:
    """The joint counts of all columns that are nodes, if few rows are distinct; of those that are needed, if others
    lack values.
    """
    sizes = {name: len(values) for name, values in problem.domains.items()}
    with opened(data, frozenset(problem.domains)) as source:
        there = frozenset.intersection(*(frozenset(part.columns) for part in source.parts))
    needed = {name for scope in wanted for name in scope}
    for chosen in (there, needed):
        scope = tuple(name for name in problem.graph.nodes if name in chosen and name in there)
        if looks > MOST_ROWS and Radix.of(scope, sizes).cells > MAX_CELLS:
            continue
        try:
            seen, _ = count_with_notes(problem, data, counts=counts, missing=missing, scopes=[scope])
        except DataError:
            if chosen is needed:
                raise
            continue
        table = seen.tables[problem.arms[0]][scope].sparse()
        if table.total == looks and len(table.count) <= MOST_CELLS:
            return {scope: table}
    return None


def _file_hash(path: Path) -> str:
    digest = sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise InputError(f"{visible(path)} cannot be read: {error.strerror or error}.") from None
    return digest.hexdigest()
