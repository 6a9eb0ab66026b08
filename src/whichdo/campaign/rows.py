"""Rows as they are told: checked against problem and arm, and brought into the one form that goes on record.

On record stand the values that the problem declares, of the columns that are nodes.  Other columns are left out and
named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whichdo.counting.books import book_of
from whichdo.counting.sources import plain_name
from whichdo.counting.told import TellReader
from whichdo.errors import DataError, InputError, UsageError
from whichdo.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.problem import Arm, Problem, Value

__all__ = ["RowReader"]

STORED = "Nothing was stored."


class RowReader:
    """Reads what is told of a problem's arms."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._reader = TellReader(problem)
        self._books = {name: book_of(problem, name) for name in problem.domains}

    def read(self, arm: Arm, row: object, needed: Sequence[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The row as it goes on record, and the columns that are no nodes; or an error."""
        if not isinstance(row, Mapping):
            raise UsageError(f'A row is a mapping such as {{"X": 1, "Y": 0}}; found {quoted(row)}. {STORED}')
        quickly = self._plain(arm, row, needed)
        if quickly is not None:
            return quickly, ()
        self._check_reward(row)
        named = {plain_name(name) for name in row}
        absent = [name for name in needed if name not in named and name not in arm.settings]
        if absent:
            has = f"it has only {listed(sorted(named), most=12)}" if named else "it is empty"
            raise DataError(f"The row of {arm} lacks {listed(absent, most=12)}; {has}. {STORED}")
        try:
            self._reader.read(arm, row, needed)
        except (InputError, UsageError) as error:
            error.add(after=f" {STORED}")
            raise
        kept, extra = {}, []
        for name, value in row.items():
            plain = plain_name(name)
            book = self._books.get(plain)
            if book is None:
                extra.append(plain)
            elif (code := book.code(value)) >= 0:
                kept[plain] = self._kept(plain, value, code)
        return kept, tuple(extra)

    def _plain(self, arm: Arm, row: Mapping[Any, Any], needed: Sequence[str]) -> dict[str, Any] | None:
        """The row, if there is nothing to say of it: so are nearly all, and it takes a fraction of the time."""
        kept = {}
        for name, value in row.items():
            book = self._books.get(name)
            if book is None or (code := book.code(value)) < 0:
                return None
            kept[name] = self._kept(name, value, code)
        applied = all(kept.get(name, value) == value for name, value in arm.settings.items())
        return kept if applied and all(name in kept for name in needed) else None

    def _kept(self, name: str, value: Any, code: int) -> Value:
        """The value that goes on record: the declared one, or a numeric reward as it is."""
        if name == self._problem.reward and self._problem.reward_range is not None:
            return float(value)
        return self._problem.domains[name][code]

    def _check_reward(self, row: Mapping[Any, Any]) -> None:
        reward = self._problem.reward
        if row.get(reward) is None or self._books[reward].code(row[reward]) >= 0:
            return
        numbers = self._problem.reward_range
        declared = listed(map(str, self._problem.domains[reward]), most=12) if numbers is None else str(numbers)
        raise DataError(f"The reward {reward}: got {quoted(row[reward])}, declared {declared}. {STORED}")
