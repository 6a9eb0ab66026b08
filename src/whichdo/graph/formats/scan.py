"""A text as tokens, each with its place, and the one shape in which every format reports what it cannot read.

A format is one regular expression whose named groups are the kinds of tokens.  It begins by skipping blanks and
comments, has a group ``end`` for the end of the text, and a last group ``bad`` that takes whatever is left, so that
no character of a text is ever passed over.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from whichdo.errors import GraphSyntaxError, Place
from whichdo.text import quoted

#: What a name may hold without quotes, as the inside of a character class: letters, digits and "_", the accents
#: that are characters of their own, and the vowel signs of Indic scripts and Thai.
LETTERS = r"\w\u0300-\u036f\u064b-\u065f\u0900-\u0963\u0971-\u0e4e"
#: A character of a name in dagitty's text.
NAME = rf"[{LETTERS}.]"
#: How dagitty's text begins; a graph kind that is not read here is still recognised, to be refused by name.
BLOCK = rf'(?i:(dag|mag|pdag|pag)\s*+(?:"(?:[^"\\\n]|\\[^\n])*+"|{NAME}++)?+\s*+\{{)'

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Plain words that mean something where a name could stand, in one format or another.
KEYWORDS = frozenset(
    ("dag", "mag", "pdag", "pag", "graph", "digraph", "strict", "node", "edge", "subgraph", "network", "variable", "o")
)
AROUND = 24


class Scanner:
    """The tokens of a text, one at a time: ``kind`` is the group that matched, ``value`` its text."""

    __slots__ = ("_lines", "_matches", "_pattern", "kind", "start", "text", "value")

    def __init__(self, text: str, pattern: re.Pattern[str], start: int = 0) -> None:
        self.text = text
        self.kind = ""
        self.value = ""
        self.start = start
        self._lines: list[int] | None = None
        self._pattern = pattern
        self.jump(start)

    def step(self) -> None:
        """Go on to the next token; at the end of the text, stay."""
        match = next(self._matches, None)
        if match is not None and match.lastindex is not None:
            self.kind = match.lastgroup or "end"
            self.value = match[match.lastindex]
            self.start = match.start(match.lastindex)

    def jump(self, position: int) -> None:
        """Go on from another position of the text."""
        self._matches = self._pattern.finditer(self.text, position)
        self.step()

    def place(self, start: int) -> Place:
        """The line and column of a position in the text."""
        if self._lines is None:
            self._lines = line_starts(self.text)
        line = bisect_right(self._lines, start)
        return Place(line, start - self._lines[line - 1] + 1)

    def error(self, message: str, start: int | None = None) -> GraphSyntaxError:
        """An error at a position, by default at the present token; ``message`` ends with its own full stop."""
        place = self.place(self.start if start is None else start)
        return GraphSyntaxError(f"{place}: {message}", place)

    def expected(self, what: str, hint: str = "") -> GraphSyntaxError:
        """The present token is not what may stand here: say what may, and show what does."""
        around = self.around()
        where = f" in {around}" if around else ""
        return self.error(f"expected {what}, found {self.found()}{where}.{' ' + hint if hint else ''}")

    def found(self) -> str:
        """The present token in words."""
        if self.kind == "end":
            return "the end of the text"
        if self.value.startswith("\n"):
            return "the end of the line"
        return show(self.value)

    def around(self) -> str:
        """The line of the present token in quotes, cut to what stands near it; nothing for an empty line."""
        text, start = self.text, self.start
        first = max(text.rfind("\n", 0, start) + 1, start - AROUND)
        last = text.find("\n", start)
        last = min(len(text) if last < 0 else last, start + len(self.value) + AROUND, start + 2 * AROUND)
        piece = text[first:last].strip()
        return show(piece) if piece else ""


def line_starts(text: str) -> list[int]:
    """The position at which each line begins."""
    starts = [0]
    position = text.find("\n")
    while position >= 0:
        starts.append(position + 1)
        position = text.find("\n", position + 1)
    return starts


def show(text: str) -> str:
    """A user's text in quotes; characters that would not be seen are spelt out."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in text)
    return quoted(text)


def one_of(words: list[str]) -> str:
    """``a, b or c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def spell(name: str) -> str:
    """A name as text, dagitty and DOT read it: in quotes unless it is a plain word."""
    if PLAIN.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
