"""The same files for any number of workers, after a kill, and on a cluster; bad places give clear errors."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.experiments.small import CELLS, kept, run, small_plan
from whichdo.errors import StorageError, UsageError
from whichdo.experiments import cells
from whichdo.experiments.executors import Processes
from whichdo.experiments.reproduce import Plan, chosen_policies

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow(
    "15 s: small experiments with one to four workers, some killed; finds cells that are lost or differ"
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run by one process that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole")
    run(small_plan(), folder, Processes(1))
    return folder


def test_a_run_leaves_tables_figures_and_a_page(whole: Path) -> None:
    assert list(kept(whole)) == [
        "figures/experiment-1.png",
        "figures/experiment-1.svg",
        "figures/experiment-4.png",
        "figures/experiment-4.svg",
        "index.html",
        "results.csv",
        "results.parquet",
    ]
    manifest = json.loads((whole / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["seed"] == 3
    assert manifest["experiments"] == [1, 4]
    assert {"whichdo", "numpy", "numba", "python", "sources"} <= set(manifest["versions"])


def test_any_number_of_workers_gives_the_same_files(whole: Path, tmp_path: Path) -> None:
    """Three; two are below, where a run is killed."""
    run(small_plan(), tmp_path, Processes(3))
    assert kept(tmp_path) == kept(whole)


def test_another_seed_gives_other_numbers(whole: Path, tmp_path: Path) -> None:
    run(small_plan(seed=4), tmp_path, Processes(1))
    assert kept(tmp_path)["results.csv"] != kept(whole)["results.csv"]


class Stopped(Exception):  # noqa: N818
    pass


class StopsAfter(Processes):
    """An executor that is stopped by an error after so many cells."""

    cells = 3

    def run(self, work, tasks):  # type: ignore[no-untyped-def]
        for number, answer in enumerate(super().run(work, tasks)):
            if number == self.cells:
                raise Stopped
            yield answer


def test_a_run_that_was_stopped_goes_on_where_it_was(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        run(small_plan(), tmp_path, StopsAfter(1))
    done = run(small_plan(), tmp_path, Processes(1))
    assert done.computed == CELLS - StopsAfter.cells
    assert kept(tmp_path) == kept(whole)
    assert run(small_plan(), tmp_path, Processes(1)).computed == 0


def test_more_policies_are_added_to_what_is_there(whole: Path, tmp_path: Path) -> None:
    run(small_plan(policies=["sr"]), tmp_path, Processes(1))
    run(small_plan(), tmp_path, Processes(1))
    assert kept(tmp_path) == kept(whole)


def test_what_is_there_and_not_asked_for_is_left_out(whole: Path, tmp_path: Path) -> None:
    run(small_plan(policies=["ue", "sr", "warm-halving"], numbers=(1,)), tmp_path, Processes(1))
    run(small_plan(), tmp_path, Processes(1))
    assert kept(tmp_path) == kept(whole)


SCRIPT = """
import sys
from pathlib import Path
from tests.experiments.small import run, small_plan
from whichdo.experiments import cells
from whichdo.experiments.executors import Processes
if __name__ == "__main__":
    run(small_plan(), Path(sys.argv[1]), Processes(int(sys.argv[2])))
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_in_the_middle_and_resumed_it_gives_the_files_of_an_uninterrupted_run(
    whole: Path, tmp_path: Path, workers: int
) -> None:
    script, folder = tmp_path / "run.py", tmp_path / "out"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(script), str(folder), str(workers)]
    child = subprocess.Popen(command, env=environment, start_new_session=True)
    journal = folder / "cells.jsonl"
    while child.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 5):
        time.sleep(0.005)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert not (folder / "results.csv").exists(), "it was done before it could be killed"
    before = journal.read_bytes().count(b"\n")
    done = run(small_plan(), folder, Processes(1))
    assert done.computed <= CELLS - (before - 1) // 2 + 1
    assert kept(folder) == kept(whole)


# ---------------------------------------------------------------------------------------------------------- bad places


