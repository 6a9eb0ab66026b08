"""The compiled path: what looks are worth for every arm, again and again while a policy plays.

The numbers are those of `whichdo.estimate.settled`, for formulas that are sums of products: by
adjustment, by the graph, the weight form and the paper's own.  Everything is laid out once as flat
arrays of places (`whichdo.estimate.model`).  A *table* is one conditional, made once however many formulas read it.  An
*occurrence* is one reading of a table in a formula, with the place of each term of the sum.

The functions run uncompiled too, and give the same to the last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.estimate.settled import ROUNDING
from whichdo.estimate.shrinkage import EDGE, STRENGTH
from whichdo.kernels.compiling import compiled

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray

__all__ = ["MEAN", "SIZE", "KernelPlan", "look"]

MEAN, SIZE, FOUND = 0, 1, 2


class KernelPlan(NamedTuple):
    """Tables, formulas and arms as flat arrays; ``*_start[i] : *_start[i + 1]`` are the parts of the i-th.

    Table t holds the cells ``table_start[t] : table_start[t + 1]`` of all tables, ``own[t]`` of them a row.  It is
    counted from those counts that begin at ``count_start[t]``: the i-th goes to ``goes[goes_start[t] + i]``.  It leans
    with the strength of ``strength[t]`` rows on its margin, or on the uniform law where ``uniform[t]``.

    The reward's tables (``is_reward``) have one cell a row, its mean.  The count whose number is i among a table's own
    is of the level (i // ``level_step[t]``) % levels.  ``setting`` and ``stratum`` say for each cell which margins it
    belongs to, numbered within its table; there are ``settings[t]`` and ``strata[t]`` of these.

    Formula f has the occurrences ``occurrence_start[f] : occurrence_start[f + 1]``, the reward's first.  Occurrence o
    reads the table ``reads[o]``, its reciprocals where ``inverse[o]``, for the i-th term of the sum at
    ``places[place_start[o] + i]``.  Its tables but the reward's are ``uses[use_start[f] : use_start[f + 1]]``; where
    ``shared[f]``, all are counted from the same counts, so that their errors go together.

    Arm a has the formula ``formulas[a]``; its setting moves the places of its j-th occurrence by
    ``moves[move_start[a] + j]``.
    """

    table_start: IntArray
    own: IntArray
    strength: FloatArray
    uniform: IntArray
    count_start: IntArray
    goes_start: IntArray
    goes: IntArray
    is_reward: IntArray
    level_step: IntArray
    setting: IntArray
    settings: IntArray
    stratum: IntArray
    strata: IntArray
    occurrence_start: IntArray
    reads: IntArray
    inverse: IntArray
    place_start: IntArray
    places: IntArray
    use_start: IntArray
    uses: IntArray
    shared: IntArray
    formulas: IntArray
    move_start: IntArray
    moves: IntArray


class Tables(NamedTuple):
    """Everything that is known of each cell of each table."""

    mass: FloatArray
    values: FloatArray
    """Shrunk shares, or means of the reward."""
    raw: FloatArray
    squares: FloatArray
    """Mean squares of the reward."""
    prior: FloatArray
    sizes: FloatArray
    """For each cell how often its row was seen."""


# --------------------------------------------------------------------------------------------------------------- tables


@compiled
def _counted(plan: KernelPlan, counts: FloatArray, worth: FloatArray, tables: Tables) -> None:
    """Put every count where it belongs; of the reward its sum goes to ``values`` and its sum of squares beside it."""
    mass, values, squares = tables.mass, tables.values, tables.squares
    mass[:] = 0.0
    values[:] = 0.0
    squares[:] = 0.0
    levels = worth.size
    for t in range(plan.own.size):
        start, first, step = plan.table_start[t], plan.count_start[t], plan.level_step[t]
        for i in range(plan.goes_start[t + 1] - plan.goes_start[t]):
            seen = counts[first + i]
            if seen != 0.0:
                cell = start + plan.goes[plan.goes_start[t] + i]
                mass[cell] += seen
                if plan.is_reward[t]:
                    reward = worth[(i // step) % levels]
                    values[cell] += seen * reward
                    squares[cell] += seen * reward * reward


@compiled
def _shrunk_law(plan: KernelPlan, t: int, tables: Tables) -> None:
    """Counts of a table into shares, row by row."""
    start, end, own = plan.table_start[t], plan.table_start[t + 1], plan.own[t]
    mass, values, raw, sizes = tables.mass, tables.values, tables.raw, tables.sizes
    strength = plan.strength[t]
    margin = np.zeros(own)
    whole = 0.0
    for cell in range(start, end):
        margin[(cell - start) % own] += mass[cell]
        whole += mass[cell]
    for v in range(own):
        margin[v] = 1.0 / own if plan.uniform[t] or whole <= 0.0 else margin[v] / whole
    for row in range(start, end, own):
        total = 0.0
        for cell in range(row, row + own):
            total += mass[cell]
        part = total / (total + strength) if total + strength > 0.0 else 0.0
        for cell in range(row, row + own):
            sizes[cell] = total
            plain = mass[cell] / total if total > 0.0 else margin[cell - row]
            values[cell] = part * plain + (1.0 - part) * margin[cell - row]
            raw[cell] = plain if total > 0.0 else values[cell]


@compiled
def _logit(share: float) -> float:
    return float(np.log(share) - np.log1p(-share))


@compiled
def _shrunk_reward(plan: KernelPlan, t: int, worth: FloatArray, tables: Tables) -> None:
    """Sums of rewards into means that lean on what the margins of setting and stratum expect."""
    start, end = plan.table_start[t], plan.table_start[t + 1]
    mass, values, raw, squares, prior, sizes = tables
    settings, strata = plan.settings[t], plan.strata[t]
    strength = plan.strength[t]
    whole, total, square = 0.0, 0.0, 0.0
    for cell in range(start, end):
        whole += mass[cell]
        total += values[cell]
        square += squares[cell]
    mean = min(max(total / whole if whole > 0.0 else 0.5, EDGE), 1.0 - EDGE)
    second = mean if whole <= 0.0 or mean <= EDGE or mean >= 1.0 - EDGE else square / whole
    second = min(max((second * whole + STRENGTH * mean) / (whole + STRENGTH), mean * mean), mean)
    by_setting, by_stratum = np.zeros((3, settings)), np.zeros((2, strata))
    for cell in range(start, end):
        x, z = plan.setting[cell], plan.stratum[cell]
        by_setting[0, x] += mass[cell]
        by_setting[1, x] += values[cell]
        by_setting[2, x] += squares[cell]
        by_stratum[0, z] += mass[cell]
        by_stratum[1, z] += values[cell]
    expected = np.zeros(settings)
    for z in range(strata):
        by_stratum[1, z] = (by_stratum[1, z] + STRENGTH * mean) / (by_stratum[0, z] + STRENGTH)
    for cell in range(start, end):
        expected[plan.setting[cell]] += mass[cell] * by_stratum[1, plan.stratum[cell]]
    dispersion = np.zeros(settings)
    for x in range(settings):
        room = by_setting[0, x] + STRENGTH
        own = (by_setting[1, x] + STRENGTH * mean) / room
        own_square = min(max((by_setting[2, x] + STRENGTH * second) / room, own * own), own)
        dispersion[x] = (own_square - own * own) / (own * (1.0 - own))
        by_setting[1, x] = own
        expected[x] = (expected[x] + STRENGTH * mean) / room
    middle, middle_square = worth.mean(), (worth * worth).mean()
    for cell in range(start, end):
        x = plan.setting[cell]
        if plan.uniform[t]:
            guess, wanted = middle, middle_square
        else:
            odds = _logit(by_stratum[1, plan.stratum[cell]]) + _logit(by_setting[1, x]) - _logit(expected[x])
            guess = 1.0 / (1.0 + np.exp(-odds))
            wanted = guess * guess + dispersion[x] * guess * (1.0 - guess)
        seen = mass[cell]
        part = seen / (seen + strength) if seen + strength > 0.0 else 0.0
        plain = values[cell] / seen if seen > 0.0 else guess
        plain_square = squares[cell] / seen if seen > 0.0 else wanted
        sizes[cell] = seen
        prior[cell] = guess
        raw[cell] = plain
        values[cell] = part * plain + (1.0 - part) * guess
        squares[cell] = part * plain_square + (1.0 - part) * wanted


# ------------------------------------------------------------------------------------------------------------- formulas


@compiled
def _terms(plan: KernelPlan, arm: int, tables: Tables, away: float, slopes: FloatArray) -> None:
    """The slope of an arm's sum in every cell of the tables that its formula reads, the reward being less by ``away``.

    In the reward's own cells these are the weights of its rows.
    """
    f = plan.formulas[arm]
    first, last = plan.occurrence_start[f], plan.occurrence_start[f + 1]
    width = last - first
    values = tables.values
    at, factor, before = np.empty(width, np.int64), np.empty(width), np.ones(width + 1)
    for o in range(first, last):
        for cell in range(plan.table_start[plan.reads[o]], plan.table_start[plan.reads[o] + 1]):
            slopes[cell] = 0.0
    for i in range(plan.place_start[first + 1] - plan.place_start[first]):
        for j in range(width):
            o = first + j
            at[j] = plan.table_start[plan.reads[o]] + plan.places[plan.place_start[o] + i]
            at[j] += plan.moves[plan.move_start[arm] + j]
            factor[j] = values[at[j]] - away if j == 0 else values[at[j]]
            if plan.inverse[o]:
                factor[j] = 1.0 / factor[j] if factor[j] != 0.0 else 0.0
            before[j + 1] = before[j] * factor[j]
        after = 1.0
        for j in range(width - 1, -1, -1):
            rest = before[j] * after
            slopes[at[j]] += -rest * factor[j] * factor[j] if plan.inverse[first + j] else rest
            after *= factor[j]


@compiled
def _normalised(plan: KernelPlan, arm: int, tables: Tables, slopes: FloatArray) -> None:
    """The slopes of an arm's mean, whose weights are made to sum to one where they only do so in the limit."""
    _terms(plan, arm, tables, 0.0, slopes)
    f = plan.formulas[arm]
    first = plan.occurrence_start[f]
    t = plan.reads[first]
    total, mean = 0.0, 0.0
    for cell in range(plan.table_start[t], plan.table_start[t + 1]):
        total += slopes[cell]
        mean += slopes[cell] * tables.values[cell]
    if abs(total - 1.0) <= ROUNDING or total <= 0.0:
        return
    _terms(plan, arm, tables, mean / total, slopes)
    for cell in range(plan.table_start[t], plan.table_start[t + 1]):
        slopes[cell] /= total
    for u in range(plan.use_start[f], plan.use_start[f + 1]):
        for cell in range(plan.table_start[plan.uses[u]], plan.table_start[plan.uses[u] + 1]):
            slopes[cell] /= total


@compiled
def _law_error(
    plan: KernelPlan, f: int, looks: float, counts: FloatArray, tables: Tables, slopes: FloatArray
) -> FloatArray:
    """What the laws add to the errors: variance, shift, and how far rows never seen could move the mean down and up."""
    values, raw, sizes = tables.values, tables.raw, tables.sizes
    found = np.zeros(4)
    shared = plan.shared[f]
    for u in range(plan.use_start[f], plan.use_start[f + 1]):
        t = plan.uses[u]
        own, strength = plan.own[t], plan.strength[t]
        for row in range(plan.table_start[t], plan.table_start[t + 1], own):
            middle, low, high, square = 0.0, np.inf, -np.inf, 0.0
            for cell in range(row, row + own):
                middle += values[cell] * slopes[cell]
                low, high = min(low, slopes[cell]), max(high, slopes[cell])
                found[1] += slopes[cell] * (values[cell] - raw[cell])
            seen = sizes[row] > 0.0
            if not seen:
                found[2] += middle - low
                found[3] += high - middle
            room = looks / (sizes[row] + strength) if seen else 0.0
            for cell in range(row, row + own):
                apart = slopes[cell] - middle
                square += values[cell] * apart * apart
                slopes[cell] = apart * room  # what one more look there would do, where tables share their looks
            if seen and not shared:
                found[0] += square / (sizes[row] + strength)
    if shared and looks > 0.0:
        one = plan.uses[plan.use_start[f]]
        total, square = 0.0, 0.0
        for i in range(plan.goes_start[one + 1] - plan.goes_start[one]):
            seen_here = counts[plan.count_start[one] + i]
            if seen_here != 0.0:
                push = 0.0
                for u in range(plan.use_start[f], plan.use_start[f + 1]):
                    t = plan.uses[u]
                    push += slopes[plan.table_start[t] + plan.goes[plan.goes_start[t] + i]]
                total += seen_here * push
                square += seen_here * push * push
        found[0] = max(square / looks - (total / looks) ** 2, 0.0) / looks
    return found


@compiled
def look(plan: KernelPlan, counts: FloatArray, worth: FloatArray) -> FloatArray:
    """For each arm its mean, and the number of direct pulls that would know it as well.

    ``counts`` are the tables of all scopes, flattened one after the other; ``worth`` is that of each level of the
    reward, from 0 to 1.
    """
    cells = plan.table_start[-1]
    tables = Tables(
        np.empty(cells), np.empty(cells), np.empty(cells), np.empty(cells), np.empty(cells), np.empty(cells)
    )
    _counted(plan, counts, worth, tables)
    for t in range(plan.own.size):
        if plan.is_reward[t]:
            _shrunk_reward(plan, t, worth, tables)
        else:
            _shrunk_law(plan, t, tables)
    slopes = np.empty(cells)
    found = np.empty((plan.formulas.size, FOUND))
    for arm in range(plan.formulas.size):
        _normalised(plan, arm, tables, slopes)
        f = plan.formulas[arm]
        t = plan.reads[plan.occurrence_start[f]]
        mean, square, noise, shift, below, above, looks = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        heavy, visible = 0.0, 0.0
        for cell in range(plan.table_start[t], plan.table_start[t + 1]):
            weight, value, second = slopes[cell], tables.values[cell], tables.squares[cell]
            looks += tables.mass[cell]
            mean += weight * value
            square += weight * second
            if tables.sizes[cell] > 0.0:
                noise += weight * weight * max(second - value * value, 0.0) / (tables.sizes[cell] + plan.strength[t])
                shift += weight * (value - tables.raw[cell])
                heavy += weight * weight / tables.sizes[cell]
                visible += weight
            else:
                below += weight * tables.prior[cell]
                above += weight * (1.0 - tables.prior[cell])
        law = _law_error(plan, f, looks, counts, tables, slopes)
        half = (below + law[2] + above + law[3]) / 2.0
        error = noise + law[0] + (shift + law[1]) ** 2 + half * half
        spread = max(square - mean * mean, 0.0)
        found[arm, MEAN] = mean
        # Rewards that were all alike have no error to compare with: the rows themselves count.
        worth_pulls = spread / error if error > 0.0 else visible / heavy if heavy > 0.0 else 0.0
        found[arm, SIZE] = min(looks, worth_pulls)
    return found
