"""The table of every arm, best first: what a ranking holds, says and draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any

from whichdo.estimate.arm_rank import ArmRank
from whichdo.estimate.contest import DRAWS
from whichdo.frames import frame_of, html_table, plain, text_table
from whichdo.plots.canvas import Plotted
from whichdo.problem import Arm, Goal, Problem
from whichdo.text import counted, listed, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whichdo.estimate.contest import Contest
    from whichdo.estimate.modelled import Model


MOST_SHOWN = 40
"""Arms that are printed; `Ranking.to_frame` has all of them."""
LIKELIER = 0.01
"""By how much an arm must be likelier the best than the named one to be mentioned: twice the error of the draws."""


class Ranking(Plotted, Mapping[Arm, ArmRank]):
    """Every arm of a problem with its estimate; `whichdo.rank` makes it.  Iterate over `ordered` for the best first.

    `plot` draws every estimate with its interval, best on top; the naive mean stands below each estimate, and an arm
    that must be tried is hollow.

    Attributes
    ----------
    problem
        The problem whose arms were ranked.
    looks
        The number of rows that were looks.
    reading
        How much of the graph the estimates lean on: robust, graph or paper.
    confidence
        The confidence level of the intervals.
    notes
        Remarks on the rows and the estimates.
    model
        The model that estimated arms too, if one was asked for.
    """

    def __init__(
        self,
        problem: Problem,
        rows: list[ArmRank],
        contest: Contest,
        *,
        compared: tuple[Arm, ...],
        scale: tuple[float, float],
        confidence: float,
        looks: int,
        reading: str,
        notes: tuple[str, ...],
        model: Model | None = None,
    ) -> None:
        self.problem = problem
        self.looks = looks
        self.reading = reading
        self.notes = notes
        self.confidence = confidence
        self.model = model
        self._scale = scale
        self._rows = {row.arm: row for row in rows}
        self._contest, self._compared = contest, compared

    def __contains__(self, arm: object) -> bool:
        return arm in self._rows

    def __getitem__(self, arm: Arm) -> ArmRank:
        if arm not in self._rows:
            self.problem.index(arm)  # says which arms there are
        return self._rows[arm]

    def get(self, arm: Arm, default: Any = None) -> Any:
        """Look up the row of an arm.

        Parameters
        ----------
        arm
            The arm.
        default
            The result if the problem has no such arm.

        Returns
        -------
        ArmRank
            The row, or ``default``.
        """
        return self._rows.get(arm, default)

    def __iter__(self) -> Iterator[Arm]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def ordered(self) -> tuple[ArmRank, ...]:
        """The rows, best estimate first, modelled ones where a model was asked for; then those that say too little to
        compare, then what has none.
        """

        def place(row: ArmRank) -> tuple[bool, bool, float]:
            estimate = row.judged.estimate
            return isnan(estimate), not row.is_comparable, -estimate

        return tuple(sorted(self._rows.values(), key=lambda row: (*place(row)[:2], self._sign * place(row)[2])))

    @cached_property
    def contenders(self) -> tuple[ArmRank, ...]:
        """The rows that can be compared and may be named, best first: without do() where it was pruned."""
        return tuple(row for row in self.ordered if row.is_comparable and row.arm in self._answers)

    @cached_property
    def _answers(self) -> frozenset[Arm]:
        return frozenset(self.problem.answers)

    @property
    def _sign(self) -> float:
        """Plus one where a large reward is good."""
        return -1.0 if self.problem.goal is Goal.MINIMIZE else 1.0

    @cached_property
    def best(self) -> ArmRank | None:
        """The row of the best estimate among arms that can be compared; None where only do() is known, or nothing.

        Arms are compared by what is counted.  Where a model was asked for, arms that have a modelled estimate and no
        direct pulls are compared by that; `best_low`, `best_high` and `probability_best` go with it.
        """
        return None if self._contest.best is None else self._rows[self._compared[self._contest.best]]

    @property
    def best_low(self) -> float:
        """The lower limit of `best`, corrected for its having been chosen; NaN where there is none."""
        return self._best_limits[0]

    @property
    def best_high(self) -> float:
        """Its upper limit."""
        return self._best_limits[1]

    @cached_property
    def _best_limits(self) -> tuple[float, float]:
        least, reach = self._scale
        low, high = self._contest.limits_of_best(self.confidence)
        return least + reach * low, least + reach * high

    @cached_property
    def probability_best(self) -> float:
        """How likely `best` is the best of all arms; NaN where there is none.

        By 10,000 draws with a fixed seed.  Arms that do nothing are as good as do(), and as each other.  An arm of
        which too little is known does nothing, or about as much as the others do; one that is not settled keeps within
        its bounds.
        """
        return self._contest.probability

    @cached_property
    def probabilities(self) -> dict[Arm, float]:
        """How likely each arm is the best of all, by the same draws; equal arms count as one.

        Arms that cannot be named, and of very many arms those that are out of the question, are left out.  The arm with
        the best estimate need not be the likeliest: it may be known by a few rows only.
        """
        chances = self._contest.chances
        return {arm: float(each) for arm, each in zip(self._compared, chances, strict=True) if not isnan(each)}

    @cached_property
    def likelier(self) -> ArmRank | None:
        """The row of the arm that is more likely the best than `best` is: a lower estimate that is known better."""
        if self.best is None:
            return None
        rows = [self._rows[arm] for arm in self.probabilities if self._rows[arm].is_comparable]
        found = max(rows, key=lambda row: self.probabilities[row.arm])
        return found if self.probabilities[found.arm] > self.probability_best + LIKELIER else None

    @property
    def likelier_words(self) -> tuple[str, ...]:
        """`likelier` in a sentence, or none."""
        if self.likelier is None:
            return ()
        chance = self.probabilities[self.likelier.arm]
        return (
            f"More likely the best: {self.likelier.arm}, with {chance:.0%}; its estimate is worse, but more certain.",
        )

    @cached_property
    def summary(self) -> tuple[str, ...]:
        """The answer in a few sentences."""
        chosen, reward = self.best, self.problem.label(self.problem.reward)
        if chosen is None:
            return (self._nothing_to_compare(),)
        best = chosen.judged
        interval = f"{best.written(self.best_low)} to {best.written(self.best_high)}"
        by_model = " by the model" if chosen.is_judged_by_model else ""
        lines = [f"Best: {best.arm}, mean {reward} {best.written(best.estimate)} ({interval}){by_model}."]
        if not best.arm.is_look and not isnan(best.effect):
            lines[0] = f"{lines[0][:-1]}; against doing nothing {best.effect_text}."
        lines.append(f"The best of all arms with probability {self.probability_best:.0%} ({DRAWS:,} draws).")
        lines += self.likelier_words
        naive = None if self._naive_best is None else self._naive_best.judged
        if naive is not None and naive.arm != best.arm and abs(naive.conditional - naive.estimate) > self._visible:
            lines.append(
                f"Comparing those who happen to have each value would have named {naive.arm} "
                f"({naive.written(naive.conditional)} where doing it gives {naive.written(naive.estimate)})."
            )
        return (*lines, *self._by_bounds())

    def _by_bounds(self) -> Iterator[str]:
        """Which arms that are not settled are worse than the best all the same, and which are better."""
        open_rows = [row for row in self._rows.values() if row.is_bounded]
        worse = [f"{row.arm} ({row.interval})" for row in open_rows if row.is_worse]
        if worse:
            yield f"Not settled, but worse than that whatever hidden causes do: {listed(worse)}."
        if self._sign > 0:
            better = [f"{row.arm} ({row.interval})" for row in open_rows if row.low > self.best_high]
        else:
            better = [f"{row.arm} ({row.interval})" for row in open_rows if row.high < self.best_low]
        if better:
            yield f"Not settled, but better than that whatever hidden causes do: {listed(better)}."

    def _nothing_to_compare(self) -> str:
        nothing = next(iter(self._rows.values()))
        if not nothing.is_known:
            known = [row for row in self.ordered if row.is_ranked]
            nothing = known[0] if known else nothing
        if not nothing.is_known:
            return "Nothing can be compared: no arm is known."
        return (
            f"Nothing can be compared: enough is known only of {nothing.arm}, mean "
            f"{self.problem.label(self.problem.reward)} "
            f"{nothing.written(nothing.estimate)} ({nothing.interval})."
        )

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the greatest value of the reward."""
        least, reach = self._scale
        return least, least + reach

    @property
    def _visible(self) -> float:
        """A hundredth of the reward's range."""
        return 0.01 * self._scale[1]

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the reader must know before trusting the table."""
        untried = [str(row.arm) for row in self._rows.values() if row.must_try and isnan(row.estimate)]
        unsure = [str(row.arm) for row in self._rows.values() if row.must_try and not isnan(row.estimate)]
        found = [*self.notes, *self._pruned_words()]
        if untried:
            found.append(f"Not estimated, to be tried: {listed(untried)}.")
        if unsure:
            found.append(f"Too little was seen to compare, to be tried: {listed(unsure)}.")
        return tuple(found)

    def _pruned_words(self) -> list[str]:
        """That some arms are not shown, and that do() is shown to compare with."""
        pruned = len(self.problem.pruned)
        if not pruned:
            return []
        only = ". do() is among them and shown to compare with" if self.problem.first_answer else ""
        return [f"Pruned, as the graph shows that none of them can be the only best: {counted(pruned, 'arm')}{only}."]

    @cached_property
    def _naive_best(self) -> ArmRank | None:
        known = [row for row in self.ordered if not isnan(row.conditional) and not row.arm.is_look]
        return max(known, key=lambda row: self._sign * row.conditional, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it, an entry for each arm in the problem's order; what is not known is None."""
        best, columns = self.best, self.columns() | {"arm": list(self._rows)}
        return plain(
            {
                "reward": self.problem.reward,
                "goal": str(self.problem.goal),
                "looks": self.looks,
                "confidence": self.confidence,
                "reading": self.reading,
                "model": None if self.model is None else asdict(self.model),
                "best": None if best is None else best.arm,
                "best_low": self.best_low,
                "best_high": self.best_high,
                "probability_best": self.probability_best,
                "arms": [{name: column[place] for name, column in columns.items()} for place in range(len(self))],
                "summary": self.summary,
                "notes": self.notes,
                "warnings": self.warnings,
            }
        )

    def columns(self) -> dict[str, list[Any]]:
        """The table by columns, arms as text, in the problem's order."""
        found = {field.name: [getattr(row, field.name) for row in self._rows.values()] for field in fields(ArmRank)}
        return found | {
            "arm": [str(arm) for arm in self._rows],
            "sources": [[each._asdict() for each in row.sources] for row in self._rows.values()],
            "overlap": [None if row.overlap is None else asdict(row.overlap) for row in self._rows.values()],
            "modelled": [None if row.modelled is None else asdict(row.modelled) for row in self._rows.values()],
            "bounds": [None if row.bounds is None else list(row.bounds) for row in self._rows.values()],
        }

    def to_frame(self, backend: str | None = None, *, labels: bool = False) -> Any:
        """Return the table as a data frame.

        Parameters
        ----------
        backend
            "pandas", "polars" or "pyarrow"; by default the first that is installed.
        labels
            Whether to make it for readers: arms and heads by the problem's labels and the reward's unit, only the
            columns that are printed, best first.

        Returns
        -------
        DataFrame
            A row for each arm.
        """
        return frame_of(self._labelled() if labels else self.columns(), backend)

    def _labelled(self) -> dict[str, list[Any]]:
        """The columns for readers, unrounded."""
        rows, sure, unit = self.ordered, f"{self.confidence:.0%}", self.problem.in_unit
        return {
            "arm": [self.problem.arm_label(row.arm) for row in rows],
            f"mean {self._reward}": [row.estimate for row in rows],
            unit(f"{sure} low"): [row.low for row in rows],
            unit(f"{sure} high"): [row.high for row in rows],
            unit("against do()"): [row.effect for row in rows],
            unit(f"against do(), {sure} low"): [row.effect_low for row in rows],
            unit(f"against do(), {sure} high"): [row.effect_high for row in rows],
            unit("naive"): [row.conditional for row in rows],
        }

    def _plotted(self, path: Path | None, ax: Any, title: str | None, *, force: bool) -> Any:
        from whichdo.plots.forest import MOST, Forest, forest_plot, shorter

        best, reward, label = self.best, visible(self._reward), self.problem.arm_label
        more = f", the best {MOST} of {len(self):,} arms" if len(self) > MOST else ""
        looks = f"({counted(self.looks, 'look')}{more})"
        known = f"No arm's effect on {reward} is known"
        if best is not None:
            known = f"Best for {reward}: {shorter(label(best.arm))}"
        better = "lower" if self.problem.goal is Goal.MINIMIZE else "higher"
        forest = Forest(
            self.ordered[:MOST],
            next(iter(self._rows.values())).estimate,
            self.reward_range,
            f"{known} {looks}" if title is None else title,
            f"mean {reward} ({better} is better)",
            label,
        )
        return forest_plot(forest, path, ax=ax, force=force)

    def __str__(self) -> str:
        head = f"{counted(len(self), 'arm')}, {counted(self.looks, 'look')}; {self.problem.goal} {self._reward}"
        notes = [f"! {line}" for line in self.warnings]
        more = [f"{self.model_title}:", text_table(self.model_heads, self.model_rows()), ""] if self.model else []
        said = [*self.summary, *self._legend, *notes]
        return "\n".join([head, "", text_table(self._heads, self._shown_rows), "", *more, *said])

    def _repr_html_(self) -> str:
        head = f"{counted(len(self), 'arm')}, {counted(self.looks, 'look')}; {self.problem.goal} {self._reward}"
        bold = [place for place, row in enumerate(self.ordered[:MOST_SHOWN]) if row is self.best]
        lines = (*self.summary, *self._legend, *self.warnings)
        if self.model is None:
            return html_table(self._heads, self._shown_rows, head, bold=bold, lines=lines)
        more = html_table(self.model_heads, self.model_rows(), self.model_title, bold=bold, lines=lines)
        return html_table(self._heads, self._shown_rows, head, bold=bold) + more

    @property
    def _legend(self) -> tuple[str, ...]:
        return (self.problem.arms_legend,) if self.problem.arms_legend else ()

    @property
    def _reward(self) -> str:
        return self.problem.label(self.problem.reward)

    @property
    def _heads(self) -> tuple[str, ...]:
        effect = self.problem.in_unit("against do()")
        return ("arm", f"mean {self._reward}", f"{self.confidence:.0%} interval", effect, "naive")

    @property
    def _shown_rows(self) -> list[tuple[str, ...]]:
        """What people read, best first."""
        rows: list[tuple[str, ...]] = [
            (
                str(row.arm),
                row.estimate_text,
                row.interval,
                "" if row.arm.is_look else row.effect_text,
                "" if row.arm.is_look or isnan(row.conditional) else row.written(row.conditional),
            )
            for row in self.ordered[:MOST_SHOWN]
        ]
        more = len(self) - MOST_SHOWN
        return rows if more <= 0 else [*rows, (f"... and {more:,} more", "", "", "", "")]

    @property
    def model_title(self) -> str:
        """What stands above the table of modelled estimates."""
        return "" if self.model is None else f"By models ({self.model.name}, doubly robust, {self.model.folds} folds)"

    @property
    def model_heads(self) -> tuple[str, ...]:
        """Its columns."""
        interval, effect = f"{self.confidence:.0%} interval", self.problem.in_unit("against do()")
        return ("arm", f"mean {self._reward}", interval, effect, "no counterpart", "where there is one")

    def model_rows(self, top: int = MOST_SHOWN) -> list[tuple[str, ...]]:
        """Format the modelled estimates as strings, best arm first.

        Parameters
        ----------
        top
            How many arms to include.

        Returns
        -------
        list of tuple of str
            For each arm its modelled estimate, and its effect where looks have a counterpart.
        """
        found: list[tuple[str, ...]] = []
        for row in self.ordered[:top]:
            if row.modelled is None:
                found.append((str(row.arm), "?", "", "", "", ""))
                continue
            own, inside = row.with_answer(row.modelled), row.modelled.overlap
            lacking, effect = row.modelled.without_counterpart, "" if row.arm.is_look else own.effect_text
            there = ""
            if lacking > 0 and inside is not None:
                narrow = row.with_answer(inside)
                there = f"{narrow.written(narrow.estimate)} ({narrow.interval})"
            shown = "" if row.arm.is_look else f"{lacking:.1%}"
            found.append((str(row.arm), own.written(own.estimate), own.interval, effect, shown, there))
        return found

    def __repr__(self) -> str:
        looks, best = counted(self.looks, "look"), None if self.best is None else self.best.judged
        answer = "nothing to compare" if best is None else f"best {best.arm}, {best.written(best.estimate)}"
        return f"<Ranking of {len(self)} arms from {looks}: {answer}>"
