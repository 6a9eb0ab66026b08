"""How a campaign's budget was spent: in all, by the fate of tickets, and by arm."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from whichdo.campaign.tickets import Phase
from whichdo.drawing.labels import safe
from whichdo.text import counted

if TYPE_CHECKING:
    from whichdo.problem import Arm
    from whichdo.report.history import History

__all__ = ["spending"]

MOST = 25
"""Arms in the table."""


def spending(found: History) -> str:
    """The section on the budget."""
    return f"<h2>How the budget was spent</h2>\n{_bar(found)}{_tickets(found)}{_by_arm(found)}"


def _bar(found: History) -> str:
    status = found.status
    parts = [("spent", status.spent), ("out", status.promised), ("left", status.left)]
    words = {"spent": "spent", "out": "out with open tickets", "left": "left"}
    whole = max(status.budget, status.spent + status.promised)  # late tells may take it beyond the budget
    bar = "".join(f'<i class="{kind}" style="width:{amount / whole:.2%}"></i>' for kind, amount in parts if amount > 0)
    keys = " &ensp; ".join(f'<span><i class="key {kind}"></i>{amount:g} {words[kind]}</span>' for kind, amount in parts)
    return f'<div class="bar">{bar}</div>\n<p class="faint">{keys} &ensp; of a budget of {status.budget:g}</p>\n'


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
    return f"<p>{safe(' '.join(said))}</p>\n"


ASIDES = {
    "late": "after the lease had ended",
    "extra": "beyond what the policy had asked for by then (they count in the estimates)",
    "amended": "amended",
}


def _by_arm(found: History) -> str:
    problem = found.state.terms.problem
    costs = problem.prices
    priced = any(cost != 1 for cost in costs.values())
    told = Counter(pull.arm for pull in found.state.tickets.values() if pull.phase is Phase.TOLD)
    lost = Counter(pull.arm for pull in found.state.tickets.values() if pull.phase in {Phase.VOIDED, Phase.EXPIRED})
    arms = [arm for arm in problem.offered if told[arm] or lost[arm]]
    arms.sort(key=lambda arm: -told[arm] * costs[arm])
    if not arms:
        return '<p class="faint">Nothing has been pulled yet.</p>\n'
    most = max(told[arm] * costs[arm] for arm in arms) or 1.0
    rows = "".join(_row(arm, told[arm], lost[arm], costs[arm], most, priced=priced) for arm in arms[:MOST])
    money = "<th>cost each</th><th>cost</th>" if priced else ""
    head = f"<tr><th>arm</th><th>told</th><th>voided or expired</th>{money}<th></th></tr>\n"
    more = ""
    if len(arms) > MOST:
        others = sum(told[arm] for arm in arms[MOST:])
        more = (
            f'<p class="faint">{len(arms) - MOST:,} more arms with {counted(others, "told pull")} between them.</p>\n'
        )
    never = sum(not (told[arm] or lost[arm]) for arm in problem.arms)
    if never:
        more += f'<p class="faint">{counted(never, "arm")} never pulled.</p>\n'
    return f'<div class="wide"><table class="plain">{head}{rows}</table></div>\n{more}'


def _row(arm: Arm, told: int, lost: int, cost: float, most: float, *, priced: bool) -> str:
    name = "do(), looks" if arm.is_look else str(arm)
    money = f"<td>{cost:g}</td><td>{told * cost:g}</td>" if priced else ""
    return (
        f"<tr><td>{safe(name)}</td><td>{told:,}</td><td>{lost:,}</td>{money}"
        f'<td class="much"><i style="width:{told * cost / most:.1%}"></i></td></tr>\n'
    )
