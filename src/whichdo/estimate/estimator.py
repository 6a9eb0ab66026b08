"""What looks say about every arm of a problem, in numpy: from a tally's tables to means with all their errors.

Each target set is estimated by one formula (`whichdo.formulas`), and all arms on it come from one
evaluation.  Everything is on a scale of the reward from 0 to 1.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from whichdo.blends import Blend
from whichdo.errors import TooLargeError, UsageError
from whichdo.estimate.evaluate import evaluator
from whichdo.estimate.settled import Settled, WeightedSum
from whichdo.estimate.settling import Scope as JointTable
from whichdo.estimate.settling import settle, settle_by_adjustment
from whichdo.estimate.shrinkage import (
    STRENGTH,
    Rows,
    add_one_law,
    add_one_reward,
    mass_and_sizes,
    rows_of_table,
    shrink_law,
    shrink_reward,
)
from whichdo.estimate.thin import number_settings, numbered_form, settle_numbered
from whichdo.formulas import Formula, Reading, choose_formula, formulas, setting_numbers
from whichdo.graph.identify import Route, verdicts
from whichdo.problem import LOOK
from whichdo.tables import MAX_CELLS, Radix, Table, TableIndex
from whichdo.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from whichdo.arrays import BoolArray, CodeArray, FloatArray, IntArray
    from whichdo.estimate.shrinkage import Law, Shrunk
    from whichdo.evidence import Tally
    from whichdo.graph.targets import Targets
    from whichdo.identification.estimand import Conditional, Names
    from whichdo.problem import Problem
    from whichdo.tables import Scope


MANY = 256
"""Strata from which it matters how they lie in memory."""
MOSTLY_EMPTY = 2_048
"""Cells of a formula's table from which those that occurred are taken alone."""


@dataclass(frozen=True)
class Rule:
    """How counts become estimates."""

    reading: Reading = Reading.ROBUST
    shrinkage: float = STRENGTH
    """How many rows the margins count for; the paper's reading adds one instead."""
    threshold: float = 0.0
    """The paper's t: a row of a conditional outside the node's component that was seen less often is uniform."""

    def __post_init__(self) -> None:
        if not (0 <= self.shrinkage < np.inf and 0 <= self.threshold < np.inf):
            raise UsageError(
                f"Shrinkage ({self.shrinkage:g}) and threshold ({self.threshold:g}) must be finite, not negative."
            )


@dataclass(frozen=True)
class Origin:
    """What one source says of all settings of some targets by itself."""

    source: Names
    """The targets of an experiment, or () for looks."""
    weights: FloatArray
    """Its part in each estimate."""
    evaluate: Callable[[], Settled] | None

    @cached_property
    def settled(self) -> Settled | None:
        """What the estimates would be if all that it speaks of were taken from it alone; None where that is too much.

        Worked out when it is asked for.
        """
        return None if self.evaluate is None else self.evaluate()


@dataclass(frozen=True)
class Looked:
    """What looks say, an entry for each setting of each target set that they settle; entry 0 is do()."""

    looks: float
    settled: Settled
    """All entries together; its ``effect_covariance`` is empty."""
    sources: IntArray
    """For each arm its entry, or -1 where looks do not settle it.  Arms with the same effect have the same entry."""
    blocks: tuple[tuple[int, FloatArray], ...]
    """How the errors of effects go together: for each target set its first entry and a covariance."""
    taken: Mapping[Targets, Formula]
    """The formula by which each target set was estimated."""
    why_not: Mapping[Targets, str]
    """Why a target set that could be settled was not: its tables are not there, or are too large."""
    weakest: Mapping[Targets, tuple[tuple[str, ...], CodeArray]]
    """For each target set the columns that its reward's table is given, and for each setting the codes of the row
    that the mean knows least about.
    """
    origins: Mapping[int, tuple[Origin, ...]] = field(default_factory=dict)
    """By the first entry of a target set of which experiments on others have a say: each source by itself."""
    blends: Mapping[Targets, Blend] = field(default_factory=dict)
    """Where each target set was put together from several sources: from which, and how."""

    @property
    def known(self) -> BoolArray:
        """Whether each arm is settled."""
        found: BoolArray = self.sources >= 0
        return found

    def by_arm(self, entries: FloatArray) -> FloatArray:
        """Numbers of entries as numbers of arms, NaN for those that looks do not settle."""
        return np.where(self.sources >= 0, entries[self.sources], np.nan)

    def start_of(self, entry: int) -> int:
        """The first entry of the target set that an entry is of; 0 for that of do()."""
        place = bisect_right(self._starts, entry) - 1
        if place < 0:
            return 0
        start, block = self.blocks[place]
        return start if entry < start + len(block) else 0

    @cached_property
    def _starts(self) -> list[int]:
        """The first entries, ascending: blocks lie one after the other."""
        return [start for start, _ in self.blocks]

    def origins_of(self, position: int) -> tuple[Origin, ...]:
        """The sources of an arm where there are others than looks."""
        entry = int(self.sources[position])
        return self.origins.get(self.start_of(entry), ()) if self.origins and entry > 0 else ()

    @cached_property
    def means(self) -> FloatArray:
        """The mean of each arm, NaN where it is not settled."""
        return self.by_arm(self.settled.means)


