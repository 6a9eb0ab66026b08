"""Prose of Markdown pages in lines of at most 100 characters: ``python -m benchmarks.wrapping docs/*.md`` mends pages.

Code, tables, headings, HTML and pictures stay as they are.  The programs that write pages wrap what they write.
"""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WIDTH", "prose", "wrapped"]

WIDTH = 100
ITEM = re.compile(r"(\s*(?:[-*+]|\d+\.)\s+)(.*)")
QUOTE = re.compile(r"(> ?)(.*)")
MARK = re.compile(r"[-*+>#]+|\d+[.)]")
KEPT = re.compile(r"#|\||<|!\[|```|~~~|---|\[\^|:::|=+$")
"""How lines begin that are no prose."""
PLACE = re.compile(r"`[^`]+`|\]\([^)]*\)|\S+")
"""What is never broken: code, and the address of a link."""


def prose(text: str) -> Iterator[tuple[int, int]]:
    """The paragraphs of a page, each from its first line to the one behind its last, counted from 0."""
    lines, fenced, start, code = text.splitlines(), "", None, False
    for number, line in enumerate(lines):
        if mark := re.match(r"\s*(```+|~~~+)", line):
            if start is not None:
                yield start, number
                start = None
            fenced = "" if fenced and mark[1].startswith(fenced) else fenced or mark[1]
            continue
        if fenced:
            continue
        blank = not line.strip()
        code = not blank and line.startswith("    ") and start is None and (code or _opens_code(lines, number))
        broken = number > 0 and lines[number - 1].endswith(("\\", "  "))
        new = bool(broken or ITEM.fullmatch(line) or QUOTE.fullmatch(line))
        stops = blank or code or KEPT.match(line.lstrip())
        if start is not None and (stops or new):
            yield start, number
            start = None
        if start is None and not stops:
            start = number
    if start is not None:
        yield start, len(lines)


def _opens_code(lines: list[str], number: int) -> bool:
    """Whether an indented line begins a block of code: after a blank, and not inside an item of a list."""
    before = [line for line in lines[:number] if line.strip()]
    if number and lines[number - 1].strip():
        return False
    for line in reversed(before):
        if not line.startswith(" "):
            return not ITEM.fullmatch(line)
    return True


def wrapped(text: str) -> str:
    """The same page with its paragraphs wrapped, where one of their lines is too long."""
    lines, found, at = text.splitlines(), [], 0
    for start, stop in prose(text):
        found += lines[at:start]
        own = lines[start:stop]
        found += _paragraph(own) if max(map(len, own)) > WIDTH else own
        at = stop
    return "\n".join([*found, *lines[at:]]) + "\n"


def _paragraph(lines: list[str]) -> list[str]:
    match = ITEM.fullmatch(lines[0])
    first = match[1] if match else re.match(r"\s*", lines[0])[0]  # type: ignore[index]
    rest = " " * len(first)
    words = _words(" ".join(line.strip() for line in [lines[0][len(first) :], *lines[1:]]))
    found, line = [], first
    for word, following in pairwise([*words, ""]):
        own = f"{line}{'' if line in {first, rest} else ' '}{word}"
        if len(own) > WIDTH and line not in {first, rest}:
            found.append(line)
            own = f"{rest}{word}"
        line = own
        if following == "":
            found.append(line)
    return found


def _words(text: str) -> list[str]:
    """What may stand on a line of its own: words, with code and addresses whole."""
    found: list[str] = []
    at = 0
    for match in PLACE.finditer(text):
        if found and match.start() == at:
            found[-1] += match[0]
        elif found and MARK.fullmatch(match[0]):  # would begin an item of a list on a line of its own
            found[-1] += f" {match[0]}"
        else:
            found.append(match[0])
        at = match.end()
    return [word for word in found if word]


def main() -> None:
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(wrapped(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
