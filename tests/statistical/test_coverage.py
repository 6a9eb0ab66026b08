"""Intervals keep their promise: 95 percent of them hold the truth, in every kind of data set of `cells`.

At the full count (2,000 data sets a cell, ``make soak``) no cell may be below 93% by a one-sided binomial test at 1e-4,
and the mean over cells in which an arm expects ten successes, and hardly anything was never seen, is 94.5 to 97.5%.
(With fewer successes an interval that covers 93% everywhere covers nearly always somewhere: of 20 rows at .5% none can
have between 90.5 and 99.55%.)  At a twentieth the binomial test is the same with fewer data sets, and its
level 1e-7, since it is run often; the mean has five standard errors of room.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from tests.soak import FULL, scaled
from tests.statistical.cells import CELLS, Cell, drawn_as, number_of
from tests.statistical.measured import Measured
from tests.statistical.worlds import Z, answer
from whichdo.estimate.estimator import Rule
from whichdo.estimate.limits import mean_limits
from whichdo.estimate.rank import ranking
from whichdo.estimate.shrinkage import reward_scale
from whichdo.formulas import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.statistical.worlds import Answer
    from whichdo.arrays import FloatArray

DATA_SETS = 2_000
SEED = 20_261_131
PROMISED, LEVEL = 0.93, 1e-4 if FULL else 1e-7
MEAN = (0.945, 0.975)

KINDS = [("mean",), ("effect",), ("named",)] if FULL else [("mean", "effect"), ("named",)]

Limits = tuple[float, float]


@dataclass(frozen=True)
class Covered:
    """How often the interval of a cell held the truth."""

    held: int
    sets: int
    expected: float
    """Successes, or failures if these are fewer, that the arm expects."""
    unseen: float

    @property
    def share(self) -> float:
        """Of the data sets in which something was said."""
        return self.held / max(self.sets, 1)

    @property
    def is_too_low(self) -> bool:
        """By the binomial test."""
        return bool(stats.binom.cdf(self.held, self.sets, PROMISED) < LEVEL) if self.sets else False

    @property
    def is_ordinary(self) -> bool:
        """Whether the mean over cells includes it."""
        return self.expected >= 10 and self.unseen < 0.01


def ours(found: Answer, cell: Cell, position: int) -> Limits:
    """The interval of `whichdo.rank`."""
    if cell.covers == "named":
        return found.contest.limits_of_best(0.95)
    low, high = found.limits if cell.covers == "mean" else found.effect_limits
    return float(low[position]), float(high[position])


def wald(found: Answer, cell: Cell, position: int) -> Limits:
    """A planted mistake: the mean and 1.96 standard errors of it."""
    middle, half = found.pooled.means[position], Z * sqrt(found.pooled.variances[position])
    return float(middle - half), float(middle + half)


def not_shifted(found: Answer, cell: Cell, position: int) -> Limits:
    """A planted mistake, with add-one smoothing: an interval that does not know how far smoothing moved the mean."""
    settled, entry = found.pooled.looked.settled, found.pooled.looked.sources[position]
    noise = settled.own.noise[entry] + settled.law[entry]
    low, high = mean_limits(settled.means[entry], noise, settled.own.row_weights[entry], Z)
    return float(low), float(high)


def not_corrected(found: Answer, cell: Cell, position: int) -> Limits:
    """A planted mistake: the named arm's own interval, as if it had not been chosen."""
    low, high = found.limits
    best = found.contest.best or 0
    return float(low[best]), float(high[best])


def covered(
    cell: Cell,
    sets: int,
    interval: Callable[[Answer, Cell, int], Limits] = ours,
    rule: Rule | None = None,
) -> Covered:
    """Draw data sets of a cell and count those in which the interval holds the truth."""
    return covered_together([cell], sets, interval, rule)[cell]


def covered_together(
    cells: Sequence[Cell],
    sets: int,
    interval: Callable[[Answer, Cell, int], Limits] = ours,
    rule: Rule | None = None,
) -> dict[Cell, Covered]:
    """The same for several cells of the same data sets (`cells.drawn_as`), which are ranked once."""
    first = cells[0]
    world = first.world(SEED)
    rng = np.random.default_rng([SEED, number_of(first), 1])
    truth: FloatArray = world.truth
    position = len(world.problem.arms) - 1
    held, said, unseen = dict.fromkeys(cells, 0), 0, 0.0
    for tally in world.draw(rng, sets, first.rows, first.pulls):
        found = answer(tally, rule)
        if first.covers == "named" and found.contest.best is None:
            continue
        for cell in cells:
            wanted = truth[position] - (truth[0] if cell.covers == "effect" else 0.0)
            if cell.covers == "named":
                wanted = truth[found.contest.best]
            low, high = interval(found, cell, position)
            held[cell] += bool(low - 1e-12 <= wanted <= high + 1e-12)
        unseen += float(found.unseen[position])
        said += 1
    looked = 0.0 if first.by == "pulls" else first.rows * world.share(position)
    rare = min(truth[position], 1 - truth[position])
    expected = float((looked + first.pulls) * rare)
    return {cell: Covered(held[cell], said, expected, unseen / max(said, 1)) for cell in cells}


