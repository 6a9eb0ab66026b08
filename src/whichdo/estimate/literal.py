"""The paper's Algorithm 3 to the letter: learn the network of do(X=x), draw samples from it, average the reward.

For fidelity only.  Summing the network out (`whichdo.estimate.interventional`) gives the limit of this for infinitely
many draws, and takes a thousandth of the time; here every estimate carries the noise of its draws on top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.counting.scopes import Reading
from whichdo.estimate.interventional import estimator
from whichdo.tables import conditional_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import FloatArray, IntArray
    from whichdo.estimate.dnet import Factor, FactorNetwork
    from whichdo.evidence import Tally
    from whichdo.problem import Problem

__all__ = ["sampled_means"]


def sampled_means(
    problem: Problem,
    seen: Tally,
    rng: np.random.Generator,
    *,
    worth: FloatArray | None = None,
    draws: int | None = None,
    threshold: float = 0.0,
    reading: Reading = Reading.PAPER,
) -> FloatArray:
    """The mean of each arm over draws from its learned network; NaN where looking settles nothing.

    ``worth`` of each reward level, by default its utility; ``draws`` for each arm, by default ten times the looks and
    at least 10,000.  do() is the plain mean of the looks.
    """
    model = estimator(problem, reading)
    utility = np.array(list(problem.utility.values())) if worth is None else worth
    looks = int(seen.counts[0].sum())
    size = draws if draws is not None else max(10 * looks, 10_000)
    found = np.full(len(problem.arms), np.nan)
    plain = float(seen.counts[0] @ utility / looks) if looks else float("nan")
    for position, arm in enumerate(problem.arms):
        network = None if arm.is_look else model.network(arm.targets)
        if arm.is_look or (network is not None and network.node is None):
            found[position] = plain
        elif network is not None and network.node is not None:
            counted = [model.folded(seen, arm.targets, factor.columns) for factor in network.factors]
            tables = [counts for counts in counted if counts is not None]
            if len(tables) == len(counted):
                code = problem.domains[network.node].index(arm.settings[network.node])
                found[position] = utility[_draw(problem, network, tables, code, size, threshold, rng)].mean()
    return found


def _draw(
    problem: Problem,
    network: FactorNetwork,
    tables: Sequence[FloatArray],
    code: int,
    size: int,
    threshold: float,
    rng: np.random.Generator,
) -> IntArray:
    """Codes of the reward in ``size`` draws: walk the factors in order, the node's own value seen inside S only."""
    values: dict[str, IntArray] = {}
    for factor, counts in zip(network.factors, tables, strict=True):
        rows = _learned(factor, counts, threshold)
        given = [
            np.full(size, code) if name == network.node and not factor.inside else values[name] for name in factor.given
        ]
        chances = rows[tuple(given)] if given else np.broadcast_to(rows, (size, rows.shape[-1]))
        values[factor.node] = (rng.random((size, 1)) >= np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
    return values[problem.reward]


def _learned(factor: Factor, counts: FloatArray, threshold: float) -> FloatArray:
    """P(v | z) by Algorithm 5: add-one, or uniform for a row outside S seen less often than the threshold."""
    return conditional_rows(counts, 1.0, 0.0 if factor.inside else threshold)
