"""Which columns a database counts together, in which statement, and what comes back.

Every row has one number for each set of columns, made of the codes of its values; a set whose codes one number cannot
hold has several.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.warehouse import ibis

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import IntArray
    from whichdo.counting.warehouse import Engine
    from whichdo.tables import Scope


JOINED = 1 << 12
"""Cells of scopes that are counted as one, because their margins are cheaper to take here."""
WORD = 1 << 62
SIDE = ""
"""In place of a column: 0 for rows that are kept, 1 for those that are dropped."""
FAULTY, DROPPED = -1, -2
"""In place of a number: the row has a fault; it lacks a value and is left out."""


def joined(scopes: Iterable[Scope], levels: Mapping[str, int], most: int = JOINED) -> list[Scope]:
    """Sets of columns of which every scope is a margin: none within another, small ones put together.

    >>> joined([("X", "Y"), ("Y",), ("Z", "Y")], {"X": 2, "Y": 2, "Z": 2}, most=4)
    [('X', 'Y'), ('Z', 'Y')]
    >>> joined([("X", "Y"), ("Y",), ("Z", "Y")], {"X": 2, "Y": 2, "Z": 2}, most=8)
    [('X', 'Y', 'Z')]
    """
    found: list[dict[str, None]] = []
    for scope in sorted(dict.fromkeys(scopes), key=len, reverse=True):
        own = dict.fromkeys(scope)
        if any(own.keys() <= held.keys() for held in found):
            continue
        for held in found:
            if prod(levels[name] for name in {**held, **own}) <= most:
                held |= own
                break
        else:
            found.append(own)
    found = [one for place, one in enumerate(found) if not any(one.keys() <= more.keys() for more in found[:place])]
    return [tuple(each) for each in found]


@dataclass(frozen=True)
class CellSet:
    """Columns that are counted together, and how their codes make one number or, if there are too many, several."""

    names: Scope
    levels: tuple[int, ...]
    by_side: bool = False
    """Whether dropped rows are counted as well, apart from the others."""

    @property
    def cells(self) -> int:
        """How many numbers there are."""
        return prod(self.levels)

    @property
    def faulty(self) -> int:
        """How many combinations of codes there are where each may also be a fault."""
        return prod(level + 1 for level in self.levels)

    @property
    def words(self) -> list[slice]:
        """Runs of columns whose codes one number holds."""
        found, begin, size = [], 0, 1
        for place, level in enumerate(self.levels):
            if size * level > WORD:
                found.append(slice(begin, place))
                begin, size = place, 1
            size *= level
        return [*found, slice(begin, len(self.levels))]

    def codes(self, numbers: Sequence[IntArray]) -> dict[str, IntArray]:
        """The codes of which numbers were made, one a word."""
        found: dict[str, IntArray] = {}
        for rest, run in zip(numbers, self.words, strict=False):
            for name, level in reversed([*zip(self.names[run], self.levels[run], strict=True)]):
                rest, found[name] = rest // level, rest % level
            if self.by_side:
                found[SIDE] = rest
        return found


@dataclass
class Cells:
    """What came back for one set and one arm: the codes of each cell, and its sums."""

    codes: dict[str, IntArray]
    sums: dict[str, Any]

    @classmethod
    def picked(cls, codes: dict[str, IntArray], values: Mapping[str, Sequence[Any]], keep: IntArray) -> Cells:
        """The cells at some places of an answer."""
        return cls(
            {name: column[keep] for name, column in codes.items()},
            {name: _pick(name, column, keep) for name, column in values.items()},
        )


def ask_codes(
    engine: Engine, coded: Any, keys: Sequence[str], sums: Sequence[str], *, arms: bool
) -> list[tuple[Any, ...]]:
    """How often each combination of codes occurs, and the sums over its rows: a row of what was done, the codes, how
    many rows, and the sums.  ``coded`` has for each row its codes, what was done as ``a``, and what is summed up.
    """
    by = [*keys, "a"] if arms else [*keys]
    if engine.runs_text:
        shown = ["a" if arms else "NULL", *keys, "COUNT(*)", *(f"SUM({name})" for name in sums)]
        sql = engine.compile(coded)
        return engine.run(f"SELECT {', '.join(shown)} FROM ({sql}) AS coded GROUP BY {', '.join(by)}")  # noqa: S608
    found = coded.group_by(by).aggregate(n=coded.count(), **{f"t_{name}": coded[name].sum() for name in sums})
    done = found["a"] if arms else ibis().null("string")
    return engine.fetch(found.select(arm=done, **{key: found[key] for key in keys}, **_sum(found, sums)))


def ask_sets(
    engine: Engine, inner: Any, sets: Sequence[CellSet], sums: Sequence[str], *, arms: bool
) -> list[tuple[Any, ...]]:
    """How often each number occurs, and the sums over its rows: a row of the place of its set, what was done, as many
    numbers as the widest set has, how many rows, and the sums.

    ``inner`` has for each row the numbers ``s0_0``, ``s1_0``, ... of every set, what was done as ``a``, and what is
    summed up.
    """
    return (_group if engine.together else _unite)(engine, inner, sets, sums, ["a"] if arms else [])


def _keys(place: int, one: CellSet) -> list[str]:
    return [f"s{place}_{word}" for word in range(len(one.words))]


def _group(
    engine: Engine, inner: Any, sets: Sequence[CellSet], sums: Sequence[str], arm: Sequence[str]
) -> list[tuple[Any, ...]]:
    """By GROUPING SETS: one pass over the rows.  All names are ours; those of others are in what was compiled."""
    keys = [_keys(place, one) for place, one in enumerate(sets)]
    which = " ".join(f"WHEN {own[0]} IS NOT NULL THEN {place}" for place, own in enumerate(keys))
    shown = [f"CASE {which} END", "a" if arm else "NULL"]
    for word in range(max(map(len, keys))):
        having = [own[word] for own in keys if len(own) > word]
        shown.append(f"COALESCE({', '.join(having)})" if len(having) > 1 else having[0])
    shown += ["COUNT(*)", *(f"SUM({name})" for name in sums)]
    groups = [", ".join([*own, *arm]) for own in keys]
    by = f"GROUPING SETS ({', '.join(f'({group})' for group in groups)})" if len(groups) > 1 else groups[0]
    sql = engine.compile(inner)
    return engine.run(f"SELECT {', '.join(shown)} FROM ({sql}) AS coded GROUP BY {by}")  # noqa: S608


def _unite(
    engine: Engine, inner: Any, sets: Sequence[CellSet], sums: Sequence[str], arm: Sequence[str]
) -> list[tuple[Any, ...]]:
    """By a union of one GROUP BY for each set."""
    library = ibis()
    words = max(len(one.words) for one in sets)
    parts = []
    for place, one in enumerate(sets):
        keys = _keys(place, one)
        found = inner.group_by([*keys, *arm]).aggregate(n=inner.count(), **{f"t_{s}": inner[s].sum() for s in sums})
        numbers = [found[key] for key in keys] + [library.null("int64")] * (words - len(keys))
        parts.append(
            found.select(
                place=library.literal(place, "int64"),
                arm=found["a"] if arm else library.null("string"),
                **{f"p{word}": number for word, number in enumerate(numbers)},
                **_sum(found, sums),
            )
        )
    return engine.fetch(library.union(*parts) if len(parts) > 1 else parts[0])


def _sum(found: Any, sums: Sequence[str]) -> dict[str, Any]:
    return {name: found[name] for name in ("n", *(f"t_{each}" for each in sums))}


def _pick(name: str, column: Sequence[Any], keep: IntArray) -> Any:
    """The sums of some cells: whole numbers of any size, or floating ones."""
    picked = [column[place] for place in keep.tolist()]
    exact = name in {"n", "c"} or name.endswith(("_bad", "_gap"))
    return [int(each) for each in picked] if exact else np.array(picked, np.float64)
