"""The compiled path: what looks are worth for every arm, again and again while a policy plays.

The numbers are those of `whichdo.estimate.settled`, for formulas that are sums of products: by
adjustment, by the graph, the weight form and the paper's own.  Everything is laid out once as flat
arrays of places.  A *table* is one conditional, made once however many formulas read it.  An
*occurrence* is one reading of a table in a formula, with the place of each term of the sum.

The functions run uncompiled too, and give the same to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo.estimate.settled import ROUNDING
from whichdo.estimate.shrinkage import EDGE, STRENGTH
from whichdo.identification.estimand import Conditional, Product, Ratio, Sum
from whichdo.kernels.compiling import compiled
from whichdo.tables import Radix, starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.identification.estimand import Estimand, Expression, Names

__all__ = ["MEAN", "SIZE", "Formula", "KernelPlan", "lay_out", "look", "occurrences"]

MEAN, SIZE, FOUND = 0, 1, 2
MAX_PLACES = 1 << 22
"""The most places that all formulas may have together."""


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
        for cell in range(plan.table_start[t], plan.table_start[t + 1]):
            weight, value, second = slopes[cell], tables.values[cell], tables.squares[cell]
            looks += tables.mass[cell]
            mean += weight * value
            square += weight * second
            if tables.sizes[cell] > 0.0:
                noise += weight * weight * max(second - value * value, 0.0) / (tables.sizes[cell] + plan.strength[t])
                shift += weight * (value - tables.raw[cell])
            else:
                below += weight * tables.prior[cell]
                above += weight * (1.0 - tables.prior[cell])
        law = _law_error(plan, f, looks, counts, tables, slopes)
        half = (below + law[2] + above + law[3]) / 2.0
        error = noise + law[0] + (shift + law[1]) ** 2 + half * half
        spread = max(square - mean * mean, 0.0)
        found[arm, MEAN] = mean
        found[arm, SIZE] = min(looks, spread / error) if error > 0.0 else 0.0
    return found


# ---------------------------------------------------------------------------------------------------------- laying out


@dataclass(frozen=True)
class Formula:
    """A formula with the arms that it serves: the code of each target's value, in the order of the targets."""

    estimand: Estimand
    settings: tuple[tuple[int, ...], ...]
    shared: bool
    """Whether the errors of its tables go together: counted from the same looks, with nothing assumed of them."""


@dataclass(frozen=True)
class _Occurrence:
    conditional: Conditional
    axes: Names
    inverse: bool


def occurrences(estimand: Estimand) -> list[_Occurrence] | None:
    """Every reading of a conditional, if the formula is one sum of products and reciprocals of conditionals; else None.

    An axis is called by the target whose value it is, or by a number.
    """
    found: list[_Occurrence] = []
    number = iter(range(1 << 30))

    def walk(part: Expression, scope: Mapping[str, str], *, inverse: bool) -> bool:
        match part:
            case Conditional():
                found.append(_Occurrence(part, tuple(scope[name] for name in part.columns), inverse))
                return True
            case Product(factors):
                return all(walk(factor, scope, inverse=inverse) for factor in factors)
            case Sum(names, term):
                inner = {**scope, **{name: f"{next(number)} {name}" for name in names}}
                return not inverse and walk(term, inner, inverse=inverse)
            case Ratio(above, below):
                return not inverse and walk(above, scope, inverse=False) and walk(below, scope, inverse=True)

    outside = {name: name for name in (*estimand.targets, estimand.reward)}
    if not walk(estimand.expression, outside, inverse=False):
        return None
    found.sort(key=lambda each: estimand.reward not in each.conditional.nodes)
    return found


def lay_out(
    formulas: Sequence[Formula],
    scopes: Sequence[Names],
    sizes: Mapping[str, int],
    reward: str,
    *,
    literal: bool = False,
) -> KernelPlan:
    """Formulas as flat arrays, for counts of ``scopes`` flattened one after the other.

    ``literal`` is the paper's add-one: every row leans on the uniform law, with one row for each of its values.

    Raises
    ------
    ValueError
        If a formula is not a sum of products, or a conditional is in none of the scopes.
    """
    return _Layout(scopes, sizes, reward, literal=literal).plan(formulas)


