"""What a counter is: the contract between `whichdo.counting.count` and whatever does the counting.

Rows in memory and in files are counted here (`whichdo.counting.counting.RowCounter`); a database would count its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.counting.notes import CountNotes
    from whichdo.counting.sources import Source
    from whichdo.problem import Arm
    from whichdo.tables import Scope, Table

__all__ = ["Counted", "Counter"]


@dataclass(frozen=True)
class Counted:
    """What counting a source gives: for do() and each arm that has rows the table of every scope, and remarks."""

    tables: Mapping[Arm, Mapping[Scope, Table]]
    notes: CountNotes


class Counter(Protocol):
    """Counts the rows of a source for one problem."""

    def count(self, source: Source, scopes: Sequence[Scope], spare: Sequence[Scope] = ()) -> Counted:
        """Count the columns of each scope together, the reward's own scope among them.

        ``spare`` scopes are counted too, unless a column that they alone have lacks values.

        Every value is checked against the problem's domains, and what does not fit is a `DataError` that says where.
        Counts are whole numbers, so any two counters agree to the last digit.
        """
