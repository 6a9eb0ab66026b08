"""Counts of columns together: one table, many tables in one array, and how their cells are numbered."""

from whichdo.tables.contingency import (
    MAX_CELLS,
    Layout,
    Places,
    Radix,
    Scope,
    Table,
    TableIndex,
    Tables,
    conditional_rows,
    smallest_table,
    starts,
)

__all__ = [
    "MAX_CELLS", "Layout", "Places", "Radix", "Scope", "Table", "TableIndex", "Tables", "conditional_rows",
    "smallest_table", "starts",
]  # fmt: skip
