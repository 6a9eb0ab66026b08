"""How far a campaign can be trusted: stated probabilities, what it is sure of, what check and alarm find."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

import whichdo as wd
from benchmarks.alarm import FAMILIES, KINDS, Outcome, is_refutable, is_refuted, spread, told, wrong_graphs
from tests.campaign.test_planted import played, regret
from tests.soak import FULL, scaled
from whichdo.evidence import Tally
from whichdo.monitoring.certainty import Standing, certainty
from whichdo.world.instances import MISTAKES, planted
from whichdo.world.sampler import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from benchmarks.alarm import Wrong
    from whichdo.monitoring.certainty import Certainty
    from whichdo.world.instances import Planted

    Bounds = Callable[[wd.Problem, Tally, Tally], Certainty]
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


def ever_sure(worlds: Iterable[Planted], pulls: int, bounded: Bounds) -> tuple[int, int, int]:
    """How many plays of warm halving come to be sure, how many wrongly so, and how many plays there are.

    What a campaign with ``stop_when_sure`` would name: asked after every batch, the first that is called sure counts.
    The looks of the logs are handed to ``bounded`` too, which should not use them.
    """
    said = wrong = plays = 0
    for number, world in enumerate(worlds):
        logs = world.logs(1_000.0, seed=number)
        answers = World(world.network, world.problem, np.array([number, SEED], np.uint64))
        play = wd.policy("warm-halving").play(world.problem, float(pulls), np.random.default_rng([number, SEED]), logs)
        own, batch = Tally.empty(world.problem), next(play)
        while batch is not None:
            answer = answers.pull(batch)
            own = Tally(world.problem, own.counts + answer.counts)
            found = bounded(world.problem, own, logs)
            if found.standing is Standing.SURE:
                said += 1
                wrong += regret(world, found.leader) > 1e-9
                break
            try:
                batch = play.send(answer)
            except StopIteration:
                break
        plays += 1
    return said, wrong, plays


def by_own_pulls(problem: wd.Problem, own: Tally, logs: Tally) -> Certainty:
    return certainty(problem, own)


@pytest.mark.slow("5 s: long plays on all families; finds certainty that is not one")
@pytest.mark.soak
def test_the_first_arm_that_is_called_sure_is_the_best(record_property: Record) -> None:
    """In 95% of the plays that say so, over all families and their controls, 10,000 pulls each; here in all but one.

    Plays have few batches, so intervals that hold at one time pass here; ``test_certainty.py`` catches these.
    """
    worlds = [world for family in MISTAKES for right in (False, True) for world in few_arms(family, right=right)]
    said, wrong, plays = ever_sure(worlds, 10_000, by_own_pulls)
    record_property("sure", f"{said} of {plays} plays, wrong {wrong}")
    assert said >= plays / 5
    assert wrong <= (0.05 * said if FULL else 1)


def few_arms(family: str, *, right: bool) -> list[Planted]:
    return [world for world in planted(family, scaled(40), SEED, right=right) if len(world.means) <= 20]


def with_logs(problem: wd.Problem, own: Tally, logs: Tally) -> Certainty:
    """The mistake: logged looks count as if they were of today."""
    counts = own.counts.copy()
    counts[0] += logs.counts[0]
    return certainty(problem, Tally(problem, counts))


def test_certainty_that_rests_on_logs_is_caught() -> None:
    """Old logs say that doing nothing is best, and it was."""
    said, wrong, _ = ever_sure(planted("shifted-baseline", 11, SEED)[::2], 3_000, with_logs)
    assert wrong > 0.3 * said > 0


@pytest.mark.skipif(not FULL, reason="small runs are too few: `python -m benchmarks.alarm spread 20 7`")
@pytest.mark.soak
@pytest.mark.parametrize("kind", [*KINDS, *FAMILIES])
def test_check_and_alarm_together_find_wrong_graphs_that_logs_can_refute(kind: str, record_property: Record) -> None:
    """At least 60% of them, and 80% of all whose bias times the root of that arm's pulls, over .5, is 4 or more.

    2,000 logged looks are checked, and 300 pulls spread over all arms.  Random networks have ten arms, so that a bias
    would have to be .37 for that; the planted families have fewer.  Logs can refute no graph of two of these.  Either
    alone does not do it: check finds 38% of the refutable graphs with a reversed arrow, the alarm 45% of those that
    lack an arrow (60 of each, another seed).
    """
    found = [
        Outcome(*_alarmed(case, SEED + number), is_refutable(case))
        for number, case in enumerate(wrong_graphs(kind, 200, SEED))
    ]
    refutable = [each for each in found if each.refutable]
    clear = [each for each in found if each.visible >= 4]
    record_property(kind, told(found))
    assert len(refutable) >= 50 or kind in {"underrated", "overrated"}
    assert len(clear) >= 30 or kind in KINDS
    assert sum(each.alarmed or each.refuted for each in refutable) >= 0.6 * len(refutable)
    assert sum(each.alarmed or each.refuted for each in clear) >= 0.8 * len(clear)


def _alarmed(case: Wrong, seed: int) -> tuple[bool, bool, float]:
    went, visible = spread(case, seed)
    return went, is_refuted(case, seed), visible
