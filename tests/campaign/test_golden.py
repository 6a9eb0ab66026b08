"""Logs of every version are replayed: the asks that they hold are made again, and the same is recommended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.campaign.golden import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted(FOLDER.glob("campaign-*.jsonl"))


def test_this_version_has_its_logs() -> None:
    assert {path.stem for path in FILES} >= {
        f"campaign-{wd.__version__}-{policy}" for policy in ("warm-halving", "causal-ts")
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_old_logs_are_replayed(path: Path, tmp_path: Path) -> None:
    campaign = wd.Campaign.import_(tmp_path / "a.db", path)
    campaign.verify()
    lines = path.read_text().splitlines()
    advice = campaign.recommend(at=len(lines) - 2)  # the last line is the checksum
    assert list(advice.sentences) == path.with_suffix(".txt").read_text().splitlines()
    campaign.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text().startswith(path.read_text().rpartition('{"checksum"')[0])
    kinds = {event.kind for event in campaign._ledger.events()}
    assert kinds >= {
        "created",
        "observed",
        "asked",
        "told",
        "voided",
        "amended",
        "paused",
        "resumed",
        "forbidden",
        "restarted",
    }
    campaign.close()
