"""Ranking: the table of every arm, with interval, method and reason.

Estimates are on the reward's own scale.  An interval is the estimate plus or minus z times the root of the variance
plus the squared shift, and wider still where rows were never seen: add-one smoothing moves rarely seen rows towards the
middle, and an interval that did not widen by as much as the estimate moved would miss the truth there
(`docs/decisions/0006-intervals.md`).  Intervals are cut to the range of the reward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from whichdo.counting.scopes import Reading, pair_scope
from whichdo.errors import UsageError, option
from whichdo.estimate.interventional import Estimator, Looked, estimator
from whichdo.estimate.literal import sampled_means
from whichdo.estimate.rarity import hardness
from whichdo.estimate.reasons import reason, weakest
from whichdo.evidence import whole_number
from whichdo.graph.identify import listed
from whichdo.problem import Arm, Goal, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whichdo.evidence import Tally

__all__ = ["ArmRank", "Ranking", "rank", "ranking"]

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
DRAWS = 10_000
DRAW_SEED = 20_220_611


@dataclass(frozen=True)
class ArmRank:
    """One row of the table.  What is not known is NaN or None; the interval of an unknown arm is the whole range."""

    arm: Arm
    estimate: float
    low: float
    high: float
    identified: bool
    """Whether looking can settle this arm at all."""
    method: str
    """look, same, adjustment, component, direct, a sum of two of these ("adjustment + direct"), or none."""
    effective_n: float
    """How many direct pulls the evidence is worth."""
    direct: int
    """How many direct pulls there were."""
    conditional: float
    """The naive mean of the reward among rows that happen to have the value: what confounding makes of it."""
    weakest_cell: str | None
    weakest_count: int | None
    must_try: bool
    """Whether the arm has to be tried: looking cannot settle it, or never saw one of its cells."""
    reason: str


class Ranking(Mapping[Arm, ArmRank]):
    """Every arm of a problem with what the data say about it; best first when iterated by `ordered`."""

    def __init__(
        self, problem: Problem, rows: list[ArmRank], looked: Looked, errors: FloatArray, notes: tuple[str, ...]
    ) -> None:
        self.problem = problem
        self.looks = int(looked.looks)
        self.notes = notes
        self._rows = {row.arm: row for row in rows}
        self._looked = looked
        self._errors = errors

    def __contains__(self, arm: object) -> bool:
        return arm in self._rows

    def __getitem__(self, arm: Arm) -> ArmRank:
        if arm not in self._rows:
            self.problem.index(arm)  # says which arms there are
        return self._rows[arm]

    def __iter__(self) -> Iterator[Arm]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def ordered(self) -> tuple[ArmRank, ...]:
        """The rows, best estimate first; then estimates that lean on what was never seen, then what has none."""
        return tuple(
            sorted(
                self._rows.values(),
                key=lambda row: (np.isnan(row.estimate), row.must_try, -self._sign * row.estimate),
            )
        )

    @property
    def _sign(self) -> float:
        """Plus one where a large reward is good."""
        return -1.0 if self.problem.goal is Goal.MINIMIZE else 1.0

    @property
    def best(self) -> ArmRank:
        """The row of the best estimate among arms that are known; an arm that must be tried could be better."""
        return self.ordered[0]

    @cached_property
    def probability_best(self) -> float:
        """How likely the best estimate is the best of all arms that are known; approximate.

        10,000 draws of independent normals with the estimates and their errors, by a fixed seed.  Arms that share
        do()'s evidence share its draw.
        """
        shares = estimator(self.problem).sources.copy()
        for position, arm in enumerate(self._rows):
            if self._rows[arm].direct:  # an arm with pulls of its own has evidence of its own
                shares[position] = len(shares) + position
        means = np.array([row.estimate for row in self._rows.values()])
        tried = np.array([row.must_try for row in self._rows.values()])
        known = np.flatnonzero(~np.isnan(means) & ~tried)
        if not len(known):
            return float("nan")
        known = known[np.unique(shares[known], return_index=True)[1]]
        draws = np.random.default_rng(DRAW_SEED).normal(means[known], self._errors[known], (DRAWS, len(known)))
        winner = np.argmax(self._sign * draws, axis=1)
        best = self.problem.index(self.best.arm)
        return float(np.mean(shares[known[winner]] == shares[best]))

    @cached_property
    def rarity(self) -> dict[str, float]:
        """The share of looks in each intervenable node's rarest cell; 0 where looking settles nothing."""
        shares = self._looked.rarest / max(self._looked.looks, 1.0)
        return dict(zip(self.problem.intervene, shares.tolist(), strict=True))

    @cached_property
    def hardness(self) -> int:
        """The paper's m, over the cells that are counted here: looking serves all nodes but the m rarest."""
        return hardness(list(self.rarity.values()), _component_sizes(self.problem))

    @cached_property
    def rare(self) -> tuple[str, ...]:
        """The nodes that are rarer than 1/m: by the paper's rule those that trying serves better than looking."""
        q = np.array(list(self.rarity.values()))
        poor = q ** _component_sizes(self.problem) < 1 / self.hardness
        return tuple(name for name, rare in zip(self.problem.intervene, poor, strict=True) if rare)

    @cached_property
    def summary(self) -> tuple[str, ...]:
        """The answer in a few sentences."""
        best, reward = self.best, self.problem.reward
        lines = [f"Best: {best.arm}, mean {reward} {best.estimate:.3f} ({best.low:.3f} to {best.high:.3f})."]
        lines.append(
            f"The best of the known arms with probability {self.probability_best:.0%} "
            f"(approximate: {DRAWS:,} draws of independent normals)."
        )
        naive = self._naive_best
        if naive is not None and naive.arm != best.arm and abs(naive.conditional - naive.estimate) > 0.01:
            lines.append(
                f"Comparing those who happen to have each value would have named {naive.arm} "
                f"({naive.conditional:.3f} where doing it gives {naive.estimate:.3f})."
            )
        if self.rare:
            lines.append(f"Hardness m = {self.hardness}; the rarest nodes, to be tried first: {listed(self.rare)}.")
        return tuple(lines)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the reader must know before trusting the table."""
        untried = [str(row.arm) for row in self._rows.values() if row.must_try and np.isnan(row.estimate)]
        unseen = [str(row.arm) for row in self._rows.values() if row.must_try and not np.isnan(row.estimate)]
        found = list(self.notes)
        if untried:
            found.append(f"Not estimated, to be tried: {listed(untried)}.")
        if unseen:
            found.append(f"A cell was never seen, so the estimate leans on smoothing; to be tried: {listed(unseen)}.")
        return tuple(found)

    @cached_property
    def _naive_best(self) -> ArmRank | None:
        known = [row for row in self.ordered if not np.isnan(row.conditional) and not row.arm.is_look]
        return max(known, key=lambda row: self._sign * row.conditional, default=None)

    def to_dict(self) -> dict[str, list[Any]]:
        """The table by columns, arms as text, in the problem's order."""
        columns = [field.name for field in fields(ArmRank)]
        return {
            name: [str(row.arm) if name == "arm" else getattr(row, name) for row in self._rows.values()]
            for name in columns
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """The table as a data frame: "pandas", "polars" or "pyarrow"; by default the first that is installed."""
        import narwhals as nw

        for name in (backend,) if backend else ("pandas", "polars", "pyarrow"):
            try:
                return nw.from_dict(self.to_dict(), backend=name).to_native()  # type: ignore[arg-type]
            except ModuleNotFoundError:
                continue
        wanted = backend or "pandas, polars or pyarrow"
        raise UsageError(f"A frame needs {wanted}, which is not installed. to_dict() gives the same columns.")

    def __repr__(self) -> str:
        best = self.best
        return f"<Ranking of {len(self)} arms from {self.looks:,} looks: best {best.arm}, {best.estimate:.3f}>"


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

    ``data``: a frame, a dict of columns, a path (or glob) to CSV or Parquet, or a `Tally` of looks.  ``counts`` names a
    column by which each row counts; ``arm`` a column that says what was done in each row (empty: nothing).
    ``missing="drop"`` leaves rows with missing values out.  ``threshold`` and ``sampled`` are the paper's own, for
    fidelity: rows seen less often than the threshold are taken as uniform, and each mean is the average of so many
    draws from the learned network instead of its exact sum.
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
    low = np.where(unknown, worth.min(), np.clip(evidence.means - evidence.widths, worth.min(), worth.max()))
    high = np.where(unknown, worth.max(), np.clip(evidence.means + evidence.widths, worth.min(), worth.max()))
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
                identified=arm.node is None or problem.verdicts[arm.node].identified,
                method=_method(model, arm, pulls),
                effective_n=float(evidence.sizes[position]),
                direct=pulls,
                conditional=_conditional(model, seen, arm, worth),
                weakest_cell=cell[0] if cell else None,
                weakest_count=cell[1] if cell else None,
                must_try=_must_try(model, arm, cell, pulls),
                reason=reason(model, arm, cell, pulls),
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


def _must_try(model: Estimator, arm: Arm, cell: tuple[str, int] | None, pulls: int) -> bool:
    """Whether neither looking nor pulling says anything sure: not estimated, or leaning on a row never seen."""
    if arm.node is None or pulls:
        return False
    return arm.node not in model.networks or (cell is not None and cell[1] == 0)


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
        self.sizes = sizes + self.pulls


def _component_sizes(problem: Problem) -> FloatArray:
    return np.array([len(verdict.component) for verdict in problem.verdicts.values()], dtype=np.float64)


def _method(model: Estimator, arm: Arm, pulls: int) -> str:
    parts = []
    if arm.node is None:
        parts.append("look")
    elif arm.node in model.networks:
        parts.append(str(model.problem.verdicts[arm.node].route))
    if pulls:
        parts.append("direct")
    return " + ".join(parts) or "none"


def _conditional(model: Estimator, seen: Tally, arm: Arm, worth: FloatArray) -> float:
    """E[reward | node = value] as the looks have it; NaN where the two were not counted together or never seen."""
    problem = model.problem
    if arm.node is None:
        levels: FloatArray = seen.counts[0].astype(np.float64)
    else:
        pair = pair_scope(problem, arm.node)
        counted = seen.tables.get(Arm(), {}).get(pair)
        table = counted if isinstance(counted, np.ndarray) else model.table(seen, arm.node)
        scope = pair if isinstance(counted, np.ndarray) else model.scope(arm.node)
        if table is None or arm.node not in scope:
            return float("nan")
        both = table.sum(axis=tuple(j for j, name in enumerate(scope) if name not in pair))
        both = both if scope.index(arm.node) < scope.index(problem.reward) else both.T
        levels = both[problem.domains[arm.node].index(arm.value)].astype(np.float64)
    total = levels.sum()
    return float(levels @ worth / total) if total > 0 else float("nan")
