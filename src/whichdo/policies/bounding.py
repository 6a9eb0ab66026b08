"""Natural bounds in policies: where the mean of an arm lies that looking does not settle.

Looks in which the targets happened to have an arm's settings are pulls of the arm; what the others would have had may
be anything.  So with V = 1[settings] * utility and W = 1[settings] * (1 - utility) over all looks the mean of the arm
is at least E[V] and at most 1 - E[W].  Policies clip what they believe of an arm, draw for it or hope of it to these
ends, so that an arm whose upper end lies below what the leader surely has costs nothing.

Each policy takes the noise of upper ends as it takes that of means.  Thompson sampling draws an end by the looks and a
mean by the pulls, both again until they fit (`beta_below`).  KL-UCB asks how large a mean can be before pulls and looks
together are too unlikely.  For everything else ends have room for noise: E[V] is at least the least v with
looks * kl(mean of V, v) <= ln(40 + looks).  That is missed with a chance of at most 1 / (40 + looks), for any values
between 0 and 1 and any number of looks.

The bounds need no missing edge: a wrong graph does not make them wrong.  Old logs do.  So where a policy that doubts
takes the logs as old (`whichdo.policies.doubting.old_logs`), bounds are those of looks made since the start, which hold
whatever is doubted.  And pulls of the arm itself that contradict its bounds have the last word.

Bounds by factors (`whichdo.blends`) are left to `rank`: they are hardly narrower (docs/bounds.md), and lean on
what is doubted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.blends import natural_scope, open_targets
from whichdo.kernels.compiling import compiled
from whichdo.kernels.kl import kl, kl_index
from whichdo.kernels.random import beta, gamma
from whichdo.problem import LOOK, per_problem
from whichdo.tables import Layout, Radix, smallest_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import FloatArray, IntArray, WordArray
    from whichdo.evidence import Tally
    from whichdo.problem import Problem
    from whichdo.tables import Scope


MOST_CELLS = 1 << 14
"""The most cells of all tables that are counted for bounds alone; a problem with more has none in policies."""
ROOM = 40.0
"""One over the chance that an end is missed before the first look."""
REDRAWS = 8
"""How often a draw above an arm's upper end is made again before it is clipped."""
CONTRADICTED = 7.0
"""Pulls * kl(their mean, an end) above which pulls of an arm contradict its bounds: one in a thousand by chance."""


class Bounds(NamedTuple):
    """The ends of every arm, 0 and 1 where nothing is known, and where the looks lie that they are worked out from."""

    lows: FloatArray
    highs: FloatArray
    seen: FloatArray
    """Rows of what looks with an arm's settings won and lost, and of all looks; 0 where there are none."""
    logged: FloatArray
    """The same of looks that were logged before the start, which may be old."""
    arms: IntArray
    """The arms that have bounds, each with the number of its table, its first cell and the step between levels."""
    tables: IntArray
    cells: IntArray
    steps: IntArray
    spans: IntArray
    """A row for each table: where its cells begin and end."""


@per_problem
def bounding_scopes(problem: Problem) -> tuple[Scope, ...]:
    """What looks are counted by for bounds; () where everything is settled, or tables would be too large."""
    scopes = tuple(dict.fromkeys(natural_scope(problem, targets) for targets in open_targets(problem)))
    return scopes if sum(map(problem.cells, scopes)) <= MOST_CELLS else ()


def start_bounds(problem: Problem, scopes: Sequence[Scope]) -> Bounds:
    """Bounds that say nothing yet, for looks counted by these scopes, one table after the other."""
    found, arms = _laid_out(problem, tuple(scopes) if bounding_scopes(problem) else ()), len(problem.arms)
    return found._replace(
        lows=np.zeros(arms), highs=np.ones(arms), seen=np.zeros((3, arms)), logged=np.zeros((3, arms))
    )


@per_problem
def _laid_out(problem: Problem, scopes: tuple[Scope, ...]) -> Bounds:
    """Where the looks lie that bounds are worked out from."""
    layout, wanted = Layout(problem.sizes, scopes), set(bounding_scopes(problem))
    numbers: dict[Scope, int] = {}
    arms, tables, cells, steps = [], [], [], []
    for targets in open_targets(problem) if wanted else ():
        scope = natural_scope(problem, targets)
        numbers.setdefault(scope, len(numbers))
        strides = Radix.of(scope, problem.sizes).steps
        for place in problem.positions[targets]:
            settings = problem.arms[place].settings
            codes = {name: problem.domains[name].index(settings[name]) for name in scope if name in settings}
            arms.append(place)
            tables.append(numbers[scope])
            cells.append(layout.place(scope).start + sum(strides[name] * code for name, code in codes.items()))
            steps.append(strides[problem.reward])
    spans = [[layout.place(scope).start, layout.place(scope).stop] for scope in numbers]
    return Bounds(
        lows=np.zeros(len(problem.arms)),
        highs=np.ones(len(problem.arms)),
        seen=np.zeros((3, len(problem.arms))),
        logged=np.zeros((3, len(problem.arms))),
        arms=np.array(arms, np.int64),
        tables=np.array(tables, np.int64),
        cells=np.array(cells, np.int64),
        steps=np.array(steps, np.int64),
        spans=np.array(spans, np.int64).reshape(-1, 2),
    )


