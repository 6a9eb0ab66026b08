"""``observe``: logs of looks on their way into a campaign, all of them or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.campaign.beginnings import begun_anew
from whichdo.campaign.events import plain_text
from whichdo.campaign.logs import Log, counted_log, sources_of
from whichdo.campaign.pool import teaching_scopes
from whichdo.campaign.proposals import Draft, Receipt
from whichdo.checking.denial import statement_scopes
from whichdo.errors import BusyError, ConflictError, UnsuitableError
from whichdo.monitoring.diagnosis import watched_scopes
from whichdo.remedies import Option
from whichdo.session import Session
from whichdo.text import counted, quoted, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.campaign.state import State
    from whichdo.campaign.terms import Terms
    from whichdo.problem import Problem
    from whichdo.tables import Scope

__all__ = ["logs_for", "observing", "receipts_for"]


def logs_for(
    terms: Terms,
    allowed: Problem,
    data: object,
    *,
    name: str | None = None,
    counts: str | None = None,
    missing: str = "error",
    known: Sequence[Log] = (),
    append: bool = False,
) -> list[Log]:
    """Count logs for all that the campaign may want to know of them."""
    whole = terms.problem.unpruned  # an arm that is pruned now may come back
    policies = (*_scopes(terms, whole), *_scopes(terms, allowed))
    wanted = (*policies, *watched_scopes(whole), *statement_scopes(whole), *teaching_scopes(whole))
    own = None if name is None else plain_text(name, "name of a log", 200)
    return [
        counted_log(whole, source, wanted, name=own, counts=counts, missing=missing, known=known, append=append)
        for source in sources_of(data)
    ]


def _scopes(terms: Terms, problem: Problem) -> Sequence[Scope]:
    """What the policy begins by asking of logs; nothing where it cannot begin, as after an alarm it may not."""
    try:
        return Session(terms.policy, problem, budget=terms.budget).batch.scopes or ()
    except UnsuitableError:
        return ()


def observing(state: State, logs: Sequence[Log], *, restart: bool) -> list[Draft]:
    """The logs that are not on record yet; with ``restart`` the policy begins anew unless it knows all of them."""
    at = {log.sha256: place for place, log in enumerate(state.logs)}
    fresh = {log.sha256: log for log in logs if log.sha256 not in at}
    for log in fresh.values():
        _check_overlap(log, state.logs)
    drafts: list[Draft] = [("observed", log.as_body()) for log in fresh.values()]
    play = state.play
    if not restart or play is None or not play.asked:
        return drafts
    unknown = len(fresh) + sum(at.get(log.sha256, -1) >= state.logs_known for log in logs)
    if unknown:
        drafts += begun_anew(state, f"observed {counted(unknown, 'log')}")
    return drafts


def _check_overlap(log: Log, logs: Sequence[Log]) -> None:
    """Refuse a file that begins with one of its name which is on record: those rows would count twice."""
    counted_before = {log.since}
    for old in reversed(logs):  # what a log grew from was counted with it
        if old.sha256 in counted_before:
            counted_before.add(old.sha256)
            counted_before.add(old.since)
    for old in logs:
        if old.name != log.name or old.bytes is None or log.bytes is None or old.sha256 in counted_before:
            continue
        if old.bytes < log.bytes and old.bytes not in log.prefixes:
            raise BusyError(f"Another log {quoted(old.name)} was observed meanwhile. Nothing was stored; try again.")
        if log.prefixes.get(old.bytes) == old.sha256:
            raise ConflictError(
                f"{visible(log.name)} has grown: it begins with the {counted(old.looks, 'look')} that were observed "
                f"before (event {old.receipt.partition(':')[0]}), and they would count twice. Nothing was stored. To "
                f"observe only what is new: ",
                Option("append", True, of="observe"),
                ".",
            )


def receipts_for(state: State, logs: Sequence[Log], drafts: Sequence[Draft]) -> list[Receipt]:
    """An answer for each log, once what was drafted is on record; one that was there already gets its receipt."""
    new = {body["sha256"] for kind, body in drafts if kind == "observed"}
    begun = any(kind == "restarted" for kind, _ in drafts)
    receipts = {log.sha256: log.receipt for log in state.logs}
    made = []
    for log in logs:
        repeated = log.sha256 not in new
        looks = counted(log.looks, "look" if repeated or log.since is None else "new look")
        said = f"{log.name}: {looks} observed{' before; counted once' if repeated else ''}."
        if repeated and not log.is_file:
            said += " If these are others with the same counts, give them a name."
        if begun:
            said += " The play begins anew with all that is known."
        beginning = next((old for old in state.logs if _begins_with(log, old)), None)
        if beginning is not None:
            said += f" It begins like {visible(beginning.name)}: if that is the same log, its rows count twice now."
        made.append(Receipt.of(receipts[log.sha256], repeated=repeated, notes=(said, *log.notes)))
    return made


def _begins_with(log: Log, old: Log) -> bool:
    """Whether a file begins with one of another name, of which it is not what has been added."""
    return (
        old.bytes is not None
        and old.name != log.name
        and log.since is None
        and log.prefixes.get(old.bytes) == old.sha256
    )
