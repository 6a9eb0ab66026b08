"""How much a soak test does: all that is promised under ``make soak``, about a twentieth under ``make test``."""

from __future__ import annotations

import os

FULL = os.environ.get("WHICHDO_SOAK") == "1"


def scaled(count: int, least: int = 1) -> int:
    """The number to run of a promised ``count``."""
    return count if FULL else max(least, count // 20)
