"""Experiment 9: Lee and Bareinboim's three tasks, with the published policies over three lists of arms, and ours.

The networks have nothing random, so that a panel has one, and all numbers are over runs on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.experiments.experiment import (
    Axis,
    Claim,
    Experiment,
    Panel,
    Scale,
    Verdict,
    Word,
    clearly_below,
    counted_word,
)
from whichdo.experiments.published import recorded
from whichdo.world.instances.structural import Among, structural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whichdo.experiments.experiment import Lines, Maker
    from whichdo.world.instances import Instance


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


def _fewer_arms_cost_less(panels: Mapping[str, Lines]) -> Verdict:
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


fewer_arms_cost_less = Claim(
    "Thompson sampling and KL-UCB have a lower cumulative regret over the possibly optimal arms than over the minimal "
    "ones or over all.",
    "Lee and Bareinboim 2018",
    tuple(f"{policy}@{key}" for policy in ("ts", "kl-ucb") for key in LISTS),
    _fewer_arms_cost_less,
)


def _shared_tables_pay(panels: Mapping[str, Lines]) -> Verdict:
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


shared_tables_pay = Claim(
    "Causal Thompson sampling, in which every row teaches every arm it can, has a lower regret than Thompson sampling "
    "over the possibly optimal arms.",
    "ours",
    ("causal-ts", "ts@pomis"),
    _shared_tables_pay,
)

EXPERIMENTS = (
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
