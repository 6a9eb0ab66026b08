"""Every verb in any order: what a process holds in memory is what the log comes to when it is read anew.

Random programs on networks that are not as the graph says, so that alarms and audits come about too; and programs whose
policy comes to other revisions on the way, later ones and now and then the one before.
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
from whichdo.policies.sequential import Sequential

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whichdo.campaign.state import State
    from whichdo.policies.base import Policy

WORLDS = (lambda: bow(1), bow, lambda: chain("Y"), lambda: chain("M"), missing_edge, useless, turned_edge)
POLICIES = ("warm-halving", "srm", "sr", "sh", "ue", "causal-ts", "ts", "ucb")
SETTINGS: dict[str, Any] = {
    "short": {"horizons": (20, 30, 50), "logged": (0, 3, 300), "tells": 8},
    "long": {"horizons": (200, 400), "logged": (50, 2_000), "tells": 5},
}
"""Short ones come to their audits, long ones to alarms."""


class Program:
    """A campaign that chance does everything to that can be done."""

    def __init__(
        self, folder: Path, seed: int, horizons: Any, logged: Any, tells: int, patch: pytest.MonkeyPatch | None = None
    ) -> None:
        self.chance, self.clock, self.folder = Random(seed), Clock(), folder
        self.network, self.problem = self.chance.choice(WORLDS)()
        if self.chance.random() < 0.3:
            costs = {str(arm): self.chance.choice([1, 0.5, 2, 0.3]) for arm in self.problem.arms}
            self.problem = wd.Problem(self.problem.graph, self.problem.reward, self.problem.intervene, costs=costs)
        self.rows: dict[wd.Arm, list[dict[str, Any]]] = {}
        looks = self.chance.choice(logged)
        self.tells, self.notes, self.seen, self.patch = tells, 0, Counter[str](), patch
        self.campaign = wd.Campaign.create(
            folder / "a.db",
            "spring",
            wd.policy(self.chance.choice(POLICIES)),
            self.problem,
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
        if patch is not None:
            decide_by_revision(type(self.state().terms.policy), patch)

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
        if key is not None and self.campaign._ledger.keyed(key) is not None:
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

    def update(self, patch: pytest.MonkeyPatch) -> None:
        """The program is replaced: by a later revision of the policy, or by the one before where machines differ."""
        before = standing(self.state())
        kind = type(self.state().terms.policy)
        back = kind.revision > 1 and self.chance.random() < 0.3
        patch.setattr(kind, "revision", kind.revision + (-1 if back else 1))
        self.campaign.close()
        self.campaign = wd.Campaign.open(self.folder / "a.db", "spring", clock=self.clock)
        assert standing(self.state()) == before
        self.seen["back" if back else "updated"] += 1

    def run(self, steps: int) -> None:
        verbs = [self.ask] * 12 + [self.tell] * 16 + [self.tell_late] * 2 + [self.void] * 2 + [self.amend] * 3
        verbs += [self.forbid] * 2 + [self.allow] * 2 + [self.observe] * 2 + [self.look] * 3 + [self.time] * 2
        verbs += [self.restart, self.pause, self.another]
        for _ in range(steps):
            if self.patch is not None and self.chance.random() < 0.15:
                self.update(self.patch)
            with suppress(
                wd.ConflictError, wd.WaitError, wd.UnsuitableError, wd.UsageError
            ):  # refused: nothing changed
                self.act(self.chance.choice(verbs))
            self.check()
        events = self.campaign.events()
        self.seen.update(event.kind for event in events)
        self.seen["of another revision"] += sum("revision" in event.content for event in events)
        self.campaign.export(self.folder / "a.jsonl")
        imported = wd.Campaign.import_(self.folder / "b.db", self.folder / "a.jsonl", clock=self.clock)
        assert shown(imported._ledger.state()) == shown(self.state())
        assert json.dumps(imported.recommend().to_dict()) == json.dumps(self.campaign.recommend().to_dict())

    def act(self, verb: Callable[[], None]) -> None:
        """Only a program that is older than the play refuses to decide."""
        try:
            verb()
        except wd.TooNewError:
            assert self.state().plan.revision > type(self.state().terms.policy).revision
            self.seen["too new"] += 1

    def check(self) -> None:
        """Looked at or not: a look must not change anything either."""
        if self.chance.random() < 0.5:
            again = wd.Campaign.open(self.folder / "a.db", "spring", clock=self.clock)
            again.verify()
            assert shown(again._ledger.state()) == shown(self.state())
            again.close()


def decide_by_revision(kind: type[Policy], patch: pytest.MonkeyPatch) -> None:
    """Every other revision of a policy that asks for batches pulls all arms equally often instead of what it does."""
    own, other, first = kind.play, wd.available_policies()["ue"].play, kind.revision

    def play(self: Policy, *given: Any) -> Any:
        return other(self, *given) if (self.revision - first) % 2 else own(self, *given)

    if not issubclass(kind, Sequential):
        patch.setattr(kind, "play", play)


def standing(state: State) -> dict[str, Any]:
    """What must be the same whatever revision the policy has."""
    found = status_of(state).to_dict()
    tickets = [(pull.id, pull.phase, pull.row, pull.extra, pull.play, pull.slot) for pull in state.tickets.values()]
    rest = {name: each for name, each in found.items() if name not in {"phase", "trouble", "update"}}
    return rest | {"rows": [*state.rows()], "each": tickets, "left": state.left, "plan": state.plan}


def shown(state: State) -> dict[str, Any]:
    """All that decides what comes next."""
    play = state.play
    coming = [] if play is None else [(slot, play.arm_of(slot)) for slot in play.next_slots(6)]
    return {
        "status": status_of(state).to_dict(),
        "finished": state.finished,
        "play": None if play is None else (play.number, play.asked, play.unfilled, play.needed, play.budget),
        "coming": coming,
        "named": None if state.recommendation is None else state.recommendation.arm,
        "audits": (state.audits, state.auditing, state.audits.owed(state.tickets, state.plan.number)),
        "pulled": +state.pulled,
        "logs": state.logs_known,
    }


def programs(folder: Path, seeds: range, setting: str, *, updates: bool = False) -> Counter[str]:
    """Run a program for each seed; how often each thing happened in them."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        own = folder / str(seed)
        own.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            try:
                program = Program(own, seed, **SETTINGS[setting], patch=patch if updates else None)
            except (wd.UnsuitableError, wd.UsageError):
                continue  # too little money for the policy
            try:
                program.run(30)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}") from error
            seen += program.seen
            program.campaign.close()
    return seen


