"""Any program of verbs, good and bad, against a plain model of tickets, slots and money."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import whichdo as wd
from tests.campaign.trials import PROBLEM, Clock, create
from tests.soak import scaled

if TYPE_CHECKING:
    from collections.abc import Callable

HORIZON, LEASE = 12, 3600.0
CLIENTS = st.sampled_from(["ann", "bob"])
_names = count()


class Program(RuleBasedStateMachine):
    """The model: for each ticket its slot, phase and row; the slots that are owed; the clock."""

    database = ""

    @initialize(policy=st.sampled_from(["ue", "warm-halving"]))
    def start(self, policy: str) -> None:
        self.clock, self.name, self.policy = Clock(), f"program {next(_names)}", policy
        options = {"horizon": HORIZON, "lease": LEASE, "clock": self.clock}
        self.campaign = create(self.database, self.name, policy, **options)
        self.session = wd.Session(wd.policy(policy), PROBLEM, horizon=HORIZON)
        self.tickets: dict[str, dict[str, Any]] = {}
        self.arms: list[wd.Arm] = []
        self.filled: dict[int, dict[str, int]] = {}
        self.first = self.fresh = 0
        self.owed: list[int] = []
        self.extra = 0
        self.paused = False
        self.open_batch()

    def open_batch(self) -> None:
        """Once all slots of a batch are filled the session, told in their order, says which follow."""
        while len(self.filled) == len(self.arms) and not self.session.finished:
            for slot in range(self.first, len(self.arms)):
                self.session.tell(self.arms[slot], self.filled[slot])
            self.first = self.fresh = len(self.arms)
            self.arms += self.session.ask(10_000)

    def reopen(self) -> wd.Campaign:
        self.campaign.close()
        return wd.Campaign.open(self.database, self.name, clock=self.clock)

    def expire(self) -> None:
        """What any verb does first."""
        for ticket in self.tickets.values():
            if ticket["phase"] == "asked" and (self.clock.now - ticket["at"]).total_seconds() >= LEASE:
                ticket["phase"] = "expired"
                heappush(self.owed, ticket["slot"])

    def row(self, arm: wd.Arm, bits: int) -> dict[str, int]:
        row = {name: bits >> place & 1 for place, name in enumerate("ZXWY")}
        return row | {name: int(value) for name, value in arm.settings.items()}

    @rule(client=CLIENTS, n=st.integers(1, 4), again=st.booleans())
    def ask(self, client: str, n: int, again: bool) -> None:
        self.expire()
        held = [name for name, each in self.tickets.items() if each["client"] == client and each["phase"] == "asked"]
        wanted = n - len(held)
        slots: list[int] = []
        while len(slots) < wanted and (self.owed or self.fresh < len(self.arms)) and not self.paused:
            if self.owed:
                slots.append(heappop(self.owed))
            else:
                slots.append(self.fresh)
                self.fresh += 1
        if self.paused:
            with pytest.raises(wd.ConflictError, match="is paused"):
                self.campaign.ask(n, client=client)
            return
        if not held and not slots and not self.session.finished:
            with pytest.raises(wd.WaitError):
                self.campaign.ask(n, client=client)
            return
        found = self.campaign.ask(n, client=client)
        assert [ticket.id for ticket in found[: len(held)]] == held[:n]
        new = found[len(held) :]
        assert [ticket.arm for ticket in new] == [self.arms[slot] for slot in slots]
        for ticket, slot in zip(new, slots, strict=True):
            self.tickets[ticket.id] = {
                "slot": slot, "arm": ticket.arm, "client": client, "phase": "asked", "at": self.clock.now, "row": None,
            }  # fmt: skip
        if again:
            assert self.campaign.ask(n, client=client) == found

    def take(self, ticket: dict[str, Any], row: dict[str, int]) -> None:
        """A row counts: for its slot, or as an extra where that has gone to another."""
        if ticket["phase"] == "asked":
            self.filled[ticket["slot"]] = row
        elif ticket["slot"] in self.owed:
            self.owed.remove(ticket["slot"])
            self.owed.sort()
            self.filled[ticket["slot"]] = row
        else:
            self.extra += 1
            ticket["extra"] = True
        ticket["phase"], ticket["row"] = "told", row
        self.open_batch()

    @precondition(lambda self: self.tickets)
    @rule(data=st.data(), bits=st.integers(0, 15))
    def tell(self, data: st.DataObject, bits: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.tickets)))
        ticket = self.tickets[name]
        self.expire()
        row = self.row(ticket["arm"], bits)
        late = (self.clock.now - ticket["at"]).total_seconds() > 2 * LEASE
        other = ticket["phase"] == "told" and ticket["row"] != row
        if other or ticket["phase"] == "voided" or (ticket["phase"] == "expired" and late):
            with pytest.raises(wd.ConflictError, match="Nothing was changed"):
                self.campaign.tell(name, row)
            return
        receipt = self.campaign.tell(name, row)
        assert receipt.repeated == (ticket["phase"] == "told")
        if ticket["phase"] != "told":
            self.take(ticket, row)

    @precondition(lambda self: any(ticket["phase"] == "asked" for ticket in self.tickets.values()))
    @rule(client=CLIENTS, bits=st.integers(0, 15), again=st.booleans())
    def tell_late(self, client: str, bits: int, again: bool) -> None:
        """A lease ends, the pull may have gone to another by then, and the tell comes within the grace."""
        name, ticket = next((name, each) for name, each in self.tickets.items() if each["phase"] == "asked")
        self.clock.now = max(self.clock.now, ticket["at"])
        self.clock.move(minutes=61 - (self.clock.now - ticket["at"]).total_seconds() / 60)
        if again:
            self.ask(client, 2, again=False)
        self.expire()
        row = self.row(ticket["arm"], bits)
        self.campaign.tell(name, row)
        self.take(ticket, row)

    @precondition(lambda self: self.tickets)
    @rule(data=st.data(), bits=st.integers(0, 15))
    def amend(self, data: st.DataObject, bits: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.tickets)))
        ticket = self.tickets[name]
        self.expire()
        row = self.row(ticket["arm"], bits)
        if ticket["phase"] == "asked":
            with pytest.raises(wd.ConflictError, match="nothing to amend yet"):
                self.campaign.amend(name, row, "a slip")
            return
        receipt = self.campaign.amend(name, row, "a slip")
        if ticket["phase"] != "told":
            self.take(ticket, row)
        else:
            assert receipt.repeated == (ticket["row"] == row)
            ticket["row"] = row
            if ticket["slot"] >= self.first and not ticket.get("extra"):
                self.filled[ticket["slot"]] = row

    @precondition(lambda self: self.tickets)
    @rule(data=st.data())
    def void(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.tickets)))
        ticket = self.tickets[name]
        self.expire()
        if ticket["phase"] == "told":
            with pytest.raises(wd.ConflictError, match="so it cannot be voided"):
                self.campaign.void(name, "lost")
            return
        assert self.campaign.void(name, "lost").repeated == (ticket["phase"] == "voided")
        if ticket["phase"] == "asked":
            heappush(self.owed, ticket["slot"])
        ticket["phase"] = "voided"

    @rule()
    def pause_or_resume(self) -> None:
        self.expire()
        (self.campaign.resume if self.paused else self.campaign.pause)("a reason")
        self.paused = not self.paused

    @rule(minutes=st.sampled_from([-30, 10, 40, 61, 130]))
    def time_goes_by(self, minutes: int) -> None:
        self.clock.move(minutes=minutes)

    @rule()
    def another_process(self) -> None:
        before = self.campaign.status().receipt
        self.expire()
        self.campaign = self.reopen()
        assert self.campaign.verify() == before

    @invariant()
    def stands_as_the_model(self) -> None:
        self.expire()
        status = self.campaign.status()
        phases = [ticket["phase"] for ticket in self.tickets.values()]
        told = phases.count("told")
        found = [status.tickets[name] for name in ("asked", "open", "told", "counted", "voided", "expired", "extra")]
        expected = [len(phases), phases.count("asked"), told, told, phases.count("voided"), phases.count("expired")]
        assert found == [*expected, self.extra]
        assert status.spent == told
        assert status.left == HORIZON - told - phases.count("asked")
        by_arm = {str(arm): 0 for arm in PROBLEM.arms}
        for ticket in self.tickets.values():
            by_arm[str(ticket["arm"])] += ticket["phase"] == "told"
        assert status.by_arm == by_arm
        assert self.campaign.finished == self.session.finished

    def teardown(self) -> None:
        if hasattr(self, "campaign"):
            rows = [(each["arm"], each["row"]) for each in self.tickets.values() if each["phase"] == "told"]
            evidence = self.campaign._ledger.state().evidence()
            for arm in PROBLEM.arms:
                levels = [sum(own == arm and row["Y"] == level for own, row in rows) for level in (0, 1)]
                assert evidence.counts[PROBLEM.index(arm)].tolist() == levels
            self.campaign = self.reopen()
            self.stands_as_the_model()
            self.campaign.verify()
            self.campaign.close()


@pytest.mark.slow("18 s: 25 programs against a plain model on both databases; finds tickets lost or given out twice")
@pytest.mark.soak
def test_any_program_stands_as_the_model(database: str, record_property: Callable[[str, object], None]) -> None:
    programs = scaled(1000, 25)
    record_property("programs", programs)
    Here = type("Here", (Program,), {"database": database})  # noqa: N806
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=programs,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
