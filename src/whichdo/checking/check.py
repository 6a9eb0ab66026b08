"""Ask the logs whether they deny the graph.

What a graph says without any experiment: pairs of nodes that are independent given others
(`whichdo.graph.separation`); that estimates which lean on every missing edge agree with those that lean
on few (`whichdo.estimate.disagreement`); and, where rows of experiments are there, that setting a node
leaves alone what it does not act on (`untouched_laws`), and that looks and experiments
agree on what both can tell (`whichdo.estimate.overdetermined`).  All tests are corrected together.
Where one fails, the edges that would explain it are named, and what the decision would be with each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.checking.edits import likely_missing, unseen_edges
from whichdo.checking.result import Check, CrossCheck, Suspect
from whichdo.errors import UsageError
from whichdo.estimate.disagreement import disagreements
from whichdo.estimate.overdetermined import compare_factors
from whichdo.estimate.rank import ranking
from whichdo.estimate.shrinkage import reward_scale
from whichdo.estimate.statements import (
    LEVEL,
    MATTERS,
    NEGLIGIBLE,
    ROWS_PER_CELL,
    adjusted_chances,
    check_statements,
    statement_cells,
)
from whichdo.evidence import Tally
from whichdo.formulas import Reading
from whichdo.graph.separation import implied_statements
from whichdo.problem import LOOK, Problem, per_problem
from whichdo.tables import MAX_CELLS, smallest_table
from whichdo.tables.independence import measure_dependence
from whichdo.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from whichdo.arrays import IntArray
    from whichdo.checking.edits import Edit
    from whichdo.counting import CountNotes
    from whichdo.estimate.ranking import Ranking
    from whichdo.graph.separation import Implied, Statement
    from whichdo.graph.targets import Targets
    from whichdo.problem import Arm
    from whichdo.tables import Scope


WHOLE = 1 << 14
"""Cells of all columns together up to which they are counted as one table, of which every other is a margin."""
MOST_CELLS = 1 << 16
"""Cells of a statement that are counted at most, where the number of rows is not known yet."""
MOST_SUSPECTS = 6
"""Missing edges of which the decision is worked out."""


def check(
    problem: Problem,
    data: object,
    *,
    counts: str | None = None,
    arm: str | None = None,
    missing: str = "error",
    progress: Callable[[int, int | None], None] | None = None,
) -> Check:
    """Check whether logs contradict the problem's graph, before the first experiment.

    Parameters
    ----------
    problem
        The graph and what is decided by it.
    data
        As for `whichdo.rank`.
    counts
        A column that says how often each row counts; by default each counts once.
    arm
        A column that says what was done in each row, such as ``do(X=1)``; empty or ``do()`` is a look.  Without it
        every row is a look.
    missing
        "error" to refuse rows that lack a value, or "drop" to leave them out.
    progress
        Called after each chunk with the rows read so far and their total, if that is known.

    Returns
    -------
    Check
        Whether the graph stands, each statement with its chance and strength, the edges that are likely missing and
        what they would change.

    Raises
    ------
    DataError
        If the data cannot be counted; the message names the first row and value that does not fit.
    UsageError
        If the arguments do not go together, or a tally has weights.

    Examples
    --------
    >>> import whichdo as wd
    >>> rows = {"A": [0, 0, 1, 1] * 50, "B": [0, 1, 1, 1] * 50, "Y": [0, 1, 1, 0] * 50}
    >>> found = wd.check(wd.Problem("A; B -> Y", "Y"), rows)
    >>> found.ok, found.statements[0].left, found.statements[0].right, found.statements[0].fails
    (False, 'A', 'B', True)
    """
    if not isinstance(problem, Problem):
        raise UsageError(f"check takes a Problem first, then the data; found a {type(problem).__name__}.")
    problem = problem.unpruned  # what was pruned leans on the graph that is in doubt
    log = _Log(problem, data, {"counts": counts, "arm": arm, "missing": missing}, progress)
    implied = _implied(problem)
    seen, notes = log.count(implied)
    if any("weight" in table.statistics for tables in seen.tables.values() for table in tables.values()):
        raise UsageError("A check needs unweighted rows; these have weights. Check the log without them.")
    compared = _cross_checks(seen)
    tested = check_statements(seen, implied.statements, others=[each.p for each in compared])
    chances = adjusted_chances([each.p for each in tested] + [each.p for each in compared])[len(tested) :]
    compared = tuple(each.judge(float(chance), LEVEL) for each, chance in zip(compared, chances, strict=True))
    failing = [each.statement for each in sorted(tested, key=lambda each: -each.strength) if each.fails]
    holding = [each.statement for each in tested if each.tested and not each.fails]
    groups = likely_missing(problem.graph, failing, holding)
    return Check(
        problem,
        looks=int(seen.pulls[0]),
        statements=tested,
        cross_checks=compared,
        suspects=log.suspects(seen, groups),
        best=log.best if groups else None,
        unseen=_unseen(problem, implied),
        too_wide=implied.too_wide,
        notes=notes.sentences,
    )


@per_problem
def _implied(problem: Problem) -> Implied:
    return implied_statements(problem.graph)


def _unseen(problem: Problem, implied: Implied) -> tuple[str, ...]:
    among = problem.graph.ancestors([problem.reward])
    found = unseen_edges(problem.graph, implied.statements, implied.inseparable, among)
    return tuple(each.edge for each in found)


def _cross_checks(seen: Tally) -> tuple[CrossCheck, ...]:
    """What is tested besides statements, not judged yet."""
    worth, _, reach = reward_scale(seen.problem)
    by_reading = [
        CrossCheck(
            "estimates",
            targets,
            None,
            f"the effect of {listed(targets)} estimated with and without leaning on every missing edge",
            each.p,
            each.size * reach,
            each.low * reach,
            strong=each.low > MATTERS,
        )
        for targets, each in disagreements(seen.problem, seen, worth).items()
    ]
    by_experiment = [
        CrossCheck(
            "experiments",
            each.targets,
            each.node,
            f"{each.node} under do({listed(each.targets)}) and among looks",
            each.p,
            each.strength,
            each.low,
            strong=each.low > NEGLIGIBLE,
        )
        for each in untouched_laws(seen)
    ]
    by_source = [
        CrossCheck(
            "factors", tuple(sorted({name for source in each.sources for name in source})), None, each.words, each.p
        )
        for each in compare_factors(seen, worth)
    ]
    return (*by_reading, *by_experiment, *by_source)


class _Log:
    """The data, counted once for all tests and, where an edge is missing, once more for what it would change."""

    def __init__(
        self,
        problem: Problem,
        data: object,
        options: dict[str, Any],
        progress: Callable[[int, int | None], None] | None,
    ) -> None:
        self.problem, self.options, self.progress = problem, options, progress
        # The batches of a reader are gone once they are read, and they may be needed twice.
        self.data = _kept(data)
        self.best: str | None = None

    def count(self, implied: Implied) -> tuple[Tally, CountNotes]:
        """Everything that the tests need, in one pass."""
        return self._count(lambda there, rows: self._scopes(implied.statements, there, rows), moments=False)

    def suspects(self, seen: Tally, groups: Sequence[Sequence[Edit]]) -> tuple[tuple[Suspect, ...], ...]:
        """The edges that may be missing, and the best arm if each is there."""
        if not groups:
            return ()
        asked = [edit for group in groups for edit in group][:MOST_SUSPECTS]
        problems = {edit: self.problem.but(graph=edit.apply(self.problem.graph)) for edit in asked}
        counted = seen if isinstance(self.data, Tally) else self._for_ranking(seen, problems.values())
        today = self.best = _best(_rank_by_graph(self.problem, counted))
        answers = {edit: _best(_rank_by_graph(edited, counted)) for edit, edited in problems.items()}
        return tuple(
            tuple(
                Suspect(edit, ranked=edit in answers, best=answers.get(edit), changes=answers.get(edit, today) != today)
                for edit in group
            )
            for group in groups
        )

    def _scopes(self, statements: Iterable[Statement], there: frozenset[str], rows: int | None) -> list[Scope]:
        """What is counted: one table of all columns where that is small, else one for each statement."""
        from whichdo.counting.counting import ranking_scopes

        problem = self.problem
        nodes = tuple(name for name in problem.graph.nodes if name in there)
        if problem.cells(nodes) <= WHOLE and problem.reward in nodes:
            return [nodes]
        most = MOST_CELLS if rows is None else min(MOST_CELLS, rows // ROWS_PER_CELL)
        place = problem.graph.index
        found: dict[Scope, None] = {}
        for each in statements:
            scope = tuple(sorted(each.scope, key=place))
            if there.issuperset(scope) and statement_cells(each, problem.sizes) <= most:
                found[scope] = None
        if problem.reward_range is None:
            experiments = self.options["arm"] is not None
            wanted = ranking_scopes(problem, there, Reading.ROBUST, rows, experiments=experiments)
            found |= {scope: None for scope in wanted if problem.cells(scope) <= MAX_CELLS}
        if self.options["arm"] is not None:
            found |= {(name,): None for name in nodes}
        return list(found)

    def _for_ranking(self, seen: Tally, problems: Iterable[Problem]) -> Tally:
        """Counts that rank by every one of some graphs: those that are there, where they are of all columns."""
        from whichdo.counting.counting import ranking_scopes

        nodes = self.problem.graph.nodes
        if nodes in seen.tables.get(LOOK, {}) and self.problem.reward_range is None:
            return seen

        def scopes(there: frozenset[str], rows: int | None) -> dict[Scope, None]:
            experiments = self.options["arm"] is not None
            asked = (
                ranking_scopes(each, there, Reading.ROBUST, rows, experiments=experiments)
                for each in (self.problem, *problems)
            )
            return {scope: None for some in asked for scope in some if there.issuperset(scope)}

        return self._count(scopes)[0]

    def _count(
        self, scopes: Callable[[frozenset[str], int | None], Iterable[Scope]], *, moments: bool = True
    ) -> tuple[Tally, CountNotes]:
        from whichdo.counting import count_with_notes

        return count_with_notes(
            self.problem, self.data, scopes=scopes, progress=self.progress, moments=moments, **self.options
        )


def _kept(data: Any) -> object:
    """The data, or all that a reader of Arrow batches has."""
    is_reader = type(data).__module__.split(".")[0] == "pyarrow" and hasattr(data, "read_all")
    return data.read_all() if is_reader else data


def _rank_by_graph(problem: Problem, seen: Tally) -> Ranking:
    """The ranking by another graph on the same columns, from the same counts."""
    return ranking(Tally(problem, seen.counts, seen.tables))


def _best(found: Ranking) -> str | None:
    return None if found.best is None else str(found.best.arm)


# ---------------------------------------------------------------------------------------------------------- experiments

# Setting X changes only what X acts on.  If a node that is not a descendant of X is distributed otherwise
# among direct pulls of do(X=x) than among looks, then an arrow out of X is missing, the pulls were not
# made as told, or they come from another population than the looks.


@dataclass(frozen=True)
class Untouched:
    """A node that an experiment should leave alone, compared between looks and direct pulls."""

    targets: Targets
    node: str
    p: float
    """The chance of such a difference if the experiment leaves the node alone."""
    strength: float
    """How many nats a pull tells apart from a look by this node, on average over the fewer of the two."""
    low: float
    """The lower end of its 95% interval."""


def untouched_laws(seen: Tally) -> tuple[Untouched, ...]:
    """Compare each node that is not a descendant of a target set between looks and the arms on that set.

    A node is compared where it was counted, and where both sides have rows; where nothing can be told, it is left out.
    """
    problem = seen.problem
    found = []
    for targets, places in problem.positions.items():
        arms = [LOOK, *(problem.arms[place] for place in places)]
        below = set(problem.graph.descendants(targets))
        for node in problem.graph.nodes:
            if node in below:
                continue
            rows = [_margin(seen, arm, node) for arm in arms]
            counts = np.stack([row for row in rows if row is not None and row.sum()] or [np.zeros(1, np.int64)])
            measured = measure_dependence(counts[None])
            if len(counts) > 1 and not np.isnan(measured.p):
                looks = counts[0].sum() if rows[0] is not None and rows[0].sum() else counts.sum(axis=1).max()
                share = measured.rows / max(min(int(looks), measured.rows - int(looks)), 1)
                found.append(Untouched(targets, node, measured.p, measured.strength * share, measured.low * share))
    return tuple(found)


def _margin(seen: Tally, arm: Arm, node: str) -> IntArray | None:
    """How often each value of a node occurred among the rows of an arm; None where it was not counted."""
    table = smallest_table(seen.tables.get(arm, {}), [node])
    return None if table is None else table.marginal((node,)).dense().count
