"""What a command loads: nothing heavy for an answer that takes a millisecond."""

from __future__ import annotations

import json
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
_COMMANDS = f"""
import json, runpy, sys
for words in json.loads(sys.argv[1]):
    sys.argv = ["whichdo", *words]
    try:
        runpy.run_module("whichdo", run_name="__main__")
    except SystemExit as end:
        assert not end.code, end.code
    print("LOADED", words[0], *(name for name in {HEAVY!r} if name in sys.modules))
"""


def loaded(folder: Path, *commands: list[str]) -> dict[str, list[str]]:
    """The heavy modules that are loaded after each of some commands, in one process for all of them."""
    done = subprocess.run(
        [sys.executable, "-c", _COMMANDS, json.dumps(commands)],
        capture_output=True, text=True, check=True, cwd=folder, env=os.environ | {"WHICHDO_DB": "a.db"},
    )  # fmt: skip
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("LOADED")]
    return {command: modules for command, *modules in lines}


@pytest.mark.slow("3 s: commands in fresh processes; finds an import that makes each of them wait")
@pytest.mark.parametrize("policy", ["warm-halving", "srm", "ue", "sr"])
def test_asks_tells_and_status_load_nothing_heavy(tmp_path: Path, policy: str) -> None:
    campaign = create(str(tmp_path / "a.db"), policy=policy)
    run(campaign, rng(), most=3)
    ticket = campaign.ask(client="me")
    row = "{" + ", ".join(f'"{name}": {ticket.arm.settings.get(name, 0)}' for name in "ZXWY") + "}"
    campaign.close()
    ask, tell = ["ask", "spring", "--client", "me"], ["tell", "spring", ticket.id, row]
    found = loaded(tmp_path, ["status", "spring"], ask, tell, ["recommend", "spring"])
    assert found == {"status": [], "ask": [], "tell": [], "recommend": []}


@pytest.mark.slow("2 s: commands in fresh processes on a campaign with a snapshot; finds a policy run for a status")
@pytest.mark.parametrize("policy", ["causal-ts", "warm-halving"])
def test_a_campaign_with_a_snapshot_needs_no_compiler_to_be_looked_at(
    tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sequential policy chooses by compiled code, which a state that was kept has done already."""
    monkeypatch.setattr("whichdo.campaign.ledger.FEWEST_NEW", 0)
    campaign = create(str(tmp_path / "a.db"), policy=policy)
    run(campaign, rng(), most=12)
    campaign.close()
    assert loaded(tmp_path, ["status", "spring"], ["ask", "spring"]) == {"status": [], "ask": []}


def test_the_package_alone_loads_no_numpy() -> None:
    code = "import sys, whichdo; assert 'numpy' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert wd.__version__
