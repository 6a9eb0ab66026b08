"""The compiled path: what looks are worth for every arm, again and again while a policy plays.

The numbers are those of `whichdo.estimate.settled`, for formulas that are sums of products: by
adjustment, by the graph, the weight form and the paper's own.  Everything is laid out once as flat
arrays of places (`whichdo.estimate.model`).  A *table* is one conditional, made once however many formulas read it.  An
*occurrence* is one reading of a table in a formula, with the place of each term of the sum.

The functions run uncompiled too, and give the same to the last bit.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.estimate.settled import ROUNDING
from whichdo.estimate.shrinkage import EDGE, STRENGTH
from whichdo.kernels.compiling import compiled, inlined

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray


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


class _Tables(NamedTuple):
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
# Helpers take the arrays they need and not the whole plan, and where their part of these begins and ends: cutting parts
# out of a dozen arrays for each table costs more than most of them do.  They have no early return and no range with a
# step, for the reason that `inlined` gives.


@inlined
def _count_law(
    counts: FloatArray, begin: int, goes: IntArray, first: int, last: int, start: int, mass: FloatArray
) -> None:
    """Put the counts of one table where they belong."""
    for i in range(last - first):
        mass[start + goes[first + i]] += counts[begin + i]


@inlined
def _count_reward(
    counts: FloatArray, begin: int, goes: IntArray, first: int, last: int, worth: FloatArray, step: int, start: int,
    mass: FloatArray, values: FloatArray, squares: FloatArray,
) -> None:  # fmt: skip
    """The same for a table of the reward, with its sum and squares."""
    level, left = 0, step  # counted along: a division for each count would cost more than all the rest
    for i in range(last - first):
        seen = counts[begin + i]
        if seen != 0.0:
            cell, reward = start + goes[first + i], worth[level]
            mass[cell] += seen
            values[cell] += seen * reward
            squares[cell] += seen * reward * reward
        left -= 1
        if left == 0:
            level, left = level + 1 if level + 1 < worth.size else 0, step


@inlined
def _shrink_law(
    own: int, strength: float, uniform: int, margin: FloatArray, start: int, end: int, mass: FloatArray,
    values: FloatArray, raw: FloatArray, sizes: FloatArray,
) -> None:  # fmt: skip
    """Counts of a table into shares, row by row."""
    whole = 0.0
    for v in range(own):
        margin[v] = 0.0
    row = start
    while row < end:
        for v in range(own):
            margin[v] += mass[row + v]
            whole += mass[row + v]
        row += own
    for v in range(own):
        margin[v] = 1.0 / own if uniform or whole <= 0.0 else margin[v] / whole
    row = start
    while row < end:
        total = 0.0
        for cell in range(row, row + own):
            total += mass[cell]
        part = total / (total + strength) if total + strength > 0.0 else 0.0
        for cell in range(row, row + own):
            sizes[cell] = total
            plain = mass[cell] / total if total > 0.0 else margin[cell - row]
            values[cell] = part * plain + (1.0 - part) * margin[cell - row]
            raw[cell] = plain if total > 0.0 else values[cell]
        row += own


@inlined
def _logit(share: float) -> float:
    return float(log(share) - log1p(-share))


@inlined
def _margins(
    settings: int, strata: int, setting: IntArray, stratum: IntArray, by_setting: FloatArray, by_stratum: FloatArray,
    start: int, end: int, mass: FloatArray, values: FloatArray, squares: FloatArray,
) -> None:  # fmt: skip
    """What the margins of setting and stratum are; rows of ``by_setting``: see the names below."""
    seen, own, square, without, dispersion = 0, 1, 2, 3, 4
    whole, total, squared = 0.0, 0.0, 0.0
    for x in range(settings):
        by_setting[seen, x] = by_setting[own, x] = by_setting[square, x] = by_setting[without, x] = 0.0
    for z in range(strata):
        by_stratum[seen, z] = by_stratum[own, z] = 0.0
    for cell in range(start, end):
        whole += mass[cell]
        total += values[cell]
        squared += squares[cell]
        x, z = setting[cell], stratum[cell]
        by_setting[seen, x] += mass[cell]
        by_setting[own, x] += values[cell]
        by_setting[square, x] += squares[cell]
        by_stratum[seen, z] += mass[cell]
        by_stratum[own, z] += values[cell]
    mean = min(max(total / whole if whole > 0.0 else 0.5, EDGE), 1.0 - EDGE)
    second = mean if whole <= 0.0 or mean <= EDGE or mean >= 1.0 - EDGE else squared / whole
    second = min(max((second * whole + STRENGTH * mean) / (whole + STRENGTH), mean * mean), mean)
    for z in range(strata):
        by_stratum[own, z] = (by_stratum[own, z] + STRENGTH * mean) / (by_stratum[seen, z] + STRENGTH)
    for cell in range(start, end):
        by_setting[without, setting[cell]] += mass[cell] * by_stratum[own, stratum[cell]]
    for x in range(settings):
        room = by_setting[seen, x] + STRENGTH
        middle = (by_setting[own, x] + STRENGTH * mean) / room
        spread = min(max((by_setting[square, x] + STRENGTH * second) / room, middle * middle), middle)
        by_setting[dispersion, x] = (spread - middle * middle) / (middle * (1.0 - middle))
        by_setting[own, x] = middle
        by_setting[without, x] = (by_setting[without, x] + STRENGTH * mean) / room


@inlined
def _expect_of_setting(setting: IntArray, by_setting: FloatArray, start: int, end: int, prior: FloatArray) -> None:
    """What is expected of each cell where there is nothing but the setting itself to lean on."""
    for cell in range(start, end):
        prior[cell] = by_setting[1, setting[cell]]


@inlined
def _expect_of_both(
    settings: int, strata: int, setting: IntArray, stratum: IntArray, by_setting: FloatArray, by_stratum: FloatArray,
    start: int, end: int, prior: FloatArray,
) -> None:  # fmt: skip
    """What setting and stratum together expect of each cell."""
    own, without = 1, 3
    for x in range(settings):
        by_setting[without, x] = _logit(by_setting[own, x]) - _logit(by_setting[without, x])
    for z in range(strata):
        by_stratum[own, z] = _logit(by_stratum[own, z])
    for cell in range(start, end):
        prior[cell] = 1.0 / (1.0 + exp(-(by_stratum[own, stratum[cell]] + by_setting[without, setting[cell]])))


@inlined
def _lean(
    strength: float, guess: float, wanted: float, cell: int, mass: FloatArray, values: FloatArray, raw: FloatArray,
    squares: FloatArray, prior: FloatArray, sizes: FloatArray,
) -> None:  # fmt: skip
    """The sum of a cell's rewards into a mean that leans on a guess, and that of their squares likewise."""
    seen = mass[cell]
    part = seen / (seen + strength) if seen + strength > 0.0 else 0.0
    plain = values[cell] / seen if seen > 0.0 else guess
    plain_square = squares[cell] / seen if seen > 0.0 else wanted
    sizes[cell] = seen
    prior[cell] = guess
    raw[cell] = plain
    values[cell] = part * plain + (1.0 - part) * guess
    squares[cell] = part * plain_square + (1.0 - part) * wanted


