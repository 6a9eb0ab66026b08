"""Names as text in a drawing: how wide they are, where they break, and how they are written safely into XML.

No font is measured.  Widths are those of common sans-serif faces, by class of character, rounded up; boxes leave
some air, so that another face of the reader's system still fits.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape
from itertools import pairwise

FONT_SIZE = 14.0
LINE_HEIGHT = 17.0
#: A line of a label is no wider than this, and a label has no more lines than this.
LINE_WIDTH, MAX_LINES = 130.0, 3
PADDING_X, PADDING_Y, LEAST_WIDTH = 13.0, 9.0, 46.0

_NARROW = frozenset("iIjl.,:;'|!`")
_SLIM = frozenset('frt()[]{}-/\\ "*')
_BROAD = frozenset("mwMW@%&")
#: Inside a word a line may end after these, or before a capital that follows a small letter.
_JOINT = re.compile(r"(?<=[_\-./:])(?=\w)|(?<=[a-z])(?=[A-Z])")
#: What XML 1.0 cannot hold, and characters that would turn the direction of the text after them.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """The width of one line, estimated on the generous side."""
    return size * sum(map(_em, text))


def _em(character: str) -> float:
    if character in _NARROW:
        return 0.3
    if character in _SLIM:
        return 0.4
    if character in _BROAD:
        return 0.92
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    return 0.72 if character.isupper() else 0.58


def wrap(name: str) -> list[str]:
    """The lines of a label: broken at blanks and joints, else anywhere, and cut with an ellipsis when too long."""
    lines = [""]
    for piece in _pieces(name):
        if lines[-1] and text_width((lines[-1] + piece).rstrip()) > LINE_WIDTH:
            lines.append("")
        lines[-1] += piece
    lines = [line.strip() for line in lines]
    if len(lines) > MAX_LINES:
        last = lines[MAX_LINES - 1]
        while last and text_width(last + "…") > LINE_WIDTH:
            last = last[:-1]
        lines[MAX_LINES - 1 :] = [last.rstrip() + "…"]
    return lines


def _pieces(name: str) -> list[str]:
    """Words with the blank that follows; a word too wide for a line falls apart at its joints or into characters."""
    pieces: list[str] = []
    for word in re.findall(r"\S+\s*|\s+", name):
        ends = [0, *(joint.start() for joint in _JOINT.finditer(word)), len(word)]
        parts = [word] if text_width(word) <= LINE_WIDTH else [word[start:end] for start, end in pairwise(ends)]
        for part in parts:
            pieces += [part] if text_width(part) <= LINE_WIDTH else list(part)
    return pieces


def box_size(name: str) -> tuple[float, float]:
    """The width and height of the box around a name."""
    lines = wrap(name)
    width = max(map(text_width, lines)) + 2 * PADDING_X
    return max(LEAST_WIDTH, float(round(width))), len(lines) * LINE_HEIGHT + 2 * PADDING_Y


def printable(text: str) -> str:
    """Text without what XML cannot hold, nor what would turn its direction."""
    return _UNSAFE.sub("\ufffd", text)


def safe(text: str) -> str:
    """Text for an element or an attribute of an XML file, whatever it holds."""
    return escape(printable(text))
