"""A campaign for those who have to act on it: one offline page, the decision first, the evidence and the log after it.

The page is a function of the log alone: the same log gives the same bytes.  Whatever comes from users (names of nodes
and campaigns, values, reasons, clients) is escaped by the template.
"""

from __future__ import annotations

from collections import Counter
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from whichdo.campaign.advice import as_shown
from whichdo.campaign.chain import check_chain
from whichdo.campaign.tickets import Phase
from whichdo.files import PAGE, check_target, write_file
from whichdo.problem import Goal
from whichdo.report.arm_pictures import development_of, every_arm
from whichdo.report.assumptions import assumptions, remarks
from whichdo.report.page import render
from whichdo.report.trail import History, recall, short_time, trail
from whichdo.text import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from whichdo.campaign.campaign import Campaign
    from whichdo.campaign.chain import Event
    from whichdo.problem import Arm
    from whichdo.report.trail import History


CLEAR = 0.95
LEANING = 0.5
"""From which probability on the decision is called so."""
WORDS = {
    "running": "running",
    "waiting": "waiting for outcomes",
    "finished": "finished",
    "paused": "paused",
    "stuck": "cannot go on",
}


def write_report(campaign: Campaign, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write the report on a campaign, as it stands, into one HTML file that needs no network.

    Parameters
    ----------
    campaign
        The campaign.
    path
        The file.  An earlier report is replaced.
    force
        Whether to replace any other regular file; a database is never replaced.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    ConflictError
        If the file exists and is not a report.

    Examples
    --------
    >>> import whichdo as wd
    >>> wd.write_report(wd.Campaign.open("campaigns.db", "spring"), "spring.html")  # doctest: +SKIP
    PosixPath('spring.html')
    """
    target = Path(path)
    check_target(target, PAGE, force=force)
    write_file(target, campaign_page(campaign.events()), PAGE, force=force)
    return target


def campaign_page(events: Sequence[Event]) -> str:
    """One HTML file that needs nothing else, from the whole log; a damaged one is an error that names the bad event."""
    check_chain(events)
    found = recall(events)
    return render(
        "campaign.html",
        f"{found.status.name}: {_best(found)}",
        head=_head(found),
        decision=_decision(found),
        remarks=remarks(found),
        arms=every_arm(found),
        development=development_of(found),
        spending=spending(found),
        leans=assumptions(found),
        trail=trail(found.events),
        receipt=found.status.receipt,
    )


class Head(NamedTuple):
    """What the page is about."""

    name: str
    wish: str
    reward: str
    legend: str
    """What nodes that arms set are called; empty where they have no labels."""
    phase: str
    events: str
    began: str
    last: str


class Decision(NamedTuple):
    """What to do, and whether one may act on it."""

    kind: str
    best: str
    verdict: str
    wrong: tuple[str, ...]
    """What alarms say of the numbers."""
    tiles: tuple[tuple[str, str], ...]
    """Numbers, and what each is."""
    sentences: tuple[str, ...]


def _best(found: History) -> str:
    return "nothing is known yet" if found.advice.arm is None else str(found.advice.arm)


def _head(found: History) -> Head:
    status = found.status
    problem = found.state.terms.problem
    return Head(
        status.name,
        "least" if problem.goal is Goal.MINIMIZE else "most",
        problem.label(problem.reward),
        problem.arms_legend,
        WORDS.get(status.phase, status.phase),
        counted(status.events, "event"),
        short_time(status.began),
        short_time(status.last),
    )


def _decision(found: History) -> Decision:
    advice = found.advice
    best, said = "Too early to say", advice.sentences
    if advice.runner_up is not None:
        best, said = f"{'Best' if advice.finished else 'Best so far'}: {advice.arm}", advice.reasons
    kind, verdict = _verdict(found)
    wrong = (*([_OLD] if found.state.set_aside else []), *([_WRONG] if found.state.alarms else []))
    return Decision(kind, best, verdict, wrong, tuple(_tiles(found)), said)


_OLD = (
    "Logs were found to be out of date (see the alarms below) and are set aside: all numbers rest on what was seen in "
    "this campaign."
)
_WRONG = (
    "The graph was found to be wrong (see the alarms below). All numbers are by the graph as it was mended, in which "
    "only direct pulls count for the arms concerned."
)


def _verdict(found: History) -> tuple[str, str]:
    """Whether one may act on it: its kind, and in a sentence."""
    advice, sure = found.advice, found.advice.certainty
    if advice.arm is None or advice.runner_up is None:
        return "open", "There is nothing to compare yet."
    if sure.may_stop and sure.leader == advice.arm:
        return "clear", "Decided, by direct pulls alone: it does not lean on the graph."
    best, rows = advice.ranking[advice.arm], advice.ranking.values()
    close = [row for row in rows if row.is_ranked and row != best and row.low <= best.high and best.low <= row.high]
    unknown = sum(not row.is_ranked and not row.is_worse for row in rows)
    chance = f"{advice.probability:.0%}"
    if advice.probability >= CLEAR and not unknown:
        return "clear", f"Clear ({chance}), as far as the graph is right."
    doubts = []
    if close:
        who = str(close[0].arm) if len(close) == 1 else counted(len(close), "other arm")
        doubts.append(f"{who} {'is' if len(close) == 1 else 'are'} within reach of it")
    if unknown:
        doubts.append(f"too little is known of {counted(unknown, 'arm')}")
    because = f": {' and '.join(doubts)}" if doubts else ""
    if advice.probability >= LEANING:
        return "leaning", f"Leaning, not decided ({chance}){because}."
    return "open", f"Not decided ({chance}){because}."


def _tiles(found: History) -> list[tuple[str, str]]:
    advice = found.advice
    if advice.arm is None:
        return []
    problem = found.state.terms.problem
    best, nothing = advice.ranking[advice.arm], advice.ranking[advice.ranking.problem.arms[0]]
    interval = f"{advice.confidence:.0%} interval {best.written(advice.low)} to {best.written(advice.high)}"
    tiles = [(best.written(best.estimate), f"mean {problem.label(problem.reward)}, {interval}")]
    if nothing.is_ranked and nothing.arm not in {advice.arm, advice.runner_up}:
        how = "less" if problem.goal is Goal.MINIMIZE else "more"
        base = nothing.written(nothing.estimate)
        tiles.append((as_shown(best, nothing), f"{how} than if nothing is done ({base}): {best.effect_text}"))
    if advice.runner_up is not None:
        second = advice.ranking[advice.runner_up]
        name = "doing nothing" if second.arm.is_look else str(second.arm)
        tiles.append((as_shown(best, second), f"better than {name} ({second.written(second.estimate)})"))
    if not isnan(advice.probability):
        tiles.append((f"{advice.probability:.0%}", "chance that it is the best of all arms, roughly"))
    return tiles


# ------------------------------------------------------------------------------------------------------------- spending


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
