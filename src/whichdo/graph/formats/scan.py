"""What all formats share: files as text, text as tokens, errors with their place, and the short form as it is written.

A format is one regular expression whose named groups are the kinds of tokens.  It begins by skipping blanks and
comments, has a group ``end`` for the end of the text, and a last group ``bad`` that takes whatever is left, so that
no character of a text is ever passed over.  Files are not trusted: how large one may be, also once it is unpacked, is
limited, and one that is surely something else than a graph is named as what it is.
"""

from __future__ import annotations

import re
import stat
from bisect import bisect_right
from typing import TYPE_CHECKING

from whichdo.errors import GraphSyntaxError, InputError, Place, TooLargeError
from whichdo.files import is_guarded
from whichdo.text import quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whichdo.graph.mixed import MixedGraph


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


#: The most that is read of a file, counted after decompression.
MAX_BYTES = 20 * 1024 * 1024
GZIP = b"\x1f\x8b"

EXPORT = "Export the graph itself, as DOT, GML or dagitty text"
WRITE = 'Write its edges as text, such as "X -> Y"'
PICKLE = "Pickles are not read, since reading one can run code. Export the graph as JSON, GML or text"
UNPACK = "Unpack it, or compress it with gzip"

#: Files that are surely no graph, by how they begin: what each is, and what to do about it.
FOREIGN: tuple[tuple[bytes, str, str], ...] = (
    *((bytes([0x80, version]), "a Python pickle", PICKLE) for version in (2, 3, 4, 5)),
    (b"PK\x03\x04", "a ZIP archive or a spreadsheet", 'Unpack it, or write its edges as text, such as "X -> Y"'),
    (b"PK\x05\x06", "an empty ZIP archive", WRITE),
    (b"\xd0\xcf\x11\xe0", "an old Office document", WRITE),
    (b"%PDF", "a PDF document", EXPORT),
    (b"\x89PNG", "a PNG picture", EXPORT),
    (b"\xff\xd8\xff", "a JPEG picture", EXPORT),
    (b"SQLite format 3\x00", "an SQLite database", WRITE),
    (b"\xfd7zXZ", "compressed with xz", UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", UNPACK),
    (GZIP, "compressed twice", "Unpack it once and read the result"),
    (b"\xff\xfe", "text in UTF-16", "Save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "Save it as UTF-8"),
)


def read_file(path: Path) -> str:
    """The text of a file, unpacked if it is gzip; an error says what the file is instead of text."""
    data = _bytes(path)
    name = visible(path.name)
    if data.startswith(GZIP):
        data = _unpack(data, name)
    for magic, what, advice in FOREIGN:
        if data.startswith(magic):
            raise InputError(f"{name} is {what}. {advice}.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts from behind a byte-order mark.
        offset = error.start + (3 if data.startswith(b"\xef\xbb\xbf") else 0)
        raise InputError(
            f"{name} is not UTF-8 text: byte {offset:,} is 0x{data[offset]:02x}. Save it as UTF-8."
        ) from None


def _bytes(path: Path) -> bytes:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{show(str(path))} is a directory: expected a file with a graph.")
        if not stat.S_ISREG(mode):  # a pipe waits for its writer for ever
            raise InputError(f"{show(str(path))} is not a regular file. Write its content to a file first.")
        if is_guarded(path):  # to open it here would undo SQLite's locks
            raise InputError(f"{show(str(path))} is the database of a campaign: expected a file with a graph.")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"There is no file {show(str(path))}.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{show(str(path))} cannot be read: {_reason(error)}.") from None
    if len(data) > MAX_BYTES:
        raise _too_large(visible(path.name))
    return data


def _unpack(data: bytes, name: str) -> bytes:
    """Unpack gzip, but no more than the limit and one byte."""
    import gzip  # hardly any graph is compressed
    import io
    import zlib

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(MAX_BYTES + 1)
    except EOFError:
        raise InputError(f"{name} is a gzip file that ends too early. Copy or download it again.") from None
    except (OSError, zlib.error) as error:
        raise InputError(f"{name} is a damaged gzip file ({error}). Copy or download it again.") from None
    if len(found) > MAX_BYTES:
        raise _too_large(name)
    return found


def _too_large(name: str) -> TooLargeError:
    return TooLargeError(f"{name} holds more than {MAX_BYTES // 2**20} MB, the limit for a graph.")


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def write_text(graph: MixedGraph) -> str:
    """The graph in the short form, on one line: nodes in order, hidden names, edges."""
    return "; ".join(_statements(graph))


def write_dagitty(graph: MixedGraph) -> str:
    """The graph as dagitty reads it."""
    return "\n".join(["dag {", *_statements(graph), "}", ""])


def _statements(graph: MixedGraph) -> Iterator[str]:
    names = [spell(name) for name in graph.nodes]
    roles = (("exposure", graph.exposures), ("outcome", graph.outcomes))
    for name, spelt in zip(graph.nodes, names, strict=True):
        marks = [word for word, group in roles if name in group]
        yield f"{spelt} [{','.join(marks)}]" if marks else spelt
    for name in sorted(graph.hidden):
        yield f"{spell(name)} [latent]"
    for head, row in enumerate(graph.parent_ids):
        for tail in row:
            yield f"{names[tail]} -> {names[head]}"
    for first, row in enumerate(graph.sibling_ids):
        for second in row:
            if first < second:
                yield f"{names[first]} <-> {names[second]}"
