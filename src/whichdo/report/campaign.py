"""A campaign for those who have to act on it: one offline page, the decision first, the evidence and the log after it.

The page is a function of the log alone: the same log gives the same bytes.  Whatever comes from users (names of nodes
and campaigns, values, reasons, clients) passes `whichdo.drawing.labels.safe`.
"""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

from whichdo.campaign.advice import as_shown
from whichdo.campaign.events import check_chain
from whichdo.drawing.labels import safe
from whichdo.errors import counted
from whichdo.files import PAGE, check_target, write_file
from whichdo.problem import Goal
from whichdo.report.assumptions import alarms, assumptions
from whichdo.report.audit import short_time, trail
from whichdo.report.evidence import forest, over_time
from whichdo.report.history import History, recalled
from whichdo.report.page import STYLE, document
from whichdo.report.spending import spending

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from whichdo.campaign.campaign import Campaign
    from whichdo.campaign.events import Event

__all__ = ["campaign_page", "write_report"]

OWN_STYLE = """
body { overflow-wrap: anywhere; }
h1 small { display: block; font-size: 1rem; font-weight: 400; color: var(--faint); }
.chip { display: inline-block; border: 1.5px solid currentColor; border-radius: 1rem; padding: 0 .7rem;
  font-size: .9rem; }
.decision { border-left: 6px solid var(--blue); background: var(--band); padding: .8rem 1.1rem 1rem; margin: 1rem 0; }
.decision.leaning { border-color: var(--amber); } .decision.open { border-color: var(--grey); }
.verdict { display: table; margin: 0 0 .7rem; padding: .15rem .7rem; font-weight: 600; background: var(--ground);
  border: 1.5px solid var(--grey); } .verdict.clear { border-color: var(--blue); color: var(--clear); }
.verdict.leaning { border-color: var(--leaning-line); color: var(--leaning); }
.verdict.wrong { border-color: var(--red); font-weight: 400; }
.decision .best { font-size: 1.6rem; font-weight: 700; line-height: 1.25; margin: .1rem 0 .6rem; }
.decision ul { margin: .8rem 0 0; padding-left: 1.1rem; max-width: 46rem; } .decision li { margin: .25rem 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem; }
.tiles div { background: var(--ground); border: 1px solid var(--line); padding: .4rem .7rem; }
.tiles b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; } .tiles span { font-size: .85rem; }
ul.notes { list-style: none; padding: 0; max-width: 50rem; }
ul.notes li { border-left: 5px solid var(--amber); background: var(--band); padding: .35rem .8rem; margin: .5rem 0; }
ul.notes li.alarm { border-color: var(--red); } ul.notes li::before { content: "\\26A0\\00a0\\00a0"; }
ul.legend { list-style: none; padding: 0; margin: .6rem 0; font-size: .88rem; display: flex;
  flex-wrap: wrap; gap: 0 1.4rem; }
ul.legend svg { vertical-align: middle; }
.arm { display: grid; grid-template-columns: minmax(9rem, 17rem) 1fr; gap: 0 .8rem; align-items: center;
  padding: 0 .5rem; }
.arm:nth-child(even) { background: var(--band); } .arm.leads .name { font-weight: 700; }
.arm .numbers { display: block; font-size: .85rem; font-weight: 400; color: var(--faint);
  font-variant-numeric: tabular-nums; }
.forest .apart { margin: .8rem .5rem .2rem; font-size: .9rem; color: var(--faint); border-top: 1px dashed var(--line);
  padding-top: .5rem; }
.track { display: block; } .axis { display: block; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem; margin: .8rem 0; }
.pictures figure { margin: 0; max-width: 24rem; } .pictures figcaption { font-size: .9rem; font-weight: 600; }
.bar { display: flex; height: 1.5rem; border: 1px solid var(--faint); max-width: 46rem; margin: .6rem 0 .3rem; }
.bar i { display: block; } .key { display: inline-block; width: .9rem; height: .9rem; border: 1px solid var(--faint);
  vertical-align: -.1rem; margin-right: .35rem; }
.spent { background: var(--blue); }
.out { background: repeating-linear-gradient(45deg, var(--sky) 0 5px, var(--ground) 5px 9px); }
.left { background: var(--ground); }
table { overflow-wrap: break-word; }
.plain td, .plain th, .trail td, .trail th { text-align: left; }
.plain td, .trail .what { white-space: normal; max-width: 30rem; } .plain td.time { white-space: nowrap; }
.plain .what { min-width: 9rem; }
td.much { min-width: 8rem; } td.much i { display: block; height: .8rem; background: var(--blue); }
.trail { font-size: .8rem; width: 100%; } .trail .what { min-width: 16rem; } .trail td { vertical-align: top; }
.trail .between { text-align: center; color: var(--faint); padding: .6rem; }
.part { font-size: 1.1rem; margin: 2rem 0 .25rem; }
.graph svg { max-width: 100%; height: auto; }
code { font-size: .95em; }
@media (max-width: 640px) { .arm { grid-template-columns: 1fr; padding-top: .4rem; } h1 { font-size: 1.4rem; } }
@media print { body { max-width: none; font-size: 10pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .arm, figure, tr, li, .decision { break-inside: avoid; } h2 { break-after: avoid; } }
"""
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
    """Write the page on a campaign as it stands into a file; where it is.

    A page of ours that is there is replaced, and with ``force`` any other file, but never a database.
    """
    target = Path(path)
    check_target(target, PAGE, force=force)
    write_file(target, campaign_page(campaign.events()), PAGE, force=force)
    return target


