"""Bounds in policies: where the mean of an arm lies that looking does not settle.

Looks in which the targets happened to have an arm's settings are pulls of the arm; what the others would have had may
be anything.  So with V = 1[settings] * utility and W = 1[settings] * (1 - utility) over all looks the mean of the arm
is at least E[V] and at most 1 - E[W].  These are the natural bounds.  Where the graph has a screen
(`whichdo.identification.bounds`), the others would not have had anything either: they add to W the least that is lost,
by the value of the screen, among looks with the arm's settings, and likewise to V.  Policies clip what they believe of
an arm, draw for it or hope of it to these ends, so that an arm whose upper end lies below what the leader surely has
costs nothing.

Each policy takes the noise of upper ends as it takes that of means.  Thompson sampling draws an end by the looks and a
mean by the pulls, both again until they fit (`beta_below`).  KL-UCB asks how large a mean can be before pulls and looks
together are too unlikely.  For everything else ends have room for noise: E[V] is at least the least v with
looks * kl(mean of V, v) <= ln(40 + looks).  That is missed with a chance of at most 1 / (40 + looks), for any values
between 0 and 1 and any number of looks.  What is lost by a screen is noisier, as the means are that it takes: it counts
as that of as many looks fewer (`_by_screen`).

The natural bounds need no missing edge: a wrong graph does not make them wrong.  A screen does.  So where a policy that
doubts takes the graph as wrong of an arm, its bounds are the natural ones.  Old logs make both wrong.  So where a
policy takes the logs as old (`whichdo.policies.doubting.old_logs`), bounds are the natural ones of looks made since the
start, which hold whatever is doubted.  And pulls of the arm itself that contradict its bounds have the last word.

Bounds by factors (`whichdo.open_arms`) are left to `rank`: they are hardly narrower (docs/bounds.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.kernels.compiling import compiled
from whichdo.kernels.kl import kl, kl_index
from whichdo.kernels.random import beta, gamma
from whichdo.open_arms import natural_scope, open_targets, screened_scope, screens
from whichdo.problem import LOOK, per_problem
from whichdo.tables import Layout, Radix, smallest_table, starts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.arrays import BoolArray, FloatArray, IntArray, WordArray
    from whichdo.evidence import Tally
    from whichdo.formulas import Reading
    from whichdo.graph.targets import Targets
    from whichdo.identification.bounds import Screen
    from whichdo.identification.estimand import Names
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


FULL, PLAIN, FRESH = 0, 1, 2
"""Which bounds hold: all; where the graph may be wrong the natural ones; where logs may be old those of later looks."""
LOW, HIGH, WON = 0, 1, 2  # rows of the natural bounds


class Bounds(NamedTuple):
    """The ends of every arm, 0 and 1 where nothing is known, and where the looks lie that they are worked out from."""

    lows: FloatArray
    highs: FloatArray
    seen: FloatArray
    """Rows of what looks with an arm's settings won and lost, and of all looks; 0 where there are none.  By a screen
    what natural bounds of the same ends and the same noise would have."""
    natural: FloatArray
    """The natural bounds: lower ends, upper ends, and the same three rows."""
    logged: FloatArray
    """These three of looks that were logged before the start, which may be old."""
    arms: IntArray
    """The arms that have bounds, each with the number of its view and the step between levels."""
    views: IntArray
    steps: IntArray
    screened: BoolArray
    """Which of all arms have a screen."""
    cell_start: IntArray
    cells: IntArray
    """Where the cells lie that have an arm's settings, at the first level: one for each value of its screen, what the
    targets do not act on changing slowest."""
    after: IntArray
    """For each arm how many values the part of its screen has that the targets act on."""
    spans: IntArray
    """A row for each view, which is a table with strata: where its cells begin and end, and its strata."""
    strata: IntArray
    """The stratum of each cell of each view, numbered over all, the views one after the other."""


@per_problem
def bounding_scopes(problem: Problem, reading: Reading | None = None) -> tuple[Scope, ...]:
    """What looks are counted by for bounds; () where everything is settled, or tables would be too large.

    ``reading``: of the policy, which then uses screens.  None: natural bounds alone.
    """
    known = screens(problem, reading) if reading is not None else {}
    scopes = tuple(dict.fromkeys(_scope(problem, targets, known) for targets in open_targets(problem)))
    if sum(map(problem.cells, scopes)) <= MOST_CELLS:
        return scopes
    return bounding_scopes(problem) if known else ()


def _scope(problem: Problem, targets: Targets, known: Mapping[Targets, Screen]) -> Scope:
    if targets in known:
        return screened_scope(problem, targets, known[targets])
    return natural_scope(problem, targets)


def start_bounds(problem: Problem, scopes: Sequence[Scope], reading: Reading | None = None) -> Bounds:
    """Bounds that say nothing yet, for looks counted by these scopes, one table after the other."""
    found = _laid_out(problem, tuple(scopes) if bounding_scopes(problem, reading) else (), reading)
    return found._replace(
        **{name: getattr(found, name).copy() for name in ("lows", "highs", "seen", "natural", "logged")}
    )


@per_problem
def _laid_out(problem: Problem, scopes: tuple[Scope, ...], reading: Reading | None) -> Bounds:
    """Where the looks lie that bounds are worked out from."""
    layout, arms = Layout(problem.sizes, scopes), len(problem.arms)
    known = screens(problem, reading) if reading is not None else {}
    views: dict[tuple[Scope, Names], int] = {}
    spans: list[tuple[int, int, int]] = []
    strata, cells = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    rows: list[tuple[int, int, int, int]] = []
    total, screened = 0, np.zeros(arms, np.bool_)
    for targets in open_targets(problem) if scopes else ():
        scope, given = _scope(problem, targets, known), known.get(targets)
        if scope not in scopes:
            scope, given = natural_scope(problem, targets), None
        before, after = (given.before, given.after) if given is not None else ((), ())
        radix, place = Radix.of(scope, problem.sizes), layout.place(scope)
        if (scope, before) not in views:
            own = Radix.of(before, problem.sizes)
            views[scope, before] = len(views)
            spans.append((place.start, place.stop, total))
            strata.append(total + radix.onto(own.steps))
            total += own.cells
        inside = Radix.of((*before, *after), problem.sizes)
        inner = inside.onto({name: radix.steps[name] for name in inside.scope})
        for arm in problem.positions[targets]:
            settings = problem.arms[arm].settings
            acting = problem.verdicts[targets].acting  # an idle target may be in the screen
            codes = {name: problem.domains[name].index(settings[name]) for name in scope if name in acting}
            cells.append(place.start + sum(radix.steps[name] * code for name, code in codes.items()) + inner)
            rows.append((arm, views[scope, before], radix.steps[problem.reward], Radix.of(after, problem.sizes).cells))
            screened[arm] = given is not None
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    natural = np.zeros((5, arms))
    natural[HIGH] = 1.0
    return Bounds(
        lows=np.zeros(arms),
        highs=np.ones(arms),
        seen=np.zeros((3, arms)),
        natural=natural,
        logged=np.zeros((3, arms)),
        arms=columns[0].copy(),
        views=columns[1].copy(),
        steps=columns[2].copy(),
        after=columns[3].copy(),
        screened=screened,
        cell_start=np.array(starts(map(len, cells[1:])), np.int64),
        cells=np.concatenate(cells),
        spans=np.array(spans, np.int64).reshape(-1, 3),
        strata=np.concatenate(strata),
    )


def counts_with_bounds(
    problem: Problem, counts: FloatArray, counted: Sequence[Scope], scopes: Sequence[Scope], seen: Tally
) -> FloatArray:
    """Tables of ``counted`` scopes, with those for bounds behind them; 0 where looks were not counted by one."""
    tables = seen.tables.get(LOOK, {})
    parts = [counts]
    for scope in scopes:
        if scope not in counted:
            found = tables.get(scope) or smallest_table(tables, scope)
            empty = np.zeros(problem.cells(scope))
            parts.append(empty if found is None else found.marginal(scope).dense().count.ravel().astype(np.float64))
    return np.concatenate(parts) if len(parts) > 1 else counts


def held_scopes(problem: Problem, reading: Reading | None, seen: Tally) -> tuple[Scope, ...]:
    """As `bounding_scopes`; the natural ones too where logged looks were not counted by some screen."""
    wanted, tables = bounding_scopes(problem, reading), seen.tables.get(LOOK, {})
    if not seen.pulls[0]:
        return wanted
    held = [scope for scope in wanted if smallest_table(tables, scope) is not None]
    return wanted if len(held) == len(wanted) else tuple(dict.fromkeys((*held, *bounding_scopes(problem))))


def bounds_of(
    problem: Problem, scopes: Sequence[Scope], counts: FloatArray, utility: FloatArray, reading: Reading | None = None
) -> Bounds:
    """What looks say, no arm being pulled yet; not to be written to."""
    if not bounding_scopes(problem):
        return _laid_out(problem, (), None)
    found, nothing = start_bounds(problem, scopes, reading), np.zeros(len(problem.arms))
    rebound(found, counts, utility, nothing, nothing)
    return found


def clipped_means(means: FloatArray, bounds: Bounds, old_logs: float, wrong: FloatArray) -> FloatArray:
    """Means clipped to the bounds of their arms.

    ``old_logs`` is how likely logs are wrong of do(), ``wrong`` for each arm how likely the graph is.
    """
    inside = np.clip(means, bounds.lows, bounds.highs)
    natural = np.clip(means, bounds.natural[LOW], bounds.natural[HIGH])
    inside = np.where(bounds.screened, inside + wrong * (natural - inside), inside)
    return inside + old_logs * (means - inside) if bounds.logged.any() else inside


@compiled
def rebound(bounds: Bounds, counts: FloatArray, utility: FloatArray, wins: FloatArray, losses: FloatArray) -> None:
    """Work the bounds out anew from the looks, where these have grown."""
    totals, looks_of, cell = np.zeros(bounds.strata.size), np.zeros(bounds.spans.shape[0]), 0
    for view in range(looks_of.size):
        for place in range(bounds.spans[view, 0], bounds.spans[view, 1]):
            totals[bounds.strata[cell]] += counts[place]
            looks_of[view] += counts[place]
            cell += 1
    for j in range(bounds.arms.size):
        arm, looks, step = bounds.arms[j], looks_of[bounds.views[j]], bounds.steps[j]
        if looks <= 0.0:
            continue
        room, natural = np.log(ROOM + looks), bounds.natural[:, arm]
        strata = totals[bounds.spans[bounds.views[j], 2] :]
        cells = bounds.cells[bounds.cell_start[j] : bounds.cell_start[j + 1]]
        won, lost = _shown(cells, step, counts, utility), _shown(cells, step, counts, 1.0 - utility)
        natural[LOW], natural[HIGH] = _least(won, looks, room), 1.0 - _least(lost, looks, room)
        natural[WON], natural[WON + 1], natural[WON + 2] = won, lost, looks
        bounds.lows[arm], bounds.highs[arm], bounds.seen[:, arm] = natural[LOW], natural[HIGH], natural[WON:]
        if bounds.screened[arm]:
            won, size = _by_screen(cells, bounds.after[j], step, counts, utility, strata, won, looks)
            bounds.lows[arm] = max(natural[LOW], _least(won, size, room))
            lost, size = _by_screen(cells, bounds.after[j], step, counts, 1.0 - utility, strata, lost, looks)
            high = 1.0 - _least(lost, size, room)
            if high < natural[HIGH]:
                bounds.highs[arm] = high
                bounds.seen[1, arm], bounds.seen[2, arm] = lost, size
        hold(bounds, arm, wins[arm], losses[arm])


@compiled
def _least(total: float, looks: float, room: float) -> float:
    """A share from below, with room for noise."""
    return 1.0 - kl_index(1.0 - total / looks, looks, room)


@compiled
def _shown(cells: IntArray, step: int, counts: FloatArray, worth: FloatArray) -> float:
    """What looks with an arm's settings are worth."""
    total = 0.0
    for cell in cells:
        for level in range(worth.size):
            total += counts[cell + level * step] * worth[level]
    return total


