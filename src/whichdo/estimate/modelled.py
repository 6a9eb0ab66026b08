"""Every arm by models, beside what is counted: which arms have a modelled estimate, and the choice among them.

Arms that a valid adjustment set settles have one; `whichdo.estimate.doubly_robust` has the method.
It adjusts for the best of the valid sets however many cells that has, and reads looks alone.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from whichdo.counting.kept_rows import SEED
from whichdo.errors import UsageError
from whichdo.estimate.doubly_robust import FOLDS, LEAST_ROWS, CrossFit, UnitModelled, check_models, features, one_thread
from whichdo.estimate.limits import normal_quantile
from whichdo.estimate.overlap import THIN, Overlap
from whichdo.estimate.pooling import Pooled
from whichdo.evidence import Tally
from whichdo.formulas import Reading, formulas, setting_numbers
from whichdo.graph.identify import Route
from whichdo.remedies import Option
from whichdo.tables import Radix
from whichdo.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import BoolArray, FloatArray, IntArray
    from whichdo.counting.kept_rows import KeptRows
    from whichdo.estimate.doubly_robust import UnitAnswer
    from whichdo.formulas import Formula
    from whichdo.graph.targets import Targets
    from whichdo.problem import Problem


MODELS = ("logistic",)
MOST_PUSHES = 20_000_000
"""Numbers that are held to say how errors of arms on one target set go together; beyond, they are taken as independent.
"""


@dataclass(frozen=True)
class Modelled:
    """The doubly robust estimate of one arm, in the reward's own unit."""

    estimate: float
    low: float
    high: float
    effect: float
    """Against do(), over the same rows."""
    effect_low: float
    effect_high: float
    given: tuple[str, ...]
    """What was adjusted for."""
    rows: int
    """How many of the looks have the arm's settings."""
    without_counterpart: float
    """The share of all looks, by weight, that have no counterpart at the arm: their propensity is below ``limit``."""
    clipped: float
    """The share of the arm's own looks whose propensity was raised to ``limit``."""
    limit: float
    """The least propensity that was taken as it is."""
    overlap: Overlap | None
    """The answer for the looks that have a counterpart; None where none has."""


@dataclass(frozen=True)
class Model:
    """How a ranking's modelled estimates were made."""

    name: str
    rows: int
    """How many looks were read; of more than 200,000 so many, drawn at random."""
    looks: int
    folds: int = FOLDS
    seed: int = SEED


@dataclass(frozen=True)
class ModelledArms:
    """What models say of each arm of a problem, by position; None with a reason where they say nothing."""

    problem: Problem
    model: Model
    found: tuple[UnitModelled | None, ...]
    formulas: tuple[Formula | None, ...]
    why_not: tuple[str, ...]
    covariances: Mapping[Targets, tuple[IntArray, FloatArray]]
    """By acting targets: positions of arms, and how the errors of their effects go together."""

    def rows(self, scale: tuple[float, float]) -> tuple[Modelled | None, ...]:
        """In the reward's own unit; ``scale`` is its least value and its range."""
        return tuple(
            None if each is None else _in_own_unit(each, () if formula is None else formula.given, scale)
            for each, formula in zip(self.found, self.formulas, strict=True)
        )

    @property
    def words(self) -> tuple[str, ...]:
        """Notes for the reader."""
        said = []
        arms, found = self.problem.arms, self.found
        if self.model.rows < self.model.looks:
            said.append(
                f"The models read {self.model.rows:,} of {self.model.looks:,} looks, drawn at random "
                f"(seed {self.model.seed})."
            )
        poor = [place for place, each in enumerate(found) if each is not None and each.lacking > THIN]
        poor.sort(key=lambda place: -getattr(found[place], "lacking", 0.0))
        if poor:
            shares = listed((f"{arms[place]} {getattr(found[place], 'lacking', 0.0):.0%}" for place in poor), most=6)
            said.append(
                f"Poor overlap: looks without a counterpart by the model: {shares}. For them the estimate extrapolates "
                f"what is known of others; the answer on the overlap is for the rest."
            )
        for reason in dict.fromkeys(self.why_not):
            if reason:
                these = [str(arms[place]) for place, why in enumerate(self.why_not) if why == reason]
                said.append(f"No modelled estimate of {listed(these)}: {reason}.")
        return tuple(said)


def checked_model(model: str | None, data: object, reading: Reading) -> str | None:
    """A model by its name, or None for none; an error where it cannot serve."""
    if model is None:
        return None
    if model not in MODELS:
        raise UsageError(Option("model"), f" is {quoted(model)}; it must be {' or '.join(MODELS)}.")
    if reading is Reading.PAPER:
        raise UsageError("The paper's reading counts; ", Option("model"), " goes with the readings robust and graph.")
    if isinstance(data, Tally):
        raise UsageError(Option("model"), " reads rows, and a tally holds counts alone. Give the log itself.")
    check_models()
    return model


