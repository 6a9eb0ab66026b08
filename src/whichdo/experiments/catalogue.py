"""The nine experiments.

Experiments 1 to 5 are the paper's, and so are their sizes; ``quick`` ones show the same picture in seconds.

Experiment 9 is Lee and Bareinboim's three tasks, with the published policies over three lists of arms, and ours.
The networks have nothing random, so that a panel has one, and all numbers are over runs on it.

Experiments 6 to 8 are under true confounding, which no experiment of the paper has, and at its lower bounds.
Of the lower-bound constructions a network is one of P_1, ..., P_m, drawn at random: in P_0 all arms are alike.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from whichdo.experiments import claims
from whichdo.experiments.experiment import (
    Axis,
    Experiment,
    Panel,
    Scale,
    Verdict,
    Word,
    claim,
    clearly_below,
    counted_word,
)
from whichdo.simulation import log_spaced
from whichdo.world.instances import (
    component,
    experiment_1,
    experiment_2,
    experiment_3,
    experiment_4,
    experiment_5,
    front_door,
    random_confounded,
    random_tree,
    theorem_4_1,
    theorem_4_2,
)
from whichdo.world.instances.classics import Among, structural
from whichdo.world.instances.instance import child, generator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.experiments.experiment import Lines, Maker
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


OF_THE_PAPER = (
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


ROUNDS = 10_000
MARKED = (10, 100, 300, 1_000, 5_000)
LISTS = {"pomis": Among.POSSIBLY_OPTIMAL, "mis": Among.MINIMAL, "all": Among.ALL}
TITLES = {1: "task 1, without hidden causes", 2: "task 2, an instrument", 3: "task 3, two hidden causes"}
SHARE = 0.6
"""Of Thompson sampling over the possibly optimal arms: what ours may come to on task 3 at the last round."""
FROM = 300
"""From this round on ours has the lower regret on task 3."""
AT = 5_000
"""At this round ours has at most the same regret on task 2."""


def _maker(task: int, among: Among) -> Maker:
    def make(_: np.random.SeedSequence, points: Sequence[int]) -> Sequence[Instance]:
        return [structural(task, among)] * len(points)

    return make


def _points(last: int) -> tuple[int, ...]:
    """Rounds for curves on a logarithmic scale, those among them that claims are about."""
    return tuple(sorted(each for each in {*recorded(last), *MARKED} if 10 <= each <= last))


def _panel(task: int) -> Panel:
    return Panel(
        f"task-{task}",
        TITLES[task],
        _maker(task, Among.POSSIBLY_OPTIMAL),
        Scale(_points(ROUNDS), 1, 300),
        Scale(_points(1_000), 1, 20),
        budget=ROUNDS,
        quick_budget=1_000,
        lists={key: _maker(task, among) for key, among in LISTS.items()},
    )


# --------------------------------------------------------------------------------------------------------------- claims


@claim(
    "Thompson sampling and KL-UCB have a lower cumulative regret over the possibly optimal arms than over the minimal "
    "ones or over all.",
    "Lee and Bareinboim 2018",
    tuple(f"{policy}@{key}" for policy in ("ts", "kl-ucb") for key in LISTS),
)
def fewer_arms_cost_less(panels: Mapping[str, Lines]) -> Verdict:
    good, numbers = [], []
    for name, lines in panels.items():
        for policy in ("ts", "kl-ucb"):
            least, *rest = (lines[f"{policy}@{key}"] for key in LISTS)
            good.append(bool(clearly_below(least, rest)[-1]))
            means = ", ".join(f"{lines[f'{policy}@{key}'].means[-1]:.1f}" for key in LISTS)
            numbers.append(f"{name}: {policy} {means}")
    last = int(next(iter(panels.values()))["ts@pomis"].points[-1])
    return Verdict(
        counted_word(np.array(good)),
        f"at t = {last:,}, over possibly optimal, minimal and all arms: {'; '.join(numbers)}",
        "clearly below both at the last round",
    )


@claim(
    "Causal Thompson sampling, in which every row teaches every arm it can, has a lower regret than Thompson sampling "
    "over the possibly optimal arms.",
    "ours",
    ("causal-ts", "ts@pomis"),
)
def shared_tables_pay(panels: Mapping[str, Lines]) -> Verdict:
    third, second = panels["task-3"], panels["task-2"]
    ours, theirs = third["causal-ts"], third["ts@pomis"]
    share = float(ours.means[-1] / theirs.means[-1])
    late = ours.points >= FROM
    below = bool((ours.means[late] < theirs.means[late]).all())
    place = int(np.abs(second["causal-ts"].points - AT).argmin())
    mine, other = (float(second[name].means[place]) for name in ("causal-ts", "ts@pomis"))
    good = [share <= SHARE, below, mine <= other]
    word = Word.HOLDS if all(good) else Word.PART if any(good) else Word.NOT
    where = f"lower at every recorded round from {FROM} on" if below else f"not lower at every round from {FROM} on"
    return Verdict(
        word,
        f"task 3: causal-ts {ours.means[-1]:.1f}, Thompson sampling {theirs.means[-1]:.1f} ({share:.0%}), {where}; "
        f"task 2 at t = {second['causal-ts'].points[place]:,}: {mine:.1f} and {other:.1f}",
        f"task 3: at most {SHARE:.0%} at the last round, and lower from t = {FROM} on; task 2: at most the same at "
        f"t = {AT:,} or the last round",
    )


WHERE_TO_INTERVENE = (
    Experiment(
        9,
        "Where to intervene: several nodes at once",
        "The three tasks of Lee and Bareinboim (2018). Any nodes may be set together: 81, 9 and 243 arms. Of these 4, "
        "4 and 16 are possibly optimal, 49, 5 and 75 minimal. Ours plays the possibly optimal ones.",
        Axis.ROUND,
        tuple(map(_panel, TITLES)),
        tuple(f"{policy}@{key}" for policy in ("ts", "kl-ucb") for key in LISTS),
        ("causal-ts",),
        (fewer_arms_cost_less, shared_tables_pay),
        logarithmic=True,
    ),
)


LENGTHS = (100, 200, 400, 800, 1600, 3200)
OF_TREES = (4, 6, 8, 12, 16, 24, 32)
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

UNDER_CONFOUNDING = (
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
            Panel("tree", "trees (Theorem 4.1)", _tree, Scale(OF_TREES, 50, 40), Scale((4, 12, 32), 3, 4), BUDGET),
            Panel("star", "stars (Theorem 4.2)", _star, Scale(OF_TREES, 50, 40), Scale((4, 12, 32), 3, 4), BUDGET),
        ),
        ("srm", "ue", "sr"),
        ("sh", *OURS),
        (claims.like_the_root, claims.warm_halving_never_behind),
        by_root=True,
    ),
)
