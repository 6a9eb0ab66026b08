"""A campaign for those who have to act on it: one offline page, the decision first, the evidence and the log after it.

The page is a function of the log alone: the same log gives the same bytes.  Whatever comes from users (names of nodes
and campaigns, values, reasons, clients) is escaped by the template.
"""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from whichdo.campaign.advice import as_shown
from whichdo.campaign.chain import check_chain
from whichdo.files import PAGE, check_target, write_file
from whichdo.problem import Goal
from whichdo.report.arm_pictures import development_of, every_arm
from whichdo.report.assumptions import assumptions, remarks
from whichdo.report.history import History, recall
from whichdo.report.page import render
from whichdo.report.spending import spending
from whichdo.report.trail import short_time, trail
from whichdo.text import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from whichdo.campaign.campaign import Campaign
    from whichdo.campaign.chain import Event

__all__ = ["campaign_page", "write_report"]

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