@pytest.mark.slow(
    "24 s: 25 random programs of verbs in each setting, replayed at every step; finds memory and log that part"
)
@pytest.mark.soak
@pytest.mark.parametrize("setting", SETTINGS)
def test_memory_and_log_agree_whatever_was_done(
    tmp_path: Path, setting: str, record_property: Callable[[str, object], None]
) -> None:
    seen = programs(tmp_path, range(scaled(500)), setting)
    assert {"restarted", "forbidden", "allowed", "amended", "voided", "expired", "observed"} <= set(seen)
    assert seen["audited" if setting == "short" else "alarm"] > 0
    assert not seen["of another revision"]
    record_property("programs' events", dict(seen))


@pytest.mark.slow("24 s: the same while the policy is updated on the way; finds work that an update stops or loses")
@pytest.mark.soak
@pytest.mark.parametrize("setting", SETTINGS)
def test_memory_and_log_agree_through_updates_of_the_program(
    tmp_path: Path, setting: str, record_property: Callable[[str, object], None]
) -> None:
    count = scaled(500)
    seen = programs(tmp_path, range(count, 2 * count), setting, updates=True)  # not those of the test above
    assert {"restarted", "forbidden", "allowed", "amended", "voided", "expired", "observed"} <= set(seen)
    assert min(seen[what] for what in ("updated", "back", "of another revision", "too new")) > 0
    assert seen["audited" if setting == "short" else "alarm"] > 0
    record_property("programs' events", dict(seen))