@inlined
def _lean_on_middle(
    strength: float, middle: float, middle_square: float, start: int, end: int, mass: FloatArray, values: FloatArray,
    raw: FloatArray, squares: FloatArray, prior: FloatArray, sizes: FloatArray,
) -> None:  # fmt: skip
    """Sums of rewards into means that lean on what all levels are worth alike."""
    for cell in range(start, end):
        _lean(strength, middle, middle_square, cell, mass, values, raw, squares, prior, sizes)


@inlined
def _shrink_reward(
    strength: float, setting: IntArray, by_setting: FloatArray, start: int, end: int, mass: FloatArray,
    values: FloatArray, raw: FloatArray, squares: FloatArray, prior: FloatArray, sizes: FloatArray,
) -> None:  # fmt: skip
    """Sums of rewards into means that lean on what is expected of them."""
    for cell in range(start, end):
        guess = prior[cell]
        wanted = guess * guess + by_setting[4, setting[cell]] * guess * (1.0 - guess)
        _lean(strength, guess, wanted, cell, mass, values, raw, squares, prior, sizes)


@compiled
def _make_tables(plan: KernelPlan, counts: FloatArray, worth: FloatArray) -> _Tables:
    """All tables, from counts to shrunk conditionals."""
    (
        table_start, own, strength, uniform, count_start, goes_start, goes, is_reward, level_step, setting, settings,
        stratum, strata, _, _, _, _, _, _, _, _, _, _, _,
    ) = plan  # fmt: skip
    cells = table_start[-1]
    mass, values, squares = np.zeros(cells), np.zeros(cells), np.zeros(cells)
    raw, prior, sizes = np.empty(cells), np.empty(cells), np.empty(cells)
    margin = np.empty(own.max())
    by_setting, by_stratum = np.empty((5, settings.max())), np.empty((2, strata.max()))
    middle, middle_square = worth.mean(), (worth * worth).mean()
    for t in range(own.size):
        start, end = table_start[t], table_start[t + 1]
        begin, first, last = count_start[t], goes_start[t], goes_start[t + 1]
        if not is_reward[t]:
            _count_law(counts, begin, goes, first, last, start, mass)
            _shrink_law(own[t], strength[t], uniform[t], margin, start, end, mass, values, raw, sizes)
            continue
        _count_reward(
            counts, begin, goes, first, last, worth, level_step[t], start, mass, values, squares,
        )  # fmt: skip
        if uniform[t]:
            _lean_on_middle(strength[t], middle, middle_square, start, end, mass, values, raw, squares, prior, sizes)
            continue
        _margins(
            settings[t], strata[t], setting, stratum, by_setting, by_stratum, start, end, mass, values, squares,
        )  # fmt: skip
        if strata[t] == 1:
            _expect_of_setting(setting, by_setting, start, end, prior)
        else:
            _expect_of_both(
                settings[t], strata[t], setting, stratum, by_setting, by_stratum, start, end, prior,
            )  # fmt: skip
        _shrink_reward(
            strength[t], setting, by_setting, start, end, mass, values, raw, squares, prior, sizes,
        )  # fmt: skip
    return _Tables(mass, values, raw, squares, prior, sizes)


