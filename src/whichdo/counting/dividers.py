"""How many delimiters a CSV file has: what shows a row that ends in one too many.

DuckDB takes ``1,0,`` for a row of two fields, as if nothing followed the last delimiter.  A file whose rows DuckDB has
divided into so many fields has a known number of delimiters.  If all of them together are no more, no row has one too
many; that is a quick pass over the bytes.  Only a file with more, because a quoted text holds some, is looked at again,
without what stands in quotes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["all_dividers", "dividers_outside_quotes"]

BLOCK = 1 << 20
CACHED = 1 << 16  # bytes whose intermediate arrays stay in a core's cache
QUOTE = ord('"')
BOM = b"\xef\xbb\xbf"


def all_dividers(file: BinaryIO, delimiter: str) -> int:
    """The delimiters of a whole file, in quotes or not."""
    one, total = delimiter.encode(), 0
    while block := file.read(BLOCK):
        total += block.count(one)
    return total


def dividers_outside_quotes(file: BinaryIO, delimiter: str) -> int | None:
    """The delimiters of a whole file that divide fields.

    None if a quote stands inside a field, as in ``5" pipe``: it quotes nothing, so only reading row by row can tell.
    """
    opens = np.frombuffer(b'\r\n"' + delimiter.encode(), np.uint8)  # what may stand before a quote that quotes
    total, inside_before, last = 0, 0, b"\n"
    while block := file.read(CACHED):
        letters = np.frombuffer(last + block.removeprefix(BOM), np.uint8)
        last = block[-1:]
        here = letters[1:]
        quotes = here == QUOTE
        passed = np.cumsum(quotes, dtype=np.uint8)  # wraps, and keeps what is odd
        inside = ((passed + np.uint8(inside_before)) & 1).view(np.bool_)
        if not np.isin(letters[:-1][quotes & inside], opens).all():
            return None
        total += int(np.count_nonzero((here == ord(delimiter)) & ~inside))
        inside_before = int(inside[-1]) if len(inside) else inside_before
    return total
