"""Intervals keep their promise: 95 percent of them hold the truth, rare cells and small logs included.

At the full count (4,000 data sets a cell, ``make soak``) the promised bounds are checked as they stand: the standard
error of a coverage is 0.0034, so a cell that truly covers 94.5% falls below 93% less than twice in 100,000 times.  At a
twentieth the bounds are widened by 5.2 standard errors of 200 data sets, a false alarm in ten million a cell.
"""

from __future__ import annotations

from math import prod, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.soak import FULL, scaled
from whichdo.estimate.interventional import Estimator
from whichdo.world.instances import CANONICAL, Instance, canonical, families
from whichdo.world.network import CausalNetwork, bernoulli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whichdo.estimate.interventional import Looked

Array = np.ndarray[Any, np.dtype[np.float64]]
Interval = tuple[Array, Array]

DATA_SETS = 4_000
SEED = 20_261_116
LOOKS = (200, 1_000, 5_000, 20_000)
Z = NormalDist().inv_cdf(0.975)
SLACK = 0.0 if FULL else 5.2 * sqrt(0.05 * 0.95 / scaled(DATA_SETS))


def instances() -> Iterator[tuple[str, Instance]]:
    """Canonical networks, real confounding, and rare cells; small enough to draw whole tables at once."""
    for name in CANONICAL:
        yield f"canonical {name}", canonical(name)
    for name in ("front-door", "component", "random-confounded", "no-backdoor", "experiment-3"):
        for number, instance in enumerate(families()[name](seed=0)[:2]):
            if prod(len(values) for values in instance.problem.domains.values()) <= 4096:
                yield f"{name} {number}", instance

    network = CausalNetwork(
        {
            "Z": bernoulli((), 0.3),
            "X": bernoulli(("Z",), [0.01, 0.4]),
            "Y": bernoulli(("X", "Z"), [[0.05, 0.3], [0.97, 0.9]]),
        }
    )
    yield "rare", Instance("rare", network, network.problem("Y", ["X"]), "a cell of 7 in 1,000, means near 0 and 1")

    for count in (6, 8):
        yield f"many cells {count}", many_cells(count)


def many_cells(count: int) -> Instance:
    """As many causes of X as leave most of their settings unseen; the reward is 1 nine times in ten."""
    causes = [f"A{j}" for j in range(count)]
    chance = 0.1 + 0.075 * np.indices((2,) * count).sum(axis=0)
    mechanisms = {name: bernoulli((), 0.3) for name in causes}
    mechanisms |= {"X": bernoulli(causes, chance), "Y": bernoulli((), 0.9, parents=[*causes, "X"])}
    network = CausalNetwork(mechanisms)
    return Instance("many cells", network, network.problem("Y", ["X"]), "most cells are never seen")


INSTANCES = dict(instances())


def ours(looked: Looked) -> Interval:
    """The interval of `whichdo.rank`."""
    middle = looked.means + looked.offsets(Z)
    return middle - looked.errors(Z), middle + looked.errors(Z)


def wilson(looked: Looked) -> Interval:
    """A plausible interval that is wrong: Wilson's, with the effective size for a number of pulls."""
    n, p = looked.spreads / looked.variances, looked.means
    middle = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return middle - half, middle + half


def coverage(
    instance: Instance, looks: int, sets: int, interval: Callable[[Looked], Interval] = ours
) -> dict[str, tuple[float, float]]:
    """For each estimated arm: the share of intervals that hold the truth, and its weakest cell's expected count."""
    problem, network = instance.problem, instance.network
    sizes = [len(problem.domains[name]) for name in problem.graph.nodes]
    model = Estimator(problem)
    truth = network.means(problem)
    worth = np.array(list(problem.rewards.values()))
    law = network.law(problem.graph.nodes).ravel()
    rng = np.random.default_rng([SEED, looks])
    joint = rng.multinomial(looks, law / law.sum(), size=sets).reshape([sets, *sizes]).astype(np.float64)
    parts = []
    for scope in model.scopes:
        away = tuple(1 + j for j, name in enumerate(problem.graph.nodes) if name not in scope)
        parts.append(joint.sum(axis=away).reshape(sets, -1))
    tables = np.concatenate(parts, axis=1)
    held = np.zeros(len(problem.arms))
    for row in tables:
        low, high = interval(model.from_counts(row, worth))
        held += (low <= truth + 1e-12) & (truth - 1e-12 <= high)
    cells = {targets: float(network.law(net.cells).min()) for targets, net in model.networks.items() if net.cells}
    known = [arm.is_look or arm.targets in model.networks for arm in problem.arms]
    return {
        str(arm): (held[j] / sets, looks * cells.get(arm.targets, 1.0))
        for j, arm in enumerate(problem.arms)
        if known[j]
    }


@pytest.mark.slow("4 s: 200 data sets a cell, 624 cells; finds intervals that are too narrow")
@pytest.mark.soak
def test_95_percent_intervals_cover_as_promised(record_property: Callable[[str, object], None]) -> None:
    """At least 93% for each arm, family and n; 94.5 to 98.5% on average; at most 99.5% where cells have 5 rows."""
    found = {
        (name, looks, arm): each
        for name, instance in INSTANCES.items()
        for looks in LOOKS
        for arm, each in coverage(instance, looks, scaled(DATA_SETS)).items()
    }
    shares = np.array([share for share, _ in found.values()])
    low = {key: share for key, (share, _) in found.items() if share < 0.93 - SLACK}
    high = {key: share for key, (share, cell) in found.items() if share > 0.995 + SLACK and cell >= 5}
    record_property("data sets", scaled(DATA_SETS))
    record_property("cells", len(found))
    record_property("lowest", f"{shares.min():.3f}")
    record_property("mean", f"{shares.mean():.4f}")
    record_property("seed", SEED)
    assert not low
    assert not high
    assert 0.945 <= shares.mean() <= 0.985


def test_an_interval_that_forgets_smoothing_is_caught() -> None:
    """Wilson's interval on the effective size undercovers badly where a cell is nearly unseen."""
    found = coverage(INSTANCES["rare"], 200, 400, wilson)
    assert min(share for share, _ in found.values()) < 0.93 - 5.2 * sqrt(0.05 * 0.95 / 400)
