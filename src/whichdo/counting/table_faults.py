"""What is wrong with a log in a database: asked only once a count shows that something is."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Protocol

from whichdo.counting.notes import First
from whichdo.counting.values import MISSING
from whichdo.counting.warehouse import ibis
from whichdo.errors import DataError
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.counting.gaps import Gaps
    from whichdo.counting.grouping import Cells, CellSet
    from whichdo.counting.notes import Faults
    from whichdo.counting.spelling import ColumnCode
    from whichdo.counting.warehouse import Engine, TablePart
    from whichdo.problem import Problem


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
