"""What if one edge of the graph is wrong?  The decision under every single edit, from the same counts.

Each edit (`whichdo.checking.edits`) makes another graph, which reads the same log in another way.
The log is counted once, for all of them; a formula that many graphs share is estimated once.  For
each edit there is

best         the best arm of the edited graph, as `whichdo.rank` would have it;
estimate     what today's choice would be worth, and its *regret*: how much the best of the edited graph is better;
refuted      whether the logs contradict the edited graph;
settled_by   the arm that tells the two graphs apart with the fewest pulls, and how many these are.

The pulls are those of a comparison of means: the mean of n pulls of the arm against what the wrong
one of the two graphs predicts for it, at 5% (two-sided), with power 80%, whichever of the two is
wrong.  What looking itself does not know of the prediction counts as noise that pulls cannot reduce,
so that a difference that is small beside it can be settled by no number of pulls.

Where an edit leaves today's choice without a formula, looking settles nothing: the arm would have to
be tried.  It then takes as many pulls as tell its estimate of today from the best mean that the
edited graph does know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.checking.choices import Candidates, candidates_under
from whichdo.checking.decision import WhatIf
from whichdo.checking.edits import Additions, Predictions, single_edits
from whichdo.checking.many_graphs import ManyGraphs
from whichdo.errors import UsageError
from whichdo.estimate.estimator import Looking, Rule
from whichdo.estimate.pooling import pool
from whichdo.estimate.rank import must_try_of
from whichdo.estimate.shrinkage import STRENGTH, reward_scale
from whichdo.estimate.statements import ROWS_PER_CELL, check_statements, statement_cells
from whichdo.evidence import Tally
from whichdo.formulas import Formula, checked_reading, few_cells, needed_scopes
from whichdo.graph.separation import implied_statements
from whichdo.problem import LOOK, Problem
from whichdo.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from whichdo.blends import Blend
    from whichdo.checking.edits import Edit
    from whichdo.estimate.statements import Tested
    from whichdo.graph.separation import Statement
    from whichdo.graph.targets import Targets
    from whichdo.tables import Scope


def what_if(
    problem: Problem,
    data: object,
    *,
    among: Iterable[str] | None = None,
    reading: str = "robust",
    counts: str | None = None,
    weights: str | None = None,
    missing: str = "error",
    shrinkage: float = STRENGTH,
    progress: Callable[[int, int | None], None] | None = None,
) -> WhatIf:
    """Say what every single edit of the graph would do to the decision.

    Parameters
    ----------
    problem
        Which node is the reward, which arms there are, and the graph in doubt.
    data
        As for `whichdo.rank`.
    among
        The nodes whose edges are in doubt; by default all that act on the reward.
    reading
        "robust" or "graph", as for `whichdo.rank`.
    counts, weights, missing, shrinkage, progress
        As for `whichdo.rank`.  Every row is a look: what experiments say leans on no graph.

    Returns
    -------
    WhatIf
        An outcome for each edit, and what they come to in a few sentences.

    Raises
    ------
    DataError
        If the data cannot be counted.
    TooLargeError
        If there are too many edits; nothing is counted then.
    UsageError
        If the arguments do not go together.

    Examples
    --------
    >>> import whichdo as wd
    >>> rows = {"X": [0, 0, 1, 1] * 50, "Y": [0, 1, 1, 1] * 50}
    >>> found = wd.what_if(wd.Problem("X -> Y", "Y"), rows)
    >>> [(each.edit, each.best) for each in found.edits]
    [('drop X -> Y', do()), ('add X <-> Y', None)]
    """
    from whichdo.counting import count_with_notes

    if not isinstance(problem, Problem):
        raise UsageError(f"what_if takes a Problem first, then the data; found a {type(problem).__name__}.")
    problem = problem.unpruned  # what was pruned leans on the graph that is in doubt
    rule = Rule(checked_reading(reading), shrinkage)
    edits = single_edits(problem.graph, problem.graph.ancestors([problem.reward]) if among is None else among)
    many = ManyGraphs(problem.graph, edits, problem.reward)
    refuting = Refuting(problem, edits, many.names)
    candidates: list[dict[Targets, Candidates]] = []

    def scopes(there: frozenset[str], rows: int | None) -> Iterable[Scope]:
        complete = there.issuperset(many.names)  # else a formula may lack columns, and the next be needed
        few = few_cells(rows or 1) if complete else None
        candidates.extend(candidates_under(problem, many, edits, rule.reading, few=few))
        tested = refuting.scopes(there, rows) if weights is None else ()
        return dict.fromkeys((*_union(problem, candidates, there, rows), *tested))

    seen, told = count_with_notes(
        problem,
        data,
        counts=counts,
        weights=weights,
        missing=missing,
        progress=progress,
        reading=rule.reading,
        scopes=scopes,
    )
    if not candidates:  # a tally was given, which holds what it holds
        candidates = candidates_under(problem, many, edits, rule.reading, few=None)
    seen = _looks(seen)
    refuted, today = refuting.verdicts(seen)
    predicted, lacking = _predict(problem, seen, rule, candidates)
    return WhatIf(
        problem,
        edits,
        predicted,
        refuted or [None] * len(edits),
        refuted=today,
        looks=int(seen.pulls[0]),
        notes=(*told.sentences, *_lacking_words(lacking)),
    )


def _lacking_words(edits: int) -> tuple[str, ...]:
    """That some arms have no estimate only for want of columns or tables."""
    if not edits:
        return ()
    which = f"Under {counted(edits, 'edit')} some arms are not estimated although looking settles them"
    return (f"{which}: the columns of their formulas are missing, were not counted together, or have too many cells.",)


def _union(
    problem: Problem, candidates: Sequence[dict[Targets, Candidates]], there: frozenset[str], rows: int | None
) -> Iterable[Scope]:
    """The scopes that any of the graphs needs, each once; what has no column is asked for by today's graph alone."""
    *edited, today = candidates
    found = dict.fromkeys(scope for each in today.values() for scope in needed_scopes(each, rows, there))
    for each in {id(each): each for graph in edited for each in graph.values()}.values():
        for scope in needed_scopes(each, rows, there):
            if there.issuperset(scope):
                found[tuple(sorted(scope, key=problem.graph.index))] = None
    return found


