"""Where tests write: memory, if the system has a file system there."""

from __future__ import annotations

import os
import shutil

FOLDER = "/dev/shm"
ENOUGH = 4_000_000_000
"""Bytes that must be free; containers often have far less."""


def in_memory() -> str | None:
    """A folder in memory, or None where there is none with enough space.

    Campaigns wait for the disk at every step, which is what makes them durable and their tests slow; what the tests
    look for, a process that is killed, does not depend on the disk.
    """
    usable = os.access(FOLDER, os.W_OK) and shutil.disk_usage(FOLDER).free > ENOUGH
    return FOLDER if usable else None
