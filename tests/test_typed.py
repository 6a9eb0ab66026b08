"""A user's script that touches every public name: it runs, and `mypy --strict` finds nothing in it."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import whichdo
from whichdo import errors
from whichdo.policies.registry import registered

SCRIPT = Path(__file__).parent / "typed" / "script.py"


def test_the_script_touches_every_public_name() -> None:
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "wd"
    }
    assert used == set(whichdo.__all__)
    inside = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "wd.errors"
    }
    assert set(errors.__all__) <= used | inside


def test_errors_that_the_tree_shows_are_public() -> None:
    """What `whichdo.errors` draws as a tree can be imported from the package."""
    shown = set(re.findall(r"\b\w+Error\b", (errors.__doc__ or "").partition("A message says")[0]))
    raised = {name for name in errors.__all__ if name.endswith("Error")}
    assert shown == raised
    assert raised <= set(whichdo.__all__)


def test_the_script_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(registered, "split-in-two", whichdo.Policy)  # taken away again at the end
    del registered["split-in-two"]
    found = runpy.run_path(str(SCRIPT))
    assert found["same"]
    assert found["everything"]
    assert found["table"].budgets == (30, 60.5)
    assert capsys.readouterr().out.startswith(whichdo.__version__)


@pytest.mark.slow("13 s: mypy reads the package without our settings; finds a public name whose type a user cannot use")
def test_the_script_is_right_by_a_strict_type_checker(tmp_path: Path) -> None:
    """As in a user's project: without our settings, the package as it is installed, and one planted mistake found."""
    script = tmp_path / "script.py"
    script.write_text(f"{SCRIPT.read_text(encoding='utf-8')}\nwd.do(X=1).settings = 3\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=",
               "--no-error-summary", f"--cache-dir={tmp_path}", str(script)]  # fmt: skip
    where = {**os.environ, "MYPYPATH": str(Path(whichdo.__file__).parents[1])}
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=where)
    (line,) = answer.stdout.splitlines()
    assert 'variable has type "Mapping[str, int | float | str]")  [assignment]' in line