# ------------------------------------------------------------------------------------------------------- predictions


def _looks(seen: Tally) -> Tally:
    """The looks of a tally without pulls of other arms."""
    levels = np.zeros_like(seen.counts)
    levels[0] = seen.counts[0]
    return Tally(seen.problem, levels, {LOOK: seen.tables.get(LOOK, {})})


class _Chosen(Looking):
    """Estimates the means of each target set by a formula that is chosen already."""

    effects = False
    chosen: Mapping[Targets, Formula | str]

    def formula(self, targets: Targets, made: Collection[Formula | Blend] = ()) -> Formula | str:  # noqa: ARG002
        return self.chosen[targets]


def _predict(
    problem: Problem, seen: Tally, rule: Rule, candidates: Sequence[dict[Targets, Candidates]]
) -> tuple[Predictions, int]:
    """Estimate every formula once; a row of the result takes those of its graph.

    Returns predictions for each edit, and last for the graph as it is; and under how many edits an arm could be settled
    and is not, for want of columns or tables.
    """
    worth, _, _ = reward_scale(problem)
    looking = _Chosen(problem, seen, worth, rule)
    options: dict[Targets, dict[Formula | str, int]] = {targets: {} for targets in problem.target_sets}
    taken = np.zeros((len(candidates), len(problem.target_sets)), np.int64)
    for column, (targets, own) in enumerate(options.items()):
        known: dict[int, int] = {}  # lists that graphs share are told by their identity
        for row, graph in enumerate(candidates):
            each = graph[targets]
            if id(each) not in known:
                # Whether a formula is too large is found out when it is evaluated, unless there is another to take.
                chosen = looking.choose(each, each if len(each) == 1 else ())
                known[id(each)] = own.setdefault(chosen, len(own))
            taken[row, column] = known[id(each)]
    rounds = max(map(len, options.values()), default=1)
    parts = Predictions.empty(rounds, len(problem.arms))
    lacking = np.zeros((rounds, len(options)), bool)
    listed = {targets: list(each) for targets, each in options.items()}
    for number in range(rounds):
        looking.chosen = {targets: each[number] if number < len(each) else "" for targets, each in listed.items()}
        looked = looking.all()
        lacking[number] = [bool(looked.why_not.get(targets)) for targets in listed]
        pooled = pool(looked, seen, worth)
        parts.means[number] = pooled.means
        parts.ranked[number] = pooled.known & ~must_try_of(pooled)
        parts.errors[number] = pooled.variances + ((pooled.below + pooled.above) / 2) ** 2
        parts.spreads[number] = looked.by_arm(looked.settled.spreads)
    rows = np.zeros((len(candidates), len(problem.arms)), np.int64)
    for column, targets in enumerate(problem.target_sets):
        rows[:, list(problem.positions[targets])] = taken[:, [column]]
    arms = np.arange(len(problem.arms))
    return parts[rows, arms], int(lacking[taken[:-1], np.arange(len(options))].any(axis=1).sum())


# ----------------------------------------------------------------------------------------------------- what logs refute

# An edited graph is contradicted if it implies an independence that the logs deny
# (`whichdo.estimate.statements`).  There are two kinds, each corrected for its own number:
#
# what the graph as it is implies.  An edge that is added leaves fewer of these, and one that is
# dropped all of them, so each is tested once.  Where one fails, the edits that do not undo it are
# contradicted, as is the graph itself: `whichdo.check` says so;
#
# what a graph without some edge implies in addition, about the two ends of that edge and about pairs
# that only a chain of colliders through it had tied together.


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
