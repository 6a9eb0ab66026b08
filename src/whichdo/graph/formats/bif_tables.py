"""Probability blocks of BIF: from rows of text to one array.

All rows of a block are converted at once.  Only when that fails are they read one by one, to say which is wrong,
where, and why.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from whichdo.errors import TooLargeError
from whichdo.graph.formats.bif_text import CLOSE, PROPERTY, QUOTED, Cursor
from whichdo.graph.formats.scan import show
from whichdo.text import nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from re import Match

    from whichdo.arrays import FloatArray


MAX_CELLS = 50_000_000
MAX_TOTAL_CELLS = 100_000_000
SUM_TOLERANCE = 1e-4
BLANK = " \t\r\n\f\v"

#: ``(a, b) 0.1, 0.9;`` or ``table 0.1, 0.9;`` or ``default 0.1, 0.9;``
HEAD = rf'\s*+(?:\(((?:[^()"]++|{QUOTED})*+)\)|(table|default)\b)'
STATEMENT = re.compile(rf'{HEAD}([^;"{{}}()]*+);', re.ASCII)
BROKEN_STATEMENT = re.compile(rf'{HEAD}[^;"{{}}()]*+', re.ASCII)
NUMBER = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
NUMBER_CHARACTERS = re.compile(r"[0-9eE.+\-,\s]*+", re.ASCII)


@dataclass(frozen=True)
class Family:
    """A variable and its parents, with the values of all of them, and the offset where the rows begin."""

    child: str
    values: tuple[str, ...]
    parents: tuple[str, ...]
    domains: tuple[tuple[str, ...], ...]
    header: int
    body: int

    @property
    def rows(self) -> int:
        """The number of combinations of the parents' values: a Python integer, however large."""
        return math.prod(map(len, self.domains))

    @property
    def cells(self) -> int:
        """The number of probabilities a full table holds."""
        return self.rows * len(self.values)

    def combination(self, row: int) -> str:
        """The parents' values at a row, as ``(a, b)``; the last parent changes fastest."""
        values: list[str] = []
        for domain in reversed(self.domains):
            row, position = divmod(row, len(domain))
            values.append(domain[position])
        return f"({_some(values[::-1])})"


def read_table(cursor: Cursor, family: Family, budget: int) -> FloatArray | None:
    """The table of shape ``(*parent sizes, values)``, or None where the block holds no numbers.

    ``budget`` is the number of cells that may still be allocated for the whole file.
    """
    import numpy as np

    rows, table, default = _statements(cursor, family)
    if not rows and table is None and default is None:
        return None
    _check_size(cursor, family, budget)
    shape = (*map(len, family.domains), len(family.values))
    if table is not None:
        if rows or default is not None:
            cursor.fail(f"{quoted(family.child)} has a table and other rows too. Keep one of them.", table.start(2))
        return _normalise(cursor, family, [table], _whole(cursor, family, table)).reshape(shape)
    statements = rows if default is None else [*rows, default]
    found = _normalise(cursor, family, statements, _numbers(cursor, family, statements, len(family.values)))
    positions = _positions(cursor, family, rows)
    _check_coverage(cursor, family, rows, positions, complete=default is None)
    cells = np.empty((family.rows, len(family.values)))
    if default is not None:
        cells[:] = found[-1]
    cells[positions] = found[: len(rows)]
    cells.setflags(write=False)
    return cells.reshape(shape)


def _statements(cursor: Cursor, family: Family) -> tuple[list[Match[str]], Match[str] | None, Match[str] | None]:
    """The rows of the block, its ``table`` and its ``default``, not yet read.

    Reading ends with the first row too many: two rows are for the same combination then.
    """
    most = family.rows
    rows: list[Match[str]] = []
    special: dict[str, Match[str]] = {}
    cursor.position = family.body
    while len(rows) <= most:
        statement = cursor.maybe(STATEMENT)
        if statement is None:
            if cursor.maybe(CLOSE):
                break
            if not cursor.maybe(PROPERTY):
                _broken(cursor)
        elif statement[2] is None:
            rows.append(statement)
        elif statement[2] in special:
            cursor.fail(f'a second "{statement[2]}" for {quoted(family.child)}. Keep one.', statement.start(2))
        else:
            special[statement[2]] = statement
    return rows, special.get("table"), special.get("default")


