"""Several processes at once on one campaign: every pull is told once, and nobody sees "locked"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import whichdo as wd
from tests.campaign.trials import create
from tests.soak import scaled

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.campaign.mortal import Forker

PROCESSES = 8


@pytest.mark.slow("4 s: eight processes at one database; finds pulls that are told twice")
@pytest.mark.soak
def test_eight_processes_tell_every_pull_once(
    database: str, forker: Forker, record_property: Callable[[str, object], None]
) -> None:
    each = scaled(250, 12)
    campaign = create(database, policy="ue", horizon=PROCESSES * each)
    assert forker.cycles(database, PROCESSES, each) == [0] * PROCESSES
    record_property("asks and tells", 2 * PROCESSES * each)
    status = campaign.status()
    assert status.tickets["told"] == status.tickets["asked"] == PROCESSES * each
    assert status.phase == "finished"
    assert status.events == 1 + 2 * PROCESSES * each
    assert wd.Campaign.open(database, "spring").verify() == status.receipt