def test_a_folder_of_another_run_is_refused_and_kept(whole: Path) -> None:
    before = (whole / "cells.jsonl").read_bytes()
    with pytest.raises(StorageError, match=r"cells of another run \(seed 3, not 9\); they are not mixed"):
        run(small_plan(seed=9), whole, Processes(1))
    assert (whole / "cells.jsonl").read_bytes() == before


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    with pytest.raises(StorageError, match="cannot be used for results"):
        run(small_plan(), tmp_path / "out", Processes(1))
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


def test_a_folder_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be used for results"):
        run(small_plan(), tmp_path / ("x" * 300), Processes(1))


def test_a_full_disk_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(cells, "write_whole", full)
        with pytest.raises(
            StorageError, match=r"cannot be written: No space left on device\. What was computed before is kept"
        ):
            run(small_plan(), tmp_path, Processes(1))
    assert run(small_plan(), tmp_path, Processes(1)).computed == 0


def test_a_device_in_place_of_results_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "results.csv").symlink_to("/dev/null")
    with pytest.raises(UsageError, match=r"results\.csv is a device, which is never replaced"):
        run(small_plan(), tmp_path, Processes(1))
    assert Path("/dev/null").is_char_device()


@pytest.fixture
def limited() -> Iterator[None]:
    """No file of this process can grow beyond some kilobytes, as on a disk that fills up."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_disk_that_fills_up_loses_no_cell_that_was_kept(
    whole: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("limited")
    with pytest.raises(StorageError, match="run the same command again when there is room"):
        run(small_plan(), tmp_path, Processes(1))
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    done = run(small_plan(), tmp_path, Processes(1))
    assert 0 < done.computed < CELLS
    assert kept(tmp_path) == kept(whole)


# ---------------------------------------------------------------------------------------------------------- bad wishes


def test_an_experiment_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='There is no experiment "10"; there are 1 to 9'):
        run(Plan({10: ("ue",)}, 0, quick=True), tmp_path, Processes(1))


def test_a_seed_that_is_none_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="The seed is -1; it cannot be negative"):
        run(small_plan(seed=-1), tmp_path / "out", Processes(1))
    assert not (tmp_path / "out").exists()


def test_a_policy_has_one_name_however_it_is_spelled() -> None:
    assert chosen_policies(["srm()", "srm", "srm( second_phase = rejects )"], (1,)) == {
        1: ("srm", "srm(second_phase=rejects)")
    }


def test_policies_that_refuse_everything_leave_a_page_that_says_so(tmp_path: Path) -> None:
    done = run(small_plan(policies=["importance"], numbers=(4,)), tmp_path, Processes(1))
    assert "importance" in done.results.refusals(4)
    assert "Algorithm 2 leaves out points" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_policies_go_where_their_regret_is_asked_about() -> None:
    assert chosen_policies(["srm", "ts"], (1, 3)) == {1: ("srm",), 3: ("ts",)}
    assert chosen_policies("paper", (4,)) == {4: ("srm", "cb")}
    with pytest.raises(UsageError, match="ts is about cumulative regret, and none of the experiments asked for is"):
        chosen_policies(["ue", "ts"], (1, 2))
    with pytest.raises(UsageError, match="no policy"):
        chosen_policies(["nonsense"], (1,))


def test_panels_that_share_a_scale_show_the_highest_line_of_all(tmp_path: Path) -> None:
    """In Experiment 2 uniform exploration is worse with 200 nodes than with 100; seen cut off by the first panel."""
    from whichdo.experiments.cells import EXPERIMENTS, Finding, Results
    from whichdo.experiments.reproduce import experiment_figure
    from whichdo.plots.canvas import write_figure

    points = (12, 50)
    found = {
        (2, panel, network, "ue"): Finding("ue", points, (height, height), (0.1, 0.1), (0.0, 0.0), 10)
        for panel, height in ((0, 0.1), (1, 0.9))
        for network in range(2)
    }
    write_figure(experiment_figure(EXPERIMENTS[2], Results(found)), tmp_path / "two.svg")
    assert ">0.8<" in (tmp_path / "two.svg").read_text(encoding="utf-8")
