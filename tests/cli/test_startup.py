"""What a command loads: nothing heavy for an answer that takes a millisecond."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.campaign.trials import create, rng, run

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = (
    "numba",
    "alembic",
    "sqlalchemy",
    "pyarrow",
    "narwhals",
    "matplotlib",
    "jinja2",
    "pandas",
    "psycopg",
    "asyncio",
    "importlib.metadata",
    "whichdo.estimate.modelled",
    "whichdo.graph.formats.dagitty",
    "whichdo.graph.formats.dot",
)
_COMMAND = f"""
import runpy, sys
sys.argv = ["whichdo", *sys.argv[1:]]
try:
    runpy.run_module("whichdo", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
print("LOADED", *(name for name in {HEAVY!r} if name in sys.modules))
"""


def loaded(folder: Path, *words: str) -> list[str]:
    """The heavy modules that a command loads in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND, *words],
        capture_output=True, text=True, check=True, cwd=folder, env=os.environ | {"WHICHDO_DB": "a.db"},
    )  # fmt: skip
    return done.stdout.rpartition("LOADED")[2].split()


@pytest.mark.slow("5 s: commands in fresh processes; finds an import that makes each of them wait")
@pytest.mark.parametrize("policy", ["warm-halving", "srm", "ue", "sr"])
def test_asks_tells_and_status_load_nothing_heavy(tmp_path: Path, policy: str) -> None:
    campaign = create(str(tmp_path / "a.db"), policy=policy)
    run(campaign, rng(), most=3)
    ticket = campaign.ask(client="me")
    row = "{" + ", ".join(f'"{name}": {ticket.arm.settings.get(name, 0)}' for name in "ZXWY") + "}"
    campaign.close()
    assert loaded(tmp_path, "status", "spring") == []
    assert loaded(tmp_path, "ask", "spring", "--client", "me") == []
    assert loaded(tmp_path, "tell", "spring", ticket.id, row) == []
    assert loaded(tmp_path, "recommend", "spring") == []


@pytest.mark.slow("3 s: commands in fresh processes on a campaign with a snapshot; finds a policy run for a status")
@pytest.mark.parametrize("policy", ["causal-ts", "warm-halving"])
def test_a_campaign_with_a_snapshot_needs_no_compiler_to_be_looked_at(
    tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sequential policy chooses by compiled code, which a state that was kept has done already."""
    monkeypatch.setattr("whichdo.campaign.ledger.FEWEST_NEW", 0)
    campaign = create(str(tmp_path / "a.db"), policy=policy)
    run(campaign, rng(), most=12)
    campaign.close()
    assert loaded(tmp_path, "status", "spring") == []
    assert loaded(tmp_path, "ask", "spring") == []


def test_the_package_alone_loads_no_numpy() -> None:
    code = "import sys, whichdo; assert 'numpy' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert wd.__version__
