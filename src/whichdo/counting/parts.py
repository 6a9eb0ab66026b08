"""What rows are read from: one or more parts, each a table that hands over its columns chunk by chunk."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from whichdo.errors import DataError
from whichdo.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


CHUNK = 1 << 17  # rows at a time: the packed columns of a 100-node problem then fit a cache, 2 MB


class Part(Protocol):
    """One table."""

    @property
    def name(self) -> str | None:
        """The name of the file, if it is one."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns as a reader would match them, in order."""

    @property
    def rows(self) -> int | None:
        """The number of rows, if it is known before reading."""

    def chunks(self, wanted: Sequence[int], size: int) -> Iterator[Sequence[Any]]:
        """The columns at the positions ``wanted``, ``size`` rows at a time at most."""

    def where(self, row: int, column: str | None = None, text: str | None = None) -> str:
        """Where row ``row`` (from 0) is, as a reader counts: from 1.  ``column`` and ``text`` are what stands there."""


class Source(NamedTuple):
    """The parts of what was given."""

    parts: Sequence[Part]
    repeated: tuple[str, ...] = ()
    """The names of files that were given more than once; each is one part all the same."""
    unverified: tuple[str, ...] = ()
    """The names of files without checksums, in which damage to a value may go unnoticed."""

    @property
    def rows(self) -> int | None:
        """How many rows there are; None where that is known only once all are read."""
        known = [part.rows for part in self.parts if part.rows is not None]
        return sum(known) if len(known) == len(self.parts) else None


def plain_name(name: object) -> str:
    """The name of a column as it is compared: text, in NFC, as the graph keeps its names."""
    return unicodedata.normalize("NFC", str(name))


def check_names(names: Sequence[str], where: str) -> None:
    """No name may stand twice; nameless columns are nobody's."""
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        what = "the column" if len(twice) == 1 else "the columns"
        raise DataError(
            f"{where} has {what} {listed(map(quoted, twice))} more than once. Which one counts? Rename or remove one."
        )