def _broken(cursor: Cursor) -> NoReturn:
    begun = cursor.maybe(BROKEN_STATEMENT)
    if begun is not None:
        cursor.expected('numbers up to a ";"', begun.end())
    cursor.expected('a row such as "(a, b) 0.1, 0.9;", "table 0.1, 0.9;" or "}"')


def _check_size(cursor: Cursor, family: Family, budget: int) -> None:
    if family.cells > MAX_CELLS:
        raise TooLargeError(
            f"{cursor.place(family.header)}: the table of {quoted(family.child)} has {_shown(family.cells)} cells "
            f"({len(family.parents)} parents); at most {MAX_CELLS:,} are read. Give it fewer parents or values."
        )
    if family.cells > budget:
        raise TooLargeError(
            f"{cursor.place(family.header)}: with the table of {quoted(family.child)} ({family.cells:,} cells) the "
            f"network passes {MAX_TOTAL_CELLS:,} cells in all, the limit."
        )


# ------------------------------------------------------------------------------------------------ values of the parents


def _positions(cursor: Cursor, family: Family, rows: Sequence[Match[str]]) -> list[int]:
    """For each row its position among all combinations, the last parent changing fastest."""
    steps: list[dict[str, int]] = []
    stride = 1
    for domain in reversed(family.domains):
        step = {value: position * stride for position, value in enumerate(domain)}
        steps.append(step | {f'"{value}"': offset for value, offset in step.items()})
        stride *= len(domain)
    steps.reverse()
    positions = []
    for row in rows:
        parts = row[1].split(",")
        try:
            position = sum([step[part.strip()] for step, part in zip(steps, parts, strict=True)])
        except (KeyError, ValueError):
            position = _position(cursor, family, row)
        positions.append(position)
    return positions


def _position(cursor: Cursor, family: Family, row: Match[str]) -> int:
    """One row's position, read with care: quoted values may hold commas, and what is wrong gets its place."""
    if not family.parents:
        cursor.fail(f'{quoted(family.child)} has no parents: write "table 0.1, 0.9;".', row.start(1) - 1)
    cursor.position = row.start(1)
    words = cursor.words(")", "a parent's value", len(family.parents))
    if len(words) != len(family.parents):
        cursor.fail(
            f"{quoted(family.child)} has {len(family.parents)} parents ({_some(family.parents)}), "
            f"but this row names {'more' if len(words) > len(family.parents) else len(words)}.",
            row.start(1),
        )
    position = 0
    for (value, offset), parent, domain in zip(words, family.parents, family.domains, strict=True):
        if value not in domain:
            hint = nearest(value, domain) or f" Its values are {_some(domain)}."
            cursor.fail(f"{quoted(value)} is not a value of the parent {quoted(parent)}.{hint}", offset)
        position = position * len(domain) + domain.index(value)
    return position


def _check_coverage(
    cursor: Cursor, family: Family, rows: Sequence[Match[str]], positions: Sequence[int], *, complete: bool
) -> None:
    """No combination twice; none missing where there is no default."""
    seen = set(positions)
    if len(seen) < len(positions):
        first: dict[int, int] = {}
        for number, position in enumerate(positions):
            before = first.setdefault(position, number)
            if before != number:
                line = cursor.place(rows[before].start(1)).line
                cursor.fail(
                    f"the row {family.combination(position)} of {quoted(family.child)} is already on line {line}.",
                    rows[number].start(1) - 1,
                )
    if complete and len(seen) < family.rows:
        missing = next(position for position in range(family.rows) if position not in seen)
        cursor.fail(
            f"{quoted(family.child)} has {len(seen):,} of {family.rows:,} rows; the first that is missing is "
            f'{family.combination(missing)}. Add it, or a "default" row.',
            family.header,
        )