def model_formula(problem: Problem, targets: Targets, columns: frozenset[str] | None = None) -> Formula | None:
    """The best adjustment for the arms on some targets whose columns are there; None where no adjustment settles them.

    ``columns`` None: all are there.
    """
    for each in formulas(problem, targets, Reading.ROBUST):
        if not each.adjusts:
            continue
        if columns is None or columns.issuperset((*each.given, *each.targets)):
            return each
    return None


def read_columns(problem: Problem, columns: frozenset[str]) -> set[str]:
    """The columns that models of all arms read, the reward aside."""
    found: set[str] = set()
    for targets in problem.target_sets:
        formula = model_formula(problem, targets, columns)
        if formula is not None:
            found.update(formula.given, formula.targets)
    return found


def model_arms(problem: Problem, name: str, rows: KeptRows, z: float) -> ModelledArms:
    """Fit the models of every arm that adjustment settles.

    ``problem``: the problem whose columns were kept.
    ``name``: of the model.
    ``rows``: the looks, with the columns that `read_columns` names.
    ``z``: of the limits: 1.96 for intervals of 95%.
    """
    arms = len(problem.arms)
    found: list[UnitModelled | None] = [None] * arms
    taken: list[Formula | None] = [None] * arms
    why_not = [""] * arms
    covariances: dict[Targets, tuple[IntArray, FloatArray]] = {}
    there = frozenset(rows.codes)
    fits: dict[Targets, CrossFit] = {}
    nothing = _doing_nothing(rows, z) if len(rows.rewards) else None
    for targets, places in (((), (0,)), *problem.positions.items()):
        formula = model_formula(problem, targets, there)
        if nothing is None or formula is None:
            reason = "no look was counted" if nothing is None else "no set to adjust for settles it"
            for place in places:
                why_not[place] = reason
            continue
        for place in places:
            taken[place] = formula
        if formula.route is Route.SAME:
            for place in places:
                found[place] = nothing
            continue
        if formula.targets not in fits:
            fits = {formula.targets: _cross_fit(problem, rows, formula, z)}  # one at a time is held
        with one_thread():
            _fit_arms(problem, fits[formula.targets], formula, places, found, why_not)
        known = [place for place in places if found[place] is not None]
        covariances[formula.targets] = _together(known, found)
    model = Model(name, len(rows.rewards), rows.total)
    bare = tuple(None if each is None else replace(each, pushes=np.empty(0)) for each in found)
    return ModelledArms(problem, model, bare, tuple(taken), tuple(why_not), covariances)


def _fit_arms(
    problem: Problem,
    fit: CrossFit,
    formula: Formula,
    places: Sequence[int],
    found: list[UnitModelled | None],
    why_not: list[str],
) -> None:
    """The arms on one target set."""
    known: dict[int, UnitModelled | int] = {}
    for place, number in zip(places, setting_numbers(problem, formula.targets, places).tolist(), strict=True):
        if number not in known:
            known[number] = fit.arm(number)
        answer = known[number]
        if isinstance(answer, int):
            have = "look has" if answer == 1 else "looks have"
            why_not[place] = f"{answer} {have} it, and a model needs {LEAST_ROWS}"
        else:
            found[place] = answer


def _counts_and_weights(rows: KeptRows) -> tuple[IntArray, FloatArray]:
    """How often each row occurred, and how much it weighs; repetitions that were not all kept are weights."""
    ones = np.ones(len(rows.rewards))
    if rows.counted and not rows.sampled:
        return rows.weights.astype(np.int64), ones
    return ones.astype(np.int64), rows.weights


def _cross_fit(problem: Problem, rows: KeptRows, formula: Formula, z: float) -> CrossFit:
    numbers = Radix.of(formula.targets, problem.sizes).numbers([rows.codes[name] for name in formula.targets])
    counts, weights = _counts_and_weights(rows)
    columns = features(problem, rows, formula.given)
    return CrossFit(columns, numbers, rows.rewards, counts, weights, z, np.random.default_rng(SEED))


def _doing_nothing(rows: KeptRows, z: float) -> UnitModelled:
    """What looks say of do(), and of arms that equal it."""
    counts, weights = _counts_and_weights(rows)
    empty = np.zeros((len(rows.rewards), 0))
    same = np.zeros(len(rows.rewards), np.int64)
    fit = CrossFit(empty, same, rows.rewards, counts, weights, z, np.random.default_rng(SEED))
    whole = replace(fit.nothing(), effect=0.0, effect_low=0.0, effect_high=0.0)
    return UnitModelled(whole, whole, 0.0, 0.0, 0.0, int(fit.times.sum()), np.empty(0))


