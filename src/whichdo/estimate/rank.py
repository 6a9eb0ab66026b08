"""Rank every arm by what the data settle: estimate, interval, effect against doing nothing, method and reason."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whichdo.errors import UsageError
from whichdo.estimate.arm_rank import ArmRank
from whichdo.estimate.bands import bound_arms
from whichdo.estimate.blending import learn
from whichdo.estimate.contest import DRAW_SEED, Contest, target_sets
from whichdo.estimate.disagreement import contradiction_words
from whichdo.estimate.doubt import checked_doubt
from whichdo.estimate.doubted import pool_with_doubt
from whichdo.estimate.estimator import Looked, Rule, learned_laws
from whichdo.estimate.limits import normal_quantile
from whichdo.estimate.overlap import counted_overlaps
from whichdo.estimate.pooling import equal_arms, pool, with_shared_pulls
from whichdo.estimate.ranking import Ranking
from whichdo.estimate.shrinkage import STRENGTH, reward_scale, rows_of, rows_of_table
from whichdo.estimate.why import method, reason, sources_of_arms, thin_words, weakest
from whichdo.evidence import Tally, whole_number
from whichdo.formulas import Reading, checked_reading, naive_scope
from whichdo.problem import LOOK, Arm, Goal, Problem
from whichdo.remedies import Option
from whichdo.tables import TableIndex
from whichdo.text import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.arrays import BoolArray, FloatArray
    from whichdo.counting.kept_rows import KeptRows
    from whichdo.estimate.modelled import Modelled, ModelledArms
    from whichdo.estimate.pooling import Pooled

__all__ = ["ArmRank", "Ranking", "must_try_of", "rank", "ranking"]

OF_USE = 0.5
"""A 95% interval wider than this share of the reward's range says too little to compare an arm by looking alone."""


