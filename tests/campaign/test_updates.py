"""When the program changes: plays of another revision are followed, and the next decision begins a play of this one."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whichdo as wd
from tests.campaign.trials import ALSO_ON_A_SERVER, PROBLEM, Clock, create, rng, row_of, run
from whichdo.campaign.chain import Event, sealed
from whichdo.campaign.events import Alarm
from whichdo.campaign.exchange import export_lines
from whichdo.campaign.play import Followed
from whichdo.evidence import Batch
from whichdo.policies.base import Objective, Play, Policy, best_arm
from whichdo.policies.registry import register, registered
from whichdo.report.campaign_page import write_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from whichdo.evidence import Tally
    from whichdo.problem import Problem

    Update = Callable[..., wd.Campaign]


@pytest.fixture
def turning() -> Iterator[type[Policy]]:
    """A policy whose later revisions pull the arms in the other order; it needs a pull for each."""

    @register("turning")
    @dataclass(frozen=True)
    class Turning(Policy):
        objective = Objective.SIMPLE
        looks = False

        def check(self, problem: Problem, budget: float) -> None:
            if budget < len(problem.arms):
                raise wd.UnsuitableError(f"turning needs {len(problem.arms)} pulls; the budget is {budget:g}.")

        def play(self, problem: Problem, budget: float, rng: np.random.Generator, seen: Tally) -> Play:
            arms = problem.arms[:: 1 if self.revision == 1 else -1]
            tried = yield Batch(arms, (int(budget) // len(arms),) * len(arms))
            return best_arm(problem, tried.means, rng)

    yield Turning
    registered.pop("turning")


@pytest.fixture
def update(monkeypatch: pytest.MonkeyPatch, turning: type[Policy]) -> Update:
    """Put another revision of a policy in place, by default the next, and open the campaign as a new process does."""

    def updated(campaign: wd.Campaign, revision: int | None = None) -> wd.Campaign:
        kind = type(campaign._ledger.state().terms.policy)
        monkeypatch.setattr(kind, "revision", revision or kind.revision + 1)
        campaign.close()
        return wd.Campaign.open(campaign._store.address.where, campaign.name, clock=campaign._ledger._clock)

    return updated


def kinds(campaign: wd.Campaign) -> list[str]:
    return [event.kind for event in campaign.events()]


def begun(database: str, policy: str = "turning", told: int = 7, **options: Any) -> wd.Campaign:
    """Some pulls told, and up to three tickets out with "lab"."""
    campaign = create(database, policy=policy, **options)
    run(campaign, rng(1), most=told)
    campaign.ask(3, client="lab")
    return campaign


# ------------------------------------------------------------------------------------------------- the next decision


AGAIN = pytest.mark.slow("2 s: the same with more policies of each kind")
MORE = ("causal-kl-ucb", "warm-halving", "ue", "ucb")


@ALSO_ON_A_SERVER
@pytest.mark.parametrize("policy", ["turning", "causal-ts", "srm", *(pytest.param(name, marks=AGAIN) for name in MORE)])
def test_a_campaign_goes_on_with_the_new_revision(database: str, update: Update, policy: str) -> None:
    then = wd.available_policies()[policy].revision
    before = begun(database, policy, horizon=60)
    out = before.ask(3, client="lab")
    asked = len(before.events())
    campaign = update(before)
    first = campaign.ask(client="other")
    restarted, ask = campaign.events()[asked:]
    assert (restarted.kind, ask.kind) == ("restarted", "asked")
    assert restarted.content == {
        "reason": f"{policy} was updated from revision {then} to revision {then + 1}",
        "budget": 60.0 - 7 - len(out),
        "kept": 0.0,
        "revision": then + 1,
        "made_by": {"whichdo": wd.__version__, "numpy": np.__version__},
    }
    assert (ask.content["play"], ask.content["tickets"][0]["slot"]) == (1, 0)
    campaign.tell(first, row_of(first, rng(2)))
    for ticket in out:  # what the old play asked for counts as evidence
        campaign.tell(ticket, row_of(ticket, rng(3)))
    run(campaign, rng(4))
    status, advice = campaign.status(), campaign.recommend()
    assert status.phase == "finished"
    assert status.spent <= 60
    assert status.tickets["extra"] == len(out)
    assert advice.looks + advice.pulls == status.tickets["counted"] == status.tickets["asked"]
    assert advice.policy_arm in PROBLEM.arms
    again = wd.Campaign.open(database, "spring")
    assert again.verify() == status.receipt
    assert again.recommend().to_dict() == advice.to_dict()


def test_decisions_after_the_update_are_derived_again(
    database: str, update: Update, monkeypatch: pytest.MonkeyPatch, turning: Any
) -> None:
    """In the new play an ask that would not be made now is a divergence, as ever."""
    campaign = update(begun(database))
    assert campaign.ask(client="other").arm == PROBLEM.arms[-1]

    def other(_self: Policy, problem: Problem, *_: Any) -> Play:
        yield Batch(problem.arms, (6,) * len(problem.arms))
        raise AssertionError

    monkeypatch.setattr(turning, "play", other)  # and the revision is not raised
    again = wd.Campaign.open(database, "spring")
    with pytest.raises(wd.ReplayDivergedError) as info:
        again.verify()
    asked = again.events()[-1]
    assert str(info.value) == (
        f"Event {asked.seq} of campaign 'spring' asked for pull 0, do(W=1); run again on the log, turning asks for "
        f"pull 0, do(). Both are revision 2 of turning: the play began with whichdo {wd.__version__}, this is whichdo "
        f"{wd.__version__}. All that was told is kept: go on with the version it began with, or restart the play with "
        f"what is left."
    )


def test_a_revision_is_on_record_only_where_event_0_has_another(database: str, update: Update) -> None:
    campaign = begun(database)
    campaign.restart("to see")
    campaign.ask(client="a")
    campaign = update(campaign)
    campaign.ask(client="b")
    campaign.restart("to see")
    campaign.ask(client="c")
    campaign = update(campaign, 3)
    campaign.ask(client="d")
    found = [event.content for event in campaign.events() if event.kind == "restarted"]
    assert [body.get("revision") for body in found] == [None, 2, 2, 3]
    assert set(found[0]) == {"reason", "budget", "kept"}
    assert campaign.status().restarts[-1] == "turning was updated from revision 2 to revision 3"
    assert [play.revision for play in campaign._ledger.state().followed.values()] == [1, 1, 2, 2]


def test_an_update_before_the_first_ask(database: str, update: Update) -> None:
    campaign = update(create(database, policy="turning"))
    assert campaign.status().phase == "running"
    assert campaign.ask().arm == PROBLEM.arms[-1]
    assert kinds(campaign) == ["created", "restarted", "asked"]
    assert campaign.verify().notes == ()


def test_what_needs_no_decision_begins_no_play(database: str, update: Update) -> None:
    """What a client holds is handed out again, and so is a pull that came back, for its arm and in its slot."""
    before = begun(database)
    out = before.ask(3, client="lab")
    campaign = update(before)
    assert campaign.ask(3, client="lab") == out
    assert campaign.ask(2, client="lab", key="k") == out[:2]
    campaign.void(out[1], "lost")
    again = campaign.ask(5, client="other")  # as many as there are without a decision
    assert [(ticket.arm, ticket.needed) for ticket in again] == [(out[1].arm, out[1].needed)]
    slots = {pull.id: (pull.play, pull.slot) for pull in campaign._ledger.state().tickets.values()}
    assert slots[again[0].id] == slots[out[1].id]
    assert "restarted" not in kinds(campaign)
    assert campaign.ask(2, client="other")[0] == again[0]
    assert kinds(campaign)[-2:] == ["restarted", "asked"]


def test_too_little_for_a_new_play_waits_for_what_is_out_and_then_ends(database: str, update: Update) -> None:
    before = create(database, policy="turning", horizon=20)
    run(before, rng(1), most=13)
    out = before.ask(4, client="lab")  # three pulls are left, and a play needs five
    campaign = update(before)
    assert campaign.status().phase == "waiting"
    with pytest.raises(wd.WaitError, match="turning cannot go on until 4 open tickets are told: ") as info:
        campaign.ask(client="other")
    assert info.value.tickets == tuple(ticket.id for ticket in out)
    campaign.void(out[0], "lost")
    assert campaign.ask(client="other").arm == out[0].arm
    for ticket in [*out[1:], campaign.ask(client="other")]:
        campaign.tell(ticket, row_of(ticket, rng(2)))
    assert campaign.finished
    assert campaign.status().phase == "finished"
    assert campaign.ask(3) == []
    advice = campaign.recommend()
    assert advice.arm is not None
    assert advice.policy_arm is None
    assert advice.sentences[-1] == (
        "turning is finished (17 of the budget of 20 is spent). Another revision of it decided: the arm that it named "
        "is not recomputed."
    )
    assert campaign.verify() == campaign.status().receipt


def test_a_new_play_that_cannot_begin_changes_nothing(
    database: str, update: Update, monkeypatch: pytest.MonkeyPatch, turning: Any
) -> None:
    campaign = update(begun(database))
    before = campaign.status().receipt

    def broken(*_: Any) -> Play:
        raise ZeroDivisionError("a mistake of the new revision")

    right = turning.play
    monkeypatch.setattr(turning, "play", broken)
    for _ in range(2):
        with pytest.raises(wd.ConflictError, match=r"turning cannot go on \(ZeroDivisionError: a mistake of the new"):
            campaign.ask(client="other", key="k")
    assert campaign.status().receipt == before == wd.Campaign.open(database, "spring").status().receipt
    monkeypatch.setattr(turning, "play", right)
    assert campaign.ask(client="other", key="k").arm == PROBLEM.arms[-1]


# ------------------------------------------------------------------------------------------- everything else goes on


def test_verify_says_which_asks_were_decided_by_another_revision(database: str, update: Update) -> None:
    before = begun(database)
    assert before.verify().notes == ()
    receipt = before.status().receipt
    campaign = update(before)
    whole = campaign.verify(receipt)
    assert whole == receipt
    (note,) = whole.notes
    assert note == (
        "Play 0: 8 asks (events 1 to 15) decided by revision 1 of turning; this program has revision 2. Chain and "
        "slots were checked; the choice of arms is not recomputed."
    )
    said = campaign.status().update
    assert (
        said == "turning was updated from revision 1 to revision 2: it restarts at the next ask that needs a decision."
    )
    assert said in campaign.status().sentences
    campaign.ask(client="other")
    assert campaign.status().update is None
    assert campaign.verify().notes == whole.notes


@pytest.mark.parametrize("change", ["slot", "arm", "play"])
def test_slots_that_do_not_follow_one_another_are_found_in_older_plays(
    tmp_path: Path, update: Update, change: str
) -> None:
    """Whatever a revision decided, slots go out in order, and one that came back goes out for its own arm."""
    before = create(str(tmp_path / "a.db"), policy="turning")
    tickets = before.ask(3, client="lab")
    before.void(tickets[1], "lost")
    before.ask(4, client="lab")
    events = before.events()
    last = events[-1]
    body = last.content
    assert [each["slot"] for each in body["tickets"]] == [1, 3]
    if change == "slot":
        body["tickets"][0]["slot"] = 3
    elif change == "arm":
        body["tickets"][0]["arm"] = "do(W=1)"
    else:
        body["play"] = 1
    forged: list[Event] = [*events[:-1], sealed("spring", last.seq, "asked", body, last.time, last.previous)]
    (tmp_path / "a.jsonl").write_text("".join(export_lines(forged)))
    update(before)
    campaign = wd.Campaign.import_(tmp_path / "b.db", tmp_path / "a.jsonl")
    asked, play = body["tickets"][0], body["play"]
    with pytest.raises(wd.ReplayDivergedError) as info:
        campaign.verify()
    assert str(info.value) == (
        f"Event 3 of campaign 'spring' asked for pull {asked['slot']}, {asked['arm']}, of play {play}; whatever "
        f"revision 1 of turning decided, play 0 goes on with pull 1, do(). All that was told is kept: go on with "
        f"the version it began with, or restart the play with what is left."
    )
    campaign.restart("go on")
    assert campaign.ask(client="other").arm == wd.do(W=1)


def test_leases_late_tells_and_corrections_in_an_older_play(database: str, update: Update) -> None:
    clock = Clock()
    before = create(database, policy="turning", horizon=40, lease=3600, clock=clock)
    late, lost, wrong = before.ask(3, client="slow")
    before.tell(wrong, {"Y": 1})
    campaign = update(before)
    clock.move(minutes=61)
    assert campaign.status().tickets["expired"] == 2
    again = campaign.ask(client="quick")
    assert again.arm == late.arm
    assert campaign.tell(lost, {"Y": 0}).repeated is False  # its slot had not gone out again
    campaign.tell(late, {"Y": 0})
    tickets = campaign.status().tickets
    assert (tickets["late"], tickets["extra"], tickets["counted"]) == (2, 1, 3)
    campaign.amend(wrong, {"Y": 0}, "the wrong column")
    campaign.void(again, "lost")
    campaign.amend(again, {"Y": 1}, "found again")
    status = campaign.status()
    assert (status.spent, status.left, status.tickets["amended"]) == (4, 36, 2)
    assert "restarted" not in kinds(campaign)
    assert wd.Campaign.open(database, "spring", clock=clock).status().to_dict() == status.to_dict()


def test_reward_windows_close_in_an_older_play(database: str, update: Update) -> None:
    clock = Clock()
    before = create(database, policy="turning", horizon=5, window=86400, clock=clock)
    tickets = before.ask(5)
    campaign = update(before)
    for ticket in tickets:
        campaign.tell(ticket, {"Y": 1})
    assert campaign.status().tickets["counted"] == 0
    with pytest.raises(wd.WaitError, match="cannot go on until the reward windows of"):
        campaign.ask()
    clock.move(days=1)
    assert campaign.status().tickets["counted"] == 5
    assert campaign.finished


def test_arms_are_forbidden_and_logs_observed_in_an_older_play(database: str, update: Update) -> None:
    campaign = update(begun(database))
    campaign.pause("a holiday")
    with pytest.raises(wd.ConflictError, match="is paused"):
        campaign.ask(client="other")
    campaign.resume("back")
    campaign.observe({"Z": [0, 1], "X": [0, 1], "W": [0, 1], "Y": [0, 1]})
    assert "restarted" not in kinds(campaign)
    campaign.forbid(wd.do(W=1), "not safe")
    assert campaign.events()[-1].content["revision"] == 2
    assert campaign.ask(client="other").arm == wd.do(W=0)
    campaign.allow(wd.do(W=1), "safe after all")
    assert campaign.ask(2, client="other")[1].arm == wd.do(W=1)
    assert [event.content["reason"] for event in campaign.events() if event.kind == "restarted"] == [
        "forbidden: do(W=1) (not safe)",
        "allowed: do(W=1) (safe after all)",
    ]
    assert campaign.verify()


def test_an_alarm_in_an_older_play_begins_one_of_this_revision(
    tmp_path: Path, update: Update, monkeypatch: pytest.MonkeyPatch
) -> None:
    suspect = {"arm": "do(X=1)", "kind": "estimate", "node": "Y"}
    body = {"text": "X -> Y is confounded.", "suspect": suspect, "edge": "X <-> Y"}
    campaign = update(begun(str(tmp_path / "a.db"), "warm-halving", horizon=60))
    found = [(Alarm.from_body(body), "alarm: X <-> Y seems to be missing in the graph")]
    monkeypatch.setattr("whichdo.campaign.follow.found_wrong", lambda state, _: [] if state.alarms else found)
    (ticket, *_) = campaign.ask(3, client="lab")
    campaign.tell(ticket, row_of(ticket, rng()))
    assert kinds(campaign)[-3:] == ["told", "alarm", "restarted"]
    assert campaign.events()[-1].content["revision"] == wd.available_policies()["warm-halving"].revision
    run(campaign, rng(), client="other")
    assert campaign.finished
    assert wd.Campaign.open(tmp_path / "a.db", "spring").verify().notes


def test_reports_exports_and_imports_of_an_older_play(database: str, update: Update, tmp_path: Path) -> None:
    before = begun(database)
    before.export(tmp_path / "before.jsonl")
    receipt = before.status().receipt
    campaign = update(before)
    campaign.export(tmp_path / "after.jsonl")
    assert (tmp_path / "after.jsonl").read_bytes() == (tmp_path / "before.jsonl").read_bytes()
    copy = wd.Campaign.import_(tmp_path / "copy.db", tmp_path / "after.jsonl")
    assert copy.verify() == receipt
    write_report(campaign, tmp_path / "one.html")
    write_report(copy, tmp_path / "two.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert campaign.verify().notes[0] in (tmp_path / "one.html").read_text()
    assert campaign.recommend(at=9).to_dict() == copy.recommend(at=9).to_dict()
    assert copy.ask(client="other").arm == campaign.ask(client="other").arm


def test_an_audit_goes_on_whatever_the_revision(database: str, update: Update) -> None:
    """Its pulls are on record; only what the policy named is not recomputed."""
    before = create(database, policy="warm-halving", horizon=60, audit=True)
    while not (state := before._ledger.state()).auditing:
        ticket = before.ask()
        before.tell(ticket, row_of(ticket, rng(len(state.tickets))))
    coming = before.ask(2)
    assert before.recommend().policy_arm is not None
    campaign = update(before)
    assert campaign.ask(2) == coming
    assert (
        campaign.recommend().sentences[-1].startswith("warm-halving is done, and what looking says is being audited (")
    )
    run(campaign, rng(3))
    assert "restarted" not in kinds(campaign)
    assert campaign.status().phase == "finished"
    assert campaign.recommend().policy_arm is None


def test_an_older_play_that_has_spent_its_money_is_audited(database: str, update: Update) -> None:
    """All but what was kept for audits is out when the program changes: told, it is the audit's turn."""
    before = create(database, policy="warm-halving", horizon=60, audit=True)
    kept = before.status().terms["audit"]
    while (out := before.ask(60)) and before._ledger.state().left > kept:
        for ticket in out:
            before.tell(ticket, row_of(ticket, rng(len(before.events()))))
    campaign = update(before)
    for ticket in out:
        campaign.tell(ticket, row_of(ticket, rng(1)))
    audited = next(event for event in campaign.events() if event.kind == "audited")
    assert audited.content["revision"] == wd.available_policies()["warm-halving"].revision
    assert set(audited.content) == {"pulls", "budget", "round", "revision", "made_by"}
    run(campaign, rng(3))
    assert campaign.finished
    assert campaign.verify().notes


