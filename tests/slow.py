"""Policies and tasks whose process dies, or raises, in the middle; workers import them from here."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whichdo.errors import Unsuitable
from whichdo.policies.base import Objective, Play, Policy, best_arm, equal_pulls

if TYPE_CHECKING:
    import numpy as np

    from whichdo.evidence import Tally
    from whichdo.problem import Problem


@dataclass(frozen=True)
class Slow(Policy):
    """Uniform exploration that takes its time."""

    name = "slow"
    objective = Objective.SIMPLE
    seconds: float = 0.01

    def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
        time.sleep(self.seconds)
        tried = yield equal_pulls(problem, budget, problem.arms)
        return best_arm(problem, tried.means, rng)


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
        raise Unsuitable("Seven is not served.")
    return task


class Unsendable(Exception):  # noqa: N818
    def __init__(self) -> None:
        super().__init__("kept")
        self.held = lambda: None


def raises_what_cannot_be_sent(task: int) -> int:
    raise Unsendable
