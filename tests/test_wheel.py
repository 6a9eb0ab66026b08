"""The wheel that `make dist` builds is whole: the README's example runs from it alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No matching distribution found for hatchling" in built.stderr:
        pytest.skip("hatchling, which builds wheels, is neither installed nor can it be downloaded")
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("whichdo-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.slow("4 s: builds a wheel; finds a file that the package needs and the wheel lacks")
def test_the_example_runs_from_the_wheel_alone(unpacked: Path) -> None:
    """`make installed` does the same in an environment of its own; this one lends its libraries."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    more = ["from pathlib import Path", "from whichdo.demo.story import write_problem_file"]
    more += [f"write_problem_file(Path({str(unpacked / 'problem.toml')!r}))", "print(wd.__file__)"]
    script = "\n".join([code, *more])
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(run.stdout.splitlines()[-1]).is_relative_to(unpacked)
    assert (unpacked / "problem.toml").read_text(encoding="utf-8").startswith("#")


@pytest.mark.slow("4 s: shares the wheel of the test above")
def test_the_wheel_holds_the_package_and_nothing_else(unpacked: Path) -> None:
    inside = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    source = {
        path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "whichdo").rglob("*") if path.is_file()
    }
    source = {name for name in source if "__pycache__" not in name and not name.endswith((".pyc", ".nbi", ".nbc"))}
    held = {name for name in inside if name.startswith("whichdo/") and "__pycache__" not in name}
    assert held == source
    assert all(name.startswith(("whichdo/", "whichdo-")) for name in inside - {"problem.toml"})
