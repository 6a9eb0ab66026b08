"""Experiments 6 to 8: under true confounding, which no experiment of the paper has, and at its lower bounds.

Of the lower-bound constructions a network is one of P_1, ..., P_m, drawn at random: in P_0 all arms are alike.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from whichdo.experiments import claims
from whichdo.experiments.experiment import Axis, Experiment, Panel, Scale
from whichdo.experiments.published import OURS, recorded
from whichdo.world.instances import component, front_door, random_confounded, random_tree, theorem_4_1, theorem_4_2
from whichdo.world.instances.instance import child, generator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.experiments.experiment import Maker
    from whichdo.world.instances import Instance


LENGTHS = (100, 200, 400, 800, 1600, 3200)
HARDNESSES = (4, 6, 8, 12, 16, 24, 32)
BUDGET = claims.LOWER_BOUND_BUDGET
NODES = 40
"""Of a tree or star: more than any m, so that policies that ignore the graph have more to try."""
EARNED = 30_000
ROWS = 8_000
MISLED = 0.03
BOUND = 0.02
"""Of the probabilities in random graphs: wider tables than the default, so that few pulls can tell arms apart."""


def _front_door(seed: np.random.SeedSequence, points: Sequence[int]) -> Sequence[Instance]:
    rng = generator(seed)
    chains, reversal, mediators = int(rng.integers(1, 4)), float(rng.uniform(1.7, 2.5)), bool(rng.integers(2))
    return [front_door(chains, reversal=reversal, mediators=mediators)] * len(points)


def _component(size: int) -> Maker:
    def make(seed: np.random.SeedSequence, points: Sequence[int]) -> Sequence[Instance]:
        rng = generator(seed)
        rarest = float(rng.uniform(0.3, 1)) * {2: 0.03, 3: 0.006}[size]
        return [component(size, rarest, others=int(rng.integers(3, 9)))] * len(points)

    return make


def _random(seed: np.random.SeedSequence, points: Sequence[int]) -> Sequence[Instance]:
    """The first of many random graphs in which rows mislead; few do where arms are many."""
    nodes = int(generator(seed, 0).integers(10, 31))
    for attempt in count(1):
        (drawn,) = random_confounded(nodes, nodes // 2, 1, child(seed, attempt), bound=BOUND, least_bias=0)
        if _seems_to_mislead(drawn, child(seed, attempt, 1)) and drawn.misleading:
            return [drawn] * len(points)
    raise AssertionError  # count never ends


def _seems_to_mislead(instance: Instance, seed: np.random.SeedSequence) -> bool:
    """Whether the arm of the best conditional mean is `MISLED` behind the best in a log; the truth takes longer."""
    network, problem = instance.network, instance.problem
    rows = network.sample(ROWS, seed=int(seed.generate_state(1)[0]))
    reward = rows[problem.reward]
    seen = [reward.mean()] + [
        reward[np.logical_and.reduce([rows[name] == value for name, value in arm.settings.items()])].mean()
        for arm in problem.arms[1:]
    ]
    return bool(instance.means.max() - instance.means[int(np.argmax(seen))] > MISLED)


def _tree(seed: np.random.SeedSequence, points: Sequence[int]) -> Sequence[Instance]:
    tree = random_tree(NODES, 3, child(seed, 0))
    return [
        made
        for m in points
        for made in theorem_4_1(m, tree, budget=BUDGET, only=int(generator(seed, 1, m).integers(1, m + 1)))
    ]


def _star(seed: np.random.SeedSequence, points: Sequence[int]) -> Sequence[Instance]:
    return [
        made
        for m in points
        for made in theorem_4_2(
            [1 / (2 * m)] * m + [0.25] * (NODES - m - 1) + [0.5],
            budget=BUDGET,
            only=int(generator(seed, m).integers(1, m + 1)),
        )
    ]


FAMILIES: tuple[tuple[str, str, Maker], ...] = (
    ("front-door", "front-door chains", _front_door),
    ("component-2", "c-components of 2", _component(2)),
    ("component-3", "c-components of 3", _component(3)),
    ("random", "random graphs, 10 to 30 nodes", _random),
)
SHARES = dict(zip((name for name, *_ in FAMILIES), (15, 15, 14, 6), strict=True))

EXPERIMENTS = (
    Experiment(
        6,
        "Simple regret under true confounding",
        "Hidden causes of arms and reward. Rows mislead: the arm that conditioning prefers is not the best.",
        Axis.BUDGET,
        tuple(
            Panel(name, title, make, Scale(LENGTHS, 50, 40), Scale((100, 400, 1600), 3, 6))
            for name, title, make in FAMILIES
        ),
        ("conditioning", "srm", "ue", "sr"),
        ("warm-halving",),
        (claims.conditioning_stays_wrong, claims.srm_falls, claims.warm_halving_never_behind),
        logarithmic=True,
    ),
    Experiment(
        7,
        "Cumulative regret under true confounding",
        "The families of Experiment 6, 50 networks in all. CRM-ALG with the tape estimator, which the paper lacks.",
        Axis.ROUND,
        tuple(
            Panel(
                name,
                title,
                make,
                Scale(recorded(EARNED), SHARES[name], 40),
                Scale(recorded(4_000), 2, 2),
                budget=EARNED,
                quick_budget=4_000,
            )
            for name, title, make in FAMILIES
        ),
        ("crm", "ucb"),
        ("ts", "causal-ts", "causal-kl-ucb"),
        (claims.crm_below_ucb, claims.ours_earn_more),
    ),
    Experiment(
        8,
        "At the lower bounds",
        f"The constructions behind Theorems 4.1 (trees) and 4.2 (stars): {NODES} nodes, T = {BUDGET:,}, and a gap that "
        "T pulls can hardly show. On the worst of them no policy does better than a constant times the square root of "
        "m/T. parallel and nb refuse these graphs, which have back-door paths, and the tables of cb are too large.",
        Axis.HARDNESS,
        (
            Panel("tree", "trees (Theorem 4.1)", _tree, Scale(HARDNESSES, 50, 40), Scale((4, 12, 32), 3, 4), BUDGET),
            Panel("star", "stars (Theorem 4.2)", _star, Scale(HARDNESSES, 50, 40), Scale((4, 12, 32), 3, 4), BUDGET),
        ),
        ("srm", "ue", "sr"),
        ("sh", *OURS),
        (claims.like_the_root, claims.warm_halving_never_behind),
        by_root=True,
    ),
)
