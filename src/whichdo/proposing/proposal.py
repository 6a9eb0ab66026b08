"""Propose a problem from data and a drawing.

What is read off the data: which columns belong to which nodes, the values of each, where numbers are
cut, the range of a numeric reward, values that are too rare to stand alone, what is missing.  What
cannot be read off it is asked for once: which node is the reward, and where the reward is a word,
which of its values are good.

A node of the drawing that has no usable column is hidden: nobody observed it.  That is the safe
reading, since effects that it confounds are then left to experiments, and the proposal says so.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whichdo.counting.sources import opened
from whichdo.domains import BINARY, Value
from whichdo.errors import DataError, ProblemError, UsageError
from whichdo.formulas import counted_scopes
from whichdo.frames import plain
from whichdo.graph.admg import CausalGraph, read_graph
from whichdo.graph.projection import project
from whichdo.problem import Problem
from whichdo.proposing.columns import Column, Kind, read_columns
from whichdo.proposing.levels import FEW_NUMBERS, Values, is_scattered, nice_range, plain_number, truth_of, values_of
from whichdo.remedies import Message, Option
from whichdo.text import counted, listed, nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


INTERVALS, FEWEST = 4, 2
"""Bins that are proposed for a number, and the fewest that are, where there would be more cells than rows for them."""
ROWS_PER_CELL = 3


@dataclass(frozen=True)
class Proposal:
    """A proposed problem and what was found on the way."""

    problem: Problem
    columns: Mapping[str, Column]
    """What the column of each node holds."""
    values: Mapping[str, Values]
    """What is proposed for each node but a numeric reward, with the reasons."""
    reward_words: str
    rows: int
    hidden: Mapping[str, str] = field(default_factory=dict)
    """Nodes that are taken as hidden, and why."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Nodes of the drawing that go by the name of a column that is spelt almost alike."""
    unused: tuple[str, ...] = ()
    """Columns that are not nodes."""
    intervals: int = INTERVALS
    """How many bins a number was to have."""

    @property
    def missing(self) -> dict[str, int]:
        """How many values each node lacks."""
        return {name: column.missing for name, column in self.columns.items() if column.missing}

    @property
    def must_say_missing(self) -> bool:
        """Whether columns that estimates need lack values, so that a reader must say what becomes of them."""
        there = frozenset(self.columns)
        needed = {name for scope in counted_scopes(self.problem, columns=there) for name in scope}
        return bool({*needed, self.problem.reward} & self.missing.keys())

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a careful reader would point out."""
        said = [f"{node} of the drawing is the column {column}." for node, column in self.renamed.items()]
        said += [f"{node} is taken as hidden: {why}." for node, why in self.hidden.items()]
        if self.missing:
            counts = listed((f"{name} {count:,}" for name, count in self.missing.items()), most=12)
            said.append(f"Missing values: {counts} of {counted(self.rows, 'row')}.")
        if self.intervals < INTERVALS and self.problem.bins:
            said += [
                Message(
                    f"Numbers have {self.intervals} bins at most, since more would leave too few rows in each cell. "
                    f"What varies within a bin is not adjusted for: draw fewer causes, cut finer where it matters, "
                    f"or rank by models (",
                    Option("model", "logistic"),
                    ").",
                )
            ]
        if self.unused:
            said.append(f"Columns that are not in the drawing: {listed(self.unused, most=12)}.")
        return tuple(said)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it."""
        problem, bounds = self.problem, self.problem.reward_range
        return plain(
            {
                "rows": self.rows,
                "reward": problem.reward,
                "goal": str(problem.goal),
                "reward_range": None if bounds is None else (bounds.low, bounds.high),
                "domains": {name: problem.domains[name] for name in self.values},
                "bins": {name: each.plain for name, each in problem.bins.items()},
                "missing": self.missing,
                "hidden": dict(self.hidden),
                "renamed": dict(self.renamed),
                "unused": self.unused,
                "remarks": self.remarks,
            }
        )