def _together(places: Sequence[int], found: Sequence[UnitModelled | None]) -> tuple[IntArray, FloatArray]:
    """How the errors of the effects of some arms on one target set go together."""
    known = [each for each in (found[place] for place in places) if each is not None]
    if not known or len(known) * len(known[0].pushes) > MOST_PUSHES:
        return np.array(places, np.int64), np.diag([each.whole.effect_variance for each in known])
    pushes = np.stack([each.pushes for each in known])
    return np.array(places, np.int64), pushes @ pushes.T


def _in_own_unit(each: UnitModelled, given: tuple[str, ...], scale: tuple[float, float]) -> Modelled:
    least, reach = scale

    def numbers(answer: UnitAnswer) -> dict[str, float]:
        return {
            "estimate": least + reach * answer.mean,
            "low": least + reach * answer.low,
            "high": least + reach * answer.high,
            "effect": reach * answer.effect,
            "effect_low": reach * answer.effect_low,
            "effect_high": reach * answer.effect_high,
        }

    return Modelled(
        **numbers(each.whole),
        given=given,
        rows=each.rows,
        without_counterpart=each.lacking,
        clipped=each.clipped,
        limit=each.limit,
        overlap=None if each.overlap is None else Overlap(**numbers(each.overlap)),
    )


# -------------------------------------------------------------------------------------------------------- the contest


@dataclass(frozen=True)
class ModelledPool(Pooled):
    """Arms by their modelled estimates where they have one and no direct pulls, and by what is counted elsewhere."""

    chosen: BoolArray
    """Which arms are judged by models."""
    effect_below: FloatArray
    """How far the limits of their effects are away, in standard errors of size one."""
    effect_above: FloatArray

    @classmethod
    def of(cls, counted_pool: Pooled, arms: ModelledArms, z: float) -> ModelledPool:
        """Put modelled estimates in the place of counted ones; ``z`` is that of the limits in ``arms``."""
        pool, own = counted_pool, {field.name: getattr(counted_pool, field.name) for field in fields(Pooled)}
        chosen = np.array([each is not None for each in arms.found]) & (pool.pulls == 0)
        chosen[0] = False
        for name in ("means", "variances", "row_weights", "below", "above", "sizes"):
            own[name] = own[name].copy()
        below, above = np.zeros(len(chosen)), np.zeros(len(chosen))
        for place in np.flatnonzero(chosen).tolist():
            unit = arms.found[place]
            if unit is None:
                continue
            answer = unit.whole
            own["means"][place] = pool.means[0] + answer.effect  # all looks know do() at least as well as those read
            own["variances"][place], own["row_weights"][place] = answer.variance, answer.row_weight
            own["below"][place] = own["above"][place] = 0.0
            spread = max(answer.mean * (1 - answer.mean), 1e-12)
            own["sizes"][place] = spread / answer.variance if answer.variance > 0 else float(unit.rows)
            below[place] = (answer.effect - answer.effect_low) / z
            above[place] = (answer.effect_high - answer.effect) / z
        own["means"] = np.where(chosen, np.clip(own["means"], 0.0, 1.0), own["means"])
        own["looked"] = replace(pool.looked, blocks=_blocks(pool, arms, chosen))
        return cls(**own, chosen=chosen, effect_below=below, effect_above=above)

    def effect_limits(self, z: float) -> tuple[FloatArray, FloatArray]:
        """The limits of each effect; NaN where either mean is not known.  That of do() is 0."""
        low, high = super().effect_limits(z)
        return (
            np.where(self.chosen, np.maximum(self.effects - z * self.effect_below, -1.0), low),
            np.where(self.chosen, np.minimum(self.effects + z * self.effect_above, 1.0), high),
        )


def judged_by_models(
    pool: Pooled, arms: ModelledArms, must_try: BoolArray, z: float, of_use: float
) -> tuple[Pooled, BoolArray]:
    """The evidence by which arms are compared once models were asked, and which arms say too little to compare.

    An arm says too little where its 95% interval and its share of looks without a counterpart are together wider than
    ``of_use``, as where it is counted.
    """
    found = ModelledPool.of(pool, arms, z)
    low, high = found.limits(normal_quantile(0.975))
    lacking = np.array([0.0 if each is None else each.lacking for each in arms.found])
    return found, np.where(found.chosen, high - low + lacking > of_use, must_try)


def _blocks(pool: Pooled, arms: ModelledArms, chosen: BoolArray) -> tuple[tuple[int, FloatArray], ...]:
    """How the errors of effects go together, those of models among them."""
    found = []
    for start, covariance in pool.looked.blocks:
        mixed = covariance.copy()
        for places, own in arms.covariances.values():
            sources = pool.looked.sources[places]
            here = np.flatnonzero((sources >= start) & (sources < start + len(mixed)) & chosen[places])
            if not len(here):
                continue
            entries = sources[here] - start
            mixed[entries, :] = mixed[:, entries] = 0.0
            mixed[np.ix_(entries, entries)] = own[np.ix_(here, here)]
        found.append((start, mixed))
    return tuple(found)