def rank(
    problem: Problem,
    data: object,
    *,
    reading: str = "robust",
    confidence: float = 0.95,
    counts: str | None = None,
    weights: str | None = None,
    arm: str | None = None,
    missing: str = "error",
    shrinkage: float = STRENGTH,
    threshold: float = 0.0,
    sampled: int | None = None,
    model: str | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Ranking:
    """Rank every arm by what the data alone settle.

    Parameters
    ----------
    problem
        Which node is the reward and which arms there are.
    data
        A dict of columns; a pandas, Polars or PyArrow frame; Arrow record batches; a path, a glob or a list of paths to
        CSV or Parquet files; a table expression of Ibis, which its database counts; or a `Tally`.
    reading
        How much of the graph an estimate leans on: "robust", that an adjustment set is valid; "graph", every missing
        edge, which needs fewer rows if the graph is right; "paper", the paper's algorithms as printed.
    confidence
        The level of the intervals, between 0 and 1.
    counts
        A column that says how often each row counts; by default each counts once.
    weights
        A column that says how much each row weighs, such as survey weights or one over a logged propensity; numbers
        from 0, of which only the ratios matter.  Excludes ``counts``.
    arm
        A column that says what was done in each row, such as ``do(X=1)``; empty or ``do()`` is a look.  Without it
        every row is a look.  Rows of an arm are direct pulls of it, and teach about every other arm what they leave
        alone, except with ``reading="paper"``.
    missing
        "error" to refuse rows that lack a value that an estimate needs; "drop" to leave them out, which the notes then
        say, with a test whether they differ from the others; "level" to count missing as a separate value, called
        "missing" (rows that lack the reward are left out).
    shrinkage
        How many rows the data's own margins count for in each row of a table; by default 2.0, and 0 leaves the
        plain shares.
    threshold
        The paper's t, with ``reading="paper"``: rows of a table that were seen less often are taken as uniform.
    sampled
        With ``reading="paper"``: each mean is the average of so many draws from the learned network instead of its
        exact sum.
    model
        "logistic" to estimate every arm that adjustment settles by models too, doubly robust and cross-fitted, from the
        rows themselves and numbers before they are cut into bins: for many covariates, where cells get thin.  Each
        arm's `ArmRank.modelled` then stands beside what is counted, and the arms are compared by it.  Needs
        scikit-learn (``whichdo[models]``).
    progress
        Called after each chunk with the rows read so far and their total, if that is known.

    Returns
    -------
    Ranking
        A row for each arm.

    Raises
    ------
    DataError
        If the data cannot be counted; the message names the first row and value that does not fit.
    UsageError
        If the arguments do not go together.

    Examples
    --------
    >>> import whichdo as wd
    >>> found = wd.rank(wd.Problem("X -> Y", "Y"), {"X": [0, 0, 1, 1] * 50, "Y": [0, 1, 1, 1] * 50})
    >>> found.best.arm, round(found[wd.do(X=0)].estimate, 2)
    (do(X=1), 0.5)
    """
    from whichdo.counting import count_with_notes
    from whichdo.counting.counting import check_missing
    from whichdo.counting.gaps import missingness_words, with_missing_levels
    from whichdo.counting.kept_rows import RowKeeper
    from whichdo.estimate.modelled import checked_model, read_columns

    if not isinstance(problem, Problem):
        raise UsageError(f"rank takes a Problem first, then the data; found a {type(problem).__name__}.")
    check_missing(missing)
    model = checked_model(model, data, checked_reading(reading, paper=True))
    if missing == "level":
        problem = with_missing_levels(problem, data, checked_reading(reading, paper=True))
    whole = problem if arm is None and not isinstance(data, Tally) else problem.unpruned  # pulls of any arm teach
    keeper = None
    if model is not None:
        keeper = RowKeeper(whole, lambda columns: read_columns(whole, columns), reward_scale(whole)[0])
    tally, told = count_with_notes(
        whole,
        data,
        counts=counts,
        arm=arm,
        weights=weights,
        missing=missing,
        progress=progress,
        reading=checked_reading(reading, paper=True),
        keeper=keeper,
    )
    return ranking(
        tally,
        reading=reading,
        confidence=confidence,
        shrinkage=shrinkage,
        threshold=threshold,
        sampled=sampled,
        notes=(*told.sentences, *missingness_words(problem, told.dropped, told.compared)),
        shown=problem,
        overlap=True,
        kept=None if keeper is None or model is None else (model, keeper.rows()),
    )


def ranking(
    seen: Tally,
    *,
    reading: str = "robust",
    confidence: float = 0.95,
    shrinkage: float = STRENGTH,
    threshold: float = 0.0,
    sampled: int | None = None,
    doubt: float = 0.0,
    logged: Tally | None = None,
    today: Tally | None = None,
    denied: FloatArray | None = None,
    notes: tuple[str, ...] = (),
    shown: Problem | None = None,
    overlap: bool = False,
    kept: tuple[str, KeptRows] | None = None,
) -> Ranking:
    """Rank every arm from a tally: its looks, and direct pulls where it holds any; parameters as of `rank`, and more.

    ``doubt`` is how likely the graph or the logs were thought to be wrong before any pull, from 0 to 1.  Looking and
    direct pulls of an arm are then not added up blindly: where pulls contradict looking, the pulls win.  ``logged`` are
    those of the looks that were logged and may be of another season; without it all are pulls of do() of today.
    ``today`` is all that was seen since: with a few looks among it, old logs are told apart from a wrong graph.
    ``shown`` is the problem whose arms are ranked, by default the tally's: pruned, where pulls of all arms teach.
    ``overlap`` asks for the answers where looks have a counterpart, ``kept`` is a model and the rows that it reads.
    ``denied`` is for each arm how likely looking is wrong of it because the looks deny what the graph says of them
    (`whichdo.checking.denial`).
    """
    checked_doubt(doubt)
    rule = _checked_rule(reading, confidence, shrinkage, threshold, sampled)
    problem = seen.problem
    shown = problem if shown is None else shown
    if rule.reading is Reading.PAPER and any(len(table.statistics) > 1 for table in seen.tables.get(LOOK, {}).values()):
        raise UsageError(
            "The paper's reading counts rows by levels of the reward; it supports neither weights nor a reward range."
        )
    worth, least, reach = reward_scale(problem)
    looked = learn(problem, seen, worth, rule)
    if sampled is not None:
        looked = _sample(seen, looked, worth, rule, whole_number(sampled, "number of draws"))
    equal = equal_arms(problem)
    seen_by_arm = with_shared_pulls(seen, equal)
    plain = pool(looked, seen_by_arm, worth)
    pooled = pool_with_doubt(plain, seen_by_arm, worth, doubt, logged, denied, today, rule)
    z = normal_quantile(0.5 + confidence / 2)
    low, high = pooled.limits(z)
    effect_low, effect_high = pooled.effect_limits(z)
    # A doubt makes no arm unknown.  Bounds that lean on missing edges are not bounds where these are doubted.
    must_try = must_try_of(plain)
    bounds = bound_arms(problem, seen, worth, rule, looked, confidence, natural_alone=doubt > 0)
    low = np.where(pooled.known | np.isnan(bounds[0]), low, bounds[0])
    high = np.where(pooled.known | np.isnan(bounds[1]), high, bounds[1])
    naive = _conditionals(seen, worth)
    sources = sources_of_arms(pooled, (low, high), z, (least, reach))
    overlaps = counted_overlaps(seen, looked, worth, rule, (least, reach), z) if overlap else ()
    models: ModelledArms | None = None
    modelled: tuple[Modelled | None, ...] = ()
    judged: Pooled = pooled
    if kept is not None:
        from whichdo.estimate.modelled import judged_by_models, model_arms

        models = model_arms(problem, *kept, z)
        modelled = models.rows((least, reach))
        judged, must_try = judged_by_models(pooled, models, must_try, z, OF_USE)
    sign = -1.0 if problem.goal is Goal.MINIMIZE else 1.0
    answers = frozenset(shown.answers)
    named = np.array([arm in answers for arm in problem.arms])
    ranked = judged.known & ~must_try
    contest = Contest(judged, ranked, sign, target_sets(problem), equal, named, np.stack(bounds))
    if not (doubt and logged is not None and logged.pulls[0]):  # old logs have old bounds
        must_try &= ~contest.excluded(confidence)
    rows = []
    for position, arm in enumerate(problem.arms):
        if arm not in shown.costs:
            continue
        cell = weakest(looked, problem, position)
        pulls = int(pooled.pulls[position])
        shared = pulls - int(seen.pulls[position]) if pulls else 0
        rows.append(
            ArmRank(
                arm=arm,
                estimate=least + reach * float(pooled.means[position]),
                low=least + reach * float(low[position]),
                high=least + reach * float(high[position]),
                effect=reach * float(pooled.effects[position]),
                effect_low=reach * float(effect_low[position]),
                effect_high=reach * float(effect_high[position]),
                identified=arm.is_look or problem.verdicts[arm.targets].identified,
                method=method(problem, looked, position, pulls),
                given=_given(looked, arm),
                effective_n=float(pooled.sizes[position]),
                direct=pulls,
                unseen=_unseen(pooled, position),
                conditional=least + reach * naive[position],
                weakest_cell=cell[0] if cell else None,
                weakest_count=cell[1] if cell else None,
                must_try=bool(must_try[position]),
                reason=reason(problem, looked, position, cell, pulls, shared),
                sources=sources[position],
                overlap=overlaps[position] if overlaps else None,
                modelled=modelled[position] if modelled else None,
                not_modelled="" if models is None else models.why_not[position],
                bounds=_bounds(bounds, position, (least, reach)),
            )
        )
    return Ranking(
        shown,
        rows,
        contest,
        compared=problem.arms,
        scale=(least, reach),
        confidence=confidence,
        looks=int(seen.pulls[0]),
        reading=str(rule.reading),
        notes=(
            *notes,
            *_weighted(seen, looked),
            *_uncounted(looked),
            *_contradicted(seen, worth, rule),
            *(thin_words(problem, rows, modelled=models is not None) if overlap else ()),
            *(() if models is None else models.words),
        ),
        model=None if models is None else models.model,
    )


def _checked_rule(reading: str, confidence: float, shrinkage: float, threshold: float, sampled: int | None) -> Rule:
    """How to estimate; refused where the parts do not go together."""
    for name, value in (("confidence", confidence), ("shrinkage", shrinkage), ("threshold", threshold)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UsageError(Option(name), f" is {quoted(value)}; it must be a number.")
    if not 0 < confidence < 1:
        raise UsageError(f"The confidence is {confidence:g}; it must lie between 0 and 1.")
    rule = Rule(checked_reading(reading, paper=True), shrinkage, threshold)
    if rule.reading is not Reading.PAPER and (threshold or sampled is not None):
        given = "threshold" if threshold else "sampled"
        raise UsageError(Option(given), " belongs to the paper's way of estimating; say ", Option("reading"), " paper.")
    return rule


def _sample(seen: Tally, looked: Looked, worth: FloatArray, rule: Rule, draws: int) -> Looked:
    """The means as averages of draws from the learned networks, the draws' own noise added to their errors."""
    if draws == 0:
        raise UsageError("The number of draws is 0; draw at least once, or sum exactly (no ", Option("sampled"), ").")
    rng = np.random.default_rng(DRAW_SEED)
    settled, laws = looked.settled, learned_laws(seen.problem, seen, looked, rule)
    means = rng.multinomial(draws, laws / laws.sum(axis=1, keepdims=True)) @ worth / draws
    noise = settled.spreads / draws
    means[0], noise[0] = settled.means[0], 0.0  # do() is the plain mean of the looks
    drawn = replace(settled, means=means, law=settled.law + noise, effect_law=settled.effect_law + noise)
    blocks = [
        (start, covariance + np.diag(noise[start : start + len(covariance)])) for start, covariance in looked.blocks
    ]
    return replace(looked, settled=drawn, blocks=tuple(blocks))


def must_try_of(pooled: Pooled) -> BoolArray:
    """Arms of which looking says too little to compare, and that were never tried: not settled, or hardly."""
    low, high = pooled.limits(normal_quantile(0.975))
    found: BoolArray = (pooled.pulls == 0) & (~pooled.known | (high - low > OF_USE))
    found[0] = False
    return found


def _unseen(pooled: Pooled, position: int) -> float:
    weight = float(pooled.below[position] + pooled.above[position])
    return 1.0 if np.isnan(weight) else min(weight, 1.0)


def _bounds(
    bounds: tuple[FloatArray, FloatArray], position: int, scale: tuple[float, float]
) -> tuple[float, float] | None:
    """The bounds of an arm on the reward's own scale."""
    least, reach = scale
    low, high = (float(end[position]) for end in bounds)
    return None if np.isnan(low) else (least + reach * low, least + reach * high)


def _given(looked: Looked, arm: Arm) -> tuple[str, ...]:
    formula = looked.taken.get(arm.targets)
    return formula.given if formula is not None and looked.looks else ()


def _contradicted(seen: Tally, worth: FloatArray, rule: Rule) -> tuple[str, ...]:
    """Whether the looks contradict the graph, where the estimates do not lean on all of it."""
    return contradiction_words(seen.problem, seen, worth) if rule.reading is Reading.ROBUST else ()


def _weighted(seen: Tally, looked: Looked) -> tuple[str, ...]:
    """What weights cost."""
    rows = int(seen.pulls[0])
    if not any("weight" in table.statistics for table in seen.tables.get(LOOK, {}).values()):
        return ()
    return (f"Rows have weights: {counted(rows, 'row')} tell as much as {looked.looks:,.0f} of equal weight.",)


def _uncounted(looked: Looked) -> tuple[str, ...]:
    """Target sets that could be settled if the looks had been counted for them."""
    return tuple(f"{', '.join(targets)}: {why.rstrip('.')}." for targets, why in looked.why_not.items() if why)


def _conditionals(seen: Tally, worth: FloatArray) -> list[float]:
    """E[reward | settings] of each arm as the looks have it; NaN where these were not counted, or never seen."""
    problem = seen.problem
    tables = seen.tables.get(LOOK, {})
    sums = {scope: table for scope, table in tables.items() if len(table.statistics) > 1}
    index = TableIndex(sums or tables)
    found = []
    by_set: dict[tuple[str, ...], FloatArray] = {}
    for arm in problem.arms:
        if arm.targets not in by_set:
            by_set[arm.targets] = _naive(seen, index, arm.targets, worth, sums=bool(sums))
        codes = tuple(problem.domains[name].index(value) for name, value in sorted(arm.settings.items()))
        found.append(float(by_set[arm.targets][codes]))
    return found


def _naive(seen: Tally, index: TableIndex, targets: tuple[str, ...], worth: FloatArray, *, sums: bool) -> FloatArray:
    """The mean reward in each setting of some targets; NaN where it was never seen.  ``sums``: tables hold its sums."""
    problem = seen.problem
    table = index.smallest(naive_scope(problem, targets))
    if table is None and sums:
        table = index.smallest(targets)
    if table is not None:
        rows = rows_of_table(table, targets, problem.reward, worth)
    elif not targets:
        rows = rows_of(seen.counts[0].astype(np.float64), worth)
    else:
        return np.full([problem.sizes[name] for name in targets], np.nan)
    return np.where(rows.mass > 0, rows.means, np.nan)
