"""Processes that begin together compile each kernel once, and none loads the code of another signature."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import json, os, sys
from whichdo.kernels.compiling import compiled

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
