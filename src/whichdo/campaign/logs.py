"""Logs of looks, kept in a campaign as counts.

A log is counted once, when it comes, and known by the hash of its content.  Where it has few distinct rows their joint
counts are kept, which serve any graph; of a larger log only the tables are kept that the problem's arms need.
"""

from __future__ import annotations

import glob
import os
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from whichdo.campaign.chain import canonical
from whichdo.campaign.commands import Receipt
from whichdo.campaign.events import Observed, Restarted, body_of
from whichdo.campaign.tallying import Log, teaching_scopes
from whichdo.campaign.terms import plain_text
from whichdo.checking.denial import statement_scopes
from whichdo.counting.counting import count_with_notes
from whichdo.counting.log_files import MOST_FILES, Steady, Tail
from whichdo.counting.sources import opened
from whichdo.counting.warehouse import TablePart, is_warehouse_table, recorded
from whichdo.errors import DataError, TooLargeError, UnsuitableError
from whichdo.monitoring.diagnosis import watched_scopes
from whichdo.session import Session
from whichdo.tables import MAX_CELLS, Radix, Table
from whichdo.text import counted, masked, quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whichdo.campaign.events import Said
    from whichdo.campaign.terms import Terms
    from whichdo.problem import Problem
    from whichdo.tables import Scope


MOST_ROWS = 200_000  # of a log whose distinct rows are counted, if they could be very many
MOST_CELLS = 20_000  # that are kept as they are
MOST_NUMBERS = 16_000_000  # of these cells together: an event holds no more


def sources_of(data: object) -> list[object]:
    """The files that a path, a glob or a list of these names, each by itself; anything else is one source."""
    if isinstance(data, (str, os.PathLike)):
        text = os.fspath(data)
        if isinstance(text, str) and glob.has_magic(text) and not os.path.exists(text):  # noqa: PTH110
            names = [*islice(glob.iglob(text, recursive=True), MOST_FILES + 1)]  # noqa: PTH207 - takes absolute ones
            if len(names) > MOST_FILES:
                raise TooLargeError(
                    f"More than {MOST_FILES:,} files match {quoted(text)}. Join them into fewer files, or name them in "
                    f"several steps. Nothing was stored."
                )
            return [*sorted(names)] or [data]
        return [data]
    if isinstance(data, (list, tuple)) and data and all(isinstance(each, (str, os.PathLike)) for each in data):
        return [source for each in data for source in sources_of(each)]
    return [data]


def counted_log(
    problem: Problem,
    data: object,
    scopes: Iterable[Scope],
    *,
    name: str | None = None,
    counts: str | None = None,
    missing: str = "error",
    known: Sequence[Log] = (),
    append: bool = False,
) -> Log:
    """Count a log of looks; ``scopes`` are counted besides what the problem's arms need.

    ``known``: the logs on record.  Of a file that begins with one of them only what is new is counted, with ``append``.
    """
    if is_warehouse_table(data):
        return _counted_there(problem, data, scopes, name=name, counts=counts, missing=missing)
    if not isinstance(data, (str, os.PathLike)):
        log = _counted(problem, data, scopes, counts=counts, missing=missing)
        log = replace(log, name=name or "rows", is_file=False)
        return replace(log, sha256=sha256(canonical(body_of(log.as_event())).encode()).hexdigest())
    path = Path(data)
    own = name or visible(path.name)[:200]
    sizes = [log.bytes for log in known if log.bytes is not None]
    with Steady(path, sizes) as file:
        before = _before(file, [log for log in known if log.name == own]) if append else None
        if before is not None and before.bytes is not None:
            if before.bytes == file.size:
                return before
            if not file.ends_a_line(before.bytes):
                raise DataError(
                    f"{visible(path.name)} was observed while its last row was incomplete, so its new rows cannot be "
                    f"told apart (event {before.receipt.partition(':')[0]}). Nothing was stored."
                )
            data = Tail(path, before.bytes)
        log = _counted(problem, data, scopes, counts=counts, missing=missing)
        since = None if before is None else before.sha256
        return replace(log, name=own, sha256=file.sha256, bytes=file.size, since=since, prefixes=dict(file.prefixes))


