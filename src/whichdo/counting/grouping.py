"""Which columns a database counts together, in which statement, and what comes back.

Every row has one number for each set of columns, made of the codes of its values; a set whose codes one number cannot
hold has several.

What is wrong with a log is asked only once a count shows that something is (`TableFaults`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import or_
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from whichdo.counting.notes import First
from whichdo.counting.values import MISSING
from whichdo.counting.warehouse import ibis
from whichdo.errors import DataError
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import IntArray
    from whichdo.counting.gaps import Gaps
    from whichdo.counting.notes import Faults
    from whichdo.counting.spelling import ColumnCode
    from whichdo.counting.warehouse import Engine, TablePart
    from whichdo.problem import Problem
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


class TableCounter(Protocol):
    """What is asked of a counter of a database (`whichdo.counting.sql.SqlCounter`)."""

    problem: Problem
    part: TablePart
    engine: Engine
    codes: dict[str, ColumnCode]
    names: list[str]
    faults: Faults
    gaps: Gaps
    missing: str
    arm_name: str | None
    answers: dict[int, dict[CellSet, Cells]]

    @property
    def nodes(self) -> list[str]:
        """The columns that are nodes."""

    def code(self, name: str) -> Any:
        """The code of a node in each row."""

    def droppable(self) -> list[str]:
        """The columns whose missing values cost a row."""

    def lacks(self) -> Any:
        """Whether a row lacks a value that it needs."""

    def ask(self, code: ColumnCode, where: Any) -> int:
        """Ask for values that are not known yet."""

    def arm_code(self, value: Any) -> int:
        """The position of an arm by its value in the arm column."""


class TableFaults:
    """Finds out what a counter of a database met, and tells its ``faults``."""

    def __init__(self, counter: TableCounter) -> None:
        self.counter, self.part, self.codes = counter, counter.part, counter.codes
        self.problem, self.faults = counter.problem, counter.faults

    def diagnose(self) -> bool:
        """Find out what is wrong; True where it was only that values were written in a way not expected."""
        library = ibis()
        asked: dict[str, Any] = {}
        for place, (name, code) in enumerate(self.codes.items()):
            asked[f"u{place}"] = library.cases((code.unknown(), 1), else_=0).cast("int64")
            if name in self.counter.droppable():
                asked[f"m{place}"] = library.cases((code.missing(), 1), else_=0).cast("int64")
        asked["lacks"] = library.cases((self.counter.lacks(), 1), else_=0).cast("int64")
        rows = self.part.table.select(**asked)
        answer = self.counter.engine.fetch(rows.aggregate(**{name: rows[name].sum() for name in asked}))[0]
        found = {name: int(number or 0) for name, number in zip(asked, answer, strict=True)}
        learnt = False
        for place, (name, code) in enumerate(self.codes.items()):
            number = found[f"u{place}"]
            if number and code.spelled and not code.asked:
                learnt = True
                number = self.counter.ask(code, code.unknown())
            elif number and code.spelled and not code.bad:
                raise DataError(
                    f"{self.part.name}, column {name}: {quoted(code.raw.type())} values cannot be matched with what "
                    f"the database returned for them. Cast the column to a string in a view."
                )
            if number:
                self._blame(code, number)
        if self.faults.bad or learnt:
            return not self.faults.bad
        gaps = {name: found.get(f"m{place}", 0) for place, name in enumerate(self.codes)}
        gaps = {name: number for name, number in gaps.items() if number}
        first = next(name for name in gaps)
        self.faults.found_missing(self._first(first, self.codes[first].missing()), gaps, found["lacks"])
        return False

    def _blame(self, code: ColumnCode, number: int) -> None:
        """Values outside a domain, with one of them."""
        where = code.among(code.bad[:1]) if code.bad else code.unknown()
        first = self._first(code.name, where) if not self.faults.bad else None
        self.faults.found_bad(code.name, number, first)

    def _first(self, name: str, where: Any) -> First:
        """A row of a kind, to be shown."""
        rows = self.part.table.filter(where).select(
            **{f"c{j}": self.codes[each].raw for j, each in enumerate(self.counter.names)}
        )
        row = self.counter.engine.fetch(rows.limit(1))[0]
        self.part.example = dict(zip(self.counter.names, row, strict=True))
        return First(self.part, 0, name, str(self.part.example[name]), self.codes[name].book)

    def check_done(self) -> None:
        """A row of do(X=1) has X = 1, or does not say."""
        if self.counter.arm_name is None:
            return
        wrong = []
        for position, by_set in self.counter.answers.items():
            arm = self.problem.arms[position]
            there = {name: arm.settings[name] for name in arm.targets if name in self.counter.nodes}
            wanted = {name: self.problem.domains[name].index(value) for name, value in there.items()}
            if any(self._differs(by_set, name, code) for name, code in wanted.items()):
                wrong.append((position, wanted))
        if not wrong:
            return
        rows = reduce(or_, [self._contradicts(position, wanted) for position, wanted in wrong])
        if self.counter.missing != "error":
            rows = rows & ~self.counter.lacks()
        wrong_rows = self.part.table.filter(rows)
        number = int(self.counter.engine.fetch(wrong_rows.aggregate(n=wrong_rows.count()))[0][0])
        first = self._first(self.counter.arm_name, rows)
        position = self.counter.arm_code(self.part.example[self.counter.arm_name])
        arm = self.problem.arms[position]
        values = {name: self._said(name) for name in arm.targets if name in self.counter.nodes}
        said = {name: value for name, value in values.items() if value not in {None, arm.settings[name]}}
        self.faults.found_contradiction(first, number, arm, said)

    def _said(self, name: str) -> Any:
        """The declared value of a node in the row that is shown; None where it does not say."""
        code = self.codes[name].book.code(self.part.example[name])
        found = self.counter.gaps.level(name) if code == MISSING else code
        return None if found is None else self.problem.domains[name][found]

    def _differs(self, by_set: Mapping[CellSet, Cells], name: str, code: int) -> bool:
        one = next(one for one in by_set if not one.by_side and name in one.names)
        found = by_set[one].codes[name]
        return bool(((found != code) & (found < self.problem.sizes[name])).any())

    def _contradicts(self, position: int, wanted: Mapping[str, int]) -> Any:
        """Whether a row names an arm and has another value than it sets."""
        code = self.codes[self.counter.arm_name or ""]
        named = code.among([value for value, own in code.known.items() if own == position])
        others = [
            (self.counter.code(name) != each) & (self.counter.code(name) < self.problem.sizes[name])
            for name, each in wanted.items()
        ]
        return named & reduce(or_, others)