def look(problem: Problem, seen: Tally, worth: FloatArray, rule: Rule | None = None) -> Looked:
    """Estimate every arm from the tables of looks in a tally.

    ``seen``: a tally with tables of looks; a target set whose tables it lacks stays unknown and is named in `why_not`.
    ``worth``: of each level of the reward, from 0 to 1.
    ``rule``: how counts become estimates.
    """
    return Looking(problem, seen, worth, rule or Rule()).all()


def learned_laws(problem: Problem, seen: Tally, looked: Looked, rule: Rule) -> FloatArray:
    """The law of the reward that the paper's learned network has for each entry: a row of shares by level."""
    worth = np.zeros(len(problem.domains[problem.reward]))
    looking = Looking(problem, seen, worth, rule)
    found = [(looking.levels / max(looking.looks, 1.0))[None, :]]
    formulas_taken = {formula: None for formula in looked.taken.values() if formula.route is not Route.SAME}
    return np.concatenate([*found, *(looking.law_of_reward(formula) for formula in formulas_taken)])


class Looking:
    """One estimation of all arms."""

    effects = True
    """Whether effects against doing nothing are wanted, or means alone."""

    def __init__(self, problem: Problem, seen: Tally, worth: FloatArray, rule: Rule) -> None:
        self.problem, self.worth, self.rule, self.sizes = problem, worth, rule, problem.sizes
        self.levels = seen.counts[0].astype(np.float64)
        self.number = int(seen.counts[0].sum())
        found: Mapping[Scope, Table] = seen.tables.get(LOOK, {})
        sums = {scope: table for scope, table in found.items() if len(table.statistics) > 1}
        self.tables = sums or found
        """Where rows have weights, or a reward that is any number, the tables that add these up."""
        self._index = TableIndex(self.tables)
        own = self.table((problem.reward,))
        self.looks = float(mass_and_sizes({name: part.sum() for name, part in own.statistics.items()})[1])
        self.origins: dict[Targets, tuple[Origin, ...]] = {}

    def all(self) -> Looked:
        """Every arm."""
        problem = self.problem
        parts = [self.nothing()]
        first: dict[Formula | Blend, int] = {}
        taken: dict[Targets, Formula] = {}
        blends: dict[Targets, Blend] = {}
        why_not: dict[Targets, str] = {}
        weakest: dict[Targets, tuple[tuple[str, ...], CodeArray]] = {}
        sources = np.full(len(problem.arms), -1, np.int64)
        sources[0] = 0
        size = 1
        for targets, places in problem.positions.items():
            chosen = self.choice(targets, first)
            if isinstance(chosen, str):
                why_not[targets] = chosen
                continue
            same = isinstance(chosen, Formula) and chosen.route is Route.SAME
            if not same and chosen not in first:
                try:
                    found, cells = self.evaluated(chosen)
                except TooLargeError as error:  # only its slopes are
                    why_not[targets] = str(error)
                    continue
                first[chosen] = size
                parts.append(found)
                size += len(found.means)
                weakest[chosen.targets] = cells
            if isinstance(chosen, Formula):
                taken[targets] = chosen
            else:
                blends[targets] = chosen
            start = 0 if same else first[chosen]
            sources[list(places)] = start + setting_numbers(problem, chosen.targets, places)
        blocks = [(start, part.effect_covariance) for start, part in zip(first.values(), parts[1:], strict=True)]
        origins = {start: self.origins[each.targets] for each, start in first.items() if each.targets in self.origins}
        return Looked(self.looks, _join(parts), sources, tuple(blocks), taken, why_not, weakest, origins, blends)

    def choice(self, targets: Targets, made: Collection[Formula | Blend]) -> Formula | Blend | str:
        """How a target set is estimated, or why it is not; ``made`` are known to be small enough."""
        return self.formula(targets, made)

    def formula(self, targets: Targets, made: Collection[Formula | Blend] = ()) -> Formula | str:
        """The formula that a target set is estimated by, or why it is not; ``made`` are known to be small enough."""
        return self.choose(formulas(self.problem, targets, self.rule.reading), made)

    def choose(self, candidates: Sequence[Formula], made: Collection[Formula | Blend] = ()) -> Formula | str:
        """The one of these formulas to estimate by, or why there is none; as of `formula`."""
        why = self.missing(candidates)
        candidates = list(candidates)
        while True:
            chosen = choose_formula(candidates, self.number, self.served)
            if chosen is None:
                return why
            if chosen in made or (chosen.adjusts and self.rule.reading is not Reading.PAPER):
                return chosen
            try:
                evaluator(chosen.estimand, {**self.sizes, self.problem.reward: 1})
            except TooLargeError as error:
                why = str(error)
                candidates.remove(chosen)
            else:
                return chosen

    def served(self, scope: Scope) -> bool:
        """Whether the looks were counted by these columns together; without any look everything is."""
        return self.number == 0 or scope == (self.problem.reward,) or self.found(scope) is not None

    def missing(self, candidates: Sequence[Formula]) -> str:
        """Why looks that could settle an arm by one of these formulas do not; empty where none could."""
        lacking = next((scope for each in candidates[-1:] for scope in each.scopes if not self.served(scope)), None)
        if lacking is None:
            return ""
        return f"the looks were not counted by {listed(lacking)} together; count the log again for this problem"

    def found(self, columns: tuple[str, ...]) -> Table | None:
        """The smallest table that has some columns; of a numeric reward any has its sums."""
        reward = self.problem.reward
        table = self._index.smallest(columns)
        if table is None and reward in columns:
            table = self._index.smallest([name for name in columns if name != reward])
            table = None if table is None or "sum" not in table.statistics else table
        return table

    def table(self, columns: tuple[str, ...]) -> Table:
        """A table that has some columns, which are known to be there."""
        found = self.found(columns)
        if found is not None:
            return found
        sizes = [self.sizes[name] for name in columns]
        if columns == (self.problem.reward,):
            return Table(columns, sizes, self.levels)
        cells = np.zeros((0, len(columns)), np.uint8)  # nothing looked at yet
        return Table(columns, sizes, np.zeros(0, np.int64), cells).compact()

    def rows_given(self, given: tuple[str, ...]) -> Rows:
        """What was seen of the reward in each setting of some columns."""
        return rows_of_table(self.table((*given, self.problem.reward)), given, self.problem.reward, self.worth)

    # ------------------------------------------------------------------------------------------------- evaluating

    def nothing(self) -> Settled:
        """Of do() itself."""
        rows = self.rows_given(())
        alone = Rows(*(np.asarray(part).reshape(1, 1) for part in (rows.sizes, rows.mass, rows.means, rows.squares)))
        return settle_by_adjustment(shrink_reward(alone, [1], 0.0), self.looks)

    def evaluated(self, formula: Formula | Blend) -> tuple[Settled, tuple[tuple[str, ...], CodeArray]]:
        """All settings of a formula, and the row of the reward's table that each knows least about."""
        if isinstance(formula, Blend):
            raise TypeError("looks alone have no blends")
        if formula.adjusts and self.rule.reading is not Reading.PAPER:
            return self.adjusted(formula)
        if (thin := self.numbered(formula)) is not None:
            return thin
        reward = formula.reward
        engine = evaluator(formula.estimand, {**self.sizes, self.problem.reward: 1})  # says what is too large
        inside = self.component(formula.targets) if self.rule.threshold else ()
        rows = self.rows(reward, [place for place, name in enumerate(reward.given) if name in formula.targets], inside)
        laws = {each: self.law(each, inside) for each in formula.laws}
        found = settle(
            engine,
            laws,
            reward,
            rows,
            self.looks,
            self.joint(formula) if formula.shared else None,
            effects=self.effects,
        )
        return found, (reward.given, Radix.of(reward.given, self.sizes).codes(found.weakest))

    def numbered(self, formula: Formula) -> tuple[Settled, tuple[tuple[str, ...], CodeArray]] | None:
        """By the cells that occurred, of a formula whose table has mostly others; None of all other formulas."""
        if self.rule.reading is Reading.PAPER or not formula.shared:
            return None
        table = self.table(formula.scopes[0])
        thin = self.number > 0 and (table.cells is not None or formula.cells >= MOSTLY_EMPTY)
        form = numbered_form(formula) if thin and self.problem.reward in table.scope else None
        if form is None:
            return None
        table = table if len(table.scope) == len(formula.scopes[0]) else table.marginal(formula.scopes[0])
        made, codes = number_settings(table, form.rest)
        every = codes(np.arange(made.sizes[0]))
        rule = (self.sizes, self.worth, self.rule.shrinkage)
        return settle_numbered(formula, form, made, every, rule, self.looks, effects=self.effects)

    def joint(self, formula: Formula) -> JointTable:
        """The table of all columns of a formula but the reward."""
        columns = tuple(name for name in formula.scopes[0] if name != self.problem.reward)
        whole = self.table(columns).marginal(columns).dense()
        return JointTable(columns, mass_and_sizes(whole.statistics)[0])

    def component(self, targets: Targets) -> tuple[str, ...]:
        """The c-component of a node in the graph that the paper judges it in."""
        judged = verdicts(self.problem.graph, self.problem.reward, targets, restrict=False)
        return judged[targets].component

    def adjusted(self, formula: Formula) -> tuple[Settled, tuple[tuple[str, ...], CodeArray]]:
        """By strata."""
        targets = formula.targets
        strata, settings = Radix.of(formula.given, self.sizes), Radix.of(targets, self.sizes)
        flat, codes = self.strata(formula)
        found = settle_by_adjustment(shrink_reward(flat, [1], self.rule.shrinkage), self.looks, effects=self.effects)
        stratum, setting = np.divmod(found.weakest, settings.cells)
        own = strata.codes(stratum) if codes is None else codes(stratum)
        return found, ((*formula.given, *targets), np.concatenate([own, settings.codes(setting)], axis=1))

    def strata(self, formula: Formula) -> tuple[Rows, Callable[[IntArray], CodeArray] | None]:
        """What was seen in each stratum, a row, at each setting of the targets, a column.

        Of strata that are too many to lay out only those that occurred, with what tells the codes of
        what is given in some of them.
        """
        given, targets = formula.given, formula.targets
        strata, settings = Radix.of(given, self.sizes), Radix.of(targets, self.sizes)
        table = self.table((*given, *targets, self.problem.reward))
        codes = None
        # A table of which only cells that occurred were kept has mostly others.
        exact = bool(given) and len(table.scope) == len(given) + len(targets) + 1
        thin = exact and table.cells is not None and len(table.cells) > 0
        if thin or strata.cells * settings.cells * len(self.worth) > MAX_CELLS:
            table, codes = number_settings(table, given)
            given = ("",)
        rows = rows_of_table(table, (*given, *targets), self.problem.reward, self.worth)
        shaped = [part.reshape(-1, settings.cells) for part in (rows.sizes, rows.mass, rows.means, rows.squares)]
        # Numbers are added up fastest along neighbours, and there are far more strata than settings.
        many = len(shaped[0]) >= MANY > settings.cells
        return Rows(*(np.asfortranarray(part) for part in shaped)) if many else Rows(*shaped), codes

    def rows(self, reward: Conditional, targets: list[int], inside: tuple[str, ...]) -> Shrunk:
        """The reward's own conditional; ``targets`` are the axes that are set, ``inside`` as of `law`."""
        if self.rule.reading is Reading.PAPER:
            columns = (*reward.given, self.problem.reward)
            counts = self.table(columns).marginal(columns).dense().count.astype(np.float64)
            return add_one_reward(counts, self.worth, self.threshold(reward, inside))
        return shrink_reward(self.rows_given(reward.given), targets, self.rule.shrinkage)

    def law(self, each: Conditional, inside: tuple[str, ...]) -> Law:
        """Another conditional; the paper's threshold does not touch those of nodes ``inside`` the component."""
        whole = self.table(each.columns).marginal(each.columns).dense().statistics
        own = tuple(range(len(each.given), len(each.columns)))
        if self.rule.reading is Reading.PAPER:
            return add_one_law(whole["count"].astype(np.float64), len(own), self.threshold(each, inside))
        _, sizes = mass_and_sizes({name: part.sum(axis=own) for name, part in whole.items()})
        return shrink_law(mass_and_sizes(whole)[0], len(own), self.rule.shrinkage, sizes)

    def threshold(self, each: Conditional, inside: tuple[str, ...]) -> float:
        """The paper's t for a conditional; inside the component of the target every row counts."""
        return 0.0 if set(each.nodes).issubset(inside) else self.rule.threshold

    def law_of_reward(self, formula: Formula) -> FloatArray:
        """The shares of the reward's levels by the paper's formula, a row for each setting."""
        inside = self.component(formula.targets) if self.rule.threshold else ()
        engine = evaluator(formula.estimand, self.sizes)
        tables = [self.law(each, inside).shares for each in engine.conditionals]
        units = np.eye(len(self.worth))
        return np.stack([engine.values(tables, unit).ravel() for unit in units], axis=1)


def _join(parts: list[Settled]) -> Settled:
    """All entries, one after the other."""
    made = {}
    for name in (each.name for each in fields(Settled)):
        values = [getattr(part, name) for part in parts]
        if name in {"looks", "base"}:
            made[name] = values[0]
        elif name == "effect_covariance":
            made[name] = np.zeros((0, 0))
        elif isinstance(values[0], WeightedSum):
            made[name] = WeightedSum.join(values)
        else:
            made[name] = np.concatenate(values)
    return Settled(**made)
