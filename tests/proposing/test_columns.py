"""What a column contains, value by value where its values are of different kinds."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pytest

from whichdo.proposing.columns import Column

MIXED = [1, "2.5", "north", None, True, float("nan"), Decimal("0.5"), date(2026, 1, 1), object(), "", " ", float("inf")]


@pytest.mark.parametrize("values", [MIXED, np.array(MIXED, dtype=object)], ids=["list", "array"])
def test_each_value_of_a_mixed_column_is_counted_once(values: list[object]) -> None:
    column = Column("X")
    column.add(values)
    assert column.rows == len(MIXED)
    assert (column.count, column.low, column.high) == (3, 0.5, 2.5)  # 1, 2.5 and 0.5
    assert column.texts == {"north": 1}
    assert column.truth == {True: 1}
    assert (column.missing, column.blanks) == (2, 2)  # None and NaN; strings of nothing but blanks
    assert (column.dates, column.others) == (1, 2)  # an object and an endless number
