"""Who does the work.  An executor takes work and tasks, and gives back each task with what was found, in any order.

There are two: processes on this machine, and a Dask cluster.  Both survive a worker that is killed: what it held is
done again by another.  Since a task's result depends on the task alone, so do the results of a run.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from whichdo.crew import RETRIES, shared
from whichdo.errors import ClusterError, UsageError, WorkerLostError
from whichdo.experiments.journal import sources
from whichdo.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence


Task = TypeVar("Task")
Found = TypeVar("Found")

PATIENCE = 10
"""Seconds that a cluster is given to answer."""


class Executor(Protocol):
    """Anything that can do work."""

    def run(self, work: Callable[[Task], Found], tasks: Sequence[Task]) -> Generator[tuple[Task, Found], None, None]:
        """Each task with what ``work`` found, as they are done.  Close the generator to stop."""
        ...


@dataclass(frozen=True)
class Processes:
    """Processes on this machine; one works in this process."""

    workers: int

    def run(self, work: Callable[[Task], Found], tasks: Sequence[Task]) -> Generator[tuple[Task, Found], None, None]:
        """Each task with what was found."""
        if self.workers == 1 or len(tasks) < 2:
            for task in tasks:
                yield task, work(task)
            return
        with closing(shared(work, tasks, self.workers)) as found:
            yield from found


@dataclass(frozen=True)
class Cluster:
    """The workers of a Dask scheduler, such as ``tcp://head:8786``."""

    address: str

    def run(self, work: Callable[[Task], Found], tasks: Sequence[Task]) -> Generator[tuple[Task, Found], None, None]:
        """Each task with what was found."""
        distributed = _distributed()
        with self._client(distributed) as client:
            self._check_workers(client)
            given = {
                future.key: (future, task)
                for future, task in zip(client.map(work, tasks, pure=False, retries=RETRIES), tasks, strict=True)
            }
            for future, found in distributed.as_completed(
                [future for future, _ in given.values()], loop=client.loop, with_results=True, raise_errors=False
            ):
                if future.status != "finished":
                    raise self._lost(distributed, future)
                _, task = given.pop(future.key)  # forgotten here, and so by the cluster
                yield task, found

    def _client(self, distributed: Any) -> Any:
        try:
            return distributed.Client(self.address, timeout=PATIENCE, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(
                f"No Dask scheduler answers at {visible(self.address)} ({visible(str(error).splitlines()[0])}). "
                f"Start one with `dask scheduler` and workers with `dask worker ADDRESS`, or leave out --cluster."
            ) from None

    def _check_workers(self, client: Any) -> None:
        """There are some, and they run the code that runs here."""
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise ClusterError(
                f"The scheduler at {visible(self.address)} has no workers. Start some: dask worker {self.address}"
            ) from None
        try:
            theirs = client.run(sources)
        except (ModuleNotFoundError, ImportError, RuntimeError) as error:
            raise ClusterError(f"A worker of the cluster cannot import whichdo: {visible(error)}") from None
        other = [worker for worker, found in theirs.items() if found != sources()]
        if other:
            raise ClusterError(
                f"The worker {visible(other[0])} has another version of whichdo than this machine; results "
                f"would differ. Install the same on both."
            )

    def _lost(self, distributed: Any, future: Any) -> Exception:
        error = future.exception()
        if isinstance(error, distributed.KilledWorker):
            return WorkerLostError(
                f"The cluster gave a part of the work up, because workers died while doing it: {visible(error)}"
            )
        if isinstance(error, Exception):
            return error
        return ClusterError(f"The cluster dropped a part of the work ({future.status}). Run the same command again.")


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError:
        raise UsageError("A cluster needs Dask: pip install 'whichdo[cluster]'.") from None
    return distributed
