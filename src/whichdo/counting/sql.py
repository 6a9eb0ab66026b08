"""Counts a log in the database that holds it: a `whichdo.counting.row_counter.Counter` over a table expression of Ibis.

Rows are coded by expressions (`whichdo.counting.spelling`), so each row has one number for each group of columns that
is counted, and the database returns how often each number occurred.  What is wrong with a log is asked only once a
count shows that something is.
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from itertools import chain
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.grouping import (
    DROPPED,
    FAULTY,
    JOINED,
    SIDE,
    Cells,
    CellSet,
    TableFaults,
    ask_codes,
    ask_sets,
    joined,
)
from whichdo.counting.row_counter import Counted, RowCounter
from whichdo.counting.spelling import CODE, ColumnCode, column_code
from whichdo.counting.warehouse import TablePart, ibis
from whichdo.errors import DataError, TooLargeError, UsageError
from whichdo.tables import Table
from whichdo.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import BoolArray, IntArray
    from whichdo.counting.parts import Source
    from whichdo.problem import Arm
    from whichdo.tables import Scope


MOST_RETURNED = 1 << 20
"""Rows that a database may return for one log: cells, whatever the number of rows."""
MOST_SPELLINGS = 10_000
"""Different values of a column that are judged one by one."""
TOGETHER = 32
"""Sets of columns that one statement counts."""


class SqlCounter(RowCounter):
    """Counts a table of a database where it is.  Parameters as of `whichdo.counting.counting.count_with_notes`."""

    def count(self, source: Source, scopes: Sequence[Scope], spare: Sequence[Scope] = ()) -> Counted:
        """Count all rows of the table, or raise what is wrong with them."""
        (part,) = source.parts
        if not isinstance(part, TablePart):
            raise UsageError("A counter of databases counts a table expression of Ibis.")
        if self.keeper is not None:
            raise UsageError(
                f"A model reads rows, and those of {part.name} stay in their database. Rank without a model, or give "
                f"the rows, as with table.to_pyarrow()."
            )
        self.part, self.engine = part, part.engine
        self.answers: dict[int, dict[CellSet, Cells]] = {}
        self.faulty = False
        self.scopes = tuple(dict.fromkeys((*scopes, *spare)))
        self.gaps.needed = {*chain(*scopes), *(name for name, _ in self._roles())}
        self.names = self._wanted(part)
        self.rows = self.total = part.rows
        if not self.rows:
            self._check(source)
        self.codes = {name: column_code(part, name, self._book(name)) for name in self.names}
        self._ask_first()
        self._count_sets()
        self._check(source)
        if self.progress is not None:
            self.progress(self.rows, self.rows)
        return Counted(self._tables(scopes), self._notes(source))

    # What is counted

    @property
    def nodes(self) -> list[str]:
        """The columns that are nodes."""
        return [name for name in self.names if name in self.problem.domains]

    def _levels(self, name: str) -> int:
        """How many codes of a column a cell may have: a value that may be missing is one more."""
        return self.problem.sizes[name] + (name not in self.gaps.needed and self._level(name) is None)

    def _level(self, name: str) -> int | None:
        return self.gaps.level(name)

    def code(self, name: str) -> Any:
        """The code by which rows are counted: NULL for a fault."""
        code = self.codes[name]
        level = self._level(name)
        found = code.level()
        if level is None and name in self.gaps.needed:
            return found
        instead = self.problem.sizes[name] if level is None else level
        return ibis().cases((code.missing(), ibis().literal(instead, CODE)), else_=found)

    def droppable(self) -> list[str]:
        """The columns whose missing values leave a row out, or are an error."""
        return [
            name
            for name in self.names
            if name in self.gaps.needed and self._level(name) is None and name != self.arm_name
        ]

    def lacks(self) -> Any:
        """Whether a row lacks a value that must be there."""
        return reduce(or_, [self.codes[name].missing() for name in self.droppable()])

    def _sets(self) -> list[CellSet]:
        """What is asked: sets of columns of which every scope is a margin."""
        sizes = {name: self._levels(name) for name in self.nodes}
        wanted = list(self.scopes)
        wanted += [(name,) for name in self.nodes]  # each for what it lacks, or to check what was done
        found = [CellSet(names, tuple(sizes[name] for name in names)) for names in joined(wanted, sizes)]
        if self.missing != "error":
            found += [CellSet((name,), (self.problem.sizes[name] + 1,), by_side=True) for name in self.nodes]
        return found

    # What is asked

    def _ask_first(self) -> None:
        """Judge the values of columns that nothing is known of: what was done, dates, times, numbers as strings."""
        for code in self.codes.values():
            if code.spelled and not code.known and not code.asked:
                self.ask(code, code.raw.notnull())

    def ask(self, code: ColumnCode, where: Any) -> int:
        """Judge every value that a column has in some rows; how many rows hold a value outside the domain."""
        most = MOST_SPELLINGS + len(self.problem.arms)
        rows = self.part.table.filter(where).select(v=code.raw)
        found = self.engine.fetch(rows.group_by("v").aggregate(n=rows.count()).limit(most + 1))
        number = code.judge({value: int(count) for value, count in found})
        if len(found) > most and not number:
            raise TooLargeError(
                f"{self.part.name}, column {code.name} has more than {most:,} different values of type "
                f"{quoted(code.raw.type())}, too many to judge one by one. If they are numbers, cast the column to a "
                f"number in a view."
            )
        return number

    def _check_returned(self, sets: Sequence[CellSet]) -> None:
        """Refuse what would return too much, before it is counted."""
        arms = 1 if self.arm_name is None else len(self.codes[self.arm_name].known) + 1

        def most(one: CellSet) -> int:
            return min((one.cells * (1 + one.by_side) + 2) * arms, self.rows)

        if sum(map(most, sets)) <= MOST_RETURNED:
            return
        large = [one for one in sets if most(one) > JOINED]
        keys = ["a"] if self.arm_name is not None else []
        cells = sum(most(one) for one in sets if one not in large)
        for one in large:
            inner = self._inner([one])
            words = [f"s0_{word}" for word in range(len(one.words))]
            rows = inner.select(*words, *keys).distinct()
            cells += int(self.engine.fetch(rows.aggregate(n=rows.count()))[0][0])
            if cells > MOST_RETURNED:
                raise TooLargeError(
                    f"Counting {listed(one.names, most=12)} together in {self.part.name} would return over "
                    f"{MOST_RETURNED:,} cells. Give fewer columns or values, or coarser bins."
                )

    def _count_sets(self) -> None:
        """Ask for every set, until no value is unknown."""
        while True:
            sets = self._sets()
            self._check_returned(sets)
            self.answers, self.faulty = {}, False
            for first in range(0, len(sets), TOGETHER):
                self._take(sets[first : first + TOGETHER])
            if not self.faulty:
                break
            if not TableFaults(self).diagnose():
                return
        self._sum_up()
        TableFaults(self).check_done()

    def _inner(self, sets: Sequence[CellSet]) -> Any:
        """For each row the numbers of its cells, and what is summed up."""
        library = ibis()
        columns: dict[str, Any] = {}
        lacks = self.lacks() if self.missing != "error" else None
        for place, one in enumerate(sets):
            for word, run in enumerate(one.words):
                number = None
                for name, level in zip(one.names[run], one.levels[run], strict=True):
                    code = (self._sided(name) if one.by_side else self.code(name)).cast("int64")
                    number = code if number is None else number * library.literal(level, "int64") + code
                number = number.fill_null(FAULTY) if number is not None else library.literal(0, "int64")
                if lacks is not None and not one.by_side:
                    number = library.cases((lacks, library.literal(DROPPED, "int64")), else_=number)
                elif lacks is not None:
                    side = library.cases(
                        (lacks, library.literal(one.cells, "int64")), else_=library.literal(0, "int64")
                    )
                    number = library.cases((number >= 0, number + side), else_=number)
                columns[f"s{place}_{word}"] = number
        if self.arm_name is not None:
            columns["a"] = self.codes[self.arm_name].raw
        return self.part.table.select(**columns, **self._summed())

    def _sided(self, name: str) -> Any:
        """A code in the comparison of kept and dropped rows: one more for a missing value."""
        code = self.codes[name]
        return ibis().cases((code.missing(), ibis().literal(self.problem.sizes[name], CODE)), else_=code.level())

    def _summed(self) -> dict[str, Any]:
        """What is summed up over rows, beside how many they are."""
        library = ibis()
        found: dict[str, Any] = {}
        zero = library.literal(0.0, "float64")
        for name, sign in ((self.weight_name, "c"), (self.share_name, "w")):
            if name is None:
                continue
            code = self.codes[name]
            value = code.value()
            found[f"{sign}_bad"] = library.cases((code.unknown(), 1), else_=0).cast("int64")
            found[f"{sign}_gap"] = library.cases((code.missing(), 1), else_=0).cast("int64")
            found[sign] = library.coalesce(value, library.literal(0, "int64") if sign == "c" else zero)
        weight = found.get("w", found.get("c"))
        weight = None if weight is None else weight.cast("float64")
        if "c" in found and not self.engine.together:  # there a sum over 2^63 may be an error, or wrong
            found["c"] = found["c"].cast("decimal(19, 0)")
        if "w" in found:
            found["ww"] = found["w"] * found["w"]
        if self.numeric:
            reward = library.coalesce(self.codes[self.problem.reward].value(), zero)
            found["y"] = reward if weight is None else weight * reward
            found["yy"] = reward * reward if weight is None else weight * (reward * reward)
            if "w" in found:
                found["u"], found["uu"] = reward, reward * reward
        return found

    def _take(self, sets: Sequence[CellSet]) -> None:
        """Ask for some sets in one statement, and sort the answer."""
        alone = len(sets) == 1 and not sets[0].by_side and self.missing == "error" and sets[0].faulty <= MOST_RETURNED
        totals = self._take_codes(sets[0]) if alone else self._take_numbers(sets)
        for total in totals:
            if total == self.rows:
                continue
            raise DataError(
                f"{self.part.name} changed while it was counted: it had {self.rows:,} rows, and then {total:,}. Count "
                f"again, or count rows that no longer change (a condition on their day). Nothing was stored."
            )

    def _take_codes(self, one: CellSet) -> list[int]:
        """Ask for a single set, by its codes; how many rows it has."""
        codes = {f"k{place}": self.code(name).cast(CODE) for place, name in enumerate(one.names)}
        arm = {} if self.arm_name is None else {"a": self.codes[self.arm_name].raw}
        coded = self.part.table.select(**codes, **arm, **self._summed())
        sums = list(self._summed())
        rows = ask_codes(self.engine, coded, [*codes], sums, arms=self.arm_name is not None)
        for position, found in self._by_arm(rows).items():
            columns = [*zip(*found, strict=True)]
            faulty = np.logical_or.reduce([[code is None for code in column] for column in columns[1 : 1 + len(codes)]])
            own = [np.array([code or 0 for code in column], np.int64) for column in columns[1 : 1 + len(codes)]]
            values = dict(zip(["n", *sums], columns[1 + len(codes) :], strict=True))
            self._sort(one, position, dict(zip(one.names, own, strict=True)), values, faulty, ~faulty)
        return [sum(int(row[1 + len(codes)]) for row in rows)]

    def _take_numbers(self, sets: Sequence[CellSet]) -> list[int]:
        """Ask for several sets, by one number for each; how many rows each of them has."""
        sums = list(self._summed())
        words = max(len(one.words) for one in sets)
        rows = ask_sets(self.engine, self._inner(sets), sets, sums, arms=self.arm_name is not None)
        totals = [0] * len(sets)
        by_set: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for place, *row in rows:
            totals[place] += int(row[1 + words])
            by_set[place].append(tuple(row))
        for place, its in by_set.items():
            for position, found in self._by_arm(its).items():
                columns = [*zip(*found, strict=True)]
                numbers = [np.array([each or 0 for each in column], np.int64) for column in columns[1 : 1 + words]]
                values = dict(zip(["n", *sums], columns[1 + words :], strict=True))
                faulty = np.logical_or.reduce([number == FAULTY for number in numbers])
                dropped = np.logical_or.reduce([number == DROPPED for number in numbers])
                codes = sets[place].codes(numbers)
                self._sort(sets[place], position, codes, values, faulty & ~dropped, ~(faulty | dropped))
        return totals

    def _by_arm(self, rows: Sequence[tuple[Any, ...]]) -> dict[int, list[tuple[Any, ...]]]:
        """Rows of an answer by what was done, which is their first value: an arm may be written in several ways."""
        arms = {value: self.arm_code(value) for value in {row[0] for row in rows}}
        found: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for row in rows:
            found[arms[row[0]]].append(row)
        return found

    def arm_code(self, value: Any) -> int:
        """The position of the arm that a row names, or what `ArmBook` says where it is not one."""
        return 0 if self.arm_name is None else self.codes[self.arm_name].book.code(value)

    # What comes back

    def _sort(
        self,
        one: CellSet,
        arm: int,
        codes: dict[str, IntArray],
        values: Mapping[str, Sequence[Any]],
        faulty: BoolArray,
        keep: BoolArray,
    ) -> None:
        """Keep some cells of one set and arm, and notice faults."""
        signs = ("c_bad", "w_bad") if self.missing != "error" else ("c_bad", "w_bad", "c_gap", "w_gap")
        self.faulty |= arm < 0 or bool(faulty.any()) or any(any(values.get(sign, ())) for sign in signs)
        self.answers.setdefault(arm, {})[one] = Cells.picked(codes, values, np.flatnonzero(keep))

    def _sum_up(self) -> None:
        """What is reported on the rows: how many lack what, and how those that are dropped differ."""
        whole = [by_set[one] for by_set in self.answers.values() for one in [self._whole(by_set)]]
        if self.weight_name is not None:
            self.weight = sum(sum(each.sums["c"]) for each in whole)
            self._check_most()
        for name in self.nodes:
            for by_set in self.answers.values():
                one = next(one for one in by_set if name in one.names and one.by_side == (self.missing != "error"))
                self._note_missing(name, by_set[one], one)
        if self.missing == "error":
            return
        levels, order = self.gaps.compared.levels, (self.problem.reward, *self.problem.intervene)
        self.gaps.compared.levels = {name: levels[name] for name in order if name in levels}
        for each in whole:
            sides = each.codes[SIDE]
            self.dropped += sum(number for number, side in zip(each.sums["n"], sides, strict=True) if side)
            if self.weight_name is not None:
                self.weight_dropped += sum(n for n, side in zip(each.sums["c"], sides, strict=True) if side)
            for role, sign in ((self.weight_name, "c_gap"), (self.share_name, "w_gap")):
                if role is not None and sum(each.sums[sign]):
                    self.faults.missing[role] += sum(each.sums[sign])

    def _whole(self, by_set: Mapping[CellSet, Cells]) -> CellSet:
        """A set that has every row, the dropped ones too."""
        return next(one for one in by_set if one.by_side == (self.missing != "error"))

    def _note_missing(self, name: str, cells: Cells, one: CellSet) -> None:
        """How many values of a node are missing, and for some nodes how kept and dropped rows compare."""
        size, level = self.problem.sizes[name], self._level(name)
        gaps = cells.codes[name] == size
        number = sum(cells.sums["n"][place] for place in np.flatnonzero(gaps))
        if number and level is not None:
            self.gaps.levelled[name] += number
        elif number and name in self.gaps.needed:
            self.faults.missing[name] += number
        elif number:
            self.gaps.spared[name] += number
        if not one.by_side or name not in {self.problem.reward, *self.problem.intervene}:
            return
        there = np.ones(len(gaps), np.bool_) if level is not None else ~gaps
        codes = np.where(gaps, 0 if level is None else level, cells.codes[name])[there]
        side = cells.codes[SIDE][there]
        rows = np.array(cells.sums["c" if self.weight_name is not None else "n"], np.int64)[there]
        if name == self.problem.reward and self.numeric:
            first, second = ("u", "uu") if self.share_name is not None else ("y", "yy")
            for number, own in enumerate((side == 0, side == 1)):
                sums = (cells.sums[first][there][own].sum(), cells.sums[second][there][own].sum())
                self.gaps.compared.moments[number] += (rows[own].sum(), *sums)
            return
        table = Table.from_rows(
            ("", name), (2, size), [side.astype(np.uint8), codes.astype(np.uint8)], rows
        ).count.reshape(-1)
        known = self.gaps.compared.levels.get(name)
        self.gaps.compared.levels[name] = table if known is None else known + table

    def _tables(self, scopes: Sequence[Scope]) -> dict[Arm, Mapping[Scope, Table]]:
        """The table of every scope, for do() and each arm that has rows."""
        reward = (self.problem.reward,)
        counted = self.scopes if self.levels or not self.sums else (reward,)
        without = set(reward) if self.numeric else set()
        moments = [tuple(name for name in scope if name not in without) for scope in self.scopes]
        found: dict[Arm, Mapping[Scope, Table]] = {}
        for arm in sorted({0, *self._present()}):
            tables = {scope: self._table(arm, scope) for scope in counted if self._is_served(scope, scopes)}
            if self.sums and arm in self._present():
                some = dict.fromkeys(scope for scope in moments if self._is_served(scope, scopes))
                tables |= {scope: self._table(arm, scope, summed=True) for scope in some}
            found[self.problem.arms[arm]] = self.gaps.served(tables, scopes)
        return found

    def _is_served(self, scope: Scope, scopes: Sequence[Scope]) -> bool:
        return scope in scopes or not self.gaps.spared.keys() & set(scope)

    def _present(self) -> set[int]:
        """The arms that have rows which are kept."""
        return {
            arm
            for arm, by_set in self.answers.items()
            if any(cells.sums["n"] for one, cells in by_set.items() if not one.by_side)
        }

    def _table(self, arm: int, scope: Scope, *, summed: bool = False) -> Table:
        """The margin of the smallest set that holds a scope."""
        sizes = [self.problem.sizes[name] for name in scope]
        by_set = self.answers.get(arm, {})
        holding = [one for one in by_set if not one.by_side and set(scope) <= set(one.names)]
        if not holding:
            return Table.from_rows(scope, sizes, [np.zeros(0, np.uint8) for _ in scope], np.zeros(0, np.int64))
        cells = by_set[min(holding, key=lambda one: one.cells)]
        count = np.array(cells.sums["n" if self.weight_name is None else "c"], np.int64)
        statistics: dict[str, Any] = {}
        if summed:
            names = {"weight": "w", "weight_square": "ww", "sum": "y", "square": "yy"}
            statistics = {name: cells.sums[sign] for name, sign in names.items() if sign in cells.sums}
        return Table.from_rows(
            scope, sizes, [cells.codes[name].astype(np.uint8) for name in scope], count, **statistics
        )

    def _weighs(self) -> bool:
        """Whether any row that is kept weighs anything."""
        return any(
            float(np.sum(cells.sums["w"])) > 0
            for by_set in self.answers.values()
            for one, cells in by_set.items()
            if not one.by_side
        )