# ------------------------------------------------------------------------------------------------------------- formulas


@inlined
def _terms(
    first: int, width: int, begin: IntArray, places: IntArray, place_start: IntArray, inverse: IntArray,
    values: FloatArray, away: float, at: IntArray, factor: FloatArray, before: FloatArray, slopes: FloatArray,
) -> None:  # fmt: skip
    """The slope of an arm's sum in every cell of the tables that its formula reads, the reward being less by ``away``.

    In the reward's own cells these are the weights of its rows.  ``begin`` says for each of the ``width`` occurrences
    from the ``first`` on where its table lies, moved by the arm's setting.
    """
    before[0] = 1.0
    for i in range(place_start[first + 1] - place_start[first]):
        for j in range(width):
            at[j] = begin[j] + places[place_start[first + j] + i]
            factor[j] = values[at[j]] - away if j == 0 else values[at[j]]
            if inverse[first + j]:
                factor[j] = 1.0 / factor[j] if factor[j] != 0.0 else 0.0
            before[j + 1] = before[j] * factor[j]
        after = 1.0
        for j in range(width - 1, -1, -1):
            rest = before[j] * after
            slopes[at[j]] += -rest * factor[j] * factor[j] if inverse[first + j] else rest
            after *= factor[j]


@inlined
def _law_error(
    own: int, strength: float, looks: float, shared: int, start: int, end: int, values: FloatArray, raw: FloatArray,
    sizes: FloatArray, slopes: FloatArray, found: FloatArray,
) -> None:  # fmt: skip
    """Add what one law does to the errors: variance, shift, and how far rows never seen could move the mean, both ways.

    Where tables share their looks, the slopes become what one more look in each cell would do.
    """
    row = start
    while row < end:
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
            slopes[cell] = apart * room
        if seen and not shared:
            found[0] += square / (sizes[row] + strength)
        row += own


@inlined
def _shared_variance(
    uses: IntArray, first: int, last: int, table_start: IntArray, goes: IntArray, goes_start: IntArray,
    counts: FloatArray, begin: int, slopes: FloatArray, looks: float,
) -> float:  # fmt: skip
    """The variance of a mean whose laws are counted from the same looks, from what a look in each cell does."""
    total, square = 0.0, 0.0
    one = uses[first]
    for i in range(goes_start[one + 1] - goes_start[one]):
        seen = counts[begin + i]
        if seen != 0.0:
            push = 0.0
            for u in range(first, last):
                t = uses[u]
                push += slopes[table_start[t] + goes[goes_start[t] + i]]
            total += seen * push
            square += seen * push * push
    return max(square / looks - (total / looks) ** 2, 0.0) / looks