def test_a_policy_that_was_done_and_needed_no_audit_stays_done(
    database: str, update: Update, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log says that it was done, though what was kept for audits would pay for a new play."""
    monkeypatch.setattr("whichdo.campaign.follow.round_of_audits", lambda *_, **__: {})
    before = create(database, policy="warm-halving", horizon=60, audit=True)
    run(before, rng(1))
    assert before.events()[-1].content["pulls"] == {}
    assert before.status().left == before.status().terms["audit"]
    campaign = update(before)
    assert campaign.finished
    assert campaign.ask(3) == []
    assert campaign.status().phase == "finished"


# ------------------------------------------------------------------------------------ clients, keys, older programs


def test_a_key_gives_the_tickets_of_the_new_play_again(database: str, update: Update) -> None:
    campaign = update(begun(database))
    asked = campaign.ask(4, client="other", key="monday")
    restarted, last = campaign.events()[-2:]
    assert (restarted.key, last.key) == (None, "monday")
    assert campaign.ask(4, client="other", key="monday") == asked
    assert campaign.events()[-1] == last
    again = wd.Campaign.open(database, "spring")
    again.tell(asked[0], row_of(asked[0], rng()))
    assert again.ask(4, client="other", key="monday") == asked
    assert kinds(again).count("restarted") == 1
    with pytest.raises(wd.ConflictError, match=r'The key "monday" was used at .* for another request'):
        again.ask(5, client="other", key="monday")
    assert [event.kind for event in again.events() if event.key == "monday"] == ["asked"]


def test_many_clients_ask_at_once_after_an_update(database: str, update: Update) -> None:
    update(begun(database, horizon=60)).close()
    found: list[Any] = []

    def work(number: int) -> None:
        try:
            with wd.Campaign.open(database, "spring") as campaign:
                found.extend(campaign.ask(2, client=f"client {number}"))
        except Exception as error:  # noqa: BLE001 - shown by the assertion
            found.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({getattr(ticket, "id", ticket) for ticket in found}) == len(found) == 12
    campaign = wd.Campaign.open(database, "spring")
    assert kinds(campaign).count("restarted") == 1
    assert campaign.verify()


def test_an_older_program_leaves_decisions_to_the_later_one(
    database: str, update: Update, monkeypatch: pytest.MonkeyPatch, turning: Any, tmp_path: Path
) -> None:
    """Two versions at work on one campaign: whatever needs no decision can be done with both."""
    new = update(begun(database))
    out = new.ask(3, client="new")
    monkeypatch.setattr(turning, "revision", 1)
    old = wd.Campaign.open(database, "spring")
    assert old.status().phase == "stuck"
    text = (
        f'Campaign "spring" is decided by revision 2 of turning since whichdo {wd.__version__}; this is whichdo '
        f"{wd.__version__}, which has revision 1. Update whichdo to ask for more. Open tickets can be told, "
        f"and reports and exports made, with this version too."
    )
    before = old.status().receipt
    log = {"Z": [0], "X": [0], "W": [0], "Y": [0]}
    calls: list[Callable[[], object]] = [
        lambda: old.ask(client="other"),
        lambda: old.restart("please"),
        lambda: old.observe(log, restart=True),
    ]
    for call in calls:
        with pytest.raises(wd.TooNewError) as info:
            call()
        assert str(info.value) == text
    assert old.status().receipt == before == old.verify()
    assert old.status().update == text
    assert old.ask(5, client="new") == out
    old.tell(out[0], row_of(out[0], rng()))
    old.void(out[1], "lost")
    assert old.ask(client="other").arm == out[1].arm  # it came back: nothing to decide
    old.export(tmp_path / "a.jsonl")
    write_report(old, tmp_path / "a.html")
    assert wd.Campaign.import_(tmp_path / "b.db", tmp_path / "a.jsonl").recommend().pulls
    assert not old.finished
    old.forbid(wd.do(W=0), "not safe")
    assert old.events()[-1].content["revision"] == 2
    with pytest.raises(wd.TooNewError):
        old.ask(client="third")
    monkeypatch.setattr(turning, "revision", 2)
    again = wd.Campaign.open(database, "spring")
    assert not isinstance(again._ledger.state().play, Followed)
    assert again.ask(client="third").arm == wd.do(W=1)
    assert again.verify()


def test_a_campaign_that_a_later_program_began(database: str, update: Update, turning: Any) -> None:
    turning.revision = 5
    before = create(database, policy="turning", horizon=5)
    tickets = before.ask(5)
    campaign = update(before, 4)
    assert campaign.ask(5) == tickets
    for ticket in tickets:
        campaign.tell(ticket, {"Y": 1})
    assert campaign.finished  # nothing is left, whoever decides
    assert campaign.ask(5) == []


@pytest.mark.parametrize("revision", [0, -1, True, "2", None, 1.5])
def test_a_revision_that_is_no_number_is_damage(tmp_path: Path, revision: object) -> None:
    first = create(str(tmp_path / "a.db"), policy="ue").events()[0]
    body = first.content
    body["policy"]["revision"] = revision
    restart = {"reason": "r", "budget": 40.0, "kept": 0.0, "revision": revision, "made_by": {"whichdo": "9"}}
    for forged, text in (
        (
            [sealed("spring", 0, "created", body, first.time, first.previous)],
            "does not contain the terms of a campaign",
        ),
        ([first, sealed("spring", 1, "restarted", restart, first.time, first.hash)], "cannot be understood"),
    ):
        (tmp_path / "a.jsonl").write_text("".join(export_lines(forged)))
        with pytest.raises(wd.DamagedError, match=rf"{text}: ValueError revision is"):
            wd.Campaign.import_(tmp_path / "b.db", tmp_path / "a.jsonl")
