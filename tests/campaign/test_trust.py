"""How far a campaign can be trusted: its stated probabilities, and what check and alarm find of wrong graphs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

import whichdo as wd
from benchmarks.alarm import KINDS, Outcome, is_refutable, is_refuted, spread, told, wrong_graphs
from tests.campaign.test_planted import played, regret
from tests.soak import FULL
from whichdo.world.instances import MISTAKES, planted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.alarm import Wrong

    Record = Callable[[str, object], None]

SEED = 1_618
BIN = 500
"""Campaigns in a bin that is judged at the full count."""


@pytest.mark.skipif(not FULL, reason="a few campaigns cannot tell stated from true probabilities")
@pytest.mark.soak
def test_stated_probabilities_are_true_where_as_many_are_wrong_as_are_doubted(
    tmp_path: Path, record_property: Record
) -> None:
    """Warm halving, T = 600: a share of worlds that equals ``doubt`` is wrong, half of it graphs and half logs.

    Every bin of 500 campaigns or more is within .07 and two standard errors of what was stated, as are all together.
    """
    doubt = wd.policy("warm-halving").doubt  # type: ignore[attr-defined]
    runs = 2_000
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
    assert abs(stated.mean() - true.mean()) <= 0.07 + 2 * 0.5 / runs**0.5


@pytest.mark.skipif(not FULL, reason="small runs are too few: `python -m benchmarks.alarm spread 20 7`")
@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_check_and_alarm_together_find_wrong_graphs_that_logs_can_refute(kind: str, record_property: Record) -> None:
    """At least 60% of them, and 80% of those whose bias times the root of that arm's pulls, over .5, is 4 or more.

    2,000 logged looks are checked, and 300 pulls spread over all arms; the bias of some arm is above .1.
    """
    found = [
        Outcome(*_alarmed(case, SEED + number), is_refutable(case))
        for number, case in enumerate(wrong_graphs(kind, 200, SEED))
    ]
    refutable = [each for each in found if each.refutable]
    clear = [each for each in refutable if each.visible >= 4]
    record_property(kind, told(found))
    assert sum(each.alarmed or each.refuted for each in refutable) >= 0.6 * len(refutable)
    assert sum(each.alarmed or each.refuted for each in clear) >= 0.8 * len(clear)


def _alarmed(case: Wrong, seed: int) -> tuple[bool, bool, float]:
    went, visible = spread(case, seed)
    return went, is_refuted(case, seed), visible
