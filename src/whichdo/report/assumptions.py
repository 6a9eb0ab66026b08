"""What a campaign's estimates lean on: the graph, what looking settles by it and why, the logs; and the alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whichdo.campaign.revisions import decided_elsewhere
from whichdo.checking.check import check
from whichdo.checking.decision import cells, titles
from whichdo.checking.what_if import what_if
from whichdo.drawing.svg import draw_svg
from whichdo.errors import TooLargeError
from whichdo.policy_names import policy_text
from whichdo.report.inspection import WORDS, marks_of
from whichdo.report.trail import short_time
from whichdo.text import counted

if TYPE_CHECKING:
    from whichdo.checking.decision import WhatIf
    from whichdo.checking.result import Check
    from whichdo.report.trail import History


MOST = 50
"""Nodes in the table."""


class Remarks(NamedTuple):
    """What somebody should look at."""

    loud: tuple[str, ...]
    """Alarms."""
    quiet: tuple[str, ...]


class Assumptions(NamedTuple):
    """What has to be true."""

    graph: str
    """SVG; empty where the graph is too large."""
    graph_note: str
    check: Check | None
    """Whether looks contradict the graph; None where nothing could be tested."""
    one_edge: OneEdge | None
    settled: tuple[tuple[str, str, str], ...]
    """Nodes, whether looking settles them, and how or why not."""
    settled_more: str
    logs: tuple[tuple[str, str, str], ...]
    """Name, looks, and the beginning of the content's hash."""
    terms: tuple[str, ...]


def remarks(found: History) -> Remarks:
    """What somebody should look at, alarms first."""
    loud = [*(each.text for each in found.state.set_aside), *(each.text for each in found.state.alarms)]
    quiet = dict.fromkeys([*found.status.warnings, *found.advice.warnings])
    return Remarks(tuple(loud), tuple(each for each in quiet if each not in loud))


def assumptions(found: History) -> Assumptions:
    """The section on what has to be true."""
    problem = found.state.believed
    left = len(problem.verdicts) - MOST
    return Assumptions(
        *_graph(found),
        _checked(found),
        one_edge_wrong(found),
        tuple(
            (", ".join(targets), WORDS[verdict.route], verdict.reason)
            for targets, verdict in list(problem.verdicts.items())[:MOST]
        ),
        f"... and {counted(left, 'more node')}." if left > 0 else "",
        tuple((log.name, f"{log.looks:,}", log.sha256[:16]) for log in found.state.logs),
        tuple(_terms(found)),
    )


def _graph(found: History) -> tuple[str, str]:
    """The drawing, and the sentences below it."""
    problem = found.state.believed
    try:
        drawn = draw_svg(problem.graph, reward=problem.reward, marks=marks_of(problem))
    except TooLargeError:
        size = counted(len(problem.graph.nodes), "node")
        return "", f"The graph has {size}, too many for a drawing that can be read."
    note = "As it is believed now, with the hidden causes that alarms have named." if found.state.alarms else ""
    return drawn, note


def _checked(found: History) -> Check | None:
    """Whether looks contradict the graph, as far as its nodes were counted together."""
    seen = found.state.evidence(looks_alone=True)
    if len(seen.problem.graph.nodes) > MOST:
        return None
    result = check(seen.problem, seen)
    return result if result.tested else None


def _terms(found: History) -> list[str]:
    terms = found.state.terms
    stretches = [
        f"{words} {seconds / 3600:g} h"
        for words, seconds in (("lease", terms.lease), ("grace", terms.grace), ("reward window", terms.window))
        if seconds is not None
    ]
    rules = [
        *([f"stops when sure, by a margin of {terms.margin:g}"] if terms.stop else []),
        *([f"{terms.audit:g} of the budget kept for audits"] if terms.audit else []),
    ]
    policy = f"{policy_text(terms.policy)}, revision {terms.revision}, seed {terms.seed}"
    said = [f"Policy: {'; '.join([policy, f'begun with whichdo {terms.made_by}', *rules, *stretches])}."]
    said += [
        f"Restarted at {short_time(each.time)} (event {each.receipt.partition(':')[0]}): {each.reason}"
        for each in found.state.restarts
    ]
    return [*said, *decided_elsewhere(found.state)]


# ------------------------------------------------------------------------------------------------------------- one edge

# Estimates from looks and logs lean on the graph, direct pulls do not; so the card speaks of what looks
# and logs say by themselves (`whichdo.what_if`), as far as their columns were counted together.


MOST_NODES = 24
"""Nodes that act on the reward; every pair of them may have an edge, and a page should not take long."""
MOST_ROWS = 12
"""Edits in the table."""


class OneEdge(NamedTuple):
    """The card."""

    looks: str
    said: tuple[str, ...]
    drawing: str
    """SVG; empty where the graph is too large."""
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The edits under which the choice would be another."""
    rest: tuple[str, ...]


def one_edge_wrong(found: History) -> OneEdge | None:
    """The card; nothing where there are no looks, or too many nodes."""
    seen = found.state.evidence(looks_alone=True)
    problem = seen.problem
    if not seen.pulls[0] or len(problem.graph.ancestors([problem.reward])) > MOST_NODES:
        return None
    result = what_if(problem, seen)
    if not result.edits:
        return None
    changing = [each for each in result.ordered if not each.keeps]
    left = len(changing) - MOST_ROWS
    more = [f"... and {counted(left, 'more edit')}."] if left > 0 else []
    return OneEdge(
        counted(result.looks, "look"),
        (*result.summary, *_elsewhere(found, result)),
        _drawn(result),
        titles(result),
        tuple(tuple(cells(result, each)) for each in changing[:MOST_ROWS]),
        (*more, *result.notes),
    )


def _elsewhere(found: History, result: WhatIf) -> list[str]:
    """That the campaign decides otherwise, where it does."""
    decided = found.advice.arm
    if decided is None or decided == result.choice or result.choice is None:
        return []
    return [f"This is the best by looks and logs alone; the decision above, {decided}, rests on direct pulls as well."]


def _drawn(result: WhatIf) -> str:
    try:
        return result.svg()
    except TooLargeError:
        return ""