# -------------------------------------------------------------------------------------------------------------- numbers


def _numbers(cursor: Cursor, family: Family, statements: Sequence[Match[str]], count: int) -> FloatArray:
    """The numbers of some rows, ``count`` in each: all at once, or with care where that fails."""
    import numpy as np

    texts = [statement[3] for statement in statements]
    together = ",".join(texts)
    if NUMBER_CHARACTERS.fullmatch(together) and all(text.count(",") == count - 1 for text in texts):
        try:
            numbers = np.array(list(map(float, together.split(","))))
        except ValueError:
            pass
        else:
            if numbers.size and numbers.min() >= 0 and numbers.max() <= 1:
                return numbers.reshape(-1, count)
    for statement in statements:
        _check_count(cursor, family, statement, count)
    careful = [_row_numbers(cursor, statement) for statement in statements]
    return np.array(careful, dtype=np.float64).reshape(-1, count)


def _check_count(cursor: Cursor, family: Family, statement: Match[str], count: int) -> None:
    found = statement[3].count(",") + 1 if statement[3].strip() else 0
    if found != count:
        of = f"{len(family.values)} values" + (f" and {family.rows:,} rows" if count != len(family.values) else "")
        cursor.fail(
            f"expected {count:,} numbers, found {found:,}: {quoted(family.child)} has {of}.", _visible(statement, 0)
        )


def _row_numbers(cursor: Cursor, statement: Match[str]) -> list[float]:
    numbers = []
    offset = 0
    for text in statement[3].split(","):
        number = float(text) if NUMBER.fullmatch(text.strip(BLANK)) else math.nan
        if not 0 <= number <= 1:
            found = show(text.strip(BLANK)) if text.strip(BLANK) else "nothing"
            cursor.fail(f"expected a number between 0 and 1, found {found}.", _visible(statement, offset))
        numbers.append(number)
        offset += len(text) + 1
    return numbers


def _visible(statement: Match[str], offset: int) -> int:
    """The place in the file of the first visible character at or after ``offset`` in a statement's numbers."""
    rest = statement[3][offset : offset + 1000]
    return statement.start(3) + offset + len(rest) - len(rest.lstrip(BLANK))


def _whole(cursor: Cursor, family: Family, table: Match[str]) -> FloatArray:
    """``table`` lists everything at once: by the child's value first, the last parent changing fastest."""
    import numpy as np

    numbers = _numbers(cursor, family, [table], family.cells)
    return np.ascontiguousarray(numbers.reshape(len(family.values), family.rows).T)


def _normalise(cursor: Cursor, family: Family, statements: Sequence[Match[str]], rows: FloatArray) -> FloatArray:
    """The rows divided by their sums, which must be near one.

    A row whose sum differs from one by rounding alone stays as it is: reading what was written changes nothing.
    """
    import numpy as np

    sums = rows.sum(axis=1)
    apart = np.abs(sums - 1)
    if apart.size and apart.max() > SUM_TOLERANCE:
        bad = int(np.argmax(apart > SUM_TOLERANCE))
        statement = statements[bad if len(statements) == len(rows) else 0]
        row = f"({statement[1].strip()})" if statement[2] is None else f'"{statement[2]}"'
        if statement[2] == "table" and family.parents:
            row += f" at {family.combination(bad)}"
        cursor.fail(
            f"the probabilities of {quoted(family.child)} in the row {row} sum to {float(sums[bad]):.6g}, not to 1.",
            _visible(statement, 0),
        )
    off = apart > len(family.values) * 2.0**-52
    if off.any():
        rows[off] /= sums[off, None]
    rows.setflags(write=False)
    return rows


def _shown(number: int) -> str:
    """A number with commas, or its order of magnitude where Python would refuse to print it."""
    return f"{number:,}" if number < 10**30 else f"about 10^{int(number.bit_length() * math.log10(2))}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