@pytest.mark.slow("15 s: 100 data sets in each of 150 cells; finds intervals that are too narrow, or too wide")
@pytest.mark.soak
@pytest.mark.parametrize("covers", KINDS, ids=" and ".join)
def test_95_percent_intervals_cover_as_promised(
    covers: tuple[str, ...], record_property: Callable[[str, object], None]
) -> None:
    """Each kind of interval keeps the promise by itself, the mean over its ordinary cells too."""
    together = defaultdict(list)
    for cell in CELLS:
        if cell.covers in covers:
            together[drawn_as(cell)].append(cell)
    found = {
        cell: each for cells in together.values() for cell, each in covered_together(cells, scaled(DATA_SETS)).items()
    }
    record_property("data sets a cell", scaled(DATA_SETS))
    means = {}
    for kind in covers:
        own = [each for cell, each in found.items() if cell.covers == kind]
        ordinary = [each.share for each in own if each.is_ordinary]
        means[kind] = float(np.mean(ordinary)), len(ordinary)
        shares = [each.share for each in own]
        record_property("cells", len(own))
        record_property("coverage", f"{min(shares):.3f} to {max(shares):.3f}")
        record_property("mean of ordinary cells", f"{means[kind][0]:.4f} ({len(ordinary)})")
    record_property("seed", SEED)
    assert not {cell: each.share for cell, each in found.items() if each.is_too_low}
    for mean, count in means.values():
        room = 0.0 if FULL else 5 * sqrt(0.05 * 0.95 / (scaled(DATA_SETS) * count))
        assert MEAN[0] - room <= mean <= MEAN[1] + room


def test_the_list_is_no_longer_than_it_may_be() -> None:
    assert len(CELLS) == len(set(CELLS)) <= 150


@pytest.mark.slow("3 s: 400 rankings each; shows that the tests of coverage can fail")
@pytest.mark.parametrize(
    ("cell", "interval", "rule"),
    [
        (Cell(rate=0.005, rows=500), wald, None),
        (Cell(rate=0.01, strata=(2, 2, 2, 2)), not_shifted, Rule(Reading.PAPER)),
        pytest.param(
            Cell("named", rate=0.3, by="pulls", rows=200, share=None, arms=20, apart=0.0),
            not_corrected,
            None,
            marks=pytest.mark.slow("7 s: 200 rankings of 21 arms; shows that the test of named arms can fail"),
        ),
    ],
    ids=["plain Wald", "add-one", "no correction for the choice"],
)
def test_a_planted_mistake_is_seen(
    cell: Cell, interval: Callable[[Answer, Cell, int], Limits], rule: Rule | None
) -> None:
    """At the count of ``make test``, and where our own interval holds."""
    assert covered(cell, 200, interval, rule).is_too_low
    assert not covered(cell, 200).is_too_low


def test_rows_that_were_sampled_unevenly_need_their_weights() -> None:
    """The planted mistake: the same rows, each counted once."""
    cell = Cell(rate=0.3, rows=20_000, strata=(2,), weighted=True)
    world = cell.world(SEED)
    assert isinstance(world, Measured)
    flat = replace(world, weights=np.ones(world.weights.shape), law=world.law / world.weights)
    held = 0
    for tally in flat.draw(np.random.default_rng(SEED), 100, cell.rows):
        low, high = answer(tally).limits
        held += low[-1] <= world.truth[-1] <= high[-1]
    assert Covered(held, 100, 10, 0).is_too_low
    assert not covered(cell, 100).is_too_low


@pytest.mark.parametrize(
    "cell", [Cell(), Cell("named", arms=5, share=None, by="pooled"), Cell(levels=11, rows=50), Cell(levels=None)]
)
def test_these_are_the_numbers_that_rank_gives(cell: Cell) -> None:
    world = cell.world(SEED)
    (tally,) = world.draw(np.random.default_rng(SEED), 1, cell.rows, cell.pulls)
    found, ranked = answer(tally), ranking(tally)
    rows = [ranked[arm] for arm in world.problem.arms]
    least, reach = reward_scale(world.problem)[1:]
    assert [row.low for row in rows] == pytest.approx(list(least + reach * found.limits[0]))
    assert [row.high for row in rows] == pytest.approx(list(least + reach * found.limits[1]))
    assert [row.effect_low for row in rows] == pytest.approx(list(reach * found.effect_limits[0]), nan_ok=True)
    assert [row.effect_high for row in rows] == pytest.approx(list(reach * found.effect_limits[1]), nan_ok=True)
    named = least + reach * np.array(found.contest.limits_of_best(0.95))
    assert [ranked.best_low, ranked.best_high] == pytest.approx(list(named), nan_ok=True)
    assert ranked.probability_best == pytest.approx(found.contest.probability, nan_ok=True)
    assert (None if ranked.best is None else world.problem.index(ranked.best.arm)) == found.contest.best
