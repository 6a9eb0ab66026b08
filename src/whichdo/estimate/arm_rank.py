"""One arm of a ranking: its estimate and interval, how it is known, and how its numbers are written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor, isnan, log10
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from whichdo.estimate.modelled import Modelled
    from whichdo.estimate.overlap import Overlap
    from whichdo.problem import Arm


MOST_DECIMALS = 8


def decimals(half_width: float) -> int:
    """How many decimals a number deserves whose error is so large: two significant digits of it.

    >>> decimals(0.012), decimals(0.0007), decimals(25.0)
    (3, 5, 0)
    """
    if not half_width > 0:
        return 3
    return min(max(1 - floor(log10(half_width)), 0), MOST_DECIMALS)


class Source(NamedTuple):
    """One source of an arm's estimate."""

    source: str
    """``looks``, ``direct`` for pulls of the arm itself, or the experiment, such as ``do(X)``: all arms on X."""
    weight: float
    """Its part in the estimate; those of all sources sum to one.  Where an estimate is put together from several laws,
    the mean of its parts in them.
    """
    estimate: float
    """The estimate if all that the source speaks of were taken from it alone; NaN where sources and laws are very many.
    """
    low: float
    high: float


@dataclass(frozen=True)
class ArmRank:
    """One arm of a `Ranking`.  Unknown values are NaN or None; the interval of an unknown arm is its bounds.

    Attributes
    ----------
    arm
        The arm.
    estimate, low, high
        The mean reward if the arm is pulled, with its interval.
    effect, effect_low, effect_high
        The difference to do(), with its interval.
    weakest_cell, weakest_count
        The combination of values that the estimate needs and that was seen least often, and how often.
    reason
        How the arm is known, or why it is not, in words.
    """

    arm: Arm
    estimate: float
    low: float
    high: float
    effect: float
    effect_low: float
    effect_high: float
    identified: bool
    """Whether looking can settle this arm at all."""
    method: str
    """look, same, adjustment, component, general, "experiments on X and Z", direct, a sum of some of these
    ("adjustment + direct"), or none.
    """
    given: tuple[str, ...]
    """What was adjusted for, or what else the formula reads."""
    effective_n: float
    """How many direct pulls the evidence is worth."""
    direct: int
    """How many direct pulls there were."""
    unseen: float
    """The weight in the estimate of cells that were never seen, from 0 to 1: the interval is wider by as much."""
    conditional: float
    """The naive mean of the reward among rows that happen to have the value: what confounding makes of it."""
    weakest_cell: str | None
    weakest_count: int | None
    must_try: bool
    """Whether it was never tried and looking says too little to compare it: its interval is wider than half the range
    (where the arm is judged by a model, together with the share of looks without a counterpart), or it is not settled
    and its bounds do not exclude that it is the best.
    """
    reason: str
    sources: tuple[Source, ...] = ()
    """What the estimate comes from: looks, experiments on other nodes (rows of other arms), direct pulls."""
    overlap: Overlap | None = None
    """The answer for the looks that have a counterpart, where the arm is counted by strata; the others weigh `unseen`.
    """
    modelled: Modelled | None = None
    """The doubly robust estimate, where a model was asked for and adjustment settles the arm."""
    not_modelled: str = ""
    """Why a model that was asked for says nothing of this arm."""
    bounds: tuple[float, float] | None = None
    """Where the mean lies of an arm that neither looks nor experiments on others settle, whatever hidden causes do:
    with the confidence of the intervals, its direct pulls aside.  None for an arm that is settled, or without looks.
    """

    @property
    def is_known(self) -> bool:
        """Whether there is any evidence."""
        return self.effective_n > 0 and not isnan(self.estimate)

    @property
    def is_comparable(self) -> bool:
        """Whether the arm can be compared, by what is counted or by a model that was asked for."""
        return self.is_ranked or (self.is_judged_by_model and not self.must_try)

    @property
    def is_ranked(self) -> bool:
        """Whether it can be compared: known, and by an interval of use."""
        return self.is_known and not self.must_try

    @property
    def is_judged_by_model(self) -> bool:
        """Whether it is compared by its modelled estimate: it has one, and was never tried; do() is counted."""
        return self.modelled is not None and not self.direct and not self.arm.is_look

    @property
    def judged(self) -> ArmRank:
        """The row with the numbers by which it is compared: modelled ones in place of counted ones where it has any."""
        return self.with_answer(self.modelled) if self.modelled is not None and self.is_judged_by_model else self

    def with_answer(self, answer: Modelled | Overlap) -> ArmRank:
        """Copy the row with the numbers of another answer, formatted with the digits those deserve.

        Parameters
        ----------
        answer
            The modelled estimate, or the one on the overlap.

        Returns
        -------
        ArmRank
            The row with its numbers replaced.
        """
        names = ("estimate", "low", "high", "effect", "effect_low", "effect_high")
        return replace(self, **{name: getattr(answer, name) for name in names})

    @property
    def is_bounded(self) -> bool:
        """Whether bounds are all that is known of it."""
        return self.bounds is not None and isnan(self.estimate)

    @property
    def is_worse(self) -> bool:
        """Whether bounds are all that is known of it, and it is not the best by these."""
        return self.is_bounded and not self.must_try

    @property
    def decimals(self) -> int:
        """How many decimals its numbers deserve."""
        return decimals((self.high - self.low) / 2)

    def written(self, value: float) -> str:
        """Format a number with as many digits as this row's error allows.

        Parameters
        ----------
        value
            A mean reward.

        Returns
        -------
        str
            The number; "?" if it is not known.
        """
        return "?" if isnan(value) else f"{round(value, self.decimals) + 0.0:,.{self.decimals}f}"  # never -0.0

    @property
    def interval(self) -> str:
        """``0.31 to 0.42``; ``between 0.31 and 0.58`` where the arm is not settled."""
        if not isnan(self.estimate):
            return f"{self.written(self.low)} to {self.written(self.high)}"
        return "?" if not self.is_bounded else f"between {self.written(self.low)} and {self.written(self.high)}"

    @property
    def estimate_text(self) -> str:
        """The estimate; ``not settled`` where there are bounds instead."""
        return "not settled" if self.is_bounded else self.written(self.estimate)

    @property
    def effect_text(self) -> str:
        """The effect against doing nothing, with its interval: ``+0.12 (0.08 to 0.16)``."""
        if isnan(self.effect):
            return "?"
        digits = decimals((self.effect_high - self.effect_low) / 2)
        low, high = (f"{value:+,.{digits}f}" for value in (self.effect_low, self.effect_high))
        return f"{self.effect:+,.{digits}f} ({low} to {high})"
