"""Who is compared with whom: the share of looks without a counterpart, and the answer for the others.

An arm's mean is an average over all looks.  A look whose stratum never had the arm's value has no
counterpart: what the arm would do there was not seen, and the interval is wider by as much.  For the
looks that have one, the *overlap*, the same estimate is made of their rows alone.  That answers a
narrower question with what is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whichdo.estimate.estimator import Looking
from whichdo.estimate.settling import settle_by_adjustment
from whichdo.estimate.shrinkage import Rows, shrink_reward
from whichdo.formulas import Reading
from whichdo.graph.identify import Route

if TYPE_CHECKING:
    from collections.abc import Callable

    from whichdo.arrays import FloatArray
    from whichdo.estimate.estimator import Looked, Rule
    from whichdo.estimate.settled import Settled
    from whichdo.evidence import Tally
    from whichdo.formulas import Formula


THIN = 0.05
"""Above this weight of cells that were never seen, cells are called thin, and a model is suggested."""


NOTHING = 1e-12


@dataclass(frozen=True)
class Overlap:
    """The answer for the looks that have a counterpart at an arm, in the reward's own unit."""

    estimate: float
    low: float
    high: float
    effect: float
    """Against do(), for these looks."""
    effect_low: float
    effect_high: float


def counted_overlaps(
    seen: Tally, looked: Looked, worth: FloatArray, rule: Rule, scale: tuple[float, float], z: float
) -> tuple[Overlap | None, ...]:
    """For each arm the answer where its strata have rows of it.

    The whole answer where every look has a counterpart.  None for do() and arms that equal it, for arms that are not
    settled by counting strata, and where no stratum has any row of the arm.
    """
    problem = seen.problem
    found: list[Overlap | None] = [None] * len(problem.arms)
    if rule.reading is Reading.PAPER or not looked.looks:
        return tuple(found)
    looking = Looking(problem, seen, worth, rule)
    hidden = looked.settled.below + looked.settled.above
    whole = _answers(looked.settled, scale, z)
    strata: dict[Formula, Rows] = {}
    for targets, places in problem.positions.items():
        formula = looked.taken.get(targets)
        if formula is None or formula.route is not Route.ADJUSTMENT or not formula.adjusts:
            continue
        for place in places:
            entry = int(looked.sources[place])
            if hidden[entry] <= NOTHING:
                found[place] = whole(entry)
                continue
            if formula not in strata:
                strata = {formula: looking.strata(formula)[0]}
            found[place] = _restrict(strata[formula], entry - looked.start_of(entry), looking, scale, z)
    return tuple(found)


def _restrict(rows: Rows, setting: int, looking: Looking, scale: tuple[float, float], z: float) -> Overlap | None:
    """What the rows of those strata say of a setting that have it."""
    there = rows.sizes[:, setting] > 0
    if not there.any():
        return None
    mass = rows.mass.sum()
    share = float(rows.mass[there].sum() / mass) if mass > 0 else 0.0
    own = Rows(*(np.asarray(part)[there] for part in (rows.sizes, rows.mass, rows.means, rows.squares)))
    settled = settle_by_adjustment(shrink_reward(own, [1], looking.rule.shrinkage), looking.looks * share)
    return _answers(settled, scale, z)(setting)


def _answers(settled: Settled, scale: tuple[float, float], z: float) -> Callable[[int], Overlap]:
    """What is settled about each entry, in the reward's own unit."""
    low, high = settled.limits(z)
    effect_low, effect_high = settled.effect_limits(z)
    effects, (least, reach) = settled.effects, scale

    def answer(entry: int) -> Overlap:
        means = (float(least + reach * each[entry]) for each in (settled.means, low, high))
        return Overlap(*means, *(float(reach * each[entry]) for each in (effects, effect_low, effect_high)))

    return answer
