"""Laws of the rows of tables, drawn from their posteriors, and sums of products of them: `whichdo.policies.sharing`.

A row's prior is Jeffreys', half a count for each value: the mean of an arm is an average over many rows, and with a
whole count for each value all arms would begin close to the middle and stay there long (docs/decisions/0027).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whichdo.kernels.compiling import compiled
from whichdo.kernels.random import gamma

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, FloatArray, IntArray, WordArray


PRIOR = 0.5
"""What each value of each row counts for before anything is told."""


class Laws(NamedTuple):
    """Tables: number t has ``rows[t]`` rows of ``widths[t]`` counts, from ``count_start[t]`` on.

    Each row has as many values, from ``value_start[t]`` on; but in the tables from ``first_reward`` on, whose counts
    are what was lost and won, one, a mean.
    """

    widths: IntArray
    rows: IntArray
    count_start: IntArray
    value_start: IntArray
    first_reward: int


class Steps(NamedTuple):
    """Step s fills ``outs[s]`` values from ``out_start[s]`` on, each a sum of ``sums[s]`` products of ``ins[s]``.

    Their places follow each other in ``places``.
    """

    out_start: IntArray
    outs: IntArray
    sums: IntArray
    ins: IntArray
    places: IntArray


class Teaching(NamedTuple):
    """For each arm the tables that its rows teach: ``tables[j]`` for ``arm_start[a] <= j < arm_start[a + 1]``.

    The row of a table is found by ``columns`` (places among what is read of a row) and ``strides``, from
    ``column_start[t]`` on; ``own`` is the column of the table's node, -1 for the reward.
    """

    arm_start: IntArray
    tables: IntArray
    column_start: IntArray
    columns: IntArray
    strides: IntArray
    own: IntArray


@compiled
def draw_laws(counts: FloatArray, laws: Laws, values: FloatArray, chance: WordArray) -> None:
    """A law for every row of every table, drawn from its posterior; of the reward's rows a mean."""
    widths, rows, count_start, value_start, first_reward = laws
    for table in range(widths.size):
        width, at, to = widths[table], count_start[table], value_start[table]
        for _ in range(rows[table]):
            total = 0.0
            if table >= first_reward:
                won = gamma(PRIOR + counts[at + 1], chance)
                values[to] = won / (won + gamma(PRIOR + counts[at], chance))
                to += 1
            else:
                for j in range(width):
                    values[to + j] = gamma(PRIOR + counts[at + j], chance)
                    total += values[to + j]
                for j in range(width):
                    values[to + j] /= total
                to += width
            at += width


@compiled
def mean_laws(counts: FloatArray, laws: Laws, values: FloatArray) -> None:
    """The mean of what `draw_laws` draws."""
    widths, rows, count_start, value_start, first_reward = laws
    for table in range(widths.size):
        width, at, to = widths[table], count_start[table], value_start[table]
        for _ in range(rows[table]):
            total = 0.0
            for j in range(width):
                total += PRIOR + counts[at + j]
            if table >= first_reward:
                values[to] = (PRIOR + counts[at + 1]) / total
                to += 1
            else:
                for j in range(width):
                    values[to + j] = (PRIOR + counts[at + j]) / total
                to += width
            at += width


@compiled
def contract(steps: Steps, values: FloatArray) -> None:
    """Work out every step: each of its values is a sum of products."""
    out_start, outs, sums, ins, places = steps
    at = 0
    for step in range(outs.size):
        many, terms, start = ins[step], sums[step], out_start[step]
        for out in range(outs[step]):
            total = 0.0
            for _ in range(terms):
                product = values[places[at]]
                for j in range(1, many):
                    product *= values[places[at + j]]
                at += many
                total += product
            values[start + out] = total


@compiled
def teach(counts: FloatArray, laws: Laws, teaching: Teaching, arm: int, reward: float, row: CodeArray) -> None:
    """Count a row in every table that its arm leaves alone; the reward as a fraction of a success."""
    arm_start, tables, column_start, columns, strides, own = teaching
    widths, count_start = laws.widths, laws.count_start
    for j in range(arm_start[arm], arm_start[arm + 1]):
        table = tables[j]
        cell = 0
        for k in range(column_start[table], column_start[table + 1]):
            cell += strides[k] * row[columns[k]]
        at = count_start[table] + cell * widths[table]
        if own[table] < 0:
            counts[at] += 1.0 - reward
            counts[at + 1] += reward
        else:
            counts[at + row[own[table]]] += 1.0