@compiled
def _by_screen(
    cells: IntArray, after: int, step: int, counts: FloatArray, worth: FloatArray, strata: FloatArray, plain: float,
    looks: float,
) -> tuple[float, float]:  # fmt: skip
    """What looks would be worth at least with an arm's settings, and among how many, so that the noise fits.

    Those that have them are worth ``plain``.  Each of the others is worth the least mean by the value of the screen,
    ``after`` of them in each stratum, with one more look worth nothing to each value: so it is too small rather than
    too large, however many strata there are, and a value that was never seen with the settings makes it 0.  It is
    noisy, as if there were so many looks fewer that a share of them has the variance of both; its variance, by
    Jeffreys' prior, is that of the value that may well be the least.
    """
    others, noise = 0.0, 0.0
    for stratum in range(cells.size // after):
        inside, least, spread, lowest = 0.0, 1.0, 0.0, 1.0
        for cell in cells[stratum * after : (stratum + 1) * after]:
            seen, won = 0.0, 0.0
            for level in range(worth.size):
                seen += counts[cell + level * step]
                won += counts[cell + level * step] * worth[level]
            inside += seen
            if seen <= 0.0:
                least, spread, lowest = 0.0, 0.0, -1.0
            least = min(least, won / (seen + 1.0))
            mean = (won + 0.5) / (seen + 1.0)
            own = mean * (1.0 - mean) / (seen + 1.0)
            if mean - np.sqrt(own) < lowest:
                spread, lowest = own, mean - np.sqrt(own)
        left = strata[stratum] - inside
        others += left * least
        noise += left * left * spread
    share = (plain + others) / looks
    if share <= 0.0 or share >= 1.0:
        return plain, looks
    variance = share * (1.0 - share) * looks
    size = looks * variance / (variance + noise)
    return share * size, size


@compiled
def hold(bounds: Bounds, arm: int, won: float, lost: float) -> None:
    """Drop the bounds of an arm that its own pulls contradict: those by a screen, and the natural ones too."""
    pulls = won + lost
    if pulls <= 0.0:
        return
    if _contradicts(won / pulls, pulls, bounds.lows[arm], bounds.highs[arm]):
        natural = bounds.natural[:, arm]
        bounds.lows[arm], bounds.highs[arm], bounds.seen[:, arm] = natural[LOW], natural[HIGH], natural[WON:]
        if _contradicts(won / pulls, pulls, natural[LOW], natural[HIGH]):
            natural[:] = 0.0
            natural[HIGH] = 1.0
            bounds.lows[arm], bounds.highs[arm], bounds.seen[:, arm] = 0.0, 1.0, 0.0


@compiled
def _contradicts(mean: float, pulls: float, low: float, high: float) -> bool:
    mean = within(mean, pulls, low, high)
    return mean < low or mean > high


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
def draw_high(bounds: Bounds, arm: int, holding: int, chance: WordArray) -> float:
    """An upper end that looks may mean, of the bounds that are ``holding``.

    The share of looks that had the arm's settings and lost is drawn from a beta law with one look more among the
    others: before any look the end is 1.
    """
    lost, looks = bounds.seen[1, arm], bounds.seen[2, arm]
    if holding != FULL and looks > 0.0:
        lost, looks = bounds.natural[WON + 1, arm], bounds.natural[WON + 2, arm]
        if holding == FRESH:
            lost, looks = lost - bounds.logged[1, arm], looks - bounds.logged[2, arm]
    if lost <= 0.0:
        return 1.0
    first = gamma(lost, chance)
    return 1.0 - first / (first + gamma(looks - lost + 1.0, chance))


@compiled
def beta_below(won: float, lost: float, bounds: Bounds, arm: int, holding: int, chance: WordArray) -> float:
    """A draw of an arm's mean by its pulls that is not above an upper end drawn by the looks: both again until it fits.

    So the looks have as much to say as they are sure of, however few, and pulls that know better outvote them.  A draw
    that does not fit in a few times is clipped to ends with room for noise.  So is one below the lower end: to
    draw it again would make an arm whose pulls are bad look better than it must be.
    """
    draw = beta(won, lost, chance)
    if bounds.seen[2, arm] <= 0.0:
        return draw
    for _ in range(REDRAWS):
        if draw <= draw_high(bounds, arm, holding, chance):
            break
        draw = beta(won, lost, chance)
    if holding == FRESH:
        return draw
    if holding == PLAIN:
        return clip(draw, bounds.natural[LOW, arm], bounds.natural[HIGH, arm])
    return clip(draw, bounds.lows[arm], bounds.highs[arm])
