"""Means of arms by models: doubly robust, cross-fitted (AIPW).

Where many columns are adjusted for, cells get thin, and a model has to say what a cell would.  Two
are fitted: m(z), the mean reward of rows at x, and e(z), how likely a row is at x.  The estimate

    mean over all rows of   m(z) + [row is at x] (y - m(z)) / e(z)

is right if either of the two is (Robins, Rotnitzky and Zhao 1994), and if both are nearly so its
error is that of the average alone, so that the standard deviation of what is averaged gives its
interval.  For that each row is predicted by models that have not seen it: the rows are dealt into
five folds, and each fold is predicted by models of the other four (Chernozhukov et al. 2018).  The
effect against do() is the average of the same numbers less y, row by row.

e(z) divides, so it may not be arbitrarily small.  A row with e(z) below a limit has *no counterpart*
at x: the limit stands in its place, its estimate leans on m(z) alone, and its share is
reported together with the answer for the other rows, the *overlap*.  The limit is
5 / (sqrt(n) log n) of n rows (Gruber et al. 2022), at most a twentieth, and at most a fifth of the
share of rows at x: an arm that is rare everywhere has counterparts everywhere.

The error.  Where both models are right, errors of their coefficients cancel.  Where one is wrong, or
m(z) speaks alone, they do not: a row then moves the estimate also through the coefficients that it
moves (stacked estimating equations).  The variance is taken with this part and without, and the
larger one counts.

Models are logistic for e(z) and for rewards of two values, linear for others, kept inside the range;
both with a ridge penalty that is worth one row.  scikit-learn is imported here alone, and late.

The columns that a model reads are made from those that are adjusted for (`features`).  A number
enters as itself, standardised, with a bend at each of its quartiles, and with a mark for a value
that very many rows share (no earnings at all): a curve of straight pieces, which goes on straight
beyond the data.  What is left of a number are its bins where a log names bins instead of numbers.
Everything else enters by a mark for each value, the most frequent one aside.  A missing value has a
mark of its own.

The penalty goes with these columns; bends
are drawn at half their size, so that a curve costs more than a line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.domains import MISSING_LEVEL
from whichdo.errors import UsageError
from whichdo.estimate.limits import mean_limits
from whichdo.remedies import Option

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from whichdo.arrays import BoolArray, CodeArray, FloatArray, IntArray
    from whichdo.counting.kept_rows import KeptRows
    from whichdo.problem import Problem


FEW_VALUES = 6
"""A node that declares more numbers than this is a number; up to so many it has a mark for each."""
BENDS = (0.25, 0.5, 0.75)
BEND_SIZE = 0.5
BEYOND = 0.02
"""The share of rows that a bend must have on either side."""
SHARED = 0.1
"""A number that so many rows have exactly gets a mark."""


def features(problem: Problem, rows: KeptRows, given: Sequence[str]) -> FloatArray:
    """The columns of a model that adjusts for some nodes: a row for each row, none for a column without variety."""
    columns: list[FloatArray] = []
    for name in given:
        codes = rows.codes[name]
        numbers = rows.numbers.get(name)
        if numbers is None:
            numbers = _declared_numbers(problem, name, codes)
        columns += _marks(codes, rows.weights) if numbers is None else _curve(numbers, rows.weights)
    return np.column_stack(columns) if columns else np.zeros((len(rows.rewards), 0))


def _declared_numbers(problem: Problem, name: str, codes: CodeArray) -> FloatArray | None:
    """The values of a node that declares many numbers; None for any other."""
    domain = problem.domains[name]
    if name in problem.bins:
        return None
    values = [value for value in domain if value != MISSING_LEVEL]
    if len(values) <= FEW_VALUES or any(isinstance(value, str) for value in values):
        return None
    worth = np.array([np.nan if isinstance(value, str) else float(value) for value in domain])
    return worth[codes]


def _marks(codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
    """A column of 0 and 1 for each value that occurs but the most frequent, centred."""
    share = np.bincount(codes, weights=weights)
    usual = int(share.argmax()) if len(share) else 0
    return [_centre((codes == code).astype(np.float64), weights) for code in np.flatnonzero(share) if code != usual]


def _curve(numbers: FloatArray, weights: FloatArray) -> list[FloatArray]:
    """A number, its bends, and what many rows share."""
    absent = np.isnan(numbers)
    found = [_centre(absent.astype(np.float64), weights)] if absent.any() else []
    there = numbers[~absent]
    heavy = weights[~absent]
    if not len(there) or there.min() == there.max():
        return found
    # Sums of numbers near the end of the scale would overflow: they are brought to the size of one first.
    size = float(np.abs(there).max())
    plain = np.where(absent, 0.0, numbers) / size
    there = there / size
    mean = float(np.average(there, weights=heavy))
    spread = float(np.sqrt(np.average((there - mean) ** 2, weights=heavy)))
    if not spread > 0:
        return found
    straight = np.where(absent, 0.0, (plain - mean) / spread)
    found.append(straight)
    found += [
        BEND_SIZE * np.where(absent, 0.0, _centre(np.maximum(straight - bend, 0.0), weights))
        for bend in _bends(straight[~absent], heavy)
    ]
    values, places = np.unique(there, return_inverse=True)
    shares = np.bincount(places.ravel(), weights=heavy) / heavy.sum()
    if len(values) > FEW_VALUES and shares.max() >= SHARED:
        found.append(_centre((plain == values[shares.argmax()]) & ~absent, weights))
    return found


def _bends(straight: FloatArray, weights: FloatArray) -> list[float]:
    """The quartiles of a number that have rows on either side."""
    order = np.argsort(straight, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    places = np.minimum(np.searchsorted(reached, BENDS), len(order) - 1)
    found = []
    for bend in np.unique(straight[order][places]).tolist():
        below, above = (float(weights[side].sum() / weights.sum()) for side in (straight < bend, straight > bend))
        if below >= BEYOND and above >= BEYOND:
            found.append(bend)
    return found


def _centre(column: FloatArray, weights: FloatArray) -> FloatArray:
    return column - np.average(column, weights=weights)


FOLDS = 5
LEAST_ROWS = 10
"""An arm with fewer rows has no separate model."""
PENALTY = 1.0
MOST_STEPS = 500
MOST_LIMIT = 0.05
OF_SHARE = 0.2


def check_models() -> None:
    """Refuse a model where scikit-learn is not installed, before a long log is read."""
    try:
        import sklearn  # noqa: F401 - only whether it is there
    except ModuleNotFoundError:
        raise UsageError(
            "A model needs scikit-learn: pip install 'whichdo[models]'. Without ",
            Option("model"),
            " the arms are estimated by counting.",
        ) from None


def one_thread() -> AbstractContextManager[Any]:
    """Fit in one thread: the same numbers on any machine, and small fits do not wait for each other."""
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    found: AbstractContextManager[Any] = threadpool_limits(1)
    return found


def least_propensity(rows: float, share: float) -> float:
    """The propensity below which a row has no counterpart, by the number of rows and the share of those at x."""
    if rows < 3:
        return MOST_LIMIT
    return float(min(MOST_LIMIT, 5 / (np.sqrt(rows) * np.log(rows)), OF_SHARE * share))


class _Spoken(NamedTuple):
    """What models say of each row about one setting."""

    at: BoolArray
    propensity: FloatArray
    divisor: FloatArray
    """The propensity, or the limit where that is larger."""
    outcome: FloatArray
    values: FloatArray
    """What is averaged."""


@dataclass(frozen=True)
class UnitAnswer:
    """A mean and its effect against do(), on a scale of the reward from 0 to 1, with limits."""

    mean: float
    low: float
    high: float
    effect: float
    effect_low: float
    effect_high: float
    variance: float = 0.0
    row_weight: float = 0.0
    effect_variance: float = 0.0


@dataclass(frozen=True)
class UnitModelled:
    """What models say of one arm."""

    whole: UnitAnswer
    overlap: UnitAnswer | None
    """Of the rows that have a counterpart; None where there is none."""
    lacking: float
    """The weight of the rows without one."""
    clipped: float
    """The share of the arm's own rows whose propensity was below the limit."""
    limit: float
    rows: int
    """How many rows of the arm were read."""
    pushes: FloatArray
    """What each unit adds to the effect, less the effect: for errors that go together."""


