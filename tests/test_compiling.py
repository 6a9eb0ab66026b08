"""Processes that begin together compile each kernel once; an edit compiles again what depends on it, and no more."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.campaign.trials import create, rng, run
from whichdo.kernels import compiling, folders
from whichdo.kernels.compiling import Kernel
from whichdo.policy_names import available_policies

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = """
import json, os, sys
import numba
from whichdo.kernels.compiling import compiled
numba.njit(lambda x: x)(1)  # so that those that begin together have only the kernels to wait for

@compiled
def squared(x):
    return x * x

@compiled
def summed(x):
    total = x
    for _ in range(3):
        total += squared(total)
    return total

def told(given):
    result = summed(given)
    misses = [sum(kernel.stats.cache_misses.values()) for kernel in (squared, summed)]
    os.write(1, (json.dumps([str(result), misses]) + "\\n").encode())
    os._exit(0)

for given in (2, 2.0, 2, 2.0, 2, 2.0):
    if os.fork() == 0:
        told(given)
for _ in range(6):
    os.wait()
"""


@pytest.mark.slow("3 s: twelve processes and two compilers; finds a lock that does not hold")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks and locks of files")
def test_each_kernel_is_compiled_once_by_processes_that_begin_together(tmp_path: Path) -> None:
    """Two signatures are compiled, and used three times each; afterwards nothing is compiled."""
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = os.environ | {"WHICHDO_CACHE": str(tmp_path)}
    for compiled_now in (2, 0):
        command = [sys.executable, str(tmp_path / "program.py")]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
        answers = [json.loads(line) for line in ended.stdout.splitlines()]
        assert sorted(result for result, _ in answers) == ["1806"] * 3 + ["1806.0"] * 3
        assert sum(misses for _, (_, misses) in answers) == compiled_now
        assert sum(misses for _, (misses, _) in answers) == compiled_now


def test_an_edit_touches_what_depends_on_it() -> None:
    """Helpers of helpers, types that kernels take, and constants; not the kernels of another policy."""
    found = folders.dependencies("whichdo.policies.ucb")
    assert {"whichdo.kernels.rounds", "whichdo.kernels.random", "whichdo.policies.sequential"} < found
    assert not found & {"whichdo.policies.crm", "whichdo.simulation", "whichdo.problem"}
    assert "whichdo.kernels.random" in folders.dependencies("whichdo.kernels.codes")
    assert folders.dependencies("__main__") == set(folders.sources())


def test_no_kernel_calls_one_that_it_does_not_depend_on() -> None:
    assert available_policies()
    for module in [name for name in compiling._modules if name in folders.sources()]:
        for kernel in vars(sys.modules[module]).values():
            if isinstance(kernel, Kernel) and kernel.py_func.__module__ == module:
                known = kernel.py_func.__globals__
                called = [known[name] for name in kernel.py_func.__code__.co_names if name in known]
                homes = {each.py_func.__module__ for each in called if isinstance(each, Kernel)}
                assert homes <= folders.dependencies(module), kernel


KERNEL = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("always")
warnings.showwarning = lambda message, *_, **__: print("warned:", message)
from whichdo.kernels.compiling import compiled

@compiled
def squared(x):
    return x * x

print(squared(7), sum(squared.stats.cache_misses.values()))
"""


FORKER = """
import json, os, runpy, sys
import numba
import whichdo.kernels.caching
numba.njit(lambda x: x)(1)  # what the first compilation of a process sets up
for line in sys.stdin:
    program, cache, said = json.loads(line)
    if os.fork() == 0:
        os.environ["WHICHDO_CACHE"] = cache
        sys.stdout = open(said, "w")
        runpy.run_path(program, run_name="__main__")
        sys.stdout.close()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""
RunKernel = Callable[..., list[str]]


@pytest.fixture(scope="module")
def run_kernel() -> Iterator[RunKernel]:
    """Runs a kernel in a process that has used none yet, forked from one that has loaded the compiler: that is slow."""
    with subprocess.Popen(
        [sys.executable, "-c", FORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as forker:
        assert forker.stdin is not None
        assert forker.stdout is not None

        def run(folder: Path, *more: str) -> list[str]:
            program, said = folder / "program.py", folder / "said"
            program.write_text("\n".join([*more, KERNEL]))
            print(json.dumps([str(program), str(folder / "cache"), str(said)]), file=forker.stdin, flush=True)
            assert forker.stdout is not None
            assert forker.stdout.readline() == "0\n"
            return said.read_text().splitlines()

        yield run
        forker.stdin.close()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def change(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) * 2 // 3] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.slow("3 s: a process for each kind of damage; a cut file ended commands, a changed byte ran as code")
@pytest.mark.parametrize("damage", [cut, empty, change])
@pytest.mark.parametrize("files", ["*.nbi", "*.nbc"])
def test_damaged_code_is_compiled_again(
    tmp_path: Path, run_kernel: RunKernel, damage: Callable[[Path], None], files: str
) -> None:
    assert run_kernel(tmp_path) == ["49 1"]
    for path in (tmp_path / "cache").rglob(files):
        damage(path)
    *said, result = run_kernel(tmp_path)
    assert result == "49 1"
    assert all(line.startswith("warned: Compiled code cannot be kept in") for line in said)
    assert run_kernel(tmp_path) == ["49 0"]


FULL_DISK = """
import os
from numba.core.caching import IndexDataCacheFile
def full(*_):
    raise OSError(28, os.strerror(28))
