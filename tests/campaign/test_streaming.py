"""Long logs pass through: an export and an import hold a page of events at a time, whatever the length."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")

EVENTS = 80_000
ROOT = Path(__file__).parents[2]

CHILD = """
import json, resource, sys
from itertools import islice
from pathlib import Path
import whichdo as wd
from tests.campaign.trials import create
from whichdo.campaign.chain import sealed

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

folder, count = Path(sys.argv[1]), int(sys.argv[2])
campaign = create(str(folder / "a.db"), policy="ue")
small = wd.Campaign.import_(folder / "warm.db", (campaign.export(folder / "warm.jsonl"), folder / "warm.jsonl")[1])
first = campaign.events()[0]

def events():
    "Pauses and resumes, which leave nothing behind in the state, each with a reason of half a page."
    before = first
    for seq in range(1, count):
        kind = "paused" if seq % 2 else "resumed"
        before = sealed("spring", seq, kind, {"reason": f"{seq} " + "x" * 480}, first.time, before.hash)
        yield before

def fill(connection):
    place, following = campaign._store.find(connection, "spring", lock=True), events()
    while some := list(islice(following, 1_000)):
        campaign._store.append(connection, place, some)

campaign._store.run(fill, writes=True)
found = [peak()]
assert campaign.export(folder / "a.jsonl") == count
found.append(peak())
there = wd.Campaign.import_(folder / "b.db", folder / "a.jsonl")
found.append(peak())
assert there.status().events == count
print(json.dumps([*found, (folder / "a.jsonl").stat().st_size >> 20]))
"""


@pytest.mark.slow("8 s: 80,000 events out and in again; finds a log that is held in memory")
def test_an_export_and_an_import_take_no_more_memory_for_a_longer_log(tmp_path: Path) -> None:
    """A page of 10,000 such events is some 15 MB; all of them are 120."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), str(EVENTS)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    filled, exported, imported, size = json.loads(done.stdout)
    assert size > 40
    assert exported - filled < 50
    assert imported - exported < 50