def deal(counts: IntArray, setting: IntArray, rng: np.random.Generator) -> IntArray:
    """How many of each row's repetitions go into each fold, settings shared out evenly; shape (rows, folds)."""
    order = rng.permutation(len(counts))
    order = order[np.argsort(setting[order], kind="stable")]
    left = counts[order] % FOLDS
    start = np.cumsum(left) - left
    folds = np.arange(FOLDS)
    extra = (folds - start[:, None]) % FOLDS < left[:, None]
    found = np.empty((len(counts), FOLDS), np.int64)
    found[order] = counts[order, None] // FOLDS + extra
    return found


class CrossFit:
    """The rows of one target set, dealt into folds, ready to be asked about each of its settings.

    ``columns``: what the models read, a row for each row (`whichdo.estimate.doubly_robust`).
    ``setting``: a number for the setting of the targets in each row.
    ``rewards``: from 0 to 1.
    ``counts``: how often each row occurred.
    ``weights``: how much it weighs.
    ``z``: of the limits: 1.96 for intervals of 95%.
    ``rng``: deals the folds.
    """

    def __init__(
        self,
        columns: FloatArray,
        setting: IntArray,
        rewards: FloatArray,
        counts: IntArray,
        weights: FloatArray,
        z: float,
        rng: np.random.Generator,
    ) -> None:
        dealt = deal(counts, setting, rng)
        row, self.fold = np.nonzero(dealt)
        self.columns, self.setting, self.rewards = columns[row], setting[row], rewards[row]
        self.times, self.weights = dealt[row, self.fold].astype(np.float64), weights[row] / weights.mean()
        self.mass = self.times * self.weights
        self.total = float(self.mass.sum())
        self.rows = self.total**2 / float((self.times * self.weights**2).sum())
        """The effective number of rows."""
        self.two_valued = bool(np.isin(rewards, (0.0, 1.0)).all())
        self._two_settings = np.unique(self.setting)
        self._propensity: FloatArray | None = None
        self._z = z
        self._design = np.concatenate([np.ones((len(row), 1)), self.columns], axis=1)
        self._ridge = np.diag([1e-9, *[PENALTY] * columns.shape[1]])

    def nothing(self) -> UnitAnswer:
        """do() itself: the mean of all rows."""
        ones = np.ones(len(self.rewards))
        return self._answer(_Spoken(ones.astype(np.bool_), ones, ones, self.rewards, self.rewards), None)

    def arm(self, number: int) -> UnitModelled | int:
        """What models say of one setting, or how many rows it has where those are too few."""
        at = self.setting == number
        rows = int(self.times[at].sum())
        if rows < LEAST_ROWS:
            return rows
        share = float(self.mass[at].sum()) / self.total
        limit = least_propensity(self.rows, share)
        plain = self._propensities(number, at)
        outcome = self._outcomes(at)
        near = plain >= limit
        divisor = np.maximum(plain, limit)
        values = outcome + np.where(at, self.rewards - outcome, 0.0) / divisor
        spoken = _Spoken(at, plain, divisor, outcome, values)
        whole = self._answer(spoken, None)
        overlap = None
        if (near & at).any():
            overlap = whole if near.all() else self._answer(spoken, near)
        pushes = values - self.rewards
        return UnitModelled(
            whole=whole,
            overlap=overlap,
            lacking=float(self.mass[~near].sum()) / self.total,
            clipped=float(self.mass[at & ~near].sum() / self.mass[at].sum()),
            limit=limit,
            rows=rows,
            pushes=(pushes - np.average(pushes, weights=self.mass)) * self.weights * np.sqrt(self.times) / self.total,
        )

    def _answer(self, spoken: _Spoken, chosen: BoolArray | None) -> UnitAnswer:
        """The average of what models say of each row, over all rows or the chosen ones."""
        share = self.mass if chosen is None else np.where(chosen, self.mass, 0.0)
        share = share / share.sum()
        values, pushes = spoken.values, spoken.values - self.rewards
        mean, effect = float((share * values).sum()), float((share * pushes).sum())
        more = self._through_coefficients(spoken, share)
        variance = self._variance(share * (values - mean), more)
        effect_variance = self._variance(share * (pushes - effect), more)
        stands = np.where(spoken.at, share / spoken.divisor, 0.0)
        row_weight = float((stands**2 / self.times).sum() / stands.sum()) if stands.any() else 1.0
        middle = min(max(mean, 0.0), 1.0)
        low, high = (float(each) for each in mean_limits(middle, variance, row_weight, self._z))
        spread = self._z**2 * variance
        # Few successes make a mean's limits lopsided, and those of its effect by as much as its errors are the mean's.
        part = min(effect_variance / variance, 1.0) if variance > 0 else 1.0
        below = np.sqrt(self._z**2 * effect_variance + part * max((middle - low) ** 2 - spread, 0.0))
        above = np.sqrt(self._z**2 * effect_variance + part * max((high - middle) ** 2 - spread, 0.0))
        effect += middle - mean
        return UnitAnswer(
            middle,
            low,
            high,
            effect,
            max(float(effect - below), -1.0),
            min(float(effect + above), 1.0),
            variance,
            row_weight,
            effect_variance,
        )

    def _variance(self, own: FloatArray, more: FloatArray) -> float:
        """Of a sum of what each row adds: by itself, or also through coefficients, whichever is larger."""
        both = own + more
        found = max(float((own**2 / self.times).sum()), float((both**2 / self.times).sum()))
        return found * self.rows / max(self.rows - 1, 1.0)

    def _through_coefficients(self, spoken: _Spoken, share: FloatArray) -> FloatArray:
        """What each row adds to the average by moving the coefficients of both models."""
        at, plain, divisor, outcome = spoken.at, spoken.propensity, spoken.divisor, spoken.outcome
        left = np.where(at, self.rewards - outcome, 0.0)
        slope = outcome * (1 - outcome) if self.two_valued else np.ones(len(outcome))
        turn = plain * (1 - plain)
        found = np.zeros(len(at))
        gradient = share * (1 - at / divisor) * slope
        found += self.mass * left * self._direction(np.where(at, self.mass * slope, 0.0), gradient)
        if turn.any():
            gradient = np.where(plain >= divisor, -share * left / divisor**2 * turn, 0.0)
            found += self.mass * (at - plain) * self._direction(self.mass * turn, gradient)
        return found

    def _direction(self, curvature: FloatArray, gradient: FloatArray) -> FloatArray:
        """How far the average goes with one unit of each row's residual, by the inverse of a model's Hessian."""
        hessian = (self._design * curvature[:, None]).T @ self._design + self._ridge
        found: FloatArray = self._design @ np.linalg.solve(hessian, self._design.T @ gradient)
        return found

    # ---------------------------------------------------------------------------------------------------- the models

    def _propensities(self, number: int, at: BoolArray) -> FloatArray:
        """How likely each row is at x, by models that have not seen it."""
        if at.all():
            return np.ones(len(at))
        pair = len(self._two_settings) == 2
        if pair and self._propensity is not None:
            return self._propensity if number == self._two_settings[1] else 1 - self._propensity
        found = self._predict(at.astype(np.float64), np.ones(len(at), np.bool_), logistic=True)
        if pair:
            self._propensity = found if number == self._two_settings[1] else 1 - found
        return found

    def _outcomes(self, at: BoolArray) -> FloatArray:
        """The mean reward of rows like each, if they were at x."""
        return self._predict(self.rewards, at, logistic=self.two_valued)

    def _predict(self, values: FloatArray, learn: BoolArray, *, logistic: bool) -> FloatArray:
        """Predict ``values`` fold by fold from the rows of the other folds that are to be learned from."""
        found = np.empty(len(values))
        for fold in range(FOLDS):
            mine = self.fold == fold
            others = learn & ~mine
            if not mine.any():
                continue
            found[mine] = _fit(
                self.columns[others], values[others], self.mass[others], self.columns[mine], logistic=logistic
            )
        return found


def _fit(train: FloatArray, values: FloatArray, mass: FloatArray, ask: FloatArray, *, logistic: bool) -> FloatArray:
    """Learn from some rows and predict others, between 0 and 1."""
    first = values[0]
    if not train.shape[1] or (values == first).all():
        return np.full(len(ask), float(np.average(values, weights=mass)))
    from sklearn.linear_model import LogisticRegression, Ridge

    model: Any
    if logistic:
        model = LogisticRegression(C=1 / PENALTY, solver="newton-cholesky", tol=1e-8, max_iter=MOST_STEPS)
        return np.asarray(model.fit(train, values, mass).predict_proba(ask)[:, 1], np.float64)
    model = Ridge(PENALTY, solver="cholesky")
    return np.clip(np.asarray(model.fit(train, values, mass).predict(ask), np.float64), 0.0, 1.0)
