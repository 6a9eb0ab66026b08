"""Tasks that end well, raise, or kill their process; workers import this and little else, to begin quickly."""

from __future__ import annotations

import os
import signal
import time

from whichdo.errors import UnsuitableError


def doubled(task: int) -> int:
    time.sleep(0.02)
    return 2 * task


def dies_at_7(task: int) -> int:
    """Its process is killed, every time."""
    if task == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def leaves_at_7(task: int) -> int:
    """Its process ends by itself, every time."""
    if task == 7:
        os._exit(3)
    return task


def refuses_at_7(task: int) -> int:
    if task == 7:
        raise UnsuitableError("Seven is not served.")
    return task


class Unsendable(Exception):  # noqa: N818
    def __init__(self) -> None:
        super().__init__("kept")
        self.held = lambda: None


def raises_what_cannot_be_sent(task: int) -> int:
    raise Unsendable
