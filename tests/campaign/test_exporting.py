"""Exports: what they replace, and forged or incomplete ones."""

from __future__ import annotations

import gzip
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import whichdo as wd
from tests.campaign.trials import create, rng, row_of, run, transaction
from whichdo.campaign.chain import canonical, sealed
from whichdo.campaign.exchange import export_lines

if TYPE_CHECKING:
    from pathlib import Path


def test_an_export_replaces_an_export_and_nothing_else(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"))
    campaign.ask()
    for target in (tmp_path / "a.db", tmp_path / "notes.txt"):
        if target.suffix == ".txt":
            target.write_text("mine")
        with pytest.raises(wd.ConflictError, match="is there already and is no export"):
            campaign.export(target)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert campaign.verify()
    for name in ("a.jsonl", "a.jsonl.gz"):
        before = campaign.export(tmp_path / name)
        ticket = campaign.ask()
        campaign.tell(ticket, row_of(ticket, rng(6)))
        assert campaign.export(tmp_path / name) > before
        there = wd.Campaign.import_(tmp_path / f"{name}.db", tmp_path / name)
        assert there.verify() == campaign.verify()
    (tmp_path / "half.gz").write_bytes(gzip.compress(b"{}")[:-3])
    with pytest.raises(wd.StorageError, match="cannot be read"):
        wd.Campaign.import_(tmp_path / "b.db", tmp_path / "half.gz")


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (0, {"budget": "much"}),
        (0, {"audit": None}),
        (0, {"margin": "x"}),
        (0, {"lease": 1e300}),
        (0, {"name": "another"}),
        (1, {"looks": "x"}),
        (1, {"looks": -3}),
        (1, {"tables": [{"columns": ["Y"], "cells": [[0]], "counts": [-1]}]}),
        (1, {"tables": [{"columns": ["Y"], "cells": [[0]], "counts": [10**30]}]}),
        (1, {"tables": [{"columns": ["Y"], "cells": [[300]], "counts": [1]}]}),
        (1, {"tables": [{"columns": ["Y"], "cells": [[5]], "counts": [1]}]}),
        (2, {"tickets": None}),
        (3, {"ticket": "1-zz"}),
    ],
)
def test_a_forged_export_is_refused(tmp_path: Path, number: int, changes: dict[str, Any]) -> None:
    """Its chain and its checksum hold: whoever forges it can work them out."""
    campaign = create(str(tmp_path / "a.db"), policy="ue", lease=100, logs={name: [0, 1] for name in "ZXWY"})
    ticket = campaign.ask()
    campaign.tell(ticket, {"Y": 1})
    campaign.tell(campaign.ask(), {"Y": 1})
    forged: list[Any] = []
    for event in campaign.events():
        body = event.content | (changes if event.seq == number else {})
        before = forged[-1].hash if forged else event.previous
        forged.append(sealed(event.campaign, event.seq, event.kind, body, event.time, before, event.key))
    assert all(canonical(one.content) == one.body for one, _ in pairwise(forged))
    (tmp_path / "forged.jsonl").write_text("".join(export_lines(forged)))
    with pytest.raises(wd.WhichdoError):
        wd.Campaign.import_(tmp_path / "b.db", tmp_path / "forged.jsonl")
    assert not (tmp_path / "b.db").exists()


def test_a_row_told_twice_is_no_log(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    campaign.tell(campaign.ask(), {"Y": 1})
    events = campaign.events()
    last = events[-1]
    events.append(sealed(last.campaign, last.seq + 1, "told", last.content, last.time, last.hash))
    (tmp_path / "forged.jsonl").write_text("".join(export_lines(events)))
    with pytest.raises(wd.DamagedError, match="is told twice"):
        wd.Campaign.import_(tmp_path / "b.db", tmp_path / "forged.jsonl")


def test_a_log_whose_end_is_missing_is_not_exported(tmp_path: Path) -> None:
    campaign = create(str(tmp_path / "a.db"), policy="ue")
    run(campaign, rng(7), most=3)
    with transaction(campaign._store) as connection:
        connection.execute("DELETE FROM whichdo_event WHERE seq = 6")
    with pytest.raises(wd.DamagedError, match="its log should have 7 events and ends after 6"):
        campaign.export(tmp_path / "a.jsonl")
    with pytest.raises(wd.DamagedError):
        campaign.recommend(at=2)
