"""A Dask cluster gives the files that processes give, survives a killed worker, and says what is wrong with it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from tests import tasks
from tests.experiments.small import kept, run, small_plan
from whichdo.errors import ClusterError, WorkerLostError
from whichdo.experiments.executors import Cluster, Processes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(find_spec("distributed") is None, reason="needs the extra `cluster`"),
    pytest.mark.slow("25 s: starts Dask schedulers and workers and kills some; finds work that is lost with a worker"),
]


def started(*words: str) -> subprocess.Popen[bytes]:
    """A scheduler or a worker, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return int(any_port.getsockname()[1])


class Site:
    """A scheduler and its workers on this machine."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self.address = f"tcp://127.0.0.1:{port}"
        self.folder = folder
        self.scheduler = started(
            "dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show"
        )
        self.workers: list[subprocess.Popen[bytes]] = []
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)

    def hire(self) -> None:
        self.workers.append(
            started(
                "dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
                "--local-directory", str(self.folder),
            )
        )  # fmt: skip

    def end(self) -> None:
        for each in [*self.workers, self.scheduler]:
            each.kill()
            each.wait()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("dask"))
    made.hire()
    made.hire()
    yield made
    made.end()


def test_a_cluster_gives_the_files_that_processes_give(site: Site, tmp_path: Path) -> None:
    run(small_plan(), tmp_path / "here", Processes(1))
    run(small_plan(), tmp_path / "there", Cluster(site.address))
    assert kept(tmp_path / "there") == kept(tmp_path / "here")


def test_a_worker_that_is_killed_in_the_middle_is_survived(site: Site) -> None:
    found = []
    for answer in Cluster(site.address).run(tasks.doubled, range(120)):
        found.append(answer)
        if len(found) == 20:
            os.kill(site.workers[0].pid, signal.SIGKILL)
    assert sorted(found) == [(task, 2 * task) for task in range(120)]
    site.hire()


def test_work_that_kills_every_worker_is_given_up(site: Site) -> None:
    for _ in range(5):
        site.hire()
    with pytest.raises(WorkerLostError, match="workers died while doing it"):
        list(Cluster(site.address).run(tasks.dies_at_7, [7]))
    site.hire()


def test_an_error_of_the_work_is_raised_here(site: Site) -> None:
    with pytest.raises(Exception, match="Seven is not served"):
        list(Cluster(site.address).run(tasks.refuses_at_7, [7]))


def test_a_cluster_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichdo.experiments.executors.PATIENCE", 0.5)
    with pytest.raises(
        ClusterError, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:\d+ .*leave out --cluster"
    ):
        list(Cluster(f"tcp://127.0.0.1:{free_port()}").run(tasks.doubled, [1]))


def test_an_address_that_is_none_is_named() -> None:
    with pytest.raises(ClusterError, match="No Dask scheduler answers at nonsense"):
        list(Cluster("nonsense://nowhere").run(tasks.doubled, [1]))


def test_a_cluster_without_workers_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichdo.experiments.executors.PATIENCE", 2)
    empty = Site(tmp_path)
    try:
        with pytest.raises(ClusterError, match=r"has no workers\. Start some: dask worker"):
            list(Cluster(empty.address).run(tasks.doubled, [1]))
    finally:
        empty.end()


def test_workers_of_another_version_are_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichdo.experiments.executors.sources", os.getpid)  # differs from process to process
    with pytest.raises(ClusterError, match="another version of whichdo"):
        list(Cluster(site.address).run(tasks.doubled, [1]))
