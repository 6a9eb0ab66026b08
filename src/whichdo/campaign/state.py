"""The state of a campaign: a pure fold over its events.

No clock, no file, no random generator but the policy's own: the same events give the same state, on any day.  Time
enters by what events say (that leases have ended, that reward windows have closed), and `State.due` tells what such an
event would have to say at a given moment.

The policy is run again on the log.  A logged ask that it would not make now ends its play with the reason
(`State.diverged`): nothing that was told is lost by it, and estimates go on, but no more can be asked.  Plays of
another revision of the policy are followed, not run (`whichdo.campaign.plan`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from whichdo.campaign.audit import Audit, Audits, audits_owed, columns_of_looks
from whichdo.campaign.deadlines import Deadlines
from whichdo.campaign.events import check_chain, moment
from whichdo.campaign.listening import Ear
from whichdo.campaign.logs import Log
from whichdo.campaign.plan import Plan, can_begin, divergence
from whichdo.campaign.play import Followed, Play
from whichdo.campaign.pool import pooled
from whichdo.campaign.revised import Revision
from whichdo.campaign.sealing import secret_for
from whichdo.campaign.terms import Terms
from whichdo.campaign.tickets import Phase, Pull
from whichdo.checking.denial import denial, statement_scopes
from whichdo.errors import Damaged, is_interrupt
from whichdo.estimate.rank import ranking
from whichdo.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from whichdo.campaign.events import Event
    from whichdo.checking.denial import Denial
    from whichdo.estimate.ranking import Ranking
    from whichdo.evidence import Tally
    from whichdo.monitoring.conflict import Suspect
    from whichdo.policies.base import Recommendation
    from whichdo.problem import Arm, Problem

__all__ = ["State"]


class State:
    """What the events so far come to; `apply` takes in the next."""

    def __init__(self, first: Event) -> None:
        if first.kind != "created":
            raise Damaged(f"Event 0 is {first.kind!r}, where a campaign is created.", 0)
        check_chain([first])
        self.secret = secret_for(first.content, first.campaign)
        self.terms = Terms.from_body(first.content)
        if self.terms.name != first.campaign:
            raise Damaged(f"Event 0 begins {self.terms.name!r}, in the log of {first.campaign!r}.", 0)
        self.events = 1
        self.head, self.began, self.last = first.hash, first.time, first.time
        self.keys: dict[str, Event] = {} if first.key is None else {first.key: first}
        self.tickets: dict[str, Pull] = {}
        self.held: dict[str, dict[str, None]] = {}
        """For each client the tickets that it still holds."""
        self.logs: list[Log] = []
        self.logs_known = 0
        """How many of them the policy had when it began."""
        self.set_aside: list[dict[str, Any]] = []
        """What the log says about logs that are out of date, each time some were set aside."""
        self.paused: str | None = None
        self.forbidden: dict[Arm, str] = {}
        self.alarms: list[dict[str, Any]] = []
        self.restarts: list[dict[str, Any]] = []
        self.diverged: str | None = None
        self.spent = 0.0
        self.promised = 0.0
        """What the tickets cost that are out."""
        self.pulled: Counter[Arm] = Counter()
        """How many pulls of each arm count."""
        self.stopped: str | None = None
        """Why the campaign stopped before the policy was done, if it did."""
        self.audits = Audits(self.terms.audit)
        """What was audited so far."""
        self.followed: dict[int, Followed] = {}
        """The plays that another revision decided and that have been asked, by number."""
        self.plan = Plan.first(self.terms)
        """What the play that is on begins on."""
        self._named: Recommendation | None = None
        self._ear: tuple[object, Ear] | None = None
        self._denial: tuple[object, Denial] | None = None
        self._early = 0  # logs observed before the first direct pull
        self._play: Play | Followed | None = None
        self._failure: str | None = None
        self._leases, self._windows = Deadlines(), Deadlines()
        self._codes = {name: _coder(self.terms.problem, name) for name in self.terms.problem.domains}
        self._arms = {str(arm): arm for arm in self.terms.problem.offered}
        self._costs = {text: self.terms.problem.prices[arm] for text, arm in self._arms.items()}
        self._revision = Revision(self.terms.problem)

    @property
    def receipt(self) -> str:
        """Of the last event."""
        return f"{self.events - 1}:{self.head}"

    # ------------------------------------------------------------------------------------------------ the problem

    @property
    def believed(self) -> Problem:
        """The problem with the confounders that alarms have named; all arms."""
        return self._revision.problems(self.alarms, self.forbidden).believed

    @property
    def allowed(self) -> Problem:
        """The same without the arms that are forbidden, pruned anew if it is to be: what the policy plays on."""
        return self._revision.problems(self.alarms, self.forbidden).allowed

    @property
    def suspects(self) -> list[Suspect]:
        """Where alarms hold the graph to be wrong."""
        return self._revision.suspects(self.alarms)

    # ------------------------------------------------------------------------------------------------- the policy

    @property
    def play(self) -> Play | Followed | None:
        """The play that is on; None where it could not begin, and `failure` says why."""
        if self._play is None and self._failure is None:
            try:
                self._play = self._begin()
            except Exception as error:  # whatever a policy raises, the log must stay readable
                if is_interrupt(error):
                    raise KeyboardInterrupt from error
                self._failure = f"{type(error).__name__}: {error}"
        return self._play

    @property
    def failure(self) -> str | None:
        """Why the policy asks for nothing more, if it should but cannot."""
        play = self.play
        return self._failure if play is None else play.failure

    @property
    def done(self) -> bool:
        """Whether the play that is on wants no more: the policy has decided, or another revision's money is spent."""
        play = self.play
        if isinstance(play, Followed):
            return self.plan.is_over or (not play.unfilled and play.failure is None and not can_begin(self))
        return play is not None and play.finished

    @property
    def finished(self) -> bool:
        """Whether nothing is left to ask: the policy has made its recommendation and it was audited, or it is sure."""
        return self.stopped is not None or (self.done and not self.audit_due)

    @property
    def audit_due(self) -> bool:
        """Whether the policy is done, or a round of its audit, and another is to follow."""
        if self.audits.left <= 0 or self.stopped is not None or self.left <= 0 or self.resumes:
            return False
        return self.done

    @property
    def resumes(self) -> bool:
        """Whether the play that is on were fresh looks, after which the policy goes on."""
        return self.auditing and self.audits.interim

    @property
    def auditing(self) -> bool:
        """Whether the play that is on is an audit."""
        return self.plan.is_audit

    @property
    def recommendation(self) -> Recommendation | None:
        """What the policy names, once it is done."""
        play = None if self.auditing else self.play
        return play.recommendation if play is not None and play.finished else self._named

    @property
    def left(self) -> float:
        """What is left of the budget when all open tickets are told."""
        return self.terms.budget - self.spent - self.promised

    def _begin(self) -> Play | Followed:
        plan, policy, problem = self.plan, self.terms.policy, self.allowed
        number, budget, seed = plan.number, plan.budget, plan.seed(self.terms.seed)
        if plan.is_audit:
            wanted = (self.audits.pulls or {}).items()
            pulls = tuple((arm, count) for arm, count in wanted if arm not in self.forbidden)
            audit = Audit(pulls, columns_of_looks(policy, problem, self.terms.budget))
            # What is to be audited was decided before; an arm may have been pruned since.
            problem = self._revision.problems(self.alarms, self.forbidden).permitted
            return Play(number, audit, problem, budget=budget, seed=seed, seen=None, nodes=self._nodes)
        followed = plan.revision != policy.revision
        seen = None if followed else self._at_hand(problem, budget)
        self.logs_known = len(self.logs)
        if followed:
            return Followed(number, budget, plan.revision)
        return Play(number, policy, problem, budget=budget, seed=seed, seen=seen, nodes=self._nodes)

    @property
    def _nodes(self) -> tuple[str, ...]:
        """What the codes of a row are about: an alarm may change the order of the graph's nodes."""
        return self.terms.problem.graph.nodes

    def _at_hand(self, problem: Problem, budget: float) -> Tally | None:
        """What a new play begins with: all looks, and direct pulls where the policy can use them."""
        takes_pulls = self.terms.policy.takes_pulls
        rows = [(arm, codes) for arm, codes in self.rows() if arm.is_look or takes_pulls]
        if not rows and not self.trusted:
            return None
        wanted = Session(self.terms.policy, problem, budget=budget).batch.scopes or ()
        return pooled(problem, self.trusted, rows, nodes=self._nodes, scopes=(*wanted, *statement_scopes(problem)))

    # ------------------------------------------------------------------------------------------------- the evidence

    @property
    def trusted(self) -> list[Log]:
        """The logs that count: all but those that were set aside as out of date."""
        if not self.set_aside:
            return self.logs
        old = {name for each in self.set_aside for name in each["logs"]}
        return [log for log in self.logs if log.sha256 not in old]

    def rows(self) -> Iterator[tuple[Arm, tuple[int, ...]]]:
        """Arm and codes of every pull that counts, in the order of asking."""
        for pull in self.tickets.values():
            if pull.counted and pull.codes is not None:
                yield pull.arm, pull.codes

    def evidence(self, *, looks_alone: bool = False) -> Tally:
        """All that is known of the arms that are allowed: logs, looks and direct pulls, rows as they were amended."""
        rows = [row for row in self.rows() if row[0].is_look] if looks_alone else self.rows()
        return pooled(self.allowed, self.trusted, rows, nodes=self._nodes, scopes=statement_scopes(self.allowed))

    def ranked(self, *, confidence: float = 0.95) -> Ranking:
        """Every arm by all evidence, with the policy's doubt about graph and logs: where pulls contradict, they win."""
        doubt = float(getattr(self.terms.policy, "doubt", 0.0))
        logged = today = None
        if doubt and self.trusted:
            allowed, scopes = self.allowed, statement_scopes(self.allowed)
            logged = pooled(allowed, self.trusted, [], nodes=self._nodes)
            today = pooled(allowed, [], self.rows(), nodes=self._nodes, scopes=scopes)
        return ranking(
            self.evidence(),
            confidence=confidence,
            doubt=doubt,
            logged=logged,
            today=today,
            denied=self.denial().chances,
        )

    def denial(self) -> Denial:
        """What the logs that count deny of the graph, and which arms the policy therefore doubts."""
        doubt = float(getattr(self.terms.policy, "doubt", 0.0))
        key = (len(self.alarms), len(self.logs), len(self.set_aside), len(self.forbidden))
        if self._denial is None or self._denial[0] != key:
            problem = self.allowed
            looks = pooled(problem, self.trusted, [], nodes=self._nodes, scopes=statement_scopes(problem))
            self._denial = key, denial(problem, looks, doubt)
        return self._denial[1]

    def ear(self) -> Ear:
        """What the alarm listens to, with all that counts."""
        key = (len(self.alarms), len(self.logs), len(self.set_aside))
        if self._ear is None or self._ear[0] != key:
            trusted = self.trusted
            logged = sum(log.looks for log in self.logs[: self._early] if log in trusted)
            ear = Ear(self.believed, self._nodes, trusted, logged)
            for arm, codes in self.rows():
                ear.hear(arm, codes)
            self._ear = key, ear
        return self._ear[1]

    def direct(self) -> Tally:
        """The rewards of the campaign's own pulls, for the arms that are allowed; fresh looks are pulls of do()."""
        return self.ear().direct(self.allowed)

    def codes_of(self, row: dict[str, Any]) -> tuple[int, ...]:
        """The codes of a row that is on record, of all nodes; -1 where it does not say."""
        return tuple([code(row[name]) if name in row else -1 for name, code in self._codes.items()])

    # --------------------------------------------------------------------------------------------------- the clock

    def due(self, now: datetime) -> tuple[list[str], list[str]]:
        """The tickets whose lease has ended, and those whose reward window has closed, by ``now``."""
        return (
            self._leases.over(now, lambda name: self.tickets[name].phase is Phase.ASKED),
            self._windows.over(now, lambda name: not self.tickets[name].counted),
        )

    # ---------------------------------------------------------------------------------------------------- the fold

    def apply(self, event: Event, *, sealed: bool = False) -> None:
        """Take in the next event; it must follow the last, whole, as one that was ``sealed`` for it just now does."""
        if not sealed:
            check_chain([event], self.events, self.head, self.secret)
        body = event.content
        try:
            getattr(self, f"_on_{event.kind}")(event, body)
        except (KeyError, AttributeError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise Damaged(
                f"Event {event.seq} ({event.kind!r}) of campaign {self.terms.name!r} cannot be understood: "
                f"{type(error).__name__} {error}. Was it written by a later version?",
                event.seq,
            ) from error
        if event.key is not None:
            self.keys[event.key] = event
        if self.terms.lease is not None and event.time < self.last:
            self._set_back(event.time)
        self.events += 1
        self.head, self.last = event.hash, event.time

    def _on_observed(self, event: Event, body: dict[str, Any]) -> None:
        sizes = {name: len(values) for name, values in self.terms.problem.domains.items()}
        self.logs.append(Log.from_body(body, event.receipt, sizes))
        if not any(not arm.is_look for arm in self.pulled):
            self._early = len(self.logs)
        self._forget_unasked()

    def _on_asked(self, event: Event, body: dict[str, Any]) -> None:
        terms, play = self.terms, self.play
        when = moment(event.time) if terms.lease is not None or terms.window is not None else None
        lease = when + timedelta(seconds=terms.lease) if when and terms.lease is not None else None
        window = when + timedelta(seconds=terms.window) if when and terms.window is not None else None
        needed, receipt = tuple(body["needed"]), event.receipt
        if isinstance(play, Followed):
            self.followed[play.number] = play
            play.note_ask(event.seq)
        for each in body["tickets"]:
            arm = self._arms[each["arm"]]
            number, slot = body["play"], each["slot"]
            if play is None or play.failure is None:
                self._check_same(event, play, number, slot, arm)
            cost = self._costs[each["arm"]]
            pull = Pull(each["id"], arm, cost, body["client"], event.time, event.seq, number, slot, needed)
            pull.lease_end, pull.window_end, pull.since, pull.receipt = lease, window, event.time, receipt
            pull.process, pull.asked_receipt = str(body.get("process", "")), receipt
            if play is not None and play.failure is None:
                play.hand_out(slot, arm, needed)
            self.tickets[pull.id] = pull
            self.held.setdefault(pull.client, {})[pull.id] = None
            self.promised += cost
            if lease is not None:
                self._leases.add(lease, pull.id)

    def _set_back(self, time: str) -> None:
        """A clock says less than the last event: tickets that a clock ahead of it handed out are leased from here."""
        ends = moment(time) + timedelta(seconds=self.terms.lease or 0.0)
        for pull in [self.tickets[name] for names in self.held.values() for name in names]:
            if pull.asked > time and pull.lease_end is not None and pull.lease_end > ends:
                pull.lease_end = ends
                self._leases.add(ends, pull.id)

    def _check_same(self, event: Event, play: Play | Followed | None, number: int, slot: int, arm: Arm) -> None:
        """Whether the policy, run again, asks for the same; if not, it is left there."""
        if play is not None and play.number == number and play.expects(slot, arm):
            return
        self.diverged = divergence(self, play, event, f"pull {slot}, {arm}", number)
        if play is not None:
            play.fail(self.diverged)
        else:
            self._failure = self.diverged

    def _on_told(self, event: Event, body: dict[str, Any]) -> None:
        pull = self.tickets[body["ticket"]]
        if pull.phase is Phase.TOLD:
            raise ValueError(f"ticket {pull.id} is told twice")
        self._take(event, pull, body["row"], late=bool(body.get("late", False)))
        pull.teller = str(body.get("client", pull.client))

    def _take(self, event: Event, pull: Pull, row: dict[str, Any], *, late: bool) -> None:
        """A row for a ticket that had none: open, expired or voided."""
        if pull.phase is Phase.ASKED:
            self._release(pull)
        else:
            play = self._play
            mine = play is not None and play.number == pull.play and play.reclaim(pull.slot)
            pull.extra = not mine
        pull.phase, pull.since, pull.receipt, pull.late = Phase.TOLD, event.time, event.receipt, late
        pull.row, pull.codes = row, self.codes_of(row)
        self.spent += pull.cost
        if pull.window_end is not None and self.terms.window is not None:  # asked by a clock that was ahead: from now
            told = moment(event.time)
            pull.window_end = min(pull.window_end, told + timedelta(seconds=self.terms.window))
            if told < pull.window_end:
                self._windows.add(pull.window_end, pull.id)
                return
        self._count(pull)

    def _count(self, pull: Pull) -> None:
        """From here on the pull counts; the policy hears of it with the rest of its batch."""
        pull.counted = True
        self.pulled[pull.arm] += 1
        if self._ear is not None and pull.codes is not None:
            self._ear[1].hear(pull.arm, pull.codes)
        self._forget_unasked()
        play = self._play
        if play is None or play.number != pull.play:
            pull.extra = True
        elif not pull.extra and pull.codes is not None:
            play.fill(pull.slot, pull.codes)

    def _release(self, pull: Pull) -> None:
        """A ticket is no longer out."""
        self.held[pull.client].pop(pull.id, None)
        self.promised -= pull.cost

    def _on_closed(self, event: Event, body: dict[str, Any]) -> None:
        for name in body["tickets"]:
            pull = self.tickets[name]
            if pull.phase is not Phase.TOLD:
                raise ValueError(f"the reward window of ticket {name} closes before it was told")
            if not pull.counted:
                self._count(pull)

    def _on_voided(self, event: Event, body: dict[str, Any]) -> None:
        self._give_up(event, self.tickets[body["ticket"]], Phase.VOIDED, body["reason"])

    def _on_expired(self, event: Event, body: dict[str, Any]) -> None:
        for name in body["tickets"]:
            self._give_up(event, self.tickets[name], Phase.EXPIRED, "its lease ended")

    def _give_up(self, event: Event, pull: Pull, phase: Phase, reason: str) -> None:
        if pull.phase is Phase.TOLD:
            raise ValueError(f"ticket {pull.id} was told, and is {phase.value} after it")
        if pull.phase is Phase.ASKED:
            self._release(pull)
            play = self._play
            if play is not None and play.number == pull.play:
                play.give_back(pull.slot)
        pull.phase, pull.since, pull.receipt, pull.reason = phase, event.time, event.receipt, reason

    def _on_amended(self, event: Event, body: dict[str, Any]) -> None:
        pull = self.tickets[body["ticket"]]
        pull.amended += 1
        pull.reason = body["reason"]
        if pull.phase is not Phase.TOLD:
            self._take(event, pull, body["row"], late=True)
            return
        if pull.first is None and pull.row is not None:
            pull.first = pull.row, pull.receipt
        pull.row, pull.codes = body["row"], self.codes_of(body["row"])
        pull.since, pull.receipt = event.time, event.receipt
        self._ear = None
        self._forget_unasked()
        play = self._play
        if pull.counted and not pull.extra and play is not None and play.number == pull.play:
            play.refill(pull.slot, pull.codes)

    def _on_paused(self, event: Event, body: dict[str, Any]) -> None:
        self.paused = body["reason"]

    def _on_resumed(self, event: Event, body: dict[str, Any]) -> None:
        self.paused = None

    def _on_forbidden(self, event: Event, body: dict[str, Any]) -> None:
        self.forbidden |= dict.fromkeys((self._arms[text] for text in body["arms"]), body["reason"])
        self._forget_unasked()

    def _on_allowed(self, event: Event, body: dict[str, Any]) -> None:
        for text in body["arms"]:
            self.forbidden.pop(self._arms[text], None)
        self._forget_unasked()

    def _on_alarm(self, event: Event, body: dict[str, Any]) -> None:
        self.alarms.append(body)
        self._forget_unasked()

    def _on_set_aside(self, event: Event, body: dict[str, Any]) -> None:
        """Logs are out of date; so is what alarms made of them."""
        if not set(body["logs"]) <= {log.sha256 for log in self.trusted}:
            raise ValueError("logs are set aside that do not count")
        self.set_aside.append(body)
        self.alarms = []
        self._forget_unasked()

    def _forget_unasked(self) -> None:
        """A play begins with what is known when it is first asked.

        Whoever looked at it before has begun it, but that is not on record: when more is known, it begins anew.
        """
        if self.diverged is None and (self._play is None or not self._play.asked):
            self._play, self._failure = None, None

    def _on_restarted(self, event: Event, body: dict[str, Any]) -> None:
        if not (self.resumes and self.done):  # after fresh looks the policy just goes on
            self.restarts.append({**body, "seq": event.seq, "time": event.time, "receipt": event.receipt})
        self._give_up_audit()
        self.plan = self.plan.after(self.terms, body)
        if self.restarts:
            self.restarts[-1]["play"] = self.plan.number
        self._named, self.stopped = None, None
        self._play, self._failure, self.diverged = None, None, None

    def _on_audited(self, event: Event, body: dict[str, Any]) -> None:
        self._named = self.recommendation
        self._give_up_audit()
        pulls = {self._arms[text]: count for text, count in body["pulls"].items()}
        self.audits.begin(pulls, body, self.terms.problem)
        if pulls or self.auditing:
            self.plan = self.plan.after(self.terms, body, is_audit=True)
            self._play, self._failure = None, None
        else:
            self.plan = replace(self.plan, is_over=True)

    def _give_up_audit(self) -> None:
        """What an audit that is on still owes will not be pulled."""
        if self.auditing:
            self.audits.give_up(audits_owed(self), self.terms.problem)

    def _on_stopped(self, event: Event, body: dict[str, Any]) -> None:
        self.stopped = body["reason"]


def _coder(problem: Problem, name: str) -> Callable[[Any], int]:
    """What turns a value that is on record into its code."""
    if name == problem.reward and problem.reward_range is not None:
        return problem.reward_range.level
    return {value: code for code, value in enumerate(problem.domains[name])}.__getitem__
