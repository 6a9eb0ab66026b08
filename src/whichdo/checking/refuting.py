"""Which edits of a graph the logs contradict.

An edited graph is contradicted if it implies an independence that the logs deny
(`whichdo.estimate.statements`).  There are two kinds, each corrected for its own number:

what the graph as it is implies.  An edge that is added leaves fewer of these, and one that is
dropped all of them, so each is tested once.  Where one fails, the edits that do not undo it are
contradicted, as is the graph itself: `whichdo.check` says so;

what a graph without some edge implies in addition, about the two ends of that edge and about pairs
that only a chain of colliders through it had tied together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.estimate.statements import ROWS_PER_CELL, check_statements, statement_cells
from whichdo.graph.additions import Additions
from whichdo.graph.implied import implied_statements
from whichdo.problem import LOOK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whichdo.checking.edits import Edit
    from whichdo.estimate.statements import Tested
    from whichdo.evidence import Tally
    from whichdo.graph.implied import Statement
    from whichdo.problem import Problem
    from whichdo.tables import Scope

__all__ = ["Refuting"]

MOST_CELLS = 1 << 12
"""Cells of a statement that are counted where the number of rows is not known yet."""


class Refuting:
    """The statements by which logs contradict edits, and what they say of each."""

    def __init__(self, problem: Problem, edits: Sequence[Edit], among: Iterable[str]) -> None:
        """``among``: the nodes whose laws are asked about, with all that act on them."""
        self.problem, self.edits = problem, edits
        self.graph = graph = problem.graph.subgraph(among)
        implied = implied_statements(graph)
        joined = graph.bidirected | {frozenset(pair) for pair in graph.directed}
        chained = [pair for pair in implied.inseparable if frozenset(pair) not in joined]
        self.standing = implied.statements
        """What the graph as it is implies."""
        self.without: dict[int, tuple[Statement, ...]] = {}
        """What each edit that drops an edge implies in addition, by its number."""
        for number, edit in enumerate(edits):
            if not edit.adds:
                pairs = [(edit.tail, edit.head), *chained]
                self.without[number] = implied_statements(edit.apply(graph), pairs=pairs).statements

    def scopes(self, there: frozenset[str], rows: int | None) -> Iterator[Scope]:
        """What must be counted to test the statements that so many rows can test."""
        most = MOST_CELLS if rows is None else rows // ROWS_PER_CELL
        for each in self._all():
            if there.issuperset(each.scope) and statement_cells(each, self.problem.sizes) <= most:
                yield tuple(sorted(each.scope, key=self.problem.graph.index))

    def _all(self) -> Iterator[Statement]:
        yield from self.standing
        for some in self.without.values():
            yield from some

    def verdicts(self, seen: Tally) -> tuple[list[bool] | None, bool | None]:
        """For each edit, and for the graph as it is, whether the looks contradict it; None where rows have weights."""
        tables = seen.tables.get(LOOK, {})
        if any("weight" in table.statistics for table in tables.values()):
            return None, None
        standing = [each for each in check_statements(seen, self.standing) if each.fails]
        dropping = dict.fromkeys(each for some in self.without.values() for each in some)
        denied = {each.statement for each in check_statements(seen, dropping) if each.fails}
        found = [not denied.isdisjoint(self.without.get(number, ())) for number in range(len(self.edits))]
        return [one or other for one, other in zip(found, self._keeping(standing), strict=True)], bool(standing)

    def _keeping(self, denied: Sequence[Tested]) -> list[bool]:
        """Whether each edit leaves one of some statements as it is: only an edge that is added undoes any."""
        additions, place = Additions(self.graph), self.graph.index
        ends = [(place(edit.tail), place(edit.head)) for edit in self.edits]
        found = [False] * len(self.edits)
        for each in denied:
            undone = additions.undone_by(each.statement)
            for number, (edit, (tail, head)) in enumerate(zip(self.edits, ends, strict=True)):
                by = undone.hidden if edit.hidden else undone.arrows
                found[number] |= not (edit.adds and by[tail, head])
        return found
