"""How often a test repeats what it does at random: least under ``make check``, most under ``make soak``."""

from __future__ import annotations

import os

FULL = os.environ.get("WHICHDO_SOAK") == "1"
QUICK = os.environ.get("WHICHDO_QUICK") == "1"


def scaled(count: int, least: int = 1) -> int:
    """The number to run of a promised ``count``: all under ``make soak``, else about a twentieth."""
    return count if FULL else max(least, count // 20)


def repeated(count: int, *, quick: int) -> int:
    """The number of repetitions: ``quick`` under ``make check``, which wants an answer soon, else ``count``."""
    return quick if QUICK else count
