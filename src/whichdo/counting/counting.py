"""Count a log: from rows of any source to the tables that a problem's arms need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.blends import experiment_scopes
from whichdo.counting.notes import CountNotes
from whichdo.counting.parts import CHUNK
from whichdo.counting.row_counter import RowCounter
from whichdo.counting.sources import opened
from whichdo.counting.warehouse import TablePart
from whichdo.errors import UsageError
from whichdo.evidence import Tally
from whichdo.formulas import Reading, counted_scopes, doubted_scope, naive_scope
from whichdo.open_arms import lower_law_scopes
from whichdo.remedies import Option
from whichdo.tables import MAX_CELLS
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whichdo.counting.kept_rows import RowKeeper
    from whichdo.counting.parts import Source
    from whichdo.counting.row_counter import Counter
    from whichdo.problem import Problem
    from whichdo.tables import Scope

    Progress = Callable[[int, int | None], None]
    ChooseScopes = Callable[[frozenset[str], int | None], Iterable[Scope]]

__all__ = ["CountNotes", "check_missing", "count", "count_with_notes", "ranking_scopes"]


def count(
    problem: Problem,
    data: object,
    *,
    counts: str | None = None,
    arm: str | None = None,
    missing: str = "error",
    scopes: Iterable[Scope] | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Count a log into the tables that the problem's arms need.

    Every value is checked against the problem's domains.  A value that does not fit is an error that says where it is.

    Parameters
    ----------
    problem
        The problem whose arms are to be estimated.
    data
        A dict of arrays or lists; a pandas, Polars or PyArrow frame; an Arrow record batch, or a list or reader of
        them; a path, glob or list of paths to CSV, TSV (plain or gzip) or Parquet files, each counted once however
        often it is named; an Ibis table expression, which its database counts; or a `Tally`, which is returned as is.
    counts
        The column that says how often each row counts.
    arm
        The column that says which arm each row belongs to, such as ``do(X=1)``; empty or ``do()`` is a look.
    missing
        "error" to refuse missing values; "drop" to drop the rows that lack a needed value; or "level" to count a
        missing value as the value "missing" of nodes that declare it (rows that lack the reward are dropped).
    scopes
        The columns to count together.  By default those that `whichdo.formulas` names, the reward alone, and, where
        that is cheap, all nodes that act on the reward, by which looks can contradict the graph.
    progress
        Called after each chunk with the rows read so far and their total, if that is known.

    Returns
    -------
    Tally
        The counts, by arm.

    Raises
    ------
    DataError
        If a column is missing, a value is not in its domain, or a file cannot be read.

    Examples
    --------
    >>> import whichdo as wd
    >>> seen = wd.count(wd.Problem("X -> Y", "Y"), {"X": [0, 1, 1], "Y": [0, 0, 1]})
    >>> seen.tables[wd.do()]["X", "Y"].tolist()
    [[1, 0], [1, 1]]
    """
    return count_with_notes(problem, data, counts=counts, arm=arm, missing=missing, scopes=scopes, progress=progress)[0]


def count_with_notes(
    problem: Problem,
    data: object,
    *,
    counts: str | None = None,
    arm: str | None = None,
    missing: str = "error",
    scopes: Iterable[Scope] | ChooseScopes | None = None,
    progress: Progress | None = None,
    chunk: int = CHUNK,
    reading: Reading | None = None,
    weights: str | None = None,
    moments: bool = True,
    keeper: RowKeeper | None = None,
) -> tuple[Tally, CountNotes]:
    """As `count`, with notes for the reader: columns ignored, rows dropped.

    ``scopes`` may be a function of the columns that there are and the number of rows, None where that is not known
    before all are read.  ``chunk`` rows are held at once.  With a ``reading`` only what that reading needs for so many
    rows is counted; by default what the robust reading may need however many rows are added.  ``weights`` is a column
    that says how much each row weighs; its tables then hold sums of weights too.  Without ``moments`` a reward on a
    range is counted by levels alone.  ``keeper`` keeps the rows themselves, for what reads more than tables.
    """
    if counts is not None and weights is not None:
        raise UsageError(Option("counts"), " and ", Option("weights"), " exclude each other; give one of them.")
    check_missing(missing)
    if isinstance(data, Tally):
        if data.problem.unpruned != problem.unpruned:
            raise UsageError("This tally was counted for another problem. Count the log again for this one.")
        return data.onto(problem), CountNotes(int(data.pulls.sum()))
    with opened(data, frozenset(problem.domains)) as source:
        there = frozenset.intersection(*(frozenset(part.columns) for part in source.parts))
        if keeper is not None:
            keeper.open(there)
        counter: Counter = _counter_for(source)(
            problem,
            counts=counts,
            arm=arm,
            missing=missing,
            chunk=chunk,
            progress=progress,
            weights=weights,
            levels=reading is None,
            moments=moments,
            keeper=keeper,
        )
        rows = None if counts or arm or missing != "error" else source.rows
        spare: tuple[Scope, ...] = ()
        if callable(scopes):
            asked = tuple(scopes(there, rows))
        elif scopes is not None:
            asked = tuple(scopes)
        elif reading is None:
            asked, spare = _scopes_of_reading(problem, there, Reading.ROBUST, None, experiments=False)
        else:
            asked, spare = _scopes_of_reading(problem, there, reading, rows, experiments=arm is not None)
        counted = counter.count(source, _check(problem, asked), spare)
    levels = np.zeros((len(problem.arms), len(problem.domains[problem.reward])), np.int64)
    for one, tables in counted.tables.items():
        levels[problem.index(one)] = tables[problem.reward,].dense().count
    return Tally(problem, levels, counted.tables), counted.notes


