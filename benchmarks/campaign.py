"""Campaigns: durable asks and tells against the same rows by hand, opening a long log, asking at its end."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Line, best, seconds
from whichdo.campaign.campaign import Campaign
from whichdo.campaign.chain import sealed, time_text
from whichdo.campaign.commands import Ask
from whichdo.campaign.decide import decide
from whichdo.campaign.events import Told, body_of
from whichdo.campaign.register import Pull
from whichdo.policy_names import policy
from whichdo.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whichdo.campaign.chain import Event
    from whichdo.campaign.events import Said
    from whichdo.campaign.state import State
    from whichdo.campaign.storage.contract import Connection

PAIRS = 200
EVENTS = 100_000
MANY = 1_000_000
PAGE = 10_000
PROBLEM = Problem("Z -> X; X -> Y; Z -> Y; W -> Y", "Y", ["X", "W"])


def row(arm: Any, number: int) -> dict[str, Any]:
    """A row that depends on its number alone."""
    found = {name: number * (7 + place) // 3 % 2 for place, name in enumerate(PROBLEM.graph.nodes)}
    return found | dict(arm.settings)


def run() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        yield _pairs(Path(folder))
        yield from _start_up(Path(folder))
        for name in ("warm-halving", "causal-ts"):
            yield from _long(Path(folder), name)
        for name in ("warm-halving", "causal-ts"):
            yield from _very_long(Path(folder), name)


def _pairs(folder: Path) -> Line:
    """Both on the same disk, in turn; a pair is two transactions, each on the disk before it is acknowledged."""
    campaign = Campaign.create(folder / "pairs.db", "pairs", policy("ue"), PROBLEM, horizon=20 * PAIRS)
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


def _start_up(folder: Path) -> Iterator[Line]:
    """Commands as they are typed, in turn with the imports that nobody can do without."""
    database = folder / "start.db"
    campaign = Campaign.create(database, "start", policy("warm-halving"), PROBLEM, horizon=100)
    ticket = campaign.ask(client="me")
    campaign.close()
    told = json.dumps(row(ticket.arm, 1))
    commands = {
        "ask": ["ask", "start", "--client", "me"],
        "tell": ["tell", "start", ticket.id, told],
        "status": ["status", "start"],
        "recommend": ["recommend", "start"],
    }
    program, python = [sys.executable, "-m", "whichdo"], [sys.executable, "-c"]
    asked = {
        "imports": [*python, "import numpy, sqlalchemy"],
        "typer": [*python, "import typer"],
        "--help": [*program, "--help"],
        **{verb: [*program, *words] for verb, words in commands.items()},
    }
    took = dict.fromkeys(asked, inf)
    for turn in range(8):
        for name, command in asked.items():
            seconds_taken = _of_child(command, database)
            if turn:  # the first writes the compiled files of Python
                took[name] = min(took[name], seconds_taken)
    for verb, base, most in [*((verb, "imports", 1.5) for verb in commands), ("--help", "typer", 3.0)]:
        code = asked[base][-1]
        found = f"{seconds(took[verb])}, {took[verb] / took[base]:.2f} times `{code}` ({seconds(took[base])})"
        what = f"whichdo {verb}{'' if verb == '--help' else ', warm-halving'}, processor time"
        yield Line(what, found, f"at most {most:g} times", took[verb] <= most * took[base])


def _of_child(command: list[str], database: Path) -> float:
    """Seconds of processor time of a process, with compiled files of Python whatever the shell says."""
    here = {"WHICHDO_DB": str(database), "PYTHONPYCACHEPREFIX": str(database.parent / "pycache")}
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True, env=kept | here)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _long(folder: Path, name: str) -> Iterator[Line]:
    database = _filled(folder, name, EVENTS)
    opened: list[Campaign] = []
    took = min(_processor(lambda: opened.append(Campaign.open(database, "long"))) for _ in range(3))
    what = f"open a campaign of {EVENTS:,} events, {name}, processor time"
    yield Line(what, seconds(took), "under 0.5 s", took < 0.5)
    replay = _processor(opened[-1].verify)
    what = f"replay and check all of it, {name}, processor time"
    yield Line(what, f"{seconds(replay)}, {replay / took:.0f} times as long", "under 5 s", replay < 5)
    asks = []
    for number in range(20):
        begin = time.perf_counter()
        ticket = opened[-1].ask()
        asks.append(time.perf_counter() - begin)
        opened[-1].tell(ticket, row(ticket.arm, number))
    took = min(asks)
    yield Line(f"ask at its end, {name}, the commit included", seconds(took), "under 5 ms", took < 0.005)


def _processor(work: Callable[[], object]) -> float:
    """Seconds of processor time."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _very_long(folder: Path, name: str) -> Iterator[Line]:
    """In processes of their own, imports included: what a command of the shell takes beside its output."""
    database = _filled(folder, name, MANY)
    for verb in ("status()", "ask(client='new')"):
        done = subprocess.run(
            [sys.executable, "-c", _COMMAND, str(database), verb], capture_output=True, text=True, check=True
        )
        took, memory = map(float, done.stdout.split())
        what = f"{verb} of a campaign of {MANY:,} events, {name}, in its own process"
        found = f"{seconds(took)} of processor time, {memory:.0f} MB"
        yield Line(what, found, "under 1 s and 300 MB", took < 1 and memory < 300)


_COMMAND = """
import sys, time
from whichdo.campaign.campaign import Campaign
campaign = Campaign.open(sys.argv[1], "long")
eval(f"campaign.{sys.argv[2]}")
(peak,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]  # of this program alone
print(time.process_time(), int(peak.split()[1]) / 1024)
"""


def _filled(folder: Path, name: str, events: int) -> Path:
    """A database with a campaign of so many events, and the snapshot that it would have by then."""
    database = folder / f"{name}-{events}.db"
    campaign = Campaign.create(database, "long", policy(name), PROBLEM, horizon=events)
    _fill(campaign, events)
    campaign._ledger._keep_snapshot()
    campaign.close()
    return database


def _fill(campaign: Campaign, events: int) -> None:
    """Asks and tells in one transaction: what is measured is reading them."""
    ledger, today = campaign._ledger, datetime(2026, 3, 1, tzinfo=UTC)
    now = time_text(today)

    def work(connection: Connection) -> None:
        state, place = ledger._caught_up(connection, lock=True)
        new: list[Event] = []

        def add(state: State, what: Said) -> None:
            new.append(sealed("long", state.events, what.kind, body_of(what), now, state.head))
            state.apply(new[-1], what)

        for number in range((events - 1) // 2):
            (asked,) = decide(state, Ask(1, "me"), today).events
            add(state, asked)
            (position,) = state.tickets.out
            pull = Pull(state.tickets, position)
            add(state, Told(pull.id, row(pull.arm, number)))
            if len(new) >= PAGE:
                ledger.store.append(connection, place, new)
                new.clear()
        if new:
            ledger.store.append(connection, place, new)

    ledger.store.run(work, writes=True)
