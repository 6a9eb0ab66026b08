"""What a campaign says at its end, over populations of worlds in which a stated share of graphs and logs is wrong."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

import whichdo as wd
from tests.campaign.test_planted import played, regret
from tests.soak import FULL, scaled
from whichdo.world.instances import MISTAKES, planted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Record = Callable[[str, object], None]

SEED = 1_618
BIN = 500
"""Campaigns in a bin that is judged at the full count."""


@pytest.mark.slow("10 s: ten whole campaigns; finds probabilities that forget what may be wrong")
@pytest.mark.soak
def test_stated_probabilities_are_true_where_as_many_are_wrong_as_are_doubted(
    tmp_path: Path, record_property: Record
) -> None:
    """Warm halving, T = 600: a share of worlds that equals ``doubt`` is wrong, half of it graphs and half logs.

    At the full count every bin of 500 campaigns or more is within .07 and two standard errors of what was stated.  A
    small run asks that all together are, within four standard errors.
    """
    doubt = wd.policy("warm-halving").doubt  # type: ignore[attr-defined]
    runs = scaled(2_000, 10)
    rng = np.random.default_rng(SEED)
    graphs = [family for family in MISTAKES if not family.startswith("shifted")]
    logs = [family for family in MISTAKES if family.startswith("shifted")]
    drawn: Counter[tuple[str, bool]] = Counter()
    for _ in range(runs):
        wrong = bool(rng.random() < doubt)
        drawn[str(rng.choice(graphs if rng.random() < 0.5 else logs)), not wrong] += 1
    worlds = [world for (family, right), count in drawn.items() for world in planted(family, count, SEED, right=right)]
    stated, true = np.zeros(runs), np.zeros(runs, bool)
    for run, world in enumerate(worlds):
        campaign = played(tmp_path, world, "warm-halving", SEED + run)
        advice = campaign.recommend()
        campaign.close()
        stated[run], true[run] = advice.probability, regret(world, advice.arm) < 1e-9
    bins = np.minimum((10 * stated).astype(int), 9)
    for each in np.unique(bins):
        own = bins == each
        said, held = stated[own].mean(), true[own].mean()
        record_property(f"bin {each}", f"{own.sum()} campaigns, stated {said:.2f}, true {held:.2f}")
        if own.sum() >= BIN:
            assert abs(said - held) <= 0.07 + 2 * (held * (1 - held) / own.sum()) ** 0.5
    error = 0.0 if FULL else 4 * 0.5 / runs**0.5
    assert abs(stated.mean() - true.mean()) <= 0.07 + error
