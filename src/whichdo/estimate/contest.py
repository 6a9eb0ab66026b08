"""Which arm is best, how likely that is, and what its interval is now that it was chosen for being best.

How likely is found by draws of what the effects of all arms may be.  Before any data, effects are
normal around doing nothing with one scatter for all arms of a problem, which is one of a few values, in
log odds, all as likely at first; the smallest is 0, where no arm does anything and all are the
best.  The estimates say which scatter is likely, and how far each effect is pulled towards nothing.
Errors of arms on one target set go together as their covariance says; errors of different
target sets are taken as independent.  An error above the estimate is drawn on the scale of the
upper limit, one below on that of the lower, since errors at low rates are lopsided.

Where estimates by looking are doubted (`whichdo.estimate.doubted`), a draw first says whether something is wrong, and
then which arms are known by their pulls and a hint alone, or by what was seen today.

The best of many estimates looks too good (the winner's curse), so that the limit on the bad side of
the chosen mean must be further away.  How far is found by playing the choice again: effects are shrunk
towards each other as far as their scatter is noise, new estimates are drawn around them, the best
is chosen, and its error is noted.  The limit on the good side stays (Fuentes, Casella and Wells 2018): where one arm is
clearly best nothing was chosen by luck.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.doubted import DoubtedPool
from whichdo.estimate.limits import normal_quantile
from whichdo.estimate.shrinkage import EDGE

if TYPE_CHECKING:
    from whichdo.arrays import BoolArray, FloatArray, IntArray
    from whichdo.estimate.pooling import Pooled
    from whichdo.problem import Problem


DRAWS = 10_000
DRAW_SEED = 20_220_611
MOST = 256
"""The most arms that are drawn: those whose upper limits are highest."""
Z = normal_quantile(0.975)
SCATTERS = np.array([0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6])
"""How far the effects of arms may scatter around nothing, in log odds."""
IDLE, AT_LEAST = 1 / 4, 0.2
"""The chance that a target set of which nothing is known does nothing, and the least scatter if it does something."""
FURTHEST = 8.0
"""The most standard errors that a limit is moved away."""
TIE = 1e-12
REDRAWS = 8
"""How often the mean of an arm that is not settled is drawn again where it lies outside of its bounds."""


def leaders(ranked: BoolArray, values: FloatArray) -> IntArray:
    """The arm with the greatest value in each row; -1 where there are no two to compare.

    ``ranked``: which arms have an interval of use and may be named; a row for each ranking.
    ``values``: how good each arm is; of one that is not ranked it does not matter.
    """
    compared = ranked.sum(axis=1) > 1
    return np.where(compared, np.where(ranked, values, -np.inf).argmax(axis=1), -1)


@dataclass(frozen=True)
class Contest:
    """The arms of a problem as rivals; ``sign`` is -1 where a small reward is good."""

    pooled: Pooled
    ranked: BoolArray
    """Which arms have an interval of use.  The others do nothing, or scatter as these do, or a little more."""
    sign: float
    target_sets: IntArray
    """A number for each arm, the same for all arms on the same targets."""
    equal: IntArray | None = None
    """For each arm the first that is the same but for its name, where they share their direct pulls."""
    named: BoolArray | None = None
    """Which arms may be named as the best; by default all."""
    bounds: FloatArray | None = None
    """A row of lower and one of upper ends: where the means of arms lie that are not settled; NaN for the others."""

    @cached_property
    def keys(self) -> IntArray:
        """Arms with the same evidence have the same key; an arm with direct pulls has its own evidence."""
        sources, pulls = self.pooled.looked.sources, self.pooled.pulls
        alone = len(self.pooled.looked.settled.means) + (np.arange(len(sources)) if self.equal is None else self.equal)
        return np.where((sources < 0) | (pulls > 0), alone, sources)

    @cached_property
    def best(self) -> int | None:
        """The arm with the best estimate among those that may be named; None where there are no two to compare."""
        found = int(leaders((self.ranked & self._named)[None], self.sign * self.pooled.means[None])[0])
        return None if found < 0 else found

    @cached_property
    def _named(self) -> BoolArray:
        return np.ones(len(self.ranked), bool) if self.named is None else self.named

    @property
    def probability(self) -> float:
        """How likely the best estimate is the best of all arms; NaN where there is none."""
        return float("nan") if self.best is None else float(self.chances[self.best])

    @cached_property
    def chances(self) -> FloatArray:
        """How likely each arm is the best of all; NaN for arms that cannot be named or were not drawn."""
        found = np.full(len(self.ranked), np.nan)
        if self.best is None:
            return found
        arms = self._rivals
        rng = np.random.default_rng(DRAW_SEED)
        scatter = rng.choice(SCATTERS, DRAWS, p=self._chances_of_scatter(arms))[:, None]
        drawn = self._doubted(rng, arms, scatter)
        unknown = np.flatnonzero(~self.ranked[arms])
        if len(unknown):
            drawn[:, unknown] = self._within(rng, arms[unknown], scatter)
        named = self._named[arms]
        arms, drawn = arms[named], self.sign * drawn[:, named]
        by_key = dict(
            zip(self.keys[arms].tolist(), (drawn >= drawn.max(axis=1, keepdims=True) - TIE).mean(axis=0), strict=True)
        )
        for arm in np.flatnonzero(self._named):
            found[arm] = by_key.get(int(self.keys[arm]), np.nan)
        return found

    def excluded(self, confidence: float) -> BoolArray:
        """Which arms are not known but surely worse than the best that is: by their bounds, and by its limits."""
        found = np.zeros(len(self.ranked), np.bool_)
        if self.bounds is None or self.best is None:
            return found
        hope = np.where(self.pooled.known, np.nan, self.bounds[1] if self.sign > 0 else -self.bounds[0])
        if not (hope < self.sign * self.pooled.means[self.best]).any():
            return found
        low, high = self.limits_of_best(confidence)
        return hope < (low if self.sign > 0 else -high)

    def limits_of_best(self, confidence: float) -> tuple[float, float]:
        """The limits of the best arm's mean, corrected for its having been chosen."""
        if self.best is None:
            return float("nan"), float("nan")
        arms = self._rivals[(self.ranked & self._named)[self._rivals]]
        tail = (1 - confidence) / 2
        plain = normal_quantile(1 - tail)
        flattered = float(np.quantile(self.sign * self._chosen_errors(arms), 1 - tail))
        further = min(max(flattered, plain), FURTHEST)
        bad, good = self.pooled.limits(further), self.pooled.limits(plain)
        low, high = (bad[0], good[1]) if self.sign > 0 else (good[0], bad[1])
        return float(low[self.best]), float(high[self.best])

    # ------------------------------------------------------------------------------------------------------ drawing

    @cached_property
    def _anchored(self) -> bool:
        """Whether do() is known, so that arms are compared by their effects; else they are by their means."""
        return bool(self.pooled.known[0])

    @cached_property
    def _effects(self) -> FloatArray:
        return np.nan_to_num(self.pooled.effects if self._anchored else self.pooled.means)

    @cached_property
    def _scales(self) -> tuple[FloatArray, FloatArray]:
        """One standard error of each effect below and above its estimate."""
        low, high = self.pooled.effect_limits(Z) if self._anchored else self.pooled.limits(Z)
        return np.nan_to_num(self._effects - low) / Z, np.nan_to_num(high - self._effects) / Z

    @cached_property
    def _rivals(self) -> IntArray:
        """One arm for each key, do() first; of very many those that could be best."""
        arms = np.unique(np.where(self._named, self.keys, -1), return_index=True)[1]
        arms = np.sort(arms[self._named[arms]])
        if self.best is not None and self.best not in arms:
            arms = np.sort(np.append(arms[self.keys[arms] != self.keys[self.best]], self.best))
        if len(arms) > MOST:
            low, high = self._effects - Z * self._scales[0], self._effects + Z * self._scales[1]
            hope = np.where(self.ranked, high if self.sign > 0 else -low, np.inf)
            kept = arms[np.argsort(-hope[arms], kind="stable")[:MOST]]
            arms = np.unique(np.concatenate([[0], kept, [] if self.best is None else [self.best]]).astype(np.int64))
        return arms if len(arms) and arms[0] == 0 else np.concatenate([[0], arms]).astype(np.int64)

    def _standard(self, rng: np.random.Generator, arms: IntArray) -> FloatArray:
        """Standard normal errors of the effects of some arms, a row for each draw, correlated within target sets."""
        drawn = rng.standard_normal((DRAWS, len(arms)))
        sources = self.pooled.looked.sources[arms]
        for start, covariance in self.pooled.looked.blocks:
            here = np.flatnonzero((sources >= start) & (sources < start + len(covariance)))
            if len(here) < 2:
                continue
            entries = sources[here] - start
            own = covariance[np.ix_(entries, entries)]
            scale = np.sqrt(np.maximum(np.diagonal(own), 1e-300))
            part = self.pooled.part[arms[here]]
            together = np.clip(own / np.outer(scale, scale), -1.0, 1.0) * np.outer(part, part)
            np.fill_diagonal(together, 1.0)
            values, vectors = np.linalg.eigh(together)
            drawn[:, here] = drawn[:, here] @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        return drawn

    @cached_property
    def _middle(self) -> float:
        """The mean around which effects scatter: that of do(), or of all arms where it is not known."""
        means = self.pooled.means
        return float(np.clip(means[0] if self._anchored else np.mean(means[self.ranked]), EDGE, 1 - EDGE))

    def _apart(self, arms: IntArray) -> FloatArray:
        """Effects of some arms against what they scatter around."""
        found: FloatArray = self._effects[arms] - (0.0 if self._anchored else self._middle)
        return found

    def _chances_of_scatter(self, arms: IntArray) -> FloatArray:
        """How likely each scatter is, given the estimates."""
        used = arms[self.ranked[arms] & ~(self._anchored & (arms == 0))]
        below, above = self._scales
        noise = np.maximum((below[used] + above[used]) / 2, EDGE**2) ** 2
        # The effects of k settings of one target set, against an average of them, have k - 1 numbers in them.
        sources = np.where(self.pooled.pulls[used] > 0, -1, self.pooled.looked.sources[used])
        weights = np.ones(len(used))
        for start, covariance in self.pooled.looked.blocks:
            here = (sources >= start) & (sources < start + len(covariance))
            weights[here] = max(here.sum() - 1, 1) / max(here.sum(), 1)
        total = (SCATTERS[:, None] * self._middle * (1 - self._middle)) ** 2 + noise
        fit = -0.5 * ((np.log(total) + self._apart(used) ** 2 / total) * weights).sum(axis=1)
        found: FloatArray = np.exp(fit - fit.max())
        found /= found.sum()
        return found

    def _plausible(self, rng: np.random.Generator, arms: IntArray, scatter: FloatArray) -> FloatArray:
        """Effects of some arms, a row for each draw of their scatter."""
        below, above = (each[arms] for each in self._scales)
        prior = (scatter * self._middle * (1 - self._middle)) ** 2
        total = prior + ((below + above) / 2) ** 2
        part = np.divide(prior, total, out=np.zeros(total.shape), where=total > 0)
        z = self._standard(rng, arms)
        found: FloatArray = part * self._apart(arms) + np.sqrt(part) * np.where(z > 0, above, below) * z
        if self._anchored:
            found[:, 0] = 0.0
        return found

    def _doubted(self, rng: np.random.Generator, arms: IntArray, scatter: FloatArray) -> FloatArray:
        """Effects of some arms; in as many draws as something may be wrong, those of some arms by pulls and hints."""
        if not isinstance(self.pooled, DoubtedPool):
            return self._plausible(rng, arms, scatter)
        pooled, hints, belief = self.pooled, self.pooled.hints, self.pooled.belief
        drawn = replace(self, pooled=pooled.right)._plausible(rng, arms, scatter)
        case = rng.choice(len(belief.cases), DRAWS, p=belief.cases)
        luck = rng.random((DRAWS, len(arms)))
        wrong = (luck < belief.shares[case][:, arms]) & hints.at_stake[arms]
        nothing = pooled.right.means[0] if self._anchored else self._middle
        means, noise = hints.means[arms], hints.variances[arms]
        if pooled.today is not None:
            today = pooled.today
            old = (1 - luck < belief.outdated[case][:, arms]) & today.known[arms]
            means, noise = (
                np.where(old, then, now) for then, now in ((today.means[arms], means), (today.variances[arms], noise))
            )
            wrong |= old
        z = rng.standard_normal((DRAWS, len(arms)))
        prior = (scatter * self._middle * (1 - self._middle)) ** 2
        total = prior + noise
        part = np.divide(prior, total, out=np.zeros(total.shape), where=total > 0)
        found = np.where(wrong, part * (means - nothing) + np.sqrt(part * noise) * z, drawn)
        if self._anchored:  # where do() is wrong, all others are better or worse than it by as much
            means, noise = (np.broadcast_to(each, wrong.shape)[:, 0] for each in (means, noise))
            fallen = np.where(wrong[:, 0], nothing - means - np.sqrt(noise) * z[:, 0], 0.0)
            found = found + fallen[:, None]
            found[:, 0] = 0.0
        return found

    def _anything(self, rng: np.random.Generator, arms: IntArray, scatter: FloatArray) -> FloatArray:
        """Effects of arms of which too little is known: a target set does nothing, or as much as others."""
        odds = np.log(self._middle / (1 - self._middle))
        moved = np.maximum(scatter, AT_LEAST) * rng.standard_normal((DRAWS, len(arms)))
        sets, own = np.unique(self.target_sets[arms], return_inverse=True)
        idle = (rng.random((DRAWS, len(sets))) < IDLE)[:, own.ravel()]
        found: FloatArray = np.where(idle, 0.0, 1 / (1 + np.exp(-odds - moved)) - self._middle)
        return found

    def _within(self, rng: np.random.Generator, arms: IntArray, scatter: FloatArray) -> FloatArray:
        """As `_anything`, but drawn anew until the means of arms that are not settled lie within their bounds.

        Where a doubt has it that something is wrong with looking, so may the bounds be.
        """
        effects = self._anything(rng, arms, scatter)
        if self.bounds is None or np.isnan(self.bounds[0, arms]).all():
            return effects
        low, high = np.nan_to_num(self.bounds[0, arms]), np.nan_to_num(self.bounds[1, arms], nan=1.0)
        lifted = np.zeros(effects.shape, np.bool_)
        if isinstance(self.pooled, DoubtedPool):
            lifted = rng.random(effects.shape) < self.pooled.belief.wrong[arms]
        means = self._middle + effects
        outside = ((means < low) | (means > high)) & ~lifted
        for _ in range(REDRAWS):
            if not outside.any():
                break
            again = self._anything(rng, arms, scatter) + self._middle
            means = np.where(outside, again, means)
            outside &= (means < low) | (means > high)
        means = np.where(outside, low + (high - low) * rng.random(means.shape), means)
        return means - self._middle

    def _chosen_errors(self, arms: IntArray) -> FloatArray:
        """The error of the chosen arm's mean in standard errors, when the choice is played again and again."""
        rng = np.random.default_rng(DRAW_SEED)
        z = self._standard(rng, arms)
        below, above = self._scales
        scale = (below[arms] + above[arms]) / 2
        truth = _shrunk(self._effects[arms], scale)
        chosen = np.argmax(self.sign * (truth + scale * z), axis=1)
        of_effect = z[np.arange(DRAWS), chosen]
        along = self._correlations(arms, scale)[chosen]
        found: FloatArray = along * of_effect + np.sqrt(1 - along**2) * rng.standard_normal(DRAWS)
        return found

    def _correlations(self, arms: IntArray, scale: FloatArray) -> FloatArray:
        """How the error of each arm's mean goes with that of its effect: their difference is the error of do()."""
        own = np.nan_to_num(self.pooled.variances[arms])
        nothing = float(self.pooled.variances[0]) if self._anchored else 0.0
        both = np.sqrt(np.maximum(own, 1e-300)) * np.maximum(scale, 1e-150)
        found: FloatArray = np.clip((own + scale**2 - nothing) / (2 * both), 0.0, 1.0)
        return np.where(scale > 0, found, 0.0)


def target_sets(problem: Problem) -> IntArray:
    """A number for each arm of a problem, the same for all arms on the same targets; that of do() is 0."""
    found = np.zeros(len(problem.arms), np.int64)
    for number, places in enumerate(problem.positions.values(), 1):
        found[list(places)] = number
    return found


def _shrunk(effects: FloatArray, scale: FloatArray) -> FloatArray:
    """Effects without the part of their scatter that is noise."""
    noise = scale**2
    if len(effects) < 2:
        return effects
    scatter = max(float(np.var(effects, ddof=1) - noise.mean()), 0.0)
    total = scatter + noise
    part = np.divide(scatter, total, out=np.ones(total.shape), where=total > 0)
    weight = 1 / np.maximum(total, 1e-12)
    middle = float((weight * effects).sum() / weight.sum())
    return middle + part * (effects - middle)
