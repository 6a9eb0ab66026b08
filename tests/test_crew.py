"""Processes that share work: what is lost with one of them is done again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from multiprocessing import active_children
from typing import TYPE_CHECKING

import pytest

from tests import tasks
from tests.soak import repeated
from whichdo.crew import cores, holding_interrupts, shared
from whichdo.errors import UnsuitableError, WorkerLostError

if TYPE_CHECKING:
    from pathlib import Path


def test_every_task_is_done_once() -> None:
    found = list(shared(tasks.doubled, range(30), 2))
    assert sorted(found) == [(task, 2 * task) for task in range(30)]
    assert active_children() == []


def test_a_killed_worker_is_replaced_and_its_task_is_done_again() -> None:
    """Really killed, twice, each time in the middle of a task."""
    found = []
    killed, count = 0, repeated(200, quick=60)
    with closing(shared(tasks.doubled, range(count), 2)) as answers:
        for answer in answers:
            found.append(answer)
            if killed < 2 and len(found) > count * 2 // 5 * (killed + 1):
                os.kill(active_children()[0].pid or 0, signal.SIGKILL)
                killed += 1
    assert killed == 2
    assert sorted(found) == [(task, 2 * task) for task in range(count)]
    assert active_children() == []


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (tasks.dies_at_7, "the last one was killed by SIGKILL, as a system does whose memory runs out."),
        (tasks.leaves_at_7, r"the last one ended with exit code 3\."),
    ],
)
def test_a_task_that_always_kills_is_given_up_with_the_way_it_ends(work: object, said: str) -> None:
    with pytest.raises(WorkerLostError, match=rf"lost 4 times with the process that did it; {said} Use fewer workers"):
        list(shared(work, [7, 1, 2], 2))  # type: ignore[arg-type]
    assert active_children() == []


def test_an_error_of_the_work_is_raised_here() -> None:
    with pytest.raises(UnsuitableError, match="Seven is not served") as refused:
        list(shared(tasks.refuses_at_7, [7, 7], 2))
    assert "In a worker process:\nTraceback" in refused.value.__notes__[0]
    with pytest.raises(RuntimeError, match="Unsendable: kept"):
        list(shared(tasks.raises_what_cannot_be_sent, [1], 1))
    assert active_children() == []


def test_closing_ends_the_processes() -> None:
    answers = shared(tasks.doubled, range(10_000), 2)
    next(answers)
    answers.close()
    assert active_children() == []


def test_a_script_that_does_not_guard_its_work_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from whichdo.crew import shared\nlist(shared(abs, [1, 2], 2))\n")
    ended = subprocess.run([sys.executable, script], check=False, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert 'below `if __name__ == "__main__":`, because each worker imports it' in ended.stderr.splitlines()[-1]


def test_cores_are_those_this_process_may_use() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)


def interrupted(rounds: list[int], *, asked: bool) -> None:
    with holding_interrupts() as raise_interrupt:
        signal.raise_signal(signal.SIGINT)
        rounds.append(1)
        if asked:
            raise_interrupt()
        rounds.append(2)


@pytest.mark.parametrize(("asked", "done"), [(True, [1]), (False, [1, 2])])
def test_an_interrupt_waits_until_it_is_asked_for_or_to_the_end(asked: bool, done: list[int]) -> None:
    rounds: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(rounds, asked=asked)
    assert rounds == done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_somebody_else_is_left_alone() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        with holding_interrupts() as raise_interrupt:
            signal.raise_signal(signal.SIGINT)
            raise_interrupt()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]
