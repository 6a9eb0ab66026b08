"""The state of a campaign: a pure fold over its events.

No clock, no file, no random generator but the policy's own: the same events give the same state, on any day.  Time
enters by what events say (that leases have ended, that reward windows have closed), and `State.due` tells what such an
event would have to say at a given moment.

The policy is run again on the log.  A logged ask that it would not make now ends its play with the reason
(`State.diverged`): nothing that was told is lost by it, and estimates go on, but no more can be asked.  Plays of
another revision of the policy are followed, not run (`whichdo.campaign.plan`).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from whichdo.campaign import events as on_record
from whichdo.campaign.audit import Audit, Audits, columns_of_looks
from whichdo.campaign.chain import check_chain, follows, moment, secret_for
from whichdo.campaign.knowledge import Knowledge
from whichdo.campaign.plan import Begun, Plan, divergence
from whichdo.campaign.play import Followed, Play
from whichdo.campaign.register import ASKED, EXPIRED, TOLD, VOIDED, Deadlines
from whichdo.campaign.tallying import Log
from whichdo.campaign.terms import Terms
from whichdo.campaign.tickets import NEVER, PHASES, instant
from whichdo.errors import DamagedError, is_interrupt

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from whichdo.campaign.chain import Event
    from whichdo.evidence import Tally
    from whichdo.policies.base import Recommendation
    from whichdo.problem import Arm


class State(Knowledge):
    """What the events so far come to; `apply` takes in the next."""

    def __init__(self, first: Event) -> None:
        if first.kind != "created":
            raise DamagedError(f"Event 0 is {first.kind!r}, where a campaign is created.", 0)
        check_chain([first])
        self.secret = secret_for(first.content, first.campaign)
        super().__init__(Terms.from_body(first.content))
        if self.terms.name != first.campaign:
            raise DamagedError(f"Event 0 begins {self.terms.name!r}, in the log of {first.campaign!r}.", 0)
        self.events = 1
        self.head, self.began, self.last = first.hash, first.time, first.time
        self.held: dict[str, dict[str, None]] = {}
        """For each client the tickets that it still holds."""
        self.logs_known = 0
        """How many of the logs the policy had when it began."""
        self.paused: str | None = None
        self.restarts: list[Begun] = []
        self.diverged: str | None = None
        self.spent = 0.0
        self.promised = 0.0
        """What the tickets cost that are out."""
        self.stopped: str | None = None
        """Why the campaign stopped before the policy was done, if it did."""
        self.audits = Audits(self.terms.audit)
        """What was audited so far."""
        self.followed: dict[int, Followed] = {}
        """The plays that another revision decided and that have been asked, by number."""
        self.plan = Plan.first(self.terms)
        """What the play that is on begins on."""
        self.basis: tuple[list[on_record.Alarm], list[Arm]] = [], []
        """The alarms and forbidden arms that it began with."""
        self.named: Recommendation | None = None
        """What the policy named before its audit."""
        self.on: Play | Followed | None = None
        """The play, once it has begun."""
        self._failure: str | None = None
        self.leases, self.windows = Deadlines(), Deadlines()
        self.arms = {str(arm): arm for arm in self.terms.problem.offered}

    @property
    def receipt(self) -> str:
        """Of the last event."""
        return f"{self.events - 1}:{self.head}"

    # ------------------------------------------------------------------------------------------------- the policy

    @property
    def play(self) -> Play | Followed | None:
        """The play that is on; None where it could not begin, and `failure` says why."""
        if self.on is None and self._failure is None:
            try:
                self.on = self._begin()
            except Exception as error:  # whatever a policy raises, the log must stay readable
                if is_interrupt(error):
                    raise KeyboardInterrupt from error
                self._failure = f"{type(error).__name__}: {error}"
        return self.on

    @property
    def failure(self) -> str | None:
        """Why the policy asks for nothing more, if it should but cannot."""
        play = self.play
        return self._failure if play is None else play.failure

    @property
    def is_sound(self) -> bool:
        """Whether nothing has gone wrong with the play, as far as it has begun."""
        return self.diverged is None and self._failure is None and (self.on is None or self.on.failure is None)

    @property
    def done(self) -> bool:
        """Whether the play that is on wants no more: the policy has decided, or another revision's budget is spent."""
        play = self.play
        if isinstance(play, Followed):
            return self.plan.is_over or (not play.unfilled and play.failure is None and not self.can_begin)
        return play is not None and play.finished

    @property
    def can_begin(self) -> bool:
        """Whether what is left is enough for the policy to begin a new play."""
        return self.plan.can_begin(self.terms, self.allowed, self.left, self.audits.left)

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
        return play.recommendation if play is not None and play.finished else self.named

    @property
    def left(self) -> float:
        """What is left of the budget when all open tickets are told."""
        return self.terms.budget - self.spent - self.promised

    def _begin(self) -> Play | Followed:
        self.basis = [*self.alarms], [*self.forbidden]
        if self.plan.is_audit:
            return self.play_on(None)
        followed = self.plan.revision != self.terms.policy.revision
        seen = None if followed else self.at_hand(self.allowed, self.plan.budget)
        self.logs_known = len(self.logs)
        return Followed(self.plan.number, self.plan.budget, self.plan.revision) if followed else self.play_on(seen)

    def play_on(self, seen: Tally | None, saved: dict[str, Any] | None = None) -> Play:
        """The play of the plan on what it began with: what was ``seen``, and the problem of then."""
        plan, policy = self.plan, self.terms.policy
        problems = self.revision.problems(*self.basis)
        number, budget, seed = plan.number, plan.budget, plan.seed(self.terms.seed)
        if not plan.is_audit:
            return Play(
                number, policy, problems.allowed, budget=budget, seed=seed, seen=seen, nodes=self.nodes, saved=saved
            )
        pulls = tuple((arm, count) for arm, count in (self.audits.pulls or {}).items() if arm not in self.basis[1])
        audit = Audit(pulls, columns_of_looks(policy, problems.allowed, self.terms.budget))
        # What is to be audited was decided before; an arm may have been pruned since.
        return Play(
            number, audit, problems.permitted, budget=budget, seed=seed, seen=None, nodes=self.nodes, saved=saved
        )

    # --------------------------------------------------------------------------------------------------- the clock

    def due(self, now: datetime) -> tuple[list[str], list[str]]:
        """The tickets whose lease has ended, and those whose reward window has closed, by ``now``."""
        if not self.leases and not self.windows:
            return [], []
        tickets, at = self.tickets, instant(now)
        return (
            self.leases.over(at, lambda name: tickets.phase[tickets.position(name)] == ASKED),
            self.windows.over(at, lambda name: not tickets.counted[tickets.position(name)]),
        )

    # ---------------------------------------------------------------------------------------------------- the fold

    def apply(self, event: Event, what: on_record.Said | None = None) -> None:
        """Take in the next event; it must follow the last, whole, as one does that was sealed just now to say ``what``.

        ``what`` is read from the event, where it is not given.
        """
        if what is None and not follows(event, self.events, self.head, self.secret):
            check_chain([event], self.events, self.head, self.secret)
        try:
            self._take_in(event, on_record.said(event.kind, event.content) if what is None else what)
        except (KeyError, AttributeError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise DamagedError(
                f"Event {event.seq} ({event.kind!r}) of campaign {self.terms.name!r} cannot be understood: "
                f"{type(error).__name__} {error}. Was it written by a later version?",
                event.seq,
            ) from error
        if self.terms.lease is not None and event.time < self.last:
            self._set_back(event.time)
        self.events += 1
        self.head, self.last = event.hash, event.time

    def _take_in(self, event: Event, what: on_record.Said) -> None:  # noqa: C901, PLR0912 - one match
        match what:
            case on_record.Asked():
                self._hand_out(event, what)
            case on_record.Told():
                self._tell(event, what)
            case on_record.Closed(tickets):
                self._close(tickets)
            case on_record.Voided(ticket):
                self._give_up(event, self.tickets.position(ticket), VOIDED)
            case on_record.Expired(tickets):
                for name in tickets:
                    self._give_up(event, self.tickets.position(name), EXPIRED)
            case on_record.Amended():
                self._amend(event, what)
            case on_record.Observed():
                self._observe(event, what)
            case on_record.Paused(reason):
                self.paused = reason
            case on_record.Resumed():
                self.paused = None
            case on_record.Forbidden(arms, reason):
                self.forbidden |= dict.fromkeys((self.arms[text] for text in arms), reason)
                self._forget_unasked()
            case on_record.Allowed(arms):
                for text in arms:
                    self.forbidden.pop(self.arms[text], None)
                self._forget_unasked()
            case on_record.Alarm():
                self.alarms.append(what)
                self._forget_unasked()
            case on_record.SetAside(logs):
                self._set_aside(what, logs)
            case on_record.Restarted():
                self._restart(event, what)
            case on_record.Audited():
                self._audit(what)
            case on_record.Stopped(reason):
                self.stopped = reason
            case _:
                raise ValueError("a campaign is created once")

    # ------------------------------------------------------------------------------------------------------- pulls

    def _hand_out(self, event: Event, ask: on_record.Asked) -> None:
        terms, play, tickets = self.terms, self.play, self.tickets
        when = moment(event.time) if terms.lease is not None or terms.window is not None else None
        lease = NEVER if when is None or terms.lease is None else instant(when + timedelta(seconds=terms.lease))
        window = NEVER if when is None or terms.window is None else instant(when + timedelta(seconds=terms.window))
        if isinstance(play, Followed):
            self.followed[play.number] = play
            play.note_ask(event.seq)
        for each in ask.tickets:
            arm = self.arms[each.arm]
            if play is not None and play.failure is None:  # what a policy raises is itself, not another decision
                self._check_same(event, play, ask.play, each.slot, arm)
            if play is not None and play.failure is None:
                play.hand_out(each.slot, arm, ask.needed)
            position = tickets.add(ask, each, arm, event, lease, window)
            self.held.setdefault(ask.client, {})[each.id] = None
            self.promised += tickets.costs[tickets.arm[position]]
            if lease != NEVER:
                self.leases.add(lease, each.id)

    def _set_back(self, time: str) -> None:
        """A clock says less than the last event: tickets that a clock ahead of it handed out are leased from here."""
        ends = instant(moment(time) + timedelta(seconds=self.terms.lease or 0.0))
        for position, out in self.tickets.out.items():
            if out.asked > time and self.tickets.lease[position] > ends:
                self.tickets.lease[position] = ends
                self.leases.add(ends, self.tickets.id(position))

    def _check_same(self, event: Event, play: Play | Followed, number: int, slot: int, arm: Arm) -> None:
        """Whether the policy, run again, asks for the same; if not, it is left there."""
        if play.number == number and play.expects(slot, arm):
            return
        self.diverged = divergence(self.plan, self.terms, play, event, f"pull {slot}, {arm}", number)
        play.fail(self.diverged)

    def _tell(self, event: Event, told: on_record.Told) -> None:
        position = self.tickets.position(told.ticket)
        if self.tickets.phase[position] == TOLD:
            raise ValueError(f"ticket {told.ticket} is told twice")
        self._take(event, position, told.row, late=told.late)

    def _take(self, event: Event, position: int, row: dict[str, Any], *, late: bool) -> None:
        """A row for a ticket that had none: open, expired or voided."""
        tickets = self.tickets
        codes = self.codes_of(row)
        if tickets.phase[position] == ASKED:
            self._release(position)
        else:
            mine = self._is_on(position) and self.on is not None and self.on.reclaim(tickets.slot[position])
            tickets.extra[position] = not mine
        tickets.phase[position], tickets.late[position], tickets.at[position] = TOLD, late, event.seq
        tickets.set_codes(position, codes)
        self.spent += tickets.costs[tickets.arm[position]]
        if tickets.window[position] != NEVER and self.terms.window is not None:
            told = moment(event.time)  # where it was asked by a clock that was ahead: from now
            window = min(tickets.window[position], instant(told + timedelta(seconds=self.terms.window)))
            tickets.window[position] = window
            if instant(told) < window:
                self.windows.add(window, tickets.id(position))
                return
        self._count(position, codes)

    def _is_on(self, position: int) -> bool:
        """Whether a ticket belongs to the play that is on."""
        return self.on is not None and self.on.number == self.tickets.play[position]

    def _count(self, position: int, codes: tuple[int, ...]) -> None:
        """From here on the pull counts; the policy hears of it with the rest of its batch."""
        tickets = self.tickets
        arm = tickets.arms[tickets.arm[position]]
        tickets.counted[position] = True
        self.pulled[arm] += 1
        if self._ear is not None:
            self._ear[1].hear(arm, codes)
        self._forget_unasked()
        if self.on is None or not self._is_on(position):
            tickets.extra[position] = True
        elif not tickets.extra[position]:
            self.on.fill(tickets.slot[position], codes)

    def _release(self, position: int) -> None:
        """A ticket is no longer out."""
        tickets = self.tickets
        self.held[tickets.clients[tickets.client[position]]].pop(tickets.come_back(position), None)
        self.promised -= tickets.costs[tickets.arm[position]]

    def _close(self, names: tuple[str, ...]) -> None:
        for name in names:
            position = self.tickets.position(name)
            if self.tickets.phase[position] != TOLD:
                raise ValueError(f"the reward window of ticket {name} closes before it was told")
            if not self.tickets.counted[position]:
                self._count(position, self.tickets.codes_of(position))

    def _give_up(self, event: Event, position: int, phase: int) -> None:
        tickets = self.tickets
        if tickets.phase[position] == TOLD:
            raise ValueError(f"ticket {tickets.id(position)} was told, and is {PHASES[phase].value} after it")
        if tickets.phase[position] == ASKED:
            self._release(position)
            if self.on is not None and self._is_on(position):
                self.on.give_back(tickets.slot[position])
        tickets.phase[position], tickets.at[position] = phase, event.seq

    def _amend(self, event: Event, amended: on_record.Amended) -> None:
        tickets = self.tickets
        position = tickets.position(amended.ticket)
        if tickets.phase[position] != TOLD:
            self._take(event, position, amended.row, late=True)
            tickets.amended[position] = tickets.amended.get(position, 0) + 1
            return
        codes = self.codes_of(amended.row)
        tickets.amended[position] = tickets.amended.get(position, 0) + 1
        tickets.first_at.setdefault(position, tickets.at[position])
        tickets.set_codes(position, codes)
        tickets.at[position] = event.seq
        self._ear = None
        self._forget_unasked()
        if tickets.counted[position] and not tickets.extra[position] and self.on is not None and self._is_on(position):
            self.on.refill(tickets.slot[position], codes)

    # ---------------------------------------------------------------------------------------------- logs and plays

    def _observe(self, event: Event, observed: on_record.Observed) -> None:
        sizes = {name: len(values) for name, values in self.terms.problem.domains.items()}
        self.logs.append(Log.of(observed, event.receipt, sizes))
        if not any(not arm.is_look for arm in self.pulled):
            self.early = len(self.logs)
        self._forget_unasked()

    def _set_aside(self, what: on_record.SetAside, logs: tuple[str, ...]) -> None:
        """Logs are out of date; so is what alarms made of them."""
        if not set(logs) <= {log.sha256 for log in self.trusted}:
            raise ValueError("logs are set aside that do not count")
        self.set_aside.append(what)
        self.alarms = []
        self._forget_unasked()

    def _forget_unasked(self) -> None:
        """A play begins with what is known when it is first asked.

        A process that looked at it before has begun it, but that is not on record: when more is known, it begins anew.
        """
        if self.diverged is None and (self.on is None or not self.on.asked):
            self.on, self._failure = None, None

    def _restart(self, event: Event, restarted: on_record.Restarted) -> None:
        goes_on = self.resumes and self.done  # after fresh looks the policy just goes on
        self._give_up_audit()
        self.plan = self.plan.after(self.terms, restarted)
        number = self.plan.number
        if not goes_on:
            self.restarts.append(Begun(restarted.reason, restarted.budget, number, event.time, event.receipt))
        elif self.restarts:
            self.restarts[-1] = replace(self.restarts[-1], play=number)
        self.named, self.stopped = None, None
        self.on, self._failure, self.diverged = None, None, None

    def _audit(self, audited: on_record.Audited) -> None:
        self.named = self.recommendation
        self._give_up_audit()
        pulls = {self.arms[text]: count for text, count in audited.pulls.items()}
        self.audits.begin(pulls, audited, self.terms.problem)
        if pulls or self.auditing:
            self.plan = self.plan.after(self.terms, audited)
            self.on, self._failure = None, None
        else:
            self.plan = replace(self.plan, is_over=True)

    def _give_up_audit(self) -> None:
        """What an audit that is on still owes will not be pulled."""
        if self.auditing:
            self.audits.give_up(self.audits.owed(self.tickets, self.plan.number), self.terms.problem)