def campaign_page(events: Sequence[Event]) -> str:
    """One HTML file that needs nothing else, from the whole log; a damaged one is an error that names the bad event."""
    check_chain(events)
    found = recalled(events)
    body = [
        _head(found),
        _decision(found),
        alarms(found),
        forest(found),
        over_time(found),
        spending(found),
        assumptions(found),
        _audit(found),
    ]
    return document(f"{found.status.name}: {_best(found)}", STYLE + OWN_STYLE, "".join(body))


def _audit(found: History) -> str:
    return (
        "<h2>Audit trail</h2>\n"
        "<p>Every event carries the hash of the one before it. The whole chain was checked when this page was made, "
        "and the numbers above follow from these events and nothing else. The chain finds damage and careless edits; "
        "someone who can write the database can write another chain, which a receipt kept elsewhere shows.</p>\n"
        f"{trail(found.events)}"
        f'<p class="faint">Receipt of the last event: <code>{safe(found.status.receipt)}</code></p>\n'
    )


def _best(found: History) -> str:
    return "nothing is known yet" if found.advice.arm is None else str(found.advice.arm)


def _head(found: History) -> str:
    status = found.status
    problem = found.state.terms.problem
    wish = "least" if problem.goal is Goal.MINIMIZE else "most"
    return (
        f"<h1>{safe(status.name)}<small>What to do for the {wish} {safe(problem.label(problem.reward))}?</small></h1>\n"
        f'<p><span class="chip">{safe(WORDS.get(status.phase, status.phase))}</span> '
        f'<span class="faint">{counted(status.events, "event")} from {safe(short_time(status.began))} to '
        f"{safe(short_time(status.last))} UTC</span></p>\n"
        + (f'<p class="faint">{safe(problem.arms_legend)}</p>\n' if problem.arms_legend else "")
    )


def _decision(found: History) -> str:
    advice = found.advice
    if advice.runner_up is None:
        best, said = "Too early to say", advice.sentences
    else:
        best, said = f"{'Best' if advice.finished else 'Best so far'}: {advice.arm}", advice.reasons
    kind, verdict = _verdict(found)
    wrong = [*([_OLD] if found.state.set_aside else []), *([_WRONG] if found.state.alarms else [])]
    warning = "".join(f'<p class="verdict wrong">{each}</p>\n' for each in wrong)
    sentences = "".join(f"<li>{safe(sentence)}</li>" for sentence in said)
    return (
        f'<div class="decision {kind}"><p class="faint">The decision</p><p class="best">{safe(best)}</p>\n'
        f'<p class="verdict {kind}">{safe(verdict)}</p>\n{warning}{_tiles(found)}<ul>{sentences}</ul></div>\n'
    )


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


def _tiles(found: History) -> str:
    advice = found.advice
    if advice.arm is None:
        return ""
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
    shown = "".join(f"<div><b>{safe(number)}</b><span>{safe(words)}</span></div>" for number, words in tiles)
    return f'<div class="tiles">{shown}</div>'
