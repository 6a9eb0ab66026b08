"""Campaigns: durable asks and tells against the same rows by hand, opening a long log, asking at its end."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Line, best, seconds
from whichdo.campaign.campaign import Campaign
from whichdo.campaign.events import sealed, time_text
from whichdo.campaign.proposals import asking
from whichdo.policy_names import policy
from whichdo.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whichdo.campaign.state import State
    from whichdo.campaign.storage.base import Connection

PAIRS = 200
EVENTS = 100_000
PROBLEM = Problem("Z -> X; X -> Y; Z -> Y; W -> Y", "Y", ["X", "W"])


def row(arm: Any, number: int) -> dict[str, Any]:
    """A row that depends on its number alone."""
    found = {name: number * (7 + place) // 3 % 2 for place, name in enumerate(PROBLEM.graph.nodes)}
    return found | dict(arm.settings)


def run() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        yield _pairs(Path(folder))
        for name in ("warm-halving", "causal-ts"):
            yield from _long(Path(folder), name)


def _pairs(folder: Path) -> Line:
    """Both on the same disk, in turn; a pair is two transactions, each on the disk before it is acknowledged."""
    campaign = Campaign.create(folder / "pairs.db", "pairs", PROBLEM, policy("ue"), horizon=20 * PAIRS)
    hand = sqlite3.connect(folder / "hand.db", isolation_level=None)
    hand.execute("PRAGMA journal_mode = WAL")
    hand.execute("PRAGMA synchronous = FULL")
    hand.execute(
        "CREATE TABLE event (campaign, seq, kind, key, body, time, previous, hash, PRIMARY KEY (campaign, seq))"
    )
    numbers = iter(range(10**9))

    def ours() -> None:
        for number in range(PAIRS):
            ticket = campaign.ask()
            campaign.tell(ticket, row(ticket.arm, number))

    def by_hand() -> None:
        for _ in range(PAIRS):
            for body in ('{"client":"me"}' * 8, '{"row":{"Y":1}}' * 8):
                hand.execute("BEGIN IMMEDIATE")
                values = (1, next(numbers), "told", None, body, "2026-03-01T12:00:00.000000Z", "0" * 64, "1" * 64)
                hand.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
                hand.execute("COMMIT")

    mine, theirs = best(ours, by_hand)
    hand.close()
    return Line(
        "durable ask and tell on SQLite",
        f"{seconds(mine / PAIRS)} against {seconds(theirs / PAIRS)} for two rows by hand: {theirs / mine:.2f} as fast",
        "at least half as fast",
        theirs >= mine / 2,
    )


def _long(folder: Path, name: str) -> Iterator[Line]:
    database = folder / f"{name}.db"
    campaign = Campaign.create(database, "long", PROBLEM, policy(name), horizon=EVENTS)
    _fill(campaign)
    campaign.close()
    opened: list[Campaign] = []
    (took,) = best(lambda: opened.append(Campaign.open(database, "long")), repeat=3)
    what = f"open a campaign of {EVENTS:,} events, {name}"
    yield Line(what, seconds(took), "under 3 s", took < 3)
    asks = []
    for number in range(20):
        begin = time.perf_counter()
        ticket = opened[-1].ask()
        asks.append(time.perf_counter() - begin)
        opened[-1].tell(ticket, row(ticket.arm, number))
    took = min(asks)
    yield Line(f"ask at its end, {name}, the commit included", seconds(took), "under 5 ms", took < 0.005)


def _fill(campaign: Campaign) -> None:
    """Asks and tells in one transaction: what is measured is reading them."""
    ledger, now = campaign._ledger, time_text(datetime(2026, 3, 1, tzinfo=UTC))

    def work(connection: Connection) -> None:
        state, place = ledger._caught_up(connection, lock=True)
        new = []

        def add(state: State, kind: str, body: dict[str, Any]) -> None:
            new.append(sealed("long", state.events, kind, body, now, state.head))
            state.apply(new[-1])

        for number in range((EVENTS - 1) // 2):
            drafts = asking(state, 1, "me").drafts
            assert isinstance(drafts, list)
            ((kind, body),) = drafts
            add(state, kind, body)
            ticket = body["tickets"][0]["id"]
            add(state, "told", {"ticket": ticket, "row": row(state.tickets[ticket].arm, number)})
        ledger.store.append(connection, place, new)

    ledger.store.run(work, writes=True)
