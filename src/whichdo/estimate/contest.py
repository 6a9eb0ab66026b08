"""Which arm is best, how likely that is, and what its interval is now that it was chosen for being best.

Both questions are answered by draws: what the effects of all arms that could be best may be, given
their estimates.  Errors of arms on one target set go together as their covariance says; errors of
different target sets are taken as independent.  An error above the estimate is drawn on the scale
of the upper limit, one below on that of the lower, since errors at low rates are lopsided.

The largest of many estimates is too large (the winner's curse).  How much is found by playing the
choice again: effects are shrunk towards each other as far as their scatter is noise, new estimates
are drawn around them, the best is chosen, and its error is noted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.limits import normal_quantile
from whichdo.estimate.shrinkage import STRENGTH

if TYPE_CHECKING:
    from whichdo.arrays import BoolArray, FloatArray, IntArray
    from whichdo.estimate.pooling import Pooled

__all__ = ["DRAWS", "DRAW_SEED", "Contest"]

DRAWS = 10_000
DRAW_SEED = 20_220_611
MOST = 256
"""The most arms that are drawn: those whose upper limits are highest."""
Z = normal_quantile(0.975)


@dataclass(frozen=True)
class Contest:
    """The arms of a problem as rivals; ``sign`` is -1 where a small reward is good."""

    pooled: Pooled
    ranked: BoolArray
    """Which arms have an interval of use.  The others may be anything, as if two rows of each had been seen."""
    sign: float

    @cached_property
    def keys(self) -> IntArray:
        """Arms with the same evidence have the same key; an arm with pulls of its own has evidence of its own."""
        sources, pulls = self.pooled.looked.sources, self.pooled.pulls
        alone = len(self.pooled.looked.settled.means) + np.arange(len(sources))
        return np.where((sources < 0) | (pulls > 0), alone, sources)

    @cached_property
    def best(self) -> int | None:
        """The arm with the best estimate; None where nothing can be compared with do()."""
        if not self.ranked[1:].any() or (not self.ranked[0] and self.ranked[1:].sum() < 2):
            return None
        return int(np.argmax(np.where(self.ranked, self.sign * self.pooled.means, -np.inf)))

    @cached_property
    def probability(self) -> float:
        """How likely the best estimate is the best of all arms; NaN where there is none."""
        if self.best is None:
            return float("nan")
        arms = self._rivals
        rng = np.random.default_rng(DRAW_SEED)
        drawn = self._effects[arms] + self._errors(rng, arms)
        if self._anchored:
            drawn[:, 0] = 0.0
        unknown = np.flatnonzero(~self.ranked[arms])
        if len(unknown):
            drawn[:, unknown] = self._anything(rng, len(unknown))
        winners = self.keys[arms[np.argmax(self.sign * drawn, axis=1)]]
        return float(np.mean(winners == self.keys[self.best]))

    def limits_of_best(self, confidence: float) -> tuple[float, float]:
        """The limits of the best arm's mean, corrected for its having been chosen."""
        if self.best is None:
            return float("nan"), float("nan")
        arms = self._rivals[self.ranked[self._rivals]]
        z = self._chosen_errors(arms)
        tail = (1 - confidence) / 2
        low = self.pooled.limits(max(float(np.quantile(z, 1 - tail)), 0.0))[0][self.best]
        high = self.pooled.limits(max(-float(np.quantile(z, tail)), 0.0))[1][self.best]
        return float(low), float(high)

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
        arms = np.unique(self.keys, return_index=True)[1]
        arms = np.sort(arms)
        if self.best is not None and self.best not in arms:
            arms = np.sort(np.append(arms[self.keys[arms] != self.keys[self.best]], self.best))
        if len(arms) > MOST:
            low, high = self._effects - Z * self._scales[0], self._effects + Z * self._scales[1]
            hope = np.where(self.ranked, high if self.sign > 0 else -low, np.inf)
            kept = arms[np.argsort(-hope[arms], kind="stable")[:MOST]]
            arms = np.unique(np.concatenate([[0], kept, [] if self.best is None else [self.best]]).astype(np.int64))
        return arms if arms[0] == 0 else np.concatenate([[0], arms])

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
            together = own / np.outer(scale, scale) * np.outer(part, part)
            np.fill_diagonal(together, 1.0)
            values, vectors = np.linalg.eigh(together)
            drawn[:, here] = drawn[:, here] @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        return drawn

    def _errors(self, rng: np.random.Generator, arms: IntArray) -> FloatArray:
        z = self._standard(rng, arms)
        below, above = self._scales
        return np.where(z > 0, above[arms], below[arms]) * z

    def _anything(self, rng: np.random.Generator, number: int) -> FloatArray:
        """Effects of arms of which too little is known: as if two rows of an average arm had been seen of each."""
        mean = float(np.clip(np.mean(self.pooled.means[self.ranked]), 0.01, 0.99))
        drawn = rng.beta(STRENGTH * mean, STRENGTH * (1 - mean), (DRAWS, number))
        found: FloatArray = drawn - (self.pooled.means[0] if self._anchored else 0.0)
        return found

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