class _Layout:
    """Where everything lies."""

    def __init__(self, scopes: Sequence[Names], sizes: Mapping[str, int], reward: str, *, literal: bool) -> None:
        self.scopes, self.sizes, self.reward, self.literal = scopes, sizes, reward, literal
        self.starts = starts(prod(sizes[name] for name in scope) for scope in scopes)
        self.tables: dict[tuple[Conditional, int, Names], int] = {}
        self.kept: list[tuple[Conditional, int, Names]] = []  # each with its scope and, of the reward's, its targets

    def table(self, conditional: Conditional, scope: int, targets: Names) -> int:
        """The number of a conditional's table; the reward's rows lean on margins that depend on the targets."""
        acting = targets if self.reward in conditional.nodes else ()
        kept = (conditional, scope, acting)
        if kept not in self.tables:
            self.tables[kept] = len(self.kept)
            self.kept.append(kept)
        return self.tables[kept]

    def scope(self, columns: frozenset[str], formula: Formula) -> int:
        """The smallest scope that has some columns."""
        fits = [number for number, scope in enumerate(self.scopes) if columns.issubset(scope)]
        if not fits:
            raise ValueError(f"no scope has all columns of {formula.estimand}")
        return min(fits, key=lambda number: self.starts[number + 1] - self.starts[number])

    def plan(self, formulas: Sequence[Formula]) -> KernelPlan:
        reads: list[int] = []
        inverse: list[bool] = []
        places: list[IntArray] = []
        uses: list[list[int]] = []
        widths: list[int] = []
        arms: list[int] = []
        moves: list[list[int]] = []
        for number, formula in enumerate(formulas):
            found = occurrences(formula.estimand)
            if found is None:
                raise ValueError(f"{formula.estimand} is not a sum of products")
            needed = [each.conditional.free for each in found]
            if formula.shared:
                needed = [frozenset[str]().union(*needed)] * len(found)
            numbers = [
                self.table(each.conditional, self.scope(columns, formula), formula.estimand.targets)
                for each, columns in zip(found, needed, strict=True)
            ]
            reads += numbers
            inverse += [each.inverse for each in found]
            places += self._places(found, formula.estimand.targets)
            uses.append(list(dict.fromkeys(numbers[1:])))
            widths.append(len(found))
            for codes in formula.settings:
                arms.append(number)
                moves.append(self._moves(found, dict(zip(formula.estimand.targets, codes, strict=True))))
        shared = [formula.shared and len(each) > 1 for formula, each in zip(formulas, uses, strict=True)]
        return KernelPlan(
            **self._table_arrays(),
            occurrence_start=_starts(widths),
            reads=_ints(reads),
            inverse=_ints(inverse),
            place_start=_starts(len(each) for each in places),
            places=np.concatenate(places).astype(np.int64),
            use_start=_starts(len(each) for each in uses),
            uses=_ints(t for each in uses for t in each),
            shared=_ints(shared),
            formulas=_ints(arms),
            move_start=_starts(len(each) for each in moves),
            moves=_ints(step for each in moves for step in each),
        )

    def _shape(self, conditional: Conditional) -> tuple[int, ...]:
        """The axes of its table; the reward's table holds one mean a row."""
        return tuple(1 if name == self.reward else self.sizes[name] for name in conditional.columns)

    def _strides(self, conditional: Conditional) -> tuple[int, ...]:
        return Radix(conditional.columns, self._shape(conditional)).strides

    def _table_arrays(self) -> dict[str, Any]:
        goes, setting, stratum = [], [], []
        for conditional, scope, targets in self.kept:
            shape = self._shape(conditional)
            names = self.scopes[scope]
            steps = Radix(conditional.columns, shape).steps | {self.reward: 0}
            codes = np.indices([self.sizes[name] for name in names]).reshape(len(names), -1)
            goes.append(sum((codes[j] * steps.get(name, 0) for j, name in enumerate(names)), np.zeros(1, np.int64)))
            own = np.indices(shape).reshape(len(shape), -1)
            held = [j for j, name in enumerate(conditional.columns) if name in targets]
            rest = [j for j in range(len(shape)) if j not in held] if held else []
            setting.append(_numbered(own, held, shape))
            stratum.append(_numbered(own, rest, shape))
        rewards = [self.reward in conditional.nodes for conditional, _, _ in self.kept]
        own_sizes = [
            prod(shape[len(conditional.given) :])
            for conditional, shape in ((c, self._shape(c)) for c, _, _ in self.kept)
        ]
        return {
            "table_start": _starts(prod(self._shape(conditional)) for conditional, _, _ in self.kept),
            "own": _ints(own_sizes),
            "strength": np.array(
                [
                    float(self.sizes[self.reward] if is_reward else own)
                    if self.literal
                    else STRENGTH
                    if conditional.given
                    else 0.0
                    for (conditional, _, _), is_reward, own in zip(self.kept, rewards, own_sizes, strict=True)
                ]
            ),
            "uniform": _ints([self.literal] * len(self.kept)),
            "count_start": _ints(self.starts[scope] for _, scope, _ in self.kept),
            "goes_start": _starts(len(each) for each in goes),
            "goes": np.concatenate(goes).astype(np.int64),
            "is_reward": _ints(rewards),
            "level_step": _ints(self._level_step(scope) for _, scope, _ in self.kept),
            "setting": np.concatenate(setting).astype(np.int64),
            "settings": _ints(int(each.max()) + 1 for each in setting),
            "stratum": np.concatenate(stratum).astype(np.int64),
            "strata": _ints(int(each.max()) + 1 for each in stratum),
        }

    def _level_step(self, scope: int) -> int:
        names = self.scopes[scope]
        return prod(self.sizes[name] for name in names[names.index(self.reward) + 1 :]) if self.reward in names else 1

    def _places(self, found: Sequence[_Occurrence], targets: Names) -> list[IntArray]:
        """For each occurrence its place in every term of the sum, the targets' values aside."""
        fixed = {*targets, self.reward}
        sizes = {
            axis: self.sizes[name]
            for each in found
            for axis, name in zip(each.axes, each.conditional.columns, strict=True)
            if axis not in fixed
        }
        axes = list(sizes)
        if len(found) * prod(sizes.values()) > MAX_PLACES:
            raise ValueError(f"{prod(sizes.values()):,} terms of {len(found)} factors are too many")
        codes = np.indices(list(sizes.values())).reshape(len(axes), prod(sizes.values()))
        made = []
        for each in found:
            steps = self._strides(each.conditional)
            place = np.zeros(codes.shape[1], np.int64)
            for axis, step in zip(each.axes, steps, strict=True):
                if axis not in fixed:
                    place += codes[axes.index(axis)] * step
            made.append(place)
        return made

    def _moves(self, found: Sequence[_Occurrence], codes: Mapping[str, int]) -> list[int]:
        return [
            sum(
                codes[axis] * step
                for axis, step in zip(each.axes, self._strides(each.conditional), strict=True)
                if axis in codes
            )
            for each in found
        ]


def _numbered(codes: IntArray, axes: Sequence[int], shape: Sequence[int]) -> IntArray:
    """One number for each combination of some axes."""
    found = np.zeros(codes.shape[1] if codes.size else 1, np.int64)
    for axis in axes:
        found = found * shape[axis] + codes[axis]
    return found


def _starts(lengths: Iterable[int]) -> IntArray:
    return _ints(starts(lengths))


def _ints(values: Iterable[int]) -> IntArray:
    return np.array(list(values), dtype=np.int64)
