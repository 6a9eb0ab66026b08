"""The status of a campaign: open and told tickets, the budget spent, and who has to do what next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whichdo.campaign.chain import time_text
from whichdo.campaign.play import Followed
from whichdo.campaign.register import Pull
from whichdo.campaign.revisions import needs_new_play, too_new, update_reason
from whichdo.campaign.terms import in_units
from whichdo.campaign.tickets import NEVER, Phase, moment_of
from whichdo.frames import html_lines, html_table, plain, text_table
from whichdo.policy_names import policy_text
from whichdo.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whichdo.campaign.state import State
    from whichdo.problem import Arm


HEADS = ("arm", "pulls that count")
MOST_SHOWN = 20
"""Arms of a printed table."""


@dataclass(frozen=True)
class OpenTicket:
    """A ticket that is out."""

    id: str
    arm: str
    client: str
    asked: str
    lease_ends: str | None


@dataclass(frozen=True)
class Status:
    """The status of a campaign by its log; `Campaign.status` makes it."""

    name: str
    """Of the campaign."""
    policy: str
    """The policy with its parameters."""
    goal: str
    """``maximize`` or ``minimize``, and what the reward is called."""
    legend: str
    """What nodes that arms set are called; empty where they have no labels."""
    phase: str
    """running, waiting (for outcomes), finished, paused, or stuck (``trouble`` or ``update`` says why)."""
    terms: dict[str, Any]
    """What it was begun on: horizon, seed, lease, grace and window in seconds, stop_when_sure, margin, audit."""
    budget: float
    """In cost units: pulls, where every arm costs 1."""
    spent: float
    """What the told pulls cost."""
    promised: float
    """What the open tickets cost."""
    left: float
    """What is left when all open tickets are told."""
    tickets: dict[str, int]
    """How many asked in all, open, told, counted, voided, expired; late, extra and amended among the told."""
    open: tuple[OpenTicket, ...]
    """The tickets that are out."""
    by_arm: dict[str, int]
    """Pulls that count."""
    looks_in_logs: int
    """Logged observations."""
    logs: tuple[str, ...]
    """The names of the logs."""
    paused: str | None
    """Why it is paused; None where it is not."""
    forbidden: dict[str, str]
    """Why each forbidden arm is."""
    alarms: tuple[str, ...]
    """Where pulls have contradicted the graph, in sentences."""
    set_aside: tuple[str, ...]
    """Why logs no longer count, once for each time that some were set aside."""
    restarts: tuple[str, ...]
    """Why the play restarted, each time."""
    trouble: str | None
    """Why the policy cannot go on, if so."""
    update: str | None
    """That the policy has another revision than the play which is on, and what comes of it."""
    stopped: str | None
    """Why it ended before the policy was done, if it did."""
    next_window: str | None
    """When the next reward window closes, of the pulls that were told but do not count yet."""
    began: str
    """When the first event was recorded."""
    last: str
    """When the last event was recorded."""
    events: int
    """How many events are on record."""
    receipt: str
    """Of the last event."""
    notes: tuple[str, ...] = ()
    """Remarks, such as that the clock could not be put on record."""
    arms: Mapping[str, Arm] = field(default_factory=dict, repr=False)
    """The arms that are named above, by their strings."""

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "arms"}
        return plain(
            own
            | {
                "open": [vars(each) | {"arm": self.arms[each.arm]} for each in self.open],
                "by_arm": [{"arm": self.arms[arm], "pulls": pulls} for arm, pulls in self.by_arm.items()],
                "forbidden": [{"arm": self.arms[arm], "reason": why} for arm, why in self.forbidden.items()],
            }
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same for people."""
        count = self.tickets
        money = f"{self.spent:g} of {self.budget:g} spent, {self.promised:g} out, {self.left:g} left"
        parts = ", ".join(f"{count[name]:,} {name}" for name in ("told", "open", "voided", "expired"))
        if self.left < 0:
            money += " (late tells count, and exceeded the budget)"
        said = [
            f"{self.name}: {self.phase}; {self.goal} by {self.policy}, {money}.",
            f"{counted(count['asked'], 'ticket')}: {parts}.",
        ]
        if self.stopped:
            said.append(f"It was stopped: {self.stopped}")
        if self.next_window:
            waiting = counted(count["told"] - count["counted"], "pull")
            said.append(f"Told, but not counted yet: {waiting}; the next reward window closes at {self.next_window}.")
        if terms := self._terms:
            said.append(f"Terms: {', '.join(terms)}.")
        if self.looks_in_logs:
            said.append(f"Logs: {', '.join(self.logs)} ({counted(self.looks_in_logs, 'look')}).")
        said += [f"Restarted: {reason}" for reason in self.restarts]
        said += [self.update] if self.update else []
        said += [self.legend] if self.legend else []
        said.append(f"Last event {self.events - 1} at {self.last}, receipt {self.receipt}")
        return tuple(said)

    @property
    def _terms(self) -> list[str]:
        """Those that say something."""
        terms = self.terms
        said = [f"{name} {in_units(terms[name])}" for name in ("lease", "grace", "window") if terms[name] is not None]
        said += ["stop when sure"] if terms["stop_when_sure"] else []
        said += [f"margin {terms['margin']:g}"] if terms["margin"] else []
        said += [f"{terms['audit']:g} kept for audits"] if terms["audit"] else []
        return said

    @property
    def warnings(self) -> tuple[str, ...]:
        """What somebody should look at."""
        said = [*([f"Paused: {self.paused}"] if self.paused else []), *([self.trouble] if self.trouble else [])]
        said += forbidden_lines(self.forbidden)
        return (*said, *self.set_aside, *self.alarms, *self.notes)

    def __repr__(self) -> str:
        return f"<Status of {self.name}: {self.phase}, {self.spent:g} of {self.budget:g} spent>"

    def __str__(self) -> str:
        notes = [f"! {line}" for line in self.warnings]
        table = text_table(HEADS, self._shown_rows) if self._shown_rows else "No pull counts yet."
        return "\n".join([*self.sentences[:-1], *notes, "", table, "", self.sentences[-1]])

    def _repr_html_(self) -> str:
        """For notebooks: the sentences, and how often each arm was pulled."""
        head, *rest, last = self.sentences
        said = [*rest, *self.warnings, last]
        if not self._shown_rows:
            return f"<div>{html_lines(['No pull counts yet.', *said], title=head)}</div>"
        return html_table(HEADS, self._shown_rows, head, lines=said)

    @property
    def _shown_rows(self) -> list[tuple[str, str]]:
        """The arms that were pulled, most often first."""
        found = sorted(((arm, pulls) for arm, pulls in self.by_arm.items() if pulls), key=lambda each: -each[1])
        rows = [(arm, f"{pulls:,}") for arm, pulls in found[:MOST_SHOWN]]
        more = sum(pulls for _, pulls in found[MOST_SHOWN:])
        return [*rows, (f"... and {counted(len(found) - MOST_SHOWN, 'more arm')}", f"{more:,}")] if more else rows


