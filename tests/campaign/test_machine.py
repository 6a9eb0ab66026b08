"""Any program of verbs, good and bad, against a plain model of tickets, slots and money."""

from __future__ import annotations

from datetime import timedelta
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
from whichdo.campaign.chain import time_text

if TYPE_CHECKING:
    from collections.abc import Callable

HORIZON, LEASE = 12, 3600.0
CLIENTS = st.sampled_from(["ann", "bob"])
_names = count()


class Program(RuleBasedStateMachine):
    """The model: for each ticket its slot, phase, row and the start of its lease; the slots that are owed; the clock.

    Clocks disagree: time also goes back.  A ticket whose ask is later than an event after it came from a clock that was
    ahead, so that its lease counts from that event: from the earliest that an event since its ask shows.  Nothing but
    an event shows it: time that goes by, a look at the status, a repeat or a refusal leave the lease as it was.
    """

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

    def write(self) -> None:
        """An event of now goes on record."""
        for ticket in self.tickets.values():
            if ticket["phase"] == "asked":
                ticket["from"] = min(ticket["from"], self.clock.now)

    def since_lease_began(self, ticket: dict[str, Any]) -> float:
        """Seconds; the lease of a ticket that is not out any more stays as it was."""
        return float((self.clock.now - ticket["from"]).total_seconds())

    def expire(self) -> None:
        """What any verb does first, and a status that settles: leases that have ended go on record."""
        over = [each for each in self.tickets.values() if each["phase"] == "asked"]
        over = [each for each in over if self.since_lease_began(each) >= LEASE]
        for ticket in over:
            ticket["phase"] = "expired"
            heappush(self.owed, ticket["slot"])
        if over:
            self.write()

    def lease_ends(self) -> dict[str, str]:
        """Of the tickets that are out."""
        out = {name: each for name, each in self.tickets.items() if each["phase"] == "asked"}
        return {name: time_text(each["from"] + timedelta(seconds=LEASE)) for name, each in out.items()}

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
                "slot": slot, "arm": ticket.arm, "client": client, "phase": "asked", "row": None, "from": self.clock.now
            }  # fmt: skip
        if new:
            self.write()
        assert {ticket.id: ticket.lease_ends for ticket in found}.items() <= self.lease_ends().items()
        if again:
            assert self.campaign.ask(n, client=client) == found

    def take(self, ticket: dict[str, Any], row: dict[str, int], receipt: wd.Receipt) -> None:
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
        ticket["phase"], ticket["row"], ticket["first"], ticket["receipt"] = "told", row, row, str(receipt)
        self.write()
        self.open_batch()

    @precondition(lambda self: self.tickets)
    @rule(data=st.data(), bits=st.integers(0, 15))
    def tell(self, data: st.DataObject, bits: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.tickets)))
        ticket = self.tickets[name]
        self.expire()
        row = self.row(ticket["arm"], bits)
        late = self.since_lease_began(ticket) > 2 * LEASE
        other = ticket["phase"] == "told" and row not in (ticket["row"], ticket["first"])
        if other or ticket["phase"] == "voided" or (ticket["phase"] == "expired" and late):
            with pytest.raises(wd.ConflictError, match="Nothing was changed"):
                self.campaign.tell(name, row)
            return
        receipt = self.campaign.tell(name, row)
        assert receipt.repeated == (ticket["phase"] == "told")
        if not receipt.repeated:
            self.take(ticket, row, receipt)

    @precondition(lambda self: any(ticket["phase"] == "told" for ticket in self.tickets.values()))
    @rule(data=st.data(), first=st.booleans())
    def tell_again(self, data: st.DataObject, first: bool) -> None:
        """What was told first, or what stands since an amendment: either is answered with what stands."""
        told = sorted(name for name, each in self.tickets.items() if each["phase"] == "told")
        name = data.draw(st.sampled_from(told))
        self.expire()
        ticket = self.tickets[name]
        receipt = self.campaign.tell(name, ticket["first" if first else "row"])
        assert (receipt.repeated, str(receipt)) == (True, ticket["receipt"])

    @precondition(lambda self: any(ticket["phase"] == "asked" for ticket in self.tickets.values()))
    @rule(client=CLIENTS, bits=st.integers(0, 15), again=st.booleans())
    def tell_late(self, client: str, bits: int, again: bool) -> None:
        """A lease ends, the pull may have gone to another by then, and the tell comes within the grace."""
        name, ticket = next((name, each) for name, each in self.tickets.items() if each["phase"] == "asked")
        self.clock.now = ticket["from"] + timedelta(minutes=61)
        if again:
            self.ask(client, 2, again=False)
        self.expire()
        row = self.row(ticket["arm"], bits)
        self.take(ticket, row, self.campaign.tell(name, row))

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
            self.take(ticket, row, receipt)
        elif ticket["row"] == row:
            assert receipt.repeated
            assert str(receipt) == ticket["receipt"]
        else:
            assert not receipt.repeated
            self.write()
            ticket["row"], ticket["receipt"] = row, str(receipt)
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
        if ticket["phase"] == "voided":
            return
        if ticket["phase"] == "asked":
            heappush(self.owed, ticket["slot"])
        ticket["phase"] = "voided"
        self.write()

    @rule()
    def pause_or_resume(self) -> None:
        self.expire()
        (self.campaign.resume if self.paused else self.campaign.pause)("a reason")
        self.paused = not self.paused
        self.write()

    @rule(minutes=st.sampled_from([-30, -10, 10, 40, 61, 130]))
    def time_goes_by(self, minutes: int) -> None:
        self.clock.move(minutes=minutes)

    @rule()
    def settle(self) -> None:
        self.expire()
        self.campaign.status()

    @rule()
    def another_process(self) -> None:
        before = self.campaign.status(settle=False).receipt
        self.campaign = self.reopen()
        assert self.campaign.verify() == before

    @invariant()
    def stands_as_the_model(self) -> None:
        status = self.campaign.status(settle=False)
        assert {ticket.id: ticket.lease_ends for ticket in status.open} == self.lease_ends()
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
