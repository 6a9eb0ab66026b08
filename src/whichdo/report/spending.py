"""How a campaign's budget was spent: in all, by the fate of tickets, and by arm."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from whichdo.campaign.tickets import Phase
from whichdo.text import counted

if TYPE_CHECKING:
    from whichdo.problem import Arm
    from whichdo.report.history import History

__all__ = ["Spending", "spending"]

MOST = 25
"""Arms in the table."""


class Part(NamedTuple):
    """A part of the budget."""

    kind: str
    words: str
    width: str
    """Of the bar; empty where there is nothing of it."""


class ArmRow(NamedTuple):
    """What one arm has cost."""

    arm: str
    told: str
    lost: str
    each: str
    cost: str
    width: str


class Spending(NamedTuple):
    """The section on the budget."""

    budget: str
    parts: tuple[Part, ...]
    tickets: str
    priced: bool
    """Whether arms cost different amounts."""
    rows: tuple[ArmRow, ...]
    rest: tuple[str, ...]


def spending(found: History) -> Spending:
    """How the budget was spent."""
    problem, tickets = found.state.terms.problem, found.state.tickets
    told = Counter(tickets.by_arm(tickets.where(phase=Phase.TOLD)))
    lost = Counter(tickets.by_arm(tickets.where(phase=Phase.VOIDED) | tickets.where(phase=Phase.EXPIRED)))
    costs = problem.prices
    arms = [arm for arm in problem.offered if told[arm] or lost[arm]]
    arms.sort(key=lambda arm: -told[arm] * costs[arm])
    most = max((told[arm] * costs[arm] for arm in arms), default=0.0) or 1.0
    rest = [] if arms else ["Nothing has been pulled yet."]
    if len(arms) > MOST:
        others = sum(told[arm] for arm in arms[MOST:])
        rest.append(f"{len(arms) - MOST:,} more arms with {counted(others, 'told pull')} between them.")
    never = sum(not (told[arm] or lost[arm]) for arm in problem.arms)
    if never and arms:
        rest.append(f"{counted(never, 'arm')} never pulled.")
    return Spending(
        f"{found.status.budget:g}",
        _parts(found),
        _tickets(found),
        any(cost != 1 for cost in costs.values()),
        tuple(_row(arm, told[arm], lost[arm], costs[arm], most) for arm in arms[:MOST]),
        tuple(rest),
    )


def _parts(found: History) -> tuple[Part, ...]:
    status = found.status
    whole = max(status.budget, status.spent + status.promised)  # late tells may take it beyond the budget
    return tuple(
        Part(kind, f"{amount:g} {words}", f"{amount / whole:.2%}" if amount > 0 else "")
        for kind, words, amount in (
            ("spent", "spent", status.spent),
            ("out", "out with open tickets", status.promised),
            ("left", "left", status.left),
        )
    )


def _row(arm: Arm, told: int, lost: int, cost: float, most: float) -> ArmRow:
    name = "do(), looks" if arm.is_look else str(arm)
    return ArmRow(name, f"{told:,}", f"{lost:,}", f"{cost:g}", f"{told * cost:g}", f"{told * cost / most:.1%}")


def _tickets(found: History) -> str:
    count = found.status.tickets
    fates = ", ".join(f"{count[fate]:,} {fate}" for fate in ("told", "open", "voided", "expired"))
    said = [f"{counted(count['asked'], 'ticket')} handed out: {fates}."]
    if count["voided"] + count["expired"]:
        said.append("What was voided or has expired cost nothing, and its pulls were owed again.")
    if found.status.logs:
        said.append(f"{counted(found.status.looks_in_logs, 'look')} came from logs, free of charge.")
    audits = Counter[str]()
    for event in found.events:
        audits.update(event.content["pulls"] if event.kind == "audited" else {})
    if audits:
        kept = ", ".join(f"{number:,} of {arm}" for arm, number in audits.items())
        said.append(f"For audits of what logs and graph say: {kept}.")
    asides = [f"{count[kind]:,} {words}" for kind, words in ASIDES.items() if count[kind]]
    if asides:
        said.append(f"Of those told: {', '.join(asides)}.")
    waiting = count["told"] - count["counted"]
    if waiting:
        said.append(f"{counted(waiting, 'told pull')} will count when the reward window closes.")
    return " ".join(said)


ASIDES = {
    "late": "after the lease had ended",
    "extra": "beyond what the policy had asked for by then (they count in the estimates)",
    "amended": "amended",
}