def _money(amount: float) -> float:
    """Without what adding and taking away leaves of a floating-point number; never -0."""
    return round(amount, 9) + 0.0


def forbidden_lines(forbidden: Mapping[Any, str]) -> list[str]:
    """A line for each arm that is forbidden, with the reason."""
    return [f"Forbidden: {arm} ({reason})" for arm, reason in forbidden.items()]


def status_of(state: State, notes: tuple[str, ...] = ()) -> Status:
    """How a state stands."""
    pulls, problem = state.tickets, state.terms.problem
    phases = {phase: int(pulls.where(phase=phase).sum()) for phase in Phase}
    pulled = dict.fromkeys(problem.arms, 0) | dict(state.pulled)
    tickets = {
        "asked": len(pulls),
        "open": phases[Phase.ASKED],
        "told": phases[Phase.TOLD],
        "counted": sum(pulls.counted),
        "voided": phases[Phase.VOIDED],
        "expired": phases[Phase.EXPIRED],
        "late": sum(pulls.late),
        "extra": sum(pulls.extra),
        "amended": len(pulls.amended),
    }
    waiting = (pulls.window[each] for each in pulls.waiting().nonzero()[0].tolist())
    ends = moment_of(min((end for end in waiting if end != NEVER), default=NEVER))
    out = [Pull(pulls, position) for position in pulls.out]
    return Status(
        name=state.terms.name,
        policy=policy_text(state.terms.policy),
        goal=f"{problem.goal} {problem.label(problem.reward)}",
        legend=problem.arms_legend,
        phase=_phase(state),
        terms={
            "horizon": state.terms.horizon,
            "seed": state.terms.seed,
            "lease": state.terms.lease,
            "grace": state.terms.grace,
            "window": state.terms.window,
            "stop_when_sure": state.terms.stop,
            "margin": state.terms.margin,
            "audit": state.terms.audit,
        },
        budget=state.terms.budget,
        spent=_money(state.spent),
        promised=_money(state.promised),
        left=_money(state.left),
        tickets=tickets,
        open=tuple(
            OpenTicket(
                pull.id, str(pull.arm), pull.client, pull.asked, time_text(pull.lease_end) if pull.lease_end else None
            )
            for pull in out
        ),
        by_arm={str(arm): number for arm, number in pulled.items()},
        looks_in_logs=sum(log.looks for log in state.logs),
        logs=tuple(log.name for log in state.logs),
        paused=state.paused,
        forbidden={str(arm): reason for arm, reason in state.forbidden.items()},
        alarms=tuple(alarm.text for alarm in state.alarms),
        set_aside=tuple(each.text for each in state.set_aside),
        restarts=tuple(each.reason for each in state.restarts),
        trouble=state.diverged or state.failure,
        update=_update(state),
        stopped=state.stopped,
        next_window=None if ends is None else time_text(ends),
        began=state.began,
        last=state.last,
        events=state.events,
        receipt=state.receipt,
        notes=notes,
        arms={str(arm): arm for arm in (*pulled, *state.forbidden, *(pull.arm for pull in out))},
    )


def _phase(state: State) -> str:
    if state.stopped is not None:
        return "finished"
    play = state.play
    if state.paused is not None:
        return "paused"
    if play is None or play.failure is not None:
        return "stuck"
    if state.finished:
        return "finished"
    if needs_new_play(state):
        return "running" if too_new(state) is None else "stuck"
    return "running" if play.owed else "waiting"


def _update(state: State) -> str | None:
    if state.finished or not isinstance(state.play, Followed):
        return None
    return too_new(state) or f"{update_reason(state)}: it restarts at the next ask that needs a decision."