def _counted_there(
    problem: Problem, table: object, scopes: Iterable[Scope], *, name: str | None, counts: str | None, missing: str
) -> Log:
    """A log that its database counts; all that is asked sees the same rows.  It is known by its name and counts."""
    part = TablePart(table)
    with recorded() as ran, part.engine.snapshot():
        log = _counted(problem, table, scopes, counts=counts, missing=missing)
        rows = part.rows
    log = replace(log, name=name or visible(part.title)[:200], is_file=False)
    body = body_of(log.as_event())
    digest = sha256(canonical({"looks": body["looks"], "tables": body["tables"]}).encode()).hexdigest()
    sql = [masked(each.sql) for each in ran]
    there = {"engine": part.engine.title, "sql": sql, "rows": rows, "digest": digest}
    return replace(log, sha256=sha256(canonical(body).encode()).hexdigest(), database=there)


def _before(file: Steady, known: Sequence[Log]) -> Log | None:
    """The longest of some logs on record that a file begins with, or is."""
    found = [log for log in known if (log.bytes, log.sha256) in {*file.prefixes.items(), (file.size, file.sha256)}]
    return max(found, key=lambda log: log.bytes or 0, default=None)


def _counted(problem: Problem, data: object, scopes: Iterable[Scope], *, counts: str | None, missing: str) -> Log:
    """A log before it gets a name and a hash."""
    seen, notes = count_with_notes(problem, data, counts=counts, missing=missing)
    wanted = [*seen.tables.get(problem.arms[0], {}), *scopes]
    if not seen.pulls[0]:
        raise DataError("There are no rows in this log, so nothing is observed.")
    looks = int(seen.pulls[0])
    tables = _joint(problem, data, looks, wanted, counts=counts, missing=missing)
    if tables is None:
        extra, _ = count_with_notes(problem, data, counts=counts, missing=missing, scopes=wanted)
        tables = {scope: table.sparse() for scope, table in extra.tables[problem.arms[0]].items()}
    return Log("", "", looks, tables, notes.sentences)


def _joint(
    problem: Problem, data: object, looks: int, wanted: Sequence[Scope], *, counts: str | None, missing: str
) -> dict[Scope, Table] | None:
    """The joint counts of all columns that are nodes, if few rows are distinct; of those that are needed, if others
    lack values.
    """
    sizes = {name: len(values) for name, values in problem.domains.items()}
    with opened(data, frozenset(problem.domains)) as source:
        there = frozenset.intersection(*(frozenset(part.columns) for part in source.parts))
    needed = {name for scope in wanted for name in scope}
    for chosen in (there, needed):
        scope = tuple(name for name in problem.graph.nodes if name in chosen and name in there)
        if looks > MOST_ROWS and Radix.of(scope, sizes).cells > MAX_CELLS:
            continue
        try:
            seen, _ = count_with_notes(problem, data, counts=counts, missing=missing, scopes=[scope])
        except DataError:
            if chosen is needed:
                raise
            continue
        table = seen.tables[problem.arms[0]][scope].sparse()
        few = len(table.count) <= MOST_CELLS and len(table.count) * len(scope) <= MOST_NUMBERS
        if table.total == looks and few:
            return {scope: table}
    return None


# ------------------------------------------------------------------------------------------------------------ observe


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


def receipts_for(known: Sequence[Log], logs: Sequence[Log], events: Sequence[Said]) -> list[Receipt]:
    """An answer for each log, once these events are on record; one that was ``known`` already gets its receipt."""
    new = {event.sha256 for event in events if isinstance(event, Observed)}
    begun = any(isinstance(event, Restarted) for event in events)
    receipts = {log.sha256: log.receipt for log in known}
    made = []
    for log in logs:
        repeated = log.sha256 not in new
        looks = counted(log.looks, "look" if repeated or log.since is None else "new look")
        said = f"{log.name}: {looks} observed{' before; counted once' if repeated else ''}."
        if repeated and not log.is_file:
            said += " If these are different looks with the same counts, give them a name."
        if begun:
            said += " The policy restarts with all that is known."
        beginning = next((old for old in known if _begins_with(log, old)), None)
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
