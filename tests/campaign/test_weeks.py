"""Eight weeks of a campaign: losses, late and repeated tells, restarts of the program, a clock that jumps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import whichdo as wd
from tests.campaign.trials import PROBLEM, Clock, create, row_of
from tests.soak import scaled

if TYPE_CHECKING:
    from collections.abc import Callable

DAYS = 56


@pytest.mark.slow("3 s: 56 days with late, lost and repeated tells on both databases")
@pytest.mark.soak
@pytest.mark.parametrize("policy", ["warm-halving", "causal-ts"])
def test_eight_weeks(database: str, policy: str, record_property: Callable[[str, object], None]) -> None:
    clock, random = Clock(), np.random.default_rng(8)
    pulls = scaled(1120, DAYS) if policy == "warm-halving" else DAYS  # the other asks for one at a time
    day, window = 86400.0, 2 * 86400.0 if policy == "warm-halving" else None
    campaign = create(database, policy=policy, horizon=pulls, lease=4 * day, grace=3 * day, window=window, clock=clock)
    out: list[wd.Ticket] = []
    told: dict[str, dict[str, int]] = {}
    today = 0
    while not campaign.finished:
        today += 1
        clock.move(days=1, minutes=float(random.integers(-90, 90)))
        if today % 9 == 0:
            clock.move(days=-1)  # somebody sets the clock
        if today % 5 == 0:
            campaign = wd.Campaign.open(database, "spring", clock=clock)
        try:
            out += campaign.ask(max(2, pulls // 50), client=f"week {today // 7}")
        except wd.WaitError:
            clock.move(days=2)
        out = list({ticket.id: ticket for ticket in out}.values())
        for ticket in [out[place] for place in random.permutation(len(out))]:
            chance = random.random()
            if ticket.id in told or chance < 0.15:
                continue  # lost, or tomorrow
            row = row_of(ticket, random)
            try:
                if chance < 0.2:
                    campaign.void(ticket, "lost on the way")
                    continue
                campaign.tell(ticket, row)
            except wd.ConflictError:
                continue  # voided or expired long ago
            told[ticket.id] = row
            if chance > 0.8:
                assert campaign.tell(ticket, row).repeated
        assert today < 20 * DAYS
    record_property("days", today)
    status = campaign.status()
    assert status.tickets["told"] == len(told)
    assert status.tickets["counted"] - status.tickets["extra"] == pulls
    assert wd.Campaign.open(database, "spring", clock=clock).verify() == status.receipt
    state = campaign._ledger.state()
    assert {name: pull.row for name, pull in state.tickets.items() if pull.row is not None} == told
    assert campaign.recommend().arm in PROBLEM.arms
