"""Processes that share work, and what becomes of it when one of them dies.

Each worker has its own pipe and holds one task at a time.  So when a worker is killed it is known which task was
lost with it, nothing that others hold is touched, and a fresh process does the lost task again.  A task that has cost
its worker several times is given up with an error that says how the workers ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections import Counter, deque
from multiprocessing import get_context
from multiprocessing.connection import wait
from traceback import format_exc
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from whichdo.errors import WorkerLostError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from multiprocessing.connection import Connection


RETRIES = 3
PATIENCE = 2.0
"""Seconds a worker is given to end when told to, before it is killed."""

Task = TypeVar("Task")
Found = TypeVar("Found")


def cores() -> int:
    """The number of cores that this process may use."""
    counted = getattr(os, "process_cpu_count", None)  # Python 3.13
    if counted is not None:
        return counted() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shared(
    work: Callable[[Task], Found], tasks: Iterable[Task], workers: int
) -> Generator[tuple[Task, Found], None, None]:
    """Do all tasks in processes; yields each with what was found, as they are done.

    ``work`` is sent to each process once, tasks one by one; while they start, it goes on in this process.  Close the
    generator to end the processes before all is done.  An error of ``work`` is raised here.
    """
    waiting = deque(tasks)
    lost: Counter[Task] = Counter()
    crew: list[_Worker[Task, Found]] = []
    try:
        _hire(crew, min(workers, len(waiting)), work)
        while waiting or any(each.task is not None for each in crew):
            for each in crew:
                each.take_from(waiting)
            starting = bool(waiting) and not any(each.ready for each in crew)
            if starting:  # a process takes a second to start: until the first is there, this one does what it can
                task = waiting.pop()
                yield task, work(task)
            for each in _answering(crew, 0 if starting else None):
                answer = each.answer()
                if isinstance(answer, _Done):
                    each.take_from(waiting)  # before the caller is given the time to look at what was found
                    yield answer.task, answer.found
                elif answer is None:
                    crew.remove(each)
                    if _bury(each, waiting, lost):
                        _hire(crew, 1, work)
    finally:
        for each in crew:
            each.end()


class _Ready:
    """What a worker says when it has been told its work."""


class _Done(Generic[Task, Found]):
    """What a worker says when a task is done."""

    def __init__(self, task: Task, found: Found) -> None:
        self.task, self.found = task, found


class _Failed:
    """What a worker says when its work raised an error."""

    def __init__(self, error: Exception, trace: str) -> None:
        self.error, self.trace = error, trace


class _Worker(Generic[Task, Found]):
    """One process, seen from here."""

    def __init__(self) -> None:
        context = get_context("spawn")  # forked processes would inherit locks that threads of other libraries hold
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other,), daemon=True)
        with _deaf_to_interrupts():
            self.process.start()
        other.close()  # so that the pipe ends when the process does
        self.task: Task | None = None
        self.ready = False

    def tell(self, content: object) -> None:
        """Send; that the process is dead is found out when its answer is read."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(content)

    def take_from(self, waiting: deque[Task]) -> None:
        """Begin a task, if there is one and the worker is free."""
        if self.task is None and waiting:
            self.task = waiting.popleft()
            self.tell(self.task)

    def answer(self) -> _Done[Task, Found] | _Ready | None:
        """What the process has to say; None if it died."""
        try:
            said = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(PATIENCE)
            return None
        if isinstance(said, _Failed):
            said.error.add_note(f"In a worker process:\n{said.trace}")
            raise said.error
        self.ready = True
        if isinstance(said, _Done):
            self.task = None
        return said  # type: ignore[no-any-return]

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.pipe.close()
        self.process.terminate()
        self.process.join(PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


def _answering(crew: list[_Worker[Task, Found]], timeout: float | None) -> list[_Worker[Task, Found]]:
    """The workers that have said something, or died; waits for one unless there is a time out."""
    said = wait([each.pipe for each in crew], timeout)
    return [each for each in crew if each.pipe in said]


def _hire(crew: list[_Worker[Task, Found]], count: int, work: Callable[[Task], Found]) -> None:
    """Start processes side by side, then tell each what is done here."""
    for _ in range(count):
        crew.append(_Worker())  # noqa: PERF401 - one by one: an interrupt must find those that were started
    for each in crew[-count:]:
        each.tell(work)


def _bury(worker: _Worker[Task, Found], waiting: deque[Task], lost: Counter[Task]) -> bool:
    """Put the task that was lost with a worker back; whether there was one.  Enough is enough."""
    code, task = worker.process.exitcode, worker.task
    worker.end()
    if task is None:
        return False
    lost[task] += 1
    waiting.appendleft(task)
    if not worker.ready and code is not None and code > 0:
        raise WorkerLostError(
            f"A worker process could not start; it ended with exit code {code}. A script that uses workers must begin "
            f'its work below `if __name__ == "__main__":`, because each worker imports it. Or work without: workers=1.'
        )
    if lost[task] > RETRIES:
        raise WorkerLostError(
            f"The same part of the work was lost {lost[task]} times with the process that did it; the last one "
            f"{_ending(code)}. Use fewer workers, or workers=1 to see what happens."
        )
    return True


def _ending(code: int | None) -> str:
    if code is None:
        return "does not answer"
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    memory = ", as a system does whose memory runs out" if name == "SIGKILL" else ""
    return f"was killed by {name}{memory}"


@contextlib.contextmanager
def holding_interrupts() -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C back until the function that is given is called, or until the end.

    An interrupt that arrives while arguments are on their way into compiled code has ended processes with a
    segmentation fault.  So code that calls compiled code in a loop calls this function between the rounds.  It does
    nothing outside the main thread, or where somebody else handles the signal.
    """
    came: list[int] = []

    def raise_it() -> None:
        if came:
            came.clear()
            raise KeyboardInterrupt

    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield raise_it
        return
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield raise_it
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    raise_it()


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started inside do not hear Ctrl-C: it is for their parent, who ends them.

    The signal is blocked, which a new process inherits, and not ignored: here it arrives a moment later.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # started later, it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection[Any, Any]) -> None:
    """What a worker does until its parent closes the pipe, or is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            work = pipe.recv()
            pipe.send(_Ready())
            while True:
                task = pipe.recv()
                pipe.send(_Done(task, work(task)))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise
        except Exception as error:  # noqa: BLE001 - it is raised again in the parent
            _confess(pipe, error, format_exc())


def _confess(pipe: Connection[Any, Any], error: Exception, trace: str) -> None:
    try:
        pipe.send(_Failed(error, trace))
    except (TypeError, ValueError, AttributeError):  # an error that cannot be sent: its text can
        pipe.send(_Failed(RuntimeError(f"{type(error).__name__}: {error}"), trace))