def _counter_for(source: Source) -> type[RowCounter]:
    """What counts a source: a database counts its own tables."""
    if not any(isinstance(part, TablePart) for part in source.parts):
        return RowCounter
    from whichdo.counting.sql import SqlCounter

    return SqlCounter


def check_missing(missing: str) -> None:
    """Refuse what is not a way to treat missing values."""
    if missing not in {"error", "drop", "level"}:
        raise UsageError(Option("missing"), f' is {quoted(missing)}; it must be "error", "drop" or "level".')


def ranking_scopes(
    problem: Problem, there: frozenset[str], reading: Reading, rows: int | None, *, experiments: bool = False
) -> tuple[Scope, ...]:
    """What `whichdo.rank` counts of the columns that there are: what estimates need, and what may contradict the graph.

    ``rows``, where known: only what so many rows need.  With ``experiments`` what their rows say of other arms too.
    """
    asked, spare = _scopes_of_reading(problem, there, reading, rows, experiments=experiments)
    return (*asked, *spare)


def _scopes_of_reading(
    problem: Problem, there: frozenset[str], reading: Reading, rows: int | None, *, experiments: bool
) -> tuple[tuple[Scope, ...], tuple[Scope, ...]]:
    """What estimates need, and what can be spared: naive comparisons, bounds, and what may contradict the graph."""
    asked, spare = _default_scopes(problem, there, reading, rows)
    if experiments:
        asked = (*asked, *experiment_scopes(problem, reading, there))
    spare = (*spare, *lower_law_scopes(problem, reading, there, experiments=experiments))
    doubted = doubted_scope(problem) if reading is Reading.ROBUST else None
    return asked, spare if doubted is None or not there.issuperset(doubted) else (*spare, doubted)


def _default_scopes(
    problem: Problem, there: frozenset[str], reading: Reading, rows: int | None
) -> tuple[tuple[Scope, ...], tuple[Scope, ...]]:
    """What estimates need; and what can be spared, for each target set the naive comparison.

    A target set that no scope holds beside the reward is counted with it, if its columns are there and the table can be
    laid out.
    """
    needed = counted_scopes(problem, reading, rows, there)
    with_reward = [frozenset(scope) for scope in needed if problem.reward in scope]
    beside_reward = frozenset[str]().union(*with_reward)  # of a single node this says it all
    alone = [
        naive_scope(problem, targets)
        for targets in problem.target_sets
        if there.issuperset(targets)
        and not (
            beside_reward.issuperset(targets)
            and (len(targets) == 1 or any(scope.issuperset(targets) for scope in with_reward))
        )
    ]
    return needed, tuple(scope for scope in alone if problem.cells(scope) <= MAX_CELLS)


def _check(problem: Problem, given: Iterable[Scope]) -> tuple[Scope, ...]:
    """The scopes to count, each once; the reward's own is always among them."""
    found = []
    for scope in given:
        scope = tuple(scope)
        for name in scope:
            if name not in problem.domains:
                raise UsageError(f"The scope {scope} names {quoted(name)}, which is not an observed node of the graph.")
        if len(set(scope)) < len(scope):
            raise UsageError(f"The scope {scope} names a column twice.")
        found.append(scope)
    return tuple(dict.fromkeys([*found, (problem.reward,)]))
