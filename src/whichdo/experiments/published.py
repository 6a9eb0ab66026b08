"""The paper's Experiments 1 to 5.  Sizes are the paper's; ``quick`` ones show the same picture in seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.experiments import claims
from whichdo.experiments.experiment import Axis, Experiment, Panel, Scale
from whichdo.simulation import log_spaced
from whichdo.world.instances import experiment_1, experiment_2, experiment_3, experiment_4, experiment_5

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from whichdo.world.instances import Instance


BUDGETS = tuple(range(500, 2501, 250))
HARDNESSES = tuple(range(12, 51, 2))
OURS = ("warm-halving", "srm(second_phase=rejects)")
EARNING = ("ts", "kl-ucb", "causal-ts", "causal-kl-ucb")


def recorded(last: int) -> tuple[int, ...]:
    """Rounds for curves drawn on either scale: some sixty, evenly on the logarithmic one, and every fortieth part."""
    even = range(last // 40, last + 1, last // 40)
    return tuple(sorted({*log_spaced(last).tolist(), *even}))


def _first(seed: np.random.SeedSequence, points: Sequence[int]) -> Sequence[Instance]:
    return experiment_1(1, seed) * len(points)


def _second(nodes: int) -> Panel:
    def make(seed: np.random.SeedSequence, points: Sequence[int]) -> Sequence[Instance]:
        return [each for m in points for each in experiment_2(m, 1, seed, nodes=nodes)]

    full, quick = Scale(HARDNESSES, 50, 100), Scale((12, 20, 30, 50), 3, 24)
    return Panel(f"N={nodes}", f"N = {nodes}", make, full, quick, budget=1600)


def _third(name: str, title: str, *, set_x1: bool) -> Panel:
    def make(_: np.random.SeedSequence, points: Sequence[int]) -> Sequence[Instance]:
        return [experiment_3(set_x1=set_x1)] * len(points)

    full, quick = Scale(recorded(100_000), 1, 30), Scale(recorded(30_000), 1, 10)
    return Panel(name, title, make, full, quick, budget=100_000, quick_budget=30_000)


def _fourth(seed: np.random.SeedSequence, points: Sequence[int]) -> Sequence[Instance]:
    return experiment_4(1, seed) * len(points)


def _fifth(seed: np.random.SeedSequence, points: Sequence[int]) -> Sequence[Instance]:
    return experiment_5(1, seed) * len(points)


EXPERIMENTS = (
    Experiment(
        1,
        "Simple regret against the budget",
        "A hundred nodes that can be set, of which nine are rare; the best arm is on one of the rare ones. m = 9.",
        Axis.BUDGET,
        (Panel("", "N = 100, m = 9", _first, Scale(BUDGETS, 50, 100), Scale((500, 1500, 2500), 6, 40)),),
        ("srm", "ue", "sr"),
        OURS,
        (claims.srm_below_the_rest, claims.warm_halving_ahead),
    ),
    Experiment(
        2,
        "Simple regret against m",
        "The networks of Experiment 1 with any number m of rare nodes, among 100 and among 200; T = 1,600.",
        Axis.HARDNESS,
        (_second(100), _second(200)),
        ("srm", "ue", "sr"),
        ("warm-halving",),
        (claims.root_of_m, claims.independent_of_n, claims.better_at_200, claims.warm_halving_ahead),
    ),
    Experiment(
        3,
        "Cumulative regret where looking is best",
        "Four nodes; do() has mean 5/8, every arm on X2 or X3 has 1/2. With X1 settable, do(X1=x) is as good as do().",
        Axis.ROUND,
        (
            _third("X1-settable", "X1 can be set", set_x1=True),
            _third("X1-fixed", "X1 cannot be set", set_x1=False),
        ),
        ("crm", "ucb"),
        EARNING,
        (claims.crm_flat, claims.ours_earn_more),
    ),
    Experiment(
        4,
        "SRM-ALG against propagating inference",
        "Ten nodes, five of them rare and the only parents of the reward, so that CB-ALG can run. m = 5.",
        Axis.BUDGET,
        (Panel("", "N = 10, m = 5", _fourth, Scale(BUDGETS, 50, 30), Scale((500, 1000), 5, 10)),),
        ("srm", "cb"),
        ("warm-halving",),
        (claims.srm_below_cb,),
    ),
    Experiment(
        5,
        "Cumulative regret where an intervention is best",
        "Ten fair coins with random edges; one arm has mean 0.6, its twin 0.4, all others 1/2.",
        Axis.ROUND,
        (
            Panel(
                "",
                "N = 10",
                _fifth,
                Scale(recorded(100_000), 12, 30),
                Scale(recorded(30_000), 4, 3),
                budget=100_000,
                quick_budget=30_000,
            ),
        ),
        ("crm", "ucb"),
        EARNING,
        (claims.crm_below_ucb, claims.ours_earn_more),
    ),
)
