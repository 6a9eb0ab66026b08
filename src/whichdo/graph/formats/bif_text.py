"""The words of BIF: a cursor that knows where it stands.

Every pattern is possessive (``*+``, ``++``): what it has taken it never gives back, so that no text, however
hostile, is read in more than linear time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from whichdo.errors import GraphSyntaxError, Place
from whichdo.graph.draft import checked_name
from whichdo.graph.formats.scan import show

if TYPE_CHECKING:
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
