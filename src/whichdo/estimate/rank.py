"""Ranking: the table of every arm, with interval, method and reason.

Estimates are on the reward's own scale.  An interval is the estimate plus or minus z times the root of the variance
plus the squared shift, and wider still where rows were never seen: add-one smoothing moves rarely seen rows towards the
middle, and an interval that did not widen by as much as the estimate moved would miss the truth there
(`docs/decisions/0006-intervals.md`).  Intervals are cut to the range of the reward.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from whichdo.counting.scopes import Reading, naive_scope
from whichdo.errors import UsageError, option
from whichdo.estimate.interventional import Estimator, Looked, estimator
from whichdo.estimate.literal import sampled_means
from whichdo.estimate.ranking import DRAW_SEED, ArmRank, Ranking
from whichdo.estimate.reasons import reason, weakest
from whichdo.evidence import whole_number
from whichdo.problem import LOOK, Arm, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.arrays import FloatArray
    from whichdo.evidence import Tally

__all__ = ["ArmRank", "Ranking", "rank", "ranking"]


def rank(
    problem: Problem,
    data: object,
    *,
    confidence: float = 0.95,
    counts: str | None = None,
    arm: str | None = None,
    missing: str = "error",
    smoothing: float = 1.0,
    threshold: float = 0.0,
    sampled: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Ranking:
    """Rank every arm by what the data alone settle.

    ``problem``: which node is the reward and which arms there are.
    ``data``: a dict of columns; a pandas, Polars or PyArrow frame; Arrow record batches; a path, a glob or a list of
    paths to CSV or Parquet files; or a `Tally`.
    ``confidence``: of the intervals, between 0 and 1.
    ``counts``: a column that says how often each row counts; by default each counts once.
    ``arm``: a column that says what was done in each row, such as ``do(X=1)``; empty or ``do()`` is a look.  Without it
    every row is a look.
    ``missing``: "error" to refuse rows that lack a value, or "drop" to leave them out, which the notes then say.
    ``smoothing``: what is added to the count of every value in each row of a learned table; 1 is Laplace's rule, and 0
    leaves the plain shares.
    ``threshold``: the paper's t, for fidelity: rows of a table that were seen less often are taken as uniform.
    ``sampled``: the paper's way, for fidelity: each mean is the average of so many draws from the learned network
    instead of its exact sum.
    ``progress``: called after each chunk with the rows read so far and their total, if that is known.

    >>> from whichdo.problem import do
    >>> found = rank(Problem("X -> Y", "Y"), {"X": [0, 0, 1, 1] * 50, "Y": [0, 1, 1, 1] * 50})
    >>> found.best.arm, round(found[do(X=0)].estimate, 2)
    (do(X=1), 0.5)
    """
    from whichdo.counting import count_with_notes

    if not isinstance(problem, Problem):
        raise UsageError(f"rank takes a Problem first, then the data; found a {type(problem).__name__}.")
    tally, told = count_with_notes(problem, data, counts=counts, arm=arm, missing=missing, progress=progress)
    return ranking(
        tally, confidence=confidence, smoothing=smoothing, threshold=threshold, sampled=sampled, notes=told.sentences
    )


def ranking(
    seen: Tally,
    *,
    confidence: float = 0.95,
    smoothing: float = 1.0,
    threshold: float = 0.0,
    sampled: int | None = None,
    notes: tuple[str, ...] = (),
) -> Ranking:
    """Rank every arm from a tally: its looks, and direct pulls where it holds any."""
    if not 0 < confidence < 1:
        raise UsageError(f"The confidence is {confidence:g}; it must lie between 0 and 1.")
    problem = seen.problem
    worth = np.array(list(problem.rewards.values()))
    model = estimator(problem)
    looked = model.from_tally(seen, worth, smoothing=smoothing, threshold=threshold)
    if sampled is not None:
        looked = _sampled(looked, seen, worth, whole_number(sampled, "number of draws"), threshold)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    evidence = _Evidence(looked, seen, worth, z)
    unknown = np.isnan(evidence.means)
    low = np.where(unknown, worth.min(), np.clip(evidence.lows, worth.min(), worth.max()))
    high = np.where(unknown, worth.max(), np.clip(evidence.highs, worth.min(), worth.max()))
    rows = []
    for position, arm in enumerate(problem.arms):
        cell = weakest(model, looked, position) if looked.looks else None
        pulls = int(evidence.pulls[position])
        rows.append(
            ArmRank(
                arm=arm,
                estimate=float(evidence.means[position]),
                low=float(low[position]),
                high=float(high[position]),
                identified=arm.is_look or problem.verdicts[arm.targets].identified,
                method=_method(looked, problem, position, pulls),
                effective_n=float(evidence.sizes[position]),
                direct=pulls,
                conditional=_conditional(model, seen, arm, worth),
                weakest_cell=cell[0] if cell else None,
                weakest_count=cell[1] if cell else None,
                must_try=_must_try(looked, position, cell, pulls),
                reason=reason(model, looked, position, cell, pulls),
            )
        )
    return Ranking(problem, rows, looked, evidence.widths / z, notes)


def _sampled(looked: Looked, seen: Tally, worth: FloatArray, draws: int, threshold: float) -> Looked:
    """The means as averages of draws from the learned networks, the draws' own noise added to the variances."""
    if draws == 0:
        raise UsageError(f"The number of draws is 0; draw at least once, or sum exactly (no {option('sampled')}).")
    rng = np.random.default_rng(DRAW_SEED)
    means = sampled_means(seen.problem, seen, rng, worth=worth, draws=draws, threshold=threshold, reading=Reading.OURS)
    return replace(looked, means=means, variances=looked.variances + looked.spreads / draws)


