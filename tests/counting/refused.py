"""What a source that cannot be counted is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from whichdo.counting import count
from whichdo.errors import DataError, InputError
from whichdo.problem import Problem

if TYPE_CHECKING:
    from pathlib import Path

XY = Problem("X -> Y", "Y")
HEAD = "X,Y\n"


def message(source: Any, problem: Problem = XY, kind: type[InputError] = DataError, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        count(problem, source, **options)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 3
    return str(caught.value)


def log(folder: Path, data: str | bytes, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path
