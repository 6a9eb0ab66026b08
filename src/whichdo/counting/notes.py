"""What a careful reader of a log is told beside the counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from whichdo.errors import counted, quoted
from whichdo.graph.identify import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CountNotes"]


@dataclass(frozen=True)
class CountNotes:
    """What a careful reader of a log is told beside the counts."""

    rows: int
    """The rows that were read."""
    dropped: int = 0
    """How many of them were left out because a value is missing."""
    extra_columns: tuple[str, ...] = ()
    """Columns that are no observed node of the graph: they were not read."""
    missing: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """How many values each column misses."""
    weight: int | None = None
    """What the rows count for by a column of counts, dropped ones included; None without such a column.

    A row whose count itself is missing adds nothing.
    """
    weight_dropped: int = 0
    """What the dropped rows count for."""
    repeated: tuple[str, ...] = ()
    """Files that were named more than once, and counted once."""
    unverified: tuple[str, ...] = ()
    """Parquet files whose pages have no checksums."""

    @property
    def share_dropped(self) -> float:
        """The share that was left out: of the rows, or of what they count for if a column says so."""
        if self.weight is not None:
            return self.weight_dropped / self.weight if self.weight else 0.0
        return self.dropped / self.rows if self.rows else 0.0

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same in words, for people."""
        said = []
        if self.repeated:
            said.append(f"Named more than once, counted once: {listed(map(quoted, self.repeated))}.")
        if self.unverified:
            have = "has" if len(self.unverified) == 1 else "have"
            files = listed(map(quoted, self.unverified))
            said.append(f"{files} {have} no page checksums: damage to single values would not be noticed.")
        if self.extra_columns:
            what = "column that is no node" if len(self.extra_columns) == 1 else "columns that are no nodes"
            said.append(f"Ignored {len(self.extra_columns):,} {what}: {listed(map(quoted, self.extra_columns))}.")
        if self.dropped:
            counts = listed((f"{name} {count:,}" for name, count in self.missing.items()), most=12)
            of = f"{self.dropped:,} of {counted(self.rows, 'row')}"
            if self.weight is not None:
                of += f", {self.weight_dropped:,} of {self.weight:,} by their counts"
            said.append(f"Dropped {of} ({self.share_dropped:.1%}) with missing values: {counts}.")
        return tuple(said)
