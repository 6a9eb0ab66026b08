"""Probability blocks of BIF: from rows of text to one array.

All rows of a block are converted at once.  Only when that fails are they read one by one, to say which is wrong,
where, and why.

The words of BIF are read by a cursor that knows where it stands.  Every pattern is possessive
(``*+``, ``++``): what it has taken it never gives back, so that no text, however hostile, is read
in more than linear time.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from whichdo.errors import GraphSyntaxError, Place, TooLargeError
from whichdo.graph.draft import checked_name
from whichdo.graph.formats.scan import show
from whichdo.text import nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from re import Match, Pattern

    from whichdo.arrays import FloatArray


QUOTED = r'"[^"\\\n]*+"'
BARE = re.compile(r'[^\s{}()\[\],;|"\\]++', re.ASCII)
WORD = re.compile(rf'\s*+(?:"([^"\\\n]*+)"|({BARE.pattern}))', re.ASCII)
OPEN = re.compile(r"\s*+\{", re.ASCII)
CLOSE = re.compile(r"\s*+\}", re.ASCII)
END = re.compile(r"\s*+;", re.ASCII)
PROPERTY = re.compile(rf'\s*+property\b((?:[^;"{{}}]++|{QUOTED})*+);', re.ASCII)
COMMA_OR = {closing: re.compile(rf"\s*+([,{closing}])", re.ASCII) for closing in ")}"}
BLANKS = re.compile(r"\s*+", re.ASCII)
COMMENT = r"//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/"
SKIPPED = re.compile(rf"{QUOTED}|((?:{COMMENT})(?:{COMMENT}|\s++)*+)|/\*", re.ASCII)


@dataclass(frozen=True, eq=False)
class BifVariable:
    """One variable: its values, its parents, and its probabilities.

    ``table`` has the shape ``(*parent sizes, len(values))``, each row sums to one, and it cannot be written to; None
    where the file gives no numbers.  ``properties`` are the file's, as text.
    """

    name: str
    values: tuple[str, ...]
    parents: tuple[str, ...]
    table: FloatArray | None
    hidden: bool
    place: Place
    properties: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class BifFile:
    """A network as it stands in a file, variables in the order of the file."""

    name: str
    variables: tuple[BifVariable, ...]


class Cursor:
    """A position in a text without comments.  A pattern either moves it or leaves it where it was."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._checked: dict[str, str] = {}
        self._counted, self._line, self._line_start = 0, 1, 0

    def maybe(self, pattern: Pattern[str]) -> Match[str] | None:
        """Move over ``pattern`` if it stands here."""
        match = pattern.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
        return match

    def take(self, pattern: Pattern[str], expected: str) -> Match[str]:
        """Move over ``pattern``, which must stand here."""
        return self.maybe(pattern) or self.expected(expected)

    def word(self, expected: str) -> tuple[str, int]:
        """The name or value that stands here, bare or quoted, and its offset."""
        match = self.take(WORD, expected)
        group = 1 if match[1] is not None else 2
        return self.checked(match[group], match.start(group)), match.start(group)

    def words(self, closing: str, expected: str, most: int) -> list[tuple[str, int]]:
        """Names or values parted by commas up to the ``closing`` bracket, each with its offset.

        Of more than ``most`` the first ``most + 1`` are returned: the caller says what is too much.
        """
        hint = f'"," or "{closing}" (a name or value with blanks needs double quotes)'
        found = [self.word(expected)]
        while self.take(COMMA_OR[closing], hint)[1] != closing and len(found) <= most:
            found.append(self.word(expected))
        return found

    def checked(self, word: str, offset: int) -> str:
        """The word in Unicode's composed form, or an error where it could deceive a reader."""
        known = self._checked.get(word)
        if known is None:
            known = self._checked[word] = checked_name(word, self.place(offset))
        return known

    def expected(self, what: str, offset: int | None = None) -> NoReturn:
        """Stop: ``what`` should stand at ``offset`` (else here) and something else does."""
        if offset is None:
            blanks = BLANKS.match(self.text, self.position)
            offset = blanks.end() if blanks else self.position
        line = self.text[offset : offset + 60].partition("\n")[0].rstrip()
        found = (
            show(line[:30]) if line else "the end of the text" if offset >= len(self.text) else "the end of the line"
        )
        self.fail(f"expected {what}, found {found}.", offset)

    def fail(self, message: str, offset: int) -> NoReturn:
        """Stop with the line and column of ``offset``."""
        place = self.place(offset)
        raise GraphSyntaxError(f"{place}: {message}", place)

    def place(self, offset: int) -> Place:
        """Line and column of ``offset``; asked in ascending order, all of them together take one pass."""
        if offset < self._counted:
            self._counted, self._line, self._line_start = 0, 1, 0
        lines = self.text.count("\n", self._counted, offset)
        if lines:
            self._line += lines
            self._line_start = self.text.rfind("\n", self._counted, offset) + 1
        self._counted = offset
        return Place(self._line, offset - self._line_start + 1)


def without_comments(text: str) -> str:
    """The text with ``//`` and ``/* */`` comments turned into blanks, so that every offset stays what it was."""
    if "//" not in text and "/*" not in text:
        return text
    parts = []
    kept = 0
    for match in SKIPPED.finditer(text):
        if match[0] == "/*":
            Cursor(text).fail('a comment begins here with "/*" and never ends. Close it with "*/".', match.start())
        if match[1] is not None:
            parts.append(text[kept : match.start()])
            parts.append("\n".join([" " * len(line) for line in match[1].split("\n")]))
            kept = match.end()
    return "".join([*parts, text[kept:]])


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