@inlined
def _clear(
    start: int, end: int, first: int, last: int, uses: IntArray, table_start: IntArray, slopes: FloatArray
) -> None:
    """Forget the slopes in the reward's cells and in those of the tables that a formula uses."""
    for cell in range(start, end):
        slopes[cell] = 0.0
    for i in range(first, last):
        for cell in range(table_start[uses[i]], table_start[uses[i] + 1]):
            slopes[cell] = 0.0


@compiled
def look(plan: KernelPlan, counts: FloatArray, worth: FloatArray) -> FloatArray:
    """For each arm its mean, and the number of direct pulls that would know it as well.

    ``counts`` are the tables of all scopes, flattened one after the other; ``worth`` is that of each level of the
    reward, from 0 to 1.
    """
    (
        table_start, own, strength, _, count_start, goes_start, goes, _, _, _, _, _, _, occurrence_start, reads,
        inverse, place_start, places, use_start, uses, shared, formulas, move_start, moves,
    ) = plan  # fmt: skip
    mass, values, raw, squares, prior, sizes = _make_tables(plan, counts, worth)
    slopes = np.zeros(values.size)
    widest = 0
    for f in range(occurrence_start.size - 1):
        widest = max(widest, occurrence_start[f + 1] - occurrence_start[f])
    at, begin, factor, before = (
        np.empty(widest, np.int64), np.empty(widest, np.int64), np.empty(widest), np.empty(widest + 1)
    )  # fmt: skip
    law = np.zeros(4)
    found = np.empty((formulas.size, FOUND))
    for arm in range(formulas.size):
        f = formulas[arm]
        first, last = occurrence_start[f], occurrence_start[f + 1]
        width = last - first
        for j in range(width):
            begin[j] = table_start[reads[first + j]] + moves[move_start[arm] + j]
        t = reads[first]
        start, end = table_start[t], table_start[t + 1]
        use, used = use_start[f], use_start[f + 1]
        _clear(start, end, use, used, uses, table_start, slopes)
        _terms(
            first, width, begin, places, place_start, inverse, values, 0.0, at, factor, before, slopes
        )  # fmt: skip
        total, mean = 0.0, 0.0
        for cell in range(start, end):
            total += slopes[cell]
            mean += slopes[cell] * values[cell]
        if abs(total - 1.0) > ROUNDING and total > 0.0:  # weights that only sum to one in the limit are made to
            _clear(start, end, use, used, uses, table_start, slopes)
            _terms(
                first, width, begin, places, place_start, inverse, values, mean / total, at, factor, before, slopes,
            )  # fmt: skip
            slopes[start:end] /= total
            for u in uses[use:used]:
                slopes[table_start[u] : table_start[u + 1]] /= total
        mean, square, noise, shift, below, above, looks = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        heavy, visible = 0.0, 0.0
        for cell in range(start, end):
            weight, value, second = slopes[cell], values[cell], squares[cell]
            looks += mass[cell]
            if weight == 0.0:
                continue
            mean += weight * value
            square += weight * second
            if sizes[cell] > 0.0:
                noise += weight * weight * max(second - value * value, 0.0) / (sizes[cell] + strength[t])
                shift += weight * (value - raw[cell])
                heavy += weight * weight / sizes[cell]
                visible += weight
            else:
                below += weight * prior[cell]
                above += weight * (1.0 - prior[cell])
        for j in range(law.size):
            law[j] = 0.0
        for i in range(use, used):
            u = uses[i]
            _law_error(
                own[u], strength[u], looks, shared[f], table_start[u], table_start[u + 1],
                values, raw, sizes, slopes, law,
            )  # fmt: skip
        if shared[f] and looks > 0.0:
            law[0] = _shared_variance(
                uses, use, used, table_start, goes, goes_start, counts,
                count_start[uses[use]], slopes, looks,
            )  # fmt: skip
        half = (below + law[2] + above + law[3]) / 2.0
        error = noise + law[0] + (shift + law[1]) ** 2 + half * half
        spread = max(square - mean * mean, 0.0)
        # Rewards that were all alike have no error to compare with: the rows themselves count.
        worth_pulls = spread / error if error > 0.0 else visible / heavy if heavy > 0.0 else 0.0
        found[arm, MEAN] = mean
        found[arm, SIZE] = min(looks, worth_pulls)
    return found
