"""From rows to tables of counts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whichdo.counting.counting import count, count_with_notes
    from whichdo.counting.notes import CountNotes

__all__ = ["CountNotes", "count", "count_with_notes"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'whichdo.counting' has no attribute {name!r}")
    return getattr(import_module("whichdo.counting.counting"), name)
