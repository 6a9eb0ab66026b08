"""Evidence that grows round by round: what looks say of every arm, joined with direct pulls.

Shared by causal Thompson sampling and causal KL-UCB.  Every look is counted in the tables of the problem's scopes.
What the tables say (`whichdo.estimate.kernel`: a mean for every arm that looking settles, and the number of direct
pulls it is worth) is worked out anew when the looks have grown by a thirty-second, so its cost a round vanishes.  Arms
that looking does not settle have bounds (`whichdo.policies.bounding`), which are worked out with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.estimate.kernel import MEAN, SIZE, look
from whichdo.estimate.model import model_of
from whichdo.evidence import utilities
from whichdo.formulas import Reading, counted_scopes
from whichdo.kernels.compiling import compiled
from whichdo.policies.bounding import (
    WON,
    Bounds,
    bounding_scopes,
    counts_with_bounds,
    held_scopes,
    rebound,
    start_bounds,
)
from whichdo.tables import Layout

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, FloatArray, IntArray
    from whichdo.estimate.kernel import KernelPlan
    from whichdo.evidence import Tally
    from whichdo.problem import Problem


FRESH = 32
LOOKS, WORKED_OUT = 0, 1  # places of the clock


class Evidence(NamedTuple):
    """What is known of every arm: ``wins`` and ``losses`` by direct pulls, ``means`` and ``sizes`` by looking.

    Looks are the direct pulls of do(), so that only those logged before the first round stand among its ``sizes``:
    logs may be of another season.
    """

    wins: FloatArray
    losses: FloatArray
    means: FloatArray
    sizes: FloatArray
    utility: FloatArray
    clock: IntArray


class Looking(NamedTuple):
    """The tables that looks are counted in, and how to read them."""

    counts: FloatArray
    scope_start: IntArray
    places: IntArray
    strides: IntArray
    cell_start: IntArray
    sources: IntArray
    plan: KernelPlan
    bounds: Bounds


def columns(problem: Problem, reading: Reading) -> tuple[str, ...]:
    """The nodes that are counted, however many rounds there are; the reward last."""
    scopes = (*counted_scopes(problem, reading), *bounding_scopes(problem, reading))
    counted = dict.fromkeys(name for scope in scopes for name in scope)
    return (*(name for name in counted if name != problem.reward), problem.reward)


def evidence(problem: Problem, reading: Reading, seen: Tally) -> tuple[Evidence, Looking]:
    """What is known before the first round: nothing, or what earlier looks and pulls say.

    Formulas are chosen by the number of these looks: a policy that looks only where it pays would never fill larger
    tables.
    """
    model, arms = model_of(problem, reading, int(seen.pulls[0]), seen), len(problem.arms)
    bounding = held_scopes(problem, reading, seen)
    scopes = (*model.scopes, *bounding)
    counts = counts_with_bounds(problem, model.counts(seen), model.scopes, bounding, seen)
    places = Layout(problem.sizes, scopes).places(columns(problem, reading))
    bounds = start_bounds(problem, scopes, reading)
    looking = Looking(counts, *places, model.sources, model.plan, bounds)
    found = Evidence(
        np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms), utilities(problem), np.zeros(2, np.int64)
    )
    found.wins[:] = seen.counts @ found.utility
    found.losses[:] = seen.pulls - found.wins
    if seen.pulls[0]:
        found.means[0], found.sizes[0] = found.wins[0] / seen.pulls[0], seen.pulls[0]
        found.wins[0] = found.losses[0] = 0.0
        found.clock[LOOKS] = seen.pulls[0]
        refresh(found, looking)
        bounds.logged[:] = bounds.natural[WON:]
    return found, looking


@compiled
def count(
    counts: FloatArray, starts: IntArray, places: IntArray, strides: IntArray, cells: IntArray, row: CodeArray
) -> None:
    """Count a look in the table of every scope."""
    for scope in range(starts.size - 1):
        cell = cells[scope]
        for j in range(starts[scope], starts[scope + 1]):
            cell += strides[j] * np.int64(row[places[j]])
        counts[cell] += 1.0


@compiled
def stale(clock: IntArray) -> bool:
    """Whether the looks have grown enough to be worked out anew."""
    return bool(clock[LOOKS] - clock[WORKED_OUT] > clock[WORKED_OUT] // FRESH)


@compiled
def refresh(found: Evidence, looking: Looking) -> None:
    """Work out what the looks say of every arm: estimates, or bounds."""
    by_arm = look(looking.plan, looking.counts, found.utility)
    for arm in range(1, found.sizes.size):
        source = looking.sources[arm]
        if source >= 0:
            found.means[arm] = by_arm[source, MEAN]
            found.sizes[arm] = by_arm[source, SIZE]
    rebound(looking.bounds, looking.counts, found.utility, found.wins, found.losses)
    found.clock[WORKED_OUT] = found.clock[LOOKS]
