"""What a campaign's estimates lean on: the graph, what looking settles by it and why, the logs; and the alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.campaign.plan import decided_elsewhere
from whichdo.checking.check import check
from whichdo.drawing.labels import safe
from whichdo.drawing.svg import draw_svg
from whichdo.errors import TooLargeError
from whichdo.policy_names import policy_text
from whichdo.report.audit import short_time
from whichdo.report.inspection import WORDS, marks_of
from whichdo.report.one_edge import one_edge_wrong
from whichdo.text import counted

if TYPE_CHECKING:
    from whichdo.report.history import History

__all__ = ["alarms", "assumptions"]

MOST = 50
"""Nodes in the table."""


def alarms(found: History) -> str:
    """What somebody should look at, alarms first; a sentence where there is none."""
    loud = [str(each.get("text", "")) for each in (*found.state.set_aside, *found.state.alarms)]
    status, advice = found.status, found.advice
    quiet = dict.fromkeys([*status.warnings, *advice.warnings])
    rest = [each for each in quiet if each not in loud]
    silence = "" if loud else '<p class="faint">No alarm is on record.</p>\n'
    if not loud and not rest:
        return silence
    items = [f'<li class="alarm">{safe(each)}</li>\n' for each in loud] + [f"<li>{safe(each)}</li>\n" for each in rest]
    return f'<h2>Alarms and remarks</h2>\n{silence}<ul class="notes">{"".join(items)}</ul>\n'


def assumptions(found: History) -> str:
    """The section on what has to be true."""
    return (
        "<h2>What it leans on</h2>\n"
        "<p>The graph is an assumption: somebody drew it. An arrow that is there says that one thing may act on "
        "another; one that is missing says that it does not. A dashed arc is a cause that nobody records and that acts "
        "on both its ends. Where looking settles a node, adjustment compares like with like, and the formula of a "
        "c-component works around hidden causes; what must be tried can only be found out by doing it.</p>\n"
        f"{_graph(found)}{_checked(found)}{one_edge_wrong(found)}{_settled(found)}{_logs(found)}{_terms(found)}"
    )


def _graph(found: History) -> str:
    problem = found.state.believed
    try:
        drawn = draw_svg(problem.graph, reward=problem.reward, marks=marks_of(problem))
    except TooLargeError:
        size = f"{counted(len(problem.graph.nodes), 'node')}"
        return f'<p class="faint">The graph has {size}, too many for a drawing that can be read.</p>\n'
    note = ""
    if found.state.alarms:
        note = '<p class="faint">As it is believed now, with the hidden causes that alarms have named.</p>\n'
    return f'<div class="graph wide">{drawn}</div>\n{note}'


def _checked(found: History) -> str:
    """Whether looks contradict the graph, as far as its nodes were counted together; nothing where nothing was."""
    seen = found.state.evidence(looks_alone=True)
    if len(seen.problem.graph.nodes) > MOST:
        return ""
    result = check(seen.problem, seen)
    if not result.tested:
        return ""
    title = "Looks and logs do not contradict the graph." if result.ok else "Looks and logs contradict the graph."
    rest = "".join(f'<p class="faint">{safe(line)}</p>\n' for line in result.summary[1:])
    if result.ok:
        return f"<p><b>{title}</b> {safe(result.summary[0])}</p>\n{rest}"
    return f'<ul class="notes"><li class="alarm">{title} {safe(result.summary[0])}</li></ul>\n{rest}'


def _settled(found: History) -> str:
    problem = found.state.believed
    rows = "".join(
        f"<tr><td>{safe(', '.join(targets))}</td><td>{safe(WORDS[verdict.route])}</td>"
        f"<td>{safe(verdict.reason)}</td></tr>\n"
        for targets, verdict in list(problem.verdicts.items())[:MOST]
    )
    head = "<tr><th>node</th><th>by looking</th><th>how, or why not</th></tr>\n"
    left = len(problem.verdicts) - MOST
    more = f'<p class="faint">... and {counted(left, "more node")}.</p>\n' if left > 0 else ""
    title = "<caption>What looking settles, if the graph is right</caption>"
    return f'<div class="wide"><table class="plain">{title}{head}{rows}</table></div>\n{more}'


def _logs(found: History) -> str:
    logs = found.state.logs
    if not logs:
        return "<p>No logs were at hand: every look was asked for.</p>\n"
    rows = "".join(
        f"<tr><td>{safe(log.name)}</td><td>{log.looks:,}</td><td><code>{safe(log.sha256[:16])}</code></td></tr>\n"
        for log in logs
    )
    head = "<tr><th>log</th><th>looks</th><th>content (SHA-256)</th></tr>\n"
    return f'<div class="wide"><table class="plain"><caption>Logs at hand</caption>{head}{rows}</table></div>\n'


def _terms(found: History) -> str:
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
        f"Restarted at {short_time(each['time'])} (event {each['seq']}): {each['reason']}"
        for each in found.state.restarts
    ]
    said += decided_elsewhere(found.state)
    return "".join(f'<p class="faint">{safe(each)}</p>\n' for each in said)