IndexDataCacheFile._save_index = full
"""


@pytest.mark.slow("1 s: a process whose disk is full")
def test_a_full_disk_costs_time_and_nothing_else(tmp_path: Path, run_kernel: RunKernel) -> None:
    said, result = run_kernel(tmp_path, FULL_DISK)
    assert result == "49 1"
    assert "No space left on device" in said
    assert "WHICHDO_CACHE names another folder" in said


@pytest.mark.slow("1 s: a process that finds a folder of somebody else")
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_code_of_another_user_is_not_run(tmp_path: Path, run_kernel: RunKernel) -> None:
    (tmp_path / "cache" / "whichdo").mkdir(parents=True)
    os.chown(tmp_path / "cache" / "whichdo", 12_345, 12_345)
    said, result = run_kernel(tmp_path)
    assert "belongs to another user" in said
    assert result.split()[0] == "49"
    assert not list((tmp_path / "cache").rglob("*.nb?"))


def files_for_folders(cache: Path) -> None:
    """What is there cannot be written, not even by root: files where numba wants its folders."""
    for folder in cache.glob("whichdo/numba-*/*"):
        shutil.rmtree(folder)
        folder.write_bytes(b"")


def no_folder(cache: Path) -> None:
    shutil.rmtree(cache)
    cache.write_bytes(b"")


@pytest.mark.slow("2 s: two processes for each way")
@pytest.mark.parametrize("spoil", [files_for_folders, no_folder])
def test_a_folder_that_cannot_be_written_costs_time_and_nothing_else(
    tmp_path: Path, run_kernel: RunKernel, spoil: Callable[[Path], None]
) -> None:
    assert run_kernel(tmp_path) == ["49 1"]
    spoil(tmp_path / "cache")
    said, result = run_kernel(tmp_path)
    assert result.split()[0] == "49"
    assert said.startswith("warned: Compiled code cannot be kept")
    assert "WHICHDO_CACHE names another folder" in said


def cut_all(cache: Path) -> None:
    for path in cache.rglob("*.nb?"):
        cut(path)


COMMANDS = """
import runpy, sys
for words in (["verify", "spring"], ["ask", "spring", "--client", "ann"], ["recommend", "spring"]):
    sys.argv = ["whichdo", *words]
    try:
        runpy.run_module("whichdo", run_name="__main__")
    except SystemExit as end:
        print("ENDED", end.code or 0)
"""


@pytest.mark.slow("8 s: whole commands that compile in memory; a cut file once made of a whole log a diverged one")
def test_commands_on_a_campaign_do_without_the_cache(tmp_path: Path) -> None:
    """The log is verified, the ticket repeated and the recommendation made as before; a note says what is slow."""
    database, cache = tmp_path / "a.db", tmp_path / "cache"
    campaign = create(str(database), policy="ucb", horizon=500)
    run(campaign, rng(1), most=320)  # so many rounds that its kernels are compiled
    campaign.ask(client="ann")
    campaign.close()

    def commands(cache: Path) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"WHICHDO_CACHE": str(cache), "WHICHDO_DB": str(database)}
        command = [sys.executable, "-c", COMMANDS]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)

    before = commands(cache)
    assert before.stdout.count("ENDED 0") == 3
    assert "Compiled code" not in before.stderr
    for spoil in (cut_all, files_for_folders):
        spoiled = tmp_path / spoil.__name__
        shutil.copytree(cache, spoiled)
        spoil(spoiled)
        after = commands(spoiled)
        assert after.stdout == before.stdout
        assert "! Compiled code cannot be kept in" in after.stderr
        assert "Traceback" not in after.stderr