def propose(
    data: object,
    graph: CausalGraph | str | os.PathLike[str],
    reward: str | None = None,
    *,
    intervene: Iterable[str] | None = None,
    goal: str = "maximize",
    good: Iterable[Value] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Problem:
    """Propose a problem from data and a graph: values, cut points, the range of the reward.

    Parameters
    ----------
    data
        A frame, a dict of columns, or a path to a CSV or Parquet file, as for `rank`.
    graph
        A `CausalGraph`, text such as ``"X -> Y"``, or a path to a file.
    reward
        The node to improve; by default the one node that the graph marks as outcome.
    intervene
        The nodes that can be set; by default the graph's exposures, or else all that act on the reward.
    goal
        "maximize", or "minimize" where the reward is a harm.
    good
        Of a reward that is a word, the values that are good: they are worth 1, all others 0.
    labels
        What nodes are called in tables, plots and reports, with their units.

    Returns
    -------
    Problem
        To look at and to go on with; `write_problem` makes a file of it.

    Raises
    ------
    DataError
        If a column that the graph names cannot be used as it is; the message says which values, and what to write.
    ProblemError
        If it cannot be told which node is the reward, or which of its values are good.

    Examples
    --------
    >>> import whichdo as wd
    >>> found = wd.propose({"age": range(20, 60), "paid": ["no", "yes"] * 20}, "age -> paid", "paid")
    >>> found.domains["age"], dict(found.rewards)
    (('under 30', '30 to under 40', '40 to under 50', '50 or more'), {'no': 0.0, 'yes': 1.0})
    """
    return proposal(data, graph, reward, intervene=intervene, goal=goal, good=good, labels=labels).problem


def proposal(
    data: object,
    graph: CausalGraph | str | os.PathLike[str],
    reward: str | None = None,
    *,
    intervene: Iterable[str] | None = None,
    goal: str = "maximize",
    good: Iterable[Value] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Proposal:
    """As `propose`, with all that was found on the way."""
    drawn = read_drawing(graph)
    with opened(data, frozenset(drawn.nodes)) as source:
        if not source.parts:
            raise DataError("There is no data to propose from.")
        names = list(dict.fromkeys(name for part in source.parts for name in part.columns if name))
        named, renamed = _match(drawn, names)
        chosen = _reward(named, reward, renamed, names)
        columns = read_columns(source.parts, [name for name in names if name in named])
    rows = max((column.rows for column in columns.values()), default=0)
    if columns and not rows:
        raise DataError("The data have columns but no rows. Expected at least one row of values.")
    _refuse_odd([columns[name] for name in named.nodes if name in columns])
    hidden = _unusable(named, columns, names)
    if chosen in hidden:
        those = f" The columns are {listed(map(quoted, names), most=12)}." if chosen not in columns else ""
        raise DataError(f"The reward {quoted(chosen)} cannot be used: {hidden[chosen]}.{those}")
    kept = [name for name in named.nodes if name not in hidden]
    if len(kept) < 2:
        why = listed(f"{name} ({reason})" for name, reason in hidden.items())
        raise DataError(
            f"Beside the reward {quoted(chosen)} no node of the drawing has a column that can be used: {why}. The "
            f"columns are {listed(map(quoted, names), most=12)}."
        )
    observed = project(named, kept) if hidden else named
    found = {name: columns[name] for name in observed.nodes}
    values, intervals = _values(observed, found, chosen, rows)
    settable = _settable(observed, chosen, intervene, hidden)
    own, range_, rewards, words = _of_reward(found[chosen], good)
    problem = Problem(
        observed,
        chosen,
        settable,
        goal=goal,
        domains={
            **{name: each.domain for name, each in values.items()},
            **({} if own is None else {chosen: own}),
        },
        groups={name: each.groups for name, each in values.items() if each.groups},
        reward_range=range_,
        rewards=rewards,
        labels={renamed.get(name, name): label for name, label in (labels or {}).items() if name not in hidden},
    )
    unused = tuple(name for name in names if name not in named)
    return Proposal(problem, found, values, words, rows, hidden, renamed, unused, intervals)


def read_drawing(graph: CausalGraph | str | os.PathLike[str]) -> CausalGraph:
    """A graph as it is, from a file, or from text."""
    if isinstance(graph, CausalGraph):
        return graph
    if not isinstance(graph, (str, os.PathLike)):
        raise UsageError(f"A drawing is a CausalGraph, text such as X -> Y, or a path; found {type(graph).__name__}.")
    text = os.fspath(graph)
    is_text = isinstance(graph, str) and re.search(r"->|<-|[{;\n]", text) is not None
    if is_text and not (len(text) < 250 and "\n" not in text and Path(text).is_file()):
        return CausalGraph.parse(text)
    return read_graph(graph)


def _simple(name: str) -> str:
    """A name without what people vary: capitals, blanks, dots, hyphens and underscores."""
    return re.sub(r"[\s._-]+", "", name).casefold()


def _match(graph: CausalGraph, names: Sequence[str]) -> tuple[CausalGraph, dict[str, str]]:
    """The graph with its nodes named as the columns are, where these are spelt almost alike."""
    there = set(names)
    free = [name for name in names if name not in graph and name == name.strip()]
    simple: dict[str, list[str]] = {}
    for name in free:
        simple.setdefault(_simple(name), []).append(name)
    new = {}
    for node in graph.nodes:
        alike = simple.get(_simple(node), [])
        if node not in there and len(alike) == 1:
            new[node] = alike[0]
    if len(set(new.values())) < len(new):
        new = {}
    if not new:
        return graph, {}

    def of(group: Iterable[str]) -> list[str]:
        return [new.get(name, name) for name in group]

    values = {new.get(name, name): each for name, each in graph.values.items()}
    parts = (of(graph.nodes), graph.parent_ids, graph.sibling_ids, graph.hidden)
    return CausalGraph.assemble(*parts, of(graph.exposures), of(graph.outcomes), graph.notes, values), new


def _reward(graph: CausalGraph, given: str | None, renamed: Mapping[str, str], names: Sequence[str]) -> str:
    if given is None:
        if len(graph.outcomes) == 1:
            return next(iter(graph.outcomes))
        marked = f"it marks {listed(sorted(graph.outcomes))}" if graph.outcomes else "it marks no outcome"
        sinks = [name for name in graph.nodes if not graph.children(name)]
        raise ProblemError(
            f"Which node is the reward? The drawing does not say ({marked}); name it with ",
            Option("reward"),
            f". Nodes that nothing follows from: {listed(sinks or graph.nodes)}.",
        )
    chosen = renamed.get(given, given)
    if chosen in graph:
        return graph.nodes[graph.index(chosen)]
    alike = [name for name in graph.nodes if _simple(name) == _simple(given)]
    if len(alike) == 1:
        return alike[0]
    where = "is a column, but not in the drawing. Draw what acts on it" if given in names else "is not in the drawing"
    raise ProblemError(f"The reward {quoted(given)} {where}.{nearest(given, graph.nodes)}")


def _unusable(graph: CausalGraph, columns: Mapping[str, Column], names: Sequence[str]) -> dict[str, str]:
    """Nodes that have no column, or one whose values cannot be those of a node, and why."""
    found = {}
    free = [name for name in names if name not in graph]
    for name in graph.nodes:
        column = columns.get(name)
        if column is None:
            found[name] = _no_column(name, free)
        elif column.kind is Kind.EMPTY:
            found[name] = "its column has no values"
        elif column.kind is Kind.DATES:
            found[name] = "its column holds dates"
        elif column.kind is Kind.OTHER:
            found[name] = "its column holds lists, bytes or infinite numbers"
        elif column.is_identifier:
            found[name] = "its column tells rows apart (nearly every row has its own value)"
        elif is_scattered(column):
            found[name] = (
                f"its column has {counted(len(column.texts), 'different word')}, most of them rare; put them together "
                f"in the data"
            )
    return found


def _no_column(name: str, free: Sequence[str]) -> str:
    blanks = [other for other in free if other.strip() == name]
    if blanks:
        return f"its column is called {quoted(blanks[0])}, with blanks around the name; remove them"
    meant = nearest(name, free)
    return (
        f"it has no column; did you mean{meant.removeprefix(' Did you mean').rstrip('?')}"
        if meant
        else "it has no column"
    )


def _refuse_odd(columns: Sequence[Column]) -> None:
    """Refuse columns of numbers in odd spellings, or of numbers and words, all of them at once."""
    said = []
    for column in columns:
        odd = column.odd
        few = column.distinct is not None and column.distinct <= FEW_NUMBERS
        if column.blanks:
            said.append(
                f"Column {column.name}: {counted(column.blanks, 'value')} of nothing but blanks. Leave a missing value "
                f"empty in a file; put None in its place in a frame."
            )
        if column.kind in {Kind.EMPTY, Kind.DATES, Kind.OTHER}:
            continue
        if odd is not None and not few and (column.count or odd[1] > 0.5 * column.present):
            text, count, what, instead = odd
            said.append(
                f"Column {column.name}: {quoted(text)} and {count - 1:,} other values are numbers with {what}. Write "
                f"{instead}."
                if count > 1
                else f"Column {column.name}: {quoted(text)} is a number with {what}. Write {instead}."
            )
        elif column.kind is Kind.MIXED and not few:
            texts = listed((f"{quoted(text)} {count:,}" for text, count in column.texts.most_common(3)), most=3)
            said.append(
                f"Column {column.name} mixes {counted(column.count, 'number')} with other values: "
                f"{texts or 'true, false'}. "
                f"Write numbers only, and leave a missing one empty."
            )
    if said:
        raise DataError(" ".join(said[:5]))


def _values(graph: CausalGraph, columns: Mapping[str, Column], reward: str, rows: int) -> tuple[dict[str, Values], int]:
    """The values of every node but the reward; fewer bins where there would be more cells than the rows can fill.

    And how many bins a number was to have.
    """
    others = [name for name in graph.nodes if name != reward]
    for intervals in range(INTERVALS, FEWEST - 1, -1):
        found = {name: _listed_or_found(graph, columns[name], intervals) for name in others}
        if prod(each.size for each in found.values()) * ROWS_PER_CELL <= rows:
            break
    return found, intervals


def _listed_or_found(graph: CausalGraph, column: Column, intervals: int) -> Values:
    """What the graph's own file lists for a node, if all that was found is in it; else what was found."""
    listed_values = graph.values.get(column.name)
    if listed_values is not None and column.kind is Kind.TEXTS and set(column.texts) <= set(listed_values):
        return Values(tuple(listed_values), words=("as the drawing lists them",))
    if column.kind is Kind.MIXED:
        return _mixed(column)
    return values_of(column, intervals)


def _mixed(column: Column) -> Values:
    """A few numbers and words together: each is a value."""
    numbers: list[Value] = [plain_number(value) for value in sorted(column.levels or ())]
    truth: list[Value] = [str(value) for value in sorted(column.truth)]
    return Values((*numbers, *truth, *sorted(column.texts)), words=("numbers and words",))


def _settable(
    graph: CausalGraph, reward: str, given: Iterable[str] | None, hidden: Mapping[str, str]
) -> list[str] | None:
    """The nodes that can be set: those that are named, the exposures, or all that act on the reward."""
    if given is not None:
        names = [given] if isinstance(given, str) else list(given)
        for name in names:
            if name in hidden:
                raise ProblemError(f"{quoted(name)} cannot be set here: {hidden[name]}.")
        return names
    chosen = [name for name in graph.nodes if name in graph.exposures and name != reward]
    acting = [name for name in graph.ancestors([reward]) if name != reward]
    return chosen or acting or None


Range = tuple[float, float]


def _of_reward(
    column: Column, good: Iterable[Value] | None
) -> tuple[tuple[Value, ...] | None, Range | None, dict[Value, float] | None, str]:
    """The domain, the range and the worths of the reward, as far as each is needed, and why, in words."""
    name = quoted(column.name)
    if column.distinct == 1:
        raise DataError(f"The reward {name} has the same value in every row; there is nothing to improve.")
    if column.kind is Kind.TRUTH and good is None:
        return BINARY, None, None, "true is good"
    if column.kind is Kind.NUMBERS and good is None:
        return _numeric_reward(column)
    texts: list[Any] = [plain_number(value) for value in sorted(column.levels or ())]
    texts += sorted(column.texts) if column.order is None else [each for each in column.order if each in column.texts]
    if column.too_many_texts or len(texts) > 12:
        raise DataError(f"The reward {name} has {len(texts):,} different words; a reward is a number or a few words.")
    truth = truth_of(texts) if good is None and all(isinstance(each, str) for each in texts) else None
    if truth is not None:
        return truth, None, {truth[0]: 0.0, truth[1]: 1.0}, f"{truth[1]} is worth 1, {truth[0]} 0"
    if good is None and column.order is not None and len(texts) > 1:
        worth = {text: number / (len(texts) - 1) for number, text in enumerate(texts)}
        return tuple(texts), None, worth, "equal steps from the first category to the last"
    chosen = {str(each) for each in ([good] if isinstance(good, (str, int, float)) else good or ())}
    if not chosen or not chosen <= set(map(str, texts)):
        what = f"{listed(sorted(chosen))} is not among them" if chosen else "which of them are good is not stated"
        raise ProblemError(
            f"The reward {name} has the values {listed(map(str, texts), most=12)}; {what}. Name the good ones with ",
            Option("good"),
            ".",
        )
    return tuple(texts), None, {each: float(str(each) in chosen) for each in texts}, f"{listed(sorted(chosen))} is good"


def _numeric_reward(
    column: Column,
) -> tuple[tuple[Value, ...] | None, Range | None, dict[Value, float] | None, str]:
    levels = column.levels
    if levels is not None and set(levels) <= {0.0, 1.0}:
        return BINARY, None, None, f"0 and 1; 1 in {levels[1.0] / column.count:.1%} of the rows"
    low, high = plain_number(column.low), plain_number(column.high)
    if levels is not None and len(levels) <= FEW_NUMBERS and low >= 0 and high <= 1:
        return tuple(plain_number(level) for level in sorted(levels)), None, None, "a few numbers from 0 to 1"
    return None, nice_range(column.low, column.high), None, f"from {low:g} to {high:g} in the data"
