"""Every verb in any order: what a process holds in memory is what the log comes to when it is read anew.

Random programs on networks that are not as the graph says, so that alarms and audits come about too.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import whichdo as wd
from tests.campaign.trials import Clock
from tests.campaign.worlds import bow, chain, missing_edge, turned_edge, useless
from tests.soak import scaled
from whichdo.campaign.status import status_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whichdo.campaign.state import State

WORLDS = (lambda: bow(1), bow, lambda: chain("Y"), lambda: chain("M"), missing_edge, useless, turned_edge)
POLICIES = ("warm-halving", "srm", "sr", "sh", "ue", "causal-ts", "ts", "ucb")
SETTINGS: dict[str, Any] = {
    "short": {"horizons": (20, 30, 50), "logged": (0, 3, 300), "tells": 8},
    "long": {"horizons": (200, 400), "logged": (50, 2_000), "tells": 5},
}
"""Short ones come to their audits, long ones to alarms."""


class Program:
    """A campaign that chance does everything to that can be done."""

    def __init__(self, folder: Path, seed: int, horizons: Any, logged: Any, tells: int) -> None:
        self.chance, self.clock, self.folder = Random(seed), Clock(), folder
        self.network, self.problem = self.chance.choice(WORLDS)()
        if self.chance.random() < 0.3:
            costs = {str(arm): self.chance.choice([1, 0.5, 2, 0.3]) for arm in self.problem.arms}
            self.problem = wd.Problem(self.problem.graph, self.problem.reward, self.problem.intervene, costs=costs)
        self.rows: dict[wd.Arm, list[dict[str, Any]]] = {}
        looks = self.chance.choice(logged)
        self.tells, self.notes, self.seen = tells, 0, Counter[str]()
        self.campaign = wd.Campaign.create(
            folder / "a.db",
            "spring",
            self.problem,
            wd.policy(self.chance.choice(POLICIES)),
            budget=float(self.chance.choice(horizons)),
            seed=seed,
            logs=self.looks(looks) if looks else None,
            lease=self.chance.choice([None, 3_600]),
            window=self.chance.choice([None, None, 1_800]),
            stop_when_sure=self.chance.random() < 0.2,
            margin=0.05,
            audit=self.chance.random() < 0.8,
            clock=self.clock,
        )

    def looks(self, count: int) -> dict[str, Any]:
        rows = self.network.sample(count, seed=self.chance.randrange(2**32))
        return {name: list(map(int, values)) for name, values in rows.items() if name in self.problem.domains}

    def row(self, arm: wd.Arm) -> dict[str, Any]:
        if not self.rows.get(arm):
            do = arm.settings
            drawn = self.network.sample(64, do=do, seed=self.chance.randrange(2**32))
            names = [name for name in drawn if name in self.problem.domains]
            self.rows[arm] = [{name: int(drawn[name][each]) for name in names} for each in range(64)]
        return self.rows[arm].pop()

    def state(self) -> State:
        return self.campaign._ledger.state()

    def tickets(self, *phases: str) -> list[Any]:
        return [pull for pull in self.state().tickets.values() if pull.phase.value in phases]

    # ---------------------------------------------------------------------------------------------------- the verbs

    def ask(self) -> None:
        key = self.chance.choice([None, None, f"k{self.state().events}"])
        wanted, client = self.chance.choice([1, 2, 5, 30]), self.chance.choice("ab")
        found = self.campaign.ask(wanted, client=client, key=key)
        if key in self.state().keys:
            assert self.campaign.ask(wanted, client=client, key=key) == found

    def tell(self) -> None:
        out = self.tickets("asked")
        self.chance.shuffle(out)
        for pull in out[: self.tells * self.chance.choice([1, 2, 8])]:
            if self.state().tickets[pull.id].phase.value == "asked":  # an alarm may have changed that
                self.campaign.tell(pull.id, self.row(pull.arm))

    def tell_late(self) -> None:
        for pull in self.tickets("expired")[:2]:
            self.campaign.tell(pull.id, self.row(pull.arm))

    def void(self) -> None:
        for pull in self.chance.sample(found := self.tickets("asked", "expired"), min(1, len(found))):
            self.campaign.void(pull.id, "lost")

    def amend(self) -> None:
        for pull in self.chance.sample(found := self.tickets("told", "voided"), min(1, len(found))):
            self.campaign.amend(pull.id, self.row(pull.arm), "a slip")

    def forbid(self) -> None:
        self.campaign.forbid(self.chance.choice(self.problem.arms[1:]), "dear")

    def allow(self) -> None:
        self.campaign.allow(list(self.state().forbidden)[:1], "cheap")

    def pause(self) -> None:
        self.campaign.pause("Sunday")
        self.campaign.resume("Monday")

    def observe(self) -> None:
        self.notes += 1
        log = self.looks(self.chance.choice([2, 30, 300]))
        self.campaign.observe(log, name=f"log {self.notes}", restart=self.chance.random() < 0.3)

    def restart(self) -> None:
        self.campaign.restart("again")

    def time(self) -> None:
        self.clock.now += timedelta(minutes=self.chance.choice([-30, 10, 40, 61, 130]))

    def look(self) -> None:
        self.campaign.status()
        self.campaign.recommend()

    def another(self) -> None:
        other = wd.Campaign.open(self.folder / "a.db", "spring", clock=self.clock)
        other.ask(2, client="other")
        other.close()

    def run(self, steps: int) -> None:
        verbs = [self.ask] * 12 + [self.tell] * 16 + [self.tell_late] * 2 + [self.void] * 2 + [self.amend] * 3
        verbs += [self.forbid] * 2 + [self.allow] * 2 + [self.observe] * 2 + [self.look] * 3 + [self.time] * 2
        verbs += [self.restart, self.pause, self.another]
        for _ in range(steps):
            with suppress(wd.ConflictError, wd.Wait, wd.Unsuitable, wd.UsageError):  # refused: nothing changed
                self.chance.choice(verbs)()
            self.check()
        self.seen.update(event.kind for event in self.campaign.events())
        self.campaign.export(self.folder / "a.jsonl")
        imported = wd.Campaign.import_(self.folder / "b.db", self.folder / "a.jsonl", clock=self.clock)
        assert shown(imported._ledger.state()) == shown(self.state())
        assert json.dumps(imported.recommend().as_json()) == json.dumps(self.campaign.recommend().as_json())

    def check(self) -> None:
        """Looked at or not: a look must not change anything either."""
        if self.chance.random() < 0.5:
            again = wd.Campaign.open(self.folder / "a.db", "spring", clock=self.clock)
            again.verify()
            assert shown(again._ledger.state()) == shown(self.state())
            again.close()


def shown(state: State) -> dict[str, Any]:
    """All that decides what comes next."""
    play = state.play
    coming = [] if play is None else [(slot, play.arm_of(slot)) for slot in play.next_slots(6)]
    return {
        "status": status_of(state).as_json(),
        "finished": state.finished,
        "play": None if play is None else (play.number, play.asked, play.unfilled, play.needed, play.budget),
        "coming": coming,
        "named": None if state.recommendation is None else state.recommendation.arm,
        "audits": (state.audits, state.auditing, state.audits_owed(())),
        "pulled": +state.pulled,
        "logs": state.logs_known,
    }


@pytest.mark.slow(
    "24 s: 25 random programs of verbs in each setting, replayed at every step; finds memory and log that part"
)
@pytest.mark.soak
@pytest.mark.parametrize("setting", SETTINGS)
def test_memory_and_log_agree_whatever_was_done(
    tmp_path: Path, setting: str, record_property: Callable[[str, object], None]
) -> None:
    seen: Counter[str] = Counter()
    for seed in range(scaled(500)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            program = Program(folder, seed, **SETTINGS[setting])
        except (wd.Unsuitable, wd.UsageError):
            continue  # too little money for the policy
        try:
            program.run(30)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        seen += program.seen
        program.campaign.close()
    assert {"restarted", "forbidden", "allowed", "amended", "voided", "expired", "observed"} <= set(seen)
    assert seen["audited" if setting == "short" else "alarm"] > 0
    record_property("programs' events", dict(seen))
