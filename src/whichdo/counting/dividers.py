"""Whether a row of a CSV file ends in a delimiter too many.

DuckDB takes ``1,0,`` for a row of two fields, as if nothing followed the last delimiter.  A file whose rows DuckDB has
divided into so many fields has a known number of delimiters.  Three passes over its bytes, each slower than the one
before and needed more seldom, tell whether it has more:

1. all delimiters together are no more: no row has one too many;
2. there are more, as quoted texts hold some, but no line ends as if in an empty field: no row has one too many;
3. otherwise the delimiters outside of quotes are counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["all_dividers", "dividers_outside_quotes", "may_end_empty"]

BLOCK = 1 << 20
CACHED = 1 << 16  # bytes whose intermediate arrays stay in a core's cache
QUOTE = ord('"')
BOM = b"\xef\xbb\xbf"

BoolArray = np.ndarray[Any, np.dtype[np.bool_]]


def all_dividers(file: BinaryIO, delimiter: str) -> int:
    """The delimiters of a whole file, in quotes or not."""
    one, total = delimiter.encode(), 0
    while block := file.read(BLOCK):
        total += block.count(one)
    return total


def may_end_empty(file: BinaryIO, delimiter: str) -> bool:
    """Whether a line ends in what may be an empty field: in a delimiter, in a blank or in two quotes."""
    empty = _letters(" \t" + delimiter)
    last = b"\n\n"
    while True:
        block = file.read(CACHED)
        both = last + (block or b"\n")
        letters = np.frombuffer(both, np.uint8)
        here = letters[2:]
        ends = np.flatnonzero((here == ord("\n")) | (here == ord("\r")))
        before, second = letters[ends + 1], letters[ends]
        if empty[before].any() or ((before == QUOTE) & (second == QUOTE)).any():
            return True
        if not block:
            return False
        last = both[-2:]


def dividers_outside_quotes(file: BinaryIO, delimiter: str) -> int | None:
    """The delimiters of a whole file that divide fields.

    None if a quote stands inside a field, as in ``5" pipe``: it quotes nothing, so only reading row by row can tell.
    """
    opening = _letters('\r\n"' + delimiter)  # what may stand before a quote that quotes
    total, inside_before = 0, 0
    last = b"\n"
    if file.read(len(BOM)) != BOM:
        file.seek(0)
    while block := file.read(CACHED):
        letters = np.frombuffer(last + block, np.uint8)
        last = block[-1:]
        here = letters[1:]
        quotes = here == QUOTE
        if not opening[letters[np.flatnonzero(quotes)[inside_before::2]]].all():
            return None
        inside = np.bitwise_xor.accumulate(quotes.view(np.uint8))
        inside ^= np.uint8(inside_before)
        total += int(np.count_nonzero((here == ord(delimiter)) & ~inside.view(np.bool_)))
        inside_before = int(inside[-1])
    return total


def _letters(texts: str) -> BoolArray:
    """Which bytes are among these."""
    found = np.zeros(256, np.bool_)
    found[list(texts.encode())] = True
    return found