def _must_try(looked: Looked, position: int, cell: tuple[str, int] | None, pulls: int) -> bool:
    """Whether neither looking nor pulling says anything sure: not estimated, or leaning on a row never seen."""
    if position == 0 or pulls:
        return False
    return bool(np.isnan(looked.means[position])) or (cell is not None and cell[1] == 0)


class _Evidence:
    """Looking and direct pulls together: the mean of all, each look counting for what it was worth in pulls."""

    def __init__(self, looked: Looked, seen: Tally, worth: FloatArray, z: float) -> None:
        self.pulls = seen.pulls.copy()
        self.pulls[0] = 0  # pulls of do() are the looks themselves
        known = ~np.isnan(looked.means) & ((looked.looks > 0) | (self.pulls == 0))
        sizes = np.where(known, looked.sizes, 0.0)
        smooth = seen.counts + 1.0
        share = smooth / smooth.sum(axis=1, keepdims=True)
        spread = share @ worth**2 - (share @ worth) ** 2
        plain = seen.counts @ worth / np.maximum(self.pulls, 1)
        direct = np.where(sizes > 0, plain, share @ worth)
        total = sizes + self.pulls
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(self.pulls == 0, 1.0, np.where(total > 0, sizes / np.maximum(total, 1e-12), 0.0))
        error = z * np.sqrt(spread / (smooth.sum(axis=1) + 1))
        looking = np.where(known, looked.errors(z), 0.0)
        unknown = ~known & (self.pulls == 0)
        means = part * np.where(known, np.nan_to_num(looked.means), 0.0) + (1 - part) * direct
        self.means = np.where(unknown, np.nan, means)
        self.widths = np.sqrt((part * looking) ** 2 + ((1 - part) * error) ** 2)
        middle = self.means + part * np.where(known, looked.offsets(z), 0.0)
        self.lows = np.minimum(middle - self.widths, self.means)
        self.highs = np.maximum(middle + self.widths, self.means)
        self.sizes = sizes + self.pulls


def _method(looked: Looked, problem: Problem, position: int, pulls: int) -> str:
    parts = []
    arm = problem.arms[position]
    if arm.is_look:
        parts.append("look")
    elif not np.isnan(looked.means[position]):
        parts.append(str(problem.verdicts[arm.targets].route))
    if pulls:
        parts.append("direct")
    return " + ".join(parts) or "none"


def _conditional(model: Estimator, seen: Tally, arm: Arm, worth: FloatArray) -> float:
    """E[reward | settings] as the looks have it; NaN where these were not counted together or never seen."""
    problem = model.problem
    if arm.is_look:
        levels: FloatArray = seen.counts[0].astype(np.float64)
    else:
        scope = naive_scope(problem, arm.targets)
        counted = seen.tables.get(LOOK, {}).get(scope)
        if counted is not None:
            together = counted.dense().count.astype(np.float64)
        else:
            folded = model.folded(seen, arm.targets, scope)
            if folded is None:
                return float("nan")
            together = folded
        levels = together[
            tuple(
                problem.domains[name].index(arm.settings[name]) if name in arm.settings else slice(None)
                for name in scope
            )
        ]
    total = levels.sum()
    return float(levels @ worth / total) if total > 0 else float("nan")