def counts_with_bounds(problem: Problem, counts: FloatArray, counted: Sequence[Scope], seen: Tally) -> FloatArray:
    """Tables of ``counted`` scopes, with those for bounds behind them; 0 where looks were not counted by one."""
    tables = seen.tables.get(LOOK, {})
    parts = [counts]
    for scope in bounding_scopes(problem):
        if scope not in counted:
            found = tables.get(scope) or smallest_table(tables, scope)
            empty = np.zeros(problem.cells(scope))
            parts.append(empty if found is None else found.marginal(scope).dense().count.ravel().astype(np.float64))
    return np.concatenate(parts) if len(parts) > 1 else counts


def bounds_of(problem: Problem, scopes: Sequence[Scope], counts: FloatArray, utility: FloatArray) -> Bounds:
    """What looks say, no arm being pulled yet; not to be written to."""
    if not bounding_scopes(problem):
        return _laid_out(problem, ())
    found, nothing = start_bounds(problem, scopes), np.zeros(len(problem.arms))
    rebound(found, counts, utility, nothing, nothing)
    return found


def clipped_means(means: FloatArray, bounds: Bounds, old_logs: float) -> FloatArray:
    """Means clipped to the bounds of their arms; ``old_logs`` is how likely logs are wrong of do()."""
    inside = np.clip(means, bounds.lows, bounds.highs)
    return inside + old_logs * (means - inside) if bounds.logged.any() else inside


@compiled
def rebound(bounds: Bounds, counts: FloatArray, utility: FloatArray, wins: FloatArray, losses: FloatArray) -> None:
    """Work the bounds out anew from the looks, where these have grown."""
    totals = np.zeros(bounds.spans.shape[0])
    for table in range(totals.size):
        totals[table] = counts[bounds.spans[table, 0] : bounds.spans[table, 1]].sum()
    for j in range(bounds.arms.size):
        looks = totals[bounds.tables[j]]
        if looks <= 0.0:
            continue
        won, lost = 0.0, 0.0
        for level in range(utility.size):
            count = counts[bounds.cells[j] + level * bounds.steps[j]]
            won += count * utility[level]
            lost += count * (1.0 - utility[level])
        arm, room = bounds.arms[j], np.log(ROOM + looks)
        bounds.lows[arm] = 1.0 - kl_index(1.0 - won / looks, looks, room)
        bounds.highs[arm] = kl_index(1.0 - lost / looks, looks, room)
        bounds.seen[0, arm], bounds.seen[1, arm], bounds.seen[2, arm] = won, lost, looks
        hold(bounds, arm, wins[arm], losses[arm])


@compiled
def hold(bounds: Bounds, arm: int, won: float, lost: float) -> None:
    """Drop the bounds of an arm that its own pulls contradict."""
    pulls, low, high = won + lost, bounds.lows[arm], bounds.highs[arm]
    if pulls > 0.0:
        mean = within(won / pulls, pulls, low, high)
        if mean < low or mean > high:
            bounds.lows[arm], bounds.highs[arm] = 0.0, 1.0
            bounds.seen[:, arm] = 0.0


@compiled
def within(mean: float, pulls: float, low: float, high: float) -> float:
    """The mean of so many pulls, clipped to bounds that these do not contradict."""
    end = clip(mean, low, high)
    if end == mean or pulls <= 0.0:
        return end
    inner = min(max(mean, 1e-12), 1.0 - 1e-12)
    return mean if pulls * kl(inner, end) > CONTRADICTED else end


@compiled
def clip(value: float, low: float, high: float) -> float:
    """The value, or the end that it lies beyond."""
    return min(max(value, low), high)


@compiled
def draw_high(bounds: Bounds, arm: int, lifted: bool, chance: WordArray) -> float:  # noqa: FBT001
    """An upper end that looks may mean; where logs are ``lifted``, by the looks made since.

    The share of looks that had the arm's settings and lost is drawn from a beta law with one look more among the
    others: before any look the end is 1.
    """
    lost, looks = bounds.seen[1, arm], bounds.seen[2, arm]
    if lifted:
        lost, looks = lost - bounds.logged[1, arm], looks - bounds.logged[2, arm]
    if lost <= 0.0:
        return 1.0
    first = gamma(lost, chance)
    return 1.0 - first / (first + gamma(looks - lost + 1.0, chance))


@compiled
def beta_below(won: float, lost: float, bounds: Bounds, arm: int, lifted: bool, chance: WordArray) -> float:  # noqa: FBT001
    """A draw of an arm's mean by its pulls that is not above an upper end drawn by the looks: both again until it fits.

    So the looks have as much to say as they are sure of, however few, and pulls that know better outvote them.  A draw
    that does not fit in a few times is clipped to ends with room for noise.  So is one below the lower end: to
    draw it again would make an arm whose pulls are bad look better than it must be.
    """
    draw = beta(won, lost, chance)
    if bounds.seen[2, arm] <= 0.0:
        return draw
    low, high = (0.0, 1.0) if lifted else (bounds.lows[arm], bounds.highs[arm])
    for _ in range(REDRAWS):
        if draw <= draw_high(bounds, arm, lifted, chance):
            break
        draw = beta(won, lost, chance)
    return clip(draw, low, high)
